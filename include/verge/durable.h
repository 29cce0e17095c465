/* SPDX-License-Identifier: MIT */
/*
 * verge/durable.h - timers that survive the process, kept in SQLite (a file) or in PostgreSQL (shared by many
 * machines). A library of its own: link verge-durable.
 *
 * Words
 *   store      the database that has the timers. Times are ns since 1970 on the clock of the store ("store time").
 *   handler    a function with a name. Rows name it, so that programs may change while timers wait.
 *   node       one verge_durable that is open. A node that is not a client owns shards, and fires their timers.
 *   shard      a part of the timers; the number of shards is fixed when the schema is made.
 *   lease      how long a node that is silent keeps its shards.
 *   epoch      a number of each shard. It grows whenever the shard changes hands; who has an old one is refused.
 *   window     what is in memory: the timers of a node's shards that are due soon.
 *   attempt    one run of a handler for one timer; the first is attempt 1.
 *   dead       a timer that was given up: it keeps its row, elsewhere, until somebody retries or deletes it.
 *
 * Promises
 *   D1 durable        when schedule returns 0, the timer is on disk, as the store understands it.
 *   D2 at least once  from then on its handler is called until it returns VERGE_DURABLE_DONE or VERGE_DURABLE_DEAD, the
 *                     attempts are used up, or it is cancelled; however processes, machines and the server die. What a
 *                     handler writes through verge_durable_transaction happens exactly once.
 *   D3 never early    the clock of the store decides, inside the statement that fires, whatever a machine's own clock
 *                     says.
 *   D4 fenced         a node that has lost a shard, even without knowing it, cannot fire or complete timers of it.
 *   D5 verdicts       of cancel and reset. 0: it will not run, or not before the new time. VERGE_RUNNING: its handler
 *                     is executing now. -ENOENT: it has run, was cancelled, or never was.
 *   D6 lateness       of a timer that a node has scheduled into a shard of its own: the precision and one commit. Of
 *                     one that another process has scheduled: the time of a notification (PostgreSQL), rescan_ns at
 *                     worst. After the death of a node: lease_ns + rescan_ns.
 *   D7 idempotent     a schedule that returned -EREMOTEIO (the connection broke in commit, nobody knows) can be
 *                     repeated with the id that it gave: while the timer is pending, there is one, not two.
 *
 * Calls may be made from any thread; those that talk to the store block it until the store has answered. From a task
 * (verge/task.h) they suspend the task instead. In a handler with a transaction they are a part of that transaction.
 * All of them return:
 *   -EHOSTUNREACH  the store could not be reached for patience_ns; nothing has changed
 *   -EREMOTEIO     whether it has been done is not known
 *   -ENOSPC, -EIO  the store's disk is full or broken; nothing has changed
 *   -EPROTO        the tables are not verge's, or of a version that this library cannot use
 *   -ESHUTDOWN     it is being closed
 *   -ECANCELED, -ETIMEDOUT  in a task that was cancelled, or whose deadline scope is over; nothing has changed
 */
#ifndef VERGE_DURABLE_H
#define VERGE_DURABLE_H

#include <stdbool.h>

#include "verge/histogram.h"
#include "verge/interval.h"
#include "verge/metrics.h"
#include "verge/service.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct verge_durable verge_durable;
typedef uint64_t verge_durable_id; /* never 0, and never used again */

enum {
    VERGE_DURABLE_SHARDS_MAX = 256,
    VERGE_DURABLE_HANDLERS_MAX = 256,
    VERGE_DURABLE_HANDLER_NAME_MAX = 64, /* characters: letters, digits, '.', '_', '-' */
    VERGE_DURABLE_KEY_MAX = 255,         /* bytes, of any kind */
    VERGE_DURABLE_PAYLOAD_MAX = 1 << 20, /* bytes, of any kind */
    VERGE_DURABLE_SCHEMA_VERSION = 2,    /* that this library makes */
};

/* ---- open and close ---- */

