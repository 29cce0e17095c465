/* SPDX-License-Identifier: MIT */
/* Time: sleeping, ticks, deadline scopes. */
#include <errno.h>

#include "task/current.h"
#include "task/runtime.h"
#include "task/wait.h"

static int sleep_until(verge_task *self, uint64_t now_ns, uint64_t time_ns) {
    if (time_ns <= now_ns) {
        return 0;
    }
    verge__wait_begin(self);
    verge__awaits(self, VERGE__AWAITS_TIME, 0);
    const int reason = verge__wait(self, time_ns, VERGE__WAIT);
    const bool is_scope = verge__effective_deadline(self, time_ns) < time_ns;
    return reason == -ETIMEDOUT && !is_scope ? 0 : reason;
}

int verge_sleep_until(uint64_t time_ns) {
    verge_task *self = verge__current_task();
    if (self == NULL || verge__is_duration(self, time_ns)) {
        return self == NULL ? -EPERM : -EINVAL;
    }
    (void)verge__begin_call(VERGE_NEVER);
    return sleep_until(self, verge__clock_now(&self->runtime->clock), time_ns);
}

int verge_sleep(uint64_t duration_ns) {
    verge_task *self = verge__current_task();
    if (self == NULL) {
        return -EPERM;
    }
    (void)verge__begin_call(VERGE_NEVER);
    if (duration_ns == 0 || duration_ns > INT64_MAX) { /* more than INT64_MAX: a negative difference of two times */
        return 0;
    }
    const uint64_t now_ns = verge__clock_now(&self->runtime->clock);
    const uint64_t longest_ns = VERGE_NEVER - now_ns;
    return sleep_until(self, now_ns, now_ns + (duration_ns < longest_ns ? duration_ns : longest_ns));
}

/* Waits until the time of a tick. Returns 0 if the tick has come. */
static int wait_for_tick(verge_task *self, uint64_t tick_ns, uint64_t deadline_ns) {
    const int error = verge__why_not_wait(self, deadline_ns);
    if (error != 0) {
        return error;
    }
    verge__wait_begin(self);
    verge__awaits(self, VERGE__AWAITS_TIME, 0);
    const int reason = verge__wait(self, tick_ns < deadline_ns ? tick_ns : deadline_ns, VERGE__WAIT);
    const bool is_tick = tick_ns <= verge__effective_deadline(self, deadline_ns);
    return reason == -ETIMEDOUT && is_tick ? 0 : verge__count_if_timeout(reason);
}

int verge_interval_wait(verge_interval *interval, verge_tick *ret_tick, uint64_t deadline_ns) {
    verge_task *self = verge__current_task();
    if (self == NULL || interval == NULL) {
        return self == NULL ? -EPERM : -EINVAL;
    }
    (void)verge__begin_call(deadline_ns);
    for (;;) {
        const int taken = verge_interval_next(interval, verge__clock_now(&self->runtime->clock), ret_tick);
        if (taken != 0) {
            return taken < 0 ? taken : 0;
        }
        const uint64_t tick_ns = interval->deadline_ns;
        if (tick_ns == VERGE_NEVER) {
            return -ERANGE;
        }
        const int reason = wait_for_tick(self, tick_ns, deadline_ns);
        if (reason != 0) {
            return reason;
        }
    }
}

int verge_deadline_push(verge_deadline *scope, uint64_t deadline_ns) {
    verge_task *self = verge__current_task();
    if (self == NULL || scope == NULL || verge__refuses(self, deadline_ns)) {
        return self == NULL ? -EPERM : -EINVAL;
    }
    for (const verge_deadline *outer = self->scope; outer != NULL; outer = outer->outer) {
        if (outer == scope) {
            return -EINVAL;
        }
    }
    scope->deadline_ns = verge__effective_deadline(self, deadline_ns);
    scope->outer = self->scope;
    scope->task = self;
    self->scope = scope;
    return 0;
}

int verge_deadline_pop(verge_deadline *scope) {
    verge_task *self = verge__current_task();
    if (self == NULL) {
        return -EPERM;
    }
    if (scope == NULL || self->scope != scope) {
        return -EINVAL;
    }
    self->scope = scope->outer;
    return 0;
}
