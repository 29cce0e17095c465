/* SPDX-License-Identifier: MIT */
#include "output/status.h"

#include <stdarg.h>
#include <stdio.h>

#include <verge/base.h>

#define PERIOD_OF_TERMINAL_NS UINT64_C(100000000)
#define PERIOD_OF_FILE_NS UINT64_C(2000000000)
#define ERASE_LINE "\r\033[K"

static uint64_t clock_ns(void) {
    verge_clock clock = verge_clock_monotonic();
    return clock.now_ns(clock.context);
}

void status_begin(struct status *status, const struct look *look, bool is_silent) {
    *status = (struct status){
        .look = look,
        .is_silent = is_silent,
        .period_ns = look->is_terminal ? PERIOD_OF_TERMINAL_NS : PERIOD_OF_FILE_NS,
    };
}

bool status_is_due(struct status *status) {
    uint64_t now_ns = clock_ns();
    if (status->is_silent || now_ns < status->next_ns) {
        return false;
    }
    status->next_ns = now_ns + status->period_ns;
    return true;
}

void status_show(struct status *status, const char *format, ...) {
    va_list values;
    if (status->is_silent) {
        return;
    }
    va_start(values, format);
    (void)fputs(status->look->is_terminal ? ERASE_LINE : "", stdout);
    (void)vprintf(format, values);
    (void)fputs(status->look->is_terminal ? "" : "\n", stdout);
    (void)fflush(stdout);
    status->has_line = status->look->is_terminal;
    va_end(values);
}

void status_end(struct status *status) {
    if (status->has_line) {
        (void)fputs(ERASE_LINE, stdout);
        status->has_line = false;
    }
}
