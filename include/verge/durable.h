/* SPDX-License-Identifier: MIT */
/*
 * verge/durable.h - timers that survive the process, kept in SQLite (a file) or in PostgreSQL (shared by many
 * machines). A library of its own: link verge-durable.
 *
 * Words
 *   store      the database that has the timers. Times are ns since 1970 on the clock of the store ("store time").
 *   handler    a function with a name. The row of a timer has this name, so that programs may change while timers wait.
 *   node       an open verge_durable. A node that is not a client owns shards, and fires their timers.
 *   shard      a part of the timers. The number of shards is fixed when the tables are created.
 *   lease      if a node is silent for longer than this, other nodes take its shards.
 *   epoch      a number of each shard. It grows with each new owner. The store refuses a node that has an old epoch.
 *   window     the timers of a node's shards that are due soon. They are in memory.
 *   attempt    one call of the handler for a timer; the first is attempt 1.
 *   dead       A dead timer was given up. It stays in a table of its own until somebody retries or deletes it.
 *
 * Promises
 *   D1 durable        when start returns 0, the timer is committed to the disk of the store.
 *   D2 at least once  from then on the handler is called until it returns VERGE_DURABLE_DONE or VERGE_DURABLE_DEAD, the
 *                     attempts are used up, or the timer is cancelled; even if processes, machines or the server die.
 *                     What a handler writes through verge_durable_transaction happens exactly once.
 *   D3 never early    the statement that fires a timer compares its time with the clock of the store. The clock of the
 *                     machine does not matter.
 *   D4 fenced         a node that has lost a shard cannot fire or complete timers of it, even if it does not know yet.
 *   D5 verdicts       cancel and reset return 0: the timer will not run, or not before the new time. VERGE_RUNNING: its
 *                     handler is running now; in a handler also: it is in the batch of this handler, and will run
 *                     next. -ENOENT: it has run, was cancelled, or never existed.
 *   D6 lateness       a timer that a node starts in a shard of its own is late by at most the precision and one
 *                     commit. A timer that another process started: by the time of a notification (PostgreSQL), or
 *                     rescan_ns at worst. After the death of a node: by lease_ns + rescan_ns. If more timers are due
 *                     within horizon_ns than window_max, one that is started now can wait for some of them.
 *   D7 idempotent     if start returns -EREMOTEIO, the connection broke during the commit, and nobody knows whether
 *                     the timer exists. Repeat the call with the id that it returned: this does not create a second
 *                     timer while the first is pending.
 *
 * Calls may be made from any thread. Those that talk to the store block the thread until the store has answered. In a
 * task (verge/task.h) they suspend the task instead. In a handler with a transaction they are part of that transaction.
 * All of them may return:
 *   -EHOSTUNREACH  the store could not be reached for patience_ns (open: at the first try); nothing has changed
 *   -EROFS         the server is a replica, or read-only; nothing has changed
 *   -EAGAIN        somebody's open transaction was in the way for patience_ns: it holds the key or, on SQLite, the
 *                  file. Or reading took longer than lease_ns. Nothing has changed
 *   -EREMOTEIO     it is not known whether the call took effect
 *   -ENOSPC, -EIO  the store's disk is full or broken; nothing has changed
 *   -EPROTO        the tables are not verge's, or have a version that this library cannot use
 *   -ESHUTDOWN     the node is being closed
 *   -ECANCELED, -ETIMEDOUT  the calling task was cancelled, or the deadline of its scope has come; nothing has changed
 * verge_durable_error gives the store's own words about it.
 */
#ifndef VERGE_DURABLE_H
#define VERGE_DURABLE_H

#include <stdbool.h>

#include "verge/histogram.h"
#include "verge/interval.h"
#include "verge/metrics.h"
#include "verge/recurrence.h"
#include "verge/scope.h"
#include "verge/service.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct verge_durable verge_durable;
typedef uint64_t verge_durable_id; /* never 0, and never used for another timer */

