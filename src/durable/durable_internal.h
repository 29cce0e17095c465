/* SPDX-License-Identifier: MIT */
/*
 * durable/durable_internal.h - what a verge_durable is made of. P1 to P6 are the parts of the protocol
 * (docs/DURABLE.md), and D1 to D7 the promises of verge/durable.h.
 *
 * The threads of a node. Each has a connection of its own. A client (option `client`) has only the writer:
 *   keeper   leases (P1) and the window (P2): renews the lease, acquires and releases shards, reads rows that are due
 *            soon
 *   writer   calls (P3, P5): takes queued calls, and makes one transaction of those that write
 *   firers   firing (P4): each firer takes a batch of due timers from the window, and runs their handlers
 * Each thread is a loop around a step (verge__keeper_step and so on), so that a test can make the steps itself, in any
 * order.
 *
 * An entry of the window is only a hint. If the row of a hint is gone, is due later, or belongs to another node, the
 * hint costs a useless query at most. If a row has no hint, a later scan finds it. So the answers of the store may be
 * applied to the window in any order. The transactions alone keep the promises D2 to D5.
 *
 * One lock (verge_durable.lock) guards the fields that several threads use and that may change. It is not held during a
 * query, a handler or a call of the log. Below, "under the lock" means that the caller holds it, and "without the lock"
 * that the caller must not hold it.
 */
#ifndef VERGE_SRC_DURABLE_INTERNAL_H
#define VERGE_SRC_DURABLE_INTERNAL_H

#include <pthread.h>
#include <semaphore.h>

#include "durable/failpoint.h"
#include "durable/store.h"
#include "verge/task.h"
#include "verge/wheel.h"

enum {
    VERGE__FIRERS_MAX = 64,
    VERGE__BATCH_MAX = 4096,
};

#define VERGE__NO_HINT UINT32_MAX
#define VERGE__NO_HANDLER UINT32_MAX

/* Rows at or beyond the cut, in the order of (due, id), may be missing in the window, because there was no room. */
typedef struct verge__cut {
    bool is_set;
    uint64_t due_ns;
    uint64_t id;
} verge__cut;

typedef struct verge__handler {
    char name[VERGE_DURABLE_HANDLER_NAME_MAX + 1];
    verge_durable_handler function;
    void *context;
    verge_durable_handler_options options;
    uint32_t running;         /* batches under way that have a timer of this handler */
    uint64_t next_allowed_ns; /* store time before which the handler must not run: set by its rate, or by permits.c */
    uint32_t window_count;    /* its hints in the window */
    verge__cut cut;           /* for rows of this handler: set if its share of the window had no room */
    uint32_t held_first;      /* the list of held hints, in the order in which they are released */
    uint32_t held_last;
    uint32_t held_count;
    uint32_t released_count; /* hints of this handler with is_released */
    verge_durable_control control;
    uint32_t granted_count; /* how many timers the rate of the cluster allows at next_allowed_ns (permits.c) */
    uint64_t slots;         /* a bit for each of its batches that has a permit, or asks for one */
    uint64_t ticket_slots;  /* a bit for each slot that may have a ticket (permits.c). Such a slot is used first */
} verge__handler;

typedef enum verge__hint_state {
    VERGE__HINT_FREE = 0,
    VERGE__HINT_WAITING, /* in the wheel of its priority */
    VERGE__HINT_HELD,    /* the timer was due, but its handler had reached a limit (limits.c) */
    VERGE__HINT_FIRING,  /* a firer has taken it */
} verge__hint_state;

typedef struct verge__hint {
    uint64_t id;
    uint64_t due_ns; /* the due time of the row, as the node last learned it */
    verge_timer timer;
    uint32_t next; /* the next hint of the same bucket, or the next free one */
    uint16_t handler;
    uint8_t state;
    bool is_moved;    /* in state FIRING: the timer was moved meanwhile, or may have been; due_ns is its new time */
    bool is_released; /* in state WAITING: the hint was held, and its timer may run now */
    uint32_t held_next;
    uint32_t held_previous;
    /* The number of an attempt that may be counted in the store already, although its handler was not called
     * (count_attempt in firer.c). 0: there is none. */
    uint32_t counted_attempt;
} verge__hint;

enum { VERGE__PRIORITIES = 3 };

