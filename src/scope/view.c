/* SPDX-License-Identifier: MIT */
#include "scope/view.h"

#include <string.h>

#include "base/bits.h"

#define SECOND_NS UINT64_C(1000000000)
#define KEPT_EACH_LOOK 0.975 /* weight of past figures after one more look: 0.36 after ten seconds */

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
    for (size_t i = 0; i < VERGE__SOURCE_COUNT; i++) {
        verge__source_lateness *lateness = view->sources[i].lateness;
        if (lateness != NULL) {
            view->allocator->release(view->allocator->context, lateness, sizeof(*lateness));
        }
    }
    for (size_t i = 0; i <= VERGE_WORKER_COUNT_MAX; i++) {
        if (view->seats[i] != NULL) {
            view->allocator->release(view->allocator->context, view->seats[i], sizeof(*view->seats[i]));
        }
    }
}

/* ---- the last ten minutes ---- */

static uint32_t heat_row(uint64_t late_ns) {
    const uint32_t bit = late_ns == 0 ? 0 : verge__bit_floor_index(late_ns);
    const uint32_t row = bit < VERGE__LATE_FIRST_BIT ? 0 : bit - VERGE__LATE_FIRST_BIT + 1;
    return row < VERGE__HEAT_ROWS ? row : VERGE__HEAT_ROWS - 1;
}

static void count_heat(const verge_service *service, uint64_t rows[VERGE__HEAT_ROWS]) {
    verge_histogram lateness = {0};
    (void)verge_service_get_histograms(service, &lateness, NULL);
    for (size_t i = 0; i < VERGE_HISTOGRAM_BUCKET_COUNT; i++) {
        uint64_t upper_ns = 0;
        uint64_t times = 0;
        (void)verge_histogram_bucket(&lateness, i, &upper_ns, &times);
        rows[heat_row(upper_ns)] += times;
    }
}

static uint32_t since(uint64_t now, uint64_t *counted) {
    const uint64_t more = now - *counted;
    *counted = now;
    return more < UINT32_MAX ? (uint32_t)more : UINT32_MAX;
}

void verge__view_note_second(verge__service_view *view, uint64_t second, uint64_t now_ns) {
    uint64_t rows[VERGE__HEAT_ROWS] = {0};
    verge_service_stats stats = {.struct_size = sizeof(stats)};
    verge__second *noted = &view->history[second % VERGE__HISTORY_COUNT];
    const bool is_first = view->last_second == 0; /* events before scope began do not belong to this second */
    count_heat(view->service, rows);
    (void)verge_service_get_stats(view->service, &stats);
    verge__stuck_note(view, now_ns);
    *noted =
        (verge__second){.second = second,
                        .pending = stats.pending,
                        .bytes = stats.bytes,
                        .started = since(stats.started, &view->noted_started),
                        .fired = since(stats.fired, &view->noted_fired),
                        .cancelled = since(stats.cancelled_locally + stats.cancelled_remotely, &view->noted_cancelled),
                        .workers = stats.workers,
                        .stuck = verge__stuck_count(&view->stuck)};
    for (size_t i = 0; i < VERGE__HEAT_ROWS; i++) {
        const uint32_t more = since(rows[i], &view->heat_counted[i]);
        noted->late[i] = is_first ? 0 : more;
    }
    if (is_first) {
        noted->started = noted->fired = noted->cancelled = 0;
    }
    view->last_second = second;
}

/* ---- what was counted ---- */

/* Returns what is known about the worker with this id, or NULL if there is no memory. */
static verge__seat_view *seat_view(verge__service_view *view, uint32_t id) {
    if (view->seats[id] == NULL) {
        const size_t size = sizeof(*view->seats[id]);
        view->seats[id] = view->allocator->allocate(view->allocator->context, size, _Alignof(verge__seat_view));
        if (view->seats[id] != NULL) {
            memset(view->seats[id], 0, size);
        }
    }
    return view->seats[id];
}

