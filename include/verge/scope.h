/* SPDX-License-Identifier: MIT */
/*
 * verge/scope.h - shows the timers of a program on a page in the browser. The program itself serves the page.
 *
 *     verge_scope *scope;
 *     if (verge_scope_create(service, NULL, NULL, &scope) == 0) puts(verge_scope_address(scope));
 *     ...
 *     verge_scope_destroy(scope);                    -- before verge_service_destroy
 *
 * The page shows what is wrong now, who has started timers (by label, or by the callback's name), when they are due,
 * how late they were, what each worker does, and how full the wheels are. `verge scope` lists the scopes of your
 * programs, `verge scope --browser NAME` opens one that is a Unix socket in a browser, and `verge scope --connect NAME`
 * shows the same in a terminal. See docs/SCOPE.md.
 *
 * Scope answers GET and HEAD of HTTP/1.1, for at most 16 clients: / (the page), /next (the next look, a JSON text),
 * /snapshot (the same, when all figures are known), /events (server-sent events, four a second, each such a text),
 * /history (the last ten minutes), /source/service/N and /source/tasks/N (the timers of a source), /tasks (what each
 * task does), /metrics (the text of verge/metrics.h).
 *
 * Promises
 *   V1 read only    no request changes anything, but for POST /act/..., by which the page lets a panel act on an item
 *                   that it lists (verge_scope_set_items). Such a request must have the page's Origin.
 *   V2 private      a Unix socket has mode 0600. A port accepts connections on the loopback only, unless the address
 *                   names another one. There, a client must know the token in the path. A request is refused (403) if
 *                   its Host is neither numeric nor "localhost", or if its Origin is another page: this stops DNS
 *                   rebinding. That goes for Unix sockets, too, as ssh -L leads browsers there.
 *   V3 no harm      all work is done on one thread of scope's own, with limits and deadlines for each client. It takes
 *                   no lock that calls on timers take, and no such call waits for scope. If all places are taken, a new
 *                   client takes that of the oldest one whose request has not arrived.
 *   V4 cost         while nobody looks, calls on timers do nothing more than without scope. While somebody looks, a
 *                   worker takes samples at 64 random moments a second: of its next 256 starts, cancels and firings it
 *                   counts all or some by source. Scope reads at most 262,144 timers a second.
 *   V5 truth        figures by source add up to the totals. Samples are scaled by the number of events on that worker.
 *                   A rate that comes from samples has bounds, which hold the true one in 19 of 20 cases. Pending
 *                   timers are counted one by one.
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
    VERGE_SCOPE_CLIENTS_MAX = 16, /* further clients get status 503 */
    VERGE_SCOPE_WHEELS_MAX = 64,
    VERGE_SCOPE_PANELS_MAX = 16,
    VERGE_SCOPE_FIGURES_MAX = 64, /* of a panel */
    VERGE_SCOPE_ITEMS_MAX = 64,   /* of a panel */
    VERGE_SCOPE_ACTIONS_MAX = 3,  /* of an item */
};

typedef struct verge_scope verge_scope;
typedef struct verge_scope_wheel verge_scope_wheel;
typedef struct verge_scope_panel verge_scope_panel;

typedef struct verge_scope_options {
    size_t struct_size; /* set by verge_scope_options_init */
    /*
     * Where scope listens. NULL: a Unix socket verge-PID.scope in $XDG_RUNTIME_DIR or, if that is not set, in /tmp.
     *     "unix:PATH"        a Unix socket
     *     "tcp:PORT"         a port of 127.0.0.1; 0: any free port
     *     "tcp:NUMBER:PORT"  a port of a numeric address: "tcp:[::1]:8080", "tcp:0.0.0.0:8080"
     * A scope at another place than the default one leaves its address in the same folder, in a file verge-PID-N.scope
     * with mode 0600, so that `verge scope` finds it.
     */
    const char *address;
    /* The secret in the path of a TCP address: 16 to 64 letters, digits, - or _. Copied. NULL: a random one of 128
     * bits. With a token of your own, an open page reconnects after the program was restarted. */
    const char *token;
    const char *name;                 /* the name of the program, for people; copied. NULL: as it was started */
    const verge_allocator *allocator; /* NULL: verge_allocator_default() */
} verge_scope_options;

VERGE_API int verge_scope_options_init(verge_scope_options *options, size_t struct_size);

/* Why options are refused. 0: verge_scope_create accepts them, and text is empty. Otherwise its error, -EINVAL or
 * -ENAMETOOLONG, and text gets a sentence that names the field and the reason, cut to size bytes. 128 bytes are
 * enough, unless the address is long. */
VERGE_API int verge_scope_options_explain(const verge_scope_options *options, char *text, size_t size);

/*
 * Starts to serve the page. It shows the timers of the service, and those of the runtime's tasks. Either may be NULL.
 * Neither can be destroyed before verge_scope_destroy: their destroy returns -EBUSY. If an earlier program has left a
 * socket at this path, it is replaced. -EINVAL, -ENAMETOOLONG: see verge_scope_options_explain. -EBUSY: another scope
 * shows the service or the runtime. -EADDRINUSE and others: errors of bind(2) and other system calls. -EAGAIN: no
 * thread could be started. -ENOMEM.
 */
