/* SPDX-License-Identifier: MIT */
/* A transaction works on a copy of the tables. Steps of nodes are whole, so at most one copy is open at a time. */
#include "durable/model_store.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct model_store model;
enum model_mistake model_mistake;

struct connection {
    verge__connection base;
    struct model_tables *copy;  /* the tables of the open transaction; NULL: there is none */
    struct model_tables before; /* the tables at the savepoint */
};

static struct connection *own(verge__connection *connection) {
    return (struct connection *)connection;
}

void model_reset(uint64_t seed) {
    memset(&model, 0, sizeof(model));
    model.random = verge_test_random_from(seed);
    model.now_ns = UINT64_C(1000000000000);
    model.server_id = 1;
    for (int i = 0; i < MODEL_SHARDS; i++) {
        model.now.shards[i].epoch = 1;
        model.now.shards[i].clean = true;
    }
}

void model_control(const char *handler, bool is_paused, uint32_t concurrency, uint32_t rate) {
    model.now.control = (verge_durable_control){.is_paused = is_paused, .concurrency = concurrency, .rate = rate};
    (void)snprintf(model.now.control.handler, sizeof(model.now.control.handler), "%s", handler);
    model.now.control_revision = verge_test_below(&model.random, UINT64_C(1) << 40) + 1;
}

void model_replicate(void) {
    model.before = model.now;
}

void model_fail_over(void) {
    model.now = model.before;
    model.server_id++;
}

static struct model_tables *tables(verge__connection *connection) {
    struct connection *c = own(connection);
    return c->copy != NULL ? c->copy : &model.now;
}

/* Each question may be lost. Then nothing has happened. */
static bool is_lost(verge__connection *connection) {
    connection->now_ns = model.now_ns;
    connection->asked_ns = connection->answered_ns = model.local_ns;
    connection->incarnation = model.now.incarnation;
    const bool lost =
        connection->server_id != model.server_id || (model.loss != 0 && verge_test_chance(&model.random, model.loss));
    model.lost += lost;
    return lost;
}

#define OR_LOST(connection) \
    if (is_lost(connection)) { \
        return -EHOSTUNREACH; \
    }

static void call_answered(void) {
    void (*const answered)(void) = model.answered;
    model.answered = NULL;
    if (answered != NULL) {
        answered();
    }
}

static int model_connect(const verge__access *access, verge__connection **ret_connection) {
    (void)access;
    struct connection *c = calloc(1, sizeof(*c));
    if (c == NULL) {
        return -ENOMEM;
    }
    c->base.store = &model_store;
    c->base.server_id = model.server_id;
    *ret_connection = &c->base;
    return 0;
}

static void model_rollback(verge__connection *connection) {
    free(own(connection)->copy);
    own(connection)->copy = NULL;
}

static void model_disconnect(verge__connection *connection) {
    model_rollback(connection);
    free(connection);
}

static int model_begin(verge__connection *connection) {
    void (*const began)(void) = model.began;
    model.began = NULL;
    if (began != NULL) {
        began();
    }
    OR_LOST(connection)
    call_answered(); /* before the tables are copied: a commit would undo what happens now */
    own(connection)->copy = malloc(sizeof(model.now));
    if (own(connection)->copy == NULL) {
        return -ENOMEM;
    }
    *own(connection)->copy = model.now;
    return 0;
}

/* The commit may be lost before it happens, or only its answer. With a mark, the caller can find out. */
static int model_commit(verge__connection *connection, uint64_t mark) {
    const bool is_unanswered = is_lost(connection) || model.loses_answer;
    const bool happens = !is_unanswered || model.loses_answer || verge_test_chance(&model.random, 2);
    model.loses_answer = false;
    if (is_unanswered) {
        connection->server_id = 0; /* the connection is lost, even if the caller can find out */
    }
    const bool is_dropped = model_mistake == MISTAKE_LOST_COMMIT && verge_test_chance(&model.random, 50);
    if (happens && !is_dropped) {
        model.now = *own(connection)->copy;
    }
    model_rollback(connection);
    void (*const committed)(void) = model.committed;
    model.committed = NULL;
    if (committed != NULL) {
        committed();
    }
    if (!is_unanswered || mark == 0) {
        return is_unanswered ? -EHOSTUNREACH : 0;
    }
    if (model_mistake == MISTAKE_NUMBER_AGAIN) {
        return 0;
    }
    return verge_test_chance(&model.random, 2) ? -EREMOTEIO : happens ? 0 : -EHOSTUNREACH;
}

