/* SPDX-License-Identifier: MIT */
/* Seed 000: faults of other implementations, which verge must not have (README.md). A comment in front of a test
 * describes the fault, except for sentences that begin with "In verge". */
#include "wheel/support.h"
#include "wheel/wheel_internal.h"

/* A poll that stopped at its limit advanced past slots that it had not scanned. Timers were 1,073 ms late, or 18
 * minutes. */
static void seed000_limit_never_skips_slots(void **state) {
    (void)state;
    for (int preset = VERGE_PRESET_THREE_LEVEL; preset <= VERGE_PRESET_TWO_LEVEL; preset++) {
        verge_wheel *wheel = wheel_of((verge_wheel_preset)preset, 0);
        verge_expiry out[2];
        for (uintptr_t i = 0; i < 10; i++) {
            (void)schedule(wheel, (10 + i) * MS, i);
        }
        const verge_timer second_level = schedule(wheel, 2600 * MS, 99);
        for (size_t i = 0; i < 5; i++) {
            assert_int_equal(verge_wheel_poll(wheel, 100 * MS, out, 2), 2);
        }
        assert_int_equal(verge_wheel_poll(wheel, 2600 * MS - TICK, out, 2), 0);
        assert_fires(wheel, 4 * SECOND, second_level);
        wheel_end(wheel);
    }
}

/* The same fault on the second level. In verge, a limit leaves no timers behind in an upper slot. */
static void seed000_limit_never_skips_upper_slots(void **state) {
    (void)state;
    verge_wheel *wheel = wheel_of(VERGE_PRESET_THREE_LEVEL, 0);
    verge_expiry out[1];
    for (uintptr_t i = 0; i < 3; i++) {
        (void)schedule(wheel, 2600 * MS + i, i);
    }
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(verge_wheel_poll(wheel, 4 * SECOND + i * SECOND, out, 1), 1);
    }
    wheel_end(wheel);
}

/* Timers were placed by their deadline minus the start of the wheel. After 20 minutes, a timer of 10 ms was 37 s late.
 * After 20 hours, timers did not fire. */
static void seed000_uptime_does_not_matter(void **state) {
    (void)state;
    static const uint64_t uptimes_ns[] = {20 * MINUTE, 20 * HOUR, 400 * DAY};
    for (size_t i = 0; i < COUNT_OF(uptimes_ns); i++) {
        verge_wheel *wheel = wheel_of(VERGE_PRESET_THREE_LEVEL, 0);
        assert_quiet(wheel, uptimes_ns[i]);
        const verge_timer timer = schedule(wheel, uptimes_ns[i] + 10 * MS, 1);
        assert_quiet(wheel, uptimes_ns[i] + 10 * MS - 1);
        assert_fires(wheel, uptimes_ns[i] + 10 * MS + TICK, timer);
        (void)schedule(wheel, uptimes_ns[i] + 19 * HOUR, 2);
        wheel_end(wheel);
    }
}

/* A timer with a past deadline was filed in a slot that had passed already, and was 1,073 ms late. */
static void seed000_past_deadline_fires_at_the_next_poll(void **state) {
    (void)state;
    verge_wheel *wheel = wheel_of(VERGE_PRESET_THREE_LEVEL, 0);
    assert_quiet(wheel, 10 * SECOND);
    for (uint64_t back_ns = 0; back_ns < 10 * SECOND; back_ns = back_ns * 2 + TICK) {
        const verge_timer timer = schedule(wheel, 10 * SECOND - TICK - back_ns / 2, 1);
        assert_fires(wheel, 10 * SECOND, timer);
    }
    wheel_end(wheel);
}

/* The cache of the next deadline had one value for "unknown" and "none". With timers at 100 and 500 ms, it said 500
 * ms. */
static void seed000_next_deadline_tells_unknown_from_none(void **state) {
    (void)state;
    verge_wheel *wheel = wheel_of(VERGE_PRESET_THREE_LEVEL, 0);
    assert_int_equal(verge_wheel_next_deadline(wheel), VERGE_NEVER);
    const verge_timer gone = schedule(wheel, 50 * MS, 1);
    assert_int_equal(verge_wheel_next_deadline(wheel), 50 * MS);
    const verge_timer first = schedule(wheel, 100 * MS, 2);
    assert_int_equal(verge_wheel_cancel(wheel, gone, NULL), 0); /* the cached deadline is gone */
    (void)schedule(wheel, 500 * MS, 3);
    assert_int_equal(verge_wheel_next_deadline(wheel), 100 * MS);
    assert_int_equal(verge_wheel_cancel(wheel, first, NULL), 0);
    assert_int_equal(verge_wheel_next_deadline(wheel), 500 * MS);
    wheel_end(wheel);
}

