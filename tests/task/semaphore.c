/* SPDX-License-Identifier: MIT */
/* Semaphores, read-write locks and verge_once. First come tests of order, deadlines and cancellation, one by one. Then
 * random tasks, with checks of what must hold at any time. Then real threads and tasks. */
#include <pthread.h>

#include "task/support.h"
#include "task/waiters.h"
#include "verge/sync.h"

/* ---- semaphore ---- */

struct taker {
    verge_semaphore *semaphore;
    uint32_t amount;
    int result;
    uint64_t deadline_ns;
    uint64_t got_ns;
};

static intptr_t takes(void *argument) {
    struct taker *taker = argument;
    taker->result = verge_semaphore_acquire(taker->semaphore, taker->amount, taker->deadline_ns);
    taker->got_ns = verge_now();
    return taker->result;
}

static intptr_t takes_in_order(void *argument) {
    (void)argument;
    verge_semaphore semaphore = VERGE_SEMAPHORE_INIT(2);
    struct taker takers[] = {
        {&semaphore, 3, 0, VERGE_NEVER, 0}, /* wants more than is available */
        {&semaphore, 1, 0, VERGE_NEVER, 0}, /* wants less, and waits behind the first */
        {&semaphore, 9, 0, 1000, 0},        /* gives up, so the next one gets what it wants */
        {&semaphore, 1, 0, VERGE_NEVER, 0}, {&semaphore, 1, 0, VERGE_NEVER, 0}, /* the last one is cancelled */
    };
    verge_task *tasks[COUNT_OF(takers)];
    for (size_t i = 0; i < COUNT_OF(takers); i++) {
        tasks[i] = spawn_on((uint32_t)i % 2, takes, &takers[i]);
        CHECK_EQUAL(verge_sleep(10), 0);
    }
    CHECK_EQUAL(verge_semaphore_acquire(&semaphore, 1, 0), -ETIMEDOUT); /* nobody overtakes */
    CHECK_EQUAL(semaphore.available, 2);
    CHECK_EQUAL(verge_sleep_until(100), 0);
    CHECK_EQUAL(verge_semaphore_release(&semaphore, 1), 0); /* now 3 are available, and the first taker gets them */
    CHECK_EQUAL(verge_sleep_until(200), 0);
    /* The second taker gets 1; 2 are left, too few for the third. */
    CHECK_EQUAL(verge_semaphore_release(&semaphore, 3), 0);
    CHECK_EQUAL(verge_sleep_until(300), 0);
    CHECK_EQUAL(semaphore.available, 2);
    CHECK_EQUAL(verge_task_cancel(tasks[4]), 0);
    for (size_t i = 0; i < COUNT_OF(takers); i++) {
        CHECK_EQUAL(join(tasks[i]), takers[i].result);
    }
    CHECK_EQUAL(takers[0].got_ns, 100);
    CHECK_EQUAL(takers[1].got_ns, 200);
    CHECK_EQUAL(takers[2].result, -ETIMEDOUT);
    CHECK_EQUAL(takers[3].result, 0);
    CHECK_EQUAL(takers[3].got_ns, 1000);
    CHECK_EQUAL(takers[4].result, -ECANCELED);
    CHECK_EQUAL(semaphore.available, 1);
    CHECK_EQUAL(verge_semaphore_acquire(&semaphore, 0, VERGE_NEVER), -EINVAL);
    CHECK_EQUAL(verge_semaphore_acquire(NULL, 1, VERGE_NEVER), -EINVAL);
    CHECK_EQUAL(verge_semaphore_release(&semaphore, 0), -EINVAL);
    CHECK_EQUAL(verge_semaphore_release(&semaphore, UINT32_MAX), -EOVERFLOW);
    CHECK_EQUAL(semaphore.available, 1);
    return 0;
}

static void a_semaphore_is_had_in_order(void **state) {
    (void)state;
    run_virtual(2, 0, takes_in_order, NULL);
}

/* ---- read-write lock ---- */

struct visitor {
    verge_rwlock *lock;
    bool writes;
    uint64_t duration_ns;
    uint64_t entered_ns;
};

