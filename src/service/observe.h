/* SPDX-License-Identifier: MIT */
/*
 * service/observe.h - what verge/scope.h sees of a service. Scope includes no other header of this folder.
 *
 * Scope's thread calls these functions between show and hide, while workers run timers. It reads each figure by itself,
 * so two figures may be of two moments. service/sources.h says which thread may touch what is behind them.
 *
 *   id        of a worker: from 1 to verge__service_seat_count. 0: all threads that are no workers
 *   source    what timers are listed under: a number from 1 to 1023 that stands for a key. The key is the address of a
 *             label, of a callback or, for a task, of its function. Source 0 stands for all keys without a number
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

/* Notes that a scope shows the service. False: another scope does so already. */
bool verge__service_show(verge_service *service);
void verge__service_hide(verge_service *service);

/* Whether a scope shows the service. verge_service_destroy asks this. */
bool verge__service_is_shown(const verge_service *service);

/* ---- workers ---- */

typedef struct verge__worker_figures {
    uint64_t started, cancelled, fired; /* for id 0, `fired` and all fields below are 0 */
    uint64_t rescued, migrated;
    uint64_t callback_ns; /* time in callbacks that have returned */
    uint64_t timers;      /* how many timers are in the worker's wheel */
    verge_timer running;  /* the timer whose callback runs; 0: none */
    bool is_there;        /* the worker has joined, and has not left */
    bool is_awake;
} verge__worker_figures;

uint32_t verge__service_seat_count(const verge_service *service);
void verge__worker_look_at(const verge_service *service, uint32_t id, verge__worker_figures *ret_figures);

/* False: there is no picture, the worker has left, or a new picture was being taken at every try (picture.h). */
bool verge__worker_picture(const verge_service *service, uint32_t id, verge__picture_copy *ret_copy);

/* After how many ns a callback counts as stuck. 0: callbacks are not watched. */
uint64_t verge__service_stuck_after(const verge_service *service);

/* ---- sources ---- */

/* The key of a source; 0: it has none. */
uint64_t verge__service_source_key(const verge_service *service, uint32_t source);

/* Writes the label of a key, or the name of its function, cut to `size` bytes. True: it is a label. */
bool verge__key_name(uint64_t key, char *name, size_t size);

/* The source of a timer. If the timer has ended, this may be the source of a later timer with the same record. */
uint32_t verge__service_source_of(verge_service *service, verge_timer timer);

/* The two steps by which the number of a source becomes free (sources.h). verge__service_source_leave marks the key as
 * leaving; false: it was marked already. verge__service_source_free frees the number; false: a thread has looked for
 * the key since the first step. */
bool verge__service_source_leave(verge_service *service, uint32_t source);
bool verge__service_source_free(verge_service *service, uint32_t source);

/* ---- samples ---- */

typedef struct verge__source_counts {
    uint64_t started, cancelled, fired;
    uint64_t ended;   /* firings that were the last of their timer */
    uint64_t time_ns; /* spent in callbacks */
} verge__source_counts;

/* Tells the workers whether somebody looks. If `look` is 0, nobody does any more. Otherwise it is a new number at each
 * call: then every worker takes a picture in its next pass. The first number after 0 also wakes the workers. */
void verge__service_look(verge_service *service, uint64_t look);

/* Makes room for the samples of a worker. False: no memory. */
bool verge__samples_make(verge_service *service, uint32_t id);

/* Asks for samples. Of `weight` events, one is sampled, chosen at random. The weight is a power of two. */
void verge__samples_ask(verge_service *service, uint32_t id, uint32_t weight);

/* verge__samples_count gets what was sampled so far for a source; a sample counts as many times as its weight says.
 * verge__samples_late gets, for each bucket, how many sampled callbacks began so late; each callback counts once.
 * False: there are no samples, or no memory for those of this source. */
bool verge__samples_count(verge_service *service, uint32_t id, uint32_t source, verge__source_counts *ret_counts);
bool verge__samples_late(verge_service *service, uint32_t id, uint32_t source, uint32_t ret_late[]);

/* The bucket of a lateness, and the greatest lateness of a bucket. The last bucket also has all that is later. */
uint32_t verge__late_bucket(uint64_t late_ns);
uint64_t verge__late_bound(uint32_t bucket);

/* ---- timers ---- */

/* A timer that is pending. If its record is used for a new timer at this moment, some fields may be those of the new
 * timer. */
typedef struct verge__seen_timer {
    verge_timer timer; /* generation and index of the record */
    uint64_t deadline_ns, period_ns;
    uint32_t source, worker;
    bool is_running;
} verge__seen_timer;

/* Looks at up to VERGE__SEEN_AT_ONCE records, from the index *next on. Writes those timers that are pending to
 * ret_timers, and returns how many there are. Moves *next to the first record that it has not looked at, or to 0 after
 * the last record. */
size_t verge__service_see(verge_service *service, uint32_t *next, verge__seen_timer ret_timers[VERGE__SEEN_AT_ONCE]);

#endif
