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
    unsigned stay_in;     /* an actor goes on with a chance of (stay_in - 1) / stay_in */
    unsigned held_one_in; /* of those that do not, who is held up for long, as by an operating system; 0: none */
    /* One processor, and real-time priorities: only the actor with the highest one of those that can run does. Who
     * waits for another in a loop instead of going to sleep hangs then. */
    bool is_real_time;
    unsigned priorities[ACTORS_MAX];
    uint64_t step_ns;  /* time that passes in some steps, at most: whose time has come then takes the processor away */
    uint64_t switches; /* from one actor to another */
    uint64_t steps;
    uint64_t steps_max; /* more is a hang */
    bool is_hung;
};

/* Runs the actors until all bodies have returned. */
void scheduler_run(struct scheduler *scheduler, unsigned actor_count, void (*body)(void *context, unsigned actor),
                   void *context);

/* A step of the test's own, inside an actor. */
void scheduler_step(void);

/* Others go on while *word == expected, until a time. */
void scheduler_wait(_Atomic uint32_t *word, uint32_t expected, uint64_t until_ns);

/* Others go on while it is so. */
void scheduler_wait_while(bool (*is_waiting)(void *context), void *context);

/* The actor that runs dies where it stands. Does not return. */
void scheduler_die(void);

/* The word that an actor sleeps on; NULL: it does not sleep. */
const _Atomic uint32_t *scheduler_sleeps_on(unsigned actor);

/* Whether all other actors sleep or have ended; until when, the first of them that sleeps. */
bool scheduler_others_sleep(uint64_t *ret_until_ns);

/* The actor that runs; -1 outside of all. */
int scheduler_actor(void);

#endif
