/* SPDX-License-Identifier: MIT */
/* A status line while a command runs. On a terminal it is rewritten; elsewhere a new line is printed now and then. */
#ifndef VERGE_TOOL_STATUS_H
#define VERGE_TOOL_STATUS_H

#include <stdint.h>

#include "output/look.h"

struct status {
    const struct look *look;
    bool is_silent;
    bool has_line; /* there is a line to be rewritten */
    uint64_t period_ns, next_ns;
};

/* If is_silent is set, nothing is ever shown. */
void status_begin(struct status *status, const struct look *look, bool is_silent);

/* Returns true if it is time for a new line. Otherwise the caller need not make its text. */
bool status_is_due(struct status *status);

/* Returns how long a line may be: the width of the terminal minus 1. For a file there is no limit. */
int status_width(const struct status *status);

void status_show(struct status *status, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Call this before other output. It removes a line that is being rewritten. */
void status_end(struct status *status);

#endif
