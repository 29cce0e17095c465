/* SPDX-License-Identifier: MIT */
/* reactor/operation.h - one thing that the kernel is asked to do, from the request to the result. */
#ifndef VERGE_SRC_REACTOR_OPERATION_H
#define VERGE_SRC_REACTOR_OPERATION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <sys/uio.h>

enum verge__operation_kind {
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
    VERGE__CUSTOM, /* an entry of io_uring's that the user prepares */
};

/*
 *   IDLE ---submit---> QUEUED ---(there is room)---> STARTED ---(the kernel is done)---> DONE
 *     '---submit: done at once, or handed to the kernel at once-------^                    ^
 *                         '---------------------cancel-------------------------------------'
 *
 * O1  A submitted operation becomes DONE exactly once, and is then in the done list of its reactor's
 *     next wait, exactly once; or submit said that it was done at once.
 * O2  Once it is DONE nothing refers to it or to its buffers any more.
 */
enum verge__operation_state { VERGE__IDLE, VERGE__QUEUED, VERGE__STARTED, VERGE__DONE };

struct io_uring_sqe;

/* The request first, then what the reactor knows of it. NOLINTNEXTLINE(clang-analyzer-optin.performance.Padding) */
struct verge__operation {
    /* The request, by the caller. All else is zero. */
    int fd;
    uint32_t flags; /* of the system call (READ and the like: RWF_); events for POLL; whether only data for FSYNC */
    union {
        struct {
            void *buffer;
            size_t size;
        } transfer; /* READ, WRITE, RECV, SEND */
        struct {
            const struct iovec *parts;
            unsigned count;
            struct msghdr *message; /* WRITEV: the same parts, for when it is a send */
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
    uint64_t offset; /* READ, WRITE, READV, WRITEV; all ones: the file's position */
    void *owner;     /* the caller's */
    uint8_t kind;
    bool expects_wait; /* RECV: a hint that nothing is there yet, so that looking first is in vain */
    bool is_over;      /* its deadline has passed, or its task is cancelled: it will be cancelled if it has to wait */

    /* The reactor's: */
    uint8_t state;
    bool cancel_requested;
    bool cancel_sent;  /* io_uring knows of it */
    bool polls;        /* waits for readiness first, or again */
    bool naps;         /* looks again after a while */
    bool was_ready;    /* is tried because a poll said so */
    bool has_result;   /* the result is there, and the kernel has still to let go of the buffers */
    bool was_started;  /* CONNECT: the connection is being made */
    bool was_blocking; /* CONNECT: the file's O_NONBLOCK is to be taken off when it is done */
    bool never_waits;  /* it is_over, and is not cancelled all the same: it is as good as done */
    bool is_send;      /* WRITE, WRITEV: the file is a socket (examine.h) */
    int send_flags;

    /* The answer. */
    bool has_drained;     /* RECV: nothing was left, as far as is known */
    int32_t result;       /* what the system call returns, or a negative errno value */
    uint32_t result_bits; /* the flags of io_uring's completion */

    /* The reactor's. */
    uint32_t progress; /* RECV: bytes that are in the buffer already */
    struct verge__operation *next, *previous;
};

#define VERGE__FILE_POSITION UINT64_MAX

/* ---- lists: an operation is in at most one ---- */

struct verge__operation_list {
    struct verge__operation *first, *last;
};

static inline void verge__operations_append(struct verge__operation_list *list, struct verge__operation *operation) {
    operation->next = NULL;
    operation->previous = list->last;
    if (list->last != NULL) {
        list->last->next = operation;
    } else {
        list->first = operation;
    }
    list->last = operation;
}

static inline void verge__operations_remove(struct verge__operation_list *list, struct verge__operation *operation) {
    if (operation->previous != NULL) {
        operation->previous->next = operation->next;
    } else {
        list->first = operation->next;
    }
    if (operation->next != NULL) {
        operation->next->previous = operation->previous;
    } else {
        list->last = operation->previous;
    }
    operation->next = operation->previous = NULL;
}

static inline struct verge__operation *verge__operations_take_first(struct verge__operation_list *list) {
    struct verge__operation *operation = list->first;
    if (operation != NULL) {
        verge__operations_remove(list, operation);
    }
    return operation;
}

#endif
