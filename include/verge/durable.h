/* SPDX-License-Identifier: MIT */
/*
 * verge/durable.h - timers that survive the process, kept in SQLite (a file) or in PostgreSQL (shared by many
 * machines). A library of its own: link verge-durable.
 *
 * Words
 *   store      the database that has the timers. Times are ns since 1970 on the clock of the store ("store time").
 *   handler    a function with a name. A timer's row has this name, so you may change the program while timers wait.
 *   node       an open verge_durable. A node that is not a client owns shards, and fires their timers.
 *   shard      a part of the timers. The number of shards is fixed when the tables are created.
 *   lease      if a node is silent for longer than its lease, other nodes take its shards.
 *   epoch      each shard has an epoch, a number that grows with each new owner. The store refuses a node that has an
 *              old epoch.
 *   window     the timers of a node's shards that are due soon. They are in memory.
 *   attempt    one call of the handler for a timer; the first is attempt 1.
 *   dead       A dead timer was given up. It stays in a table of its own until somebody retries or deletes it.
 *
 * Promises
 *   D1 durable        when start returns 0, the timer is committed to the disk of the store.
 *   D2 at least once  from then on the handler is called until one of these happens: it returns VERGE_DURABLE_DONE or
 *                     VERGE_DURABLE_DEAD; the timer is given up (too many attempts, or too old); the timer is
 *                     cancelled. This holds even if processes, machines or the server die. What a handler writes
 *                     through verge_durable_transaction happens exactly once.
 *   D3 never early    the statement that fires a timer compares the due time of the timer with the clock of the store.
 *                     On PostgreSQL, the clock of the node's machine does not matter. On SQLite, the clock of the
 *                     node's machine is the clock of the store.
 *   D4 fenced         a node that has lost a shard cannot fire timers of the shard, even if the node does not know of
 *                     the loss yet. A handler that is running outside of a transaction (option `outside`) can still end
 *                     its timer, until another node claims the timer.
 *   D5 verdicts       cancel and reset return what became of the timer:
 *                     0              the timer will not run, or not before the new time.
 *                     VERGE_RUNNING  its handler is running now. If a handler makes the call, the timer may also be
 *                                    another one of the same transaction that has not ended (see
 *                                    verge_durable_handler). On PostgreSQL also: another open transaction has locked
 *                                    the timer, and nothing has changed.
 *                     -ENOENT        the timer has run, was given up or cancelled, or never existed.
 *   D6 lateness       a timer that a node starts in a shard of its own is late by at most the precision and one
 *                     commit. If another process starts the timer, the time of a notification is added (PostgreSQL),
 *                     or rescan_ns at worst. After the death of a node, lease_ns + rescan_ns are added. If more than
 *                     window_max timers are due within horizon_ns, a new timer may have to wait until some of them have
 *                     fired.
 *   D7 idempotent     if start returns -EREMOTEIO, the connection broke during the commit, and nobody knows whether
 *                     the timer exists. Repeat the call with the id that it returned: this does not create a second
 *                     timer while the first is pending.
 *
 * Any thread may make these calls. A call that talks to the store blocks the thread until the store has answered. In a
 * task (verge/task.h) it suspends the task instead, except open, close, migrate, contract, and a start in a transaction
 * of the caller's. In a handler with a transaction, the call is part of that transaction. Each of these calls may
 * return:
 *   -EHOSTUNREACH  the store could not be reached for patience_ns (open: at the first try); nothing has changed
 *   -EROFS         the server is a replica, or read-only; nothing has changed
 *   -EACCES        the user may not do this, or may not write the file of SQLite; nothing has changed
 *   -EAGAIN        another open transaction has held the key or, on SQLite, the file for patience_ns. Or reading took
 *                  longer than lease_ns. Nothing has changed
 *   -EREMOTEIO     it is not known whether the call took effect
 *   -ENOSPC, -EIO  the store's disk is full or broken; nothing has changed
 *   -EPROTO        the tables are not verge's, or have a version that this library cannot use
 *   -ESHUTDOWN     the node is being closed
 *   -ECANCELED, -ETIMEDOUT  the calling task was cancelled, or the deadline of its scope has come; nothing has changed
 * verge_durable_error gives the store's own words about the error.
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

/* What a node tells its log. Each event is told once. While the store stays lost, LOST is told again only if the reason
 * changes. */
