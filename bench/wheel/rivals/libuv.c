/* SPDX-License-Identifier: MIT */
/* libuv on simulated time. Its uv_timer_t (in an array of its own) is a node of a binary heap. Times are in ms. */
#include <uv.h>

#include "../clock.h"
#include "../fail.h"
#include "../memory.h"
#include "../rival.h"
#include "../rivals.h"

#define MILLISECOND_NS UINT64_C(1000000)

struct adapter {
    uv_loop_t loop;
    uv_timer_t *timers;
    uint32_t id_count;
    uint64_t now_ms;
    struct bench_log *log;
};

static void fired(uv_timer_t *timer) {
    struct adapter *adapter = timer->loop->data;
    bench_log_fired(adapter->log, (uint32_t)(timer - adapter->timers));
}

/* Rounds up, so that no timer is early. Restarting an active timer moves it. */
static int adapter_schedule(void *self, uint32_t id, uint64_t deadline_ns) {
    struct adapter *adapter = self;
    uint64_t deadline_ms = (deadline_ns + MILLISECOND_NS - 1) / MILLISECOND_NS;
    uint64_t timeout_ms = deadline_ms > adapter->now_ms ? deadline_ms - adapter->now_ms : 0;
    return uv_timer_start(&adapter->timers[id], fired, timeout_ms, 0);
}

static int adapter_cancel(void *self, uint32_t id) {
    struct adapter *adapter = self;
    uv_timer_t *timer = &adapter->timers[id];
    if (!uv_is_active((const uv_handle_t *)timer)) {
        return -1;
    }
    uv_timer_stop(timer);
    return 0;
}

static void adapter_advance(void *self, uint64_t now_ns) {
    struct adapter *adapter = self;
    adapter->now_ms = now_ns / MILLISECOND_NS;
    bench_simulated_set(now_ns);
    uv_run(&adapter->loop, UV_RUN_NOWAIT);
}

static void *adapter_create(const struct bench_setup *setup) {
    bench_simulated_start(setup->start_ns);
    struct adapter *adapter = bench_memory_allocate(sizeof(*adapter), alignof(struct adapter));
    if (uv_loop_init(&adapter->loop) != 0) {
        bench_fail("libuv: no loop");
    }
    adapter->loop.data = adapter;
    adapter->log = setup->log;
    adapter->id_count = setup->id_count;
    adapter->timers = bench_memory_allocate(setup->id_count * sizeof(*adapter->timers), 64);
    for (uint32_t id = 0; id < setup->id_count; id++) {
        uv_timer_init(&adapter->loop, &adapter->timers[id]);
    }
    adapter_advance(adapter, setup->start_ns);
    uv_update_time(&adapter->loop);
    if (uv_now(&adapter->loop) != adapter->now_ms) {
        bench_fail("libuv does not follow simulated time");
    }
    return adapter;
}

/* Handles are closed by the loop, one round later. */
static void adapter_destroy(void *self) {
    struct adapter *adapter = self;
    for (uint32_t id = 0; id < adapter->id_count; id++) {
        uv_close((uv_handle_t *)&adapter->timers[id], NULL);
    }
    uv_run(&adapter->loop, UV_RUN_NOWAIT);
    uv_loop_close(&adapter->loop);
    bench_memory_release(adapter->timers, adapter->id_count * sizeof(*adapter->timers));
    bench_memory_release(adapter, sizeof(*adapter));
}

static uint64_t adapter_next(void *self) {
    const struct adapter *adapter = self;
    int timeout_ms = uv_backend_timeout(&adapter->loop);
    return timeout_ms < 0 ? UINT64_MAX : (adapter->now_ms + (uint64_t)timeout_ms) * MILLISECOND_NS;
}

static void adapter_footprint(void *self, struct bench_footprint *ret_footprint) {
    (void)self;
    *ret_footprint = (struct bench_footprint){.own_bytes = sizeof(uv_loop_t), .embedded_bytes = sizeof(uv_timer_t)};
}

const struct bench_rival bench_rival_libuv = {
    .name = "libuv",
    .flags = BENCH_RIVAL_SLOW,
    .lateness_ns = MILLISECOND_NS + BENCH_TICK_NS,
    .create = adapter_create,
    .destroy = adapter_destroy,
    .schedule = adapter_schedule,
    .cancel = adapter_cancel,
    .reschedule = adapter_schedule,
    .advance = adapter_advance,
    .next = adapter_next,
    .footprint = adapter_footprint,
};
