/* SPDX-License-Identifier: MIT */
/*
 * Reads the footer of a TZif file: the rule that holds after the last change that the file lists.
 *
 *     CET-1CEST,M3.5.0,M10.5.0/3        name, offset west of UTC, name of summer time, its begin and end
 *     <-03>3<-02>,M3.5.0/-1,M10.5.0/0   names in <>; the hours after '/' are -167 to 167
 *     IST-1GMT0,M10.5.0,M3.5.0/1        "summer" time that is behind standard time
 */
#include <string.h>

#include "recurrence/recurrence_internal.h"
#include "recurrence/zone.h"

enum { SECONDS_OF_HOUR = 3600, SECONDS_OF_DAY = 86400, OFFSET_HOURS_MAX = 24, RULE_HOURS_MAX = 167 };

/* The text that is left to read. */
typedef struct reader {
    const char *text;
    const char *end;
} reader;

static bool skip(reader *from, char character) {
    if (from->text < from->end && *from->text == character) {
        from->text++;
        return true;
    }
    return false;
}

static bool is_digit(const reader *from) {
    return from->text < from->end && *from->text >= '0' && *from->text <= '9';
}

static bool read_number(reader *from, unsigned largest, unsigned *ret_number) {
    if (!is_digit(from)) {
        return false;
    }
    unsigned number = 0;
    while (is_digit(from)) {
        number = number * 10 + (unsigned)(*from->text++ - '0');
        if (number > largest) {
            return false;
        }
    }
    *ret_number = number;
    return true;
}

/* Skips the name of standard or summer time: three letters or more, or three characters or more in <>. */
static bool skip_name(reader *from) {
    const char *begin = from->text;
    if (skip(from, '<')) {
        while (from->text < from->end && *from->text != '>') {
            from->text++;
        }
        return skip(from, '>') && from->text - begin >= 5;
    }
    while (from->text < from->end &&
           ((*from->text >= 'A' && *from->text <= 'Z') || (*from->text >= 'a' && *from->text <= 'z'))) {
        from->text++;
    }
    return from->text - begin >= 3;
}

/* Reads a time: [+-]hh[:mm[:ss]]. */
static bool read_time(reader *from, unsigned hours_max, int32_t *ret_seconds) {
    const bool is_negative = skip(from, '-');
    if (!is_negative) {
        (void)skip(from, '+');
    }
    unsigned hours = 0;
    unsigned minutes = 0;
    unsigned seconds = 0;
    if (!read_number(from, hours_max, &hours) || (skip(from, ':') && !read_number(from, 59, &minutes)) ||
        (skip(from, ':') && !read_number(from, 59, &seconds))) {
        return false;
    }
    const int32_t sum = (int32_t)(hours * SECONDS_OF_HOUR + minutes * 60 + seconds);
    *ret_seconds = is_negative ? -sum : sum;
    return true;
}

static bool read_weekday(reader *from, verge__yearly *yearly) {
    yearly->kind = VERGE__YEARLY_WEEKDAY;
    return read_number(from, 12, &yearly->month) && yearly->month >= 1 && skip(from, '.') &&
           read_number(from, 5, &yearly->week) && yearly->week >= 1 && skip(from, '.') &&
           read_number(from, 6, &yearly->day);
}

static bool read_yearly(reader *from, verge__yearly *yearly) {
    bool is_valid = false;
    if (!skip(from, ',')) {
        return false;
    }
    if (skip(from, 'M')) {
        is_valid = read_weekday(from, yearly);
    } else if (skip(from, 'J')) {
        yearly->kind = VERGE__YEARLY_JULIAN;
        is_valid = read_number(from, 365, &yearly->day) && yearly->day >= 1;
    } else {
        yearly->kind = VERGE__YEARLY_DAY;
        is_valid = read_number(from, 365, &yearly->day);
    }
    yearly->seconds = 2 * SECONDS_OF_HOUR;
    return is_valid && (!skip(from, '/') || read_time(from, RULE_HOURS_MAX, &yearly->seconds));
}

bool verge__zone_rule_parse(const char *text, size_t size, verge__zone_rule *ret_rule) {
    reader from = {.text = text, .end = text + size};
    verge__zone_rule rule = {.exists = size > 0};
    int32_t west = 0;
    if (size == 0) {
        *ret_rule = rule;
        return true;
    }
    if (!skip_name(&from) || !read_time(&from, OFFSET_HOURS_MAX, &west)) {
        return false;
    }
    rule.offset = -west;
    if (from.text < from.end) {
        rule.has_summer = true;
        rule.summer_offset = rule.offset + SECONDS_OF_HOUR;
        if (!skip_name(&from)) {
            return false;
        }
        if (from.text < from.end && *from.text != ',') {
            if (!read_time(&from, OFFSET_HOURS_MAX, &west)) {
                return false;
            }
            rule.summer_offset = -west;
        }
        if (!read_yearly(&from, &rule.summer_begin) || !read_yearly(&from, &rule.summer_end)) {
            return false;
        }
    }
    if (from.text != from.end) {
        return false;
    }
    *ret_rule = rule;
    return true;
}

/* Returns the day of the change in a year, as days since 1970. */
static int64_t day_of(const verge__yearly *yearly, int64_t year) {
    const int64_t first = verge__day_of_year(year);
    switch (yearly->kind) {
    case VERGE__YEARLY_JULIAN: {
        const bool is_after_february_29 = verge__is_leap_year(year) && yearly->day >= 60;
        return first + yearly->day - 1 + is_after_february_29;
    }
    case VERGE__YEARLY_DAY:
        return first + yearly->day;
    case VERGE__YEARLY_WEEKDAY:
        break;
    }
    const int64_t first_of_month = verge__day_of_date((verge__date){.year = year, .month = yearly->month, .day = 1});
    const unsigned to_weekday = (yearly->day + 7 - verge__weekday_of_day(first_of_month)) % 7;
    unsigned in_month = to_weekday + 7 * (yearly->week - 1);
    if (in_month >= verge__days_of_month(year, yearly->month)) {
        in_month -= 7;
    }
    return first_of_month + in_month;
}

int64_t verge__yearly_at(const verge__yearly *yearly, int64_t year, int32_t offset) {
    return day_of(yearly, year) * SECONDS_OF_DAY + yearly->seconds - offset;
}
