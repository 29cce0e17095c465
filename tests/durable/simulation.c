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

#include "durable/model_node.h"
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

static void hear(void *context, const verge_durable_message *message) {
    (void)context;
    if (message->event == VERGE_DURABLE_RESTORED && model.server_id == 1) {
        seen = "the log was told of an older state before any failover";
    }
}

static void begin_node(struct node *node) {
    const uint32_t loss = model.loss;
    model.loss = 0;
    node->durable = model_open(&node->clock, ++node_count, hear);
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

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_simulation),
        cmocka_unit_test(test_mistakes_are_noticed),
    };
    return cmocka_run_group_tests_name("durable_simulation", tests, NULL, NULL);
}
