/* SPDX-License-Identifier: MIT */
/* cancel_wait for callbacks of other threads. The threads are real. Where a test needs one outcome of a race, threads
 * meet at steps. */
#include <string.h>

#include "service/park.h"
#include "service/support.h"

static verge_service *service_with_threads(uint32_t thread_count) {
    verge_service_options options;
    assert_int_equal(verge_service_options_init(&options, sizeof(options)), 0);
    options.thread_count = thread_count;
    verge_service *service = NULL;
    assert_int_equal(verge_service_create(&options, &service), 0);
    return service;
}

/* ---- a thread that waits for a callback ---- */

struct slow {
    _Atomic bool has_begun;
    _Atomic bool may_return;
    _Atomic bool has_returned;
    _Atomic bool is_awaited; /* a waiting thread is about to call `ending` */
    verge_service *service;
    verge_timer timer;
    int (*ending)(verge_service *service, verge_timer timer);
};

static void be_slow(const verge_firing *firing) {
    struct slow *slow = firing->argument;
    atomic_store(&slow->has_begun, true);
    await(&slow->may_return);
    atomic_store(&slow->has_returned, true);
}

static void *end_and_look(void *argument) {
    struct slow *slow = argument;
    atomic_store(&slow->is_awaited, true);
    const int verdict = slow->ending(slow->service, slow->timer);
    /* This is the promise: what the callback used may be freed now. */
    const bool is_kept = atomic_load(&slow->has_returned) && (verdict == VERGE_RUNNING || verdict == -ENOENT);
    return is_kept ? slow : NULL;
}

static void it_returns_after_the_callback(void **state) {
    (void)state;
    int (*const endings[])(verge_service *, verge_timer) = {verge_service_cancel_wait, verge_service_shutdown};
    for (size_t i = 0; i < 2 * COUNT_OF(endings); i++) {
        struct slow slow = {.service = service_with_threads(1), .ending = endings[i % 2]};
        slow.timer = start_at(slow.service, 0, be_slow, &slow);
        await(&slow.has_begun);
        assert_int_equal(verge_service_cancel(slow.service, slow.timer), VERGE_RUNNING); /* does not wait */
        pthread_t waiters[3];
        struct slow *result = NULL;
        for (size_t w = 0; w < COUNT_OF(waiters); w++) {
            waiters[w] = thread_of(end_and_look, &slow);
        }
        await(&slow.is_awaited);
        atomic_store(&slow.may_return, true);
        for (size_t w = 0; w < COUNT_OF(waiters); w++) {
            assert_int_equal(pthread_join(waiters[w], (void **)&result), 0);
            assert_ptr_equal(result, &slow);
        }
        assert_int_equal(verge_service_cancel(slow.service, slow.timer), -ENOENT);
        assert_int_equal(verge_service_destroy(slow.service, NULL, NULL), 0);
    }
}

/* ---- callbacks that wait for each other ---- */

struct ring {
    struct member {
        struct ring *ring;
        verge_timer timer;
        verge_timer next; /* the callback of `timer` waits for the callback of this timer */
        verge_service *next_service;
        int verdict;
        _Atomic bool is_set_up;
    } members[3];
    uint32_t count;
    _Atomic uint32_t begun;
    _Atomic uint32_t ended;
    _Atomic uint32_t asleep; /* members that have gone to sleep, each counted once */
};

static struct ring *ring_under_way;
static _Thread_local bool is_waiting_member;

/* If all members sleep, none wakes up any more. Then the thread of the last member exits, so that the test fails, and
 * does not hang. */
static bool note_sleep(_Atomic uint32_t *word, uint32_t expected, uint64_t until_ns) {
    (void)word;
    (void)expected;
    (void)until_ns;
    if (is_waiting_member) {
        is_waiting_member = false;
        if (atomic_fetch_add(&ring_under_way->asleep, 1) + 1 == ring_under_way->count) {
            (void)atomic_fetch_add(&ring_under_way->ended, 1);
            pthread_exit(NULL);
        }
    }
    return false;
}

static void wait_for_next(const verge_firing *firing) {
    struct member *member = firing->argument;
    struct ring *ring = member->ring;
    await(&member->is_set_up);
    (void)atomic_fetch_add(&ring->begun, 1);
    await_count(&ring->begun, ring->count); /* all are running now */
    is_waiting_member = true;
    member->verdict = verge_service_cancel_wait(member->next_service, member->next);
    is_waiting_member = false;
    (void)atomic_fetch_add(&ring->ended, 1);
}

