/* SPDX-License-Identifier: MIT */
/* Which texts are rules, what they mean, and what is said about those that are none. */
#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "recurrence/recurrence_internal.h"
#include "support/cmocka.h"
#include "support/random.h"
#include "verge/recurrence.h"

static verge_recurrence rule_of(const char *text) {
    verge_recurrence rule;
    char why[200];
    const int error = verge_recurrence_parse(text, &rule, why, sizeof(why));
    if (error != 0) {
        print_error("%s: %s\n", text, why);
    }
    assert_string_equal(why, "");
    assert_int_equal(error, 0);
    return rule;
}

static void assert_same(const char *text, const char *other) {
    const verge_recurrence a = rule_of(text);
    const verge_recurrence b = rule_of(other);
    if (memcmp(&a, &b, sizeof(a)) != 0) {
        print_error("%s is not %s\n", text, other);
        fail();
    }
}

static void test_fields(void **state) {
    (void)state;
    const verge_recurrence rule = rule_of("5,10-20/5,58 9-10 1-3,31 feb,Dec MON-fri");
    const uint64_t minutes = 1 << 5 | 1 << 10 | 1 << 15 | 1 << 20 | UINT64_C(1) << 58;
    for (size_t hour = 0; hour < 24; hour++) {
        assert_int_equal(rule.minutes[hour], hour == 9 || hour == 10 ? minutes : 0);
    }
    assert_int_equal(rule.days, 1U << 1 | 1U << 2 | 1U << 3 | 1U << 31);
    assert_int_equal(rule.months, 1 << 2 | 1 << 12);
    assert_int_equal(rule.weekdays, 0x3E);
    assert_int_equal(rule.flags, VERGE__RULE_VALID | VERGE__RULE_EITHER);
    assert_string_equal(rule.zone, "");
}

static void test_what_is_the_same(void **state) {
    (void)state;
    assert_same("@hourly", "0 * * * *");
    assert_same("@daily", "0 0 * * *");
    assert_same("@midnight", "0 0 * * *");
    assert_same("@weekly", "0 0 * * 0");
    assert_same("@monthly", "0 0 1 * *");
    assert_same("@yearly", "0 0 1 1 *");
    assert_same("@annually", "0 0 1 jan *");
    assert_same("0 0 * * 7", "0 0 * * sun");
    assert_same("0 0 * * fri-sun", "0 0 * * 0,5,6");
    assert_same("0 0 * * 5-7", "0 0 * * 0,5,6");
    assert_same("*/20 * * * *", "0,20,40 * * * *");
    assert_same("  0\t9 * *  1 ", "0 9 * * mon");
    assert_same("mon-fri 09:00", "0 9 * * 1-5");
    assert_same("* 9:05", "5 9 * * *");
    assert_same("1,15 00:00", "0 0 1,15 * *");
    assert_same("sat,sun 10:00 Asia/Tokyo", "0 10 * * 0,6 Asia/Tokyo");
    const verge_recurrence two = rule_of("mon 09:00,17:30");
    assert_int_equal(two.minutes[9], 1);
    assert_int_equal(two.minutes[17], UINT64_C(1) << 30);
}

static void test_zone(void **state) {
    (void)state;
    assert_string_equal(rule_of("@daily Europe/Berlin").zone, "Europe/Berlin");
    assert_string_equal(rule_of("0 9 * * * America/Argentina/Buenos_Aires").zone, "America/Argentina/Buenos_Aires");
    assert_string_equal(rule_of("* 09:00 Etc/GMT+5").zone, "Etc/GMT+5");
}

/* N2, N3 and N4 depend on the first character of fields. */
static void test_flags(void **state) {
    (void)state;
    assert_int_equal(rule_of("0 0 1 * 1").flags, VERGE__RULE_VALID | VERGE__RULE_EITHER);
    assert_int_equal(rule_of("0 0 */2 * 1").flags, VERGE__RULE_VALID);
    assert_int_equal(rule_of("0 0 1 * *").flags, VERGE__RULE_VALID);
    assert_int_equal(rule_of("0 */6 * * *").flags, VERGE__RULE_VALID | VERGE__RULE_EVERY_HOUR);
    assert_int_equal(rule_of("0 0-23 * * *").flags, VERGE__RULE_VALID);
    assert_int_equal(rule_of("* 09:00").flags, VERGE__RULE_VALID);
}

