/* SPDX-License-Identifier: MIT */
/* select: each kind of case, deadlines, cancellation, K2 (fairness), and K1 when tasks of several workers race. K1 and
 * K2 are promises of verge/sync.h. */
#include <sys/epoll.h>

#include "io/support.h"
#include "verge/sync.h"

static verge_channel *channel_of(size_t capacity) {
    verge_channel *channel = NULL;
    CHECK_EQUAL(verge_channel_create(sizeof(uint64_t), capacity, NULL, &channel), 0);
    return channel;
}

static void fill(verge_channel *channel, uint64_t item) {
    CHECK_EQUAL(verge_channel_send(channel, &item, 0), 0);
}

/* ---- cases that need not wait ---- */

static intptr_t takes_what_is_there(void *argument) {
    (void)argument;
    verge_channel *empty = channel_of(1), *full = channel_of(1);
    uint64_t received = 0, sent = 7;
    fill(full, 5);
    verge_case cases[] = {verge_case_receive(empty, &received), verge_case_send(full, &sent), (verge_case){0}};
    CHECK_EQUAL(verge_select(cases, 3, 0), -ETIMEDOUT);
    CHECK_EQUAL(verge_channel_count(full), 1);
    cases[2] = verge_case_receive(full, &received);
    CHECK_EQUAL(verge_select(cases, 3, VERGE_NEVER), 2);
    CHECK_EQUAL(cases[2].result, 0);
    CHECK_EQUAL(received, 5);
    CHECK_EQUAL(verge_select(cases, 2, VERGE_NEVER), 1); /* there is room now */
    CHECK_EQUAL(cases[1].result, 0);
    CHECK_EQUAL(verge_channel_close(empty), 0);
    CHECK_EQUAL(verge_select(cases, 2, VERGE_NEVER), 0); /* a case of a closed channel need not wait */
    CHECK_EQUAL(cases[0].result, -EPIPE);
    CHECK_EQUAL(verge_channel_receive(full, &received, 0), 0);
    CHECK_EQUAL(received, 7);
    verge_channel_destroy(empty);
    verge_channel_destroy(full);
    return 0;
}

static void what_need_not_wait_is_chosen(void **state) {
    (void)state;
    run_virtual(1, 0, takes_what_is_there, NULL);
}

static intptr_t gets_nothing(void *argument) {
    (void)argument;
    verge_channel *channel = channel_of(1);
    verge_mutex mutex = VERGE_MUTEX_INIT, other = VERGE_MUTEX_INIT;
    verge_condition condition = VERGE_CONDITION_INIT;
    uint64_t item = 0;
    verge_case cases[VERGE_SELECT_DESCRIPTORS_MAX + 1];
    cases[0] = verge_case_receive(NULL, &item);
    CHECK_EQUAL(verge_select(cases, 1, VERGE_NEVER), -EINVAL);
    cases[0] = verge_case_send(channel, NULL);
    CHECK_EQUAL(verge_select(cases, 1, VERGE_NEVER), -EINVAL);
    cases[0] = verge_case_join(NULL, NULL);
    CHECK_EQUAL(verge_select(cases, 1, VERGE_NEVER), -EINVAL);
    cases[0] = verge_case_tick(NULL, NULL);
    CHECK_EQUAL(verge_select(cases, 1, VERGE_NEVER), -EINVAL);
    cases[0] = (verge_case){.kind = (verge_case_kind)99};
    CHECK_EQUAL(verge_select(cases, 1, VERGE_NEVER), -EINVAL);
    CHECK_EQUAL(verge_select(NULL, 1, VERGE_NEVER), -EINVAL);
    CHECK_EQUAL(verge_select(cases, SIZE_MAX, VERGE_NEVER), -EINVAL);
    cases[0] = verge_case_condition(&condition, NULL);
    CHECK_EQUAL(verge_select(cases, 1, VERGE_NEVER), -EINVAL);
    cases[0] = verge_case_condition(NULL, &mutex);
    CHECK_EQUAL(verge_select(cases, 1, VERGE_NEVER), -EINVAL);
    cases[0] = verge_case_condition(&condition, &mutex);
    CHECK_EQUAL(verge_select(cases, 1, VERGE_NEVER), -EPERM);
    CHECK_EQUAL(verge_mutex_lock(&mutex, VERGE_NEVER), 0);
    CHECK_EQUAL(verge_mutex_lock(&other, VERGE_NEVER), 0);
    cases[1] = verge_case_condition(&condition, &other);
    CHECK_EQUAL(verge_select(cases, 2, VERGE_NEVER), -EINVAL);
    CHECK_EQUAL(verge_mutex_unlock(&other), 0);
    CHECK_EQUAL(verge_select(cases, 1, 0), -ETIMEDOUT); /* a try does not give the mutex up */
    CHECK_EQUAL(verge_mutex_unlock(&mutex), 0);
    for (size_t i = 0; i <= VERGE_SELECT_DESCRIPTORS_MAX; i++) {
        cases[i] = verge_case_poll(-1, POLLIN);
    }
    CHECK_EQUAL(verge_select(cases, VERGE_SELECT_DESCRIPTORS_MAX + 1, VERGE_NEVER), -EINVAL);
    fill(channel, 3);
    cases[0] = verge_case_receive(channel, &item);
    cases[1] = verge_case_join(NULL, NULL);
    CHECK_EQUAL(verge_select(cases, 2, VERGE_NEVER), -EINVAL); /* nothing is received: the item is still there */
    CHECK_EQUAL(verge_channel_count(channel), 1);
    verge_channel_destroy(channel);
    CHECK_EQUAL(verge_select(NULL, 0, verge_now() + 10), -ETIMEDOUT);
    return 0;
}