/* Returns how many events there were for each sampled event. `sampled` counts each sample with its weight. If there was
 * no sample, returns 0, and leaves *counted, so that the next look also counts the events of this one. */
static double scale(uint64_t sampled, uint64_t total, uint64_t *counted) {
    const uint64_t more = total - *counted;
    if (sampled == 0) {
        return 0;
    }
    *counted = total;
    return more > sampled ? (double)more / (double)sampled : 1;
}

/* Returns what was sampled since the last look, and updates *counted. */
static verge__source_counts count_source(const verge__source_counts *now, verge__source_counts *counted) {
    const verge__source_counts more = {.started = now->started - counted->started,
                                       .cancelled = now->cancelled - counted->cancelled,
                                       .fired = now->fired - counted->fired,
                                       .ended = now->ended - counted->ended,
                                       .time_ns = now->time_ns - counted->time_ns};
    *counted = *now;
    return more;
}

typedef struct verge__gain {
    double started, cancelled, fired, ended, time_ns;
} gain;

typedef struct verge__gains {
    gain of[VERGE__SOURCE_COUNT];
    double grain; /* the most events that a sample stands for */
} gains;

static double larger(double a, double b) {
    return a > b ? a : b;
}

static void gain_from(const verge__service_view *view, uint32_t id, const verge__worker_figures *figures,
                      verge__seat_view *seat, uint32_t weight, gains *gains_) {
    verge__source_counts more[VERGE__SOURCE_COUNT];
    verge__source_counts all = {0};
    for (uint32_t i = 0; i < VERGE__SOURCE_COUNT; i++) {
        verge__source_counts now;
        more[i] = (verge__source_counts){0};
        if (view->sources[i].name[0] != '\0' && verge__samples_count(view->service, id, i, &now)) {
            more[i] = count_source(&now, &seat->of[i]);
            all.started += more[i].started;
            all.cancelled += more[i].cancelled;
            all.fired += more[i].fired;
            all.time_ns += more[i].time_ns;
        }
    }
    seat->event_count = figures->started - seat->started;
    const uint64_t fired_count = figures->fired - seat->fired;
    seat->event_count = fired_count > seat->event_count ? fired_count : seat->event_count;
    const double started = scale(all.started, figures->started, &seat->started);
    const double cancelled = scale(all.cancelled, figures->cancelled, &seat->cancelled);
    const double fired = scale(all.fired, figures->fired, &seat->fired);
    if (!seat->is_known) { /* events before the first look do not count */
        seat->is_known = true;
        seat->started = figures->started;
        seat->cancelled = figures->cancelled;
        seat->fired = figures->fired;
        seat->spent_ns = 0;
        return;
    }
    /* The time that all callbacks took together is known exactly. It is divided among the sources in proportion to the
     * time of their samples. */
    const double time = all.time_ns == 0 ? 0 : (double)seat->spent_ns / (double)all.time_ns;
    seat->spent_ns = all.time_ns == 0 ? seat->spent_ns : 0;
    gains_->grain = larger(gains_->grain, larger(started, larger(cancelled, fired)) * weight);
    for (uint32_t i = 0; i < VERGE__SOURCE_COUNT; i++) {
        gain *to = &gains_->of[view->sources[i].stands_for];
        to->started += (double)more[i].started * started;
        to->cancelled += (double)more[i].cancelled * cancelled;
        to->fired += (double)more[i].fired * fired;
        to->ended += (double)more[i].ended * fired;
        to->time_ns += (double)more[i].time_ns * time;
        seat->recent[view->sources[i].stands_for].time_ns += (float)((double)more[i].time_ns * time);
    }
}

/* ---- rates, which are figures per second ---- */

#define SOON 0.75  /* a time constant, in seconds: a rate follows a change in about two seconds */
#define SLOWLY 1.0 /* the time constant of rates that come from samples */

