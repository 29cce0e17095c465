/* SPDX-License-Identifier: MIT */
/*
 * The core runs against a model of a store, step by step from a seed. Nodes are stepped in any order, stand still, die
 * and come back; their clocks run apart; requests and answers are lost, and allocations fail. At the end, each timer
 * that was promised has run exactly once through its transaction, unless it was cancelled. The test also notices a
 * mistake that is planted in the store.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "durable/durable_internal.h"
#include "durable/model_store.h"
#include "durable/support.h"
#include "support/cmocka.h"

enum { NODES = 3, STEPS = 3000, CALLS_MAX = 900, LOST_MAX = 16 };

#define LOST UINT32_MAX

enum fate { UNKNOWN, PROMISED, CANCELLED };

struct simulated_call {
    verge__call call;
    verge__row row;
    uint32_t timer; /* the timer that the call is about; LOST: one that a failover lost */
    bool is_open;
};

struct node {
    verge_durable *durable;
    verge_manual_clock clock;
    bool is_stopped;
    struct simulated_call calls[CALLS_MAX];
    uint32_t call_count;
    struct {
        uint64_t id;
        uint64_t due_ns;
        bool is_known;
    } known[MODEL_ROWS_MAX]; /* of each row: whether the window had it, or a cut before it, at the last look */
};

static struct node nodes[NODES];
static uint64_t ids[CALLS_MAX * NODES];
static enum fate fates[CALLS_MAX * NODES];
static uint64_t replicated_ids[CALLS_MAX * NODES]; /* a copy of `ids`, made when the replica got the tables */
static bool is_second_low; /* the second handler has a low priority, and so a share of the window */
static const char *seen;   /* what was wrong during the steps; NULL: nothing */
static enum fate replicated_fates[CALLS_MAX * NODES];
static uint64_t lost_ids[LOST_MAX]; /* some timers that failovers have lost; a caller may still have their ids */
static uint64_t node_count;
static uint64_t limits; /* bits, which limits the handler has: 1 and 2 in each node, 4 and 8 in the cluster */
static uint32_t timer_count;
static struct verge_test_random dice;

/* ---- memory: while nodes are stepped, one in memory_loss allocations fails; 0: none ---- */

static uint32_t memory_loss;
static uint64_t memory_lost;
static bool is_stepping;

static bool has_memory(void) {
    const bool has = !is_stepping || memory_loss == 0 || !verge_test_chance(&dice, memory_loss);
    memory_lost += !has;
    return has;
}

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *memory, size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *memory, size_t size);

void *__wrap_malloc(size_t size) {
    return has_memory() ? __real_malloc(size) : NULL;
}

void *__wrap_calloc(size_t count, size_t size) {
    return has_memory() ? __real_calloc(count, size) : NULL;
}

void *__wrap_realloc(void *memory, size_t size) {
    return has_memory() ? __real_realloc(memory, size) : NULL;
}

/* ---- nodes ---- */

/* A handler also writes into the ledger what it did to other timers, in the same transaction. */
#define CANCELLED_IT (UINT64_C(1) << 63) /* the id of a timer that was cancelled */
#define FOUND_IT_GONE (UINT64_C(1) << 62)

static bool cancel_another(const verge_durable_firing *firing) {
    const struct model_row *row = NULL; /* often of the same batch, as model.now still has its rows */
    for (int tries = 0; tries < 16 && (row == NULL || !row->is_there); tries++) {
        row = &model.now.rows[verge_test_below(&dice, model.now.row_count)];
    }
    const uint64_t id = row->row.id;
    const int result = verge_durable_cancel(firing->durable, id);
    if (result == 0 || result == -ENOENT) {
        model_write(verge_durable_transaction(firing), id | (result == 0 ? CANCELLED_IT : FOUND_IT_GONE));
    }
    return result >= 0 || result == -ENOENT;
}

/* The handler is told which attempt this is: one more than the tables say, or the one that was counted beforehand,
 * perhaps by another node. */
static void look_at_attempt(const verge_durable_firing *firing) {
    for (uint32_t i = 0; i < model.now.row_count; i++) {
        struct model_row *r = &model.now.rows[i];
        if (r->is_there && r->row.id == firing->id) {
            const bool is_counted = r->counted_attempt != 0 && firing->attempt == r->counted_attempt;
            seen = is_counted || firing->attempt == r->row.attempt + 1 ? seen : "a handler was told another attempt";
            r->counted_attempt = 0;
        }
    }
}

static verge_durable_verdict write_row(const verge_durable_firing *firing) {
    look_at_attempt(firing);
    if (verge_test_chance(&dice, 8) && !cancel_another(firing)) {
        return VERGE_DURABLE_RETRY;
    }
    if (verge_test_chance(&dice, 8)) {
        verge_durable_retry_after(firing, 20 * MS);
        model_write(verge_durable_transaction(firing), firing->id);
        return VERGE_DURABLE_RETRY; /* undoes the write */
    }
    model_write(verge_durable_transaction(firing), firing->id);
    return VERGE_DURABLE_DONE;
}

static uint32_t lost_count; /* messages of failures */

static void hear(void *context, const verge_durable_message *message) {
    (void)context;
    lost_count += message->event == VERGE_DURABLE_LOST;
    if (message->event == VERGE_DURABLE_RESTORED && model.server_id == 1) {
        seen = "the log was told of an older state before any failover";
    }
}

