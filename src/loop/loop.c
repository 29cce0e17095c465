/* SPDX-License-Identifier: MIT */
/* Timers that call back in order: a run takes the due timers out of the wheel, sorts them, and calls them back one by
 * one. */
#include "verge/loop.h"

#include <errno.h>
#include <limits.h>

enum {
    NS_PER_MS = 1000000,
    BATCH = 64, /* timers that one poll takes */
};

/* ---- how long to sleep ---- */

static int timeout_in(const verge_wheel *wheel, uint64_t now, uint64_t unit) {
    uint64_t wakeup = verge_wheel_next_wakeup(wheel);
    if (wakeup == VERGE_NEVER) {
        return -1;
    }
    uint64_t units = wakeup <= now ? 0 : (wakeup - now - 1) / unit + 1;
    return units < INT_MAX ? (int)units : INT_MAX;
}

int verge_loop_timeout_ms(const verge_wheel *wheel, uint64_t now_ns) {
    return timeout_in(wheel, now_ns, NS_PER_MS);
}

int verge_loop_timeout(const verge_wheel *wheel, uint64_t now) {
    return timeout_in(wheel, now, 1);
}

/* ---- timers that are due: a list in order ---- */

static bool comes_before(const verge_loop_timer *a, const verge_loop_timer *b) {
    return a->deadline != b->deadline ? a->deadline < b->deadline : a->start < b->start;
}

static verge_loop_timer *merge(verge_loop_timer *a, verge_loop_timer *b) {
    verge_loop_timer *first = NULL;
    verge_loop_timer **end = &first;
    while (a != NULL && b != NULL) {
        verge_loop_timer **smaller = comes_before(b, a) ? &b : &a;
        *end = *smaller;
        end = &(*smaller)->next;
        *smaller = *end;
    }
    *end = a != NULL ? a : b;
    return first;
}

/* A merge sort from the bottom up: runs[i] is a sorted list of 2^i timers, or empty. */
static verge_loop_timer *sort(verge_loop_timer *first) {
    verge_loop_timer *runs[64] = {NULL};
    while (first != NULL) {
        verge_loop_timer *run = first;
        first = first->next;
        run->next = NULL;
        size_t i = 0;
        for (; runs[i] != NULL; i++) {
            run = merge(runs[i], run);
            runs[i] = NULL;
        }
        runs[i] = run;
    }
    verge_loop_timer *all = NULL;
    for (size_t i = 0; i < sizeof(runs) / sizeof(*runs); i++) {
        all = merge(runs[i], all);
    }
    return all;
}

/* Takes due timers out of the wheel and merges them into the list. The list may have timers already: those of an outer
 * run, if a callback calls verge_loop_run. */
static void take_due(verge_loop *loop, uint64_t now) {
    verge_loop_timer *due = NULL;
    verge_expiry out[BATCH];
    for (size_t count = BATCH; count == BATCH;) {
        count = verge_wheel_poll(loop->wheel, now, out, BATCH);
        for (size_t i = 0; i < count; i++) {
            verge_loop_timer *timer = (verge_loop_timer *)out[i].data;
            timer->is_due = true;
            timer->next = due;
            due = timer;
        }
    }
    loop->first = merge(loop->first, sort(due));
    loop->last = NULL;
    for (verge_loop_timer *timer = loop->first; timer != NULL; timer = timer->next) {
        timer->previous = loop->last;
        loop->last = timer;
    }
}

static void unlink_due(verge_loop *loop, verge_loop_timer *timer) {
    *(timer->previous != NULL ? &timer->previous->next : &loop->first) = timer->next;
    *(timer->next != NULL ? &timer->next->previous : &loop->last) = timer->previous;
    timer->is_due = false;
}

/* ---- the calls ---- */

int verge_loop_init(verge_loop *loop, verge_wheel *wheel) {
    if (loop == NULL || wheel == NULL) {
        return -EINVAL;
    }
    *loop = (verge_loop){.wheel = wheel};
    return 0;
}

