/* SPDX-License-Identifier: MIT */
/* Threads are added to a service and retired, or end. What becomes of their timers? */
#include "service/support.h"

static verge_service *service_with_threads(uint32_t thread_count) {
    verge_service_options options;
    assert_int_equal(verge_service_options_init(&options, sizeof(options)), 0);
    options.thread_count = thread_count;
    verge_service *service = NULL;
    assert_int_equal(verge_service_create(&options, &service), 0);
    return service;
}

static verge_timer start_on(verge_service *service, uint32_t worker_id, uint64_t deadline_ns, verge_callback callback,
                            void *argument) {
    verge_start_options options = {.struct_size = sizeof(options)};
    options.callback = callback;
    options.argument = argument;
    options.deadline_ns = deadline_ns;
    options.worker_id = worker_id;
    return start_with(service, &options);
}

static void await_workers(verge_service *service, uint32_t count) {
    while (stats_of(service).workers != count) {
        (void)sched_yield();
    }
}

static void each_thread_runs_what_it_is_given(void **state) {
    (void)state;
    verge_service *service = service_with_threads(3);
    struct notes notes[3] = {0};
    assert_int_equal(stats_of(service).workers, 3);
    for (uint32_t id = 1; id <= 3; id++) {
        (void)start_on(service, id, 0, take_note, &notes[id - 1]);
    }
    for (uint32_t id = 1; id <= 3; id++) {
        await_count(&notes[id - 1].fired, 1);
        assert_int_equal(notes[id - 1].worker_id, id);
    }
    assert_int_equal(verge_service_destroy(service, NULL, NULL), 0);
}

static void a_retired_thread_gives_its_timers_to_the_others(void **state) {
    (void)state;
    enum { COUNT = 1000 };
    verge_service *service = service_with_threads(2);
    static verge_timer timers[COUNT];
    for (size_t i = 0; i < COUNT; i++) {
        timers[i] = start_on(service, 1, VERGE_NEVER - 1, do_nothing, NULL);
    }
    assert_int_equal(verge_service_retire_worker(service, 1), 0);
    assert_int_equal(verge_service_retire_worker(service, 1), -EINVAL);
    for (size_t i = 0; i < COUNT; i++) {
        while (info_of(service, timers[i]).worker_id != 2) {
            (void)sched_yield();
        }
    }
    await_workers(service, 1);
    assert_int_equal(verge_service_count(service, 0), COUNT);
    struct notes notes = {0};
    (void)start_on(service, 1, 0, take_note, &notes); /* worker 1 has left */
    await_count(&notes.fired, 1);
    assert_int_equal(notes.worker_id, 2);
    assert_int_equal(verge_service_destroy(service, NULL, NULL), 0);
}

static void the_last_is_retired_and_another_comes(void **state) {
    (void)state;
    verge_service *service = service_with_threads(1);
    uint32_t id = 1;
    for (int round = 0; round < 50; round++) {
        assert_int_equal(verge_service_retire_worker(service, id), 0);
        struct notes notes = {0};
        (void)start_at(service, 0, take_note, &notes); /* the worker may have left or not */
        await_workers(service, 0);
        assert_int_equal(verge_service_add_worker(service, &id), 0);
        await_count(&notes.fired, 1);
    }
    assert_int_equal(verge_service_add_worker(service, NULL), 0);
    assert_int_equal(stats_of(service).workers, 2);
    assert_int_equal(verge_service_destroy(service, NULL, NULL), 0);
}

struct doomed {
    verge_worker *worker;
    _Atomic bool has_run;
    _Atomic bool may_end;
};

static void end_thread(const verge_firing *firing) {
    struct doomed *doomed = firing->argument;
    doomed->worker = firing->worker;
    atomic_store(&doomed->has_run, true);
    await(&doomed->may_end);
    pthread_exit(NULL);
}

