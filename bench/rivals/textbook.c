/* SPDX-License-Identifier: MIT */
/* The baseline, baseline/textbook_wheel.h: the user's object embeds the node. */
#include "../baseline/textbook_wheel.h"

#include "../clock.h"
#include "../memory.h"
#include "../rival.h"
#include "../rivals.h"

_Static_assert((int)TEXTBOOK_WHEEL_TICK_SHIFT == (int)BENCH_TICK_SHIFT, "one tick for everybody");

struct user {
    struct textbook_wheel_node node;
};

struct adapter {
    struct bench_object *objects;
    struct bench_log *log;
    struct textbook_wheel wheel;
};

static inline struct textbook_wheel_node *node_of(struct adapter *adapter, uint32_t id) {
    struct user *user = (struct user *)(void *)&adapter->objects[id];
    return &user->node;
}

static void *adapter_create(const struct bench_setup *setup) {
    struct adapter *adapter = bench_memory_allocate(sizeof(*adapter), alignof(struct adapter));
    adapter->objects = setup->objects;
    adapter->log = setup->log;
    textbook_wheel_init(&adapter->wheel, setup->start_ns);
    return adapter;
}

static void adapter_destroy(void *self) {
    bench_memory_release(self, sizeof(struct adapter));
}

static int adapter_schedule(void *self, uint32_t id, uint64_t deadline_ns) {
    struct adapter *adapter = self;
    return textbook_wheel_schedule(&adapter->wheel, node_of(adapter, id), deadline_ns);
}

static int adapter_cancel(void *self, uint32_t id) {
    struct adapter *adapter = self;
    return textbook_wheel_cancel(&adapter->wheel, node_of(adapter, id));
}

static int adapter_reschedule(void *self, uint32_t id, uint64_t deadline_ns) {
    struct adapter *adapter = self;
    return textbook_wheel_reschedule(&adapter->wheel, node_of(adapter, id), deadline_ns);
}

static void on_fired(void *context, struct textbook_wheel_node *node) {
    struct adapter *adapter = context;
    const struct bench_object *object = (const struct bench_object *)(const void *)node;
    bench_log_fired(adapter->log, (uint32_t)(object - adapter->objects));
}

static void adapter_advance(void *self, uint64_t now_ns) {
    struct adapter *adapter = self;
    textbook_wheel_advance(&adapter->wheel, now_ns, on_fired, adapter);
}

static uint64_t adapter_next(void *self) {
    const struct adapter *adapter = self;
    return textbook_wheel_next(&adapter->wheel);
}

static void adapter_footprint(void *self, struct bench_footprint *ret_footprint) {
    (void)self;
    *ret_footprint = (struct bench_footprint){
        .own_bytes = sizeof(struct textbook_wheel),
        .embedded_bytes = sizeof(struct user),
    };
}

const struct bench_rival bench_rival_textbook = {
    .name = "textbook",
    .lateness_ns = BENCH_TICK_NS,
    .create = adapter_create,
    .destroy = adapter_destroy,
    .schedule = adapter_schedule,
    .cancel = adapter_cancel,
    .reschedule = adapter_reschedule,
    .advance = adapter_advance,
    .next = adapter_next,
    .footprint = adapter_footprint,
};