static intptr_t visits(void *argument) {
    struct visitor *visitor = argument;
    CHECK_EQUAL(visitor->writes ? verge_rwlock_write(visitor->lock, VERGE_NEVER)
                                : verge_rwlock_read(visitor->lock, VERGE_NEVER),
                0);
    visitor->entered_ns = verge_now();
    CHECK_EQUAL(verge_sleep(visitor->duration_ns), 0);
    CHECK_EQUAL(verge_rwlock_unlock(visitor->lock), 0);
    return 0;
}

static intptr_t visits_in_order(void *argument) {
    (void)argument;
    verge_rwlock lock = VERGE_RWLOCK_INIT;
    struct visitor visitors[] = {
        {&lock, false, 100, 0}, {&lock, false, 50, 0}, {&lock, true, 100, 0},  /* the writer waits for both readers */
        {&lock, false, 10, 0},  {&lock, false, 20, 0}, {&lock, true, 1000, 0}, /* readers do not starve writers */
    };
    verge_task *tasks[COUNT_OF(visitors)];
    for (size_t i = 0; i < COUNT_OF(visitors); i++) {
        tasks[i] = spawn_on((uint32_t)i % 2, visits, &visitors[i]);
        CHECK_EQUAL(verge_sleep(1), 0);
    }
    CHECK_EQUAL(verge_rwlock_read(&lock, 0), -ETIMEDOUT);
    CHECK_EQUAL(verge_rwlock_write(&lock, 0), -ETIMEDOUT);
    CHECK_EQUAL(verge_rwlock_read(&lock, 50), -ETIMEDOUT);
    CHECK_EQUAL(verge_rwlock_write(&lock, 60), -ETIMEDOUT);
    static const uint64_t entered_ns[] = {0, 1, 100, 200, 200, 220};
    for (size_t i = 0; i < COUNT_OF(visitors); i++) {
        CHECK_EQUAL(join(tasks[i]), 0);
        CHECK_EQUAL(visitors[i].entered_ns, entered_ns[i]);
    }
    CHECK_EQUAL(verge_rwlock_unlock(&lock), -EPERM);
    CHECK_EQUAL(verge_rwlock_write(&lock, VERGE_NEVER), 0);
    CHECK_EQUAL(verge_rwlock_write(&lock, VERGE_NEVER), -EDEADLK);
    CHECK_EQUAL(verge_rwlock_read(&lock, VERGE_NEVER), -EDEADLK);
    CHECK_EQUAL(verge_rwlock_read(&lock, 0), -EDEADLK);
    CHECK_EQUAL(verge_rwlock_unlock(&lock), 0);
    CHECK_EQUAL(verge_rwlock_read(NULL, VERGE_NEVER), -EINVAL);
    CHECK_EQUAL(verge_rwlock_unlock(NULL), -EINVAL);
    return 0;
}

static void a_lock_is_had_in_order(void **state) {
    (void)state;
    run_virtual(2, 0, visits_in_order, NULL);
}

/* ---- random ---- */

enum { PLAYERS = 6, ROUNDS = 20, AMOUNT = 4 };

static struct {
    verge_semaphore semaphore;
    verge_rwlock lock;
    uint32_t taken;
    int readers, writers;
    uint64_t now_ns;
    verge_task *tasks[PLAYERS];
    uint64_t got, gave_up;
} world;

/* When the clock has moved, no waiter could be served: time moves only when no task can run. */
static void look_at_the_clock(void) {
    const uint64_t now_ns = verge_now();
    if (now_ns != world.now_ns) {
        const verge__waiter *first = world.semaphore.waiting[0];
        CHECK(first == NULL || first->amount > world.semaphore.available);
        first = world.lock.waiting[0];
        CHECK(first == NULL || world.lock.writer != NULL || (first->item != NULL && world.lock.reader_count != 0));
        world.now_ns = now_ns;
    }
    CHECK(world.taken <= AMOUNT && world.semaphore.available <= AMOUNT - world.taken);
    CHECK(world.writers == 0 || (world.writers == 1 && world.readers == 0));
}

static bool has(int result) {
    look_at_the_clock();
    CHECK(result == 0 || result == -ETIMEDOUT || (result == -ECANCELED && verge_task_is_cancelled()));
    world.got += result == 0;
    world.gave_up += result != 0;
    return result == 0;
}

