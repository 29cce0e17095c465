/* SPDX-License-Identifier: MIT */
/*
 * task/ring.h - ready tasks that may run on any worker. One worker, the owner of the ring, puts tasks in. Any worker
 * takes them out.
 *
 *     slots     ... | taken | oldest | ... | newest | free | ...
 *                             ^head                   ^tail          both only grow; a slot is index % VERGE__RING_SIZE
 *
 *   R1  Only the owner writes `tail`, and the slots from tail to head + VERGE__RING_SIZE. It first stores a slot, and
 *       then the tail that includes the slot (release). So a worker that has read this tail (acquire) reads the task
 *       that was stored in the slot.
 *   R2  A worker takes tasks by moving `head` past their slots, by a compare-and-swap. Of all workers that try, one
 *       succeeds, and the tasks between the old and the new head are its own. It reads the slots before the
 *       compare-and-swap. If this succeeds, head has not moved meanwhile. So the owner has not written to these slots
 *       again (R1), and the values are right.
 *   R3  A task that yields is pushed before its worker has left the task's stack. The machine code that switches stacks
 *       clears `is_live` of the context after the last use of the stack (release). A worker that takes a task of
 *       another worker checks is_live (acquire) before the compare-and-swap. While a task is in a ring, is_live may
 *       become false, but never true: only the worker that has taken the task sets it.
 *
 * No worker waits for another: a compare-and-swap fails only because another one has succeeded, or spuriously.
 */
#ifndef VERGE_SRC_TASK_RING_H
#define VERGE_SRC_TASK_RING_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/step.h"

enum { VERGE__RING_SIZE = 256, VERGE__STEAL_MAX = 32 };

typedef struct verge_task verge_task;

typedef struct verge__task_ring {
    _Atomic uint32_t head;
    _Atomic uint32_t tail;
    verge_task *_Atomic slots[VERGE__RING_SIZE];
} verge__task_ring;

/* Returns how many tasks a ring has. Any thread may call it. The number may be too large, as tasks may have been taken
 * and added between the two reads. */
static inline uint32_t verge__task_ring_count(const verge__task_ring *ring) {
    const uint32_t head = atomic_load(&ring->head);
    return atomic_load(&ring->tail) - head;
}

/* Called by the owner. Returns false if the ring is full. The store of the tail is sequentially consistent: the
 * protocol in search.h needs that (it is step 1 on the right of the drawing there). */
static inline bool verge__task_ring_push(verge__task_ring *ring, verge_task *task) {
    const uint32_t tail = atomic_load_explicit(&ring->tail, memory_order_relaxed);
    VERGE__STEP("ring: push");
    if (tail - atomic_load_explicit(&ring->head, memory_order_acquire) == VERGE__RING_SIZE) {
        return false;
    }
    atomic_store_explicit(&ring->slots[tail % VERGE__RING_SIZE], task, memory_order_relaxed);
    VERGE__STEP("ring: pushed");
    atomic_store(&ring->tail, tail + 1);
    return true;
}

/* Called by the owner. Returns NULL if the ring is empty. The compare-and-swap may be relaxed, for two reasons. The
 * owner has written the slot itself. And a thief reads a slot before a later push writes it again: the push reads
 * (acquire) the head that the thief's compare-and-swap has stored (release). If the owner has moved head in between,
 * the push reads a later head, which is as good: the owner's compare-and-swap continues the thief's release
 * sequence. */
static inline verge_task *verge__task_ring_pop(verge__task_ring *ring) {
    const uint32_t tail = atomic_load_explicit(&ring->tail, memory_order_relaxed);
    uint32_t head = atomic_load_explicit(&ring->head, memory_order_relaxed);
    while (head != tail) {
        verge_task *task = atomic_load_explicit(&ring->slots[head % VERGE__RING_SIZE], memory_order_relaxed);
        VERGE__STEP("ring: pop");
        if (atomic_compare_exchange_weak_explicit(&ring->head, &head, head + 1, memory_order_relaxed,
                                                  memory_order_relaxed)) {
            return task;
        }
    }
    return NULL;
}

/* Called by another worker. Takes the older half of the tasks, at most VERGE__STEAL_MAX, but stops before the first
 * task that is live. Returns how many it took. 0: there were none, the first is live, or another worker was faster. */
uint32_t verge__task_ring_steal(verge__task_ring *ring, verge_task **ret_tasks);

#endif