/* Ids had no generation for each use: cancelling an old id could cancel a new timer. */
static void seed000_an_old_id_never_cancels_a_new_timer(void **state) {
    (void)state;
    verge_wheel *wheel = wheel_of(VERGE_PRESET_THREE_LEVEL, 0);
    verge_timer old[500];
    for (uintptr_t i = 0; i < 500; i++) {
        old[i] = schedule(wheel, SECOND, i);
        for (uintptr_t j = 0; j < i; j++) {
            assert_int_equal(verge_wheel_cancel(wheel, old[j], NULL), -ENOENT);
        }
        assert_int_equal(verge_wheel_cancel(wheel, old[i], NULL), 0);
    }
    wheel_end(wheel);
}

/* Only 22 bits of a generation were compared, so generations wrapped after four million uses. In verge, 32 bits are
 * compared, and the test leaves out most of the uses. */
static void seed000_ids_do_not_wrap_after_22_bits(void **state) {
    (void)state;
    verge_wheel *wheel = wheel_of(VERGE_PRESET_THREE_LEVEL, 0);
    const verge_timer first = schedule(wheel, SECOND, 1);
    assert_int_equal(verge_wheel_cancel(wheel, first, NULL), 0);
    for (unsigned bits = 16; bits < 32; bits++) {
        const verge_timer late = first + (UINT64_C(1) << bits) - 100;
        const uint32_t index = verge__handle_index(schedule(wheel, SECOND, 2));
        assert_int_equal(index, verge__handle_index(first));
        verge__nodes_at(&wheel->nodes, index)->timer.tag = late;
        assert_int_equal(verge_wheel_cancel(wheel, late, NULL), 0);
        for (size_t i = 0; i < 100; i++) {
            const verge_timer timer = schedule(wheel, SECOND, 2);
            assert_true(timer > late && timer != first);
            assert_int_equal(verge_wheel_cancel(wheel, first, NULL), -ENOENT);
            assert_int_equal(verge_wheel_cancel(wheel, timer, NULL), 0);
        }
    }
    wheel_end(wheel);
}

static void seed000_compaction_keeps_pending_ids(void **state) {
    (void)state;
    verge_wheel *wheel = wheel_of(VERGE_PRESET_THREE_LEVEL, 0);
    verge_timer timers[2000];
    for (uintptr_t i = 0; i < 2000; i++) {
        timers[i] = schedule(wheel, 5 * SECOND, i);
    }
    for (size_t i = 0; i < 2000; i++) {
        if (i % 10 != 0) {
            assert_int_equal(verge_wheel_cancel(wheel, timers[i], NULL), 0);
        }
    }
    verge_wheel_compact(wheel);
    for (uint64_t now_ns = 0; now_ns < 4 * SECOND; now_ns += TICK) {
        assert_quiet(wheel, now_ns);
    }
    for (size_t i = 0; i < 2000; i++) {
        assert_int_equal(verge_wheel_cancel(wheel, timers[i], NULL), i % 10 == 0 ? 0 : -ENOENT);
    }
    wheel_end(wheel);
}

static void seed000_zero_is_no_id(void **state) {
    (void)state;
    for (int preset = VERGE_PRESET_DEFAULT; preset <= VERGE_PRESET_YOUR_UNIT; preset++) {
        verge_wheel *wheel = wheel_of((verge_wheel_preset)preset, 0);
        assert_int_not_equal(schedule(wheel, 1, 1), 0);
        assert_int_equal(verge_wheel_cancel(wheel, 0, NULL), -EBADF);
        assert_int_equal(verge_wheel_count(wheel), 1);
        wheel_end(wheel);
    }
}

/* 8192 slots did not fit a field of 12 bits. */
static void seed000_as_many_slots_as_allowed(void **state) {
    (void)state;
    for (unsigned level_bits = 11; level_bits <= VERGE_LEVEL_BITS_MAX; level_bits++) {
        const uint8_t bits[] = {(uint8_t)level_bits, (uint8_t)level_bits, 0};
        const verge_wheel_options options = options_of_levels(1024, bits);
        verge_wheel *wheel = wheel_new(&options);
        const uint64_t slots = UINT64_C(1) << level_bits;
        verge_timer *timers = calloc(slots, sizeof(*timers));
        assert_non_null(timers);
        for (uintptr_t i = 0; i < slots; i++) {
            timers[i] = schedule(wheel, 1024 * (i + 1), i);
        }
        for (uintptr_t i = 0; i < slots; i++) {
            if (i % 2 == 0) {
                void *data = NULL;
                assert_int_equal(verge_wheel_cancel(wheel, timers[i], &data), 0);
                assert_int_equal(number_of(data), i);
            } else {
                assert_fires(wheel, 1024 * (i + 1), timers[i]);
            }
        }
        free(timers);
        wheel_end(wheel);
    }
}

