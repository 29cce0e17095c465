/* SPDX-License-Identifier: MIT */
#include "scope/view.h"

#include <stdio.h>
#include <string.h>

#include "base/bits.h"
#include "scope/symbol.h"
#include "service/park.h"

#define SECOND_NS UINT64_C(1000000000)
#define STUCK_AFTER_NS SECOND_NS /* unless the service says otherwise */
#define KEPT_EACH_LOOK 0.975     /* how much of the past counts after one more look: a third after ten seconds */

void verge__view_begin(verge__service_view *view, verge_service *service, const verge_allocator *allocator) {
    memset(view, 0, sizeof(*view));
    view->service = service;
    view->allocator = allocator;
    view->walk.allocator = allocator;
}

void verge__view_end(verge__service_view *view) {
    if (view->service == NULL) {
        return;
    }
    verge__view_look_away(view);
    for (size_t i = 0; i <= VERGE_WORKER_COUNT_MAX; i++) {
        if (view->seats[i] != NULL) {
            view->allocator->release(view->allocator->context, view->seats[i], sizeof(*view->seats[i]));
        }
    }
}

/* ---- lateness over time ---- */

static uint32_t heat_row(uint64_t late_ns) {
    const uint32_t bit = late_ns == 0 ? 0 : verge__bit_floor_index(late_ns);
    const uint32_t row = bit < VERGE__LATE_FIRST_BIT ? 0 : bit - VERGE__LATE_FIRST_BIT + 1;
    return row < VERGE__HEAT_ROWS ? row : VERGE__HEAT_ROWS - 1;
}

static void count_heat(const verge_service *service, uint64_t rows[VERGE__HEAT_ROWS]) {
    const uint32_t count = atomic_load_explicit(&service->seat_count, memory_order_acquire);
    for (uint32_t id = 1; id <= count; id++) {
        const verge_worker *worker = verge__service_seat(service, id);
        for (size_t i = 0; i < VERGE_HISTOGRAM_BUCKET_COUNT; i++) {
            uint64_t upper_ns = 0;
            uint64_t times = 0;
            (void)verge_histogram_bucket(&worker->lateness, i, &upper_ns, &times);
            rows[heat_row(upper_ns)] += times;
        }
    }
}

void verge__view_note_second(verge__service_view *view, uint64_t second) {
    uint64_t rows[VERGE__HEAT_ROWS] = {0};
    verge__heat_column *column = &view->heat[second % VERGE__HEAT_COLUMNS];
    count_heat(view->service, rows);
    *column = (verge__heat_column){.second = second};
    for (size_t i = 0; i < VERGE__HEAT_ROWS; i++) {
        const uint64_t more = rows[i] - view->heat_counted[i];
        column->rows[i] = view->heat_second == 0 ? 0 : more > UINT32_MAX ? UINT32_MAX : (uint32_t)more;
        view->heat_counted[i] = rows[i];
    }
    view->heat_second = second;
}

/* ---- names ---- */

/* Copies as much of a label as fits, but cuts no UTF-8 character in two. */
static void copy_label(char *name, const char *label) {
    size_t size = 0;
    while (size < VERGE__NAME_SIZE - 1 && label[size] != '\0') {
        size++;
    }
    while (label[size] != '\0' && size > 0 && ((unsigned char)label[size] & 0xc0) == 0x80) {
        size--;
    }
    memcpy(name, label, size);
    name[size] = '\0';
    if (size == 0) {
        memcpy(name, "(empty)", sizeof("(empty)"));
    }
}

static void name_source(verge__service_view *view, uint32_t index, uint64_t key) {
    verge__source_view *source = &view->sources[index];
    source->stands_for = index;
    source->is_label = (key & VERGE__KEY_LABEL) != 0;
    if (!source->is_label) {
        verge__symbol_name(key, source->name, sizeof(source->name));
        return;
    }
    copy_label(source->name, (const char *)(uintptr_t)(key & ~VERGE__KEY_LABEL));
    for (uint32_t i = 1; i < VERGE__SOURCE_COUNT;
         i++) { /* labels with the same text at different addresses are one source */
        const verge__source_view *other = &view->sources[i];
        if (i != index && other->is_label && other->stands_for == i && strcmp(other->name, source->name) == 0) {
            source->stands_for = i;
            return;
        }
    }
}