static void a_thread_that_ends_in_a_callback_has_left(void **state) {
    (void)state;
    enum { COUNT = 1000 };
    verge_service *service = service_with_threads(2);
    for (size_t i = 0; i < COUNT; i++) {
        (void)start_on(service, 1, VERGE_NEVER - 1, do_nothing, NULL);
    }
    struct doomed doomed = {0};
    (void)start_on(service, 1, 0, end_thread, &doomed);
    await(&doomed.has_run);
    assert_int_equal(verge_worker_leave(doomed.worker), -EPERM); /* refused while the worker's thread lives */
    atomic_store(&doomed.may_end, true);
    await_workers(service, 1);
    struct notes notes = {0};
    (void)start_on(service, 1, 0, take_note, &notes);
    await_count(&notes.fired, 1);
    assert_int_equal(notes.worker_id, 2);
    assert_int_equal(verge_service_add_worker(service, NULL), 0);
    while (verge_service_count(service, 0) != COUNT) { /* the callback that ran may still have to return */
        (void)sched_yield();
    }
    assert_int_equal(verge_service_destroy(service, NULL, NULL), 0);
}

/* ---- in the middle of a batch ---- */

struct busy {
    _Atomic uint32_t fired;
    _Atomic bool may_return;
    uint32_t worker_ids[2];
};

static void block_the_first(const verge_firing *firing) {
    struct busy *busy = firing->argument;
    const uint32_t number = atomic_fetch_add(&busy->fired, 1);
    busy->worker_ids[number] = verge_worker_id(firing->worker);
    if (number == 0) {
        await(&busy->may_return);
    }
}

static void it_retires_after_the_callback_it_runs(void **state) {
    (void)state;
    verge_service *service = service_with_threads(2);
    struct busy busy = {0};
    const uint64_t at_ns = (verge_service_exact_now(service) + 20 * MS) / TICK * TICK;
    (void)start_on(service, 1, at_ns, block_the_first, &busy);
    (void)start_on(service, 1, at_ns, block_the_first, &busy);
    await_count(&busy.fired, 1);
    assert_int_equal(verge_service_retire_worker(service, 1), 0);
    atomic_store(&busy.may_return, true);
    await_count(&busy.fired, 2);
    assert_int_equal(verge_service_destroy(service, NULL, NULL), 0);
    assert_int_equal(busy.worker_ids[0], 1);
    assert_int_equal(busy.worker_ids[1], 2);
}

static void retire_own(const verge_firing *firing) {
    assert_int_equal(verge_service_retire_worker(firing->service, verge_worker_id(firing->worker)), 0);
    take_note(firing);
}

static void leave_own(const verge_firing *firing) {
    assert_int_equal(verge_worker_leave(firing->worker), 0);
    take_note(firing);
}

static void a_callback_ends_its_own_thread(void **state) {
    (void)state;
    const verge_callback ends[] = {retire_own, leave_own};
    for (size_t i = 0; i < COUNT_OF(ends); i++) {
        verge_service *service = service_with_threads(2);
        struct notes notes[2] = {0};
        (void)start_on(service, 1, 0, ends[i], &notes[0]);
        await_count(&notes[0].fired, 1);
        await_workers(service, 1);
        (void)start_on(service, 1, 0, take_note, &notes[1]);
        await_count(&notes[1].fired, 1);
        assert_int_equal(notes[1].worker_id, 2);
        assert_int_equal(verge_service_add_worker(service, NULL), 0);
        assert_int_equal(verge_service_destroy(service, NULL, NULL), 0);
    }
}

static void threads_and_workers_of_yours_work_together(void **state) {
    (void)state;
    verge_service *service = service_with_threads(1);
    verge_worker *own = join_bound(service);
    struct notes notes = {0};
    (void)start_on(service, 1, 0, take_note, &notes);
    await_count(&notes.fired, 1);
    assert_int_equal(notes.worker_id, 1);
    struct notes own_notes = {0};
    (void)start_at(service, 0, take_note, &own_notes);
    assert_int_equal(step(own), 1);
    assert_int_equal(own_notes.worker_id, verge_worker_id(own));
    assert_int_equal(verge_service_destroy(service, NULL, NULL), -EBUSY);
    leave(own);
    assert_int_equal(verge_service_destroy(service, NULL, NULL), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_thread_runs_what_it_is_given),
        cmocka_unit_test(a_retired_thread_gives_its_timers_to_the_others),
        cmocka_unit_test(the_last_is_retired_and_another_comes),
        cmocka_unit_test(a_thread_that_ends_in_a_callback_has_left),
        cmocka_unit_test(it_retires_after_the_callback_it_runs),
        cmocka_unit_test(a_callback_ends_its_own_thread),
        cmocka_unit_test(threads_and_workers_of_yours_work_together),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
