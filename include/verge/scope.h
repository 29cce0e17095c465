/* SPDX-License-Identifier: MIT */
/*
 * verge/scope.h - timers to look at: a page for the browser, served by the program itself.
 *
 *     verge_scope *scope;
 *     if (verge_scope_start(service, NULL, NULL, &scope) == 0) puts(verge_scope_address(scope));
 *     ...
 *     verge_scope_stop(scope);                    -- before the service ends
 *
 * The page shows who has started timers (by label, or by the callback's name), when they are due, how late they were,
 * what each worker does, and the wheels as they turn. `verge scope --connect ADDRESS` shows the same in a terminal.
 * docs/SCOPE.md.
 *
 * What is served, by GET and HEAD of HTTP/1.1, to 16 clients at most: / (the page), /events (server-sent events with a
 * JSON text each, four a second), /snapshot (one such text), /metrics (verge/metrics.h).
 *
 * Promises
 *   V1 read only    nothing can be changed through it.
 *   V2 private      a Unix socket has mode 0600. A port takes connections on the loopback only, unless the address
 *                   names another; who connects has to know the token in the path. A request whose Host is no number
 *                   and not "localhost", or whose Origin is another page, is refused (403): DNS rebinding gets nothing.
 *   V3 no harm      one thread of its own, on which all is done; limits and deadlines for each client. No lock that the
 *                   calls on timers take; none of them waits for scope.
 *   V4 cost         while nobody looks, no call on timers does anything more than without scope. While somebody does, a
 *                   worker counts by source at 64 random moments a second: of the next 256 starts, cancels and
 *                   firings, all or some. Scope reads through 262,144 timers a second at most.
 *   V5 truth        figures by source add up to the totals: those that come from samples are scaled by how many events
 *                   there were on that worker. Timers that are pending are counted one by one.
 */
#ifndef VERGE_SCOPE_H
#define VERGE_SCOPE_H

#include "verge/service.h"
#include "verge/task.h"
#include "verge/wheel.h"

#ifdef __cplusplus
extern "C" {
#endif

enum {
    VERGE_SCOPE_CLIENTS_MAX = 16, /* more are told so (503) */
    VERGE_SCOPE_WHEELS_MAX = 64,
};

typedef struct verge_scope verge_scope;
typedef struct verge_scope_wheel verge_scope_wheel;

typedef struct verge_scope_options {
    size_t struct_size; /* set by verge_scope_options_init */
    /*
     * Where it listens; NULL: a Unix socket verge-PID.scope in $XDG_RUNTIME_DIR, else in /tmp.
     *     "unix:PATH"        a Unix socket
     *     "tcp:PORT"         a port of 127.0.0.1; 0: any that is free
     *     "tcp:NUMBER:PORT"  a port of that address: "tcp:[::1]:8080", "tcp:0.0.0.0:8080"
     */
    const char *address;
    /* The secret in the path of a port; copied: 16 to 64 letters, digits, - or _. NULL: a random one, of 128 bits. With
     * one of your own, a page that is open takes up again when the program was restarted. */
    const char *token;
    const char *name;                 /* of the program, for people; copied. NULL: as it was called */
    const verge_allocator *allocator; /* NULL: verge_allocator_default() */
} verge_scope_options;

VERGE_API int verge_scope_options_init_sized(verge_scope_options *options, size_t struct_size);

static inline int verge_scope_options_init(verge_scope_options *options) {
    return verge_scope_options_init_sized(options, sizeof(*options));
}

/*
 * Starts to serve. service and runtime may be NULL; of a runtime, what is shown are the timers of its tasks. Both have
 * to stay until verge_scope_stop. A socket that a program has left behind at this path is replaced.
 * -EINVAL: an option or address that makes no sense; -EBUSY: another scope shows the service; -EADDRINUSE and others:
 * the system's, of bind(2) and so on; -EAGAIN: no thread; -ENOMEM.
 */
VERGE_API VERGE_MUST_USE int verge_scope_start(verge_service *service, verge_runtime *runtime,
                                               const verge_scope_options *options, verge_scope **ret_scope);

/* Ends it: clients are disconnected, a Unix socket is removed, wheels are forgotten. Waits for its thread, for a
 * moment. NULL is allowed. */
VERGE_API int verge_scope_stop(verge_scope *scope);

/* What to give to a browser ("http://127.0.0.1:43210/TOKEN/") or, of a Unix socket, to `verge scope` ("unix:PATH"). It
 * stays until verge_scope_stop. */
VERGE_API const char *verge_scope_address(const verge_scope *scope);

/*
 * A wheel without a service. Its owner publishes what is to be seen; scope reads nothing of the wheel itself. add and
 * remove are for any thread, publish for the one that uses the wheel: after each poll, say. While nobody looks, publish
 * is a comparison; while somebody does, it copies the wheel's statistics four times a second at most. name is copied.
 * -EINVAL; -ENOSPC: VERGE_SCOPE_WHEELS_MAX; -ENOMEM. After remove, ret_wheel is gone. The wheel may go before that, if
 * it is not published any more.
 */
VERGE_API VERGE_MUST_USE int verge_scope_add_wheel(verge_scope *scope, const char *name, verge_scope_wheel **ret_wheel);
VERGE_API int verge_scope_publish(verge_scope_wheel *shown, const verge_wheel *wheel);
VERGE_API int verge_scope_remove_wheel(verge_scope_wheel *shown);

#ifdef __cplusplus
}
#endif

#endif
