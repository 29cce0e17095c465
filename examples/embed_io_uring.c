/* SPDX-License-Identifier: MIT */
/*
 * A wheel in an io_uring loop. Each round waits once for completions, at most until the wheel's next wake-up. No
 * timeout operation is submitted, so none has to be cancelled.
 *
 * Exits with 77 where the kernel does not allow io_uring (containers often forbid it).
 */
#define _POSIX_C_SOURCE 200809L /* sigset_t, for liburing.h */

#include <errno.h>
#include <liburing.h>
#include <poll.h>

#include "embed.h"

enum { SKIPPED = 77 };

/* Submits a poll of the pipe. Its completion means that the pipe is readable. */
static void watch(struct embed *embed, struct io_uring *ring) {
    struct io_uring_sqe *entry = io_uring_get_sqe(ring);
    if (entry == NULL) {
        embed->errors++;
        return;
    }
    io_uring_prep_poll_add(entry, embed->read_end, POLLIN);
}

static void run(struct embed *embed, struct io_uring *ring) {
    watch(embed, ring);
    while (!embed_done(embed)) {
        const int wait_ms = embed_wait_ms(embed);
        struct __kernel_timespec wait = {.tv_sec = wait_ms / 1000, .tv_nsec = wait_ms % 1000 * 1000000LL};
        struct io_uring_cqe *completion = NULL;
        const int result = io_uring_submit_and_wait_timeout(ring, &completion, 1, &wait, NULL);
        if (result < 0 && result != -ETIME && result != -EINTR) {
            embed->errors++;
            return;
        }
        if (completion != NULL) {
            embed->errors += completion->res < 0;
            io_uring_cqe_seen(ring, completion);
            embed_readable(embed);
            watch(embed, ring);
        }
        embed_run(embed);
    }
}

int main(void) {
    struct embed *embed = embed_start();
    struct io_uring ring;
    const int error = io_uring_queue_init(8, &ring, 0);
    if (error == -ENOSYS || error == -EPERM || error == -EACCES) {
        puts("io_uring is not allowed here");
        return SKIPPED;
    }
    if (error < 0 || embed == NULL) {
        return 1;
    }
    run(embed, &ring);
    io_uring_queue_exit(&ring);
    return embed_end(embed);
}
