/* SPDX-License-Identifier: MIT */
/* The ledger of `verge soak` (soak/ledger.h) finds nothing wrong in correct events, and finds each kind of mistake.
 * (Not tested here: NOT_WAITED and VERDICT.) The allocator of `verge soak` fails as it is told to. */
#include "soak/ledger.h"
#include "soak/faulty_allocator.h"
#include "support/cmocka.h"

struct fixture {
    struct ledger ledger;
    struct ledger_tally tally;
    verge_manual_clock clock;
    verge_service *service;
    verge_worker *worker;
};

static void set_up(struct fixture *fixture) {
    verge_service_options options;
    verge_worker_options worker_options = {.struct_size = sizeof(worker_options)};
    *fixture = (struct fixture){.ledger = {.is_clock_steady = true, .again_count_max = 2, .again_after_ns = 5}};
    assert_int_equal(ledger_open(&fixture->ledger, 4), 0);
    (void)verge_service_options_init(&options, sizeof(options));
    options.thread_count = 0;
    options.metronome = false;
    options.precision_ns = 1;
    options.clock = verge_clock_manual(&fixture->clock);
    worker_options.unbound = true;
    assert_int_equal(verge_service_create(&options, &fixture->service), 0);
    assert_int_equal(verge_worker_join(fixture->service, &worker_options, &fixture->worker), 0);
}

static void tear_down(struct fixture *fixture) {
    assert_int_equal(verge_worker_leave(fixture->worker), 0);
    assert_int_equal(verge_service_destroy(fixture->service, ledger_visit_pending, NULL), 0);
    ledger_close(&fixture->ledger, &fixture->tally);
    ledger_free(&fixture->ledger);
}

static void run_until(struct fixture *fixture, uint64_t now_ns) {
    verge_manual_clock_set(&fixture->clock, now_ns);
    while (verge_worker_run_once(fixture->worker, 0) > 0) {
    }
}

static void start(struct fixture *fixture, size_t place, enum slot_kind kind, uint64_t deadline_ns) {
    assert_true(slot_start(&fixture->ledger.slots[place], fixture->service, kind, deadline_ns, &fixture->tally));
}

/* Returns the callback of a slot's timer and its argument, for tests that call it wrongly. */
static verge_timer_info info_of(struct fixture *fixture, size_t place) {
    verge_timer_info info;
    verge_timer timer = atomic_load(&fixture->ledger.slots[place].timer);
    assert_int_equal(verge_service_get(fixture->service, timer, &info), 0);
    return info;
}

static void call(struct fixture *fixture, const verge_timer_info *info, uint64_t scheduled_ns, uint64_t actual_ns) {
    info->callback(&(verge_firing){.service = fixture->service,
                                   .worker = fixture->worker,
                                   .argument = info->argument,
                                   .scheduled_ns = scheduled_ns,
                                   .actual_ns = actual_ns});
}

static void expect_findings(struct fixture *fixture, enum finding finding, uint64_t count) {
    for (enum finding each = 0; each < FINDING_COUNT; each++) {
        assert_int_equal(atomic_load(&fixture->ledger.findings[each]), each == finding ? count : 0);
    }
}

static void what_is_right_is_found_right(void **state) {
    (void)state;
    struct fixture fixture;
    set_up(&fixture);
    struct slot *slots = fixture.ledger.slots;
    start(&fixture, 0, SLOT_OWNED, 10);
    start(&fixture, 1, SLOT_OWNED, 10);
    start(&fixture, 2, SLOT_SHARED, 10);
    start(&fixture, 3, SLOT_SELF, 10);
    slot_reset(&slots[0], fixture.service, 20, &fixture.tally);
    slot_cancel_shared(&slots[0], fixture.service); /* the slot is not shared: nothing happens */
    slot_cancel(&slots[1], fixture.service, verge_service_cancel_wait, true);
    slot_cancel_shared(&slots[2], fixture.service);
    assert_false(slot_try_close(&slots[0], &fixture.tally));
    run_until(&fixture, 100); /* slot 0 runs, and slot 3 for the first time */
    run_until(&fixture, 200);
    run_until(&fixture, 300);
    for (size_t i = 0; i < 4; i++) {
        assert_true(slot_try_close(&slots[i], &fixture.tally));
    }
    start(&fixture, 0, SLOT_OWNED, 500); /* destroy hands it back */
    tear_down(&fixture);
    expect_findings(&fixture, FINDING_COUNT, 0);
    assert_int_equal(fixture.tally.started, 5);
    assert_int_equal(fixture.tally.ran, 2);
    assert_int_equal(fixture.tally.cancelled, 2);
    assert_int_equal(fixture.tally.handed_back, 1);
    assert_int_equal(fixture.tally.runs, 4);   /* slot 0 ran once, slot 3 three times */
    assert_int_equal(fixture.tally.resets, 3); /* slot 0 once; slot 3 twice, by itself */
}