/* Moves a rate towards its present value. */
static void move_rate(double *rate, double more, double seconds, double constant) {
    const double share = seconds / (seconds + constant);
    const double now = seconds > 0 ? more / seconds : 0;
    *rate += (now - *rate) * share;
    *rate = *rate < 0.01 && now == 0 ? 0 : *rate;
}

static void update_rate(verge__rate *rate, double more, double seconds) {
    move_rate(&rate->now, more, seconds, SLOWLY);
    rate->past = rate->past * KEPT_EACH_LOOK + more;
    rate->squares = rate->squares * KEPT_EACH_LOOK + more * more;
}

static void update_source(verge__source_view *source, const gain *gain_, double seconds) {
    update_rate(&source->started, gain_->started, seconds);
    update_rate(&source->cancelled, gain_->cancelled, seconds);
    update_rate(&source->fired, gain_->fired, seconds);
    update_rate(&source->ended, gain_->ended, seconds);
    update_rate(&source->time_ns, gain_->time_ns, seconds);
    source->has_ended = source->has_ended || gain_->ended + gain_->cancelled > 0;
}

/* The square root, by Newton's method: libverge does not need libm. */
static double root(double x) {
    enum { STEPS_MAX = 600 }; /* enough for the largest double: a step halves a guess that is far too large */
    double guess = larger(x, 1);
    for (int i = 0; i < STEPS_MAX; i++) {
        const double next = (guess + x / guess) / 2;
        if (next >= guess * (1 - 1e-9)) {
            break;
        }
        guess = next;
    }
    return guess;
}

double verge__view_rate(const verge__service_view *view, const verge__rate *rate, double *ret_low, double *ret_high) {
    const double looks = view->past_looks, seconds = view->past_seconds;
    if (view->grain <= 1 || looks < 1 || seconds <= 0) {
        *ret_low = *ret_high = rate->now;
        return rate->now;
    }
    const double mean = rate->past / looks;
    const double variance = rate->squares / looks - mean * mean;
    const double error = variance > 0 ? root(variance / looks) : 0;
    const double a_second = looks / seconds;
    /* If there was no sample in that time, there were, in 19 of 20 cases, fewer events than three samples stand for. */
    const double unseen = 3 * view->grain / seconds;
    *ret_low = mean > 2 * error ? (mean - 2 * error) * a_second : 0;
    *ret_high = larger((mean + 2 * error) * a_second, rate->past > 0 ? 0 : unseen);
    return mean * a_second;
}

double verge__view_ends(const verge__service_view *view, const verge__source_view *source) {
    return view->past_seconds > 0 ? (source->ended.past + source->cancelled.past) / view->past_seconds : 0;
}

bool verge__view_is_leak(const verge__service_view *view, const verge__source_view *source) {
    return verge__growth_is_suspect(&source->growth, verge__view_ends(view, source));
}

/* Adds the callbacks that began late since the last look. */
static void count_late(verge__service_view *view, uint32_t id, uint32_t source,
                       const uint32_t by_bucket[VERGE__LATE_BUCKET_COUNT]) {
    verge__seat_view *seat = view->seats[id];
    uint32_t late = 0;
    for (uint32_t i = verge__late_bucket(VERGE__LATE_NS); i < VERGE__LATE_BUCKET_COUNT; i++) {
        late += by_bucket[i];
    }
    if (seat != NULL) {
        seat->recent[view->sources[source].stands_for].late += (float)(late - seat->recent[source].late_counted);
        seat->recent[source].late_counted = late;
    }
}

