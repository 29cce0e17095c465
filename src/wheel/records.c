/* SPDX-License-Identifier: MIT */
#include "wheel/records.h"

#include <errno.h>
#include <string.h>

#include "base/assert.h"
#include "wheel/calendar.h"

enum {
    SEGMENT_BYTES = VERGE__SEGMENT_RECORDS * (int)sizeof(verge__record),
    FIRST_RECORDS_MIN = 64,
    INITIALISE_AT_ONCE = 16,
    SEGMENT_COUNT_MAX = 1 << (31 - VERGE__SEGMENT_BITS), /* the other half of the numbers are places' (places.h) */
};

void verge__records_init(verge__records *records, uint32_t generation_base, const verge_allocator *allocator) {
    *records = (verge__records){
        .free = VERGE__NO_RECORD,
        .free_cold = VERGE__NO_RECORD,
        .aside_from = VERGE__NO_RECORD,
        .open_below = VERGE__NO_RECORD,
        .scan_at = VERGE__NO_RECORD,
        .nobody = {.u.entry_tick = VERGE__NO_TICK},
        .generation_base = generation_base,
        .allocator = allocator,
    };
}

static void *allocate(verge__records *records, size_t size, size_t alignment) {
    void *memory = records->allocator->allocate(records->allocator->context, size, alignment);
    if (memory != NULL) {
        records->bytes += size;
    }
    return memory;
}

static void release(verge__records *records, void *memory, size_t size) {
    records->allocator->release(records->allocator->context, memory, size);
    records->bytes -= size;
}

/* Records that segment i has memory for. */
static uint32_t segment_records(const verge__records *records, uint32_t segment) {
    return segment == 0 ? records->first_room : VERGE__SEGMENT_RECORDS;
}

static void release_segment(verge__records *records, uint32_t segment) {
    uint32_t count = segment_records(records, segment);
    release(records, records->segments[segment], count * sizeof(verge__record));
    records->segments[segment] = NULL;
    records->room -= count;
}

void verge__records_deinit(verge__records *records) {
    for (uint32_t i = 0; i < records->segment_count; i++) {
        if (records->segments[i] != NULL) {
            release_segment(records, i);
        }
    }
    if (records->segments != NULL) {
        release(records, (void *)records->segments, records->segment_room * sizeof(*records->segments));
        release(records, records->info, records->segment_room * sizeof(*records->info));
    }
    VERGE__INVARIANT(records->bytes == 0, "R4: the table's bytes are those of its segments");
}

/* ---- growing ---- */

static int room_for_segment(verge__records *records) {
    if (records->segment_count < records->segment_room) {
        return 0;
    }
    uint32_t room = records->segment_room == 0 ? 8 : records->segment_room * 2;
    verge__record **segments = allocate(records, room * sizeof(*segments), _Alignof(verge__record *));
    if (segments == NULL) {
        return -ENOMEM;
    }
    verge__segment *info = allocate(records, room * sizeof(*info), _Alignof(verge__segment));
    if (info == NULL) {
        release(records, (void *)segments, room * sizeof(*segments));
        return -ENOMEM;
    }
    if (records->segments != NULL) {
        memcpy((void *)segments, (void *)records->segments, records->segment_count * sizeof(*segments));
        memcpy(info, records->info, records->segment_count * sizeof(*info));
        release(records, (void *)records->segments, records->segment_room * sizeof(*segments));
        release(records, records->info, records->segment_room * sizeof(*info));
    }
    records->segments = segments;
    records->info = info;
    records->segment_room = room;
    return 0;
}

static verge__record *allocate_segment(verge__records *records, uint32_t count) {
    size_t bytes = count * sizeof(verge__record);
    size_t alignment = count == VERGE__SEGMENT_RECORDS && bytes % (2 << 20) == 0 ? 2 << 20 : 64;
    verge__record *segment = allocate(records, bytes, alignment);
    records->room += segment == NULL ? 0 : count;
    return segment;
}

