/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "model/run.h"
#include "support/cmocka.h"
#include "wheel/wheel_internal.h"

static void print_options(const verge_wheel_options *options) {
    print_message("  start %" PRIu64 ", levels", options->start_ns);
    for (size_t i = 0; i < options->level_count; i++) {
        print_message(" %u+%u", options->levels[i].shift, options->levels[i].bits);
    }
    print_message(", coarse %d, strict %d, order %d, past %d, work limit %zu, cap %zu, compaction %u/%u/%u\n",
                  options->coarse, options->strict, (int)options->order, (int)options->past, options->work_limit,
                  options->timer_cap, options->compaction.minimum, options->compaction.ratio,
                  options->compaction.multiplier);
}

void run_fail(const struct run *run, const char *promise, uint64_t value, uint64_t expected, int line) {
    if (run->random.bytes == NULL) {
        print_message("replay with VERGE_TEST_SEED=%" PRIu64 " (profile %d)\n", run->seed, (int)run->profile);
    }
    print_options(&run->model.options);
    print_message("  operation %" PRIu64 " (%s), now %" PRIu64 ", %zu pending, is %" PRIu64 ", expected %" PRIu64
                  ", line %d\n",
                  run->operation_count, run->operation, run->model.now_ns, run->model.count, value, expected, line);
    fail_msg("%s", promise);
    abort();
}

/* ---- what a poll returned ---- */

static void check_order(struct run *run, const struct model_timer *timer, enum model_poll kind) {
    for (size_t i = 0; i < run->model.count; i++) {
        const struct model_timer *other = &run->model.timers[i];
        if (other != timer && other->sequence < run->sequence_end && model_may_fire(&run->model, other, kind)) {
            RUN_CHECK_VALUES(run, !model_is_before(&run->model, other, timer), "G5: another had to come out before",
                             timer->deadline_ns, other->deadline_ns);
        }
    }
}

static struct model_timer *find(struct run *run, const verge_expiry *expiry) {
    return expiry->timer == 0 ? model_find_timeout(&run->model, expiry->data) : model_find(&run->model, expiry->timer);
}

void run_check_expiry(struct run *run, const verge_expiry *expiry, enum model_poll kind) {
    struct model_timer *timer = find(run, expiry);
    RUN_CHECK(run, timer != NULL, "G3: poll returned what is not pending");
    RUN_CHECK_EQUAL(run, expiry->deadline_ns, timer->deadline_ns, "poll returned another deadline");
    RUN_CHECK(run, expiry->data == timer->data, "poll returned other data");
    RUN_CHECK(run, timer->sequence < run->sequence_end, "run: it was set in this very run");
    RUN_CHECK_VALUES(run, model_may_fire(&run->model, timer, kind), "G1: early", timer->deadline_ns, run->model.now_ns);
    check_order(run, timer, kind);
    model_remove(&run->model, timer);
    run->model.expired++;
}

/*
 * Checks the work that a poll did: last_poll_work, which the poll counted itself, and the counts of nodes.
 * In a wheel that is not coarse, poll_to_next also searches for the next deadline. The search is not counted as work,
 * but changes the counts of nodes.
 */
static void check_work(struct run *run, enum model_poll kind, const verge_wheel_stats *before, size_t count) {
    verge_wheel_stats stats = {.struct_size = sizeof(stats)};
    RUN_CHECK_EQUAL(run, verge_wheel_get_stats(run->wheel, &stats), 0, "get_stats failed");
    const size_t work_limit = run->model.options.work_limit;
    const uint64_t moved = stats.nodes_moved - before->nodes_moved;
    const uint64_t inspected =
        count + stats.nodes_refiled - before->nodes_refiled + stats.nodes_dropped - before->nodes_dropped;
    if (work_limit != 0 && (kind != MODEL_POLL_TO_NEXT || run->model.options.coarse)) {
        RUN_CHECK_VALUES(run, moved <= work_limit, "G8: moved more than the limit", moved, work_limit);
        RUN_CHECK_VALUES(run, inspected <= work_limit, "G8: inspected more than the limit", inspected, work_limit);
    }
    RUN_CHECK_VALUES(run, stats.last_poll_work >= count, "more returned than work done", stats.last_poll_work, count);
    RUN_CHECK_VALUES(run, work_limit == 0 || stats.last_poll_work <= work_limit, "G8: more work than the limit",
                     stats.last_poll_work, work_limit);
}