static void begin_node(struct node *node) {
    verge_durable_options options;
    (void)verge_durable_options_init(&options, sizeof(options));
    options.url = "model:";
    options.log = hear;
    options.firing_threads = 1;
    options.batch = 4;
    options.window_max = 16;
    options.lease_ns = 500 * MS;
    options.rescan_ns = 100 * MS;
    options.horizon_ns = 300 * MS;
    assert_int_equal(verge__durable_create(&options, &model_store, verge_clock_manual(&node->clock), &node->durable),
                     0);
    node->durable->shard_count = MODEL_SHARDS;
    node->durable->keeper.scan_rows = 5;
    assert_int_equal(verge__connect(node->durable, &node->durable->keeper.connection), 0);
    const uint32_t loss = model.loss;
    model.loss = 0;
    node->durable->node = ++node_count;
    assert_int_equal(verge__refresh_incarnation(node->durable, node->durable->keeper.connection), 0);
    assert_int_equal(model_store.join(node->durable->keeper.connection, "", options.lease_ns, node->durable->node), 0);
    model.loss = loss;
    verge_durable_handler_options handler;
    (void)verge_durable_handler_options_init(&handler, sizeof(handler));
    handler.attempts_max = 0;
    handler.rate = limits & 1 ? 50 : 0;
    handler.concurrency = limits & 2 ? 1 : 0;
    assert_int_equal(verge_durable_register(node->durable, "write", write_row, NULL, &handler), 0);
    handler.rate = handler.concurrency = 0;
    handler.priority = is_second_low ? VERGE_DURABLE_LOW : VERGE_DURABLE_NORMAL;
    assert_int_equal(verge_durable_register(node->durable, "second", write_row, NULL, &handler), 0);
    memset(node->known, 0, sizeof(node->known));
    node->call_count = 0;
    node->is_stopped = false;
}

/* ---- calls, which nobody waits for ---- */

static void submit(struct node *node, verge__call_kind kind, uint32_t timer, uint64_t delay_ns) {
    if (node->call_count == CALLS_MAX) {
        return;
    }
    struct simulated_call *simulated = &node->calls[node->call_count++];
    *simulated = (struct simulated_call){.timer = timer, .is_open = true};
    simulated->row = (verge__row){.due_ns = delay_ns, .due_is_delay = true, .handler = "write", .payload = ""};
    if (verge_test_chance(&dice, 2)) {
        simulated->row.handler = "second";
    }
    if (verge_test_chance(&dice, 2)) { /* many timers are due at the same time */
        simulated->row.due_is_delay = false;
        simulated->row.due_ns = (model.now_ns + delay_ns) / (100 * MS) * (100 * MS);
    }
    simulated->row.policy = timer + 1; /* the model tells timers apart by this */
    simulated->call = (verge__call){.kind = kind, .give_up_ns = VERGE_NEVER};
    if (kind == VERGE__CALL_SCHEDULE) {
        simulated->call.rows = &simulated->row;
        simulated->call.row_count = 1;
    } else {
        const uint64_t id = timer == LOST ? lost_ids[verge_test_below(&dice, LOST_MAX)] : ids[timer];
        simulated->call.change = (verge__change){.id = id, .due_ns = model.now_ns + delay_ns};
    }
    (void)sem_init(&simulated->call.done, 0, 0);
    verge__call_submit(node->durable, &simulated->call);
}

static void note_answers(struct node *node) {
    for (uint32_t i = 0; i < node->call_count; i++) {
        struct simulated_call *simulated = &node->calls[i];
        if (!simulated->is_open || sem_trywait(&simulated->call.done) != 0) {
            continue;
        }
        simulated->is_open = false;
        if (simulated->timer == LOST) {
            continue; /* the timer may exist, if it was promised after the tables were copied */
        }
        const int result = simulated->call.result;
        if (result == -EREMOTEIO && !node->durable->keeper.scan_now) {
            seen = "a commit that may have succeeded asks for no scan";
        }
        if (simulated->call.kind == VERGE__CALL_SCHEDULE) {
            ids[simulated->timer] = result == 0 ? simulated->row.id : 0;
            fates[simulated->timer] = result == 0 ? PROMISED : UNKNOWN;
        } else if (simulated->call.kind == VERGE__CALL_CANCEL && result == 0) {
            fates[simulated->timer] = CANCELLED;
        } else if (simulated->call.kind == VERGE__CALL_CANCEL && result == -EREMOTEIO) {
            fates[simulated->timer] = UNKNOWN; /* it will run, or is cancelled */
        }
    }
}

/* ---- steps ---- */

static void pass_time(uint64_t by_ns) {
    static const uint64_t parts_per_thousand[NODES] = {999, 1000, 1002}; /* clocks that run apart */
    model.now_ns += by_ns;
    for (int i = 0; i < NODES; i++) {
        verge_manual_clock_advance(&nodes[i].clock, by_ns * parts_per_thousand[i] / 1000);
    }
}

/* A cancel that was not answered may be in the tables, or not. */
static void forget_open_cancels(const struct node *node, enum fate *of_timers) {
    for (uint32_t i = 0; i < node->call_count; i++) {
        const struct simulated_call *simulated = &node->calls[i];
        if (simulated->is_open && simulated->timer != LOST && simulated->call.kind == VERGE__CALL_CANCEL) {
            of_timers[simulated->timer] = UNKNOWN;
        }
    }
}

static void kill_node(struct node *node) {
    forget_open_cancels(node, fates);
    verge__durable_free(node->durable); /* without a word to the store */
    begin_node(node);
}

static bool is_cut_off(const verge__cut *cut, const verge__row *row) {
    return cut->is_set && (cut->due_ns < row->due_ns || (cut->due_ns == row->due_ns && cut->id <= row->id));
}

/* V3 (window.c): what the window had, or a cut, is not forgotten while the row stays as it is and no scan of all rows
 * is to come. */
static void look_at_window(struct node *node) {
    const verge_durable *durable = node->durable;
    const bool is_scan_to_come = durable->keeper.scan_now || durable->keeper.connection == NULL;
    for (uint32_t i = 0; i < model.now.row_count && i < MODEL_ROWS_MAX; i++) {
        const struct model_row *r = &model.now.rows[i];
        const uint32_t shard = verge__shard_of(r->row.id);
        const verge__cut *of_handler = &durable->handlers[verge__handler_index(durable, r->handler)].cut;
        const bool is_ours = r->is_there && durable->epochs[shard] == model.now.shards[shard].epoch &&
                             r->row.due_ns <= durable->keeper.read_until_ns;
        const bool is_known = is_ours && (verge__window_find(&durable->window, r->row.id) != VERGE__NO_HINT ||
                                          is_cut_off(&durable->window.cut, &r->row) || is_cut_off(of_handler, &r->row));
        const bool is_same = is_ours && node->known[i].id == r->row.id && node->known[i].due_ns == r->row.due_ns;
        if (is_same && node->known[i].is_known && !is_known && !is_scan_to_come) {
            seen = "V3: the window has forgotten a timer";
        }
        node->known[i].id = r->row.id;
        node->known[i].due_ns = r->row.due_ns;
        node->known[i].is_known = is_known;
    }
}

