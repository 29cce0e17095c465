/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE

#include "reactor/examine.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>

#include "reactor/attempt.h"

bool verge__is_send(verge__operation *operation) {
    const bool is_write = operation->kind == VERGE__WRITE || operation->kind == VERGE__WRITEV;
    int type = 0;
    socklen_t size = sizeof(type);
    if (!is_write || operation->offset != VERGE__FILE_POSITION || operation->flags != 0 ||
        getsockopt(operation->fd, SOL_SOCKET, SO_TYPE, &type, &size) != 0) {
        return false;
    }
    operation->is_send = true;
    operation->send_flags = MSG_NOSIGNAL | (type == SOCK_SEQPACKET ? MSG_EOR : 0); /* as write(2) does */
    return true;
}

/* Makes a transfer of 0 bytes: the kernel makes all its checks, and transfers nothing. */
static ssize_t transfer_nothing(const verge__operation *operation) {
    const struct iovec nothing = {0};
    const off_t offset = operation->offset == VERGE__FILE_POSITION ? -1 : (off_t)operation->offset;
    return verge__is_read(operation) ? preadv2(operation->fd, &nothing, 1, offset, 0)
                                     : pwritev2(operation->fd, &nothing, 1, offset, 0);
}

/* Whether the error means that the file refuses all such transfers. Other errors are left to io_uring. */
static bool is_refusal(int error) {
    return error == EBADF || error == EINVAL || error == ESPIPE;
}

/*
 * Whether a transfer does not wait for other processes. The mode of the file is not enough: some files have the mode of
 * a regular file, and still make readers wait (trace_pipe). But poll reports correctly whether these are ready. It
 * reports files without readiness as always ready.
 */
static bool is_regular(int fd, short events) {
    struct stat status;
    struct pollfd poll_fd = {.fd = fd, .events = events};
    return fstat(fd, &status) == 0 && (S_ISREG(status.st_mode) || S_ISBLK(status.st_mode) || S_ISDIR(status.st_mode)) &&
           poll(&poll_fd, 1, 0) > 0;
}

/* For a transfer that is_over (operation.h). If the file is regular, sets never_waits. If it is a terminal, a pipe or
 * the like, transfers what can be transferred at once, by a system call that does not block. */
static bool examine_late_transfer(verge__operation *operation, int32_t *ret_result) {
    operation->never_waits = is_regular(operation->fd, verge__is_read(operation) ? POLLIN : POLLOUT);
    return !operation->never_waits && verge__attempt(operation, VERGE__READY, ret_result);
}

/* Opening a FIFO waits until its other end is opened. Opening a terminal line waits for a carrier. */
static bool may_wait_to_open(const verge__operation *operation) {
    struct stat status;
    const int flags = (operation->flags & O_NOFOLLOW) != 0 ? AT_SYMLINK_NOFOLLOW : 0;
    return (operation->flags & (O_NONBLOCK | O_PATH | O_DIRECTORY)) == 0 &&
           fstatat(operation->fd, operation->file.path, &status, flags) == 0 &&
           (S_ISFIFO(status.st_mode) || S_ISCHR(status.st_mode));
}

static bool obeys_nonblock(int fd) {
    struct stat status;
    return fstat(fd, &status) == 0 && (S_ISFIFO(status.st_mode) || S_ISSOCK(status.st_mode) || S_ISREG(status.st_mode));
}

static void examine_splice(verge__operation *operation) {
    if (operation->is_over && obeys_nonblock(operation->fd) && obeys_nonblock(operation->splice.fd_out)) {
        operation->flags |= SPLICE_F_NONBLOCK;
        operation->never_waits = true;
    }
}

static bool has_no_bytes(const verge__operation *operation) {
    const bool is_vector = operation->kind == VERGE__READV || operation->kind == VERGE__WRITEV;
    return is_vector ? operation->vector.count == 0 : operation->transfer.size == 0;
}

static bool examine_transfer(verge__operation *operation, int32_t *ret_result) {
    if (verge__is_send(operation)) {
        return false;
    }
    if (transfer_nothing(operation) < 0 && is_refusal(errno)) {
        *ret_result = -errno;
        return true;
    }
    if (has_no_bytes(operation)) {
        *ret_result = 0;
        return true;
    }
    return operation->is_over && examine_late_transfer(operation, ret_result);
}

bool verge__examine(verge__operation *operation, int32_t *ret_result) {
    switch ((verge__operation_kind)operation->kind) {
    case VERGE__READ:
    case VERGE__WRITE:
    case VERGE__READV:
    case VERGE__WRITEV:
        return examine_transfer(operation, ret_result);
    case VERGE__FSYNC:
        operation->never_waits = operation->is_over;
        return false;
    case VERGE__OPENAT:
        operation->never_waits = operation->is_over && !may_wait_to_open(operation);
        return false;
    case VERGE__SPLICE:
        examine_splice(operation);
        return false;
    default:
        return false;
    }
}
