/* SPDX-License-Identifier: MIT */
/* Rare races, such as a stop and a worker that retires, a spawn that fails and the end of the last task, a worker that
 * is added while the runtime starts. In most tests the threads meet at steps of the code, so that the race has the
 * outcome that the test is about. */
#define _GNU_SOURCE

#include <pthread.h>

#include "support/steps.h"
#include "task/current.h"
#include "task/latch.h"
#include "task/runner.h"
#include "task/search.h"
#include "task/share.h"
#include "task/support.h"
#include "verge/sync.h"

static verge_runtime *create(verge_runtime_options options) {
    verge_runtime *runtime = NULL;
    atomic_store(&failed_check_count, 0);
    assert_int_equal(verge_runtime_create(&options, &runtime), 0);
    return runtime;
}

static void end(verge_runtime *runtime) {
    assert_int_equal(verge_runtime_destroy(runtime), 0);
    assert_int_equal(atomic_load(&failed_check_count), 0);
}

static intptr_t sleeps_a_day(void *argument) {
    (void)argument;
    CHECK_EQUAL(verge_sleep(DAY), -ECANCELED);
    return 0;
}

/* ---- a stop while a worker moves a task: the task is in no worker's list, and is cancelled all the same ---- */

static struct {
    verge_runtime *runtime;
    _Atomic bool is_begun; /* the task that is to move has begun */
    _Atomic bool is_under_way;
    _Atomic bool is_cancelled; /* worker 0 has cancelled all of its tasks */
} move;

static void stop_while_it_moves(const char *step) {
    if (is_step(step, "move: under way") && !atomic_exchange(&move.is_under_way, true)) {
        verge_runtime_stop(move.runtime);
        await(&move.is_cancelled);
    } else if (is_step(step, "stop: cancelled") && verge_task_worker_id() == VERGE_WORKER_ANY &&
               atomic_load(&move.is_under_way)) {
        atomic_store(&move.is_cancelled, true); /* worker 0 says so; the other worker awaits it */
    }
}

static intptr_t moves_asleep(void *argument) {
    atomic_store(&move.is_begun, true);
    return sleeps_a_day(argument);
}

static intptr_t moves_awake(void *argument) {
    (void)argument;
    atomic_store(&move.is_begun, true);
    while (!verge_task_is_cancelled()) {
        CHECK_EQUAL(verge_yield(), 0);
    }
    return 0;
}

static intptr_t retires(void *function) {
    move.runtime = verge_task_runtime();
    CHECK_EQUAL(spawn_at(NULL, 1, *(verge_task_function *)function, NULL, NULL), 0);
    await(&move.is_begun);
    CHECK_EQUAL(verge_runtime_retire_worker(move.runtime, 1), 0);
    return sleeps_a_day(NULL);
}

static void t5_a_stop_reaches_a_task_that_changes_its_worker(void **state) {
    (void)state;
    verge_task_function functions[] = {moves_asleep, moves_awake};
    for (size_t i = 0; i < COUNT_OF(functions); i++) {
        memset(&move, 0, sizeof(move));
        steps_begin(stop_while_it_moves);
        run_tasks(2, retires, &functions[i]);
        steps_end();
        assert_true(move.is_under_way);
    }
}

/* ---- a task moves from one worker that retires to another one that retires, too: it moves once more ---- */

enum { guest_count = 8 };

static struct {
    verge_runtime *runtime;
    atomic_int begun_count;
    _Atomic bool is_asked;   /* a task has come to worker 2, and does not wait there yet; now worker 2 must retire */
    _Atomic bool has_looked; /* worker 2 has looked for tasks to give away, and found none */
} inn;

static bool has_tasks(verge__runner *runner) {
    verge__lock(&runner->list_latch);
    const bool has_any = runner->listed != NULL;
    verge__unlock(&runner->list_latch);
    return has_any;
}

static void retire_the_host(const char *step) {
    const verge__runner *runner = verge__current_runner();
    if (is_step(step, "move: arrived") && has_tasks(inn.runtime->runners[2]) && !atomic_exchange(&inn.is_asked, true)) {
        CHECK_EQUAL(verge_runtime_retire_worker(inn.runtime, 2), 0);
        await(&inn.has_looked);
    } else if (is_step(step, "runner: wait") && runner->index == 2 && atomic_load(&runner->is_retiring)) {
        atomic_store(&inn.has_looked, true);
    }
}

