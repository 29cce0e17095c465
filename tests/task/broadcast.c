/* SPDX-License-Identifier: MIT */
/* Broadcast and watch: every reader sees every item, or is told that it missed some. Also in select, and with threads.
 * The value of an item is its number, so a reader knows which item it must get at its position. */
#include <pthread.h>

#include "task/support.h"
#include "verge/sync.h"

static verge_broadcast *broadcast_of(size_t capacity) {
    verge_broadcast *broadcast = NULL;
    CHECK_EQUAL(verge_broadcast_create(sizeof(uint64_t), capacity, NULL, &broadcast), 0);
    return broadcast;
}

static void send(verge_broadcast *broadcast) {
    const uint64_t number = verge_broadcast_position(broadcast);
    CHECK_EQUAL(verge_broadcast_send(broadcast, &number), 0);
}

/* ---- one by one ---- */

static intptr_t sends_later(void *argument) {
    CHECK_EQUAL(verge_sleep(100), 0);
    send(argument);
    return 0;
}

static intptr_t closes_later(void *argument) {
    CHECK_EQUAL(verge_sleep(100), 0);
    CHECK_EQUAL(verge_broadcast_close(argument), 0);
    return 0;
}

static intptr_t reads(void *argument) {
    (void)argument;
    verge_broadcast *broadcast = broadcast_of(3);
    uint64_t fast = 0, slow = 0, watcher = 0, item = 99;
    CHECK_EQUAL(verge_broadcast_receive(broadcast, &fast, &item, 0), -ETIMEDOUT);
    CHECK_EQUAL(verge_broadcast_latest(broadcast, &watcher, &item, 0), -ETIMEDOUT);
    CHECK_EQUAL(verge_broadcast_receive(broadcast, &fast, &item, 10), -ETIMEDOUT);
    CHECK_EQUAL(verge_broadcast_latest(broadcast, &watcher, &item, 20), -ETIMEDOUT);
    CHECK_EQUAL(verge_now(), 20);
    for (uint64_t i = 0; i < 5; i++) {
        send(broadcast);
        CHECK_EQUAL(verge_broadcast_receive(broadcast, &fast, &item, VERGE_NEVER), 0);
        CHECK_EQUAL(item, i);
        CHECK_EQUAL(fast, i + 1);
    }
    item = 99;
    CHECK_EQUAL(verge_broadcast_receive(broadcast, &slow, &item, VERGE_NEVER), -EOVERFLOW);
    CHECK_EQUAL(slow, 2); /* two items were lost */
    CHECK_EQUAL(item, 99);
    CHECK_EQUAL(verge_broadcast_receive(broadcast, &slow, &item, VERGE_NEVER), 0);
    CHECK_EQUAL(item, 2);
    CHECK_EQUAL(verge_broadcast_latest(broadcast, &watcher, &item, VERGE_NEVER), 0);
    CHECK_EQUAL(item, 4);
    CHECK_EQUAL(watcher, 5);
    /* The watcher has seen the last item. */
    CHECK_EQUAL(verge_broadcast_latest(broadcast, &watcher, &item, 0), -ETIMEDOUT);
    verge_task *task = spawn_on(1, sends_later, broadcast);
    CHECK_EQUAL(verge_broadcast_receive(broadcast, &fast, &item, VERGE_NEVER), 0);
    CHECK_EQUAL(item, 5);
    CHECK_EQUAL(verge_now(), 120);
    CHECK_EQUAL(join(task), 0);
    task = spawn_on(1, closes_later, broadcast);
    CHECK_EQUAL(verge_broadcast_receive(broadcast, &fast, &item, VERGE_NEVER), -EPIPE);
    /* Items that were sent before the close can still be read. */
    CHECK_EQUAL(verge_broadcast_receive(broadcast, &slow, &item, VERGE_NEVER), 0);
    CHECK_EQUAL(verge_broadcast_latest(broadcast, &watcher, &item, VERGE_NEVER), 0);
    CHECK_EQUAL(verge_broadcast_latest(broadcast, &watcher, &item, VERGE_NEVER), -EPIPE);
    CHECK_EQUAL(verge_broadcast_send(broadcast, &item), -EPIPE);
    CHECK_EQUAL(join(task), 0);
    uint64_t wrong = 7;
    CHECK_EQUAL(verge_broadcast_receive(broadcast, &wrong, &item, VERGE_NEVER), -EINVAL);
    CHECK_EQUAL(verge_broadcast_latest(broadcast, &wrong, &item, VERGE_NEVER), -EINVAL);
    CHECK_EQUAL(verge_broadcast_receive(broadcast, NULL, &item, VERGE_NEVER), -EINVAL);
    CHECK_EQUAL(verge_broadcast_receive(broadcast, &fast, NULL, 0), -EINVAL);
    CHECK_EQUAL(verge_broadcast_receive(NULL, &fast, &item, VERGE_NEVER), -EINVAL);
    CHECK_EQUAL(verge_broadcast_send(NULL, &item), -EINVAL);
    CHECK_EQUAL(verge_broadcast_send(broadcast, NULL), -EINVAL);
    CHECK_EQUAL(verge_broadcast_close(NULL), -EINVAL);
    CHECK_EQUAL(verge_broadcast_position(NULL), 0);
    verge_broadcast_destroy(broadcast);
    verge_broadcast_destroy(NULL);
    CHECK_EQUAL(verge_broadcast_create(8, 0, NULL, &broadcast), -EINVAL);
    CHECK_EQUAL(verge_broadcast_create(SIZE_MAX / 2, 3, NULL, &broadcast), -EINVAL);
    CHECK_EQUAL(verge_broadcast_create(8, 1, NULL, NULL), -EINVAL);
    return 0;
}

