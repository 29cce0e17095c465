/* SPDX-License-Identifier: MIT */
#include "model/before.h"
#include "wheel/wheel_internal.h"

#include <errno.h>
#include <string.h>

/* ---- schedule ---- */

static void *next_data(struct run *run) {
    return (void *)(uintptr_t)(run->model.scheduled + 1);
}

/* Compares the result of a call that starts a timer with what it must be. */
static void scheduled(struct run *run, const struct before *b, int error, int expected, verge_timer timer,
                      uint64_t deadline_ns) {
    const bool full = run->model.options.timer_cap != 0 && run->model.count >= run->model.options.timer_cap;
    if (expected == 0 && full) {
        expected = -ENOSPC;
    }
    const bool either = full && error == -ENOSPC; /* a full wheel may return this instead of another error */
    RUN_CHECK_VALUES(run, error == expected || either || before_ran_out(run, b, error), "schedule", -error, -expected);
    if (error != 0) {
        RUN_CHECK_EQUAL(run, timer, 0U, "ret_timer was touched");
        before_unchanged(run, b);
        return;
    }
    if (model_handles_pending(&run->model) < run->model.reserved_handles) {
        before_not_allocated(run, b);
    }
    RUN_CHECK(run, timer != 0, "G4: 0 is a handle");
    RUN_CHECK(run, !model_handle_issued(&run->model, timer), "G4: a handle that was given out before");
    for (size_t i = 0; i < RUN_STRANGER_TIMERS; i++) {
        RUN_CHECK(run, timer != run->stranger_timers[i], "G4: a handle of another wheel");
    }
    model_add(&run->model, timer, deadline_ns, next_data(run), b->backlog);
    run->model.scheduled++;
}

void run_schedule_at(struct run *run, uint64_t deadline_ns) {
    const struct before b = before_call(run);
    const uint64_t largest_ns = verge_wheel_largest_deadline(run->wheel);
    verge_timer timer = 0;
    const int error = verge_wheel_start(run->wheel, deadline_ns, next_data(run), &timer);
    scheduled(run, &b, error, model_judge(&run->model, deadline_ns, largest_ns), timer, deadline_ns);
}

static void do_schedule(struct run *run) {
    run_schedule_at(run, run_random_deadline(run));
}

static void do_schedule_burst(struct run *run) {
    const uint64_t deadline_ns = run_random_deadline(run);
    const uint64_t spread_ns = verge_test_chance(&run->random, 2) ? 1 : run->model.precision_ns;
    const uint64_t count = 2 + verge_test_below(&run->random, run->timers_max / 8 + 8);
    for (uint64_t i = 0; i < count; i++) {
        const uint64_t offset_ns = verge_test_below(&run->random, spread_ns);
        run_schedule_at(run, deadline_ns > UINT64_MAX - offset_ns ? deadline_ns : deadline_ns + offset_ns);
    }
}

static void do_schedule_window(struct run *run) {
    const uint64_t a_ns = run_random_deadline(run);
    const uint64_t b_ns = verge_test_chance(&run->random, 2) ? run_random_deadline(run) : a_ns + 1000;
    const bool backwards = verge_test_chance(&run->random, 16);
    const uint64_t earliest_ns = (a_ns < b_ns) != backwards ? a_ns : b_ns;
    const uint64_t latest_ns = (a_ns < b_ns) != backwards ? b_ns : a_ns;
    const struct before b = before_call(run);
    const uint64_t largest_ns = verge_wheel_largest_deadline(run->wheel);
    verge_timer timer = 0;
    const int error = verge_wheel_start_window(run->wheel, earliest_ns, latest_ns, next_data(run), &timer);
    if (earliest_ns > latest_ns) {
        scheduled(run, &b, error, -EINVAL, timer, 0);
        return;
    }
    /* cut: only a part of the window is within reach. */
    const bool cut = earliest_ns <= largest_ns && latest_ns > largest_ns;
    /* If the beginning of the window is past, the first legal time counts instead. */
    const uint64_t first_ns = model_first_legal(&run->model);
    const bool is_partly_past = earliest_ns < first_ns && latest_ns >= first_ns;
    const uint64_t deadline_ns = model_roundest(is_partly_past ? first_ns : earliest_ns, cut ? largest_ns : latest_ns);
    scheduled(run, &b, error, model_judge(&run->model, deadline_ns, largest_ns), timer, deadline_ns);
}