/* A node that has taken a shard whose owner had died, or was careful, is careful. This is so even if the store's answer
 * was lost. */
static void look_at_takeovers(const verge_durable *durable) {
    for (uint32_t i = 0; i < MODEL_SHARDS; i++) {
        if (model.now.shards[i].taken_from_dead_by == durable->node &&
            durable->epochs[i] == model.now.shards[i].epoch) {
            seen = durable->is_careful && durable->batch_limit == 1 ? seen : "a takeover without care";
            model.now.shards[i].taken_from_dead_by = 0;
        }
    }
}

static verge_durable *stepping;

/* Another thread of the node moves a timer, while a firer is at work. */
static void move_meanwhile(void) {
    struct model_row *r = &model.now.rows[verge_test_below(&dice, model.now.row_count)];
    if (r->is_there) {
        r->row.due_ns = model.now_ns + verge_test_below(&dice, 800) * MS;
        r->row.revision++;
        verge__row row = {.id = r->row.id, .due_ns = r->row.due_ns, .handler = r->handler, .is_moved = true};
        verge__rows_committed(stepping, NULL, &row, 1);
    }
}

/* Another node has had a shard for a short time, while a firer is at work. */
static void lose_and_get(void) {
    model_give_back((uint32_t)verge_test_below(&dice, MODEL_SHARDS));
    for (int steps = 0; steps < 2; steps++) {
        verge__note_control(stepping);
        (void)verge__keeper_step(stepping, NULL);
        look_at_takeovers(stepping);
    }
}

static void use_up_ids(void) {
    stepping->ids.counter = UINT64_C(1) << (VERGE__ID_COUNTER_BITS - 1);
}

/* Another thread of the node takes an incarnation. */
static void take_incarnation(void) {
    verge__connection *connection;
    if (model_store.connect(NULL, &connection) == 0) {
        use_up_ids();
        (void)verge__refresh_incarnation(stepping, connection);
        model_store.disconnect(connection);
    }
}

static void step_node(struct node *node) {
    verge_durable *durable = node->durable;
    model.local_ns = durable->clock.now_ns(durable->clock.context);
    stepping = durable;
    is_stepping = true;
    if (verge_test_chance(&dice, 8)) {
        use_up_ids();
    }
    model.answered = verge_test_chance(&dice, 8) ? take_incarnation : NULL;
    switch (verge_test_below(&dice, 6)) {
    case 0:
    case 1:
        if (verge_test_chance(&dice, 4)) { /* as if the scan had to pass many deleted rows */
            durable->keeper.is_scan_slow = verge_test_chance(&dice, 10);
            durable->keeper.scan_all_at_ns = model.local_ns + 200 * MS;
        }
        (void)verge__keeper_step(durable, NULL);
        break;
    case 2:
        (void)verge__writer_step(durable);
        break;
    default:
        model.committed = model.now.row_count > 0 && verge_test_chance(&dice, 3) ? move_meanwhile : NULL;
        model.began = verge_test_chance(&dice, 8) ? lose_and_get : NULL;
        (void)verge__firer_step(&durable->firers[0]);
        model.committed = NULL;
        model.began = NULL;
        break;
    }
    model.answered = NULL;
    is_stepping = false;
    assert_true(verge__window_check(durable));
    look_at_window(node);
    look_at_takeovers(durable);
    note_answers(node);
}

/* A failover loses what was promised since the replica got the tables. What was promised before is promised again. */
static void replicate_or_fail_over(void) {
    if (!verge_test_chance(&dice, 6)) {
        model_replicate();
        memcpy(replicated_ids, ids, sizeof(ids));
        memcpy(replicated_fates, fates, sizeof(fates));
        for (int i = 0; i < NODES; i++) {
            forget_open_cancels(&nodes[i], replicated_fates);
        }
    } else if (model.before.shards[0].epoch != 0) {
        model_fail_over();
        for (int i = 0; i < NODES; i++) {
            memset(nodes[i].known, 0, sizeof(nodes[i].known));
        }
        for (int i = 0; i < MODEL_SHARDS; i++) {
            model.now.shards[i].taken_from_dead_by = 0;
        }
        for (uint32_t i = 0; i < timer_count; i++) {
            if (ids[i] != replicated_ids[i]) {
                lost_ids[verge_test_below(&dice, LOST_MAX)] = ids[i];
            }
        }
        memcpy(ids, replicated_ids, sizeof(ids));
        memcpy(fates, replicated_fates, sizeof(fates));
    }
}

/* An operator pauses or resumes the handler. */
static void control(bool is_paused) {
    if (limits >= 4) {
        model_control("write", is_paused, limits & 4 ? 1 : 0, limits & 8 ? 50 : 0);
    }
}

static void act(void) {
    struct node *node = &nodes[verge_test_below(&dice, NODES)];
    switch (verge_test_below(&dice, 41)) {
    case 40:
        if (verge_test_chance(&dice, 4)) {
            replicate_or_fail_over();
        }
        control(verge_test_chance(&dice, 2));
        break;
    case 0:
    case 1:
        fates[timer_count] = UNKNOWN;
        submit(node, VERGE__CALL_SCHEDULE, timer_count++, verge_test_below(&dice, 600) * MS);
        break;
    case 2: {
        const uint32_t timer = (uint32_t)verge_test_below(&dice, timer_count);
        if (timer_count > 0 && ids[timer] != 0) {
            submit(node, verge_test_chance(&dice, 2) ? VERGE__CALL_CANCEL : VERGE__CALL_RESET, timer,
                   verge_test_below(&dice, 300) * MS);
        }
        break;
    }
    case 8:
        if (timer_count > 0) {
            submit(node, VERGE__CALL_CANCEL, LOST, 0);
        }
        break;
    case 3:
        if (verge_test_chance(&dice, 12)) {
            kill_node(node);
        } else if (verge_test_chance(&dice, 6)) {
            node->is_stopped = !node->is_stopped;
        }
        break;
    case 4:
        model.loss = verge_test_chance(&dice, 3) ? 0 : (uint32_t)verge_test_below(&dice, 60) + 4;
        break;
    case 5:
    case 6:
    case 7:
        pass_time(verge_test_below(&dice, 40) * MS);
        break;
    default:
        if (!node->is_stopped) {
            step_node(node);
        }
        break;
    }
}