/* At least one member gets -EDEADLK, so all return. */
static void wait_in_a_circle(uint32_t count, bool in_one_service) {
    struct ring ring = {.count = count};
    verge_service *services[COUNT_OF(ring.members)] = {0};
    ring_under_way = &ring;
    for (uint32_t i = 0; i < count; i++) {
        services[i] = in_one_service && i > 0 ? services[0] : service_with_threads(in_one_service ? count : 1);
        verge_start_options options = {.struct_size = sizeof(options)};
        ring.members[i].ring = &ring;
        options.callback = wait_for_next;
        options.argument = &ring.members[i];
        options.worker_id = in_one_service ? i + 1 : 1;
        ring.members[i].timer = start_with(services[i], &options);
    }
    for (uint32_t i = 0; i < count; i++) {
        ring.members[i].next = ring.members[(i + 1) % count].timer;
        ring.members[i].next_service = services[(i + 1) % count];
    }
    for (uint32_t i = 0; i < count; i++) {
        atomic_store(&ring.members[i].is_set_up, true);
    }
    await_count(&ring.ended, count);
    uint32_t refused = 0;
    for (uint32_t i = 0; i < count; i++) {
        const int verdict = ring.members[i].verdict;
        assert_true(verdict == VERGE_RUNNING || verdict == -EDEADLK || verdict == -ENOENT);
        refused += verdict == -EDEADLK;
    }
    assert_true(refused >= 1);
    for (uint32_t i = 0; i < (in_one_service ? 1 : count); i++) {
        assert_int_equal(verge_service_destroy(services[i], NULL, NULL), 0);
    }
}

static void callbacks_that_wait_in_a_circle_are_told(void **state) {
    (void)state;
    verge__wait_hook = note_sleep;
    for (uint32_t count = 2; count <= 3; count++) {
        for (size_t round = 0; round < test_scaled(1000) / 10; round++) {
            wait_in_a_circle(count, true);
        }
    }
    verge__wait_hook = NULL;
}

static void those_of_several_services_are_told_too(void **state) {
    (void)state;
    verge__wait_hook = note_sleep;
    for (uint32_t count = 2; count <= 3; count++) {
        for (size_t round = 0; round < test_scaled(1000) / 10; round++) {
            wait_in_a_circle(count, false);
        }
    }
    verge__wait_hook = NULL;
}

/* ---- a callback that waits for a callback that waits for nobody ---- */

struct pair {
    verge_timer slow_timer;
    struct slow slow;
    int verdict;
    _Atomic bool is_waiting;
    _Atomic bool is_over;
};

static void wait_for_slow(const verge_firing *firing) {
    struct pair *pair = firing->argument;
    atomic_store(&pair->is_waiting, true);
    pair->verdict = verge_service_cancel_wait(firing->service, pair->slow_timer);
    assert_true(atomic_load(&pair->slow.has_returned));
    atomic_store(&pair->is_over, true);
}

static void a_callback_waits_for_another_workers(void **state) {
    (void)state;
    verge_service *service = service_with_threads(2);
    struct pair pair = {0};
    pair.slow_timer = start_at(service, 0, be_slow, &pair.slow);
    await(&pair.slow.has_begun);
    verge_start_options options = {.struct_size = sizeof(options)};
    options.callback = wait_for_slow;
    options.argument = &pair;
    options.worker_id = info_of(service, pair.slow_timer).worker_id == 1 ? 2 : 1;
    (void)start_with(service, &options);
    await(&pair.is_waiting);
    atomic_store(&pair.slow.may_return, true);
    await(&pair.is_over);
    assert_true(pair.verdict == VERGE_RUNNING || pair.verdict == -ENOENT);
    assert_int_equal(verge_service_destroy(service, NULL, NULL), 0);
}

/* ---- a record that is used for another timer by the time its waiter goes to sleep ---- */

struct relay {
    struct stepped stepped;
    verge_timer timers[2];
    pthread_t waiters[2];
    _Atomic bool is_about_to_sleep[2];
    _Atomic bool may_sleep;
    bool would_sleep; /* the waiter for the first timer would sleep, though its callback has returned */
};

static struct relay *relay;
static _Thread_local bool is_first_waiter;

static bool hold_the_first(_Atomic uint32_t *word, uint32_t expected, uint64_t until_ns) {
    (void)until_ns;
    atomic_store(&relay->is_about_to_sleep[is_first_waiter ? 0 : 1], true);
    if (is_first_waiter) {
        await(&relay->may_sleep);
        relay->would_sleep = atomic_load(word) == expected;
    }
    return is_first_waiter;
}

static void *wait_for_the_first(void *argument) {
    (void)argument;
    is_first_waiter = true;
    assert_int_equal(verge_service_cancel_wait(relay->stepped.service, relay->timers[0]), VERGE_RUNNING);
    return NULL;
}

static void *wait_for_the_second(void *argument) {
    (void)argument;
    assert_int_equal(verge_service_cancel_wait(relay->stepped.service, relay->timers[1]), VERGE_RUNNING);
    return NULL;
}

