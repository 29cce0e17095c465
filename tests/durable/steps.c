/* SPDX-License-Identifier: MIT */
/* A node runs against the model of a store, step by step: what may come between two steps, and what may be lost. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "durable/model_node.h"
#include "durable/support.h"
#include "support/cmocka.h"
#include "support/random.h"

static verge_manual_clock local;
static verge_durable *durable;
static uint32_t lost_count; /* messages VERGE_DURABLE_LOST */

static void hear(void *context, const verge_durable_message *message) {
    (void)context;
    lost_count += message->event == VERGE_DURABLE_LOST;
}

static int set_up(void **state) {
    (void)state;
    model_reset(verge_test_seed(20260104));
    model_mistake = NO_MISTAKE;
    verge_manual_clock_set(&local, 1000 * S);
    model.local_ns = 1000 * S;
    lost_count = 0;
    durable = model_open(&local, 1, hear);
    return 0;
}

static int tear_down(void **state) {
    (void)state;
    verge__durable_free(durable);
    return 0;
}

/* The clock of the node is a thousandth slower than that of the store. */
static void pass_time(uint64_t by_ns) {
    model.now_ns += by_ns;
    verge_manual_clock_advance(&local, by_ns * 999 / 1000);
    model.local_ns = durable->clock.now_ns(durable->clock.context);
}

static verge_durable_handler_options default_options(void) {
    verge_durable_handler_options options;
    (void)verge_durable_handler_options_init(&options, sizeof(options));
    return options;
}

static void add(const char *name, verge_durable_handler handler, const verge_durable_handler_options *options) {
    assert_int_equal(verge_durable_register(durable, name, handler, NULL, options), 0);
}

/* Another node has started this timer. */
static void insert_row(const char *handler, uint64_t due_ns) {
    struct model_row *r = &model.now.rows[model.now.row_count++];
    const uint64_t id = (uint64_t)9999 << 35 | (uint64_t)model.now.row_count << 8 | model.now.row_count % MODEL_SHARDS;
    *r = (struct model_row){.row = {.id = id, .due_ns = due_ns, .payload = ""}, .is_there = true};
    (void)snprintf(r->handler, sizeof(r->handler), "%s", handler);
}

/* Inserts a timer that is due, and lets the keeper read it. */
static void insert_due(const char *handler) {
    insert_row(handler, model.now_ns);
    pass_time(10 * MS);
    (void)verge__keeper_step(durable, NULL);
}

static verge__progress fire(void) {
    return verge__firer_step(&durable->firers[0]);
}

static verge_durable_verdict do_nothing(const verge_durable_firing *firing) {
    (void)firing;
    return VERGE_DURABLE_DONE;
}

/* ---- D6, while a scan of all rows takes seconds ---- */

static uint64_t longest_ns;             /* the longest time that a question has taken since measured_ns */
static uint64_t measured_ns;            /* the time from which questions are measured */
static uint64_t taken_ns[MODEL_SHARDS]; /* when the node got the shard; 0: it has not */
static uint32_t seen_late;
static uint32_t seen_slow;
static uint64_t others_alive;
static struct verge_test_random dice;

enum { OTHERS = 3, FIRST_OTHER = MODEL_NODES_MAX - OTHERS }; /* nodes that die while the node scans in pieces */

static void start_a_timer(void) {
    verge__row row = {
        .due_ns = verge_test_below(&dice, 3000) * MS, .due_is_delay = true, .handler = "x", .payload = ""};
    verge__call call = {.kind = VERGE__CALL_SCHEDULE, .rows = &row, .row_count = 1, .give_up_ns = VERGE_NEVER};
    row.policy = model.now.row_count + 1; /* the model tells timers apart by this */
    (void)sem_init(&call.done, 0, 0);
    verge__call_submit(durable, &call);
    assert_int_equal(verge__writer_step(durable), VERGE__WORKED);
    assert_int_equal(call.result, 0);
}