/* Segment 0 grows by doubling, to at least `count` records. */
static int grow_first(verge__records *records, size_t count) {
    uint32_t room = records->first_room == 0 ? FIRST_RECORDS_MIN : records->first_room * 2;
    while (room < count && room < VERGE__SEGMENT_RECORDS) {
        room *= 2;
    }
    int error = records->segment_count == 0 ? room_for_segment(records) : 0;
    if (error != 0) {
        return error;
    }
    verge__record *segment = allocate_segment(records, room);
    if (segment == NULL) {
        return -ENOMEM;
    }
    if (records->segment_count == 0) {
        records->segment_count = 1;
        records->info[0] = (verge__segment){.aside = VERGE__NO_RECORD, .generation_floor = records->generation_base};
    } else {
        memcpy(segment, records->segments[0], records->fresh * sizeof(verge__record));
        release_segment(records, 0);
        records->spare = records->spare == NULL ? NULL : segment + (uint32_t)records->spare_timer;
    }
    records->segments[0] = segment;
    records->first_room = room;
    return 0;
}

static int add_segment(verge__records *records) {
    if (records->segment_count >= SEGMENT_COUNT_MAX) {
        return -ENOSPC;
    }
    int error = room_for_segment(records);
    if (error != 0) {
        return error;
    }
    verge__record *segment = allocate_segment(records, VERGE__SEGMENT_RECORDS);
    if (segment == NULL) {
        return -ENOMEM;
    }
    records->info[records->segment_count] =
        (verge__segment){.aside = VERGE__NO_RECORD, .generation_floor = records->generation_base};
    records->segments[records->segment_count++] = segment;
    return 0;
}

/* Initialises records [from, to) of one segment and puts them on the cold list, lowest first. */
static void initialise(verge__records *records, uint32_t from, uint32_t to) {
    uint32_t generation = records->info[from >> VERGE__SEGMENT_BITS].generation_floor;
    for (uint32_t index = to; index-- > from;) {
        *verge__records_at(records, index) =
            (verge__record){.u.entry_tick = VERGE__NO_TICK, .generation = generation, .link = records->free_cold};
        records->free_cold = index;
    }
}

/* Takes a vacant place into use again: the records go on with the generation they had reached. */
static int refill_vacant(verge__records *records, uint32_t segment) {
    verge__record *memory = allocate_segment(records, VERGE__SEGMENT_RECORDS);
    if (memory == NULL) {
        return -ENOMEM;
    }
    records->segments[segment] = memory;
    initialise(records, segment << VERGE__SEGMENT_BITS, (segment + 1) << VERGE__SEGMENT_BITS);
    return 0;
}

/* Records that have memory and were never handed out. They are the last of the last segment. */
static uint32_t untouched_end(const verge__records *records) {
    return records->segment_count == 0   ? 0
           : records->segment_count == 1 ? records->first_room
                                         : records->segment_count << VERGE__SEGMENT_BITS;
}

/* More memory: a vacant place, the growth of segment 0, or a segment at the end. */
static int grow(verge__records *records, size_t first_count) {
    for (uint32_t i = 0; i < records->segment_count; i++) {
        if (records->segments[i] == NULL) {
            return refill_vacant(records, i);
        }
    }
    return records->first_room < VERGE__SEGMENT_RECORDS ? grow_first(records, first_count) : add_segment(records);
}

static void initialise_untouched(verge__records *records, uint32_t count_max) {
    uint32_t end = untouched_end(records);
    /* not across a segment's end */
    uint32_t segment_end = (records->fresh | (VERGE__SEGMENT_RECORDS - 1)) + 1;
    end = end < segment_end ? end : segment_end;
    end = end - records->fresh > count_max ? records->fresh + count_max : end;
    initialise(records, records->fresh, end);
    records->fresh = end;
}

static void release_untouched(verge__records *records);

static void set_open_below(verge__records *records, uint32_t open_below) {
    records->open_below = open_below;
    records->aside_from = open_below < records->scan_at ? open_below : records->scan_at;
}

/* Opens all segments again: what was set aside is free. */
static void reopen(verge__records *records) {
    uint32_t first = records->open_below >> VERGE__SEGMENT_BITS;
    set_open_below(records, VERGE__NO_RECORD);
    for (uint32_t i = first; i < records->segment_count; i++) {
        verge__segment *info = &records->info[i];
        while (info->aside != VERGE__NO_RECORD) {
            uint32_t index = info->aside;
            verge__record *record = verge__records_at(records, index);
            info->aside = record->link;
            record->link = records->free_cold;
            records->free_cold = index;
        }
        info->aside_count = info->retired_count;
    }
}

