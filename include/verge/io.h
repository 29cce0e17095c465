/* SPDX-License-Identifier: MIT */
/*
 * verge/io.h - I/O for tasks (verge/task.h): each call does what the system call of that name does, except that it
 * suspends the task instead of the thread, and has a deadline.
 *
 * Results are those of the system calls: a count, a descriptor, 0; or a negative errno value, for verge_strerror.
 * Descriptors may be O_NONBLOCK or not: calls wait either way.
 *
 * Promises
 *   N1 one result   a call returns when the operation has ended, with its one result. Nothing refers to the caller's
 *                   buffers any more.
 *   N2 lossless     if anything was read, written, accepted or opened, the call says so, also if the deadline came or
 *                   the task was cancelled at the same moment. -ETIMEDOUT and -ECANCELED mean that nothing was.
 *   N3 no early     -ETIMEDOUT only when the deadline or that of a scope has come; or when the system says so itself,
 *                   of a connection that it has given up (retries of SYN, keep-alive, TCP_USER_TIMEOUT): then
 *                   verge_now() is before the deadline, or the next read gives 0 at once. A deadline in the
 *                   past, or a task that is cancelled, is no obstacle to what can be done at once. Calls on regular files
 *                   and fsync count as that, so a task that is cancelled can save its state.
 *   N4 no SIGPIPE   no call raises SIGPIPE because of a socket: a write whose peer has gone returns -EPIPE. (verge_uring does
 *                   what its entry says.) A write to a pipe that nobody reads raises SIGPIPE, as write(2) does, so that
 *                   a filter in a pipeline ends. A program that calls signal(SIGPIPE, SIG_IGN) gets -EPIPE there, too.
 *   N5 no hang      if the system takes the backend away from a worker that runs (a filter forbids io_uring_enter or epoll_wait;
 *                   somebody closes the descriptor of either), all calls of that worker's tasks end with the error of
 *                   the system, now and later, but for verge_close, which closes. The statistics tell (failed_reactors).
 *                   Tasks still sleep, and wait for each other. N2 does not hold for what io_uring is in the middle of then.
 *
 * The backends differ in this:
 *   io_uring   everything is done by the kernel, regular files too. What the kernel does in a thread of its own (such
 *              files) cannot be stopped half way: a call may then return after its deadline, with its result.
 *   epoll      what knows no readiness (regular files, fsync, openat, close) is done in place, and blocks the worker
 *              for as long as it takes. To open a pipe of the file system (mkfifo) or a terminal line takes until the other
 *              side is there: open with O_NONBLOCK, and wait with verge_poll. accept makes its listening socket O_NONBLOCK. splice and verge_uring are
 *              -EOPNOTSUPP.
 *
 * A descriptor must not be closed while another task waits on it: shutdown(2) it, which ends the wait, or cancel the
 * task. -EPERM outside of tasks.
 */
#ifndef VERGE_IO_H
#define VERGE_IO_H

#include <sys/socket.h>
#include <sys/uio.h>

#include "verge/task.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- sockets ---- */

/* address and address_size may be NULL. The new descriptor is close-on-exec only if flags say so (SOCK_CLOEXEC). */
VERGE_API VERGE_MUST_USE int verge_accept(int fd, struct sockaddr *address, socklen_t *address_size, int flags,
                                          uint64_t deadline_ns);

/* After -ETIMEDOUT the socket is of no further use, as after any failed connect. */
VERGE_API VERGE_MUST_USE int verge_connect(int fd, const struct sockaddr *address, socklen_t address_size,
                                           uint64_t deadline_ns);

/* The flags of recv(2) and send(2). What is received with MSG_OOB or MSG_ERRQUEUE is not waited
 * for, as ever: -EAGAIN. MSG_WAITALL means nothing together with MSG_PEEK; an error that ends it half way, a reset say, is not
 * told again by the next call: verge_read_all tells both, how much there was and why there was no more. */
