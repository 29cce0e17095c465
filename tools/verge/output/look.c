/* SPDX-License-Identifier: MIT */
#define _POSIX_C_SOURCE 200809L /* isatty */

#include "output/look.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct look look_of_stdout(void) {
    static const struct look plain = {.bold = "", .good = "", .bad = "", .dim = "", .plain = "", .bar = "#"};
    static const struct look coloured = {.bold = "\033[1m",
                                         .good = "\033[32m",
                                         .bad = "\033[1;31m",
                                         .dim = "\033[2m",
                                         .plain = "\033[0m",
                                         .bar = "\xe2\x96\x88",
                                         .is_terminal = true};
    const char *terminal = getenv("TERM");
    const char *no_color = getenv("NO_COLOR");
    bool is_plain = isatty(STDOUT_FILENO) == 0 || terminal == NULL || strcmp(terminal, "dumb") == 0 ||
                    (no_color != NULL && *no_color != '\0');
    return is_plain ? plain : coloured;
}
