/* SPDX-License-Identifier: MIT */
/*
 * simulation/scheduler.h - simulates several threads on one. Each actor is a flow of control with a stack of its own.
 * At every step of the service's protocol (base/step.h) the scheduler decides, from a seed, which actor goes on. So
 * every interleaving of the steps can happen, and the same seed repeats it.
 */
#ifndef VERGE_TESTS_SERVICE_SIMULATION_SCHEDULER_H
#define VERGE_TESTS_SERVICE_SIMULATION_SCHEDULER_H

#include <stdatomic.h>
#include <stdbool.h>

#include "support/random.h"
#include "task/context.h"
#include "verge/service.h"

enum { ACTORS_MAX = 8 };

struct scheduler {
    struct verge_test_random *random;
    verge_manual_clock *clock;
    unsigned stay_in;     /* at each step, the actor goes on with a chance of (stay_in - 1) / stay_in */
    unsigned held_one_in; /* of actors that do not go on, one in so many is held up for long; 0: none */
    /* One processor, and real-time priorities: of the actors that can run, only the one with the highest priority runs.
     * Then an actor that waits for another in a loop, instead of going to sleep, hangs. */
    bool is_real_time;
    unsigned priorities[ACTORS_MAX];
    /* With is_real_time, some steps take time, each less than step_ns; so a sleeping actor may wake up. */
    uint64_t step_ns;
    uint64_t switches; /* how often the scheduler changed from one actor to another */
    uint64_t steps;
    uint64_t steps_max; /* more steps count as a hang */
    bool is_hung;
};

/* Runs the actors until all bodies have returned, or steps_max is exceeded. */
void scheduler_run(struct scheduler *scheduler, unsigned actor_count, void (*body)(void *context, unsigned actor),
                   void *context);

/* A step of the test itself, inside an actor. */
void scheduler_step(void);

/* Lets other actors run while *word == expected, at most until a time. */
void scheduler_wait(_Atomic uint32_t *word, uint32_t expected, uint64_t until_ns);

/* Lets other actors run while is_waiting returns true. */
void scheduler_wait_while(bool (*is_waiting)(void *context), void *context);

/* Ends the running actor here. Does not return. */
void scheduler_die(void);

/* Returns the word on which an actor sleeps, or NULL if it does not sleep. */
const _Atomic uint32_t *scheduler_sleeps_on(unsigned actor);

/* Whether there are other actors that have not ended, and all of them sleep. *ret_until_ns: when the first of them
 * wakes up by itself. */
bool scheduler_others_sleep(uint64_t *ret_until_ns);

/* Returns the number of the running actor; -1: none is running. */
int scheduler_actor(void);

#endif
