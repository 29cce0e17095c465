/* SPDX-License-Identifier: MIT */
/*
 * durable/postgres_internal.h - the store on a server: PostgreSQL by libpq. Transactions have the server's default
 * isolation, READ COMMITTED.
 *
 * Three rules are essential:
 *  - The statements that fire timers (TAKE, CLAIM) also lock the shard's row FOR SHARE, and compare its epoch. A
 *    takeover locks that row FOR UPDATE SKIP LOCKED. So the takeover leaves the shard out while a firing is under way.
 *    If the takeover was first, the epoch differs, and no timer is deleted. FOR KEY SHARE would not be enough: the
 *    UPDATE of a node that leaves would not wait for the firing.
 *  - A statement about many timers reads the clock once, in a subquery. A bare verge_now() would be evaluated for each
 *    row.
 *  - The query plan must not depend on how full the table was when the plan was made. So conditions that should not
 *    choose an index are written in a form that no index serves (shard + 0), and sequential scans are switched off in
 *    these sessions. The JIT compiler is off as well, since the high cost of a forbidden scan would trigger it.
 *
 * The server stops a statement that takes longer than the lease. The library waits for the answer 2 s longer
 * (answer_ns). After that, the connection counts as lost. On a borrowed connection, only the library has a limit: 60 s.
 */
#ifndef VERGE_SRC_DURABLE_POSTGRES_INTERNAL_H
#define VERGE_SRC_DURABLE_POSTGRES_INTERNAL_H

#include <endian.h>
#include <libpq-fe.h>
#include <stdlib.h>
#include <string.h>

#include "durable/store.h"

enum {
    PARAMETERS_MAX = 10,
    TYPE_BYTEA = 17,
    TYPE_INT8 = 20,
    TYPE_TEXT = 25,
    ARRAY_MAX = 512, /* changes in one statement */
    PIECE_ROWS_MAX = 4096,
    PIECE_SIZE_MAX = 1 << 20,
};

#define CONNECT_TIMEOUT_S "5"
#define EXPLAIN_TIMEOUT_NS UINT64_C(2000000000)
#define MARK_KEPT_NS UINT64_C(3600000000000) /* a node that joins deletes marks that are older */

typedef enum verge__postgres_statement {
    RENEW,
    ACQUIRE,
    RELEASE,
    LEAVE,
    FORGET_NODES,
    INSERT,
    INSERT_NEW, /* for rows with new ids and without keys: inserts all of them, and returns only store time */
    EXISTING,
    PROBE,
    EXISTING_ROWS,
    TAKE,
    CLAIM,
    COMPLETE,
    EXTEND,
    ATTEMPT,
    BURY,
    CANCEL,
    CANCEL_KEY,
    RESET,
    RESET_KEY,
    REPLACE,
    NOTIFY,
    CONTROL,
    LIST_CONTROLS,
    PERMIT,
    PERMIT_KEEP,
    PERMIT_END,
    STATEMENT_COUNT,
} verge__postgres_statement;

typedef struct verge__buffer {
    char *data;
    size_t size;
    size_t capacity;
    bool is_broken; /* an append found no memory */
} verge__buffer;

typedef struct verge__postgres {
    verge__connection base;
    PGconn *pg;
    char *url;
    uint64_t answer_ns; /* how long an answer may take */
    bool is_borrowed;
    bool is_listening;
    bool is_prepared[STATEMENT_COUNT];
    uint64_t scan_key;  /* a hash of the shards that the prepared scan reads; 0: none is prepared */
    uint64_t last_mark; /* of the last commit on this connection that had a mark (P4): this mark; 0: there was none */
    verge__buffer buffers[PARAMETERS_MAX];
} verge__postgres;

/* The parameters of a statement, all in binary. */
typedef struct verge__parameters {
    int count;
    const char *values[PARAMETERS_MAX];
    int lengths[PARAMETERS_MAX];
    uint64_t numbers[PARAMETERS_MAX]; /* big-endian, as the server wants them */
} verge__parameters;

static inline verge__postgres *own(verge__connection *connection) {
    return (verge__postgres *)connection;
}

/* ---- parameters ---- */

static inline uint64_t to_server(uint64_t value) {
    return htobe64(value);
}

static inline void add_bytes(verge__parameters *p, const void *bytes, size_t size) {
    p->values[p->count] = bytes;
    p->lengths[p->count] = (int)size;
    p->count++;
}

static inline void add_number(verge__parameters *p, uint64_t value) {
    p->numbers[p->count] = to_server(value);
    add_bytes(p, &p->numbers[p->count], sizeof(value));
}

static inline void append(verge__buffer *buffer, const void *bytes, size_t size) {
    if (buffer->size + size > buffer->capacity) {
        const size_t capacity = (buffer->size + size) * 2 + 256;
        char *larger = buffer->is_broken ? NULL : realloc(buffer->data, capacity);
        if (larger == NULL) {
            buffer->is_broken = true;
            return;
        }
        buffer->data = larger;
        buffer->capacity = capacity;
    }
    if (size > 0) {
        memcpy(buffer->data + buffer->size, bytes, size);
        buffer->size += size;
    }
}

