/* SPDX-License-Identifier: MIT */
#define _DEFAULT_SOURCE /* struct winsize */

#include "output/status.h"

#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <unistd.h>

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

/* Returns the width of the terminal minus 1. Only lines up to this length can be rewritten. */
static int terminal_width(void) {
    struct winsize size = {0};
    bool is_known = ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 1;
    return is_known ? size.ws_col - 1 : 79;
}

int status_width(const struct status *status) {
    return status->look->is_terminal ? terminal_width() : INT_MAX;
}

void status_show(struct status *status, const char *format, ...) {
    char line[256];
    va_list values;
    if (status->is_silent) {
        return;
    }
    va_start(values, format);
    (void)vsnprintf(line, sizeof(line), format, values);
    va_end(values);
    if (status->look->is_terminal) {
        (void)printf(ERASE_LINE "%.*s", terminal_width(), line);
    } else {
        (void)printf("%s\n", line);
    }
    (void)fflush(stdout);
    status->has_line = status->look->is_terminal;
}

void status_end(struct status *status) {
    if (status->has_line) {
        (void)fputs(ERASE_LINE, stdout);
        status->has_line = false;
    }
}
