/* SPDX-License-Identifier: MIT */
/*
 * task/ring.h - tasks that are ready and may run anywhere: one worker, the owner, puts them in; any worker takes them
 * out.
 *
 *     slots     ... | taken | oldest | ... | newest | free | ...
 *                             ^head                   ^tail          both only grow; a slot is index % VERGE__RING_SIZE
 *
 *   R1  Only the owner writes `tail`, and the slots from tail to head + VERGE__RING_SIZE. It stores a slot before the
 *       tail that includes it (release); whoever has read that tail (acquire) reads that slot.
 *   R2  A task is taken by moving `head` past its slot, by compare and exchange: of all workers that try, one succeeds,
 *       and it has the tasks between the two values alone. A slot is read before that. The value counts only if head
 *       has not moved meanwhile, and until head moves the owner does not write that slot again (R1).
 *   R3  A task is pushed before its worker has left its stack if it yields. The machine code that switches stacks
 *       clears `is_live` of the context after that (release); who takes a task of another worker looks at is_live
 *       (acquire) before the exchange. A task in a ring becomes not live once, and live again only by whoever has taken
 *       it.
 *
 * Nobody waits for anybody: an exchange fails only because another one has succeeded.
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

/* Of any worker's ring; of one's own it is exact, or too large. */
static inline uint32_t verge__task_ring_count(const verge__task_ring *ring) {
    const uint32_t head = atomic_load(&ring->head);
    const uint32_t count = atomic_load(&ring->tail) - head; /* read later: not below head */
    return count;
}

/* The owner. False: it is full. The tail is stored sequentially consistent: search.h, step 1 on the right. */
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

/* The owner. NULL: it is empty. */
static inline verge_task *verge__task_ring_pop(verge__task_ring *ring) {
    const uint32_t tail = atomic_load_explicit(&ring->tail, memory_order_relaxed);
    uint32_t head = atomic_load_explicit(&ring->head, memory_order_acquire);
    while (head != tail) {
        verge_task *task = atomic_load_explicit(&ring->slots[head % VERGE__RING_SIZE], memory_order_relaxed);
        VERGE__STEP("ring: pop");
        if (atomic_compare_exchange_weak_explicit(&ring->head, &head, head + 1, memory_order_acq_rel,
                                                  memory_order_acquire)) {
            return task;
        }
    }
    return NULL;
}

/* Another worker: the older half, at most VERGE__STEAL_MAX, up to the first that is live; how many. 0: none, or others
 * were faster. */
uint32_t verge__task_ring_steal(verge__task_ring *ring, verge_task **ret_tasks);

#endif