static void every_reader_has_its_position(void **state) {
    (void)state;
    run_virtual(2, 0, reads, NULL);
}

static intptr_t selects(void *argument) {
    (void)argument;
    verge_broadcast *one = broadcast_of(2), *other = broadcast_of(1);
    uint64_t at_one = 0, at_other = 0, item = 99;
    verge_case cases[] = {verge_case_next(one, &at_one, &item), verge_case_latest(other, &at_other, &item)};
    CHECK_EQUAL(verge_select(cases, 2, 0), -ETIMEDOUT);
    verge_task *task = spawn_on(1, sends_later, other);
    CHECK_EQUAL(verge_select(cases, 2, VERGE_NEVER), 1);
    CHECK_EQUAL(item, 0);
    CHECK_EQUAL(at_other, 1);
    CHECK_EQUAL(at_one, 0);
    CHECK_EQUAL(join(task), 0);
    send(one);
    send(one);
    send(one);
    CHECK_EQUAL(verge_select(cases, 2, VERGE_NEVER), 0);
    CHECK_EQUAL(cases[0].result, -EOVERFLOW);
    CHECK_EQUAL(verge_select(cases, 2, VERGE_NEVER), 0);
    CHECK_EQUAL(cases[0].result, 0);
    CHECK_EQUAL(item, 1);
    CHECK_EQUAL(verge_select(cases, 2, VERGE_NEVER), 0);
    task = spawn_on(1, closes_later, one);
    CHECK_EQUAL(verge_select(cases, 2, VERGE_NEVER), 0);
    CHECK_EQUAL(cases[0].result, -EPIPE);
    CHECK_EQUAL(join(task), 0);
    cases[0] = verge_case_next(other, NULL, &item);
    CHECK_EQUAL(verge_select(cases, 2, VERGE_NEVER), -EINVAL);
    verge_broadcast_destroy(one);
    verge_broadcast_destroy(other);
    return 0;
}

static void a_select_reads_broadcasts(void **state) {
    (void)state;
    run_virtual(2, 0, selects, NULL);
}

/* ---- random, in virtual time ---- */

enum { READERS = 4, CAPACITY = 3 };

struct reader {
    struct verge_test_random random;
    uint64_t position;
    bool waits;
    uint64_t seen, missed, skipped;
};

static struct {
    verge_broadcast *broadcast;
    struct reader readers[READERS];
    uint64_t now_ns;
    uint64_t count;
    bool is_closed;
} world;

/* When the clock has moved, no reader may be waiting for an item that is there. */
static void look_at_the_clock(void) {
    if (verge_now() != world.now_ns) {
        world.now_ns = verge_now();
        for (size_t i = 0; i < READERS; i++) {
            const struct reader *reader = &world.readers[i];
            CHECK(!reader->waits ||
                  (reader->position == verge_broadcast_position(world.broadcast) && !world.is_closed));
        }
    }
}

static int read_somehow(struct reader *reader, uint64_t *item, bool *is_latest) {
    const uint64_t deadline_ns = verge_deadline_after(verge_test_below(&reader->random, 6) * US);
    verge_case one = verge_case_next(world.broadcast, &reader->position, item);
    *is_latest = false;
    switch (verge_test_below(&reader->random, 4)) {
    case 0:
        *is_latest = true;
        return verge_broadcast_latest(world.broadcast, &reader->position, item, deadline_ns);
    case 1: {
        const int index = verge_select(&one, 1, deadline_ns);
        return index < 0 ? index : one.result;
    }
    default:
        return verge_broadcast_receive(world.broadcast, &reader->position, item, deadline_ns);
    }
}

