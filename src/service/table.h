/* SPDX-License-Identifier: MIT */
/*
 * service/table.h - the records of all timers of a service. A record never moves, and its memory stays until the
 * service ends. So any thread may read the record of any handle.
 *
 * Records are in segments of 32,768 (2 MiB). The first three segments hold only 1,024, 4,096 and 16,384, so that a
 * small service is small. An index is segment << 15 | offset, so there are gaps. Segments are found through two levels
 * of pointers. The lower level is allocated as needed.
 *
 * Free records that no worker holds are in the pool, a list under a lock. A worker keeps some free records, and
 * exchanges many at once with the pool. A timer that is started for another worker gets a single record from the pool.
 * A worker takes many new records at once, which lie side by side. If the records of two workers alternated in memory,
 * prefetching for one worker would take cache lines from the other. (When workers took 128 at once, two of them did 1.6
 * to 1.95 times the work of one; with 1,024 at once, 2.0 times.)
 *
 * Memory order: a record's index reaches another thread in a handle or through an inbox, after the segment's pointers
 * were stored (release). Two counts are stored after that: `known`, of one segment, says how many of its records were
 * handed out; `fresh`, of the table, is the first index that was never handed out. A handle was never issued if its
 * index is not below `fresh`, or its offset not below `known` of its segment. A thread that made up a handle, and finds
 * its offset below `known`, sees an initialised record (verge__table_has).
 */
#ifndef VERGE_SRC_SERVICE_TABLE_H
#define VERGE_SRC_SERVICE_TABLE_H

#include <pthread.h>

#include "base/depend.h"
#include "service/record.h"

enum {
    VERGE__TABLE_SEGMENT_BITS = 15,
    VERGE__TABLE_SEGMENT_RECORDS = 1 << VERGE__TABLE_SEGMENT_BITS,
    VERGE__TABLE_GROUP_BITS = 8, /* log2 of the segments in a group */
    VERGE__TABLE_GROUPS = 1 << (32 - VERGE__TABLE_SEGMENT_BITS - VERGE__TABLE_GROUP_BITS), /* for any index */
    VERGE__TABLE_SEGMENTS_MAX = 1 << 16, /* a record knows its segment by 16 bits */
};

typedef struct verge__table_part {
    _Atomic(verge__timer *) records;
    _Atomic uint32_t known; /* how many of its records were ever handed out */
} verge__table_part;

typedef struct verge__table_group {
    verge__table_part segments[1 << VERGE__TABLE_GROUP_BITS];
} verge__table_group;

typedef struct verge__table {
    verge__table_group first_group; /* for the first 8 million records, which are found with one step less */
    _Atomic uint32_t fresh;         /* indexes from this one on were never handed out */
    _Atomic(verge__table_group *) groups[VERGE__TABLE_GROUPS];
    pthread_mutex_t lock;      /* for pool, pool_count and next */
    uint32_t pool;             /* the first free record of the pool, which is linked to the others */
    _Atomic size_t pool_count; /* also read without the lock */
    uint32_t next;             /* the next new index; `fresh` is its copy for all threads */
    _Atomic size_t bytes;
    const verge_allocator *allocator;
} verge__table;

int verge__table_init(verge__table *table, const verge_allocator *allocator);
void verge__table_deinit(verge__table *table);

/* Takes up to `count` free records from the pool, or new ones, as a linked list. -ENOMEM, -ENOSPC: it took none. */
int verge__table_take(verge__table *table, size_t count, uint32_t *ret_first, size_t *ret_count);

/* Takes up to `count` new records that lie side by side, from *ret_first on. The errors are those of
 * verge__table_take. */
int verge__table_take_fresh(verge__table *table, uint32_t count, uint32_t *ret_first, uint32_t *ret_count);

/* About how many free records the pool has. */
static inline size_t verge__table_pooled(const verge__table *table) {
    return atomic_load_explicit(&table->pool_count, memory_order_relaxed);
}

/* Puts a linked list of free records into the pool. */
void verge__table_give(verge__table *table, uint32_t first, uint32_t last, size_t count);

