/* SPDX-License-Identifier: MIT */
/* The lines of a trace: which are operations, which are ignored, and which are wrong. */
#include <errno.h>
#include <string.h>

#include "replay/trace.h"
#include "support/cmocka.h"
#include "support/random.h"
#include "verge/base.h"

static int parse(const char *text, struct trace_operation *ret_operation) {
    const char *problem = NULL;
    int kind = trace_parse_line(text, strlen(text), ret_operation, &problem);
    assert_true((kind < 0) == (problem != NULL));
    return kind;
}

static struct trace_operation parsed(const char *text) {
    struct trace_operation operation;
    assert_int_equal(parse(text, &operation), 1);
    return operation;
}

static void each_operation_is_read(void **state) {
    (void)state;
    struct trace_operation start = parsed("17 start 3 99");
    assert_true(start.kind == TRACE_START && start.time_ns == 17 && start.timer == 3);
    assert_true(start.deadline_ns == 99);
    struct trace_operation window = parsed("17 window 3 99 100");
    assert_true(window.kind == TRACE_WINDOW && window.deadline_ns == 99 && window.latest_ns == 100);
    struct trace_operation reset = parsed("17 reset 3 1");
    assert_true(reset.kind == TRACE_RESET && reset.deadline_ns == 1);
    assert_true(parsed("17 cancel 3").kind == TRACE_CANCEL);
    assert_true(parsed("17 poll").kind == TRACE_POLL && parsed("17 poll").limit == 0);
    assert_true(parsed("17 poll 64").limit == 64);
    assert_true(parsed("17 advance").kind == TRACE_ADVANCE);
}

static void durations_count_from_the_time_of_the_line(void **state) {
    (void)state;
    assert_true(parsed("100 start 1 +5").deadline_ns == 105);
    struct trace_operation window = parsed("100 window 1 +5 +6");
    assert_true(window.deadline_ns == 105 && window.latest_ns == 106);
    assert_true(parsed("100 reset 1 +0").deadline_ns == 100);
}

static void the_largest_numbers_are_read(void **state) {
    (void)state;
    struct trace_operation operation = parsed("18446744073709551614 start 18446744073709551615 18446744073709551614");
    assert_true(operation.time_ns == VERGE_NEVER - 1 && operation.timer == UINT64_MAX);
    assert_true(operation.deadline_ns == VERGE_NEVER - 1);
    assert_true(parsed("18446744073709551613 start 1 +1").deadline_ns == VERGE_NEVER - 1);
}

static void blanks_and_comments_are_nothing(void **state) {
    (void)state;
    struct trace_operation operation = {.time_ns = 77};
    const char *nothing[] = {"", " ", "\t \t", "#", "# 17 poll", "  # poll"};
    for (size_t i = 0; i < sizeof(nothing) / sizeof(*nothing); i++) {
        assert_int_equal(parse(nothing[i], &operation), 0);
    }
    assert_true(operation.time_ns == 77);
    assert_true(parsed(" \t17   cancel\t3 # why").kind == TRACE_CANCEL);
    assert_true(parsed("17 cancel 3# why").timer == 3);
}

static void everything_else_is_refused(void **state) {
    (void)state;
    struct trace_operation operation = {.time_ns = 77};
    const char *wrong[] = {
        "x",
        "17",
        "-1 poll",
        "+1 poll",
        "0x11 poll",
        "1.5 poll",
        "17ms poll",
        "18446744073709551615 poll",
        "18446744073709551616 poll",
        "99999999999999999999999 poll",
        "17 Poll",
        "17 polls",
        "17 pol",
        "17 poll 0",
        "17 poll -1",
        "17 poll 1 2",
        "17 start",
        "17 start 1",
        "17 start x 2",
        "17 start -1 2",
        "17 start 1 x",
        "17 start 1 +",
        "17 start 1 ++2",
        "17 start 1 -2",
        "17 start 1 18446744073709551615",
        "17 start 1 +18446744073709551598",
        "17 start 1 +18446744073709551599",
        "17 start 1 2 3",
        "17 start 1 2 3 4 5 6 7 8",
        "17 window 1 2",
        "17 window 1 3 2",
        "17 window 1 2 x",
        "17 window 1 2 3 4",
        "17 reset 1",
        "17 cancel",
        "17 cancel 1 2",
        "17 advance 18",
        "17 poll\r",
        "17\vpoll",
    };
    for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
        assert_int_equal(parse(wrong[i], &operation), -EINVAL);
    }
    assert_true(operation.time_ns == 77);
}

static void a_nul_byte_is_a_character_like_any_other(void **state) {
    (void)state;
    struct trace_operation operation;
    const char *problem = NULL;
    assert_int_equal(trace_parse_line("17 poll\0", 8, &operation, &problem), -EINVAL);
    assert_int_equal(trace_parse_line("\0", 1, &operation, &problem), -EINVAL);
}

