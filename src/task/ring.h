/* SPDX-License-Identifier: MIT */
/*
 * task/ring.h - ready tasks that may run on any worker. One worker, the owner of the ring, puts tasks in. Any worker
 * takes them out.
 *
 *     slots     ... | taken | oldest | ... | newest | free | ...
 *                             ^head                   ^tail          both only grow; a slot is index % VERGE__RING_SIZE
 *
 *   R1  Only the owner writes `tail`, and the slots from tail to head + VERGE__RING_SIZE. It stores a slot before the
 *       tail that includes it (release). So a worker that has read this tail (acquire) reads that slot.
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

/* How many tasks a ring has, read by any thread. It may be too large: if an old tail is read with a new head, the
 * difference is huge. */
static inline uint32_t verge__task_ring_count(const verge__task_ring *ring) {
    const uint32_t head = atomic_load(&ring->head);
    return atomic_load(&ring->tail) - head;
}

/* By the owner. False: the ring is full. The tail is stored sequentially consistent: search.h, step 1 on the right. */
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

/* By the owner. NULL: the ring is empty. The compare-and-swap may be relaxed. The owner has written the slot itself.
 * And when a later push writes the slot again, a thief that took from it has read it before: the thief's
 * compare-and-swap (release) comes before the head that the push reads (acquire). This holds even if the owner has
 * moved head in between, as that continues the thief's release sequence. */
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

/* By another worker: takes the older half, at most VERGE__STEAL_MAX, up to the first that is live. Returns how many. 0:
 * there were none, the first is live, or another worker was faster. */
uint32_t verge__task_ring_steal(verge__task_ring *ring, verge_task **ret_tasks);

#endif
