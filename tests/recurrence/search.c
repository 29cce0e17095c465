/* SPDX-License-Identifier: MIT */
/*
 * verge_recurrence_next against a search that looks at every minute of ten years: in twenty zones from 2010 on, and in
 * five zones from 2033 on. What the local clock shows comes from localtime_r. Which minutes match is decided by a table
 * for each field, which is filled when the text of the rule is made.
 */
#define _GNU_SOURCE /* timegm, tm_gmtoff */

#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "recurrence/zones.h"
#include "support/cmocka.h"
#include "support/random.h"
#include "verge/recurrence.h"

enum { YEARS = 10, MINUTES = YEARS * 366 * 1440, DAYS = YEARS * 366 + 2, DENSE_MAX = 5000, RULES_MAX = 16 };

static int32_t *local_minutes; /* for each minute: what the local clock shows, in minutes since 1970 */
static uint16_t *expected;     /* for each minute: one bit for each rule, set if the rule comes */

struct rule {
    bool minutes[60];
    bool hours[24];
    bool days[32];
    bool months[13];
    bool weekdays[7];
    bool either;
    bool every_hour;
    char text[256];
};

struct date {
    int month;
    int day;
    int weekday;
};

static int64_t offset_at(int64_t minute) {
    const time_t time = (time_t)(minute * 60);
    struct tm local;
    assert_non_null(localtime_r(&time, &local));
    return local.tm_gmtoff / 60;
}

/* Asks localtime_r once an hour, but each minute in an hour in which the clock is changed. */
static void convert(int64_t first, size_t count) {
    int64_t offset = offset_at(first);
    for (size_t i = 0; i < count; i += 60) {
        const int64_t next_offset = offset_at(first + (int64_t)i + 60);
        for (size_t j = i; j < i + 60; j++) {
            const int64_t minute = first + (int64_t)j;
            local_minutes[j] = (int32_t)(minute + (offset == next_offset ? offset : offset_at(minute)));
        }
        offset = next_offset;
    }
}

static struct date date_of(int32_t day) {
    const time_t time = (time_t)day * 86400;
    struct tm date;
    assert_true(gmtime_r(&time, &date) != NULL);
    return (struct date){.month = date.tm_mon + 1, .day = date.tm_mday, .weekday = date.tm_wday};
}

static bool is_day(const struct rule *rule, int32_t day) {
    const struct date date = date_of(day);
    const bool of_month = rule->days[date.day];
    const bool of_week = rule->weekdays[date.weekday];
    return rule->months[date.month] && (rule->either ? of_month || of_week : of_month && of_week);
}

/* Fills `expected`, minute by minute, as N3 and N4 say. */
static void search(const struct rule *rules, size_t rule_count, size_t count) {
    uint16_t of_day[1440] = {0}; /* for each minute of a day: one bit for each rule, set if the rule has it */
    uint16_t every_hour = 0;
    for (size_t r = 0; r < rule_count; r++) {
        every_hour = (uint16_t)(every_hour | (unsigned)rules[r].every_hour << r);
        for (size_t minute = 0; minute < 1440; minute++) {
            const unsigned has = rules[r].minutes[minute % 60] && rules[r].hours[minute / 60];
            of_day[minute] = (uint16_t)(of_day[minute] | has << r);
        }
    }
    const int32_t first_day = local_minutes[0] / 1440;
    uint16_t of_date[DAYS] = {0}; /* for each date: one bit for each rule, set if the rule has it */
    for (size_t r = 0; r < rule_count; r++) {
        for (int32_t day = 0; day < DAYS; day++) {
            of_date[day] = (uint16_t)(of_date[day] | (unsigned)is_day(&rules[r], first_day + day) << r);
        }
    }
    int32_t latest = local_minutes[0];
    for (size_t i = 0; i < count; i++) {
        const int32_t shown = local_minutes[i];
        expected[i] = of_day[shown % 1440] & of_date[shown / 1440 - first_day] & every_hour;
        while (latest < shown) {
            latest++;
            const unsigned matching = of_day[latest % 1440] & of_date[latest / 1440 - first_day];
            expected[i] = (uint16_t)(expected[i] | (matching & ~(unsigned)every_hour));
        }
    }
}

/* ---- rules ---- */

struct field {
    bool *set;
    unsigned first;
    unsigned last;
};