/* Each line is in a block of its own size, so that a sanitizer sees a read beyond its end. */
static void parse_in_exact_block(const char *text, size_t length) {
    char *exact = malloc(length > 0 ? length : 1);
    struct trace_operation operation = {0};
    const char *problem = NULL;
    assert_non_null(exact);
    memcpy(exact, text, length);
    int kind = trace_parse_line(exact, length, &operation, &problem);
    assert_true(kind == 0 || kind == 1 || (kind == -EINVAL && problem != NULL));
    (void)trace_parse_header(exact, length, &problem);
    free(exact);
}

static void no_line_is_read_beyond_its_end(void **state) {
    (void)state;
#define PIECE(text) \
    { text, sizeof(text) - 1 }
    static const struct {
        const char *text;
        size_t length;
    } pieces[] = {PIECE("17"),
                  PIECE(" "),
                  PIECE("start"),
                  PIECE("window"),
                  PIECE("poll"),
                  PIECE("cancel"),
                  PIECE("+"),
                  PIECE("5"),
                  PIECE("\t"),
                  PIECE("#"),
                  PIECE("x"),
                  PIECE("advance"),
                  PIECE("\0"),
                  PIECE("-"),
                  PIECE("\xff"),
                  PIECE("reset"),
                  PIECE("18446744073709551615")};
#undef PIECE
    struct verge_test_random random = verge_test_random_from(verge_test_seed(20261115));
    for (unsigned round = 0; round < 20000; round++) {
        char text[256];
        size_t length = 0;
        for (uint64_t left = verge_test_below(&random, 10); left > 0; left--) {
            size_t piece = verge_test_below(&random, sizeof(pieces) / sizeof(*pieces));
            memcpy(text + length, pieces[piece].text, pieces[piece].length);
            length += pieces[piece].length;
        }
        parse_in_exact_block(text, length);
    }
}

/* ---- whole traces ---- */

static int add(struct trace *trace, const char *text, struct trace_problem *ret_problem) {
    return trace_add_line(trace, text, strlen(text), ret_problem);
}

static void the_first_line_names_the_version(void **state) {
    (void)state;
    const char *wrong[] = {
        "", "17 poll", "# comment", "verge-trace", "verge-trace 2", "verge-trace 1 2", "verge-trace 01"};
    for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
        struct trace trace = {0};
        struct trace_problem problem = {0};
        assert_int_equal(add(&trace, wrong[i], &problem), -EINVAL);
        assert_int_equal(problem.line, 1);
        trace_free(&trace);
    }
    struct trace trace = {0};
    struct trace_problem problem = {0};
    assert_int_equal(add(&trace, "verge-trace 1 # made by hand", &problem), 0);
    trace_free(&trace);
}

static void lines_are_checked_against_those_above(void **state) {
    (void)state;
    struct trace trace = {0};
    struct trace_problem problem = {0};
    assert_int_equal(trace_finish(&trace, &problem), -EINVAL);
    assert_int_equal(add(&trace, "verge-trace 1", &problem), 0);
    assert_int_equal(trace_finish(&trace, &problem), -EINVAL);
    assert_int_equal(add(&trace, "10 start 7 20", &problem), 0);
    assert_int_equal(add(&trace, "10 start 9 20", &problem), 0);
    assert_int_equal(add(&trace, "10 cancel 7", &problem), 0);
    assert_int_equal(trace_finish(&trace, &problem), 0);
    assert_int_equal(add(&trace, "9 poll", &problem), -EINVAL);
    assert_int_equal(problem.line, 5);
    assert_int_equal(add(&trace, "11 cancel 8", &problem), -EINVAL);
    assert_int_equal(problem.line, 6);
    assert_int_equal(add(&trace, "11 reset 8 9", &problem), -EINVAL);
    assert_int_equal(trace.operation_count, 3);
    assert_int_equal(trace.timers.count, 2);
    trace_free(&trace);
}

static void timers_are_numbered_whatever_they_are_called(void **state) {
    (void)state;
    struct numbering numbering = {0};
    struct verge_test_random random = verge_test_random_from(1);
    enum { COUNT = 10000 };
    static uint64_t names[COUNT];
    size_t number = 0;
    assert_false(numbering_find(&numbering, 0, &number));
    for (size_t i = 0; i < COUNT; i++) {
        names[i] = i < 100 ? i << 56 : i < 200 ? i - 100 + 1000 : verge_test_next(&random);
        assert_int_equal(numbering_add(&numbering, names[i], &number), 0);
        assert_int_equal(number, i);
    }
    for (size_t i = 0; i < COUNT; i++) {
        assert_true(numbering_find(&numbering, names[i], &number) && number == i);
        assert_int_equal(numbering_add(&numbering, names[i], &number), 0);
        assert_int_equal(number, i);
    }
    numbering_free(&numbering);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_operation_is_read),
        cmocka_unit_test(durations_count_from_the_time_of_the_line),
        cmocka_unit_test(the_largest_numbers_are_read),
        cmocka_unit_test(blanks_and_comments_are_nothing),
        cmocka_unit_test(everything_else_is_refused),
        cmocka_unit_test(a_nul_byte_is_a_character_like_any_other),
        cmocka_unit_test(no_line_is_read_beyond_its_end),
        cmocka_unit_test(the_first_line_names_the_version),
        cmocka_unit_test(lines_are_checked_against_those_above),
        cmocka_unit_test(timers_are_numbered_whatever_they_are_called),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