static intptr_t is_a_guest(void *argument) {
    (void)argument;
    atomic_fetch_add(&inn.begun_count, 1);
    CHECK_EQUAL(verge_sleep_until(VERGE_NEVER), -ECANCELED); /* without a timer, which would wake its worker */
    return 0;
}

static intptr_t moves_guests(void *argument) {
    (void)argument;
    inn.runtime = verge_task_runtime();
    for (int i = 0; i < guest_count; i++) {
        CHECK_EQUAL(spawn_at(NULL, 1, is_a_guest, NULL, NULL), 0);
    }
    while (atomic_load(&inn.begun_count) < guest_count) {
        CHECK_EQUAL(verge_yield(), 0);
    }
    CHECK_EQUAL(verge_runtime_retire_worker(inn.runtime, 1), 0);
    for (int i = 0; i < 10000 && stats_of(inn.runtime).workers != 1; i++) {
        CHECK_EQUAL(verge_sleep(MS), 0);
    }
    CHECK_EQUAL(stats_of(inn.runtime).workers, 1);
    verge_runtime_stop(inn.runtime);
    return 0;
}

static void who_comes_to_a_worker_that_retires_goes_on(void **state) {
    (void)state;
    memset(&inn, 0, sizeof(inn));
    steps_begin(retire_the_host);
    run_tasks(3, moves_guests, NULL);
    steps_end();
    assert_true(inn.is_asked && inn.has_looked);
}

/* ---- spawns that fail are not counted as tasks ---- */

/* Stacks are taken 16 at a time, and the store's tables have room for 1,024 at first. */
enum { spawned_count = 1024 - 16 };

static atomic_int ended_count;
static _Atomic bool is_refusing;
static _Atomic bool is_asked;

static void count_ended(const char *step) {
    atomic_fetch_add(&ended_count, is_step(step, "task: ended"));
}

static intptr_t ends(void *argument) {
    (void)argument;
    return 0;
}

/* If is_refusing, waits until all tasks have ended, including the first task of the run, and then refuses. */
static void *allocate_or_refuse(void *context, size_t size, size_t alignment) {
    (void)context;
    if (!atomic_load(&is_refusing)) {
        const verge_allocator *usual = verge_allocator_default();
        return usual->allocate(usual->context, size, alignment);
    }
    atomic_store(&is_asked, true);
    while (atomic_load(&ended_count) <= spawned_count) {
        (void)sched_yield();
    }
    return NULL;
}

static void release(void *context, void *memory, size_t size) {
    (void)context;
    const verge_allocator *usual = verge_allocator_default();
    usual->release(usual->context, memory, size);
}

static void *spawns_in_vain(void *runtime) {
    CHECK_EQUAL(spawn_at(runtime, 0, ends, NULL, NULL), -ENOMEM);
    return NULL;
}

static intptr_t ends_while_another_spawns(void *argument) {
    pthread_t *thread = argument;
    atomic_store(&is_refusing, true);
    CHECK_EQUAL(pthread_create(thread, NULL, spawns_in_vain, verge_task_runtime()), 0);
    await(&is_asked);
    return ends(NULL);
}

