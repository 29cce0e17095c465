/* SPDX-License-Identifier: MIT */
/*
 * A reactor on epoll, for systems without io_uring. An operation is attempted at once. If it would block, it waits in
 * the list of its descriptor until the descriptor is ready, and is attempted again.
 *
 * Interest is one-shot, and set for each wait. Somebody may close a descriptor and open it as something else: then
 * the kernel silently forgets the interest, setting it again returns ENOENT, and the descriptor is added anew.
 *
 * If the last receive emptied a TCP socket, the next receive waits without an attempt, because an attempt would usually
 * fail. If data came meanwhile, the event comes at once. For such a wait, interest is steady: edge-triggered, and left
 * with the kernel. The next such wait relies on this interest, without a system call. The descriptor is then unsure,
 * since it may be another file by now. Before the reactor sleeps, or when it has looked for events PROBES_MAX times, it
 * sets the interest of all unsure descriptors again. On a busy worker the event has usually come by then.
 *
 *   V1  an operation in state STARTED is in the list of its descriptor, and these lists contain no other operations.
 *       One of three holds for a descriptor with operations: interest is set for all events that they wait for, or the
 *       descriptor naps, or it is in the list of unsure descriptors.
 *   V2  if an event of a steady interest comes while no operation waits for it, has_come is set, and the next receive
 *       begins with an attempt. So no edge is lost.
 *
 * Some descriptors report readiness, and the operation still cannot be done: for example, a socket has room to send,
 * but its peer has none. For these, interest is set again only after a nap. Otherwise the event would come again at
 * once.
 */
#define _GNU_SOURCE

#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "base/assert.h"
#include "reactor/attempt.h"
#include "reactor/reactor.h"

enum { EVENT_BATCH = 128, FILE_COUNT_MIN = 64, NOBODY = -1, PROBES_MAX = 16, BUSY_EVENTS = 4 };

static const uint64_t nap_ns = 1000000;

_Static_assert(POLLIN == EPOLLIN && POLLOUT == EPOLLOUT && POLLPRI == EPOLLPRI && POLLERR == EPOLLERR &&
                   POLLHUP == EPOLLHUP,
               "events of poll are events of epoll");

typedef struct watched_file {
    verge__list waiting;
    bool is_known; /* the kernel has its interest, unless the file was closed since */
    bool is_tcp;   /* for TCP, a short read means that nothing is left */
    bool naps;
    bool is_steady;        /* its interest in reading is edge-triggered, and stays */
    bool has_come;         /* an event came while no operation waited (V2) */
    bool is_unsure;        /* an operation waits, and relies on the steady interest */
    bool is_unsure_listed; /* in the list of unsure descriptors; it may be sure again */
    int naps_next;         /* the next descriptor in the list of those that nap, or NOBODY */
    int unsure_next;       /* the next descriptor in the list of unsure ones, or NOBODY */
} watched_file;

typedef struct epoll_reactor {
    verge__reactor reactor;
    int fd;
    watched_file *files; /* indexed by descriptor */
    size_t file_count;
    int naps_first;       /* the first descriptor that naps, or NOBODY */
    uint64_t naps_end_ns; /* when all naps end; on the monotonic clock */
    int unsure_first;     /* the first descriptor that is unsure, or was; or NOBODY */
    int probe_count;      /* how often the reactor has looked for events since all descriptors were made sure */
    bool is_busy;         /* the last look for events found many */
} epoll_reactor;

static epoll_reactor *epoll_of(verge__reactor *reactor) {
    return (epoll_reactor *)reactor;
}

/* ---- open and close ---- */

static int watch_wake(epoll_reactor *epoll) {
    struct epoll_event event = {.events = EPOLLIN, .data.fd = epoll->reactor.wake_fd};
    return epoll_ctl(epoll->fd, EPOLL_CTL_ADD, epoll->reactor.wake_fd, &event) == 0 ? 0 : -errno;
}

