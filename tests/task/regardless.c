/* SPDX-License-Identifier: MIT */
/* VERGE_REGARDLESS: a task that is cancelled, or past the deadline of its scope, can still wait in its cleanup code. In
 * virtual time and, for the races, on threads. */
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "task/support.h"
#include "verge/io.h"
#include "verge/process.h"
#include "verge/sync.h"

struct family {
    verge_mutex mutex;
    verge_task *child;
    bool child_has_ended;
};

static intptr_t works_for_an_hour(void *argument) {
    struct family *family = argument;
    CHECK_EQUAL(verge_mutex_lock(&family->mutex, VERGE_NEVER), 0);
    CHECK_EQUAL(verge_sleep(HOUR), 0);
    CHECK_EQUAL(verge_mutex_unlock(&family->mutex), 0);
    family->child_has_ended = true;
    return 42;
}

/* Cancels its parent again and again, while the parent waits. */
static intptr_t cancels_often(void *parent) {
    for (int i = 0; i < 10; i++) {
        CHECK_EQUAL(verge_sleep(HOUR / 20), 0);
        CHECK_EQUAL(verge_task_cancel(parent), 0);
    }
    return 0;
}

static intptr_t joins_its_child(void *argument) {
    (void)argument;
    struct family family = {.mutex = VERGE_MUTEX_INIT}; /* used by the child: the child must end first */
    verge_deadline scope;
    intptr_t result = 0;
    family.child = spawn(works_for_an_hour, &family);
    verge_task *canceller = spawn(cancels_often, verge_task_current());
    CHECK_EQUAL(verge_deadline_push(&scope, verge_deadline_after(SECOND)), 0);
    CHECK_EQUAL(verge_task_join(family.child, &result, VERGE_NEVER), -ETIMEDOUT);
    CHECK_EQUAL(verge_task_join(family.child, &result, VERGE_REGARDLESS), 0);
    CHECK_EQUAL(result, 42);
    CHECK(family.child_has_ended);
    CHECK_EQUAL(verge_now(), HOUR);
    CHECK_EQUAL(verge_deadline_pop(&scope), 0);
    CHECK(verge_task_is_cancelled());
    CHECK_EQUAL(verge_sleep(1), -ECANCELED); /* the task stays cancelled */
    CHECK_EQUAL(verge_task_join(canceller, NULL, VERGE_REGARDLESS), 0);
    return 0;
}

static void a_cancelled_task_waits_for_its_child(void **state) {
    (void)state;
    for (uint32_t workers = 1; workers <= 2; workers++) {
        assert_int_equal(run_virtual(workers, 0, joins_its_child, NULL), HOUR);
    }
}

static intptr_t locks_to_clean_up(void *argument) {
    (void)argument;
    struct family family = {.mutex = VERGE_MUTEX_INIT};
    family.child = spawn(works_for_an_hour, &family);
    verge_task *canceller = spawn(cancels_often, verge_task_current());
    CHECK_EQUAL(verge_sleep(HOUR / 10), -ECANCELED);
    CHECK_EQUAL(verge_mutex_lock(&family.mutex, VERGE_NEVER), -ECANCELED);
    CHECK_EQUAL(verge_mutex_lock(&family.mutex, VERGE_REGARDLESS), 0);
    CHECK_EQUAL(verge_now(), HOUR);
    CHECK_EQUAL(verge_mutex_lock(&family.mutex, VERGE_REGARDLESS), -EDEADLK);
    CHECK_EQUAL(verge_mutex_unlock(&family.mutex), 0);
    CHECK_EQUAL(verge_task_join(family.child, NULL, VERGE_REGARDLESS), 0);
    CHECK_EQUAL(verge_task_join(canceller, NULL, VERGE_REGARDLESS), 0);
    return 0;
}

static void a_cancelled_task_locks_to_clean_up(void **state) {
    (void)state;
    assert_int_equal(run_virtual(1, 0, locks_to_clean_up, NULL), HOUR);
}

static verge_once once = VERGE_ONCE_INIT;

static int sleeps_for_an_hour(void *argument) {
    (void)argument;
    return verge_sleep(HOUR);
}

