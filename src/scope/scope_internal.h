/* SPDX-License-Identifier: MIT */
/*
 * scope/scope_internal.h - what a scope is made of.
 *
 * Which thread may touch what
 *   scope's thread   everything that is not named below. Its tasks (server.c) run one at a time, so they need no lock.
 *   any thread       the fields after `lock`, and `acting` of a panel, under `lock`. Scope's thread holds `lock` while
 *                    it calls `ask` or `list` of a panel, but not while it calls `act`.
 *   a wheel's owner  the picture and figures of its verge_scope_wheel: the owner writes, scope's thread reads.
 *   look             scope's thread stores it (relaxed), the owners of wheels load it (relaxed). A new value only
 *                    tells them that it is time for a new picture.
 */
#ifndef VERGE_SRC_SCOPE_SCOPE_INTERNAL_H
#define VERGE_SRC_SCOPE_SCOPE_INTERNAL_H

#include <pthread.h>

#include "scope/address.h"
#include "scope/text.h"
#include "scope/view.h"
#include "verge/io.h"
#include "verge/scope.h"

#define VERGE__LOOK_EVERY_NS UINT64_C(250000000)

enum { VERGE__VIEW_SERVICE, VERGE__VIEW_TASKS, VERGE__VIEW_COUNT };

struct verge_scope_wheel {
    verge_scope *scope;
    char name[VERGE__NAME_SIZE];
    uint64_t look_seen; /* only the owner uses it */
    verge__picture picture;
    _Atomic uint64_t timers, scheduled, cancelled, expired, bytes;
};

struct verge_scope_panel {
    verge_scope *scope;
    char name[VERGE__NAME_SIZE];
    verge_scope_ask ask;
    void (*release)(void *context);
    void *context;
    verge_scope_list list; /* NULL: the panel has no items, and act is NULL */
    verge_scope_act act;
    uint64_t number; /* no other panel of this scope ever has it */
    uint32_t acting; /* under the scope's lock: how many calls of act are under way */
    /* only for scope's thread: figures of the last look */
    uint64_t asked_ns; /* 0: the panel was not asked since somebody began to look */
    uint64_t values[VERGE_SCOPE_FIGURES_MAX];
    double rates[VERGE_SCOPE_FIGURES_MAX];
};

/* A text that is sent to several clients, each at its own pace. */
typedef struct verge__message {
    size_t holders;
    verge__text text;
} verge__message;

struct verge_scope {
    verge_allocator allocator;
    verge_runtime *watched_tasks; /* the user's runtime, or NULL */
    char name[VERGE__NAME_SIZE];
    verge__listener listener;
    verge__service_view *views[VERGE__VIEW_COUNT]; /* NULL: there is no such service */

    verge_runtime *runtime; /* scope's own */
    pthread_t thread;
    uint64_t began_ns;
    struct verge__client *clients; /* the oldest first */
    uint32_t client_count;         /* does not count clients whose place a newer one has taken (pushed_out_count) */
    uint32_t pushed_out_count;
    uint64_t poke_ns; /* when the next poke is due */
    uint64_t random;
    uint64_t look_until_ns; /* a client wants looks until then */
    _Atomic uint64_t look;
    uint64_t look_count;     /* looks since somebody began to look; 0: nobody looks */
    verge__message *message; /* of the last look; NULL: there is none */
    uint64_t message_count;
    verge_mutex mutex; /* held by tasks that wait for `changed` or `wanted` */
    verge_condition changed;
    verge_condition wanted;

    pthread_mutex_t lock;
    pthread_cond_t progress; /* signalled when begin_error has changed, or a call of act has ended */
    int begin_error;         /* under lock. 1: the thread has not begun; 0: it serves; negative: why it does not */
    verge_scope_wheel *wheels[VERGE_SCOPE_WHEELS_MAX];
    verge_scope_panel *panels[VERGE_SCOPE_PANELS_MAX];
    uint64_t panel_count; /* the last number that a panel got */
};

/* ---- snapshot.c ---- */

/* Writes all figures as JSON. */
void verge__scope_write(verge_scope *scope, uint64_t now_ns, verge__text *text);

/* Writes the figures of the last ten minutes as JSON, second by second. */
void verge__scope_write_history(const verge_scope *scope, verge__text *text);

/* Writes the details of a source as JSON. */
void verge__scope_write_detail(const verge__service_view *view, uint32_t index, const verge__detail *detail,
                               verge__text *text);

/* Writes the text of verge/metrics.h. */
void verge__scope_write_metrics(verge_scope *scope, verge__text *text);

/* ---- panel.c ---- */

/* Writes the figures and items of all panels. Adds a trouble (trouble.h) for each figure that is one. */
struct verge__troubles;
void verge__scope_write_panels(verge_scope *scope, uint64_t now_ns, verge__text *text,
                               struct verge__troubles *troubles);

/* Lets the panel with this number act, and returns the result of its `act`. -ENOENT: there is no such panel, or it has
 * no items. */
int verge__scope_act(verge_scope *scope, uint64_t number, uint64_t item, const char *action);

/* Called when nobody looks any more. The rates begin anew with the next look. */
void verge__scope_reset_panels(verge_scope *scope);

/* Removes all panels, when the scope ends. */
void verge__scope_forget_panels(verge_scope *scope);

/* ---- watch.c ---- */

/* The task that looks: four times a second while a client wants that. It also pokes, and notes the figures of each
 * second. */
intptr_t verge__scope_watch(void *argument);

/* Starts the looks, or keeps them going, for the next 5 seconds. */
void verge__scope_want_looks(verge_scope *scope);

/* Waits for a message that is newer than *number, and sets *number to its number. The caller holds the message until it
 * calls verge__scope_release_message. -ETIMEDOUT, -ECANCELED. */
int verge__scope_next_message(verge_scope *scope, uint64_t *number, uint64_t deadline_ns, verge__message **ret_message);

/* message may be NULL. */
void verge__scope_release_message(verge_scope *scope, verge__message *message);

/* Whether every timer was seen at least once, and rates are known. */
bool verge__scope_has_all_figures(const verge_scope *scope);

/* ---- server.c ---- */

/* The first task of scope's thread. */
intptr_t verge__scope_serve(void *argument);

/* ---- scope.c ---- */

/* Tells verge_scope_create that the thread serves, or why it does not. Only the first call counts. */
void verge__scope_begin(verge_scope *scope, int error);

/* ---- the page: made from page.html when verge is built ---- */

extern const unsigned char verge__page[];
extern const size_t verge__page_size;
extern const char verge__page_tag[];    /* ETag */
extern const char verge__page_policy[]; /* Content-Security-Policy */

#endif