VERGE_API VERGE_MUST_USE ptrdiff_t verge_recv(int fd, void *buffer, size_t size, int flags, uint64_t deadline_ns);
VERGE_API VERGE_MUST_USE ptrdiff_t verge_send(int fd, const void *buffer, size_t size, int flags, uint64_t deadline_ns);
VERGE_API VERGE_MUST_USE ptrdiff_t verge_recvmsg(int fd, struct msghdr *message, int flags, uint64_t deadline_ns);
VERGE_API VERGE_MUST_USE ptrdiff_t verge_sendmsg(int fd, const struct msghdr *message, int flags, uint64_t deadline_ns);

/* ---- any descriptor ---- */

/* Reads of no bytes return 0 at once, or what is wrong with the descriptor. */
VERGE_API VERGE_MUST_USE ptrdiff_t verge_read(int fd, void *buffer, size_t size, uint64_t deadline_ns);
VERGE_API VERGE_MUST_USE ptrdiff_t verge_write(int fd, const void *buffer, size_t size, uint64_t deadline_ns);
VERGE_API VERGE_MUST_USE ptrdiff_t verge_readv(int fd, const struct iovec *parts, int part_count, uint64_t deadline_ns);
VERGE_API VERGE_MUST_USE ptrdiff_t verge_writev(int fd, const struct iovec *parts, int part_count,
                                                uint64_t deadline_ns);

/* At a place of the file, which its position has nothing to do with. */
VERGE_API VERGE_MUST_USE ptrdiff_t verge_pread(int fd, void *buffer, size_t size, uint64_t offset,
                                               uint64_t deadline_ns);
VERGE_API VERGE_MUST_USE ptrdiff_t verge_pwrite(int fd, const void *buffer, size_t size, uint64_t offset,
                                                uint64_t deadline_ns);

/*
 * As often as it takes for all of it. 0: all; else why not (-ENODATA: the end came before), and *ret_size, which is set
 * in any case and may be NULL, tells how much there was: nothing is lost. send_all is for sockets, with the flags of send(2).
 */
VERGE_API VERGE_MUST_USE int verge_read_all(int fd, void *buffer, size_t size, size_t *ret_size, uint64_t deadline_ns);
VERGE_API VERGE_MUST_USE int verge_write_all(int fd, const void *buffer, size_t size, size_t *ret_size,
                                             uint64_t deadline_ns);
VERGE_API VERGE_MUST_USE int verge_send_all(int fd, const void *buffer, size_t size, int flags, size_t *ret_size,
                                            uint64_t deadline_ns);

/* Waits for events of poll(2); those that are there, POLLERR and POLLHUP also unasked. */
VERGE_API VERGE_MUST_USE int verge_poll(int fd, short events, uint64_t deadline_ns);

/* Between a pipe and something else, or two pipes; offsets NULL: a pipe, or the file's position. With SPLICE_F_NONBLOCK
 * it does not wait: -EAGAIN. */
VERGE_API VERGE_MUST_USE ptrdiff_t verge_splice(int fd_in, int64_t *offset_in, int fd_out, int64_t *offset_out,
                                                size_t size, unsigned flags, uint64_t deadline_ns);

/* ---- files ---- */

VERGE_API VERGE_MUST_USE int verge_openat(int directory_fd, const char *path, int flags, unsigned mode,
                                          uint64_t deadline_ns);
VERGE_API VERGE_MUST_USE int verge_fsync(int fd, uint64_t deadline_ns);
VERGE_API VERGE_MUST_USE int verge_fdatasync(int fd, uint64_t deadline_ns);

/* Neither deadlines nor cancellation keep a descriptor open. */
VERGE_API int verge_close(int fd);

/* ---- io_uring ---- */

struct io_uring_sqe;

/*
 * Any operation of io_uring: prepare fills the entry as liburing's io_uring_prep_... do; its user_data, and flags that
 * link it to others or suppress its completion, are verge's. The result is res of the completion, *ret_flags (which may
 * be NULL) its flags. prepare may be called again, if the operation was interrupted, found no room, or is late. What gives
 * several results is stopped after the first; what it gives until it has stopped is lost.
 */
VERGE_API VERGE_MUST_USE int verge_uring(void (*prepare)(struct io_uring_sqe *entry, void *context), void *context,
                                         uint32_t *ret_flags, uint64_t deadline_ns);

#ifdef __cplusplus
}
#endif

#endif