/* Updates the lateness of all sources. A sample of a busy worker counts as much here as one of an idle worker. */
static void update_lateness(verge__service_view *view) {
    const uint32_t count = verge__service_seat_count(view->service);
    for (uint32_t i = 0; i < VERGE__SOURCE_COUNT; i++) {
        verge__source_view *source = &view->sources[i];
        verge__source_view *shown = &view->sources[source->stands_for];
        if (source->name[0] == '\0' || source->lateness == NULL || shown->lateness == NULL) {
            continue;
        }
        uint32_t now[VERGE__LATE_BUCKET_COUNT] = {0};
        for (uint32_t id = 1; id <= count; id++) {
            uint32_t here[VERGE__LATE_BUCKET_COUNT];
            if (!verge__samples_late(view->service, id, i, here)) {
                continue;
            }
            for (uint32_t bucket = 0; bucket < VERGE__LATE_BUCKET_COUNT; bucket++) {
                now[bucket] += here[bucket];
            }
            count_late(view, id, i, here);
        }
        for (uint32_t bucket = 0; bucket < VERGE__LATE_BUCKET_COUNT; bucket++) {
            float *past = &shown->lateness->past[bucket];
            *past = *past * (shown == source ? (float)KEPT_EACH_LOOK : 1) +
                    (float)(now[bucket] - source->lateness->counted[bucket]);
            source->lateness->counted[bucket] = now[bucket];
        }
    }
}

static uint64_t quantile_of(const float past[VERGE__LATE_BUCKET_COUNT], double quantile, double count_min) {
    double all = 0;
    for (uint32_t i = 0; i < VERGE__LATE_BUCKET_COUNT; i++) {
        all += (double)past[i];
    }
    if (all < count_min || all < 0.01) {
        return 0;
    }
    double left = all * quantile;
    uint32_t bucket = 0;
    while (bucket < VERGE__LATE_BUCKET_COUNT - 1 && left > (double)past[bucket]) {
        left -= (double)past[bucket++];
    }
    return verge__late_bound(bucket);
}

uint64_t verge__view_lateness(const verge__source_view *source, double quantile, double count_min) {
    return source->lateness == NULL ? 0 : quantile_of(source->lateness->past, quantile, count_min);
}

uint64_t verge__view_lateness_of_all(const verge__service_view *view) {
    float past[VERGE__LATE_BUCKET_COUNT] = {0};
    for (uint32_t i = 0; i < VERGE__SOURCE_COUNT; i++) {
        const verge__source_view *source = &view->sources[i];
        const bool counts = source->name[0] != '\0' && source->stands_for == i && source->lateness != NULL;
        for (uint32_t bucket = 0; counts && bucket < VERGE__LATE_BUCKET_COUNT; bucket++) {
            past[bucket] += source->lateness->past[bucket];
        }
    }
    return quantile_of(past, 0.99, 0);
}

/* ---- workers ---- */

/* Returns whether the worker runs a callback that was running at the last look already. */
static bool runs_on(const verge__service_view *view, uint32_t id) {
    const verge__running *running = &view->stuck.running[id];
    return running->timer != 0 && running->since_ns <= view->looked_before_ns;
}

/* Counts the time that the callbacks of a worker took since the last look. If one callback has been running since then,
 * that time is counted for its source at each look. When the callback has returned, only the rest is counted. */
static void count_time(const verge__service_view *view, uint32_t id, verge__seat_view *seat, uint64_t callback_ns,
                       double seconds, gains *gains_) {
    const verge__running *running = &view->stuck.running[id];
    const uint64_t spent_ns = callback_ns - seat->callback_ns;
    if (runs_on(view, id)) {
        const uint64_t passed_ns = (uint64_t)(seconds * (double)SECOND_NS);
        seat->ahead_ns += passed_ns;
        const uint32_t source = verge__view_source_of(view, running->timer);
        gains_->of[source].time_ns += (double)passed_ns;
        seat->recent[source].time_ns += (float)passed_ns;
    } else {
        seat->spent_ns += spent_ns > seat->ahead_ns ? spent_ns - seat->ahead_ns : 0;
        seat->ahead_ns = 0;
    }
    seat->callback_ns = callback_ns;
}