/* A row that has been due for longer than D6 allows must be in the window. After a takeover, this is so for rows that
 * were due when the other node died, or later. Meanwhile the node starts timers. */
static void pass_and_look(uint64_t by_ns) {
    const uint64_t bound_ns = durable->options.rescan_ns + 2 * longest_ns;
    pass_time(by_ns + MS / 10); /* a little more, as the node's clock is slower */
    for (uint32_t i = 0; i < MODEL_SHARDS; i++) {
        taken_ns[i] = durable->epochs[i] == 0 ? 0 : taken_ns[i] == 0 ? model.now_ns : taken_ns[i];
    }
    for (uint32_t i = 0; i < model.now.row_count; i++) {
        const struct model_row *r = &model.now.rows[i];
        const uint64_t since_ns = taken_ns[verge__shard_of(r->row.id)];
        const bool is_ours = r->is_there && since_ns != 0 && r->row.due_ns + durable->options.lease_ns > since_ns;
        const uint64_t from_ns = r->row.due_ns > since_ns ? r->row.due_ns : since_ns;
        seen_late += is_ours && r->row.due_ns > measured_ns && from_ns + bound_ns < model.now_ns &&
                     verge__window_find(&durable->window, r->row.id) == VERGE__NO_HINT;
    }
    seen_slow += durable->keeper.is_scan_slow;
    if (model.now.row_count < MODEL_ROWS_MAX / 2) {
        start_a_timer();
    }
}

static void pass_and_note(uint64_t by_ns) {
    if (durable->keeper.is_scan_slow) {
        longest_ns = by_ns > longest_ns ? by_ns : longest_ns;
    }
    if (durable->keeper.is_scan_slow && model.is_scanning && by_ns > 10 * MS && others_alive > 0) {
        model.now.lease_until[FIRST_OTHER + --others_alive] = 0;
    }
    pass_and_look(by_ns);
}

static void test_slow_scans_make_nothing_late(void **state) {
    (void)state;
    dice = verge_test_random_from(verge_test_seed(20260104) ^ 77);
    durable->options.window_max = MODEL_ROWS_MAX;
    add("x", do_nothing, NULL);
    model.gone_since_ns = model.now_ns - 60 * S;
    measured_ns = model.now_ns + 10 * S; /* the first scan is a whole one */
    others_alive = OTHERS;
    for (uint64_t i = 0; i < UINT64_C(2) * OTHERS; i++) {
        model.now.shards[i].owner = FIRST_OTHER + i / 2;
        model.now.lease_until[FIRST_OTHER + i / 2] = VERGE_NEVER;
    }
    for (uint64_t at_ns = 0; at_ns < 120 * S; at_ns += 100 * MS) {
        insert_row("x", model.now_ns + at_ns);
    }
    const uint64_t end_ns = model.now_ns + 120 * S;
    model.pass_time = pass_and_note;
    while (model.now_ns < end_ns) {
        const uint64_t wait_ns = verge__keeper_step(durable, NULL);
        while (fire() == VERGE__WORKED) {
        }
        pass_and_look(wait_ns < 5 * MS ? 5 * MS : wait_ns);
    }
    model.pass_time = NULL;
    print_message("a question took %llu ms, slow at %u looks\n", (unsigned long long)(longest_ns / MS), seen_slow);
    assert_int_equal(seen_late, 0);
    assert_true(seen_slow > 0 && others_alive == 0);
    assert_true(durable->stats.done > 1000);
}

/* ---- timers that are held, and released ---- */

/* Inserts due timers of a handler outside, while no other one may run, and waits until they are held. */
static void hold(uint32_t count, uint32_t expected) {
    verge_durable_handler_options options = default_options();
    options.outside = true;
    add("outside", do_nothing, &options);
    for (uint32_t i = 1; i < count; i++) {
        insert_row("outside", model.now_ns);
    }
    durable->outside_running = 1; /* the limit is reached */
    insert_due("outside");
    for (uint32_t steps = 0; durable->window.count > durable->held_count; steps++) {
        assert_int_equal(fire(), VERGE__IDLE);
        assert_true(verge__window_check(durable));
        assert_true(steps < count);
    }
    assert_int_equal(durable->held_count, expected);
    durable->outside_running = 0;
}