static bool is_quiet(void) {
    for (uint32_t i = 0; i < model.now.row_count; i++) {
        if (model.now.rows[i].is_there) {
            return false;
        }
    }
    for (int i = 0; i < NODES; i++) {
        if (nodes[i].durable->writer.calls != NULL) {
            return false;
        }
    }
    return true;
}

/* Counts an id in the ledger, from one of its entries on. */
static int count_in_ledger(uint64_t id, uint32_t from) {
    int count = 0;
    for (uint32_t i = from; i < model.now.ledger_count; i++) {
        count += model.now.ledger[i] == id;
    }
    return count;
}

/* Returns what is wrong; NULL: nothing. */
static const char *audit(void) {
    if (model.early > 0) {
        return "D3: a timer was early";
    }
    if (!is_quiet()) {
        return "D2: a timer is left";
    }
    for (uint32_t i = 0; i < model.now.ledger_count; i++) {
        const uint64_t entry = model.now.ledger[i];
        if ((entry & FOUND_IT_GONE) != 0 && count_in_ledger(entry & ~FOUND_IT_GONE, i) > 0) {
            return "D5: a timer that was gone ran";
        }
    }
    for (uint32_t i = 0; i < timer_count; i++) {
        const int count = ids[i] == 0 ? 0 : count_in_ledger(ids[i], 0);
        const bool by_handler = count_in_ledger(ids[i] | CANCELLED_IT, 0) > 0;
        if (count > 1) {
            return "D2: a timer ran twice";
        }
        for (uint32_t j = 0; j < i && fates[i] == PROMISED; j++) {
            if (fates[j] != UNKNOWN && ids[j] == ids[i]) {
                return "two timers have the same id";
            }
        }
        if (fates[i] == PROMISED && count == 0 && !by_handler) {
            return "D1: a timer that was promised did not run";
        }
        if ((fates[i] == CANCELLED || by_handler) && count != 0) {
            return "D5: a timer that was cancelled ran";
        }
    }
    return seen;
}

static const char *simulate(uint64_t seed, uint32_t loss_of_memory) {
    model_reset(seed);
    model.locks = true;
    memory_loss = loss_of_memory;
    dice = verge_test_random_from(seed ^ 77);
    timer_count = 0;
    node_count = 0;
    limits = seed % 16;
    is_second_low = seed / 16 % 2 == 0;
    seen = NULL;
    control(false);
    memset(ids, 0, sizeof(ids));
    memset(fates, 0, sizeof(fates));
    memset(lost_ids, 0, sizeof(lost_ids));
    for (int i = 0; i < NODES; i++) {
        verge_manual_clock_set(&nodes[i].clock,
                               verge_test_below(&dice, 1000) * S + S); /* the clocks are independent of each other */
        begin_node(&nodes[i]);
    }
    for (int i = 0; i < STEPS && model.early == 0; i++) {
        act();
    }
    model.loss = 0;
    memory_loss = 0;
    control(false);
    for (int i = 0; i < NODES; i++) {
        nodes[i].is_stopped = false;
    }
    for (int i = 0; i < 60000 && !is_quiet() && model.now.ledger_count < MODEL_ROWS_MAX - 64; i++) {
        step_node(&nodes[i % NODES]);
        pass_time(2 * MS);
    }
    const char *wrong = audit();
    for (int i = 0; i < NODES; i++) {
        verge__durable_free(nodes[i].durable);
    }
    return wrong;
}

static void test_simulation(void **state) {
    (void)state;
    const uint64_t seed = verge_test_seed(20260103);
    const double seconds = verge_test_seconds(3);
    const uint64_t began_ns = verge__monotonic_ns();
    uint64_t runs = 0;
    uint64_t lost = 0;
    model_mistake = NO_MISTAKE;
    do {
        const char *wrong = simulate(seed + runs, runs % 2 == 0 ? 0 : 4 + (uint32_t)(runs % 60));
        if (wrong != NULL) {
            fail_msg("seed %llu: %s", (unsigned long long)(seed + runs), wrong);
        }
        lost += model.lost;
        runs++;
    } while ((double)(verge__monotonic_ns() - began_ns) / 1e9 < seconds);
    print_message("%llu runs, %llu questions and answers lost, %llu allocations failed\n", (unsigned long long)runs,
                  (unsigned long long)lost, (unsigned long long)memory_lost);
    assert_true(lost > 0 && (runs < 2 || memory_lost > 0));
}

/* ---- D6, while a scan of all rows takes seconds ---- */

static uint64_t longest_ns;             /* the longest time that a question has taken since measured_ns */
static uint64_t measured_ns;            /* the time from which questions are measured */
static uint64_t taken_ns[MODEL_SHARDS]; /* when the node got the shard; 0: it has not */
static uint32_t seen_late;
static uint32_t seen_slow;

static uint64_t others_alive;

enum { OTHERS = 3, FIRST_OTHER = MODEL_NODES_MAX - OTHERS }; /* nodes that die while the node scans in pieces */

static void insert_row(uint64_t due_ns) {
    struct model_row *r = &model.now.rows[model.now.row_count++];
    const uint64_t id = (uint64_t)9999 << 35 | (uint64_t)model.now.row_count << 8 | model.now.row_count % MODEL_SHARDS;
    *r = (struct model_row){.row = {.id = id, .due_ns = due_ns, .payload = ""}, .is_there = true, .handler = "write"};
}