static void do_schedule_best_fit(struct run *run) {
    const uint64_t target_ns = run_random_deadline(run);
    const uint64_t largest_ns = verge_wheel_largest_deadline(run->wheel);
    uint64_t deadline_ns = target_ns < largest_ns ? target_ns : largest_ns;
    if (target_ns == VERGE_NEVER) {
        return;
    }
    const struct before b = before_call(run);
    verge_timer timer = 0;
    uint64_t wheel_deadline_ns = 12345;
    const int error = verge_wheel_start_best_fit(run->wheel, target_ns, next_data(run), &timer, &wheel_deadline_ns);
    if (error == 0 && run->model.options.coarse) { /* the deadline may be before the target, but not before now */
        const bool is_past = deadline_ns <= run->model.now_ns;
        RUN_CHECK_VALUES(run, wheel_deadline_ns <= deadline_ns && (is_past || wheel_deadline_ns > run->model.now_ns),
                         "best fit: the wheel's deadline", wheel_deadline_ns, deadline_ns);
        deadline_ns = wheel_deadline_ns;
    }
    scheduled(run, &b, error, model_judge(&run->model, deadline_ns, largest_ns), timer, deadline_ns);
    RUN_CHECK_EQUAL(run, wheel_deadline_ns, error == 0 ? deadline_ns : 12345, "best fit: the wheel's deadline");
}

/* ---- handles ---- */

/* Chooses a random pending timer, and returns its handle, or 0 if it is a timeout. Returns 0 if none is pending. */
static verge_timer random_pending(struct run *run) {
    return run->model.count == 0 ? 0 : run->model.timers[verge_test_below(&run->random, run->model.count)].handle;
}

static verge_timer random_issued(struct run *run) {
    const struct model_handles *issued = &run->model.issued;
    if (issued->count == 0) {
        return 0;
    }
    const uint64_t back = verge_test_magnitude(&run->random) % issued->count; /* recent ones a little more often */
    return issued->items[issued->count - 1 - back];
}

static verge_timer random_forged(struct run *run) {
    const verge_timer genuine = verge_test_chance(&run->random, 2) ? random_pending(run) : random_issued(run);
    switch (verge_test_below(&run->random, 8)) {
    case 0:
        return 0;
    case 1:
        return UINT64_MAX;
    case 2:
        return verge_test_next(&run->random);
    case 3: /* a later generation of the node */
        return genuine + 1 + verge_test_below(&run->random, 3);
    case 4:
        return genuine - ((1 + verge_test_below(&run->random, 3)) << 32);
    case 5:
        return genuine ^ (UINT64_C(1) << verge_test_below(&run->random, 64));
    case 6:
        return verge_test_below(&run->random, 1000);
    default:
        return run->stranger_timers[verge_test_below(&run->random, RUN_STRANGER_TIMERS)];
    }
}

static verge_timer random_handle(struct run *run) {
    switch (verge_test_below(&run->random, 8)) {
    case 0:
        return random_forged(run);
    case 1:
        return random_issued(run);
    default:
        return random_pending(run);
    }
}

/* Returns what a call with this handle must return, if nothing else is wrong. */
static int handle_error(struct run *run, verge_timer timer) {
    if (model_find(&run->model, timer) != NULL) {
        return 0;
    }
    return model_handle_issued(&run->model, timer) ? -ENOENT : -EBADF;
}

/* Whether a call was right to refuse a handle. If nodes were given back, the wheel may return -ENOENT for a handle that
 * it never issued. */
static bool is_refusal(struct run *run, verge_timer timer, int error) {
    const int expected = handle_error(run, timer);
    return error == expected || (expected == -EBADF && error == -ENOENT && run->gave_back);
}