void run_check_batch(struct run *run, enum model_poll kind, const verge_wheel_stats *before, size_t count,
                     size_t limit) {
    RUN_CHECK_VALUES(run, count <= limit, "more than the limit", count, limit);
    for (size_t i = 0; i < count; i++) {
        run_check_expiry(run, &run->out[i], kind);
    }
    if (count > 0 && run->model.count == 0) {
        run->model.disturbed = run->model.moved + run->model.cancelled;
    }
    check_work(run, kind, before, count);
    const bool backlog = verge_wheel_has_backlog(run->wheel);
    if (run->model.options.work_limit == 0 && count < limit) {
        RUN_CHECK(run, !backlog, "G2: a backlog though no limit was reached");
    }
    for (size_t i = 0; i < run->model.count; i++) {
        const struct model_timer *timer = &run->model.timers[i];
        RUN_CHECK_VALUES(run, backlog || !model_is_due(&run->model, timer, kind, count < limit),
                         "G2: due, and left behind", timer->deadline_ns, run->model.now_ns);
    }
    const uint64_t wakeup_ns = verge_wheel_next_wakeup(run->wheel);
    RUN_CHECK_VALUES(run, backlog || wakeup_ns > run->model.now_ns || wakeup_ns == VERGE_NEVER,
                     "G6: nothing is due and yet the wake-up is now", wakeup_ns, run->model.now_ns);
}

/* ---- questions that can be asked at any time ---- */

static void check_next(struct run *run) {
    const struct model *model = &run->model;
    const uint64_t wakeup_ns = verge_wheel_next_wakeup(run->wheel);
    const uint64_t next_ns = verge_wheel_next_deadline(run->wheel);
    if (model->count == 0) {
        RUN_CHECK_EQUAL(run, wakeup_ns, VERGE_NEVER, "G6: a wake-up for nothing");
        RUN_CHECK_EQUAL(run, next_ns, VERGE_NEVER, "G6: a deadline of nothing");
        return;
    }
    RUN_CHECK_VALUES(run, wakeup_ns <= model_next_expiry(model), "G6: next_wakeup is late", wakeup_ns,
                     model_next_expiry(model));
    if (verge_wheel_has_backlog(run->wheel)) {
        RUN_CHECK_EQUAL(run, wakeup_ns, model->now_ns, "G6: next_wakeup is not now with a backlog");
        RUN_CHECK_EQUAL(run, next_ns, model->now_ns, "G6: next_deadline is not now with a backlog");
        return;
    }
    RUN_CHECK_EQUAL(run, next_ns, model_earliest_deadline(model), "G6: next_deadline");
    if (model->timers[0].alone && !model->options.coarse) {
        RUN_CHECK_EQUAL(run, wakeup_ns, model->timers[0].fires_ns, "G6: next_wakeup, with one timer");
    }
}

static void check_first_interval(struct run *run) {
    struct model *model = &run->model;
    uint64_t interval = 0;
    uint64_t smallest_ns = 0;
    uint64_t largest_ns = 0;
    const int error = verge_wheel_first_interval(run->wheel, &interval, &smallest_ns, &largest_ns);
    if (model->count == 0) {
        RUN_CHECK_EQUAL(run, error, -ENOENT, "first_interval of an empty wheel");
        return;
    }
    RUN_CHECK_EQUAL(run, error, 0, "first_interval failed");
    RUN_CHECK_VALUES(run, smallest_ns <= largest_ns, "first_interval: smallest above largest", smallest_ns, largest_ns);
    uint64_t first_ns = VERGE_NEVER;
    for (size_t i = 0; i < model->count; i++) {
        first_ns = model->timers[i].fires_ns < first_ns ? model->timers[i].fires_ns : first_ns;
    }
    if (model->options.coarse || first_ns <= model->now_ns) {
        return; /* the header does not say which ticks count as one interval then */
    }
    uint64_t smallest_expected_ns = VERGE_NEVER;
    uint64_t largest_expected_ns = 0;
    for (size_t i = 0; i < model->count; i++) {
        const struct model_timer *timer = &model->timers[i];
        if (timer->fires_ns == first_ns) {
            smallest_expected_ns =
                timer->deadline_ns < smallest_expected_ns ? timer->deadline_ns : smallest_expected_ns;
            largest_expected_ns = timer->deadline_ns > largest_expected_ns ? timer->deadline_ns : largest_expected_ns;
        }
    }
    RUN_CHECK_EQUAL(run, smallest_ns, smallest_expected_ns, "first_interval: smallest");
    RUN_CHECK_EQUAL(run, largest_ns, largest_expected_ns, "first_interval: largest");
    RUN_CHECK_VALUES(run, interval >= smallest_ns / model->precision_ns && interval <= first_ns / model->precision_ns,
                     "first_interval: number", interval, smallest_ns / model->precision_ns);
}

