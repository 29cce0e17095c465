/* SPDX-License-Identifier: MIT */
/* Calls with arguments that make no sense return an error, or the result that the header states. They never crash, and
 * change nothing. */
#include "service/support.h"

static void null_service(void **state) {
    (void)state;
    verge_timer timer = 0;
    verge_timer_info info;
    verge_service_stats stats = {.struct_size = sizeof(stats)};
    verge_worker *worker = NULL;
    struct notes notes = {0};
    const verge_start_options options = noted(&notes, 1);
    assert_int_equal(verge_service_create(NULL, NULL), -EINVAL);
    assert_int_equal(verge_service_destroy(NULL, count_pending, NULL), 0);
    assert_int_equal(verge_service_add_worker(NULL, NULL), -EINVAL);
    assert_int_equal(verge_service_retire_worker(NULL, 1), -EINVAL);
    assert_int_equal(verge_service_start_with(NULL, &options, &timer), -EINVAL);
    assert_int_equal(verge_service_start(NULL, 1, do_nothing, NULL, &timer), -EINVAL);
    assert_int_equal(verge_service_start_after(NULL, 1, do_nothing, NULL, &timer), -EINVAL);
    assert_int_equal(verge_service_cancel(NULL, 1), -EINVAL);
    assert_int_equal(verge_service_cancel_wait(NULL, 1), -EINVAL);
    assert_int_equal(verge_service_shutdown(NULL, 1), -EINVAL);
    assert_int_equal(verge_service_reset(NULL, 1, 1), -EINVAL);
    assert_int_equal(verge_service_get(NULL, 1, &info), -EINVAL);
    assert_int_equal(verge_service_get_stats(NULL, &stats), -EINVAL);
    assert_int_equal(verge_service_get_histograms(NULL, NULL, NULL), -EINVAL);
    assert_int_equal(verge_service_tick(NULL), -EINVAL);
    assert_int_equal(verge_service_run_to_next(NULL, 1), -EINVAL);
    assert_int_equal(verge_service_wait_empty(NULL, VERGE_NEVER), -EINVAL);
    assert_int_equal(verge_worker_join(NULL, NULL, &worker), -EINVAL);
    assert_int_equal(verge_service_count(NULL, 0), 0);
    assert_int_equal(verge_service_count(NULL, 1), 0);
    (void)verge_service_now(NULL);
    (void)verge_service_exact_now(NULL);
    assert_null(verge_worker_current(NULL));
    assert_null(worker);
    assert_int_equal(timer, 0);
}

static void null_worker(void **state) {
    (void)state;
    assert_int_equal(verge_worker_leave(NULL), -EINVAL);
    assert_int_equal(verge_worker_run_once(NULL, 0), -EINVAL);
    assert_int_equal(verge_worker_next_wakeup(NULL), VERGE_NEVER);
    assert_int_equal(verge_worker_begin_wait(NULL), 0);
    verge_worker_end_wait(NULL);
    verge_worker_interrupt(NULL);
    assert_int_equal(verge_worker_id(NULL), 0);
}

static void sizes_of_options(void **state) {
    (void)state;
    verge_service_options service_options;
    assert_int_equal(verge_service_options_init(NULL, sizeof(verge_service_options)), -EINVAL);
    assert_int_equal(verge_service_options_init(&service_options, 0), -EINVAL);
}