static void do_cancel(struct run *run) {
    const verge_timer timer = random_handle(run);
    const int expected = handle_error(run, timer);
    const bool wants_data = !verge_test_chance(&run->random, 8);
    const struct before b = before_call(run);
    void *data = &run->out;
    const int error = verge_wheel_cancel(run->wheel, timer, wants_data ? &data : NULL);
    RUN_CHECK_VALUES(run, error == 0 ? expected == 0 : is_refusal(run, timer, error), "G4: cancel", -error, -expected);
    before_not_allocated(run, &b);
    before_gave_back(run, &b);
    if (error != 0) {
        RUN_CHECK(run, data == &run->out, "ret_data was touched");
        before_unchanged(run, &b);
        return;
    }
    struct model_timer *gone = model_find(&run->model, timer);
    RUN_CHECK(run, data == (wants_data ? gone->data : &run->out), "cancel returned other data");
    model_remove(&run->model, gone);
    run->model.cancelled++;
    RUN_CHECK_EQUAL(run, verge_wheel_cancel(run->wheel, timer, NULL), -ENOENT, "G4: cancelled twice");
}

static void do_cancel_many(struct run *run) {
    for (uint64_t i = verge_test_below(&run->random, run->model.count + 1); i > 0; i--) {
        do_cancel(run);
    }
}

static void do_get(struct run *run) {
    const verge_timer timer = random_handle(run);
    const int expected = handle_error(run, timer);
    const verge_expiry untouched = {.timer = 1, .deadline_ns = 2, .data = run};
    verge_expiry expiry = untouched;
    const int error = verge_wheel_get(run->wheel, timer, &expiry);
    RUN_CHECK_VALUES(run, error == 0 ? expected == 0 : is_refusal(run, timer, error), "G4: get", -error, -expected);
    if (error != 0) {
        RUN_CHECK(run, memcmp(&expiry, &untouched, sizeof(expiry)) == 0, "ret_expiry was touched");
        return;
    }
    const struct model_timer *known = model_find(&run->model, timer);
    RUN_CHECK_EQUAL(run, expiry.timer, timer, "get: handle");
    RUN_CHECK_EQUAL(run, expiry.deadline_ns, known->deadline_ns, "get: deadline");
    RUN_CHECK(run, expiry.data == known->data, "get: data");
}

uint64_t run_random_move(struct run *run, const struct model_timer *timer) {
    if (timer == NULL || verge_test_chance(&run->random, 2)) {
        return run_random_deadline(run);
    }
    const uint64_t delta_ns = verge_test_magnitude(&run->random);
    if (verge_test_chance(&run->random, 2)) {
        return timer->deadline_ns < delta_ns ? timer->deadline_ns : timer->deadline_ns - delta_ns;
    }
    return timer->deadline_ns > UINT64_MAX - delta_ns ? timer->deadline_ns : timer->deadline_ns + delta_ns;
}

static void reschedule_to(struct run *run, verge_timer timer, uint64_t deadline_ns) {
    struct model_timer *known = model_find(&run->model, timer);
    const int bad_handle = handle_error(run, timer);
    const int bad_time = model_judge(&run->model, deadline_ns, verge_wheel_largest_deadline(run->wheel));
    const struct before b = before_call(run);
    verge_timer moved = timer;
    const int error = known != NULL && verge_test_chance(&run->random, 2)
                          ? verge_wheel_start_or_reset(run->wheel, &moved, deadline_ns, known->data)
                          : verge_wheel_reset(run->wheel, timer, deadline_ns);
    RUN_CHECK_EQUAL(run, moved, timer, "rearm: the handle of a pending timer stays");
    if (bad_handle == 0 && bad_time == 0) {
        RUN_CHECK_EQUAL(run, error, 0, "reschedule failed");
        model_move(&run->model, known, deadline_ns, b.backlog);
        run->model.moved++;
        before_not_allocated(run, &b);
        return;
    }
    RUN_CHECK_VALUES(run, error != 0 && (is_refusal(run, timer, error) || error == bad_time), "reschedule", -error,
                     -bad_handle);
    before_unchanged(run, &b);
}

