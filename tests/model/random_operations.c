/* SPDX-License-Identifier: MIT */
/*
 * Random operations on a wheel and on a model of it. Both must agree.
 *
 * Each wheel has random options and a seed of its own. A failure prints the seed of its wheel. If VERGE_TEST_SEED is
 * set to this seed, the test begins with that wheel.
 */
#include <string.h>
#include <time.h>

#include "model/run.h"
#include "support/cmocka.h"

static void run_profile(void **state, enum run_profile profile) {
    static struct run run; /* too large for a stack */
    const uint64_t seed = verge_test_seed(*(uint64_t *)*state);
    const double seconds = verge_test_seconds(5.0) / (int)RUN_PROFILE_COUNT;
    const clock_t start = clock();
    memset(&run, 0, sizeof(run)); /* a run of another profile may have failed, and left it as it was */
    run_print_seed_on_crash(&run);
    uint64_t count = 0;
    do {
        run_from_seed(&run, profile, seed + count);
        count++;
    } while ((double)(clock() - start) < seconds * CLOCKS_PER_SEC);
    print_message("%ju runs\n", (uintmax_t)count);
}

static void model_dense(void **state) {
    run_profile(state, RUN_DENSE);
}

static void model_sparse(void **state) {
    run_profile(state, RUN_SPARSE);
}

static void model_tiny(void **state) {
    run_profile(state, RUN_TINY);
}

static void model_crowded(void **state) {
    run_profile(state, RUN_CROWDED);
}

static void model_presets(void **state) {
    run_profile(state, RUN_PRESETS);
}

int main(void) {
    static uint64_t seed = 20260701;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_prestate(model_dense, &seed),   cmocka_unit_test_prestate(model_sparse, &seed),
        cmocka_unit_test_prestate(model_tiny, &seed),    cmocka_unit_test_prestate(model_crowded, &seed),
        cmocka_unit_test_prestate(model_presets, &seed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