typedef struct verge_durable_options {
    size_t struct_size;    /* set by verge_durable_options_init */
    const char *url;       /* "sqlite:/var/lib/app/timers.db", or what libpq takes: "postgresql:///app" */
    const char *name;      /* of the node, for people. NULL: the machine's name and the process id */
    bool client;           /* owns no shards and runs no handlers: it schedules, cancels and looks */
    bool create;           /* makes the tables if there are none, and migrates older ones */
    uint32_t shard_count;  /* of tables that are made; 1 to VERGE_DURABLE_SHARDS_MAX */
    uint32_t runners;      /* threads that run handlers; 1 to 64 */
    uint32_t batch;        /* timers fired in one transaction, at most; 1 to 4096 */
    size_t window_max;     /* timers in memory, at most; at least 2 * batch */
    uint64_t precision_ns; /* of the timers in memory; a power of two, at most 2^32 */
    uint64_t lease_ns;     /* at least 300 ms. A handler with a transaction must not take longer */
    uint64_t horizon_ns;   /* how far ahead timers are in memory */
    uint64_t rescan_ns;    /* how often the window is read again; at most horizon_ns */
    uint64_t patience_ns;  /* how long a call waits for a store that cannot be reached */
} verge_durable_options;

VERGE_API int verge_durable_options_init_sized(verge_durable_options *options, size_t struct_size);

static inline int verge_durable_options_init(verge_durable_options *options) {
    return verge_durable_options_init_sized(options, sizeof(*options));
}

/*
 * What init sets: 64 shards, 2 runners, a batch of 256, 131,072 timers in memory, 2^20 ns, a lease of 10 s, a horizon
 * of 5 s, a rescan every 2 s, 30 s of patience. -EINVAL: an option or the URL makes no sense. -EPROTONOSUPPORT: this
 * library was built without that store. -ENOENT: there are no tables, and create is not set. -EPROTO: see above.
 * -EACCES, -EHOSTUNREACH. Timers are fired from now on; those of a handler that is not registered wait until it is.
 */
VERGE_API VERGE_MUST_USE int verge_durable_open(const verge_durable_options *options, verge_durable **ret_durable);

/*
 * No handler begins any more; waits for those that run, gives the shards back, so that other nodes need not wait for
 * the lease, and frees everything. -ETIMEDOUT: handlers were still running after grace_ns (VERGE_NEVER: no limit). Then
 * nothing was freed, and close is to be called again. -EDEADLK in a handler. NULL is allowed.
 */
VERGE_API int verge_durable_close(verge_durable *durable, uint64_t grace_ns);

/* Store time as far as it is known here: the store's clock has reached it. 0: no answer of the store has come yet. */
VERGE_API uint64_t verge_durable_now(const verge_durable *durable);

/* ---- handlers ---- */

typedef struct verge_durable_firing {
    verge_durable *durable;
    verge_durable_id id;
    const char *handler;
    const void *key; /* NULL: it has none */
    size_t key_size;
    const void *payload;
    size_t payload_size;
    uint64_t due_ns;
    uint64_t now_ns;  /* store time when it was fired: never before due_ns */
    uint64_t missed;  /* periodic: ticks before this one that are given up */
    uint32_t attempt; /* 1: the first */
    void *context;    /* as registered */
    void *internal;
} verge_durable_firing;

typedef enum verge_durable_verdict {
    VERGE_DURABLE_DONE = 0, /* the timer is gone; a periodic one has its next tick */
    VERGE_DURABLE_RETRY,    /* what was written through the transaction is undone, and the timer fires again later */
    VERGE_DURABLE_DEAD,     /* undone as well, and the timer is given up */
} verge_durable_verdict;

typedef verge_durable_verdict (*verge_durable_handler)(const verge_durable_firing *firing);

/*
 * The transaction that deletes the timer: sqlite3 * or PGconn *. What is written through it is committed together with
 * the firing. Only inside the handler, on its thread; the handler neither ends the transaction nor begins another one,
 * but may have savepoints. NULL: the handler was registered to run outside.
 */
VERGE_API void *verge_durable_transaction(const verge_durable_firing *firing);

/* If this attempt returns VERGE_DURABLE_RETRY: the next one is so much later, instead of what the backoff says. */
VERGE_API void verge_durable_retry_after(const verge_durable_firing *firing, uint64_t delay_ns);

