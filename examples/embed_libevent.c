/* SPDX-License-Identifier: MIT */
/*
 * A wheel in a libevent loop. One timeout event stands for all timers of the wheel. libevent 2.1 has no hook before it
 * sleeps, so the loop is run round by round and the event is set between two rounds. (A program that must call
 * event_base_dispatch sets it at the end of each of its callbacks instead.)
 */
#include <event2/event.h>

#include "embed.h"

static void on_alarm(evutil_socket_t descriptor, short events, void *context) {
    (void)descriptor;
    (void)events;
    embed_run(context);
}

static void on_readable(evutil_socket_t descriptor, short events, void *context) {
    (void)descriptor;
    (void)events;
    embed_readable(context);
}

static void run(struct embed *embed, struct event_base *base, struct event *alarm_clock) {
    while (!embed_done(embed)) {
        const long wait_ms = embed_wait_ms(embed);
        const struct timeval wait = {.tv_sec = wait_ms / 1000, .tv_usec = wait_ms % 1000 * 1000};
        embed->errors += event_add(alarm_clock, &wait) != 0;
        embed->errors += event_base_loop(base, EVLOOP_ONCE) != 0;
    }
}

int main(void) {
    struct embed *embed = embed_start();
    struct event_base *base = event_base_new();
    if (base == NULL || embed == NULL) {
        return 1;
    }
    struct event *alarm_clock = event_new(base, -1, 0, on_alarm, embed);
    struct event *readable = event_new(base, embed->read_end, EV_READ | EV_PERSIST, on_readable, embed);
    if (alarm_clock == NULL || readable == NULL || event_add(readable, NULL) != 0) {
        return 1;
    }
    run(embed, base, alarm_clock);
    event_free(alarm_clock);
    event_free(readable);
    event_base_free(base);
    return embed_end(embed);
}
