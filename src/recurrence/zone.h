/* SPDX-License-Identifier: MIT */
/*
 * recurrence/zone.h - what local clocks show. All times here are in seconds since 1970.
 *
 * A zone is a list of changes of the clock, and a rule, which repeats every year, for the time after the last change.
 * A span is the time between two changes. In a span, the clock is a constant offset ahead of UTC.
 *
 *   Z1  changes are in order: at[i] < at[i + 1].
 *   Z2  offsets are between -25 and 26 hours, and times between -2^40 and 2^40, so no sum of them overflows.
 *   Z3  passed[i] = the latest local time that was shown before at[i], exclusive:
 *       passed[0] = at[0] + offset before it; passed[i] = max(passed[i - 1], at[i] + offset[i - 1]).
 */
#ifndef VERGE_SRC_RECURRENCE_ZONE_H
#define VERGE_SRC_RECURRENCE_ZONE_H

#include <stdbool.h>
#include <stdint.h>

#include "verge/recurrence.h"

enum { VERGE__ZONE_FILE_MAX = 1 << 16 }; /* in bytes; the files of a system have less than 4 KiB */

/* A change of the clock. */
typedef struct verge__clock_change {
    int64_t at;
    int64_t passed; /* Z3 */
    int32_t offset; /* from then on */
} verge__clock_change;

typedef enum verge__yearly_kind { VERGE__YEARLY_JULIAN, VERGE__YEARLY_DAY, VERGE__YEARLY_WEEKDAY } verge__yearly_kind;

/* A day of each year, and a local time on it. */
typedef struct verge__yearly {
    verge__yearly_kind kind;
    unsigned day;   /* julian: 1 to 365, without February 29; day: 0 to 365; weekday: 0 to 6 */
    unsigned week;  /* weekday: 1 to 5; 5 is the last */
    unsigned month; /* weekday: 1 to 12 */
    int32_t seconds;
} verge__yearly;

/* What holds after the last change: the footer of a TZif file. */
typedef struct verge__zone_rule {
    bool exists; /* false: the clock stays as it is */
    bool has_summer;
    int32_t offset;        /* of standard time */
    int32_t summer_offset; /* of summer time; may be smaller than offset */
    verge__yearly summer_begin;
    verge__yearly summer_end;
} verge__zone_rule;

struct verge_zone {
    verge_allocator allocator;
    size_t size;          /* of this block */
    int32_t first_offset; /* before the first change */
    verge__zone_rule rule;
    size_t change_count;
    verge__clock_change changes[];
};

/* A time in which the clock is not changed. */
typedef struct verge__span {
    int64_t begin;  /* INT64_MIN: there was always this offset */
    int64_t end;    /* exclusive; INT64_MAX: the offset stays */
    int64_t passed; /* Z3, for the begin of the span; INT64_MIN: no local time was shown before */
    int32_t offset;
} verge__span;

/* Returns the span that has this time. If zone is NULL, the zone is UTC. */
verge__span verge__zone_span(const verge_zone *zone, int64_t time);

/* Reads the footer of a TZif file, a TZ string as of POSIX with the extensions of RFC 8536. Returns false if it is not
 * valid. */
bool verge__zone_rule_parse(const char *text, size_t size, verge__zone_rule *ret_rule);

/* Returns when the clock changes in this year, in seconds since 1970. `offset` is the offset before the change. */
int64_t verge__yearly_at(const verge__yearly *yearly, int64_t year, int32_t offset);

/* Returns whether this text can be the name of a zone. The text need not end with a 0. */
bool verge__zone_name_is_valid(const char *name, size_t length);

#endif
