/* SPDX-License-Identifier: MIT */
/*
 * Lateness at half load. 5,000 timers start themselves again after 1 to 99 ms: 100,000 callbacks a second, each of
 * which works for 5 us. How late do they begin? This is compared with a heap and a timerfd, and with a libuv loop. All
 * callbacks are on one thread. So a callback is also late because others are due at the same moment; this holds
 * for all three.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <verge/service.h>

#include "baseline/quad_heap.h"
#include "figures.h"
#include "random.h"

#if BENCH_HAVE_UV
#include <uv.h>
#endif

enum { TIMERS = 5000 };

#define MS UINT64_C(1000000)
#define WORK_NS UINT64_C(5000)

struct load {
    verge_histogram lateness;
    struct bench_random random;
    uint64_t until_ns;
    uint64_t fired;
};

static struct load load;

static void begin_load(uint64_t seconds) {
    memset(&load, 0, sizeof(load));
    load.random.state = 42;
    load.until_ns = wall_ns() + seconds * 1000 * MS;
}

/* What a callback does. Returns when the timer is to run next. */
static uint64_t work(uint64_t deadline_ns) {
    uint64_t now_ns = wall_ns();
    must(now_ns >= deadline_ns, "a timer ran early");
    verge_histogram_record(&load.lateness, now_ns - deadline_ns, 1);
    load.fired++;
    while (wall_ns() - now_ns < WORK_NS) {
    }
    return now_ns + MS + bench_random_next(&load.random) % (98 * MS);
}

static void report(const char *who, uint64_t seconds) {
    char name[64];
    const struct {
        const char *name;
        double quantile;
    } rows[] = {{"p50", 0.5}, {"p99", 0.99}, {"p99.9", 0.999}};
    (void)snprintf(name, sizeof(name), "%s: callbacks a second", who);
    figure(name, (double)load.fired / (double)seconds, "");
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        (void)snprintf(name, sizeof(name), "%s: %s", who, rows[i].name);
        figure(name, (double)verge_histogram_quantile(&load.lateness, rows[i].quantile) / 1000, "us");
    }
    (void)snprintf(name, sizeof(name), "%s: max", who);
    figure(name, (double)verge_histogram_quantile(&load.lateness, 1) / 1000, "us");
    must(load.fired > 10000 * seconds, "the load was there");
}

/* ---- verge ---- */

static void again(const verge_firing *firing) {
    uint64_t next_ns = work(firing->scheduled_ns);
    must(verge_service_reset(firing->service, firing->timer, next_ns) == VERGE_RUNNING, "reset");
}

static void measure_verge(uint64_t seconds, uint64_t precision_ns, bool metronome, const char *who) {
    verge_service_options options;
    must(verge_service_options_init(&options, sizeof(options)) == 0, "options");
    options.thread_count = 0;
    options.precision_ns = precision_ns;
    options.metronome = metronome;
    verge_service *service = NULL;
    verge_worker *worker = NULL;
    must(verge_service_create(&options, &service) == 0 && verge_worker_join(service, NULL, &worker) == 0, "create");
    begin_load(seconds);
    for (size_t i = 0; i < TIMERS; i++) {
        uint64_t delay_ns = MS + bench_random_next(&load.random) % (98 * MS);
        must(verge_service_start_after(service, delay_ns, again, NULL, NULL) == 0, "start");
    }
    while (wall_ns() < load.until_ns) {
        must(verge_worker_run_once(worker, load.until_ns) >= 0, "pass");
    }
    must(verge_worker_leave(worker) == 0 && verge_service_destroy(service, NULL, NULL) == 0, "destroy");
    report(who, seconds);
}

/* ---- a heap and a timerfd ---- */

struct heap_timer {
    struct quad_heap_node node;
    uint64_t deadline_ns;
};

static struct quad_heap heap;

static void heap_again(void *context, struct quad_heap_node *node) {
    (void)context;
    struct heap_timer *timer = (struct heap_timer *)(void *)node;
    timer->deadline_ns = work(timer->deadline_ns);
    quad_heap_schedule(&heap, node, timer->deadline_ns);
}

