/* SPDX-License-Identifier: MIT */
/*
 * wheel/records.h - the table of timers. A record never changes its index; its handle is
 * generation << 32 | index. The generation is odd while the record is a timer and even while it is
 * free, and only grows: a handle is live if and only if it equals the record's generation.
 *
 * Segments of 65,536 records (2 MiB) never move. Segment 0 starts small and is copied as it grows
 * to that size. Free records form a LIFO list, so that the record that was freed last, which is in
 * the cache and whose old entry can be adopted, is used next. The newest of all is not on the list
 * but `spare`: where each cancel is followed by a schedule, neither touches the list or a count. Those
 * before it are in `recent`, a stack: where some cancels are followed by some schedules, none of them
 * has to wait for a link that the one before loads.
 *
 * Each free record also names one that lies some places down the list, to be prefetched when it is
 * used: following links would be a cache miss for each timer scheduled after many have expired.
 *
 * Giving memory back. When few records are used, those from `open_below` on are no longer used
 * again: freed ones go to a list of their segment. The free list is forgotten, and made anew by a
 * scan of the records in their order, some at a time: following the list would be a cache miss each.
 * When all records of such a segment are on its list, the segment goes back to the allocator; the
 * highest generation it reached is remembered, so that no handle is ever issued twice.
 *
 * Invariants (verge__records_check)
 *   R1  live + free + retired records are those of the segments there are, up to `fresh`
 *   R2  a record on a free list has an even generation
 *   R3  set-aside records belong to segments from open_below on, those on the free lists are below
 *   R4  the table's room and its bytes are those of its segments
 *   R5  taken_count is the number of live, spare and recent records
 */
#ifndef VERGE_SRC_WHEEL_RECORDS_H
#define VERGE_SRC_WHEEL_RECORDS_H

#include "base/compiler.h"
#include "verge/wheel.h"

#ifndef VERGE_SEGMENT_BITS
#define VERGE_SEGMENT_BITS 16 /* a test has smaller ones, and more of them */
#endif

enum {
    VERGE__SEGMENT_BITS = VERGE_SEGMENT_BITS,
    VERGE__SEGMENT_RECORDS = 1 << VERGE__SEGMENT_BITS,
    VERGE__RECENT_MAX = 64,
    VERGE__TRAIL = 8,
};

#define VERGE__NO_RECORD UINT32_MAX

/* Declared in verge/wheel.h, as timeouts have theirs in the caller's objects (places.h). Unordered wheels know
 * a timer's entry by its tick, ordered ones by its mark: the low half of the sequence number it was filed with. */
typedef verge_timer_state verge__record;

_Static_assert(sizeof(void *) != 8 || sizeof(verge__record) == 32, "two records a cache line");

typedef struct verge__segment {
    uint32_t aside;       /* list of its free records that are not to be used again */
    uint32_t aside_count; /* retired ones count as well */
    uint32_t retired_count;
    uint32_t generation_floor; /* what its records' generations start with */
} verge__segment;

typedef struct verge__records {
    verge__record **segments; /* NULL where a segment was given back */
    uint32_t fresh;           /* records below were handed out at least once, or initialised */
    uint32_t free;            /* newest first */
    verge__record *spare;     /* freed last and not on a list, or NULL */
    verge_timer spare_timer;  /* the last timer it was */
    verge_timer *recent;      /* the last timers of free records on no list, newest last; the owner's memory */
    size_t recent_count;
    size_t taken_count;  /* records that are on no list, nor to be found by the scan: timers, spare, recent */
    uint32_t aside_from; /* the lower of open_below and scan_at: freeing takes the long way from here */

    uint32_t trail[VERGE__TRAIL]; /* the last records pushed to the free list, in turn */
    uint32_t trail_next;
    uint32_t free_cold;  /* a second list, used when the first is empty */
    uint32_t open_below; /* records from here on are not used again; VERGE__NO_RECORD: none */
    uint32_t scan_at;    /* free records from here to scan_end are on no list; VERGE__NO_RECORD: none */
    uint32_t scan_end;
    uint32_t segment_count; /* places, vacant ones too */
    uint32_t segment_room;
    uint32_t first_room; /* records segment 0 has room for */
    uint32_t retired_count;
    size_t room; /* records there is memory for, retired ones too */
    size_t bytes;
    verge__segment *info;
    verge__record nobody; /* free, for ever */
    uint32_t generation_base;
    const verge_allocator *allocator;
} verge__records;

/* The caller sets `recent` then. */
void verge__records_init(verge__records *records, uint32_t generation_base, const verge_allocator *allocator);
void verge__records_deinit(verge__records *records);

/* Makes sure that there is a spare record. -ENOMEM, -ENOSPC. */
int verge__records_refill(verge__records *records);

/* Makes room for `count` records in all, and touches it. */
int verge__records_reserve(verge__records *records, size_t count);

/* Begins to give back what lies beyond the first `keep` records, in whole segments; can_close:
 * whether there is anything to begin with. */
bool verge__records_can_close(const verge__records *records, size_t keep);
void verge__records_close(verge__records *records, size_t keep);

/* Goes on with that: scans up to `budget` records; returns how many. */
size_t verge__records_scan(verge__records *records, size_t budget);

