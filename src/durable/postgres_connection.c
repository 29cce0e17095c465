/* SPDX-License-Identifier: MIT */
/* Connections and transactions; finding out whether a commit without an answer took effect. */
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic ignored "-Wanalyzer-malloc-leak" /* gcc 12 loses sight of memory that a struct holds */
#endif

#define _GNU_SOURCE

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>

#include "durable/postgres_internal.h"

/* ---- connections, transactions ---- */

void verge__postgres_disconnect(verge__connection *connection) {
    verge__postgres *c = own(connection);
    if (!c->is_borrowed) {
        PQfinish(c->pg);
    }
    for (int i = 0; i < PARAMETERS_MAX; i++) {
        free(c->buffers[i].data);
    }
    free(c->url);
    free(c);
}

/* Later keywords override earlier ones. So the URL, which is the value of dbname, overrides those before it. */
static const char *const keywords[] = {
    "connect_timeout", "fallback_application_name", "keepalives_idle", "tcp_user_timeout", "dbname", NULL};

/* Returns a connection, which may have failed; NULL: there is no memory. */
static PGconn *connect_to_server(const char *url) {
    const char *const values[] = {CONNECT_TIMEOUT_S, "verge-durable", "10", "10000", url, NULL};
    PGconn *pg = PQconnectdbParams(keywords, values, 1);
    if (pg != NULL) {
        (void)PQsetnonblocking(pg, 1);
    }
    return pg;
}

/* Finds out why a connection could not be made. libpq has no error code for this, only a text in the server's language.
 * So this connects once more, with a text that includes the code: "... FATAL:  28P01: password authentication failed
 * ...\nLOCATION: ...". If the error comes from libpq itself, the text has no code, and the result is -EHOSTUNREACH. */
static int explain_failure(const char *url) {
    const char *const values[] = {CONNECT_TIMEOUT_S, "verge-durable", "10", "10000", url, NULL};
    PGconn *pg = PQconnectStartParams(keywords, values, 1);
    if (pg == NULL) {
        return -ENOMEM;
    }
    (void)PQsetErrorVerbosity(pg, PQERRORS_VERBOSE);
    const uint64_t until_ns = verge__monotonic_ns() + EXPLAIN_TIMEOUT_NS;
    PostgresPollingStatusType state = PQstatus(pg) == CONNECTION_BAD ? PGRES_POLLING_FAILED : PGRES_POLLING_WRITING;
    while (state == PGRES_POLLING_READING || state == PGRES_POLLING_WRITING) {
        const uint64_t now_ns = verge__monotonic_ns();
        struct pollfd fd = {.fd = PQsocket(pg), .events = state == PGRES_POLLING_READING ? POLLIN : POLLOUT};
        if (now_ns >= until_ns) {
            break;
        }
        if (poll(&fd, 1, (int)((until_ns - now_ns) / 1000000) + 1) > 0) {
            state = PQconnectPoll(pg);
        }
    }
    const char *message = PQerrorMessage(pg);
    const char *code = message;
    while ((code = strstr(code, ":  ")) != NULL) {
        code += 3;
        if (strspn(code, "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ") == 5 && code[5] == ':') {
            break;
        }
    }
    int error = -EHOSTUNREACH;
    if (code != NULL) {
        const char *end = strstr(code, "\nLOCATION");
        const char *text = code + strlen("28P01: ");
        const char *advice;
        error = verge__pg_error_of_state(code, &advice);
        verge__set_words("%.*s%.*s%s%s", (int)(code - message), message, end == NULL ? 300 : (int)(end - text), text,
                         advice == NULL ? "" : ": ", advice == NULL ? "" : advice);
    }
    PQfinish(pg);
    return error;
}

/* Returns 0 if there is a connection; otherwise the error says why not. */
static int check_connection(PGconn *pg, const char *url) {
    if (pg == NULL) {
        return -ENOMEM;
    }
    if (PQstatus(pg) == CONNECTION_OK) {
        return 0;
    }
    verge__set_words("%s", PQerrorMessage(pg));
    return explain_failure(url);
}