/* A row that has been due for longer than D6 allows must be in the window. After a takeover, this is so for rows that
 * were due when the other node died, or later. Meanwhile the node starts timers. */
static void pass_and_look(uint64_t by_ns) {
    struct node *node = &nodes[0];
    const uint64_t bound_ns = node->durable->options.rescan_ns + 2 * longest_ns;
    pass_time(by_ns + MS / 10); /* a little more, as the node's clock is slower */
    model.local_ns = node->durable->clock.now_ns(node->durable->clock.context);
    for (uint32_t i = 0; i < MODEL_SHARDS; i++) {
        taken_ns[i] = node->durable->epochs[i] == 0 ? 0 : taken_ns[i] == 0 ? model.now_ns : taken_ns[i];
    }
    for (uint32_t i = 0; i < model.now.row_count; i++) {
        const struct model_row *r = &model.now.rows[i];
        const uint64_t since_ns = taken_ns[verge__shard_of(r->row.id)];
        const bool is_ours = r->is_there && since_ns != 0 && r->row.due_ns + node->durable->options.lease_ns > since_ns;
        const uint64_t from_ns = r->row.due_ns > since_ns ? r->row.due_ns : since_ns;
        seen_late += is_ours && r->row.due_ns > measured_ns && from_ns + bound_ns < model.now_ns &&
                     verge__window_find(&node->durable->window, r->row.id) == VERGE__NO_HINT;
    }
    seen_slow += node->durable->keeper.is_scan_slow;
    if (timer_count < CALLS_MAX) {
        submit(node, VERGE__CALL_SCHEDULE, timer_count++, verge_test_below(&dice, 3000) * MS);
        assert_int_equal(verge__writer_step(node->durable), VERGE__WORKED);
        note_answers(node);
    }
}

static void pass_and_note(uint64_t by_ns) {
    if (nodes[0].durable->keeper.is_scan_slow) {
        longest_ns = by_ns > longest_ns ? by_ns : longest_ns;
    }
    if (nodes[0].durable->keeper.is_scan_slow && model.is_scanning && by_ns > 10 * MS && others_alive > 0) {
        model.now.lease_until[FIRST_OTHER + --others_alive] = 0;
    }
    pass_and_look(by_ns);
}

static void test_slow_scans_make_nothing_late(void **state) {
    (void)state;
    struct node *node = &nodes[0];
    model_reset(verge_test_seed(20260104));
    dice = verge_test_random_from(verge_test_seed(20260104) ^ 77);
    model_mistake = NO_MISTAKE;
    memory_loss = timer_count = seen_late = seen_slow = 0;
    limits = 0;
    longest_ns = 0;
    begin_node(node);
    model.local_ns = node->durable->clock.now_ns(node->durable->clock.context);
    node->durable->options.window_max = MODEL_ROWS_MAX;
    model.gone_since_ns = model.now_ns - 60 * S;
    measured_ns = model.now_ns + 10 * S; /* the first scan is a whole one */
    memset(taken_ns, 0, sizeof(taken_ns));
    others_alive = OTHERS;
    for (uint64_t i = 0; i < UINT64_C(2) * OTHERS; i++) {
        model.now.shards[i].owner = FIRST_OTHER + i / 2;
        model.now.lease_until[FIRST_OTHER + i / 2] = VERGE_NEVER;
    }
    for (uint64_t at_ns = 0; at_ns < 120 * S; at_ns += 100 * MS) {
        insert_row(model.now_ns + at_ns); /* as if others had started it long ago */
    }
    const uint64_t end_ns = model.now_ns + 120 * S;
    model.pass_time = pass_and_note;
    while (model.now_ns < end_ns) {
        const uint64_t wait_ns = verge__keeper_step(node->durable, NULL);
        while (verge__firer_step(&node->durable->firers[0]) == VERGE__WORKED) {
        }
        pass_and_look(wait_ns < 5 * MS ? 5 * MS : wait_ns);
    }
    model.pass_time = NULL;
    print_message("a question took %llu ms, slow at %u looks\n", (unsigned long long)(longest_ns / MS), seen_slow);
    assert_int_equal(seen_late, 0);
    assert_true(seen_slow > 0 && others_alive == 0);
    assert_true(node->durable->stats.done > 1000);
    verge__durable_free(node->durable);
}

static verge_durable_verdict do_nothing(const verge_durable_firing *firing) {
    (void)firing;
    return VERGE_DURABLE_DONE;
}

/* Timers that are due while their handler may not run cost nothing: nobody looks at them until the handler may run. */
static void test_held_timers_are_not_looked_at(void **state) {
    (void)state;
    struct node *node = &nodes[0];
    verge_durable_handler_options handler;
    model_reset(verge_test_seed(20260105));
    dice = verge_test_random_from(verge_test_seed(20260105) ^ 77);
    model_mistake = NO_MISTAKE;
    memory_loss = 0;
    begin_node(node);
    verge_durable *durable = node->durable;
    durable->options.window_max = 100;
    (void)verge_durable_handler_options_init(&handler, sizeof(handler));
    handler.outside = true;
    assert_int_equal(verge_durable_register(durable, "outside", do_nothing, NULL, &handler), 0);
    for (int i = 0; i < 200; i++) {
        insert_row(model.now_ns);
        (void)snprintf(model.now.rows[i].handler, sizeof(model.now.rows[i].handler), "outside");
    }
    durable->outside_running = 1; /* the limit is reached */
    pass_time(S);
    model.local_ns = durable->clock.now_ns(durable->clock.context);
    (void)verge__keeper_step(durable, NULL);
    int steps = 0;
    while (durable->window.count > durable->held_count) {
        assert_int_equal(verge__firer_step(&durable->firers[0]), VERGE__IDLE);
        assert_true(verge__window_check(durable));
        assert_true(++steps <= 100);
    }
    assert_true(durable->held_count > 20 && durable->held_count <= 50);
    assert_int_equal(verge__window_next_wakeup(&durable->window), VERGE_NEVER);
    assert_int_equal(verge__next_release(durable, model.now_ns), VERGE_NEVER);
    const uint32_t held = durable->held_count;
    durable->outside_running = 0;
    assert_int_equal(verge__next_release(durable, model.now_ns), model.now_ns);
    assert_int_equal(verge__firer_step(&durable->firers[0]), VERGE__WORKED);
    assert_int_equal(durable->held_count, held - 1);
    verge__durable_free(durable);
}