static void do_reschedule(struct run *run) {
    const verge_timer timer = random_handle(run);
    reschedule_to(run, timer, run_random_move(run, model_find(&run->model, timer)));
}

/* Like an idle timeout: a timer is pushed back a little, again and again, and then moved to any time. */
static void do_push_back(struct run *run) {
    const verge_timer timer = random_pending(run);
    if (timer == 0) {
        return;
    }
    uint64_t deadline_ns = model_find(&run->model, timer)->deadline_ns;
    for (uint64_t times = verge_test_below(&run->random, 24); times > 0 && deadline_ns < VERGE_NEVER / 2; times--) {
        deadline_ns += verge_test_below(&run->random, 2 * run->model.precision_ns + 1);
        reschedule_to(run, timer, deadline_ns);
    }
    reschedule_to(run, timer, run_random_deadline(run));
}

static void do_reschedule_many(struct run *run) {
    for (uint64_t i = verge_test_below(&run->random, run->model.count + 1); i > 0; i--) {
        do_reschedule(run);
    }
}

/* ---- time ---- */

/* Returns the time to which a poll moves now. A poll at VERGE_NEVER, which is no time, may move it to 1 ns before. */
static uint64_t moved_to(const struct run *run, enum model_poll kind, uint64_t now_ns) {
    if (now_ns == VERGE_NEVER && verge_wheel_now(run->wheel) == VERGE_NEVER - 1) {
        now_ns--;
    }
    const uint64_t next_ns = model_earliest_deadline(&run->model);
    if (kind == MODEL_POLL_TO_NEXT && next_ns <= now_ns && model_fires_at(&run->model, next_ns) != VERGE_NEVER) {
        now_ns = next_ns;
    }
    return now_ns > run->model.now_ns ? now_ns : run->model.now_ns;
}

/* Checks now after a poll. The model does not know where poll_to_next stops in a coarse wheel, with a work limit, or in
 * a strict wheel with a backlog: anywhere from the old now to now_ns is right. */
static void check_moved(struct run *run, enum model_poll kind, uint64_t now_ns, bool backlog) {
    const uint64_t moved_ns = verge_wheel_now(run->wheel);
    const verge_wheel_options *options = &run->model.options;
    const uint64_t expected_ns = moved_to(run, kind, now_ns);
    if (kind != MODEL_POLL_TO_NEXT || (!options->strict && !options->coarse && options->work_limit == 0)) {
        RUN_CHECK_EQUAL(run, moved_ns, expected_ns, "G9: now after a poll");
    } else {
        const uint64_t highest_ns = now_ns > run->model.now_ns ? now_ns : run->model.now_ns;
        RUN_CHECK_VALUES(run, moved_ns >= run->model.now_ns && moved_ns <= highest_ns, "poll_to_next: now", moved_ns,
                         highest_ns);
        if (options->strict && !options->coarse && options->work_limit == 0 && !backlog) {
            const uint64_t tick_ns = model_fires_at(&run->model, model_earliest_deadline(&run->model));
            const uint64_t stop_ns = run->model.count > 0 && tick_ns <= now_ns ? tick_ns : now_ns;
            RUN_CHECK_EQUAL(run, moved_ns, stop_ns > run->model.now_ns ? stop_ns : run->model.now_ns,
                            "poll_to_next, strict: now");
        }
    }
    run->model.now_ns = moved_ns;
}

