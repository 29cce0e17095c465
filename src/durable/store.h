/* SPDX-License-Identifier: MIT */
/*
 * durable/store.h - the interface to a database. sqlite*.c and postgres*.c implement it.
 *
 * A connection is for one thread at a time. Functions with "in a transaction" in their comment must be called between
 * begin and commit. Functions that only read may be called there, too. Each of the others is a transaction of its own.
 * The sections P1 to P5 below are the steps of the protocol (docs/DURABLE.md).
 *
 * Functions return 0 or a negative errno; controls, list, owners and check return a count or a negative errno.
 * -EHOSTUNREACH, -EREMOTEIO, -EROFS: the connection is of no further use; disconnect it. -EAGAIN: another transaction
 * is in the way (a lock, a deadlock, a serialisation failure), or a statement took longer than the lease: roll back and
 * repeat.
 */
#ifndef VERGE_SRC_DURABLE_STORE_H
#define VERGE_SRC_DURABLE_STORE_H

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "verge/durable.h"

enum {
    /* An id is incarnation << 35 | counter << 8 | shard. The store gives each incarnation to one node only. If the
     * store was replaced by an older state, it may give an incarnation out again: see verge__check_incarnation. */
    VERGE__ID_SHARD_BITS = 8,
    VERGE__ID_COUNTER_BITS = 27,
    VERGE__ID_INCARNATION_BITS = 27, /* ids from 2^62 on are made by postgres_functions.c */
    VERGE__SCAN_ROWS_MAX = 4096,
    VERGE__WORDS_MAX = 512,
    VERGE__DEAD_COUNT_MAX = 10000, /* `owners` counts no further, since counting takes time */
};

#define VERGE__NO_TIMER UINT64_C(0)

/* Values of the column `clean` of verge_shard, for a shard that its owner has given back (schema.h). */
enum { VERGE__CLEAN = 1, VERGE__CLEAN_CAREFUL = 2 };

#define VERGE__TIME_MAX_NS ((uint64_t)INT64_MAX)

/* After a batch was refused a permit (permits.c), it asks again NAP_NS later. It keeps its place in the queue for
 * WAIT_NS after its last question. */
#define VERGE__PERMIT_NAP_NS UINT64_C(50000000)
#define VERGE__PERMIT_WAIT_NS UINT64_C(1000000000)

/* The outcome for a row whose id belongs to another timer. If the node has made the id, two nodes have had the same
 * incarnation: an older state of the store was restored, or a replica was promoted that lacked the last commits. */
#define VERGE__ID_TAKEN (-EADDRINUSE)

/* New tables are for libraries of this version or newer. Older libraries would lose the rules of timers. */
#define VERGE__MIN_VERSION 3

/* Texts of errors that calls and SQL functions share. */
#define VERGE__HANDLER_WORDS "a handler has 1 to 64 letters, digits, dots, _ and -"
#define VERGE__CONTRACT_WORDS \
    "older programs may still use the tables, and do not know this: when none is left, run verge-durable contract"

/* If a store's clock is set back by no more than this, store time stands still until the clock has caught up. */
#define VERGE__STORE_SETBACK_MAX_NS UINT64_C(60000000000)

/* Makes the next of several steps, if none has failed so far: VERGE__THEN(error, step()). */
#define VERGE__THEN(error, ...) ((error) = (error) != 0 ? (error) : (__VA_ARGS__))

static inline uint32_t verge__shard_of(uint64_t id) {
    return (uint32_t)(id & ((1U << VERGE__ID_SHARD_BITS) - 1));
}

typedef struct verge__store_meta {
    uint32_t version;     /* of the tables */
    uint32_t min_version; /* the oldest version of a library that may use the tables */
    uint32_t shard_count;
} verge__store_meta;

/* A shard that a node owns. */
typedef struct verge__shard {
    uint32_t shard;
    bool was_clean;   /* acquire: the last owner had given the shard back */
    bool was_careful; /* acquire: the last owner was still careful when it gave the shard back (durable_internal.h) */
    uint64_t epoch;
} verge__shard;

typedef struct verge__cluster {
    uint32_t live_nodes; /* nodes whose lease lasts, this one included */
    /* Store time at which the first lease of another node ends, if it is not renewed. 0: there is no other node. */
    uint64_t next_expiry_ns;
    uint64_t control_revision; /* differs after a change to verge_control */
    uint32_t owned_count;
    verge__shard owned[VERGE_DURABLE_SHARDS_MAX];
} verge__cluster;

/* A change to a handler's row of verge_control. A negative number leaves the setting as it is. */
typedef struct verge__control_change {
    const char *handler;
    int64_t is_paused;
    int64_t concurrency;
    int64_t rate;
    uint64_t revision; /* random, below 2^40 */
} verge__control_change;

