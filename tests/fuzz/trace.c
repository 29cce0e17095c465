/* SPDX-License-Identifier: MIT */
/* Arbitrary bytes as a trace: each line is accepted, or refused with its number and a sentence. Accepted traces are
 * valid. */
#include "replay/trace.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "fuzz/fuzz.h"

static bool needs_timer(enum trace_operation_kind kind) {
    return kind != TRACE_POLL && kind != TRACE_ADVANCE;
}

static void check(const struct trace *trace) {
    uint64_t time_ns = 0;
    for (size_t i = 0; i < trace->operation_count; i++) {
        const struct trace_operation *operation = &trace->operations[i];
        FUZZ_CHECK(operation->kind <= TRACE_ADVANCE, "an operation of no kind");
        FUZZ_CHECK(operation->time_ns >= time_ns, "time goes back");
        FUZZ_CHECK(!needs_timer(operation->kind) || operation->timer < trace->operation_count,
                   "a timer without number");
        FUZZ_CHECK(operation->kind != TRACE_WINDOW || operation->deadline_ns <= operation->latest_ns,
                   "a window that ends before it begins");
        time_ns = operation->time_ns;
    }
}

/* A line is given in memory of its own, so that a sanitizer sees reads beyond it. */
static int add_line(struct trace *trace, const uint8_t *bytes, size_t length, struct trace_problem *ret_problem) {
    char *line = malloc(length + 1);
    FUZZ_CHECK(line != NULL, "no memory");
    memcpy(line, bytes, length);
    char *exact = realloc(line, length == 0 ? 1 : length);
    FUZZ_CHECK(exact != NULL, "no memory");
    const int error = trace_add_line(trace, exact, length, ret_problem);
    free(exact);
    return error;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t byte_count) {
    struct trace trace = {0};
    struct trace_problem problem = {0};
    size_t line_number = 0;
    int error = 0;
    for (size_t from = 0; from < byte_count && error == 0; line_number++) {
        const uint8_t *end = memchr(bytes + from, '\n', byte_count - from);
        const size_t length = end == NULL ? byte_count - from : (size_t)(end - bytes) - from;
        error = add_line(&trace, bytes + from, length, &problem);
        from += length + 1;
    }
    FUZZ_CHECK(error == 0 || error == -EINVAL, "an error of another kind");
    if (error != 0) {
        FUZZ_CHECK(problem.text != NULL && problem.line == line_number, "a refusal without reason");
    } else {
        error = trace_finish(&trace, &problem);
        FUZZ_CHECK(error == 0 || (error == -EINVAL && problem.text != NULL), "finish: a refusal without reason");
        check(&trace);
    }
    trace_free(&trace);
    return 0;
}
