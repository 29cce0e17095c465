/* SPDX-License-Identifier: MIT */
/* N1 to N4 by example, on dates that everybody can look up. search.c compares with a search. */
#define _GNU_SOURCE /* timegm */

#include <errno.h>
#include <string.h>
#include <time.h>

#include "recurrence/zones.h"
#include "support/cmocka.h"
#include "verge/recurrence.h"

/* "2026-03-29 01:00" in UTC, as ns. */
static uint64_t utc_ns(const char *text) {
    struct tm tm = {.tm_year = 0};
    /* NOLINTNEXTLINE(cert-err34-c): the texts are in this file */
    assert_int_equal(sscanf(text, "%d-%d-%d %d:%d", &tm.tm_year, &tm.tm_mon, &tm.tm_mday, &tm.tm_hour, &tm.tm_min), 5);
    tm.tm_year -= 1900;
    tm.tm_mon -= 1;
    return (uint64_t)timegm(&tm) * 1000000000;
}

/* Asserts that the rule comes at these times, and at no others in between. NULL ends the times. */
static void assert_comes(const char *text, const char *after, const char *const *expected) {
    verge_recurrence rule;
    verge_zone *zone = NULL;
    assert_int_equal(verge_recurrence_parse(text, &rule, NULL, 0), 0);
    assert_int_equal(verge_zone_open(rule.zone, NULL, &zone), 0);
    uint64_t time_ns = utc_ns(after);
    for (; *expected != NULL; expected++) {
        const uint64_t next_ns = verge_recurrence_next(&rule, zone, time_ns);
        if (next_ns != utc_ns(*expected)) {
            const time_t seconds = (time_t)(next_ns / 1000000000);
            struct tm tm;
            char found[32];
            assert_non_null(gmtime_r(&seconds, &tm));
            assert_true(strftime(found, sizeof(found), "%F %R", &tm) > 0);
            print_error("%s: %s, and not %s\n", text, found, *expected);
            fail();
        }
        assert_int_equal(verge_recurrence_next(&rule, zone, next_ns - 1), next_ns); /* N1 */
        time_ns = next_ns;
    }
    verge_zone_close(zone);
}

#define COMES(text, after, ...) assert_comes(text, after, (const char *const[]){__VA_ARGS__, NULL})

static void test_utc(void **state) {
    (void)state;
    COMES("*/15 * * * *", "2026-11-18 10:00", "2026-11-18 10:15", "2026-11-18 10:30", "2026-11-18 10:45",
          "2026-11-18 11:00");
    COMES("mon-fri 09:00,17:30", "2026-11-20 09:00", "2026-11-20 17:30", "2026-11-23 09:00");
    COMES("@yearly", "2026-11-18 10:00", "2027-01-01 00:00", "2028-01-01 00:00");
    COMES("59 23 31 12 *", "2026-11-18 10:00", "2026-12-31 23:59");
    COMES("0 0 29 2 *", "2096-03-01 00:00", "2104-02-29 00:00"); /* 2100 is no leap year */
    COMES("0 0 31 * *", "2026-11-18 10:00", "2026-12-31 00:00", "2027-01-31 00:00", "2027-03-31 00:00");
}

/* N2 */
static void test_days(void **state) {
    (void)state;
    COMES("0 0 13 * fri", "2026-11-01 00:00", "2026-11-06 00:00", "2026-11-13 00:00", "2026-11-20 00:00");
    COMES("0 0 13 * */5", "2026-11-01 00:00", "2026-11-13 00:00", "2026-12-13 00:00"); /* 13th and Sunday or Friday */
    COMES("0 0 */10 * mon", "2026-11-01 00:00", "2026-12-21 00:00", "2027-01-11 00:00");
}

