/* SPDX-License-Identifier: MIT */
#include "model/run.h"

#include <errno.h>

#include "support/cmocka.h"
#include "wheel/wheel_internal.h"

static void create_stranger(struct run *run) {
    assert_int_equal(verge_wheel_create(NULL, &run->stranger), 0);
    for (size_t i = 0; i < RUN_STRANGER_TIMERS; i++) {
        assert_int_equal(verge_wheel_start(run->stranger, 1000, NULL, &run->stranger_timers[i]), 0);
        if (i % 2 == 0) {
            assert_int_equal(verge_wheel_cancel(run->stranger, run->stranger_timers[i], NULL), 0);
        }
    }
}

/* Creates the wheel. In one of four runs, an allocation may fail first. Then there must be no wheel, and no memory may
 * be left. A second call creates the wheel. */
static void create(struct run *run, const verge_wheel_options *options) {
    if (verge_test_chance(&run->random, 4)) {
        run->memory.fail_at = 1 + verge_test_below(&run->random, 6);
        if (verge_wheel_create(options, &run->wheel) == 0) {
            return;
        }
        RUN_CHECK(run, run->wheel == NULL, "ret_wheel was touched");
        RUN_CHECK_EQUAL(run, run->memory.failures, 1U, "create failed, and not for memory");
        verge_test_allocator_assert_empty(&run->memory);
    }
    RUN_CHECK_EQUAL(run, verge_wheel_create(options, &run->wheel), 0, "create failed");
}

/* Whether any tick that timers can have comes after the start. */
static bool leaves_time(const struct model *model) {
    const verge_wheel_options *options = &model->options;
    const unsigned shift = options->levels[0].shift;
    return options->start_ns >> shift < ((VERGE_NEVER - 1) >> shift) - 1;
}

static void set_up(struct run *run) {
    run->operation = "create";
    run->operation_count = 0;
    run->gave_back = false;
    run->sequence_end = UINT64_MAX;
    static const size_t timers_max[RUN_PROFILE_COUNT] = {[RUN_DENSE] = 200, [RUN_CROWDED] = 600};
    const size_t some = 20 + (size_t)verge_test_below(&run->random, 100);
    run->timers_max = timers_max[run->profile] != 0 ? timers_max[run->profile] : some;
    verge_test_allocator_init(&run->memory);
    /* With few idle nodes allowed, some are kept and some withdrawn. */
    verge__idle_max = verge_test_chance(&run->random, 2) ? verge_test_below(&run->random, 64) : VERGE__IDLE_MAX;
    /* With few idle nodes allowed, a few timers are also enough for a wide calendar. (This draws no random number: that
     * would change what the stored inputs of the fuzzer do.) */
    verge__narrow_max = verge__idle_max < 64 ? 63 - verge__idle_max : VERGE__NARROW_MAX;
    verge_wheel_options options;
    run_random_options(&run->random, run->profile, &options);
    options.allocator = &run->memory.allocator;
    model_init(&run->model, &options);
    if (!leaves_time(&run->model)) {
        RUN_CHECK_EQUAL(run, verge_wheel_create(&options, &run->wheel), -EINVAL, "a start that leaves no time");
        options.start_ns = 0;
        model_init(&run->model, &options);
    }
    if (verge_test_chance(&run->random, 2)) {
        create_stranger(run); /* sometimes older than the wheel, sometimes younger */
    }
    create(run, &options);
    if (run->stranger == NULL) {
        create_stranger(run);
    }
    verge_wheel_stats stats = {.struct_size = sizeof(stats)};
    RUN_CHECK_EQUAL(run, verge_wheel_get_stats(run->wheel, &stats), 0, "get_stats failed");
    RUN_CHECK_EQUAL(run, stats.worker_id, options.worker_id, "worker id");
    RUN_CHECK_EQUAL(run, verge_wheel_precision(run->wheel), run->model.precision_ns, "precision");
    RUN_CHECK_EQUAL(run, stats.level_count, run->model.options.level_count, "level count");
}

static void tear_down(struct run *run) {
    verge_wheel_destroy(run->wheel);
    run_free_timeouts(run);
    verge_wheel_destroy(run->stranger);
    run->wheel = NULL;
    run->stranger = NULL;
    verge_test_allocator_assert_empty(&run->memory);
    model_free(&run->model);
}

/* Polls until only timers are left that never come out, and cancels these. The number of polls is limited: enough to
 * move each node once for each level, and to sort all. */
static void drain(struct run *run) {
    run->operation = "drain";
    verge_wheel_stats stats = {.struct_size = sizeof(stats)};
    RUN_CHECK_EQUAL(run, verge_wheel_get_stats(run->wheel, &stats), 0, "get_stats failed");
    const size_t level_count = run->model.options.level_count;
    uint64_t polls_left = 100 + (stats.linked + stats.timers) * (level_count + 20);
    while (model_next_expiry(&run->model) != VERGE_NEVER) { /* timers for VERGE_NEVER do not come out */
        RUN_CHECK(run, polls_left-- > 0, "G3: it does not drain");
        run_poll(run, MODEL_POLL, UINT64_MAX, RUN_OUT_MAX);
    }
    run_check_state(run);
    run->model.cancelled += run->model.count;
    run->model.count = 0;
    run->model.timeouts = 0;
    verge_wheel_cancel_all(run->wheel);
    run_check_state(run);
}

static void run_random_operations(struct run *run, uint64_t count) {
    for (uint64_t left = count; left > 0; left--) {
        run_random_operation(run);
        if (run->model.count < 40 || left % 8 == 0) {
            run_check_state(run);
        }
    }
}

void run_from_seed(struct run *run, enum run_profile profile, uint64_t seed) {
    run->profile = profile;
    run->seed = seed;
    run->random = verge_test_random_from(seed ^ ((uint64_t)profile << 60));
    set_up(run);
    run_random_operations(run, 50 + verge_test_below(&run->random, 3000));
    drain(run);
    tear_down(run);
}

void run_from_bytes(struct run *run, const uint8_t *bytes, size_t byte_count) {
    run->random = verge_test_random_from_bytes(bytes, byte_count);
    run->profile = (enum run_profile)verge_test_below(&run->random, RUN_PROFILE_COUNT);
    run->seed = 0;
    set_up(run);
    while (run->random.byte_count > 0) {
        run_random_operations(run, 1);
    }
    run_check_state(run);
    drain(run);
    tear_down(run);
}