static void ignore_notice(void *context, const PGresult *result) {
    (void)context;
    (void)result;
}

/* Tells servers apart, by the time when they were started. */
#define SERVER_ID "(extract(epoch FROM pg_postmaster_start_time()) * 1000000)::bigint"

static int read_session(verge__postgres *c, uint64_t *ret_process) {
    const verge__parameters none = {0};
    PGresult *result;
    const int error = verge__pg_ask_text(c, "SELECT " SERVER_ID ", pg_backend_pid()::bigint", &none, &result);
    if (error == 0) {
        c->base.server_id = number(result, 0, 0);
        *ret_process = number(result, 0, 1);
        PQclear(result);
    }
    return error;
}

/* Called if the server's process is not the one that libpq was told of: a pooler is in between. Refuses a pooler in
 * transaction mode. In session mode, each connection has a process of its own all the time. In transaction mode, two
 * idle connections usually share a process, or the process of a connection changes. Settings and prepared statements of
 * a session would then be lost, or apply to other sessions. */
static int refuse_pooler(verge__postgres *c, uint64_t process) {
    enum { ROUNDS = 4 };
    int error = 0;
    bool is_shared = false;
    for (int i = 0; i < ROUNDS && error == 0 && !is_shared; i++) {
        verge__postgres other = {.pg = connect_to_server(c->url), .answer_ns = c->answer_ns};
        uint64_t of_other = 0;
        uint64_t again = 0;
        error = check_connection(other.pg, c->url);
        VERGE__THEN(error, read_session(&other, &of_other));
        VERGE__THEN(error, read_session(c, &again));
        is_shared = error == 0 && (of_other == process || again != process);
        PQfinish(other.pg);
    }
    if (is_shared) {
        verge__set_words("a pooler in transaction mode (such as pgbouncer) is between this program and the server, and "
                         "durable timers need sessions: set pool_mode = session, or connect to the server itself");
    }
    return is_shared ? -EOPNOTSUPP : error;
}

static int begin_session(verge__postgres *c, const verge__access *access) {
    char settings[300];
    uint64_t process;
    const unsigned long lease_ms = (unsigned long)(access->lease_ns / 1000000);
    (void)PQsetNoticeReceiver(c->pg, ignore_notice, NULL);
    int error = read_session(c, &process);
    if (error == 0 && process != (uint64_t)PQbackendPID(c->pg)) {
        error = refuse_pooler(c, process);
    }
    if (error != 0) {
        return error;
    }
    (void)snprintf(
        settings, sizeof(settings),
        "SET idle_in_transaction_session_timeout = %lu; SET statement_timeout = %lu; SET lock_timeout = %lu; "
        "SET enable_seqscan = off; SET jit = off; SET synchronous_commit = on",
        lease_ms, lease_ms, (unsigned long)(access->lock_ns / 1000000) + 1);
    return verge__pg_say(c, settings);
}

/* Returns whether the password seems to have characters that should have been encoded. libpq has then taken parts of
 * the password for a host, a port or a database, and would quote them in messages. */
static bool is_misread(const char *url, const PQconninfoOption *option) {
    const char *host = strstr(url, "://") + 3;
    const bool has_at = strchr(host + strcspn(host, "/"), '@') != NULL;
    bool is_wrong = false;
    for (; option->keyword != NULL; option++) {
        const char *value = option->val == NULL ? "" : option->val;
        const char *at = strrchr(value, '@');
        is_wrong |= strcmp(option->keyword, "port") == 0 ? value[strspn(value, "0123456789,")] != '\0'
                    : strcmp(option->keyword, "host") == 0
                        ? at != NULL && at > value /* a value that begins with @ is an abstract socket */
                        : has_at && at != NULL && strcmp(option->keyword, "dbname") == 0;
    }
    return is_wrong;
}

/* Returns 0 if libpq understands the URL. The message of libpq may quote the URL, so it is used only if the URL cannot
 * have a password. */
