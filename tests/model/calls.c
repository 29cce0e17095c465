/* SPDX-License-Identifier: MIT */
/* verge_wheel_run with callbacks that make any call on the wheel but polls and runs. */
#include "model/before.h"

struct calls {
    struct run *run;
    size_t count;
};

static void call(void *context, const verge_expiry *expiry) {
    struct calls *calls = context;
    struct run *run = calls->run;
    calls->count++;
    run_check_expiry(run, expiry, MODEL_POLL);
    if (verge_test_chance(&run->random, 4)) {
        run_check_state(run);
    }
    if (run->model.count < 2 * run->timers_max) {
        for (uint64_t left = verge_test_below(&run->random, 4); left > 0; left--) {
            run_random_operation_in_call(run);
        }
    }
}

/* Checks the timers that a run has left. Only a work limit may leave timers that are due, except those that were
 * started or reset in a callback: these must not come out in the same run (run_check_expiry). */
static void check_left(struct run *run, size_t count) {
    const struct model *model = &run->model;
    const bool backlog = verge_wheel_has_backlog(run->wheel);
    for (size_t i = 0; i < model->count; i++) {
        const struct model_timer *timer = &model->timers[i];
        if (model_is_due(model, timer, MODEL_POLL, true)) {
            RUN_CHECK_VALUES(run, backlog, "G2: due, and left behind", timer->deadline_ns, model->now_ns);
            RUN_CHECK_VALUES(run, model->options.work_limit != 0 || timer->sequence >= run->sequence_end,
                             "G2: due, and not called for", timer->deadline_ns, model->now_ns);
        }
    }
    verge_wheel_stats stats = {.struct_size = sizeof(stats)};
    RUN_CHECK_EQUAL(run, verge_wheel_get_stats(run->wheel, &stats), 0, "get_stats failed");
    RUN_CHECK_VALUES(run, stats.last_poll_work >= count, "more called for than work done", stats.last_poll_work, count);
    RUN_CHECK_VALUES(run, model->options.work_limit == 0 || stats.last_poll_work <= model->options.work_limit,
                     "G8: more work than the limit", stats.last_poll_work, model->options.work_limit);
}

void run_with_calls(struct run *run) {
    struct calls calls = {.run = run};
    uint64_t now_ns = run_random_now(run);
    now_ns = now_ns < VERGE_NEVER ? now_ns : VERGE_NEVER - 1;
    run->model.now_ns = now_ns > run->model.now_ns ? now_ns : run->model.now_ns;
    run->sequence_end = run->model.sequence;
    /* No timer counts as `alone`: the wheel may not know that a timer which was started in a callback is the only
     * one. */
    run->model.disturbed = UINT64_MAX;
    const struct before b = before_call(run);
    const size_t count = verge_wheel_run(run->wheel, now_ns, call, &calls);
    before_gave_back(run, &b);
    RUN_CHECK_EQUAL(run, count, calls.count, "run: the number of calls");
    RUN_CHECK_EQUAL(run, verge_wheel_now(run->wheel), run->model.now_ns, "G9: now after a run");
    check_left(run, count);
    run->sequence_end = UINT64_MAX;
}