static void measure_timerfd(uint64_t seconds) {
    struct heap_timer *timers = calloc(TIMERS, sizeof(*timers));
    void *memory = aligned_alloc(64, (quad_heap_memory_size(TIMERS) + 63) / 64 * 64);
    int clock_fd = timerfd_create(CLOCK_MONOTONIC, 0);
    int epoll_fd = epoll_create1(0);
    struct epoll_event event = {.events = EPOLLIN};
    must(timers != NULL && memory != NULL && epoll_ctl(epoll_fd, EPOLL_CTL_ADD, clock_fd, &event) == 0, "timerfd");
    quad_heap_init(&heap, memory);
    begin_load(seconds);
    for (size_t i = 0; i < TIMERS; i++) {
        timers[i].deadline_ns = wall_ns() + MS + bench_random_next(&load.random) % (98 * MS);
        quad_heap_schedule(&heap, &timers[i].node, timers[i].deadline_ns);
    }
    while (wall_ns() < load.until_ns) {
        quad_heap_advance(&heap, wall_ns(), heap_again, NULL);
        uint64_t next_ns = quad_heap_next(&heap);
        const struct itimerspec at = {
            .it_value = {.tv_sec = (time_t)(next_ns / (1000 * MS)), .tv_nsec = (long)(next_ns % (1000 * MS))}};
        must(timerfd_settime(clock_fd, TFD_TIMER_ABSTIME, &at, NULL) == 0, "timerfd_settime");
        (void)epoll_wait(epoll_fd, &event, 1, 100);
    }
    (void)close(clock_fd);
    (void)close(epoll_fd);
    free(memory);
    free(timers);
    report("heap + timerfd", seconds);
}

/* ---- libuv ---- */

#if BENCH_HAVE_UV
struct uv_again {
    uv_timer_t timer;
    uint64_t deadline_ns;
};

static void on_uv_timer(uv_timer_t *timer);

/* libuv counts whole milliseconds of wall_ns. Rounds up, so that no timer is early. */
static void start_uv(struct uv_again *self, uint64_t deadline_ns) {
    uv_update_time(self->timer.loop);
    uint64_t deadline_ms = (deadline_ns + MS - 1) / MS;
    uint64_t now_ms = uv_now(self->timer.loop);
    self->deadline_ns = deadline_ns;
    must(uv_timer_start(&self->timer, on_uv_timer, deadline_ms > now_ms ? deadline_ms - now_ms : 0, 0) == 0,
         "uv_timer_start");
}

static void on_uv_timer(uv_timer_t *timer) {
    struct uv_again *self = timer->data;
    uint64_t next_ns = work(self->deadline_ns);
    if (next_ns >= load.until_ns) {
        uv_close((uv_handle_t *)timer, NULL);
        return;
    }
    start_uv(self, next_ns);
}

static void measure_uv(uint64_t seconds) {
    struct uv_again *timers = calloc(TIMERS, sizeof(*timers));
    uv_loop_t loop;
    must(timers != NULL && uv_loop_init(&loop) == 0, "libuv");
    begin_load(seconds);
    for (size_t i = 0; i < TIMERS; i++) {
        must(uv_timer_init(&loop, &timers[i].timer) == 0, "uv_timer_init");
        timers[i].timer.data = &timers[i];
        start_uv(&timers[i], wall_ns() + MS + bench_random_next(&load.random) % (98 * MS));
    }
    (void)uv_run(&loop, UV_RUN_DEFAULT);
    must(uv_loop_close(&loop) == 0, "uv_loop_close");
    free(timers);
    report("libuv", seconds);
}
#endif

void measure_lateness(struct plan *plan) {
    uint64_t seconds = plan->is_quick ? 1 : 8;
    heading("lateness: 100,000 callbacks a second of 5 us each, one thread");
    measure_verge(seconds, UINT64_C(1) << 20, true, "verge, 1 ms");
    measure_verge(seconds, UINT64_C(1) << 20, false, "verge, 1 ms, no metronome");
    measure_verge(seconds, UINT64_C(1) << 16, true, "verge, 65 us");
    measure_timerfd(seconds);
#if BENCH_HAVE_UV
    measure_uv(seconds);
#endif
}