typedef enum verge_durable_event {
    VERGE_DURABLE_LOST = 0, /* the store cannot be reached, or refuses */
    VERGE_DURABLE_BACK,     /* the store answers again */
    VERGE_DURABLE_TAKEOVER, /* this node has taken shards of a node that had died */
    VERGE_DURABLE_FENCED,   /* this node has lost shards: it was silent for longer than its lease */
    VERGE_DURABLE_RESTORED, /* the store has an older state than before: a replica was promoted, a backup restored */
    VERGE_DURABLE_UNDONE,   /* a handler ran for longer than the lease, so its transaction was lost */
    VERGE_DURABLE_DIED,     /* a timer was given up */
} verge_durable_event;

typedef struct verge_durable_message {
    verge_durable_event event;
    int error;           /* a negative errno, or 0 */
    verge_durable_id id; /* of the timer that the message is about; 0: none */
    const char *handler; /* the handler of that timer; NULL: none */
    const char *text;    /* what has happened, and what to do, in the words of the store if they are known */
} verge_durable_message;

/* Threads of the node call this function, one at a time. It must not call functions of this node. The message is valid
 * until the function returns. */
typedef void (*verge_durable_log)(void *context, const verge_durable_message *message);

/* Copies a line about the last error in any call or thread of this node, as far as it fits: the store's own words, or
 * why a call was refused before the store was asked. If durable is NULL, the line is about the last open, migrate or
 * contract of the calling thread, if that call failed. Returns the length of the line; 0: there was no error. */
VERGE_API int verge_durable_error(verge_durable *durable, char *text, size_t size);

/* ---- open and close ---- */

typedef struct verge_durable_options {
    size_t struct_size;      /* set by verge_durable_options_init */
    const char *url;         /* "sqlite:/var/lib/app/timers.db", or what libpq takes: "postgresql:///app" */
    const char *name;        /* the name of the node, for people. NULL: the machine's name and the process id */
    bool client;             /* owns no shards and runs no handlers: only starts, changes and reads timers */
    bool create;             /* creates the tables if there are none, and migrates older ones */
    uint32_t shard_count;    /* if tables are created: 1 to VERGE_DURABLE_SHARDS_MAX */
    uint32_t firing_threads; /* threads that run handlers; 1 to 64 */
    uint32_t batch;          /* the most timers that fire in one transaction; 1 to 4096 */
    size_t window_max;       /* the most timers in memory; at least 2 * batch. Each handler that is paused, has
                              * limits, runs outside or has a low priority has room for at least one timer even then */
    uint64_t precision_ns;   /* of the timers in memory; a power of two, at most 2^32 */
    uint64_t lease_ns;       /* at least 300 ms. A handler with a transaction must not take longer than this */
    uint64_t horizon_ns;     /* timers that are due within this time are in memory */
    uint64_t rescan_ns;      /* how often the window is read again; at most horizon_ns */
    uint64_t patience_ns;    /* how long a call waits for a store that cannot be reached */
    verge_durable_log log;   /* NULL: there is no log */
    void *log_context;
} verge_durable_options;

VERGE_API int verge_durable_options_init(verge_durable_options *options, size_t struct_size);

/* Returns 0 if the options make sense. Otherwise it returns -EINVAL, and the text names the field and the reason. */
VERGE_API int verge_durable_options_explain(const verge_durable_options *options, char *text, size_t size);

/*
 * Opens a node, which fires timers from now on. Timers whose handler is not registered wait until it is.
 *
 * The defaults: 64 shards, 2 firing threads, a batch of 256, 131,072 timers in memory, a precision of 2^20 ns, a lease
 * of 10 s, a horizon of 5 s, a rescan every 2 s, 30 s of patience.
 *
 * -EINVAL: an option or the URL makes no sense (verge_durable_options_explain). -EPROTONOSUPPORT: this library was
 * built without that store. -ENOENT: there is no such file or database, or it has no tables, and create is not set.
 * -EACCES: the store refuses the user. -EOPNOTSUPP: a pooler in transaction mode is between this program and the
 * server. -EPROTO, -EHOSTUNREACH, -EROFS, -EAGAIN: see the head of this file. verge_durable_error(NULL, ...) says more.
 */