/* Asks whether a batch may run. Its handler has limits in the cluster. The last two fields are the answer. */
typedef struct verge__permit {
    char handler[VERGE_DURABLE_HANDLER_NAME_MAX + 1];
    uint64_t node;
    uint32_t slot;        /* tells the node's batches of this handler apart */
    uint32_t timer_count; /* timers of the batch for which no time is reserved yet (rate in permits.c) */
    uint64_t run_ns;      /* how long the batch may take */
    bool is_granted;
    uint64_t at_ns; /* store time: if granted, when the timers may run; otherwise when to ask again */
} verge__permit;

/* A row of verge_timer, or one to insert. Pointers in a row that a store visits are valid only during the visit. */
typedef struct verge__row {
    uint64_t id;
    uint64_t due_ns;
    uint64_t period_ns;
    uint64_t revision;
    const char *handler;
    const void *key; /* NULL: none */
    size_t key_size;
    const void *payload;
    size_t payload_size;
    const char *rule; /* NULL: none */
    uint32_t attempt;
    uint32_t policy;
    verge_durable_conflict on_conflict; /* insert: if not 0, the pending row with this key is changed; id gets its id */
    int outcome;                        /* the result for this row; the call itself returns 0 */
    bool due_is_delay; /* insert: due_ns is a delay, counted from store time; the store replaces it by the due time */
    bool is_new;       /* insert: the id was made for this insert, and never used before */
    bool is_moved;     /* the row is not new: a pending or dead timer got another time */
    bool is_announced; /* the owner of the shard was notified */
} verge__row;

/* A timer that a node wants to fire, and the epoch with which the node believes that it owns the shard. */
typedef struct verge__target {
    uint64_t id;
    uint64_t epoch;
} verge__target;

/* A cancel, reset, completion, extension, probe, revival or forgetting, and its outcome. */
typedef struct verge__change {
    uint64_t id;
    uint64_t due_ns;   /* reset: the new due time. probe and revive set this field to the due time of the row */
    uint64_t revision; /* complete, extend: the row must still have this revision */
    uint64_t epoch;  /* probe sets it to the epoch of the row's shard; 0 on SQLite, where no row is locked (firer.c) */
    const void *key; /* cancel, reset: if not NULL, changes the timer of `handler` with this key; id gets its id */
    size_t key_size;
    int outcome;
    bool is_announced;                                /* as in verge__row */
    char handler[VERGE_DURABLE_HANDLER_NAME_MAX + 1]; /* with a key: its handler. Otherwise reset and revive set it */
} verge__change;

typedef struct verge__connection {
    const struct verge__store *store;
    uint64_t server_id;   /* differs for another server or file, and after a restart of the server */
    uint64_t incarnation; /* the last one that the store has given out, as far as the last answer tells */
    uint64_t now_ns;      /* store time, from the last answer that had it */
    uint64_t asked_ns;    /* monotonic time before the question that gave now_ns */
    uint64_t answered_ns; /* monotonic time after the answer */
    uint64_t query_count; /* queries that the keeper has not added to the statistics yet */
} verge__connection;

typedef void (*verge__visit_row)(void *context, const verge__row *row);

typedef struct verge__access {
    const char *url;
    uint64_t lease_ns; /* PostgreSQL: no statement, and no pause within a transaction, may take longer */
    uint64_t lock_ns;  /* how long to wait for the lock of another transaction; then -EAGAIN */
    bool create;       /* create the file if there is none */
} verge__access;

