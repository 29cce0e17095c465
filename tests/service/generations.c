/* SPDX-License-Identifier: MIT */
/* G4 at the end of a record's generations. A test cannot use a record 2^31 times, so it begins with the last
 * generation. */
#include "service/service_internal.h"
#include "service/support.h"

/* Starts a timer, and sets its record to the last generation. Returns the handle of that generation. */
static verge_timer last_of_its_record(struct stepped *stepped, uint64_t deadline_ns, verge_callback callback,
                                      void *argument) {
    const verge_timer timer = start_at(stepped->service, deadline_ns, callback, argument);
    verge__timer *record = verge__table_at(&stepped->service->table, (uint32_t)timer);
    const uint64_t word = atomic_load(&record->word);
    atomic_store(&record->word, word | VERGE__GENERATION_MASK);
    return VERGE__GENERATION_MASK | (uint32_t)timer;
}

static void assert_gone(verge_service *service, verge_timer timer) {
    verge_timer_info info;
    assert_int_equal(verge_service_cancel(service, timer), -ENOENT);
    assert_int_equal(verge_service_shutdown(service, timer), -ENOENT);
    assert_int_equal(verge_service_reset(service, timer, HOUR), -ENOENT);
    assert_int_equal(verge_service_get(service, timer, &info), -ENOENT);
}

/* Asserts that the record of a timer is never used again, and that its handle stays invalid. */
static void assert_retired(struct stepped *stepped, verge_worker *worker, verge_timer timer) {
    assert_gone(stepped->service, timer);
    enum { COUNT = 2000 }; /* more than the free records of a worker and the pool */
    static verge_timer others[COUNT];
    for (size_t i = 0; i < COUNT; i++) {
        others[i] = start_at(stepped->service, 100 * HOUR, do_nothing, NULL);
        assert_int_not_equal((uint32_t)others[i], (uint32_t)timer);
        assert_gone(stepped->service, timer);
    }
    (void)step(worker);
    for (size_t i = 0; i < COUNT; i++) {
        assert_int_equal(verge_service_cancel(stepped->service, others[i]), 0);
    }
    assert_gone(stepped->service, timer);
    assert_int_equal(verge_service_count(stepped->service, 0), 0);
}

static void a_record_cancelled_by_its_owner_is_retired(void **state) {
    (void)state;
    struct stepped stepped;
    stepped_begin(&stepped);
    verge_worker *worker = join_bound(stepped.service);
    const verge_timer timer = last_of_its_record(&stepped, 2 * HOUR, do_nothing, NULL);
    assert_int_equal(info_of(stepped.service, timer).deadline_ns, 2 * HOUR);
    assert_int_equal(verge_service_cancel(stepped.service, timer), 0);
    assert_retired(&stepped, worker, timer);
    leave(worker);
    stepped_end(&stepped);
}

static void a_record_cancelled_by_another_thread_is_retired(void **state) {
    (void)state;
    for (int is_filed = 0; is_filed < 2; is_filed++) {
        struct stepped stepped;
        stepped_begin(&stepped);
        verge_worker *worker = join_unbound(stepped.service);
        const verge_timer timer = last_of_its_record(&stepped, 2 * HOUR, do_nothing, NULL);
        if (is_filed) {
            assert_int_equal(step(worker), 0);
        }
        assert_int_equal(verge_service_cancel(stepped.service, timer), 0);
        assert_gone(stepped.service, timer);
        assert_int_equal(step(worker), 0);
        assert_retired(&stepped, worker, timer);
        leave(worker);
        stepped_end(&stepped);
    }
}

static void a_record_whose_timer_ran_is_retired(void **state) {
    (void)state;
    struct stepped stepped;
    struct notes notes = {0};
    stepped_begin(&stepped);
    verge_worker *worker = join_bound(stepped.service);
    const verge_timer timer = last_of_its_record(&stepped, now_of(&stepped) + SECOND, take_note, &notes);
    advance(&stepped, 2 * SECOND);
    assert_int_equal(step(worker), 1);
    assert_int_equal(notes.last.timer, timer);
    assert_retired(&stepped, worker, timer);
    leave(worker);
    stepped_end(&stepped);
}

static void a_record_that_is_retired_is_not_handed_back(void **state) {
    (void)state;
    struct stepped stepped;
    size_t pending = 0;
    stepped_begin(&stepped);
    verge_worker *worker = join_bound(stepped.service);
    const verge_timer timer = last_of_its_record(&stepped, 2 * HOUR, do_nothing, NULL);
    assert_int_equal(verge_service_cancel(stepped.service, timer), 0);
    leave(worker);
    assert_gone(stepped.service, timer);
    assert_int_equal(verge_service_destroy(stepped.service, count_pending, &pending), 0);
    assert_int_equal(pending, 0);
}

/* The same record again and again: no old handle ever means a new timer. */
static void old_handles_stay_gone(void **state) {
    (void)state;
    struct stepped stepped;
    stepped_begin(&stepped);
    verge_worker *worker = join_bound(stepped.service);
    enum { COUNT = 10000 };
    static verge_timer old[COUNT];
    for (size_t i = 0; i < COUNT; i++) {
        old[i] = start_at(stepped.service, 2 * HOUR, do_nothing, NULL);
        assert_int_equal(verge_service_cancel(stepped.service, old[i]), 0);
    }
    const verge_timer pending = start_at(stepped.service, 2 * HOUR, do_nothing, NULL);
    for (size_t i = 0; i < COUNT; i++) {
        assert_int_equal(verge_service_cancel(stepped.service, old[i]), -ENOENT);
    }
    assert_int_equal(verge_service_cancel(stepped.service, pending), 0);
    leave(worker);
    stepped_end(&stepped);
}

/* A worker gets new records that lie side by side. If those of two workers alternated, each processor would fetch what
 * the other one uses. */
static void records_of_two_workers_do_not_alternate(void **state) {
    (void)state;
    enum { TIMERS = 1000 };
    struct stepped stepped;
    stepped_begin(&stepped);
    verge_worker *workers[2] = {join_unbound(stepped.service), join_unbound(stepped.service)};
    uint32_t changes = 0;
    uint32_t before[2] = {0};
    for (size_t i = 0; i < TIMERS; i++) {
        for (size_t w = 0; w < 2; w++) {
            assert_int_equal(verge__worker_refill(workers[w]), 0);
            const uint32_t index = verge__worker_pop_free(workers[w]);
            changes += i == 0 || index != before[w] + 1;
            before[w] = index;
            assert_false(verge__timer_is_filed(verge__table_at(&stepped.service->table, index)));
        }
    }
    assert_int_equal(changes, 2);    /* the records of each worker lie side by side */
    for (size_t w = 0; w < 2; w++) { /* the records taken above were no timers: uncount them */
        atomic_store(&workers[w]->held, verge__worker_free_count(workers[w]));
        leave(workers[w]);
    }
    stepped_end(&stepped);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(records_of_two_workers_do_not_alternate),
        cmocka_unit_test(a_record_cancelled_by_its_owner_is_retired),
        cmocka_unit_test(a_record_cancelled_by_another_thread_is_retired),
        cmocka_unit_test(a_record_whose_timer_ran_is_retired),
        cmocka_unit_test(a_record_that_is_retired_is_not_handed_back),
        cmocka_unit_test(old_handles_stay_gone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