static void name_sources(verge__service_view *view) {
    memcpy(view->sources[VERGE__SOURCE_OTHERS].name, "(others)", sizeof("(others)"));
    for (uint32_t i = 1; i < VERGE__SOURCE_COUNT; i++) {
        const uint64_t key = atomic_load_explicit(&view->service->sources.keys[i], memory_order_relaxed);
        if (key != 0 && view->sources[i].name[0] == '\0') {
            name_source(view, i, key);
        }
    }
}

/* ---- what was counted ---- */

static verge__samples *make_samples(verge_service *service) {
    verge__samples *samples =
        service->allocator.allocate(service->allocator.context, sizeof(*samples), _Alignof(verge__samples));
    if (samples != NULL) {
        memset(samples, 0, sizeof(*samples));
    }
    return samples;
}

/* The samples of a worker, allocated when first needed. Only scope's thread stores the pointer. */
static verge__samples *samples_of(verge_service *service, _Atomic(verge__samples *) *pointer) {
    verge__samples *samples = atomic_load_explicit(pointer, memory_order_relaxed);
    if (samples == NULL) {
        samples = make_samples(service);
        atomic_store_explicit(pointer, samples, memory_order_release);
    }
    return samples;
}

static verge__seat_view *seat_view(verge__service_view *view, uint32_t id) {
    if (view->seats[id] == NULL) {
        view->seats[id] =
            view->allocator->allocate(view->allocator->context, sizeof(*view->seats[id]), _Alignof(verge__seat_view));
        if (view->seats[id] != NULL) {
            memset(view->seats[id], 0, sizeof(*view->seats[id]));
        }
    }
    return view->seats[id];
}

/* How many events there were for each sampled one. 0: none was sampled; these events are left to the next look. */
static double scale(uint64_t sampled, uint64_t total, uint64_t *counted) {
    const uint64_t more = total - *counted;
    if (sampled == 0) {
        return 0;
    }
    *counted = total;
    return more > sampled ? (double)more / (double)sampled : 1;
}

static uint64_t load(const _Atomic uint64_t *count) {
    return atomic_load_explicit(count, memory_order_relaxed);
}

/* Returns what was sampled since the last look, and updates *counted. */
static verge__counted_source count_source(const verge__source_samples *samples, verge__counted_source *counted) {
    const verge__counted_source now = {.started = load(&samples->started),
                                       .cancelled = load(&samples->cancelled),
                                       .fired = load(&samples->fired),
                                       .ended = load(&samples->ended),
                                       .time_ns = load(&samples->time_ns)};
    const verge__counted_source more = {.started = now.started - counted->started,
                                        .cancelled = now.cancelled - counted->cancelled,
                                        .fired = now.fired - counted->fired,
                                        .ended = now.ended - counted->ended,
                                        .time_ns = now.time_ns - counted->time_ns};
    *counted = now;
    return more;
}

typedef struct verge__gain {
    double started, cancelled, fired, ended, time_ns;
} gain;

typedef struct verge__gains {
    gain of[VERGE__SOURCE_COUNT];
} gains;

