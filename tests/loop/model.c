/* SPDX-License-Identifier: MIT */
/* A loop compared with simple code: an array that is searched for the next timer to call back. */
#include "verge/loop.h"
#include "wheel/support.h"

enum { COUNT = 40, ROUNDS = 4000, SHORT_LIVES = 300, SHORT_ROUNDS = 12 };

struct modelled {
    verge_loop_timer timer;
    bool is_active;
    bool is_of_this_round; /* due when the run began, and not started or cancelled since */
    uint64_t deadline;
    uint64_t start;
    uint64_t repeat;
};

static struct modelled timers[COUNT];
static verge_loop loop;
static struct verge_test_random random_;
static uint64_t starts;
static uint64_t now;
static uint64_t unit; /* all times are multiples of this */
static size_t calls;

static void called_back(void *data, verge_loop_timer *timer);

static void start_some(void) {
    struct modelled *one = &timers[verge_test_below(&random_, COUNT)];
    const uint64_t delay = verge_test_chance(&random_, 3) ? 0 : unit * verge_test_below(&random_, 50);
    const uint64_t repeat = verge_test_chance(&random_, 3) ? unit * (1 + verge_test_below(&random_, 30)) : 0;
    const uint64_t deadline = delay > now ? now : verge_test_chance(&random_, 8) ? now - delay : now + delay;
    assert_int_equal(verge_loop_start(&loop, &one->timer, called_back, one, deadline, repeat), 0);
    one->is_active = true;
    one->is_of_this_round = false;
    one->deadline = deadline;
    one->start = ++starts;
    one->repeat = repeat;
}

static void stop_some(void) {
    struct modelled *one = &timers[verge_test_below(&random_, COUNT)];
    assert_int_equal(verge_loop_is_pending(&one->timer), one->is_active);
    assert_int_equal(verge_loop_cancel(&loop, &one->timer), one->is_active ? 0 : -ENOENT);
    one->is_active = false;
    one->is_of_this_round = false;
}

/* A period may be changed at any time. */
static void change_some(void) {
    struct modelled *one = &timers[verge_test_below(&random_, COUNT)];
    one->timer.repeat = one->repeat = unit * verge_test_below(&random_, 3) * verge_test_below(&random_, 30);
}

static struct modelled *first_of_this_round(void) {
    struct modelled *first = NULL;
    for (size_t i = 0; i < COUNT; i++) {
        struct modelled *one = &timers[i];
        const bool is_before = first == NULL || one->deadline < first->deadline ||
                               (one->deadline == first->deadline && one->start < first->start);
        if (one->is_of_this_round && is_before) {
            first = one;
        }
    }
    return first;
}

static void called_back(void *data, verge_loop_timer *timer) {
    struct modelled *one = data;
    assert_ptr_equal(timer, &one->timer);
    calls++;
    assert_ptr_equal(one, first_of_this_round()); /* E1, E2, E3 */
    assert_true(one->deadline <= now);            /* G1 */
    one->is_of_this_round = false;
    one->is_active = one->repeat != 0;
    if (one->repeat != 0) { /* E4 */
        one->deadline = now + one->repeat;
        one->start = ++starts;
    }
    assert_int_equal(verge_loop_is_pending(timer), one->is_active);
    for (uint64_t count = verge_test_below(&random_, 3); count > 0; count--) {
        if (verge_test_chance(&random_, 2)) {
            start_some();
        } else {
            stop_some();
        }
        change_some();
    }
}

/* Tests a loop whose wheel begins at this time. The first timers are started before the first run. */
static void live(verge_wheel_preset preset, uint64_t begin, size_t rounds) {
    verge_wheel_options options = options_of(preset);
    options.start_ns = now = begin;
    assert_int_equal(verge_loop_init(&loop, wheel_new(&options)), 0);
    unit = verge_wheel_precision(loop.wheel);
    memset(timers, 0, sizeof(timers));
    for (size_t round = 0; round < rounds; round++) {
        for (uint64_t count = verge_test_below(&random_, 4); count > 0; count--) {
            start_some();
            if (verge_test_chance(&random_, 2)) {
                stop_some();
            }
            change_some();
        }
        now += unit * verge_test_below(&random_, 20);
        for (size_t k = 0; k < COUNT; k++) {
            timers[k].is_of_this_round = timers[k].is_active && timers[k].deadline <= now;
        }
        const bool is_any_due = first_of_this_round() != NULL;
        assert_true(!is_any_due || verge_loop_timeout(loop.wheel, now, 1) == 0);
        calls = 0;
        const size_t count = verge_loop_run(&loop, now);
        assert_int_equal(count, calls);
        assert_null(first_of_this_round()); /* no timer was forgotten */
        assert_well(loop.wheel);
    }
    for (size_t k = 0; k < COUNT; k++) {
        (void)verge_loop_cancel(&loop, &timers[k].timer);
    }
    assert_int_equal(verge_wheel_count(loop.wheel), 0);
    wheel_end(loop.wheel);
}

static void as_dumb_code_has_it(void **state) {
    (void)state;

    static const uint64_t begins[] = {0, UINT64_C(1) << 62};
    static const verge_wheel_preset presets[] = {VERGE_PRESET_YOUR_UNIT, VERGE_PRESET_DEFAULT};
    random_ = verge_test_random_from(verge_test_seed(20261117));
    for (size_t i = 0; i < COUNT_OF(begins) * COUNT_OF(presets); i++) {
        const verge_wheel_preset preset = presets[i % COUNT_OF(presets)];
        const uint64_t begin = begins[i / COUNT_OF(presets)];
        live(preset, begin, ROUNDS);
        /* Most mistakes at the beginning of a life show only in its first rounds. */
        for (size_t life = 0; life < SHORT_LIVES; life++) {
            live(preset, begin, SHORT_ROUNDS);
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(as_dumb_code_has_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