static void bad_cases_change_nothing(void **state) {
    (void)state;
    verge_case one = {0};
    assert_int_equal(verge_select(&one, 1, VERGE_NEVER), -EPERM);
    assert_int_equal(verge_select(&one, 1, 0), -EPERM);
    assert_int_equal(run_virtual(1, 0, gets_nothing, NULL), 10);
}

/* ---- waiting ---- */

struct scene {
    verge_channel *in, *out;
    verge_mutex mutex;
    verge_condition condition;
    _Atomic uint64_t sent, received, sum_sent, sum_received;
    uint64_t count;
    _Atomic uint64_t seed; /* the seed of the next task that is spawned */
};

static intptr_t sends_later(void *argument) {
    struct scene *scene = argument;
    const uint64_t item = 42;
    CHECK_EQUAL(verge_sleep(100), 0);
    CHECK_EQUAL(verge_channel_send(scene->in, &item, VERGE_NEVER), 0);
    return 1;
}

static intptr_t receives_later(void *argument) {
    struct scene *scene = argument;
    uint64_t item = 0;
    CHECK_EQUAL(verge_sleep(100), 0);
    CHECK_EQUAL(verge_channel_receive(scene->out, &item, VERGE_NEVER), 0);
    return (intptr_t)item;
}

static intptr_t closes_later(void *argument) {
    struct scene *scene = argument;
    CHECK_EQUAL(verge_sleep(100), 0);
    CHECK_EQUAL(verge_channel_close(scene->in), 0);
    return 2;
}

static intptr_t signals_later(void *argument) {
    struct scene *scene = argument;
    CHECK_EQUAL(verge_sleep(100), 0);
    CHECK_EQUAL(verge_mutex_lock(&scene->mutex, VERGE_NEVER), 0);
    CHECK_EQUAL(verge_condition_signal(&scene->condition), 0);
    CHECK_EQUAL(verge_mutex_unlock(&scene->mutex), 0);
    return 3;
}

/* Which case a select must return, and at what time, if only the helper does something. */
struct expectation {
    verge_task_function helper; /* NULL: none */
    intptr_t helper_result;
    int index;
    int result;
    uint64_t after_ns;
};

enum { RECEIVE, SEND, CONDITION, TICK, ONCE, CASE_COUNT };