static void update_worker(verge__service_view *view, uint32_t id, const verge__worker_figures *figures,
                          verge__seat_view *seat, double seconds, gains *gains_) {
    const double spent = (double)(figures->callback_ns - seat->callback_ns);
    const double before = seat->busy;
    move_rate(&seat->busy, runs_on(view, id) ? seconds : spent / (double)SECOND_NS, seconds, SOON);
    seat->busy = seat->busy > 1 ? 1 : seat->busy;
    move_rate(&seat->fired_rate, (double)(figures->fired - seat->fired_before), seconds, SOON);
    if (seconds <= 0) { /* the first look: there is nothing to compare with */
        seat->busy = before;
        seat->fired_rate = 0;
    }
    seat->fired_before = figures->fired;
    count_time(view, id, seat, figures->callback_ns, seconds, gains_);
}

/* ---- details of a source ---- */

#define DETAIL_WANTED_NS (5 * SECOND_NS) /* how long details are collected after a client has asked for them */

/* Tells the walk which sources are looked at more closely. The present round may have passed some of their timers: the
 * next round is the first complete one. */
static void set_details(verge__service_view *view) {
    for (uint32_t i = 0; i < VERGE__SOURCE_COUNT; i++) {
        uint8_t number = 0;
        for (uint32_t k = 0; k < VERGE__DETAILS_MAX; k++) {
            const verge__detail_want *want = &view->wants[k];
            number = want->until_ns != 0 && view->sources[i].stands_for == want->source ? (uint8_t)(k + 1) : number;
        }
        view->walk.detail_of[i] = view->sources[i].name[0] == '\0' ? 0 : number;
    }
}

static void forget_details(verge__service_view *view, uint64_t now_ns) {
    bool were_any = false;
    for (size_t k = 0; k < VERGE__DETAILS_MAX; k++) {
        verge__detail_want *want = &view->wants[k];
        were_any = were_any || want->until_ns != 0;
        want->until_ns = now_ns < want->until_ns ? want->until_ns : 0;
    }
    if (were_any) {
        set_details(view); /* a source may not be wanted any more, and there may be new sources with the same name */
    }
}

bool verge__view_want_detail(verge__service_view *view, uint32_t source, uint64_t now_ns) {
    verge__detail_want *free = NULL;
    for (size_t k = 0; k < VERGE__DETAILS_MAX; k++) {
        verge__detail_want *want = &view->wants[k];
        if (want->until_ns != 0 && want->source == source) {
            want->until_ns = now_ns + DETAIL_WANTED_NS;
            return true;
        }
        free = want->until_ns == 0 ? want : free;
    }
    if (free != NULL) {
        *free = (verge__detail_want){
            .source = source, .until_ns = now_ns + DETAIL_WANTED_NS, .from_round = view->walk.round_count + 2};
        set_details(view);
    }
    return free != NULL;
}

const verge__detail *verge__view_detail(const verge__service_view *view, uint32_t source) {
    for (size_t k = 0; k < VERGE__DETAILS_MAX; k++) {
        const verge__detail_want *want = &view->wants[k];
        if (want->until_ns != 0 && want->source == source && view->walk.round_count >= want->from_round) {
            return &view->walk.last_details[k];
        }
    }
    return NULL;
}

/* ---- a look ---- */

/* Returns the weight w for the next samples of a worker: one event in w is a sample. If there are few events, w is 1.
 * Otherwise a poke gets about 8 to 32 samples. */
static uint32_t weight_of(const verge__seat_view *seat) {
    enum { POKES_A_LOOK = 16, ALL_UP_TO = 64, SAMPLES = 32 };
    const uint64_t events = seat == NULL ? 0 : seat->event_count / POKES_A_LOOK;
    uint32_t weight = 1;
    while (events > ALL_UP_TO && weight < VERGE__WEIGHT_MAX && (uint64_t)weight * SAMPLES < events) {
        weight *= 2;
    }
    return weight;
}

/* Lets older figures count less. */
static void age_seat(verge__seat_view *seat, float kept) {
    for (uint32_t i = 0; i < VERGE__SOURCE_COUNT; i++) {
        seat->recent[i].time_ns *= kept;
        seat->recent[i].late *= kept;
    }
}

