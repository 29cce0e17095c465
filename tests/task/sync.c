/* SPDX-License-Identifier: MIT */
/* Mutex, condition and channel: order, deadlines and cancellation. Also T2 of verge/task.h: a call has one answer if
 * what it waits for and its deadline come at the same moment. */
#include <pthread.h>

#include "task/support.h"

/* ---- mutex ---- */

struct shared {
    verge_mutex mutex;
    verge_condition condition;
    int inside;
    int count;
    verge_task *order[3]; /* the tasks that had the mutex, the first one first */
};

static intptr_t enters(void *argument) {
    struct shared *shared = argument;
    for (int i = 0; i < 200; i++) {
        CHECK_EQUAL(verge_mutex_lock(&shared->mutex, VERGE_NEVER), 0);
        CHECK_EQUAL(shared->inside++, 0);
        if (i % 8 == 0) {
            CHECK_EQUAL(verge_yield(), 0);
        }
        shared->count++;
        CHECK_EQUAL(shared->inside--, 1);
        CHECK_EQUAL(verge_mutex_unlock(&shared->mutex), 0);
    }
    return 0;
}

static intptr_t many_enter(void *argument) {
    for (uint32_t i = 0; i < 30; i++) {
        CHECK_EQUAL(spawn_at(NULL, i % 3, enters, argument, NULL), 0);
    }
    return 0;
}

static void a_mutex_lets_one_in(void **state) {
    (void)state;
    struct shared shared = {0};
    run_tasks(3, many_enter, &shared);
    assert_int_equal(shared.count, 30 * 200);
}

static intptr_t queues_up(void *argument) {
    struct shared *shared = argument;
    CHECK_EQUAL(verge_mutex_lock(&shared->mutex, VERGE_NEVER), 0);
    shared->order[shared->count++] = verge_task_current();
    CHECK_EQUAL(verge_mutex_unlock(&shared->mutex), 0);
    return 0;
}

static intptr_t gives_up(void *argument) {
    struct shared *shared = argument;
    const uint64_t before_ns = verge_now();
    CHECK_EQUAL(verge_mutex_lock(&shared->mutex, before_ns + 50), -ETIMEDOUT);
    CHECK_EQUAL(verge_now(), before_ns + 50);
    CHECK_EQUAL(verge_mutex_lock(&shared->mutex, 0), -ETIMEDOUT);
    CHECK_EQUAL(verge_mutex_unlock(&shared->mutex), -EPERM);
    return 0;
}

static intptr_t is_called_off(void *argument) {
    struct shared *shared = argument;
    return verge_mutex_lock(&shared->mutex, VERGE_NEVER);
}

static intptr_t holds(void *argument) {
    struct shared *shared = argument;
    verge_task *tasks[5];
    CHECK_EQUAL(verge_mutex_lock(&shared->mutex, VERGE_NEVER), 0);
    for (int i = 0; i < 5; i++) {
        tasks[i] = i == 1 ? spawn(gives_up, shared) : i == 3 ? spawn(is_called_off, shared) : spawn(queues_up, shared);
        CHECK_EQUAL(verge_sleep(1), 0);
    }
    CHECK_EQUAL(verge_task_cancel(tasks[3]), 0);
    CHECK_EQUAL(verge_sleep(100), 0);
    CHECK_EQUAL(shared->count, 0);
    CHECK_EQUAL(verge_mutex_unlock(&shared->mutex), 0);
    CHECK_EQUAL(verge_mutex_lock(&shared->mutex, VERGE_NEVER), 0); /* after the tasks that waited before */
    CHECK_EQUAL(shared->count, 3);
    for (size_t i = 0; i < COUNT_OF(shared->order); i++) {
        CHECK(shared->order[i] == tasks[2 * i]);
    }
    CHECK_EQUAL(verge_mutex_unlock(&shared->mutex), 0);
    for (int i = 0; i < 5; i++) {
        CHECK_EQUAL(join(tasks[i]), i == 3 ? -ECANCELED : 0);
    }
    return 0;
}

static void a_mutex_is_handed_over_in_order(void **state) {
    (void)state;
    struct shared shared = {0};
    run_virtual(1, 0, holds, &shared);
}

/* ---- condition ---- */

static intptr_t waits_for_turn(void *argument) {
    struct shared *shared = argument;
    CHECK_EQUAL(verge_mutex_lock(&shared->mutex, VERGE_NEVER), 0);
    const int result = verge_condition_wait(&shared->condition, &shared->mutex, VERGE_NEVER);
    CHECK_EQUAL(shared->inside++, 0); /* the task has the mutex, whatever the result */
    CHECK_EQUAL(verge_yield(), 0);
    CHECK_EQUAL(shared->inside--, 1);
    shared->count++;
    CHECK_EQUAL(verge_mutex_unlock(&shared->mutex), 0);
    return result;
}

