/* SPDX-License-Identifier: MIT */
/*
 * The ready tasks of a runner that shares them, and how a task gets to another runner (J7).
 *
 *     handed_over    a task that was woken by the end of the task that ran last (join, group): it runs next
 *     ready          pinned tasks
 *     ring           the oldest of the others (ring.h)
 *     overflow       the rest, under overflow_latch; empty unless the ring was full
 *
 * The runner alternates between its pinned tasks and the others, the oldest first. Only the runner's thread uses the
 * first two.
 */
#include "task/share.h"
#include "base/assert.h"
#include "base/step.h"
#include "task/latch.h"
#include "task/queue.h"
#include "task/search.h"
#include "task/wait.h"

static uint32_t overflow_count(const verge__runner *runner) {
    return atomic_load(&runner->overflow_count);
}

bool verge__has_shared(const verge__runner *runner) {
    return verge__task_ring_count(&runner->ring) != 0 || overflow_count(runner) != 0;
}

/* ---- in and out ---- */

/* Takes at most `count` tasks out of the overflow, the oldest first. */
static verge__task_queue take_overflow(verge__runner *runner, uint32_t count) {
    verge__task_queue taken = {0};
    VERGE__STEP("overflow: take");
    verge__lock(&runner->overflow_latch);
    uint32_t left = overflow_count(runner);
    for (; count > 0 && left > 0; count--, left--) {
        verge__queue_push(&taken, verge__queue_pop(&runner->overflow_queue));
    }
    atomic_store(&runner->overflow_count, left);
    verge__unlock(&runner->overflow_latch);
    return taken;
}

static void put_overflow(verge__runner *runner, verge_task *task) {
    verge__lock(&runner->overflow_latch);
    verge__queue_push(&runner->overflow_queue, task);
    atomic_store(&runner->overflow_count, overflow_count(runner) + 1);
    verge__unlock(&runner->overflow_latch);
}

/* What made a task ready decides when it is offered to other runners:
 *   - a running task: at once, because that task may run for long;
 *   - the runner's loop, before it runs tasks: when it begins to run them (verge__offer_rest);
 *   - the end of a task (`running` is NULL between two tasks): not at all. The ready task waited for the end of that
 *     task (join, group), and runs next on this runner. */
void verge__share(verge__runner *runner, verge_task *task) {
    const bool is_joiner = !runner->offers_later && runner->running == NULL;
    if (is_joiner && runner->handed_over == NULL) {
        runner->handed_over = task;
        return;
    }
    if (task->is_pinned) {
        verge__queue_push(&runner->ready, task);
        return;
    }
    /* Relaxed: only this thread adds to the overflow, so the count that it reads is right or too high. */
    if (VERGE__UNLIKELY(atomic_load_explicit(&runner->overflow_count, memory_order_relaxed) != 0) ||
        !verge__task_ring_push(&runner->ring, task)) {
        put_overflow(runner, task);
    }
    if (!runner->offers_later) {
        verge__offer(runner->runtime);
    }
}

void verge__offer_rest(verge__runner *runner) {
    runner->offers_later = false;
    if (verge__has_shared(runner)) {
        verge__offer(runner->runtime);
    }
}

static verge_task *pop_ring(verge__runner *runner) {
    verge_task *task = verge__task_ring_pop(&runner->ring);
    if (VERGE__UNLIKELY(task == NULL && overflow_count(runner) != 0)) {
        verge__task_queue queue = take_overflow(runner, VERGE__RING_SIZE / 2);
        for (task = verge__queue_pop(&queue); task != NULL; task = verge__queue_pop(&queue)) {
            const bool has_room = verge__task_ring_push(&runner->ring, task);
            VERGE__INVARIANT(has_room, "R1: only the owner fills the ring, and it was empty");
            (void)has_room;
        }
        task = verge__task_ring_pop(&runner->ring);
        /* Between overflow and ring, no other runner could see these tasks. */
        if (!runner->offers_later && verge__has_shared(runner)) {
            verge__offer(runner->runtime);
        }
    }
    return task;
}

