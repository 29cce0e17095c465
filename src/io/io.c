/* SPDX-License-Identifier: MIT */
/* The calls of verge/io.h. Each call fills an operation on its stack, and waits for the operation. */
#define _GNU_SOURCE

#include "verge/io.h"
#include "task/current.h"
#include "task/wait.h"

#include "reactor/operation.h"
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>

/* The most bytes that the kernel transfers in one call. */
static const size_t transfer_size_max = 0x7ffff000;

static int run(verge__operation *operation, uint64_t deadline_ns) {
    verge_task *self = verge__current_task();
    return self != NULL ? verge__wait_for_operation(self, operation, deadline_ns) : -EPERM;
}

/* ---- buffers ---- */

static verge__operation transfer(verge__operation_kind kind, int fd, const void *buffer, size_t size) {
    return (verge__operation){
        .kind = (uint8_t)kind,
        .fd = fd,
        .transfer = {.buffer = (void *)(uintptr_t)buffer, .size = size < transfer_size_max ? size : transfer_size_max},
        .offset = VERGE__FILE_POSITION,
    };
}

static bool is_no_buffer(const void *buffer, size_t size) {
    return buffer == NULL && size != 0;
}

/*
 * With MSG_PEEK, MSG_WAITALL is dropped: each attempt would return the same bytes. With MSG_OOB and MSG_ERRQUEUE,
 * MSG_DONTWAIT is added: recv(2) does not wait for out-of-band data and errors either, and readiness says nothing about
 * them.
 */
static uint32_t flags_to_receive(int flags) {
    if ((flags & MSG_PEEK) != 0) {
        flags &= ~MSG_WAITALL;
    }
    if ((flags & (MSG_OOB | MSG_ERRQUEUE)) != 0) {
        flags |= MSG_DONTWAIT;
    }
    return (uint32_t)flags;
}

ptrdiff_t verge_recv(int fd, void *buffer, size_t size, int flags, uint64_t deadline_ns) {
    if (is_no_buffer(buffer, size)) {
        return -EFAULT;
    }
    verge_task *self = verge__current_task();
    if (self == NULL) {
        return -EPERM;
    }
    verge__operation operation = transfer(VERGE__RECV, fd, buffer, size);
    operation.flags = flags_to_receive(flags);
    /* If the last receive of the task emptied the socket, this receive will probably wait. This is only a hint: the
     * descriptor may be another file by now. */
    operation.expects_wait =
        self->drained_fd == fd && (operation.flags & MSG_DONTWAIT) == 0 && !atomic_load(&self->is_cancelled);
    const int result = verge__wait_for_operation(self, &operation, deadline_ns);
    self->drained_fd = result > 0 && operation.has_drained ? fd : -1;
    return result;
}

ptrdiff_t verge_send(int fd, const void *buffer, size_t size, int flags, uint64_t deadline_ns) {
    if (is_no_buffer(buffer, size)) {
        return -EFAULT;
    }
    verge__operation operation = transfer(VERGE__SEND, fd, buffer, size);
    operation.flags = (uint32_t)flags | MSG_NOSIGNAL;
    return run(&operation, deadline_ns);
}

static ptrdiff_t transfer_at(verge__operation_kind kind, int fd, const void *buffer, size_t size, uint64_t offset,
                             uint64_t deadline_ns) {
    if (is_no_buffer(buffer, size)) {
        return -EFAULT;
    }
    verge__operation operation = transfer(kind, fd, buffer, size);
    operation.offset = offset;
    return run(&operation, deadline_ns);
}

ptrdiff_t verge_read(int fd, void *buffer, size_t size, uint64_t deadline_ns) {
    return transfer_at(VERGE__READ, fd, buffer, size, VERGE__FILE_POSITION, deadline_ns);
}

ptrdiff_t verge_write(int fd, const void *buffer, size_t size, uint64_t deadline_ns) {
    return transfer_at(VERGE__WRITE, fd, buffer, size, VERGE__FILE_POSITION, deadline_ns);
}

ptrdiff_t verge_pread(int fd, void *buffer, size_t size, uint64_t offset, uint64_t deadline_ns) {
    return offset > INT64_MAX ? -EINVAL : transfer_at(VERGE__READ, fd, buffer, size, offset, deadline_ns);
}