enum {
    VERGE_DURABLE_SHARDS_MAX = 256,
    VERGE_DURABLE_HANDLERS_MAX = 256,
    VERGE_DURABLE_HANDLER_NAME_MAX = 64, /* characters: letters, digits, '.', '_', '-' */
    VERGE_DURABLE_KEY_MAX = 255,         /* bytes, of any kind */
    VERGE_DURABLE_PAYLOAD_MAX = 1 << 20, /* bytes, of any kind */
    VERGE_DURABLE_SCHEMA_VERSION = 3,    /* of the tables that this library creates */
};

/* ---- words ---- */

/* What a node has to say to people. Each is said once: LOST is not repeated until the node was BACK. */
typedef enum verge_durable_event {
    VERGE_DURABLE_LOST = 0, /* the store cannot be reached, or refuses */
    VERGE_DURABLE_BACK,     /* the store answers again */
    VERGE_DURABLE_TAKEOVER, /* this node has taken shards of a node that had died */
    VERGE_DURABLE_FENCED,   /* this node has lost shards: it was silent for longer than its lease */
    VERGE_DURABLE_RESTORED, /* the store has an older state than before: a replica was promoted, a backup restored */
    VERGE_DURABLE_UNDONE,   /* the transaction of handlers was lost: one of them is slower than the lease, say */
    VERGE_DURABLE_DIED,     /* a timer was given up */
} verge_durable_event;

typedef struct verge_durable_message {
    verge_durable_event event;
    int error;           /* a negative errno, or 0 */
    verge_durable_id id; /* of a timer; 0: it is not about one */
    const char *handler; /* of that timer; NULL: it is not about one */
    const char *text;    /* what has happened, and what to do, in the words of the store if they are known */
} verge_durable_message;

/* Called by threads of the node, one at a time. It must not call functions of this node. What it is given is valid
 * until it returns. */
typedef void (*verge_durable_log)(void *context, const verge_durable_message *message);

/* Copies the store's own words about its last error in any call or thread of this node, as far as they fit; or why a
 * later call was refused before the store was asked. It is one line. durable NULL: about the last open, migrate or
 * contract of the calling thread that failed. Returns their length; 0: there was no error. */
VERGE_API int verge_durable_error(verge_durable *durable, char *text, size_t size);

/* ---- open and close ---- */

typedef struct verge_durable_options {
    size_t struct_size;      /* set by verge_durable_options_init */
    const char *url;         /* "sqlite:/var/lib/app/timers.db", or what libpq takes: "postgresql:///app" */
    const char *name;        /* the name of the node, for people. NULL: the machine's name and the process id */
    bool client;             /* it owns no shards and runs no handlers: it only starts, cancels and reads timers */
    bool create;             /* creates the tables if there are none, and migrates older ones */
    uint32_t shard_count;    /* if tables are created: 1 to VERGE_DURABLE_SHARDS_MAX */
    uint32_t firing_threads; /* threads that run handlers; 1 to 64 */
    uint32_t batch;          /* the most timers that fire in one transaction; 1 to 4096 */
    size_t window_max;       /* the most timers in memory; at least 2 * batch. Each handler with limits may have one */
    uint64_t precision_ns;   /* of the timers in memory; a power of two, at most 2^32 */
    uint64_t lease_ns;       /* at least 300 ms. A handler with a transaction must not take longer */
    uint64_t horizon_ns;     /* timers that are due within this time are in memory */
    uint64_t rescan_ns;      /* how often the window is read again; at most horizon_ns */
    uint64_t patience_ns;    /* how long a call waits for a store that cannot be reached */
    verge_durable_log log;   /* NULL: nobody listens */
    void *log_context;
} verge_durable_options;

VERGE_API int verge_durable_options_init(verge_durable_options *options, size_t struct_size);

/* 0 if open would accept the options; otherwise -EINVAL, and the text names the field and the reason. */
VERGE_API int verge_durable_options_explain(const verge_durable_options *options, char *text, size_t size);