static int is_not_called(void *argument) {
    (void)argument;
    CHECK(false);
    return 0;
}

static intptr_t does_once(void *argument) {
    (void)argument;
    return verge_once_do(&once, sleeps_for_an_hour, NULL, VERGE_NEVER);
}

static intptr_t waits_for_once(void *argument) {
    (void)argument;
    verge_task *first = spawn(does_once, NULL);
    verge_task *canceller = spawn(cancels_often, verge_task_current());
    CHECK_EQUAL(verge_sleep(HOUR / 10), -ECANCELED);
    CHECK_EQUAL(verge_once_do(&once, is_not_called, NULL, VERGE_NEVER), -ECANCELED);
    CHECK_EQUAL(verge_once_do(&once, is_not_called, NULL, VERGE_REGARDLESS), 0);
    CHECK_EQUAL(verge_now(), HOUR);
    CHECK_EQUAL(verge_task_join(first, NULL, VERGE_REGARDLESS), 0);
    CHECK_EQUAL(verge_task_join(canceller, NULL, VERGE_REGARDLESS), 0);
    return 0;
}

static void a_cancelled_task_waits_for_once(void **state) {
    (void)state;
    once = (verge_once)VERGE_ONCE_INIT;
    assert_int_equal(run_virtual(1, 0, waits_for_once, NULL), HOUR);
}

/* ---- other calls refuse the deadline, with and without a scope, if they have to wait (tries.c has more of them)
 * ---- */

static intptr_t ends_at_once(void *argument) {
    (void)argument;
    return 0;
}