static void *model_handle(verge__connection *connection) {
    return connection;
}

static int model_savepoint(verge__connection *connection) {
    own(connection)->before = *own(connection)->copy;
    return 0;
}

static int model_end_savepoint(verge__connection *connection, bool undo) {
    if (undo) {
        *own(connection)->copy = own(connection)->before;
    }
    return 0;
}

void model_write(verge__connection *connection, uint64_t id) {
    struct model_tables *t = tables(connection);
    t->ledger[t->ledger_count++] = id;
}

/* ---- P1 ---- */

static int model_join(verge__connection *connection, const char *name, uint64_t lease_ns, uint64_t node) {
    (void)name;
    OR_LOST(connection)
    model.now.lease_until[node % MODEL_NODES_MAX] = model.now_ns + lease_ns;
    return 0;
}

static int model_new_incarnation(verge__connection *connection, uint64_t *ret_incarnation) {
    OR_LOST(connection)
    *ret_incarnation = ++model.now.incarnation;
    call_answered();
    return 0;
}

static bool is_alive(uint64_t node) {
    return node != 0 && model.now.lease_until[node % MODEL_NODES_MAX] >= model.now_ns;
}

static int model_renew(verge__connection *connection, uint64_t node, uint64_t lease_ns, verge__cluster *ret_cluster) {
    OR_LOST(connection)
    model.now.lease_until[node % MODEL_NODES_MAX] = model.now_ns + lease_ns;
    *ret_cluster = (verge__cluster){.control_revision = model.now.control_revision};
    for (uint64_t i = 1; i < MODEL_NODES_MAX; i++) {
        ret_cluster->live_nodes += is_alive(i);
    }
    for (uint32_t i = 0; i < MODEL_SHARDS; i++) {
        if (model.now.shards[i].owner == node) {
            ret_cluster->owned[ret_cluster->owned_count++] =
                (verge__shard){.shard = i, .epoch = model.now.shards[i].epoch, .was_clean = true};
        }
    }
    call_answered();
    return 0;
}

static int model_acquire(verge__connection *connection, uint64_t node, uint32_t count, verge__cluster *ret_new) {
    OR_LOST(connection)
    ret_new->owned_count = 0;
    for (uint32_t i = 0; i < MODEL_SHARDS && ret_new->owned_count < count; i++) {
        if (!is_alive(model.now.shards[i].owner)) {
            const bool was_clean = model.now.shards[i].clean;
            const bool was_careful = was_clean && model.now.shards[i].careful;
            model.now.shards[i].owner = node;
            model.now.shards[i].epoch++;
            model.now.shards[i].clean = false;
            model.now.shards[i].taken_from_dead_by = was_clean && !was_careful ? 0 : node;
            ret_new->owned[ret_new->owned_count++] = (verge__shard){
                .shard = i, .epoch = model.now.shards[i].epoch, .was_clean = was_clean, .was_careful = was_careful};
        }
    }
    return is_lost(connection) ? -EHOSTUNREACH : 0; /* the node has the shards, and may not know */
}

void model_give_back(uint32_t shard) {
    model.now.shards[shard].owner = 0;
    model.now.shards[shard].epoch++;
    model.now.shards[shard].clean = true;
    model.now.shards[shard].careful = false;
}

static int model_release(verge__connection *connection, uint64_t node, const verge__shard *shards, uint32_t count,
                         bool is_careful) {
    OR_LOST(connection)
    for (uint32_t i = 0; i < count; i++) {
        if (model.now.shards[shards[i].shard].owner == node) {
            model_give_back(shards[i].shard);
            model.now.shards[shards[i].shard].careful = is_careful;
        }
    }
    return 0;
}

