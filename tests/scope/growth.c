/* SPDX-License-Identifier: MIT */
/* Which counts are suspected to be a leak. */
#include "scope/growth.h"

#include "service/support.h"

static bool is_suspect_with(double ended, uint64_t (*count)(uint64_t second), uint64_t seconds) {
    verge__growth growth = {0};
    for (uint64_t i = 1; i <= 4 * seconds; i++) {
        verge__growth_note(&growth, i * SECOND / 4, count(i / 4));
    }
    return verge__growth_is_suspect(&growth, ended);
}

static bool is_suspect(uint64_t (*count)(uint64_t second), uint64_t seconds) {
    return is_suspect_with(0, count, seconds);
}

static uint64_t leaks(uint64_t second) {
    return 1000 + 3 * second;
}

static uint64_t leaks_and_swings(uint64_t second) {
    return 1000 + 40 * second + (second % 3) * 50;
}

static uint64_t swings(uint64_t second) {
    return 1000 + (second % 20) * 100;
}

static uint64_t ramps_up(uint64_t second) {
    return second < 20 ? second * 1000 : 20000;
}

static uint64_t stands_still(uint64_t second) {
    (void)second;
    return 5;
}

static void what_only_grows_is_suspected(void **state) {
    (void)state;
    assert_true(is_suspect(leaks, 60));
    assert_true(is_suspect(leaks_and_swings, 60));
    assert_false(is_suspect(leaks, 10)); /* too early to tell */
    assert_false(is_suspect(swings, 300));
    assert_false(is_suspect(ramps_up, 60));
    assert_false(is_suspect(stands_still, 300));
}

/* A thousand timers begin each second, and each lives for a minute and a half. */
static uint64_t fills_up(uint64_t second) {
    return second < 90 ? second * 1000 : 90000;
}

static void what_mostly_ends_is_suspected_later(void **state) {
    (void)state;
    for (uint64_t second = 0; second < 300; second += 10) {
        assert_false(is_suspect_with(second < 90 ? 300 : 1000, fills_up, second));
    }
    assert_true(is_suspect_with(0.5, leaks, 60)); /* each second, 3 more are pending, and only 0.5 end */
    assert_false(is_suspect_with(300, leaks, 60));
    assert_true(is_suspect_with(300, leaks, 180));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_only_grows_is_suspected),
        cmocka_unit_test(what_mostly_ends_is_suspected_later),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