static int check_url(const char *url) {
    char *message = NULL;
    PQconninfoOption *parsed = PQconninfoParse(url, &message);
    int error = parsed != NULL ? 0 : message == NULL ? -ENOMEM : -EINVAL;
    if (error == -EINVAL && strpbrk(url, "@%") == NULL && strcasestr(url, "pass") == NULL) {
        verge__set_words("%s", message);
    } else if (error == -EINVAL || (error == 0 && is_misread(url, parsed))) {
        verge__set_words("the URL cannot be read: in a password, write %% as %%25, @ as %%40, / as %%2F, ? as %%3F");
        error = -EINVAL;
    }
    PQconninfoFree(parsed);
    PQfreemem(message);
    return error;
}

int verge__postgres_connect(const verge__access *access, verge__connection **ret_connection) {
    int error = check_url(access->url);
    verge__postgres *c = error != 0 ? NULL : calloc(1, sizeof(*c));
    if (c == NULL) {
        return error != 0 ? error : -ENOMEM;
    }
    c->base.store = &verge__postgres_store;
    c->answer_ns = access->lease_ns + UINT64_C(2000000000);
    c->url = strdup(access->url);
    c->pg = c->url == NULL ? NULL : connect_to_server(access->url);
    error = check_connection(c->pg, access->url);
    VERGE__THEN(error, begin_session(c, access));
    if (error != 0) {
        verge__postgres_disconnect(&c->base);
        return error;
    }
    *ret_connection = &c->base;
    return 0;
}

int verge__postgres_borrow(void *transaction, verge__connection **ret_connection) {
    if (PQtransactionStatus(transaction) != PQTRANS_INTRANS || PQisnonblocking(transaction)) {
        return -EINVAL;
    }
    verge__postgres *c = calloc(1, sizeof(*c));
    if (c == NULL) {
        return -ENOMEM;
    }
    c->base.store = &verge__postgres_store;
    c->pg = transaction;
    c->is_borrowed = true;
    c->answer_ns = UINT64_C(60000000000);
    const verge__parameters none = {0};
    PGresult *result;
    const uint64_t asked_ns = verge__monotonic_ns();
    const int error =
        verge__pg_ask_text(c, "SELECT verge_now(), incarnation, " SERVER_ID " FROM verge_meta", &none, &result);
    if (error != 0) {
        verge__postgres_disconnect(&c->base);
        return error;
    }
    note_time(c, number(result, 0, 0), asked_ns);
    c->base.incarnation = number(result, 0, 1);
    c->base.server_id = number(result, 0, 2);
    PQclear(result);
    *ret_connection = &c->base;
    return 0;
}

void *verge__postgres_handle(verge__connection *connection) {
    verge__postgres *c = own(connection);
    (void)PQsetnonblocking(c->pg, 0); /* handlers expect a connection that blocks */
    return c->pg;
}

/* One round trip begins the transaction and reads store time. */
int verge__postgres_begin(verge__connection *connection) {
    verge__postgres *c = own(connection);
    const uint64_t asked_ns = verge__monotonic_ns();
    PGresult *result =
        verge__pg_answer(c, PQsendQuery(c->pg, "BEGIN; SELECT verge_now(), incarnation FROM verge_meta"));
    int error = verge__pg_error_of(c, result);
    error = error == 0 && PQntuples(result) != 1 ? -EPROTO : error; /* verge_meta has one row */
    if (error == 0) {
        note_time(c, strtoull(PQgetvalue(result, 0, 0), NULL, 10), asked_ns);
        c->base.incarnation = strtoull(PQgetvalue(result, 0, 1), NULL, 10);
    } else if (error != -EHOSTUNREACH) {
        (void)verge__pg_say(c, "ROLLBACK");
    }
    PQclear(result);
    return error;
}

void verge__postgres_rollback(verge__connection *connection) {
    verge__postgres *c = own(connection);
    (void)PQsetnonblocking(c->pg, 1); /* verge__postgres_handle may have made it block */
    if (PQtransactionStatus(c->pg) != PQTRANS_IDLE) {
        (void)verge__pg_say(c, "ROLLBACK");
    }
}

