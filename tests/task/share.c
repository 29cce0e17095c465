/* SPDX-License-Identifier: MIT */
/* Where tasks run: pinned tasks stay, and others find an idle worker. With threads that race; simulation/ does the same
 * from seeds. */
#include <sys/socket.h>
#include <unistd.h>

#include "task/support.h"
#include "verge/io.h"

enum { WORKERS = 3 };

/* ---- a task that spawns many fills all workers ---- */

static struct {
    _Atomic uint32_t seen; /* one bit for each worker */
    _Atomic int ended_count;
} crowd;

/* Keeps its worker until a task has run on each worker. */
static intptr_t waits_for_all_workers(void *argument) {
    (void)argument;
    (void)atomic_fetch_or(&crowd.seen, UINT32_C(1) << verge_task_worker_id());
    while (atomic_load(&crowd.seen) != (1 << WORKERS) - 1) {
    }
    (void)atomic_fetch_add(&crowd.ended_count, 1);
    return 0;
}

static intptr_t spawns_many(void *argument) {
    const int count = fewer_under_tsan(1000);
    (void)argument;
    for (int i = 0; i < count; i++) {
        CHECK_EQUAL(verge_spawn(waits_for_all_workers, NULL, NULL), 0);
    }
    while (atomic_load(&crowd.ended_count) < count) {
        CHECK_EQUAL(verge_yield(), 0);
    }
    return 0;
}

static void a_task_that_spawns_many_fills_all_workers(void **state) {
    (void)state;
    memset(&crowd, 0, sizeof(crowd));
    (void)run_tasks(WORKERS, spawns_many, NULL);
}

/* ---- a task that computes does not keep other ready tasks from running ---- */

static intptr_t sets_flag(void *argument) {
    atomic_store((_Atomic bool *)argument, true);
    return 0;
}

static intptr_t computes_until_the_other_has_run(void *argument) {
    (void)argument;
    for (int i = 0; i < 20; i++) {
        _Atomic bool flag = false;
        verge_task *task = spawn(sets_flag, (void *)&flag);
        while (!atomic_load(&flag)) {
        }
        CHECK_EQUAL(join(task), 0);
    }
    return 0;
}

static void a_lone_task_is_taken_from_a_worker_that_computes(void **state) {
    (void)state;
    (void)run_tasks(2, computes_until_the_other_has_run, NULL);
}

static intptr_t computes_until_it_is_told(void *argument) {
    while (!atomic_load((_Atomic bool *)argument)) {
    }
    return 0;
}

/* Tasks from outside go to the workers in turn. So the first and the last task are for the same worker. */
static void a_task_from_outside_does_not_wait_for_a_busy_worker(void **state) {
    (void)state;
    verge_runtime *runtime = runtime_with(runtime_options(2));
    static _Atomic bool flag, other_flag;
    atomic_store(&flag, false);
    assert_int_equal(spawn_at(runtime, VERGE_WORKER_ANY, computes_until_it_is_told, (void *)&flag, NULL), 0);
    assert_int_equal(spawn_at(runtime, VERGE_WORKER_ANY, sets_flag, (void *)&other_flag, NULL), 0);
    assert_int_equal(spawn_at(runtime, VERGE_WORKER_ANY, sets_flag, (void *)&flag, NULL), 0);
    assert_int_equal(verge_runtime_run(runtime, NULL, NULL, NULL), 0);
    end_runtime(runtime);
}

/* ---- placed by the id of a worker ---- */

struct place {
    uint32_t worker;
    verge_channel *from, *to;
};

static intptr_t stays(void *argument) {
    const struct place *place = argument;
    for (unsigned i = 0; i < 200; i++) {
        unsigned item = i;
        CHECK_EQUAL(verge_channel_send(place->to, &item, VERGE_NEVER), 0);
        CHECK_EQUAL(verge_task_worker_id(), place->worker);
        CHECK_EQUAL(verge_channel_receive(place->from, &item, VERGE_NEVER), 0);
        CHECK_EQUAL(item, i);
        CHECK_EQUAL(verge_task_worker_id(), place->worker);
        if (i % 16 == 0) {
            CHECK_EQUAL(verge_yield(), 0);
            CHECK_EQUAL(verge_sleep(i * US), 0);
            CHECK_EQUAL(verge_task_worker_id(), place->worker);
        }
    }
    return 0;
}

static intptr_t places_by_name(void *argument) {
    (void)argument;
    verge_channel *channels[WORKERS];
    struct place places[WORKERS];
    verge_task *tasks[WORKERS];
    for (uint32_t i = 0; i < WORKERS; i++) {
        CHECK_EQUAL(verge_channel_create(sizeof(unsigned), 1, NULL, &channels[i]), 0);
    }
    for (uint32_t i = 0; i < WORKERS; i++) { /* each task sends to the next, and the last one to the first */
        places[i] = (struct place){.worker = i, .from = channels[i], .to = channels[(i + 1) % WORKERS]};
        tasks[i] = spawn_on(i, stays, &places[i]);
    }
    for (uint32_t i = 0; i < WORKERS; i++) {
        CHECK_EQUAL(join(tasks[i]), 0);
        CHECK_EQUAL(verge_task_worker_id(), 0); /* the first task of a run also stays on its worker */
    }
    for (uint32_t i = 0; i < WORKERS; i++) {
        verge_channel_destroy(channels[i]);
    }
    return 0;
}