static void write_field(struct verge_test_random *random, struct field field, unsigned one_in, char *text) {
    unsigned step = 1;
    unsigned first = field.first;
    unsigned last = field.last;
    switch (verge_test_below(random, one_in)) {
    case 0:
        memcpy(text, "*", 2);
        break;
    case 1:
        step = 1 + (unsigned)verge_test_below(random, field.last);
        (void)sprintf(text, "*/%u", step);
        break;
    case 2:
        first += (unsigned)verge_test_below(random, field.last - field.first + 1);
        last = first + (unsigned)verge_test_below(random, field.last - first + 1);
        step = 1 + (unsigned)verge_test_below(random, 5);
        (void)sprintf(text, "%u-%u/%u", first, last, step);
        break;
    default:
        first += (unsigned)verge_test_below(random, field.last - field.first + 1);
        last = first + (unsigned)verge_test_below(random, field.last - first + 1);
        field.set[first] = field.set[last] = true;
        (void)sprintf(text, "%u,%u", first, last);
        return;
    }
    for (unsigned value = first; value <= last; value += step) {
        field.set[value] = true;
    }
}

/* Most rules come at a few minutes of some days, as most rules that people write do. */
static void make_rule(struct verge_test_random *random, struct rule *rule) {
    char texts[5][24];
    *rule = (struct rule){.either = false};
    const struct field fields[5] = {
        {rule->minutes, 0, 59}, {rule->hours, 0, 23},   {rule->days, 1, 31},
        {rule->months, 1, 12},  {rule->weekdays, 0, 6},
    };
    const unsigned one_in[5] = {16, 6, 4, 5, 5};
    for (size_t i = 0; i < 5; i++) {
        write_field(random, fields[i], one_in[i], texts[i]);
    }
    (void)snprintf(rule->text, sizeof(rule->text), "%s %s %s %s %s", texts[0], texts[1], texts[2], texts[3], texts[4]);
    rule->either = texts[2][0] != '*' && texts[4][0] != '*';
    rule->every_hour = texts[1][0] == '*';
}

/* ---- the comparison ---- */

static size_t next_expected(size_t rule, size_t after, size_t count) {
    size_t i = after + 1;
    while (i < count && (expected[i] >> rule & 1) == 0) {
        i++;
    }
    return i;
}

/* The minute of an occurrence, counted from the first minute; SIZE_MAX: it is not at a whole minute. */
static size_t index_of(uint64_t time_ns, int64_t first) {
    const uint64_t minute_ns = UINT64_C(60000000000);
    return time_ns % minute_ns == 0 ? (size_t)((int64_t)(time_ns / minute_ns) - first) : SIZE_MAX;
}

static size_t compare(const struct rule *rules, size_t r, const verge_zone *zone, int64_t first, size_t count,
                      struct verge_test_random *random) {
    verge_recurrence recurrence;
    assert_int_equal(verge_recurrence_parse(rules[r].text, &recurrence, NULL, 0), 0);
    size_t compared = 0;
    size_t after = 0;
    while (after < count && compared < DENSE_MAX) {
        const uint64_t inside_ns = verge_test_below(random, UINT64_C(60000000000));
        const uint64_t after_ns = ((uint64_t)first + after) * UINT64_C(60000000000) + inside_ns;
        const size_t found = next_expected(r, after, count);
        const uint64_t next_ns = verge_recurrence_next(&recurrence, zone, after_ns);
        if (found == count) {
            assert_true(next_ns == VERGE_NEVER || index_of(next_ns, first) >= count);
            break;
        }
        if (index_of(next_ns, first) != found) {
            print_error("%s after %" PRIu64 ": %" PRIu64 ", and the search finds minute %zu of these, %" PRId64 "\n",
                        rules[r].text, after_ns, next_ns, found, (first + (int64_t)found) * 60);
            fail();
        }
        compared++;
        /* Goes on from the occurrence or, once in 16 times, from up to 20,000 minutes later. */
        after = found + (verge_test_chance(random, 16) ? (size_t)verge_test_below(random, 20000) : 0);
    }
    return compared;
}

/* Rules for times that are special: midnight, and the hours around changes of the clock. */
static const char *const special_rules[] = {"0 0 * * *",   "30 2 * * *", "0 3 * * *",
                                            "59 23 * * *", "30 * * * *", "0 */2 * * *"};

