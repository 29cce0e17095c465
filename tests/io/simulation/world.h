/* SPDX-License-Identifier: MIT */
/*
 * io/simulation/world.h - a runtime in virtual time. Its tasks (players) do what a seed says, alone and with each
 * other, while faults happen. After each action, a player logs the result and checks that there is a reason for it.
 *
 *   simulation.c  seeds, the world, the audit
 *   players.c     the tasks: sleep, tick, spawn, join, cancel
 *   sharing.c     mutexes, conditions, channels
 *   streams.c     sockets and pipes, each byte numbered; connections
 *   files.c       regular files
 *   faults.c      memory that runs out, full rings, lost I/O, workers that come and go, a clock that jumps
 */
#ifndef VERGE_TESTS_IO_SIMULATION_WORLD_H
#define VERGE_TESTS_IO_SIMULATION_WORLD_H

#include "io/support.h"
#include "task/runner.h"
#include "verge/service.h"

/* One count of failed checks for all files of the simulation. */
extern atomic_int world_failed_check_count;
#define failed_check_count world_failed_check_count

enum { PLAYERS_MAX = 200, EVENTS_MAX = 20000 };

struct player {
    unsigned id;
    verge_task *handle; /* NULL: no player has the handle yet, or any more */
    bool is_being_joined;
    int begun_count;
    int ended_count;
    bool is_cancelled;
    uint64_t cancelled_ns;
    uint64_t cancelled_jumped_ns; /* jumped_ns of the world when it was cancelled */
    uint64_t scope_ns;            /* the earliest deadline of its scopes */
};

struct event {
    const char *what;
    unsigned player;
    int64_t result;
    uint64_t now_ns;
};

struct world {
    uint64_t seed;
    struct verge_test_random random;
    verge_manual_clock clock;
    verge_runtime *runtime;
    struct verge_test_allocator memory;
    verge_allocator allocator; /* fails now and then */
    uint64_t precision_ns;
    uint64_t jumped_ns; /* how far players have moved the clock */
    bool memory_fails;
    bool can_fail; /* in this world, memory may fail */
    bool rings_fill;
    bool loses_io; /* in this world, the system stops doing I/O at some time */
    int io_error;  /* the error of all I/O since then; 0: the system still does I/O */
    bool is_exact; /* the seed always has the same result */
    bool is_stopped;
    uint64_t stopped_ns;
    uint64_t stopped_jumped_ns;
    struct player players[PLAYERS_MAX];
    unsigned player_count;
    struct event *events;
    size_t event_count;
};

extern struct world *world;

static inline uint64_t below(uint64_t bound) {
    return verge_test_below(&world->random, bound);
}

static inline bool chance(uint64_t one_in) {
    return verge_test_chance(&world->random, one_in);
}

static inline uint64_t minimum(uint64_t a, uint64_t b) {
    return a < b ? a : b;
}

/* ---- checking calls: before_call notes the state before a call, after_call checks the result ---- */

struct before {
    uint64_t now_ns;
    uint64_t jumped_ns;
    uint64_t failures;
    uint64_t deadline_ns; /* the earliest of the call and its scopes */
    bool is_cancelled;
    /* The call cannot wait: the task is cancelled (a stop cancels it in the next round of its runner), or past its
     * deadline. */
    bool is_over;
};

struct before before_call(const struct player *self, uint64_t deadline_ns);

enum waits_for { FOR_TASKS, FOR_IO, FOR_FILES, FOR_A_MUTEX_TOO };

/* Logs a result. Checks that a negative one has a reason (T1, T2, T4), and that the call was in time. */
void after_call(const struct player *self, const char *what, const struct before *before, int64_t result,
                enum waits_for waits_for);

/* Returns a deadline that has passed, is soon, is far, or is VERGE_NEVER. */
uint64_t random_deadline(void);

void log_event(const struct player *self, const char *what, int64_t result);

/* ---- players.c ---- */

int spawn_player(void);
void cancel_somebody(const struct player *self);

/* ---- sharing.c ---- */

void open_sharing(void);
void audit_sharing(void);
void share(struct player *self);

/* ---- streams.c ---- */

void open_streams(void);
void audit_streams(void);
void use_stream(struct player *self);

/* ---- files.c ---- */

void open_files(void);
void close_files(void);
void use_file(struct player *self);

/* ---- faults.c ---- */

void open_faults(void);
intptr_t sabotage(void *argument);

#endif