static void gain_from(const verge__service_view *view, const verge__samples *samples, const verge__tally *tally,
                      verge__seat_view *seat, gains *gains_) {
    verge__counted_source more[VERGE__SOURCE_COUNT];
    verge__counted_source all = {0};
    for (uint32_t i = 0; i < VERGE__SOURCE_COUNT; i++) {
        more[i] = (verge__counted_source){0};
        if (view->sources[i].name[0] != '\0') {
            more[i] = count_source(&samples->of[i], &seat->of[i]);
            all.started += more[i].started;
            all.cancelled += more[i].cancelled;
            all.fired += more[i].fired;
        }
    }
    seat->event_count = load(&tally->started) - seat->started;
    const uint64_t fired_count = load(&tally->fired) - seat->fired;
    seat->event_count = fired_count > seat->event_count ? fired_count : seat->event_count;
    const double started = scale(all.started, load(&tally->started), &seat->started);
    const double cancelled =
        scale(all.cancelled, load(&tally->cancelled_locally) + load(&tally->cancelled_remotely), &seat->cancelled);
    const double fired = scale(all.fired, load(&tally->fired), &seat->fired);
    if (!seat->is_known) { /* events before the first look do not count */
        seat->is_known = true;
        seat->started = load(&tally->started);
        seat->cancelled = load(&tally->cancelled_locally) + load(&tally->cancelled_remotely);
        seat->fired = load(&tally->fired);
        return;
    }
    for (uint32_t i = 0; i < VERGE__SOURCE_COUNT; i++) {
        gain *to = &gains_->of[view->sources[i].stands_for];
        to->started += (double)more[i].started * started;
        to->cancelled += (double)more[i].cancelled * cancelled;
        to->fired += (double)more[i].fired * fired;
        to->ended += (double)more[i].ended * fired;
        to->time_ns += (double)more[i].time_ns * fired;
    }
}

/* ---- figures a second ---- */

#define SOON 0.75  /* s; a rate follows a change in about two seconds */
#define SLOWLY 1.0 /* for rates that come from samples */

/* Moves a rate towards its present value. */
static void move_rate(double *rate, double more, double seconds, double constant) {
    const double share = seconds / (seconds + constant);
    const double now = seconds > 0 ? more / seconds : 0;
    *rate += (now - *rate) * share;
    *rate = *rate < 0.01 && now == 0 ? 0 : *rate;
}

static void update_source(verge__source_view *source, const gain *gain_, double seconds) {
    move_rate(&source->started, gain_->started, seconds, SLOWLY);
    move_rate(&source->cancelled, gain_->cancelled, seconds, SLOWLY);
    move_rate(&source->fired, gain_->fired, seconds, SLOWLY);
    move_rate(&source->ended, gain_->ended, seconds, SLOWLY);
    move_rate(&source->time_ns, gain_->time_ns, seconds, SLOWLY);
    source->past_ended = source->past_ended * KEPT_EACH_LOOK + gain_->ended;
    source->past_cancelled = source->past_cancelled * KEPT_EACH_LOOK + gain_->cancelled;
    source->past_fired = source->past_fired * KEPT_EACH_LOOK + gain_->fired;
    source->past_time_ns = source->past_time_ns * KEPT_EACH_LOOK + gain_->time_ns;
}

/* Over all workers. Samples of a busy worker and of an idle one count the same here. */
static void update_lateness(verge__service_view *view) {
    const uint32_t count = atomic_load_explicit(&view->service->seat_count, memory_order_acquire);
    for (uint32_t i = 0; i < VERGE__SOURCE_COUNT; i++) {
        if (view->sources[i].name[0] == '\0') {
            continue;
        }
        verge__source_view *source = &view->sources[i];
        verge__source_view *shown = &view->sources[source->stands_for];
        uint32_t now[VERGE__LATE_BUCKET_COUNT] = {0};
        for (uint32_t id = 1; id <= count; id++) {
            const verge__samples *samples =
                atomic_load_explicit(&verge__service_seat(view->service, id)->samples, memory_order_relaxed);
            for (uint32_t bucket = 0; samples != NULL && bucket < VERGE__LATE_BUCKET_COUNT; bucket++) {
                now[bucket] += atomic_load_explicit(&samples->of[i].late[bucket], memory_order_relaxed);
            }
        }
        for (uint32_t bucket = 0; bucket < VERGE__LATE_BUCKET_COUNT; bucket++) {
            shown->late[bucket] = shown->late[bucket] * (shown == source ? (float)KEPT_EACH_LOOK : 1) +
                                  (float)(now[bucket] - source->late_counted[bucket]);
            source->late_counted[bucket] = now[bucket];
        }
    }
}

