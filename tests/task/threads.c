/* SPDX-License-Identifier: MIT */
/* Plain threads and tasks use the same mutexes, conditions and channels. */
#include <pthread.h>

#include "task/support.h"
#include "verge/service.h"

enum { THREADS = 3, TASKS = 6 };

struct scene {
    verge_channel *requests, *replies;
    verge_mutex mutex;
    verge_condition condition;
    uint64_t count;
    int inside;
    uint64_t entered;
    _Atomic uint64_t sum_sent, sum_received, sent, received;
};

static verge_channel *channel_of(size_t capacity) {
    verge_channel *channel = NULL;
    assert_int_equal(verge_channel_create(sizeof(uint64_t), capacity, NULL, &channel), 0);
    return channel;
}

/* ---- alone ---- */

static void a_thread_waits_for_itself_in_vain(void **state) {
    (void)state;
    verge_channel *channel = channel_of(1);
    verge_mutex mutex = VERGE_MUTEX_INIT;
    verge_condition condition = VERGE_CONDITION_INIT;
    uint64_t item = 3;
    assert_int_equal(verge_channel_receive(channel, &item, verge_deadline_after(MS)), -ETIMEDOUT);
    assert_int_equal(verge_channel_receive(channel, &item, 0), -ETIMEDOUT);
    assert_int_equal(verge_channel_send(channel, &item, VERGE_NEVER), 0);
    const uint64_t deadline_ns = verge_deadline_after(2 * MS);
    assert_int_equal(verge_channel_send(channel, &item, deadline_ns), -ETIMEDOUT);
    assert_true(verge_now() >= deadline_ns); /* T1 */
    assert_int_equal(verge_channel_receive(channel, &item, VERGE_NEVER), 0);
    assert_int_equal(verge_mutex_lock(&mutex, VERGE_NEVER), 0);
    assert_int_equal(verge_mutex_lock(&mutex, VERGE_NEVER), -EDEADLK);
    assert_int_equal(verge_mutex_lock(&mutex, 0), -EDEADLK);
    assert_int_equal(verge_condition_wait(&condition, &mutex, verge_deadline_after(MS)), -ETIMEDOUT);
    assert_int_equal(verge_mutex_unlock(&mutex), 0); /* the thread holds the mutex again after the wait */
    assert_int_equal(verge_mutex_unlock(&mutex), -EPERM);
    assert_int_equal(verge_condition_wait(&condition, &mutex, VERGE_NEVER), -EPERM);
    assert_int_equal(verge_mutex_lock(NULL, 1), -EINVAL);
    assert_int_equal(verge_channel_close(channel), 0);
    assert_int_equal(verge_channel_receive(channel, &item, VERGE_NEVER), -EPIPE);
    assert_null(condition.waiting[0]);
    verge_channel_destroy(channel);
}

/* ---- items go both ways ---- */

static intptr_t answers(void *argument) {
    struct scene *scene = argument;
    uint64_t item;
    int result;
    while ((result = verge_channel_receive(scene->requests, &item, VERGE_NEVER)) == 0) {
        item *= 2;
        CHECK_EQUAL(verge_channel_send(scene->replies, &item, VERGE_NEVER), 0);
    }
    return result;
}

static intptr_t many_answer(void *argument) {
    verge_task *tasks[TASKS];
    for (uint32_t i = 0; i < TASKS; i++) {
        tasks[i] = spawn_on(i % 2, answers, argument);
    }
    for (uint32_t i = 0; i < TASKS; i++) {
        CHECK_EQUAL(join(tasks[i]), -EPIPE);
    }
    return 0;
}

static void *asks(void *argument) {
    struct scene *scene = argument;
    for (uint64_t i = 1; i <= scene->count; i++) {
        uint64_t reply = 0;
        CHECK_EQUAL(verge_channel_send(scene->requests, &i, VERGE_NEVER), 0);
        CHECK_EQUAL(verge_channel_receive(scene->replies, &reply, VERGE_NEVER), 0);
        atomic_fetch_add(&scene->sum_sent, i);
        atomic_fetch_add(&scene->sum_received, reply);
    }
    return NULL;
}

