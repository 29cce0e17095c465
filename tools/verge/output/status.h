/* SPDX-License-Identifier: MIT */
/* How things stand, while they go on: one line that is rewritten on a terminal, a line now and then elsewhere. */
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

/* True if it is time to show something, so that what is shown need not be computed in vain. */
bool status_is_due(struct status *status);

/* How long a line may be: as wide as the terminal; a file takes any. */
int status_width(const struct status *status);

void status_show(struct status *status, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Something else is printed next. A line that was rewritten is gone. */
void status_end(struct status *status);

#endif
