/* SPDX-License-Identifier: MIT */
/* A trace as a whole: its lines checked against each other, its timers numbered from 0. */
#ifndef VERGE_TOOL_TRACE_H
#define VERGE_TOOL_TRACE_H

#include <stdio.h>

#include "replay/numbering.h"
#include "replay/trace_parse.h"

struct trace {
    struct trace_operation *operations; /* each timer is a number below timers.count */
    size_t operation_count;
    size_t operation_capacity;
    size_t line_count;
    struct numbering timers;
};

/* What is wrong with a trace: the number of a line (0 if it is no single line), and a sentence. */
struct trace_problem {
    size_t line;
    const char *text;
};

/* Adds a line to a trace, which starts as (struct trace){0}. Returns 0, -ENOMEM, or -EINVAL: then *ret_problem says
 * what is wrong. The functions below return the same. */
int trace_add_line(struct trace *trace, const char *text, size_t length, struct trace_problem *ret_problem);
int trace_finish(const struct trace *trace, struct trace_problem *ret_problem); /* after the last line */
/* Adds all lines of a file, and ends the trace. Also returns read errors. */
int trace_read(struct trace *trace, FILE *file, struct trace_problem *ret_problem);

/* Reads the file of this name; "-" is the standard input. Also returns errors of fopen. */
int trace_read_file(struct trace *trace, const char *name, struct trace_problem *ret_problem);

void trace_free(struct trace *trace);

#endif
