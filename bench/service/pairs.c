/* SPDX-License-Identifier: MIT */
/*
 * Pairs of a start and a cancel, as timeouts make them: the oldest of some pending timers is cancelled, and a new one
 * is started for 10 s from now.
 *
 *   bare      the single-threaded wheel
 *   local     a worker of the service, on its own thread
 *   two       two workers at the same time, each on its own thread. Also two bare wheels, which share nothing: they
 *             show what two threads can do on this machine
 *   outside   a thread that is no worker; the service has a thread of its own. A pair is measured in processor time of
 *             the process, so the work of the worker's thread counts, too
 *   heap      two threads, a 4-ary heap, a mutex around it
 *
 * Cancels alone are measured, too: by the worker that has the timer, and by another thread. All operations but those
 * from outside are measured in processor time of their own thread, so that other work on the machine matters little.
 * Only the ratio to the heap is one of real time.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include <verge/service.h>

#include "baseline/quad_heap.h"
#include "figures.h"

enum { PENDING = 1000 };

#define TIMEOUT_NS UINT64_C(10000000000)

static void never(const verge_firing *firing) {
    (void)firing;
    must(false, "a timer of 10 s ran");
}

static verge_service *create(void) {
    verge_service_options options;
    must(verge_service_options_init(&options, sizeof(options)) == 0, "options");
    options.thread_count = 0;
    verge_service *service = NULL;
    must(verge_service_create(&options, &service) == 0, "create");
    return service;
}

/* ---- pairs ---- */

static verge_timer *handles(size_t pending) {
    verge_timer *timers = calloc(pending, sizeof(*timers));
    must(timers != NULL, "memory");
    return timers;
}

static double bare_pairs(size_t pending, size_t pairs) {
    verge_wheel *wheel = NULL;
    must(verge_wheel_create(NULL, &wheel) == 0, "create");
    verge_timer *timers = handles(pending);
    uint64_t at_ns = TIMEOUT_NS;
    for (size_t i = 0; i < pending; i++) {
        must(verge_wheel_start(wheel, at_ns++, NULL, &timers[i]) == 0, "schedule");
    }
    uint64_t begin = thread_cpu_ns();
    int errors = 0;
    for (size_t i = 0, place = 0; i < pairs; i++) {
        errors |= verge_wheel_cancel(wheel, timers[place], NULL);
        errors |= verge_wheel_start(wheel, at_ns += 1000, NULL, &timers[place]);
        place = place + 1 == pending ? 0 : place + 1;
    }
    uint64_t end = thread_cpu_ns();
    must(errors == 0 && verge_wheel_count(wheel) == pending, "the wheel's pairs were done");
    verge_wheel_destroy(wheel);
    free(timers);
    return (double)(end - begin) / (double)pairs;
}

/* Makes pairs on the calling thread. Returns ns for each pair, measured by cpu_ns. Afterwards no timer is left. */
static double service_pairs(verge_service *service, size_t pending, size_t pairs, uint64_t (*cpu_ns)(void)) {
    verge_timer *timers = handles(pending);
    uint64_t at_ns = verge_service_exact_now(service) + TIMEOUT_NS;
    for (size_t i = 0; i < pending; i++) {
        must(verge_service_start(service, at_ns++, never, NULL, &timers[i]) == 0, "start");
    }
    uint64_t begin = cpu_ns();
    int errors = 0;
    for (size_t i = 0, place = 0; i < pairs; i++) {
        errors |= verge_service_cancel(service, timers[place]);
        errors |= verge_service_start(service, at_ns += 1000, never, NULL, &timers[place]);
        place = place + 1 == pending ? 0 : place + 1;
    }
    uint64_t end = cpu_ns();
    for (size_t i = 0; i < pending; i++) {
        errors |= verge_service_cancel(service, timers[i]);
    }
    must(errors == 0, "the service's pairs were done");
    free(timers);
    return (double)(end - begin) / (double)pairs;
}

