/* SPDX-License-Identifier: MIT */
/* The invariants of the records, computed the dumb way. */
#include "wheel/records.h"

static const char *check_list(const verge__records *records, uint32_t head, size_t *count) {
    for (uint32_t index = head; index != VERGE__NO_RECORD; index = verge__records_at(records, index)->link) {
        const verge__record *record = verge__records_at(records, index);
        if ((record->generation & 1) != 0 || index >= records->fresh) {
            return "R2: a record on a free list has an even generation";
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
    const char *broken = check_list(records, records->free, &free_count);
    broken = broken != NULL ? broken : check_list(records, records->free_cold, &free_count);
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
    for (uint32_t i = 0; i < records->segment_count && broken == NULL; i++) {
        size_t before = free_count;
        broken = check_list(records, records->info[i].aside, &free_count);
        vacant += records->segments[i] == NULL;
        if (free_count - before + records->info[i].retired_count != records->info[i].aside_count ||
            (free_count > before && i << VERGE__SEGMENT_BITS < records->open_below)) {
            return "R3: set-aside records belong to segments from open_below on";
        }
    }
    if (broken != NULL) {
        return broken;
    }
    if (records->fresh != live + free_count + records->retired_count + vacant * VERGE__SEGMENT_RECORDS) {
        return "R1: live, free and retired records are those of the segments there are";
    }
    return NULL;
}
