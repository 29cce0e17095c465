/* SPDX-License-Identifier: MIT */
/* reactor/examine.h - what a descriptor is, found out by system calls that never wait. */
#ifndef VERGE_SRC_REACTOR_EXAMINE_H
#define VERGE_SRC_REACTOR_EXAMINE_H

#include "reactor/operation.h"

static inline bool verge__is_read(const struct verge__operation *operation) {
    return operation->kind == VERGE__READ || operation->kind == VERGE__READV;
}

/*
 * A write to a socket has to be made as a send, with operation->send_flags: write(2) raises SIGPIPE if the peer has gone.
 * Returns whether the operation is such a write, and sets operation->is_send and send_flags.
 */
bool verge__is_send(struct verge__operation *operation);

/*
 * Before io_uring gets an operation. Returns true if its result is known already:
 *   - the system call would refuse a read or write. io_uring itself would ignore the offset of what has no positions, and wait
 *     for a file to become ready that cannot be read at all.
 *   - there is nothing to read or write. io_uring itself would wait for some files to become ready.
 *   - it is_over, and could be done at once by a system call.
 * Otherwise, if it is_over, sets never_waits for what io_uring does in a thread of the kernel's (regular files, fsync, openat):
 * it is done however short the time is (N3), and must not be cancelled before that thread has come to it.
 */
bool verge__examine(struct verge__operation *operation, int32_t *ret_result);

#endif