/* A timer that was released, and is then moved to a later time, does not keep others of its handler from running. */
static void test_a_released_timer_is_moved(void **state) {
    (void)state;
    struct node *node = &nodes[0];
    verge_durable_handler_options handler;
    model_reset(verge_test_seed(20260106));
    dice = verge_test_random_from(verge_test_seed(20260106) ^ 77);
    model_mistake = NO_MISTAKE;
    memory_loss = 0;
    begin_node(node);
    verge_durable *durable = node->durable;
    (void)verge_durable_handler_options_init(&handler, sizeof(handler));
    handler.outside = true;
    assert_int_equal(verge_durable_register(durable, "outside", do_nothing, NULL, &handler), 0);
    for (int i = 0; i < 3; i++) {
        insert_row(model.now_ns);
        (void)snprintf(model.now.rows[i].handler, sizeof(model.now.rows[i].handler), "outside");
    }
    durable->outside_running = 1;
    pass_time(S);
    model.local_ns = durable->clock.now_ns(durable->clock.context);
    (void)verge__keeper_step(durable, NULL);
    for (int steps = 0; durable->held_count < 3; steps++) {
        assert_int_equal(verge__firer_step(&durable->firers[0]), VERGE__IDLE);
        assert_true(steps < 3);
    }
    durable->outside_running = 0;
    verge__release_held(durable, verge__store_now(durable));
    assert_int_equal(durable->held_count, 2);
    uint32_t released = 0;
    while (!durable->window.hints[released].is_released) {
        released++;
    }
    verge__row moved = {.id = durable->window.hints[released].id, .handler = "outside", .is_moved = true};
    for (uint32_t i = 0; i < model.now.row_count; i++) {
        if (model.now.rows[i].row.id == moved.id) {
            moved.due_ns = model.now.rows[i].row.due_ns = durable->keeper.read_until_ns;
        }
    }
    verge__rows_committed(durable, NULL, &moved, 1);
    assert_true(verge__window_check(durable));
    for (uint64_t done = 1; done <= 2; done++) {
        assert_int_equal(verge__firer_step(&durable->firers[0]), VERGE__WORKED);
        assert_int_equal(durable->stats.done, done);
    }
    assert_int_equal(verge__firer_step(&durable->firers[0]), VERGE__IDLE); /* the timer is not due */
    verge__durable_free(durable);
}

static void test_mistakes_are_noticed(void **state) {
    (void)state;
    for (int mistake = 1; mistake < MISTAKE_COUNT; mistake++) {
        model_mistake = (enum model_mistake)mistake;
        const char *wrong = NULL;
        for (uint64_t seed = 1; seed < 50 && wrong == NULL; seed++) {
            wrong = simulate(seed, 0);
        }
        print_message("mistake %d: %s\n", mistake, wrong == NULL ? "not noticed" : wrong);
        assert_non_null(wrong);
    }
    model_mistake = NO_MISTAKE;
}

static verge_durable_verdict try_much_later(const verge_durable_firing *firing) {
    verge_durable_retry_after(firing, 3600 * S);
    return VERGE_DURABLE_RETRY;
}

/* What another thread of the node does: it has moved the timer, and tells the window. */
static void move_the_timer(void) {
    struct model_row *r = &model.now.rows[0];
    verge__row row = {.id = r->row.id, .due_ns = model.now_ns + 50 * MS, .handler = r->handler, .is_moved = true};
    r->row.due_ns = row.due_ns;
    verge__rows_committed(nodes[0].durable, NULL, &row, 1);
}

/* A batch is committed: its timer is to be tried again much later. Before the firer notes that, the timer is moved to
 * an earlier time. */
static void test_a_timer_is_moved_after_its_batch(void **state) {
    (void)state;
    verge_durable_handler_options handler;
    model_reset(verge_test_seed(20260107));
    dice = verge_test_random_from(verge_test_seed(20260107) ^ 77);
    model_mistake = NO_MISTAKE;
    memory_loss = 0;
    limits = 0;
    begin_node(&nodes[0]);
    verge_durable *durable = nodes[0].durable;
    (void)verge_durable_handler_options_init(&handler, sizeof(handler));
    assert_int_equal(verge_durable_register(durable, "later", try_much_later, NULL, &handler), 0);
    insert_row(model.now_ns);
    (void)snprintf(model.now.rows[0].handler, sizeof(model.now.rows[0].handler), "later");
    pass_time(MS * 10);
    model.local_ns = durable->clock.now_ns(durable->clock.context);
    (void)verge__keeper_step(durable, NULL);
    model.committed = move_the_timer;
    assert_int_equal(verge__firer_step(&durable->firers[0]), VERGE__WORKED);
    assert_null(model.committed);
    assert_int_equal(durable->stats.retried, 1);
    const uint32_t hint = verge__window_find(&durable->window, model.now.rows[0].row.id);
    assert_int_not_equal(hint, VERGE__NO_HINT);
    assert_int_equal(durable->window.hints[hint].due_ns, model.now.rows[0].row.due_ns);
    assert_true(verge__window_check(durable));
    verge__durable_free(durable);
}

static uint32_t told_attempt;

static verge_durable_verdict note_attempt(const verge_durable_firing *firing) {
    told_attempt = firing->attempt;
    return VERGE_DURABLE_DONE;
}

/* A node is careful, so it counts the only attempt of a timer in a commit. Then the batch fails, or finds the timer
 * moved: the handler is not called. The attempt is not lost. */
