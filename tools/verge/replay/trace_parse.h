/* SPDX-License-Identifier: MIT */
/* A line of a trace (docs/TRACE.md). Nothing here does I/O, allocates, or looks beyond the line it is given. */
#ifndef VERGE_TOOL_TRACE_PARSE_H
#define VERGE_TOOL_TRACE_PARSE_H

#include <stddef.h>
#include <stdint.h>

enum trace_operation_kind {
    TRACE_SCHEDULE,   /* timer, deadline */
    TRACE_WINDOW,     /* timer, deadline (the earliest), latest */
    TRACE_RESCHEDULE, /* timer, deadline */
    TRACE_CANCEL,     /* timer */
    TRACE_POLL,       /* limit; 0: none given */
    TRACE_ADVANCE,
};

struct trace_operation {
    uint64_t time_ns;
    uint64_t timer;
    uint64_t deadline_ns; /* absolute, also where the line has a duration */
    uint64_t latest_ns;
    uint64_t limit;
    enum trace_operation_kind kind;
};

/* The first line. 0, or -EINVAL and what is wrong with it. */
int trace_parse_header(const char *text, size_t length, const char **ret_problem);

/* Any other line, without its newline. 1: an operation; 0: a comment, or blank; -EINVAL and what is wrong. */
int trace_parse_line(const char *text, size_t length, struct trace_operation *ret_operation, const char **ret_problem);

#endif
