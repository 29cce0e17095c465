/* SPDX-License-Identifier: MIT */
#include "wheel/places.h"

#include <errno.h>
#include <string.h>

#include "base/assert.h"

enum {
    FIRST_PLACES_MIN = 32,
    NONE = VERGE__SEGMENT_PLACES, /* the end of a free list */
    SEGMENT_COUNT_MAX = (int)(VERGE__PLACE >> VERGE__PLACE_BITS) - 1,
};

static void *allocate(verge__places *places, size_t bytes, size_t alignment) {
    void *memory = places->allocator->allocate(places->allocator->context, bytes, alignment);
    places->bytes += memory == NULL ? 0 : bytes;
    return memory;
}

static void release(verge__places *places, void *memory, size_t bytes) {
    if (memory != NULL) {
        places->allocator->release(places->allocator->context, memory, bytes);
        places->bytes -= bytes;
    }
}

void verge__places_init(verge__places *places, const verge_allocator *allocator) {
    *places = (verge__places){.allocator = allocator};
}

/* It leaves a gap: no room, and no place that was ever used. */
static void release_segment(verge__places *places, uint32_t i) {
    verge__place_segment *segment = &places->segments[i];
    release(places, segment->places, segment->room * sizeof(verge__place));
    places->room -= segment->room;
    *segment = (verge__place_segment){.free = NONE};
}

void verge__places_deinit(verge__places *places) {
    for (uint32_t i = 0; i < places->segment_count; i++) {
        release_segment(places, i);
    }
    release(places, places->segments, places->segment_room * sizeof(*places->segments));
    VERGE__INVARIANT(places->bytes == 0, "T: the bytes are those of the segments");
}

/* ---- growing ---- */

static int room_for_segment(verge__places *places) {
    if (places->segment_count < places->segment_room) {
        return 0;
    }
    uint32_t room = places->segment_room == 0 ? 4 : places->segment_room * 2;
    verge__place_segment *segments = allocate(places, room * sizeof(*segments), _Alignof(verge__place_segment));
    if (segments == NULL) {
        return -ENOMEM;
    }
    if (places->segments != NULL) {
        memcpy(segments, places->segments, places->segment_count * sizeof(*segments));
    }
    release(places, places->segments, places->segment_room * sizeof(*segments));
    places->segments = segments;
    places->segment_room = room;
    return 0;
}

static verge__place *allocate_places(verge__places *places, uint32_t room) {
    size_t bytes = room * sizeof(verge__place);
    return allocate(places, bytes, bytes % (2 << 20) == 0 ? 2 << 20 : 64);
}

/* In the first gap, or at the end. */
static int add_segment(verge__places *places, uint32_t *ret_segment) {
    uint32_t i = 0;
    while (i < places->segment_count && places->segments[i].room > 0) {
        i++;
    }
    if (i == SEGMENT_COUNT_MAX) {
        return -ENOSPC;
    }
    int error = i < places->segment_count ? 0 : room_for_segment(places);
    if (error != 0) {
        return error;
    }
    uint32_t room = i == 0 ? FIRST_PLACES_MIN : VERGE__SEGMENT_PLACES;
    verge__place *memory = allocate_places(places, room);
    if (memory == NULL) {
        return -ENOMEM;
    }
    places->segments[i] = (verge__place_segment){.places = memory, .room = room, .free = NONE};
    places->segment_count = i < places->segment_count ? places->segment_count : i + 1;
    places->room += room;
    *ret_segment = i;
    return 0;
}

static int grow_first(verge__places *places, uint32_t room) {
    verge__place_segment *first = &places->segments[0];
    verge__place *memory = allocate_places(places, room);
    if (memory == NULL) {
        return -ENOMEM;
    }
    memcpy(memory, first->places, first->fresh * sizeof(verge__place));
    release(places, first->places, first->room * sizeof(verge__place));
    places->room += room - first->room;
    first->places = memory;
    first->room = room;
    return 0;
}

/* More memory: segment 0 grows, or there is one more. */
static int grow(verge__places *places, uint32_t *ret_segment) {
    if (places->segment_count == 1 && places->segments[0].room < VERGE__SEGMENT_PLACES) {
        *ret_segment = 0;
        return grow_first(places, places->segments[0].room * 2);
    }
    return add_segment(places, ret_segment);
}

