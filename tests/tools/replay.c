/* SPDX-License-Identifier: MIT */
/* Traces that can be followed by hand, with a precision of 1,024 ns unless said otherwise. */
#include <errno.h>
#include <string.h>

#include "replay/replay.h"
#include "support/cmocka.h"
#include "support/random.h"

static void read_trace(struct trace *trace, const char *text) {
    struct trace_problem problem = {0};
    *trace = (struct trace){0};
    while (*text != '\0') {
        size_t length = strcspn(text, "\n");
        assert_int_equal(trace_add_line(trace, text, length, &problem), 0);
        text += length + (text[length] == '\n');
    }
    assert_int_equal(trace_finish(trace, &problem), 0);
}

static struct replay_options plain_options(void) {
    return (struct replay_options){.preset = VERGE_PRESET_DEFAULT, .precision_ns = 1024, .limit = 256};
}

static struct replay_result replay(const struct replay_options *options, const char *text) {
    struct trace trace;
    struct replay_result result = {0};
    read_trace(&trace, text);
    assert_int_equal(replay_run(&trace, options, &result), 0);
    assert_null(result.broken);
    assert_true(result.started == result.fired + result.cancelled + result.pending);
    assert_true(result.started == result.stats.started && result.fired == result.stats.expired);
    trace_free(&trace);
    return result;
}

static void timers_fire_at_the_tick_after_their_deadline(void **state) {
    (void)state;
    struct replay_options options = plain_options();
    /* The timer for 1,000 comes at 1,024, 24 ns late; that for 2,000 at 2,048, 48 late; that for 3,000 72 late. */
    struct replay_result result = replay(&options, "verge-trace 1\n"
                                                   "0 start 1 1000\n"
                                                   "0 start 2 2000\n"
                                                   "0 start 3 3000\n"
                                                   "10000 advance\n");
    assert_true(result.precision_ns == 1024);
    assert_true(result.started == 3 && result.fired == 3 && result.pending == 0);
    assert_true(result.wakeups == 3 && result.in_vain == 0 && result.polls == 3);
    assert_true(result.late_max_ns == 72);
    assert_true(result.late_p50_ns >= 48 && result.late_p50_ns <= 48 + 48 / 8);
}

static void a_tick_that_has_not_come_is_pending(void **state) {
    (void)state;
    struct replay_options options = plain_options();
    struct replay_result result = replay(&options, "verge-trace 1\n0 start 1 1000\n1023 advance\n");
    assert_true(result.fired == 0 && result.pending == 1 && result.wakeups == 0);
    result = replay(&options, "verge-trace 1\n0 start 1 1000\n1024 advance\n");
    assert_true(result.fired == 1 && result.pending == 0 && result.wakeups == 1);
}

static void cancelled_and_moved_timers_are_counted(void **state) {
    (void)state;
    struct replay_options options = plain_options();
    struct replay_result result = replay(&options, "verge-trace 1\n"
                                                   "0 start 1 1000\n"
                                                   "0 start 2 1000\n"
                                                   "0 start 3 1000\n"
                                                   "500 cancel 1\n"
                                                   "500 cancel 1\n" /* gone */
                                                   "500 reset 2 4000\n"
                                                   "2000 cancel 3\n"      /* gone: it fired at 1,024 */
                                                   "2000 reset 3 9000\n"  /* gone, too */
                                                   "2000 start 2 5000\n"  /* still pending: it moves */
                                                   "2000 start 3 +1000\n" /* not pending: it is started anew */
                                                   "20000 advance\n");
    assert_true(result.started == 4 && result.cancelled == 1 && result.fired == 3);
    assert_true(result.reset == 2 && result.gone == 3 && result.refused == 0);
    assert_true(result.late_max_ns == 5 * 1024 - 5000);
}

static void polls_are_where_the_wheel_wants_them_or_where_the_trace_has_them(void **state) {
    (void)state;
    const char *text = "verge-trace 1\n"
                       "0 start 1 1000\n"
                       "0 start 2 2000\n"
                       "500 poll\n"
                       "6000 poll\n"
                       "7000 start 3 7100\n"
                       "9000 poll 1\n";
    struct replay_options options = plain_options();
    struct replay_result result = replay(&options, text);
    assert_true(result.fired == 3 && result.wakeups == 3 && result.late_max_ns == 7 * 1024 - 7100);
    options.recorded_polls = true;
    result = replay(&options, text);
    assert_true(result.fired == 3 && result.wakeups == 3 && result.in_vain == 1);
    assert_true(result.late_max_ns == 5000);
}

static void a_recorded_limit_holds(void **state) {
    (void)state;
    struct replay_options options = plain_options();
    options.recorded_polls = true;
    const char *text = "verge-trace 1\n"
                       "0 start 1 1000\n0 start 2 1000\n0 start 3 1000\n0 start 4 1000\n0 start 5 1000\n"
                       "2000 poll 3\n"
                       "3000 poll 1\n"
                       "4000 poll 3\n";
    struct replay_result result = replay(&options, text);
    assert_true(result.fired == 5 && result.wakeups == 3 && result.polls == 3);
    assert_true(result.late_max_ns == 3000);
    options.limit = 2; /* for each call: the first poll takes two timers */
    result = replay(&options, text);
    assert_true(result.fired == 5 && result.wakeups == 3 && result.late_max_ns == 3000 && result.polls == 4);
}

static void a_small_limit_takes_more_polls(void **state) {
    (void)state;
    struct replay_options options = plain_options();
    options.limit = 2;
    struct replay_result result = replay(&options, "verge-trace 1\n0 start 1 1000\n0 start 2 1000\n"
                                                   "0 start 3 1000\n0 start 4 1000\n0 start 5 1000\n"
                                                   "9000 advance\n");
    assert_true(result.fired == 5 && result.wakeups == 1 && result.polls == 3);
}

