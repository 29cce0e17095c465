/* SPDX-License-Identifier: MIT */
/*
 * A service under load: its threads run timers, and other threads (actors) start, reset and cancel them. verge demo
 * shows it. verge stress makes it hostile: the clock jumps, memory runs out, workers join and leave all the time.
 */
#ifndef VERGE_TOOL_SOAK_H
#define VERGE_TOOL_SOAK_H

#include <signal.h>

#include "output/audit.h"
#include "output/status.h"
#include "soak/ledger.h"

enum { SOAK_ACTOR_COUNT_MAX = 64 };

struct soak_options {
    uint64_t seed;
    uint64_t duration_ns;
    uint64_t delay_max_ns; /* the longest delay of a timer */
    size_t timer_count;    /* slots of the ledger (soak/ledger.h). A slot has room for one timer; most have one */
    uint32_t worker_count, actor_count;
    bool is_hostile; /* the run is hostile (above); otherwise one worker is retired half-way, and another joins */
    void (*describe)(void *context, char *text, size_t size); /* writes more for the status line; may be NULL */
    void *describe_context;
    int (*on_begin)(void *context,
                    verge_service *service); /* called when the service is there; an error ends the run; may be NULL */
    void (*on_end)(void *context); /* called before the service is destroyed, if on_begin returned 0; may be NULL */
    void *on_context;
    const volatile sig_atomic_t *is_interrupted; /* if a signal handler sets it, the run ends early; may be NULL */
};

/* The second of the run in which callbacks were most overdue. count is 0 if the run did not last a second. */
struct soak_second {
    uint64_t number;  /* 1: the first */
    uint64_t count;   /* how many callbacks ran in it */
    uint64_t late_ns; /* 99 % of them were late by at most this */
    uint64_t moved;   /* timers that moved to another worker in this second */
};

struct soak_result {
    struct ledger_tally tally;
    verge_histogram lateness, callback_time;
    verge_service_stats stats;          /* as they were before the service ended */
    uint64_t took_ns;                   /* how long timers were run, without the checks at the end */
    uint64_t periodic, periodic_missed; /* runs of the periodic timer, and ticks that it missed */
    uint64_t pending_max, joined, left, jumps, refused_allocations;
    struct soak_second worst;
    struct audit audit;
};

/* Returns a negative errno if the run could not begin. Otherwise returns 0, and the audit has the result. */
int soak_run(const struct soak_options *options, struct status *status, struct soak_result *ret_result);

/* Writes fields into the open object. */
void soak_write_json(const struct soak_result *result, struct json *json);

#endif