/* Timers that are due while their handler may not run cost nothing: nobody looks at them until the handler may run. */
static void test_held_timers_are_not_looked_at(void **state) {
    (void)state;
    durable->options.window_max = 100;
    hold(200, 50); /* the handler's share is half of the window */
    durable->outside_running = 1;
    assert_int_equal(verge__window_next_wakeup(&durable->window), VERGE_NEVER);
    assert_int_equal(verge__next_release(durable, model.now_ns), VERGE_NEVER);
    durable->outside_running = 0;
    assert_int_equal(verge__next_release(durable, model.now_ns), model.now_ns);
    assert_int_equal(fire(), VERGE__WORKED);
    assert_int_equal(durable->held_count, 49);
}

/* A timer that was released, and is then moved to a later time, does not keep others of its handler from running. */
static void test_a_released_timer_is_moved(void **state) {
    (void)state;
    hold(3, 3);
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
        assert_int_equal(fire(), VERGE__WORKED);
        assert_int_equal(durable->stats.done, done);
    }
    assert_int_equal(fire(), VERGE__IDLE); /* the timer is not due */
}

/* ---- attempts, retries ---- */

static verge_durable_verdict try_much_later(const verge_durable_firing *firing) {
    verge_durable_retry_after(firing, 3600 * S);
    return VERGE_DURABLE_RETRY;
}

/* What another thread of the node does: it has moved the timer, and tells the window. */
static void move_the_timer(void) {
    struct model_row *r = &model.now.rows[0];
    verge__row row = {.id = r->row.id, .due_ns = model.now_ns + 50 * MS, .handler = r->handler, .is_moved = true};
    r->row.due_ns = row.due_ns;
    verge__rows_committed(durable, NULL, &row, 1);
}

/* A batch is committed: its timer is to be tried again much later. Before the firer notes that, the timer is moved to
 * an earlier time. */
static void test_a_timer_is_moved_after_its_batch(void **state) {
    (void)state;
    add("later", try_much_later, NULL);
    insert_due("later");
    model.committed = move_the_timer;
    assert_int_equal(fire(), VERGE__WORKED);
    assert_null(model.committed);
    assert_int_equal(durable->stats.retried, 1);
    const uint32_t hint = verge__window_find(&durable->window, model.now.rows[0].row.id);
    assert_int_not_equal(hint, VERGE__NO_HINT);
    assert_int_equal(durable->window.hints[hint].due_ns, model.now.rows[0].row.due_ns);
    assert_true(verge__window_check(durable));
}

static uint32_t told_attempt;

static verge_durable_verdict note_attempt(const verge_durable_firing *firing) {
    told_attempt = firing->attempt;
    return VERGE_DURABLE_DONE;
}

/* A node is careful, so it counts the only attempt of a timer in a commit. Then the batch fails, or finds the timer
 * moved: the handler is not called. The attempt is not lost. */
static void count_in_vain(bool loses_answer) {
    verge_durable_handler_options options = default_options();
    options.attempts_max = 1;
    add("once", note_attempt, &options);
    insert_due("once");
    told_attempt = 0;
    durable->is_careful = true;
    durable->batch_limit = 1;
    model.loses_answer = loses_answer;
    model.committed = loses_answer ? NULL : move_the_timer;
    assert_int_equal(fire(), loses_answer ? VERGE__FAILED : VERGE__WORKED);
    assert_int_equal(told_attempt, 0);
    assert_int_equal(model.now.rows[0].row.attempt, 1);
    pass_time(S);
    assert_int_equal(fire(), VERGE__WORKED);
    assert_int_equal(told_attempt, 1);
    assert_int_equal(model.now.dead_count, 0);
    assert_int_equal(durable->stats.done, 1);
}