static verge_task *take_next(verge__runner *runner) {
    verge_task *task = runner->handed_over;
    if (task != NULL) {
        runner->handed_over = NULL;
        return task;
    }
    runner->ring_is_next = !runner->ring_is_next;
    if (runner->ring_is_next || runner->ready.first == NULL) {
        task = pop_ring(runner);
    }
    if (task == NULL) {
        task = verge__queue_pop(&runner->ready);
        task = task != NULL || runner->ring_is_next ? task : pop_ring(runner);
    }
    return task;
}

verge_task *verge__take_ready(verge__runner *runner) {
    return runner->has_others ? take_next(runner) : verge__queue_pop(&runner->ready);
}

verge_task *verge__take_shared(verge__runner *runner, const verge_task *self) {
    verge_task *task = take_next(runner);
    VERGE__INVARIANT(task == NULL || task == self || !verge__context_is_live(&task->context),
                     "R3: nobody else runs it");
    (void)self;
    if (task != NULL) {
        verge__context_set_live(&task->context);
    }
    return task;
}

/* ---- to another runner ---- */

/* Makes the task one of the calling runner. No other runner may touch the task meanwhile (J1). */
static void adopt(verge__runner *runner, verge_task *task) {
    verge__runner *home = atomic_load(&task->runner);
    verge__end_io_timer(task);
    verge__unlist_task(home, task);
    VERGE__STEP("share: under way");
    const bool is_open = verge__list_task(runner, task);
    VERGE__INVARIANT(is_open, "J5: a runner that runs tasks has not left");
    (void)is_open;
    if (atomic_load(&home->is_retiring)) { /* home must look again whether it has tasks left */
        verge__runner_alert(home);
    }
    if (verge__has_stopped(runner)) { /* the task may have been in no list when the runners cancelled their tasks */
        atomic_store(&task->is_cancelled, true);
    }
    verge__count(&runner->migrated);
}

/* A runner with many tasks takes over no more: a task that wakes many leaves most of them where they are. */
bool verge__take_over(verge__runner *runner, verge_task *task) {
    enum { OWN_MAX = 64 };
    if (!runner->has_others || task->runtime != runner->runtime ||
        !verge__may_be_taken(atomic_load(&task->runner), task) ||
        atomic_load_explicit(&runner->is_retiring, memory_order_relaxed) ||
        verge__task_ring_count(&runner->ring) >= OWN_MAX) {
        return false;
    }
    adopt(runner, task);
    return true;
}

static void adopt_and_share(verge__runner *runner, verge_task *task) {
    adopt(runner, task);
    verge__share(runner, task);
}

bool verge__steal(verge__runner *runner, verge__runner *victim) {
    verge_task *tasks[VERGE__STEAL_MAX];
    const uint32_t count = verge__task_ring_steal(&victim->ring, tasks);
    for (uint32_t i = 0; i < count; i++) {
        adopt_and_share(runner, tasks[i]);
    }
    if (count != 0 || overflow_count(victim) == 0) {
        return count != 0;
    }
    verge__task_queue queue = take_overflow(victim, VERGE__STEAL_MAX);
    bool any = false;
    for (verge_task *task = verge__queue_pop(&queue); task != NULL; task = verge__queue_pop(&queue)) {
        if (verge__may_be_taken(victim, task)) {
            adopt_and_share(runner, task);
            any = true;
        } else { /* R3: the thread that ran it may still be on its stack */
            verge__post(task);
        }
    }
    return any;
}

bool verge__steal_inbox(verge__runner *runner, verge__runner *victim) {
    bool any = false;
    verge_task *next;
    for (verge_task *task = verge__inbox_take_of_other(victim); task != NULL; task = next) {
        next = task->next;
        if (verge__may_be_taken(victim, task)) {
            adopt_and_share(runner, task);
            any = true;
        } else {
            verge__post(task); /* back into the inbox */
        }
    }
    return any;
}
