/* SPDX-License-Identifier: MIT */
#include "task/current.h"

#include "task/latch.h"
#include "task/runner.h"
#include <errno.h>
/*
 * `current` is the runner whose loop the calling thread is in; NULL: it is in none. A compiler may keep the address of
 * a thread-local variable for as long as a function runs, but a function of a task may begin on one thread and end on
 * another. So every access is a call of a function that is not inlined.
 */

static _Thread_local verge__runner *current __attribute__((tls_model("initial-exec")));

/* The child of a fork is in no task, even if a task has forked: nothing in the child would wake that task. */
static void in_child(void) {
    current = NULL;
}

int verge__forget_runner_in_child(void) {
    static _Atomic bool is_asked;
    return verge__at_fork(&is_asked, in_child);
}

VERGE__NOINLINE verge__runner *verge__current_runner(void) {
    __asm__ volatile("");
    return current;
}

VERGE__NOINLINE void verge__set_current_runner(verge__runner *runner) {
    __asm__ volatile("");
    current = runner;
}

verge_task *verge__current_task(void) {
    const verge__runner *runner = verge__current_runner();
    return runner != NULL ? runner->running : NULL;
}

VERGE__NOINLINE void *verge__current_thread(void) {
    static _Thread_local uint64_t mark;
    __asm__ volatile("");
    return (char *)&mark + 1; /* odd: no task has an odd address */
}

verge_task *verge_task_current(void) {
    return verge__current_task();
}

verge_runtime *verge_task_runtime(void) {
    const verge_task *self = verge__current_task();
    return self != NULL ? self->runtime : NULL;
}

uint32_t verge_task_worker_id(void) {
    const verge__runner *runner = verge__current_runner();
    return runner != NULL && runner->running != NULL ? runner->index : VERGE_WORKER_ANY;
}

bool verge_task_is_cancelled(void) {
    const verge_task *self = verge__current_task();
    return self != NULL && atomic_load(&self->is_cancelled);
}

void **verge_task_data(void) {
    verge_task *self = verge__current_task();
    return self != NULL ? &self->data : NULL;
}

const char *verge_task_name(void) {
    const verge_task *self = verge__current_task();
    return self != NULL && self->name[0] != '\0' ? self->name : NULL;
}

int verge_task_set_name(const char *name) {
    verge_task *self = verge__current_task();
    if (self == NULL) {
        return -EPERM;
    }
    verge__lock(&self->latch);
    verge__set_name(self, name);
    verge__unlock(&self->latch);
    return 0;
}

uint64_t verge_now(void) {
    const verge_task *self = verge__current_task();
    const verge_clock clock = self != NULL ? self->runtime->clock : verge_clock_monotonic();
    return verge__clock_now(&clock);
}

uint64_t verge_deadline_after(uint64_t duration_ns) {
    const uint64_t now_ns = verge_now();
    const uint64_t longest_ns = now_ns < VERGE_REGARDLESS ? VERGE_REGARDLESS - now_ns : 0;
    return duration_ns < longest_ns ? now_ns + duration_ns : VERGE_NEVER;
}