static void test_a_counted_attempt_outlives_a_lost_answer(void **state) {
    (void)state;
    count_in_vain(true);
}

static void test_a_counted_attempt_outlives_a_move(void **state) {
    (void)state;
    count_in_vain(false);
}

static verge_durable_verdict fail_after_long(const verge_durable_firing *firing) {
    pass_time(30 * S);
    verge_durable_retry_after(firing, 10 * S);
    return VERGE_DURABLE_RETRY;
}

/* The wait before a retry begins when the handler has returned. */
static void fail_once(bool outside) {
    verge_durable_handler_options options = default_options();
    options.outside = outside;
    add("long", fail_after_long, &options);
    insert_due("long");
    assert_int_equal(fire(), VERGE__WORKED);
    assert_int_equal(durable->stats.retried, 1);
    const verge__row *row = &model.now.rows[model.now.row_count - 1].row;
    assert_int_equal(row->attempt, 1);
    assert_true(row->due_ns >= model.now_ns + 9900 * MS); /* the node's clock is a thousandth slower */
    assert_true(row->due_ns <= model.now_ns + 10 * S);
}

static void test_a_retry_is_counted_from_the_return(void **state) {
    (void)state;
    fail_once(false);
}

static void test_a_retry_outside_is_counted_from_the_return(void **state) {
    (void)state;
    fail_once(true);
}

/* ---- other nodes ---- */

/* The keeper notes that other nodes have taken the shards. */
static void note_loss(void) {
    memset(durable->epochs, 0, sizeof(durable->epochs));
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
    verge_durable_handler_options options = default_options();
    options.outside = true;
    add("again", try_again, &options);
    insert_due("again");
    assert_int_equal(fire(), VERGE__WORKED);
    assert_int_equal(durable->stats.retried, 1);
    assert_int_equal(model.notified, 1);
}

/* The answer to a question for a permit is lost, so the row of its slot may be there. The next question has the same
 * slot, even if a lower one is free meanwhile: otherwise the row would hold up the handler. */
static void test_a_lost_permit_is_asked_for_again(void **state) {
    (void)state;
    model_control("x", false, 1, 0);
    add("x", do_nothing, NULL);
    verge__handler *handler = &durable->handlers[verge__handler_index(durable, "x")];
    insert_due("x");
    handler->slots = 1; /* another batch of the handler */
    model.loses_answer = true;
    assert_int_equal(fire(), VERGE__FAILED);
    assert_int_equal(model.asked_slot, 1);
    handler->slots = 0;
    model.asked_slot = 0;
    pass_time(S);
    assert_int_equal(fire(), VERGE__WORKED);
    assert_int_equal(model.asked_slot, 1);
}

/* A node that has just taken the shards of a dead one gives some of them to a new node, which is careful, too. */
static void test_care_goes_with_the_shards(void **state) {
    (void)state;
    for (int i = 0; i < MODEL_SHARDS; i++) {
        model.now.shards[i].clean = false;
    }
    (void)verge__keeper_step(durable, NULL);
    assert_int_equal(durable->owned_count, MODEL_SHARDS);
    verge_durable *other = model_open(&local, 2, NULL);
    verge_durable *const turns[] = {durable, other};
    for (int i = 0; i < 2; i++) {
        verge__note_control(turns[i]); /* so that it renews its lease now */
        (void)verge__keeper_step(turns[i], NULL);
    }
    assert_int_equal(other->owned_count, MODEL_SHARDS / 2);
    assert_true(other->is_careful);
    assert_int_equal(other->batch_limit, 1);
    verge__durable_free(other);
}

/* ---- refusals ---- */

/* The store refuses a batch again and again: this is told once. After a long time without a refusal, it is told
 * again. */
