/* SPDX-License-Identifier: MIT */
/*
 * verge-instructions OPERATION COUNT: does an operation COUNT times. bench/instructions counts the instructions.
 *
 * The rest of the program takes about the same for any COUNT. So the difference between two runs, divided by the
 * difference of their COUNTs, is what one operation takes, with a few instructions of the loop around it.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <verge/wheel.h>

#include "../wheel/random.h"

enum {
    TIMER_COUNT = 10000,
    BATCH_COUNT = 256,
};

#define TICK_NS (UINT64_C(1) << 20)
#define SECOND_NS UINT64_C(1000000000)

static verge_wheel *wheel;
static verge_timer timers[TIMER_COUNT];
static uint64_t deadlines_ns[TIMER_COUNT]; /* uniformly distributed over 1..60 s */
static verge_timeout timeouts[TIMER_COUNT];
static verge_expiry batch[BATCH_COUNT];

static void expect(int result) {
    if (result < 0) {
        fprintf(stderr, "verge-instructions: %s\n", verge_strerror(result));
        exit(1);
    }
}

static void open_wheel(void) {
    struct bench_random random = {.state = 1};
    for (size_t i = 0; i < TIMER_COUNT; i++) {
        deadlines_ns[i] = SECOND_NS + bench_random_next(&random) % (59 * SECOND_NS);
    }
    expect(verge_wheel_create(NULL, &wheel));
    expect(verge_wheel_reserve(wheel, TIMER_COUNT, 0));
}

static void reserve_timeouts(void) {
    expect(verge_wheel_reserve(wheel, TIMER_COUNT, TIMER_COUNT));
}

static void schedule(size_t count) {
    for (size_t i = 0; i < count; i++) {
        expect(verge_wheel_start(wheel, deadlines_ns[i], NULL, &timers[i]));
    }
}

static void do_start(size_t count) {
    schedule(count);
}

static void do_cancel(size_t count) {
    schedule(TIMER_COUNT);
    for (size_t i = 0; i < count; i++) {
        expect(verge_wheel_cancel(wheel, timers[i], NULL));
    }
}

static void do_reset_later(size_t count) {
    schedule(TIMER_COUNT);
    for (size_t i = 0; i < count; i++) {
        expect(verge_wheel_reset(wheel, timers[i], deadlines_ns[i] + 60 * SECOND_NS));
    }
}

static void do_start_or_reset_later(size_t count) {
    schedule(TIMER_COUNT);
    for (size_t i = 0; i < count; i++) {
        expect(verge_wheel_start_or_reset(wheel, &timers[i], deadlines_ns[i] + 60 * SECOND_NS, NULL));
    }
}

static void do_reset_earlier(size_t count) {
    schedule(TIMER_COUNT);
    for (size_t i = 0; i < count; i++) {
        expect(verge_wheel_reset(wheel, timers[i], deadlines_ns[i] / 2));
    }
}

/* Each new timer takes the place of the timer that was just cancelled. */
static void do_replace(size_t count) {
    schedule(TIMER_COUNT);
    for (size_t i = 0; i < count; i++) {
        expect(verge_wheel_cancel(wheel, timers[i], NULL));
        expect(verge_wheel_start(wheel, deadlines_ns[i] + SECOND_NS, NULL, &timers[i]));
    }
}

static void set_timeouts(size_t count) {
    for (size_t i = 0; i < count; i++) {
        expect(verge_timeout_start(wheel, &timeouts[i], deadlines_ns[i]));
    }
}

static void do_timeout_start(size_t count) {
    reserve_timeouts();
    set_timeouts(count);
}

static void do_timeout_reset_later(size_t count) {
    reserve_timeouts();
    set_timeouts(TIMER_COUNT);
    for (size_t i = 0; i < count; i++) {
        expect(verge_timeout_start(wheel, &timeouts[i], deadlines_ns[i] + 60 * SECOND_NS));
    }
}

static void do_timeout_replace(size_t count) {
    reserve_timeouts();
    set_timeouts(TIMER_COUNT);
    for (size_t i = 0; i < count; i++) {
        expect(verge_timeout_pause(wheel, &timeouts[i]));
        expect(verge_timeout_start(wheel, &timeouts[i], deadlines_ns[i] + SECOND_NS));
    }
}

/* Polls at ticks at which nothing is due: the first timers are an hour away. */
static void do_poll_idle(size_t count) {
    for (size_t i = 0; i < TIMER_COUNT; i++) {
        expect(verge_wheel_start(wheel, deadlines_ns[i] + 3600 * SECOND_NS, NULL, &timers[i]));
    }
    for (size_t i = 0; i < count; i++) {
        verge_wheel_poll(wheel, (i + 1) * TICK_NS, batch, BATCH_COUNT);
    }
}

/* All timers are due within a second, about ten at each tick. Polls until COUNT have come out. So the instructions of a
 * timer include its share of ticks and cascades. */
static void do_expire(size_t count) {
    for (size_t i = 0; i < TIMER_COUNT; i++) {
        expect(verge_wheel_start(wheel, deadlines_ns[i] / 60, NULL, &timers[i]));
    }
    size_t expired_count = 0;
    for (uint64_t now_ns = TICK_NS; expired_count < count && now_ns < 2 * SECOND_NS;) {
        size_t got_count = verge_wheel_poll(wheel, now_ns, batch, BATCH_COUNT);
        expired_count += got_count;
        now_ns += got_count < BATCH_COUNT ? TICK_NS : 0;
    }
    expect(expired_count < count ? -EINVAL : 0);
}

static const struct operation {
    const char *name;
    void (*run)(size_t count);
} operations[] = {
    {"start", do_start},
    {"cancel", do_cancel},
    {"reset-later", do_reset_later},
    {"start-or-reset-later", do_start_or_reset_later},
    {"reset-earlier", do_reset_earlier},
    {"replace", do_replace},
    {"timeout-start", do_timeout_start},
    {"timeout-reset-later", do_timeout_reset_later},
    {"timeout-replace", do_timeout_replace},
    {"poll-idle", do_poll_idle},
    {"expire", do_expire},
};

#define TEXT_OF(x) #x
#define TEXT(x) TEXT_OF(x)

static const char *compiler(void) {
#if defined(__clang__)
    return "clang-" TEXT(__clang_major__);
#elif defined(__GNUC__)
    return "gcc-" TEXT(__GNUC__);
#else
    return "other";
#endif
}

int main(int argument_count, char **arguments) {
    const size_t operation_count = sizeof(operations) / sizeof(operations[0]);
    for (size_t i = 0; i < operation_count && argument_count == 1; i++) {
        puts(operations[i].name);
    }
    if (argument_count == 2 && strcmp(arguments[1], "--compiler") == 0) {
        puts(compiler());
        return 0;
    }
    if (argument_count != 3) {
        return argument_count == 1 ? 0 : 2;
    }
    size_t count = strtoul(arguments[2], NULL, 10);
    for (size_t i = 0; i < operation_count && count <= TIMER_COUNT; i++) {
        if (strcmp(operations[i].name, arguments[1]) == 0) {
            open_wheel();
            operations[i].run(count);
            verge_wheel_destroy(wheel);
            return 0;
        }
    }
    return 2;
}
