/* SPDX-License-Identifier: MIT */
/*
 * verge, twice: with handles, and with timeouts. The user's object has the handle or the timeout, and is the timer's
 * data. Timeouts are paused, not cancelled, as their objects stay.
 */
#include <verge/wheel.h>

#include "../clock.h"
#include "../fail.h"
#include "../memory.h"
#include "../rival.h"
#include "../rivals.h"

union user {
    verge_timer timer;
    verge_timeout timeout;
};

struct adapter {
    verge_wheel *wheel;
    struct bench_object *objects;
    struct bench_log *log;
    verge_allocator allocator;
};

static inline union user *user_of(struct adapter *adapter, uint32_t id) {
    return (union user *)(void *)&adapter->objects[id];
}

static void *allocate(void *context, size_t size, size_t alignment) {
    (void)context;
    return bench_memory_allocate(size, alignment);
}

static void release(void *context, void *memory, size_t size) {
    (void)context;
    bench_memory_release(memory, size);
}

static _Noreturn __attribute__((cold, noinline)) void fail(int result, const char *what) {
    bench_fail("verge: %s: %s", what, verge_strerror(result));
}

static inline void expect(int result, const char *what) {
    if (__builtin_expect(result < 0, 0)) {
        fail(result, what);
    }
}

static struct adapter *create(const struct bench_setup *setup, size_t timer_count, size_t timeout_count) {
    struct adapter *adapter = bench_memory_allocate(sizeof(*adapter), 64);
    adapter->objects = setup->objects;
    adapter->log = setup->log;
    adapter->allocator = (verge_allocator){.allocate = allocate, .release = release};
    verge_wheel_options options;
    expect(verge_wheel_options_init(&options, sizeof(options), VERGE_PRESET_DEFAULT), "options");
    options.start_ns = setup->start_ns;
    options.precision_ns = BENCH_TICK_NS;
    options.work_limit = setup->work_limit;
    options.allocator = &adapter->allocator;
    expect(verge_wheel_create(&options, &adapter->wheel), "create");
    if (setup->reserve) {
        expect(verge_wheel_reserve(adapter->wheel, timer_count, timeout_count), "reserve");
    }
    return adapter;
}

static void *handle_create(const struct bench_setup *setup) {
    return create(setup, setup->id_count, 0);
}

/* Each object has one timeout for all of its life. The timeout starts as zeroes: it is not pending. */
static void *timeout_create(const struct bench_setup *setup) {
    struct adapter *adapter = create(setup, 0, setup->id_count);
    for (uint32_t id = 0; id < setup->id_count; id++) {
        user_of(adapter, id)->timeout = (verge_timeout){0};
    }
    return adapter;
}

static void adapter_destroy(void *self) {
    struct adapter *adapter = self;
    verge_wheel_destroy(adapter->wheel);
    bench_memory_release(adapter, sizeof(*adapter));
}

static int handle_schedule(void *self, uint32_t id, uint64_t deadline_ns) {
    struct adapter *adapter = self;
    union user *user = user_of(adapter, id);
    return verge_wheel_start(adapter->wheel, deadline_ns, user, &user->timer);
}

static int handle_cancel(void *self, uint32_t id) {
    struct adapter *adapter = self;
    return verge_wheel_cancel(adapter->wheel, user_of(adapter, id)->timer, NULL);
}

static int handle_reschedule(void *self, uint32_t id, uint64_t deadline_ns) {
    struct adapter *adapter = self;
    union user *user = user_of(adapter, id);
    return verge_wheel_start_or_reset(adapter->wheel, &user->timer, deadline_ns, user);
}

static int timeout_set(void *self, uint32_t id, uint64_t deadline_ns) {
    struct adapter *adapter = self;
    return verge_timeout_start(adapter->wheel, &user_of(adapter, id)->timeout, deadline_ns);
}

static int timeout_stop(void *self, uint32_t id) {
    struct adapter *adapter = self;
    return verge_timeout_pause(adapter->wheel, &user_of(adapter, id)->timeout);
}

static void on_expiry(void *context, const verge_expiry *expiry) {
    struct adapter *adapter = context;
    const struct bench_object *object = expiry->data;
    bench_log_fired(adapter->log, (uint32_t)(object - adapter->objects));
}

static void adapter_advance(void *self, uint64_t now_ns) {
    struct adapter *adapter = self;
    (void)verge_wheel_run(adapter->wheel, now_ns, on_expiry, adapter);
}

static uint64_t adapter_next(void *self) {
    const struct adapter *adapter = self;
    return verge_wheel_next_wakeup(adapter->wheel);
}

static struct bench_footprint footprint(const struct adapter *adapter, size_t embedded_bytes) {
    verge_wheel_stats stats = {.struct_size = sizeof(stats)};
    expect(verge_wheel_get_stats(adapter->wheel, &stats), "stats");
    return (struct bench_footprint){
        .own_bytes = (size_t)stats.bytes,
        .embedded_bytes = embedded_bytes,
        .work = (size_t)stats.last_poll_work,
    };
}

static void handle_footprint(void *self, struct bench_footprint *ret_footprint) {
    *ret_footprint = footprint(self, sizeof(verge_timer));
}

static void timeout_footprint(void *self, struct bench_footprint *ret_footprint) {
    *ret_footprint = footprint(self, sizeof(verge_timeout));
}

const struct bench_rival bench_rival_verge = {
    .name = "verge",
    .flags = BENCH_RIVAL_WORK_LIMIT,
    .lateness_ns = BENCH_TICK_NS,
    .create = handle_create,
    .destroy = adapter_destroy,
    .schedule = handle_schedule,
    .cancel = handle_cancel,
    .reschedule = handle_reschedule,
    .advance = adapter_advance,
    .next = adapter_next,
    .footprint = handle_footprint,
};

const struct bench_rival bench_rival_verge_timeouts = {
    .name = "verge-timeouts",
    .flags = BENCH_RIVAL_WORK_LIMIT,
    .lateness_ns = BENCH_TICK_NS,
    .create = timeout_create,
    .destroy = adapter_destroy,
    .schedule = timeout_set,
    .cancel = timeout_stop,
    .reschedule = timeout_set,
    .advance = adapter_advance,
    .next = adapter_next,
    .footprint = timeout_footprint,
};