static void test_a_refusal_is_told_again(void **state) {
    (void)state;
    for (uint32_t told = 1; told <= 2; told++) {
        for (int i = 0; i < 100; i++) {
            verge__set_words("the disk is full");
            verge__note_step(durable, &durable->firers[0].is_failing, i % 2 == 0 ? -ENOSPC : 0);
            pass_time(10 * S);
        }
        assert_int_equal(lost_count, told);
        pass_time(3600 * S);
    }
}

/* The store refuses one of two calls of a transaction. The other one succeeds. */
static void test_a_refused_call_refuses_no_other(void **state) {
    (void)state;
    verge__row row = {.due_ns = S, .due_is_delay = true, .handler = "x", .payload = "", .policy = 1};
    verge__call calls[] = {
        {.kind = VERGE__CALL_CANCEL, .change = {.id = 1 << 8}, .give_up_ns = VERGE_NEVER},
        {.kind = VERGE__CALL_SCHEDULE, .rows = &row, .row_count = 1, .give_up_ns = VERGE_NEVER},
    };
    for (int i = 0; i < 2; i++) {
        (void)sem_init(&calls[i].done, 0, 0);
        verge__call_submit(durable, &calls[i]);
    }
    model.refuses_cancel = true;
    for (int i = 0; i < 3; i++) {
        (void)verge__writer_step(durable);
    }
    assert_int_equal(verge__writer_step(durable), VERGE__IDLE);
    assert_int_equal(calls[0].result, -EACCES);
    assert_int_equal(calls[1].result, 0);
}

/* ---- the store's clock ---- */

static void answer(uint64_t store_ns, uint64_t local_ns, bool is_set_back) {
    const verge__connection connection = {.now_ns = store_ns, .answered_ns = local_ns};
    (is_set_back ? verge__forget_store_time : verge__note_time)(durable, &connection);
}

/* An answer from before the estimate began says nothing: neither that a period is over, nor, after the store's clock
 * was set back, what its offset is. */
static void test_an_old_answer_changes_no_estimate(void **state) {
    (void)state;
    durable->estimate = (verge__estimate){.is_known = false};
    answer(1050 * S, 50 * S, false);
    answer(1040 * S, 60 * S, true); /* 980 s ahead, no longer 1,000 */
    const verge__estimate before = durable->estimate;
    answer(1059 * S, 59 * S, false);
    answer(1051 * S, 51 * S, false);
    assert_memory_equal(&durable->estimate, &before, sizeof(before));
    answer(0, 0, true); /* no answer at all */
    assert_memory_equal(&durable->estimate, &before, sizeof(before));
    answer(1042 * S, 61 * S, false);
    assert_true(durable->estimate.offset_ns > before.offset_ns);
}

#define WITH_A_NODE(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void) {
    const struct CMUnitTest tests[] = {
        WITH_A_NODE(test_slow_scans_make_nothing_late),
        WITH_A_NODE(test_held_timers_are_not_looked_at),
        WITH_A_NODE(test_a_released_timer_is_moved),
        WITH_A_NODE(test_a_timer_is_moved_after_its_batch),
        WITH_A_NODE(test_a_counted_attempt_outlives_a_lost_answer),
        WITH_A_NODE(test_a_counted_attempt_outlives_a_move),
        WITH_A_NODE(test_a_retry_is_counted_from_the_return),
        WITH_A_NODE(test_a_retry_outside_is_counted_from_the_return),
        WITH_A_NODE(test_a_shard_is_lost_during_a_completion),
        WITH_A_NODE(test_a_lost_permit_is_asked_for_again),
        WITH_A_NODE(test_care_goes_with_the_shards),
        WITH_A_NODE(test_a_refusal_is_told_again),
        WITH_A_NODE(test_a_refused_call_refuses_no_other),
        WITH_A_NODE(test_an_old_answer_changes_no_estimate),
    };
    return cmocka_run_group_tests_name("durable_steps", tests, NULL, NULL);
}