/*
 * Opens a node. It fires timers from now on. Timers whose handler is not registered wait until it is.
 *
 * The defaults: 64 shards, 2 firing threads, a batch of 256, 131,072 timers in memory, a precision of 2^20 ns, a lease
 * of 10 s, a horizon of 5 s, a rescan every 2 s, 30 s of patience.
 *
 * -EINVAL: an option or the URL makes no sense (verge_durable_options_explain). -EPROTONOSUPPORT: this library was
 * built without that store. -ENOENT: there is no such file or database, or it has no tables, and create is not set.
 * -EPROTO: see above. -EACCES: the store refuses the user. -EOPNOTSUPP: a pooler in transaction mode is between this
 * program and the server. -EHOSTUNREACH, -EROFS, -EAGAIN. verge_durable_error(NULL, ...) says more.
 */
VERGE_API VERGE_MUST_USE int verge_durable_open(const verge_durable_options *options, verge_durable **ret_durable);

/*
 * Starts no more handlers, waits for those that run, gives the shards back, and frees everything. So other nodes need
 * not wait for the end of the lease. -ETIMEDOUT: handlers were still running after grace_ns (VERGE_NEVER: no limit).
 * Nothing was freed then: call close again. -EDEADLK: called in a handler. NULL is allowed.
 */
VERGE_API int verge_durable_close(verge_durable *durable, uint64_t grace_ns);

/* A time that the store's clock has reached (it may be later). 0: the store has not answered yet. */
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
    uint64_t now_ns; /* store time when it was fired: never before due_ns */
    uint64_t missed; /* periodic: how many ticks before this one were left out. By a rule: at most 10,000 are counted */
    uint32_t attempt; /* 1: the first, but for those that were not counted: see verge_durable_handler */
    void *context;    /* as registered */
    void *internal;
} verge_durable_firing;

typedef enum verge_durable_verdict {
    VERGE_DURABLE_DONE = 0, /* the timer has ended; a periodic one waits for its next tick */
    VERGE_DURABLE_RETRY,    /* what was written through the transaction is undone, and the timer fires again later. Of
                               a periodic timer without a rule, the next ticks are counted from that time on */
    VERGE_DURABLE_DEAD,     /* what was written through the transaction is undone, and the timer is given up */
} verge_durable_verdict;

/*
 * Timers fire in batches, in one transaction. If a process dies, or the connection is lost, the handlers of the whole
 * batch run once more. What they wrote through the transaction was undone, but not what they did outside of it, such as
 * to send a mail. Register a handler with such effects `outside`: then only its own effects can be repeated. And make
 * them idempotent, for example with the timer's id. An attempt that ended so is counted only if its timer was alone in
 * its batch. A handler must return: a C++ exception that leaves it ends the process
 * (verge/durable.hpp catches them).
 */
typedef verge_durable_verdict (*verge_durable_handler)(const verge_durable_firing *firing);

/*
 * The transaction that deletes the timer: sqlite3 * or PGconn *. What is written through it is committed together with
 * the firing. Use it only inside the handler, on its thread. The handler must neither end the transaction nor begin
 * another one, but may use savepoints. NULL: the handler was registered to run outside, or the store has failed; then
 * the timer fires again, whatever the handler returns.
 */
VERGE_API void *verge_durable_transaction(const verge_durable_firing *firing);

/* If this attempt returns VERGE_DURABLE_RETRY, the next one is delay_ns later; otherwise the backoff decides. */
VERGE_API void verge_durable_retry_after(const verge_durable_firing *firing, uint64_t delay_ns);

/*
 * A sign of life of a handler that runs outside: it counts as lost when it has not returned run_ns from now. Call it
 * from time to time on the thread of the handler. -ECANCELED: the timer was cancelled or moved, or another node runs
 * it. The handler should stop, and what it returns does not matter. -ESHUTDOWN: the time was extended, but
 * verge_durable_close waits for the handler, so it should stop soon. -EINVAL: the handler does not run outside.
 */
VERGE_API VERGE_MUST_USE int verge_durable_extend(const verge_durable_firing *firing, uint64_t run_ns);

