/* SPDX-License-Identifier: MIT */
#define _POSIX_C_SOURCE 200809L /* nanosleep */

#include "soak/soak.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "output/text.h"
#include "random.h"
#include "soak/actor.h"
#include "soak/faulty_allocator.h"
#include "soak/jumping_clock.h"

#define MS UINT64_C(1000000)
#define SECOND (1000 * MS)
#define ROUND_NS (20 * MS) /* how long the conductor sleeps in each round */
#define PERIOD_NS (10 * MS)
#define PAUSE_NS (2 * MS) /* how long actors pause, if the test is not hostile, so that the machine is not overloaded */

struct soak {
    const struct soak_options *options;
    struct soak_result *result;
    verge_service *service;
    struct ledger ledger;
    struct faulty_allocator memory;
    struct jumping_clock clock;
    struct actor actors[SOAK_ACTOR_COUNT_MAX];
    size_t actor_count; /* how many actors have begun */
    atomic_bool must_stop;
    uint64_t random;
    uint32_t workers[VERGE_WORKER_COUNT_MAX]; /* ids of the service's threads */
    size_t worker_count;
    bool is_half_way;
    bool has_told; /* on_begin has returned 0 */
    uint64_t periodic_first_ns;
    _Atomic(uint64_t) periodic, periodic_missed, periodic_last_ns;
    struct rates {
        uint64_t at_ns, started, fired, cancelled, reset;
    } shown;
    struct past {
        uint64_t seconds, moved;
        verge_histogram lateness;
    } past; /* totals up to the last whole second */
};

static uint64_t real_now(void) {
    verge_clock clock = verge_clock_monotonic();
    return clock.now_ns(clock.context);
}

/* ---- workers ---- */

static void add_worker(struct soak *soak) {
    uint32_t id = 0;
    int error = verge_service_add_worker(soak->service, &id);
    if (error == 0) {
        soak->workers[soak->worker_count++] = id;
        soak->result->joined++;
    } else if (error != -ENOMEM && error != -EAGAIN) {
        ledger_find(&soak->ledger, FINDING_VERDICT);
    }
}

static void retire_worker(struct soak *soak, size_t place) {
    if (verge_service_retire_worker(soak->service, soak->workers[place]) != 0) {
        ledger_find(&soak->ledger, FINDING_VERDICT);
    }
    soak->workers[place] = soak->workers[--soak->worker_count];
    soak->result->left++;
}

/* ---- the conductor ---- */

static void be_hostile(struct soak *soak) {
    switch (random_below(&soak->random, 16)) {
    case 0:
        jumping_clock_jump(&soak->clock, (int64_t)random_below(&soak->random, 10 * SECOND));
        soak->result->jumps++;
        break;
    case 1:
        jumping_clock_jump(&soak->clock, -(int64_t)random_below(&soak->random, SECOND / 10));
        soak->result->jumps++;
        break;
    case 2:
        atomic_store(&soak->memory.fail_every, 1 + random_below(&soak->random, 8));
        break;
    case 3:
    case 4:
        atomic_store(&soak->memory.fail_every, 0);
        break;
    case 5:
    case 6:
        if (soak->worker_count < soak->options->worker_count) {
            add_worker(soak);
        }
        break;
    case 7:
        if (soak->worker_count > 0) { /* it may be the last one */
            retire_worker(soak, (size_t)random_below(&soak->random, soak->worker_count));
        }
        break;
    default:
        break;
    }
}

static void be_kind(struct soak *soak, uint64_t passed_ns) {
    if (!soak->is_half_way && passed_ns >= soak->options->duration_ns / 2) {
        soak->is_half_way = true;
        add_worker(soak);
        retire_worker(soak, 0);
    }
}

/* Writes the status line for a narrow terminal, which has no room for all figures. */
static void format_short(char *line, size_t size, const struct soak *soak, const verge_service_stats *stats,
                         const struct rates *rates, uint64_t passed_ns) {
    const double ms =
        (double)(rates->at_ns - soak->shown.at_ns) / 1e6; /* counts divided by it are in thousands a second */
    (void)snprintf(
        line, size, "%5.1f s %s pending | 99 %% within %s | start %.0f, fire %.0f k/s", (double)passed_ns / 1e9,
        text_grouped(stats->pending), text_duration(verge_histogram_quantile(&soak->result->lateness, 0.99)),
        (double)(rates->started - soak->shown.started) / ms, (double)(rates->fired - soak->shown.fired) / ms);
}