ptrdiff_t verge_pwrite(int fd, const void *buffer, size_t size, uint64_t offset, uint64_t deadline_ns) {
    return offset > INT64_MAX ? -EINVAL : transfer_at(VERGE__WRITE, fd, buffer, size, offset, deadline_ns);
}

static ptrdiff_t transfer_parts(verge__operation_kind kind, int fd, const struct iovec *parts, int part_count,
                                uint64_t deadline_ns) {
    if (part_count < 0 || part_count > IOV_MAX || is_no_buffer(parts, (size_t)part_count)) {
        return -EINVAL;
    }
    struct msghdr message = {.msg_iov = (struct iovec *)(uintptr_t)parts, .msg_iovlen = (size_t)part_count};
    verge__operation operation = {
        .kind = (uint8_t)kind,
        .fd = fd,
        .vector = {.parts = parts, .count = (unsigned)part_count, .message = &message},
        .offset = VERGE__FILE_POSITION,
    };
    return run(&operation, deadline_ns);
}

ptrdiff_t verge_readv(int fd, const struct iovec *parts, int part_count, uint64_t deadline_ns) {
    return transfer_parts(VERGE__READV, fd, parts, part_count, deadline_ns);
}

ptrdiff_t verge_writev(int fd, const struct iovec *parts, int part_count, uint64_t deadline_ns) {
    return transfer_parts(VERGE__WRITEV, fd, parts, part_count, deadline_ns);
}

/* ---- transfers of a whole buffer ---- */

static int transfer_all(verge__operation_kind kind, int fd, const void *buffer, size_t size, int flags,
                        size_t *ret_size, uint64_t deadline_ns) {
    size_t done = 0;
    ptrdiff_t result = 0;
    while (done < size) {
        const char *rest = (const char *)buffer + done;
        result = kind == VERGE__SEND ? verge_send(fd, rest, size - done, flags, deadline_ns)
                                     : transfer_at(kind, fd, rest, size - done, VERGE__FILE_POSITION, deadline_ns);
        if (result <= 0) {
            break;
        }
        done += (size_t)result;
    }
    if (ret_size != NULL) {
        *ret_size = done;
    }
    return done == size ? 0 : result < 0 ? (int)result : -ENODATA;
}

int verge_read_all(int fd, void *buffer, size_t size, size_t *ret_size, uint64_t deadline_ns) {
    return transfer_all(VERGE__READ, fd, buffer, size, 0, ret_size, deadline_ns);
}

int verge_write_all(int fd, const void *buffer, size_t size, size_t *ret_size, uint64_t deadline_ns) {
    return transfer_all(VERGE__WRITE, fd, buffer, size, 0, ret_size, deadline_ns);
}

int verge_send_all(int fd, const void *buffer, size_t size, int flags, size_t *ret_size, uint64_t deadline_ns) {
    return transfer_all(VERGE__SEND, fd, buffer, size, flags, ret_size, deadline_ns);
}

/* ---- sockets ---- */

/* The kernel writes to *address_size. */
// NOLINTNEXTLINE(readability-non-const-parameter)
int verge_accept(int fd, struct sockaddr *address, socklen_t *address_size, int flags, uint64_t deadline_ns) {
    verge__operation operation = {
        .kind = VERGE__ACCEPT,
        .fd = fd,
        .flags = (uint32_t)flags,
        .peer = {.address = address, .size = address_size},
    };
    return run(&operation, deadline_ns);
}

int verge_connect(int fd, const struct sockaddr *address, socklen_t address_size, uint64_t deadline_ns) {
    verge__operation operation = {
        .kind = VERGE__CONNECT,
        .fd = fd,
        .target = {.address = address, .size = address_size},
    };
    return address == NULL ? -EFAULT : run(&operation, deadline_ns);
}

static ptrdiff_t transfer_message(verge__operation_kind kind, int fd, const struct msghdr *message, uint32_t flags,
                                  uint64_t deadline_ns) {
    verge__operation operation = {
        .kind = (uint8_t)kind,
        .fd = fd,
        .flags = flags,
        .message = (struct msghdr *)(uintptr_t)message,
    };
    return message == NULL ? -EFAULT : run(&operation, deadline_ns);
}

ptrdiff_t verge_recvmsg(int fd, struct msghdr *message, int flags, uint64_t deadline_ns) {
    return transfer_message(VERGE__RECVMSG, fd, message, flags_to_receive(flags), deadline_ns);
}

