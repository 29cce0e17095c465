/* SPDX-License-Identifier: MIT */
#include "replay/replay.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <verge/histogram.h>

#include "replay/counting_allocator.h"

struct timer {
    verge_timer handle;   /* 0: not pending */
    uint64_t deadline_ns; /* as in the trace */
};

struct replay {
    const struct replay_options *options;
    struct replay_result *result;
    struct counting_allocator memory;
    verge_wheel *wheel;
    struct timer *timers;
    verge_expiry *expiries; /* room for options->limit */
    verge_histogram lateness;
};

/* ---- the wheel ---- */

static unsigned shift_of(uint64_t power_of_two) {
    unsigned shift = 0;
    while (power_of_two > 1) {
        power_of_two >>= 1;
        shift++;
    }
    return shift;
}

/* Shifts all levels so that the lowest has this precision. */
static int set_precision(verge_wheel_options *options, uint64_t precision_ns) {
    int moved_by = (int)shift_of(precision_ns) - (int)shift_of(options->precision_ns);
    options->precision_ns = precision_ns;
    for (size_t k = 0; k < options->level_count; k++) {
        int shift = options->levels[k].shift + moved_by;
        if (shift < 0 || shift + options->levels[k].bits > 64) {
            return -EINVAL;
        }
        options->levels[k].shift = (uint8_t)shift;
    }
    return 0;
}

static int create_wheel(struct replay *replay, uint64_t start_ns) {
    const struct replay_options *options = replay->options;
    verge_wheel_options wheel_options;
    int error = verge_wheel_options_init(&wheel_options, sizeof(wheel_options), options->preset);
    if (error == 0 && options->precision_ns != 0) {
        error = set_precision(&wheel_options, options->precision_ns);
    }
    if (error != 0) {
        (void)snprintf(replay->result->refusal, sizeof(replay->result->refusal),
                       "--precision leaves no room for its levels");
        return error;
    }
    counting_allocator_init(&replay->memory);
    wheel_options.allocator = &replay->memory.table;
    wheel_options.start_ns = start_ns;
    wheel_options.work_limit = (size_t)options->work_limit;
    wheel_options.coarse = wheel_options.coarse || options->coarse;
    wheel_options.order = options->has_order ? options->order : wheel_options.order;
    (void)verge_wheel_options_explain(&wheel_options, replay->result->refusal, sizeof(replay->result->refusal));
    return verge_wheel_create(&wheel_options, &replay->wheel);
}

/* ---- time ---- */

static void take_expiries(struct replay *replay, size_t count, uint64_t now_ns) {
    struct replay_result *result = replay->result;
    for (size_t i = 0; i < count; i++) {
        struct timer *timer = &replay->timers[(uintptr_t)replay->expiries[i].data];
        if (replay->expiries[i].timer != timer->handle) {
            result->broken = "an expiry that is no pending timer's";
            continue;
        }
        timer->handle = 0;
        result->fired++;
        if (now_ns < timer->deadline_ns) {
            result->early++;
            result->broken = "a timer was early";
            continue;
        }
        verge_histogram_record(&replay->lateness, now_ns - timer->deadline_ns, 1);
    }
}

static size_t poll_once(struct replay *replay, uint64_t now_ns, size_t limit) {
    size_t count = replay->options->exact ? verge_wheel_poll_exact(replay->wheel, now_ns, replay->expiries, limit)
                                          : verge_wheel_poll(replay->wheel, now_ns, replay->expiries, limit);
    replay->result->polls++;
    take_expiries(replay, count, now_ns);
    return count;
}

/* Makes a wake-up: polls until nothing due is left. Returns how many timers fired. */
static size_t poll_all(struct replay *replay, uint64_t now_ns) {
    size_t fired = 0;
    replay->result->wakeups++;
    do {
        fired += poll_once(replay, now_ns, (size_t)replay->options->limit);
    } while (verge_wheel_has_backlog(replay->wheel));
    replay->result->in_vain += fired == 0;
    return fired;
}