static intptr_t signals(void *argument) {
    struct shared *shared = argument;
    verge_task *tasks[10];
    for (uint32_t i = 0; i < 10; i++) {
        tasks[i] = spawn_on(i % 2, waits_for_turn, shared);
    }
    CHECK_EQUAL(verge_sleep(1000), 0);
    CHECK_EQUAL(verge_condition_signal(&shared->condition), 0);
    CHECK_EQUAL(verge_sleep(1000), 0);
    CHECK_EQUAL(shared->count, 1);
    CHECK_EQUAL(verge_task_cancel(tasks[9]), 0);
    CHECK_EQUAL(join(tasks[9]), -ECANCELED);
    CHECK_EQUAL(shared->count, 2);
    CHECK_EQUAL(verge_condition_broadcast(&shared->condition), 0);
    for (int i = 0; i < 9; i++) {
        CHECK_EQUAL(join(tasks[i]), 0);
    }
    CHECK_EQUAL(shared->count, 10);
    CHECK_EQUAL(verge_condition_signal(&shared->condition), 0); /* nobody waits, and the signal is not kept */
    CHECK_EQUAL(verge_mutex_lock(&shared->mutex, VERGE_NEVER), 0);
    CHECK_EQUAL(verge_condition_wait(&shared->condition, &shared->mutex, verge_now() + 5), -ETIMEDOUT);
    CHECK_EQUAL(verge_mutex_unlock(&shared->mutex), 0);
    CHECK_EQUAL(verge_condition_wait(&shared->condition, &shared->mutex, VERGE_NEVER), -EPERM);
    return 0;
}

static void a_condition_wakes_one_or_all(void **state) {
    (void)state;
    struct shared shared = {0};
    run_virtual(2, 0, signals, &shared);
}

/* ---- channel ---- */

struct stream {
    verge_channel *channel;
    uint64_t count;
    _Atomic uint64_t sum;
    _Atomic uint64_t received;
};

static intptr_t sends_numbers(void *argument) {
    struct stream *stream = argument;
    for (uint64_t i = 1; i <= stream->count; i++) {
        CHECK_EQUAL(verge_channel_send(stream->channel, &i, VERGE_NEVER), 0);
    }
    return 0;
}

static intptr_t receives_numbers(void *argument) {
    struct stream *stream = argument;
    uint64_t item;
    int result;
    while ((result = verge_channel_receive(stream->channel, &item, VERGE_NEVER)) == 0) {
        atomic_fetch_add(&stream->sum, item);
        atomic_fetch_add(&stream->received, 1);
    }
    return result;
}

static intptr_t streams(void *argument) {
    struct stream *stream = argument;
    verge_task *senders[6], *receivers[6];
    for (uint32_t i = 0; i < 6; i++) {
        senders[i] = spawn_on(i % 3, sends_numbers, stream);
        receivers[i] = spawn_on(i * 2 % 3, receives_numbers, stream);
    }
    for (int i = 0; i < 6; i++) {
        CHECK_EQUAL(join(senders[i]), 0);
    }
    CHECK_EQUAL(verge_channel_close(stream->channel), 0);
    for (int i = 0; i < 6; i++) {
        CHECK_EQUAL(join(receivers[i]), -EPIPE);
    }
    return 0;
}

static void a_channel_loses_and_doubles_nothing(void **state) {
    (void)state;
    for (size_t capacity = 1; capacity <= 64; capacity *= 8) {
        struct stream stream = {.count = 1000};
        assert_int_equal(verge_channel_create(sizeof(uint64_t), capacity, NULL, &stream.channel), 0);
        run_tasks(3, streams, &stream);
        assert_int_equal(stream.received, 6 * 1000);
        assert_int_equal(stream.sum, 6 * (1000 * 1001 / 2));
        verge_channel_destroy(stream.channel);
    }
}

static intptr_t sends_three(void *channel) {
    for (int i = 0; i < 3; i++) {
        CHECK_EQUAL(verge_channel_send(channel, &i, VERGE_NEVER), 0);
    }
    return 0;
}

