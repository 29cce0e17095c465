/* SPDX-License-Identifier: MIT */
/*
 * scope/stuck.h - which callbacks run for too long, and which ones did. A worker is stuck if one callback has been
 * running for a second, or for the service's stuck_after_ns. This is noted once a second, also while nobody looks; and
 * four times a second while somebody does.
 */
#ifndef VERGE_SRC_SCOPE_STUCK_H
#define VERGE_SRC_SCOPE_STUCK_H

#include "service/observe.h"

enum { VERGE__STUCK_KEPT = 256 };

typedef struct verge__stuck_event {
    uint64_t number; /* from 1 on; 0: none */
    uint32_t worker;
    uint64_t since_ns, until_ns; /* on scope's clock, as far as it was seen; until 0: it still runs */
    char name[96];               /* of the source */
} verge__stuck_event;

typedef struct verge__running {
    verge_timer timer; /* 0: none */
    uint64_t fired;    /* how many callbacks the worker had run before */
    uint64_t since_ns; /* when it was first seen */
    uint64_t event;    /* its number, if it is stuck; 0: it is not */
} verge__running;

typedef struct verge__stuck_watch {
    verge__running running[VERGE_WORKER_COUNT_MAX + 1];
    uint64_t event_count;
    verge__stuck_event events[VERGE__STUCK_KEPT]; /* by number modulo this */
} verge__stuck_watch;

struct verge__service_view;

/* Looks at what the workers run. */
void verge__stuck_note(struct verge__service_view *view, uint64_t now_ns);

/* The event of a worker that is stuck now; NULL: it is not. */
const verge__stuck_event *verge__stuck_now(const verge__stuck_watch *watch, uint32_t worker);

/* How many are stuck now. */
uint32_t verge__stuck_count(const verge__stuck_watch *watch);

#endif
