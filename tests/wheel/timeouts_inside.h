/* SPDX-License-Identifier: MIT */
/*
 * wheel/timeouts_inside.h - what the tests of timeouts share that look into the wheel.
 */
#ifndef VERGE_TESTS_WHEEL_TIMEOUTS_INSIDE_H
#define VERGE_TESTS_WHEEL_TIMEOUTS_INSIDE_H

#include "wheel/timeouts.h"
#include "wheel/wheel_internal.h"

/* From now on, the entry of a timeout that was cleared and is set moves, for some rounds. */
static inline void move_always(verge_wheel *wheel) {
    wheel->keeping.rounds_without = 2;
    wheel->timeout_shift |= VERGE__MOVES_ENTRIES;
}

/* A scrub that holds a part of a slot; on to its end. */
static inline void begin_scrub(verge_wheel *wheel) {
    for (size_t i = 0; i < 100 && wheel->calendar.scrub_list == NULL; i++) {
        (void)verge__calendar_scrub(&wheel->calendar, VERGE__CHUNK_ENTRIES);
    }
    assert_non_null(wheel->calendar.scrub_list);
}

static inline void end_scrub(verge_wheel *wheel) {
    while (wheel->calendar.scrub_list != NULL) {
        (void)verge__calendar_scrub(&wheel->calendar, VERGE__CHUNK_ENTRIES);
    }
    assert_well(wheel);
}

#endif
