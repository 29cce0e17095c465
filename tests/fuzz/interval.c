/* SPDX-License-Identifier: MIT */
/* An interval with any settings at any times, against arithmetic in 128 bits, which cannot overflow: I1 to I7. */
#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "fuzz/fuzz.h"
#include "support/random.h"
#include "verge/interval.h"

__extension__ typedef unsigned __int128 wide;

struct reference {
    wide deadline_ns; /* at or beyond VERGE_NEVER: no tick follows */
    uint64_t period_ns;
    uint64_t tolerance_ns;
    uint64_t burst_cap;
    unsigned policy;
};

static wide smaller(wide a, wide b) {
    return a < b ? a : b;
}

/* What verge_interval_next must return: whether a tick is due, which one the policy takes, and how many are missed. */
static bool reference_next(struct reference *reference, uint64_t now_ns, wide *ret_scheduled_ns, wide *ret_missed) {
    if (reference->deadline_ns > now_ns || reference->deadline_ns >= VERGE_NEVER) {
        return false;
    }
    const wide due = (now_ns - reference->deadline_ns) / reference->period_ns + 1;
    wide kept = 1;
    if (reference->policy == VERGE_INTERVAL_BURST) {
        kept = reference->burst_cap == 0 ? due : smaller(due, reference->burst_cap);
    }
    const wide late_ns = now_ns - reference->deadline_ns;
    *ret_missed = due - kept;
    *ret_scheduled_ns = reference->deadline_ns + *ret_missed * reference->period_ns;
    const bool moves = reference->policy == VERGE_INTERVAL_DELAY &&
                       late_ns > smaller(reference->tolerance_ns, reference->period_ns / 2);
    reference->deadline_ns = (moves ? now_ns : *ret_scheduled_ns) + reference->period_ns;
    return true;
}

static uint64_t some_time(struct verge_test_random *random, uint64_t near_ns) {
    switch (verge_test_below(random, 5)) {
    case 0:
        return near_ns + verge_test_below(random, 256); /* may wrap: any time will do */
    case 1:
        return near_ns - verge_test_below(random, 256);
    case 2:
        return UINT64_MAX - verge_test_below(random, 256);
    case 3:
        return verge_test_below(random, 256);
    default:
        return verge_test_next(random) >> verge_test_below(random, 64);
    }
}

static void take(verge_interval *interval, struct reference *reference, uint64_t now_ns) {
    const verge_interval before = *interval;
    const verge_tick untouched = {.scheduled_ns = 1, .missed = 2};
    verge_tick tick = untouched;
    const int taken = verge_interval_next(interval, now_ns, &tick);
    wide scheduled_ns = 0;
    wide missed = 0;
    if (now_ns == VERGE_NEVER) {
        FUZZ_CHECK(taken == -EINVAL, "next: VERGE_NEVER is no time");
    } else {
        FUZZ_CHECK(taken == reference_next(reference, now_ns, &scheduled_ns, &missed), "next: whether a tick is due");
    }
    if (taken != 1) {
        FUZZ_CHECK(memcmp(&before, interval, sizeof(before)) == 0, "next: changed though nothing was taken");
        FUZZ_CHECK(memcmp(&tick, &untouched, sizeof(tick)) == 0, "next: ret_tick was touched");
        return;
    }
    FUZZ_CHECK(tick.scheduled_ns == scheduled_ns && tick.scheduled_ns <= now_ns, "I1: never early");
    FUZZ_CHECK(tick.missed == missed, "I2: the count");
}

static void reset(verge_interval *interval, struct reference *reference, struct verge_test_random *random) {
    const verge_interval before = *interval;
    const uint64_t deadline_ns = some_time(random, interval->deadline_ns);
    const int error = verge_interval_reset(interval, deadline_ns);
    FUZZ_CHECK(error == (deadline_ns != VERGE_NEVER ? 0 : -EINVAL), "reset: the verdict");
    if (error == 0) {
        reference->deadline_ns = deadline_ns;
    } else {
        FUZZ_CHECK(memcmp(&before, interval, sizeof(before)) == 0, "reset: changed on failure");
    }
}

/* Sets a field to any value. If the value makes no sense, next and reset must refuse, and change nothing. */
static void set(verge_interval *interval, struct reference *reference, struct verge_test_random *random) {
    const uint64_t value = some_time(random, interval->period_ns);
    switch (verge_test_below(random, 4)) {
    case 0:
        reference->period_ns = interval->period_ns = value;
        break;
    case 1:
        reference->policy = (unsigned)value % 5;
        interval->policy = (verge_interval_policy)reference->policy;
        break;
    case 2:
        reference->burst_cap = interval->burst_cap = value;
        break;
    default:
        reference->tolerance_ns = interval->tolerance_ns = value;
        break;
    }
    if (reference->period_ns == 0 || reference->policy > VERGE_INTERVAL_SKIP) {
        const verge_interval before = *interval;
        FUZZ_CHECK(verge_interval_next(interval, value, NULL) == -EINVAL, "next: makes no sense");
        FUZZ_CHECK(verge_interval_reset(interval, value) == -EINVAL, "reset: makes no sense");
        FUZZ_CHECK(memcmp(&before, interval, sizeof(before)) == 0, "changed on failure");
        reference->period_ns = interval->period_ns = 1 + value % 1000;
        reference->policy = (unsigned)value % 3;
        interval->policy = (verge_interval_policy)reference->policy;
    }
}

static void compare(const verge_interval *interval, const struct reference *reference) {
    FUZZ_CHECK(interval->deadline_ns == smaller(reference->deadline_ns, VERGE_NEVER), "I7: the deadline");
    FUZZ_CHECK(interval->period_ns == reference->period_ns, "the period");
    FUZZ_CHECK((unsigned)interval->policy == reference->policy, "the policy");
    FUZZ_CHECK(interval->burst_cap == reference->burst_cap, "the cap");
    FUZZ_CHECK(interval->tolerance_ns == reference->tolerance_ns, "the tolerance");
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t byte_count) {
    struct verge_test_random random = verge_test_random_from_bytes(bytes, byte_count);
    const uint64_t first_ns = some_time(&random, 0);
    struct reference reference = {
        .deadline_ns = first_ns,
        .period_ns = some_time(&random, 1),
        .tolerance_ns = VERGE_INTERVAL_TOLERANCE_NS,
        .policy = (unsigned)verge_test_below(&random, 4),
    };
    verge_interval interval;
    const bool is_valid = reference.deadline_ns < VERGE_NEVER && reference.period_ns != 0 && reference.policy < 3;
    const int error =
        verge_interval_init(&interval, first_ns, reference.period_ns, (verge_interval_policy)reference.policy);
    FUZZ_CHECK(error == (is_valid ? 0 : -EINVAL), "init: the verdict");
    while (error == 0 && random.byte_count > 0) {
        switch (verge_test_below(&random, 4)) {
        case 0:
            reset(&interval, &reference, &random);
            break;
        case 1:
            set(&interval, &reference, &random);
            break;
        default:
            take(&interval, &reference, some_time(&random, interval.deadline_ns));
            break;
        }
        compare(&interval, &reference);
    }
    return 0;
}