/* A single wrong option is enough for the call to fail. */
static void options_of_a_service(void **state) {
    (void)state;
    struct stepped stepped;
    const verge_service_options good = stepped_options(&stepped);
    verge_service_options bad[10];
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        bad[i] = good;
    }
    bad[0].struct_size = 0;
    bad[1].struct_size = sizeof(size_t) - 1;
    bad[2].struct_size = sizeof(good) + sizeof(good); /* includes the next element, which is not 0 */
    bad[3].thread_count = VERGE_WORKER_COUNT_MAX + 1;
    bad[4].precision_ns = 0;
    bad[5].precision_ns = 1000;
    bad[6].precision_ns = UINT64_C(1) << 63;
    bad[7].resolution_ns = 0;
    bad[8].resolution_ns = VERGE_NEVER;
    bad[9].batch = 0;
    static const char *const fields[] = {"struct_size",   "struct_size",  "struct_size",  "thread_count",
                                         "precision_ns",  "precision_ns", "precision_ns", "resolution_ns",
                                         "resolution_ns", "batch"};
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        char text[128] = "";
        assert_int_equal(verge_service_options_explain(&bad[i], text, sizeof(text)), -EINVAL);
        assert_int_equal(strncmp(text, fields[i], strlen(fields[i])), 0);
        assert_true(strlen(text) < sizeof(text) - 1);
        assert_int_equal(verge_service_create(&bad[i], &stepped.service), -EINVAL);
        assert_null(stepped.service);
    }
    char text[128] = "as it was";
    assert_int_equal(verge_service_options_explain(&bad[5], text, sizeof(text)), -EINVAL);
    assert_string_equal(text,
                        "precision_ns is 1000, which is no power of two: the nearest are 512 (2^9) and 1024 (2^10)");
    assert_int_equal(verge_service_options_explain(&bad[5], text, 8), -EINVAL);
    assert_string_equal(text, "precisi");
    assert_int_equal(verge_service_options_explain(&bad[5], NULL, 0), -EINVAL);
    assert_int_equal(verge_service_options_explain(NULL, text, sizeof(text)), -EINVAL);
    assert_int_equal(verge_service_options_explain(&good, text, sizeof(text)), 0);
    assert_int_equal(verge_service_create(&good, NULL), -EINVAL);
    assert_int_equal(stepped.memory.calls, 0);
}

static void the_bounds_of_options_are_those_of_the_header(void **state) {
    (void)state;
    const uint64_t most_ns = UINT64_C(1) << 40;
    struct stepped stepped;
    verge_service_options options = stepped_options(&stepped);
    options.precision_ns = most_ns;
    options.resolution_ns = most_ns;
    stepped_create(&stepped, &options);
    stepped_end(&stepped);
    verge_service *none = NULL;
    options.resolution_ns = most_ns + 1;
    assert_int_equal(verge_service_create(&options, &none), -EINVAL);
    options.resolution_ns = most_ns;
    options.precision_ns = 2 * most_ns;
    assert_int_equal(verge_service_create(&options, &none), -EINVAL);
    assert_null(none);
}

static void options_of_a_timer(void **state) {
    (void)state;
    struct stepped stepped;
    struct notes notes = {0};
    stepped_begin(&stepped);
    verge_worker *worker = join_unbound(stepped.service);
    const verge_start_options good = noted(&notes, now_of(&stepped));
    verge_start_options bad[6];
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        bad[i] = good;
    }
    bad[0].struct_size = 0;
    bad[1].struct_size = sizeof(size_t) - 1;
    bad[2].struct_size = sizeof(good) + sizeof(good); /* includes the next element, which is not 0 */
    bad[3].callback = NULL;
    bad[4].deadline_ns = VERGE_NEVER;
    bad[5].period_ns = SECOND;
    bad[5].policy = (verge_interval_policy)77;
    verge_timer timer = 0;
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        assert_int_equal(verge_service_start_with(stepped.service, &bad[i], &timer), -EINVAL);
    }
    assert_int_equal(verge_service_start_with(stepped.service, NULL, &timer), -EINVAL);
    assert_int_equal(verge_service_start(stepped.service, 1, NULL, NULL, &timer), -EINVAL);
    assert_int_equal(verge_service_start(stepped.service, VERGE_NEVER, do_nothing, NULL, &timer), -EINVAL);
    assert_int_equal(verge_service_start_after(stepped.service, 1, NULL, NULL, &timer), -EINVAL);
    assert_int_equal(verge_service_start_after(stepped.service, VERGE_NEVER, do_nothing, NULL, &timer), -EOVERFLOW);
    assert_int_equal(
        verge_service_start_after(stepped.service, VERGE_NEVER - now_of(&stepped), do_nothing, NULL, &timer),
        -EOVERFLOW);
    assert_int_equal(timer, 0);
    assert_int_equal(verge_service_count(stepped.service, 0), 0);
    assert_int_equal(step(worker), 0);
    const uint64_t longest_ns = VERGE_NEVER - 1 - now_of(&stepped);
    assert_int_equal(verge_service_start_after(stepped.service, longest_ns, do_nothing, NULL, &timer), 0);
    assert_int_equal(info_of(stepped.service, timer).deadline_ns, VERGE_NEVER - 1);
    assert_int_equal(verge_service_cancel(stepped.service, timer), 0);
    assert_int_equal(verge_service_start_with(stepped.service, &good, NULL), 0); /* without a pointer for the handle */
    assert_int_equal(step(worker), 1);
    leave(worker);
    stepped_end(&stepped);
}