/* Makes the free list not empty. */
static int refill_list(verge__records *records) {
    while (records->free_cold == VERGE__NO_RECORD && records->scan_at != VERGE__NO_RECORD) {
        (void)verge__records_scan(records, INITIALISE_AT_ONCE);
    }
    if (records->free_cold == VERGE__NO_RECORD && records->open_below != VERGE__NO_RECORD) {
        reopen(records);
    }
    while (records->free_cold == VERGE__NO_RECORD) {
        if (records->fresh < untouched_end(records)) {
            initialise_untouched(records, INITIALISE_AT_ONCE);
            continue;
        }
        int error = grow(records, 0);
        if (error != 0) {
            return error;
        }
    }
    records->free = records->free_cold;
    records->free_cold = VERGE__NO_RECORD;
    return 0;
}

int verge__records_refill(verge__records *records) {
    if (records->spare != NULL) {
        return 0;
    }
    if (verge__records_pop_spare(records)) {
        return 0;
    }
    int error = refill_list(records);
    if (error == 0) {
        (void)verge__records_pop_spare(records);
    }
    return error;
}

/* Puts a free record where it belongs. */
static void put_free(verge__records *records, uint32_t index) {
    if (VERGE__UNLIKELY(index >= records->aside_from)) {
        verge__records_set_aside(records, index);
    } else {
        verge__records_push(records, verge__records_at(records, index), index);
    }
}

void verge__records_spill(verge__records *records) {
    for (size_t i = 0; i < records->recent_count; i++) {
        put_free(records, (uint32_t)records->recent[i]);
    }
    records->taken_count -= records->recent_count;
    records->recent_count = 0;
}

void verge__records_settle(verge__records *records) {
    verge__records_spill(records);
    if (records->spare != NULL) {
        put_free(records, (uint32_t)records->spare_timer);
        records->spare = NULL;
        records->taken_count--;
    }
}

int verge__records_reserve(verge__records *records, size_t count) {
    if (records->open_below != VERGE__NO_RECORD && count > records->open_below) {
        reopen(records);
    }
    bool has_to_grow = records->room - records->retired_count < count;
    while (has_to_grow && records->scan_at != VERGE__NO_RECORD) {
        /* A vacant place may be taken into use, whose records are free then: the scan must not come to them. */
        (void)verge__records_scan(records, VERGE__SEGMENT_RECORDS);
    }
    while (records->room - records->retired_count < count) {
        int error = grow(records, count);
        if (error != 0) {
            release_untouched(records);
            return error;
        }
    }
    while (records->fresh < untouched_end(records) && records->fresh - records->retired_count < count) {
        initialise_untouched(records, VERGE__SEGMENT_RECORDS);
    }
    return 0;
}

/* ---- giving back ---- */

/* Records of a segment that were ever initialised. */
static uint32_t touched_records(const verge__records *records, uint32_t segment) {
    uint32_t begin = segment << VERGE__SEGMENT_BITS;
    uint32_t touched = records->fresh > begin ? records->fresh - begin : 0;
    return touched < VERGE__SEGMENT_RECORDS ? touched : VERGE__SEGMENT_RECORDS;
}

/* Segments at the end of which no record was ever used. */
static void release_untouched(verge__records *records) {
    while (records->segment_count > 1 && touched_records(records, records->segment_count - 1) == 0) {
        release_segment(records, --records->segment_count);
    }
}

/* How many places, from the first on, hold segments with room for `keep` records. */
static uint32_t segments_for(const verge__records *records, size_t keep) {
    size_t room = 0;
    uint32_t i = 0;
    while (i < records->segment_count && (room < keep || i == 0)) {
        room += records->segments[i] == NULL ? 0 : segment_records(records, i);
        i++;
    }
    return i;
}

/* Only when it halves what is open: each time, all free records are sifted. */
bool verge__records_can_close(const verge__records *records, size_t keep) {
    uint32_t open = records->open_below >> VERGE__SEGMENT_BITS;
    open = open < records->segment_count ? open : records->segment_count;
    return segments_for(records, keep) * 2 <= open;
}