typedef struct verge__window {
    verge_wheel *wheels[VERGE__PRIORITIES]; /* one for each priority, the highest first; they run on store time */
    verge__hint *hints;
    uint32_t hint_count; /* how many of `hints` were ever used */
    uint32_t capacity;
    uint32_t free;
    uint32_t count;
    uint32_t *buckets;
    uint32_t bucket_mask;
    verge__cut cut; /* set if there was no room in the window, or no memory */
} verge__window;

/* What is known of the store's clock: it has reached local time + offset. Each answer that has store time gives an
 * offset. The largest offset of this period and of the period before is used. A period lasts 5 s (window.c). */
typedef struct verge__estimate {
    bool is_known;
    int64_t offset_ns;
    int64_t last_offset_ns;
    uint64_t period_began_ns;
} verge__estimate;

typedef enum verge__call_kind {
    VERGE__CALL_SCHEDULE,
    VERGE__CALL_CANCEL,
    VERGE__CALL_RESET,
    VERGE__CALL_REVIVE,
    VERGE__CALL_FORGET,
    VERGE__CALL_CONTROL,
    VERGE__CALL_NOTHING, /* changes nothing: makes the writer begin a transaction, and so take an incarnation */
    VERGE__CALL_READ,    /* calls `read`, which only reads, outside of the transaction */
} verge__call_kind;

/* A call that the writer makes for a caller. It is on the stack of the caller, which waits for the result. */
typedef struct verge__call {
    struct verge__call *next;
    verge__call_kind kind;
    verge__row *rows; /* SCHEDULE: the timers to insert */
    size_t row_count;
    verge__change change;
    const verge__control_change *control;
    int (*read)(verge_durable *durable, verge__connection *connection, void *question);
    void *question; /* READ: the arguments, and where the answer goes; each kind of question has a struct (calls.c) */
    uint64_t give_up_ns;    /* local time until which the call is tried again if it fails */
    uint64_t lock_until_ns; /* CANCEL, RESET: wait for a locked row until this local time; 0: no row was locked yet */
    int result;
    bool is_taken; /* the writer has begun with the call, so it cannot be withdrawn */
    bool is_alone; /* the call may wait for a lock, or lack a right: it gets a transaction of its own, so that no other
                    * call fails with it */
    size_t size;   /* the size of all payloads of the call, in bytes */
    verge_channel *channel; /* wakes the task that waits; NULL: a thread waits */
    sem_t done;             /* the writer touches this last. After that, the call belongs to its caller again */
} verge__call;

typedef struct verge__fired verge__fired;

typedef struct verge__firer {
    verge_durable *durable;
    verge__connection *connection;
    pthread_t thread;
    bool is_started;
    bool has_baton;
    bool is_careful; /* the firer has set is_careful_running, for its batch */
    bool is_failing;
    bool has_permit; /* the batch has a permit of the cluster (permits.c) */
    verge__permit permit;
    uint64_t slowest_ns; /* the longest run of a handler with a transaction in this batch */
    uint64_t slowest_id;
    uint32_t slowest_handler;
    verge_expiry *due;
    verge__target *targets;
    uint64_t *run_ns;
    uint32_t *batch; /* indexes of hints */
    verge__fired *fired;
    verge__change *missing; /* targets without a row */
    size_t target_count;
    size_t fired_count;
    verge__row *back; /* rows that handlers have started or moved; after them, rows to insert: retries, next ticks */
    size_t back_count;
    size_t scheduled_count; /* the number of rows in `back` that handlers have started or moved */
    size_t back_capacity;
} verge__firer;

/* ---- the parts of a node. A connection is used by its thread alone. Before the threads begin and after they end, open
 * and close use it. A field that several threads use is read and written under the lock; the only thread that writes it
 * may read it without the lock ---- */

typedef struct verge__keeper {
    pthread_t thread;
    bool is_started;
    bool is_failing;
    verge__connection *connection;
    uint64_t renew_at_ns;
    uint64_t scan_at_ns;
    uint64_t scan_all_at_ns;   /* until then, the regular scans leave out timers that were due long ago (PostgreSQL) */
    uint64_t control_revision; /* of the settings in `controls` */
    uint32_t scan_rows;        /* the most rows that one query of a scan reads */
    bool is_scan_slow;         /* scans of all rows take long, so they are made in pieces */
    uint64_t read_until_ns;    /* store time up to which the window was read; called R in keeper.c */
    bool scan_now;             /* set by any thread, to ask for a scan of all rows */
    bool renew_now;            /* set by any thread, to ask for a renewal (settings were changed, say) */
} verge__keeper;