static void *many_ask(void *argument) {
    struct scene *scene = argument;
    pthread_t threads[THREADS];
    for (size_t i = 0; i < THREADS; i++) {
        CHECK_EQUAL(pthread_create(&threads[i], NULL, asks, scene), 0);
    }
    for (size_t i = 0; i < THREADS; i++) {
        CHECK_EQUAL(pthread_join(threads[i], NULL), 0);
    }
    CHECK_EQUAL(verge_channel_close(scene->requests), 0);
    return NULL;
}

static void threads_ask_and_tasks_answer(void **state) {
    (void)state;
    struct scene scene = {.requests = channel_of(1), .replies = channel_of(1), .count = 500};
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, many_ask, &scene), 0);
    run_tasks(2, many_answer, &scene);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_int_equal(scene.sum_received, 2 * scene.sum_sent);
    verge_channel_destroy(scene.requests);
    verge_channel_destroy(scene.replies);
}

/* ---- deadlines and items at the same moment (T2), close ---- */

static void send_some(struct scene *scene) {
    for (uint64_t i = 1; i <= scene->count; i++) {
        const int error = verge_channel_send(scene->requests, &i, verge_deadline_after(i % 4 * 20 * US));
        CHECK(error == 0 || error == -ETIMEDOUT);
        if (error == 0) {
            atomic_fetch_add(&scene->sent, 1);
            atomic_fetch_add(&scene->sum_sent, i);
        }
    }
}

static void receive_all(struct scene *scene) {
    int error = 0;
    for (uint64_t i = 0; error != -EPIPE; i++) {
        uint64_t item = 0;
        error = verge_channel_receive(scene->requests, &item, verge_deadline_after(i % 4 * 20 * US));
        CHECK(error == 0 || error == -ETIMEDOUT || error == -EPIPE);
        if (error == 0) {
            atomic_fetch_add(&scene->received, 1);
            atomic_fetch_add(&scene->sum_received, item);
        }
    }
}

static void *thread_sends(void *argument) {
    send_some(argument);
    return NULL;
}

static void *thread_receives(void *argument) {
    receive_all(argument);
    return NULL;
}

static intptr_t task_sends(void *argument) {
    send_some(argument);
    return 0;
}

static intptr_t task_receives(void *argument) {
    receive_all(argument);
    return 0;
}

static intptr_t all_meet(void *argument) {
    struct scene *scene = argument;
    pthread_t sender, receiver;
    CHECK_EQUAL(pthread_create(&sender, NULL, thread_sends, scene), 0);
    CHECK_EQUAL(pthread_create(&receiver, NULL, thread_receives, scene), 0);
    verge_task *tasks[3] = {spawn_on(1, task_receives, scene), spawn_on(0, task_sends, scene),
                            spawn_on(1, task_sends, scene)};
    CHECK_EQUAL(join(tasks[1]), 0);
    CHECK_EQUAL(join(tasks[2]), 0);
    CHECK_EQUAL(pthread_join(sender, NULL), 0); /* blocks worker 0, on which no other task is left */
    CHECK_EQUAL(verge_channel_close(scene->requests), 0);
    CHECK_EQUAL(pthread_join(receiver, NULL), 0);
    CHECK_EQUAL(join(tasks[0]), 0);
    return 0;
}

static void t2_threads_and_tasks_lose_nothing(void **state) {
    (void)state;
    struct scene scene = {.requests = channel_of(1), .count = fewer_under_tsan(3000)};
    run_tasks(2, all_meet, &scene);
    assert_int_equal(scene.sent, scene.received);
    assert_int_equal(scene.sum_sent, scene.sum_received);
    verge_channel_destroy(scene.requests);
}

/* ---- mutex and condition ---- */

static void enter_often(struct scene *scene) {
    for (uint64_t i = 0; i < scene->count; i++) {
        CHECK_EQUAL(verge_mutex_lock(&scene->mutex, VERGE_NEVER), 0);
        CHECK_EQUAL(scene->inside++, 0);
        scene->entered++;
        CHECK_EQUAL(scene->inside--, 1);
        CHECK_EQUAL(verge_mutex_unlock(&scene->mutex), 0);
    }
}

