/* SPDX-License-Identifier: MIT */
/* Workers come and go; their tasks go on elsewhere. Tasks come from outside. */
#include <pthread.h>
#include <sys/socket.h>
#include <unistd.h>

#include "task/support.h"
#include "verge/io.h"

/* ---- retiring ---- */

struct visitor {
    uint64_t duration_ns; /* HOUR: the visitor waits until it is cancelled */
    uint64_t until_ns;
    uint32_t began_on;
    uint32_t ended_on;
    int fd; /* what the visitor reads from; -1: it sleeps */
};

static _Atomic uint32_t begun_count;

static intptr_t waits_somewhere(void *argument) {
    struct visitor *visitor = argument;
    char byte;
    visitor->began_on = verge_task_worker_id();
    visitor->until_ns = visitor->fd >= 0 ? VERGE_NEVER : verge_deadline_after(visitor->duration_ns);
    atomic_fetch_add(&begun_count, 1);
    if (visitor->fd >= 0) {
        CHECK_EQUAL(verge_recv(visitor->fd, &byte, 1, 0, VERGE_NEVER), 1);
        CHECK_EQUAL(verge_yield(), 0);
    } else {
        const int result = verge_sleep_until(visitor->until_ns);
        CHECK_EQUAL(result, visitor->duration_ns == HOUR ? -ECANCELED : 0);
        CHECK(result != 0 || verge_now() >= visitor->until_ns);
    }
    visitor->ended_on = verge_task_worker_id();
    return 0;
}

static intptr_t retires_worker_1(void *argument) {
    enum { count = 40 };
    const int *fds = argument;
    struct visitor visitors[count];
    verge_task *tasks[count];
    atomic_store(&begun_count, 0);
    for (uint32_t i = 0; i < count; i++) {
        const uint64_t duration_ns = i < 30 ? 300 * MS + UINT64_C(3) * i * MS : HOUR;
        visitors[i] = (struct visitor){.duration_ns = duration_ns, .fd = i == 7 ? fds[0] : -1};
        tasks[i] = spawn_on(1, waits_somewhere, &visitors[i]);
    }
    while (atomic_load(&begun_count) < count) {
        CHECK_EQUAL(verge_sleep(MS), 0);
    }
    CHECK_EQUAL(verge_runtime_retire_worker(verge_task_runtime(), 1), 0);
    CHECK_EQUAL(verge_runtime_retire_worker(verge_task_runtime(), 1), -EALREADY);
    const uint64_t retired_ns = verge_now();
    for (uint32_t i = 0; i < count; i++) {
        if (i == 7) {
            CHECK_EQUAL(verge_send(fds[1], "x", 1, 0, VERGE_NEVER), 1);
        } else if (visitors[i].duration_ns == HOUR) {
            CHECK_EQUAL(verge_task_cancel(tasks[i]), 0);
        }
        CHECK_EQUAL(join(tasks[i]), 0);
        CHECK(visitors[i].ended_on != 1 || visitors[i].until_ns <= retired_ns);
    }
    struct visitor late = {.duration_ns = 1, .fd = -1};
    join(spawn_on(1, waits_somewhere, &late)); /* worker 1 has left, so another one takes the task */
    CHECK(late.began_on != 1);
    return 0;
}

static void a_worker_that_retires_hands_its_tasks_over(void **state) {
    (void)state;
    for (int virtual = 0; virtual < 2; virtual ++) {
        int fds[2];
        assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, fds), 0);
        verge_manual_clock clock = {0};
        verge_runtime_options options = runtime_options(3);
        options.virtual_clock = virtual ? &clock : NULL;
        verge_runtime *runtime = runtime_with(options);
        assert_int_equal(verge_runtime_run(runtime, retires_worker_1, fds, NULL), 0);
        assert_int_equal(stats_of(runtime).workers, 2);
        assert_true(stats_of(runtime).migrated >= 10); /* at least the tasks that slept until they were cancelled */
        end_runtime(runtime);
        assert_int_equal(close(fds[0]) + close(fds[1]), 0);
    }
}

/* Tasks that wait for each other and for time while workers come and go. */
struct crowd {
    verge_mutex mutex;
    verge_channel *channel;
    _Atomic uint64_t seed; /* the seed of the next task that is spawned */
    _Atomic int rounds;
};

