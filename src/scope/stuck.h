/* SPDX-License-Identifier: MIT */
/*
 * scope/stuck.h - which callbacks run for too long, and which ones did. A worker is stuck if one callback has been
 * running for the service's stuck_after_ns or, if that is 0, for a second. Scope checks this once a second, and four
 * times a second while somebody looks.
 */
#ifndef VERGE_SRC_SCOPE_STUCK_H
#define VERGE_SRC_SCOPE_STUCK_H

#include "service/observe.h"

enum { VERGE__STUCK_KEPT = 256 };

typedef struct verge__stuck_event {
    uint64_t number; /* from 1 on; 0: none */
    uint32_t worker;
    uint64_t since_ns, until_ns; /* when scope first saw the callback, and first saw that it had ended (0: it runs) */
    char name[96];               /* of the source */
} verge__stuck_event;

typedef struct verge__running {
    verge_timer timer; /* 0: none */
    uint64_t fired;    /* how many callbacks the worker had run before */
    uint64_t since_ns; /* when scope first saw the callback */
    uint64_t event;    /* number of its event; 0: the worker is not stuck */
} verge__running;

typedef struct verge__stuck_watch {
    verge__running running[VERGE_WORKER_COUNT_MAX + 1];
    uint64_t event_count;
    verge__stuck_event events[VERGE__STUCK_KEPT]; /* index: number modulo STUCK_KEPT */
} verge__stuck_watch;

struct verge__service_view;

/* Looks at what each worker runs, and notes where a worker becomes stuck, or is stuck no more. */
void verge__stuck_note(struct verge__service_view *view, uint64_t now_ns);

/* Returns the event of a worker, or NULL if the worker is not stuck now. */
const verge__stuck_event *verge__stuck_now(const verge__stuck_watch *watch, uint32_t worker);

/* Returns how many workers are stuck now. */
uint32_t verge__stuck_count(const verge__stuck_watch *watch);

#endif
