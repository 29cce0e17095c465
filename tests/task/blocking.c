/* SPDX-License-Identifier: MIT */
/* verge/blocking.h: functions that block are called on other threads. Who releases their arguments? */
#define _GNU_SOURCE

#include <netdb.h>
#include <netinet/in.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdlib.h>

#include "task/support.h"
#include "verge/blocking.h"

/* ---- support ---- */

/* A function that blocks until the test lets it go on. */
struct gate {
    sem_t begun, opened;
    atomic_int calls, abandoned;
    _Atomic(pthread_t) thread; /* of the last call */
};

static void gate_init(struct gate *gate) {
    memset(gate, 0, sizeof(*gate));
    assert_int_equal(sem_init(&gate->begun, 0, 0), 0);
    assert_int_equal(sem_init(&gate->opened, 0, 0), 0);
}

static intptr_t pass_gate(void *argument) {
    struct gate *gate = argument;
    (void)atomic_fetch_add(&gate->calls, 1);
    gate->thread = pthread_self();
    CHECK_EQUAL(sem_post(&gate->begun), 0);
    CHECK_EQUAL(sem_wait(&gate->opened), 0);
    return 17;
}

static void abandon_gate(void *argument) {
    struct gate *gate = argument;
    (void)atomic_fetch_add(&gate->abandoned, 1);
}

static void await_begin(struct gate *gate) {
    while (sem_trywait(&gate->begun) != 0) {
        CHECK_EQUAL(verge_sleep(MS), 0);
    }
}

static verge_runtime_options with_threads(uint32_t worker_count, uint32_t thread_max) {
    verge_runtime_options options = runtime_options(worker_count);
    options.blocking_thread_max = thread_max;
    return options;
}

/* ---- what verge_blocking does ---- */

static intptr_t opens_gate(void *argument) {
    struct gate *gate = argument;
    await_begin(gate);
    return sem_post(&gate->opened);
}

static intptr_t goes_through(void *argument) {
    struct gate *gate = argument;
    verge_task *task = spawn(opens_gate, gate); /* it runs on this worker, which the blocking function does not block */
    intptr_t result = 0;
    CHECK_EQUAL(verge_blocking(pass_gate, gate, NULL, &result, VERGE_NEVER), 0);
    CHECK_EQUAL(result, 17);
    CHECK(!pthread_equal(gate->thread, pthread_self()));
    return join(task);
}

static void others_run_while_a_function_blocks(void **state) {
    (void)state;
    struct gate gate;
    gate_init(&gate);
    assert_int_equal(run_tasks(1, goes_through, &gate), 0);
}

static intptr_t opens_late(void *argument) {
    struct gate *gate = argument;
    await_begin(gate);
    CHECK_EQUAL(verge_sleep(5 * MS), 0);
    return sem_post(&gate->opened);
}

static intptr_t is_late(void *argument) {
    struct gate *gate = argument;
    verge_task *task = spawn(opens_late, gate);
    verge_deadline scope;
    intptr_t result = 0;
    /* The deadline comes while the function runs. If it comes before the function begins, the loop tries again. */
    while (result == 0) {
        CHECK_EQUAL(verge_deadline_push(&scope, verge_deadline_after(4 * MS)), 0);
        const int error = verge_blocking(pass_gate, gate, NULL, &result, VERGE_NEVER);
        CHECK(error == 0 || (error == -ETIMEDOUT && result == 0));
        CHECK_EQUAL(verge_deadline_pop(&scope), 0);
    }
    CHECK_EQUAL(result, 17);
    CHECK_EQUAL(atomic_load(&gate->calls), 1);
    return join(task);
}

static void what_has_begun_is_waited_for(void **state) {
    (void)state;
    struct gate gate;
    gate_init(&gate);
    assert_int_equal(run_tasks(1, is_late, &gate), 0);
}

static intptr_t passes(void *argument) {
    intptr_t result = 0;
    const int error = verge_blocking(pass_gate, argument, NULL, &result, VERGE_NEVER);
    return error != 0 ? error : result;
}

