/* SPDX-License-Identifier: MIT */
/* Taking tasks from another worker: R1 to R3 in ring.h. */
#include "task/ring.h"
#include "task/task.h"

uint32_t verge__task_ring_steal(verge__task_ring *ring, verge_task **ret_tasks) {
    uint32_t head = atomic_load_explicit(&ring->head, memory_order_acquire);
    VERGE__STEP("ring: steal");
    const uint32_t count = atomic_load_explicit(&ring->tail, memory_order_acquire) - head;
    uint32_t wanted = count - count / 2;
    if (count > VERGE__RING_SIZE) { /* head has moved between the two loads */
        return 0;
    }
    wanted = wanted < VERGE__STEAL_MAX ? wanted : VERGE__STEAL_MAX;
    uint32_t taken = 0;
    while (taken < wanted) {
        verge_task *task = atomic_load_explicit(&ring->slots[(head + taken) % VERGE__RING_SIZE], memory_order_relaxed);
        /* R3. If the task has ended meanwhile, it can still be read: stacks stay mapped. */
        if (verge__context_is_live(&task->context)) {
            break;
        }
        ret_tasks[taken++] = task;
    }
    VERGE__STEP("ring: take");
    const bool is_mine =
        taken != 0 && atomic_compare_exchange_strong_explicit(&ring->head, &head, head + taken, memory_order_acq_rel,
                                                              memory_order_relaxed);
    return is_mine ? taken : 0;
}