/* Returns when the loop wakes up next, if no operation comes before. */
static uint64_t next_wakeup(const struct replay *replay) {
    uint64_t next_ns =
        replay->options->exact ? verge_wheel_next_deadline(replay->wheel) : verge_wheel_next_wakeup(replay->wheel);
    uint64_t now_ns = verge_wheel_now(replay->wheel);
    return next_ns > now_ns ? next_ns : now_ns;
}

/* Runs an event loop that has only timers, until until_ns. */
static void sleep_until(struct replay *replay, uint64_t until_ns) {
    uint64_t wakeup_ns = next_wakeup(replay);
    while (wakeup_ns <= until_ns && verge_wheel_count(replay->wheel) > 0) {
        size_t fired = poll_all(replay, wakeup_ns);
        uint64_t next_ns = next_wakeup(replay);
        if (fired == 0 && next_ns == wakeup_ns) { /* poll_exact may leave a timer until the end of its tick */
            next_ns = verge_wheel_next_wakeup(replay->wheel);
            if (next_ns <= wakeup_ns) {
                replay->result->broken = "the wheel asks for a wake-up in vain, again and again";
                break;
            }
        }
        wakeup_ns = next_ns;
    }
    (void)verge_wheel_poll(replay->wheel, until_ns, NULL, 0);
}

static void poll_as_recorded(struct replay *replay, const struct trace_operation *operation) {
    uint64_t limit = replay->options->limit;
    if (operation->limit == 0) {
        (void)poll_all(replay, operation->time_ns);
        return;
    }
    size_t fired = 0;
    replay->result->wakeups++;
    for (uint64_t left = operation->limit; left > 0;) {
        size_t count = poll_once(replay, operation->time_ns, (size_t)(left < limit ? left : limit));
        fired += count;
        left -= count;
        if (count < limit) {
            break;
        }
    }
    replay->result->in_vain += fired == 0;
}

/* ---- timers ---- */

uint64_t replay_roundest(uint64_t earliest_ns, uint64_t latest_ns) {
    uint64_t roundest_ns = latest_ns;
    while (roundest_ns != 0 && (roundest_ns & (roundest_ns - 1)) >= earliest_ns) {
        roundest_ns &= roundest_ns - 1;
    }
    return roundest_ns;
}

static uint64_t latest_of(const struct replay *replay, const struct trace_operation *operation) {
    if (operation->kind == TRACE_WINDOW) {
        return operation->latest_ns;
    }
    uint64_t room_ns = VERGE_NEVER - 1 - operation->deadline_ns;
    uint64_t window_ns = replay->options->window_ns;
    return operation->deadline_ns + (window_ns < room_ns ? window_ns : room_ns);
}

/* The calls that reset a timer take no window. So this function chooses the deadline as the wheel does for a window. */
static uint64_t moved_deadline(const struct replay *replay, const struct trace_operation *operation) {
    uint64_t latest_ns = latest_of(replay, operation);
    uint64_t largest_ns = verge_wheel_largest_deadline(replay->wheel);
    if (operation->deadline_ns > largest_ns) {
        return operation->deadline_ns;
    }
    return replay_roundest(operation->deadline_ns, latest_ns < largest_ns ? latest_ns : largest_ns);
}

static void reset(struct replay *replay, const struct trace_operation *operation) {
    struct timer *timer = &replay->timers[operation->timer];
    if (timer->handle == 0) {
        replay->result->gone++;
        return;
    }
    if (verge_wheel_reset(replay->wheel, timer->handle, moved_deadline(replay, operation)) != 0) {
        replay->result->refused++;
        return;
    }
    timer->deadline_ns = operation->deadline_ns;
    replay->result->reset++;
}

static int start(struct replay *replay, const struct trace_operation *operation) {
    struct timer *timer = &replay->timers[operation->timer];
    if (timer->handle != 0) { /* in the recorded program, this timer had fired already */
        reset(replay, operation);
        return 0;
    }
    void *data = (void *)(uintptr_t)operation->timer;
    uint64_t latest_ns = latest_of(replay, operation);
    int error = latest_ns == operation->deadline_ns
                    ? verge_wheel_start(replay->wheel, operation->deadline_ns, data, &timer->handle)
                    : verge_wheel_start_window(replay->wheel, operation->deadline_ns, latest_ns, data, &timer->handle);
    if (error == -ENOMEM) {
        return error;
    }
    if (error != 0) {
        replay->result->refused++;
        return 0;
    }
    timer->deadline_ns = operation->deadline_ns;
    replay->result->started++;
    return 0;
}