typedef struct verge__store {
    const char *name;
    bool has_one_writer;    /* only one transaction at a time can write, to any row */
    bool has_notifications; /* a node is told about timers that others have started */

    /* -ENOENT: there is no such file or database. -EOPNOTSUPP: a pooler between the node and the server does not keep
     * sessions apart. */
    int (*connect)(const verge__access *access, verge__connection **ret_connection);
    void (*disconnect)(verge__connection *connection);
    /* Makes a connection that uses a transaction of the caller, which has begun. Release it with disconnect. */
    int (*borrow)(void *transaction, verge__connection **ret_connection);
    void *(*handle)(verge__connection *connection); /* the sqlite3 * or PGconn * of the connection */

    /* -ENOENT: there are no tables; -EPROTO: they are not verge's. */
    int (*read_meta)(verge__connection *connection, verge__store_meta *ret_meta);
    /* Makes all tables, or adds what tables of an older version lack. Older libraries may still use tables that were
     * upgraded. */
    int (*make_tables)(verge__connection *connection, uint32_t shard_count);

    int (*contract)(verge__connection *connection); /* sets min_version to version */

    int (*begin)(verge__connection *connection);
    /* If no answer comes, the commit may or may not have happened. If mark is 0, commit then returns -EHOSTUNREACH.
     * Otherwise mark is a number that is used for nothing else. The commit leaves it in the store, so that another
     * connection can find out what became of the commit. -EHOSTUNREACH then means that the transaction was not
     * committed, and -EREMOTEIO that nobody knows. */
    int (*commit)(verge__connection *connection, uint64_t mark);
    void (*rollback)(verge__connection *connection);
    int (*savepoint)(verge__connection *connection);
    int (*end_savepoint)(verge__connection *connection, bool undo); /* -EAGAIN: a statement failed: call with undo */

    /* P1. Leases belong to nodes: a shard is free if it has no owner, or if its owner was silent for longer than its
     * lease. */
    /* node: a number that no other node has. lease_ns 0: only reads the time. */
    int (*join)(verge__connection *connection, const char *name, uint64_t lease_ns, uint64_t node);
    int (*renew)(verge__connection *connection, uint64_t node, uint64_t lease_ns, verge__cluster *ret_cluster);
    int (*acquire)(verge__connection *connection, uint64_t node, uint32_t count, verge__cluster *ret_new);
    int (*release)(verge__connection *connection, uint64_t node, const verge__shard *shards, uint32_t count,
                   bool is_careful);
    int (*leave)(verge__connection *connection, uint64_t node, bool is_careful); /* gives all shards back, too */
    int (*new_incarnation)(verge__connection *connection, uint64_t *ret_incarnation);

    /* P2. Visits up to `limit` rows of the shards, in the order of (due, id): rows that are due by until_ns and come
     * after (after_due_ns, after_id). */
    int (*scan)(verge__connection *connection, const verge__shard *shards, uint32_t count, uint64_t after_due_ns,
                uint64_t after_id, uint64_t until_ns, uint32_t limit, verge__visit_row visit, void *context);

    /* Visits a row for each notification, until timeout_ns have passed or wake_fd can be read. The id VERGE__NO_TIMER
     * means that verge_control was changed. */
    int (*wait)(verge__connection *connection, int wake_fd, uint64_t timeout_ns, verge__visit_row visit, void *context);

    /* P3, in a transaction; notify also outside of one. Outcomes: 0; -EEXIST: the key is taken. If a row with this id
     * exists, it stays as it is. The outcome is then 0 if it is the same timer, otherwise VERGE__ID_TAKEN. With
     * on_conflict, such a row is changed if it has the same key; otherwise the outcome is -EEXIST. If the id of a new
     * row is taken, the call itself may return VERGE__ID_TAKEN. */
    int (*insert)(verge__connection *connection, verge__row *rows, size_t count);
    int (*notify)(verge__connection *connection, const verge__row *const *rows, size_t count);

    /* P4, in a transaction. take deletes and visits rows that are due and whose shard still has the epoch. claim keeps
     * and visits such rows, and gives them another attempt, revision and due time; the visit shows the new revision,
     * but the old attempt and due time. Both leave out rows that another transaction has locked. complete deletes
     * claimed rows whose revision has not changed: outcome 0. For other rows, the outcome is -ENOENT. */
    int (*take)(verge__connection *connection, const verge__target *targets, size_t count, verge__visit_row visit,
                void *context);
    int (*claim)(verge__connection *connection, const verge__target *targets, size_t count, const uint64_t *run_ns,
                 verge__visit_row visit, void *context);
    int (*complete)(verge__connection *connection, verge__change *changes, size_t count);
    /* Moves the end of a claim to run_ns from now. Outcome -ENOENT: the timer was cancelled or moved, or was claimed
     * again. */
    int (*extend)(verge__connection *connection, verge__change *change, uint64_t run_ns);
    /* Counts an attempt of a timer that is due, before its handler runs: adds 1 to the attempt of the row, and sets
     * *counted to the sum. If *counted is not 0 and equals the attempt of the row, this attempt is counted already, and
     * the row stays as it is. The row and *counted stay as they are if the timer is not due any more, if its shard has
     * another epoch, or if another transaction has locked the row. */
    int (*count_attempt)(verge__connection *connection, const verge__target *target, uint32_t *counted);
    /* Finds out which rows exist, when they are due, and the epochs of their shards. Outcomes: 0, -ENOENT. */
    int (*probe)(verge__connection *connection, verge__change *changes, size_t count);
    int (*make_dead)(verge__connection *connection, const verge__row *row, const char *reason);

    /* P5, in a transaction. Outcomes are those of D5 (verge/durable.h) and -EAGAIN: another transaction has locked the
     * row. */
    int (*cancel)(verge__connection *connection, verge__change *changes, size_t count);
    int (*reset)(verge__connection *connection, verge__change *changes, size_t count);

    /* Limits of the cluster; control, permit and keep_permit are in a transaction. controls lists the handlers whose
     * settings differ from the default. keep_permit moves the end of a granted permit to run_ns from now; run_ns 0 ends
     * the permit. */
    int (*control)(verge__connection *connection, const verge__control_change *change);
    int (*controls)(verge__connection *connection, verge_durable_control *ret_controls, size_t count);
    int (*permit)(verge__connection *connection, verge__permit *permit);
    int (*keep_permit)(verge__connection *connection, const verge__permit *permit, uint64_t run_ns);

    /* For people. look reads one timer, pending or dead; payload may be NULL. list reads several. */
    int (*find)(verge__connection *connection, const char *handler, const void *key, size_t key_size, uint64_t *ret_id);
    int (*look)(verge__connection *connection, uint64_t id, verge_durable_info *ret_info, void *payload, size_t size);
    int (*list)(verge__connection *connection, bool dead, uint64_t after, verge_durable_info *ret_infos, size_t count);
    /* In a transaction; -ENOENT, -EEXIST. The revision of the row starts at store time. No earlier claim of the timer
     * has this revision, so the completion of such a claim does not find the row. */
    int (*revive)(verge__connection *connection, verge__change *change);
    int (*forget)(verge__connection *connection, uint64_t id); /* in a transaction; -ENOENT */
    int (*count)(verge__connection *connection, uint64_t *ret_pending, uint64_t *ret_overdue, uint64_t *ret_dead);
    /* Reads the owners of shards, as verge_durable_list_owners does, and counts up to VERGE__DEAD_COUNT_MAX dead
     * timers. */
    int (*owners)(verge__connection *connection, verge_durable_owner *ret_owners, size_t count, uint64_t *ret_dead);
    int (*check)(verge__connection *connection, uint32_t shard_count, char *text, size_t size);
} verge__store;

