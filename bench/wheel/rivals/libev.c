/* SPDX-License-Identifier: MIT */
/* libev on simulated time. Its ev_timer (in an array of its own) is kept in a 4-ary heap; seconds are doubles. */
#include <ev.h>

#include "../clock.h"
#include "../fail.h"
#include "../memory.h"
#include "../rival.h"
#include "../rivals.h"

struct adapter {
    struct ev_loop *loop;
    ev_timer *timers;
    uint32_t id_count;
    uint64_t now_ns;
    struct bench_log *log;
};

static void *resize(void *memory, long size) {
    return bench_memory_resize(memory, (size_t)size);
}

static void fired(struct ev_loop *loop, ev_timer *timer, int events) {
    (void)events;
    struct adapter *adapter = ev_userdata(loop);
    bench_log_fired(adapter->log, (uint32_t)(timer - adapter->timers));
}

/* libev adds durations to the time of its last round. */
static ev_tstamp seconds_until(const struct adapter *adapter, uint64_t deadline_ns) {
    return ((double)deadline_ns - (double)adapter->now_ns) * 1e-9;
}

static int adapter_schedule(void *self, uint32_t id, uint64_t deadline_ns) {
    struct adapter *adapter = self;
    ev_timer *timer = &adapter->timers[id];
    ev_timer_set(timer, seconds_until(adapter, deadline_ns), 0.);
    ev_timer_start(adapter->loop, timer);
    return 0;
}

static int adapter_cancel(void *self, uint32_t id) {
    struct adapter *adapter = self;
    ev_timer *timer = &adapter->timers[id];
    if (!ev_is_active(timer)) {
        return -1;
    }
    ev_timer_stop(adapter->loop, timer);
    return 0;
}

/* ev_timer_again moves a timer in place, by its repeat value. This value must be 0 again when the timer fires. */
static int adapter_reschedule(void *self, uint32_t id, uint64_t deadline_ns) {
    struct adapter *adapter = self;
    ev_timer *timer = &adapter->timers[id];
    if (!ev_is_active(timer)) {
        return adapter_schedule(self, id, deadline_ns);
    }
    timer->repeat = seconds_until(adapter, deadline_ns);
    ev_timer_again(adapter->loop, timer);
    timer->repeat = 0.;
    return 0;
}

static void adapter_advance(void *self, uint64_t now_ns) {
    struct adapter *adapter = self;
    adapter->now_ns = now_ns;
    bench_simulated_set(now_ns);
    ev_run(adapter->loop, EVRUN_NOWAIT);
}

static void *adapter_create(const struct bench_setup *setup) {
    ev_set_allocator(resize);
    bench_simulated_start(setup->start_ns);
    struct adapter *adapter = bench_memory_allocate(sizeof(*adapter), alignof(struct adapter));
    adapter->loop = ev_loop_new(EVBACKEND_EPOLL | EVFLAG_NOENV);
    if (adapter->loop == NULL) {
        bench_fail("libev: no loop");
    }
    ev_set_userdata(adapter->loop, adapter);
    adapter->log = setup->log;
    adapter->id_count = setup->id_count;
    adapter->now_ns = setup->start_ns;
    adapter->timers = bench_memory_allocate(setup->id_count * sizeof(*adapter->timers), 64);
    for (uint32_t id = 0; id < setup->id_count; id++) {
        ev_timer_init(&adapter->timers[id], fired, 0., 0.);
    }
    adapter_advance(adapter, setup->start_ns);
    ev_tstamp seen = ev_now(adapter->loop) - (double)setup->start_ns * 1e-9;
    if (seen > 1e-3 || seen < -1e-3) {
        bench_fail("libev does not follow simulated time");
    }
    if (setup->reserve) {
        for (uint32_t id = 0; id < setup->id_count; id++) {
            adapter_schedule(adapter, id, setup->start_ns + BENCH_TICK_NS);
        }
        for (uint32_t id = setup->id_count; id-- > 0;) {
            adapter_cancel(adapter, id);
        }
    }
    return adapter;
}

static void adapter_destroy(void *self) {
    struct adapter *adapter = self;
    ev_loop_destroy(adapter->loop);
    bench_memory_release(adapter->timers, adapter->id_count * sizeof(*adapter->timers));
    bench_memory_release(adapter, sizeof(*adapter));
}

/* The heap's array has a time and a pointer for each timer. */
static void adapter_footprint(void *self, struct bench_footprint *ret_footprint) {
    const struct adapter *adapter = self;
    *ret_footprint = (struct bench_footprint){
        .own_bytes = adapter->id_count * (sizeof(ev_tstamp) + sizeof(void *)),
        .embedded_bytes = sizeof(ev_timer),
    };
}

const struct bench_rival bench_rival_libev = {
    .name = "libev",
    .flags = BENCH_RIVAL_SLOW,
    .lateness_ns = BENCH_TICK_NS, /* a timer fires only when now is after its deadline */
    .create = adapter_create,
    .destroy = adapter_destroy,
    .schedule = adapter_schedule,
    .cancel = adapter_cancel,
    .reschedule = adapter_reschedule,
    .advance = adapter_advance,
    .footprint = adapter_footprint,
};
