/* SPDX-License-Identifier: MIT */
/*
 * model/run.h - one wheel and its model, side by side, under random operations.
 */
#ifndef VERGE_TESTS_MODEL_RUN_H
#define VERGE_TESTS_MODEL_RUN_H

#include "model/model.h"
#include "support/allocator.h"
#include "support/random.h"

enum {
    RUN_OUT_MAX = 4096,
    RUN_STRANGER_TIMERS = 8,
    RUN_TIMEOUTS_MAX = 600, /* more than a narrow calendar takes */
};

/* The kind of wheel and load of a run. */
enum run_profile {
    RUN_DENSE,   /* many timers a tick */
    RUN_SPARSE,  /* few timers over all of the range */
    RUN_TINY,    /* levels of one to three bits: rings wrap all the time */
    RUN_CROWDED, /* tiny levels with many timers: every list is long */
    RUN_PRESETS, /* the presets; only limits, start time and worker id are random */
    RUN_PROFILE_COUNT,
};

struct run {
    struct model model;
    verge_wheel *wheel;
    verge_wheel *stranger; /* another wheel: its handles are invalid for `wheel` */
    verge_timer stranger_timers[RUN_STRANGER_TIMERS];
    struct verge_test_allocator memory;
    struct verge_test_random random;
    enum run_profile profile;
    uint64_t seed;
    const char *operation;
    uint64_t operation_count;
    size_t timers_max;     /* while more are pending, no burst is started */
    bool gave_back;        /* a call gave memory back */
    uint64_t sequence_end; /* timers from this number on were started or reset in a callback: they must not come out */
    verge_timeout *timeouts[RUN_TIMEOUTS_MAX]; /* each in memory of its own */
    size_t timeout_count;
    verge_expiry out[RUN_OUT_MAX];
};

/* ---- run.c: the whole life of a wheel. The run is zeroed before its first use, and may be used again ---- */

void run_from_seed(struct run *run, enum run_profile profile, uint64_t seed);

/* Reads each choice from the bytes, the profile first. The operations end when the bytes are used up. */
void run_from_bytes(struct run *run, const uint8_t *bytes, size_t byte_count);

/* ---- profile.c ---- */

void run_random_options(struct verge_test_random *random, enum run_profile profile, verge_wheel_options *options);

/* ---- times.c ---- */

uint64_t run_random_deadline(struct run *run);
uint64_t run_random_now(struct run *run);

/* ---- operations.c ---- */

void run_random_operation(struct run *run);

/* Makes a random operation, unless it is one that polls. */
void run_random_operation_in_call(struct run *run);

void run_poll(struct run *run, enum model_poll kind, uint64_t now_ns, size_t limit);

/* Returns a deadline for moving a timer. timer may be NULL. */
uint64_t run_random_move(struct run *run, const struct model_timer *timer);

/* Starts a timer for this deadline. The start may fail, as far as the model allows. */
void run_schedule_at(struct run *run, uint64_t deadline_ns);

/* ---- calls.c ---- */

void run_with_calls(struct run *run);

/* ---- behind.c ---- */

/* Polls too little while time goes on, so that there is a backlog. */
void run_fall_behind(struct run *run);

/* ---- timeouts.c: operations on timeouts ---- */

void run_make_timeouts(struct run *run);
void run_free_some_timeouts(struct run *run);
void run_set(struct run *run);
void run_set_again(struct run *run);
void run_set_flock(struct run *run);
void run_lead_flock(struct run *run);
void run_clear_timeout(struct run *run);

/* Called after the wheel was destroyed. */
void run_free_timeouts(struct run *run);

/* ---- promises.c: each fails the running test with what is needed to replay it ---- */

_Noreturn void run_fail(const struct run *run, const char *promise, uint64_t value, uint64_t expected, int line);

#define RUN_CHECK(run, condition, promise) RUN_CHECK_VALUES(run, condition, promise, 0, 0)

/* Prints two values beside the promise that was broken. */
#define RUN_CHECK_VALUES(run, condition, promise, value, expected) \
    do { \
        if (!(condition)) { \
            run_fail(run, promise, (uint64_t)(value), (uint64_t)(expected), __LINE__); \
        } \
    } while (0)

#define RUN_CHECK_EQUAL(run, value, expected, promise) \
    RUN_CHECK_VALUES(run, (value) == (expected), promise, value, expected)

/* Compares a timer that came out with the model, which then forgets it. */
void run_check_expiry(struct run *run, const verge_expiry *expiry, enum model_poll kind);

/* Compares the timers that a poll returned with the model, which then forgets them. `before`: statistics before the
 * poll. */
void run_check_batch(struct run *run, enum model_poll kind, const verge_wheel_stats *before, size_t count,
                     size_t limit);

/* Checks all answers that a wheel must give at any time. */
void run_check_state(struct run *run);

/* Checks that iterate visits each timer once, with its deadline and data. */
void run_check_iterate(struct run *run);

/* Checks that the figures of the levels add up to the total. */
void run_check_levels(struct run *run);

/* ---- crash.c ---- */

void run_print_seed_on_crash(const struct run *run);

#endif
