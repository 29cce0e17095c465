/* SPDX-License-Identifier: MIT */
/*
 * Timeouts, beside timers with handles. Each timeout has memory of its own, which run_free_some_timeouts frees right
 * after a cancel, or without one if the wheel may not touch it any more. So AddressSanitizer finds later accesses.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "model/before.h"

struct object {
    verge_timeout timeout;
    bool was_paused; /* it was paused, and not started since: it must be cancelled before it is freed */
};

static bool *was_paused(verge_timeout *timeout) {
    return &((struct object *)(void *)timeout)->was_paused;
}

static verge_timeout *random_timeout(struct run *run) {
    return run->timeout_count == 0 ? NULL : run->timeouts[verge_test_below(&run->random, run->timeout_count)];
}

static struct model_timer *known(struct run *run, const verge_timeout *timeout) {
    return model_find_timeout(&run->model, timeout);
}

static void check_deadline(struct run *run, const verge_timeout *timeout) {
    const struct model_timer *timer = known(run, timeout);
    RUN_CHECK_EQUAL(run, verge_timeout_deadline(timeout), timer == NULL ? VERGE_NEVER : timer->deadline_ns,
                    "timeout: its deadline");
}

/* Checks calls with a timeout that no wheel knows. */
static void check_stranger(struct run *run) {
    verge_timeout stranger;
    memset(&stranger, 0, sizeof(stranger));
    const struct before before = before_call(run);
    RUN_CHECK_EQUAL(run, verge_timeout_cancel(run->wheel, &stranger), -ENOENT, "a stranger was cleared");
    RUN_CHECK_EQUAL(run, verge_timeout_pause(run->wheel, &stranger), -ENOENT, "a stranger was stopped");
    before_unchanged(run, &before);
}

void run_make_timeouts(struct run *run) {
    for (uint64_t count = verge_test_below(&run->random, 16); count > 0 && run->timeout_count < RUN_TIMEOUTS_MAX;
         count--) {
        struct object *object = calloc(1, sizeof(*object));
        RUN_CHECK(run, object != NULL, "there is no memory to test with");
        run->timeouts[run->timeout_count++] = &object->timeout;
        check_deadline(run, &object->timeout);
    }
}

/* Cancels some timeouts, pending or not, and frees them. Half of those that were never started, returned by a poll or
 * cancelled are freed without another cancel. (The choice draws no random number: see set_up in run.c.) */
void run_free_some_timeouts(struct run *run) {
    for (uint64_t count = verge_test_below(&run->random, 12); count > 0 && run->timeout_count > 0; count--) {
        const size_t which = (size_t)verge_test_below(&run->random, run->timeout_count);
        verge_timeout *timeout = run->timeouts[which];
        struct model_timer *timer = known(run, timeout);
        const struct before before = before_call(run);
        if (timer != NULL || *was_paused(timeout) || run->timeout_count % 2 == 0) {
            RUN_CHECK_EQUAL(run, verge_timeout_cancel(run->wheel, timeout), timer != NULL ? 0 : -ENOENT, "clear");
        }
        before_not_allocated(run, &before);
        free(timeout);
        run->timeouts[which] = run->timeouts[--run->timeout_count];
        if (timer != NULL) {
            model_remove(&run->model, timer);
            run->model.cancelled++;
        }
    }
    check_stranger(run);
}

static void set_to(struct run *run, verge_timeout *timeout, uint64_t deadline_ns) {
    struct model_timer *timer = known(run, timeout);
    const struct before before = before_call(run);
    const size_t cap = run->model.options.timer_cap;
    const bool is_full = timer == NULL && cap != 0 && run->model.count >= cap;
    const int judged = model_judge(&run->model, deadline_ns, verge_wheel_largest_deadline(run->wheel));
    const int expected = judged == 0 && is_full ? -ENOSPC : judged;
    const int error = verge_timeout_start(run->wheel, timeout, deadline_ns);
    const bool either = is_full && error == -ENOSPC; /* a full wheel may return this instead of another error */
    RUN_CHECK_VALUES(run, error == expected || either, "set", -error, -expected);
    if (error != 0) {
        before_unchanged(run, &before);
        check_deadline(run, timeout);
        return;
    }
    before_not_allocated(run, &before);
    *was_paused(timeout) = false;
    if (timer != NULL) {
        model_move(&run->model, timer, deadline_ns, before.backlog);
        run->model.moved++;
    } else {
        model_add_timeout(&run->model, timeout, deadline_ns, before.backlog);
        run->model.scheduled++;
    }
    check_deadline(run, timeout);
}

void run_set(struct run *run) {
    for (uint64_t count = verge_test_below(&run->random, 6); count > 0; count--) {
        verge_timeout *timeout = random_timeout(run);
        if (timeout != NULL) {
            set_to(run, timeout, run_random_move(run, known(run, timeout)));
        }
    }
}

