/* SPDX-License-Identifier: MIT */
/*
 * verge-floods [PATTERN COUNT]: attacks on a wheel of COUNT timers by somebody who chooses deadlines and handles, to
 * make the wheel slow or large. bench/floods counts the instructions. Prints how many operations the pattern took, and
 * how many bytes the wheel held at most for each of its timers. Without arguments, prints the patterns, a line for
 * each, each with what is promised of it: "bounded" or "proportional" (see SECURITY.md).
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <verge/wheel_more.h>

#include "../wheel/random.h"

enum {
    TIMER_COUNT_MAX = 1 << 20,
    BATCH_COUNT = 64,
    ROUND_COUNT = 4,
    CROWD = 16, /* in few_free, CROWD times COUNT timers are pending, and most only wait */
};

#define TICK_NS (UINT64_C(1) << 20)
#define SECOND_NS UINT64_C(1000000000)
#define HOUR_NS (3600 * SECOND_NS)

static verge_wheel *wheel;
static verge_timer timers[TIMER_COUNT_MAX];
static verge_expiry batch[BATCH_COUNT];
static size_t timer_count; /* how many timers the pattern has */
static size_t operation_count;
static uint64_t bytes_max;

static void expect(int result) {
    if (result < 0) {
        fprintf(stderr, "verge-floods: %s\n", verge_strerror(result));
        exit(1);
    }
    operation_count++;
}

static void note_bytes(void) {
    verge_wheel_stats stats = {.struct_size = sizeof(stats)};
    expect(verge_wheel_get_stats(wheel, &stats));
    bytes_max = stats.bytes > bytes_max ? stats.bytes : bytes_max;
}

static void open_wheel(verge_order order, size_t work_limit) {
    verge_wheel_options options;
    expect(verge_wheel_options_init(&options, sizeof(options), VERGE_PRESET_DEFAULT));
    options.order = order;
    options.work_limit = work_limit;
    expect(verge_wheel_create(&options, &wheel));
}

static void schedule(size_t i, uint64_t deadline_ns) {
    expect(verge_wheel_start(wheel, deadline_ns, NULL, &timers[i]));
}

static void schedule_all(size_t count, uint64_t deadline_ns, uint64_t step_ns) {
    for (size_t i = 0; i < count; i++) {
        schedule(i, deadline_ns + i * step_ns);
    }
    note_bytes();
}

/* What was done before does not count. Under callgrind, bench/floods also forgets the instructions of that. */
static __attribute__((noinline)) void begin_counting(void) {
    operation_count = 0;
}

/* Polls at this time until nothing is due. */
static void drain(uint64_t now_ns) {
    do {
        operation_count += 1 + verge_wheel_poll(wheel, now_ns, batch, BATCH_COUNT);
    } while (verge_wheel_has_backlog(wheel));
    note_bytes();
}

/* ---- all timers in one tick ---- */

static void one_tick(size_t count) {
    open_wheel(VERGE_ORDER_ANY, 0);
    schedule_all(count, HOUR_NS, 0);
    drain(HOUR_NS + TICK_NS);
}

static void one_tick_fifo(size_t count) {
    open_wheel(VERGE_ORDER_FIFO, 0);
    schedule_all(count, HOUR_NS, 0);
    drain(HOUR_NS + TICK_NS);
}

/* The latest deadline first: each new timer must come out before all others. */
static void one_tick_deadline(size_t count) {
    open_wheel(VERGE_ORDER_DEADLINE, 0);
    for (size_t i = 0; i < count; i++) {
        schedule(i, HOUR_NS + TICK_NS / 2 - i % (TICK_NS / 2));
    }
    note_bytes();
    drain(HOUR_NS + 2 * TICK_NS);
}

/* While a backlog is handed out, more timers are started for the past, which come first. */
static void past_during_backlog(size_t count) {
    open_wheel(VERGE_ORDER_DEADLINE, 0);
    schedule_all(count, HOUR_NS, 0);
    for (size_t i = 0; i < count; i++) {
        operation_count += verge_wheel_poll(wheel, HOUR_NS + TICK_NS, batch, 1);
        schedule(i, HOUR_NS - i);
    }
    drain(HOUR_NS + TICK_NS);
}

/*
 * A backlog is handed out one by one while time passes. The wheel reaches 4096 ticks ahead; with each poll, time
 * moves by as much, and a timer is started as far ahead as the wheel allows. So about COUNT timers are always due, and
 * the newest timer is further and further away from the tick that is being handed out.
 */