/* Whether the handler should stop soon, and return VERGE_DURABLE_RETRY, say: verge_durable_close waits for it, or
 * verge_durable_extend has returned -ECANCELED. For every handler; it does not ask the store. */
VERGE_API bool verge_durable_should_stop(const verge_durable_firing *firing);

/* Of the timers that are due, a node runs those of handlers with a higher priority first. It does not interrupt a
 * handler. Timers with a low priority run when no others are due. For urgent timers of the same kind, register the
 * function once more under another name. */
typedef enum verge_durable_priority {
    VERGE_DURABLE_LOW = -1,
    VERGE_DURABLE_NORMAL = 0,
    VERGE_DURABLE_HIGH = 1,
} verge_durable_priority;

typedef struct verge_durable_handler_options {
    size_t struct_size;            /* set by verge_durable_handler_init */
    verge_durable_handler handler; /* not NULL */
    void *context;
    bool outside;          /* runs without a transaction: for handlers that take long, up to run_ns */
    uint64_t run_ns;       /* outside: a handler that has not returned after so long counts as lost, and runs again */
    uint32_t attempts_max; /* after so many attempts the timer is dead; 0: no limit */
    uint64_t
        backoff_first_ns; /* the delay before the second attempt. It doubles with each attempt, up to backoff_max_ns.
                                  The actual delay is a random one between half of it and all of it */
    uint64_t backoff_max_ns;
    uint64_t age_max_ns;  /* a timer that is late by more than this (after an outage) becomes dead. 0: no limit */
    uint32_t concurrency; /* threads of this node that run it at one time; 0: no limit */
    uint32_t rate;        /* calls a second on this node; 0: no limit. Of all nodes: verge_durable_limit */
    verge_durable_priority priority;
    uint32_t reserved; /* 0 */
} verge_durable_handler_options;

VERGE_API int verge_durable_handler_init(verge_durable_handler_options *options, size_t struct_size);

/*
 * The defaults: the handler runs in the transaction, run_ns is 60 s, there are 20 attempts, the backoff goes from 1 s
 * to 1 h, and nothing else is limited. All nodes of a store should register the same names. -EINVAL: the name or an
 * option makes no sense. -EEXIST: the name is registered already. -ENOSPC: there are too many handlers.
 */
VERGE_API VERGE_MUST_USE int verge_durable_register(verge_durable *durable, const char *name,
                                                    verge_durable_handler handler, void *context);
VERGE_API VERGE_MUST_USE int verge_durable_register_with(verge_durable *durable, const char *name,
                                                         const verge_durable_handler_options *options);

/* ---- handlers of all nodes ---- */

/*
 * What a handler is told in the whole cluster. It is kept in the store, until somebody changes it. The handler need not
 * be registered here. A node that does not know of a change yet learns of it by a notification (PostgreSQL), or when it
 * renews its lease: after rescan_ns at most. A node that is opened later knows it from the beginning.
 */
typedef struct verge_durable_control {
    char handler[VERGE_DURABLE_HANDLER_NAME_MAX + 1];
    bool is_paused;
    uint32_t concurrency; /* 0: no limit */
    uint32_t rate;        /* 0: no limit */
} verge_durable_control;

/* pause: timers of this handler wait, on all nodes. Handlers that run go on. resume: they fire again, now if they are
 * overdue. (With age_max_ns they may be too old then.) -EINVAL: the name makes no sense. -EPROTO: the tables are not
 * ready for this until verge_durable_contract was called, since older programs would not obey. */
VERGE_API VERGE_MUST_USE int verge_durable_pause(verge_durable *durable, const char *handler);
VERGE_API VERGE_MUST_USE int verge_durable_resume(verge_durable *durable, const char *handler);

/*
 * Limits for all nodes together, beside those of each node. concurrency: how many threads run the handler at one time.
 * A thread whose node has died counts until its lease is over; a handler that is slower than the lease, or outside than
 * run_ns, does not count any more. rate: calls a second, in the long run: a call that is late is not left out. 0: no
 * limit. Before such a handler runs, the node asks the store, which costs a commit. -EINVAL: the name makes no sense,
 * or the rate is above 10^9. -EPROTO: as for pause.
 */