static int model_leave(verge__connection *connection, uint64_t node, bool is_careful) {
    (void)connection;
    for (uint32_t i = 0; i < MODEL_SHARDS; i++) {
        if (model.now.shards[i].owner == node) {
            model_give_back(i);
            model.now.shards[i].careful = is_careful;
        }
    }
    model.now.lease_until[node % MODEL_NODES_MAX] = 0;
    return 0;
}

/* ---- P2 ---- */

static bool is_before(uint64_t due_a, uint64_t id_a, uint64_t due_b, uint64_t id_b) {
    return due_a < due_b || (due_a == due_b && id_a < id_b);
}

static int model_scan(verge__connection *connection, const verge__shard *shards, uint32_t count, uint64_t after_due_ns,
                      uint64_t after_id, uint64_t until_ns, uint32_t limit, verge__visit_row visit, void *context) {
    OR_LOST(connection)
    const uint64_t first_ns = after_due_ns > model.gone_since_ns ? after_due_ns : model.gone_since_ns;
    const uint64_t last_ns = until_ns < model.now_ns ? until_ns : model.now_ns;
    if (model.pass_time != NULL && first_ns < last_ns) {
        model.is_scanning = true;
        model.pass_time((last_ns - first_ns) / 60 * MODEL_SCAN_MINUTE_NS / UINT64_C(1000000000));
        model.is_scanning = false;
    }
    for (uint32_t visited = 0; visited < limit; visited++) {
        const struct model_row *best = NULL;
        for (uint32_t i = 0; i < model.now.row_count; i++) {
            const struct model_row *r = &model.now.rows[i];
            bool is_asked_for = false;
            for (uint32_t s = 0; s < count; s++) {
                is_asked_for |= shards[s].shard == verge__shard_of(r->row.id);
            }
            const bool is_beyond = is_before(after_due_ns, after_id, r->row.due_ns, r->row.id);
            if (r->is_there && is_asked_for && is_beyond && r->row.due_ns <= until_ns &&
                (best == NULL || is_before(r->row.due_ns, r->row.id, best->row.due_ns, best->row.id))) {
                best = r;
            }
        }
        if (best == NULL) {
            return 0;
        }
        verge__row row = best->row;
        row.handler = best->handler;
        visit(context, &row);
        after_due_ns = best->row.due_ns;
        after_id = best->row.id;
    }
    return 0;
}

static int model_wait(verge__connection *connection, int wake_fd, uint64_t timeout_ns, verge__visit_row visit,
                      void *context) {
    (void)connection, (void)wake_fd, (void)visit, (void)context;
    if (model.pass_time != NULL) {
        model.pass_time(timeout_ns);
    }
    return 0;
}

/* ---- P3 ---- */

static struct model_row *find_row(struct model_tables *t, uint64_t id) {
    for (uint32_t i = 0; i < t->row_count; i++) {
        if (t->rows[i].is_there && t->rows[i].row.id == id) {
            return &t->rows[i];
        }
    }
    return NULL;
}

static int model_insert(verge__connection *connection, verge__row *rows, size_t count) {
    OR_LOST(connection)
    struct model_tables *t = tables(connection);
    for (size_t i = 0; i < count; i++) {
        if (rows[i].due_is_delay) {
            rows[i].due_ns += model.now_ns;
            rows[i].due_is_delay = false;
        }
        const struct model_row *found = find_row(t, rows[i].id);
        rows[i].outcome = found == NULL || found->row.policy == rows[i].policy ? 0 : VERGE__ID_TAKEN;
        if (found == NULL) {
            struct model_row *r = &t->rows[t->row_count++ % MODEL_ROWS_MAX];
            *r = (struct model_row){.row = rows[i], .is_there = true};
            (void)snprintf(r->handler, sizeof(r->handler), "%s", rows[i].handler);
            r->row.key = r->row.payload = NULL;
            r->row.payload = "";
        }
    }
    return 0;
}