static intptr_t waits_for_each(void *argument) {
    static const struct expectation expectations[] = {
        {sends_later, 1, RECEIVE, 0, 100}, {receives_later, 8, SEND, 0, 100}, {signals_later, 3, CONDITION, 0, 100},
        {NULL, 0, TICK, 0, 600},           {NULL, 0, ONCE, 0, 600},           {closes_later, 2, RECEIVE, -EPIPE, 100},
    };
    struct scene *scene = argument;
    for (size_t i = 0; i < COUNT_OF(expectations); i++) {
        const struct expectation *expected = &expectations[i];
        const uint64_t start_ns = verge_now();
        uint64_t item = 0, other = 9;
        verge_interval interval, once;
        verge_tick tick = {0};
        fill(scene->out, 8);
        CHECK_EQUAL(
            verge_interval_init(&interval, start_ns + (expected->index == TICK ? 600 : 700), 700, VERGE_INTERVAL_SKIP),
            0);
        verge_case cases[CASE_COUNT] = {
            verge_case_receive(scene->in, &item),
            verge_case_send(scene->out, &other),
            verge_case_condition(&scene->condition, &scene->mutex),
            verge_case_tick(&interval, &tick),
            case_at(&once, start_ns + (expected->index == ONCE ? 600 : 700)),
        };
        CHECK_EQUAL(verge_mutex_lock(&scene->mutex, VERGE_NEVER), 0);
        verge_task *helper = expected->helper != NULL ? spawn(expected->helper, scene) : NULL;
        CHECK_EQUAL(verge_select(cases, CASE_COUNT, VERGE_NEVER), expected->index);
        CHECK_EQUAL(cases[expected->index].result, expected->result);
        CHECK_EQUAL(verge_now(), start_ns + expected->after_ns);
        CHECK_EQUAL(item, expected->helper == sends_later ? 42 : 0);
        CHECK_EQUAL(tick.scheduled_ns, expected->index == TICK ? start_ns + 600 : 0);
        CHECK_EQUAL(verge_mutex_unlock(&scene->mutex), 0); /* the task holds the mutex, whatever the result */
        if (helper != NULL) {
            CHECK_EQUAL(join(helper), expected->helper_result);
        }
        CHECK_EQUAL(verge_channel_receive(scene->out, &item, 0), 0);
        CHECK_EQUAL(item, expected->index == SEND ? 9 : 8);
        CHECK_EQUAL(verge_channel_count(scene->out), 0);
    }
    return 0;
}

static void waits_for_each_kind_of_case(void **state) {
    (void)state;
    struct scene scene = {.in = channel_of(1), .out = channel_of(1)};
    run_virtual(1, 0, waits_for_each, &scene);
    assert_null(scene.condition.waiting[0]);
    verge_channel_destroy(scene.in);
    verge_channel_destroy(scene.out);
}

static intptr_t sleeps_for(void *argument) {
    const uint64_t duration_ns = *(const uint64_t *)argument;
    const int error = verge_sleep(duration_ns);
    return error != 0 ? error : (intptr_t)duration_ns;
}

static intptr_t joins_the_first(void *argument) {
    (void)argument;
    static const uint64_t durations_ns[] = {30, 10, 20};
    verge_task *tasks[3];
    verge_case cases[4];
    intptr_t results[3] = {0};
    for (size_t i = 0; i < 3; i++) {
        tasks[i] = spawn_on((uint32_t)i, sleeps_for, (void *)&durations_ns[i]);
        cases[i] = verge_case_join(tasks[i], &results[i]);
    }
    cases[3] = verge_case_join(verge_task_current(), NULL);
    CHECK_EQUAL(verge_select(cases, 4, 0), 3);
    CHECK_EQUAL(cases[3].result, -EDEADLK);
    CHECK_EQUAL(verge_select(cases, 3, 5), -ETIMEDOUT);
    CHECK_EQUAL(verge_now(), 5);
    CHECK_EQUAL(verge_select(cases, 3, VERGE_NEVER), 1);
    CHECK_EQUAL(results[1], 10);
    cases[1] = (verge_case){0};
    CHECK_EQUAL(verge_select(cases, 3, VERGE_NEVER), 2);
    CHECK_EQUAL(results[2], 20);
    CHECK_EQUAL(join(tasks[0]), 30); /* never chosen, so it can still be joined */
    return 0;
}

