/* SPDX-License-Identifier: MIT */
/*
 * verge/io.h - I/O for tasks (verge/task.h). Each call does what the system call of the same name does, but it suspends
 * the task and not the thread, and takes a deadline. verge_close takes no deadline. verge_read_all, verge_write_all,
 * verge_send_all and verge_uring have no such system call: see their comments.
 *
 * The result is that of the system call (a count, a descriptor, 0), or a negative errno value. Calls wait whether or
 * not the descriptor is O_NONBLOCK. Outside of tasks they return -EPERM.
 *
 * Promises
 *   N1 one result   a call returns when its operation has ended, with its one result. After that, nothing refers to the
 *                   caller's buffers.
 *   N2 lossless     if anything was read, written, accepted or opened, the call returns that, even if the deadline came
 *                   or the task was cancelled at the same moment. -ETIMEDOUT and -ECANCELED mean that nothing was done.
 *                   The calls ..._all may return an error after a part: *ret_size says how much was transferred.
 *   N3 no early     -ETIMEDOUT means that the deadline, or that of a scope (verge_deadline_push), has come. There is
 *                   one exception: the system itself returns -ETIMEDOUT for a connection that it has given up (SYN
 *                   retries, keep-alive, TCP_USER_TIMEOUT). If verge_now() is still before the deadline, it is this
 *                   case. If not, read again: on a connection that the system has given up, a read returns 0 at once.
 *                   If a call can be done at once, it is done, even if its deadline has passed or its task is
 *                   cancelled. Calls on regular files and fsync always count as calls that can be done at once, so a
 *                   cancelled task can save its state.
 *   N4 no SIGPIPE   no call raises SIGPIPE because of a socket: if the peer has gone, a write returns -EPIPE.
 *                   (verge_uring does what its entry says.) A write to a pipe that nobody reads raises SIGPIPE, as
 *                   write(2) does, so that a filter in a pipeline ends. A program that calls signal(SIGPIPE, SIG_IGN)
 *                   gets -EPIPE there.
 *   N5 no hang      the system may take the backend away from a running worker: a filter forbids io_uring_enter or
 *                   epoll_wait, or somebody closes the descriptor of the io_uring or the epoll instance. Then all I/O
 *                   calls of that worker's tasks end with the error of the system, now and later. verge_close still
 *                   closes. Tasks can still sleep and wait for each other. The statistics count such workers
 *                   (failed_reactors). N2 does not hold for operations that io_uring had begun by then.
 *
 * The backends differ:
 *   io_uring   the kernel does everything, also for regular files. It uses threads of its own for some operations, such
 *              as those on regular files. It cannot stop these half way, so a call may return after its deadline, with
 *              its result.
 *   epoll      regular files are read and written at once as far as the page cache allows. A thread
 *              (verge/blocking.h) reads or writes the rest, and does readv and writev of regular files, fsync and
 *              openat. A thread cannot be stopped half way either. If all are busy, the call waits for one, until its
 *              deadline or the cancellation of its task. If the deadline has passed or the task is cancelled before the
 *              call begins, the call waits until it gets a thread (N3). close is done on the worker's own thread. In
 *              virtual time, and if no thread can be started, all these calls are done there, and block the worker. To
 *              open a FIFO (mkfifo) or a terminal line takes until the other side is there, whatever the deadline: open
 *              it with O_NONBLOCK, and wait with verge_poll. accept sets its listening socket to O_NONBLOCK. splice and
 *              verge_uring return -EOPNOTSUPP.
 *
 * Do not close a descriptor while another task waits on it. Call shutdown(2), which ends the wait, or cancel the task.
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

/* After -ETIMEDOUT the socket cannot be used any more, as after any failed connect. */
VERGE_API VERGE_MUST_USE int verge_connect(int fd, const struct sockaddr *address, socklen_t address_size,
                                           uint64_t deadline_ns);

/* flags are those of recv(2) and send(2). With MSG_OOB or MSG_ERRQUEUE, a receive does not wait: like recv(2), it
 * returns -EAGAIN or -EINVAL. MSG_WAITALL has no effect together with MSG_PEEK. If an error, such as a reset, ends a
 * MSG_WAITALL half way, the call returns what it has, and the error is lost. verge_read_all reports both. */