static intptr_t receives_in_order(void *argument) {
    (void)argument;
    verge_channel *channel = NULL;
    int item = -1;
    CHECK_EQUAL(verge_channel_create(sizeof(item), 1, NULL, &channel), 0);
    CHECK_EQUAL(verge_channel_receive(channel, &item, 0), -ETIMEDOUT);
    CHECK_EQUAL(verge_channel_receive(channel, &item, verge_now() + 10), -ETIMEDOUT);
    CHECK_EQUAL(item, -1);
    verge_task *sender = spawn(sends_three, channel);
    CHECK_EQUAL(verge_sleep(10), 0);
    CHECK_EQUAL(verge_channel_count(channel), 1);
    CHECK_EQUAL(verge_channel_send(channel, &item, 0), -ETIMEDOUT);
    CHECK_EQUAL(verge_channel_send(channel, &item, verge_now() + 10), -ETIMEDOUT);
    for (int i = 0; i < 3; i++) {
        CHECK_EQUAL(verge_channel_receive(channel, &item, VERGE_NEVER), 0);
        CHECK_EQUAL(item, i);
    }
    CHECK_EQUAL(join(sender), 0);
    CHECK_EQUAL(verge_channel_send(channel, &item, 0), 0);
    CHECK_EQUAL(verge_channel_close(channel), 0);
    CHECK_EQUAL(verge_channel_send(channel, &item, VERGE_NEVER), -EPIPE);
    CHECK_EQUAL(verge_channel_send(channel, &item, 0), -EPIPE);
    CHECK_EQUAL(verge_channel_receive(channel, &item, VERGE_NEVER), 0); /* items sent before the close are received */
    CHECK_EQUAL(verge_channel_receive(channel, &item, VERGE_NEVER), -EPIPE);
    verge_channel_destroy(channel);
    CHECK_EQUAL(verge_channel_create(1, 0, NULL, &channel), -EINVAL);
    CHECK_EQUAL(verge_channel_create(SIZE_MAX, 2, NULL, &channel), -EINVAL);
    CHECK_EQUAL(verge_channel_create(1, 1, NULL, NULL), -EINVAL);
    CHECK_EQUAL(verge_channel_send(NULL, &item, VERGE_NEVER), -EINVAL);
    CHECK_EQUAL(verge_channel_close(NULL), -EINVAL);
    verge_channel_destroy(NULL);
    return 0;
}

static void a_channel_is_bounded_and_ordered(void **state) {
    (void)state;
    run_virtual(1, 0, receives_in_order, NULL);
}

/* Sends from a thread that is no worker. */
static void *feeds(void *argument) {
    struct stream *stream = argument;
    for (uint64_t i = 1; i <= stream->count;) {
        const int result = verge_channel_send(stream->channel, &i, 0);
        if (result == 0) {
            i++;
        } else {
            (void)sched_yield();
        }
    }
    (void)verge_channel_close(stream->channel);
    return NULL;
}

static void other_threads_feed_a_channel(void **state) {
    (void)state;
    struct stream stream = {.count = 5000};
    pthread_t thread;
    assert_int_equal(verge_channel_create(sizeof(uint64_t), 4, NULL, &stream.channel), 0);
    assert_int_equal(pthread_create(&thread, NULL, feeds, &stream), 0);
    assert_int_equal(run_tasks(1, receives_numbers, &stream), -EPIPE);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_int_equal(stream.sum, 5000 * 5001 / 2);
    verge_channel_destroy(stream.channel);
}

/* ---- T2: deadlines and grants at the same instant ---- */

static intptr_t sends_on_time(void *argument) {
    struct stream *stream = argument;
    for (uint64_t i = 1; i <= stream->count; i++) {
        CHECK_EQUAL(verge_sleep_until(i * 10), 0);
        const uint64_t one = 1;
        if (verge_channel_send(stream->channel, &one, i * 10 + 10) == 0) {
            atomic_fetch_add(&stream->sum, 1);
        }
    }
    return 0;
}

static intptr_t receives_on_time(void *argument) {
    struct stream *stream = argument;
    uint64_t item;
    for (uint64_t i = 1; i <= stream->count; i++) {
        const int result = verge_channel_receive(stream->channel, &item, i * 10);
        CHECK(result == 0 || result == -ETIMEDOUT);
        if (result == 0) {
            atomic_fetch_add(&stream->received, 1);
        }
    }
    return 0;
}

static intptr_t meet_on_time(void *argument) {
    struct stream *stream = argument;
    verge_task *tasks[6];
    for (uint32_t i = 0; i < 6; i++) {
        tasks[i] = spawn_on(i % 3, i % 2 == 0 ? sends_on_time : receives_on_time, stream);
    }
    for (int i = 0; i < 6; i++) {
        join(tasks[i]);
    }
    uint64_t item;
    while (verge_channel_receive(stream->channel, &item, 0) == 0) {
        atomic_fetch_add(&stream->received, 1);
    }
    return 0;
}

