/* SPDX-License-Identifier: MIT */
/*
 * The interval against a model that walks from tick to tick, one addition at a time: exhaustively on small numbers and
 * on times just before VERGE_NEVER, at random on others.
 */
#include <errno.h>
#include <stdbool.h>

#include "support/cmocka.h"
#include "support/random.h"
#include "verge/interval.h"

struct model {
    uint64_t deadline_ns;
    bool ended; /* the deadline is at or beyond VERGE_NEVER */
    uint64_t period_ns;
    uint64_t tolerance_ns;
    uint64_t burst_cap;
    verge_interval_policy policy;
};

/* Adds a period to a time. False: there is no such time, and *time_ns stays. */
static bool step(uint64_t *time_ns, uint64_t period_ns) {
    const uint64_t sum_ns = *time_ns + period_ns;
    if (sum_ns < *time_ns || sum_ns == VERGE_NEVER) {
        return false;
    }
    *time_ns = sum_ns;
    return true;
}

static uint64_t count_due(const struct model *model, uint64_t now_ns) {
    uint64_t count = 0;
    uint64_t time_ns = model->deadline_ns;
    bool exists = !model->ended;
    while (exists && time_ns <= now_ns) {
        count++;
        exists = step(&time_ns, model->period_ns);
    }
    return count;
}

static bool model_next(struct model *model, uint64_t now_ns, verge_tick *tick) {
    uint64_t due = count_due(model, now_ns);
    if (due == 0) {
        return false;
    }
    const uint64_t first_ns = model->deadline_ns;
    uint64_t keep = model->policy == VERGE_INTERVAL_BURST ? model->burst_cap : 1;
    tick->missed = 0;
    while (keep != 0 && due > keep) {
        (void)step(&model->deadline_ns, model->period_ns);
        tick->missed++;
        due--;
    }
    tick->scheduled_ns = model->deadline_ns;

    uint64_t tolerance_ns = model->tolerance_ns;
    if (tolerance_ns > model->period_ns / 2) {
        tolerance_ns = model->period_ns / 2;
    }
    if (model->policy == VERGE_INTERVAL_DELAY && now_ns - first_ns > tolerance_ns) {
        model->deadline_ns = now_ns;
    }
    model->ended = !step(&model->deadline_ns, model->period_ns);
    return true;
}

static void compare(verge_interval *interval, struct model *model, uint64_t now_ns) {
    const uint64_t before_ns = interval->deadline_ns;
    verge_tick got = {0};
    verge_tick expected = {0};
    const int taken = verge_interval_next(interval, now_ns, &got);
    assert_int_equal(taken, model_next(model, now_ns, &expected));
    assert_true(got.scheduled_ns == expected.scheduled_ns);
    assert_true(got.missed == expected.missed);
    assert_true(interval->deadline_ns == (model->ended ? VERGE_NEVER : model->deadline_ns));
    if (taken == 1) {
        assert_true(before_ns <= got.scheduled_ns && got.scheduled_ns <= now_ns);             /* I1 */
        assert_true(got.scheduled_ns == before_ns + got.missed * model->period_ns);           /* I2 */
        assert_true(model->policy == VERGE_INTERVAL_BURST || now_ns < interval->deadline_ns); /* I4, I5 */
    }
}

static void start(verge_interval *interval, struct model *model, uint64_t first_ns) {
    *interval = (verge_interval){0};
    assert_int_equal(verge_interval_init(interval, first_ns, model->period_ns, model->policy), 0);
    interval->burst_cap = model->burst_cap;
    interval->tolerance_ns = model->tolerance_ns;
    model->deadline_ns = first_ns;
    model->ended = false;
}

static const verge_interval_policy policies[] = {VERGE_INTERVAL_BURST, VERGE_INTERVAL_DELAY, VERGE_INTERVAL_SKIP};

enum { STEP_BOUND = 8 };

/* All combinations of policy, first tick, period, cap and tolerance, each below a small bound. For each, time moves
 * forward three times, by less than STEP_BOUND, and the tick is asked for twice at each of these times. */