/* N3. In Berlin, 02:00 to 03:00 is skipped on 2026-03-29, and comes twice on 2026-10-25. */
static void test_fixed_hours(void **state) {
    (void)state;
    COMES("30 2 * * * Europe/Berlin", "2026-03-28 00:00", "2026-03-28 01:30", "2026-03-29 01:00", "2026-03-30 00:30");
    COMES("0,15,30 2 * * * Europe/Berlin", "2026-03-28 02:00", "2026-03-29 01:00", "2026-03-30 00:00");
    COMES("0 2,3 * * * Europe/Berlin", "2026-03-28 02:00", "2026-03-29 01:00", "2026-03-30 00:00");
    COMES("30 2 * * * Europe/Berlin", "2026-10-24 12:00", "2026-10-25 00:30", "2026-10-26 01:30");
    COMES("0 3 * * * Europe/Berlin", "2026-10-24 12:00", "2026-10-25 02:00", "2026-10-26 02:00");
    /* Samoa had no 2011-12-30. */
    COMES("0 9 * * * Pacific/Apia", "2011-12-29 00:00", "2011-12-29 19:00", "2011-12-30 10:00", "2011-12-30 19:00");
    /* Midnight does not exist in Beirut on 2026-03-29. */
    COMES("@daily Asia/Beirut", "2026-03-28 00:00", "2026-03-28 22:00", "2026-03-29 21:00");
}

/* N4 */
static void test_every_hour(void **state) {
    (void)state;
    COMES("30 * * * * Europe/Berlin", "2026-03-29 00:00", "2026-03-29 00:30", "2026-03-29 01:30", "2026-03-29 02:30");
    COMES("30 * * * * Europe/Berlin", "2026-10-25 00:00", "2026-10-25 00:30", "2026-10-25 01:30", "2026-10-25 02:30");
    COMES("0 */2 * * * Europe/Berlin", "2026-03-28 22:59", "2026-03-28 23:00", "2026-03-29 02:00");
    COMES("0 */2 * * * Europe/Berlin", "2026-10-24 23:59", "2026-10-25 00:00", "2026-10-25 01:00", "2026-10-25 03:00");
}

/* After 2037, the footer of the zone's file decides. Before 1972, clocks of Liberia were 44 minutes and 30 seconds
 * behind. */
static void test_other_times(void **state) {
    (void)state;
    COMES("0 12 1 1,7 * Europe/Berlin", "2099-01-01 12:00", "2099-07-01 10:00", "2100-01-01 11:00");
    verge_recurrence rule;
    verge_zone *zone = NULL;
    assert_int_equal(verge_recurrence_parse("0 12 * * *", &rule, NULL, 0), 0);
    assert_int_equal(verge_zone_open("Africa/Monrovia", NULL, &zone), 0);
    assert_int_equal(verge_recurrence_next(&rule, zone, 0), UINT64_C(45870000000000)); /* 12:44:30 */
    assert_int_equal(verge_recurrence_next(&rule, zone, 999999999), UINT64_C(45870000000000));
    verge_zone_close(zone);
}

static void test_no_time(void **state) {
    (void)state;
    verge_recurrence rule = {.days = 1};
    assert_int_equal(verge_recurrence_next(NULL, NULL, 0), VERGE_NEVER);
    assert_int_equal(verge_recurrence_next(&rule, NULL, 0), VERGE_NEVER); /* parse did not make this rule */
    assert_int_equal(verge_recurrence_parse("* * * * *", &rule, NULL, 0), 0);
    assert_int_equal(verge_recurrence_next(&rule, NULL, VERGE_NEVER), VERGE_NEVER);
    assert_int_equal(verge_recurrence_next(&rule, NULL, INT64_MAX), VERGE_NEVER);
    const uint64_t last_ns = verge_recurrence_next(&rule, NULL, INT64_MAX - UINT64_C(60000000000));
    assert_true(last_ns < INT64_MAX && last_ns > INT64_MAX - UINT64_C(60000000000));
}

int main(void) {
    skip_without_zones();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_utc),        cmocka_unit_test(test_days),        cmocka_unit_test(test_fixed_hours),
        cmocka_unit_test(test_every_hour), cmocka_unit_test(test_other_times), cmocka_unit_test(test_no_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
