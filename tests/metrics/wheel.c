/* SPDX-License-Identifier: MIT */
/* The statistics of wheels as text: the promises M1 and M2 of verge/metrics.h. */
#include <errno.h>
#include <string.h>

#include "exposition.h"
#include "support/cmocka.h"
#include "verge/metrics.h"

#define MS UINT64_C(1000000)

static char text[65536];

/* 10 timers are started: 3 are cancelled, 5 returned, 2 pending. */
static int make_wheel(void **state) {
    verge_wheel *wheel = NULL;
    verge_timer timers[10];
    verge_expiry out[10];
    if (verge_wheel_create(NULL, &wheel) != 0) {
        return -1;
    }
    for (size_t i = 0; i < 10; i++) {
        if (verge_wheel_start(wheel, (i + 1) * 10 * MS, NULL, &timers[i]) != 0) {
            return -1;
        }
    }
    for (size_t i = 0; i < 3; i++) {
        if (verge_wheel_cancel(wheel, timers[i], NULL) != 0) {
            return -1;
        }
    }
    *state = wheel;
    return verge_wheel_poll(wheel, 85 * MS, out, 10) == 5 ? 0 : -1;
}

static int drop_wheel(void **state) {
    verge_wheel_destroy(*state);
    return 0;
}

static int write_one(verge_wheel *wheel, const verge_label *labels, char *buffer, size_t size) {
    return verge_wheel_metrics(&wheel, &labels, 1, buffer, size);
}

static void m1_the_numbers_are_those_of_the_wheel(void **state) {
    verge_wheel *wheel = *state;
    verge_wheel_stats stats = {.struct_size = sizeof(stats)};
    assert_int_equal(verge_wheel_get_stats(wheel, &stats), 0);
    exposition_expect_length(write_one(wheel, NULL, text, sizeof(text)), text);
    assert_null(exposition_check(text));
    assert_int_equal(exposition_number(text, "verge_wheel_timers"), 2);
    assert_int_equal(exposition_number(text, "verge_wheel_started_total"), 10);
    assert_int_equal(exposition_number(text, "verge_wheel_cancelled_total"), 3);
    assert_int_equal(exposition_number(text, "verge_wheel_expired_total"), 5);
    assert_int_equal(exposition_number(text, "verge_wheel_nodes_moved_total"), stats.nodes_moved);
    assert_int_equal(exposition_number(text, "verge_wheel_nodes_refiled_total"), stats.nodes_refiled);
    assert_int_equal(exposition_number(text, "verge_wheel_nodes_dropped_total"), stats.nodes_dropped);
    assert_int_equal(exposition_number(text, "verge_wheel_linked"), stats.linked);
    assert_int_equal(exposition_number(text, "verge_wheel_idle"), stats.idle);
    assert_int_equal(exposition_number(text, "verge_wheel_nodes"), stats.nodes);
    assert_int_equal(exposition_number(text, "verge_wheel_nodes_retired_total"), 0);
    assert_int_equal(exposition_number(text, "verge_wheel_bytes"), stats.bytes);
    assert_int_equal(exposition_number(text, "verge_wheel_last_poll_work"), stats.last_poll_work);
}

static void m1_every_statistic_is_there(void **state) {
    assert_true(write_one(*state, NULL, text, sizeof(text)) > 0);
    size_t families = 0;
    for (const char *at = text; (at = strstr(at, "# TYPE ")) != NULL; at++) {
        families++;
    }
    /* One family for each field of the struct, except its size, and except what never changes (from level_count on). */
    assert_int_equal(families, (offsetof(verge_wheel_stats, level_count) - sizeof(size_t)) / sizeof(uint64_t));
}

static void m2_a_smaller_buffer_has_the_same_up_to_its_end(void **state) {
    const verge_label labels[] = {{"name", "a \"b\" \\ c\nd"}, {NULL, NULL}};
    const int length = write_one(*state, labels, text, sizeof(text));
    assert_true(length > 0 && (size_t)length < sizeof(text));
    char *cut = test_malloc((size_t)length + 1);
    for (size_t size = 1; size <= (size_t)length + 1; size++) {
        memset(cut, 'x', (size_t)length + 1);
        assert_int_equal(write_one(*state, labels, cut, size), length);
        assert_memory_equal(cut, text, size - 1);
        assert_int_equal(cut[size - 1], '\0');
        assert_true(size > (size_t)length || cut[size] == 'x');
    }
    cut[0] = 'x';
    assert_int_equal(write_one(*state, labels, cut, 0), length);
    assert_int_equal(cut[0], 'x');
    assert_int_equal(write_one(*state, labels, NULL, 0), length);
    assert_int_equal(write_one(*state, labels, NULL, 100), length);
    test_free(cut);
}

static void m1_several_wheels_share_their_families(void **state) {
    verge_wheel *other = NULL;
    assert_int_equal(verge_wheel_create(NULL, &other), 0);
    const verge_label first[] = {{"worker", "0"}, {NULL, NULL}};
    const verge_label second[] = {{"worker", "1"}, {"zone", "b"}, {NULL, NULL}};
    verge_wheel *const wheels[] = {*state, other};
    const verge_label *const labels[] = {first, second};
    exposition_expect_length(verge_wheel_metrics(wheels, labels, 2, text, sizeof(text)), text);
    assert_null(exposition_check(text));
    assert_int_equal(exposition_number(text, "verge_wheel_timers{worker=\"0\"}"), 2);
    assert_int_equal(exposition_number(text, "verge_wheel_timers{worker=\"1\",zone=\"b\"}"), 0);

    const verge_label *const same[] = {first, first};
    assert_int_equal(verge_wheel_metrics(wheels, same, 2, text, sizeof(text)), -EINVAL);
    assert_int_equal(verge_wheel_metrics(wheels, NULL, 2, text, sizeof(text)), -EINVAL);
    exposition_expect_length(verge_wheel_metrics(wheels, NULL, 1, text, sizeof(text)), text);
    verge_wheel_destroy(other);
}

static void no_wheels_are_no_text(void **state) {
    (void)state;
    memcpy(text, "x", 2);
    assert_int_equal(verge_wheel_metrics(NULL, NULL, 0, text, sizeof(text)), 0);
    assert_string_equal(text, "");
}

static void a_missing_wheel_is_an_error(void **state) {
    verge_wheel *const wheels[] = {*state, NULL};
    const verge_label second[] = {{"worker", "1"}, {NULL, NULL}};
    const verge_label *const labels[] = {NULL, second};
    memcpy(text, "x", 2);
    assert_int_equal(write_one(NULL, NULL, text, sizeof(text)), -EINVAL);
    assert_int_equal(verge_wheel_metrics(wheels, labels, 2, text, sizeof(text)), -EINVAL);
    assert_int_equal(verge_wheel_metrics(NULL, labels, 2, text, sizeof(text)), -EINVAL);
    assert_string_equal(text, "x");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(m1_the_numbers_are_those_of_the_wheel),
        cmocka_unit_test(m1_every_statistic_is_there),
        cmocka_unit_test(m2_a_smaller_buffer_has_the_same_up_to_its_end),
        cmocka_unit_test(m1_several_wheels_share_their_families),
        cmocka_unit_test(no_wheels_are_no_text),
        cmocka_unit_test(a_missing_wheel_is_an_error),
    };
    return cmocka_run_group_tests(tests, make_wheel, drop_wheel);
}