VERGE_API VERGE_MUST_USE int verge_scope_create(verge_service *service, verge_runtime *runtime,
                                                const verge_scope_options *options, verge_scope **ret_scope);

/* Disconnects the clients, removes the Unix socket, forgets the wheels, and waits for the end of its thread, which
 * takes a moment. NULL is allowed. */
VERGE_API int verge_scope_destroy(verge_scope *scope);

/* The address for a browser ("http://127.0.0.1:43210/TOKEN/") or, if it is a Unix socket, for `verge scope`
 * ("unix:PATH"). It is valid until verge_scope_destroy. */
VERGE_API const char *verge_scope_address(const verge_scope *scope);

/*
 * Shows a wheel that belongs to no service. Its owner publishes it; scope never reads the wheel itself. name is copied.
 * From any thread. -EINVAL: an argument makes no sense. -ENOSPC: there are VERGE_SCOPE_WHEELS_MAX wheels already.
 * -ENOMEM.
 */
VERGE_API VERGE_MUST_USE int verge_scope_add_wheel(verge_scope *scope, const char *name, verge_scope_wheel **ret_wheel);

/* While somebody looks, copies the wheel's statistics, at most four times a second. While nobody looks, it is one
 * comparison. Call it in the thread that uses the wheel, for example after each poll. -EINVAL. */
VERGE_API int verge_scope_publish(verge_scope_wheel *shown, const verge_wheel *wheel);

/* Shows it no more; `shown` is invalid then. The wheel may be destroyed before, if it is not published any more. From
 * any thread. -EINVAL. */
VERGE_API int verge_scope_remove_wheel(verge_scope_wheel *shown);

/*
 * A panel has figures of the program's own, or of another library (verge_durable_show). Scope asks for them while
 * somebody looks, four times a second at most.
 */
typedef enum verge_scope_unit {
    VERGE_SCOPE_COUNT = 0, /* how many there are */
    VERGE_SCOPE_TOTAL,     /* how many there have been so far: shown with the rate a second */
    VERGE_SCOPE_NS,        /* a duration; 0: none is shown */
    VERGE_SCOPE_YES_NO,    /* 0: no, which is shown as a warning */
    VERGE_SCOPE_PART,      /* one of several that share something: a line of its own, below the other figures */
} verge_scope_unit;

typedef struct verge_scope_figure {
    const char *name; /* has to stay until the panel is removed; that of a PART until ask is called again */
    verge_scope_unit unit;
    uint64_t value;
    uint64_t of;      /* COUNT and NS: the most that it can be; 0: there is no such bound. PART: all that is shared */
    const char *text; /* PART: more about it; NULL: nothing. It has to stay until ask is called again */
} verge_scope_figure;

/*
 * ask writes up to count figures and returns how many. It writes the same figures in the same order each time, except
 * PARTs: these come last, and may come and go. It runs on scope's thread, so it may take a lock for a moment, but must
 * not wait, nor add or remove panels. release, which may be NULL, is called once with the context when ask will not be
 * called any more: in verge_scope_remove_panel, or in verge_scope_destroy, which removes the panels that are left.
 * remove waits for an ask that runs. name is copied. -EINVAL; -ENOSPC: VERGE_SCOPE_PANELS_MAX; -ENOMEM. After an error
 * release is not called.
 */
typedef size_t (*verge_scope_ask)(void *context, verge_scope_figure *ret_figures, size_t count);

VERGE_API VERGE_MUST_USE int verge_scope_add_panel(verge_scope *scope, const char *name, verge_scope_ask ask,
                                                   void (*release)(void *context), void *context,
                                                   verge_scope_panel **ret_panel);
VERGE_API int verge_scope_remove_panel(verge_scope_panel *panel);

/*
 * A panel may also list things that people can act on: verge_durable_show lists timers that are overdue or dead. The
 * page shows each with a button for each action, and asks for a confirmation.
 */
typedef struct verge_scope_item {
    uint64_t id;
    const char *group;                            /* a heading: "Dead". Items of a group follow each other */
    const char *name;                             /* for people, as the texts below */
    const char *text;                             /* more about it; NULL: nothing */
    const char *actions[VERGE_SCOPE_ACTIONS_MAX]; /* words of small letters: "retry"; NULL: no more */
} verge_scope_item;

/*
 * list writes up to count items and returns how many. It is called like ask, and its texts have to stay until it is
 * called again. act does it, after somebody has confirmed: a POST with the page's token and its Origin. It runs in a
 * task (verge/task.h) on scope's thread, so it may wait as tasks do. It may be called with any id and any word. It
 * returns 0, or an error, which the page shows in words. verge_scope_remove_panel waits for it. -EINVAL: an argument is
 * NULL.
 */
typedef size_t (*verge_scope_list)(void *context, verge_scope_item *ret_items, size_t count);
typedef int (*verge_scope_act)(void *context, uint64_t id, const char *action);

VERGE_API int verge_scope_set_items(verge_scope_panel *panel, verge_scope_list list, verge_scope_act act);

#ifdef __cplusplus
}
#endif

#endif