static void epoll_close(verge__reactor *reactor) {
    epoll_reactor *epoll = epoll_of(reactor);
    if (epoll->files != NULL) {
        reactor->allocator->release(reactor->allocator->context, epoll->files,
                                    epoll->file_count * sizeof(*epoll->files));
    }
    if (epoll->fd >= 0) {
        (void)close(epoll->fd);
    }
    verge__reactor_release(reactor, sizeof(epoll_reactor));
}

static int epoll_open(const verge_allocator *allocator, unsigned entry_count, verge__reactor **ret_reactor) {
    (void)entry_count;
    verge__reactor *reactor;
    int error = verge__reactor_allocate(&verge__reactor_epoll, allocator, sizeof(epoll_reactor), &reactor);
    if (error != 0) {
        return error;
    }
    epoll_reactor *epoll = epoll_of(reactor);
    epoll->naps_first = epoll->unsure_first = NOBODY;
    epoll->fd = epoll_create1(EPOLL_CLOEXEC);
    error = epoll->fd < 0 ? -errno : watch_wake(epoll);
    if (error != 0) {
        epoll_close(reactor);
        return error;
    }
    *ret_reactor = reactor;
    return 0;
}

/* ---- waiting for readiness ---- */

static int reserve_file(epoll_reactor *epoll, int fd) {
    const size_t needed = (size_t)fd + 1;
    if (needed <= epoll->file_count) {
        return 0;
    }
    size_t count = epoll->file_count != 0 ? epoll->file_count : FILE_COUNT_MIN;
    while (count < needed) {
        count *= 2;
    }
    const verge_allocator *allocator = epoll->reactor.allocator;
    watched_file *files = allocator->allocate(allocator->context, count * sizeof(*files), _Alignof(max_align_t));
    if (files == NULL) {
        return -ENOMEM;
    }
    memset(files, 0, count * sizeof(*files));
    if (epoll->files != NULL) {
        memcpy(files, epoll->files, epoll->file_count * sizeof(*files));
        allocator->release(allocator->context, epoll->files, epoll->file_count * sizeof(*files));
    }
    epoll->files = files;
    epoll->file_count = count;
    return 0;
}

static bool is_tcp(int fd) {
    int protocol = 0;
    socklen_t size = sizeof(protocol);
    return getsockopt(fd, SOL_SOCKET, SO_PROTOCOL, &protocol, &size) == 0 && protocol == IPPROTO_TCP;
}

/* Whether all of this holds: exactly one operation waits; it is a receive; the receive before it emptied the socket;
 * and the kernel knows this socket. */
static bool can_be_steady(const watched_file *file) {
    const verge__operation *first = verge__operation_of(file->waiting.first);
    return first != NULL && file->is_known && file->is_tcp && first->link.next == NULL && first->kind == VERGE__RECV &&
           first->expects_wait;
}

static int set_interest(epoll_reactor *epoll, int fd) {
    watched_file *file = &epoll->files[fd];
    const bool is_steady = can_be_steady(file);
    struct epoll_event event = {.events = is_steady ? EPOLLET : EPOLLONESHOT, .data.fd = fd};
    for (verge__link *link = file->waiting.first; link != NULL; link = link->next) {
        event.events |= verge__operation_readiness(verge__operation_of(link));
    }
    const bool was_known = file->is_known && epoll_ctl(epoll->fd, EPOLL_CTL_MOD, fd, &event) == 0;
    file->is_unsure = false;
    int result = was_known ? 0 : epoll_ctl(epoll->fd, EPOLL_CTL_ADD, fd, &event);
    if (result != 0 && errno == EEXIST) {
        result = epoll_ctl(epoll->fd, EPOLL_CTL_MOD, fd, &event);
    }
    file->is_known = result == 0;
    file->is_steady = is_steady && result == 0;
    if (result != 0) {
        return -errno;
    }
    file->is_tcp = was_known ? file->is_tcp : is_tcp(fd);
    return 0;
}