static void show_line(struct soak *soak, struct status *status, const verge_service_stats *stats, uint64_t passed_ns) {
    verge_histogram *lateness = &soak->result->lateness;
    struct rates rates = {.at_ns = real_now(),
                          .started = stats->started,
                          .fired = stats->fired,
                          .cancelled = stats->cancelled_locally + stats->cancelled_remotely,
                          .reset = stats->reset};
    double ms = (double)(rates.at_ns - soak->shown.at_ns) / 1e6; /* counts divided by it are in thousands a second */
    char more[64] = "";
    if (soak->options->describe != NULL) {
        soak->options->describe(soak->options->describe_context, more, sizeof(more));
    }
    verge_histogram_clear(lateness);
    (void)verge_service_get_histograms(soak->service, lateness, NULL);
    char line[256];
    const int length = snprintf(
        line, sizeof(line),
        "%5.1f s %s pending | late %s, 99 %% %s | %u workers | k/s: start %.0f, fire %.0f, reset %.0f, "
        "cancel %.0f%s",
        (double)passed_ns / 1e9, text_grouped(stats->pending), text_duration(verge_histogram_quantile(lateness, 0.5)),
        text_duration(verge_histogram_quantile(lateness, 0.99)), stats->workers,
        (double)(rates.started - soak->shown.started) / ms, (double)(rates.fired - soak->shown.fired) / ms,
        (double)(rates.reset - soak->shown.reset) / ms, (double)(rates.cancelled - soak->shown.cancelled) / ms, more);
    if (length > status_width(status)) {
        format_short(line, sizeof(line), soak, stats, &rates, passed_ns);
    }
    status_show(status, "%s", line);
    soak->shown = rates;
}

static void show(struct soak *soak, struct status *status, uint64_t passed_ns) {
    verge_service_stats stats = {.struct_size = sizeof(stats)};
    struct soak_result *result = soak->result;
    if (verge_service_get_stats(soak->service, &stats) != 0) {
        return;
    }
    result->pending_max = stats.pending > result->pending_max ? stats.pending : result->pending_max;
    if (status_is_due(status)) {
        show_line(soak, status, &stats, passed_ns);
    }
}

/* Returns a quantile of the values that were recorded between `before` and `now`. */
static uint64_t quantile_since(const verge_histogram *now, const verge_histogram *before, double share,
                               uint64_t *ret_count) {
    const uint64_t all = verge_histogram_count(now) - verge_histogram_count(before);
    uint64_t upper_ns = 0;
    uint64_t seen = 0;
    for (size_t i = 0; i < VERGE_HISTOGRAM_BUCKET_COUNT && (double)seen < share * (double)all; i++) {
        uint64_t count = 0;
        uint64_t counted = 0;
        (void)verge_histogram_bucket(before, i, &upper_ns, &counted);
        (void)verge_histogram_bucket(now, i, &upper_ns, &count);
        seen += count - counted;
    }
    *ret_count = all;
    return upper_ns;
}

static void note_second(struct soak *soak, uint64_t passed_ns) {
    verge_service_stats stats = {.struct_size = sizeof(stats)};
    struct soak_result *result = soak->result;
    struct past *past = &soak->past;
    if (passed_ns / SECOND <= past->seconds || verge_service_get_stats(soak->service, &stats) != 0) {
        return;
    }
    verge_histogram_clear(&result->lateness);
    (void)verge_service_get_histograms(soak->service, &result->lateness, NULL);
    struct soak_second second = {.number = passed_ns / SECOND, .moved = stats.migrated - past->moved};
    second.late_ns = quantile_since(&result->lateness, &past->lateness, 0.99, &second.count);
    if (second.late_ns > result->worst.late_ns) {
        result->worst = second;
    }
    past->seconds = second.number;
    past->moved = stats.migrated;
    past->lateness = result->lateness;
}

static bool is_interrupted(const struct soak_options *options) {
    return options->is_interrupted != NULL && *options->is_interrupted != 0;
}

