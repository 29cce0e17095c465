/* SPDX-License-Identifier: MIT */
/* A line of a trace (docs/TRACE.md). Nothing here does I/O, allocates, or looks beyond the line it is given. */
#ifndef VERGE_TOOL_TRACE_PARSE_H
#define VERGE_TOOL_TRACE_PARSE_H

#include <stddef.h>
#include <stdint.h>

enum trace_operation_kind {
    TRACE_START,  /* timer, deadline */
    TRACE_WINDOW, /* timer, deadline (the earliest), latest */
    TRACE_RESET,  /* timer, deadline */
    TRACE_CANCEL, /* timer */
    TRACE_POLL,   /* limit; 0: none given */
    TRACE_ADVANCE,
};

struct trace_operation {
    uint64_t time_ns;
    uint64_t timer;
    uint64_t deadline_ns; /* absolute, even if the line has a duration */
    uint64_t latest_ns;
    uint64_t limit;
    enum trace_operation_kind kind;
};

/* Reads the first line. Returns 0, or -EINVAL with *ret_problem. */
int trace_parse_header(const char *text, size_t length, const char **ret_problem);

/* Reads any other line, without its newline. Returns 1 for an operation, 0 for a comment or a blank line, or -EINVAL
 * with *ret_problem. */
int trace_parse_line(const char *text, size_t length, struct trace_operation *ret_operation, const char **ret_problem);

#endif
