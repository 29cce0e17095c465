/* SPDX-License-Identifier: MIT */
/* Deadlines of I/O lose no data: N1 to N3, seed 003, and many deadlines that come at the same moment as data. */
#include <time.h>

#include "io/support.h"

/* ---- one by one ---- */

static intptr_t times_out(void *argument) {
    (void)argument;
    const struct pair pair = open_pair();
    struct sockaddr_in address;
    const int listener = listen_on_loopback(&address);
    char buffer[4] = "...";
    const uint64_t before_ns = verge_now();
    CHECK_EQUAL(verge_recv(pair.near, buffer, 4, 0, before_ns + 5 * MS), -ETIMEDOUT);
    CHECK(verge_now() >= before_ns + 5 * MS);
    CHECK_EQUAL(verge_read(pair.near, buffer, 4, verge_now()), -ETIMEDOUT);
    CHECK_EQUAL(verge_read(pair.near, buffer, 4, 0), -ETIMEDOUT);
    CHECK_EQUAL(verge_accept(listener, NULL, NULL, 0, verge_now() + MS), -ETIMEDOUT);
    CHECK_EQUAL(verge_poll(pair.near, POLLIN, verge_now() + MS), -ETIMEDOUT);
    CHECK(strcmp(buffer, "...") == 0);
    /* Bytes that come later are there for the next receive. */
    CHECK_EQUAL(verge_send(pair.far, "abc", 4, 0, 1), 4); /* N3: it need not wait */
    CHECK_EQUAL(verge_recv(pair.near, buffer, 4, 0, 1), 4);
    CHECK(strcmp(buffer, "abc") == 0);
    verge_deadline scope;
    CHECK_EQUAL(verge_deadline_push(&scope, verge_now() + 3 * MS), 0);
    CHECK_EQUAL(verge_recv(pair.near, buffer, 4, 0, VERGE_NEVER), -ETIMEDOUT);
    CHECK_EQUAL(verge_recv(pair.near, buffer, 4, 0, verge_deadline_after(HOUR)), -ETIMEDOUT);
    CHECK_EQUAL(verge_deadline_pop(&scope), 0);
    CHECK_EQUAL(verge_close(listener), 0);
    close_pair(pair);
    return 0;
}

/* A duration given as a deadline is refused with -EINVAL, not with -ECANCELED. */
static intptr_t gives_durations(void *argument) {
    (void)argument;
    const struct pair pair = open_pair();
    char byte = '.';
    CHECK_EQUAL(verge_recv(pair.near, &byte, 1, 0, 300 * MS), -EINVAL); /* a duration */
    CHECK_EQUAL(verge_recv(pair.near, &byte, 1, 0, 0), -ETIMEDOUT);
    CHECK_EQUAL(verge_send(pair.far, "a", 1, 0, 300 * MS), 1); /* N3: it need not wait */
    CHECK_EQUAL(verge_recv(pair.near, &byte, 1, 0, 300 * MS), 1);
    CHECK_EQUAL(byte, 'a');
    CHECK_EQUAL(verge_recv(pair.near, &byte, 1, 0, verge_deadline_after(1)), -ETIMEDOUT);
    close_pair(pair);
    return 0;
}

static void a_duration_given_as_a_deadline_is_refused(void **state) {
    (void)state;
    verge_runtime_options options = runtime_options(1);
    options.check_deadlines = true;
    run_with(options, gives_durations, NULL);
}

static void seed003_a_real_timeout_is_etimedout(void **state) {
    (void)state;
    run_tasks(1, times_out, NULL);
}

static intptr_t reads(void *argument) {
    const int *fd = argument;
    char byte;
    return verge_recv(*fd, &byte, 1, 0, verge_deadline_after(HOUR));
}

static intptr_t cancels_readers(void *argument) {
    (void)argument;
    struct pair pair = open_pair();
    for (uint32_t worker = 0; worker < 2; worker++) {
        for (int yields = 0; yields < 4; yields++) {
            verge_task *task = spawn_on(worker, reads, &pair.near);
            for (int i = 0; i < yields; i++) {
                CHECK_EQUAL(verge_yield(), 0);
            }
            CHECK_EQUAL(verge_task_cancel(task), 0);
            CHECK_EQUAL(verge_task_cancel(task), 0);
            CHECK_EQUAL(join(task), -ECANCELED);
        }
    }
    verge_task *task = spawn_on(1, reads, &pair.near);
    CHECK_EQUAL(verge_send(pair.far, "x", 1, 0, VERGE_NEVER), 1);
    CHECK_EQUAL(verge_task_cancel(task), 0);
    const intptr_t result = join(task);
    char byte;
    CHECK_EQUAL(result == 1 ? 1 : recv(pair.near, &byte, 1, MSG_DONTWAIT), 1); /* N2 */
    close_pair(pair);
    return 0;
}

static void a_task_is_cancelled_in_io(void **state) {
    (void)state;
    for (int i = 0; i < 10; i++) {
        run_tasks(2, cancels_readers, NULL);
    }
}

/* ---- a deadline and its data at the same moment of virtual time ---- */

struct duel {
    struct pair pair;
    uint64_t rounds;
    uint64_t sent, received, timeouts;
    uint64_t seed;
    bool reader_first;
};

static intptr_t writes_on_time(void *argument) {
    struct duel *duel = argument;
    for (uint64_t i = 1; i <= duel->rounds; i++) {
        CHECK_EQUAL(verge_sleep_until(i * 1000), 0);
        CHECK_EQUAL(verge_send(duel->pair.far, "abcd", 4, 0, VERGE_NEVER), 4);
        duel->sent += 4;
    }
    return 0;
}