static int model_notify(verge__connection *connection, const verge__row *const *rows, size_t count) {
    (void)connection, (void)rows;
    model.notified += count;
    return 0;
}

/* ---- P4 ---- */

static struct model_row *due_row(struct model_tables *t, const verge__target *target) {
    struct model_row *r = find_row(t, target->id);
    if (r == NULL || (r->row.due_ns > model.now_ns && model_mistake != MISTAKE_NO_CLOCK) ||
        t->shards[verge__shard_of(target->id)].epoch != target->epoch) {
        return NULL;
    }
    model.early += r->row.due_ns > model.now_ns;
    return r;
}

/* Passes the row to `visit`, if it is due. `raised`: by how much a claim has raised the row's revision. */
static struct model_row *visit_due(verge__connection *connection, const verge__target *target, uint64_t raised,
                                   verge__visit_row visit, void *context) {
    struct model_row *r = due_row(tables(connection), target);
    if (r != NULL) {
        verge__row row = r->row;
        row.handler = r->handler;
        row.revision += raised;
        visit(context, &row);
    }
    return r;
}

static int model_take(verge__connection *connection, const verge__target *targets, size_t count, verge__visit_row visit,
                      void *context) {
    OR_LOST(connection)
    for (size_t i = 0; i < count; i++) {
        struct model_row *r = visit_due(connection, &targets[i], 0, visit, context);
        if (r != NULL) {
            r->is_there = model_mistake == MISTAKE_KEEPS_ROW;
        }
    }
    return 0;
}

static int model_claim(verge__connection *connection, const verge__target *targets, size_t count,
                       const uint64_t *run_ns, verge__visit_row visit, void *context) {
    OR_LOST(connection)
    for (size_t i = 0; i < count; i++) {
        struct model_row *r = visit_due(connection, &targets[i], 1, visit, context);
        if (r != NULL) {
            r->row.revision++;
            r->row.attempt++;
            r->row.due_ns = model.now_ns + run_ns[i];
            r->is_running = true;
        }
    }
    return 0;
}

static int model_complete(verge__connection *connection, verge__change *changes, size_t count) {
    OR_LOST(connection)
    for (size_t i = 0; i < count; i++) {
        struct model_row *r = find_row(tables(connection), changes[i].id);
        const bool is_same = r != NULL && r->row.revision == changes[i].revision;
        changes[i].outcome = is_same ? 0 : -ENOENT;
        if (is_same) {
            r->is_there = false;
        }
    }
    return 0;
}

static int model_count_attempt(verge__connection *connection, const verge__target *target, uint32_t *counted) {
    OR_LOST(connection)
    struct model_row *r = due_row(tables(connection), target);
    const bool is_locked = model.locks && verge_test_chance(&model.random, 3);
    if (r != NULL && !is_locked) {
        r->row.attempt += *counted == 0 || r->row.attempt != *counted;
        *counted = r->counted_attempt = r->row.attempt;
    }
    return 0;
}

static int model_make_dead(verge__connection *connection, const verge__row *row, const char *reason) {
    (void)row, (void)reason;
    tables(connection)->dead_count++;
    return 0;
}

/* ---- P5 ---- */

static struct model_row *changed_row(verge__connection *connection, verge__change *change) {
    struct model_row *r = find_row(tables(connection), change->id);
    change->outcome = r == NULL ? -ENOENT : r->is_running && r->row.due_ns > model.now_ns ? VERGE_RUNNING : 0;
    return r;
}

static int model_cancel(verge__connection *connection, verge__change *changes, size_t count) {
    OR_LOST(connection)
    if (model.refuses_cancel) {
        return -EACCES;
    }
    for (size_t i = 0; i < count; i++) {
        struct model_row *r = changed_row(connection, &changes[i]);
        if (r != NULL && model_mistake != MISTAKE_CANCEL) {
            r->is_there = false;
        }
    }
    return 0;
}

static int model_move(verge__connection *connection, verge__change *changes, size_t count) {
    OR_LOST(connection)
    for (size_t i = 0; i < count; i++) {
        struct model_row *r = changed_row(connection, &changes[i]);
        if (r != NULL) {
            (void)snprintf(changes[i].handler, sizeof(changes[i].handler), "%s", r->handler);
            r->row.due_ns = changes[i].due_ns;
            r->row.revision++;
            r->is_running = false;
        }
    }
    return 0;
}

