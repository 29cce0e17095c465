/* SPDX-License-Identifier: MIT */
/* reactor/examine.h - finds out what a descriptor is, by system calls that never wait. */
#ifndef VERGE_SRC_REACTOR_EXAMINE_H
#define VERGE_SRC_REACTOR_EXAMINE_H

#include "reactor/operation.h"

static inline bool verge__is_read(const verge__operation *operation) {
    return operation->kind == VERGE__READ || operation->kind == VERGE__READV;
}

/*
 * A write to a socket has to be made as a send, with operation->send_flags: write(2) raises SIGPIPE if the peer has
 * gone. Returns whether the operation is such a write. If it is, sets operation->is_send and send_flags.
 */
bool verge__is_send(verge__operation *operation);

/*
 * Call it before io_uring gets an operation. Returns true if the result is already known. This is so for three kinds of
 * reads and writes (writes to sockets are never among them):
 *   - The system call would refuse the operation. (io_uring would ignore the offset of a file without positions, and
 *     would wait for a file that cannot be read at all.)
 *   - The operation has 0 bytes. (io_uring would wait for some files to become ready.)
 *   - The operation has is_over set, its file is not regular, and a system call has done it at once.
 * Otherwise, if is_over is set, the function sets never_waits for an operation that a thread of the kernel does, and
 * that does not wait for other processes (regular files, fsync, most openats and splices). Such an operation is done
 * even if its deadline has passed (N3 in verge/io.h), so it must not be cancelled before that thread begins.
 */
bool verge__examine(verge__operation *operation, int32_t *ret_result);

#endif