static void a_timer_that_is_early_is_found(void **state) {
    (void)state;
    struct fixture fixture;
    set_up(&fixture);
    start(&fixture, 0, SLOT_OWNED, 10);
    verge_timer_info info = info_of(&fixture, 0);
    call(&fixture, &info, 10, 9);
    expect_findings(&fixture, FINDING_EARLY, 1);
    tear_down(&fixture);
}

static void a_deadline_that_was_replaced_is_found(void **state) {
    (void)state;
    struct fixture fixture;
    set_up(&fixture);
    start(&fixture, 0, SLOT_OWNED, 10);
    verge_timer_info info = info_of(&fixture, 0);
    slot_reset(&fixture.ledger.slots[0], fixture.service, 20, &fixture.tally);
    verge_manual_clock_set(&fixture.clock, 30);
    call(&fixture, &info, 10, 30);
    expect_findings(&fixture, FINDING_OTHER_DEADLINE, 1);
    tear_down(&fixture);
}

static void a_timer_that_runs_after_its_cancel_is_found(void **state) {
    (void)state;
    struct fixture fixture;
    set_up(&fixture);
    start(&fixture, 0, SLOT_OWNED, 10);
    verge_timer_info info = info_of(&fixture, 0);
    slot_cancel(&fixture.ledger.slots[0], fixture.service, verge_service_cancel, false);
    verge_manual_clock_set(&fixture.clock, 30);
    call(&fixture, &info, 10, 30);
    expect_findings(&fixture, FINDING_AFTER_CANCEL, 1);
    tear_down(&fixture);
}

static void a_timer_that_runs_after_its_end_is_found(void **state) {
    (void)state;
    struct fixture fixture;
    set_up(&fixture);
    start(&fixture, 0, SLOT_OWNED, 10);
    verge_timer_info info = info_of(&fixture, 0);
    run_until(&fixture, 30);
    assert_true(slot_try_close(&fixture.ledger.slots[0], &fixture.tally));
    start(&fixture, 0, SLOT_OWNED, 40);
    call(&fixture, &info, 10, 30);
    expect_findings(&fixture, FINDING_AFTER_END, 1);
    tear_down(&fixture);
}

static void a_timer_that_runs_twice_is_found(void **state) {
    (void)state;
    struct fixture fixture;
    set_up(&fixture);
    start(&fixture, 0, SLOT_OWNED, 10);
    verge_timer_info info = info_of(&fixture, 0);
    run_until(&fixture, 30);
    call(&fixture, &info, 10, 30);
    assert_true(slot_try_close(&fixture.ledger.slots[0], &fixture.tally));
    expect_findings(&fixture, FINDING_NOT_ONCE, 1);
    tear_down(&fixture);
}

static void a_timer_that_is_lost_is_found(void **state) {
    (void)state;
    struct fixture fixture;
    set_up(&fixture);
    start(&fixture, 0, SLOT_OWNED, 10);
    /* A cancel that the ledger does not know of. */
    assert_int_equal(verge_service_cancel(fixture.service, atomic_load(&fixture.ledger.slots[0].timer)), 0);
    tear_down(&fixture);
    expect_findings(&fixture, FINDING_NOT_ONCE, 1);
}

static void faults_come_as_often_as_asked_for(void **state) {
    (void)state;
    struct faulty_allocator faulty;
    faulty_allocator_init(&faulty);
    void *memory = faulty.table.allocate(faulty.table.context, 64, 16);
    assert_non_null(memory);
    assert_int_equal(atomic_load(&faulty.bytes), 64);
    atomic_store(&faulty.fail_every, 1);
    assert_null(faulty.table.allocate(faulty.table.context, 64, 16));
    assert_int_equal(atomic_load(&faulty.refused), 1);
    faulty.table.release(faulty.table.context, memory, 64);
    assert_int_equal(atomic_load(&faulty.bytes), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_right_is_found_right),
        cmocka_unit_test(a_timer_that_is_early_is_found),
        cmocka_unit_test(a_deadline_that_was_replaced_is_found),
        cmocka_unit_test(a_timer_that_runs_after_its_cancel_is_found),
        cmocka_unit_test(a_timer_that_runs_after_its_end_is_found),
        cmocka_unit_test(a_timer_that_runs_twice_is_found),
        cmocka_unit_test(a_timer_that_is_lost_is_found),
        cmocka_unit_test(faults_come_as_often_as_asked_for),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
