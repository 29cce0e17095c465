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
 * programs. `verge scope --browser NAME` opens one of them in a browser, even a scope on a Unix socket. `verge scope
 * --connect NAME` shows the same figures in a terminal. See docs/SCOPE.md.
 *
 * Scope answers GET and HEAD of HTTP/1.1, for at most 16 clients: / (the page), /next (the figures of the next look, as
 * JSON), /snapshot (the same JSON, as soon as all figures are known), /events (the same JSON as server-sent events,
 * four a second), /history (the last ten minutes), /source/service/N and /source/tasks/N (the timers of a source),
 * /tasks (what each task does), /metrics (the text of verge/metrics.h).
 *
 * Promises
 *   V1 read only    no request changes anything, except POST /act/..., which asks a panel to act on an item that it
 *                   lists (verge_scope_act). Such a request must have the page's Origin.
 *   V2 private      a Unix socket has mode 0600. A port is open on the loopback only, unless the address names another
 *                   interface. Clients of a port must know the token in the path. A request is refused (403) if its
 *                   Host is neither numeric nor "localhost", or if its Origin is another page: this stops DNS
 *                   rebinding. Requests to a Unix socket are checked in this way, too, as ssh -L can lead a browser
 *                   there.
 *   V3 no harm      all work is done on one thread of scope's own, with limits and deadlines for each client. This
 *                   thread takes no lock that calls on timers take, and these calls never wait for it. If 16 clients
 *                   are connected, a new client replaces the oldest one whose request has not arrived.
 *   V4 cost         while nobody looks, calls on timers do nothing more than without scope. While somebody looks, each
 *                   worker takes samples at 64 random moments a second: it counts all or some of its next 256 starts,
 *                   cancels and firings by source. Scope reads at most 262,144 timers of the service a second, and as
 *                   many timers of the tasks.
 *   V5 truth        figures by source add up to the totals. Samples are scaled by the number of events on that worker.
 *                   A rate that comes from samples has bounds, which hold the true rate in 19 of 20 cases. Pending
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
    VERGE_SCOPE_CLIENTS_MAX = 16, /* one more gets status 503, unless it replaces another (V3) */
    VERGE_SCOPE_WHEELS_MAX = 64,
    VERGE_SCOPE_PANELS_MAX = 16,
    VERGE_SCOPE_FIGURES_MAX = 64, /* for each panel */
    VERGE_SCOPE_ITEMS_MAX = 64,   /* for each panel */
    VERGE_SCOPE_ACTIONS_MAX = 3,  /* for each item */
};

typedef struct verge_scope verge_scope;
typedef struct verge_scope_wheel verge_scope_wheel;
typedef struct verge_scope_panel verge_scope_panel;

typedef struct verge_scope_options {
    size_t struct_size; /* set by the caller; all defaults are zero (verge/base.h) */
    /*
     * Where scope listens. NULL: a Unix socket verge-PID.scope in $XDG_RUNTIME_DIR or, if that is not set, in /tmp.
     *     "unix:PATH"        a Unix socket
     *     "tcp:PORT"         a port of 127.0.0.1; 0: any free port
     *     "tcp:NUMBER:PORT"  a port of a numeric address: "tcp:[::1]:8080", "tcp:0.0.0.0:8080"
     * A scope that listens elsewhere writes its address to a file verge-PID-N.scope with mode 0600, in the folder of
     * the default socket. So `verge scope` finds this scope, too.
     */
    const char *address;
    /* The secret in the path of a TCP address: 16 to 64 letters, digits, - or _. It is copied. NULL: a random token of
     * 128 bits. With a token of your own, an open page reconnects after the program was restarted. */
    const char *token;
    const char *name;                 /* the name of the program, for people; copied. NULL: the name of its file */
    const verge_allocator *allocator; /* NULL: verge_allocator_default() */
} verge_scope_options;

/* Tells why options are refused. Returns 0 and an empty text if verge_scope_create accepts them. Otherwise returns the
 * error of verge_scope_create, -EINVAL or -ENAMETOOLONG, and writes a sentence that names the field and the reason, cut
 * to size bytes. 128 bytes are enough, unless the address is long. */
VERGE_API int verge_scope_options_explain(const verge_scope_options *options, char *text, size_t size);

/*
 * Starts to serve the page. It shows the timers of the service, and those of the runtime's tasks. Either may be NULL.
 * While the scope exists, verge_service_destroy and verge_runtime_destroy return -EBUSY for them. If an earlier program
 * has left a socket at the path of the address, this socket is replaced. -EINVAL, -ENAMETOOLONG: see
 * verge_scope_options_explain. -EBUSY: another scope shows the service or the runtime. -EADDRINUSE and others: errors
 * of bind(2) and other system calls. -EAGAIN: no thread could be started. -ENOMEM.
 */
VERGE_API VERGE_MUST_USE int verge_scope_create(verge_service *service, verge_runtime *runtime,
                                                const verge_scope_options *options, verge_scope **ret_scope);

/* Disconnects the clients, waits until scope's thread has ended, and removes the socket, the panels and the wheels.
 * NULL is allowed. */
VERGE_API int verge_scope_destroy(verge_scope *scope);

