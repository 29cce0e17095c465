/* SPDX-License-Identifier: MIT */
/*
 * make_trace LINES SEED: a trace of LINES lines on stdout that every preset replays with the same counts, which go to
 * stderr: "STARTED RESET CANCELLED". A timer is moved or cancelled only while it is certainly pending, and the
 * last line is long after all of them.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "support/random.h"

#define MS UINT64_C(1000000)
#define START_NS (1000 * MS)
#define STEP_MAX_NS (MS / 10)         /* a million lines are about 50 s */
#define DURATION_MAX_NS (900000 * MS) /* 15 minutes: within the reach of every preset */
#define END_NS (36000000 * MS)        /* ten hours */

enum { SLOT_COUNT = 100000 };

struct slot {
    uint64_t timer, deadline_ns;
};

struct counts {
    uint64_t started, reset, cancelled;
};

/* Durations from 1 ms up. All magnitudes are equally likely. */
static uint64_t random_duration(struct verge_test_random *random) {
    uint64_t duration_ns = MS + verge_test_below(random, MS << verge_test_below(random, 20));
    return duration_ns < DURATION_MAX_NS ? duration_ns : DURATION_MAX_NS;
}

static void print_line(struct verge_test_random *random, struct slot *slot, uint64_t now_ns, struct counts *counts) {
    uint64_t deadline_ns = now_ns + random_duration(random);
    if (slot->deadline_ns <= now_ns) { /* no timer, or one that has fired or is about to */
        *slot = (struct slot){.timer = ++counts->started, .deadline_ns = deadline_ns};
        (void)printf("%" PRIu64 " start %" PRIu64 " %" PRIu64 "\n", now_ns, slot->timer, deadline_ns);
    } else if (verge_test_chance(random, 2)) {
        counts->cancelled++;
        slot->deadline_ns = 0;
        (void)printf("%" PRIu64 " cancel %" PRIu64 "\n", now_ns, slot->timer);
    } else {
        counts->reset++;
        slot->deadline_ns = deadline_ns;
        (void)printf("%" PRIu64 " reset %" PRIu64 " %" PRIu64 "\n", now_ns, slot->timer, deadline_ns);
    }
}

int main(int argc, char **argv) {
    static struct slot slots[SLOT_COUNT];
    struct counts counts = {0};
    if (argc != 3) {
        return 2;
    }
    uint64_t line_count = strtoull(argv[1], NULL, 10);
    struct verge_test_random random = verge_test_random_from(strtoull(argv[2], NULL, 10));
    uint64_t now_ns = START_NS;
    (void)printf("verge-trace 1\n");
    for (uint64_t line = 3; line <= line_count; line++) {
        now_ns += verge_test_below(&random, STEP_MAX_NS);
        print_line(&random, &slots[verge_test_below(&random, SLOT_COUNT)], now_ns, &counts);
    }
    (void)printf("%" PRIu64 " advance\n", now_ns + END_NS);
    (void)fprintf(stderr, "%" PRIu64 " %" PRIu64 " %" PRIu64 "\n", counts.started, counts.reset, counts.cancelled);
    return 0;
}