/* Sets the interest for the operations that wait. Makes no system call if the interest is steady and may stay so. */
static int begin_wait(epoll_reactor *epoll, int fd) {
    watched_file *file = &epoll->files[fd];
    if (!file->is_steady || !can_be_steady(file)) {
        return set_interest(epoll, fd);
    }
    file->is_unsure = true;
    if (!file->is_unsure_listed) {
        file->is_unsure_listed = true;
        file->unsure_next = epoll->unsure_first;
        epoll->unsure_first = fd;
    }
    return 0;
}

static void finish(epoll_reactor *epoll, verge__operation *operation, int32_t result) {
    verge__list_remove(&epoll->files[operation->fd].waiting, &operation->link);
    epoll->files[operation->fd].is_unsure = false;
    verge__attempt_end(operation);
    verge__reactor_finish(&epoll->reactor, operation, result);
}

/* A receive with MSG_WAITALL that ends early returns the number of bytes that it has collected. */
static int32_t end_of_wait(const verge__operation *operation, int error) {
    return operation->progress != 0 ? (int32_t)operation->progress : error;
}

/* Ends all operations of a descriptor. No event would come for them: interest could not be set, or the reactor
 * failed. */
static void fail_all(epoll_reactor *epoll, int fd, int error) {
    while (epoll->files[fd].waiting.first != NULL) {
        verge__operation *operation = verge__operation_of(epoll->files[fd].waiting.first);
        finish(epoll, operation, end_of_wait(operation, error));
    }
}

/* ---- operations ---- */

static bool done_at_once(verge__operation *operation, int32_t result) {
    verge__attempt_end(operation);
    operation->result = result;
    operation->state = VERGE__DONE;
    return true;
}

/* Sets the result to -EPERM, which epoll_ctl returns for a file without readiness. The attempt on the thread replaces
 * this result if it does not end with EAGAIN. */
static bool leave_to_a_thread(verge__operation *operation) {
    operation->blocks = true;
    return done_at_once(operation, -EPERM);
}

static bool is_in_vain(const epoll_reactor *epoll, const verge__operation *operation) {
    const size_t fd = (size_t)operation->fd;
    return operation->expects_wait && fd < epoll->file_count && epoll->files[fd].is_known && epoll->files[fd].is_tcp &&
           !epoll->files[fd].has_come;
}

static void note_attempt(epoll_reactor *epoll, const verge__operation *operation) {
    if ((size_t)operation->fd >= epoll->file_count) {
        return;
    }
    watched_file *file = &epoll->files[operation->fd];
    file->has_come = file->has_come && operation->kind != VERGE__RECV;
    file->is_steady = file->is_steady && operation->kind != VERGE__CLOSE && operation->kind != VERGE__CONNECT;
}

static bool epoll_submit(verge__reactor *reactor, verge__operation *operation) {
    VERGE__INVARIANT(operation->state == VERGE__IDLE, "O1: submitted once");
    epoll_reactor *epoll = epoll_of(reactor);
    int32_t result;
    if (operation->has_threads && (operation->kind == VERGE__FSYNC || operation->kind == VERGE__OPENAT)) {
        return leave_to_a_thread(operation);
    }
    if (!is_in_vain(epoll, operation)) {
        note_attempt(epoll, operation);
        if (verge__attempt(operation, VERGE__NOT_KNOWN, &result)) {
            return done_at_once(operation, result);
        }
    }
    if (operation->blocks) {
        return leave_to_a_thread(operation);
    }
    if (operation->fd < 0) {
        return done_at_once(operation, -EBADF);
    }
    int error = reserve_file(epoll, operation->fd);
    if (error != 0) {
        return done_at_once(operation, end_of_wait(operation, error));
    }
    watched_file *file = &epoll->files[operation->fd];
    verge__list_append(&file->waiting, &operation->link);
    error = begin_wait(epoll, operation->fd);
    if (error != 0) {
        verge__list_remove(&file->waiting, &operation->link);
        if (error == -EPERM && operation->kind == VERGE__POLL) {
            return done_at_once(operation, -EINVAL); /* as io_uring does: these events never come */
        }
        if (error == -EPERM && operation->has_threads) {
            return leave_to_a_thread(operation);
        }
        if (error == -EPERM && verge__attempt(operation, VERGE__ALWAYS_READY, &result)) {
            error = result;
        }
        return done_at_once(operation, end_of_wait(operation, error));
    }
    operation->state = VERGE__STARTED;
    reactor->pending_count++;
    return false;
}

