/* SPDX-License-Identifier: MIT */
/* A program that needs verge.h and verge.c, and ISO C. */
#include <stdio.h>

#include "verge.h"

int main(void) {
    verge_clock clock = verge_clock_monotonic();
    verge_wheel_options options;
    verge_wheel *wheel = NULL;
    verge_timer timer = 0;
    verge_expiry due = {0, 0, NULL};
    uint64_t now_ns = clock.now_ns(clock.context);
    if (verge_wheel_options_init(&options, sizeof(options), VERGE_PRESET_DEFAULT) < 0) {
        return 1;
    }
    options.start_ns = now_ns;
    if (verge_wheel_create(&options, &wheel) < 0 || verge_wheel_start(wheel, now_ns + 1, NULL, &timer) < 0) {
        return 1;
    }
    size_t count = verge_wheel_poll(wheel, now_ns + verge_wheel_precision(wheel), &due, 1);
    printf("verge %s: %u timer\n", verge_version(), (unsigned)count);
    verge_wheel_destroy(wheel);
    return count == 1 && due.timer == timer ? 0 : 1;
}