static void count_in_vain(bool loses_answer) {
    verge_durable_handler_options handler;
    model_reset(verge_test_seed(20260108));
    dice = verge_test_random_from(verge_test_seed(20260108) ^ 77);
    model_mistake = NO_MISTAKE;
    memory_loss = told_attempt = 0;
    limits = 0;
    begin_node(&nodes[0]);
    verge_durable *durable = nodes[0].durable;
    (void)verge_durable_handler_options_init(&handler, sizeof(handler));
    handler.attempts_max = 1;
    assert_int_equal(verge_durable_register(durable, "once", note_attempt, NULL, &handler), 0);
    insert_row(model.now_ns);
    (void)snprintf(model.now.rows[0].handler, sizeof(model.now.rows[0].handler), "once");
    pass_time(MS * 10);
    model.local_ns = durable->clock.now_ns(durable->clock.context);
    (void)verge__keeper_step(durable, NULL);
    durable->is_careful = true;
    durable->batch_limit = 1;
    model.loses_answer = loses_answer;
    model.committed = loses_answer ? NULL : move_the_timer;
    assert_int_equal(verge__firer_step(&durable->firers[0]), loses_answer ? VERGE__FAILED : VERGE__WORKED);
    assert_int_equal(told_attempt, 0);
    assert_int_equal(model.now.rows[0].row.attempt, 1);
    pass_time(S);
    model.local_ns = durable->clock.now_ns(durable->clock.context);
    assert_int_equal(verge__firer_step(&durable->firers[0]), VERGE__WORKED);
    assert_int_equal(told_attempt, 1);
    assert_int_equal(model.now.dead_count, 0);
    assert_int_equal(durable->stats.done, 1);
    verge__durable_free(durable);
}

static void test_a_counted_attempt_is_not_lost(void **state) {
    (void)state;
    count_in_vain(true);
    count_in_vain(false);
}

static verge_durable_verdict fail_after_long(const verge_durable_firing *firing) {
    pass_time(30 * S);
    model.local_ns = nodes[0].durable->clock.now_ns(nodes[0].durable->clock.context);
    verge_durable_retry_after(firing, 10 * S);
    return VERGE_DURABLE_RETRY;
}

/* The wait before a retry begins when the handler has returned. */
static void test_a_retry_is_counted_from_the_return(void **state) {
    (void)state;
    for (int outside = 0; outside < 2; outside++) {
        verge_durable_handler_options handler;
        model_reset(verge_test_seed(20260109));
        dice = verge_test_random_from(verge_test_seed(20260109) ^ 77);
        model_mistake = NO_MISTAKE;
        memory_loss = 0;
        limits = 0;
        begin_node(&nodes[0]);
        verge_durable *durable = nodes[0].durable;
        (void)verge_durable_handler_options_init(&handler, sizeof(handler));
        handler.outside = outside != 0;
        assert_int_equal(verge_durable_register(durable, "long", fail_after_long, NULL, &handler), 0);
        insert_row(model.now_ns);
        (void)snprintf(model.now.rows[0].handler, sizeof(model.now.rows[0].handler), "long");
        pass_time(MS * 10);
        model.local_ns = durable->clock.now_ns(durable->clock.context);
        (void)verge__keeper_step(durable, NULL);
        assert_int_equal(verge__firer_step(&durable->firers[0]), VERGE__WORKED);
        assert_int_equal(durable->stats.retried, 1);
        const verge__row *row = &model.now.rows[model.now.row_count - 1].row;
        assert_int_equal(row->attempt, 1);
        assert_true(row->due_ns >= model.now_ns + 9900 * MS); /* the node's clock is a thousandth slower */
        assert_true(row->due_ns <= model.now_ns + 10 * S);
        verge__durable_free(durable);
    }
}

/* The keeper notes that other nodes have taken the shards. */
static void note_loss(void) {
    memset(nodes[0].durable->epochs, 0, sizeof(nodes[0].durable->epochs));
}

static verge_durable_verdict try_again(const verge_durable_firing *firing) {
    model.committed = note_loss;
    verge_durable_retry_after(firing, 0);
    return VERGE_DURABLE_RETRY;
}

/* The completion of a handler outside locks no shard. If the node loses the shard meanwhile, its new owner may have
 * read its window before the commit, so it is notified of the retry. */
static void test_a_shard_is_lost_during_a_completion(void **state) {
    (void)state;
    verge_durable_handler_options handler;
    model_reset(verge_test_seed(20260110));
    dice = verge_test_random_from(verge_test_seed(20260110) ^ 77);
    model_mistake = NO_MISTAKE;
    memory_loss = 0;
    limits = 0;
    begin_node(&nodes[0]);
    verge_durable *durable = nodes[0].durable;
    (void)verge_durable_handler_options_init(&handler, sizeof(handler));
    handler.outside = true;
    assert_int_equal(verge_durable_register(durable, "again", try_again, NULL, &handler), 0);
    insert_row(model.now_ns);
    (void)snprintf(model.now.rows[0].handler, sizeof(model.now.rows[0].handler), "again");
    pass_time(MS * 10);
    model.local_ns = durable->clock.now_ns(durable->clock.context);
    (void)verge__keeper_step(durable, NULL);
    assert_int_equal(verge__firer_step(&durable->firers[0]), VERGE__WORKED);
    assert_int_equal(durable->stats.retried, 1);
    assert_int_equal(model.notified, 1);
    verge__durable_free(durable);
}

/* The answer to a question for a permit is lost, so the row of its slot may be there. The next question has the same
 * slot, even if a lower one is free meanwhile: otherwise the row would hold up the handler. */
static void test_a_lost_permit_is_asked_for_again(void **state) {
    (void)state;
    model_reset(verge_test_seed(20260111));
    dice = verge_test_random_from(verge_test_seed(20260111) ^ 77);
    model_mistake = NO_MISTAKE;
    memory_loss = 0;
    limits = 4;
    control(false);
    begin_node(&nodes[0]);
    verge_durable *durable = nodes[0].durable;
    verge__handler *handler = &durable->handlers[verge__handler_index(durable, "write")];
    insert_row(model.now_ns);
    pass_time(MS * 10);
    model.local_ns = durable->clock.now_ns(durable->clock.context);
    (void)verge__keeper_step(durable, NULL);
    handler->slots = 1; /* another batch of the handler */
    model.loses_answer = true;
    assert_int_equal(verge__firer_step(&durable->firers[0]), VERGE__FAILED);
    assert_int_equal(model.asked_slot, 1);
    handler->slots = 0;
    model.asked_slot = 0;
    pass_time(S);
    model.local_ns = durable->clock.now_ns(durable->clock.context);
    assert_int_equal(verge__firer_step(&durable->firers[0]), VERGE__WORKED);
    assert_int_equal(model.asked_slot, 1);
    verge__durable_free(durable);
}

