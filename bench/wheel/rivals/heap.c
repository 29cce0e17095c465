/* SPDX-License-Identifier: MIT */
/* A heap, baseline/quad_heap.h: the user's object embeds the node, which is a position. */
#include "../baseline/quad_heap.h"

#include "../memory.h"
#include "../rival.h"
#include "../rivals.h"

struct user {
    struct quad_heap_node node;
};

struct adapter {
    struct quad_heap heap;
    struct bench_object *objects;
    struct bench_log *log;
    void *heap_memory;
    uint32_t id_count;
};

static inline struct quad_heap_node *node_of(struct adapter *adapter, uint32_t id) {
    struct user *user = (struct user *)(void *)&adapter->objects[id];
    return &user->node;
}

static void *adapter_create(const struct bench_setup *setup) {
    struct adapter *adapter = bench_memory_allocate(sizeof(*adapter), 64);
    adapter->objects = setup->objects;
    adapter->log = setup->log;
    adapter->id_count = setup->id_count;
    adapter->heap_memory = bench_memory_allocate(quad_heap_memory_size(setup->id_count), 64);
    quad_heap_init(&adapter->heap, adapter->heap_memory);
    return adapter;
}

static void adapter_destroy(void *self) {
    struct adapter *adapter = self;
    bench_memory_release(adapter->heap_memory, quad_heap_memory_size(adapter->id_count));
    bench_memory_release(adapter, sizeof(*adapter));
}

static int adapter_schedule(void *self, uint32_t id, uint64_t deadline_ns) {
    struct adapter *adapter = self;
    return quad_heap_schedule(&adapter->heap, node_of(adapter, id), deadline_ns);
}

static int adapter_cancel(void *self, uint32_t id) {
    struct adapter *adapter = self;
    return quad_heap_cancel(&adapter->heap, node_of(adapter, id));
}

static int adapter_reschedule(void *self, uint32_t id, uint64_t deadline_ns) {
    struct adapter *adapter = self;
    return quad_heap_reschedule(&adapter->heap, node_of(adapter, id), deadline_ns);
}

static void on_fired(void *context, struct quad_heap_node *node) {
    struct adapter *adapter = context;
    const struct bench_object *object = (const struct bench_object *)(const void *)node;
    bench_log_fired(adapter->log, (uint32_t)(object - adapter->objects));
}

static void adapter_advance(void *self, uint64_t now_ns) {
    struct adapter *adapter = self;
    quad_heap_advance(&adapter->heap, now_ns, on_fired, adapter);
}

static uint64_t adapter_next(void *self) {
    const struct adapter *adapter = self;
    return quad_heap_next(&adapter->heap);
}

static void adapter_footprint(void *self, struct bench_footprint *ret_footprint) {
    const struct adapter *adapter = self;
    *ret_footprint = (struct bench_footprint){
        .own_bytes = sizeof(adapter->heap) + quad_heap_memory_size(adapter->id_count),
        .embedded_bytes = sizeof(struct user),
    };
}

const struct bench_rival bench_rival_heap = {
    .name = "heap",
    .flags = BENCH_RIVAL_SLOW,
    .create = adapter_create,
    .destroy = adapter_destroy,
    .schedule = adapter_schedule,
    .cancel = adapter_cancel,
    .reschedule = adapter_reschedule,
    .advance = adapter_advance,
    .next = adapter_next,
    .footprint = adapter_footprint,
};