/* Makes pairs while the calling thread is a worker. */
static double worker_pairs(verge_service *service, size_t pending, size_t pairs) {
    verge_worker *worker = NULL;
    must(verge_worker_join(service, NULL, &worker) == 0, "join");
    double ns = service_pairs(service, pending, pairs, thread_cpu_ns);
    must(verge_worker_leave(worker) == 0, "leave");
    return ns;
}

static double local_pairs(size_t pending, size_t pairs) {
    verge_service *service = create();
    double ns = worker_pairs(service, pending, pairs);
    must(verge_service_count(service, 0) == 0, "all were cancelled");
    must(verge_service_destroy(service, NULL, NULL) == 0, "destroy");
    return ns;
}

static double outside_pairs(size_t pending, size_t pairs) {
    verge_service *service = NULL;
    must(verge_service_create(NULL, &service) == 0, "create");
    double ns = service_pairs(service, pending, pairs, process_cpu_ns);
    must(verge_service_count(service, 0) == 0, "all were cancelled");
    must(verge_service_destroy(service, NULL, NULL) == 0, "destroy");
    return ns;
}

struct locked_heap {
    pthread_mutex_t lock;
    struct quad_heap heap;
};

/* What one of two threads does. */
struct part {
    pthread_barrier_t *barrier;
    verge_service *service; /* NULL: the thread uses the heap or, if that is NULL, a wheel of its own */
    struct locked_heap *heap;
    size_t pairs;
    double ns;
    uint64_t begin_ns; /* real time, as end_ns is */
    uint64_t end_ns;
};

static double heap_pairs(struct locked_heap *locked, size_t pairs) {
    struct quad_heap_node *nodes = calloc(PENDING, sizeof(*nodes));
    must(nodes != NULL, "memory");
    uint64_t at_ns = TIMEOUT_NS;
    for (size_t i = 0; i < PENDING; i++) {
        (void)pthread_mutex_lock(&locked->lock);
        quad_heap_schedule(&locked->heap, &nodes[i], at_ns++);
        (void)pthread_mutex_unlock(&locked->lock);
    }
    uint64_t begin = thread_cpu_ns();
    bool done = true;
    for (size_t i = 0, place = 0; i < pairs; i++) {
        (void)pthread_mutex_lock(&locked->lock);
        done &= quad_heap_cancel(&locked->heap, &nodes[place]) == 0;
        (void)pthread_mutex_unlock(&locked->lock);
        (void)pthread_mutex_lock(&locked->lock);
        quad_heap_schedule(&locked->heap, &nodes[place], at_ns += 1000);
        (void)pthread_mutex_unlock(&locked->lock);
        place = place + 1 == PENDING ? 0 : place + 1;
    }
    uint64_t end = thread_cpu_ns();
    must(done, "the heap's pairs were done");
    for (size_t i = 0; i < PENDING; i++) {
        (void)pthread_mutex_lock(&locked->lock);
        (void)quad_heap_cancel(&locked->heap, &nodes[i]);
        (void)pthread_mutex_unlock(&locked->lock);
    }
    free(nodes);
    return (double)(end - begin) / (double)pairs;
}

static void *run_part(void *argument) {
    struct part *part = argument;
    (void)pthread_barrier_wait(part->barrier);
    part->begin_ns = wall_ns();
    part->ns = part->heap != NULL      ? heap_pairs(part->heap, part->pairs)
               : part->service != NULL ? worker_pairs(part->service, PENDING, part->pairs)
                                       : bare_pairs(PENDING, part->pairs);
    part->end_ns = wall_ns();
    return NULL;
}