static int model_probe(verge__connection *connection, verge__change *changes, size_t count) {
    OR_LOST(connection)
    for (size_t i = 0; i < count; i++) {
        const struct model_row *r = find_row(tables(connection), changes[i].id);
        changes[i].outcome = r == NULL ? -ENOENT : 0;
        changes[i].due_ns = r == NULL ? 0 : r->row.due_ns;
    }
    return 0;
}

/* ---- limits of the cluster ---- */

static int model_controls(verge__connection *connection, verge_durable_control *ret_controls, size_t count) {
    OR_LOST(connection)
    if (count > 0 && model.now.control_revision != 0) {
        ret_controls[0] = model.now.control;
    }
    return model.now.control_revision != 0;
}

static int model_permit(verge__connection *connection, verge__permit *permit) {
    OR_LOST(connection)
    struct model_tables *t = tables(connection);
    const uint64_t mine = permit->node % MODEL_NODES_MAX;
    uint32_t before = 0;
    model.asked_slot = permit->slot;
    for (uint64_t i = 0; i < MODEL_NODES_MAX; i++) {
        t->permits[i].ticket = is_alive(i) && t->permits[i].until_ns >= model.now_ns ? t->permits[i].ticket : 0;
    }
    t->permits[mine].ticket = t->permits[mine].ticket == 0 ? ++t->ticket : t->permits[mine].ticket;
    for (uint64_t i = 0; i < MODEL_NODES_MAX; i++) {
        before += t->permits[i].ticket != 0 && t->permits[i].ticket < t->permits[mine].ticket;
    }
    permit->is_granted = !t->control.is_paused && (t->control.concurrency == 0 || before < t->control.concurrency);
    permit->at_ns = model.now_ns + (permit->is_granted ? 0 : VERGE__PERMIT_NAP_NS);
    if (permit->is_granted && t->control.rate != 0 && permit->timer_count != 0) {
        permit->at_ns = t->next_run_ns > model.now_ns ? t->next_run_ns : model.now_ns;
        t->next_run_ns = permit->at_ns + permit->timer_count * (UINT64_C(1000000000) / t->control.rate);
    }
    const bool runs = permit->is_granted && permit->at_ns == model.now_ns;
    t->permits[mine].until_ns = permit->at_ns + (runs ? permit->run_ns : VERGE__PERMIT_WAIT_NS);
    return 0;
}

static int model_keep_permit(verge__connection *connection, const verge__permit *permit, uint64_t run_ns) {
    OR_LOST(connection)
    struct model_tables *t = tables(connection);
    const uint64_t mine = permit->node % MODEL_NODES_MAX;
    t->permits[mine].until_ns = model.now_ns + run_ns;
    t->permits[mine].ticket = run_ns == 0 ? 0 : t->permits[mine].ticket;
    return 0;
}

const verge__store model_store = {
    .name = "model",
    .has_notifications = true, /* all of them are lost, which only delays */
    .connect = model_connect,
    .disconnect = model_disconnect,
    .handle = model_handle,
    .begin = model_begin,
    .commit = model_commit,
    .rollback = model_rollback,
    .savepoint = model_savepoint,
    .end_savepoint = model_end_savepoint,
    .join = model_join,
    .renew = model_renew,
    .acquire = model_acquire,
    .release = model_release,
    .leave = model_leave,
    .new_incarnation = model_new_incarnation,
    .scan = model_scan,
    .wait = model_wait,
    .insert = model_insert,
    .notify = model_notify,
    .take = model_take,
    .claim = model_claim,
    .complete = model_complete,
    .count_attempt = model_count_attempt,
    .make_dead = model_make_dead,
    .cancel = model_cancel,
    .reset = model_move,
    .probe = model_probe,
    .controls = model_controls,
    .permit = model_permit,
    .keep_permit = model_keep_permit,
};
