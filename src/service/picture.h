/* SPDX-License-Identifier: MIT */
/*
 * service/picture.h - how full the slots of a calendar are, for another thread to see.
 *
 * The owner's thread takes the picture, and one other thread reads it. A counter tells the reader whether its copy is
 * complete, or mixed of two pictures. The counter is odd while a picture is being taken:
 *
 *     take   count odd (relaxed), fence release, the fields (relaxed), count even (release)
 *     read   count (acquire), the fields (relaxed), fence acquire, count again: the same, and even
 *
 * If the reader copied a field of a later picture, then its second read of the counter sees the odd count of that
 * picture, or a later count: the two fences order them.
 */
#ifndef VERGE_SRC_SERVICE_PICTURE_H
#define VERGE_SRC_SERVICE_PICTURE_H

#include <stdatomic.h>

#include "calendar/calendar.h"

enum {
    VERGE__PICTURE_LEVELS = 12,
    VERGE__PICTURE_CELLS = 64,  /* for each level; slots of a wide level share cells */
    VERGE__COMING_BUCKETS = 11, /* overdue, then up to 1 ms, 10 ms, ... (verge__coming_bounds), then later */
};

typedef struct verge__picture {
    _Atomic uint32_t take_count;
    _Atomic uint32_t level_count;
    _Atomic uint64_t now_ns;
    _Atomic uint64_t tick; /* the cursor */
    _Atomic uint64_t node_count;
    _Atomic uint32_t tick_shift;
    _Atomic uint32_t level_shift[VERGE__PICTURE_LEVELS];                 /* a slot spans 2^(this + tick_shift) ns */
    _Atomic uint32_t level_slots[VERGE__PICTURE_LEVELS];                 /* slots in the ring of the level */
    _Atomic uint32_t cells[VERGE__PICTURE_LEVELS][VERGE__PICTURE_CELLS]; /* node counts, from slot 0 of the ring on */
    _Atomic uint64_t coming[VERGE__COMING_BUCKETS];                      /* node counts, by the start of the slots */
} verge__picture;

/* The reader's copy of a picture. */
typedef struct verge__picture_copy {
    uint32_t take_count, level_count, tick_shift;
    uint64_t now_ns, tick, node_count;
    uint32_t level_shift[VERGE__PICTURE_LEVELS], level_slots[VERGE__PICTURE_LEVELS];
    uint32_t cells[VERGE__PICTURE_LEVELS][VERGE__PICTURE_CELLS];
    uint64_t coming[VERGE__COMING_BUCKETS];
} verge__picture_copy;

/* verge__coming_bounds[i] is the upper bound of bucket i + 1. Bucket 0 is for timers that are overdue; in a picture it
 * is empty. */
extern const uint64_t verge__coming_bounds[VERGE__COMING_BUCKETS - 2];

/* Returns the bucket of what is due `ahead_ns` from now. This is never bucket 0. */
uint32_t verge__coming_bucket(uint64_t ahead_ns);

void verge__picture_take(verge__picture *picture, const verge__calendar *calendar, uint64_t now_ns);

/* Returns false if there is no picture yet, or if a new one was being taken at every try. */
bool verge__picture_read(const verge__picture *picture, verge__picture_copy *ret_copy);

#endif