static void tasks_that_were_not_chosen_can_be_joined(void **state) {
    (void)state;
    assert_int_equal(run_virtual(3, 0, joins_the_first, NULL), 30);
}

/* ---- deadlines, scopes, cancellation ---- */

static intptr_t selects_for_ever(void *argument) {
    struct scene *scene = argument;
    uint64_t item = 0;
    verge_case cases[] = {verge_case_receive(scene->in, &item), verge_case_send(scene->out, &item)};
    return verge_select(cases, 2, VERGE_NEVER);
}

static intptr_t gives_up(void *argument) {
    struct scene *scene = argument;
    uint64_t item = 0;
    verge_deadline scope;
    verge_interval once;
    fill(scene->out, 1);
    verge_case cases[] = {verge_case_receive(scene->in, &item), verge_case_send(scene->out, &item),
                          case_at(&once, verge_now() + 100)};
    CHECK_EQUAL(verge_select(cases, 3, verge_now() + 60), -ETIMEDOUT);
    CHECK_EQUAL(verge_now(), 60);
    CHECK_EQUAL(verge_deadline_push(&scope, 90), 0);
    CHECK_EQUAL(verge_select(cases, 3, VERGE_NEVER), -ETIMEDOUT);
    CHECK_EQUAL(verge_now(), 90);
    CHECK_EQUAL(verge_deadline_pop(&scope), 0);
    CHECK_EQUAL(verge_select(cases, 3, 100), 2); /* a case and the deadline at once: the case counts */
    CHECK_EQUAL(stats_of(verge_task_runtime()).timeouts, 2);
    verge_task *task = spawn(selects_for_ever, scene);
    CHECK_EQUAL(verge_sleep(10), 0);
    CHECK_EQUAL(verge_task_cancel(task), 0);
    CHECK_EQUAL(join(task), -ECANCELED);
    CHECK_EQUAL(verge_channel_receive(scene->out, &item, 0), 0);
    CHECK_EQUAL(verge_channel_count(scene->out), 0); /* the case that was not chosen sends nothing later */
    CHECK_EQUAL(verge_task_cancel(verge_task_current()), 0);
    CHECK_EQUAL(verge_select(cases, 1, VERGE_NEVER), -ECANCELED);
    CHECK_EQUAL(verge_select(cases, 2, VERGE_NEVER), 1); /* T3: case 1 need not wait */
    return 0;
}

static void deadlines_and_cancellation_end_it(void **state) {
    (void)state;
    struct scene scene = {.in = channel_of(1), .out = channel_of(1)};
    run_virtual(2, 0, gives_up, &scene);
    verge_channel_destroy(scene.in);
    verge_channel_destroy(scene.out);
}

/* ---- K2: each case has the same chance ---- */

static intptr_t chooses_often(void *argument) {
    enum { CASES = 5, TIMES = 5000 };
    int *counts = argument;
    verge_channel *channels[CASES];
    verge_case cases[CASES];
    uint64_t item;
    for (size_t i = 0; i < CASES; i++) {
        channels[i] = channel_of(1);
        fill(channels[i], i);
        cases[i] = verge_case_receive(channels[i], &item);
    }
    for (int i = 0; i < TIMES; i++) {
        const int index = verge_select(cases, CASES, VERGE_NEVER);
        CHECK(index >= 0 && index < CASES);
        CHECK_EQUAL(item, index);
        counts[index]++;
        fill(channels[index], item);
    }
    for (size_t i = 0; i < CASES; i++) {
        verge_channel_destroy(channels[i]);
    }
    return 0;
}

static void k2_no_place_is_better(void **state) {
    (void)state;
    int counts[5] = {0};
    run_virtual(1, 0, chooses_often, counts);
    for (size_t i = 0; i < 5; i++) {
        assert_in_range(counts[i], 850, 1150); /* in virtual time, the counts are the same in every run */
    }
}

