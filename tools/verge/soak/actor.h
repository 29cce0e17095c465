/* SPDX-License-Identifier: MIT */
/* A thread that starts, resets and cancels the timers of its slots, and cancels timers of other actors. */
#ifndef VERGE_TOOL_ACTOR_H
#define VERGE_TOOL_ACTOR_H

#include <pthread.h>

#include "soak/ledger.h"

struct actor {
    struct ledger *ledger;
    verge_service *service;
    size_t slot_from, slot_to; /* the actor owns the slots from slot_from to slot_to - 1 */
    uint64_t random;
    uint64_t delay_max_ns; /* the longest delay of a timer */
    uint64_t pause_ns;     /* after each batch; 0: none */
    bool joins;            /* the thread also becomes a worker now and then */
    atomic_bool *must_stop;
    size_t slot_next;          /* the next slot to look at */
    struct ledger_tally tally; /* other threads may read it after actor_end */
    _Atomic(uint64_t) joined;
    pthread_t thread;
};

/* Starts the thread. The caller has set all fields up to must_stop. -EAGAIN: no thread can be started. */
int actor_begin(struct actor *actor);
void actor_end(struct actor *actor); /* waits for the thread */

#endif
