/* SPDX-License-Identifier: MIT */
/*
 * Makes operations by system calls that do not block, whether or not the file is O_NONBLOCK.
 *
 *   recv, send, ...   use MSG_DONTWAIT.
 *   read, write, ...  use RWF_NOWAIT if the file supports it: sockets, pipes. If not (terminals, pipes of older
 *                     kernels), they are called when the file is ready. Writes to a socket are sends, so that they do
 *                     not raise SIGPIPE.
 *   accept, connect   have no such flag, so the socket is set to O_NONBLOCK: by accept for good, by connect until it
 *                     is done.
 *
 * If the caller has threads (has_threads), regular files are read and written only as far as that does not block; the
 * rest is left to a thread. Without threads, calls on regular files, fsync and openat may block.
 */
#define _GNU_SOURCE

#include "reactor/attempt.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include "reactor/examine.h"
#include "reactor/reactor.h"

static bool is_regular(int fd) {
    struct stat status;
    return fstat(fd, &status) == 0 && S_ISREG(status.st_mode);
}

/* Sets O_NONBLOCK. True: it was not set before. */
static bool make_nonblocking(int fd) {
    const int flags = fcntl(fd, F_GETFL);
    return flags >= 0 && (flags & O_NONBLOCK) == 0 && fcntl(fd, F_SETFL, flags | O_NONBLOCK) == 0;
}

/* Returns 1 if an event has come, 0 if none has, or -1 with errno. A signal may interrupt poll although it does not
 * wait. */
static int is_ready(int fd, short events) {
    struct pollfd poll_fd = {.fd = fd, .events = events};
    return poll(&poll_fd, 1, 0);
}

static bool is_of_parts(const verge__operation *op) {
    return op->kind == VERGE__READV || op->kind == VERGE__WRITEV;
}

static ssize_t transfer(const verge__operation *op, int flags) {
    const bool is_vector = is_of_parts(op);
    struct iovec single = {0};
    if (!is_vector && op->transfer.size > 0) { /* with a size of 0, the buffer may be NULL */
        single.iov_base = (char *)op->transfer.buffer + op->progress;
        single.iov_len = op->transfer.size - op->progress;
    }
    const struct iovec *parts = is_vector ? op->vector.parts : &single;
    const int count = is_vector ? (int)op->vector.count : 1;
    const off_t offset = op->offset == VERGE__FILE_POSITION ? -1 : (off_t)(op->offset + op->progress);
    if (verge__is_read(op)) {
        return preadv2(op->fd, parts, count, offset, flags);
    }
    return pwritev2(op->fd, parts, count, offset, flags);
}

static ssize_t attempt_send(const verge__operation *op) {
    const int flags = op->send_flags | MSG_DONTWAIT;
    return op->kind == VERGE__WRITE ? send(op->fd, op->transfer.buffer, op->transfer.size, flags)
                                    : sendmsg(op->fd, op->vector.message, flags);
}

static ssize_t transfer_blocking(const verge__operation *op) {
    const ssize_t size = transfer(op, 0);
    return size >= 0 ? (ssize_t)op->progress + size : op->progress != 0 ? (ssize_t)op->progress : -1;
}

/* Transfers what the page cache has, or has room for. If the rest would block, or after any error, sets op->blocks, and
 * errno to EAGAIN. The caller then makes a call on a thread, which may block and meets the error again. */
static ssize_t transfer_cached(verge__operation *op) {
    if (is_of_parts(op)) { /* a call on a thread could not go on in the middle of the parts */
        op->blocks = true;
        errno = EAGAIN;
        return -1;
    }
    if (op->transfer.size == 0) {
        return transfer(op, 0);
    }
    ssize_t size = 1;
    while (size > 0 && op->progress < op->transfer.size) {
        size = transfer(op, RWF_NOWAIT);
        op->progress += size > 0 ? (uint32_t)size : 0;
    }
    if (size < 0) {
        op->blocks = true;
        errno = EAGAIN;
        return -1;
    }
    return (ssize_t)op->progress;
}

static ssize_t attempt_transfer(verge__operation *op, verge__readiness readiness) {
    if (op->is_send || (readiness == VERGE__NOT_KNOWN && verge__is_send(op))) {
        return attempt_send(op);
    }
    if (readiness == VERGE__ALWAYS_READY) {
        return transfer_blocking(op);
    }
    if (readiness == VERGE__NOT_KNOWN && is_regular(op->fd)) {
        return op->has_threads ? transfer_cached(op) : transfer(op, 0);
    }
    const ssize_t size = transfer(op, RWF_NOWAIT);
    if (size < 0 && (errno == EOPNOTSUPP || errno == EINVAL)) {
        /* Older kernels return EINVAL for RWF_NOWAIT on files that are always ready. If the file is not ready,
         * EINVAL is an error of the call, and is returned. */
        const int refusal = errno;
        /* Ask the file again: after the event, another reader may have taken all data. */
        const int ready = is_ready(op->fd, (short)verge__operation_readiness(op));
        if (ready > 0) {
            return transfer(op, 0);
        }
        if (ready == 0) {
            errno = refusal == EINVAL ? EINVAL : EAGAIN;
        }
    }
    return size;
}

