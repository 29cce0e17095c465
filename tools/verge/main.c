/* SPDX-License-Identifier: MIT */
/* verge - the command-line tool. */
#define _POSIX_C_SOURCE 200809L

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tool.h"

/* If descriptor 0, 1 or 2 is closed, the next socket that is opened would get this number, and our output would go into
 * the socket. So closed ones are opened here, but in the wrong direction: reading stdin and writing stdout still
 * fail. */
static void occupy_closed_descriptors(void) {
    static const int modes[] = {O_WRONLY, O_RDONLY, O_RDONLY};
    for (int fd = 0; fd <= 2; fd++) {
        if (fcntl(fd, F_GETFD) < 0) {
            (void)open("/dev/null", modes[fd]);
        }
    }
}

int main(int argc, char **argv) {
    occupy_closed_descriptors();
    int status = tool_run(argc, argv);
    errno = 0;
    if (fflush(stdout) != 0 || ferror(stdout) != 0) {
        (void)fprintf(stderr, "verge: cannot write the output: %s\n", strerror(errno));
        return status == EXIT_SUCCESS ? EXIT_FAILURE : status;
    }
    return status;
}