static void t2_what_was_sent_was_received_or_is_there(void **state) {
    (void)state;
    struct stream stream = {.count = 3000};
    assert_int_equal(verge_channel_create(sizeof(uint64_t), 1, NULL, &stream.channel), 0);
    run_virtual(3, 0, meet_on_time, &stream);
    assert_true(stream.sum > 3000);
    assert_int_equal(stream.sum, stream.received);
    verge_channel_destroy(stream.channel);
}

/* A mutex on real threads, where a deadline and a grant meet by chance. */
static intptr_t locks_on_time(void *argument) {
    struct shared *shared = argument;
    for (int i = 0; i < 300; i++) {
        const int result = verge_mutex_lock(&shared->mutex, verge_now() + (uint64_t)(i % 3) * MS / 2);
        CHECK(result == 0 || result == -ETIMEDOUT);
        if (result == 0) {
            CHECK_EQUAL(shared->inside++, 0);
            CHECK_EQUAL(verge_sleep(i % 16 == 0 ? MS / 2 : 0), 0);
            CHECK_EQUAL(shared->inside--, 1);
            CHECK_EQUAL(verge_mutex_unlock(&shared->mutex), 0);
        }
    }
    return 0;
}

static intptr_t many_lock_on_time(void *argument) {
    for (uint32_t i = 0; i < 12; i++) {
        CHECK_EQUAL(spawn_at(NULL, i % 3, locks_on_time, argument, NULL), 0);
    }
    return 0;
}

static void t2_a_lock_is_had_or_not(void **state) {
    (void)state;
    struct shared shared = {0};
    run_tasks(3, many_lock_on_time, &shared);
    assert_null(shared.mutex.owner);
    assert_null(shared.mutex.waiting[0]);
}

/* ---- statistics: how many calls timed out, and how many tasks were spawned ---- */

static intptr_t sleeps_a_minute(void *argument) {
    (void)argument;
    CHECK_EQUAL(verge_sleep(MINUTE), 0);
    return 0;
}

static intptr_t waits_and_sleeps(void *argument) {
    verge_channel *channel = argument;
    verge_mutex mutex = VERGE_MUTEX_INIT;
    verge_condition condition = VERGE_CONDITION_INIT;
    verge_deadline scope;
    char item = 0;
    CHECK_EQUAL(verge_sleep(SECOND), 0);
    CHECK_EQUAL(verge_deadline_push(&scope, verge_now() + SECOND), 0);
    CHECK_EQUAL(verge_sleep(MINUTE), -ETIMEDOUT);
    CHECK_EQUAL(verge_deadline_pop(&scope), 0);
    CHECK_EQUAL(stats_of(verge_task_runtime()).timeouts, 0); /* sleeps do not count as timeouts */
    CHECK_EQUAL(verge_channel_receive(channel, &item, verge_now() + SECOND), -ETIMEDOUT);
    CHECK_EQUAL(verge_channel_send(channel, &item, VERGE_NEVER), 0);
    CHECK_EQUAL(verge_channel_send(channel, &item, verge_now() + SECOND), -ETIMEDOUT);
    CHECK_EQUAL(verge_mutex_lock(&mutex, VERGE_NEVER), 0);
    CHECK_EQUAL(verge_condition_wait(&condition, &mutex, verge_now() + SECOND), -ETIMEDOUT);
    verge_task *task = spawn(sleeps_a_minute, NULL);
    CHECK_EQUAL(verge_task_join(task, NULL, verge_now() + SECOND), -ETIMEDOUT);
    CHECK_EQUAL(join(task), 0);
    CHECK_EQUAL(stats_of(verge_task_runtime()).timeouts, 4);
    CHECK_EQUAL(verge_spawn(NULL, NULL, NULL), -EINVAL);
    CHECK_EQUAL(spawn_at(NULL, 0, NULL, NULL, NULL), -EINVAL);
    CHECK_EQUAL(stats_of(verge_task_runtime()).spawned, 2);
    return 0;
}

static void statistics_count_what_happened(void **state) {
    (void)state;
    verge_channel *channel;
    assert_int_equal(verge_channel_create(1, 1, NULL, &channel), 0);
    (void)run_virtual(1, 0, waits_and_sleeps, channel);
    verge_channel_destroy(channel);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_mutex_lets_one_in),
        cmocka_unit_test(a_mutex_is_handed_over_in_order),
        cmocka_unit_test(a_condition_wakes_one_or_all),
        cmocka_unit_test(a_channel_loses_and_doubles_nothing),
        cmocka_unit_test(a_channel_is_bounded_and_ordered),
        cmocka_unit_test(other_threads_feed_a_channel),
        cmocka_unit_test(t2_what_was_sent_was_received_or_is_there),
        cmocka_unit_test(t2_a_lock_is_had_or_not),
        cmocka_unit_test(statistics_count_what_happened),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
