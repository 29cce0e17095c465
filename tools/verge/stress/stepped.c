/* SPDX-License-Identifier: MIT */
#include "stress/stepped.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>

#include "output/text.h"
#include "random.h"
#include "stress/stepped_internal.h"

#define MS UINT64_C(1000000)
#define SECOND (1000 * MS)
#define HOUR (3600 * SECOND)
#define YEAR (8766 * HOUR)

enum { RUN_ALL_DUE_EVERY_STEPS = 4096, LOOK_AT_CLOCK_EVERY_STEPS = 256 };

void stepped_note(struct stepped *stepped, uint64_t value) {
    uint64_t mixed = stepped->result->digest ^ value;
    stepped->result->digest = random_next(&mixed);
}

void stepped_fail(struct stepped *stepped, const char *format, ...) {
    if (stepped->problem[0] == '\0') {
        va_list values;
        va_start(values, format);
        (void)vsnprintf(stepped->problem, sizeof(stepped->problem), format, values);
        va_end(values);
    }
}

uint64_t stepped_now(struct stepped *stepped) {
    verge_clock clock = verge_clock_manual(&stepped->clock);
    return clock.now_ns(clock.context);
}

/* ---- workers ---- */

static void join(struct stepped *stepped) {
    verge_worker_options options = {.struct_size = sizeof(options)};
    if (stepped->worker_count == stepped->options->worker_count_max) {
        return;
    }
    options.unbound = true;
    int error = verge_worker_join(stepped->service, &options, &stepped->workers[stepped->worker_count]);
    stepped_note(stepped, (uint64_t)(int64_t)error);
    if (error == 0) {
        stepped->worker_count++;
        stepped->result->joined++;
    } else if (error != -ENOMEM || atomic_load(&stepped->memory.fail_every) == 0) {
        stepped_fail(stepped, "a join says %d", error);
    }
}

static void leave(struct stepped *stepped, size_t place) {
    int error = verge_worker_leave(stepped->workers[place]);
    if (error != 0) {
        stepped_fail(stepped, "a leave says %d", error);
    }
    stepped->workers[place] = stepped->workers[--stepped->worker_count];
    stepped->result->left++;
}

static int run_worker(struct stepped *stepped, size_t place) {
    int ran = verge_worker_run_once(stepped->workers[place], 0);
    stepped_note(stepped, (uint64_t)(int64_t)ran);
    if (ran < 0 && ran != -ESHUTDOWN) { /* -ESHUTDOWN: the worker left in a callback */
        stepped_fail(stepped, "a pass says %d", ran);
    }
    return ran;
}

/* Runs everything that is due. Then no pending timer may be overdue by the precision or more. */
static void run_all_due(struct stepped *stepped) {
    bool is_done = stepped->worker_count == 0;
    stepped->is_quiet = true;
    for (uint64_t pass = 0; !is_done && stepped->problem[0] == '\0'; pass++) {
        is_done = true;
        for (size_t i = 0; i < stepped->worker_count; i++) {
            is_done &= run_worker(stepped, i) == 0 && verge_worker_next_wakeup(stepped->workers[i]) != 0;
        }
        if (pass > 100 * (uint64_t)SUBJECT_COUNT) {
            stepped_fail(stepped, "workers do not come to an end with what is due");
        }
    }
    stepped->is_quiet = false;
    uint64_t now_ns = stepped_now(stepped);
    for (size_t i = 0; i < SUBJECT_COUNT && stepped->worker_count > 0; i++) {
        const struct subject *subject = &stepped->subjects[i];
        if (subject->state == SUBJECT_PENDING && subject->latest_ns < now_ns &&
            now_ns - subject->latest_ns >= stepped->precision_ns) {
            stepped_fail(stepped, "timer %#" PRIx64 " is late by more than the precision", subject->timer);
        }
    }
}

/* ---- time and memory ---- */

static void move_clock(struct stepped *stepped) {
    uint64_t now_ns = stepped_now(stepped);
    uint64_t kind = random_below(&stepped->random, 1024);
    uint64_t by_ns = random_below(&stepped->random, stepped->pace_ns);
    if (kind == 0 && now_ns < 100 * YEAR) {
        by_ns = random_below(&stepped->random, random_below(&stepped->random, 16) == 0 ? YEAR : HOUR);
    } else if (kind <= 2 && now_ns < 100 * YEAR) {
        by_ns = random_below(&stepped->random, SECOND);
    } else if (kind <= 8) { /* backwards */
        verge_manual_clock_set(&stepped->clock, now_ns - (by_ns < now_ns ? by_ns : now_ns));
        stepped->result->jumps++;
        return;
    }
    stepped->result->jumps += kind <= 2;
    verge_manual_clock_advance(&stepped->clock, by_ns);
}

static void toggle_faults(struct stepped *stepped) {
    bool is_on = atomic_load(&stepped->memory.fail_every) != 0;
    atomic_store(&stepped->memory.fail_every, is_on ? 0 : 1 + random_below(&stepped->random, 8));
}

/* ---- a step ---- */