static intptr_t is_not_called(void *argument) {
    ++*(int *)argument;
    return 0;
}

static void count_abandon(void *argument) {
    *(int *)argument += 100;
}

static intptr_t waits_in_the_queue(void *argument) {
    struct gate *gate = argument;
    int count = 0;
    intptr_t result = 5;
    verge_task *task = spawn(passes, gate);
    await_begin(gate);
    CHECK_EQUAL(verge_blocking(is_not_called, &count, NULL, &result, verge_deadline_after(MS)), -ETIMEDOUT);
    CHECK_EQUAL(count, 0);
    CHECK_EQUAL(verge_blocking(is_not_called, &count, NULL, &result, 0), -ETIMEDOUT);
    CHECK_EQUAL(count, 0);
    CHECK_EQUAL(verge_blocking(is_not_called, &count, count_abandon, &result, verge_deadline_after(MS)), -ETIMEDOUT);
    CHECK_EQUAL(count, 100);
    CHECK_EQUAL(verge_blocking(is_not_called, &count, count_abandon, &result, 0), -ETIMEDOUT);
    CHECK_EQUAL(count, 200);
    CHECK_EQUAL(result, 5);
    CHECK_EQUAL(verge_task_cancel(task), 0); /* the function has begun, so the cancellation changes nothing */
    CHECK_EQUAL(verge_task_cancel(verge_task_current()), 0);
    CHECK_EQUAL(verge_blocking(is_not_called, &count, NULL, &result, VERGE_NEVER), -ECANCELED);
    CHECK_EQUAL(verge_blocking(is_not_called, &count, count_abandon, &result, VERGE_NEVER), -ECANCELED);
    CHECK_EQUAL(count, 300);
    CHECK_EQUAL(sem_post(&gate->opened), 0);
    CHECK_EQUAL(verge_task_join(task, &result, VERGE_REGARDLESS), 0);
    CHECK_EQUAL(result, 17);
    return 0;
}

static void what_waits_for_a_thread_has_not_begun(void **state) {
    (void)state;
    struct gate gate;
    gate_init(&gate);
    (void)run_with(with_threads(1, 1), waits_in_the_queue, &gate);
    assert_int_equal(atomic_load(&gate.calls), 1);
}

static intptr_t is_cancelled_in_the_queue(void *argument) {
    intptr_t result;
    return verge_blocking(is_not_called, argument, NULL, &result, VERGE_NEVER);
}

static intptr_t cancels_in_the_queue(void *argument) {
    struct gate *gate = argument;
    int count = 0;
    verge_task *first = spawn(passes, gate);
    await_begin(gate);
    verge_task *second = spawn(is_cancelled_in_the_queue, &count);
    CHECK_EQUAL(verge_yield(), 0);
    CHECK_EQUAL(verge_task_cancel(second), 0);
    CHECK_EQUAL(join(second), -ECANCELED);
    CHECK_EQUAL(sem_post(&gate->opened), 0);
    CHECK_EQUAL(join(first), 17);
    CHECK_EQUAL(count, 0);
    return 0;
}

static void a_cancelled_call_leaves_the_queue(void **state) {
    (void)state;
    struct gate gate;
    gate_init(&gate);
    (void)run_with(with_threads(1, 1), cancels_in_the_queue, &gate);
}

static intptr_t abandons(void *argument) {
    struct gate *gate = argument;
    intptr_t result = 3;
    intptr_t count = 0;
    for (; atomic_load(&gate->calls) == 0; count++) { /* on a busy machine, the function may not have begun in time */
        CHECK_EQUAL(verge_blocking(pass_gate, gate, abandon_gate, &result, verge_deadline_after(MS)), -ETIMEDOUT);
    }
    CHECK_EQUAL(result, 3);
    return count;
}

struct opening {
    struct gate *gate;
    intptr_t count;
};

static void *opens_when_run_has_returned(void *argument) {
    const struct opening *opening = argument;
    for (intptr_t i = 0; i < opening->count; i++) {
        (void)sem_post(&opening->gate->opened);
    }
    return NULL;
}