static void run_returns_while_another_fails_to_spawn(void **state) {
    (void)state;
    if (VERGE__TSAN) {
        skip(); /* more tasks than ThreadSanitizer has room for */
    }
    const verge_allocator allocator = {.allocate = allocate_or_refuse, .release = release};
    verge_runtime_options options = runtime_options(1);
    options.allocator = &allocator;
    atomic_store(&ended_count, 0);
    atomic_store(&is_refusing, false);
    atomic_store(&is_asked, false);
    verge_runtime *runtime = create(options);
    static verge_task *tasks[spawned_count];
    for (size_t i = 0; i < COUNT_OF(tasks); i++) {
        assert_int_equal(spawn_at(runtime, 0, ends, NULL, &tasks[i]), 0);
    }
    pthread_t thread;
    steps_begin(count_ended);
    assert_int_equal(verge_runtime_run(runtime, ends_while_another_spawns, &thread, NULL), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    steps_end();
    atomic_store(&is_refusing, false);
    for (size_t i = 0; i < COUNT_OF(tasks); i++) {
        assert_int_equal(verge_task_detach(tasks[i]), 0);
    }
    end(runtime);
}

/* ---- a worker that comes while the runtime starts ---- */

struct arrival {
    verge_runtime *runtime;
    _Atomic bool is_starting;
    _Atomic bool has_come;
    _Atomic uint32_t index; /* of the worker that was added; 0: it was not added yet */
};

static struct arrival arrival;

/* At the first step, run has started all threads. Nobody would start the thread of a worker that is added now, so the
 * call that adds it must wait. */
static void come_while_it_starts(const char *step) {
    if (is_step(step, "run: threads started")) {
        atomic_store(&arrival.is_starting, true);
        await(&arrival.has_come);
    } else if (is_step(step, "add: stage")) {
        atomic_store(&arrival.has_come, true);
    }
}

static void *adds_a_worker(void *argument) {
    (void)argument;
    uint32_t index = 0;
    await(&arrival.is_starting);
    CHECK_EQUAL(verge_runtime_add_worker(arrival.runtime, &index), 0);
    atomic_store(&arrival.index, index);
    return NULL;
}

static intptr_t does_nothing(void *argument) {
    (void)argument;
    return 0;
}

static intptr_t uses_the_new_worker(void *argument) {
    (void)argument;
    while (atomic_load(&arrival.index) == 0) {
        CHECK_EQUAL(verge_yield(), 0);
    }
    verge_task *task = spawn_on(arrival.index, does_nothing, NULL);
    CHECK_EQUAL(verge_task_join(task, NULL, verge_deadline_after(HOUR)), 0);
    return 0;
}

static void a_worker_may_come_while_the_runtime_starts(void **state) {
    (void)state;
    arrival = (struct arrival){.runtime = create(runtime_options(1))};
    steps_begin(come_while_it_starts);
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, adds_a_worker, NULL), 0);
    assert_int_equal(verge_runtime_run(arrival.runtime, uses_the_new_worker, NULL, NULL), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    steps_end();
    end(arrival.runtime);
}

/* ---- virtual time: a worker that comes from outside, while all others wait ---- */

static struct {
    _Atomic bool is_waiting;
    _Atomic bool is_added;
    _Atomic bool is_about_to_wait;
    _Atomic bool is_used;
} outside;

/* At this step the loop has seen that there is nothing to do, and is about to wait for ever. */
static void come_while_it_waits(const char *step) {
    if (is_step(step, "virtual: wait for ever") && !atomic_exchange(&outside.is_waiting, true)) {
        await(&outside.is_added);
    }
}

static void *adds_and_uses_a_worker(void *runtime) {
    uint32_t index = 0;
    await(&outside.is_waiting);
    CHECK_EQUAL(verge_runtime_add_worker(runtime, &index), 0);
    CHECK_EQUAL(spawn_at(runtime, index, does_nothing, NULL, NULL), 0);
    atomic_store(&outside.is_added, true);
    while (stats_of(runtime).tasks > 1) {
        (void)sched_yield();
    }
    verge_runtime_stop(runtime);
    return NULL;
}

struct visit {
    pthread_t thread;
    void *(*visitor)(void *runtime);
};

static intptr_t waits_for_ever(void *argument) {
    struct visit *visit = argument;
    CHECK_EQUAL(pthread_create(&visit->thread, NULL, visit->visitor, verge_task_runtime()), 0);
    const int reason = verge_sleep_until(VERGE_NEVER);
    CHECK_EQUAL(pthread_join(visit->thread, NULL), 0); /* until stop has returned, the runtime must exist */
    return reason;
}

static void t7_a_worker_may_come_from_outside(void **state) {
    (void)state;
    struct visit visit = {.visitor = adds_and_uses_a_worker};
    memset(&outside, 0, sizeof(outside));
    steps_begin(come_while_it_waits);
    (void)run_virtual(1, 0, waits_for_ever, &visit);
    steps_end();
}

/* The order of events: the loop has seen that there is nothing to do. A worker is added. The loop marks its workers as
 * waiting, though it has not opened the new one yet. A task comes for the new worker. */
static void come_before_it_waits(const char *step) {
    if (is_step(step, "virtual: idle") && !atomic_exchange(&outside.is_waiting, true)) {
        await(&outside.is_added);
    } else if (is_step(step, "virtual: wait for ever") && !atomic_exchange(&outside.is_about_to_wait, true)) {
        await(&outside.is_used);
    }
}

