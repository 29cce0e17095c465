/* SPDX-License-Identifier: MIT */
#define _POSIX_C_SOURCE 200809L /* getline */

#include "replay/trace.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>

static int fail(const struct trace *trace, const char *text, struct trace_problem *ret_problem) {
    *ret_problem = (struct trace_problem){.line = trace->line_count, .text = text};
    return -EINVAL;
}

static int make_room(struct trace *trace) {
    if (trace->operation_count < trace->operation_capacity) {
        return 0;
    }
    size_t capacity = trace->operation_capacity == 0 ? 1024 : trace->operation_capacity * 2;
    struct trace_operation *operations = realloc(trace->operations, capacity * sizeof(*operations));
    if (operations == NULL) {
        return -ENOMEM;
    }
    trace->operations = operations;
    trace->operation_capacity = capacity;
    return 0;
}

/* Replaces the timer's name by its number. Only a line that starts a timer makes it known. */
static int number_timer(struct trace *trace, struct trace_operation *operation, struct trace_problem *ret_problem) {
    size_t number = 0;
    switch (operation->kind) {
    case TRACE_START:
    case TRACE_WINDOW:
        if (numbering_add(&trace->timers, operation->timer, &number) != 0) {
            return -ENOMEM;
        }
        break;
    case TRACE_RESET:
    case TRACE_CANCEL:
        if (!numbering_find(&trace->timers, operation->timer, &number)) {
            return fail(trace, "no line above starts this timer", ret_problem);
        }
        break;
    case TRACE_POLL:
    case TRACE_ADVANCE:
        break;
    }
    operation->timer = number;
    return 0;
}

int trace_add_line(struct trace *trace, const char *text, size_t length, struct trace_problem *ret_problem) {
    struct trace_operation operation;
    const char *problem = NULL;
    if (++trace->line_count == 1) {
        return trace_parse_header(text, length, &problem) == 0 ? 0 : fail(trace, problem, ret_problem);
    }
    int kind = trace_parse_line(text, length, &operation, &problem);
    if (kind < 0) {
        return fail(trace, problem, ret_problem);
    }
    if (kind == 0) {
        return 0;
    }
    if (trace->operation_count > 0 && operation.time_ns < trace->operations[trace->operation_count - 1].time_ns) {
        return fail(trace, "time goes backwards", ret_problem);
    }
    int error = number_timer(trace, &operation, ret_problem);
    if (error == 0) {
        error = make_room(trace);
    }
    if (error == 0) {
        trace->operations[trace->operation_count++] = operation;
    }
    return error;
}

int trace_finish(const struct trace *trace, struct trace_problem *ret_problem) {
    if (trace->line_count == 0) {
        *ret_problem = (struct trace_problem){.text = "empty: the first line must be 'verge-trace 1'"};
        return -EINVAL;
    }
    if (trace->operation_count == 0) {
        *ret_problem = (struct trace_problem){.text = "no operations"};
        return -EINVAL;
    }
    return 0;
}

int trace_read(struct trace *trace, FILE *file, struct trace_problem *ret_problem) {
    char *line = NULL;
    size_t size = 0;
    int error = 0;
    ssize_t length;
    while (error == 0 && (length = getline(&line, &size, file)) >= 0) {
        bool has_newline = length > 0 && line[length - 1] == '\n';
        error = trace_add_line(trace, line, (size_t)length - has_newline, ret_problem);
    }
    if (error == 0 && ferror(file) != 0) {
        error = errno != 0 ? -errno : -EIO;
    }
    free(line);
    return error != 0 ? error : trace_finish(trace, ret_problem);
}

int trace_read_file(struct trace *trace, const char *name, struct trace_problem *ret_problem) {
    bool is_stdin = strcmp(name, "-") == 0;
    FILE *file = is_stdin ? stdin : fopen(name, "r");
    if (file == NULL) {
        return -errno;
    }
    int error = trace_read(trace, file, ret_problem);
    if (!is_stdin) {
        (void)fclose(file);
    }
    return error;
}

void trace_free(struct trace *trace) {
    free(trace->operations);
    numbering_free(&trace->timers);
    *trace = (struct trace){0};
}