/* ---- the end of a transaction ----
 *
 * A connection may be lost after COMMIT was sent. Then another connection must find out whether the transaction was
 * committed. The number of the transaction does not tell: after a crash, the server may use the number again. So the
 * transaction inserts a row, its mark, just before it commits. The connection that asks inserts the same row. Only one
 * of the two can succeed. If the transaction's own row is there (committed is 1), the transaction was committed. If the
 * asking connection could insert it, the transaction can no longer be committed.
 */

static int find_out(verge__postgres *c, uint64_t mark) {
    char query[256];
    int error = -EREMOTEIO;
    (void)snprintf(query, sizeof(query),
                   "INSERT INTO verge_mark (id, at, committed) VALUES (%" PRIu64 ", %" PRIu64
                   ", 0) ON CONFLICT (id) DO UPDATE SET at = verge_mark.at RETURNING committed, verge_now()",
                   mark, c->base.now_ns);
    const uint64_t until_ns = verge__monotonic_ns() + c->answer_ns;
    while (error == -EREMOTEIO && verge__monotonic_ns() < until_ns) {
        verge__postgres other = {.pg = connect_to_server(c->url),
                                 .answer_ns = c->answer_ns / 4}; /* leaves time for more tries */
        PGresult *result =
            PQstatus(other.pg) == CONNECTION_OK ? verge__pg_answer(&other, PQsendQuery(other.pg, query)) : NULL;
        if (result != NULL && PQresultStatus(result) == PGRES_TUPLES_OK) {
            const bool is_kept = strtoull(PQgetvalue(result, 0, 1), NULL, 10) < c->base.now_ns + MARK_KEPT_NS;
            const bool is_committed = strcmp(PQgetvalue(result, 0, 0), "1") == 0;
            error = is_committed ? 0 : is_kept ? -EHOSTUNREACH : error;
        }
        PQclear(result);
        PQfinish(other.pg);
        if (error == -EREMOTEIO) {
            (void)poll(NULL, 0, 50);
        }
    }
    return error;
}

int verge__postgres_commit(verge__connection *connection, uint64_t mark) {
    verge__postgres *c = own(connection);
    char text[256] = "COMMIT";
    if (mark != 0) {
        (void)snprintf(text, sizeof(text),
                       "WITH last AS (DELETE FROM verge_mark WHERE id = %" PRIu64
                       ") INSERT INTO verge_mark (id, at, committed) VALUES (%" PRIu64 ", %" PRIu64 ", 1); COMMIT",
                       c->last_mark, mark, c->base.now_ns);
    }
    PGresult *result = verge__pg_answer(c, PQsendQuery(c->pg, text));
    int error = verge__pg_error_of(c, result);
    if (error == 0 && strcmp(PQcmdStatus(result), "COMMIT") != 0) {
        error = -EAGAIN; /* the server has rolled back instead: a statement had failed */
    }
    PQclear(result);
    if (error == -EHOSTUNREACH) {
        return mark == 0 ? error : find_out(c, mark);
    }
    if (error != 0) {
        verge__postgres_rollback(connection); /* if the mark could not be inserted, the transaction is still open */
    } else if (mark != 0) {
        c->last_mark = mark;
    }
    return error;
}

int verge__postgres_savepoint(verge__connection *connection) {
    return verge__pg_say(own(connection), "SAVEPOINT verge_handler");
}

int verge__postgres_end_savepoint(verge__connection *connection, bool undo) {
    verge__postgres *c = own(connection);
    (void)PQsetnonblocking(c->pg, 1);
    switch (PQtransactionStatus(c->pg)) {
    case PQTRANS_INTRANS:
        break;
    case PQTRANS_INERROR:
        if (!undo) {
            return -EAGAIN;
        }
        break;
    case PQTRANS_UNKNOWN:
        return -EHOSTUNREACH;
    default:
        return -EIO; /* the handler has ended the transaction */
    }
    return verge__pg_say(c, undo ? "ROLLBACK TO verge_handler; RELEASE verge_handler" : "RELEASE verge_handler");
}
