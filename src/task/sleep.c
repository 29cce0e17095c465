/* SPDX-License-Identifier: MIT */
/* Time: sleeping, ticks, deadline scopes. */
#include <errno.h>

#include "task/task_internal.h"

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
    if (self == NULL || verge__refuses(self, time_ns)) {
        return self == NULL ? -EPERM : -EINVAL;
    }
    verge__begin_call();
    return sleep_until(self, verge__clock_now(&self->runtime->clock), time_ns);
}

int verge_sleep(uint64_t duration_ns) {
    verge_task *self = verge__current_task();
    if (self == NULL) {
        return -EPERM;
    }
    verge__begin_call();
    if (duration_ns == 0 || duration_ns > INT64_MAX) { /* the latter: a negative difference of two times */
        return 0;
    }
    const uint64_t now_ns = verge__clock_now(&self->runtime->clock);
    const uint64_t longest_ns = VERGE_NEVER - now_ns;
    return sleep_until(self, now_ns, now_ns + (duration_ns < longest_ns ? duration_ns : longest_ns));
}

int verge_interval_wait(verge_interval *interval, verge_tick *ret_tick) {
    verge_task *self = verge__current_task();
    if (self == NULL || interval == NULL) {
        return self == NULL ? -EPERM : -EINVAL;
    }
    verge__begin_call();
    for (;;) {
        const uint64_t now_ns = verge__clock_now(&self->runtime->clock);
        const int taken = verge_interval_next(interval, now_ns, ret_tick);
        if (taken != 0) {
            return taken < 0 ? taken : 0;
        }
        const uint64_t deadline_ns = verge_interval_deadline(interval);
        if (deadline_ns == VERGE_NEVER) {
            return -ERANGE;
        }
        const int error = sleep_until(self, now_ns, deadline_ns);
        if (error != 0) {
            return error;
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