int verge__places_reserve(verge__places *places, size_t count) {
    while (places->room < count) {
        uint32_t i = 0;
        int error = grow(places, &i);
        if (error != 0) {
            return error;
        }
        const verge__place_segment *grown = &places->segments[i];
        memset(grown->places + grown->fresh, 0, (grown->room - grown->fresh) * sizeof(verge__place));
    }
    return 0;
}

/* A segment that has a free place, the lowest. */
static int find_room(verge__places *places, uint32_t *ret_segment) {
    for (uint32_t i = 0; i < places->segment_count; i++) {
        if (places->segments[i].count < places->segments[i].room) {
            *ret_segment = i;
            return 0;
        }
    }
    return grow(places, ret_segment);
}

/* ---- in and out ---- */

int verge__places_add(verge__places *places, verge__record *record, uint32_t *ret_number) {
    uint32_t i = 0;
    int error = find_room(places, &i);
    if (error != 0) {
        return error;
    }
    verge__place_segment *segment = &places->segments[i];
    uint32_t offset = segment->free;
    if (offset != NONE) {
        segment->free = (uint32_t)(segment->places[offset] >> 1);
    } else {
        offset = segment->fresh++;
    }
    segment->places[offset] = (verge__place)record;
    segment->count++;
    places->count++;
    *ret_number = VERGE__PLACE | i << VERGE__PLACE_BITS | offset;
    return 0;
}

/* One empty segment is kept, the lowest, so that one timeout that comes and goes does not have memory come and go. */
static void give_back(verge__places *places) {
    bool is_kept = false;
    for (uint32_t i = 0; i < places->segment_count; i++) {
        if (places->segments[i].room > 0 && places->segments[i].count == 0) {
            if (is_kept && places->room - places->segments[i].room >= places->reserved) {
                release_segment(places, i);
            }
            is_kept = true;
        }
    }
    while (places->segments[places->segment_count - 1].room == 0) {
        places->segment_count--;
    }
}

void verge__places_remove(verge__places *places, uint32_t number) {
    verge__place_segment *segment = &places->segments[(number & ~VERGE__PLACE) >> VERGE__PLACE_BITS];
    uint32_t offset = number & (VERGE__SEGMENT_PLACES - 1);
    segment->places[offset] = (verge__place)segment->free << 1 | 1;
    segment->free = offset;
    segment->count--;
    places->count--;
    if (segment->count == 0) {
        give_back(places);
    }
}

uint32_t verge__places_next(const verge__places *places, uint32_t number) {
    uint32_t offset = number & (VERGE__SEGMENT_PLACES - 1);
    for (uint32_t i = (number & ~VERGE__PLACE) >> VERGE__PLACE_BITS; i < places->segment_count; i++) {
        const verge__place_segment *segment = &places->segments[i];
        for (; offset < segment->fresh; offset++) {
            if ((segment->places[offset] & 1) == 0) {
                return VERGE__PLACE | i << VERGE__PLACE_BITS | offset;
            }
        }
        offset = 0;
    }
    return VERGE__NO_RECORD;
}

/* ---- the checker ---- */

const char *verge__places_check(const verge__places *places) {
    size_t count = 0;
    for (uint32_t i = 0; i < places->segment_count; i++) {
        const verge__place_segment *segment = &places->segments[i];
        uint32_t free_count = 0;
        for (uint32_t offset = segment->free; offset != NONE && free_count <= segment->room; free_count++) {
            if (offset >= segment->fresh || (segment->places[offset] & 1) == 0) {
                return "T1: what is on a free list was used, and is not any more";
            }
            offset = (uint32_t)(segment->places[offset] >> 1);
        }
        if (segment->count + free_count != segment->fresh) {
            return "T1: places that were ever used are in use or on the free list";
        }
        count += segment->count;
    }
    if (count != places->count) {
        return "T2: count is the number of places in use";
    }
    for (uint32_t number = verge__places_next(places, VERGE__PLACE); number != VERGE__NO_RECORD;
         number = verge__places_next(places, number + 1)) {
        const verge__record *record = verge__places_at(places, number);
        if (((const verge_timeout *)(const void *)record)->number != number) {
            return "T2: a record and its place name each other";
        }
        count--;
    }
    return count != 0 ? "T2: count is the number of places in use" : NULL;
}