static void *adds_a_worker_and_then_uses_it(void *runtime) {
    uint32_t index = 0;
    await(&outside.is_waiting);
    CHECK_EQUAL(verge_runtime_add_worker(runtime, &index), 0);
    atomic_store(&outside.is_added, true);
    await(&outside.is_about_to_wait);
    CHECK_EQUAL(spawn_at(runtime, index, does_nothing, NULL, NULL), 0);
    atomic_store(&outside.is_used, true);
    while (stats_of(runtime).tasks > 1) {
        (void)sched_yield();
    }
    verge_runtime_stop(runtime);
    return NULL;
}

static void t7_a_worker_that_is_not_open_yet_is_used_from_outside(void **state) {
    (void)state;
    struct visit visit = {.visitor = adds_a_worker_and_then_uses_it};
    memset(&outside, 0, sizeof(outside));
    steps_begin(come_before_it_waits);
    (void)run_virtual(1, 0, waits_for_ever, &visit);
    steps_end();
}

/* ---- a second join, after the task has ended and before the first join has returned ---- */

static intptr_t joins(void *task) {
    return verge_task_join(task, NULL, VERGE_NEVER);
}

static intptr_t sleeps_a_little(void *argument) {
    (void)argument;
    CHECK_EQUAL(verge_sleep(1), 0);
    return 0;
}

static intptr_t joins_an_ended_task_that_is_being_joined(void *argument) {
    (void)argument;
    verge_task *task = spawn(sleeps_a_little, NULL);
    verge_task *first = spawn_on(1, joins, task);
    CHECK_EQUAL(verge_sleep(1), 0);
    while (stats_of(verge_task_runtime()).tasks ==
           3) { /* when the task has ended, worker 1 has not yet resumed the first joiner */
        CHECK_EQUAL(verge_yield(), 0);
    }
    CHECK_EQUAL(verge_task_join(task, NULL, VERGE_NEVER), -EBUSY);
    CHECK_EQUAL(join(first), 0);
    return 0;
}

static void only_one_joins_a_task_that_has_ended(void **state) {
    (void)state;
    (void)run_virtual(2, 0, joins_an_ended_task_that_is_being_joined, NULL);
}

/* ---- the end of time ---- */

static intptr_t sleeps_to_the_end(void *argument) {
    (void)argument;
    CHECK_EQUAL(verge_sleep_until(VERGE_NEVER - 1), 0);
    CHECK_EQUAL(verge_now(), VERGE_NEVER - 1);
    return 0;
}

static void deadlines_reach_to_the_end_of_time(void **state) {
    (void)state;
    (void)run_virtual(2, 0, sleeps_to_the_end, NULL);
}

/* ---- the clock does not move to the deadlines of cancelled timers ---- */

static intptr_t sleeps_a_second(void *argument) {
    (void)argument;
    CHECK_EQUAL(verge_sleep(SECOND), 0);
    return 0;
}

static _Atomic bool waits_only;

static void see_it_wait(const char *step) {
    if (is_step(step, "virtual: wait for ever")) {
        atomic_store(&waits_only, true);
    }
}

static void *stops_when_it_waits(void *runtime) {
    await(&waits_only);
    verge_runtime_stop(runtime);
    return NULL;
}

static intptr_t joins_with_time_to_spare(void *argument) {
    verge_task *task = spawn(sleeps_a_second, NULL);
    CHECK_EQUAL(verge_task_join(task, NULL, HOUR), 0);
    CHECK_EQUAL(verge_now(), SECOND);
    (void)argument;
    pthread_t thread;
    CHECK_EQUAL(pthread_create(&thread, NULL, stops_when_it_waits, verge_task_runtime()), 0);
    CHECK_EQUAL(verge_sleep_until(VERGE_NEVER), -ECANCELED);
    CHECK_EQUAL(pthread_join(thread, NULL), 0); /* until stop has returned, the runtime must exist */
    CHECK_EQUAL(verge_now(), SECOND);
    return 0;
}

static void t7_a_deadline_that_was_met_moves_no_clock(void **state) {
    (void)state;
    atomic_store(&waits_only, false);
    steps_begin(see_it_wait);
    assert_int_equal(run_virtual(2, 0, joins_with_time_to_spare, NULL), SECOND);
    steps_end();
}