static intptr_t waits_wrongly(void *argument) {
    (void)argument;
    int ends[2];
    char byte = 0;
    verge_deadline scope, inner;
    verge_group group;
    verge_process_result ended = {.struct_size = sizeof(ended)};
    const char *const arguments[] = {"true", NULL};
    const verge_process_options program = {.struct_size = sizeof(program), .arguments = arguments};
    CHECK_EQUAL(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
    for (int i = 0; i < 2; i++) {
        CHECK_EQUAL(verge_read(ends[0], &byte, 1, VERGE_REGARDLESS), -EINVAL);
        CHECK_EQUAL(verge_recv(ends[0], &byte, 1, 0, VERGE_REGARDLESS), -EINVAL);
        CHECK_EQUAL(verge_poll(ends[0], POLLIN, VERGE_REGARDLESS), -EINVAL);
        verge_case one = verge_case_poll(ends[0], POLLIN);
        CHECK_EQUAL(verge_select(&one, 1, VERGE_REGARDLESS), -EINVAL);
        CHECK_EQUAL(verge_run_process(&program, &ended, VERGE_REGARDLESS), -EINVAL);
        CHECK_EQUAL(verge_deadline_push(&inner, VERGE_REGARDLESS), -EINVAL);
        CHECK_EQUAL(verge_group_begin(&group), 0);
        CHECK_EQUAL(verge_group_spawn(&group, ends_at_once, NULL), 0);
        CHECK_EQUAL(verge_group_wait(&group, VERGE_REGARDLESS), -EINVAL);
        CHECK_EQUAL(verge_group_wait(&group, VERGE_NEVER), 0);
        CHECK_EQUAL(verge_write(ends[1], "x", 1, VERGE_REGARDLESS), 1); /* T3 */
        CHECK_EQUAL(verge_read(ends[0], &byte, 1, VERGE_REGARDLESS), 1);
        CHECK(i == 1 || verge_deadline_push(&scope, verge_deadline_after(HOUR)) == 0);
    }
    CHECK_EQUAL(verge_deadline_pop(&scope), 0);
    CHECK_EQUAL(close(ends[0]), 0);
    CHECK_EQUAL(close(ends[1]), 0);
    return 0;
}

static void other_calls_refuse_it(void **state) {
    (void)state;
    run_tasks(1, waits_wrongly, NULL);
    verge_semaphore semaphore = VERGE_SEMAPHORE_INIT(1); /* in a plain thread, too */
    verge_mutex mutex = VERGE_MUTEX_INIT;
    verge_condition condition = VERGE_CONDITION_INIT;
    assert_int_equal(verge_semaphore_acquire(&semaphore, 1, VERGE_REGARDLESS), 0);
    assert_int_equal(verge_semaphore_acquire(&semaphore, 1, VERGE_REGARDLESS), -EINVAL);
    assert_null(semaphore.waiting[0]);
    assert_int_equal(verge_mutex_lock(&mutex, VERGE_REGARDLESS), 0);
    assert_int_equal(verge_condition_wait(&condition, &mutex, VERGE_REGARDLESS), -EINVAL);
    assert_int_equal(verge_mutex_unlock(&mutex), 0);
}

/* No deadline that is computed is VERGE_REGARDLESS by accident. */
static intptr_t computes_deadlines(void *argument) {
    (void)argument;
    const uint64_t now_ns = verge_now();
    CHECK_EQUAL(verge_deadline_after(VERGE_REGARDLESS - now_ns - 1), VERGE_REGARDLESS - 1);
    CHECK_EQUAL(verge_deadline_after(VERGE_REGARDLESS - now_ns), VERGE_NEVER);
    CHECK_EQUAL(verge_deadline_after(VERGE_NEVER - now_ns), VERGE_NEVER);
    CHECK_EQUAL(verge_deadline_after(VERGE_NEVER), VERGE_NEVER);
    return 0;
}

static void no_duration_leads_to_it(void **state) {
    (void)state;
    static const uint64_t starts_ns[] = {0, HOUR, VERGE_REGARDLESS - 1};
    for (size_t i = 0; i < COUNT_OF(starts_ns); i++) {
        (void)run_virtual(1, starts_ns[i], computes_deadlines, NULL);
    }
}

static intptr_t joins_wrongly(void *argument) {
    (void)argument;
    CHECK_EQUAL(verge_task_join(NULL, NULL, VERGE_REGARDLESS), -EINVAL);
    CHECK_EQUAL(verge_task_join(verge_task_current(), NULL, VERGE_REGARDLESS), -EDEADLK);
    CHECK_EQUAL(verge_mutex_lock(NULL, VERGE_REGARDLESS), -EINVAL);
    return 0;
}

static void bad_input_is_refused(void **state) {
    (void)state;
    assert_int_equal(verge_task_join(NULL, NULL, VERGE_REGARDLESS), -EPERM);
    run_tasks(1, joins_wrongly, NULL);
}

/* ---- races: the task that cancels and the one that ends are on different workers ---- */

enum { race_rounds = fewer_under_tsan(2000) };

static intptr_t ends(void *argument) {
    for (uintptr_t rounds = (uintptr_t)argument; rounds > 0; rounds--) {
        CHECK_EQUAL(verge_yield(), 0);
    }
    return 7;
}

static intptr_t cancels_once(void *task) {
    return verge_task_cancel(task);
}

static intptr_t joins_in_a_race(void *argument) {
    intptr_t result = 0;
    verge_task *child = spawn_on(1, ends, argument);
    verge_task *canceller = spawn_on(2, cancels_once, verge_task_current());
    CHECK_EQUAL(verge_task_join(child, &result, VERGE_REGARDLESS), 0);
    CHECK_EQUAL(result, 7);
    CHECK_EQUAL(verge_task_join(canceller, &result, VERGE_REGARDLESS), 0);
    CHECK_EQUAL(result, 0);
    return 0;
}

static intptr_t races(void *argument) {
    (void)argument;
    for (uintptr_t i = 0; i < race_rounds; i++) {
        CHECK_EQUAL(join(spawn_on(0, joins_in_a_race, (void *)(i % 4))), 0);
    }
    return 0;
}

static void no_end_is_missed_by_who_is_cancelled(void **state) {
    (void)state;
    run_tasks(3, races, NULL);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_cancelled_task_waits_for_its_child),
        cmocka_unit_test(a_cancelled_task_locks_to_clean_up),
        cmocka_unit_test(a_cancelled_task_waits_for_once),
        cmocka_unit_test(other_calls_refuse_it),
        cmocka_unit_test(no_duration_leads_to_it),
        cmocka_unit_test(bad_input_is_refused),
        cmocka_unit_test(no_end_is_missed_by_who_is_cancelled),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