VERGE_API VERGE_MUST_USE int verge_durable_open(const verge_durable_options *options, verge_durable **ret_durable);

/*
 * Starts no more handlers, waits for those that run, gives the shards back, and frees everything. Other nodes can take
 * these shards at once, without waiting for the end of the lease. -ETIMEDOUT: handlers were still running after
 * grace_ns (VERGE_NEVER: no limit), and nothing was freed: call close again. -EDEADLK: called in a handler. NULL is
 * allowed.
 */
VERGE_API int verge_durable_close(verge_durable *durable, uint64_t grace_ns);

/* Returns a time that the store's clock has reached; the clock may be later. 0: the store has not answered yet. */
VERGE_API uint64_t verge_durable_now(const verge_durable *durable);

/* ---- handlers ---- */

typedef struct verge_durable_firing {
    verge_durable *durable;
    verge_durable_id id;
    const char *handler;
    const void *key; /* NULL: none */
    size_t key_size;
    const void *payload;
    size_t payload_size;
    uint64_t due_ns;
    uint64_t now_ns;  /* store time when the timer was fired; never before due_ns */
    uint64_t missed;  /* recurring: how many later ticks are due as well, and will not fire. For a timer with a
                         rule, the count stops at 10,000 */
    uint32_t attempt; /* 1 in the first attempt. Some attempts are not counted: see verge_durable_handler */
    void *context;    /* as registered */
    void *internal;
} verge_durable_firing;

typedef enum verge_durable_verdict {
    VERGE_DURABLE_DONE = 0, /* the timer has ended; a periodic one waits for its next tick */
    VERGE_DURABLE_RETRY,    /* what was written through the transaction is undone, and the timer fires again later. If
                               it has a period, its next ticks are counted from that later time */
    VERGE_DURABLE_DEAD,     /* what was written through the transaction is undone, and the timer is given up */
} verge_durable_verdict;

/*
 * Timers fire in batches; a batch is one transaction. If a process dies, or the connection is lost, the handlers of the
 * whole batch run once more. What they wrote through the transaction was undone, but not what they did outside of it,
 * such as to send a mail. If a handler has such effects, register it with the option `outside`: then the effects of a
 * timer are repeated only if its own attempt fails, not if another timer of the batch fails. And make the effects
 * idempotent, for example with the timer's id. If the process dies or the connection is lost during an attempt, the
 * attempt is counted only if the timer was alone in its batch. A handler must return: a C++ exception that leaves it
 * ends the process (verge/durable.hpp catches exceptions).
 */
typedef verge_durable_verdict (*verge_durable_handler)(const verge_durable_firing *firing);

/*
 * Returns the transaction that deletes the timer: sqlite3 * or PGconn *. What is written through it is committed
 * together with the firing. Use it only inside the handler, on its thread. The handler must neither end the transaction
 * nor begin another one, but may use savepoints. Returns NULL if the handler was registered to run outside. Also
 * returns NULL if the store has failed: the timer then fires again, whatever the handler returns.
 */
VERGE_API void *verge_durable_transaction(const verge_durable_firing *firing);

/* If this attempt returns VERGE_DURABLE_RETRY, the next one is delay_ns after that. Without this call, the backoff
 * decides when. */
VERGE_API void verge_durable_retry_after(const verge_durable_firing *firing, uint64_t delay_ns);

/*
 * Gives more time to a handler with the option `outside`: from now on it has run_ns to return before it counts as lost.
 * Call this from time to time on the thread of the handler. -ECANCELED: the timer was cancelled or moved, or another
 * node runs it. The handler should stop, and what it returns does not matter. -ESHUTDOWN: the time was extended, but
 * verge_durable_close waits for the handler, so it should stop soon. -EINVAL: the handler does not run outside.
 */
