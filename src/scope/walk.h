/* SPDX-License-Identifier: MIT */
/*
 * scope/walk.h - walks over all timers of a service, some at a time, to see who started them, when they are due, and
 * how old they are.
 *
 * The walk reads records while their owners use them. So a record that becomes a new timer at that moment may be
 * counted once for the wrong source or time. The walk writes to no record, so it delays no timer.
 *
 * Age. A record does not store when its timer was started. The walk remembers for each record when it first saw the
 * current generation. A timer that was there in the first round may be older than that.
 */
#ifndef VERGE_SRC_SCOPE_WALK_H
#define VERGE_SRC_SCOPE_WALK_H

#include "service/observe.h"

enum {
    VERGE__WALK_AT_ONCE = 65536,
    VERGE__DETAILS_MAX = 4,    /* sources that are looked at more closely at one time */
    VERGE__DETAIL_TIMERS = 16, /* timers of such a source that are shown, chosen at random */
};

#define VERGE__OVERDUE_AFTER_NS UINT64_C(1000000000) /* a timer that is late by less will run in a moment */

typedef struct verge__walk_result {
    uint64_t pending[VERGE__SOURCE_COUNT];
    uint32_t overdue[VERGE__SOURCE_COUNT];    /* timers that are late by more than OVERDUE_AFTER_NS */
    uint16_t overdue_on[VERGE__SOURCE_COUNT]; /* the worker of one overdue timer */
    uint64_t coming[VERGE__COMING_BUCKETS];
    uint64_t most_overdue_ns;
    uint32_t oldest_quarters[VERGE__SOURCE_COUNT]; /* age of the oldest timer, in quarters of a second */
    bool is_older[VERGE__SOURCE_COUNT];            /* the oldest may be older: it was there in the first round */
} verge__walk_result;

/* A timer of a source that is looked at more closely. */
typedef struct verge__detail_timer {
    verge__seen_timer seen;
    uint32_t age_quarters;
    bool is_older;
} verge__detail_timer;

typedef struct verge__detail {
    uint64_t count; /* how many timers the source has */
    uint64_t coming[VERGE__COMING_BUCKETS];
    verge__detail_timer timers[VERGE__DETAIL_TIMERS];
} verge__detail;

typedef struct verge__walk {
    verge_service *service;
    const verge_allocator *allocator;
    uint64_t began_ns; /* on the caller's clock */
    uint32_t next;     /* index of the next record */
    uint32_t round_count;
    uint32_t **seen; /* pages with a note for each record: the low bits of its generation, and when this generation was
                      * first seen, in quarters of a second since began_ns */
    size_t seen_count;
    verge__walk_result under_way, last;     /* last: the round that was finished last */
    uint8_t detail_of[VERGE__SOURCE_COUNT]; /* 1 + the index of its detail; 0: it has none */
    verge__detail details[VERGE__DETAILS_MAX], last_details[VERGE__DETAILS_MAX];
    uint64_t random;
} verge__walk;

void verge__walk_begin(verge__walk *walk, verge_service *service, const verge_allocator *allocator, uint64_t now_ns);
void verge__walk_end(verge__walk *walk);

/* Looks at up to `count` records. Returns true if that finishes a round. */
bool verge__walk_on(verge__walk *walk, uint32_t count, uint64_t now_ns);

#endif
