/* SPDX-License-Identifier: MIT */
#include "model/run.h"

static uint64_t add_capped(uint64_t a, uint64_t b) {
    return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

static uint64_t subtract_capped(uint64_t a, uint64_t b) {
    return a < b ? 0 : a - b;
}

/* Returns a time, or the time one ns before or after it. */
static uint64_t around(struct run *run, uint64_t time_ns) {
    switch (verge_test_below(&run->random, 3)) {
    case 0:
        return subtract_capped(time_ns, 1);
    case 1:
        return time_ns;
    default:
        return add_capped(time_ns, 1);
    }
}

/* Returns the start of a slot of a random level, fewer than `slots_max` slots ahead. */
static uint64_t slot_edge(struct run *run, uint64_t slots_max) {
    const size_t level = (size_t)verge_test_below(&run->random, run->model.options.level_count);
    const uint64_t resolution_ns = model_resolution(&run->model, level);
    const uint64_t slots = verge_test_below(&run->random, slots_max);
    const uint64_t base_ns = run->model.now_ns & ~(resolution_ns - 1);
    if (slots > (UINT64_MAX - base_ns) / resolution_ns) {
        return UINT64_MAX;
    }
    return base_ns + slots * resolution_ns;
}

static uint64_t anywhere_ahead(struct run *run) {
    const uint64_t largest_ns = verge_wheel_largest_deadline(run->wheel);
    const uint64_t reach_ns = largest_ns > run->model.now_ns ? largest_ns - run->model.now_ns : 0;
    const uint64_t delta_ns = verge_test_magnitude(&run->random);
    if (delta_ns <= reach_ns) {
        return run->model.now_ns + delta_ns;
    }
    return run->model.now_ns + (reach_ns == UINT64_MAX ? delta_ns : delta_ns % (reach_ns + 1));
}

static uint64_t near_another(struct run *run) {
    if (run->model.count == 0) {
        return run->model.now_ns;
    }
    const uint64_t which = verge_test_below(&run->random, run->model.count);
    return around(run, run->model.timers[which].deadline_ns);
}

static uint64_t some_past(struct run *run) {
    const uint64_t precision_ns = run->model.precision_ns;
    switch (verge_test_below(&run->random, 5)) {
    case 0:
        return 0;
    case 1:
        return around(run, run->model.options.start_ns);
    case 2:
        return around(run, run->model.now_ns & ~(precision_ns - 1));
    case 3:
        return subtract_capped(run->model.now_ns, verge_test_below(&run->random, 3 * precision_ns));
    default:
        return subtract_capped(run->model.now_ns, verge_test_magnitude(&run->random));
    }
}

static uint64_t some_limit(struct run *run) {
    const uint64_t largest_ns = verge_wheel_largest_deadline(run->wheel);
    switch (verge_test_below(&run->random, 5)) {
    case 0:
        return around(run, largest_ns);
    case 1:
        return subtract_capped(largest_ns, verge_test_below(&run->random, 3 * run->model.precision_ns));
    case 2:
        return add_capped(largest_ns, 1 + verge_test_magnitude(&run->random));
    case 3:
        return VERGE_NEVER;
    default:
        return largest_ns;
    }
}

uint64_t run_random_deadline(struct run *run) {
    const uint64_t now_ns = run->model.now_ns;
    const uint64_t precision_ns = run->model.precision_ns;
    const uint64_t ticks = run->profile == RUN_SPARSE ? 1000 : 12;
    if (run->profile == RUN_CROWDED && !verge_test_chance(&run->random, 4)) {
        return add_capped(now_ns, verge_test_below(&run->random, 3 * precision_ns));
    }
    switch (verge_test_below(&run->random, 16)) {
    case 0:
    case 1:
    case 2:
        return anywhere_ahead(run);
    case 3:
        return near_another(run);
    case 4:
        return some_past(run);
    case 5:
        return some_limit(run);
    case 6:
    case 7:
        return around(run, slot_edge(run, 70));
    case 8:
        return now_ns;
    case 9:
        return add_capped(now_ns, verge_test_below(&run->random, precision_ns));
    default:
        return add_capped(now_ns, verge_test_below(&run->random, ticks * precision_ns));
    }
}

uint64_t run_random_now(struct run *run) {
    const uint64_t now_ns = run->model.now_ns;
    const uint64_t precision_ns = run->model.precision_ns;
    switch (verge_test_below(&run->random, 20)) {
    case 0:
    case 1:
        return now_ns;
    case 2:
        return subtract_capped(now_ns, verge_test_magnitude(&run->random));
    case 3:
    case 4:
    case 5: {
        const uint64_t wakeup_ns = verge_wheel_next_wakeup(run->wheel);
        return wakeup_ns == VERGE_NEVER ? now_ns : around(run, wakeup_ns);
    }
    case 6:
    case 7: {
        const uint64_t next_ns = model_next_expiry(&run->model);
        return next_ns == VERGE_NEVER ? now_ns : around(run, next_ns);
    }
    case 8:
        return around(run, slot_edge(run, 3));
    case 9:
        if (run->model.count > 0) {
            return near_another(run);
        }
        return now_ns;
    case 10: /* up to 1,000 ticks ahead, or far more */
        return verge_test_chance(&run->random, 8)
                   ? anywhere_ahead(run)
                   : add_capped(now_ns, verge_test_below(&run->random, 1000) * precision_ns);
    case 11:
        return verge_test_chance(&run->random, 200) ? UINT64_MAX : now_ns;
    case 12:
    case 13:
        return add_capped(now_ns, verge_test_below(&run->random, precision_ns));
    default:
        return add_capped(now_ns, verge_test_below(&run->random, 5 * precision_ns));
    }
}
