/* SPDX-License-Identifier: MIT */
/* The _regardless calls: a task that is cancelled, or past the deadline of its scope, can still wait in its cleanup
 * code. In virtual time and, for the races, on threads. */
#include "task/support.h"

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
    CHECK_EQUAL(verge_task_join_regardless(family.child, &result), 0);
    CHECK_EQUAL(result, 42);
    CHECK(family.child_has_ended);
    CHECK_EQUAL(verge_now(), HOUR);
    CHECK_EQUAL(verge_deadline_pop(&scope), 0);
    CHECK(verge_task_is_cancelled());
    CHECK_EQUAL(verge_sleep(1), -ECANCELED); /* the task stays cancelled */
    CHECK_EQUAL(verge_task_join_regardless(canceller, NULL), 0);
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
    CHECK_EQUAL(verge_mutex_lock_regardless(&family.mutex), 0);
    CHECK_EQUAL(verge_now(), HOUR);
    CHECK_EQUAL(verge_mutex_lock_regardless(&family.mutex), -EDEADLK);
    CHECK_EQUAL(verge_mutex_unlock(&family.mutex), 0);
    CHECK_EQUAL(verge_task_join_regardless(family.child, NULL), 0);
    CHECK_EQUAL(verge_task_join_regardless(canceller, NULL), 0);
    return 0;
}

static void a_cancelled_task_locks_to_clean_up(void **state) {
    (void)state;
    assert_int_equal(run_virtual(1, 0, locks_to_clean_up, NULL), HOUR);
}

static intptr_t joins_wrongly(void *argument) {
    (void)argument;
    CHECK_EQUAL(verge_task_join_regardless(NULL, NULL), -EINVAL);
    CHECK_EQUAL(verge_task_join_regardless(verge_task_current(), NULL), -EDEADLK);
    CHECK_EQUAL(verge_mutex_lock_regardless(NULL), -EINVAL);
    return 0;
}

static void bad_input_is_refused(void **state) {
    (void)state;
    assert_int_equal(verge_task_join_regardless(NULL, NULL), -EPERM);
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
    CHECK_EQUAL(verge_task_join_regardless(child, &result), 0);
    CHECK_EQUAL(result, 7);
    CHECK_EQUAL(verge_task_join_regardless(canceller, &result), 0);
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
        cmocka_unit_test(bad_input_is_refused),
        cmocka_unit_test(no_end_is_missed_by_who_is_cancelled),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