/* ---- conditions: a signal goes to somebody who still waits ---- */

static intptr_t waits_for_signal(void *argument) {
    struct scene *scene = argument;
    uint64_t item;
    CHECK_EQUAL(verge_mutex_lock(&scene->mutex, VERGE_NEVER), 0);
    verge_case cases[] = {verge_case_condition(&scene->condition, &scene->mutex), verge_case_receive(scene->in, &item)};
    const int index = verge_select(cases, 2, VERGE_NEVER);
    CHECK_EQUAL(verge_mutex_unlock(&scene->mutex), 0);
    return index;
}

static intptr_t signals_the_other(void *argument) {
    struct scene *scene = argument;
    verge_task *first = spawn_on(0, waits_for_signal, scene);
    CHECK_EQUAL(verge_sleep(1), 0);
    verge_task *second = spawn_on(1, waits_for_signal, scene);
    CHECK_EQUAL(verge_sleep(1), 0);
    fill(scene->in, 1);                                        /* the item goes to the first task, */
    CHECK_EQUAL(verge_condition_signal(&scene->condition), 0); /* so the signal goes to the second task */
    CHECK_EQUAL(join(first), 1);
    CHECK_EQUAL(join(second), 0);
    return 0;
}

static void a_signal_goes_to_who_still_waits(void **state) {
    (void)state;
    struct scene scene = {.in = channel_of(1)};
    run_virtual(2, 0, signals_the_other, &scene);
    verge_channel_destroy(scene.in);
}

/* ---- descriptors ---- */

static intptr_t writes_later(void *argument) {
    const struct pair *pair = argument;
    CHECK_EQUAL(verge_sleep(MS), 0);
    CHECK_EQUAL(verge_write(pair->far, "x", 1, VERGE_NEVER), 1);
    return 0;
}

static intptr_t polls(void *argument) {
    struct scene *scene = argument;
    struct pair pairs[3] = {open_pair(), open_pair(), open_pair()};
    uint64_t item = 0;
    char byte;
    verge_case cases[] = {verge_case_poll(pairs[0].near, POLLIN), verge_case_receive(scene->in, &item),
                          verge_case_poll(pairs[1].near, POLLIN), verge_case_poll(pairs[2].near, POLLIN)};
    CHECK_EQUAL(verge_select(cases, 4, 0), -ETIMEDOUT);
    CHECK_EQUAL(verge_select(cases, 4, verge_deadline_after(MS)), -ETIMEDOUT);
    for (size_t i = 0; i < 3; i++) { /* each time, another one of several descriptors is ready */
        verge_task *writer = spawn_on(1, writes_later, &pairs[i]);
        const int index = i == 0 ? 0 : (int)i + 1;
        CHECK_EQUAL(verge_select(cases, 4, VERGE_NEVER), index);
        CHECK_EQUAL(cases[index].result, POLLIN);
        CHECK_EQUAL(verge_select(cases, 4, 0), index); /* a poll takes nothing */
        CHECK_EQUAL(verge_read(pairs[i].near, &byte, 1, VERGE_NEVER), 1);
        CHECK_EQUAL(join(writer), 0);
    }
    verge_task *sender = spawn_on(1, sends_later, scene); /* the select is woken by a channel, not by a descriptor */
    CHECK_EQUAL(verge_select(cases, 4, VERGE_NEVER), 1);
    CHECK_EQUAL(item, 42);
    CHECK_EQUAL(join(sender), 1);
    sender = spawn_on(0, sends_later, scene);
    CHECK_EQUAL(verge_select(cases, 4, VERGE_NEVER), 1);
    CHECK_EQUAL(join(sender), 1);
    verge_interval once;
    verge_case others[] = {verge_case_poll(pairs[0].near, POLLIN), case_at(&once, verge_deadline_after(MS)),
                           verge_case_poll(-1, POLLIN)};
    CHECK_EQUAL(verge_select(others, 2, VERGE_NEVER), 1);
    others[1] = (verge_case){0};
    CHECK_EQUAL(verge_select(others, 3, VERGE_NEVER), 2);
    CHECK_EQUAL(others[2].result, -EBADF);
    others[0] = verge_case_poll(pairs[0].near, POLLIN | POLLOUT);
    CHECK_EQUAL(verge_select(others, 2, VERGE_NEVER), 0);
    CHECK_EQUAL(others[0].result, POLLOUT);
    for (size_t i = 0; i < 3; i++) {
        close_pair(pairs[i]);
    }
    return 0;
}

