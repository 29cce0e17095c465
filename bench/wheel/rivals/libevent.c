/* SPDX-License-Identifier: MIT */
/* libevent on simulated time, without locks. Its struct event (in an array of its own) is kept in a binary heap. */
#include <event2/event.h>
#include <event2/event_struct.h>

#include "../clock.h"
#include "../fail.h"
#include "../memory.h"
#include "../rival.h"
#include "../rivals.h"

struct adapter {
    struct event_base *base;
    struct event *events;
    uint32_t id_count;
    uint64_t now_us;
    struct bench_log *log;
};

static struct adapter *only_adapter; /* a static variable, as a callback gets its event only */

static void *allocate(size_t size) {
    return bench_memory_resize(NULL, size == 0 ? 1 : size);
}

static void *resize(void *memory, size_t size) {
    return bench_memory_resize(memory, size == 0 ? 1 : size);
}

static void release(void *memory) {
    if (memory != NULL) {
        bench_memory_resize(memory, 0);
    }
}

static void fired(evutil_socket_t socket, short what, void *argument) {
    (void)socket;
    (void)what;
    const struct event *event = argument;
    bench_log_fired(only_adapter->log, (uint32_t)(event - only_adapter->events));
}

/* Rounds up, so that no timer is early. Adding a pending event moves it. */
static int adapter_schedule(void *self, uint32_t id, uint64_t deadline_ns) {
    struct adapter *adapter = self;
    uint64_t deadline_us = (deadline_ns + 999) / 1000;
    uint64_t timeout_us = deadline_us > adapter->now_us ? deadline_us - adapter->now_us : 0;
    struct timeval timeout = {
        .tv_sec = (time_t)(timeout_us / 1000000),
        .tv_usec = (suseconds_t)(timeout_us % 1000000),
    };
    return event_add(&adapter->events[id], &timeout);
}

static int adapter_cancel(void *self, uint32_t id) {
    struct adapter *adapter = self;
    struct event *event = &adapter->events[id];
    if (!event_pending(event, EV_TIMEOUT, NULL)) {
        return -1;
    }
    event_del(event);
    return 0;
}

static void adapter_advance(void *self, uint64_t now_ns) {
    struct adapter *adapter = self;
    adapter->now_us = now_ns / 1000;
    bench_simulated_set(now_ns);
    event_base_loop(adapter->base, EVLOOP_NONBLOCK | EVLOOP_ONCE);
}

static struct event_base *create_base(void) {
    event_set_mem_functions(allocate, resize, release);
    struct event_config *config = event_config_new();
    if (config == NULL || event_config_set_flag(config, EVENT_BASE_FLAG_NOLOCK | EVENT_BASE_FLAG_IGNORE_ENV) != 0) {
        bench_fail("libevent: no configuration");
    }
    struct event_base *base = event_base_new_with_config(config);
    event_config_free(config);
    if (base == NULL) {
        bench_fail("libevent: no base");
    }
    return base;
}

static void *adapter_create(const struct bench_setup *setup) {
    bench_simulated_start(setup->start_ns);
    struct adapter *adapter = bench_memory_allocate(sizeof(*adapter), alignof(struct adapter));
    adapter->base = create_base();
    adapter->log = setup->log;
    adapter->id_count = setup->id_count;
    adapter->events = bench_memory_allocate(setup->id_count * sizeof(*adapter->events), 64);
    only_adapter = adapter;
    for (uint32_t id = 0; id < setup->id_count; id++) {
        event_assign(&adapter->events[id], adapter->base, -1, 0, fired, &adapter->events[id]);
    }
    adapter_advance(adapter, setup->start_ns);
    struct timeval seen;
    event_base_gettimeofday_cached(adapter->base, &seen);
    if ((uint64_t)seen.tv_sec != setup->start_ns / 1000000000) {
        bench_fail("libevent does not follow simulated time");
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
    for (uint32_t id = 0; id < adapter->id_count; id++) {
        event_del(&adapter->events[id]);
    }
    event_base_free(adapter->base);
    bench_memory_release(adapter->events, adapter->id_count * sizeof(*adapter->events));
    bench_memory_release(adapter, sizeof(*adapter));
}

/* The heap's array has a pointer for each timer. */
static void adapter_footprint(void *self, struct bench_footprint *ret_footprint) {
    const struct adapter *adapter = self;
    *ret_footprint = (struct bench_footprint){
        .own_bytes = adapter->id_count * sizeof(void *),
        .embedded_bytes = sizeof(struct event),
    };
}

const struct bench_rival bench_rival_libevent = {
    .name = "libevent",
    .flags = BENCH_RIVAL_SLOW,
    .lateness_ns = BENCH_TICK_NS,
    .create = adapter_create,
    .destroy = adapter_destroy,
    .schedule = adapter_schedule,
    .cancel = adapter_cancel,
    .reschedule = adapter_schedule,
    .advance = adapter_advance,
    .footprint = adapter_footprint,
};