static uint64_t some_deadline(struct verge_test_random *random) {
    return verge_test_below(random, 6) == 0 ? 0 : verge_now() + verge_test_below(random, 12);
}

static void use_semaphore(struct verge_test_random *random) {
    const uint32_t amount = 1 + (uint32_t)verge_test_below(random, AMOUNT);
    if (has(verge_semaphore_acquire(&world.semaphore, amount, some_deadline(random)))) {
        world.taken += amount;
        (void)verge_sleep(verge_test_below(random, 6));
        look_at_the_clock();
        world.taken -= amount;
        CHECK_EQUAL(verge_semaphore_release(&world.semaphore, amount), 0);
    }
}

static void use_lock(struct verge_test_random *random) {
    const bool writes = verge_test_below(random, 3) == 0;
    const uint64_t deadline_ns = some_deadline(random);
    int *inside = writes ? &world.writers : &world.readers;
    if (has(writes ? verge_rwlock_write(&world.lock, deadline_ns) : verge_rwlock_read(&world.lock, deadline_ns))) {
        ++*inside;
        (void)verge_sleep(verge_test_below(random, 6));
        look_at_the_clock();
        --*inside;
        CHECK_EQUAL(verge_rwlock_unlock(&world.lock), 0);
    }
}

static intptr_t player_main(void *argument) {
    struct verge_test_random random = *(struct verge_test_random *)argument;
    look_at_the_clock();
    for (int i = 0; i < ROUNDS; i++) {
        if (verge_test_below(&random, 2) == 0) {
            use_semaphore(&random);
        } else {
            use_lock(&random);
        }
        if (verge_test_below(&random, 40) == 0) {
            const size_t other = (size_t)verge_test_below(&random, PLAYERS);
            CHECK_EQUAL(world.tasks[other] == NULL ? 0 : verge_task_cancel(world.tasks[other]), 0);
        }
    }
    return 0;
}

static intptr_t run_worlds(void *argument) {
    const uint64_t seed = *(uint64_t *)argument;
    for (uint64_t i = 0; i < (uint64_t)fewer_under_tsan(1000); i++) {
        struct verge_test_random random = verge_test_random_from(seed + i), randoms[PLAYERS];
        world.semaphore = (verge_semaphore)VERGE_SEMAPHORE_INIT(AMOUNT);
        for (uint32_t k = 0; k < PLAYERS; k++) {
            randoms[k] = verge_test_random_from(verge_test_next(&random));
            world.tasks[k] = spawn_on(VERGE_WORKER_ANY, player_main, &randoms[k]);
        }
        for (uint32_t k = 0; k < PLAYERS; k++) {
            verge_task *task = world.tasks[k];
            (void)join(task);
            world.tasks[k] = NULL;
        }
        CHECK_EQUAL(world.semaphore.available, AMOUNT);
        CHECK(world.lock.writer == NULL && world.lock.reader_count == 0 && world.lock.waiting[0] == NULL);
        if (atomic_load(&failed_check_count) != 0) {
            (void)fprintf(stderr, "seed %" PRIu64 "\n", seed + i);
            return -1;
        }
    }
    return 0;
}

static void random_tasks_keep_the_order(void **state) {
    (void)state;
    uint64_t seed = verge_test_seed(1);
    for (uint32_t worker_count = 1; worker_count <= 3; worker_count++) {
        run_virtual(worker_count, 0, run_worlds, &seed);
    }
    assert_true(world.got > world.gave_up && world.gave_up > world.got / 20);
}

/* ---- once ---- */

struct work {
    verge_once once;
    _Atomic int calls, callers;
    int failures_left;
    int value;
};

static int does_it(void *argument) {
    struct work *work = argument;
    atomic_fetch_add(&work->calls, 1);
    if (verge_task_current() != NULL) {
        CHECK_EQUAL(verge_sleep(MS), 0); /* the other callers of verge_once_do wait meanwhile */
    }
    if (work->failures_left > 0) {
        work->failures_left--;
        return -EIO;
    }
    work->value = 42;
    return 0;
}

static void call_once(struct work *work) {
    const int result = verge_once_do(&work->once, does_it, work, VERGE_NEVER);
    CHECK(result == 0 || result == -EIO);
    CHECK(result != 0 || work->value == 42);
    atomic_fetch_add(&work->callers, 1);
}