static void what_is_abandoned_is_released_when_the_function_ends(void **state) {
    (void)state;
    struct gate gate;
    pthread_t thread;
    gate_init(&gate);
    verge_runtime *runtime = runtime_with(runtime_options(2));
    struct opening opening = {.gate = &gate};
    /* Returns while the functions still run. */
    assert_int_equal(verge_runtime_run(runtime, abandons, &gate, &opening.count), 0);
    assert_true(atomic_load(&gate.abandoned) < opening.count);
    assert_int_equal(pthread_create(&thread, NULL, opens_when_run_has_returned, &opening), 0);
    end_runtime(runtime); /* waits until the functions have returned */
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_int_equal(atomic_load(&gate.abandoned), opening.count);
}

/* ---- threads ---- */

static atomic_int running, running_max, done;

static intptr_t is_counted(void *argument) {
    (void)argument;
    const int now = atomic_fetch_add(&running, 1) + 1;
    int max = atomic_load(&running_max);
    while (max < now && !atomic_compare_exchange_weak(&running_max, &max, now)) {
    }
    (void)sched_yield();
    (void)atomic_fetch_sub(&running, 1);
    (void)atomic_fetch_add(&done, 1);
    return 0;
}

static intptr_t calls_often(void *argument) {
    (void)argument;
    for (int i = 0; i < 20; i++) {
        CHECK_EQUAL(verge_blocking(is_counted, NULL, NULL, NULL, VERGE_NEVER), 0);
    }
    return 0;
}

static intptr_t has_many_callers(void *argument) {
    (void)argument;
    verge_task *tasks[16];
    for (size_t i = 0; i < COUNT_OF(tasks); i++) {
        tasks[i] = spawn_on(VERGE_WORKER_ANY, calls_often, NULL);
    }
    for (size_t i = 0; i < COUNT_OF(tasks); i++) {
        CHECK_EQUAL(join(tasks[i]), 0);
    }
    return 0;
}

static void there_are_never_more_threads_than_allowed(void **state) {
    (void)state;
    static const uint64_t idle_ns[] = {10 * SECOND, 0, VERGE_NEVER};
    for (size_t i = 0; i < COUNT_OF(idle_ns); i++) {
        atomic_store(&running_max, 0);
        atomic_store(&done, 0);
        verge_runtime_options options = with_threads(2, 3);
        options.blocking_idle_ns = idle_ns[i];
        (void)run_with(options, has_many_callers, NULL);
        assert_int_equal(atomic_load(&done), 16 * 20);
        assert_true(atomic_load(&running_max) >= 1 && atomic_load(&running_max) <= 3);
    }
}

static intptr_t exits(void *argument) {
    (void)argument;
    pthread_exit(NULL);
}

static intptr_t loses_a_thread(void *argument) {
    intptr_t result = 8;
    (void)argument;
    return verge_blocking(exits, NULL, NULL, &result, VERGE_NEVER);
}

static intptr_t loses_threads(void *argument) {
    (void)argument;
    verge_task *tasks[8];
    int count = 0;
    /* Each function ends its thread; the next thread takes the next function. */
    for (size_t i = 0; i < COUNT_OF(tasks); i++) {
        tasks[i] = spawn(loses_a_thread, NULL);
    }
    for (size_t i = 0; i < COUNT_OF(tasks); i++) {
        CHECK_EQUAL(join(tasks[i]), -EOWNERDEAD);
    }
    CHECK_EQUAL(verge_blocking(is_not_called, &count, NULL, NULL, VERGE_NEVER), 0);
    CHECK_EQUAL(count, 1);
    CHECK_EQUAL(verge_blocking(exits, &count, count_abandon, NULL, VERGE_NEVER), -EOWNERDEAD);
    CHECK_EQUAL(count, 1); /* abandon was not called: the argument is still the caller's */
    return 0;
}