/* A best-fit timer was not started again when it came out before its target. A timer of 1.1 s fired 1,048 ms late,
 * although its wheel deadline was equal to the target. */
static void seed000_best_fit_refines(void **state) {
    (void)state;
    static const uint64_t targets_ns[] = {1100 * MS, 5 * SECOND, 3 * MINUTE + 7 * MS, HOUR + 1, 18 * HOUR + 11 * MS};
    for (size_t i = 0; i < COUNT_OF(targets_ns); i++) {
        for (uint64_t start_ns = 0; start_ns < 4 * MINUTE; start_ns += 17 * SECOND + 3 * MS) {
            const uint64_t target_ns = start_ns + targets_ns[i];
            verge_wheel *wheel = wheel_of(VERGE_PRESET_THREE_LEVEL, start_ns);
            verge_long_timer timer;
            verge_expiry out[1];
            assert_int_equal(verge_long_timer_start(&timer, wheel, target_ns, NULL), 0);
            int arrived = 0;
            for (size_t legs = 0; arrived == 0; legs++) {
                assert_true(legs < 8);
                const uint64_t wheel_deadline_ns = timer.wheel_deadline_ns;
                assert_true(wheel_deadline_ns <= target_ns);
                while (verge_wheel_poll(wheel, verge_wheel_next_wakeup(wheel), out, 1) == 0) {
                }
                assert_in_range(verge_wheel_now(wheel), wheel_deadline_ns, wheel_deadline_ns + TICK - 1);
                arrived = verge_long_timer_fired(&timer, wheel);
            }
            assert_int_equal(arrived, 1);
            assert_in_range(verge_wheel_now(wheel), target_ns, target_ns + TICK - 1);
            wheel_end(wheel);
        }
    }
}

/* The next deadline and poll disagreed, so that the caller never slept. */
static void seed000_next_and_poll_agree(void **state) {
    (void)state;
    for (int preset = VERGE_PRESET_DEFAULT; preset <= VERGE_PRESET_YOUR_UNIT; preset++) {
        verge_wheel *wheel = wheel_of((verge_wheel_preset)preset, 5 * SECOND);
        struct verge_test_random random = verge_test_random_from((uint64_t)preset);
        for (uintptr_t i = 0; i < 1000; i++) {
            (void)schedule(wheel, 5 * SECOND + (verge_test_magnitude(&random) >> 25), i);
        }
        static verge_expiry out[1000];
        size_t polls = 0;
        while (verge_wheel_count(wheel) > 0) {
            const uint64_t wakeup_ns = verge_wheel_next_wakeup(wheel);
            const size_t count = verge_wheel_poll(wheel, wakeup_ns, out, COUNT_OF(out));
            assert_true(count > 0 || verge_wheel_next_wakeup(wheel) > wakeup_ns);
            assert_true(++polls < 20000);
        }
        wheel_end(wheel);
    }
}

/* A failed schedule left its task waiting. In verge, a failed start changes nothing. */
static void seed000_a_failed_schedule_leaves_nothing(void **state) {
    (void)state;
    verge_wheel *wheel = wheel_of(VERGE_PRESET_THREE_LEVEL, 0);
    const struct snapshot before = snapshot_of(wheel);
    verge_timer timer = 0;
    assert_int_equal(verge_wheel_start(wheel, 30 * HOUR, NULL, &timer), -ERANGE);
    assert_int_equal(timer, 0);
    assert_unchanged(wheel, &before);
    assert_quiet(wheel, 40 * HOUR);
    wheel_end(wheel);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(seed000_limit_never_skips_slots),
        cmocka_unit_test(seed000_limit_never_skips_upper_slots),
        cmocka_unit_test(seed000_uptime_does_not_matter),
        cmocka_unit_test(seed000_past_deadline_fires_at_the_next_poll),
        cmocka_unit_test(seed000_next_deadline_tells_unknown_from_none),
        cmocka_unit_test(seed000_an_old_id_never_cancels_a_new_timer),
        cmocka_unit_test(seed000_ids_do_not_wrap_after_22_bits),
        cmocka_unit_test(seed000_compaction_keeps_pending_ids),
        cmocka_unit_test(seed000_zero_is_no_id),
        cmocka_unit_test(seed000_as_many_slots_as_allowed),
        cmocka_unit_test(seed000_best_fit_refines),
        cmocka_unit_test(seed000_next_and_poll_agree),
        cmocka_unit_test(seed000_a_failed_schedule_leaves_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
