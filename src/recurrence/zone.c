/* SPDX-License-Identifier: MIT */
/* Finds the span in which a given time lies. If the time is after the zone's last change, the changes around it are
 * computed from the rule. */
#include "recurrence/zone.h"

#include "recurrence/recurrence_internal.h"

enum { SECONDS_OF_DAY = 86400, YEARS_AROUND = 2, YEARLY_CHANGES = 2 * (2 * YEARS_AROUND + 1) };

static int64_t larger(int64_t a, int64_t b) {
    return a > b ? a : b;
}

/* Returns how many changes there are up to a time, inclusive. */
static size_t changes_until(const verge_zone *zone, int64_t time) {
    size_t low = 0;
    size_t high = zone->change_count;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (zone->changes[middle].at <= time) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

/* Inserts a change in order of time. If summer time ends and begins at the same time, the change to summer time comes
 * second. So a zone can have summer time all year. */
static void insert(verge__clock_change *changes, size_t count, verge__clock_change change, int32_t summer_offset) {
    size_t place = count;
    while (place > 0 && (changes[place - 1].at > change.at ||
                         (changes[place - 1].at == change.at && changes[place - 1].offset == summer_offset))) {
        changes[place] = changes[place - 1];
        place--;
    }
    changes[place] = change;
}

/* Returns the span of a time at or after `since`, by the rule alone. `passed` is the latest local time that was shown
 * before `since` (Z3). A change may come about a week before or after its year, so the changes of two years before and
 * two years after are computed, too. */
static verge__span span_by_rule(const verge__zone_rule *rule, int64_t since, int64_t passed, int64_t time) {
    verge__span span = {.begin = since, .end = INT64_MAX, .passed = passed, .offset = rule->offset};
    if (!rule->has_summer) {
        return span;
    }
    const int64_t year = verge__year_of_day(verge__floor_divide(time, SECONDS_OF_DAY));
    verge__clock_change changes[YEARLY_CHANGES] = {{.at = 0}};
    size_t count = 0;
    for (int64_t y = year - YEARS_AROUND; y <= year + YEARS_AROUND; y++) {
        const verge__clock_change begin = {.at = verge__yearly_at(&rule->summer_begin, y, rule->offset),
                                           .offset = rule->summer_offset};
        const verge__clock_change end = {.at = verge__yearly_at(&rule->summer_end, y, rule->summer_offset),
                                         .offset = rule->offset};
        insert(changes, count++, begin, rule->summer_offset);
        insert(changes, count++, end, rule->summer_offset);
    }
    /* The first of these changes is about a year ago or more. Local times shown before that change do not matter. */
    span.offset = changes[0].offset;
    for (size_t i = 1; i < count; i++) {
        if (changes[i].at > time) {
            span.end = changes[i].at;
            break;
        }
        if (changes[i].at > since) {
            span.begin = changes[i].at;
            span.passed = larger(span.passed, changes[i].at + span.offset);
        }
        span.offset = changes[i].offset;
    }
    return span;
}

verge__span verge__zone_span(const verge_zone *zone, int64_t time) {
    if (zone == NULL) {
        return (verge__span){.begin = INT64_MIN, .end = INT64_MAX, .passed = INT64_MIN};
    }
    const size_t count = changes_until(zone, time);
    verge__span span = {.begin = INT64_MIN, .end = INT64_MAX, .passed = INT64_MIN, .offset = zone->first_offset};
    if (count > 0) {
        const verge__clock_change *last = &zone->changes[count - 1];
        span.begin = last->at;
        span.passed = last->passed;
        span.offset = last->offset;
    }
    if (count < zone->change_count) {
        span.end = zone->changes[count].at;
        return span;
    }
    return zone->rule.exists ? span_by_rule(&zone->rule, span.begin, span.passed, time) : span;
}