static void waits_for_descriptors(void **state) {
    (void)state;
    struct scene scene = {.in = channel_of(1)};
    run_tasks(2, polls, &scene);
    verge_channel_destroy(scene.in);
}

/* As many descriptors as a select allows, and even more of them by way of an epoll descriptor. */
static intptr_t polls_many(void *argument) {
    (void)argument;
    struct pair pairs[VERGE_SELECT_DESCRIPTORS_MAX];
    verge_case cases[VERGE_SELECT_DESCRIPTORS_MAX + 1];
    const int epoll = epoll_create1(0);
    for (int i = 0; i < VERGE_SELECT_DESCRIPTORS_MAX; i++) {
        pairs[i] = open_pair();
        cases[i] = verge_case_poll(pairs[i].near, POLLIN);
        struct epoll_event event = {.events = EPOLLIN};
        CHECK_EQUAL(epoll_ctl(epoll, EPOLL_CTL_ADD, pairs[i].near, &event), 0);
    }
    verge_task *writer = spawn_on(1, writes_later, &pairs[VERGE_SELECT_DESCRIPTORS_MAX - 1]);
    CHECK_EQUAL(verge_select(cases, VERGE_SELECT_DESCRIPTORS_MAX, VERGE_NEVER), VERGE_SELECT_DESCRIPTORS_MAX - 1);
    CHECK_EQUAL(join(writer), 0);
    cases[VERGE_SELECT_DESCRIPTORS_MAX] = verge_case_poll(epoll, POLLIN);
    CHECK_EQUAL(verge_select(cases, VERGE_SELECT_DESCRIPTORS_MAX + 1, VERGE_NEVER), -EINVAL);
    CHECK_EQUAL(verge_select(&cases[VERGE_SELECT_DESCRIPTORS_MAX], 1, VERGE_NEVER), 0);
    CHECK_EQUAL(cases[VERGE_SELECT_DESCRIPTORS_MAX].result, POLLIN);
    for (int i = 0; i < VERGE_SELECT_DESCRIPTORS_MAX; i++) {
        close_pair(pairs[i]);
    }
    (void)close(epoll);
    return 0;
}

static void waits_for_as_many_descriptors_as_may_be(void **state) {
    (void)state;
    run_tasks(2, polls_many, NULL);
}

static intptr_t polls_for_ever(void *argument) {
    const struct pair *pairs = argument;
    verge_case cases[] = {verge_case_poll(pairs[0].near, POLLIN), verge_case_poll(pairs[1].near, POLLIN)};
    return verge_select(cases, 2, VERGE_NEVER);
}

static intptr_t cancels_a_poll(void *argument) {
    (void)argument;
    struct pair pairs[2] = {open_pair(), open_pair()};
    for (uint32_t worker = 0; worker < 2; worker++) {
        verge_task *task = spawn_on(worker, polls_for_ever, pairs);
        CHECK_EQUAL(verge_sleep(MS), 0);
        CHECK_EQUAL(verge_task_cancel(task), 0);
        CHECK_EQUAL(join(task), -ECANCELED);
    }
    close_pair(pairs[0]);
    close_pair(pairs[1]);
    return 0;
}

static void a_poll_is_cancelled(void **state) {
    (void)state;
    run_tasks(2, cancels_a_poll, NULL);
}

/* ---- K1 on real threads: many cases become ready at the same moment ---- */

/* Sends or receives, whichever is possible first. In the end, each item that was sent was received or is still
 * there. */