static void conduct(struct soak *soak, struct status *status) {
    uint64_t began_ns = real_now();
    uint64_t passed_ns = 0;
    soak->shown.at_ns = began_ns;
    while (passed_ns < soak->options->duration_ns && !is_interrupted(soak->options)) {
        struct timespec round = {.tv_nsec = ROUND_NS};
        (void)nanosleep(&round, NULL);
        passed_ns = real_now() - began_ns;
        if (soak->options->is_hostile) {
            be_hostile(soak);
        } else {
            be_kind(soak, passed_ns);
        }
        note_second(soak, passed_ns);
        show(soak, status, passed_ns);
    }
    soak->result->took_ns = passed_ns;
    status_end(status);
}

/* ---- the beginning ---- */

static void run_periodic(const verge_firing *firing) {
    struct soak *soak = firing->argument;
    (void)atomic_fetch_add(&soak->periodic, 1);
    (void)atomic_fetch_add(&soak->periodic_missed, firing->missed);
    atomic_store(&soak->periodic_last_ns, firing->scheduled_ns);
}

static int start_periodic(struct soak *soak) {
    verge_start_options options = {.struct_size = sizeof(options)};
    options.callback = run_periodic;
    options.argument = soak;
    options.deadline_ns = verge_service_exact_now(soak->service) + PERIOD_NS;
    options.period_ns = PERIOD_NS;
    soak->periodic_first_ns = options.deadline_ns;
    options.policy = VERGE_INTERVAL_SKIP;
    options.label = "ticks of an interval";
    return verge_service_start_with(soak->service, &options, NULL);
}

static int create_service(struct soak *soak) {
    verge_service_options options;
    (void)verge_service_options_init(&options, sizeof(options));
    options.thread_count = 0; /* verge_service_add_worker adds the threads, and tells their ids */
    if (soak->options->is_hostile) {
        options.clock = jumping_clock_table(&soak->clock);
        options.stuck_after_ns = 5 * MS;
    }
    options.allocator = &soak->memory.table;
    int error = verge_service_create(&options, &soak->service);
    for (uint32_t i = 0; i < soak->options->worker_count && error == 0; i++) {
        error = verge_service_add_worker(soak->service, &soak->workers[i]);
        soak->worker_count += error == 0;
    }
    return error;
}

static int begin_actors(struct soak *soak) {
    const struct soak_options *options = soak->options;
    size_t share = options->timer_count / options->actor_count;
    int error = 0;
    for (size_t i = 0; i < options->actor_count && error == 0; i++) {
        struct actor *actor = &soak->actors[i];
        actor->ledger = &soak->ledger;
        actor->service = soak->service;
        actor->slot_from = i * share;
        actor->slot_to = i + 1 == options->actor_count ? options->timer_count : (i + 1) * share;
        actor->random = random_next(&soak->random);
        actor->delay_max_ns = options->delay_max_ns;
        actor->pause_ns = options->is_hostile ? 0 : PAUSE_NS;
        actor->joins = options->is_hostile;
        actor->must_stop = &soak->must_stop;
        error = actor_begin(actor);
        soak->actor_count += error == 0;
    }
    return error;
}

static int begin(struct soak *soak) {
    soak->random = soak->options->seed;
    soak->ledger.is_hostile = soak->options->is_hostile;
    soak->ledger.is_clock_steady = !soak->options->is_hostile;
    soak->ledger.again_count_max = 3;
    soak->ledger.again_after_ns = 5 * MS;
    faulty_allocator_init(&soak->memory);
    int error = ledger_open(&soak->ledger, soak->options->timer_count);
    if (error == 0) {
        error = create_service(soak);
    }
    if (error == 0) {
        error = start_periodic(soak);
    }
    if (error == 0 && soak->options->on_begin != NULL) {
        error = soak->options->on_begin(soak->options->on_context, soak->service);
        soak->has_told = error == 0;
    }
    return error != 0 ? error : begin_actors(soak);
}

/* ---- the end ---- */