VERGE_API VERGE_MUST_USE int verge_durable_extend(const verge_durable_firing *firing, uint64_t run_ns);

/* Returns true if the handler should stop soon (with VERGE_DURABLE_RETRY, say): verge_durable_close waits for it, or
 * verge_durable_extend has returned -ECANCELED. Every handler may call this. The store is not asked. */
VERGE_API bool verge_durable_should_stop(const verge_durable_firing *firing);

/* Of the timers that are due, a node runs those of handlers with a higher priority first. It does not interrupt a
 * handler. Timers with a low priority run when no others are due. If some timers of a handler are urgent, register
 * its function a second time, under another name and with a higher priority. */
typedef enum verge_durable_priority {
    VERGE_DURABLE_LOW = -1,
    VERGE_DURABLE_NORMAL = 0,
    VERGE_DURABLE_HIGH = 1,
} verge_durable_priority;

typedef struct verge_durable_handler_options {
    size_t struct_size; /* set by verge_durable_handler_options_init */
    bool outside;       /* runs without a transaction: for handlers that take long, up to run_ns */
    /* With `outside`: if the handler has not returned after this time, and its node has died or has lost the timer's
     * shard, another node may run the timer again. As long as a node lives, it waits for its handlers. */
    uint64_t run_ns;
    uint32_t attempts_max; /* after this many attempts the timer is dead; 0: no limit */
    /* The delay between the end of the first attempt and the second one. It doubles with each attempt, up to
     * backoff_max_ns. The actual delay is random, between half of this value and all of it. */
    uint64_t backoff_first_ns;
    uint64_t backoff_max_ns;
    uint64_t age_max_ns;  /* a timer that is late by more than this (after an outage) becomes dead. 0: no limit */
    uint32_t concurrency; /* threads of this node that run the handler at one time; 0: no limit */
    uint32_t rate;        /* calls a second on this node; 0: no limit. For all nodes: verge_durable_limit */
    verge_durable_priority priority;
    uint32_t reserved; /* 0 */
} verge_durable_handler_options;

VERGE_API int verge_durable_handler_options_init(verge_durable_handler_options *options, size_t struct_size);

/*
 * Gives a handler its name. The firing that the handler gets has this context. options NULL: the handler runs in the
 * transaction, run_ns is 60 s, there are 20 attempts, the backoff goes from 1 s to 1 h, and nothing else is limited.
 * All nodes of a store should register the same names. -EINVAL: the name or an option makes no sense, or handler is
 * NULL. -EEXIST: the name is registered already. -ENOSPC: there are too many handlers.
 */
VERGE_API VERGE_MUST_USE int verge_durable_register(verge_durable *durable, const char *name,
                                                    verge_durable_handler handler, void *context,
                                                    const verge_durable_handler_options *options);

/* ---- handlers of all nodes ---- */

/*
 * Settings of a handler that hold for all nodes. They stay in the store until somebody changes them. The handler need
 * not be registered here. Other nodes learn of a change by a notification (PostgreSQL), or when they renew their
 * leases, after rescan_ns at most. A node that is opened later knows the settings before it fires.
 */
typedef struct verge_durable_control {
    char handler[VERGE_DURABLE_HANDLER_NAME_MAX + 1];
    bool is_paused;
    uint32_t concurrency; /* 0: no limit */
    uint32_t rate;        /* 0: no limit */
} verge_durable_control;

/* After pause, timers of this handler wait, on all nodes. Handlers that are already running go on. After resume, the
 * timers fire again; overdue ones fire at once. (With age_max_ns they may be too old then.) -EINVAL: the name makes no
 * sense. -EPROTO: call verge_durable_contract first, since older programs would not obey. */
VERGE_API VERGE_MUST_USE int verge_durable_pause(verge_durable *durable, const char *handler);
VERGE_API VERGE_MUST_USE int verge_durable_resume(verge_durable *durable, const char *handler);