static void a_thread_that_a_function_ends_is_replaced(void **state) {
    (void)state;
    (void)run_with(with_threads(1, 1), loses_threads, NULL);
    (void)run_with(with_threads(2, 3), loses_threads, NULL);
}

static intptr_t retires(void *argument) {
    struct gate *gate = argument;
    verge_task *task = spawn_on(1, passes, gate);
    await_begin(gate);
    CHECK_EQUAL(verge_runtime_retire_worker(verge_task_runtime(), 1), 0);
    while (stats_of(verge_task_runtime()).workers != 1) {
        CHECK_EQUAL(verge_sleep(MS), 0);
    }
    CHECK_EQUAL(sem_post(&gate->opened), 0);
    CHECK_EQUAL(join(task), 17);
    return 0;
}

static void a_worker_retires_meanwhile(void **state) {
    (void)state;
    struct gate gate;
    gate_init(&gate);
    (void)run_tasks(2, retires, &gate);
}

/* ---- virtual time ---- */

static intptr_t sleeps(void *argument) {
    (void)argument;
    return verge_sleep(1);
}

static intptr_t stands_still(void *argument) {
    int *count = argument;
    verge_task *task = spawn(sleeps, NULL);
    const uint64_t before_ns = verge_now();
    CHECK_EQUAL(verge_blocking(is_not_called, count, NULL, NULL, verge_deadline_after(1)), 0);
    CHECK_EQUAL(verge_blocking(is_not_called, count, count_abandon, NULL, verge_deadline_after(1)), 0);
    CHECK_EQUAL(*count, 2);
    CHECK_EQUAL(verge_now(), before_ns);
    CHECK_EQUAL(verge_blocking(is_not_called, count, NULL, NULL, before_ns), -ETIMEDOUT);
    CHECK_EQUAL(*count, 2);
    CHECK_EQUAL(verge_blocking(exits, NULL, NULL, NULL, VERGE_NEVER), -EOWNERDEAD);
    CHECK_EQUAL(verge_blocking(is_not_called, count, NULL, NULL, VERGE_NEVER), 0);
    return join(task);
}

static void virtual_time_stands_still(void **state) {
    (void)state;
    int count = 0;
    assert_int_equal(run_virtual(2, 100, stands_still, &count), 101);
}

/* ---- errors ---- */

static intptr_t makes_mistakes(void *argument) {
    (void)argument;
    int count = 0;
    CHECK_EQUAL(verge_blocking(NULL, NULL, NULL, NULL, VERGE_NEVER), -EINVAL);
    CHECK_EQUAL(verge_blocking(NULL, &count, count_abandon, NULL, VERGE_NEVER), -EINVAL);
    CHECK_EQUAL(verge_blocking(is_not_called, &count, NULL, NULL, 300 * MS), -EINVAL); /* a duration is no deadline */
    CHECK_EQUAL(verge_blocking(is_not_called, &count, count_abandon, NULL, 300 * MS), -EINVAL);
    CHECK_EQUAL(count, 0);
    return 0;
}

static void mistakes_change_nothing(void **state) {
    (void)state;
    verge_runtime_options options = runtime_options(1);
    options.check_deadlines = true;
    (void)run_with(options, makes_mistakes, NULL);
    int count = 0;
    assert_int_equal(verge_blocking(is_not_called, &count, NULL, NULL, VERGE_NEVER), -EPERM);
    assert_int_equal(verge_blocking(is_not_called, &count, count_abandon, NULL, VERGE_NEVER), -EPERM);
    assert_int_equal(count, 0);
    char text[128];
    options = with_threads(1, 0);
    assert_int_equal(verge_runtime_options_explain(&options, text, sizeof(text)), -EINVAL);
    assert_non_null(strstr(text, "blocking_thread_max"));
}

static intptr_t has_no_memory(void *argument) {
    struct verge_test_allocator *memory = argument;
    int count = 0;
    memory->fail_at = memory->calls + 1;
    CHECK_EQUAL(verge_blocking(is_not_called, &count, count_abandon, NULL, VERGE_NEVER), -ENOMEM);
    CHECK_EQUAL(count, 0);
    return 0;
}