VERGE_API VERGE_MUST_USE ptrdiff_t verge_recv(int fd, void *buffer, size_t size, int flags, uint64_t deadline_ns);
VERGE_API VERGE_MUST_USE ptrdiff_t verge_send(int fd, const void *buffer, size_t size, int flags, uint64_t deadline_ns);
VERGE_API VERGE_MUST_USE ptrdiff_t verge_recvmsg(int fd, struct msghdr *message, int flags, uint64_t deadline_ns);
VERGE_API VERGE_MUST_USE ptrdiff_t verge_sendmsg(int fd, const struct msghdr *message, int flags, uint64_t deadline_ns);

/* ---- any descriptor ---- */

/* A read of 0 bytes returns at once: 0, or an error if the descriptor cannot be read. */
VERGE_API VERGE_MUST_USE ptrdiff_t verge_read(int fd, void *buffer, size_t size, uint64_t deadline_ns);
VERGE_API VERGE_MUST_USE ptrdiff_t verge_write(int fd, const void *buffer, size_t size, uint64_t deadline_ns);
VERGE_API VERGE_MUST_USE ptrdiff_t verge_readv(int fd, const struct iovec *parts, int part_count, uint64_t deadline_ns);
VERGE_API VERGE_MUST_USE ptrdiff_t verge_writev(int fd, const struct iovec *parts, int part_count,
                                                uint64_t deadline_ns);

/* Reads or writes at an offset of the file. The file's position is neither used nor changed. */
VERGE_API VERGE_MUST_USE ptrdiff_t verge_pread(int fd, void *buffer, size_t size, uint64_t offset,
                                               uint64_t deadline_ns);
VERGE_API VERGE_MUST_USE ptrdiff_t verge_pwrite(int fd, const void *buffer, size_t size, uint64_t offset,
                                                uint64_t deadline_ns);

/*
 * These calls repeat until all bytes are transferred, and then return 0. Otherwise they return an error; -ENODATA: the
 * input ended before that. *ret_size (which may be NULL) gets the number of bytes transferred, also after an error, so
 * nothing is lost. send_all is for sockets, with the flags of send(2).
 */
VERGE_API VERGE_MUST_USE int verge_read_all(int fd, void *buffer, size_t size, size_t *ret_size, uint64_t deadline_ns);
VERGE_API VERGE_MUST_USE int verge_write_all(int fd, const void *buffer, size_t size, size_t *ret_size,
                                             uint64_t deadline_ns);
VERGE_API VERGE_MUST_USE int verge_send_all(int fd, const void *buffer, size_t size, int flags, size_t *ret_size,
                                            uint64_t deadline_ns);

/* Waits for events of poll(2), and returns those that have come. POLLERR and POLLHUP may come without being asked for.
 * A regular file, a directory and the like are always ready to read and write, and report nothing else. -EINVAL: fd is
 * such a file, and events has nothing that such a file reports: for example, events is 0 or POLLPRI. */
VERGE_API VERGE_MUST_USE int verge_poll(int fd, short events, uint64_t deadline_ns);

/* As splice(2): one of the two descriptors is a pipe. The offset of a pipe is NULL. For a file, NULL means its
 * position. With SPLICE_F_NONBLOCK the call does not wait, but returns -EAGAIN. */
VERGE_API VERGE_MUST_USE ptrdiff_t verge_splice(int fd_in, int64_t *offset_in, int fd_out, int64_t *offset_out,
                                                size_t size, unsigned flags, uint64_t deadline_ns);

/* ---- files ---- */

VERGE_API VERGE_MUST_USE int verge_openat(int directory_fd, const char *path, int flags, unsigned mode,
                                          uint64_t deadline_ns);
VERGE_API VERGE_MUST_USE int verge_fsync(int fd, uint64_t deadline_ns);
VERGE_API VERGE_MUST_USE int verge_fdatasync(int fd, uint64_t deadline_ns);

/* Closes the descriptor, even if a deadline has passed or the task is cancelled. */
VERGE_API int verge_close(int fd);

/* ---- io_uring ---- */

struct io_uring_sqe;

/*
 * Makes any operation of io_uring. prepare fills the entry, as liburing's io_uring_prep_... functions do. verge sets
 * user_data itself, and clears flags that link the entry to others or suppress its completion. The call returns res of
 * the completion, and *ret_flags (which may be NULL) gets its flags. prepare may be called several times: again after
 * an interruption, and once more if the deadline has passed, or the task was cancelled, before the call begins. An
 * operation that gives several results is stopped after the first. Further results, which it gives before it has
 * stopped, are lost.
 */
VERGE_API VERGE_MUST_USE int verge_uring(void (*prepare)(struct io_uring_sqe *entry, void *context), void *context,
                                         uint32_t *ret_flags, uint64_t deadline_ns);

#ifdef __cplusplus
}
#endif

#endif