VERGE_API VERGE_MUST_USE int verge_durable_limit(verge_durable *durable, const char *handler, uint32_t concurrency,
                                                 uint32_t rate);

/* Reads up to count handlers that are paused or have limits, in the order of their names. Returns how many. Nodes obey
 * the first VERGE_DURABLE_HANDLERS_MAX of them. */
VERGE_API VERGE_MUST_USE int verge_durable_list_controls(verge_durable *durable, verge_durable_control *ret_controls,
                                                         size_t count);

/* ---- timers ---- */

/* What start does if a timer with the same key is pending. If none is, it starts one. */
typedef enum verge_durable_conflict {
    VERGE_DURABLE_REFUSE = 0, /* it returns -EEXIST */
    VERGE_DURABLE_REPLACE,    /* the pending timer gets the new time, payload, period and rule, and all its attempts */
    VERGE_DURABLE_MOVE,       /* the pending timer gets the new time, and all its attempts; the rest stays */
} verge_durable_conflict;

/* If all fields but the handler are zero, the timer fires once, now, without key or payload. */
typedef struct verge_durable_request {
    const char *handler; /* need not be registered on this node */
    uint64_t due_ns;     /* store time; 0: delay_ns from now, by the clock of the store */
    uint64_t delay_ns;
    const void *key; /* a handler has at most one pending timer with a given key; NULL: no key */
    size_t key_size; /* 0: the key is text that ends with a 0 */
    const void *payload;
    size_t payload_size;
    uint64_t period_ns;                 /* 0: once. Otherwise it is due again one period after it was due, or retried */
    verge_interval_policy policy;       /* periodic, or with a rule: what happens to missed ticks */
    verge_durable_id id;                /* 0, unless it repeats a start that returned -EREMOTEIO (D7) */
    verge_durable_conflict on_conflict; /* with a key: if a timer with this key is pending, *ret_id is its id */
    uint32_t reserved_32;               /* 0 */
    const char *rule;                   /* NULL: none. Otherwise when it is due again; see below */
    uint64_t reserved[2];               /* 0 */
} verge_durable_request;

/*
 * A timer with a rule (verge/recurrence.h) recurs: "0 9 * * mon-fri Europe/Berlin". If due_ns and delay_ns are 0, it is
 * first due when the rule next comes, by the clock of the store; otherwise then, and from then on by its rule. The rule
 * is stored with the timer. The next tick is computed when a tick fires, on the machine that fires it and with the time
 * zones of that machine. So changed rules of a zone apply at the next tick. The policy says what happens to ticks that
 * were missed in an outage: BURST fires them one after the other, SKIP and DELAY fire once for all of them. If the
 * machine cannot read the time zone, the handler does not run: this counts as an attempt, and another node may succeed.
 */

/*
 * ret_id may be NULL. *ret_id is set on success, and also if the call returns -EREMOTEIO. -EEXIST: a timer with that
 * key is pending; or request->id is that of another timer, whatever on_conflict says. The key of a recurring timer is
 * taken while its handler runs, too: starting it there returns -EEXIST, whatever on_conflict says. So are, in a handler
 * with a transaction, the keys of the other timers of its batch that have not ended. -EINVAL: a field makes no sense,
 * the id is of a shard that does not exist, the rule is none (verge_recurrence_explain says why), or this machine does
 * not have its time zone. -EPROTO: the tables do not take rules until verge_durable_contract was called, since older
 * programs would lose them. -ENAMETOOLONG: the key is too long. -EMSGSIZE: the payload is too large. -EOVERFLOW: a time
 * is beyond 2^63 - 1. Calls that several threads and tasks make at the same time share commits.
 */
VERGE_API VERGE_MUST_USE int verge_durable_start(verge_durable *durable, const verge_durable_request *request,
                                                 verge_durable_id *ret_id);

/* Starts all or none, in one commit, and returns how many. Requests whose key is taken are left out: their id is 0.
 * ret_ids may be NULL. */