/* The functions of a store S, named verge__S_connect and so on. VERGE__STORE_PROTOTYPE declares one, and
 * VERGE__STORE_FIELD puts one into the table. */
/* clang-format off */
#define VERGE__STORE_FUNCTIONS(F, S) \
    F(S, connect) F(S, disconnect) F(S, borrow) F(S, handle) F(S, read_meta) F(S, make_tables) F(S, contract) \
    F(S, begin) F(S, commit) F(S, rollback) F(S, savepoint) F(S, end_savepoint) \
    F(S, join) F(S, renew) F(S, acquire) F(S, release) F(S, leave) F(S, new_incarnation) \
    F(S, scan) F(S, wait) F(S, insert) F(S, notify) \
    F(S, take) F(S, claim) F(S, complete) F(S, extend) F(S, count_attempt) F(S, probe) \
    F(S, make_dead) F(S, cancel) F(S, reset) F(S, control) F(S, controls) F(S, permit) F(S, keep_permit) \
    F(S, find) F(S, look) F(S, list) F(S, revive) F(S, forget) F(S, count) F(S, owners) F(S, check)
/* clang-format on */
#define VERGE__STORE_PROTOTYPE(S, function) extern __typeof__(*((verge__store *)0)->function) verge__##S##_##function;
#define VERGE__STORE_FIELD(S, function) .function = verge__##S##_##function,

/* Returns the store that the URL names; NULL: there is none. *ret_is_missing: verge has this store, but this build does
 * not. */
const verge__store *verge__store_of(const char *url, bool *ret_is_missing);

extern const verge__store verge__sqlite_store;
extern const verge__store verge__postgres_store;

uint64_t verge__monotonic_ns(void);

void verge__one_line(char *text); /* replaces each run of white space by one space, and drops it at both ends */

/* Keeps words about an error on this thread, mostly the store's own. */
void verge__set_words(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* Returns the words about the last error on this thread; empty: there was none. */
const char *verge__words(void);

/* Returns whether a row of the store is the timer that was to be inserted. Its due time may have changed since. */
bool verge__is_same_timer(const verge__row *found, const verge__row *row);
/* Returns whether both rows have the same handler and key. A row with on_conflict may have an id that the caller gave.
 * If the row found by this id has the same key, it is the one to change. If not, the id belongs to another timer, and
 * the insert refuses it. */
bool verge__has_same_key(const verge__row *found, const verge__row *row);

/* Helps `owners`: adds a shard to its owner. Shards come in the order of their owners. Returns how many owners there
 * are now. */
int verge__add_owned(verge_durable_owner *owners, int found, size_t count, const verge_durable_owner *owner,
                     uint64_t shard);

#endif