static void a_task_that_is_placed_by_name_stays(void **state) {
    (void)state;
    (void)run_tasks(WORKERS, places_by_name, NULL);
}

/* ---- woken by a task of another worker ---- */

static intptr_t sends_and_receives(void *argument) {
    const struct place *place = argument;
    for (unsigned i = 0; i < 3000; i++) {
        unsigned item = i;
        CHECK_EQUAL(verge_channel_send(place->to, &item, VERGE_NEVER), 0);
        CHECK_EQUAL(verge_channel_receive(place->from, &item, verge_deadline_after(DAY)), 0);
        CHECK_EQUAL(item, i);
    }
    return 0;
}

static intptr_t plays_ping_pong(void *argument) {
    (void)argument;
    verge_channel *there, *back;
    CHECK_EQUAL(verge_channel_create(sizeof(unsigned), 1, NULL, &there), 0);
    CHECK_EQUAL(verge_channel_create(sizeof(unsigned), 1, NULL, &back), 0);
    struct place places[2] = {{.from = there, .to = back}, {.from = back, .to = there}};
    verge_task *first = spawn_on(VERGE_WORKER_ANY, sends_and_receives, &places[0]);
    verge_task *second = spawn_on(VERGE_WORKER_ANY, sends_and_receives, &places[1]);
    CHECK_EQUAL(join(first), 0);
    CHECK_EQUAL(join(second), 0);
    verge_channel_destroy(there);
    verge_channel_destroy(back);
    return 0;
}

static void who_is_woken_by_a_task_goes_where_that_is(void **state) {
    (void)state;
    verge_runtime *runtime = runtime_with(runtime_options(2));
    assert_int_equal(verge_runtime_run(runtime, plays_ping_pong, NULL, NULL), 0);
    assert_true(stats_of(runtime).migrated > 0);
    end_runtime(runtime);
}

/* ---- I/O with deadlines, by tasks that change their worker between two operations ---- */

enum { PAIRS = 40, MESSAGES = 50 };

static intptr_t echoes(void *argument) {
    const int fd = *(const int *)argument;
    char byte;
    for (int i = 0; i < MESSAGES; i++) {
        CHECK_EQUAL(verge_recv(fd, &byte, 1, 0, verge_deadline_after(MINUTE)), 1);
        CHECK_EQUAL(verge_send(fd, &byte, 1, 0, VERGE_NEVER), 1);
    }
    const uint64_t deadline_ns = verge_deadline_after(2 * MS);
    CHECK_EQUAL(verge_recv(fd, &byte, 1, 0, deadline_ns), -ETIMEDOUT);
    CHECK(verge_now() >= deadline_ns);
    return 0;
}

static intptr_t asks(void *argument) {
    const int fd = *(const int *)argument;
    for (int i = 0; i < MESSAGES; i++) {
        char byte = (char)i;
        CHECK_EQUAL(verge_send(fd, &byte, 1, 0, VERGE_NEVER), 1);
        CHECK_EQUAL(verge_recv(fd, &byte, 1, 0, verge_deadline_after(MINUTE + (uint64_t)(i % 7) * SECOND)), 1);
        CHECK_EQUAL(byte, (char)i);
    }
    return 0;
}

static intptr_t serves_from_one_worker(void *argument) {
    (void)argument;
    int fds[PAIRS][2];
    verge_task *tasks[PAIRS][2];
    for (int i = 0; i < PAIRS; i++) {
        CHECK_EQUAL(socketpair(AF_UNIX, SOCK_STREAM, 0, fds[i]), 0);
        tasks[i][0] = spawn(echoes, &fds[i][0]);
        tasks[i][1] = spawn(asks, &fds[i][1]);
    }
    for (int i = 0; i < PAIRS; i++) {
        CHECK_EQUAL(join(tasks[i][0]) + join(tasks[i][1]), 0);
        CHECK_EQUAL(close(fds[i][0]) + close(fds[i][1]), 0);
    }
    return 0;
}

static void deadlines_of_operations_follow_their_tasks(void **state) {
    (void)state;
    (void)run_tasks(WORKERS, serves_from_one_worker, NULL);
}

/* ---- a worker that comes later takes its part ---- */

static intptr_t adds_a_worker(void *argument) {
    (void)argument;
    CHECK_EQUAL(verge_runtime_add_worker(verge_task_runtime(), NULL), 0);
    CHECK_EQUAL(verge_sleep(MS), 0); /* worker 0 has made a round, so from now on it shares its tasks */
    return computes_until_the_other_has_run(NULL);
}

static void a_worker_that_comes_later_takes_its_part(void **state) {
    (void)state;
    (void)run_tasks(1, adds_a_worker, NULL);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_task_that_spawns_many_fills_all_workers),
        cmocka_unit_test(a_lone_task_is_taken_from_a_worker_that_computes),
        cmocka_unit_test(a_task_from_outside_does_not_wait_for_a_busy_worker),
        cmocka_unit_test(a_task_that_is_placed_by_name_stays),
        cmocka_unit_test(who_is_woken_by_a_task_goes_where_that_is),
        cmocka_unit_test(deadlines_of_operations_follow_their_tasks),
        cmocka_unit_test(a_worker_that_comes_later_takes_its_part),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
