/* SPDX-License-Identifier: MIT */
/*
 * Random operations on a wheel and on a model of it, which have to agree.
 *
 * A run is one wheel with random options. The seed printed at a failure is that of the failing run:
 * with VERGE_TEST_SEED set to it, the run comes first.
 */
#include <time.h>

#include "model/run.h"
#include "support/cmocka.h"

static void create_stranger(struct run *run) {
    assert_int_equal(verge_wheel_create(NULL, &run->stranger), 0);
    for (size_t i = 0; i < RUN_STRANGER_TIMERS; i++) {
        assert_int_equal(verge_wheel_schedule(run->stranger, 1000, NULL, &run->stranger_timers[i]), 0);
        if (i % 2 == 0) {
            assert_int_equal(verge_wheel_cancel(run->stranger, run->stranger_timers[i], NULL), 0);
        }
    }
}

static void set_up(struct run *run, enum run_profile profile, uint64_t seed) {
    run->profile = profile;
    run->seed = seed;
    run->random = verge_test_random_from(seed ^ ((uint64_t)profile << 60));
    run->operation = "create";
    run->operation_count = 0;
    run->timers_max = profile == RUN_DENSE ? 200 : 20 + (size_t)verge_test_below(&run->random, 100);
    verge_test_allocator_init(&run->memory);
    verge_wheel_options options;
    run_random_options(&run->random, profile, &options);
    options.allocator = &run->memory.allocator;
    model_init(&run->model, &options);
    if (verge_test_chance(&run->random, 2)) {
        create_stranger(run); /* sometimes older than the wheel, sometimes younger */
    }
    RUN_CHECK_EQUAL(run, verge_wheel_create(&options, &run->wheel), 0, "create failed");
    if (run->stranger == NULL) {
        create_stranger(run);
    }
    RUN_CHECK_EQUAL(run, verge_wheel_worker_id(run->wheel), options.worker_id, "worker id");
    RUN_CHECK_EQUAL(run, verge_wheel_precision(run->wheel), run->model.precision_ns, "precision");
    RUN_CHECK_EQUAL(run, verge_wheel_level_count(run->wheel), run->model.options.level_count, "level count");
}

static void tear_down(struct run *run) {
    verge_wheel_destroy(run->wheel);
    verge_wheel_destroy(run->stranger);
    run->wheel = NULL;
    run->stranger = NULL;
    verge_test_allocator_assert_empty(&run->memory);
    model_free(&run->model);
}

/* Everything comes out in the end, and no later than it takes to touch each entry once a level and to sort them all. */
static void drain(struct run *run) {
    run->operation = "drain";
    verge_wheel_stats stats = {.struct_size = sizeof(stats)};
    RUN_CHECK_EQUAL(run, verge_wheel_get_stats(run->wheel, &stats), 0, "get_stats failed");
    const size_t level_count = run->model.options.level_count;
    uint64_t polls_left = 100 + (stats.entries + stats.timers) * (level_count + 20);
    while (run->model.count > 0) {
        RUN_CHECK(run, polls_left-- > 0, "G3: it does not drain");
        run_poll(run, MODEL_POLL, UINT64_MAX, RUN_OUT_MAX);
    }
    run_check_state(run);
}

static void run_once(struct run *run, enum run_profile profile, uint64_t seed) {
    set_up(run, profile, seed);
    for (uint64_t left = 50 + verge_test_below(&run->random, 3000); left > 0; left--) {
        run_random_operation(run);
        if (run->model.count < 40 || left % 8 == 0) {
            run_check_state(run);
        }
    }
    drain(run);
    tear_down(run);
}

static void run_profile(void **state, enum run_profile profile) {
    static struct run run; /* its batch is too large for a stack */
    const uint64_t seed = verge_test_seed(*(uint64_t *)*state);
    const double seconds = verge_test_seconds(5.0) / RUN_PROFILE_COUNT;
    const clock_t start = clock();
    run_print_seed_on_crash(&run);
    uint64_t count = 0;
    do {
        run_once(&run, profile, seed + count);
        count++;
    } while ((double)(clock() - start) < seconds * CLOCKS_PER_SEC);
    print_message("%ju runs\n", (uintmax_t)count);
}

static void model_dense(void **state) {
    run_profile(state, RUN_DENSE);
}

static void model_sparse(void **state) {
    run_profile(state, RUN_SPARSE);
}

static void model_tiny(void **state) {
    run_profile(state, RUN_TINY);
}

static void model_presets(void **state) {
    run_profile(state, RUN_PRESETS);
}

int main(void) {
    static uint64_t seed = 20260701;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_prestate(model_dense, &seed),
        cmocka_unit_test_prestate(model_sparse, &seed),
        cmocka_unit_test_prestate(model_tiny, &seed),
        cmocka_unit_test_prestate(model_presets, &seed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