static void options_of_a_worker(void **state) {
    (void)state;
    struct stepped stepped;
    stepped_begin(&stepped);
    verge_worker_options options[2] = {{.struct_size = sizeof(options)}};
    verge_worker *worker = NULL;
    options[1].struct_size = 1; /* not 0, and in the part of options[0] that the library does not know */
    assert_int_equal(verge_worker_join(stepped.service, options, &worker), -EINVAL);
    options[0].struct_size = 0; /* the caller forgot it */
    assert_int_equal(verge_worker_join(stepped.service, options, &worker), -EINVAL);
    options[0].struct_size = sizeof(size_t) - 1;
    assert_int_equal(verge_worker_join(stepped.service, options, &worker), -EINVAL);
    assert_int_equal(verge_worker_join(stepped.service, NULL, NULL), -EINVAL);
    assert_null(worker);
    assert_int_equal(stats_of(stepped.service).workers, 0);
    stepped_end(&stepped);
}

/* Handles that never were, before the service has had a timer, and while it has one. */
static void handles_that_never_were(void **state) {
    (void)state;
    struct stepped stepped;
    stepped_begin(&stepped);
    verge_worker *worker = join_bound(stepped.service);
    for (int round = 0; round < 2; round++) {
        const verge_timer pending = round == 0 ? 0 : start_at(stepped.service, HOUR * 2, do_nothing, NULL);
        const verge_timer strangers[] = {
            0,
            1,
            UINT32_MAX,
            VERGE_NEVER,
            UINT64_C(1) << 32 | 1025, /* in a gap between segments */
            UINT64_C(1) << 32 | (1 << 15),
            UINT64_C(1) << 32 | UINT32_MAX,
            pending + (UINT64_C(2) << 32), /* a later generation of the same record */
            pending + (UINT64_C(1) << 32), /* an even generation, which no timer has */
            round == 0 ? UINT64_C(1) << 32 : pending & UINT32_MAX,
        };
        for (size_t i = 0; i < COUNT_OF(strangers); i++) {
            verge_timer_info info;
            assert_int_equal(verge_service_cancel(stepped.service, strangers[i]), -EBADF);
            assert_int_equal(verge_service_cancel_wait(stepped.service, strangers[i]), -EBADF);
            assert_int_equal(verge_service_shutdown(stepped.service, strangers[i]), -EBADF);
            assert_int_equal(verge_service_reset(stepped.service, strangers[i], HOUR), -EBADF);
            assert_int_equal(verge_service_get(stepped.service, strangers[i], &info), -EBADF);
        }
        assert_int_equal(verge_service_count(stepped.service, 0), round);
    }
    leave(worker);
    stepped_end(&stepped);
}

static void handles_that_are_gone(void **state) {
    (void)state;
    struct stepped stepped;
    stepped_begin(&stepped);
    verge_worker *worker = join_bound(stepped.service);
    const verge_timer fired = start_at(stepped.service, now_of(&stepped), do_nothing, NULL);
    assert_int_equal(step(worker), 1);
    const verge_timer cancelled = start_at(stepped.service, HOUR * 2, do_nothing, NULL);
    assert_int_equal(verge_service_cancel(stepped.service, cancelled), 0);
    const verge_timer successor = start_at(stepped.service, HOUR * 2, do_nothing, NULL);
    const verge_timer gone[] = {fired, cancelled};
    for (size_t i = 0; i < COUNT_OF(gone); i++) {
        verge_timer_info info;
        assert_int_equal(verge_service_cancel(stepped.service, gone[i]), -ENOENT);
        assert_int_equal(verge_service_cancel_wait(stepped.service, gone[i]), -ENOENT);
        assert_int_equal(verge_service_shutdown(stepped.service, gone[i]), -ENOENT);
        assert_int_equal(verge_service_reset(stepped.service, gone[i], HOUR), -ENOENT);
        assert_int_equal(verge_service_get(stepped.service, gone[i], &info), -ENOENT);
    }
    assert_int_equal(info_of(stepped.service, successor).deadline_ns, HOUR * 2);
    leave(worker);
    stepped_end(&stepped);
}