/* If the operation has become possible since the last attempt, it is done, and not cancelled. */
static void epoll_cancel(verge__reactor *reactor, verge__operation *operation) {
    if (operation->state != VERGE__STARTED) {
        return;
    }
    int32_t result = 0;
    operation->cancel_requested = true;
    if (!verge__attempt(operation, VERGE__NOT_KNOWN, &result)) {
        result = end_of_wait(operation, -ECANCELED);
    }
    finish(epoll_of(reactor), operation, result);
}

/* ---- naps ---- */

static void begin_nap(epoll_reactor *epoll, int fd) {
    watched_file *file = &epoll->files[fd];
    if (file->naps) {
        return;
    }
    if (epoll->naps_first == NOBODY) {
        epoll->naps_end_ns = verge__reactor_real_now_ns() + nap_ns;
    }
    file->naps = true;
    file->naps_next = epoll->naps_first;
    epoll->naps_first = fd;
}

static uint64_t nap_left_ns(const epoll_reactor *epoll) {
    if (epoll->naps_first == NOBODY) {
        return VERGE_NEVER;
    }
    const uint64_t now_ns = verge__reactor_real_now_ns();
    return now_ns < epoll->naps_end_ns ? epoll->naps_end_ns - now_ns : 0;
}

static void set_interest_or_fail(epoll_reactor *epoll, int fd) {
    if (epoll->files[fd].waiting.first != NULL) {
        const int error = set_interest(epoll, fd);
        if (error != 0) {
            fail_all(epoll, fd, error);
        }
    }
}

static void end_naps(epoll_reactor *epoll) {
    if (nap_left_ns(epoll) != 0) {
        return;
    }
    int fd = epoll->naps_first;
    epoll->naps_first = NOBODY;
    while (fd != NOBODY) {
        const int next = epoll->files[fd].naps_next;
        epoll->files[fd].naps = false;
        set_interest_or_fail(epoll, fd);
        fd = next;
    }
}

/* ---- attempts ---- */

/* Attempts an operation whose descriptor is ready. True: it waits for POLLOUT, and found no room for the second time in
 * a row, so the descriptor must nap. (The first time, another thread may have been faster.) */
static bool attempt_in_vain(epoll_reactor *epoll, verge__operation *operation) {
    const size_t progress = operation->progress;
    int32_t result;
    if (verge__attempt(operation, VERGE__READY, &result)) {
        finish(epoll, operation, result);
        return false;
    }
    const bool was_ready = operation->was_ready && operation->progress == progress;
    operation->was_ready = operation->progress == progress;
    return was_ready && verge__operation_readiness(operation) == POLLOUT;
}

static void attempt_again(epoll_reactor *epoll, int fd, uint32_t events) {
    bool must_nap = false;
    verge__link *next;
    epoll->files[fd].has_come = epoll->files[fd].waiting.first == NULL;
    for (verge__link *link = epoll->files[fd].waiting.first; link != NULL; link = next) {
        verge__operation *operation = verge__operation_of(link);
        next = link->next;
        if ((events & (verge__operation_readiness(operation) | EPOLLERR | EPOLLHUP)) != 0) {
            must_nap |= attempt_in_vain(epoll, operation);
        }
    }
    if (must_nap) {
        begin_nap(epoll, fd);
    } else {
        set_interest_or_fail(epoll, fd);
    }
}

/* ---- waiting ---- */