static intptr_t reads_on_time(void *argument) {
    struct duel *duel = argument;
    char buffer[8];
    for (uint64_t i = 1; i <= duel->rounds; i++) {
        const ptrdiff_t size = verge_recv(duel->pair.near, buffer, 4, 0, i * 1000);
        CHECK(size == 4 || size == -ETIMEDOUT);
        duel->received += size > 0 ? (uint64_t)size : 0;
        duel->timeouts += size == -ETIMEDOUT;
    }
    return 0;
}

static intptr_t duels(void *argument) {
    struct duel *duel = argument;
    duel->pair = open_pair();
    verge_task *first = spawn(duel->reader_first ? reads_on_time : writes_on_time, duel);
    verge_task *second = spawn_on(1, duel->reader_first ? writes_on_time : reads_on_time, duel);
    join(first);
    join(second);
    char byte;
    while (recv(duel->pair.near, &byte, 1, MSG_DONTWAIT) == 1) {
        duel->received++;
    }
    close_pair(duel->pair);
    return 0;
}

static void seed003_io_at_the_moment_of_its_deadline_loses_no_byte(void **state) {
    (void)state;
    for (int reader_first = 0; reader_first < 2; reader_first++) {
        struct duel duel = {.rounds = 500, .reader_first = reader_first};
        verge_manual_clock clock = {0};
        verge_runtime_options options = runtime_options(2);
        options.virtual_clock = &clock;
        options.precision_ns = 1;
        options.io_grace_ns = 0;
        run_with(options, duels, &duel);
        assert_int_equal(duel.sent, 2000);
        assert_int_equal(duel.received, 2000);
    }
}

/* ---- many deadlines and data at the same moment, by chance ---- */

/* Not more pairs than can keep up with their deadlines: if all are late, no deadline meets its data. */
enum { storm_pairs = VERGE__ASAN || VERGE__TSAN ? 30 : 200 };

struct gust {
    struct pair pair;
    uint64_t seed;
    uint64_t until_ns;
    uint64_t sent, received, operations, timeouts;
};

static struct gust gusts[storm_pairs];

/* The sender and the receiver draw the same durations from the same seed. Each adds them to the time of its start. */
static uint64_t next_moment(struct verge_test_random *random, uint64_t last_ns) {
    return last_ns + verge_test_below(random, 4 * MS);
}

static intptr_t blows(void *argument) {
    struct gust *gust = argument;
    struct verge_test_random random = verge_test_random_from(gust->seed);
    uint64_t moment_ns = verge_now();
    while (verge_now() < gust->until_ns) {
        moment_ns = next_moment(&random, moment_ns);
        CHECK_EQUAL(verge_sleep_until(moment_ns), 0);
        const unsigned char byte = (unsigned char)gust->sent;
        CHECK_EQUAL(verge_send(gust->pair.far, &byte, 1, 0, VERGE_NEVER), 1);
        gust->sent++;
    }
    CHECK_EQUAL(shutdown(gust->pair.far, SHUT_WR), 0);
    return 0;
}

/* A byte that is late for its deadline is received without one, so that the next deadline belongs to the next byte. */
static intptr_t weathers(void *argument) {
    struct gust *gust = argument;
    struct verge_test_random random = verge_test_random_from(gust->seed);
    uint64_t moment_ns = verge_now();
    for (;;) {
        unsigned char byte = 0;
        moment_ns = next_moment(&random, moment_ns);
        ptrdiff_t size = verge_recv(gust->pair.near, &byte, 1, 0, moment_ns);
        gust->operations++;
        if (size == -ETIMEDOUT) {
            CHECK(verge_now() >= moment_ns);
            gust->timeouts++;
            size = verge_recv(gust->pair.near, &byte, 1, 0, VERGE_NEVER);
        }
        if (size == 0) {
            return 0;
        }
        CHECK_EQUAL(size, 1);
        CHECK_EQUAL(byte, (unsigned char)gust->received); /* each byte, in its order, once */
        gust->received++;
    }
}

static intptr_t storm(void *argument) {
    const uint64_t duration_ns = *(uint64_t *)argument;
    const uint64_t seed = verge_test_seed(20260503);
    verge_task *tasks[2 * storm_pairs];
    for (size_t i = 0; i < storm_pairs; i++) {
        gusts[i] = (struct gust){.pair = open_pair(), .seed = seed + i, .until_ns = verge_deadline_after(duration_ns)};
        tasks[2 * i] = spawn_on((uint32_t)(i % 2), weathers, &gusts[i]);
        tasks[2 * i + 1] = spawn_on((uint32_t)(i / 2 % 2), blows, &gusts[i]);
    }
    for (size_t i = 0; i < COUNT_OF(tasks); i++) {
        join(tasks[i]);
    }
    return 0;
}

static void a_storm_of_deadlines_loses_no_byte(void **state) {
    (void)state;
    uint64_t duration_ns = (uint64_t)(verge_test_seconds(1.0) * 1e9);
    run_tasks(2, storm, &duration_ns);
    uint64_t operations = 0, timeouts = 0;
    for (size_t i = 0; i < storm_pairs; i++) {
        assert_int_equal(gusts[i].sent, gusts[i].received);
        operations += gusts[i].operations;
        timeouts += gusts[i].timeouts;
        close_pair(gusts[i].pair);
    }
    (void)printf("%llu operations, %llu of them timed out\n", (unsigned long long)operations,
                 (unsigned long long)timeouts);
    assert_true(operations > storm_pairs);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(seed003_a_real_timeout_is_etimedout),
        cmocka_unit_test(a_duration_given_as_a_deadline_is_refused),
        cmocka_unit_test(a_task_is_cancelled_in_io),
        cmocka_unit_test(seed003_io_at_the_moment_of_its_deadline_loses_no_byte),
        cmocka_unit_test(a_storm_of_deadlines_loses_no_byte),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