/* How many records a segment holds. */
static inline uint32_t verge__table_segment_room(uint32_t segment) {
    return segment < 3 ? UINT32_C(1024) << (2 * segment) : (uint32_t)VERGE__TABLE_SEGMENT_RECORDS;
}

static VERGE__ALWAYS_INLINE verge__timer *verge__table_part_at(const verge__table_part *part, uint32_t index) {
    return atomic_load_explicit(&part->records, memory_order_relaxed) + (index & (VERGE__TABLE_SEGMENT_RECORDS - 1));
}

/* Whether an index is in the first group, as most are. */
static VERGE__ALWAYS_INLINE bool verge__table_is_near(uint32_t index) {
    return VERGE__LIKELY(index >> (VERGE__TABLE_SEGMENT_BITS + VERGE__TABLE_GROUP_BITS) == 0);
}

/* The segment of an index that is not in the first group. It exists if the index was handed out. */
static inline const verge__table_part *verge__table_far_part(const verge__table *table, uint32_t index) {
    uint32_t segment = index >> VERGE__TABLE_SEGMENT_BITS;
    const verge__table_group *group =
        atomic_load_explicit(&table->groups[segment >> VERGE__TABLE_GROUP_BITS], memory_order_acquire);
    return group == NULL ? NULL : &group->segments[segment & ((1 << VERGE__TABLE_GROUP_BITS) - 1)];
}

/* The record of an index that was handed out. verge__table_part_at loads the segment's pointer relaxed: the pointer was
 * stored before the index reached this thread. */
static VERGE__ALWAYS_INLINE verge__timer *verge__table_at(const verge__table *table, uint32_t index) {
    const verge__table_part *part = verge__table_is_near(index)
                                        ? &table->first_group.segments[index >> VERGE__TABLE_SEGMENT_BITS]
                                        : verge__table_far_part(table, index);
    return verge__table_part_at(part, index);
}

/* The index of a record. */
static inline uint32_t verge__table_index(const verge__table *table, const verge__timer *timer) {
    uint32_t first = (uint32_t)timer->segment << VERGE__TABLE_SEGMENT_BITS;
    return first + (uint32_t)(timer - verge__table_at(table, first));
}

/* Whether there is a record with that index; *ret_timer gets it. */
static VERGE__ALWAYS_INLINE bool verge__table_has(const verge__table *table, uint32_t index, verge__timer **ret_timer) {
    const verge__table_part *part = NULL;
    if (verge__table_is_near(index)) {
        part = &table->first_group.segments[index >> VERGE__TABLE_SEGMENT_BITS];
    } else {
        part = verge__table_far_part(table, index);
        if (part == NULL) {
            return false;
        }
    }
    uint32_t known = verge__load_dependable(&part->known);
    if (VERGE__UNLIKELY((index & (VERGE__TABLE_SEGMENT_RECORDS - 1)) >= known)) {
        return false;
    }
    verge__timer *records = atomic_load_explicit(&part->records, memory_order_relaxed);
    if (VERGE__UNLIKELY(records == NULL)) {
        return false;
    }
    *ret_timer = verge__depend_on(records + (index & (VERGE__TABLE_SEGMENT_RECORDS - 1)), known);
    return true;
}

/* The record of a handle, whether its timer is pending or has ended. NULL: the handle was never issued. */
static inline verge__timer *verge__table_find(const verge__table *table, verge_timer handle) {
    verge__timer *timer = NULL;
    bool is_odd = (handle & VERGE__GENERATION_ONE) != 0;
    return is_odd && verge__table_has(table, (uint32_t)handle, &timer) ? timer : NULL;
}

/* The error for a handle of no pending timer. `word` is that of the handle's record. -ENOENT: the timer has ended.
 * -EBADF: the handle was never issued. */
int verge__table_why_not(uint64_t word, verge_timer handle);

/* The next index; skips the gaps. */
static inline uint32_t verge__table_next_index(uint32_t index) {
    uint32_t segment = index >> VERGE__TABLE_SEGMENT_BITS;
    uint32_t offset = (index & (VERGE__TABLE_SEGMENT_RECORDS - 1)) + 1;
    return offset < verge__table_segment_room(segment) ? index + 1 : (segment + 1) << VERGE__TABLE_SEGMENT_BITS;
}

#endif
