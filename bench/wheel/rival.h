/* SPDX-License-Identifier: MIT */
/*
 * bench/wheel/rival.h - the operations table through which every implementation is called.
 *
 * Timers are dense ids 0..id_count-1. The user's object of a timer has 64 bytes, in which an implementation embeds its
 * list node, heap position or handle. Structures that do not fit (libev, libuv, libevent) are in an array of their own,
 * indexed by id.
 */
#ifndef BENCH_RIVAL_H
#define BENCH_RIVAL_H

#include <stdalign.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    BENCH_OBJECT_SIZE = 64,
    BENCH_RIVAL_COUNT_MAX = 11,
};

struct bench_object {
    alignas(BENCH_OBJECT_SIZE) unsigned char bytes[BENCH_OBJECT_SIZE];
};

/* Where an advance puts the ids of the timers that fired. */
struct bench_log {
    uint32_t *ids;
    size_t count;
    size_t capacity;
    size_t dropped_count; /* how many firings found no room: more fired than can be right */
};

static inline void bench_log_fired(struct bench_log *log, uint32_t id) {
    if (log->count < log->capacity) {
        log->ids[log->count++] = id;
    } else {
        log->dropped_count++;
    }
}

struct bench_setup {
    struct bench_object *objects;
    struct bench_log *log;
    uint32_t id_count;
    uint64_t start_ns;
    bool reserve;      /* get all memory in create */
    size_t work_limit; /* the limit of one advance; 0: none. Only for rivals with BENCH_RIVAL_WORK_LIMIT */
};

struct bench_footprint {
    size_t own_bytes;      /* beside the user's objects */
    size_t embedded_bytes; /* in each of the user's objects, or in place of it */
    size_t work;           /* entries that the last advance handled; 0: not known */
};

enum bench_rival_flags {
    BENCH_RIVAL_SLOW = 1,       /* gets fewer operations and rounds */
    BENCH_RIVAL_REAL_TIME = 2,  /* cannot be driven on simulated time */
    BENCH_RIVAL_WORK_LIMIT = 4, /* can limit the work of an advance */
};

struct bench_rival {
    const char *name;
    unsigned flags;
    uint32_t id_count_max; /* 0: any */
    uint64_t lateness_ns;  /* how much later than the first advance at or after its deadline a timer may fire */
    void *(*create)(const struct bench_setup *setup);
    void (*destroy)(void *self);
    /* These return 0, or a negative number after an error. As the libraries do the same, an adapter can be a jump into
     * one. */
    int (*schedule)(void *self, uint32_t id, uint64_t deadline_ns);   /* a timer that is not pending */
    int (*cancel)(void *self, uint32_t id);                           /* negative if the timer was not pending */
    int (*reschedule)(void *self, uint32_t id, uint64_t deadline_ns); /* the timer may be pending or not */
    void (*advance)(void *self, uint64_t now_ns);                     /* puts timers that fire into the log */
    uint64_t (*next)(void *self);                                     /* NULL: the rival has no such function */
    void (*footprint)(void *self, struct bench_footprint *ret_footprint);
    void (*await)(void *self, uint64_t now_ns); /* real time only: sleeps until that time */
    uint32_t (*pending)(void *self);            /* real time only: number of pending timers */
};

/* All rivals that were found at build time. The first is the baseline. */
extern const struct bench_rival *const bench_rivals[];
extern const size_t bench_rival_count;

#endif
