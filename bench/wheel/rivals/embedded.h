/* SPDX-License-Identifier: MIT */
/*
 * bench/wheel/rivals/embedded.h - the adapter of a library whose nodes the user's object embeds. Define these before
 * you include it: LIBRARY, the prefix of its functions and the name of its struct; NODE, the struct of a node; RIVAL,
 * the table; and NAME, the name in reports.
 */
#include "../clock.h"
#include "../memory.h"
#include "../rival.h"
#include "../rivals.h"

#define PASTED(a, b) a##b
#define JOINED(a, b) PASTED(a, b)
#define CALL(name) JOINED(LIBRARY, name)

struct adapter {
    struct bench_object *objects;
    struct bench_log *log;
    struct LIBRARY library;
};

static inline struct NODE *node_of(struct adapter *adapter, uint32_t id) {
    return (struct NODE *)(void *)&adapter->objects[id];
}

static void *adapter_create(const struct bench_setup *setup) {
    struct adapter *adapter = bench_memory_allocate(sizeof(*adapter), alignof(struct adapter));
    adapter->objects = setup->objects;
    adapter->log = setup->log;
    CALL(_init)(&adapter->library, setup->start_ns);
    return adapter;
}

static void adapter_destroy(void *self) {
    bench_memory_release(self, sizeof(struct adapter));
}

static int adapter_schedule(void *self, uint32_t id, uint64_t deadline_ns) {
    struct adapter *adapter = self;
    return CALL(_schedule)(&adapter->library, node_of(adapter, id), deadline_ns);
}

static int adapter_cancel(void *self, uint32_t id) {
    struct adapter *adapter = self;
    return CALL(_cancel)(&adapter->library, node_of(adapter, id));
}

static int adapter_reschedule(void *self, uint32_t id, uint64_t deadline_ns) {
    struct adapter *adapter = self;
    return CALL(_reschedule)(&adapter->library, node_of(adapter, id), deadline_ns);
}

static void on_fired(void *context, struct NODE *node) {
    struct adapter *adapter = context;
    const struct bench_object *object = (const struct bench_object *)(const void *)node;
    bench_log_fired(adapter->log, (uint32_t)(object - adapter->objects));
}

static void adapter_advance(void *self, uint64_t now_ns) {
    struct adapter *adapter = self;
    CALL(_advance)(&adapter->library, now_ns, on_fired, adapter);
}

static uint64_t adapter_next(void *self) {
    const struct adapter *adapter = self;
    return CALL(_next)(&adapter->library);
}

static void adapter_footprint(void *self, struct bench_footprint *ret_footprint) {
    (void)self;
    *ret_footprint = (struct bench_footprint){
        .own_bytes = sizeof(struct LIBRARY),
        .embedded_bytes = sizeof(struct NODE),
    };
}

const struct bench_rival RIVAL = {
    .name = NAME,
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