uint64_t verge__view_lateness(const verge__source_view *source, double quantile) {
    double all = 0;
    for (uint32_t i = 0; i < VERGE__LATE_BUCKET_COUNT; i++) {
        all += (double)source->late[i];
    }
    if (all < 0.01) {
        return 0;
    }
    double left = all * quantile;
    uint32_t bucket = 0;
    while (bucket < VERGE__LATE_BUCKET_COUNT - 1 && left > (double)source->late[bucket]) {
        left -= (double)source->late[bucket++];
    }
    return verge__late_bound(bucket);
}

/* ---- workers ---- */

static void update_worker(verge__seat_view *seat, const verge_worker *worker, uint64_t now_ns, double seconds) {
    const uint64_t fired = load(&worker->tally.fired);
    const uint64_t callback_ns = verge_histogram_sum(&worker->callback_time);
    const verge_timer running = load(&worker->running);
    const bool is_same = running != 0 && running == seat->running && fired == seat->fired_before;
    if (running == 0) {
        seat->running_since_ns = 0;
    } else if (!is_same) {
        seat->running_since_ns = now_ns;
    }
    const double spent = (double)(callback_ns - seat->callback_ns);
    const double before = seat->busy;
    move_rate(&seat->busy, is_same ? seconds : spent / (double)SECOND_NS, seconds, SOON);
    seat->busy = seat->busy > 1 ? 1 : seat->busy;
    move_rate(&seat->fired_rate, (double)(fired - seat->fired_before), seconds, SOON);
    if (seconds <= 0) { /* the first look: there is nothing to compare with */
        seat->busy = before;
        seat->fired_rate = 0;
    }
    seat->running = running;
    seat->fired_before = fired;
    seat->callback_ns = callback_ns;
}

uint64_t verge__view_stuck_since(const verge__service_view *view, uint32_t seat, uint64_t now_ns) {
    const verge__seat_view *shown = view->seats[seat];
    const uint64_t after_ns = view->service->options.stuck_after_ns;
    const uint64_t limit_ns = after_ns != 0 ? after_ns : STUCK_AFTER_NS;
    const bool is_stuck = shown != NULL && shown->running_since_ns != 0 && now_ns - shown->running_since_ns >= limit_ns;
    return is_stuck ? shown->running_since_ns : 0;
}

uint32_t verge__view_running_source(const verge__service_view *view, uint32_t seat) {
    verge__timer *timer = NULL;
    const verge__seat_view *shown = view->seats[seat];
    const bool is_known = shown != NULL && shown->running != 0 &&
                          verge__table_has(&view->service->table, (uint32_t)shown->running, &timer);
    return is_known ? view->sources[verge__timer_source(&view->service->sources, timer)].stands_for
                    : VERGE__SOURCE_OTHERS;
}

/* ---- a look ---- */

/* Sleeping workers would not notice that somebody has begun to look. */
static void wake_workers(verge_service *service) {
    const uint32_t count = atomic_load_explicit(&service->seat_count, memory_order_acquire);
    for (uint32_t id = 1; id <= count; id++) {
        verge_worker *worker = verge__service_seat(service, id);
        if (verge__worker_is_there(worker)) {
            verge__park_wake(worker, 0);
        }
    }
}

static void look_at_places(verge__service_view *view, uint64_t now_ns, double seconds, gains *gains_) {
    verge_service *service = view->service;
    const uint32_t count = atomic_load_explicit(&service->seat_count, memory_order_acquire);
    for (uint32_t id = 0; id <= count; id++) {
        verge_worker *worker = id == 0 ? NULL : verge__service_seat(service, id);
        const verge__samples *samples =
            samples_of(service, worker == NULL ? &service->outside_samples : &worker->samples);
        verge__seat_view *seat = seat_view(view, id);
        if (samples == NULL || seat == NULL) {
            continue; /* no memory: it is not counted */
        }
        gain_from(view, samples, worker == NULL ? &service->outside : &worker->tally, seat, gains_);
        if (worker != NULL) {
            update_worker(seat, worker, now_ns, seconds);
        }
    }
}