/* ---- a thread outside wakes the last task: the run waits until that thread has left the runtime ---- */

static struct {
    verge_runtime *runtime;
    verge_semaphore semaphore;
    _Atomic bool is_about_to_wait;
    _Atomic bool may_release;
    _Atomic bool is_woken;
    _Atomic bool is_offering;
    _Atomic bool has_returned; /* the run has returned */
    _Atomic bool was_late;     /* the run returned while the thread outside was still in the runtime */
} last_wake;

static _Thread_local bool is_outside;

static bool is_awaited(const verge_runtime *runtime) {
    bool is = false;
    for (uint32_t i = 0; i < 2; i++) {
        is = is || atomic_load(&runtime->runners[i]->notifying) == (VERGE__RUNNER_CLOSES | 1);
    }
    return is;
}

static void stay_in_the_offer(const char *step) {
    if (is_outside && is_step(step, "search: offer")) {
        atomic_store(&last_wake.is_offering, true);
        while (!atomic_load(&last_wake.has_returned) && !is_awaited(last_wake.runtime)) {
            (void)sched_yield();
        }
        atomic_store(&last_wake.was_late, atomic_load(&last_wake.has_returned));
    }
}

static void *releases_outside(void *argument) {
    (void)argument;
    is_outside = true;
    await(&last_wake.may_release);
    CHECK_EQUAL(verge_semaphore_release(&last_wake.semaphore, 1), 0);
    return NULL;
}

static intptr_t acquires(void *argument) {
    (void)argument;
    atomic_store(&last_wake.is_about_to_wait, true);
    CHECK_EQUAL(verge_semaphore_acquire(&last_wake.semaphore, 1, VERGE_NEVER), 0);
    atomic_store(&last_wake.is_woken, true);
    return 0;
}

static intptr_t keeps_its_worker_busy(void *argument) {
    (void)argument;
    CHECK_EQUAL(verge_spawn(acquires, NULL, NULL), 0);
    while (!atomic_load(&last_wake.is_about_to_wait)) {
        (void)verge_yield();
    }
    (void)verge_yield();
    atomic_store(&last_wake.may_release, true);
    while (!atomic_load(&last_wake.is_offering) && !atomic_load(&last_wake.is_woken)) {
        (void)sched_yield(); /* keeps the worker, so that the other task is offered to other workers */
    }
    return 0;
}

static void run_waits_for_who_wakes_its_last_task(void **state) {
    (void)state;
    enum { ATTEMPTS_MAX = 2000 };
    int attempts = 0;
    for (bool has_offered = false; !has_offered; attempts++) { /* no offer if the other worker took the task */
        assert_true(attempts < ATTEMPTS_MAX);
        memset(&last_wake, 0, sizeof(last_wake));
        last_wake.runtime = create(runtime_options(2));
        steps_begin(stay_in_the_offer);
        pthread_t thread;
        assert_int_equal(pthread_create(&thread, NULL, releases_outside, NULL), 0);
        assert_int_equal(verge_runtime_run(last_wake.runtime, keeps_its_worker_busy, NULL, NULL), 0);
        atomic_store(&last_wake.has_returned, true);
        assert_int_equal(pthread_join(thread, NULL), 0);
        steps_end();
        assert_false(atomic_load(&last_wake.was_late));
        has_offered = atomic_load(&last_wake.is_offering);
        end(last_wake.runtime);
    }
    print_message("in %d attempts\n", attempts);
}

/* ---- tasks in the overflow of a worker, and another worker that looks for tasks ---- */

static struct {
    const verge__runner *_Atomic home; /* the worker of the task that fills the ring; NULL: not yet */
    _Atomic bool is_full;
    _Atomic bool has_begun; /* the thread of `home` is where the other worker is to find it, and waits there */
    _Atomic bool may_go_on;
} crowd;

static bool is_other_worker(void) {
    const verge__runner *runner = verge__current_runner();
    const verge__runner *home = atomic_load(&crowd.home);
    return runner != NULL && home != NULL && runner != home;
}

/* True: the other worker sleeps until it is called. */
static bool nobody_searches(const verge_runtime *runtime) {
    return !atomic_load(&runtime->is_searching) && verge__anyone_parked(runtime);
}

/* Called by a task. The other worker, which has nothing to do, is called at the first spawn, and waits at its step
 * "search: look" until has_begun. */
