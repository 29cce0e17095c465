/* SPDX-License-Identifier: MIT */
/* A caller that falls behind: it polls too seldom, or for few timers at a time, while time passes and timers start. */
#include "model/before.h"

/* To check how much work polls have done. */
struct behind {
    struct run *run;
    uint64_t timers; /* linked nodes at the beginning, plus at least the number of timers started since */
    uint64_t work;
};

static void count_work(struct behind *behind) {
    verge_wheel_stats stats = {.struct_size = sizeof(stats)};
    RUN_CHECK_EQUAL(behind->run, verge_wheel_get_stats(behind->run->wheel, &stats), 0, "get_stats failed");
    behind->work += stats.last_poll_work;
}

/* Returns a time a few slots of a level ahead, or a tick beyond the reach of the wheel. If that is too near the end of
 * time, returns now. */
static uint64_t some_way_on(struct run *run) {
    const struct model *model = &run->model;
    const uint64_t now_ns = model->now_ns;
    const uint64_t largest_ns = verge_wheel_largest_deadline(run->wheel);
    const size_t level = (size_t)verge_test_below(&run->random, model->options.level_count);
    uint64_t step_ns = model_resolution(model, level) * (1 + verge_test_below(&run->random, 4));
    if (verge_test_chance(&run->random, 3) && largest_ns > now_ns) {
        step_ns = largest_ns - now_ns + model->precision_ns;
    }
    return step_ns > VERGE_NEVER / 4 || now_ns > VERGE_NEVER / 2 ? now_ns : now_ns + step_ns;
}

/* Returns a deadline that is soon, any, or as late as possible: with a backlog, the latest is out of the cursor's
 * reach. */
static uint64_t some_deadline(struct run *run) {
    const uint64_t now_ns = run->model.now_ns;
    const uint64_t largest_ns = verge_wheel_largest_deadline(run->wheel);
    switch (verge_test_below(&run->random, 3)) {
    case 0:
        return largest_ns;
    case 1:
        return run_random_deadline(run);
    default:
        return now_ns > VERGE_NEVER / 2 ? largest_ns
                                        : now_ns + verge_test_below(&run->random, 40 * run->model.precision_ns);
    }
}

static void poll_some(struct behind *behind, uint64_t now_ns, size_t limit) {
    run_poll(behind->run, MODEL_POLL, now_ns, limit);
    count_work(behind);
}

/*
 * Each node is moved at most once for each level, filed again at most once, and sorted: it takes part in as many merges
 * as the number of nodes has bits. A wheel that moves nodes again and again does more work.
 */
static void check_work(struct behind *behind) {
    enum { LEVELS = 28, MERGES = 12 };
    const uint64_t work_max = (LEVELS + MERGES) * (behind->timers + 1);
    RUN_CHECK_VALUES(behind->run, behind->work <= work_max, "G8: work for a backlog", behind->work, work_max);
}

void run_fall_behind(struct run *run) {
    verge_wheel_stats stats = {.struct_size = sizeof(stats)};
    RUN_CHECK_EQUAL(run, verge_wheel_get_stats(run->wheel, &stats), 0, "get_stats failed");
    struct behind behind = {.run = run, .timers = stats.linked};
    const bool is_long = verge_test_chance(&run->random, 8);
    const uint64_t steps = 2 + verge_test_below(&run->random, is_long ? 400 : 20);
    run_schedule_at(run, run_random_deadline(run));
    for (uint64_t left = steps; left > 0; left--) {
        poll_some(&behind, some_way_on(run), (size_t)verge_test_below(&run->random, is_long ? 1 : 3));
        run_schedule_at(run, some_deadline(run));
        behind.timers += 2;
        if (!is_long && verge_test_chance(&run->random, 4)) {
            run_check_state(run);
            run_check_levels(run);
        }
    }
    if (verge_test_chance(&run->random, 2)) { /* otherwise the backlog stays for the next operations */
        for (uint64_t polls = 0; polls < 10 && verge_wheel_has_backlog(run->wheel); polls++) {
            poll_some(&behind, run->model.now_ns, RUN_OUT_MAX);
        }
        check_work(&behind);
    }
}