static void read_all(struct reader *reader, void (*look)(void)) {
    int result = 0;
    while (result != -EPIPE) {
        const uint64_t before = reader->position;
        uint64_t item = UINT64_MAX;
        bool is_latest;
        reader->waits = true;
        result = read_somehow(reader, &item, &is_latest);
        reader->waits = false;
        look();
        if (result == 0) {
            CHECK_EQUAL(item, reader->position - 1);
            CHECK(is_latest ? item >= before : item == before);
            reader->seen++;
            reader->skipped += item - before;
        } else if (result == -EOVERFLOW) {
            CHECK(reader->position > before);
            CHECK(verge_broadcast_position(world.broadcast) - before > CAPACITY);
            reader->missed += reader->position - before;
        } else {
            CHECK(result == -ETIMEDOUT || result == -EPIPE);
            CHECK_EQUAL(reader->position, before);
        }
        if (verge_task_current() != NULL && verge_test_below(&reader->random, 4) == 0) {
            (void)verge_sleep(verge_test_below(&reader->random, 6) * US); /* falls behind */
        }
    }
    CHECK_EQUAL(reader->seen + reader->missed + reader->skipped, world.count);
}

static intptr_t reader_main(void *argument) {
    read_all(argument, look_at_the_clock);
    return 0;
}

static intptr_t run_world(void *argument) {
    const uint64_t *seed = argument;
    struct verge_test_random random = verge_test_random_from(*seed);
    verge_task *tasks[READERS];
    world.broadcast = broadcast_of(CAPACITY);
    world.is_closed = false;
    world.count = fewer_under_tsan(20000);
    for (uint32_t i = 0; i < READERS; i++) {
        world.readers[i] = (struct reader){.random = verge_test_random_from(*seed + i)};
        tasks[i] = spawn_on(VERGE_WORKER_ANY, reader_main, &world.readers[i]);
    }
    for (uint64_t i = 0; i < world.count; i++) {
        look_at_the_clock();
        send(world.broadcast);
        if (verge_test_below(&random, 3) == 0) {
            CHECK_EQUAL(verge_sleep(verge_test_below(&random, 4) * US), 0);
        }
    }
    look_at_the_clock();
    world.is_closed = true;
    CHECK_EQUAL(verge_broadcast_close(world.broadcast), 0);
    for (uint32_t i = 0; i < READERS; i++) {
        CHECK_EQUAL(join(tasks[i]), 0);
        CHECK(world.readers[i].seen > world.count / 10 && world.readers[i].missed > 0);
    }
    verge_broadcast_destroy(world.broadcast);
    return 0;
}

static void random_readers_see_all_or_know(void **state) {
    (void)state;
    uint64_t seed = verge_test_seed(1);
    for (uint32_t worker_count = 1; worker_count <= 3; worker_count++) {
        run_virtual(worker_count, 0, run_world, &seed);
    }
}

/* ---- real threads ---- */

static void look_at_nothing(void) {}

static intptr_t task_reads(void *argument) {
    read_all(argument, look_at_nothing);
    return 0;
}

/* Plain threads have no select. */
static void *thread_reads(void *argument) {
    struct reader *reader = argument;
    int result = 0;
    uint64_t item;
    while (result != -EPIPE) {
        const uint64_t before = reader->position;
        result = verge_broadcast_receive(world.broadcast, &reader->position, &item, VERGE_NEVER);
        CHECK(result == 0 || result == -EPIPE || result == -EOVERFLOW);
        CHECK(result != 0 || item == before);
        reader->seen += result == 0;
        reader->missed += result == -EOVERFLOW ? reader->position - before : 0;
    }
    CHECK_EQUAL(reader->seen + reader->missed, world.count);
    return NULL;
}

static intptr_t all_read(void *argument) {
    verge_task *tasks[READERS - 1];
    pthread_t thread;
    (void)argument;
    CHECK_EQUAL(pthread_create(&thread, NULL, thread_reads, &world.readers[READERS - 1]), 0);
    for (uint32_t i = 0; i < READERS - 1; i++) {
        tasks[i] = spawn_on(i % 2, task_reads, &world.readers[i]);
    }
    for (uint64_t i = 0; i < world.count; i++) {
        send(world.broadcast);
        if (i % 16 == 0) {
            CHECK_EQUAL(verge_yield(), 0);
        }
    }
    CHECK_EQUAL(verge_broadcast_close(world.broadcast), 0);
    for (uint32_t i = 0; i < READERS - 1; i++) {
        CHECK_EQUAL(join(tasks[i]), 0);
    }
    CHECK_EQUAL(pthread_join(thread, NULL), 0);
    return 0;
}

static void threads_and_tasks_read(void **state) {
    (void)state;
    world.broadcast = broadcast_of(CAPACITY);
    world.count = fewer_under_tsan(20000);
    for (uint32_t i = 0; i < READERS; i++) {
        world.readers[i] = (struct reader){.random = verge_test_random_from(i)};
    }
    run_tasks(2, all_read, NULL);
    verge_broadcast_destroy(world.broadcast);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_reader_has_its_position),
        cmocka_unit_test(a_select_reads_broadcasts),
        cmocka_unit_test(random_readers_see_all_or_know),
        cmocka_unit_test(threads_and_tasks_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
