/* SPDX-License-Identifier: MIT */
/* recurrence/recurrence_internal.h - days and dates, and what the flags of a rule mean. N2 to N4 are promises of
 * verge/recurrence.h. */
#ifndef VERGE_SRC_RECURRENCE_RECURRENCE_INTERNAL_H
#define VERGE_SRC_RECURRENCE_RECURRENCE_INTERNAL_H

#include <stdbool.h>
#include <stdint.h>

enum {
    VERGE__RULE_VALID = 1,      /* set by parse */
    VERGE__RULE_EITHER = 2,     /* the day of the month or the day of the week matches (N2); otherwise both must */
    VERGE__RULE_EVERY_HOUR = 4, /* N4 holds for the rule; otherwise N3 does */
};

typedef struct verge__date {
    int64_t year;
    unsigned month; /* 1 to 12 */
    unsigned day;   /* 1 to 31 */
} verge__date;

static inline bool verge__is_leap_year(int64_t year) {
    return year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
}

static inline unsigned verge__days_of_month(int64_t year, unsigned month) {
    const unsigned is_long = (0x15AAU >> month) & 1; /* January, March, May, July, August, October, December */
    return month == 2 ? 28U + verge__is_leap_year(year) : 30U + is_long;
}

static inline int64_t verge__floor_divide(int64_t value, int64_t divisor) {
    return value / divisor - (value % divisor < 0 ? 1 : 0);
}

/* Returns the days from 1970-01-01 to the first day of a year. */
static inline int64_t verge__day_of_year(int64_t year) {
    const int64_t before = year - 1;
    return before * 365 + verge__floor_divide(before, 4) - verge__floor_divide(before, 100) +
           verge__floor_divide(before, 400) - 719162;
}

/* Returns the days from 1970-01-01 to a date. */
static inline int64_t verge__day_of_date(verge__date date) {
    int64_t day = verge__day_of_year(date.year) + date.day - 1;
    for (unsigned month = 1; month < date.month; month++) {
        day += verge__days_of_month(date.year, month);
    }
    return day;
}

static inline int64_t verge__year_of_day(int64_t day) {
    int64_t year = 1970 + verge__floor_divide(day, 366); /* if day >= 0: the right year or an earlier one */
    if (day < 0) {
        year = 1970 + verge__floor_divide(day, 365);
    }
    while (verge__day_of_year(year + 1) <= day) {
        year++;
    }
    return year;
}

static inline verge__date verge__date_of_day(int64_t day) {
    verge__date date = {.year = verge__year_of_day(day), .month = 1};
    int64_t rest = day - verge__day_of_year(date.year);
    while (rest >= verge__days_of_month(date.year, date.month)) {
        rest -= verge__days_of_month(date.year, date.month);
        date.month++;
    }
    date.day = (unsigned)rest + 1;
    return date;
}

/* 0 is Sunday; 1970-01-01 was a Thursday. */
static inline unsigned verge__weekday_of_day(int64_t day) {
    return (unsigned)(day + 4 - 7 * verge__floor_divide(day + 4, 7));
}

#endif