static void times_that_make_no_sense(void **state) {
    (void)state;
    struct stepped stepped;
    stepped_begin(&stepped);
    verge_worker *worker = join_bound(stepped.service);
    const verge_timer timer = start_at(stepped.service, HOUR * 2, do_nothing, NULL);
    assert_int_equal(verge_service_reset(stepped.service, timer, VERGE_NEVER), -EINVAL);
    assert_int_equal(info_of(stepped.service, timer).deadline_ns, HOUR * 2);
    assert_int_equal(verge_service_get(stepped.service, timer, NULL), -EINVAL);
    leave(worker);
    stepped_end(&stepped);
}

static void statistics_of_any_size(void **state) {
    (void)state;
    struct stepped stepped;
    stepped_begin(&stepped);
    verge_service_stats stats;
    memset(&stats, 0x5a, sizeof(stats));
    stats.struct_size = 0;
    assert_int_equal(verge_service_get_stats(stepped.service, &stats), -EINVAL);
    assert_int_equal(verge_service_get_stats(stepped.service, NULL), -EINVAL);
    assert_int_equal(stats.pending, UINT64_C(0x5a5a5a5a5a5a5a5a));
    stats.struct_size = sizeof(stats.struct_size); /* a caller that knows no other field */
    assert_int_equal(verge_service_get_stats(stepped.service, &stats), 0);
    assert_int_equal(stats.pending, UINT64_C(0x5a5a5a5a5a5a5a5a));
    stats.struct_size = offsetof(verge_service_stats, started);
    assert_int_equal(verge_service_get_stats(stepped.service, &stats), 0);
    assert_int_equal(stats.pending, 0);
    assert_int_equal(stats.started, UINT64_C(0x5a5a5a5a5a5a5a5a)); /* beyond struct_size: not written */
    assert_int_equal(verge_service_get_histograms(stepped.service, NULL, NULL), 0);
    stepped_end(&stepped);
}

static void workers_that_are_not_the_services(void **state) {
    (void)state;
    struct stepped stepped;
    stepped_begin(&stepped);
    verge_worker *worker = join_unbound(stepped.service);
    assert_int_equal(verge_service_retire_worker(stepped.service, verge_worker_id(worker)), -EINVAL);
    assert_int_equal(verge_service_retire_worker(stepped.service, 0), -EINVAL);
    assert_int_equal(verge_service_retire_worker(stepped.service, 2), -EINVAL);
    assert_int_equal(verge_service_retire_worker(stepped.service, UINT32_MAX), -EINVAL);
    assert_int_equal(step(worker), 0);
    leave(worker);
    assert_int_equal(verge_service_retire_worker(stepped.service, 1), -EINVAL);
    stepped_end(&stepped);
}

static void a_service_with_a_metronome_is_not_ticked_by_hand(void **state) {
    (void)state;
    struct stepped stepped;
    verge_service_options options = stepped_options(&stepped);
    options.metronome = true;
    stepped_create(&stepped, &options);
    assert_int_equal(verge_service_tick(stepped.service), -EINVAL);
    stepped_end(&stepped);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(null_service),
        cmocka_unit_test(null_worker),
        cmocka_unit_test(sizes_of_options),
        cmocka_unit_test(options_of_a_service),
        cmocka_unit_test(the_bounds_of_options_are_those_of_the_header),
        cmocka_unit_test(options_of_a_timer),
        cmocka_unit_test(options_of_a_worker),
        cmocka_unit_test(handles_that_never_were),
        cmocka_unit_test(handles_that_are_gone),
        cmocka_unit_test(times_that_make_no_sense),
        cmocka_unit_test(statistics_of_any_size),
        cmocka_unit_test(workers_that_are_not_the_services),
        cmocka_unit_test(a_service_with_a_metronome_is_not_ticked_by_hand),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