static void check_counts(struct run *run) {
    const struct model *model = &run->model;
    verge_wheel_stats stats = {.struct_size = sizeof(stats)};
    RUN_CHECK_EQUAL(run, verge_wheel_get_stats(run->wheel, &stats), 0, "get_stats failed");
    RUN_CHECK_EQUAL(run, verge_wheel_count(run->wheel), model->count, "count");
    RUN_CHECK_EQUAL(run, stats.timers, model->count, "stats: timers");
    RUN_CHECK_EQUAL(run, stats.started, model->scheduled, "stats: scheduled");
    RUN_CHECK_EQUAL(run, stats.cancelled, model->cancelled, "stats: cancelled");
    RUN_CHECK_EQUAL(run, stats.expired, model->expired, "stats: expired");
    RUN_CHECK_EQUAL(run, stats.bytes, run->memory.bytes_in_use, "stats: bytes");
    RUN_CHECK_EQUAL(run, stats.nodes_retired, 0U, "stats: retired");
    RUN_CHECK_VALUES(run, stats.nodes >= model_handles_pending(model), "stats: records", stats.nodes,
                     model_handles_pending(model));
    RUN_CHECK_VALUES(run, stats.linked >= stats.idle, "stats: more idle than nodes", stats.idle, stats.linked);
    RUN_CHECK_VALUES(run, stats.linked - stats.idle <= model->count, "stats: two nodes of one timer",
                     stats.linked - stats.idle, model->count);
    RUN_CHECK_VALUES(run, stats.idle <= verge__idle_max, "G7: idle", stats.idle, model->count);
}

/* Counts the nodes that are in no level: nodes of timers, all of which are due, and idle nodes. */
static void count_due(const struct run *run, uint64_t *ret_active, uint64_t *ret_idle) {
    verge__node **list = NULL;
    *ret_active = 0;
    *ret_idle = 0;
    for (size_t i = run->wheel->calendar.head_count; (list = verge__wheel_list(run->wheel, i)) != NULL; i++) {
        for (verge__node *node = *list; node != NULL; node = node->next) {
            const bool is_pending = verge__timer_is_pending(verge__timer_of_node(node));
            *ret_active += is_pending;
            *ret_idle += !is_pending;
        }
    }
}