/* Returns the pairs a second of two threads together, in real time. *ret_ns: processor time of a pair, in ns. */
static double run_two(verge_service *service, struct locked_heap *heap, size_t pairs, double *ret_ns) {
    pthread_barrier_t barrier;
    must(pthread_barrier_init(&barrier, NULL, 2) == 0, "barrier");
    struct part parts[2];
    pthread_t threads[2];
    for (int i = 0; i < 2; i++) {
        parts[i] = (struct part){.barrier = &barrier, .service = service, .heap = heap, .pairs = pairs};
        must(pthread_create(&threads[i], NULL, run_part, &parts[i]) == 0, "thread");
    }
    for (int i = 0; i < 2; i++) {
        (void)pthread_join(threads[i], NULL);
    }
    (void)pthread_barrier_destroy(&barrier);
    uint64_t begin = parts[0].begin_ns < parts[1].begin_ns ? parts[0].begin_ns : parts[1].begin_ns;
    uint64_t end = parts[0].end_ns > parts[1].end_ns ? parts[0].end_ns : parts[1].end_ns;
    *ret_ns = (parts[0].ns + parts[1].ns) / 2;
    return 2.0 * (double)pairs * 1e9 / (double)(end - begin);
}

static double two_pairs(size_t pairs, double *ret_rate) {
    verge_service *service = create();
    double ns = 0;
    *ret_rate = run_two(service, NULL, pairs, &ns);
    must(verge_service_destroy(service, NULL, NULL) == 0, "destroy");
    return ns;
}

static double two_bare_pairs(size_t pairs) {
    double ns = 0;
    (void)run_two(NULL, NULL, pairs, &ns);
    return ns;
}

static double two_heap_pairs(size_t pairs, double *ret_rate) {
    struct locked_heap locked = {.lock = PTHREAD_MUTEX_INITIALIZER};
    void *memory = aligned_alloc(64, (quad_heap_memory_size(4 * PENDING) + 63) / 64 * 64);
    must(memory != NULL, "memory");
    quad_heap_init(&locked.heap, memory);
    double ns = 0;
    *ret_rate = run_two(NULL, &locked, pairs, &ns);
    free(memory);
    return ns;
}

/* ---- cancel alone ---- */

enum { CANCELS = 4096 };

struct cancels {
    verge_service *service;
    verge_timer timers[CANCELS];
    double ns;
};

static void cancel_all(struct cancels *cancels) {
    int errors = 0;
    uint64_t begin = thread_cpu_ns();
    for (size_t i = 0; i < CANCELS; i++) {
        errors |= verge_service_cancel(cancels->service, cancels->timers[i]);
    }
    cancels->ns = (double)(thread_cpu_ns() - begin) / CANCELS;
    must(errors == 0, "all were cancelled");
}

static void *cancel_all_in_thread(void *argument) {
    cancel_all(argument);
    return NULL;
}

/* The worker starts timers. Then it cancels them all, or another thread does. */
static double cancels(bool remotely, size_t rounds) {
    static struct cancels work;
    double each[ROUNDS_MAX * 8];
    work.service = create();
    verge_worker *worker = NULL;
    must(verge_worker_join(work.service, NULL, &worker) == 0, "join");
    for (size_t round = 0; round < rounds; round++) {
        uint64_t at_ns = verge_service_exact_now(work.service) + TIMEOUT_NS;
        for (size_t i = 0; i < CANCELS; i++) {
            must(verge_service_start(work.service, at_ns + i, never, NULL, &work.timers[i]) == 0, "start");
        }
        if (remotely) {
            pthread_t thread;
            must(pthread_create(&thread, NULL, cancel_all_in_thread, &work) == 0, "thread");
            (void)pthread_join(thread, NULL);
        } else {
            cancel_all(&work);
        }
        each[round] = work.ns;
        while (verge_worker_next_wakeup(worker) == 0) { /* the worker takes the records back */
            must(verge_worker_run_once(worker, 0) >= 0, "pass");
        }
    }
    must(verge_service_count(work.service, 0) == 0, "all are gone");
    must(verge_worker_leave(worker) == 0 && verge_service_destroy(work.service, NULL, NULL) == 0, "destroy");
    return median(each, rounds);
}

/* If the worker's thread gets no processor for a while, it takes many records at once afterwards. Then the figures are
 * lower. */