typedef struct verge_durable_handler_options {
    size_t struct_size;            /* set by verge_durable_handler_init */
    verge_durable_handler handler; /* not NULL */
    void *context;
    bool outside;          /* runs without a transaction: for what takes long. It may take run_ns */
    uint64_t run_ns;       /* outside: after so long, a handler that has not returned counts as lost, and runs again */
    uint32_t attempts_max; /* then the timer is dead; 0: no limit */
    uint64_t
        backoff_first_ns; /* before the second attempt; doubles, up to backoff_max_ns; each is drawn between half of it
                                  and all of it */
    uint64_t backoff_max_ns;
    uint64_t age_max_ns;  /* a timer that is later than this is not run but dead: after an outage. 0: no limit */
    uint32_t concurrency; /* threads of this node that run it at one time; 0: no limit */
    uint32_t rate;        /* runs a second on this node; 0: no limit */
} verge_durable_handler_options;

VERGE_API int verge_durable_handler_init_sized(verge_durable_handler_options *options, size_t struct_size);

static inline int verge_durable_handler_init(verge_durable_handler_options *options) {
    return verge_durable_handler_init_sized(options, sizeof(*options));
}

/*
 * What init sets: in the transaction, run_ns of 60 s, 20 attempts, backoff from 1 s to 1 h, no limits. All nodes of one
 * store should register the same names. -EINVAL: the name or an option; -EEXIST: the name is registered; -ENOSPC: too
 * many.
 */
VERGE_API VERGE_MUST_USE int verge_durable_register(verge_durable *durable, const char *name,
                                                    verge_durable_handler handler, void *context);
VERGE_API VERGE_MUST_USE int verge_durable_register_with(verge_durable *durable, const char *name,
                                                         const verge_durable_handler_options *options);

/* ---- timers ---- */

/* All of it zero but for the handler: once, now, without key or payload. */
typedef struct verge_durable_request {
    const char *handler; /* need not be registered here */
    uint64_t due_ns;     /* store time; 0: delay_ns from now, by the clock of the store */
    uint64_t delay_ns;
    const void *key; /* of one handler's timers, at most one is pending with a given key; NULL: none */
    size_t key_size; /* 0: the key is text that ends with a 0 */
    const void *payload;
    size_t payload_size;
    uint64_t period_ns;           /* 0: once. Else it fires again, a period after the time at which it was due */
    verge_interval_policy policy; /* periodic: what becomes of ticks that were missed */
    verge_durable_id id;          /* 0, unless it repeats a schedule that returned -EREMOTEIO (D7) */
    uint64_t reserved[4];         /* 0 */
} verge_durable_request;

/*
 * *ret_id, which may be NULL, is also set if the call returns -EREMOTEIO. -EEXIST: a timer with that key is pending.
 * -EINVAL; -ENAMETOOLONG: the key; -EMSGSIZE: the payload; -EOVERFLOW: a time beyond 2^63 - 1. Calls of several threads
 * and tasks share commits.
 */
VERGE_API VERGE_MUST_USE int verge_durable_schedule(verge_durable *durable, const verge_durable_request *request,
                                                    verge_durable_id *ret_id);

/* All or none, in one commit, but for those whose key is taken: their id is 0. ret_ids may be NULL. Returns how many
 * were scheduled. */
VERGE_API VERGE_MUST_USE int verge_durable_schedule_many(verge_durable *durable, const verge_durable_request *requests,
                                                         size_t count, verge_durable_id *ret_ids);

/* In a transaction of the caller's: sqlite3 * or PGconn *, of the same database. The timer exists when that is
 * committed. */
VERGE_API VERGE_MUST_USE int verge_durable_schedule_in(verge_durable *durable, void *transaction,
                                                       const verge_durable_request *request, verge_durable_id *ret_id);

/* From any node. See D5. Cancelled, a running handler that is outside does not run again; one in its transaction may,
 * if it returns VERGE_DURABLE_RETRY or is periodic. */
VERGE_API VERGE_MUST_USE int verge_durable_cancel(verge_durable *durable, verge_durable_id id);
VERGE_API VERGE_MUST_USE int verge_durable_reset(verge_durable *durable, verge_durable_id id, uint64_t due_ns);