VERGE_API VERGE_MUST_USE int verge_durable_start_many(verge_durable *durable, const verge_durable_request *requests,
                                                      size_t count, verge_durable_id *ret_ids);

/* Starts a timer in a transaction of the caller's: sqlite3 * or PGconn *, of the same database. The timer exists when
 * that transaction is committed. On SQLite, begin it with BEGIN IMMEDIATE: where somebody else writes, one that has
 * only read so far gets -EAGAIN. */
VERGE_API VERGE_MUST_USE int verge_durable_start_in(verge_durable *durable, void *transaction,
                                                    const verge_durable_request *request, verge_durable_id *ret_id);

/* From any node; for the results see D5. After VERGE_RUNNING from cancel: a handler outside does not run again. A
 * handler in its transaction may run again, if it returns VERGE_DURABLE_RETRY or the timer is periodic. */
VERGE_API VERGE_MUST_USE int verge_durable_cancel(verge_durable *durable, verge_durable_id id);
VERGE_API VERGE_MUST_USE int verge_durable_reset(verge_durable *durable, verge_durable_id id, uint64_t due_ns);

/* The same of the pending timer that has this key, in one round trip. key_size 0: the key is text that ends with a 0.
 * -ENOENT: there is none. */
VERGE_API VERGE_MUST_USE int verge_durable_cancel_key(verge_durable *durable, const char *handler, const void *key,
                                                      size_t key_size);
VERGE_API VERGE_MUST_USE int verge_durable_reset_key(verge_durable *durable, const char *handler, const void *key,
                                                     size_t key_size, uint64_t due_ns);

/* Finds the id of the pending timer that has this key. -ENOENT: there is none. */
VERGE_API VERGE_MUST_USE int verge_durable_find(verge_durable *durable, const char *handler, const void *key,
                                                size_t key_size, verge_durable_id *ret_id);

typedef struct verge_durable_info {
    verge_durable_id id;
    uint64_t due_ns;
    uint64_t period_ns;
    uint64_t died_ns; /* 0: it is pending */
    uint32_t shard;
    uint32_t attempt; /* how many attempts have begun */
    bool is_running;  /* its handler runs now, outside of a transaction */
    char handler[VERGE_DURABLE_HANDLER_NAME_MAX + 1];
    uint8_t key[VERGE_DURABLE_KEY_MAX];
    uint8_t key_size;
    char reason[64];                          /* why it is dead; empty if it is pending */
    char rule[VERGE_RECURRENCE_TEXT_MAX + 1]; /* empty: it has none */
    size_t payload_size;
} verge_durable_info;

/* Reads a timer that is pending or dead. payload gets up to size bytes of its payload. -ENOENT: there is no such
 * timer. */
VERGE_API VERGE_MUST_USE int verge_durable_get(verge_durable *durable, verge_durable_id id,
                                               verge_durable_info *ret_info, void *payload, size_t size);

/* Reads up to count timers, pending ones or dead ones, whose id is greater than after, in the order of their ids.
 * Returns how many. */
VERGE_API VERGE_MUST_USE int verge_durable_list(verge_durable *durable, bool dead, verge_durable_id after,
                                                verge_durable_info *ret_infos, size_t count);

/* retry lets a dead timer fire again, now, with all its attempts. forget deletes it. -ENOENT: there is no such dead
 * timer. -EEXIST: another pending timer has its key. */
VERGE_API VERGE_MUST_USE int verge_durable_retry(verge_durable *durable, verge_durable_id id);
VERGE_API VERGE_MUST_USE int verge_durable_forget(verge_durable *durable, verge_durable_id id);

/* ---- the schema ---- */

/* Creates the tables, or upgrades those of an older version. Returns 0 also if there is nothing to do. -EPROTO: the
 * tables have a newer version, or are not verge's. */
VERGE_API VERGE_MUST_USE int verge_durable_migrate(const char *url, uint32_t shard_count);

/* Ends a migration: from now on, the tables refuse programs with an older version of the library (-EPROTO). It does not
 * notice older programs that still run: call it when none is left. */