void run_check_levels(struct run *run) {
    uint64_t active = 0;
    uint64_t idle = 0;
    verge_wheel_stats stats = {.struct_size = sizeof(stats)};
    RUN_CHECK_EQUAL(run, verge_wheel_get_stats(run->wheel, &stats), 0, "get_stats failed");
    count_due(run, &active, &idle);
    RUN_CHECK_VALUES(run, active + idle == 0 || verge_wheel_has_backlog(run->wheel) || idle > 0,
                     "levels: nodes in no level, and no backlog", active, idle);
    for (size_t k = 0; k < run->model.options.level_count; k++) {
        verge_wheel_level_stats level = {.struct_size = sizeof(level)};
        RUN_CHECK_EQUAL(run, verge_wheel_get_level_stats(run->wheel, k, &level), 0, "get_level_stats failed");
        RUN_CHECK_EQUAL(run, level.resolution_ns, model_resolution(&run->model, k), "levels: resolution");
        RUN_CHECK_VALUES(run, level.slots_used <= level.slots, "levels: slots", level.slots_used, level.slots);
        RUN_CHECK_VALUES(run, level.slots_used <= level.active + level.idle, "levels: slots used for nothing",
                         level.slots_used, level.active + level.idle);
        RUN_CHECK_VALUES(run, level.active + level.idle <= level.capacity, "levels: capacity",
                         level.active + level.idle, level.capacity);
        RUN_CHECK_VALUES(run, level.bytes <= stats.bytes, "levels: bytes", level.bytes, stats.bytes);
        active += level.active;
        idle += level.idle;
    }
    RUN_CHECK_EQUAL(run, active, stats.timers, "levels: timers, with those that are due");
    RUN_CHECK_EQUAL(run, idle, stats.idle, "levels: idle");
}

static void check_time(struct run *run) {
    const struct model *model = &run->model;
    RUN_CHECK_EQUAL(run, verge_wheel_now(run->wheel), model->now_ns, "now");
    RUN_CHECK_EQUAL(run, verge_wheel_start_time(run->wheel), model->options.start_ns, "start");
    const uint64_t probe_ns = run_random_deadline(run);
    if (probe_ns <= verge_wheel_largest_deadline(run->wheel)) {
        RUN_CHECK_EQUAL(run, verge_wheel_fires_at(run->wheel, probe_ns), model_fires_at(model, probe_ns), "fires_at");
    }
    RUN_CHECK(run, verge_wheel_fires_at(run->wheel, verge_wheel_largest_deadline(run->wheel)) != VERGE_NEVER,
              "the largest deadline never fires");
}

void run_check_state(struct run *run) {
    const char *broken = verge_wheel_check(run->wheel);
    RUN_CHECK(run, broken == NULL, broken);
    check_next(run);
    check_counts(run);
    check_time(run);
    check_first_interval(run);
    RUN_CHECK(run, run->memory.complaint == NULL, run->memory.complaint);
}

/* ---- iterate ---- */

enum { ASKING_VISITS = 16 }; /* only the first visits ask, as each question reads all timers */

struct visit {
    struct run *run;
    size_t count;
};

static int count_one(void *context, const verge_expiry *expiry) {
    struct visit *visit = context;
    RUN_CHECK(visit->run, find(visit->run, expiry) != NULL, "nested iterate: not pending");
    visit->count++;
    return 0;
}

/* Makes calls that any visitor may make: questions, and attempts to give memory back. */
static void ask_in_a_visit(struct run *run, size_t number) {
    const struct model *model = &run->model;
    struct visit nested = {.run = run};
    switch (number % 8) {
    case 1:
        RUN_CHECK_EQUAL(run, verge_wheel_iterate(run->wheel, count_one, &nested), 0, "nested iterate failed");
        RUN_CHECK_EQUAL(run, nested.count, model->count, "nested iterate: count");
        break;
    case 2:
    case 5:
        verge_wheel_compact(run->wheel);
        break;
    case 3:
        check_next(run);
        break;
    case 4:
        check_first_interval(run);
        break;
    default:
        break;
    }
}

static int visit_one(void *context, const verge_expiry *expiry) {
    struct visit *visit = context;
    const struct model_timer *timer = find(visit->run, expiry);
    RUN_CHECK(visit->run, timer != NULL, "iterate: not pending");
    RUN_CHECK_EQUAL(visit->run, expiry->deadline_ns, timer->deadline_ns, "iterate: deadline");
    RUN_CHECK(visit->run, expiry->data == timer->data, "iterate: data");
    if (visit->count < ASKING_VISITS) {
        ask_in_a_visit(visit->run, visit->count + visit->run->model.count);
    }
    visit->count++;
    return 0;
}

void run_check_iterate(struct run *run) {
    struct visit visit = {.run = run};
    RUN_CHECK_EQUAL(run, verge_wheel_iterate(run->wheel, visit_one, &visit), 0, "iterate failed");
    RUN_CHECK_EQUAL(run, visit.count, run->model.count, "iterate: count");
}