static void update_totals(verge__service_view *view, double seconds) {
    verge_service_stats stats = {.struct_size = sizeof(stats)};
    (void)verge_service_get_stats(view->service, &stats);
    const uint64_t cancelled = stats.cancelled_locally + stats.cancelled_remotely;
    if (seconds > 0) {
        move_rate(&view->started, (double)(stats.started - view->started_before), seconds, SOON);
        move_rate(&view->fired, (double)(stats.fired - view->fired_before), seconds, SOON);
        move_rate(&view->cancelled, (double)(cancelled - view->cancelled_before), seconds, SOON);
    }
    view->started_before = stats.started;
    view->fired_before = stats.fired;
    view->cancelled_before = cancelled;
}

static void note_growth(verge__service_view *view, uint64_t now_ns) {
    for (uint32_t i = 0; i < VERGE__SOURCE_COUNT; i++) {
        verge__source_view *source = &view->sources[i];
        if (source->name[0] != '\0') {
            verge__growth_note(&source->growth, now_ns, view->walk.last.pending[i]);
        }
    }
}

static void begin_look(verge__service_view *view, uint64_t now_ns) {
    view->is_looked_at = true;
    view->looked_ns = now_ns;
    view->tick_count = 0;
    for (uint32_t i = 0; i < VERGE__SOURCE_COUNT; i++) {
        view->sources[i].growth = (verge__growth){0};
    }
    for (uint32_t i = 0; i <= VERGE_WORKER_COUNT_MAX; i++) {
        if (view->seats[i] != NULL) {
            view->seats[i]->is_known = false;
        }
    }
    verge__walk_begin(&view->walk, view->service, view->allocator, now_ns);
}

void verge__view_look(verge__service_view *view, uint64_t now_ns) {
    verge_service *service = view->service;
    const bool is_first = !view->is_looked_at;
    gains gains_ = {.of = {{0}}};
    if (is_first) {
        begin_look(view, now_ns);
    }
    const double seconds = (double)(now_ns - view->looked_ns) / (double)SECOND_NS;
    view->looked_ns = now_ns;
    const bool is_round = verge__walk_on(&view->walk, VERGE__WALK_AT_ONCE, now_ns);
    name_sources(view); /* the walk may have found new ones */
    look_at_places(view, now_ns, seconds, &gains_);
    for (uint32_t i = 0; i < VERGE__SOURCE_COUNT && seconds > 0; i++) {
        update_source(&view->sources[i], &gains_.of[i], seconds);
    }
    update_lateness(view);
    update_totals(view, seconds);
    if (is_round) {
        note_growth(view, now_ns);
    }
    view->tick_count++;
    atomic_store_explicit(&service->look, ++view->look, memory_order_relaxed);
    if (is_first) {
        wake_workers(service);
    }
}

/* If a worker has few events, every one is a sample. Otherwise the weight is chosen so that a poke gets about 32
 * samples. */
static uint32_t weight_of(const verge__seat_view *seat) {
    enum { POKES_A_LOOK = 16, ALL_UP_TO = 64, SAMPLES = 32 };
    const uint64_t events = seat == NULL ? 0 : seat->event_count / POKES_A_LOOK;
    uint32_t weight = 1;
    while (events > ALL_UP_TO && weight < VERGE__WEIGHT_MAX && (uint64_t)weight * SAMPLES < events) {
        weight *= 2;
    }
    return weight;
}

void verge__view_poke(verge__service_view *view) {
    verge_service *service = view->service;
    const uint32_t count = atomic_load_explicit(&service->seat_count, memory_order_acquire);
    for (uint32_t id = 1; id <= count && view->is_looked_at; id++) {
        verge_worker *worker = verge__service_seat(service, id);
        if (atomic_load_explicit(&worker->samples, memory_order_relaxed) != NULL && verge__worker_is_there(worker)) {
            verge__worker_poke(worker, weight_of(view->seats[id]));
        }
    }
    if (view->is_looked_at) {
        verge__service_poke(service, weight_of(view->seats[0]));
    }
}

void verge__view_look_away(verge__service_view *view) {
    if (view->is_looked_at) {
        view->is_looked_at = false;
        atomic_store_explicit(&view->service->look, 0, memory_order_relaxed);
        atomic_store_explicit(&view->service->outside_left, 0, memory_order_relaxed);
        verge__walk_end(&view->walk);
    }
}
