/* SPDX-License-Identifier: MIT */
/*
 * moves EVENTS ROUNDS: timeouts of libevent that are moved, as those of busy connections. Adds EVENTS of 30 to 60 s,
 * moves each ROUNDS times, in an order of its own each time, and deletes all. The loop makes a round after every 1,000
 * moves.
 */
#include <event2/event.h>
#include <stdio.h>
#include <stdlib.h>

static unsigned long long state = 1;

static unsigned long next(void) {
    state = state * 6364136223846793005ULL + 1442695040888963407ULL;
    return (unsigned long)(state >> 33);
}

static void on_timeout(evutil_socket_t fd, short events, void *argument) {
    (void)fd;
    (void)events;
    ++*(unsigned long *)argument;
}

static void set(struct event *event) {
    struct timeval in = {30 + (long)(next() % 30), (long)(next() % 1000000)};
    if (event_add(event, &in) != 0) {
        perror("event_add");
        exit(1);
    }
}

int main(int argc, char **argv) {
    unsigned long count = argc > 1 ? strtoul(argv[1], NULL, 10) : 1000000;
    unsigned long moves = count * (argc > 2 ? strtoul(argv[2], NULL, 10) : 5);
    unsigned long fired = 0;
    struct event_base *base = event_base_new();
    struct event **events = calloc(count, sizeof(*events));
    if (base == NULL || events == NULL) {
        return 1;
    }
    for (unsigned long i = 0; i < count; i++) {
        events[i] = event_new(base, -1, 0, on_timeout, &fired);
        set(events[i]);
    }
    for (unsigned long i = 0; i < moves; i++) {
        set(events[next() % count]);
        if (i % 1000 == 0 && event_base_loop(base, EVLOOP_NONBLOCK) < 0) {
            return 1;
        }
    }
    for (unsigned long i = 0; i < count; i++) {
        event_free(events[i]);
    }
    event_base_free(base);
    free(events);
    return 0;
}