static void backlog_beyond_reach(size_t count) {
    static const uint8_t bits[] = {6, 6};
    verge_wheel_options options;
    expect(verge_wheel_options_init(&options, sizeof(options), VERGE_PRESET_DEFAULT));
    expect(verge_wheel_options_levels(&options, TICK_NS, bits, 2));
    expect(verge_wheel_create(&options, &wheel));
    const uint64_t reach_ns = verge_wheel_largest_deadline(wheel);
    schedule_all(count, TICK_NS, 0);
    uint64_t now_ns = 2 * TICK_NS;
    for (size_t i = 0; i < count * ROUND_COUNT; i++) {
        now_ns += reach_ns;
        operation_count += verge_wheel_poll(wheel, now_ns, batch, 1);
        schedule(i % count, verge_wheel_largest_deadline(wheel));
        operation_count += verge_wheel_has_backlog(wheel);
    }
    note_bytes();
    drain(now_ns + 2 * reach_ns);
}

static void one_tick_work_limit(size_t count) {
    open_wheel(VERGE_ORDER_ANY, BATCH_COUNT);
    schedule_all(count, HOUR_NS, 0);
    drain(HOUR_NS + TICK_NS);
}

/* ---- timers that are moved and cancelled, again and again ---- */

static void strictly_earlier(size_t count) {
    open_wheel(VERGE_ORDER_ANY, 0);
    schedule_all(count, HOUR_NS, 0);
    for (uint64_t round = 1; round <= (uint64_t)4 * ROUND_COUNT; round++) {
        for (size_t i = 0; i < count; i++) {
            expect(verge_wheel_reset(wheel, timers[i], HOUR_NS - round * 100 * TICK_NS));
        }
        note_bytes();
    }
    drain(HOUR_NS);
}

static void cancel_storm(size_t count) {
    open_wheel(VERGE_ORDER_ANY, 0);
    for (uint64_t round = (uint64_t)4 * ROUND_COUNT; round > 0; round--) {
        schedule_all(count, round * HOUR_NS, SECOND_NS); /* earlier each time, so that no idle node can be used again */
        for (size_t i = 0; i < count; i++) {
            expect(verge_wheel_cancel(wheel, timers[i], NULL));
        }
        note_bytes();
    }
    drain(100 * HOUR_NS);
}

/* All timers are pushed back before every tick: each node comes up, and is filed again. */
static void pushed_back(size_t count) {
    open_wheel(VERGE_ORDER_ANY, 0);
    schedule_all(count, 2 * TICK_NS, 0);
    for (uint64_t tick = 1; tick <= (uint64_t)4 * ROUND_COUNT; tick++) {
        for (size_t i = 0; i < count; i++) {
            expect(verge_wheel_reset(wheel, timers[i], (tick + 2) * TICK_NS));
        }
        drain((tick + 1) * TICK_NS);
    }
    drain(HOUR_NS);
}

/* One timer is started and cancelled again and again, for earlier and later times in turn. */
static void one_record(size_t count) {
    open_wheel(VERGE_ORDER_ANY, 0);
    for (size_t i = 0; i < count * ROUND_COUNT; i++) {
        schedule(0, i % 2 == 0 ? 2 * HOUR_NS : HOUR_NS - i);
        expect(verge_wheel_cancel(wheel, timers[0], NULL));
    }
    note_bytes();
}

/* Of a crowd of timers, the first and the last fire, and two new ones are started, again and again. So the free nodes
 * are at both ends of the wheel's memory, and have to be found. */
static void few_free(size_t count) {
    const size_t last = (count * CROWD < TIMER_COUNT_MAX ? count * CROWD : TIMER_COUNT_MAX) - 1;
    timer_count = last + 1;
    open_wheel(VERGE_ORDER_ANY, 0);
    schedule_all(timer_count, HOUR_NS, 0);
    begin_counting();
    for (size_t i = 0; i < count * ROUND_COUNT; i++) {
        expect(verge_wheel_reset(wheel, timers[0], 0));
        expect(verge_wheel_reset(wheel, timers[last], 0));
        operation_count += verge_wheel_poll(wheel, 0, batch, BATCH_COUNT);
        schedule(0, HOUR_NS);
        schedule(last, HOUR_NS);
    }
    note_bytes();
}

/* ---- handles and times ---- */

static void forged_handles(size_t count) {
    struct bench_random random = {.state = 1};
    open_wheel(VERGE_ORDER_ANY, 0);
    schedule_all(count, HOUR_NS, 0);
    for (size_t i = 0; i < count * ROUND_COUNT; i++) {
        verge_timer forged = bench_random_next(&random);
        /* A random handle, or that of a timer with another generation. */
        forged = i % 2 == 0 ? forged : timers[i % count] ^ (uint32_t)(forged << 1);
        operation_count++;
        if (verge_wheel_cancel(wheel, forged, NULL) == 0 && forged != timers[i % count]) {
            exit(1);
        }
    }
}