static intptr_t passes_items(void *argument) {
    struct scene *scene = argument;
    const struct pair pair = open_pair();
    struct verge_test_random random = verge_test_random_from(atomic_fetch_add(&scene->seed, 1));
    for (uint64_t i = 1; i <= scene->count; i++) {
        uint64_t item = 0;
        verge_case cases[] = {
            verge_case_receive(scene->in, &item),
            verge_case_send(scene->out, &i),
            verge_case_receive(scene->out, &item),
            verge_case_send(scene->in, &i),
            (verge_case){0},
        };
        if (verge_test_below(&random, 16) < 3) { /* also waits for a descriptor */
            cases[4] = verge_case_poll(pair.near, POLLIN);
        }
        const size_t first = (size_t)verge_test_below(&random, 4);
        verge_case *some = &cases[first];
        const uint64_t wait_ns = verge_test_below(&random, 64) * US;
        const int index = verge_select(some, COUNT_OF(cases) - first, verge_deadline_after(wait_ns));
        CHECK(index >= 0 || index == -ETIMEDOUT);
        if (index >= 0 && (some[index].kind == VERGE_CASE_SEND)) {
            atomic_fetch_add(&scene->sent, 1);
            atomic_fetch_add(&scene->sum_sent, i);
        } else if (index >= 0) {
            CHECK_EQUAL(some[index].result, 0);
            atomic_fetch_add(&scene->received, 1);
            atomic_fetch_add(&scene->sum_received, item);
        }
    }
    close_pair(pair);
    return 0;
}

static intptr_t many_pass_items(void *argument) {
    struct scene *scene = argument;
    verge_task *tasks[12];
    for (uint32_t i = 0; i < COUNT_OF(tasks); i++) {
        tasks[i] = spawn_on(i % 3, passes_items, scene);
    }
    for (uint32_t i = 0; i < COUNT_OF(tasks); i++) {
        CHECK_EQUAL(join(tasks[i]), 0);
    }
    uint64_t item;
    while (verge_channel_receive(scene->in, &item, 0) == 0 || verge_channel_receive(scene->out, &item, 0) == 0) {
        atomic_fetch_add(&scene->received, 1);
        atomic_fetch_add(&scene->sum_received, item);
    }
    return 0;
}

static void k1_nothing_is_lost_or_doubled_among_threads(void **state) {
    (void)state;
    struct scene scene = {.in = channel_of(1), .out = channel_of(2), .count = fewer_under_tsan(3000)};
    scene.seed = verge_test_seed(1);
    run_tasks(3, many_pass_items, &scene);
    assert_int_equal(scene.sent, scene.received);
    assert_int_equal(scene.sum_sent, scene.sum_received);
    assert_true(scene.sent > scene.count);
    verge_channel_destroy(scene.in);
    verge_channel_destroy(scene.out);
}

/* ---- many ---- */

enum { WAITERS_A_TASK = 50 };

static intptr_t waits_in_many_places(void *argument) {
    struct scene *scene = argument;
    uint64_t item = 0;
    verge_case cases[WAITERS_A_TASK];
    for (size_t i = 0; i < WAITERS_A_TASK; i++) {
        cases[i] = verge_case_receive(scene->in, &item);
    }
    const int index = verge_select(cases, WAITERS_A_TASK, VERGE_NEVER);
    CHECK(index >= 0 || index == -ECANCELED);
    atomic_fetch_add(&scene->received, index >= 0);
    return index;
}

static intptr_t a_crowd_waits(void *argument) {
    struct scene *scene = argument;
    const uint64_t task_count = fewer_under_tsan(2000);
    verge_task **tasks = calloc(task_count, sizeof(*tasks));
    for (uint64_t i = 0; i < task_count; i++) {
        tasks[i] = spawn(waits_in_many_places, scene);
    }
    CHECK_EQUAL(verge_sleep(1), 0);
    for (uint64_t i = 0; i < task_count / 2; i++) {
        CHECK_EQUAL(verge_channel_send(scene->in, &i, VERGE_NEVER), 0);
    }
    CHECK_EQUAL(verge_channel_count(scene->in), 0);
    for (uint64_t i = 0; i < task_count; i++) {
        CHECK_EQUAL(verge_task_cancel(tasks[i]), 0);
        (void)join(tasks[i]);
    }
    CHECK_EQUAL(scene->received, task_count / 2);
    free(tasks);
    return 0;
}