/* The id of the timer that is pending with this key; -ENOENT. */
VERGE_API VERGE_MUST_USE int verge_durable_find(verge_durable *durable, const char *handler, const void *key,
                                                size_t key_size, verge_durable_id *ret_id);

typedef struct verge_durable_info {
    verge_durable_id id;
    uint64_t due_ns;
    uint64_t period_ns;
    uint64_t died_ns; /* 0: it is pending */
    uint32_t shard;
    uint32_t attempt; /* that have begun */
    bool is_running;  /* outside of a transaction */
    char handler[VERGE_DURABLE_HANDLER_NAME_MAX + 1];
    uint8_t key[VERGE_DURABLE_KEY_MAX];
    uint8_t key_size;
    char reason[64]; /* why it died; "" */
    size_t payload_size;
} verge_durable_info;

/* Of a timer that is pending or dead. payload gets up to size bytes of what it carries; -ENOENT. */
VERGE_API VERGE_MUST_USE int verge_durable_get(verge_durable *durable, verge_durable_id id,
                                               verge_durable_info *ret_info, void *payload, size_t size);

/* Up to count timers whose id is above after, in the order of their ids: those that are pending, or those that are
 * dead. Returns how many. */
VERGE_API VERGE_MUST_USE int verge_durable_list(verge_durable *durable, bool dead, verge_durable_id after,
                                                verge_durable_info *ret_infos, size_t count);

/* Lets a dead timer fire again, now, with all its attempts; or forgets it. -ENOENT; -EEXIST: its key is taken. */
VERGE_API VERGE_MUST_USE int verge_durable_retry(verge_durable *durable, verge_durable_id id);
VERGE_API VERGE_MUST_USE int verge_durable_forget(verge_durable *durable, verge_durable_id id);

/* ---- the schema ---- */

/* Makes the tables, or brings those of an older version up to date. 0 also if there is nothing to do. -EPROTO: they are
 * of a newer version, or not verge's. */
VERGE_API VERGE_MUST_USE int verge_durable_migrate(const char *url, uint32_t shard_count);

/* Looks for rows that cannot be verge's: returns how many there are, and text describes the first, as much of it as
 * fits. */
VERGE_API VERGE_MUST_USE int verge_durable_check(verge_durable *durable, char *text, size_t size);

/* ---- statistics ---- */

typedef struct verge_durable_stats {
    size_t struct_size; /* set by the caller */
    uint64_t scheduled;
    uint64_t cancelled;
    uint64_t reset;
    uint64_t done; /* firings whose handler returned VERGE_DURABLE_DONE, and that were committed */
    uint64_t retried;
    uint64_t died;
    uint64_t vanished; /* timers of the window that were gone when they were to be fired */
    uint64_t early;    /* that the store's clock found not to be due yet */
    uint64_t fenced;   /* firings that were refused: the shard had changed hands */
    uint64_t unknown;  /* timers seen whose handler is not registered here */
    uint64_t commits;  /* of calls: scheduled / commits is how well they share */
    uint64_t firings;  /* transactions that fired */
    uint64_t queries;  /* of the leases and the window */
    uint64_t connects; /* to the store, by all threads */
    uint64_t window;   /* timers in memory */
    uint64_t shards;   /* that this node owns */
    uint64_t nodes;    /* that are alive, as this one sees it */
} verge_durable_stats;

VERGE_API int verge_durable_get_stats(verge_durable *durable, verge_durable_stats *ret_stats);

/* Adds how late handlers began, in ns, by store time. */
VERGE_API int verge_durable_get_lateness(verge_durable *durable, verge_histogram *lateness);

/* What is in the store, counted there: takes time in proportion to it. */
VERGE_API VERGE_MUST_USE int verge_durable_count(verge_durable *durable, uint64_t *ret_pending, uint64_t *ret_overdue,
                                                 uint64_t *ret_dead);

/* The statistics as text for Prometheus, as the calls of verge/metrics.h: families verge_durable_... */
VERGE_API int verge_durable_metrics(verge_durable *durable, char *buffer, size_t size);

#ifdef __cplusplus
}
#endif

#endif
