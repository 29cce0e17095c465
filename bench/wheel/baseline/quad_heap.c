/* SPDX-License-Identifier: MIT */
/* The four children of a node share a cache line: node i is at index i + 3 of an aligned array. */
#include "quad_heap.h"

enum {
    ARITY = 4,
    ROOT = ARITY - 1, /* index n has its parent at (n - 4) / 4 + 3, and children from 4 * (n - 3) + 4 on */
    NOT_PENDING = 0,
};

static inline void place(struct quad_heap *heap, uint32_t index, struct quad_heap_entry entry) {
    heap->entries[index] = entry;
    entry.node->position = index;
}

static void sift_up(struct quad_heap *heap, uint32_t index, struct quad_heap_entry entry) {
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

static uint32_t smallest_child(const struct quad_heap *heap, uint32_t first) {
    uint32_t smallest = first;
    uint32_t end = heap->end - first < ARITY ? heap->end : first + ARITY;
    for (uint32_t child = first + 1; child < end; child++) {
        if (heap->entries[child].deadline_ns < heap->entries[smallest].deadline_ns) {
            smallest = child;
        }
    }
    return smallest;
}

static void sift_down(struct quad_heap *heap, uint32_t index, struct quad_heap_entry entry) {
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

static void sift(struct quad_heap *heap, uint32_t index, struct quad_heap_entry entry) {
    if (index > ROOT && entry.deadline_ns < heap->entries[index / ARITY - 1 + ROOT].deadline_ns) {
        sift_up(heap, index, entry);
    } else {
        sift_down(heap, index, entry);
    }
}

static void remove_at(struct quad_heap *heap, uint32_t index) {
    heap->entries[index].node->position = NOT_PENDING;
    struct quad_heap_entry last = heap->entries[--heap->end];
    if (index != heap->end) {
        sift(heap, index, last);
    }
}

size_t quad_heap_memory_size(uint32_t capacity) {
    return ((size_t)capacity + ROOT) * sizeof(struct quad_heap_entry);
}

void quad_heap_init(struct quad_heap *heap, void *memory) {
    *heap = (struct quad_heap){.entries = memory, .end = ROOT};
}

int quad_heap_schedule(struct quad_heap *heap, struct quad_heap_node *node, uint64_t deadline_ns) {
    sift_up(heap, heap->end++, (struct quad_heap_entry){.deadline_ns = deadline_ns, .node = node});
    return 0;
}

int quad_heap_cancel(struct quad_heap *heap, struct quad_heap_node *node) {
    if (node->position == NOT_PENDING) {
        return -1;
    }
    remove_at(heap, node->position);
    return 0;
}

int quad_heap_reschedule(struct quad_heap *heap, struct quad_heap_node *node, uint64_t deadline_ns) {
    if (node->position == NOT_PENDING) {
        return quad_heap_schedule(heap, node, deadline_ns);
    }
    sift(heap, node->position, (struct quad_heap_entry){.deadline_ns = deadline_ns, .node = node});
    return 0;
}

static inline bool is_due(const struct quad_heap *heap, uint64_t now_ns) {
    return heap->end > ROOT && heap->entries[ROOT].deadline_ns <= now_ns;
}

static __attribute__((noinline)) void fire_due(struct quad_heap *heap, uint64_t now_ns, quad_heap_fired *on_fired,
                                               void *context) {
    do {
        struct quad_heap_node *node = heap->entries[ROOT].node;
        remove_at(heap, ROOT);
        on_fired(context, node);
    } while (is_due(heap, now_ns));
}

/* Kept small: if nothing is due, no registers need to be saved. */
void quad_heap_advance(struct quad_heap *heap, uint64_t now_ns, quad_heap_fired *on_fired, void *context) {
    if (is_due(heap, now_ns)) {
        fire_due(heap, now_ns, on_fired, context);
    }
}

uint64_t quad_heap_next(const struct quad_heap *heap) {
    return heap->end > ROOT ? heap->entries[ROOT].deadline_ns : UINT64_MAX;
}