typedef struct verge__writer {
    pthread_t thread;
    bool is_started;
    bool is_failing;
    verge__connection *connection;
    verge__call *calls; /* the queue */
    verge__call **calls_end;
    verge__row *rows; /* copies of the rows of all calls in one transaction */
    size_t row_capacity;
    verge__change *changes;
    size_t change_capacity;
} verge__writer;

/* From these, the node makes the ids of timers. */
typedef struct verge__ids {
    uint64_t incarnation; /* 0: the node needs a new one */
    uint64_t counter;
    uint64_t highest_incarnation; /* the last one that the node had; 0: none, or the store has gone back since */
    uint64_t server_id;           /* of the server or file that the last new connection has found */
} verge__ids;

/* For words.c: the last error, and what the log was told. Any thread may use it. */
typedef struct verge__said {
    char last_words[VERGE__WORDS_MAX];   /* about the last error */
    char told_words[VERGE__WORDS_MAX];   /* about the last failure that was told */
    char told_refusal[VERGE__WORDS_MAX]; /* about the last batch that failed while the store could be reached */
    uint64_t refused_ns;                 /* local time of the last such batch */
    uint32_t failing_count;              /* threads that have is_failing set */
    bool is_restored;                    /* the log is to get a message VERGE_DURABLE_RESTORED */
    uint64_t undone_id;                  /* the timer of the last message VERGE_DURABLE_UNDONE */
    pthread_mutex_t lock;                /* held while the log is called */
} verge__said;

/* For show.c: what the page of scope shows of this node. The keeper writes the panel, and scope's thread reads it. */
typedef struct verge__panel {
    uint64_t looked_ns;          /* local time when somebody last looked, set by scope's thread; 0: nobody has */
    verge_durable_owner *owners; /* NULL: not read yet */
    size_t owner_count;
    uint64_t dead_count;
    verge_durable_info *troubled; /* overdue timers, then dead ones; NULL: not read yet */
    size_t troubled_count;
} verge__panel;

struct verge_durable {
    /* does not change after open */
    verge_durable_options options;
    char *url;
    char *name;
    const verge__store *store;
    verge_clock clock; /* local time */
    uint32_t shard_count;
    bool has_rules; /* rules and settings may be stored: the tables refuse libraries that do not know them */
    uint64_t node;

    pthread_mutex_t lock;
    pthread_cond_t due;  /* wakes firers for an earlier timer, a limit that allows more, a free baton, the node's end */
    pthread_cond_t work; /* wakes the writer: there are calls, or the node ends */
    pthread_cond_t idle; /* wakes close: a firer has ended */
    int wake_fd;         /* wakes the keeper */
    bool is_stopping;    /* no batch begins, and the writer gets no new calls */
    bool is_ending;      /* the keeper and the writer are to end */

    verge__keeper keeper;
    verge__writer writer;
    verge__ids ids;
    verge__said said;
    verge__panel shown;

    verge__window window;
    verge__estimate estimate;
    verge__handler handlers[VERGE_DURABLE_HANDLERS_MAX];
    uint32_t handler_count;
    uint32_t limited_count; /* handlers with a share of the window */
    int32_t highest_priority;
    uint32_t held_count;             /* hints that are held, of all handlers */
    verge_durable_control *controls; /* settings of handlers for the whole cluster */
    size_t control_count;

    /* the shards of the node; epochs[s] is 0 if the node does not own shard s */
    uint64_t epochs[VERGE_DURABLE_SHARDS_MAX];
    uint64_t last_epochs[VERGE_DURABLE_SHARDS_MAX]; /* the epoch with which the node last owned each shard */
    verge__shard owned[VERGE_DURABLE_SHARDS_MAX];
    uint32_t owned_count;
    uint32_t live_nodes;

    /* If shards came from an owner that had died, one of the timers of these shards may have killed the owner's
     * process. So for a while only one firer fires, in batches of 1, 2, 4 and so on, until batch_limit is options.batch
     * again. All owners fire in the same order: by priority, then by due time. So before each death, at least half of
     * the timers before the bad one are done. At last the bad timer is alone in its batch. Before a batch of one, the
     * attempt is counted, so the bad timer is dead after its last attempt. Other firers need not wait for a handler
     * that runs outside of a transaction: its claim counts the attempt. A node fires in the same way after it has lost
     * its connection while handlers with a transaction ran. */
    uint32_t batch_limit;
    bool is_careful;
    bool is_careful_running;