static void cancel(struct replay *replay, const struct trace_operation *operation) {
    struct timer *timer = &replay->timers[operation->timer];
    if (timer->handle == 0) {
        replay->result->gone++;
        return;
    }
    if (verge_wheel_cancel(replay->wheel, timer->handle, NULL) != 0) {
        replay->result->broken = "a pending timer cannot be cancelled";
        return;
    }
    timer->handle = 0;
    replay->result->cancelled++;
}

/* ---- the trace ---- */

static int run_operation(struct replay *replay, const struct trace_operation *operation) {
    bool recorded = replay->options->recorded_polls;
    if (!recorded || operation->kind == TRACE_ADVANCE) {
        sleep_until(replay, operation->time_ns);
    }
    switch (operation->kind) {
    case TRACE_START:
    case TRACE_WINDOW:
        return start(replay, operation);
    case TRACE_RESET:
        reset(replay, operation);
        break;
    case TRACE_CANCEL:
        cancel(replay, operation);
        break;
    case TRACE_POLL:
        if (recorded) {
            poll_as_recorded(replay, operation);
        }
        break;
    case TRACE_ADVANCE:
        break;
    }
    return 0;
}

static uint64_t clock_ns(void) {
    verge_clock clock = verge_clock_monotonic();
    return clock.now_ns(clock.context);
}

static int run_operations(struct replay *replay, const struct trace *trace) {
    uint64_t began_ns = clock_ns();
    for (size_t i = 0; i < trace->operation_count; i++) {
        int error = run_operation(replay, &trace->operations[i]);
        if (error != 0) {
            return error;
        }
    }
    replay->result->took_ns = clock_ns() - began_ns;
    return 0;
}

static void conclude(struct replay *replay) {
    struct replay_result *result = replay->result;
    const char *broken = verge_wheel_check(replay->wheel);
    result->broken = broken != NULL ? broken : result->broken;
    result->pending = verge_wheel_count(replay->wheel);
    result->bytes_peak = replay->memory.bytes_peak;
    result->precision_ns = verge_wheel_precision(replay->wheel);
    result->stats.struct_size = sizeof(result->stats);
    (void)verge_wheel_get_stats(replay->wheel, &result->stats);
    result->late_p50_ns = verge_histogram_quantile(&replay->lateness, 0.5);
    result->late_p90_ns = verge_histogram_quantile(&replay->lateness, 0.9);
    result->late_p99_ns = verge_histogram_quantile(&replay->lateness, 0.99);
    result->late_p999_ns = verge_histogram_quantile(&replay->lateness, 0.999);
    result->late_max_ns = verge_histogram_quantile(&replay->lateness, 1);
    if (result->started != result->fired + result->cancelled + result->pending) {
        result->broken = "started is not fired + cancelled + pending";
    }
}

int replay_run(const struct trace *trace, const struct replay_options *options, struct replay_result *ret_result) {
    struct replay_result result = {0};
    struct replay replay = {.options = options, .result = &result};
    replay.timers = calloc(trace->timers.count + 1, sizeof(*replay.timers));
    replay.expiries = calloc((size_t)options->limit, sizeof(*replay.expiries));
    int error = replay.timers == NULL || replay.expiries == NULL ? -ENOMEM : 0;
    if (error == 0) {
        error = create_wheel(&replay, trace->operations[0].time_ns);
    }
    if (error == 0) {
        error = run_operations(&replay, trace);
    }
    if (error == 0) {
        conclude(&replay);
        *ret_result = result;
    } else {
        memcpy(ret_result->refusal, result.refusal, sizeof(result.refusal));
    }
    verge_wheel_destroy(replay.wheel);
    free(replay.timers);
    free(replay.expiries);
    return error;
}
