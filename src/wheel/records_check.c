/* SPDX-License-Identifier: MIT */
/* The invariants of the records, computed the dumb way. */
#include "wheel/records.h"

/* is_open: its records are below open_below; else they are set aside. */
static const char *check_list(const verge__records *records, uint32_t head, bool is_open, size_t *count) {
    for (uint32_t index = head; index != VERGE__NO_RECORD; index = verge__records_at(records, index)->link) {
        const verge__record *record = verge__records_at(records, index);
        if ((record->generation & 1) != 0 || index >= records->fresh) {
            return "R2: a record on a free list has an even generation";
        }
        if ((index < records->open_below) != is_open) {
            return "R3: records are set aside from open_below on, and free below it";
        }
        if (++*count > records->room) {
            return "R1: the free lists are finite";
        }
    }
    return NULL;
}

const char *verge__records_check(const verge__records *records, size_t live) {
    if (verge__records_live(records) != live) {
        return "R5: taken_count is the number of live, spare and recent records";
    }
    size_t free_count = records->taken_count - live;
    const char *broken = check_list(records, records->free, true, &free_count);
    broken = broken != NULL ? broken : check_list(records, records->free_cold, true, &free_count);
    for (uint32_t index = records->scan_at; index < records->scan_end && records->scan_at != VERGE__NO_RECORD;
         index++) {
        const verge__record *segment = records->segments[index >> VERGE__SEGMENT_BITS];
        if (segment != NULL) {
            uint32_t generation = segment[index & (VERGE__SEGMENT_RECORDS - 1)].generation;
            free_count += (generation & 1) == 0 && generation != 0 &&
                          segment + (index & (VERGE__SEGMENT_RECORDS - 1)) != records->spare;
        }
    }
    size_t vacant = 0;
    size_t room = 0;
    for (uint32_t i = 0; i < records->segment_count && broken == NULL; i++) {
        size_t before = free_count;
        broken = check_list(records, records->info[i].aside, false, &free_count);
        vacant += records->segments[i] == NULL;
        room += records->segments[i] == NULL ? 0 : i == 0 ? records->first_room : VERGE__SEGMENT_RECORDS;
        if (broken == NULL && free_count - before + records->info[i].retired_count != records->info[i].aside_count) {
            return "R3: aside_count is that of the set-aside and the retired records";
        }
    }
    if (broken != NULL) {
        return broken;
    }
    if (records->room != room) {
        return "R4: room is that of the segments there are";
    }
    if (records->fresh != live + free_count + records->retired_count + vacant * VERGE__SEGMENT_RECORDS) {
        return "R1: live, free and retired records are those of the segments there are";
    }
    return NULL;
}
