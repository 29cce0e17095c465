/* SPDX-License-Identifier: MIT */
/*
 * A host that is written in C90, with its own malloc: its timers are in a wheel of one file that is compiled as C17.
 * The host counts in ticks of 32 bits, which wrap while the timers run. It returns 0 if each timer came out at its
 * tick.
 */
#include "verge.h"

#include <stdlib.h>

enum { TIMERS = 100 };

struct host_timer {
    verge_timeout timeout;
    uint32_t due;
};

static int blocks;

static void *host_malloc(size_t size) {
    blocks++;
    return malloc(size);
}

static void host_free(void *block) {
    blocks--;
    free(block);
}

static const verge_host_memory memory = {host_malloc, host_free};
static const verge_allocator allocator = {verge_host_allocate, verge_host_release, (void *)&memory};

/* The time of the wheel: 64 bits, of which the lower half is the host's clock. */
static uint64_t wheel_time(const verge_wheel *wheel, uint32_t ticks) {
    uint64_t now = verge_wheel_now(wheel);
    return now + (uint32_t)(ticks - (uint32_t)now);
}

static void on_due(void *now, const verge_expiry *expiry) {
    struct host_timer *timer = (struct host_timer *)expiry->data;
    timer->due = timer->due == *(uint32_t *)now ? 0 : 1;
}

int main(void) {
    static struct host_timer timers[TIMERS];
    verge_wheel_options options;
    verge_wheel *wheel;
    uint32_t now = UINT32_MAX - TIMERS / 2;
    size_t fired = 0;
    int i;
    if (verge_wheel_options_init(&options, sizeof(options), VERGE_PRESET_YOUR_UNIT) < 0) {
        return 1;
    }
    options.start_ns = now;
    options.allocator = &allocator;
    if (verge_wheel_create(&options, &wheel) < 0 || blocks == 0) {
        return 2;
    }
    for (i = 0; i < TIMERS; i++) {
        timers[i].due = now + 1 + (uint32_t)i;
        if (verge_timeout_start(wheel, &timers[i].timeout, wheel_time(wheel, now) + 1 + (uint64_t)i) < 0) {
            return 3;
        }
    }
    for (i = 0; i < TIMERS; i++) {
        now++;
        fired += verge_wheel_run(wheel, wheel_time(wheel, now), on_due, &now);
    }
    for (i = 0; i < TIMERS; i++) {
        if (timers[i].due != 0) {
            return 4;
        }
    }
    verge_wheel_destroy(wheel);
    return fired == TIMERS && blocks == 0 ? 0 : 5;
}
