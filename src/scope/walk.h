/* SPDX-License-Identifier: MIT */
/*
 * scope/walk.h - looks at every timer of a service, some of them at a time: whose they are, when they are due, how long
 * they have been there.
 *
 * It reads records while their owners use them. A record that is used anew in this moment may be counted for the wrong
 * source or time, once: what is read is atomic, but not together. No thread notices the walk; a handle is not held, no
 * word is changed.
 *
 * Age. A record does not know when its timer was started: nothing is written for that. The walk remembers of each
 * record when it saw this generation first. What was there in the first round is "at least" as old as the walk.
 */
#ifndef VERGE_SRC_SCOPE_WALK_H
#define VERGE_SRC_SCOPE_WALK_H

#include "service/service_internal.h"

enum { VERGE__WALK_AT_ONCE = 65536 };

typedef struct verge__walk_result {
    uint64_t pending[VERGE__SOURCE_COUNT];
    uint64_t coming[VERGE__COMING_BUCKETS];
    uint32_t oldest_s[VERGE__SOURCE_COUNT];
    bool is_older[VERGE__SOURCE_COUNT]; /* than oldest_s: it was there first */
} verge__walk_result;

typedef struct verge__walk {
    verge_service *service;
    const verge_allocator *allocator;
    uint64_t began_ns; /* on the caller's clock */
    uint32_t next;     /* index of the record */
    uint32_t round_count;
    uint32_t **seen; /* by segment: of each record, generation << 16 | seconds since began_ns */
    size_t seen_count;
    verge__walk_result under_way, last; /* last: of the round that was finished last */
} verge__walk;

void verge__walk_begin(verge__walk *walk, verge_service *service, const verge_allocator *allocator, uint64_t now_ns);
void verge__walk_end(verge__walk *walk);

/* Looks at up to `count` records. True: a round is finished. */
bool verge__walk_on(verge__walk *walk, uint32_t count, uint64_t now_ns);

#endif
