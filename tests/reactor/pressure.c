/* SPDX-License-Identifier: MIT */
/* More operations than the rings have entries, cancels that find no room, and signals: no operation is lost, and none
 * is done twice. */
#define _GNU_SOURCE

#include <signal.h>
#include <sys/time.h>

#include "reactor/support.h"
#include "support/random.h"

enum { many = 300, tiny_ring = 2 };

static struct pair pairs[many];
static verge__operation ops[many];
static char buffers[many];
static int counts[many];

static void open_many(struct fixture *fixture, unsigned entry_count) {
    open_reactor(fixture, entry_count);
    for (size_t i = 0; i < many; i++) {
        pairs[i] = open_pair();
        counts[i] = 0;
    }
}

static void close_many(struct fixture *fixture) {
    for (size_t i = 0; i < many; i++) {
        close_pair(pairs[i]);
    }
    close_reactor(fixture);
}

static void submit(struct fixture *fixture, size_t i) {
    ops[i] = transfer_op(VERGE__RECV, pairs[i].near, &buffers[i], 1);
    ops[i].owner = &counts[i];
    counts[i] = 0;
    if (verge__reactor_submit(fixture->reactor, &ops[i])) {
        counts[i] = 1;
    }
}

static void more_operations_than_entries_all_complete(void **state) {
    (void)state;
    struct fixture fixture;
    open_many(&fixture, tiny_ring);
    for (size_t i = 0; i < many; i++) {
        submit(&fixture, i);
    }
    for (size_t i = 0; i < many; i++) {
        assert_int_equal(write(pairs[i].far, "x", 1), 1);
    }
    for (size_t i = 0; i < many; i++) { /* far more than the 16 entries of the completion ring */
        expect_done(&fixture, &ops[i]);
        assert_int_equal(ops[i].result, 1);
    }
    expect_quiet(&fixture);
    for (size_t i = 0; i < many; i++) {
        assert_int_equal(counts[i], 1);
    }
    close_many(&fixture);
}

static void no_cancel_is_dropped_when_the_queue_is_full(void **state) {
    (void)state;
    struct fixture fixture;
    open_many(&fixture, tiny_ring);
    for (int round = 0; round < 6; round++) {
        const bool submitted = (round & 1) != 0;
        fixture.reactor->refusals = round / 2 == 1 ? many / 2 : 0; /* the operations find no room */
        for (size_t i = 0; i < many; i++) {
            submit(&fixture, i);
        }
        if (submitted) {
            assert_int_equal(wait_once(&fixture, 0), 0);
        }
        fixture.reactor->refusals = round / 2 == 2 ? many / 2 : 0; /* the cancellations find no room */
        for (size_t i = 0; i < many; i++) {
            verge__reactor_cancel(fixture.reactor, &ops[i]);
        }
        for (size_t i = 0; i < many; i++) {
            expect_done(&fixture, &ops[i]);
            assert_int_equal(ops[i].result, -ECANCELED);
        }
        expect_quiet(&fixture);
        for (size_t i = 0; i < many; i++) {
            assert_int_equal(counts[i], 1);
        }
    }
    close_many(&fixture);
}

/* Operations, data and cancels come in random order, and operations use the memory of earlier ones again. Every byte is
 * received once, and every operation is done once. */
static void random_cancels_lose_no_byte(void **state) {
    (void)state;
    enum { files = 24, rounds = 60000 };
    struct verge_test_random random = verge_test_random_from(verge_test_seed(20260501));
    struct fixture fixture;
    open_many(&fixture, tiny_ring);
    size_t sent[files] = {0}, received[files] = {0}, started[files] = {0}, finished[files] = {0};
    bool busy[files] = {false};
    for (size_t round = 0; round < rounds; round++) {
        const size_t i = (size_t)verge_test_below(&random, files);
        fixture.reactor->refusals = (unsigned)verge_test_below(&random, 4);
        switch (verge_test_below(&random, 4)) {
        case 0:
            if (!busy[i]) {
                submit(&fixture, i);
                started[i]++;
                busy[i] = true;
            }
            break;
        case 1:
            if (sent[i] - received[i] < 100) {
                assert_int_equal(write(pairs[i].far, "x", 1), 1);
                sent[i]++;
            }
            break;
        case 2:
            if (busy[i] && ops[i].state != VERGE__DONE) {
                verge__reactor_cancel(fixture.reactor, &ops[i]);
            }
            break;
        default:
            (void)wait_once(&fixture, 0);
        }
        for (size_t k = 0; k < files; k++) {
            if (busy[k] && counts[k] != 0) {
                assert_int_equal(counts[k], 1);
                assert_true(ops[k].result == 1 || ops[k].result == -ECANCELED);
                received[k] += ops[k].result == 1;
                finished[k]++;
                busy[k] = false;
            }
        }
    }
    fixture.reactor->refusals = 0;
    for (size_t i = 0; i < files; i++) {
        if (busy[i]) {
            verge__reactor_cancel(fixture.reactor, &ops[i]);
            expect_done(&fixture, &ops[i]);
            received[i] += ops[i].result == 1;
            finished[i]++;
        }
        while (recv(pairs[i].near, &buffers[i], 1, MSG_DONTWAIT) == 1) {
            received[i]++;
        }
        assert_int_equal(received[i], sent[i]);
        assert_int_equal(finished[i], started[i]);
    }
    close_many(&fixture);
}

static void on_signal(int number) {
    (void)number;
}

/* A wait that a signal interrupts returns early or goes on; operations are not disturbed. */
static void signals_disturb_nothing(void **state) {
    (void)state;
    struct fixture fixture;
    open_many(&fixture, 0);
    const struct sigaction action = {.sa_handler = on_signal};
    const struct itimerval often = {.it_interval = {.tv_usec = 200}, .it_value = {.tv_usec = 200}};
    const struct itimerval never = {0};
    assert_int_equal(sigaction(SIGALRM, &action, NULL), 0);
    assert_int_equal(setitimer(ITIMER_REAL, &often, NULL), 0);
    for (size_t i = 0; i < many; i++) {
        submit(&fixture, i);
        (void)wait_once(&fixture, MS / 4);
        ssize_t written;
        do {
            written = write(pairs[i].far, "x", 1);
        } while (written < 0);
        expect_done(&fixture, &ops[i]);
        assert_int_equal(ops[i].result, 1);
        assert_int_equal(counts[i], 1);
    }
    assert_int_equal(setitimer(ITIMER_REAL, &never, NULL), 0);
    close_many(&fixture);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(more_operations_than_entries_all_complete),
        cmocka_unit_test(no_cancel_is_dropped_when_the_queue_is_full),
        cmocka_unit_test(random_cancels_lose_no_byte),
        cmocka_unit_test(signals_disturb_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