static int wait_for_kernel(epoll_reactor *epoll, struct epoll_event *events, uint64_t timeout_ns) {
    if (VERGE__UNLIKELY(epoll->reactor.injected_error != 0)) {
        errno = -epoll->reactor.injected_error;
        return -1;
    }
    const struct timespec timeout = {
        .tv_sec = (time_t)(timeout_ns / 1000000000),
        .tv_nsec = (long)(timeout_ns % 1000000000),
    };
    const int count = epoll_pwait2(epoll->fd, events, EVENT_BATCH, timeout_ns == VERGE_NEVER ? NULL : &timeout, NULL);
    if (count >= 0 || (errno != ENOSYS && errno != EPERM)) { /* EPERM comes from the filter of a container */
        return count;
    }
    /* Older kernels count milliseconds. Round up, so that nothing is early. */
    const uint64_t timeout_ms = timeout_ns / 1000000 + (timeout_ns % 1000000 != 0);
    const int limited_ms = timeout_ms > INT32_MAX ? INT32_MAX : (int)timeout_ms;
    return epoll_wait(epoll->fd, events, EVENT_BATCH, timeout_ns == VERGE_NEVER ? -1 : limited_ms);
}

static void make_sure(epoll_reactor *epoll) {
    int fd = epoll->unsure_first;
    epoll->unsure_first = NOBODY;
    epoll->probe_count = 0;
    while (fd != NOBODY) {
        watched_file *file = &epoll->files[fd];
        const int next = file->unsure_next;
        file->is_unsure_listed = false;
        if (file->is_unsure) {
            set_interest_or_fail(epoll, fd);
        }
        fd = next;
    }
}

/* If some descriptors are unsure, looks first for events that are already there: then make_sure may not be needed. */
static int ask_kernel(epoll_reactor *epoll, struct epoll_event *events, uint64_t timeout_ns) {
    if (epoll->unsure_first != NOBODY) {
        if (epoll->probe_count++ < PROBES_MAX && (epoll->is_busy || timeout_ns == 0)) {
            const int count = wait_for_kernel(epoll, events, 0);
            if (count != 0 || timeout_ns == 0) {
                return count;
            }
        }
        make_sure(epoll);
        timeout_ns = epoll->reactor.done.first == NULL ? timeout_ns : 0; /* some operations may have failed */
    }
    const int count = wait_for_kernel(epoll, events, timeout_ns);
    epoll->is_busy = count >= BUSY_EVENTS;
    return count;
}

static int epoll_reactor_wait(verge__reactor *reactor, uint64_t timeout_ns) {
    epoll_reactor *epoll = epoll_of(reactor);
    if (timeout_ns == 0 && reactor->pending_count == 0) {
        return 0; /* nothing to look for: a wake-up stays in the eventfd */
    }
    struct epoll_event events[EVENT_BATCH];
    const uint64_t nap_left = nap_left_ns(epoll);
    const int count = ask_kernel(epoll, events, nap_left < timeout_ns ? nap_left : timeout_ns);
    if (VERGE__UNLIKELY(count < 0) && errno != EINTR) {
        return -errno;
    }
    for (int i = 0; i < count; i++) {
        if (events[i].data.fd == reactor->wake_fd) {
            (void)!read(reactor->wake_fd, &reactor->wake_count, sizeof(reactor->wake_count));
        } else {
            attempt_again(epoll, events[i].data.fd, events[i].events);
        }
    }
    end_naps(epoll);
    return 0;
}

static void epoll_abandon(verge__reactor *reactor, int error) {
    epoll_reactor *epoll = epoll_of(reactor);
    for (size_t i = 0; i < epoll->file_count && reactor->pending_count != 0; i++) {
        fail_all(epoll, (int)i, error);
    }
}

const verge__reactor_type verge__reactor_epoll = {
    .name = "epoll",
    .open = epoll_open,
    .close = epoll_close,
    .submit = epoll_submit,
    .cancel = epoll_cancel,
    .wait = epoll_reactor_wait,
    .abandon = epoll_abandon,
};