static void be_the_first(const verge_firing *firing) {
    relay->timers[0] = firing->timer;
    relay->waiters[0] = thread_of(wait_for_the_first, NULL);
    await(&relay->is_about_to_sleep[0]);
}

static void be_the_second(const verge_firing *firing) {
    relay->timers[1] = firing->timer;
    relay->waiters[1] = thread_of(wait_for_the_second, NULL);
    await(&relay->is_about_to_sleep[1]);
    atomic_store(&relay->may_sleep, true);
    join_thread(relay->waiters[0]); /* the first waiter does not wait for this callback */
}

static void a_wait_ends_though_its_record_is_waited_for_again(void **state) {
    (void)state;
    struct relay the_relay = {0};
    relay = &the_relay;
    stepped_begin(&relay->stepped);
    verge__wait_hook = hold_the_first;
    verge_worker *worker = join_bound(relay->stepped.service);
    (void)start_at(relay->stepped.service, 0, be_the_first, NULL);
    assert_int_equal(step(worker), 1);
    (void)start_at(relay->stepped.service, 0, be_the_second, NULL);
    assert_int_equal(step(worker), 1);
    join_thread(relay->waiters[1]);
    verge__wait_hook = NULL;
    assert_int_equal((uint32_t)relay->timers[0], (uint32_t)relay->timers[1]); /* both used the same record */
    assert_false(relay->would_sleep);
    leave(worker);
    stepped_end(&relay->stepped);
}

/* ---- a callback returns while another thread looks whether that callback waits for another one ---- */

struct mistaken {
    struct stepped stepped;
    verge_timer quick;  /* its callback returns while the callback of `waiter` is about to wait for that */
    verge_timer waiter; /* after `quick`, the other worker runs a callback that waits for the callback of `waiter` */
    int verdict;
    _Atomic bool has_begun;
    _Atomic bool may_return;
    _Atomic bool has_said;
};

static struct mistaken *mistaken;
static _Thread_local bool is_other;

/* When this thread is about to look for a circle, `quick` may return. This thread goes on when the other one has noted
 * for which callback it waits, and is about to sleep. */
static void meet(const char *next_step) {
    if (is_other && strcmp(next_step, "wait: returns") == 0) {
        atomic_store(&mistaken->has_said, true);
    } else if (!is_other && strcmp(next_step, "wait: begin") == 0) {
        atomic_store(&mistaken->may_return, true);
        await(&mistaken->has_said);
    }
}

static void be_quick(const verge_firing *firing) {
    mistaken->quick = firing->timer;
    atomic_store(&mistaken->has_begun, true);
    await(&mistaken->may_return);
}

static void wait_for_the_waiter(const verge_firing *firing) {
    assert_int_equal(verge_service_cancel_wait(firing->service, mistaken->waiter), VERGE_RUNNING);
}

static void *run_two(void *argument) {
    (void)argument;
    is_other = true;
    verge_worker *worker = join_bound(mistaken->stepped.service);
    (void)start_at(mistaken->stepped.service, 0, be_quick, NULL);
    assert_int_equal(step(worker), 1);
    (void)start_at(mistaken->stepped.service, 0, wait_for_the_waiter, NULL);
    assert_int_equal(step(worker), 1);
    leave(worker);
    return NULL;
}

static void wait_for_the_quick(const verge_firing *firing) {
    mistaken->waiter = firing->timer;
    await(&mistaken->has_begun);
    mistaken->verdict = verge_service_cancel_wait(firing->service, mistaken->quick);
}

static void who_waits_is_not_told_of_a_circle_of_others(void **state) {
    (void)state;
    struct mistaken the_mistaken = {0};
    mistaken = &the_mistaken;
    stepped_begin(&mistaken->stepped);
    verge__step_hook = meet;
    verge_worker *worker = join_bound(mistaken->stepped.service);
    (void)start_at(mistaken->stepped.service, 0, wait_for_the_quick, NULL);
    const pthread_t thread = thread_of(run_two, NULL);
    assert_int_equal(step(worker), 1);
    join_thread(thread);
    verge__step_hook = NULL;
    assert_int_equal(mistaken->verdict, VERGE_RUNNING);
    leave(worker);
    stepped_end(&mistaken->stepped);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_returns_after_the_callback),
        cmocka_unit_test(callbacks_that_wait_in_a_circle_are_told),
        cmocka_unit_test(those_of_several_services_are_told_too),
        cmocka_unit_test(a_callback_waits_for_another_workers),
        cmocka_unit_test(a_wait_ends_though_its_record_is_waited_for_again),
        cmocka_unit_test(who_waits_is_not_told_of_a_circle_of_others),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