void run_poll(struct run *run, enum model_poll kind, uint64_t now_ns, size_t limit) {
    size_t (*const polls[])(verge_wheel *, uint64_t, verge_expiry *, size_t) = {
        [MODEL_POLL] = verge_wheel_poll,
        [MODEL_POLL_EXACT] = verge_wheel_poll_exact,
        [MODEL_POLL_TO_NEXT] = verge_wheel_poll_to_next,
    };
    const struct before b = before_call(run);
    const bool nowhere = verge_test_chance(&run->random, 32);
    const bool is_next_due = run->model.count > 0 && model_next_expiry(&run->model) <= now_ns &&
                             model_next_expiry(&run->model) != VERGE_NEVER;
    const size_t count = polls[kind](run->wheel, now_ns, nowhere ? NULL : run->out, limit);
    if (kind == MODEL_POLL_TO_NEXT && is_next_due && limit > 0 && !nowhere) {
        const bool is_out_of_work = run->model.options.work_limit != 0 && verge_wheel_has_backlog(run->wheel);
        RUN_CHECK(run, count > 0 || is_out_of_work, "poll_to_next stops, and not at a timer");
    }
    if (!b.was_narrow || b.stats.linked <= verge__narrow_max) {
        before_not_allocated(run, &b);
    }
    before_gave_back(run, &b);
    check_moved(run, kind, now_ns, b.backlog);
    run_check_batch(run, kind, &b.stats, count, nowhere ? 0 : limit);
}

static size_t random_limit(struct run *run) {
    switch (verge_test_below(&run->random, 8)) {
    case 0:
        return 0;
    case 1:
        return 1;
    case 2:
        return 2 + (size_t)verge_test_below(&run->random, 4);
    case 3:
        return (size_t)verge_test_below(&run->random, 64);
    default:
        return RUN_OUT_MAX;
    }
}

static void do_poll(struct run *run) {
    run_poll(run, MODEL_POLL, run_random_now(run), random_limit(run));
}

static void do_poll_exact(struct run *run) {
    run_poll(run, MODEL_POLL_EXACT, run_random_now(run), random_limit(run));
}

static void do_poll_to_next(struct run *run) {
    run_poll(run, MODEL_POLL_TO_NEXT, run_random_now(run), random_limit(run));
}

/* Sleeps and polls as an event loop does, while the wake-ups are near. (run_check_batch checks that the next wake-up is
 * later than now.) */
static void do_sleep_and_poll(struct run *run) {
    for (uint64_t rounds = verge_test_below(&run->random, 16); rounds > 0 && run->model.count > 0; rounds--) {
        const uint64_t wakeup_ns = verge_wheel_next_wakeup(run->wheel);
        if (wakeup_ns > run->model.now_ns && wakeup_ns - run->model.now_ns > run->model.precision_ns * 64) {
            return;
        }
        run_poll(run, MODEL_POLL, wakeup_ns, RUN_OUT_MAX);
    }
}

static void do_set_start(struct run *run) {
    const bool last_tick = verge_test_chance(&run->random, 32);
    const uint64_t start_ns = last_tick ? UINT64_MAX : verge_test_magnitude(&run->random) / 4;
    const struct before b = before_call(run);
    const int error = verge_wheel_set_start_time(run->wheel, start_ns);
    if (run->model.count > 0) {
        RUN_CHECK(run, error == -EBUSY || (last_tick && error == -EINVAL), "set_start with timers pending");
    } else {
        RUN_CHECK_EQUAL(run, error, last_tick ? -EINVAL : 0, "set_start");
    }
    if (error != 0) {
        before_unchanged(run, &b);
        return;
    }
    run->model.options.start_ns = start_ns;
    run->model.now_ns = start_ns;
}

/* ---- memory ---- */

static void do_reserve(struct run *run) {
    const size_t more = (size_t)verge_test_below(&run->random, 3 * run->timers_max);
    const size_t timeouts =
        verge_test_chance(&run->random, 2) ? 0 : verge_test_below(&run->random, RUN_TIMEOUTS_MAX / 2);
    const size_t cap = run->model.options.timer_cap;
    const struct before b = before_call(run);
    const int error = verge_wheel_reserve(run->wheel, more, timeouts);
    before_gave_back(run, &b);
    if (cap != 0 && run->model.count + more > cap) {
        RUN_CHECK_EQUAL(run, error, -ENOSPC, "reserve beyond the cap");
        before_unchanged(run, &b);
        return;
    }
    if (before_ran_out(run, &b, error)) {
        before_unchanged(run, &b);
        return;
    }
    RUN_CHECK_EQUAL(run, error, 0, "reserve failed");
    run->model.reserved_handles = more == 0 ? 0 : model_handles_pending(&run->model) + more;
}

