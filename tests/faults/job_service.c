/* SPDX-License-Identifier: MIT */
/*
 * A service with two threads and a metronome: timers are started, reset and cancelled, threads come and go, one worker
 * is this thread. Whatever fails: each timer that was started ends exactly once, none runs early, and if a reset or
 * cancel returns 0, the old deadline never fires.
 */
#define _GNU_SOURCE /* sem_t */

#include <semaphore.h>
#include <string.h>

#include "faults/job.h"
#include "verge/service.h"

enum { NEAR_COUNT = 24, FAR_COUNT = 24, PERIODIC_COUNT = 2, LOCAL_COUNT = 8, LATE_COUNT = 24 };

enum { TIMER_COUNT = NEAR_COUNT + FAR_COUNT + PERIODIC_COUNT + LOCAL_COUNT + LATE_COUNT };

struct timer {
    verge_timer handle;
    uint64_t deadline_ns;
    bool was_started, was_cancelled, is_periodic;
    atomic_int runs, visits;
    _Atomic uint64_t scheduled_ns; /* the deadline for which it ran last */
};

static struct timer timers[TIMER_COUNT];
static sem_t ran;

static void on_timer(const verge_firing *firing) {
    struct timer *timer = firing->argument;
    JOB_CHECK(firing->scheduled_ns <= firing->actual_ns);
    JOB_CHECK(firing->actual_ns <= verge_service_exact_now(firing->service) ||
              firing->actual_ns <= faulty_clock_latest());
    atomic_store(&timer->scheduled_ns, firing->scheduled_ns);
    (void)atomic_fetch_add(&timer->runs, 1);
    (void)sem_post(&ran);
}

static void on_pending(void *context, const verge_pending *pending) {
    (void)context;
    struct timer *timer = pending->argument;
    (void)atomic_fetch_add(&timer->visits, 1);
}

static void start(verge_service *service, struct timer *timer, uint64_t delay_ns, uint64_t period_ns) {
    verge_start_options options = {.struct_size = sizeof(options)};
    timer->deadline_ns = verge_service_exact_now(service) + delay_ns;
    timer->is_periodic = period_ns != 0;
    options.callback = on_timer;
    options.argument = timer;
    options.deadline_ns = timer->deadline_ns;
    options.period_ns = period_ns;
    options.policy = VERGE_INTERVAL_SKIP;
    timer->was_started = JOB_DONE_OR(verge_service_start_with(service, &options, &timer->handle), ENOMEM);
}

static bool have_run(const struct timer *first, size_t count) {
    for (size_t i = 0; i < count; i++) {
        if (first[i].was_started && atomic_load(&first[i].runs) == 0) {
            return false;
        }
    }
    return true;
}

static void act_on_far(verge_service *service, struct timer *far) {
    for (size_t i = 0; i < FAR_COUNT; i++) {
        if (!far[i].was_started) {
            continue;
        }
        if (i % 3 == 0) {
            const int verdict = verge_service_cancel(service, far[i].handle);
            JOB_CHECK(verdict == 0);
            far[i].was_cancelled = verdict == 0;
        } else if (i % 3 == 1) { /* reset to an earlier time */
            far[i].deadline_ns = verge_service_exact_now(service) + (i % 4) * MS;
            JOB_CHECK(verge_service_reset(service, far[i].handle, far[i].deadline_ns) == 0);
        }
    }
}

static void wait_for(const struct timer *first, size_t count) {
    while (!have_run(first, count)) {
        (void)sem_wait(&ran); /* if it returns early (EINTR), the loop looks again */
    }
}

/* Waits for the timers that were reset to an earlier time. */
static void wait_for_far(const struct timer *far, uint64_t before_ns) {
    for (size_t i = 1; i < FAR_COUNT; i += 3) {
        if (far[i].deadline_ns < before_ns) {
            wait_for(&far[i], 1);
        }
    }
}

static void be_a_worker(verge_service *service, struct timer *local) {
    verge_worker *worker = NULL;
    if (!JOB_DONE_OR(verge_worker_join(service, NULL, &worker), ENOMEM)) {
        return;
    }
    for (size_t i = 0; i < LOCAL_COUNT; i++) {
        start(service, &local[i], i < LOCAL_COUNT / 2 ? i * MS / 2 : HOUR + i * SECOND, 0);
    }
    while (!have_run(local, LOCAL_COUNT / 2)) {
        JOB_CHECK(verge_worker_run_once(worker, verge_service_exact_now(service) + 5 * MS) >= 0);
    }
    JOB_CHECK(verge_worker_leave(worker) == 0); /* timers that have not run go to the threads of the service */
}

static void work(verge_service *service) {
    struct timer *far = timers + NEAR_COUNT;
    struct timer *periodic = far + FAR_COUNT;
    struct timer *late = periodic + PERIODIC_COUNT + LOCAL_COUNT;
    const uint64_t begin_ns = verge_service_exact_now(service);
    uint32_t added = 0;
    for (size_t i = 0; i < NEAR_COUNT; i++) {
        start(service, &timers[i], i * MS / 4, 0);
    }
    for (size_t i = 0; i < FAR_COUNT; i++) {
        start(service, &far[i], HOUR + i * HOUR, 0);
    }
    for (size_t i = 0; i < PERIODIC_COUNT; i++) {
        start(service, &periodic[i], MS, (i + 1) * MS);
    }
    act_on_far(service, far);
    if (JOB_DONE_OR(verge_service_add_worker(service, &added), ENOMEM, EAGAIN)) {
        JOB_CHECK(verge_service_retire_worker(service, 1) == 0);
    }
    be_a_worker(service, periodic + PERIODIC_COUNT);
    for (size_t i = 0; i < LATE_COUNT; i++) { /* any worker may run these */
        start(service, &late[i], i * MS / 8, 0);
    }
    wait_for(late, LATE_COUNT);
    wait_for(timers, NEAR_COUNT);
    wait_for(periodic, PERIODIC_COUNT);
    wait_for_far(far, begin_ns + HOUR / 2);
    if (periodic[0].was_started) {
        const int verdict = verge_service_cancel_wait(service, periodic[0].handle);
        JOB_CHECK(verdict == 0 || verdict == VERGE_RUNNING);
        periodic[0].was_cancelled = true;
    }
}

static void audit(void) {
    for (size_t i = 0; i < TIMER_COUNT; i++) {
        struct timer *timer = &timers[i];
        const int runs = atomic_load(&timer->runs);
        const int ends = (timer->is_periodic ? 0 : runs) + atomic_load(&timer->visits) + timer->was_cancelled;
        JOB_CHECK(ends == timer->was_started);
        JOB_CHECK(runs == 0 || timer->is_periodic || atomic_load(&timer->scheduled_ns) == timer->deadline_ns);
    }
}

void job_service(const struct fault_plan *plan) {
    verge_service_options options;
    verge_service *service = NULL;
    (void)sem_init(&ran, 0, 0);
    (void)verge_service_options_init(&options, sizeof(options));
    options.thread_count = 2;
    options.stuck_after_ns = HOUR; /* for this, the metronome has to watch */
    if (plan->site == SITE_CLOCK) {
        options.clock = job_clock(plan);
    }
    faults_begin(plan);
    if (JOB_DONE_OR(verge_service_create(&options, &service), ENOMEM, EAGAIN)) {
        work(service);
        JOB_CHECK(verge_service_destroy(service, on_pending, NULL) == 0);
    }
    faults_end();
    audit();
}