static void look_at_places(verge__service_view *view, double seconds, gains *gains_) {
    const uint32_t count = verge__service_seat_count(view->service);
    for (uint32_t id = 0; id <= count; id++) {
        verge__seat_view *seat = seat_view(view, id);
        verge__worker_figures figures;
        if (!verge__samples_make(view->service, id) || seat == NULL) {
            continue; /* no memory: this worker is not counted */
        }
        verge__worker_look_at(view->service, id, &figures);
        age_seat(seat, (float)KEPT_EACH_LOOK);
        if (id != 0) {
            update_worker(view, id, &figures, seat, seconds, gains_);
        }
        gain_from(view, id, &figures, seat, weight_of(seat), gains_);
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

static void begin_look(verge__service_view *view, uint64_t now_ns) {
    view->is_looked_at = true;
    view->looked_ns = now_ns;
    view->tick_count = 0;
    view->past_looks = view->past_seconds = 0;
    view->grain = 1;
    for (uint32_t i = 0; i < VERGE__SOURCE_COUNT; i++) {
        verge__source_view *source = &view->sources[i];
        source->growth = (verge__growth){0};
        source->has_ended = false;
        source->started = source->fired = source->ended = source->cancelled = source->time_ns = (verge__rate){0};
        source->used_ns = now_ns;
        source->is_leaving = false;
    }
    for (uint32_t i = 0; i <= VERGE_WORKER_COUNT_MAX; i++) {
        if (view->seats[i] != NULL) {
            view->seats[i]->is_known = false;
            age_seat(view->seats[i], 0);
        }
    }
    verge__walk_begin(&view->walk, view->service, view->allocator, now_ns);
}

/* Rates are marked as estimates while a sample of the last ten seconds stands for more than one event. */
static void note_look(verge__service_view *view, double seconds, double grain) {
    enum { EXACT_LOOKS = 40 }; /* ten seconds */
    view->past_looks = view->past_looks * KEPT_EACH_LOOK + 1;
    view->past_seconds = view->past_seconds * KEPT_EACH_LOOK + seconds;
    view->exact_looks = grain > 1 ? 0 : view->exact_looks + 1;
    view->grain = view->exact_looks >= EXACT_LOOKS ? 1 : larger(grain, view->grain * KEPT_EACH_LOOK);
}

void verge__view_look(verge__service_view *view, uint64_t now_ns) {
    gains gains_ = {.grain = 1};
    if (!view->is_looked_at) {
        begin_look(view, now_ns);
    }
    const double seconds = (double)(now_ns - view->looked_ns) / (double)SECOND_NS;
    view->looked_before_ns = view->looked_ns;
    view->looked_ns = now_ns;
    const bool is_round = verge__walk_on(&view->walk, VERGE__WALK_AT_ONCE, now_ns);
    verge__view_name_sources(view, now_ns); /* the walk may have found new sources */
    verge__stuck_note(view, now_ns);
    look_at_places(view, seconds, &gains_);
    for (uint32_t i = 0; i < VERGE__SOURCE_COUNT && seconds > 0; i++) {
        update_source(&view->sources[i], &gains_.of[i], seconds);
    }
    if (seconds > 0) {
        note_look(view, seconds, gains_.grain);
    }
    update_lateness(view);
    update_totals(view, seconds);
    if (is_round) {
        verge__view_take_round(view, now_ns);
        forget_details(view, now_ns);
    }
    view->tick_count++;
    verge__service_look(view->service, ++view->look);
}

void verge__view_poke(verge__service_view *view) {
    const uint32_t count = verge__service_seat_count(view->service);
    for (uint32_t id = 0; id <= count && view->is_looked_at; id++) {
        verge__samples_ask(view->service, id, weight_of(view->seats[id]));
    }
}

void verge__view_look_away(verge__service_view *view) {
    if (view->is_looked_at) {
        view->is_looked_at = false;
        verge__service_look(view->service, 0);
        memset(view->wants, 0, sizeof(view->wants));
        verge__walk_end(&view->walk);
    }
}