/* Returns the address for a browser ("http://127.0.0.1:43210/TOKEN/"). For a Unix socket, returns the address for
 * `verge scope` ("unix:PATH"). The text is valid until verge_scope_destroy. */
VERGE_API const char *verge_scope_address(const verge_scope *scope);

/*
 * Shows a wheel that belongs to no service. The wheel's owner publishes it (verge_scope_publish); scope never reads the
 * wheel itself. name is copied. From any thread. -EINVAL: an argument is NULL. -ENOSPC: there are
 * VERGE_SCOPE_WHEELS_MAX wheels already. -ENOMEM.
 */
VERGE_API VERGE_MUST_USE int verge_scope_add_wheel(verge_scope *scope, const char *name, verge_scope_wheel **ret_wheel);

/* While somebody looks, copies the wheel's statistics, at most four times a second. While nobody looks, the call is
 * only a comparison. Call it in the thread that uses the wheel, for example after each poll. -EINVAL: an argument is
 * NULL. */
VERGE_API int verge_scope_publish(verge_scope_wheel *shown, const verge_wheel *wheel);

/* Removes a wheel from the page, and frees `shown`. You may destroy the wheel itself earlier, if you do not publish it
 * any more. From any thread. -EINVAL: shown is NULL. */
VERGE_API int verge_scope_remove_wheel(verge_scope_wheel *shown);

/*
 * A panel has figures of the program's own, or of another library (verge_durable_show). Scope asks for them while
 * somebody looks, four times a second at most.
 */
typedef enum verge_scope_unit {
    VERGE_SCOPE_COUNT = 0, /* how many there are */
    VERGE_SCOPE_TOTAL,     /* how many there have been so far: shown with the rate a second */
    VERGE_SCOPE_NS,        /* a duration. If `of` is not 0, a value of 0 is a warning */
    VERGE_SCOPE_YES_NO,    /* 0: no, a warning; otherwise yes */
    VERGE_SCOPE_PART,      /* a part of a whole: shown on a line of its own, below the other figures */
} verge_scope_unit;

typedef struct verge_scope_figure {
    const char *name; /* must stay valid until the panel is removed; of a PART, until ask is called again */
    verge_scope_unit unit;
    uint64_t value;
    uint64_t of;      /* COUNT and NS: the largest possible value; 0: there is no bound. PART: the whole */
    const char *text; /* PART: more about it, or NULL. It must stay valid until ask is called again */
} verge_scope_figure;

/*
 * Writes up to count figures and returns how many. The figures and their order must be the same each time. Only PARTs,
 * which come last, may come and go. Scope calls the function on scope's thread. The function may take a lock for a
 * moment, but must not wait, nor add or remove panels.
 */
typedef size_t (*verge_scope_ask)(void *context, verge_scope_figure *ret_figures, size_t count);

/*
 * A panel may also list things that people can act on: verge_durable_show lists timers that are overdue or dead. The
 * page shows each with a button for each action, and asks for a confirmation.
 */
typedef struct verge_scope_item {
    uint64_t id;
    const char *group;                            /* a heading, such as "Dead". Items of a group follow each other */
    const char *name;                             /* shown to people */
    const char *text;                             /* more about it, or NULL */
    const char *actions[VERGE_SCOPE_ACTIONS_MAX]; /* words of small letters, such as "retry"; then NULL */
} verge_scope_item;

/* Writes up to count items and returns how many. Scope calls the function like ask. The texts of the items must stay
 * valid until the function is called again. */
typedef size_t (*verge_scope_list)(void *context, verge_scope_item *ret_items, size_t count);

/*
 * Acts on an item. Scope calls it for a POST that has the page's token and Origin; the page sends one after somebody
 * has confirmed. The function must check id and action, as a POST may have any number and any word. It runs in a task
 * (verge/task.h) on scope's thread, so it may wait as tasks do, but must not remove its panel. It returns 0, or an
 * error, which the page shows in words.
 */
typedef int (*verge_scope_act)(void *context, uint64_t id, const char *action);

/* What a panel is made of. name and ask are needed; any other field may be NULL. */
typedef struct verge_scope_panel_options {
    size_t struct_size; /* set by the caller */
    const char *name;   /* copied */
    verge_scope_ask ask;
    void *context; /* the functions get it */
    /* Called once, when none of the other functions will be called any more: in verge_scope_remove_panel or, for panels
     * that are left, in verge_scope_destroy. */
    void (*release)(void *context);
    verge_scope_list list; /* items. list and act are both set, or neither */
    verge_scope_act act;
} verge_scope_panel_options;

/* Adds a panel. From any thread. -EINVAL: an argument or an option makes no sense. -ENOSPC: there are
 * VERGE_SCOPE_PANELS_MAX panels already. -ENOMEM. After an error, `release` is not called. */
VERGE_API VERGE_MUST_USE int verge_scope_add_panel(verge_scope *scope, const verge_scope_panel_options *options,
                                                   verge_scope_panel **ret_panel);

/* Removes a panel, and frees it. Waits for calls of its functions that are under way. -EINVAL: panel is NULL. */
VERGE_API int verge_scope_remove_panel(verge_scope_panel *panel);

#ifdef __cplusplus
}
#endif

#endif