static void without_memory_the_argument_is_the_callers(void **state) {
    (void)state;
    struct verge_test_allocator memory;
    verge_test_allocator_init(&memory);
    verge_runtime_options options = runtime_options(1);
    options.allocator = &memory.allocator;
    (void)run_with(options, has_no_memory, &memory);
    verge_test_allocator_assert_empty(&memory);
}

/* ---- at random: each argument is released once, each function called at most once ---- */

struct item {
    atomic_int calls, releases;
    uint32_t turns; /* how long its function takes: in the order of the callers' deadlines */
};

static intptr_t uses_item(void *argument) {
    struct item *item = argument;
    CHECK_EQUAL(atomic_load(&item->releases), 0);
    CHECK_EQUAL(atomic_fetch_add(&item->calls, 1), 0);
    for (volatile uint32_t i = 0; i < item->turns; i++) { /* a yield would take very long on a busy machine */
    }
    CHECK_EQUAL(atomic_load(&item->releases), 0);
    return (intptr_t)item->turns;
}

static void releases_item(void *argument) {
    struct item *item = argument;
    CHECK_EQUAL(atomic_fetch_add(&item->releases, 1), 0);
}

enum { ITEM_COUNT = 40, CALLER_COUNT = 12 };

struct caller {
    struct verge_test_random random;
    struct item items[ITEM_COUNT];
};

static intptr_t calls_at_random(void *argument) {
    struct caller *caller = argument;
    for (size_t i = 0; i < ITEM_COUNT; i++) {
        struct item *item = &caller->items[i];
        item->turns = (uint32_t)verge_test_below(&caller->random, 200000);
        const uint64_t deadline_ns = verge_test_below(&caller->random, 4) == 0
                                         ? VERGE_NEVER
                                         : verge_deadline_after(verge_test_below(&caller->random, 200) * US);
        intptr_t result = -1;
        if (verge_test_below(&caller->random, 2) == 0) {
            const int error = verge_blocking(uses_item, item, NULL, &result, deadline_ns);
            CHECK(error == 0 || error == -ETIMEDOUT || error == -ECANCELED);
            CHECK_EQUAL(atomic_load(&item->calls), error == 0);
            CHECK_EQUAL(result, error == 0 ? (int)item->turns : -1);
            releases_item(item);
        } else {
            const int error = verge_blocking(uses_item, item, releases_item, &result, deadline_ns);
            CHECK(error == 0 || error == -ETIMEDOUT || error == -ECANCELED);
            if (error == 0) {
                CHECK_EQUAL(atomic_load(&item->calls), 1);
                CHECK_EQUAL(result, item->turns);
                releases_item(item);
            }
        }
    }
    return 0;
}

static intptr_t has_random_callers(void *argument) {
    struct caller *callers = argument;
    verge_task *tasks[CALLER_COUNT];
    struct verge_test_random random = callers[0].random; /* a copy, as the callers change theirs meanwhile */
    for (size_t i = 0; i < CALLER_COUNT; i++) {
        tasks[i] = spawn_on(VERGE_WORKER_ANY, calls_at_random, &callers[i]);
    }
    for (size_t i = 0; i < CALLER_COUNT; i++) {
        if (verge_test_below(&random, 4) == 0) {
            CHECK_EQUAL(verge_task_cancel(tasks[i]), 0);
        }
        CHECK_EQUAL(join(tasks[i]), 0);
    }
    return 0;
}

static void each_argument_has_one_owner(void **state) {
    (void)state;
    static struct caller callers[CALLER_COUNT];
    const uint64_t seed = verge_test_seed(20261117);
    for (uint64_t round = 0; round < 20; round++) {
        memset(callers, 0, sizeof(callers));
        for (size_t i = 0; i < CALLER_COUNT; i++) {
            callers[i].random = verge_test_random_from(seed + round * CALLER_COUNT + i);
        }
        verge_runtime_options options = with_threads(2, 1 + (uint32_t)round % 4);
        options.precision_ns = 1 << 10;
        options.blocking_idle_ns = round % 3 * 50 * US;
        (void)run_with(options, has_random_callers, callers);
        for (size_t i = 0; i < CALLER_COUNT; i++) {
            for (size_t j = 0; j < ITEM_COUNT; j++) {
                assert_int_equal(atomic_load(&callers[i].items[j].releases), 1);
            }
        }
    }
}