static void add_tally(struct ledger_tally *sum, const struct ledger_tally *part) {
    sum->started += part->started;
    sum->refused += part->refused;
    sum->ran += part->ran;
    sum->cancelled += part->cancelled;
    sum->handed_back += part->handed_back;
    sum->runs += part->runs;
    sum->resets += part->resets;
}

static void stop_actors(struct soak *soak) {
    atomic_store(&soak->must_stop, true);
    for (size_t i = 0; i < soak->actor_count; i++) {
        actor_end(&soak->actors[i]);
        add_tally(&soak->result->tally, &soak->actors[i].tally);
        soak->result->joined += soak->actors[i].joined;
        soak->result->left += soak->actors[i].joined;
    }
}

static void visit_pending(void *context, const verge_pending *pending) {
    struct soak *soak = context;
    if (pending->argument == soak) {
        soak->result->tally.handed_back++; /* the periodic timer */
        return;
    }
    ledger_visit_pending(NULL, pending);
}

/* Whether every tick of the periodic timer, up to its last run, either ran or was counted as missed. */
static bool is_interval_whole(const struct soak *soak) {
    uint64_t span_ns = atomic_load(&soak->periodic_last_ns) - soak->periodic_first_ns;
    uint64_t counted = soak->result->periodic + soak->result->periodic_missed;
    return soak->result->periodic == 0 || (span_ns % PERIOD_NS == 0 && counted == span_ns / PERIOD_NS + 1);
}

static void conclude(struct soak *soak, int error) {
    struct soak_result *result = soak->result;
    struct audit *audit = &result->audit;
    struct ledger_tally *tally = &result->tally;
    tally->started++; /* the periodic timer */
    audit_expect(audit, tally->started == tally->ran + tally->cancelled + tally->handed_back,
                 "started %s = fired %s + cancelled %s + pending %s", text_grouped(tally->started),
                 text_grouped(tally->ran), text_grouped(tally->cancelled), text_grouped(tally->handed_back));
    for (enum finding finding = 0; finding < FINDING_COUNT; finding++) {
        uint64_t found = atomic_load(&soak->ledger.findings[finding]);
        audit_expect(audit, found == 0, "%s%s%s", ledger_finding_text(finding),
                     found == 0 ? "" : ", but: ", found == 0 ? "" : text_grouped(found));
    }
    audit_expect(audit, is_interval_whole(soak), "a periodic timer: %s ticks ran, %s were missed; they add up",
                 text_grouped(result->periodic), text_grouped(result->periodic_missed));
    audit_expect(audit, result->stats.started == tally->started, "the service has counted the same number of starts");
    audit_expect(audit, error == 0 && atomic_load(&soak->memory.bytes) == 0, "all memory was freed");
}

static void tell_end(const struct soak *soak) {
    if (soak->has_told && soak->options->on_end != NULL) {
        soak->options->on_end(soak->options->on_context);
    }
}

static void finish(struct soak *soak) {
    struct soak_result *result = soak->result;
    stop_actors(soak);
    tell_end(soak);
    atomic_store(&soak->memory.fail_every, 0);
    result->stats.struct_size = sizeof(result->stats);
    (void)verge_service_get_stats(soak->service, &result->stats);
    verge_histogram_clear(&result->lateness);
    (void)verge_service_get_histograms(soak->service, &result->lateness, &result->callback_time);
    int error = verge_service_destroy(soak->service, visit_pending, soak);
    ledger_close(&soak->ledger, &result->tally);
    result->periodic = atomic_load(&soak->periodic);
    result->periodic_missed = atomic_load(&soak->periodic_missed);
    result->refused_allocations = atomic_load(&soak->memory.refused);
    conclude(soak, error);
}

int soak_run(const struct soak_options *options, struct status *status, struct soak_result *ret_result) {
    struct soak *soak = calloc(1, sizeof(*soak));
    if (soak == NULL) {
        return -ENOMEM;
    }
    *ret_result = (struct soak_result){0};
    soak->options = options;
    soak->result = ret_result;
    int error = begin(soak);
    if (error == 0) {
        conduct(soak, status);
        finish(soak);
    } else {
        stop_actors(soak);
        tell_end(soak);
        (void)verge_service_destroy(soak->service, NULL, NULL);
    }
    ledger_free(&soak->ledger);
    free(soak);
    return error;
}