/*
 * Sets limits for all nodes together. The limits of each node (verge_durable_handler_options) hold, too. 0: no limit.
 *   concurrency  how many threads run the handler at one time. If a node dies, its threads count until its lease ends.
 *                A thread whose batch takes longer than the lease (outside: longer than run_ns) does not count any
 *                more.
 *   rate         calls a second on average. A call that is late is not left out, so for a moment there may be more
 *                calls.
 * Before a batch of such a handler runs, the node asks the store, which costs a commit. -EINVAL: the name makes no
 * sense, or the rate is above 10^9. -EPROTO: as for pause.
 */
VERGE_API VERGE_MUST_USE int verge_durable_limit(verge_durable *durable, const char *handler, uint32_t concurrency,
                                                 uint32_t rate);

/* Reads the settings of up to count handlers that are paused or have limits, in the order of their names. Returns how
 * many. Nodes obey the first VERGE_DURABLE_HANDLERS_MAX of them. -EINVAL: count is above 100,000. */
VERGE_API VERGE_MUST_USE int verge_durable_list_controls(verge_durable *durable, verge_durable_control *ret_controls,
                                                         size_t count);

/* ---- timers ---- */

/* What start does if a timer with the same key is pending. If none is pending, it starts the timer. */
typedef enum verge_durable_conflict {
    VERGE_DURABLE_REFUSE = 0, /* start returns -EEXIST */
    VERGE_DURABLE_REPLACE,    /* the pending timer gets the new time, payload, period, rule; attempts count from 1 */
    VERGE_DURABLE_MOVE,       /* the pending timer gets the new time; attempts count from 1; the rest stays */
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
    uint64_t period_ns;           /* 0: the timer fires once. Otherwise each tick is due a period after the last */
    verge_interval_policy policy; /* periodic, or with a rule: what happens to missed ticks */
    verge_durable_id id;          /* 0, unless this repeats a start that returned -EREMOTEIO (D7) */
    verge_durable_conflict on_conflict; /* needs a key. If a pending timer is changed, *ret_id is its id */
    uint32_t reserved_32;               /* 0 */
    const char *rule;                   /* when the timer is due again: see below; NULL: no rule */
    void *transaction;                  /* of the caller's: see below; NULL: the call commits the timer itself */
    uint64_t reserved[2];               /* 0 */
} verge_durable_request;

/*
 * A timer with a rule (verge/recurrence.h), such as "0 9 * * mon-fri Europe/Berlin", recurs. It is first due at the
 * given time. If due_ns and delay_ns are 0, it is first due when the rule next comes, by the clock of the store. The
 * rule is stored with the timer. The next tick is computed when a tick fires, on the machine that fires it and with the
 * time zones of that machine. So changed rules of a zone apply at the next tick. The policy says what happens to ticks
 * that were missed in an outage: BURST fires them one after the other, SKIP and DELAY fire once for all of them. If the
 * machine cannot read the time zone, the handler does not run: this counts as an attempt, and another node may succeed.
 */

/*
 * `transaction` of a request is a sqlite3 * or PGconn * of the same database, on which the caller has begun a
 * transaction. The timer is started in that transaction, and exists when the caller commits. The call blocks the
 * thread, also in a task. On SQLite, begin the transaction with BEGIN IMMEDIATE: a transaction that has only read so
 * far gets -EAGAIN if somebody else writes. -EAGAIN also if the transaction is on another server, or in another file,
 * than the node's. -EINVAL: no transaction has begun, or the PGconn does not block.
 */

/*
 * Starts a timer. Calls that several threads and tasks make at the same time share commits. ret_id may be NULL. *ret_id
 * is set on success, and also if the call returns -EREMOTEIO.
 *
 * -EEXIST: a timer with that key is pending. A recurring timer keeps its key while its handler runs. In two cases, the
 * call returns -EEXIST whatever on_conflict says. First: request->id is the id of another timer. Second: a handler with
 * a transaction makes the call, and the key belongs to its own timer, if that recurs, or to another timer of the same
 * batch that has not ended. -EINVAL: a field makes no sense, the shard of the id does not exist, the rule cannot be
 * read (verge_recurrence_parse says why), or this machine does not have its time zone. -EPROTO: the request has a rule,
 * which older programs would lose: call verge_durable_contract first. -ENAMETOOLONG: the key is too long. -EMSGSIZE:
 * the payload is too large. -EOVERFLOW: due_ns is above 2^63 - 1 (April 2262), or delay_ns or period_ns is above
 * 2^61 - 1 (73 years).
 */