static void join_or_leave(struct stepped *stepped) {
    bool is_to_join = random_below(&stepped->random, 8) < 5;
    if (stepped->worker_count == 0 || (is_to_join && random_below(&stepped->random, stepped->churn_one_in) == 0)) {
        join(stepped);
    } else if (!is_to_join && random_below(&stepped->random, stepped->churn_one_in) == 0) {
        leave(stepped, (size_t)random_below(&stepped->random, stepped->worker_count));
    }
}

static void step(struct stepped *stepped) {
    uint64_t kind = random_below(&stepped->random, 1024);
    if (kind < 300) {
        stepped_start(stepped);
    } else if (kind < 700) {
        stepped_act_on(stepped, stepped_any_subject(stepped));
    } else if (kind < 880 && stepped->worker_count > 0) {
        (void)run_worker(stepped, (size_t)random_below(&stepped->random, stepped->worker_count));
    } else if (kind < 1000) {
        move_clock(stepped);
    } else if (kind < 1010) {
        (void)verge_service_tick(stepped->service);
    } else if (kind < 1020) {
        join_or_leave(stepped);
    } else {
        toggle_faults(stepped);
    }
}

static uint64_t clock_ns(void) {
    verge_clock clock = verge_clock_monotonic();
    return clock.now_ns(clock.context);
}

static void run_steps(struct stepped *stepped, struct status *status) {
    const struct stepped_options *options = stepped->options;
    struct stepped_result *result = stepped->result;
    uint64_t end_ns = clock_ns() + options->duration_ns;
    while (stepped->problem[0] == '\0') {
        if (options->step_count != 0 ? result->steps == options->step_count
                                     : result->steps % LOOK_AT_CLOCK_EVERY_STEPS == 0 && clock_ns() >= end_ns) {
            break;
        }
        step(stepped);
        result->steps++;
        if (result->steps % RUN_ALL_DUE_EVERY_STEPS == 0) {
            run_all_due(stepped);
            if (status_is_due(status)) {
                status_show(status, "  step %s: %s started, %s ran, %s cancelled, %s reset, %zu workers",
                            text_grouped(result->steps), text_grouped(result->started), text_grouped(result->fired),
                            text_grouped(result->cancelled), text_grouped(result->reset), stepped->worker_count);
            }
        }
    }
    status_end(status);
}

/* ---- the run ---- */

static int begin(struct stepped *stepped) {
    verge_service_options options;
    stepped->random = stepped->options->seed;
    verge_manual_clock_set(&stepped->clock, random_below(&stepped->random, YEAR));
    faulty_allocator_init(&stepped->memory);
    (void)verge_service_options_init(&options, sizeof(options));
    options.thread_count = 0;
    options.metronome = false;
    options.clock = verge_clock_manual(&stepped->clock);
    options.allocator = &stepped->memory.table;
    options.batch = 1 + (size_t)random_below(&stepped->random, 64);
    options.precision_ns = UINT64_C(1) << (10 + random_below(&stepped->random, 12));
    stepped->precision_ns = options.precision_ns;
    stepped->pace_ns = (4 * MS) >> random_below(&stepped->random, 12);
    stepped->churn_one_in = UINT64_C(1) << random_below(&stepped->random, 12);
    stepped->cancels_in_16 = 1 + random_below(&stepped->random, 6);
    return verge_service_create(&options, &stepped->service);
}

static void finish(struct stepped *stepped) {
    struct stepped_result *result = stepped->result;
    struct audit *audit = &result->audit;
    uint64_t pending = 0;
    while (stepped->worker_count > 0) {
        leave(stepped, 0);
    }
    for (size_t i = 0; i < SUBJECT_COUNT; i++) {
        pending += stepped->subjects[i].state == SUBJECT_PENDING;
    }
    int error = verge_service_destroy(stepped->service, stepped_visit_pending, stepped);
    result->refused = atomic_load(&stepped->memory.refused);
    audit_expect(audit, stepped->problem[0] == '\0', "every result and every callback is as expected%s%s",
                 stepped->problem[0] == '\0' ? "" : ": ", stepped->problem);
    audit_expect(audit, result->started == result->ended + result->cancelled + result->handed_back,
                 "started %s = ran %s + cancelled %s + handed back %s", text_grouped(result->started),
                 text_grouped(result->ended), text_grouped(result->cancelled), text_grouped(result->handed_back));
    audit_expect(audit, result->handed_back == pending, "each timer that was pending at the end was handed back once");
    audit_expect(audit, error == 0 && atomic_load(&stepped->memory.bytes) == 0, "all memory was freed");
}

int stepped_run(const struct stepped_options *options, struct status *status, struct stepped_result *ret_result) {
    struct stepped *stepped = calloc(1, sizeof(*stepped));
    if (stepped == NULL) {
        return -ENOMEM;
    }
    *ret_result = (struct stepped_result){0};
    stepped->options = options;
    stepped->result = ret_result;
    int error = begin(stepped);
    if (error == 0) {
        run_steps(stepped, status);
        finish(stepped);
    }
    free(stepped);
    return error;
}
