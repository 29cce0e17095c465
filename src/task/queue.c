/* SPDX-License-Identifier: MIT */
/*
 * How tasks get to their runner: the inbox, through which other threads give tasks to the runner, the list of all tasks
 * of a runner, and how a runner is woken.
 *
 * No wake-up is lost, by the rule "write, then read" on both sides. Another thread first puts a task into the inbox, or
 * sets a flag and then `attention`; then it reads whether the runner waits. The runner first writes that it waits; then
 * it looks into the inbox and at `attention`. So at least one of the two sees what the other wrote.
 */
#include "task/queue.h"
#include "base/assert.h"
#include "base/step.h"
#include "reactor/reactor.h"
#include "task/latch.h"
#include "task/search.h"
#include "task/share.h"
#include "task/wake.h"

verge_task verge__inbox_closed;

void verge__deliver_all(verge__task_queue *queue) {
    for (verge_task *task = verge__queue_pop(queue); task != NULL; task = verge__queue_pop(queue)) {
        verge__deliver(task);
    }
}

static void begin_to_notify(verge__runner *runner) {
    atomic_fetch_add(&runner->notifying, 1);
}

static void end_notifying(verge__runner *runner) {
    if (atomic_fetch_sub(&runner->notifying, 1) == (VERGE__RUNNER_CLOSES | 1)) {
        verge__futex_wake_all(&runner->notifying);
    }
}

static bool wake_reactor(verge__runner *runner) {
    VERGE__STEP("runner: notify");
    const bool is_waiting = atomic_exchange(&runner->is_waiting, false);
    if (is_waiting) {
        verge__reactor_wake(runner->reactor);
    }
    return is_waiting;
}

/* `notifying` keeps the reactor open until this thread has woken it (verge__runner_close). */
bool verge__runner_notify(verge__runner *runner) {
    begin_to_notify(runner);
    const bool is_waiting = wake_reactor(runner);
    end_notifying(runner);
    return is_waiting;
}

void verge__runner_alert(verge__runner *runner) {
    atomic_store(&runner->attention, true);
    (void)verge__runner_notify(runner);
}

void verge__alert_all(verge_runtime *runtime) {
    const uint32_t count = atomic_load(&runtime->runner_count);
    for (uint32_t i = 0; i < count; i++) {
        verge__runner_alert(runtime->runners[i]);
    }
}

void verge__post(verge_task *task) {
    verge__runner *runner = atomic_load(&task->runner);
    const bool may_go_elsewhere = verge__may_go_elsewhere(runner, task); /* even if the task is still live now */
    verge_task *last = atomic_load_explicit(&runner->inbox, memory_order_relaxed);
    begin_to_notify(runner); /* before the push: after it, the task can end the run, and the runtime can be destroyed */
    do {
        VERGE__INVARIANT(last != &verge__inbox_closed, "J5: a runner that has tasks has not left");
        task->next = last;
        VERGE__STEP("inbox: push");
    } while (!atomic_compare_exchange_weak(&runner->inbox, &last, task));
    if (!wake_reactor(runner) && may_go_elsewhere) { /* the runner is busy */
        verge__offer(runner->runtime);
    }
    end_notifying(runner);
}

static verge_task *in_order(verge_task *task) {
    verge_task *first = NULL;
    while (task != NULL) { /* reverses the list: the task that was posted last is its first */
        verge_task *next = task->next;
        task->next = first;
        first = task;
        task = next;
    }
    return first;
}

verge_task *verge__inbox_take(verge__runner *runner) {
    if (atomic_load_explicit(&runner->inbox, memory_order_relaxed) == NULL) {
        return NULL;
    }
    VERGE__STEP("inbox: take");
    return in_order(atomic_exchange(&runner->inbox, NULL));
}

bool verge__inbox_has_tasks(const verge__runner *runner) {
    const verge_task *last = atomic_load(&runner->inbox);
    return last != NULL && last != &verge__inbox_closed;
}

verge_task *verge__inbox_take_of_other(verge__runner *victim) {
    verge_task *last = atomic_load(&victim->inbox);
    VERGE__STEP("inbox: take of another");
    const bool is_mine = last != NULL && last != &verge__inbox_closed &&
                         atomic_compare_exchange_strong(&victim->inbox, &last, NULL); /* `last` and all behind it */
    return is_mine ? in_order(last) : NULL;
}

bool verge__list_task(verge__runner *runner, verge_task *task) {
    verge__lock(&runner->list_latch);
    const bool is_open = atomic_load_explicit(&runner->inbox, memory_order_relaxed) != &verge__inbox_closed;
    if (is_open) {
        atomic_store(&task->runner, runner);
        verge__list_push(&runner->listed, &task->listed);
    }
    verge__unlock(&runner->list_latch);
    return is_open;
}

void verge__unlist_task(verge__runner *runner, verge_task *task) {
    verge__lock(&runner->list_latch);
    (void)verge__list_unlink(&runner->listed, &task->listed);
    verge__unlock(&runner->list_latch);
}