static void a_window_makes_timers_coalesce(void **state) {
    (void)state;
    struct replay_options options = plain_options();
    const char *text = "verge-trace 1\n"
                       "0 start 1 3100\n"
                       "0 start 2 3500\n"
                       "0 start 3 1000\n"
                       "0 reset 3 2100\n"
                       "9000 advance\n";
    struct replay_result result = replay(&options, text);
    assert_true(result.wakeups >= 2 && result.late_max_ns == 4096 - 3100);
    options.window_ns = 2000; /* 4,096, the roundest tick, is in all windows (that of 3 after its reset) */
    result = replay(&options, text);
    assert_true(result.fired == 3 && result.wakeups - result.in_vain == 1 && result.late_max_ns == 4096 - 2100);
    options.window_ns = 0;
    result = replay(&options, "verge-trace 1\n0 window 1 3000 5000\n0 start 2 3000\n9000 advance\n");
    assert_true(result.wakeups == 2 && result.late_max_ns == 1096);
}

static void exact_polls_are_not_late(void **state) {
    (void)state;
    struct replay_options options = plain_options();
    options.exact = true;
    const char *text = "verge-trace 1\n0 start 1 1000\n0 start 2 1010\n0 start 3 5000000\n9000000 advance\n";
    struct replay_result result = replay(&options, text);
    assert_true(result.fired == 3 && result.late_max_ns == 0 && result.wakeups == 3);
    options.coarse = true; /* the lowest level is still exact */
    result = replay(&options, text);
    assert_true(result.fired == 3);
}

static void what_a_preset_cannot_take_is_refused_and_counted(void **state) {
    (void)state;
    struct replay_options options = {.preset = VERGE_PRESET_TWO_LEVEL, .limit = 256};
    const char *text = "verge-trace 1\n"
                       "0 start 1 3600000000000\n" /* an hour: too far for two levels */
                       "0 start 2 1000000000\n"
                       "0 reset 2 3600000000000\n"
                       "0 cancel 1\n"
                       "2000000000 advance\n";
    struct replay_result result = replay(&options, text);
    assert_true(result.started == 1 && result.refused == 2 && result.gone == 1 && result.fired == 1);
    options.preset = VERGE_PRESET_DEFAULT;
    result = replay(&options, text);
    assert_true(result.started == 2 && result.refused == 0 && result.reset == 1 && result.cancelled == 1);
}

static void a_precision_moves_the_levels_of_a_preset(void **state) {
    (void)state;
    struct trace trace;
    struct replay_result result = {.polls = 77};
    struct replay_options options = {.preset = VERGE_PRESET_TWO_LEVEL, .precision_ns = 1, .limit = 256};
    read_trace(&trace, "verge-trace 1\n0 start 1 1000\n2000 advance\n");
    assert_int_equal(replay_run(&trace, &options, &result), 0);
    assert_true(result.precision_ns == 1 && result.late_max_ns == 0);
    options.preset = VERGE_PRESET_ALARM; /* its levels take 61 bits */
    options.precision_ns = 16;
    result.polls = 77;
    assert_int_equal(replay_run(&trace, &options, &result), -EINVAL);
    assert_string_equal(result.refusal, "--precision leaves no room for its levels");
    assert_true(result.polls == 77);
    trace_free(&trace);
}

static void memory_is_that_of_the_wheel(void **state) {
    (void)state;
    struct replay_options options = plain_options();
    struct replay_result result = replay(&options, "verge-trace 1\n0 start 1 1000\n2000 advance\n");
    assert_true(result.stats.bytes > 0 && result.bytes_peak >= result.stats.bytes);
}

static void the_roundest_time_is_that_of_the_wheels_windows(void **state) {
    (void)state;
    struct verge_test_random random = verge_test_random_from(verge_test_seed(20261115));
    verge_wheel *wheel = NULL;
    assert_int_equal(verge_wheel_create(NULL, &wheel), 0);
    for (unsigned round = 0; round < 100000; round++) {
        verge_timer timer = 0;
        verge_expiry expiry;
        uint64_t earliest_ns = verge_test_magnitude(&random) / 2;
        uint64_t latest_ns = earliest_ns + verge_test_magnitude(&random) / 4;
        assert_int_equal(verge_wheel_start_window(wheel, earliest_ns, latest_ns, NULL, &timer), 0);
        assert_int_equal(verge_wheel_get(wheel, timer, &expiry), 0);
        assert_true(replay_roundest(earliest_ns, latest_ns) == expiry.deadline_ns);
        assert_int_equal(verge_wheel_cancel(wheel, timer, NULL), 0);
    }
    verge_wheel_destroy(wheel);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(timers_fire_at_the_tick_after_their_deadline),
        cmocka_unit_test(a_tick_that_has_not_come_is_pending),
        cmocka_unit_test(cancelled_and_moved_timers_are_counted),
        cmocka_unit_test(polls_are_where_the_wheel_wants_them_or_where_the_trace_has_them),
        cmocka_unit_test(a_recorded_limit_holds),
        cmocka_unit_test(a_small_limit_takes_more_polls),
        cmocka_unit_test(a_window_makes_timers_coalesce),
        cmocka_unit_test(exact_polls_are_not_late),
        cmocka_unit_test(what_a_preset_cannot_take_is_refused_and_counted),
        cmocka_unit_test(a_precision_moves_the_levels_of_a_preset),
        cmocka_unit_test(memory_is_that_of_the_wheel),
        cmocka_unit_test(the_roundest_time_is_that_of_the_wheels_windows),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
