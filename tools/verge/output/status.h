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

/* Silent: nothing is shown at all. */
void status_begin(struct status *status, const struct look *look, bool is_silent);

/* True if it is time for a new line. Otherwise the caller need not compute its text. */
bool status_is_due(struct status *status);

/* How long a line may be: the width of the terminal; no limit for a file. */
int status_width(const struct status *status);

void status_show(struct status *status, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Call this before other output. It removes a line that is being rewritten. */
void status_end(struct status *status);

#endif