bool verge_loop_is_active(const verge_loop_timer *timer) {
    return timer != NULL && (timer->is_due || verge_timeout_deadline(&timer->timeout) != VERGE_NEVER);
}

/* A timer with a period is attached. So its entry has room for good, and it can always be set again (E4). */
static int attach(verge_loop *loop, verge_loop_timer *timer) {
    uint64_t deadline = verge_timeout_deadline(&timer->timeout);
    (void)verge_timeout_clear(loop->wheel, &timer->timeout);
    verge_timeout before = timer->timeout;
    int error = verge_timeout_attach(loop->wheel, &timer->timeout, timer);
    timer->is_attached = error == 0;
    if (error != 0 && deadline != VERGE_NEVER) {
        timer->timeout = before;
        (void)verge_timeout_set(loop->wheel, &timer->timeout, deadline); /* the room that it had is still there */
    }
    return error;
}

static void detach(verge_loop *loop, verge_loop_timer *timer) {
    if (timer->is_attached) {
        (void)verge_timeout_detach(loop->wheel, &timer->timeout);
        timer->is_attached = false;
    }
}

/* If the deadline has come but is inside the current tick, the timer is set for the start of that tick. So it counts as
 * past, and the next run finds it (E2). */
static int set(verge_loop *loop, verge_loop_timer *timer, uint64_t deadline) {
    uint64_t now = verge_wheel_now(loop->wheel);
    uint64_t tick_start = verge_wheel_interval_start(loop->wheel, verge_wheel_interval_number(loop->wheel, now));
    bool is_of_tick = deadline >= tick_start && deadline <= now;
    return verge_timeout_set(loop->wheel, &timer->timeout, is_of_tick ? tick_start : deadline);
}

int verge_loop_start(verge_loop *loop, verge_loop_timer *timer, verge_loop_function *callback, uint64_t deadline,
                     uint64_t repeat) {
    if (loop == NULL || timer == NULL || callback == NULL) {
        return -EINVAL;
    }
    bool was_attached = timer->is_attached;
    int error = repeat != 0 && !was_attached ? attach(loop, timer) : 0;
    if (error == 0) {
        uint64_t before = verge_timeout_deadline(&timer->timeout);
        error = set(loop, timer, deadline);
        if (error != 0 && !was_attached && before == VERGE_NEVER) {
            detach(loop, timer);
        }
    }
    if (error != 0) {
        return error;
    }
    if (timer->is_due) {
        unlink_due(loop, timer);
    }
    timer->callback = callback;
    timer->deadline = deadline;
    timer->repeat = repeat;
    timer->start = ++loop->starts;
    return 0;
}

int verge_loop_stop(verge_loop *loop, verge_loop_timer *timer) {
    if (loop == NULL || timer == NULL) {
        return -EINVAL;
    }
    if (!verge_loop_is_active(timer)) {
        return -ENOENT;
    }
    if (timer->is_due) {
        unlink_due(loop, timer);
    }
    (void)verge_timeout_clear(loop->wheel, &timer->timeout);
    detach(loop, timer);
    return 0;
}

/* Sets a periodic timer again. If its next deadline would be beyond the largest one, it ends instead. */
static void prepare_next(verge_loop *loop, verge_loop_timer *timer, uint64_t now) {
    uint64_t largest = verge_wheel_largest_deadline(loop->wheel);
    if (timer->repeat == 0 || now >= largest) {
        detach(loop, timer);
        return;
    }
    uint64_t deadline = timer->repeat > largest - now ? largest : now + timer->repeat;
    (void)verge_timeout_set(loop->wheel, &timer->timeout, deadline);
    timer->deadline = deadline;
    timer->start = ++loop->starts;
}

size_t verge_loop_run(verge_loop *loop, uint64_t now) {
    if (loop == NULL) {
        return 0;
    }
    take_due(loop, now);
    size_t count = 0;
    while (loop->first != NULL) {
        verge_loop_timer *timer = loop->first;
        unlink_due(loop, timer);
        prepare_next(loop, timer, verge_wheel_now(loop->wheel));
        count++;
        timer->callback(timer);
    }
    return count;
}
