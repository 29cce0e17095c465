/* SPDX-License-Identifier: MIT */
/*
 * A 4-ary heap with position index. The heap's array holds deadline and id, so that sifting compares without touching
 * objects; each move writes the timer's position into the user's object, so that cancel finds it. The four children
 * of a node share a cache line: node i is at index i + 3 of an aligned array.
 */
#include "../clock.h"
#include "../memory.h"
#include "../rival.h"
#include "../rivals.h"

enum {
    ARITY = 4,
    ROOT = ARITY - 1, /* parent(i) = (i - 4) / 4 + 3, children of i from 4 * (i - 3) + 4 */
    NOT_PENDING = 0,
};

struct entry {
    uint64_t deadline_ns;
    uint64_t id;
};

struct heap {
    struct entry *entries;
    uint32_t end; /* index after the last entry */
    uint32_t id_count;
    struct bench_object *objects;
    struct bench_log *log;
};

static inline uint32_t *position_of(struct heap *heap, uint64_t id) {
    return (uint32_t *)(void *)&heap->objects[id];
}

static inline void place(struct heap *heap, uint32_t index, struct entry entry) {
    heap->entries[index] = entry;
    *position_of(heap, entry.id) = index;
}

static void sift_up(struct heap *heap, uint32_t index, struct entry entry) {
    while (index > ROOT) {
        uint32_t parent = index / ARITY - 1 + ROOT;
        if (heap->entries[parent].deadline_ns <= entry.deadline_ns) {
            break;
        }
        place(heap, index, heap->entries[parent]);
        index = parent;
    }
    place(heap, index, entry);
}

static uint32_t smallest_child(const struct heap *heap, uint32_t first) {
    uint32_t smallest = first;
    uint32_t end = heap->end - first < ARITY ? heap->end : first + ARITY;
    for (uint32_t child = first + 1; child < end; child++) {
        if (heap->entries[child].deadline_ns < heap->entries[smallest].deadline_ns) {
            smallest = child;
        }
    }
    return smallest;
}

static void sift_down(struct heap *heap, uint32_t index, struct entry entry) {
    for (;;) {
        uint64_t first = (uint64_t)ARITY * (index - ROOT) + ROOT + 1;
        if (first >= heap->end) {
            break;
        }
        uint32_t child = smallest_child(heap, (uint32_t)first);
        if (entry.deadline_ns <= heap->entries[child].deadline_ns) {
            break;
        }
        place(heap, index, heap->entries[child]);
        index = child;
    }
    place(heap, index, entry);
}

static void sift(struct heap *heap, uint32_t index, struct entry entry) {
    if (index > ROOT && entry.deadline_ns < heap->entries[index / ARITY - 1 + ROOT].deadline_ns) {
        sift_up(heap, index, entry);
    } else {
        sift_down(heap, index, entry);
    }
}

static size_t entries_size(const struct heap *heap) {
    return ((size_t)heap->id_count + ROOT) * sizeof(struct entry);
}

static void *heap_create(const struct bench_setup *setup) {
    struct heap *heap = bench_memory_allocate(sizeof(*heap), alignof(struct heap));
    heap->id_count = setup->id_count;
    heap->entries = bench_memory_allocate(entries_size(heap), 64);
    heap->end = ROOT;
    heap->objects = setup->objects;
    heap->log = setup->log;
    return heap;
}

static void heap_destroy(void *self) {
    struct heap *heap = self;
    bench_memory_release(heap->entries, entries_size(heap));
    bench_memory_release(heap, sizeof(*heap));
}

static void heap_schedule(void *self, uint32_t id, uint64_t deadline_ns) {
    struct heap *heap = self;
    sift_up(heap, heap->end++, (struct entry){.deadline_ns = deadline_ns, .id = id});
}

static void remove_at(struct heap *heap, uint32_t index) {
    *position_of(heap, heap->entries[index].id) = NOT_PENDING;
    struct entry last = heap->entries[--heap->end];
    if (index != heap->end) {
        sift(heap, index, last);
    }
}

static bool heap_cancel(void *self, uint32_t id) {
    struct heap *heap = self;
    uint32_t index = *position_of(heap, id);
    if (index == NOT_PENDING) {
        return false;
    }
    remove_at(heap, index);
    return true;
}

static void heap_reschedule(void *self, uint32_t id, uint64_t deadline_ns) {
    struct heap *heap = self;
    uint32_t index = *position_of(heap, id);
    if (index == NOT_PENDING) {
        heap_schedule(heap, id, deadline_ns);
    } else {
        sift(heap, index, (struct entry){.deadline_ns = deadline_ns, .id = id});
    }
}

static void heap_advance(void *self, uint64_t now_ns) {
    struct heap *heap = self;
    while (heap->end > ROOT && heap->entries[ROOT].deadline_ns <= now_ns) {
        uint64_t id = heap->entries[ROOT].id;
        remove_at(heap, ROOT);
        bench_log_fired(heap->log, (uint32_t)id);
    }
}

static uint64_t heap_next(void *self) {
    const struct heap *heap = self;
    return heap->end > ROOT ? heap->entries[ROOT].deadline_ns : UINT64_MAX;
}

static void heap_footprint(void *self, struct bench_footprint *ret_footprint) {
    const struct heap *heap = self;
    *ret_footprint = (struct bench_footprint){
        .own_bytes = sizeof(*heap) + entries_size(heap),
        .embedded_bytes = sizeof(uint32_t),
    };
}

const struct bench_rival bench_rival_heap = {
    .name = "heap",
    .flags = BENCH_RIVAL_SLOW,
    .create = heap_create,
    .destroy = heap_destroy,
    .schedule = heap_schedule,
    .cancel = heap_cancel,
    .reschedule = heap_reschedule,
    .advance = heap_advance,
    .next = heap_next,
    .footprint = heap_footprint,
};
