/* SPDX-License-Identifier: MIT */
/*
 * Threads of the service that end while others come: what destructors of thread-specific data do then, and what
 * callbacks do while the service is destroyed. Linked with --wrap=pthread_join, to know when a thread is waited for,
 * and whether that is done under the lock.
 */
#include <string.h>

#include "base/step.h"
#include "service/service_internal.h"
#include "service/support.h"

int __real_pthread_join(pthread_t thread, void **ret_result);
int __wrap_pthread_join(pthread_t thread, void **ret_result);

static struct {
    verge_service *service;
    pthread_key_t key;
    _Atomic uint32_t marked;       /* how many threads have data with a destructor */
    _Atomic uint32_t destroying;   /* how many threads have begun the destructor */
    _Atomic bool may_end;          /* destructors may return */
    _Atomic bool is_joined_locked; /* somebody has waited for a thread under the lock */
    _Atomic bool is_destroy_joining;
    struct notes notes;
    int verdict;
    _Atomic bool has_added;
} scene;

static _Thread_local bool is_destroyer;
static _Thread_local bool is_adding; /* this thread adds a worker, and all others stand still */

int __wrap_pthread_join(pthread_t thread, void **ret_result) {
    if (is_adding && pthread_mutex_trylock(&scene.service->lock) != 0) {
        atomic_store(&scene.is_joined_locked, true);
        return 0; /* a join would hang */
    }
    if (is_adding) {
        (void)pthread_mutex_unlock(&scene.service->lock);
    }
    if (is_destroyer) {
        atomic_store(&scene.is_destroy_joining, true);
    }
    return __real_pthread_join(thread, ret_result);
}

static void begin_scene(uint32_t thread_count) {
    memset(&scene, 0, sizeof(scene));
    verge_service_options options;
    assert_int_equal(verge_service_options_init(&options, sizeof(options)), 0);
    options.thread_count = thread_count;
    verge_service *service = NULL;
    assert_int_equal(verge_service_create(&options, &service), 0);
    scene.service = service;
}

static void await_workers(uint32_t count) {
    while (stats_of(scene.service).workers != count) {
        (void)sched_yield();
    }
}

static void start_on(uint32_t worker_id, verge_callback callback, void *argument) {
    verge_start_options options = {.struct_size = sizeof(options)};
    options.callback = callback;
    options.argument = argument;
    options.worker_id = worker_id;
    (void)start_with(scene.service, &options);
}

/* ---- a destructor that starts a timer, while another thread takes the seat ---- */

static void start_in_destructor(void *service) {
    (void)atomic_fetch_add(&scene.destroying, 1);
    await(&scene.may_end);
    verge_start_options options = noted(&scene.notes, 0);
    options.worker_id = 1; /* the seat that this thread had */
    if (verge_service_start_with(service, &options, NULL) != 0) {
        abort();
    }
}

static void mark_thread(const verge_firing *firing) {
    (void)pthread_setspecific(scene.key, firing->service);
    (void)atomic_fetch_add(&scene.marked, 1);
}

static void a_thread_that_ends_slowly_holds_up_nobody(void **state) {
    (void)state;
    enum { ROUNDS = 3 };
    begin_scene(1);
    assert_int_equal(pthread_key_create(&scene.key, start_in_destructor), 0);
    for (uint32_t round = 1; round <= ROUNDS; round++) {
        start_on(1, mark_thread, NULL);
        await_count(&scene.marked, round);
        assert_int_equal(verge_service_retire_worker(scene.service, 1), 0);
        await_count(&scene.destroying, round); /* the thread has left, but has not ended */
        uint32_t id = 0;
        is_adding = true;
        assert_int_equal(verge_service_add_worker(scene.service, &id), 0);
        is_adding = false;
        assert_false(scene.is_joined_locked);
        assert_int_equal(id, 1);
    }
    atomic_store(&scene.may_end, true);
    await_count(&scene.notes.fired, ROUNDS);
    assert_int_equal(verge_service_add_worker(scene.service, NULL), 0); /* joins threads that have ended */
    assert_int_equal(verge_service_destroy(scene.service, NULL, NULL), 0);
    scene.service = NULL;
    assert_int_equal(pthread_key_delete(scene.key), 0);
}

/* ---- a callback that adds a thread, while the service is destroyed ---- */

static _Thread_local bool is_adder;

static void stop_before_the_thread_is_there(const char *next_step) {
    if (is_adder && strcmp(next_step, "add thread: create") == 0) {
        atomic_store(&scene.has_added, true);
        await(&scene.is_destroy_joining); /* destroy joins this very thread, and is past the new worker's seat */
    }
}

static void add_one(const verge_firing *firing) {
    is_adder = true;
    scene.verdict = verge_service_add_worker(firing->service, NULL);
    is_adder = false;
}

static void no_thread_comes_while_the_service_is_destroyed(void **state) {
    (void)state;
    verge__step_hook = stop_before_the_thread_is_there;
    begin_scene(2);
    assert_int_equal(verge_service_retire_worker(scene.service, 1), 0);
    await_workers(1);
    start_on(2, add_one, NULL);
    await(&scene.has_added);
    is_destroyer = true;
    assert_int_equal(verge_service_destroy(scene.service, NULL, NULL), 0);
    is_destroyer = false;
    verge__step_hook = NULL;
    scene.service = NULL;
    assert_int_equal(scene.verdict, -ESHUTDOWN);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_thread_that_ends_slowly_holds_up_nobody),
        cmocka_unit_test(no_thread_comes_while_the_service_is_destroyed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