static intptr_t keeps_busy(void *argument) {
    struct crowd *crowd = argument;
    struct verge_test_random random = verge_test_random_from(atomic_fetch_add(&crowd->seed, 1));
    for (int i = 0; i < 150; i++) {
        int item = i;
        int error;
        switch (verge_test_below(&random, 4)) {
        case 0:
            CHECK_EQUAL(verge_sleep(verge_test_below(&random, MS)), 0);
            break;
        case 1:
            CHECK_EQUAL(verge_mutex_lock(&crowd->mutex, VERGE_NEVER), 0);
            CHECK_EQUAL(verge_yield(), 0);
            CHECK_EQUAL(verge_mutex_unlock(&crowd->mutex), 0);
            break;
        case 2:
            error = verge_channel_send(crowd->channel, &item, verge_deadline_after(MS / 2));
            CHECK(error == 0 || error == -ETIMEDOUT);
            break;
        default:
            error = verge_channel_receive(crowd->channel, &item, verge_deadline_after(MS / 2));
            CHECK(error == 0 || error == -ETIMEDOUT);
        }
    }
    atomic_fetch_add(&crowd->rounds, 1);
    return 0;
}

static intptr_t comes_and_goes(void *argument) {
    struct crowd *crowd = argument;
    verge_runtime *runtime = verge_task_runtime();
    for (uint32_t i = 0; i < 60; i++) {
        CHECK_EQUAL(spawn_at(NULL, i % 3, keeps_busy, crowd, NULL), 0);
    }
    for (int i = 0; i < 8; i++) {
        uint32_t index = 0;
        CHECK_EQUAL(verge_runtime_add_worker(runtime, &index), 0);
        CHECK_EQUAL(spawn_at(NULL, index, keeps_busy, crowd, NULL), 0);
        CHECK_EQUAL(verge_sleep(3 * MS), 0);
        CHECK_EQUAL(verge_runtime_retire_worker(runtime, i == 0 ? 1 : index), 0);
    }
    return 0;
}

static void workers_come_and_go_and_no_task_is_lost(void **state) {
    (void)state;
    const uint64_t seed = verge_test_seed(1);
    for (int virtual = 0; virtual < 2; virtual ++) {
        struct crowd crowd = {.seed = seed};
        verge_manual_clock clock = {0};
        verge_runtime_options options = runtime_options(3);
        options.virtual_clock = virtual ? &clock : NULL;
        verge_runtime *runtime = runtime_with(options);
        assert_int_equal(verge_channel_create(sizeof(int), 2, NULL, &crowd.channel), 0);
        assert_int_equal(verge_runtime_run(runtime, comes_and_goes, &crowd, NULL), 0);
        assert_int_equal(crowd.rounds, 68);
        assert_int_equal(verge_runtime_retire_worker(runtime, 0), -EINVAL);
        assert_int_equal(verge_runtime_retire_worker(runtime, 99), -EINVAL);
        end_runtime(runtime);
        verge_channel_destroy(crowd.channel);
    }
}

/* ---- from outside ---- */

static _Atomic int outside_count;

static intptr_t counts(void *argument) {
    (void)argument;
    CHECK_EQUAL(verge_sleep(MS / 4), 0);
    atomic_fetch_add(&outside_count, 1);
    return 0;
}

static void *spawns_from_outside(void *runtime) {
    for (uint32_t i = 0; i < 200; i++) {
        CHECK_EQUAL(spawn_at(runtime, i % 2 == 0 ? VERGE_WORKER_ANY : i % 3, counts, NULL, NULL), 0);
    }
    return NULL;
}

static intptr_t waits_for_200(void *argument) {
    (void)argument;
    while (atomic_load(&outside_count) < 200) {
        CHECK_EQUAL(verge_sleep(MS), 0);
    }
    return 0;
}

static void tasks_are_spawned_from_outside(void **state) {
    (void)state;
    verge_runtime *runtime = runtime_with(runtime_options(3));
    for (int before = 0; before < 2; before++) { /* 0: spawned while the runtime runs; 1: before it runs */
        pthread_t thread;
        atomic_store(&outside_count, 0);
        assert_int_equal(pthread_create(&thread, NULL, spawns_from_outside, runtime), 0);
        if (before) {
            assert_int_equal(pthread_join(thread, NULL), 0);
        }
        assert_int_equal(verge_runtime_run(runtime, before ? NULL : waits_for_200, NULL, NULL), 0);
        if (!before) {
            assert_int_equal(pthread_join(thread, NULL), 0);
        }
        assert_int_equal(atomic_load(&outside_count), 200);
    }
    assert_int_equal(spawn_at(runtime, 3, counts, NULL, NULL), -EINVAL);
    assert_int_equal(spawn_at(NULL, 0, counts, NULL, NULL), -EPERM);
    end_runtime(runtime);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_worker_that_retires_hands_its_tasks_over),
        cmocka_unit_test(workers_come_and_go_and_no_task_is_lost),
        cmocka_unit_test(tasks_are_spawned_from_outside),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