static void fill_the_ring(verge_task_function function) {
    const verge__runner *home = verge__current_runner();
    while (!nobody_searches(home->runtime)) {
        (void)sched_yield();
    }
    atomic_store(&crowd.home, home);
    while (atomic_load(&home->overflow_count) < 8) {
        CHECK_EQUAL(verge_spawn(function, NULL, NULL), 0);
    }
    atomic_store(&crowd.is_full, true);
}

static void play_the_crowd(verge_task_function function, void (*at_step)(const char *step)) {
    memset(&crowd, 0, sizeof(crowd));
    steps_begin(at_step);
    verge_runtime *runtime = create(runtime_options(2));
    assert_int_equal(spawn_at(runtime, VERGE_WORKER_ANY, function, NULL, NULL), 0);
    assert_int_equal(verge_runtime_run(runtime, NULL, NULL, NULL), 0);
    steps_end();
    assert_true(crowd.has_begun);
    end(runtime);
}

/* The task has yielded, and its thread is still on the stack of the task. The other worker takes all that it can get.
 * When it waits, it has run what it took. */
static void stay_on_the_stack(const char *step) {
    if (is_step(step, "search: look") && is_other_worker()) {
        await(&crowd.has_begun);
    } else if (is_step(step, "task: switch") && atomic_load(&crowd.is_full) &&
               !atomic_exchange(&crowd.has_begun, true)) {
        await(&crowd.may_go_on);
    } else if (is_step(step, "runner: wait") && is_other_worker() && atomic_load(&crowd.has_begun) &&
               !verge__has_shared(crowd.home)) {
        atomic_store(&crowd.may_go_on, true);
    }
}

static intptr_t yields_into_the_overflow(void *argument) {
    (void)argument;
    fill_the_ring(does_nothing);
    return verge_yield();
}

static void r3_a_task_in_the_overflow_is_not_taken_from_its_stack(void **state) {
    (void)state;
    play_the_crowd(yields_into_the_overflow, stay_on_the_stack);
}

/* The worker has taken tasks out of its overflow, and not put them into its ring. The other worker finds nothing, and
 * parks. */
static void refill_while_nobody_searches(const char *step) {
    if (is_step(step, "search: look") && is_other_worker()) {
        await(&crowd.has_begun);
    } else if (is_step(step, "ring: push") && atomic_load(&crowd.is_full) && !atomic_exchange(&crowd.has_begun, true)) {
        const verge__runner *home = atomic_load(&crowd.home);
        CHECK(!verge__has_shared(home));
        while (!nobody_searches(home->runtime)) {
            (void)sched_yield();
        }
    }
}

/* If this task ran for long, the tasks in the ring would have to find another worker. */
static intptr_t needs_a_searcher(void *argument) {
    const verge__runner *home = atomic_load(&crowd.home);
    (void)argument;
    if (verge__current_runner() == home && nobody_searches(home->runtime)) {
        CHECK(!verge__has_shared(home)); /* the other worker has parked since, because it found nothing */
    }
    return 0;
}

static intptr_t fills_its_overflow(void *argument) {
    (void)argument;
    fill_the_ring(needs_a_searcher);
    return 0;
}

static void q1_tasks_from_the_overflow_are_offered(void **state) {
    (void)state;
    play_the_crowd(fills_its_overflow, refill_while_nobody_searches);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(t5_a_stop_reaches_a_task_that_changes_its_worker),
        cmocka_unit_test(who_comes_to_a_worker_that_retires_goes_on),
        cmocka_unit_test(run_returns_while_another_fails_to_spawn),
        cmocka_unit_test(a_worker_may_come_while_the_runtime_starts),
        cmocka_unit_test(t7_a_worker_may_come_from_outside),
        cmocka_unit_test(t7_a_worker_that_is_not_open_yet_is_used_from_outside),
        cmocka_unit_test(only_one_joins_a_task_that_has_ended),
        cmocka_unit_test(deadlines_reach_to_the_end_of_time),
        cmocka_unit_test(t7_a_deadline_that_was_met_moves_no_clock),
        cmocka_unit_test(run_waits_for_who_wakes_its_last_task),
        cmocka_unit_test(r3_a_task_in_the_overflow_is_not_taken_from_its_stack),
        cmocka_unit_test(q1_tasks_from_the_overflow_are_offered),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
