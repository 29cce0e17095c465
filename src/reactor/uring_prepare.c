/* SPDX-License-Identifier: MIT */
/* Turns operations into entries of io_uring's submission queue. */
#define _GNU_SOURCE

#include "reactor/uring_prepare.h"

#include <fcntl.h>
#include <liburing.h>

#include "reactor/reactor.h"

static void prepare_custom(struct io_uring_sqe *sqe, const verge__operation *operation) {
    operation->custom.prepare(sqe, operation->custom.context);
    /* The entry must not be linked to others, and its completion must not be suppressed. */
    sqe->flags &= (uint8_t) ~(IOSQE_IO_LINK | IOSQE_IO_HARDLINK | IOSQE_IO_DRAIN | IOSQE_CQE_SKIP_SUCCESS);
}

bool verge__uring_never_waits(const verge__operation *operation) {
    struct io_uring_sqe sqe = {0};
    prepare_custom(&sqe, operation);
    switch (sqe.opcode) {
    case IORING_OP_NOP:
    case IORING_OP_FSYNC:
    case IORING_OP_SYNC_FILE_RANGE:
    case IORING_OP_FALLOCATE:
    case IORING_OP_CLOSE:
    case IORING_OP_STATX:
    case IORING_OP_FADVISE:
    case IORING_OP_MADVISE:
    case IORING_OP_RENAMEAT:
    case IORING_OP_UNLINKAT:
    case IORING_OP_MKDIRAT:
    case IORING_OP_SYMLINKAT:
    case IORING_OP_LINKAT:
    case IORING_OP_FSETXATTR:
    case IORING_OP_SETXATTR:
    case IORING_OP_FGETXATTR:
    case IORING_OP_GETXATTR:
        return true;
    default:
        return false;
    }
}

/* Without a thread of the kernel, io_uring opens as if with O_NONBLOCK. For a FIFO or a terminal line that is wrong. */
static bool may_wait_to_open(int flags) {
    return (flags & (O_NONBLOCK | O_PATH | O_DIRECTORY)) == 0; /* O_TMPFILE has O_DIRECTORY */
}

/* A write to a socket. */
static void prepare_send(struct io_uring_sqe *sqe, const verge__operation *op) {
    if (op->kind == VERGE__WRITE) {
        io_uring_prep_send(sqe, op->fd, op->transfer.buffer, op->transfer.size, op->send_flags);
    } else {
        io_uring_prep_sendmsg(sqe, op->fd, op->vector.message, (unsigned)op->send_flags);
    }
}

void verge__uring_prepare(struct io_uring_sqe *sqe, const verge__operation *op) {
    const int fd = op->fd;
    const int flags = (int)op->flags;
    if (op->naps) {
        static struct __kernel_timespec nap = {.tv_nsec = 1000000};
        io_uring_prep_timeout(sqe, &nap, 0, 0);
        return;
    }
    if (op->polls) {
        io_uring_prep_poll_add(sqe, fd, verge__operation_readiness(op));
        return;
    }
    if (op->is_send) {
        prepare_send(sqe, op);
        return;
    }
    switch ((verge__operation_kind)op->kind) {
    case VERGE__ACCEPT:
        io_uring_prep_accept(sqe, fd, op->peer.address, op->peer.size, flags);
        break;
    case VERGE__CONNECT:
        io_uring_prep_connect(sqe, fd, op->target.address, op->target.size);
        break;
    case VERGE__READ:
        io_uring_prep_read(sqe, fd, op->transfer.buffer, (unsigned)op->transfer.size, op->offset);
        sqe->rw_flags = flags;
        break;
    case VERGE__WRITE:
        io_uring_prep_write(sqe, fd, op->transfer.buffer, (unsigned)op->transfer.size, op->offset);
        sqe->rw_flags = flags;
        break;
    case VERGE__READV:
        io_uring_prep_readv(sqe, fd, op->vector.parts, op->vector.count, op->offset);
        sqe->rw_flags = flags;
        break;
    case VERGE__WRITEV:
        io_uring_prep_writev(sqe, fd, op->vector.parts, op->vector.count, op->offset);
        sqe->rw_flags = flags;
        break;
    case VERGE__RECV:
        io_uring_prep_recv(sqe, fd, op->transfer.buffer, op->transfer.size, flags);
        break;
    case VERGE__SEND:
        io_uring_prep_send(sqe, fd, op->transfer.buffer, op->transfer.size, flags);
        break;
    case VERGE__RECVMSG:
        io_uring_prep_recvmsg(sqe, fd, op->message, op->flags);
        break;
    case VERGE__SENDMSG:
        io_uring_prep_sendmsg(sqe, fd, op->message, op->flags);
        break;
    case VERGE__POLL:
        io_uring_prep_poll_add(sqe, fd, op->flags);
        break;
    case VERGE__FSYNC:
        io_uring_prep_fsync(sqe, fd, op->flags != 0 ? IORING_FSYNC_DATASYNC : 0);
        break;
    case VERGE__OPENAT:
        io_uring_prep_openat(sqe, fd, op->file.path, flags, op->file.mode);
        if (may_wait_to_open(flags)) {
            sqe->flags |= IOSQE_ASYNC;
        }
        break;
    case VERGE__CLOSE:
        io_uring_prep_close(sqe, fd);
        break;
    case VERGE__SPLICE:
        io_uring_prep_splice(sqe, fd, op->splice.offset_in, op->splice.fd_out, op->splice.offset_out,
                             (unsigned)op->splice.size, op->flags);
        break;
    case VERGE__CUSTOM:
        prepare_custom(sqe, op);
        break;
    }
}