static inline void append_u32(verge__buffer *buffer, uint32_t value) {
    const uint32_t swapped = htobe32(value);
    append(buffer, &swapped, sizeof(swapped));
}

/* Begins an array of one dimension, in the server's binary format. */
static inline verge__buffer *begin_array(verge__postgres *c, verge__parameters *p, uint32_t type, size_t count) {
    verge__buffer *buffer = &c->buffers[p->count];
    buffer->size = 0;
    append_u32(buffer, 1); /* dimensions */
    append_u32(buffer, 1); /* there may be NULLs */
    append_u32(buffer, type);
    append_u32(buffer, (uint32_t)count);
    append_u32(buffer, 1); /* the first index */
    return buffer;
}

static inline void append_item(verge__buffer *buffer, const void *bytes, size_t size) {
    append_u32(buffer, bytes == NULL ? UINT32_MAX : (uint32_t)size); /* -1: NULL */
    append(buffer, bytes, bytes == NULL ? 0 : size);
}

static inline void append_number(verge__buffer *buffer, uint64_t value) {
    const uint64_t swapped = to_server(value);
    append_item(buffer, &swapped, sizeof(swapped));
}

static inline void end_array(verge__parameters *p, verge__buffer *buffer) {
    add_bytes(p, buffer->data, buffer->size);
}

static inline bool is_broken(verge__postgres *c) {
    bool broken = false;
    for (int i = 0; i < PARAMETERS_MAX; i++) {
        broken |= c->buffers[i].is_broken;
        c->buffers[i].is_broken = false;
    }
    return broken;
}

/* ---- answers ---- */

static inline uint64_t number(const PGresult *result, int row, int column) {
    uint64_t value = 0;
    if (!PQgetisnull(result, row, column) && PQgetlength(result, row, column) == (int)sizeof(value)) {
        memcpy(&value, PQgetvalue(result, row, column), sizeof(value));
    }
    return be64toh(value);
}

static inline void read_row(const PGresult *result, int i, verge__row *row) {
    *row = (verge__row){
        .id = number(result, i, 0),
        .due_ns = number(result, i, 1),
        .attempt = (uint32_t)number(result, i, 2),
        .revision = number(result, i, 3),
        .period_ns = number(result, i, 4),
        .policy = (uint32_t)number(result, i, 5),
        .handler = PQgetvalue(result, i, 6),
        .key = PQgetisnull(result, i, 7) ? NULL : PQgetvalue(result, i, 7),
        .key_size = (size_t)PQgetlength(result, i, 7),
        .payload = PQgetvalue(result, i, 8),
        .payload_size = (size_t)PQgetlength(result, i, 8),
        .rule = PQgetisnull(result, i, 9) ? NULL : PQgetvalue(result, i, 9),
    };
}

static inline void note_time(verge__postgres *c, uint64_t now_ns, uint64_t asked_ns) {
    c->base.now_ns = now_ns;
    c->base.asked_ns = asked_ns;
    c->base.answered_ns = verge__monotonic_ns();
}

/* ---- postgres_ask.c: functions that return int return 0 or a negative errno ---- */

/* Returns the error for a text that begins with an SQLSTATE. *ret_advice: what to do about it; NULL: no advice. */
int verge__pg_error_of_state(const char *state, const char **ret_advice);
/* Returns the error of a result. Keeps the server's message for verge_durable_error. */
int verge__pg_error_of(const verge__postgres *c, const PGresult *result);
/* Waits for the answer to a query. Returns its last result, or the first that failed; NULL: the connection is lost. */
PGresult *verge__pg_answer(verge__postgres *c, int sent);
/* Runs SQL without parameters, and drops the answer. */
int verge__pg_say(verge__postgres *c, const char *text);
/* Runs a statement that verge__pg_prepare has prepared. */
int verge__pg_ask_named(verge__postgres *c, const char *name, const verge__parameters *p, PGresult **ret_result);
int verge__pg_prepare(verge__postgres *c, const char *name, const char *text);
/* Runs SQL with parameters. */
int verge__pg_ask_text(verge__postgres *c, const char *text, const verge__parameters *p, PGresult **ret_result);
/* Runs one of the statements above. Prepares it the first time, except on a borrowed connection. */
int verge__pg_ask(verge__postgres *c, verge__postgres_statement which, const verge__parameters *p,
                  PGresult **ret_result);
/* Does the same as verge__pg_ask, and drops the rows. */
int verge__pg_tell(verge__postgres *c, verge__postgres_statement which, const verge__parameters *p);

/* ---- postgres_functions.c ---- */

int verge__pg_make_functions(verge__postgres *c); /* call it in the transaction that makes the tables */

VERGE__STORE_FUNCTIONS(VERGE__STORE_PROTOTYPE, postgres)

#endif