void verge__records_close(verge__records *records, size_t keep) {
    if (!verge__records_can_close(records, keep) || records->scan_at != VERGE__NO_RECORD) {
        return;
    }
    release_untouched(records);
    verge__records_settle(records);
    /* What was set aside before stays so. */
    records->scan_end = records->fresh < records->open_below ? records->fresh : records->open_below;
    records->scan_at = 0;
    records->free = VERGE__NO_RECORD;
    records->free_cold = VERGE__NO_RECORD;
    set_open_below(records, segments_for(records, keep) << VERGE__SEGMENT_BITS);
}

/* Keeps a free record of a segment that is not to be used again. */
static void keep_aside(verge__records *records, verge__record *record, uint32_t index) {
    verge__segment *info = &records->info[index >> VERGE__SEGMENT_BITS];
    info->aside_count++;
    record->link = info->aside;
    info->aside = index;
    info->generation_floor = record->generation > info->generation_floor ? record->generation : info->generation_floor;
}

void verge__records_set_aside(verge__records *records, uint32_t index) {
    verge__record *record = verge__records_at(records, index);
    if (record->generation == 0) {
        records->info[index >> VERGE__SEGMENT_BITS].aside_count++;
        records->info[index >> VERGE__SEGMENT_BITS].retired_count++;
        records->retired_count++;
    } else if (index >= records->scan_at && index < records->scan_end) {
        return; /* the scan will come to it */
    } else if (index >= records->open_below) {
        keep_aside(records, record, index);
    } else {
        verge__records_push(records, record, index);
    }
}

size_t verge__records_scan(verge__records *records, size_t budget) {
    size_t done = 0;
    for (; done < budget && records->scan_at != VERGE__NO_RECORD; done++) {
        uint32_t index = records->scan_at++;
        const verge__record *segment = records->segments[index >> VERGE__SEGMENT_BITS];
        if (segment == NULL) {
            records->scan_at = (index | (VERGE__SEGMENT_RECORDS - 1)) + 1;
        } else {
            verge__record *record = verge__records_at(records, index);
            if ((record->generation & 1) != 0 || record->generation == 0) {
                /* in use, or used up */
            } else if (index >= records->open_below) {
                keep_aside(records, record, index);
            } else {
                record->link = records->free_cold;
                records->free_cold = index;
            }
        }
        if (records->scan_at >= records->scan_end) {
            records->scan_at = VERGE__NO_RECORD;
        }
        set_open_below(records, records->open_below);
    }
    return done;
}

/* A segment with a retired record stays: it must remember which one. */
void verge__records_release(verge__records *records) {
    uint32_t first = records->open_below >> VERGE__SEGMENT_BITS;
    for (uint32_t i = records->segment_count; i-- > first;) {
        verge__segment *info = &records->info[i];
        uint32_t touched = touched_records(records, i);
        if (records->segments[i] == NULL || info->retired_count > 0 || info->aside_count < touched) {
            continue;
        }
        release_segment(records, i);
        info->aside = VERGE__NO_RECORD;
        info->aside_count = 0;
        if (touched < VERGE__SEGMENT_RECORDS) {
            records->fresh = (i + 1) << VERGE__SEGMENT_BITS; /* the last one; R1 counts it as vacant, whole */
        }
    }
}

/* ---- questions ---- */

uint32_t verge__records_next(const verge__records *records, uint32_t from) {
    while (from < records->fresh && records->segments[from >> VERGE__SEGMENT_BITS] == NULL) {
        from = (from | (VERGE__SEGMENT_RECORDS - 1)) + 1;
    }
    return from < records->fresh ? from : VERGE__NO_RECORD;
}

uint32_t verge__records_next_live(const verge__records *records, uint32_t from) {
    uint32_t index = verge__records_next(records, from);
    while (index != VERGE__NO_RECORD && (verge__records_at(records, index)->generation & 1) == 0) {
        index = verge__records_next(records, index + 1);
    }
    return index;
}

int verge__records_why_not(const verge__records *records, verge_timer timer) {
    uint32_t index = (uint32_t)timer;
    uint32_t generation = (uint32_t)(timer >> 32);
    if (index >= records->fresh || (generation & 1) == 0 || generation < records->generation_base) {
        return -EBADF;
    }
    uint32_t segment = index >> VERGE__SEGMENT_BITS;
    uint32_t reached = records->segments[segment] == NULL ? records->info[segment].generation_floor
                                                          : verge__records_at(records, index)->generation;
    return reached == 0 || generation < reached ? -ENOENT : -EBADF;
}
