/* SPDX-License-Identifier: MIT */
/*
 * A rate limit: jobs come in bursts, and ten a second are done. The limit is an interval. With the policy `delay`, two
 * jobs are a period apart (less the tolerance, 5 ms by default), however late the first one was.
 *
 * The program runs in virtual time. So its minute takes no time at all, and every run is the same. Without
 * `virtual_clock` it would do the same in a minute.
 */
#include <stdio.h>

#include <verge/verge.h>

#define MS UINT64_C(1000000)
#define SECOND (1000 * MS)
#define PERIOD (100 * MS)

enum { BURSTS = 6, JOBS_A_BURST = 40, JOBS = BURSTS * JOBS_A_BURST };

struct job {
    uint64_t submitted_ns;
};

struct limiter {
    verge_channel *jobs;
    uint64_t done, last_ns, shortest_gap_ns, longest_delay_ns, missed;
};

/* Every ten seconds, forty jobs come at once, which are four seconds of work. */
static intptr_t submit_jobs(void *argument) {
    struct limiter *limiter = argument;
    for (int burst = 0; burst < BURSTS; burst++) {
        for (int i = 0; i < JOBS_A_BURST; i++) {
            const struct job job = {.submitted_ns = verge_now()};
            if (verge_channel_send(limiter->jobs, &job, VERGE_NEVER) != 0) {
                return 1;
            }
        }
        if (verge_sleep(10 * SECOND) != 0) {
            return 1;
        }
    }
    return verge_channel_close(limiter->jobs);
}

static intptr_t work(void *argument) {
    struct limiter *limiter = argument;
    struct job job;
    verge_interval interval;
    if (verge_interval_init(&interval, verge_now(), PERIOD, VERGE_INTERVAL_DELAY) != 0) {
        return 1;
    }
    while (verge_channel_receive(limiter->jobs, &job, VERGE_NEVER) == 0) {
        verge_tick tick;
        if (verge_interval_wait(&interval, &tick, VERGE_NEVER) != 0) {
            return 1;
        }
        const uint64_t now_ns = verge_now();
        if (limiter->done > 0 && now_ns - limiter->last_ns < limiter->shortest_gap_ns) {
            limiter->shortest_gap_ns = now_ns - limiter->last_ns;
        }
        if (now_ns - job.submitted_ns > limiter->longest_delay_ns) {
            limiter->longest_delay_ns = now_ns - job.submitted_ns;
        }
        limiter->last_ns = now_ns;
        limiter->missed += tick.missed;
        limiter->done++;
    }
    return 0;
}

static intptr_t run(void *argument) {
    verge_task *submitter;
    intptr_t failed = 1;
    if (verge_spawn(submit_jobs, argument, &submitter) != 0) {
        return 1;
    }
    const intptr_t worker_failed = work(argument);
    return verge_task_join(submitter, &failed, VERGE_NEVER) != 0 || failed != 0 || worker_failed != 0;
}

int main(void) {
    struct limiter limiter = {.shortest_gap_ns = VERGE_NEVER};
    verge_manual_clock clock = {0};
    verge_runtime_options options;
    verge_runtime *runtime;
    intptr_t failed = 1;
    (void)verge_runtime_options_init(&options, sizeof(options));
    options.report_overflow = true; /* names the task if a stack overflows */
    options.worker_count = 1;
    options.virtual_clock = &clock;
    options.precision_ns = 1;
    if (verge_channel_create(sizeof(struct job), 1000, NULL, &limiter.jobs) != 0 ||
        verge_runtime_create(&options, &runtime) != 0) {
        return 1;
    }
    const int error = verge_runtime_run(runtime, run, &limiter, &failed);
    (void)verge_runtime_destroy(runtime);
    verge_channel_destroy(limiter.jobs);
    printf("%u jobs in %u s, at least %u ms apart, the last of a burst after %u ms\n", (unsigned)limiter.done,
           (unsigned)(clock.now_ns / SECOND), (unsigned)(limiter.shortest_gap_ns / MS),
           (unsigned)(limiter.longest_delay_ns / MS));
    return error != 0 || failed != 0 || limiter.done != JOBS || limiter.shortest_gap_ns < PERIOD ||
           clock.now_ns != 60 * SECOND;
}