VERGE_API VERGE_MUST_USE int verge_durable_start(verge_durable *durable, const verge_durable_request *request,
                                                 verge_durable_id *ret_id);

/* Starts several timers in one commit, and returns how many. Requests whose key is taken are left out: their id is 0.
 * If the call returns an error, no timer was started (after -EREMOTEIO, nobody knows). ret_ids may be NULL. -EINVAL
 * also if a request has a transaction: use verge_durable_start for it. */
VERGE_API VERGE_MUST_USE int verge_durable_start_many(verge_durable *durable, const verge_durable_request *requests,
                                                      size_t count, verge_durable_id *ret_ids);

/* Cancels or moves a timer. Any node may do this; D5 has the results. If cancel returns VERGE_RUNNING, a handler
 * outside does not run again. A handler in a transaction runs again if it returns VERGE_DURABLE_RETRY, or if the timer
 * recurs. If reset returns VERGE_RUNNING, the timer of a handler outside fires again at the new time; for a handler in
 * a transaction, the reset has no effect. */
VERGE_API VERGE_MUST_USE int verge_durable_cancel(verge_durable *durable, verge_durable_id id);
VERGE_API VERGE_MUST_USE int verge_durable_reset(verge_durable *durable, verge_durable_id id, uint64_t due_ns);

/* Cancels or moves the pending timer that has this key. key_size 0: the key is text that ends with a 0. The results are
 * those of D5. */
VERGE_API VERGE_MUST_USE int verge_durable_cancel_key(verge_durable *durable, const char *handler, const void *key,
                                                      size_t key_size);
VERGE_API VERGE_MUST_USE int verge_durable_reset_key(verge_durable *durable, const char *handler, const void *key,
                                                     size_t key_size, uint64_t due_ns);

/* Finds the id of the pending timer that has this key. -ENOENT: no timer has it. */
VERGE_API VERGE_MUST_USE int verge_durable_find(verge_durable *durable, const char *handler, const void *key,
                                                size_t key_size, verge_durable_id *ret_id);

typedef struct verge_durable_info {
    verge_durable_id id;
    uint64_t due_ns;
    uint64_t period_ns;
    uint64_t died_ns; /* 0: the timer is pending */
    uint32_t shard;
    uint32_t attempt; /* how many attempts have begun */
    bool is_running;  /* its handler runs now, outside of a transaction */
    char handler[VERGE_DURABLE_HANDLER_NAME_MAX + 1];
    uint8_t key[VERGE_DURABLE_KEY_MAX];
    uint8_t key_size;
    char reason[64];                          /* why the timer is dead; empty if it is pending */
    char rule[VERGE_RECURRENCE_TEXT_MAX + 1]; /* empty: none */
    size_t payload_size;
} verge_durable_info;

/* Reads a timer that is pending or dead. payload gets up to size bytes of its payload. -ENOENT: there is no such
 * timer. */
VERGE_API VERGE_MUST_USE int verge_durable_get(verge_durable *durable, verge_durable_id id,
                                               verge_durable_info *ret_info, void *payload, size_t size);

/* Reads up to count timers, pending ones or dead ones, whose ids are greater than `after`, in the order of their ids.
 * Returns how many. -EINVAL: count is above 100,000. */
VERGE_API VERGE_MUST_USE int verge_durable_list(verge_durable *durable, bool dead, verge_durable_id after,
                                                verge_durable_info *ret_infos, size_t count);

/* retry lets a dead timer fire again, now; its attempts count from 1. forget deletes a dead timer. -ENOENT: there is no
 * such dead timer. -EEXIST (retry): a pending timer has its key. -EAGAIN: the call comes from a handler with a
 * transaction, and somebody else's open transaction has locked the dead timer, or has its key. */
VERGE_API VERGE_MUST_USE int verge_durable_retry(verge_durable *durable, verge_durable_id id);
VERGE_API VERGE_MUST_USE int verge_durable_forget(verge_durable *durable, verge_durable_id id);

