/* SPDX-License-Identifier: MIT */
/*
 * A wheel in a plain epoll loop. No timerfd, no signal, no thread: the wheel says when it wants to be polled next, and
 * that is how long epoll_wait may sleep.
 *
 * Here the loop talks to itself through a pipe: a timer sends three bytes, 10 ms apart. Each byte that arrives pushes
 * back a timeout of 10 s, the third one cancels it. Then nothing is pending, and the loop ends.
 */
#include <limits.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <unistd.h>

#include <verge/verge.h>

#define MS UINT64_C(1000000)
#define SEND_EVERY (10 * MS)
#define GIVE_UP_AFTER (10000 * MS)

enum { BYTES = 3, BATCH = 64 };

struct connection {
    verge_wheel *wheel;
    int read_end, write_end;
    verge_timer timeout;
    int sent, received, timeouts, errors;
};

/* What a timer's data points to: what to do when it fires. */
struct action {
    void (*run)(struct connection *connection, uint64_t now_ns);
};

static void send_byte(struct connection *connection, uint64_t now_ns);
static void give_up(struct connection *connection, uint64_t now_ns);

static struct action on_send = {.run = send_byte};
static struct action on_timeout = {.run = give_up};

static void send_byte(struct connection *connection, uint64_t now_ns) {
    verge_timer timer; /* not kept: nobody is going to cancel it */
    connection->errors += write(connection->write_end, "x", 1) != 1;
    if (++connection->sent < BYTES) {
        connection->errors += verge_wheel_schedule(connection->wheel, now_ns + SEND_EVERY, &on_send, &timer) != 0;
    }
}

static void give_up(struct connection *connection, uint64_t now_ns) {
    (void)now_ns;
    connection->timeouts++;
}

static void receive_byte(struct connection *connection, uint64_t now_ns) {
    char byte;
    connection->errors += read(connection->read_end, &byte, 1) != 1;
    if (++connection->received < BYTES) {
        connection->errors +=
            verge_wheel_reschedule(connection->wheel, connection->timeout, now_ns + GIVE_UP_AFTER) != 0;
    } else {
        connection->errors += verge_wheel_cancel(connection->wheel, connection->timeout, NULL) != 0;
    }
}

/* How long epoll may sleep. Rounded up: to wake up a little late costs nothing, too early costs a turn for nothing. */
static int sleep_ms(const verge_wheel *wheel, uint64_t now_ns) {
    uint64_t wakeup_ns = verge_wheel_next_wakeup(wheel);
    if (wakeup_ns == VERGE_NEVER) {
        return -1; /* for ever: until something can be read */
    }
    uint64_t duration_ms = wakeup_ns <= now_ns ? 0 : (wakeup_ns - now_ns - 1) / MS + 1;
    return duration_ms < INT_MAX ? (int)duration_ms : INT_MAX;
}

static void run(struct connection *connection, int epoll) {
    verge_clock clock = verge_clock_monotonic();
    uint64_t now_ns = clock.now_ns(clock.context);
    while (verge_wheel_count(connection->wheel) > 0) {
        struct epoll_event event;
        int events = epoll_wait(epoll, &event, 1, sleep_ms(connection->wheel, now_ns));
        now_ns = clock.now_ns(clock.context); /* once a turn */
        if (events > 0) {                     /* what has arrived comes before what is overdue */
            receive_byte(connection, now_ns);
        }
        verge_expiry due[BATCH];
        size_t count =
            verge_wheel_poll(connection->wheel, now_ns, due, BATCH); /* more than BATCH: next turn, at once */
        for (size_t i = 0; i < count; i++) {
            connection->errors += due[i].deadline_ns > now_ns; /* never early */
            ((struct action *)due[i].data)->run(connection, now_ns);
        }
    }
}

int main(void) {
    verge_clock clock = verge_clock_monotonic();
    verge_wheel_options options;
    struct connection connection = {0};
    verge_timer timer;
    int ends[2];
    int epoll = epoll_create1(EPOLL_CLOEXEC);
    verge_wheel_options_init(&options);
    options.start_ns = clock.now_ns(clock.context);
    if (epoll < 0 || pipe(ends) != 0 || verge_wheel_create(&options, &connection.wheel) < 0) {
        return 1;
    }
    connection.read_end = ends[0];
    connection.write_end = ends[1];
    struct epoll_event readable = {.events = EPOLLIN};
    if (epoll_ctl(epoll, EPOLL_CTL_ADD, connection.read_end, &readable) != 0 ||
        verge_wheel_schedule(connection.wheel, options.start_ns + SEND_EVERY, &on_send, &timer) < 0 ||
        verge_wheel_schedule(connection.wheel, options.start_ns + GIVE_UP_AFTER, &on_timeout, &connection.timeout) <
            0) {
        return 1;
    }
    run(&connection, epoll);
    printf("sent %d, received %d, timeouts %d\n", connection.sent, connection.received, connection.timeouts);
    verge_wheel_destroy(connection.wheel);
    return connection.received == BYTES && connection.timeouts == 0 && connection.errors == 0 ? 0 : 1;
}
