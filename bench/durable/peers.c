/* SPDX-License-Identifier: MIT */
/*
 * verge-bench-durable-peers URL [--seconds N] [--fill N]: measures with verge what bench/peers/durable.js measures with
 * job queues of Node. Both print the same rows, with a tab between a row's name and its figure. bench/durable-peers-run
 * makes a table of them.
 *
 *   schedule     16 callers, one timer a call: timers a second
 *   many         one caller, 1,000 timers a call: timers a second
 *   no-ops       timers that are due, with handlers that do nothing: timers a second
 *   late RATE    timers started beforehand, RATE a second: median and 99 % of how late their handlers begin, in ms
 *
 * --fill: only starts N timers for tomorrow, and measures nothing.
 */
#define _GNU_SOURCE

#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "verge/durable.h"

#define S UINT64_C(1000000000)

enum { CALLERS = 16, BATCH = 1000 };

static const char *url;
static double seconds = 5;
static uint64_t fill;
static verge_durable *node;
static _Atomic(uint64_t) fired;
static _Atomic(uint64_t) made;
static _Atomic(bool) is_over;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static verge_histogram lateness;

static void check(bool holds, const char *what) {
    if (!holds) {
        (void)fprintf(stderr, "verge-bench-durable-peers: %s\n", what);
        exit(1);
    }
}

static uint64_t now_ns(void) {
    const verge_clock clock = verge_clock_realtime();
    return clock.now_ns(clock.context);
}

static void nap_ms(unsigned ms) {
    const struct timespec time = {.tv_sec = ms / 1000, .tv_nsec = (long)(ms % 1000) * 1000000L};
    (void)nanosleep(&time, NULL);
}

/* Notes lateness by the machine's clock, which is also the server's. The queues of Node are measured in the same
 * way. */
static verge_durable_verdict note(const verge_durable_firing *firing) {
    const uint64_t time_ns = now_ns();
    (void)pthread_mutex_lock(&lock);
    verge_histogram_record(&lateness, time_ns > firing->due_ns ? time_ns - firing->due_ns : 0, 1);
    (void)pthread_mutex_unlock(&lock);
    fired++;
    return VERGE_DURABLE_DONE;
}

static void open_node(bool is_client) {
    verge_durable_options options;
    (void)verge_durable_options_init(&options, sizeof(options));
    options.url = url;
    options.create = true;
    options.client = is_client;
    options.batch = 1024;
    check(verge_durable_open(&options, &node) == 0, "the store cannot be opened");
    if (!is_client) {
        check(verge_durable_register(node, "bench", note, NULL, NULL) == 0, "register");
    }
}

static void close_node(void) {
    check(verge_durable_close(node, VERGE_NEVER) == 0, "close");
}

static const verge_durable_request far = {.handler = "bench", .delay_ns = 86400 * S};

static void *schedule_one_by_one(void *argument) {
    (void)argument;
    while (!is_over) {
        check(verge_durable_start(node, &far, NULL) == 0, "schedule");
        made++;
    }
    return NULL;
}

static void schedule_many(uint64_t count, uint64_t first_ns, uint64_t apart_ns) {
    static verge_durable_request requests[BATCH];
    for (uint64_t done = 0; done < count; done += BATCH) {
        for (uint64_t i = 0; i < BATCH; i++) {
            requests[i] = far;
            if (first_ns != 0) {
                requests[i].delay_ns = 0;
                requests[i].due_ns = first_ns + (done + i) * apart_ns;
            }
        }
        check(verge_durable_start_many(node, requests, BATCH, NULL) == BATCH, "schedule_many");
    }
}

static void wait_for(uint64_t count) {
    const uint64_t began_ns = now_ns();
    while (fired < count) {
        check(now_ns() - began_ns < 300 * S, "timers do not fire");
        nap_ms(1);
    }
}

static void measure_schedule(void) {
    pthread_t threads[CALLERS];
    open_node(true);
    made = 0;
    is_over = false;
    const uint64_t began_ns = now_ns();
    for (int i = 0; i < CALLERS; i++) {
        check(pthread_create(&threads[i], NULL, schedule_one_by_one, NULL) == 0, "thread");
    }
    nap_ms((unsigned)(seconds * 1000));
    is_over = true;
    for (int i = 0; i < CALLERS; i++) {
        (void)pthread_join(threads[i], NULL);
    }
    printf("schedule\t%.0f\n", (double)made * 1e9 / (double)(now_ns() - began_ns));
    const uint64_t many_began_ns = now_ns();
    uint64_t many = 0;
    while (now_ns() - many_began_ns < (uint64_t)(seconds * 1e9)) {
        schedule_many(BATCH, 0, 0);
        many += BATCH;
    }
    printf("many\t%.0f\n", (double)many * 1e9 / (double)(now_ns() - many_began_ns));
    close_node();
}

/* Starts the timers before it opens the node that runs them. */
static void measure_no_ops(uint64_t count) {
    open_node(true);
    schedule_many(count, now_ns(), 0);
    close_node();
    fired = 0;
    const uint64_t began_ns = now_ns();
    open_node(false);
    wait_for(count);
    printf("no-ops\t%.0f\n", (double)count * 1e9 / (double)(now_ns() - began_ns));
    close_node();
}

static void measure_lateness(uint64_t rate) {
    open_node(false);
    nap_ms(3000); /* then the node has its shards, and has read its window */
    const uint64_t count = ((uint64_t)seconds * rate / BATCH + 1) * BATCH;
    fired = 0;
    (void)pthread_mutex_lock(&lock);
    verge_histogram_clear(&lateness);
    (void)pthread_mutex_unlock(&lock);
    schedule_many(count, now_ns() + 3 * S, S / rate);
    wait_for(count);
    printf("late %" PRIu64 "\t%.1f\n", rate, (double)verge_histogram_quantile(&lateness, 0.5) / 1e6);
    printf("late %" PRIu64 ", 99 %%\t%.1f\n", rate, (double)verge_histogram_quantile(&lateness, 0.99) / 1e6);
    close_node();
}

int main(int argc, char **argv) {
    if (argc < 2) {
        (void)fprintf(stderr, "usage: verge-bench-durable-peers URL [--seconds N] [--fill N]\n");
        return 2;
    }
    url = argv[1];
    for (int i = 2; i + 1 < argc; i += 2) {
        if (strcmp(argv[i], "--seconds") == 0) {
            seconds = strtod(argv[i + 1], NULL);
        } else if (strcmp(argv[i], "--fill") == 0) {
            fill = strtoull(argv[i + 1], NULL, 10);
        }
    }
    setvbuf(stdout, NULL, _IOLBF, 0);
    if (fill > 0) {
        open_node(true);
        schedule_many(fill, 0, 0);
        close_node();
        return 0;
    }
    measure_schedule();
    measure_no_ops((uint64_t)(seconds * 20000) / BATCH * BATCH);
    measure_lateness(500);
    measure_lateness(2000);
    return 0;
}