    /* The baton is the right to begin a transaction that fires. A firer passes the baton on when its transaction has
     * begun. If the store has one writer, the firer passes it on when the transaction has ended. */
    bool is_baton_taken;
    uint64_t waiting_until_ns; /* store time until which the waiting firers sleep */
    uint32_t outside_running;
    uint32_t firers_alive;
    verge__firer firers[VERGE__FIRERS_MAX];

    verge_durable_stats stats;
    verge_histogram lateness;
    verge_histogram commit_time;
    uint64_t random;
};

static inline void verge__lock(verge_durable *durable) {
    (void)pthread_mutex_lock(&durable->lock);
}

static inline void verge__unlock(verge_durable *durable) {
    (void)pthread_mutex_unlock(&durable->lock);
}

/* Under the lock: from now on and for a while, one firer fires, first in batches of one timer (batch_limit). */
static inline void verge__be_careful(verge_durable *durable) {
    durable->is_careful = true;
    durable->batch_limit = 1;
}

/* ---- durable.c ---- */

/* Makes a verge_durable without threads. store NULL: the URL decides. clock.now_ns NULL: the monotonic clock. */
int verge__durable_create(const verge_durable_options *options, const verge__store *store, verge_clock clock,
                          verge_durable **ret_durable);
void verge__durable_free(verge_durable *durable);

uint64_t verge__local_now(const verge_durable *durable);
uint64_t verge__random(verge_durable *durable);                       /* without the lock */
bool verge__set_flag(verge_durable *durable, bool *flag, bool value); /* without the lock; returns the old value */
uint32_t verge__handler_index(const verge_durable *durable, const char *name); /* VERGE__NO_HANDLER: not registered */

/* Connects, if there is no connection. If this finds another server or file, the node needs a new incarnation. */
int verge__connect(verge_durable *durable, verge__connection **connection);
/* Connects likewise, takes an incarnation if the node needs one, begins a transaction, and notes store time. */
int verge__begin(verge_durable *durable, verge__connection **connection);
void verge__disconnect(verge_durable *durable, verge__connection **connection);
bool verge__is_lost(int error); /* true: after this error, the connection is of no further use */

/* Under the lock: makes an id in a shard of this node. If the node owns no shard, the id is in any shard. Returns 0 if
 * the node needs a new incarnation first. */
uint64_t verge__new_id(verge_durable *durable, uint64_t due_ns);
uint64_t verge__new_mark(verge_durable *durable); /* a random number, not 0; without the lock */
/* Takes a new incarnation if the node has none, or if its counter has passed half of its range. */
int verge__refresh_incarnation(verge_durable *durable, verge__connection *connection);

/* The last commits of a store can be lost: an older state is restored, or a replica is promoted that lacks them. The
 * store may then give this node's incarnation to another node, too. So a node takes a new incarnation:
 *   - if a connection finds another server, or another file (verge__connect);
 *   - if the store has not given out this node's incarnation yet (verge__check_incarnation, under the lock);
 *   - if another timer has an id that this node has made (verge__drop_incarnation, without the lock).
 * highest_before: what verge__highest_incarnation returned before the store was asked. Another thread may have taken an
 * incarnation since. Do not call verge__check_incarnation for a connection that the user gives: its transaction may be
 * older than the incarnation. */
void verge__check_incarnation(verge_durable *durable, const verge__connection *connection, uint64_t highest_before);
uint64_t verge__highest_incarnation(verge_durable *durable); /* call it before the question; without the lock */
void verge__drop_incarnation(verge_durable *durable);

void verge__wake_keeper(verge_durable *durable);
bool verge__is_handler_name(const char *name); /* calls.c */
size_t verge__fired_size(void);                /* firing.c */

/* ---- window.c: under the lock, except init and end ---- */

int verge__window_init(verge__window *window, const verge_durable_options *options);
void verge__window_end(verge__window *window);
uint32_t verge__window_find(const verge__window *window, uint64_t id);
/* Adds a hint for a row, or moves the hint of the row. Without room for a new hint, sets a cut. is_told: the row was
 * committed just now (or will be, in a transaction of the caller's). Otherwise the row may be old: a scan has read it
 * some time ago. */