static void exhaust(uint64_t origin_ns, uint64_t room_ns) {
    for (uint64_t shape = 0; shape < UINT64_C(3) * 5 * 4 * 4 * 6; shape++) {
        struct model settings = {
            .policy = policies[shape % 3],
            .period_ns = 1 + shape / 3 % 5,
            .burst_cap = shape / 15 % 4,
            .tolerance_ns = shape / 60 % 4,
        };
        const uint64_t first_ns = shape / 240 % 6;
        for (uint64_t steps = 0; steps < (uint64_t)STEP_BOUND * STEP_BOUND * STEP_BOUND; steps++) {
            struct model model = settings;
            verge_interval interval;
            start(&interval, &model, origin_ns + first_ns);
            uint64_t offset_ns = 0;
            for (uint64_t rest = steps, n = 0; n < 3; n++, rest /= STEP_BOUND) {
                offset_ns += rest % STEP_BOUND;
                if (offset_ns <= room_ns) {
                    compare(&interval, &model, origin_ns + offset_ns);
                    compare(&interval, &model, origin_ns + offset_ns);
                }
            }
        }
    }
}

static void small_numbers_exhaustively(void **state) {
    (void)state;
    exhaust(0, 100);
    exhaust(UINT64_C(1) << 63, 100);
}

static void the_end_of_time_exhaustively(void **state) {
    (void)state;
    for (uint64_t distance_ns = 7; distance_ns < 13; distance_ns += 2) {
        exhaust(VERGE_NEVER - distance_ns, distance_ns - 1);
    }
}

static void random_reset(struct verge_test_random *random, verge_interval *interval, struct model *model,
                         uint64_t now_ns) {
    const uint64_t deadline_ns = verge_test_chance(random, 2) ? now_ns : verge_test_magnitude(random);
    const int result = verge_interval_reset(interval, deadline_ns);
    assert_int_equal(result, deadline_ns != VERGE_NEVER ? 0 : -EINVAL);
    if (result == 0) {
        model->deadline_ns = deadline_ns;
        model->ended = false;
    }
}

static void random_setting(struct verge_test_random *random, verge_interval *interval, struct model *model) {
    switch (verge_test_below(random, 4)) {
    case 0:
        model->period_ns = 1 + verge_test_magnitude(random) / 2;
        interval->period_ns = model->period_ns;
        break;
    case 1:
        model->policy = policies[verge_test_below(random, 3)];
        interval->policy = model->policy;
        break;
    case 2:
        model->burst_cap = verge_test_below(random, 8);
        interval->burst_cap = model->burst_cap;
        break;
    default:
        model->tolerance_ns = verge_test_magnitude(random);
        interval->tolerance_ns = model->tolerance_ns;
        break;
    }
}

/* Returns a time less than a period before the deadline, or at most 100 periods after it. (The model takes a step for
 * each period.) */
static uint64_t random_now(struct verge_test_random *random, const struct model *model) {
    const uint64_t period_ns = model->period_ns;
    const uint64_t reach_ns = period_ns > UINT64_MAX / 100 ? UINT64_MAX : period_ns * 100;
    uint64_t now_ns = model->deadline_ns;
    switch (verge_test_below(random, 5)) {
    case 0:
        now_ns -= now_ns < period_ns ? now_ns : verge_test_below(random, period_ns);
        break;
    case 1:
        break;
    case 2:
        (void)step(&now_ns, verge_test_below(random, period_ns));
        break;
    default:
        (void)step(&now_ns, verge_test_below(random, reach_ns));
        break;
    }
    return now_ns;
}

static void a_random_life(struct verge_test_random *random) {
    struct model model = {
        .policy = policies[verge_test_below(random, 3)],
        .period_ns = 1 + verge_test_magnitude(random) / 2,
        .tolerance_ns = VERGE_INTERVAL_TOLERANCE_NS,
    };
    verge_interval interval;
    const uint64_t distance_ns = verge_test_magnitude(random) / 2 + 1;
    start(&interval, &model, verge_test_chance(random, 2) ? distance_ns : VERGE_NEVER - distance_ns);
    for (unsigned n = 0; n < 100; n++) {
        const uint64_t now_ns = random_now(random, &model);
        compare(&interval, &model, now_ns);
        if (verge_test_chance(random, 8) || (model.ended && verge_test_chance(random, 2))) {
            random_reset(random, &interval, &model, now_ns);
        }
        if (verge_test_chance(random, 8)) {
            random_setting(random, &interval, &model);
        }
    }
}

static void random_lives(void **state) {
    (void)state;
    struct verge_test_random random = verge_test_random_from(verge_test_seed(20260101));
    const verge_clock clock = verge_clock_monotonic();
    const uint64_t end_ns = clock.now_ns(clock.context) + (uint64_t)(verge_test_seconds(1.0) * 1e9);
    do {
        for (unsigned n = 0; n < 100; n++) {
            a_random_life(&random);
        }
    } while (clock.now_ns(clock.context) < end_ns);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(small_numbers_exhaustively),
        cmocka_unit_test(the_end_of_time_exhaustively),
        cmocka_unit_test(random_lives),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
