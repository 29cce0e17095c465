/* SPDX-License-Identifier: MIT */
/*
 * Finds the next occurrence of a rule, span by span (zone.h), in two steps: first the next local minute that matches
 * the rule, then the time at which the clock shows that minute. N3 and N4 (verge/recurrence.h) differ in where the
 * search begins in a span:
 *
 *   N4  just after `after`, or at the local time of the begin of the span if that is later. So local times that the
 *       clock has skipped do not come, and those that it shows again come again.
 *   N3  at the latest local time that was shown before the span (`passed`), or just after `after` if that is later. So
 *       local times that were shown before do not come again. Those that were skipped come at the begin of the span.
 */
#include <stdbool.h>

#include "base/bits.h"
#include "recurrence/recurrence_internal.h"
#include "recurrence/zone.h"
#include "verge/recurrence.h"

enum { MINUTES_OF_DAY = 1440, SECONDS_OF_MINUTE = 60 };

static const uint64_t ns_of_second = 1000000000;
static const int64_t time_end = INT64_MAX / 1000000000; /* the last second that fits into 63 bits of ns */

/* next_minute returns this if no minute before `end` matches. */
static const int64_t no_minute = INT64_MAX;

static bool is_day(const verge_recurrence *rule, verge__date date, int64_t day) {
    const bool of_month = (rule->days >> date.day & 1) != 0;
    const bool of_week = (rule->weekdays >> verge__weekday_of_day(day) & 1) != 0;
    return (rule->flags & VERGE__RULE_EITHER) != 0 ? of_month || of_week : of_month && of_week;
}

/* Returns the first day at or after `day`, before `end`, that the rule allows. If there is none, returns `end`. */
static int64_t next_day(const verge_recurrence *rule, int64_t day, int64_t end) {
    verge__date date = verge__date_of_day(day);
    while (day < end) {
        const unsigned day_count = verge__days_of_month(date.year, date.month);
        const bool is_month = (rule->months >> date.month & 1) != 0;
        if (is_month && is_day(rule, date, day)) {
            return day;
        }
        const unsigned days = is_month ? 1 : day_count - date.day + 1;
        day += days;
        date.day += days;
        if (date.day > day_count) {
            date.day = 1;
            date.year += date.month == 12;
            date.month = date.month % 12 + 1;
        }
    }
    return end;
}

/* Returns the first minute of the day at or after `minute` that the rule has; MINUTES_OF_DAY: none. */
static unsigned next_minute_of_day(const verge_recurrence *rule, unsigned minute) {
    uint64_t left = UINT64_MAX << minute % 60;
    for (unsigned hour = minute / 60; hour < 24; hour++) {
        const uint64_t minutes = rule->minutes[hour] & left;
        if (minutes != 0) {
            return hour * 60 + (unsigned)verge__bit_lowest_index(minutes);
        }
        left = UINT64_MAX;
    }
    return MINUTES_OF_DAY;
}

/* Returns the first local minute at or after `minute`, before `end`, that matches the rule. Minutes count from 1970. */
static int64_t next_minute(const verge_recurrence *rule, int64_t minute, int64_t end) {
    const int64_t first_day = verge__floor_divide(minute, MINUTES_OF_DAY);
    const int64_t end_day = verge__floor_divide(end, MINUTES_OF_DAY) + 1;
    for (int64_t day = next_day(rule, first_day, end_day); day < end_day; day = next_day(rule, day + 1, end_day)) {
        const unsigned from = day == first_day ? (unsigned)(minute - day * MINUTES_OF_DAY) : 0;
        const unsigned found = next_minute_of_day(rule, from);
        if (found < MINUTES_OF_DAY) {
            const int64_t match = day * MINUTES_OF_DAY + found;
            return match < end ? match : no_minute;
        }
    }
    return no_minute;
}

static int64_t larger(int64_t a, int64_t b) {
    return a > b ? a : b;
}

/* Returns the first occurrence later than `after` in a span; time_end: there is none. */
static int64_t next_in_span(const verge_recurrence *rule, const verge__span *span, int64_t after) {
    const int64_t end = span->end < time_end ? span->end : time_end;
    int64_t from = larger(after + 1, span->begin) + span->offset;
    if ((rule->flags & VERGE__RULE_EVERY_HOUR) == 0) {
        from = after < span->begin ? span->passed : larger(from, span->passed);
    }
    const int64_t from_minute = -verge__floor_divide(-from, SECONDS_OF_MINUTE);
    const int64_t end_minute = -verge__floor_divide(-(end + span->offset), SECONDS_OF_MINUTE);
    const int64_t minute = from_minute < end_minute ? next_minute(rule, from_minute, end_minute) : no_minute;
    return minute == no_minute ? time_end : larger(minute * SECONDS_OF_MINUTE - span->offset, span->begin);
}

uint64_t verge_recurrence_next(const verge_recurrence *rule, const verge_zone *zone, uint64_t after_ns) {
    if (rule == NULL || (rule->flags & VERGE__RULE_VALID) == 0) {
        return VERGE_NEVER;
    }
    const int64_t after = (int64_t)(after_ns / ns_of_second);
    int64_t time = after + 1;
    while (time < time_end) {
        const verge__span span = verge__zone_span(zone, time);
        const int64_t next = next_in_span(rule, &span, after);
        if (next < time_end) {
            return (uint64_t)next * ns_of_second;
        }
        time = span.end;
    }
    return VERGE_NEVER;
}