/* A node that has just taken the shards of a dead one gives some of them to a new node, which is careful, too. */
static void test_care_goes_with_the_shards(void **state) {
    (void)state;
    model_reset(verge_test_seed(20260114));
    dice = verge_test_random_from(verge_test_seed(20260114) ^ 77);
    model_mistake = NO_MISTAKE;
    memory_loss = 0;
    limits = 0;
    for (int i = 0; i < MODEL_SHARDS; i++) {
        model.now.shards[i].clean = false;
    }
    for (int i = 0; i < 2; i++) {
        begin_node(&nodes[i]);
        for (int j = i; j >= 0; j--) { /* the second node's turn comes first: only then does the first one give back */
            model.local_ns = nodes[j].durable->clock.now_ns(nodes[j].durable->clock.context);
            verge__note_control(nodes[j].durable);
            (void)verge__keeper_step(nodes[j].durable, NULL);
        }
    }
    verge__note_control(nodes[1].durable);
    (void)verge__keeper_step(nodes[1].durable, NULL);
    assert_int_equal(nodes[1].durable->owned_count, MODEL_SHARDS / 2);
    assert_true(nodes[1].durable->is_careful);
    assert_int_equal(nodes[1].durable->batch_limit, 1);
    verge__durable_free(nodes[0].durable);
    verge__durable_free(nodes[1].durable);
}

/* The store refuses a batch again and again: this is told once. After a long time without a refusal, it is told
 * again. */
static void test_a_refusal_is_told_again(void **state) {
    (void)state;
    model_reset(verge_test_seed(20260112));
    dice = verge_test_random_from(verge_test_seed(20260112) ^ 77);
    memory_loss = lost_count = 0;
    limits = 0;
    begin_node(&nodes[0]);
    verge_durable *durable = nodes[0].durable;
    bool *is_failing = &durable->firers[0].is_failing;
    for (uint32_t told = 1; told <= 2; told++) {
        for (int i = 0; i < 100; i++) {
            verge__set_words("the disk is full");
            verge__note_step(durable, is_failing, i % 2 == 0 ? -ENOSPC : 0);
            pass_time(10 * S);
        }
        assert_int_equal(lost_count, told);
        pass_time(3600 * S);
    }
    verge__durable_free(durable);
}

/* The store refuses one of two calls of a transaction. The other one succeeds. */
static void test_a_refused_call_refuses_no_other(void **state) {
    (void)state;
    struct node *node = &nodes[0];
    model_reset(verge_test_seed(20260113));
    dice = verge_test_random_from(verge_test_seed(20260113) ^ 77);
    model_mistake = NO_MISTAKE;
    memory_loss = timer_count = 0;
    limits = 0;
    begin_node(node);
    ids[0] = 1 << 8;
    submit(node, VERGE__CALL_CANCEL, 0, 0);
    submit(node, VERGE__CALL_SCHEDULE, 1, S);
    model.refuses_cancel = true;
    for (int i = 0; i < 3; i++) {
        (void)verge__writer_step(node->durable);
    }
    assert_int_equal(verge__writer_step(node->durable), VERGE__IDLE);
    assert_int_equal(node->calls[0].call.result, -EACCES);
    assert_int_equal(node->calls[1].call.result, 0);
    verge__durable_free(node->durable);
}

/* ---- the store's clock ---- */

static void answer(verge_durable *durable, uint64_t store_ns, uint64_t local_ns, bool is_set_back) {
    const verge__connection connection = {.now_ns = store_ns, .answered_ns = local_ns};
    (is_set_back ? verge__forget_store_time : verge__note_time)(durable, &connection);
}

/* An answer from before the estimate began says nothing: neither that a period is over, nor, after the store's clock
 * was set back, what its offset is. */
static void test_an_old_answer_changes_no_estimate(void **state) {
    (void)state;
    static verge_durable durable;
    answer(&durable, 1050 * S, 50 * S, false);
    answer(&durable, 1040 * S, 60 * S, true); /* 980 s ahead, no longer 1,000 */
    const verge__estimate before = durable.estimate;
    answer(&durable, 1059 * S, 59 * S, false);
    answer(&durable, 1051 * S, 51 * S, false);
    assert_memory_equal(&durable.estimate, &before, sizeof(before));
    answer(&durable, 0, 0, true); /* no answer at all */
    assert_memory_equal(&durable.estimate, &before, sizeof(before));
    answer(&durable, 1042 * S, 61 * S, false);
    assert_true(durable.estimate.offset_ns > before.offset_ns);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_simulation),
        cmocka_unit_test(test_slow_scans_make_nothing_late),
        cmocka_unit_test(test_held_timers_are_not_looked_at),
        cmocka_unit_test(test_a_released_timer_is_moved),
        cmocka_unit_test(test_a_timer_is_moved_after_its_batch),
        cmocka_unit_test(test_a_counted_attempt_is_not_lost),
        cmocka_unit_test(test_a_retry_is_counted_from_the_return),
        cmocka_unit_test(test_a_shard_is_lost_during_a_completion),
        cmocka_unit_test(test_a_lost_permit_is_asked_for_again),
        cmocka_unit_test(test_care_goes_with_the_shards),
        cmocka_unit_test(test_a_refusal_is_told_again),
        cmocka_unit_test(test_a_refused_call_refuses_no_other),
        cmocka_unit_test(test_an_old_answer_changes_no_estimate),
        cmocka_unit_test(test_mistakes_are_noticed),
    };
    return cmocka_run_group_tests_name("durable_simulation", tests, NULL, NULL);
}
