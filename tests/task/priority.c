/* SPDX-License-Identifier: MIT */
/*
 * A thread of a runtime that waits for another one must sleep. If it spun, with a real-time priority on one processor,
 * the other thread could never go on. Each test stops one thread half-way, until the other one sleeps or, in the last
 * test, has returned without waiting. The program is linked with --wrap=sched_yield: if a thread yields instead, the
 * test fails.
 */
#define _GNU_SOURCE

#include <pthread.h>

#include "base/futex.h"
#include "support/steps.h"
#include "task/latch.h"
#include "task/runner.h"
#include "task/support.h"

int __real_sched_yield(void);
int __wrap_sched_yield(void);

static struct {
    _Atomic bool has_slept;
    _Atomic bool has_yielded;
    _Atomic bool may_go_on; /* the thread that the test has stopped may go on */
    _Atomic uint32_t *word; /* the word on which the other thread must sleep; NULL: any */
} meeting;

static _Thread_local bool is_watched; /* this thread is in a call of the library */

int __wrap_sched_yield(void) {
    if (is_watched) {
        atomic_store(&meeting.has_yielded, true);
        atomic_store(&meeting.may_go_on, true);
    }
    return __real_sched_yield();
}

static bool note_sleep(_Atomic uint32_t *word, uint32_t expected, uint64_t until_ns) {
    (void)expected;
    (void)until_ns;
    if (is_watched && (meeting.word == NULL || meeting.word == word)) {
        atomic_store(&meeting.has_slept, true);
        atomic_store(&meeting.may_go_on, true);
    }
    return false; /* the library now calls the kernel */
}

static void begin_meeting(_Atomic uint32_t *word) {
    memset(&meeting, 0, sizeof(meeting));
    meeting.word = word;
    verge__wait_hook = note_sleep;
}

static void end_meeting(bool sleeps) {
    verge__wait_hook = NULL;
    assert_false(meeting.has_yielded);
    assert_int_equal(meeting.has_slept, sleeps);
}

/* ---- a latch ---- */

static uint32_t latch;
static _Atomic bool is_held;

static void *holds_the_latch(void *argument) {
    (void)argument;
    verge__lock(&latch);
    atomic_store(&is_held, true);
    await(&meeting.may_go_on);
    verge__unlock(&latch);
    return NULL;
}

static void who_finds_a_latch_locked_sleeps(void **state) {
    (void)state;
    latch = 0;
    atomic_store(&is_held, false);
    begin_meeting((_Atomic uint32_t *)&latch);
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, holds_the_latch, NULL), 0);
    await(&is_held);
    is_watched = true;
    verge__lock(&latch);
    is_watched = false;
    verge__unlock(&latch);
    assert_int_equal(pthread_join(thread, NULL), 0);
    end_meeting(true);
    assert_int_equal(latch, 0);
}

/* ---- the end of a worker that another thread is about to wake ---- */

static _Thread_local bool is_notifier;
static _Atomic bool is_notifying;

static void stop_in_the_middle_of_a_notice(const char *step) {
    if (is_notifier && is_step(step, "runner: notify")) {
        atomic_store(&is_notifying, true);
        await(&meeting.may_go_on);
    }
}

static void *notifies(void *runtime) {
    is_notifier = true;
    verge_runtime_stop(runtime);
    return NULL;
}

static pthread_t notifier;

static intptr_t ends_when_it_is_notified(void *runtime) {
    /* Not before the run, as the notifier stops it. */
    CHECK_EQUAL(pthread_create(&notifier, NULL, notifies, runtime), 0);
    while (!atomic_load(&is_notifying)) {
        (void)verge_yield();
    }
    is_watched = true; /* this worker is watched from now to the end of the run */
    return 0;
}

static void who_closes_a_worker_sleeps_until_nobody_wakes_it(void **state) {
    (void)state;
    verge_runtime *runtime = runtime_with(runtime_options(1));
    atomic_store(&is_notifying, false);
    begin_meeting(&runtime->runners[0]->notifying);
    steps_begin(stop_in_the_middle_of_a_notice);
    assert_int_equal(verge_runtime_run(runtime, ends_when_it_is_notified, runtime, NULL), 0);
    is_watched = false;
    assert_int_equal(pthread_join(notifier, NULL), 0);
    steps_end();
    end_meeting(true);
    end_runtime(runtime);
}

/* ---- a task that is woken while it is moved to another worker ---- */

static struct {
    verge_task *task;
    _Atomic bool is_asleep;
    _Atomic bool is_under_way;
} journey;

static void stop_in_the_middle_of_a_move(const char *step) {
    if (is_step(step, "move: under way") && !atomic_exchange(&journey.is_under_way, true)) {
        await(&meeting.may_go_on);
    }
}

static intptr_t sleeps_on(void *argument) {
    (void)argument;
    atomic_store(&journey.is_asleep, true);
    CHECK_EQUAL(verge_sleep((int64_t)DAY), -ECANCELED);
    return 0;
}

static intptr_t cancels_the_traveller(void *argument) {
    (void)argument;
    CHECK_EQUAL(spawn_at(NULL, 1, sleeps_on, NULL, &journey.task), 0);
    await(&journey.is_asleep);
    CHECK_EQUAL(verge_runtime_retire_worker(verge_task_runtime(), 1), 0);
    await(&journey.is_under_way);
    is_watched = true;
    CHECK_EQUAL(verge_task_cancel(journey.task), 0);
    is_watched = false;
    atomic_store(&meeting.may_go_on, true); /* the cancel has returned, and nobody has waited */
    CHECK_EQUAL(verge_task_join(journey.task, NULL, VERGE_NEVER), 0);
    return 0;
}

static void who_wakes_a_task_that_moves_does_not_wait(void **state) {
    (void)state;
    memset(&journey, 0, sizeof(journey));
    begin_meeting(NULL);
    steps_begin(stop_in_the_middle_of_a_move);
    verge_runtime *runtime = runtime_with(runtime_options(2));
    assert_int_equal(verge_runtime_run(runtime, cancels_the_traveller, NULL, NULL), 0);
    steps_end();
    end_meeting(false);
    end_runtime(runtime);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(who_finds_a_latch_locked_sleeps),
        cmocka_unit_test(who_closes_a_worker_sleeps_until_nobody_wakes_it),
        cmocka_unit_test(who_wakes_a_task_that_moves_does_not_wait),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