static void test_refused(void **state) {
    (void)state;
    static const struct {
        const char *text;
        const char *why; /* a part of the reason that parse gives */
    } refused[] = {
        {NULL, "no text"},
        {"", "five fields"},
        {"0 9 * *", "five fields"},
        {"60 * * * *", "minute: 60 is not between 0 and 59"},
        {"* 24 * * *", "hour: 24"},
        {"* * 0 * *", "day of the month: 0 is not between 1 and 31"},
        {"* * * 13 *", "month: 13"},
        {"* * * * 8", "day of the week: 8"},
        {"* * * foo *", "\"foo\" is not a number or a name"},
        {"x * * * *", "\"x\" is not a number"},
        {"-1 * * * *", "\"\" is not a number"},
        {"1- * * * *", "\"\" is not a number"},
        {"1,,2 * * * *", "\"\" is not a number"},
        {"1, * * * *", "\"\" is not a number"},
        {"1-2-3 * * * *", "\"2-3\" is not a number"},
        {"20-10 * * * *", "ends before it begins"},
        {"* * * * sat-mon", "ends before it begins"},
        {"*/0 * * * *", "the step \"0\""},
        {"*/60 * * * *", "the step \"60\""},
        {"*/ * * * *", "the step \"\""},
        {"5/15 * * * *", "write 5-59/15"},
        {"*5 * * * *", "\"*5\""},
        {"** * * * *", "\"**\""},
        {"0 0 ? * *", "\"?\""},
        {"99999999999999999999 * * * *", "is not a number"},
        {"0 0 30 2 *", "no such day"},
        {"0 0 31 apr,jun,sep,nov *", "no such day"},
        {"30 feb 10:00", "five fields"},
        {"0 9 * * * *", "\"*\" is not the name of a time zone"},
        {"0 9 * * * ../etc/passwd", "not the name of a time zone"},
        {"0 9 * * * /etc/passwd", "not the name of a time zone"},
        {"0 9 * * * Europe//Berlin", "not the name of a time zone"},
        {"0 9 * * * Europe/", "not the name of a time zone"},
        {"0 9 * * * Europe/Berlin x", "more than a time zone"},
        {"@daily Europe/Berlin x", "more than a time zone"},
        {"@reboot", "\"@reboot\" is not @hourly"},
        {"@every 5m", "\"@every\" is not @hourly"},
        {"@DAILY", "\"@DAILY\" is not @hourly"},
        {"mon 24:00", "\"24:00\" is not a time of day"},
        {"mon 9:5", "\"9:5\" is not a time of day"},
        {"mon 09:00:00", "\"09:00:00\" is not a time of day"},
        {"mon :00", "\":00\" is not a time of day"},
        {"mon 09:00,", "\"\" is not a time of day"},
        {"foo 09:00", "\"foo\" is not a number or a name"},
        {"32 09:00", "32 is not between 1 and 31"},
    };
    for (size_t i = 0; i < sizeof(refused) / sizeof(*refused); i++) {
        verge_recurrence rule = {.days = 77};
        char why[200] = "untouched";
        const int error = verge_recurrence_parse(refused[i].text, &rule, why, sizeof(why));
        const bool is_expected = error == -EINVAL && strstr(why, refused[i].why) != NULL;
        if (!is_expected) {
            print_error("\"%s\": %d, %s\n", refused[i].text, error, why);
            fail();
        }
        assert_int_equal(rule.days, 77);
    }
    char small[8];
    verge_recurrence rule;
    assert_int_equal(verge_recurrence_parse("60 * * * *", &rule, small, sizeof(small)), -EINVAL);
    assert_string_equal(small, "minute:");
    assert_int_equal(verge_recurrence_parse("60 * * * *", &rule, NULL, 0), -EINVAL);
    assert_int_equal(verge_recurrence_parse("@daily", NULL, small, sizeof(small)), -EINVAL);
    assert_string_equal(small, "there i");
}

static void test_long_texts(void **state) {
    (void)state;
    char text[VERGE_RECURRENCE_TEXT_MAX + 2];
    memset(text, ' ', sizeof(text));
    memcpy(text, "@daily", 6);
    text[VERGE_RECURRENCE_TEXT_MAX] = '\0';
    verge_recurrence rule;
    assert_int_equal(verge_recurrence_parse(text, &rule, NULL, 0), 0);
    text[VERGE_RECURRENCE_TEXT_MAX] = ' ';
    text[VERGE_RECURRENCE_TEXT_MAX + 1] = '\0';
    assert_int_equal(verge_recurrence_parse(text, &rule, NULL, 0), -EINVAL);
    memcpy(text, "@daily ", 7);
    memset(text + 7, 'a', VERGE_ZONE_NAME_MAX + 1);
    text[7 + VERGE_ZONE_NAME_MAX + 1] = '\0';
    assert_int_equal(verge_recurrence_parse(text, &rule, NULL, 0), -EINVAL);
    text[7 + VERGE_ZONE_NAME_MAX] = '\0';
    assert_int_equal(verge_recurrence_parse(text, &rule, NULL, 0), 0);
    assert_int_equal(strlen(rule.zone), VERGE_ZONE_NAME_MAX);
}

/* Any text is refused with a reason, or is a rule that has a next occurrence. */
static void test_random_texts(void **state) {
    (void)state;
    static const char alphabet[] = "0123456789*/,-:   @jansuondaily?L#\t\xff";
    struct verge_test_random random = verge_test_random_from(verge_test_seed(34010));
    size_t accepted = 0;
    for (size_t i = 0; i < 300000; i++) {
        char text[64];
        char why[200];
        size_t length = (size_t)verge_test_below(&random, sizeof(text));
        if (verge_test_chance(&random, 2)) { /* a rule, with some characters changed */
            (void)strcpy(text, "*/15 9-17 1,15 jan-jun mon-fri UTC");
            length = strlen(text);
            for (uint64_t j = verge_test_below(&random, 4); j > 0; j--) {
                text[verge_test_below(&random, length)] = alphabet[verge_test_below(&random, sizeof(alphabet) - 1)];
            }
        } else {
            for (size_t j = 0; j < length; j++) {
                text[j] = alphabet[verge_test_below(&random, sizeof(alphabet) - 1)];
            }
            text[length] = '\0';
        }
        verge_recurrence rule;
        const int error = verge_recurrence_parse(text, &rule, why, sizeof(why));
        assert_true((error == 0) == (why[0] == '\0'));
        if (error == 0) {
            const uint64_t after_ns = verge_test_below(&random, UINT64_C(1) << 61);
            const uint64_t next_ns = verge_recurrence_next(&rule, NULL, after_ns);
            assert_true(next_ns > after_ns);
            accepted++;
        } else {
            assert_int_equal(error, -EINVAL);
        }
    }
    assert_true(accepted > 10000);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_fields),       cmocka_unit_test(test_what_is_the_same), cmocka_unit_test(test_zone),
        cmocka_unit_test(test_flags),        cmocka_unit_test(test_refused),          cmocka_unit_test(test_long_texts),
        cmocka_unit_test(test_random_texts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
