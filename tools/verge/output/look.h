/* SPDX-License-Identifier: MIT */
/* How the output looks: colours and block characters on a terminal, plain ASCII elsewhere. */
#ifndef VERGE_TOOL_LOOK_H
#define VERGE_TOOL_LOOK_H

#include <stdbool.h>

struct look {
    const char *bold, *good, *bad, *dim, *plain, *bar;
    bool is_terminal;
};

/* Returns a plain look if stdout is no terminal, TERM is missing or "dumb", or NO_COLOR is set and not empty. */
struct look look_of_stdout(void);

#endif
