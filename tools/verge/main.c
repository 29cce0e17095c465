/* SPDX-License-Identifier: MIT */
/* verge - the command-line tool. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tool.h"

int main(int argc, char **argv) {
    int status = tool_run(argc, argv);
    errno = 0;
    if (fflush(stdout) != 0 || ferror(stdout) != 0) {
        (void)fprintf(stderr, "verge: cannot write the output: %s\n", strerror(errno));
        return status == EXIT_SUCCESS ? EXIT_FAILURE : status;
    }
    return status;
}