/* ---- the schema ---- */

/* Creates the tables, or upgrades those of an older version. Returns 0 also if there is nothing to do. -EPROTO: the
 * tables have a newer version, or are not verge's. */
VERGE_API VERGE_MUST_USE int verge_durable_migrate(const char *url, uint32_t shard_count);

/* Ends a migration: from now on, programs with an older version of the library cannot open the tables (-EPROTO). Call
 * it when no older program is left: the call does not notice older programs that still run. A node that was opened
 * before does not accept rules and settings of handlers until it is opened again. */
VERGE_API VERGE_MUST_USE int verge_durable_contract(const char *url);

/* Returns how many rows verge cannot have written. text describes the first of them, as far as it fits. */
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
    uint64_t fenced;   /* firings that were refused, because the shard had another owner */
    uint64_t unknown;  /* rows whose handler is not registered on this node; each scan counts them again */
    uint64_t commits;  /* commits of calls; on average, each starts `started / commits` timers */
    uint64_t firings;  /* batches that were fired, or tried */
    uint64_t queries;  /* for leases and the window */
    uint64_t connects; /* connections to the store that were made, by all threads */
    uint64_t window;   /* timers in memory */
    uint64_t shards;   /* shards that this node owns */
    uint64_t nodes;    /* nodes that this node believes alive */
} verge_durable_stats;

VERGE_API int verge_durable_get_stats(verge_durable *durable, verge_durable_stats *ret_stats);

/* Adds the times that this node has measured to the histograms, in ns. lateness: how late handlers began, in store
 * time. commit_time: how long the store took for each successful commit of calls or of firings. Either histogram may be
 * NULL. */
VERGE_API int verge_durable_get_histograms(verge_durable *durable, verge_histogram *lateness,
                                           verge_histogram *commit_time);

/* A node that owns shards. Node 0 stands for shards without an owner. */
typedef struct verge_durable_owner {
    uint64_t node;
    uint64_t lease_until_ns; /* store time from which other nodes may take the shards; 0: now */
    uint32_t shard_count;
    bool is_this;                                 /* this is the node that was asked */
    char name[64];                                /* as much of the name as fits; empty: the node is gone */
    uint8_t shards[VERGE_DURABLE_SHARDS_MAX / 8]; /* one bit for each shard: shards[s / 8] >> s % 8 & 1 */
} verge_durable_owner;

/* Reads up to count owners, in the order of their nodes. Returns how many. There are at most
 * VERGE_DURABLE_SHARDS_MAX owners. */
VERGE_API VERGE_MUST_USE int verge_durable_list_owners(verge_durable *durable, verge_durable_owner *ret_owners,
                                                       size_t count);

/* Counts the timers in the store. This takes a time proportional to their number. */
VERGE_API VERGE_MUST_USE int verge_durable_count(verge_durable *durable, uint64_t *ret_pending, uint64_t *ret_overdue,
                                                 uint64_t *ret_dead);

/* Writes the statistics as text for Prometheus, like the calls of verge/metrics.h. The families are called
 * verge_durable_... */
VERGE_API int verge_durable_metrics(verge_durable *durable, char *buffer, size_t size);

/*
 * Shows this node on the page of a scope: whether the store answers, how long the lease lasts, the owners of the
 * shards, counts of timers (in memory, overdue, dead, done), how late handlers were, and how long commits took. The
 * page lists up to 32 timers of this node's shards that are overdue by more than a second, and up to 32 dead timers.
 * Whoever has the page's token can cancel the overdue ones, and retry or forget the dead ones. While somebody looks at
 * the page, each renewal of the lease makes three more queries. Before verge_durable_close, remove the panel
 * (verge_scope_remove_panel) or destroy the scope. ret_panel may be NULL. -EINVAL, -ENOSPC, -ENOMEM.
 */
VERGE_API VERGE_MUST_USE int verge_durable_show(verge_durable *durable, verge_scope *scope,
                                                verge_scope_panel **ret_panel);

#ifdef __cplusplus
}
#endif

#endif