void verge__window_add(verge_durable *durable, uint64_t id, uint64_t due_ns, uint32_t handler, bool is_told);
/* Returns whether there is room for rows that were cut off. *ret_first is the first of these rows. */
bool verge__window_find_room(const verge_durable *durable, verge__cut *ret_first);
/* Removes cuts after a row: a scan is about to read all rows after it. Rows are in the order of their due times and, if
 * these are equal, of their ids. */
void verge__window_uncut(verge_durable *durable, uint64_t due_ns, uint64_t id);
void verge__window_drop(verge_durable *durable, uint32_t index);
/* Holds a hint that was firing. It becomes the first or the last held hint of its handler. */
void verge__window_hold(verge_durable *durable, uint32_t index, bool is_first);
/* Puts a held hint back into its wheel, as verge__window_file does. Returns whether its timer is due. */
bool verge__window_release(verge_durable *durable, uint32_t index, uint64_t now_ns);
/* Drops hints that handlers have beyond their shares. */
void verge__window_trim(verge_durable *durable);
/* Puts a hint that was firing back into its wheel, where it waits until at_ns. If its row is due so late that a later
 * scan finds it, the hint is dropped. */
void verge__window_file(verge_durable *durable, uint32_t index, uint64_t at_ns);
/* Drops hints of shards that the node does not own any more, except hints that fire. */
void verge__window_drop_foreign(verge_durable *durable);
size_t verge__window_poll(verge__window *window, uint64_t now_ns, verge_expiry *due, size_t count);
uint64_t verge__window_next_wakeup(const verge__window *window);
bool verge__window_check(const verge_durable *durable); /* whether V1, V2 and V4 to V6 hold (window.c) */

void verge__note_time(verge_durable *durable, const verge__connection *connection);
/* Starts the estimate anew, since the store's clock went back. */
void verge__forget_store_time(verge_durable *durable, const verge__connection *connection);
uint64_t verge__store_now(const verge_durable *durable); /* 0: not known */

/* ---- limits.c: under the lock ---- */

bool verge__has_limits(const verge__handler *handler);
void verge__count_limited(verge_durable *durable); /* call it after a handler, or its limits, have changed */
/* Returns whether the handler gets only a share of the window. */
bool verge__gets_share(const verge_durable *durable, const verge__handler *handler);
size_t verge__window_places(const verge_durable *durable); /* how many hints the window may have */
/* Returns whether the handler's share has room for another hint. If of_half is set, returns whether half of the share
 * is free. Returns true if the handler gets no share. */
bool verge__has_share(const verge_durable *durable, const verge__handler *handler, bool of_half);
/* Returns whether a timer of the handler may run now. is_in_batch: the batch has another timer of this handler, so its
 * concurrency and pauses are not checked. */
bool verge__may_run(const verge_durable *durable, const verge__handler *handler, bool is_in_batch, uint64_t now_ns);
void verge__note_run(verge__handler *handler, uint64_t now_ns);
void verge__release_held(verge_durable *durable, uint64_t now_ns);
/* Returns when a held hint can be released, in store time; VERGE_NEVER: time alone releases none. */
uint64_t verge__next_release(const verge_durable *durable, uint64_t now_ns);

/* ---- controls.c ---- */

/* The keeper calls this after a renewal. Reads the settings of handlers for the whole cluster, if they have changed. */
int verge__read_controls(verge_durable *durable, uint64_t revision);
/* Under the lock: applies the settings to a handler. */
void verge__control_handler(verge_durable *durable, verge__handler *handler);
/* Without the lock: makes the keeper renew now, and so read the settings. */
void verge__note_control(verge_durable *durable);

/* ---- permits.c: permits for batches of handlers with limits in the cluster ---- */

bool verge__needs_permit(const verge__handler *handler);
uint32_t verge__permit_size(const verge__handler *handler); /* how many timers a batch may have */

/* ---- the steps ---- */

/* Returns how long the keeper may wait now, in ns. *ret_error says why the step failed; 0: it did not. ret_error may be
 * NULL. */
uint64_t verge__keeper_step(verge_durable *durable, int *ret_error);
void verge__keeper_leave(verge_durable *durable);

