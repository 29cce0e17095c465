/* SPDX-License-Identifier: MIT */
/*
 * service/observe.h - what verge/scope.h sees of a service. Scope includes no other header of this folder.
 *
 * Scope's thread calls these functions between show and hide, while workers run timers. It reads each figure by itself,
 * so two figures may be of two moments. service/sources.h says which thread may touch what is behind them.
 *
 *   id        of a worker: from 1 to verge__service_seat_count. 0: all threads that are no workers
 *   source    what timers are listed under: a number from 1 to 1023 that stands for a key. The key is the address of a
 *             callback (of a task: of its function) or of a label. Source 0 stands for all keys without a number
 */
#ifndef VERGE_SRC_SERVICE_OBSERVE_H
#define VERGE_SRC_SERVICE_OBSERVE_H

#include "service/picture.h"
#include "verge/service.h"

enum {
    VERGE__SOURCE_COUNT = 1024,
    VERGE__SOURCE_OTHERS = 0,
    VERGE__WEIGHT_MAX = 32,
    VERGE__LATE_FIRST_BIT = 10,     /* up to 1 us is one bucket */
    VERGE__LATE_BUCKET_COUNT = 130, /* then 4 for each doubling, up to 2^42 ns (73 min); the last has all above */
    VERGE__SEEN_AT_ONCE = 256,
};

/* ---- one scope at a time ---- */

/* False: another scope shows the service. */
bool verge__service_show(verge_service *service);
void verge__service_hide(verge_service *service);

/* For a thread that would destroy the service. */
bool verge__service_is_shown(const verge_service *service);

/* ---- workers ---- */

typedef struct verge__worker_figures {
    uint64_t started, cancelled, fired; /* for id 0, `fired` and all fields below are 0 */
    uint64_t rescued, migrated;
    uint64_t callback_ns; /* time in callbacks that have returned */
    uint64_t timers;      /* in its wheel */
    verge_timer running;  /* whose callback runs; 0: none */
    bool is_there;        /* it has joined, and not left */
    bool is_awake;
} verge__worker_figures;

uint32_t verge__service_seat_count(const verge_service *service);
void verge__worker_look_at(const verge_service *service, uint32_t id, verge__worker_figures *ret_figures);

/* False: there is no picture, or the worker has left. */
bool verge__worker_picture(const verge_service *service, uint32_t id, verge__picture_copy *ret_copy);

/* After how many ns a callback counts as stuck. 0: callbacks are not watched. */
uint64_t verge__service_stuck_after(const verge_service *service);

/* ---- sources ---- */

/* The key of a source; 0: it has none. */
uint64_t verge__service_source_key(const verge_service *service, uint32_t source);

/* Writes as much as fits of the label of a key, or the name of its function. True: it is a label. */
bool verge__key_name(uint64_t key, char *name, size_t size);

/* The source of a timer, which may have ended. */
uint32_t verge__service_source_of(verge_service *service, verge_timer timer);

/* The two steps by which the number of a source becomes free (sources.h). verge__service_source_leave returns false if
 * the key is marked already. verge__service_source_free returns false if a thread has looked for the key since. */
bool verge__service_source_leave(verge_service *service, uint32_t source);
bool verge__service_source_free(verge_service *service, uint32_t source);

/* ---- samples ---- */

typedef struct verge__source_counts {
    uint64_t started, cancelled, fired;
    uint64_t ended;   /* firings that were the last of their timer */
    uint64_t time_ns; /* in the callback */
} verge__source_counts;

/* Each new value of `look` makes all workers take a picture. The first one also wakes them. 0: nobody looks any
 * more. */
void verge__service_look(verge_service *service, uint64_t look);

/* Makes room for the samples of a worker. False: no memory. */
bool verge__samples_make(verge_service *service, uint32_t id);

/* Asks for samples: a random one in `weight` events. The weight is a power of two. */
void verge__samples_ask(verge_service *service, uint32_t id, uint32_t weight);

/* count: what was sampled so far for a source. late: how many of the sampled callbacks began how late, by bucket.
 * False: there are no samples, or no memory for those of this source. */
bool verge__samples_count(verge_service *service, uint32_t id, uint32_t source, verge__source_counts *ret_counts);
bool verge__samples_late(verge_service *service, uint32_t id, uint32_t source, uint32_t ret_late[]);

/* The bucket of a lateness, and the upper bound of a bucket. */
uint32_t verge__late_bucket(uint64_t late_ns);
uint64_t verge__late_bound(uint32_t bucket);

/* ---- timers ---- */

/* A timer that is pending. If its record is used for a new timer at this moment, the fields may be of both. */
typedef struct verge__seen_timer {
    verge_timer timer; /* generation and index of the record */
    uint64_t deadline_ns, period_ns;
    uint32_t source, worker;
    bool is_running;
} verge__seen_timer;

/* Looks at the next records, at most SEEN_AT_ONCE, from the index *next on, and moves *next: to 0 after the last.
 * Returns how many of them have timers that are pending: those are in ret_timers. */
size_t verge__service_see(verge_service *service, uint32_t *next, verge__seen_timer ret_timers[VERGE__SEEN_AT_ONCE]);

#endif