static void a_hundred_thousand_waiters(void **state) {
    (void)state;
    struct scene scene = {.in = channel_of(1)};
    run_virtual(1, 0, a_crowd_waits, &scene);
    verge_channel_destroy(scene.in);
}

/* Each waiter is a task. If the guard of each stack is a mapping of its own, there is room for fewer tasks.
 * ThreadSanitizer has room for few (see fewer_under_tsan). */
enum { TASKS_MAX = VERGE__TSAN ? 200 : 100000, TASKS_MIN = VERGE__TSAN ? 200 : 20000 };

static intptr_t receives_its_number(void *argument) {
    struct scene *scene = argument;
    uint64_t item = 0;
    const uint64_t number = scene->count++;
    const int error = verge_channel_receive(scene->in, &item, VERGE_NEVER);
    CHECK(error != 0 || item == number); /* the waiters get items in the order in which they came */
    return error;
}

static intptr_t tasks_wait_in_one_channel(void *argument) {
    struct scene *scene = argument;
    verge_task **tasks = calloc(TASKS_MAX, sizeof(*tasks));
    uint64_t count = 0;
    while (count < TASKS_MAX && verge_spawn(receives_its_number, scene, &tasks[count]) == 0) {
        count++;
    }
    CHECK(count >= TASKS_MIN);
    CHECK_EQUAL(verge_sleep(1), 0);
    CHECK_EQUAL(scene->count, count);
    for (uint64_t i = 0; i < count / 2; i++) {
        CHECK_EQUAL(verge_channel_send(scene->in, &i, 0), 0);
    }
    CHECK_EQUAL(verge_channel_count(scene->in), 0);
    /* Cancels from the end of the queue; the next loop, from its middle. */
    for (uint64_t i = count; i > count / 4 * 3; i--) {
        CHECK_EQUAL(verge_task_cancel(tasks[i - 1]), 0);
    }
    for (uint64_t i = count / 8 * 5; i < count / 4 * 3; i++) {
        CHECK_EQUAL(verge_task_cancel(tasks[i]), 0);
    }
    CHECK_EQUAL(verge_sleep(1), 0);
    CHECK_EQUAL(verge_channel_close(scene->in), 0);
    for (uint64_t i = 0; i < count; i++) {
        CHECK_EQUAL(join(tasks[i]), i < count / 2 ? 0 : i < count / 8 * 5 ? -EPIPE : -ECANCELED);
    }
    free(tasks);
    return 0;
}

static void a_hundred_thousand_tasks_in_one_channel(void **state) {
    (void)state;
    struct scene scene = {.in = channel_of(1)};
    run_virtual(1, 0, tasks_wait_in_one_channel, &scene);
    verge_channel_destroy(scene.in);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_need_not_wait_is_chosen),
        cmocka_unit_test(bad_cases_change_nothing),
        cmocka_unit_test(waits_for_each_kind_of_case),
        cmocka_unit_test(tasks_that_were_not_chosen_can_be_joined),
        cmocka_unit_test(deadlines_and_cancellation_end_it),
        cmocka_unit_test(k2_no_place_is_better),
        cmocka_unit_test(a_signal_goes_to_who_still_waits),
        cmocka_unit_test(waits_for_descriptors),
        cmocka_unit_test(waits_for_as_many_descriptors_as_may_be),
        cmocka_unit_test(a_poll_is_cancelled),
        cmocka_unit_test(k1_nothing_is_lost_or_doubled_among_threads),
        cmocka_unit_test(a_hundred_thousand_waiters),
        cmocka_unit_test(a_hundred_thousand_tasks_in_one_channel),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