static intptr_t task_calls_once(void *argument) {
    call_once(argument);
    return 0;
}

static void *thread_calls_once(void *argument) {
    call_once(argument);
    return NULL;
}

static int calls_itself(void *argument) {
    struct work *work = argument;
    CHECK_EQUAL(verge_once_do(&work->once, calls_itself, work, VERGE_NEVER), -EDEADLK);
    return -EAGAIN;
}

static intptr_t many_call_once(void *argument) {
    struct work *work = argument;
    CHECK_EQUAL(verge_once_do(&work->once, calls_itself, work, VERGE_NEVER), -EAGAIN);
    CHECK_EQUAL(verge_once_do(NULL, does_it, work, VERGE_NEVER), -EINVAL);
    CHECK_EQUAL(verge_once_do(&work->once, NULL, work, VERGE_NEVER), -EINVAL);
    for (uint32_t i = 0; i < 10; i++) {
        CHECK_EQUAL(spawn_at(NULL, i % 2, task_calls_once, work, NULL), 0);
    }
    return 0;
}

static void once_is_once(void **state) {
    (void)state;
    struct work work = {.failures_left = 2};
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, thread_calls_once, &work), 0);
    run_tasks(2, many_call_once, &work);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_int_equal(work.calls, 3);
    assert_int_equal(work.callers, 11);
}

/* ---- real threads ---- */

struct crowd {
    verge_semaphore semaphore;
    verge_rwlock lock;
    _Atomic int taken, readers, writers;
    uint64_t count;
};

static void crowd_in(struct crowd *crowd) {
    for (uint64_t i = 0; i < crowd->count; i++) {
        const uint32_t amount = 1 + (uint32_t)(i % 3);
        const int result = verge_semaphore_acquire(&crowd->semaphore, amount, verge_deadline_after(i % 5 * 50 * US));
        CHECK(result == 0 || result == -ETIMEDOUT);
        if (result == 0) {
            CHECK(atomic_fetch_add(&crowd->taken, (int)amount) + (int)amount <= AMOUNT);
            atomic_fetch_sub(&crowd->taken, (int)amount);
            CHECK_EQUAL(verge_semaphore_release(&crowd->semaphore, amount), 0);
        }
        if (i % 4 == 0) {
            CHECK_EQUAL(verge_rwlock_write(&crowd->lock, VERGE_NEVER), 0);
            CHECK_EQUAL(atomic_fetch_add(&crowd->writers, 1), 0);
            CHECK_EQUAL(atomic_load(&crowd->readers), 0);
            atomic_fetch_sub(&crowd->writers, 1);
        } else {
            CHECK_EQUAL(verge_rwlock_read(&crowd->lock, VERGE_NEVER), 0);
            atomic_fetch_add(&crowd->readers, 1);
            CHECK_EQUAL(atomic_load(&crowd->writers), 0);
            atomic_fetch_sub(&crowd->readers, 1);
        }
        CHECK_EQUAL(verge_rwlock_unlock(&crowd->lock), 0);
    }
}

static intptr_t task_crowds_in(void *argument) {
    crowd_in(argument);
    return 0;
}

static void *thread_crowds_in(void *argument) {
    crowd_in(argument);
    return NULL;
}

static intptr_t many_crowd_in(void *argument) {
    for (uint32_t i = 0; i < 6; i++) {
        CHECK_EQUAL(spawn_at(NULL, i % 2, task_crowds_in, argument, NULL), 0);
    }
    return 0;
}

static void threads_and_tasks_share(void **state) {
    (void)state;
    struct crowd crowd = {.semaphore = VERGE_SEMAPHORE_INIT(AMOUNT), .count = fewer_under_tsan(2000)};
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, thread_crowds_in, &crowd), 0);
    run_tasks(2, many_crowd_in, &crowd);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_int_equal(crowd.semaphore.available, AMOUNT);
    assert_null(crowd.lock.writer);
    assert_int_equal(crowd.lock.reader_count, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_semaphore_is_had_in_order), cmocka_unit_test(a_lock_is_had_in_order),
        cmocka_unit_test(random_tasks_keep_the_order), cmocka_unit_test(once_is_once),
        cmocka_unit_test(threads_and_tasks_share),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