static struct rule special_rule(const char *text) {
    struct rule rule = {.either = false};
    unsigned minute = 0;
    unsigned hour = 0;
    (void)snprintf(rule.text, sizeof(rule.text), "%s", text);
    memset(rule.days, true, sizeof(rule.days));
    memset(rule.months, true, sizeof(rule.months));
    memset(rule.weekdays, true, sizeof(rule.weekdays));
    /* NOLINTNEXTLINE(cert-err34-c): the texts are in this file */
    rule.every_hour = sscanf(text, "%u %u", &minute, &hour) < 2;
    rule.minutes[minute] = true;
    for (unsigned h = 0; h < 24; h++) {
        rule.hours[h] = rule.every_hour ? strchr(text, '/') == NULL || h % 2 == 0 : h == hour;
    }
    return rule;
}

static void compare_zone(const char *name, int64_t first_year, uint64_t seed) {
    struct verge_test_random random = verge_test_random_from(seed);
    const size_t count = MINUTES;
    struct tm begin = {.tm_year = (int)first_year - 1900, .tm_mday = 1};
    const int64_t first = timegm(&begin) / 60;
    assert_true(setenv("TZ", name, 1) == 0);
    tzset();
    local_minutes = malloc(count * sizeof(*local_minutes));
    expected = malloc(count * sizeof(*expected));
    assert_non_null(local_minutes);
    assert_non_null(expected);
    convert(first, count);
    verge_zone *zone = NULL;
    assert_int_equal(verge_zone_open(name, NULL, &zone), 0);

    struct rule rules[RULES_MAX];
    size_t rule_count = sizeof(special_rules) / sizeof(*special_rules);
    for (size_t i = 0; i < rule_count; i++) {
        rules[i] = special_rule(special_rules[i]);
    }
    while (rule_count < RULES_MAX) {
        verge_recurrence unused;
        make_rule(&random, &rules[rule_count]);
        /* A rule that never comes, such as on February 30, is refused. */
        if (verge_recurrence_parse(rules[rule_count].text, &unused, NULL, 0) == 0) {
            rule_count++;
        }
    }
    search(rules, rule_count, count);
    size_t compared = 0;
    for (size_t i = 0; i < rule_count; i++) {
        compared += compare(rules, i, zone, first, count, &random);
    }
    assert_true(compared > 10000);
    verge_zone_close(zone);
    free(local_minutes);
    free(expected);
}

static void compare_zones(const char *const *names, size_t count, int64_t first_year) {
    const uint64_t seed = verge_test_seed(20261118);
    for (size_t i = 0; i < count; i++) {
        (void)printf("%s\n", names[i]);
        compare_zone(names[i], first_year, seed + i);
    }
}

/* In these years: a day that was skipped (Apia), summer time that was abolished or changed (Moscow, Cairo, Sao_Paulo),
 * changes by half an hour (Caracas, Pyongyang, Lord_Howe), by two hours (Troll), at midnight (Beirut, Havana,
 * Asuncion), in the fasting month (Casablanca), summer time that is behind (Dublin), and none at all. */
static void test_ten_years(void **state) {
    (void)state;
    static const char *const names[] = {
        "Europe/Berlin",     "America/New_York", "Pacific/Apia",     "Australia/Lord_Howe", "Antarctica/Troll",
        "Africa/Casablanca", "Asia/Beirut",      "America/Havana",   "Europe/Dublin",       "Asia/Pyongyang",
        "America/Caracas",   "Africa/Cairo",     "Europe/Moscow",    "America/Sao_Paulo",   "Asia/Tehran",
        "Asia/Kathmandu",    "Asia/Gaza",        "America/Asuncion", "Pacific/Chatham",     "UTC",
    };
    compare_zones(names, sizeof(names) / sizeof(*names), 2010);
}

/* Files list changes until 2037 at most; then the footer decides. */
static void test_after_the_last_change(void **state) {
    (void)state;
    static const char *const names[] = {"Europe/Berlin", "America/Santiago", "Europe/Dublin", "Australia/Lord_Howe",
                                        "America/Nuuk"};
    compare_zones(names, sizeof(names) / sizeof(*names), 2033);
}

int main(void) {
    skip_without_zones();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ten_years),
        cmocka_unit_test(test_after_the_last_change),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
