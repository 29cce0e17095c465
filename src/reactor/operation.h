/* SPDX-License-Identifier: MIT */
/* reactor/operation.h - an operation of the kernel, from the request to the result. */
#ifndef VERGE_SRC_REACTOR_OPERATION_H
#define VERGE_SRC_REACTOR_OPERATION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <sys/uio.h>

#include "base/list.h"

typedef enum verge__operation_kind {
    VERGE__ACCEPT,
    VERGE__CONNECT,
    VERGE__READ,
    VERGE__WRITE,
    VERGE__READV,
    VERGE__WRITEV,
    VERGE__RECV,
    VERGE__SEND,
    VERGE__RECVMSG,
    VERGE__SENDMSG,
    VERGE__POLL,
    VERGE__FSYNC,
    VERGE__OPENAT,
    VERGE__CLOSE,
    VERGE__SPLICE,
    VERGE__CUSTOM, /* an io_uring entry that the user prepares */
} verge__operation_kind;

/*
 *   IDLE ---submit---> QUEUED ---(there is room)---> STARTED ---(the kernel is done)---> DONE
 *
 * Room is a free entry in io_uring's submission queue; with epoll, there is always room. If there is room at once,
 * submit goes from IDLE to STARTED. If the operation is done at once, submit goes to DONE. A cancel goes from QUEUED to
 * DONE and, with epoll, from STARTED to DONE. If io_uring has to submit an operation again and there is no room, the
 * operation goes from STARTED back to QUEUED.
 *
 * O1  A submitted operation becomes DONE exactly once. Either submit returns true, because the operation was done at
 *     once, or a later wait of the reactor returns the operation, exactly once.
 * O2  When an operation is DONE, nothing refers to it or to its buffers. (Exception: its ring has failed; see
 *     uring_abandon.)
 */
typedef enum verge__operation_state { VERGE__IDLE, VERGE__QUEUED, VERGE__STARTED, VERGE__DONE } verge__operation_state;

struct io_uring_sqe;

/* The request first, then what the reactor knows of it. NOLINTNEXTLINE(clang-analyzer-optin.performance.Padding) */
typedef struct verge__operation {
    /* The request, filled in by the caller. All other fields are zero. */
    int fd;
    uint32_t flags; /* of the system call (READ and the like: RWF_). POLL: the events. FSYNC: 1 writes only the data */
    union {
        struct {
            void *buffer;
            size_t size;
        } transfer; /* READ, WRITE, RECV, SEND */
        struct {
            const struct iovec *parts;
            unsigned count;
            struct msghdr *message; /* WRITEV: has the same parts; used if the file is a socket */
        } vector;                   /* READV, WRITEV */
        struct msghdr *message;     /* RECVMSG, SENDMSG */
        struct {
            struct sockaddr *address; /* NULL: not wanted */
            socklen_t *size;
        } peer; /* ACCEPT */
        struct {
            const struct sockaddr *address;
            socklen_t size;
        } target; /* CONNECT */
        struct {
            const char *path;
            mode_t mode;
        } file; /* OPENAT */
        struct {
            int fd_out;
            size_t size;
            int64_t offset_in, offset_out; /* -1: the file's position, or a pipe */
        } splice;
        struct {
            void (*prepare)(struct io_uring_sqe *entry, void *context);
            void *context;
        } custom;
    };
    uint64_t offset;                  /* READ, WRITE, READV, WRITEV; all ones: the file's position */
    void *owner;                      /* for the caller's use */
    struct verge__operation *sibling; /* for the caller's use */
    uint8_t kind;
    bool is_regardless; /* for the caller's use: neither a cancel of its task nor the deadline of a scope ends it */
    bool expects_wait;  /* RECV: a hint that there is no data yet, so an attempt would fail */
    bool has_threads;   /* the caller can attempt the operation on a thread if it would block (`blocks`) */
    bool is_over;       /* the deadline has passed, or the task is cancelled: cancel the operation if it has to wait */

    /* For the reactor only. */
    uint8_t state;
    bool cancel_requested;
    bool cancel_sent;  /* the cancellation was submitted to io_uring */
    bool polls;        /* io_uring: the kernel polls the file. When that is ready, the operation is tried again */
    bool naps;         /* io_uring: the kernel waits for a short time. After that, the operation is tried again */
    bool was_ready;    /* io_uring: a poll has reported readiness. epoll: the last attempt after an event was in vain */
    bool has_result;   /* io_uring: the result is there, but the kernel may still use the buffers */
    bool was_started;  /* CONNECT: the connection is being made */
    bool was_blocking; /* CONNECT: O_NONBLOCK must be removed from the file at the end */
    bool never_waits;  /* with is_over: the operation is not cancelled, because it is done soon */
    bool is_send;      /* WRITE, WRITEV: the file is a socket (examine.h) */
    int send_flags;

    /* The result. */
    bool blocks;          /* with has_threads: it may block, so attempt it on a thread, as ALWAYS_READY (attempt.h) */
    bool has_drained;     /* RECV: the socket is empty now, as far as we know */
    int32_t result;       /* what the system call returns, or a negative errno value */
    uint32_t result_bits; /* the flags of io_uring's completion */

    /* For the reactor only. */
    uint32_t progress; /* RECV, READ, WRITE: how many bytes are already transferred */
    verge__link link;
} verge__operation;

#define VERGE__FILE_POSITION UINT64_MAX

/* ---- lists: an operation is in at most one ---- */

/* Returns the operation of a link, or NULL if the link is NULL. */
static inline verge__operation *verge__operation_of(verge__link *link) {
    return VERGE__LISTED(link, verge__operation, link);
}

static inline verge__operation *verge__operations_take_first(verge__list *list) {
    verge__operation *operation = verge__operation_of(list->first);
    if (operation != NULL) {
        verge__list_remove(list, &operation->link);
    }
    return operation;
}

#endif