VERGE_API VERGE_MUST_USE int verge_durable_contract(const char *url);

/* Counts rows that verge cannot have written. text describes the first of them, as far as it fits. */
VERGE_API VERGE_MUST_USE int verge_durable_check(verge_durable *durable, char *text, size_t size);

/* ---- statistics ---- */

typedef struct verge_durable_stats {
    size_t struct_size; /* set by the caller */
    uint64_t started;
    uint64_t cancelled;
    uint64_t reset;
    uint64_t done; /* firings whose handler returned VERGE_DURABLE_DONE, and that were committed */
    uint64_t retried;
    uint64_t died;
    uint64_t vanished; /* timers of the window whose row was gone when they were to fire */
    uint64_t early;    /* timers that were not due yet by the store's clock */
    uint64_t fenced;   /* firings that were refused, as the shard had another owner */
    uint64_t unknown;  /* timers whose handler is not registered on this node */
    uint64_t commits;  /* of calls; started / commits says how many calls share a commit */
    uint64_t firings;  /* transactions that fired timers */
    uint64_t queries;  /* for leases and the window */
    uint64_t connects; /* connections to the store that were made, by all threads */
    uint64_t window;   /* timers in memory */
    uint64_t shards;   /* that this node owns */
    uint64_t nodes;    /* that this node believes alive */
} verge_durable_stats;

VERGE_API int verge_durable_get_stats(verge_durable *durable, verge_durable_stats *ret_stats);

/* Adds to the histograms how late handlers began, in store time, and how long the store took for each commit that
 * succeeded: of calls, which share commits, and of firings. In ns. Either may be NULL. */
VERGE_API int verge_durable_get_histograms(verge_durable *durable, verge_histogram *lateness,
                                           verge_histogram *commit_time);

/* A node that owns shards; or nobody, who is node 0. */
typedef struct verge_durable_owner {
    uint64_t node;
    uint64_t lease_until_ns; /* store time: other nodes may take the shards from then on; 0: now */
    uint32_t shard_count;
    bool is_this;                                 /* it is the node that was asked */
    char name[64];                                /* as much of it as fits; empty: the node is gone */
    uint8_t shards[VERGE_DURABLE_SHARDS_MAX / 8]; /* a bit each: shard s is shards[s / 8] >> s % 8 & 1 */
} verge_durable_owner;

/* Reads who owns which shards, up to count owners in the order of their nodes. Returns how many. There are at most
 * VERGE_DURABLE_SHARDS_MAX. */
VERGE_API VERGE_MUST_USE int verge_durable_list_owners(verge_durable *durable, verge_durable_owner *ret_owners,
                                                       size_t count);

/* Counts the timers in the store. The time that this takes is proportional to their number. */
VERGE_API VERGE_MUST_USE int verge_durable_count(verge_durable *durable, uint64_t *ret_pending, uint64_t *ret_overdue,
                                                 uint64_t *ret_dead);

/* Writes the statistics as text for Prometheus, like the calls of verge/metrics.h. The families are called
 * verge_durable_... */
VERGE_API int verge_durable_metrics(verge_durable *durable, char *buffer, size_t size);

/*
 * Shows this node on the page of a scope: whether the store answers, how long the lease lasts, who owns which shards,
 * timers in memory and overdue, dead ones, what was done, how late, and how long commits took. It lists up to 32 timers
 * that are overdue by more than a second, in this node's shards, and 32 dead ones. Whoever has the page's token can
 * cancel the former, and retry or forget the latter. While somebody looks, the store is asked three times more at each
 * renewal of the lease, for what other nodes own and for these timers. Before verge_durable_close, remove the panel
 * (verge_scope_remove_panel) or destroy the scope. ret_panel may be NULL. -EINVAL, -ENOSPC, -ENOMEM.
 */
VERGE_API VERGE_MUST_USE int verge_durable_show(verge_durable *durable, verge_scope *scope,
                                                verge_scope_panel **ret_panel);

#ifdef __cplusplus
}
#endif

#endif