static void all_of_time(size_t count) {
    struct bench_random random = {.state = 1};
    open_wheel(VERGE_ORDER_ANY, 0);
    for (size_t i = 0; i < count; i++) {
        schedule(i, bench_random_next(&random) >> (1 + bench_random_next(&random) % 40));
    }
    note_bytes();
    for (unsigned shift = 20; shift < 64; shift++) {
        drain(UINT64_C(1) << shift);
    }
}

/* Time stands still and goes back, while timers are started for about this time. */
static void time_stands_still(size_t count) {
    open_wheel(VERGE_ORDER_ANY, 0);
    operation_count += verge_wheel_poll(wheel, HOUR_NS, batch, BATCH_COUNT);
    for (size_t i = 0; i < count; i++) {
        schedule(i, HOUR_NS + (i % 3) * TICK_NS);
        operation_count += 1 + verge_wheel_poll(wheel, HOUR_NS - i, batch, BATCH_COUNT);
    }
    drain(2 * HOUR_NS);
}

static void next_wakeup(size_t count) {
    open_wheel(VERGE_ORDER_ANY, 0);
    schedule_all(count, HOUR_NS, 1);
    for (size_t i = 0; i < count; i++) {
        expect(verge_wheel_cancel(wheel, timers[i], NULL));
        operation_count += verge_wheel_next_wakeup(wheel) > 0;
    }
}

/* ---- calls that may visit every timer of a tick or slot, as documented ---- */

enum { ASKED_COUNT = 64 };

static void next_deadline(size_t count) {
    open_wheel(VERGE_ORDER_ANY, 0);
    schedule_all(count, HOUR_NS, 1);
    begin_counting();
    for (size_t i = 0; i < ASKED_COUNT; i++) {
        expect(verge_wheel_cancel(wheel, timers[i], NULL)); /* the timer that the last call found */
        operation_count += verge_wheel_next_deadline(wheel) > HOUR_NS ? 0 : 1;
    }
}

static void poll_exact(size_t count) {
    open_wheel(VERGE_ORDER_ANY, 0);
    schedule_all(count, HOUR_NS + TICK_NS - 1, 0);
    begin_counting();
    for (size_t i = 0; i < ASKED_COUNT; i++) {
        operation_count += 1 + verge_wheel_poll_exact(wheel, HOUR_NS + 1 + i, batch, BATCH_COUNT);
    }
}

/* All timers are due. Those that the limit holds back return to their tick. */
static void poll_exact_limit(size_t count) {
    open_wheel(VERGE_ORDER_ANY, 0);
    schedule_all(count, HOUR_NS + 1, 0);
    begin_counting();
    for (size_t i = 0; i < ASKED_COUNT; i++) {
        operation_count += verge_wheel_poll_exact(wheel, HOUR_NS + 2, batch, 1);
    }
}

static const struct pattern {
    const char *name;
    void (*run)(size_t count);
    bool proportional; /* an operation may take time that is proportional to the timers of a tick or slot */
} patterns[] = {
    {"one-tick", one_tick, false},
    {"one-tick-fifo", one_tick_fifo, false},
    {"one-tick-deadline", one_tick_deadline, false},
    {"one-tick-work-limit", one_tick_work_limit, false},
    {"past-during-backlog", past_during_backlog, false},
    {"backlog-beyond-reach", backlog_beyond_reach, false},
    {"strictly-earlier", strictly_earlier, false},
    {"cancel-storm", cancel_storm, false},
    {"pushed-back", pushed_back, false},
    {"one-record", one_record, false},
    {"few-free", few_free, false},
    {"forged-handles", forged_handles, false},
    {"all-of-time", all_of_time, false},
    {"time-stands-still", time_stands_still, false},
    {"next-wakeup", next_wakeup, false},
    {"next-deadline", next_deadline, true},
    {"poll-exact", poll_exact, true},
    {"poll-exact-limit", poll_exact_limit, true},
};

int main(int argument_count, char **arguments) {
    const size_t pattern_count = sizeof(patterns) / sizeof(patterns[0]);
    for (size_t i = 0; i < pattern_count && argument_count == 1; i++) {
        printf("%s %s\n", patterns[i].name, patterns[i].proportional ? "proportional" : "bounded");
    }
    if (argument_count != 3) {
        return argument_count == 1 ? 0 : 2;
    }
    const size_t count = strtoul(arguments[2], NULL, 10);
    for (size_t i = 0; i < pattern_count && count > 0 && count <= TIMER_COUNT_MAX; i++) {
        if (strcmp(patterns[i].name, arguments[1]) == 0) {
            timer_count = count;
            patterns[i].run(count);
            printf("operations %zu bytes %.1f\n", operation_count, (double)bytes_max / (double)timer_count);
            verge_wheel_destroy(wheel);
            return 0;
        }
    }
    return 2;
}