typedef enum verge__progress {
    VERGE__IDLE = 0, /* there was nothing to do, or a limit does not allow it yet */
    VERGE__WORKED,
    VERGE__FAILED, /* something must be tried again: wait a little first */
} verge__progress;

verge__progress verge__writer_step(verge_durable *durable);
verge__progress verge__firer_step(verge__firer *firer);

void *verge__keeper_run(void *argument); /* the durable */
void *verge__writer_run(void *argument); /* the durable */
void *verge__firer_run(void *argument);  /* the firer */

/* ---- writer.c ---- */

/* Revives or forgets a dead timer. The change has a savepoint of its own, so the transaction goes on whatever the
 * outcome (in call->change) is. Returns an error if the savepoint could not be made or ended. */
int verge__change_dead(verge__connection *connection, verge__call *call);

/* ---- words.c: without the lock ---- */

/* Keeps the words about this thread's last error, for verge_durable_error. */
void verge__keep_words(verge_durable *durable, int error);
/* Keeps words about a call that is refused before the store is asked. Returns the error. */
int verge__refuse(verge_durable *durable, int error, const char *format, ...) __attribute__((format(printf, 3, 4)));
/* Call it after a step of a thread. It tells the log that the step has failed for a new reason, that the store answers
 * again, or that the store has gone back to an older state. */
void verge__note_step(verge_durable *durable, bool *is_failing, int error);
void verge__log(verge_durable *durable, const verge_durable_message *about, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* ---- stats.c ---- */

void verge__note_commit(verge_durable *durable, uint64_t began_ns);

/* ---- show.c ---- */

/* The keeper calls this after a renewal. If somebody looks at the panel, reads the owners of shards, the number of dead
 * timers, and the first timers that are overdue or dead. */
int verge__read_shown(verge_durable *durable);

/* ---- calls.c ---- */

int verge__perform(verge_durable *durable, verge__call *call); /* lets the writer make the call, and waits for it */
/* Lets the writer call `read` with the question. In a handler with a transaction, the calling thread calls `read`
 * itself. */
int verge__ask(verge_durable *durable,
               int (*read)(verge_durable *durable, verge__connection *connection, void *question), void *question);
void verge__call_submit(verge_durable *durable, verge__call *call); /* under the lock */
void verge__call_finish(verge__call *call, int result);

/* Call it after an insert. Returns VERGE__ID_TAKEN if another timer has an id that this node has made. If the caller
 * gave the id, the outcome of the row becomes -EEXIST. */
int verge__find_taken(verge__row *rows, size_t count);

/* Notifies the owners of rows that are due soon, unless this node is the owner. Call it in the transaction that has
 * inserted or moved the rows. */
int verge__notify_near(verge_durable *durable, verge__connection *connection, verge__row *rows, size_t count);
/* Call it after the commit. Puts rows of this node's shards that are due soon into the window. Notifies the owners of
 * other rows that are due soon, if the transaction has not done so. */
void verge__rows_committed(verge_durable *durable, verge__connection *connection, verge__row *rows, size_t count);
verge__row verge__moved_row(const verge__change *change);

/* ---- firing.c: the handler that runs on this thread ---- */

/* What a firing's `internal` points to. */
typedef struct verge__current {
    verge__firer *firer;
    bool has_transaction;
    bool has_savepoint;
    bool is_broken;          /* a savepoint could not be made or ended: the batch fails */
    uint64_t retry_after_ns; /* VERGE_NEVER: the backoff decides */
    size_t back_mark;        /* the length of `back` before the handler ran */
    const verge__row *row;   /* the row of the timer that fires */
    uint64_t until_ns;       /* outside of a transaction: local time when the claim ends */
    bool is_lost;            /* outside of a transaction: the timer was cancelled or moved, or was claimed again */
} verge__current;

/* Returns NULL if this thread runs no handler of this node with a transaction. */
verge__current *verge__current_of(const verge_durable *durable);
int verge__current_begin(verge__current *current); /* makes the savepoint, if there is none */
/* Notes a row that the handler has started or moved. */
int verge__current_scheduled(verge__current *current, const verge__row *row);
/* Finds a timer of this batch that has not ended: its handler has not returned, or it fires again. Looks for the id if
 * key is NULL, otherwise for the handler and key. Returns its row, or NULL. */
const verge__row *verge__find_in_batch(const verge__current *current, uint64_t id, const char *handler, const void *key,
                                       size_t key_size);

#endif
