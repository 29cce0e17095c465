/* SPDX-License-Identifier: MIT */
/* A loop compared with simple code: an array that is searched for the next timer to call back. */
#include "verge/loop.h"
#include "wheel/support.h"

enum { COUNT = 40, ROUNDS = 4000 };

struct modelled {
    verge_loop_timer timer; /* first */
    bool is_active;
    bool is_of_this_turn; /* it was due when the run began, and was not started or stopped since */
    uint64_t deadline;
    uint64_t start;
    uint64_t repeat;
};

static struct modelled timers[COUNT];
static verge_loop loop;
static struct verge_test_random random_;
static uint64_t starts;
static uint64_t now;
static size_t calls;

static void called_back(verge_loop_timer *timer);

static void start_some(void) {
    struct modelled *one = &timers[verge_test_below(&random_, COUNT)];
    const uint64_t delay = verge_test_chance(&random_, 3) ? 0 : verge_test_below(&random_, 50);
    const uint64_t repeat = verge_test_chance(&random_, 3) ? 1 + verge_test_below(&random_, 30) : 0;
    const uint64_t deadline = delay > now ? now : verge_test_chance(&random_, 8) ? now - delay : now + delay;
    assert_int_equal(verge_loop_start(&loop, &one->timer, called_back, deadline, repeat), 0);
    one->is_active = true;
    one->is_of_this_turn = false;
    one->deadline = deadline;
    one->start = ++starts;
    one->repeat = repeat;
}

static void stop_some(void) {
    struct modelled *one = &timers[verge_test_below(&random_, COUNT)];
    assert_int_equal(verge_loop_is_active(&one->timer), one->is_active);
    assert_int_equal(verge_loop_stop(&loop, &one->timer), one->is_active ? 0 : -ENOENT);
    one->is_active = false;
    one->is_of_this_turn = false;
}

/* A period may be changed at any time. */
static void change_some(void) {
    struct modelled *one = &timers[verge_test_below(&random_, COUNT)];
    one->timer.repeat = one->repeat = verge_test_below(&random_, 3) * verge_test_below(&random_, 30);
}

static struct modelled *first_of_this_turn(void) {
    struct modelled *first = NULL;
    for (size_t i = 0; i < COUNT; i++) {
        struct modelled *one = &timers[i];
        const bool is_before = first == NULL || one->deadline < first->deadline ||
                               (one->deadline == first->deadline && one->start < first->start);
        if (one->is_of_this_turn && is_before) {
            first = one;
        }
    }
    return first;
}

static void called_back(verge_loop_timer *timer) {
    struct modelled *one = (struct modelled *)timer;
    calls++;
    assert_ptr_equal(one, first_of_this_turn()); /* E1, E2, E3 */
    assert_true(one->deadline <= now);           /* G1 */
    one->is_of_this_turn = false;
    one->is_active = one->repeat != 0;
    if (one->repeat != 0) { /* E4 */
        one->deadline = now + one->repeat;
        one->start = ++starts;
    }
    assert_int_equal(verge_loop_is_active(timer), one->is_active);
    for (uint64_t count = verge_test_below(&random_, 3); count > 0; count--) {
        if (verge_test_chance(&random_, 2)) {
            start_some();
        } else {
            stop_some();
        }
        change_some();
    }
}

static void as_dumb_code_has_it(void **state) {
    (void)state;

    static const uint64_t begins[] = {0, UINT64_C(1) << 62};
    random_ = verge_test_random_from(verge_test_seed(20261117));
    for (size_t i = 0; i < COUNT_OF(begins); i++) {
        verge_wheel_options options = options_of(VERGE_PRESET_MILLISECONDS);
        options.start_ns = now = begins[i];
        assert_int_equal(verge_loop_init(&loop, wheel_new(&options)), 0);
        memset(timers, 0, sizeof(timers));
        for (size_t round = 0; round < ROUNDS; round++) {
            for (uint64_t count = verge_test_below(&random_, 4); count > 0; count--) {
                start_some();
                if (verge_test_chance(&random_, 2)) {
                    stop_some();
                }
                change_some();
            }
            now += verge_test_below(&random_, 20);
            for (size_t k = 0; k < COUNT; k++) {
                timers[k].is_of_this_turn = timers[k].is_active && timers[k].deadline <= now;
            }
            const bool is_any_due = first_of_this_turn() != NULL;
            assert_true(!is_any_due || verge_loop_timeout(loop.wheel, now) == 0);
            calls = 0;
            const size_t count = verge_loop_run(&loop, now);
            assert_int_equal(count, calls);
            assert_null(first_of_this_turn()); /* none was forgotten */
            assert_well(loop.wheel);
        }
        for (size_t k = 0; k < COUNT; k++) {
            (void)verge_loop_stop(&loop, &timers[k].timer);
        }
        assert_int_equal(verge_wheel_count(loop.wheel), 0);
        wheel_end(loop.wheel);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(as_dumb_code_has_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