static void measure_outside(const struct plan *plan) {
    size_t rounds = plan->is_quick ? 5 : 11;
    size_t pairs = plan->is_quick ? 300000 : 1000000;
    double one[ROUNDS_MAX];
    double many[ROUNDS_MAX];
    for (size_t i = 0; i < rounds; i++) {
        one[i] = outside_pairs(1, pairs);
        many[i] = outside_pairs(PENDING, pairs);
    }
    heading("start + cancel by a thread that is no worker, processor time of all threads");
    figure("1 pending", median(one, rounds), "ns");
    figure("1,000 pending", median(many, rounds), "ns");
}

/* Measures pairs with more timers than fit into the caches. */
static void measure_many(const struct plan *plan, size_t pending) {
    size_t rounds = 3;
    size_t pairs = plan->is_quick ? pending : 2 * pending;
    double bare[ROUNDS_MAX];
    double local[ROUNDS_MAX];
    double ratio[ROUNDS_MAX];
    for (size_t i = 0; i < rounds; i++) {
        bare[i] = bare_pairs(pending, pairs);
        local[i] = local_pairs(pending, pairs);
        ratio[i] = local[i] / bare[i];
    }
    char name[80];
    (void)snprintf(name, sizeof(name), "start + cancel, %zu pending", pending);
    heading(name);
    figure("bare wheel", median(bare, rounds), "ns");
    figure("a worker of the service", median(local, rounds), "ns");
    figure("worker / bare wheel", median(ratio, rounds), "");
}

static void measure_few(struct plan *plan) {
    size_t rounds = plan->is_quick ? 5 : 11;
    size_t pairs = plan->is_quick ? 300000 : 1000000;
    double bare[ROUNDS_MAX];
    double local[ROUNDS_MAX];
    double ratio[ROUNDS_MAX];
    double two[ROUNDS_MAX];
    double heap[ROUNDS_MAX];
    double bare_scaling[ROUNDS_MAX];
    double scaling[ROUNDS_MAX];
    double against_heap[ROUNDS_MAX];
    double own_cancel[ROUNDS_MAX];
    double remote_cancel[ROUNDS_MAX];
    double cancel_ratio[ROUNDS_MAX];
    for (size_t i = 0; i < rounds; i++) {
        double rate = 0;
        double heap_rate = 0;
        bare[i] = bare_pairs(PENDING, pairs);
        local[i] = local_pairs(PENDING, pairs);
        two[i] = two_pairs(pairs, &rate);
        heap[i] = two_heap_pairs(pairs / 4, &heap_rate);
        own_cancel[i] = cancels(false, 8);
        remote_cancel[i] = cancels(true, 8);
        ratio[i] = local[i] / bare[i];
        bare_scaling[i] = 2 * bare[i] / two_bare_pairs(pairs);
        scaling[i] = 2 * local[i] / two[i];
        against_heap[i] = rate / heap_rate;
        cancel_ratio[i] = remote_cancel[i] / own_cancel[i];
    }
    heading("start + cancel, 1,000 pending");
    figure("bare wheel", median(bare, rounds), "ns");
    figure("a worker of the service", median(local, rounds), "ns");
    figure("two workers at once, each", median(two, rounds), "ns");
    figure("a heap in a mutex, two threads at once, each", median(heap, rounds), "ns");
    figure("cancel alone, by its worker", median(own_cancel, rounds), "ns");
    figure("cancel alone, by another thread", median(remote_cancel, rounds), "ns");
    bound_at_most(plan, "worker / bare wheel", median(ratio, rounds), 2.5);
    bound_at_most(plan, "cancel by another thread / by its worker", median(cancel_ratio, rounds), 4);
    figure("two bare wheels / one, throughput by processor time", median(bare_scaling, rounds), "");
    bound_at_least(plan, "two workers / one, throughput by processor time", median(scaling, rounds), 1.8);
    bound_at_least(plan, "two workers / heap in a mutex, throughput in real time", median(against_heap, rounds), 5);
}

void measure_pairs(struct plan *plan) {
    measure_few(plan);
    measure_outside(plan);
    measure_many(plan, 100000);
    measure_many(plan, 1000000);
}