/* Gives back the segments of which every record is set aside. */
void verge__records_release(verge__records *records);

static inline bool verge__records_is_closing(const verge__records *records) {
    return records->open_below != VERGE__NO_RECORD || records->scan_at != VERGE__NO_RECORD;
}

/* A freed record that is not simply put on the free list: it is to be found by the scan, or not to be used
 * again, or its generations are used up. */
void verge__records_set_aside(verge__records *records, uint32_t index);

/* The first record there is, and the first that is a timer, from an index on; VERGE__NO_RECORD if there is
 * none. For walks over all of them, which may change them on the way. */
uint32_t verge__records_next(const verge__records *records, uint32_t from);
uint32_t verge__records_next_live(const verge__records *records, uint32_t from);

/* Why a handle is not live: -ENOENT or -EBADF. */
int verge__records_why_not(const verge__records *records, verge_timer timer);

/* NULL, or the invariant that is broken. */
const char *verge__records_check(const verge__records *records, size_t live);

static inline verge__record *verge__records_at(const verge__records *records, uint32_t index) {
    return records->segments[index >> VERGE__SEGMENT_BITS] + (index & (VERGE__SEGMENT_RECORDS - 1));
}

/* The record that an entry names. An entry may outlive its record's segment: then it is nobody's. */
static inline verge__record *verge__records_named(const verge__records *records, uint32_t index) {
    verge__record *segment = records->segments[index >> VERGE__SEGMENT_BITS];
    return VERGE__LIKELY(segment != NULL) ? segment + (index & (VERGE__SEGMENT_RECORDS - 1))
                                          : (verge__record *)(uintptr_t)&records->nobody;
}

/* The record of a handle, or NULL if the handle is not live. */
static VERGE__ALWAYS_INLINE verge__record *verge__records_find(const verge__records *records, verge_timer timer) {
    uint32_t index = (uint32_t)timer;
    uint32_t generation = (uint32_t)(timer >> 32);
    if (VERGE__UNLIKELY(index >= records->fresh || (generation & 1) == 0)) {
        return NULL;
    }
    verge__record *segment = records->segments[index >> VERGE__SEGMENT_BITS];
    if (VERGE__UNLIKELY(segment == NULL)) {
        return NULL;
    }
    verge__record *record = segment + (index & (VERGE__SEGMENT_RECORDS - 1));
    return VERGE__LIKELY(record->generation == generation) ? record : NULL;
}

static inline verge_timer verge__records_handle(uint32_t index, uint32_t generation) {
    return (uint64_t)generation << 32 | index;
}

/* The handle of a record's next timer, from that of its last one. */
static inline verge_timer verge__records_next_handle(verge_timer last) {
    return last + (UINT64_C(2) << 32);
}

static inline void verge__records_push(verge__records *records, verge__record *record, uint32_t index) {
    uint32_t *trail = &records->trail[records->trail_next++ % VERGE__TRAIL];
    record->deadline_ns = *trail;
    *trail = index;
    record->link = records->free;
    records->free = index;
}

/* Makes the newest free record the spare one; false if none is recent or on the free list. */
static VERGE__ALWAYS_INLINE bool verge__records_pop_spare(verge__records *records) {
    if (records->recent_count > 0) {
        records->spare_timer = records->recent[--records->recent_count];
        records->spare = verge__records_at(records, (uint32_t)records->spare_timer);
        return true;
    }
    uint32_t index = records->free;
    if (VERGE__UNLIKELY(index == VERGE__NO_RECORD)) {
        return false;
    }
    verge__record *record = verge__records_at(records, index);
    if (record->deadline_ns < records->fresh) {
        VERGE__PREFETCH_WRITE(verge__records_named(records, (uint32_t)record->deadline_ns));
    }
    records->free = record->link;
    record->link = 0;
    records->spare = record;
    records->spare_timer = verge__records_handle(index, record->generation - 1);
    records->taken_count++;
    return true;
}

/* Puts the recent records on the free list. */
void verge__records_spill(verge__records *records);

/* Makes the record of a timer that has ended the spare one, to be used next; false, and nothing has changed,
 * if those before it have to be spilled first. Not while segments are being closed. */
static VERGE__ALWAYS_INLINE bool verge__records_make_spare(verge__records *records, verge__record *record,
                                                           verge_timer timer) {
    if (records->spare != NULL) {
        if (VERGE__UNLIKELY(records->recent_count == VERGE__RECENT_MAX)) {
            return false;
        }
        records->recent[records->recent_count++] = records->spare_timer;
    }
    records->spare = record;
    records->spare_timer = timer;
    return true;
}

/* Puts the spare record and the recent ones where they belong: on the free list, or aside. */
void verge__records_settle(verge__records *records);

static inline size_t verge__records_live(const verge__records *records) {
    return records->taken_count - records->recent_count - (records->spare != NULL);
}

/* Ends a timer: its handle is no longer live, its record is free. The caller takes it off taken_count. */
static VERGE__ALWAYS_INLINE void verge__records_free(verge__records *records, verge__record *record, uint32_t index) {
    record->generation++;
    if (VERGE__UNLIKELY(index >= records->aside_from || record->generation == 0)) {
        verge__records_set_aside(records, index);
        return;
    }
    verge__records_push(records, record, index);
}

#endif
