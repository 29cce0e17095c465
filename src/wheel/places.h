/* SPDX-License-Identifier: MIT */
/*
 * wheel/places.h - where the timeouts are. The record of a timeout is in the caller's object; the table of their places is
 * for who has to find all of them, and to tell whether one is attached. Entries do not need it: they hold the address.
 *
 * Places are 8 bytes each, in segments of 2 MiB that never move; segment 0 starts small and is copied as it grows to that
 * size. The lowest segment that has a free place is used first, and empty ones are given back, but for one.
 *
 * The numbers have a bit that the indices of records (records.h) do not have.
 *
 * Invariants (verge__places_check)
 *   T1  a segment's places that were ever used are in use or on its free list
 *   T2  count is the number of places in use; a record and its place name each other
 */
#ifndef VERGE_SRC_WHEEL_PLACES_H
#define VERGE_SRC_WHEEL_PLACES_H

#include "base/compiler.h"
#include "wheel/records.h"

#define VERGE__PLACE UINT32_C(0x80000000)

enum {
    VERGE__PLACE_BITS = VERGE__SEGMENT_BITS + 2,
    VERGE__SEGMENT_PLACES = 1 << VERGE__PLACE_BITS,
};

/* The address of a record or, of a free place, twice the offset of the next free one in the segment, plus 1. */
typedef uintptr_t verge__place;

typedef struct verge__place_segment {
    verge__place *places;
    uint32_t room;  /* 0: it was given back */
    uint32_t fresh; /* places below were used at least once */
    uint32_t free;  /* offset of the first free one below; VERGE__SEGMENT_PLACES: none */
    uint32_t count; /* in use */
} verge__place_segment;

typedef struct verge__places {
    verge__place_segment *segments;
    uint32_t segment_count;
    uint32_t segment_room;
    size_t room;     /* of all segments */
    size_t reserved; /* how much of it is kept */
    size_t count;    /* in use */
    size_t bytes;
    const verge_allocator *allocator;
} verge__places;

void verge__places_init(verge__places *places, const verge_allocator *allocator);
void verge__places_deinit(verge__places *places);

/* Makes room for so many in all and touches it; the caller says by `reserved` how much is to be kept. -ENOMEM, -ENOSPC. */
int verge__places_reserve(verge__places *places, size_t count);

/* Gives the record of a timeout a place. -ENOMEM, -ENOSPC. */
int verge__places_add(verge__places *places, verge__record *record, uint32_t *ret_number);
void verge__places_remove(verge__places *places, uint32_t number);

/* The first place in use from a number on; VERGE__NO_RECORD if there is none. */
uint32_t verge__places_next(const verge__places *places, uint32_t number);

const char *verge__places_check(const verge__places *places);

/* The record in a place that is in use. */
static inline verge__record *verge__places_at(const verge__places *places, uint32_t number) {
    const verge__place_segment *segment = &places->segments[(number & ~VERGE__PLACE) >> VERGE__PLACE_BITS];
    return (verge__record *)segment->places[number & (VERGE__SEGMENT_PLACES - 1)];
}

/* The record in a place, or NULL if there is none; of any number that there ever was. */
static VERGE__ALWAYS_INLINE verge__record *verge__places_named(const verge__places *places, uint32_t number) {
    uint32_t i = (number & ~VERGE__PLACE) >> VERGE__PLACE_BITS;
    if (VERGE__UNLIKELY(i >= places->segment_count)) {
        return NULL; /* given back */
    }
    const verge__place_segment *segment = &places->segments[i];
    uint32_t offset = number & (VERGE__SEGMENT_PLACES - 1);
    if (VERGE__UNLIKELY(offset >= segment->fresh)) {
        return NULL; /* given back, and got anew */
    }
    verge__place place = segment->places[offset];
    return VERGE__LIKELY((place & 1) == 0) ? (verge__record *)place : NULL;
}

#endif