static void *thread_enters(void *argument) {
    enter_often(argument);
    return NULL;
}

static intptr_t task_enters(void *argument) {
    enter_often(argument);
    return 0;
}

static intptr_t all_enter(void *argument) {
    for (uint32_t i = 0; i < TASKS; i++) {
        CHECK_EQUAL(spawn_at(NULL, i % 2, task_enters, argument, NULL), 0);
    }
    return 0;
}

static void a_mutex_lets_one_in_of_both_kinds(void **state) {
    (void)state;
    struct scene scene = {.count = 500};
    pthread_t threads[THREADS];
    for (size_t i = 0; i < THREADS; i++) {
        assert_int_equal(pthread_create(&threads[i], NULL, thread_enters, &scene), 0);
    }
    run_tasks(2, all_enter, &scene);
    for (size_t i = 0; i < THREADS; i++) {
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    }
    assert_int_equal(scene.entered, (THREADS + TASKS) * scene.count);
    assert_null(scene.mutex.owner);
}

/* A thread and a task enter in turn: each when the count is even (parity 0) or odd (parity 1). */
static void take_turns(struct scene *scene, uint64_t parity) {
    CHECK_EQUAL(verge_mutex_lock(&scene->mutex, VERGE_NEVER), 0);
    while (scene->entered < scene->count) {
        if (scene->entered % 2 == parity) {
            scene->entered++;
            CHECK_EQUAL(verge_condition_signal(&scene->condition), 0);
        } else {
            CHECK_EQUAL(verge_condition_wait(&scene->condition, &scene->mutex, VERGE_NEVER), 0);
        }
    }
    CHECK_EQUAL(verge_condition_broadcast(&scene->condition), 0);
    CHECK_EQUAL(verge_mutex_unlock(&scene->mutex), 0);
}

static void *thread_takes_turns(void *argument) {
    take_turns(argument, 0);
    return NULL;
}

static intptr_t task_takes_turns(void *argument) {
    take_turns(argument, 1);
    return 0;
}

static void a_condition_wakes_both_kinds(void **state) {
    (void)state;
    struct scene scene = {.count = 1000};
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, thread_takes_turns, &scene), 0);
    run_tasks(1, task_takes_turns, &scene);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_int_equal(scene.entered, 1000);
}

/* ---- timers of a service send items to tasks of a runtime ---- */

static void on_timer(const verge_firing *firing) {
    const uint64_t item = 7;
    CHECK_EQUAL(verge_channel_send(firing->argument, &item, VERGE_NEVER), 0);
}

static intptr_t receives_timers(void *argument) {
    struct scene *scene = argument;
    uint64_t item;
    for (uint64_t i = 0; i < scene->count; i++) {
        CHECK_EQUAL(verge_channel_receive(scene->requests, &item, VERGE_NEVER), 0);
        CHECK_EQUAL(item, 7);
    }
    return 0;
}

static void a_service_feeds_a_runtime(void **state) {
    (void)state;
    struct scene scene = {.requests = channel_of(1), .count = 20};
    verge_service_options options;
    verge_service *service = NULL;
    assert_int_equal(verge_service_options_init(&options, sizeof(options)), 0);
    options.thread_count = 1;
    assert_int_equal(verge_service_create(&options, &service), 0);
    for (uint64_t i = 0; i < scene.count; i++) {
        verge_timer timer;
        assert_int_equal(verge_service_start_after(service, i % 3 * MS, on_timer, scene.requests, &timer), 0);
    }
    run_tasks(1, receives_timers, &scene);
    assert_int_equal(verge_service_destroy(service, NULL, NULL), 0);
    verge_channel_destroy(scene.requests);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_thread_waits_for_itself_in_vain), cmocka_unit_test(threads_ask_and_tasks_answer),
        cmocka_unit_test(t2_threads_and_tasks_lose_nothing), cmocka_unit_test(a_mutex_lets_one_in_of_both_kinds),
        cmocka_unit_test(a_condition_wakes_both_kinds),      cmocka_unit_test(a_service_feeds_a_runtime),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