/* ---- names of hosts ---- */

static intptr_t resolves(void *argument) {
    (void)argument;
    struct addrinfo hints = {.ai_family = AF_INET, .ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICHOST};
    struct addrinfo *addresses = NULL;
    CHECK_EQUAL(verge_getaddrinfo("127.0.0.1", "80", &hints, &addresses, VERGE_NEVER), 0);
    if (addresses != NULL) {
        struct sockaddr_in address;
        memcpy(&address, addresses->ai_addr, sizeof(address));
        CHECK_EQUAL(ntohl(address.sin_addr.s_addr), INADDR_LOOPBACK);
        CHECK_EQUAL(ntohs(address.sin_port), 80);
        freeaddrinfo(addresses);
    }
    struct addrinfo *none = NULL;
    CHECK_EQUAL(verge_getaddrinfo("no.such.name", "80", &hints, &none, VERGE_NEVER), -ENOENT);
    CHECK_EQUAL(verge_getaddrinfo("127.0.0.1", "no such service", &hints, &none, VERGE_NEVER), -ENOENT);
    CHECK_EQUAL(verge_getaddrinfo(NULL, NULL, &hints, &none, VERGE_NEVER), -EINVAL);
    CHECK_EQUAL(verge_getaddrinfo("127.0.0.1", NULL, NULL, NULL, VERGE_NEVER), -EINVAL);
    CHECK_EQUAL(verge_getaddrinfo("127.0.0.1", "80", &hints, &none, 0), -ETIMEDOUT);
    hints.ai_flags = -1;
    CHECK_EQUAL(verge_getaddrinfo("127.0.0.1", "80", &hints, &none, VERGE_NEVER), -EINVAL);
    hints.ai_flags = 0;
    hints.ai_family = 12345;
    CHECK_EQUAL(verge_getaddrinfo("127.0.0.1", "80", &hints, &none, VERGE_NEVER), -EAFNOSUPPORT);
    CHECK(none == NULL);
    CHECK_EQUAL(verge_getaddrinfo("127.0.0.1", NULL, NULL, &addresses, VERGE_NEVER), 0);
    freeaddrinfo(addresses);
    return 0;
}

static void names_of_hosts_are_resolved(void **state) {
    (void)state;
    struct verge_test_allocator memory;
    verge_test_allocator_init(&memory);
    verge_runtime_options options = runtime_options(1);
    options.allocator = &memory.allocator;
    (void)run_with(options, resolves, NULL);
    verge_test_allocator_assert_empty(&memory);
    (void)run_virtual(1, 100, resolves, NULL);
    struct addrinfo *none = NULL;
    assert_int_equal(verge_getaddrinfo("127.0.0.1", "80", NULL, &none, VERGE_NEVER), -EPERM);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(others_run_while_a_function_blocks),
        cmocka_unit_test(what_has_begun_is_waited_for),
        cmocka_unit_test(what_waits_for_a_thread_has_not_begun),
        cmocka_unit_test(a_cancelled_call_leaves_the_queue),
        cmocka_unit_test(what_is_abandoned_is_released_when_the_function_ends),
        cmocka_unit_test(there_are_never_more_threads_than_allowed),
        cmocka_unit_test(a_thread_that_a_function_ends_is_replaced),
        cmocka_unit_test(a_worker_retires_meanwhile),
        cmocka_unit_test(virtual_time_stands_still),
        cmocka_unit_test(mistakes_change_nothing),
        cmocka_unit_test(without_memory_the_argument_is_the_callers),
        cmocka_unit_test(each_argument_has_one_owner),
        cmocka_unit_test(names_of_hosts_are_resolved),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