ptrdiff_t verge_sendmsg(int fd, const struct msghdr *message, int flags, uint64_t deadline_ns) {
    return transfer_message(VERGE__SENDMSG, fd, message, (uint32_t)flags | MSG_NOSIGNAL, deadline_ns);
}

/* ---- the rest ---- */

int verge_poll(int fd, short events, uint64_t deadline_ns) {
    verge__operation operation = {.kind = VERGE__POLL, .fd = fd, .flags = (unsigned short)events};
    return run(&operation, deadline_ns);
}

/* io_uring takes an offset of -1 as no offset, and has a splice flag of its own. Refuse both. */
static bool is_wrong_splice(const int64_t *offset_in, const int64_t *offset_out, unsigned flags) {
    const unsigned known = SPLICE_F_MOVE | SPLICE_F_NONBLOCK | SPLICE_F_MORE | SPLICE_F_GIFT;
    return (offset_in != NULL && *offset_in < 0) || (offset_out != NULL && *offset_out < 0) || (flags & ~known) != 0;
}

static int splice_once(int fd_in, const int64_t *offset_in, int fd_out, const int64_t *offset_out, size_t size,
                       unsigned flags, uint64_t deadline_ns) {
    verge__operation operation = {
        .kind = VERGE__SPLICE,
        .fd = fd_in,
        .flags = flags,
        .splice = {.fd_out = fd_out,
                   .size = size < transfer_size_max ? size : transfer_size_max,
                   .offset_in = offset_in != NULL ? *offset_in : -1,
                   .offset_out = offset_out != NULL ? *offset_out : -1},
    };
    return run(&operation, deadline_ns);
}

/* If one of the descriptors is O_NONBLOCK, the kernel does not wait for either of them. Then two polls wait. */
ptrdiff_t verge_splice(int fd_in, int64_t *offset_in, int fd_out, int64_t *offset_out, size_t size, unsigned flags,
                       uint64_t deadline_ns) {
    if (is_wrong_splice(offset_in, offset_out, flags)) {
        return -EINVAL;
    }
    int result = splice_once(fd_in, offset_in, fd_out, offset_out, size, flags, deadline_ns);
    while (result == -EAGAIN && (flags & SPLICE_F_NONBLOCK) == 0) {
        result = verge_poll(fd_in, POLLIN, deadline_ns);
        if (result >= 0) {
            result = verge_poll(fd_out, POLLOUT, deadline_ns);
        }
        if (result >= 0) {
            result = splice_once(fd_in, offset_in, fd_out, offset_out, size, flags, deadline_ns);
        }
    }
    if (result > 0 && offset_in != NULL) {
        *offset_in += result;
    }
    if (result > 0 && offset_out != NULL) {
        *offset_out += result;
    }
    return result;
}

int verge_openat(int directory_fd, const char *path, int flags, unsigned mode, uint64_t deadline_ns) {
    verge__operation operation = {
        .kind = VERGE__OPENAT,
        .fd = directory_fd,
        .flags = (uint32_t)flags,
        .file = {.path = path, .mode = (mode_t)mode},
    };
    return path == NULL ? -EFAULT : run(&operation, deadline_ns);
}

static int sync_file(int fd, bool only_data, uint64_t deadline_ns) {
    verge__operation operation = {.kind = VERGE__FSYNC, .fd = fd, .flags = only_data};
    return run(&operation, deadline_ns);
}

int verge_fsync(int fd, uint64_t deadline_ns) {
    return sync_file(fd, false, deadline_ns);
}

int verge_fdatasync(int fd, uint64_t deadline_ns) {
    return sync_file(fd, true, deadline_ns);
}

int verge_close(int fd) {
    verge__operation operation = {.kind = VERGE__CLOSE, .fd = fd};
    return run(&operation, VERGE_NEVER);
}

int verge_uring(void (*prepare)(struct io_uring_sqe *entry, void *context), void *context, uint32_t *ret_flags,
                uint64_t deadline_ns) {
    if (prepare == NULL) {
        return -EINVAL;
    }
    verge__operation operation = {.kind = VERGE__CUSTOM, .custom = {.prepare = prepare, .context = context}};
    const int result = run(&operation, deadline_ns);
    if (result >= 0 && ret_flags != NULL) {
        *ret_flags = operation.result_bits;
    }
    return result;
}
