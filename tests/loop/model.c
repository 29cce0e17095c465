/* SPDX-License-Identifier: MIT */
/* A loop compared with simple code: an array that is searched for the next timer to call back. */
#include "verge/loop.h"
#include "wheel/support.h"

enum { COUNT = 40, ROUNDS = 4000, SHORT_LIVES = 300, SHORT_ROUNDS = 12 };
enum { COARSE_LATE_NS = 1 << 30 }; /* with VERGE_PRESET_THREE_LEVEL and delays below 2^36 ns */

struct modelled {
    verge_loop_timer timer;
    bool is_active;
    bool is_of_this_round; /* due when the run began, and not started or cancelled since */
    bool was_due;          /* when it was started: it is called back in the next run (E2) */
    uint64_t deadline;
    uint64_t start;
    uint64_t repeat;
};

static struct modelled timers[COUNT];
static verge_loop loop;
static struct verge_test_random random_;
static uint64_t starts;
static uint64_t now;
static uint64_t unit;    /* all times are multiples of this */
static uint64_t late_ns; /* a timer that was not due when it was started may be late by less than this */
static bool is_coarse;
static bool is_strict;
static size_t calls;

static void called_back(void *data, verge_loop_timer *timer);

static bool is_due(const struct modelled *one) {
    return one->is_active && (is_strict ? one->deadline < now : one->deadline <= now); /* G1 */
}

static void start_some(void) {
    struct modelled *one = &timers[verge_test_below(&random_, COUNT)];
    const uint64_t delay =
        verge_test_chance(&random_, 3) ? 0 : unit * verge_test_below(&random_, is_coarse ? 5000 : 50);
    const uint64_t repeat = verge_test_chance(&random_, 3) ? unit * (1 + verge_test_below(&random_, 30)) : 0;
    const uint64_t deadline = delay > now ? now : verge_test_chance(&random_, 8) ? now - delay : now + delay;
    assert_int_equal(verge_loop_start(&loop, &one->timer, called_back, one, deadline, repeat), 0);
    one->is_active = true;
    one->is_of_this_round = false;
    one->deadline = deadline;
    one->start = ++starts;
    one->repeat = repeat;
    one->was_due = is_due(one);
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
    assert_true(one->is_of_this_round && is_due(one));        /* E2, E3 */
    assert_true(late_ns > 0 || one == first_of_this_round()); /* E1 */
    one->is_of_this_round = false;
    one->is_active = one->repeat != 0;
    one->was_due = false;
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

/* Tests a loop whose wheel begins at this time. The first timers are started before the first run. Times are multiples
 * of a tick's part. */
static void live(verge_wheel_options options, uint64_t parts, uint64_t begin, size_t rounds) {
    options.start_ns = now = begin;
    is_coarse = options.coarse;
    is_strict = options.strict;
    assert_int_equal(verge_loop_init(&loop, wheel_new(&options)), 0);
    unit = verge_wheel_precision(loop.wheel) / parts;
    late_ns = is_coarse ? COARSE_LATE_NS : (parts - 1) * unit;
    memset(timers, 0, sizeof(timers));
    for (size_t round = 0; round < rounds; round++) {
        for (uint64_t count = verge_test_below(&random_, 4); count > 0; count--) {
            start_some();
            if (verge_test_chance(&random_, 2)) {
                stop_some();
            }
            change_some();
        }
        const int sleep = verge_loop_timeout(loop.wheel, now, unit);
        now += unit * (sleep > 0 && verge_test_chance(&random_, 4) ? (uint64_t)sleep : verge_test_below(&random_, 20));
        for (size_t k = 0; k < COUNT; k++) {
            timers[k].is_of_this_round = is_due(&timers[k]);
        }
        const bool is_any_due = first_of_this_round() != NULL;
        assert_true(!is_any_due || late_ns > 0 || verge_loop_timeout(loop.wheel, now, 1) == 0);
        calls = 0;
        const size_t count = verge_loop_run(&loop, now);
        assert_int_equal(count, calls);
        for (size_t k = 0; k < COUNT; k++) { /* no timer was forgotten */
            const struct modelled *one = &timers[k];
            assert_true(!one->is_of_this_round || (!one->was_due && now - one->deadline <= late_ns));
        }
        assert_well(loop.wheel);
        /* A loop without anything to do sleeps. */
        assert_true(verge_loop_timeout(loop.wheel, now, 1) != 0 || verge_wheel_has_backlog(loop.wheel));
    }
    for (size_t k = 0; k < COUNT; k++) {
        (void)verge_loop_cancel(&loop, &timers[k].timer);
    }
    assert_int_equal(verge_wheel_count(loop.wheel), 0);
    wheel_end(loop.wheel);
}

enum wheel_kind { UNITS, DEFAULT, FINE, STRICT, COARSE, WHEEL_KINDS };

static verge_wheel_options options_of_kind(enum wheel_kind kind) {
    verge_wheel_options options = options_of(kind == COARSE                    ? VERGE_PRESET_THREE_LEVEL
                                             : kind == DEFAULT || kind == FINE ? VERGE_PRESET_DEFAULT
                                                                               : VERGE_PRESET_YOUR_UNIT);
    options.strict = kind == STRICT;
    options.past = VERGE_PAST_FIRES;
    return options;
}

static void as_dumb_code_has_it(void **state) {
    (void)state;

    static const uint64_t begins[] = {0, UINT64_C(1) << 62};
    random_ = verge_test_random_from(verge_test_seed(20261117));
    for (size_t i = 0; i < COUNT_OF(begins) * WHEEL_KINDS; i++) {
        const enum wheel_kind kind = (enum wheel_kind)(i % WHEEL_KINDS);
        const verge_wheel_options options = options_of_kind(kind);
        const uint64_t parts = kind == FINE ? 8 : 1;
        const uint64_t begin = begins[i / WHEEL_KINDS];
        live(options, parts, begin, ROUNDS);
        /* Most mistakes at the beginning of a life show only in its first rounds. */
        for (size_t life = 0; life < SHORT_LIVES; life++) {
            live(options, parts, begin, SHORT_ROUNDS);
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(as_dumb_code_has_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
