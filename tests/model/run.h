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
    RUN_TIMEOUTS_MAX = 600, /* more than a narrow calendar has */
};

/* Which kind of wheel and load a run is about. */
enum run_profile {
    RUN_DENSE,   /* many timers a tick */
    RUN_SPARSE,  /* few timers over all of the range */
    RUN_TINY,    /* levels of one to three bits: everything wraps all the time */
    RUN_CROWDED, /* the same with many timers: every list is long */
    RUN_PRESETS, /* the named geometries as they are */
    RUN_PROFILE_COUNT,
};

struct run {
    struct model model;
    verge_wheel *wheel;
    verge_wheel *stranger; /* another wheel, whose handles mean nothing here */
    verge_timer stranger_timers[RUN_STRANGER_TIMERS];
    struct verge_test_allocator memory;
    struct verge_test_random random;
    enum run_profile profile;
    uint64_t seed;
    const char *operation;
    uint64_t operation_count;
    size_t timers_max;                         /* about as many are pending at a time */
    bool gave_back;                            /* polls or compact gave memory back */
    uint64_t sequence_end;                     /* what was set from here on is not to come out: it was set in a call */
    verge_timeout *timeouts[RUN_TIMEOUTS_MAX]; /* each in memory of its own */
    size_t timeout_count;
    verge_expiry out[RUN_OUT_MAX];
};

/* ---- run.c: a whole life of a wheel; the run need not be initialised before its first ---- */

void run_from_seed(struct run *run, enum run_profile profile, uint64_t seed);

/* Each choice is read from the bytes, the profile first; it ends with them. */
void run_from_bytes(struct run *run, const uint8_t *bytes, size_t byte_count);

/* ---- profile.c ---- */

void run_random_options(struct verge_test_random *random, enum run_profile profile, verge_wheel_options *options);

/* ---- times.c ---- */

uint64_t run_random_deadline(struct run *run);
uint64_t run_random_now(struct run *run);

/* ---- operations.c ---- */

void run_random_operation(struct run *run);

/* None that polls. */
void run_random_operation_in_call(struct run *run);

void run_poll(struct run *run, enum model_poll kind, uint64_t now_ns, size_t limit);

/* A deadline for a timer that is moved, or NULL. */
uint64_t run_random_move(struct run *run, const struct model_timer *timer);

/* One that may come to nothing, and is counted as any. */
void run_schedule_at(struct run *run, uint64_t deadline_ns);

/* ---- calls.c ---- */

void run_with_calls(struct run *run);

/* ---- behind.c ---- */

/* A backlog is kept while time goes on. */
void run_fall_behind(struct run *run);

/* ---- timeouts.c: operations on timeouts ---- */

void run_reserve_timeouts(struct run *run);
void run_make_timeouts(struct run *run);
void run_free_some_timeouts(struct run *run);
void run_set(struct run *run);
void run_set_again(struct run *run);
void run_set_flock(struct run *run);
void run_lead_flock(struct run *run);
void run_clear_timeout(struct run *run);

/* When the wheel is gone. */
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

/* A timer that came out, against the model, which then forgets it. */
void run_check_expiry(struct run *run, const verge_expiry *expiry, enum model_poll kind);

/* The timers a poll returned, against the model, which then forgets them; `before`: the statistics before it. */
void run_check_batch(struct run *run, enum model_poll kind, const verge_wheel_stats *before, size_t count,
                     size_t limit);

/* Everything that can be asked of a wheel at any time. */
void run_check_state(struct run *run);

/* Each timer is there once, with its deadline and data. */
void run_check_iterate(struct run *run);

/* The levels add up to the whole. */
void run_check_levels(struct run *run);

/* ---- crash.c: a crash names the run, too ---- */

void run_print_seed_on_crash(const struct run *run);

#endif