static bool is_stream(int fd) {
    int type = 0;
    socklen_t size = sizeof(type);
    return getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &size) == 0 && type == SOCK_STREAM;
}

/* With MSG_WAITALL, several attempts collect the data. Only streams have MSG_WAITALL; datagram sockets ignore it. */
static ssize_t attempt_recv(verge__operation *op) {
    char *buffer = op->transfer.buffer;
    const ssize_t size =
        recv(op->fd, buffer + op->progress, op->transfer.size - op->progress, (int)op->flags | MSG_DONTWAIT);
    if (size < 0) {
        return op->progress != 0 && errno != EAGAIN ? (ssize_t)op->progress : size;
    }
    op->progress += (uint32_t)size;
    op->has_drained = op->progress < op->transfer.size && (op->flags & MSG_PEEK) == 0;
    const bool waits_for_all = (op->flags & (MSG_WAITALL | MSG_DONTWAIT)) == MSG_WAITALL;
    if (waits_for_all && size != 0 && op->progress < op->transfer.size && is_stream(op->fd)) {
        errno = EAGAIN;
        return -1;
    }
    return (ssize_t)op->progress;
}

static int attempt_connect(verge__operation *op) {
    if (!op->was_started) {
        op->was_blocking = make_nonblocking(op->fd);
        op->was_started = true;
        const int result = connect(op->fd, op->target.address, op->target.size);
        if (result != 0 && errno == EAGAIN) {
            errno = ECONNREFUSED; /* if the queue of a local socket is full, no event tells that it has room again */
        } else if (result != 0 && errno == EINPROGRESS) {
            errno = EAGAIN;
        }
        return result;
    }
    const int ready = is_ready(op->fd, POLLOUT);
    if (ready <= 0) {
        errno = ready == 0 ? EAGAIN : errno;
        return -1;
    }
    int error = 0;
    socklen_t size = sizeof(error);
    if (getsockopt(op->fd, SOL_SOCKET, SO_ERROR, &error, &size) != 0) {
        return -1;
    }
    errno = error;
    return error == 0 ? 0 : -1;
}

static int attempt_poll(const verge__operation *op) {
    struct pollfd poll_fd = {.fd = op->fd, .events = (short)op->flags};
    const int count = poll(&poll_fd, 1, 0);
    if (count == 0) {
        errno = EAGAIN;
        return -1;
    }
    if (count > 0 && (poll_fd.revents & POLLNVAL) != 0) {
        errno = EBADF;
        return -1;
    }
    return count < 0 ? count : poll_fd.revents;
}

static ssize_t call(verge__operation *op, verge__readiness readiness) {
    switch ((verge__operation_kind)op->kind) {
    case VERGE__ACCEPT:
        (void)make_nonblocking(op->fd);
        return accept4(op->fd, op->peer.address, op->peer.size, (int)op->flags);
    case VERGE__CONNECT:
        return attempt_connect(op);
    case VERGE__READ:
    case VERGE__WRITE:
    case VERGE__READV:
    case VERGE__WRITEV:
        return attempt_transfer(op, readiness);
    case VERGE__RECV:
        return attempt_recv(op);
    case VERGE__SEND:
        return send(op->fd, op->transfer.buffer, op->transfer.size, (int)op->flags | MSG_DONTWAIT);
    case VERGE__RECVMSG:
        return recvmsg(op->fd, op->message, (int)op->flags | MSG_DONTWAIT);
    case VERGE__SENDMSG:
        return sendmsg(op->fd, op->message, (int)op->flags | MSG_DONTWAIT);
    case VERGE__POLL:
        return attempt_poll(op);
    case VERGE__FSYNC:
        return op->flags != 0 ? fdatasync(op->fd) : fsync(op->fd);
    case VERGE__OPENAT:
        return openat(op->fd, op->file.path, (int)op->flags, op->file.mode);
    case VERGE__CLOSE:
        return close(op->fd);
    case VERGE__SPLICE:
    case VERGE__CUSTOM:
        break;
    }
    errno = EOPNOTSUPP;
    return -1;
}

static bool is_asked_not_to_wait(const verge__operation *op) {
    const bool is_message =
        op->kind == VERGE__RECV || op->kind == VERGE__SEND || op->kind == VERGE__RECVMSG || op->kind == VERGE__SENDMSG;
    return is_message && (op->flags & MSG_DONTWAIT) != 0;
}

bool verge__attempt(verge__operation *operation, verge__readiness readiness, int32_t *ret_result) {
    ssize_t result;
    do {
        result = call(operation, readiness);
    } while (result < 0 && errno == EINTR && operation->kind != VERGE__CLOSE);
    if (result < 0 && errno == EAGAIN && !is_asked_not_to_wait(operation)) {
        return false;
    }
    *ret_result = result < 0 ? -errno : (int32_t)result;
    return true;
}

void verge__attempt_end(const verge__operation *operation) {
    if (operation->kind == VERGE__CONNECT && operation->was_blocking) {
        const int flags = fcntl(operation->fd, F_GETFL);
        if (flags >= 0) {
            (void)fcntl(operation->fd, F_SETFL, flags & ~O_NONBLOCK);
        }
    }
}