static void do_run_out_of_memory(struct run *run) {
    run->memory.fail_at = run->memory.calls + 1 + verge_test_below(&run->random, 4);
}

static void do_compact(struct run *run) {
    const struct before b = before_call(run);
    verge_wheel_compact(run->wheel);
    before_gave_back(run, &b);
    verge_wheel_stats stats = {.struct_size = sizeof(stats)};
    (void)verge_wheel_get_stats(run->wheel, &stats);
    RUN_CHECK_VALUES(run, stats.idle == 0, "compact left idle nodes", stats.idle, 0);
}

static void do_clear(struct run *run) {
    if (!verge_test_chance(&run->random, 8)) {
        return;
    }
    verge_wheel_cancel_all(run->wheel);
    run->model.cancelled += run->model.count;
    run->model.count = 0;
    run->model.timeouts = 0;
    RUN_CHECK(run, !verge_wheel_has_backlog(run->wheel), "a backlog after clear");
}

static void do_iterate(struct run *run) {
    run_check_iterate(run);
}

static void do_levels(struct run *run) {
    run_check_levels(run);
}

/* ---- the choice ---- */

struct operation {
    const char *name;
    void (*run)(struct run *run);
    unsigned weight;
    bool polls;
};

static const struct operation operations[] = {
    {"schedule", do_schedule, 40, false},
    {"schedule a burst", do_schedule_burst, 4, false},
    {"schedule_window", do_schedule_window, 5, false},
    {"schedule_best_fit", do_schedule_best_fit, 5, false},
    {"cancel", do_cancel, 20, false},
    {"cancel many", do_cancel_many, 1, false},
    {"reschedule", do_reschedule, 30, false},
    {"reschedule many", do_reschedule_many, 1, false},
    {"push back", do_push_back, 4, false},
    {"get", do_get, 10, false},
    {"poll", do_poll, 40, true},
    {"poll_exact", do_poll_exact, 8, true},
    {"poll_to_next", do_poll_to_next, 8, true},
    {"sleep and poll", do_sleep_and_poll, 4, true},
    {"run", run_with_calls, 20, true},
    {"set_start", do_set_start, 3, false},
    {"make timeouts", run_make_timeouts, 4, false},
    {"free timeouts", run_free_some_timeouts, 3, false},
    {"set", run_set, 30, false},
    {"set again and again", run_set_again, 4, false},
    {"set a flock", run_set_flock, 4, false},
    {"lead a flock", run_lead_flock, 2, true},
    {"clear a timeout", run_clear_timeout, 15, false},
    {"reserve", do_reserve, 2, false},
    {"compact", do_compact, 2, false},
    {"run out of memory", do_run_out_of_memory, 3, false},
    {"clear", do_clear, 2, false},
    {"iterate", do_iterate, 2, false},
    {"levels", do_levels, 10, false},
    {"fall behind", run_fall_behind, 2, true},
};

static const struct operation *random_operation(struct verge_test_random *random) {
    const size_t count = sizeof(operations) / sizeof(*operations);
    unsigned total = 0;
    for (size_t i = 0; i < count; i++) {
        total += operations[i].weight;
    }
    uint64_t rest = verge_test_below(random, total);
    size_t which = 0;
    while (rest >= operations[which].weight) {
        rest -= operations[which++].weight;
    }
    return &operations[which];
}

static void perform(struct run *run, const struct operation *operation) {
    if (run->model.count > run->timers_max && operation->run == do_schedule_burst) {
        return;
    }
    run->operation = operation->name;
    run->operation_count++;
    operation->run(run);
}

void run_random_operation(struct run *run) {
    perform(run, random_operation(&run->random));
}

void run_random_operation_in_call(struct run *run) {
    const struct operation *operation = random_operation(&run->random);
    if (!operation->polls) {
        perform(run, operation);
    }
}