/* Ends a timeout by cancel or by pause. */
static void clear(struct run *run, verge_timeout *timeout) {
    struct model_timer *timer = known(run, timeout);
    const struct before before = before_call(run);
    const bool is_stop = verge_test_chance(&run->random, 2);
    const int error = is_stop ? verge_timeout_pause(run->wheel, timeout) : verge_timeout_cancel(run->wheel, timeout);
    RUN_CHECK_EQUAL(run, error, timer != NULL ? 0 : -ENOENT, "clear");
    before_not_allocated(run, &before);
    if (error != 0) {
        if (is_stop) {
            before_unchanged(run, &before);
        }
        return;
    }
    *was_paused(timeout) = is_stop;
    model_remove(&run->model, timer);
    run->model.cancelled++;
    check_deadline(run, timeout);
}

void run_clear_timeout(struct run *run) {
    for (uint64_t count = verge_test_below(&run->random, 4); count > 0; count--) {
        verge_timeout *timeout = random_timeout(run);
        if (timeout != NULL) {
            clear(run, timeout);
        }
    }
}

/* Like the timeout of a request: started, often ended before it is due, and started again, for a little later. */
void run_set_again(struct run *run) {
    verge_timeout *timeout = random_timeout(run);
    if (timeout == NULL) {
        return;
    }
    uint64_t deadline_ns = run_random_deadline(run);
    for (uint64_t times = verge_test_below(&run->random, 24); times > 0 && deadline_ns < VERGE_NEVER / 2; times--) {
        set_to(run, timeout, deadline_ns);
        if (verge_test_chance(&run->random, 2)) {
            clear(run, timeout);
        }
        deadline_ns += verge_test_below(&run->random, 2 * run->model.precision_ns + 1);
    }
}

/* Starts a flock: many timeouts for nearly the same time, so that lists are long. */
void run_set_flock(struct run *run) {
    for (int i = 0; i < 8 && run->timeout_count < RUN_TIMEOUTS_MAX / 2; i++) {
        run_make_timeouts(run);
    }
    const uint64_t first = verge_test_below(&run->random, run->timeout_count / 2 + 1);
    const uint64_t deadline_ns = run_random_deadline(run);
    const uint64_t step_ns = verge_test_below(&run->random, 4) * (run->model.precision_ns / 64);
    const uint64_t missed = verge_test_chance(&run->random, 2) ? verge_test_below(&run->random, 64) + 2 : UINT64_MAX;
    for (uint64_t i = first; i < run->timeout_count && deadline_ns < VERGE_NEVER / 2; i++) {
        if (i % missed != missed - 1) {
            set_to(run, run->timeouts[i], deadline_ns + i * step_ns);
        }
    }
}

/* Lets some timeouts leave the flock, or makes another change. */
static void disturb_flock(struct run *run) {
    switch (verge_test_below(&run->random, 4)) {
    case 0:
        run_free_some_timeouts(run);
        break;
    case 1:
        run_clear_timeout(run);
        break;
    default:
        run_set(run);
        break;
    }
}

/* Starts all timeouts for one time, in the order of the array or backwards. Starts them again for a later time, about
 * when they are due or earlier, and so on. */
void run_lead_flock(struct run *run) {
    const uint64_t wanted = 60 + verge_test_below(&run->random, 80);
    for (int i = 0; i < 40 && run->timeout_count < wanted; i++) {
        run_make_timeouts(run);
    }
    const bool is_backwards = verge_test_chance(&run->random, 3);
    const uint64_t ticks = 2 + verge_test_below(&run->random, verge_test_chance(&run->random, 2) ? 60 : 3000);
    for (uint64_t laps = 2 + verge_test_below(&run->random, 5); laps > 0; laps--) {
        const uint64_t now_ns = run->model.now_ns;
        const uint64_t duration_ns = ticks * run->model.precision_ns;
        for (size_t i = 0; i < run->timeout_count && now_ns + duration_ns < VERGE_NEVER / 2; i++) {
            set_to(run, run->timeouts[is_backwards ? run->timeout_count - 1 - i : i], now_ns + duration_ns);
            if (verge_test_chance(&run->random, 200)) {
                disturb_flock(run);
            }
        }
        const uint64_t early = verge_test_below(&run->random, verge_test_chance(&run->random, 4) ? ticks : 3);
        const bool is_exact = verge_test_chance(&run->random, 8);
        if (now_ns < VERGE_NEVER / 2) {
            run_poll(run, is_exact ? MODEL_POLL_EXACT : MODEL_POLL,
                     now_ns + (early < ticks ? ticks - early : 1) * run->model.precision_ns, RUN_OUT_MAX);
        }
    }
}

void run_free_timeouts(struct run *run) {
    while (run->timeout_count > 0) {
        free(run->timeouts[--run->timeout_count]);
    }
}
