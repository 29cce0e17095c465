/* SPDX-License-Identifier: MIT */
/* Bit helpers: the builtins of the compiler, the portable functions and a simple loop agree. */
#include "base/bits.h"

#include "support/cmocka.h"
#include "support/random.h"

static unsigned highest_by_loop(uint64_t value) {
    unsigned index = 0;
    while ((value >>= 1) != 0) {
        index++;
    }
    return index;
}

static unsigned lowest_by_loop(uint64_t value) {
    unsigned index = 0;
    while ((value & 1) == 0) {
        value >>= 1;
        index++;
    }
    return index;
}

static void check(uint64_t value) {
    assert_int_equal(verge__bit_floor_index(value), highest_by_loop(value));
    assert_int_equal(verge__bit_floor_index_portable(value), highest_by_loop(value));
    assert_int_equal(verge__bit_lowest_index(value), lowest_by_loop(value));
    assert_int_equal(verge__bit_lowest_index_portable(value), lowest_by_loop(value));
}

static void every_pair_of_bits(void **state) {
    (void)state;
    for (unsigned high = 0; high < 64; high++) {
        for (unsigned low = 0; low <= high; low++) {
            check(UINT64_C(1) << high | UINT64_C(1) << low);
        }
    }
    check(UINT64_MAX);
}

static void random_words(void **state) {
    (void)state;
    struct verge_test_random random = verge_test_random_from(verge_test_seed(1));
    for (unsigned i = 0; i < 100000; i++) {
        const uint64_t value = verge_test_magnitude(&random) | UINT64_C(1) << verge_test_below(&random, 64);
        check(value);
    }
}

static void powers_of_two(void **state) {
    (void)state;
    assert_false(verge__is_power_of_two(0));
    for (unsigned index = 0; index < 64; index++) {
        const uint64_t power = UINT64_C(1) << index;
        assert_true(verge__is_power_of_two(power));
        assert_true(index < 1 || !verge__is_power_of_two(power | 1));
        assert_true(index < 2 || !verge__is_power_of_two(power - 1));
    }
}

static void masks(void **state) {
    (void)state;
    assert_int_equal(verge__bit_mask(0), 0);
    for (unsigned count = 1; count <= 64; count++) {
        assert_int_equal(verge__bit_floor_index(verge__bit_mask(count)), count - 1);
        assert_true(verge__bit_mask(count) + 1 == (count == 64 ? 0 : UINT64_C(1) << count));
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_pair_of_bits),
        cmocka_unit_test(random_words),
        cmocka_unit_test(powers_of_two),
        cmocka_unit_test(masks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
