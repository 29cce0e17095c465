/* SPDX-License-Identifier: MIT */
/*
 * A wheel in a plain epoll loop, without a timerfd, signals or threads. The wheel says when its next timer is due, and
 * epoll_wait sleeps until then. The program counts milliseconds, and so does its wheel.
 *
 * Here the loop talks to itself through a pipe: a timer sends a byte every 10 ms. Each byte that arrives pushes back a
 * timeout of 10 s. The third byte cancels the timer and the timeout. Then nothing is pending, and the loop ends.
 */
#include <stdio.h>
#include <sys/epoll.h>
#include <unistd.h>

#include <verge/verge.h>

enum { BYTES = 3, SEND_EVERY_MS = 10, GIVE_UP_AFTER_MS = 10000 };

static verge_loop loop;
static verge_loop_timer sender, idle;
static int ends[2], sent, received, timeouts, errors;

static uint64_t clock_ms(void) {
    const verge_clock clock = verge_clock_monotonic();
    return clock.now_ns(clock.context) / 1000000;
}

static void send_byte(void *data, verge_loop_timer *timer) {
    (void)data;
    (void)timer;
    errors += write(ends[1], "x", 1) != 1;
    sent++;
}

static void give_up(void *data, verge_loop_timer *timer) {
    (void)data;
    (void)timer;
    timeouts++;
}

static void receive_byte(uint64_t now_ms) {
    char byte;
    errors += read(ends[0], &byte, 1) != 1;
    if (++received < BYTES) {
        errors += verge_loop_start(&loop, &idle, give_up, NULL, now_ms + GIVE_UP_AFTER_MS, 0) != 0;
    } else {
        errors += verge_loop_cancel(&loop, &idle) != 0;
        errors += verge_loop_cancel(&loop, &sender) != 0;
    }
}

static void run(verge_wheel *wheel, int epoll, uint64_t now_ms) {
    while (verge_wheel_count(wheel) > 0) {
        struct epoll_event event;
        const int events = epoll_wait(epoll, &event, 1, verge_loop_timeout(wheel, now_ms, 1));
        now_ms = clock_ms(); /* once a round */
        if (events > 0) {    /* handle events before overdue timers: an event may push a timeout back */
            receive_byte(now_ms);
        }
        (void)verge_loop_run(&loop, now_ms);
    }
}

int main(void) {
    verge_wheel_options options;
    verge_wheel *wheel = NULL;
    struct epoll_event readable = {.events = EPOLLIN};
    const int epoll = epoll_create1(EPOLL_CLOEXEC);
    const uint64_t start_ms = clock_ms();
    if (epoll < 0 || pipe(ends) != 0 || epoll_ctl(epoll, EPOLL_CTL_ADD, ends[0], &readable) != 0 ||
        verge_wheel_options_init(&options, sizeof(options), VERGE_PRESET_YOUR_UNIT) < 0) {
        return 1;
    }
    options.start_ns = start_ms; /* milliseconds, as every time of this wheel */
    if (verge_wheel_create(&options, &wheel) < 0 || verge_loop_init(&loop, wheel) < 0 ||
        verge_loop_start(&loop, &sender, send_byte, NULL, start_ms + SEND_EVERY_MS, SEND_EVERY_MS) < 0 ||
        verge_loop_start(&loop, &idle, give_up, NULL, start_ms + GIVE_UP_AFTER_MS, 0) < 0) {
        return 1;
    }
    run(wheel, epoll, start_ms);
    printf("received %d, timeouts %d\n", received, timeouts);
    verge_wheel_destroy(wheel);
    return received == BYTES && sent >= BYTES && timeouts == 0 && errors == 0 ? 0 : 1;
}
