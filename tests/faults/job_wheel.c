/* SPDX-License-Identifier: MIT */
/* A wheel on the default allocator: each timer that was started is cancelled or comes out once, and a start with
 * reserved memory cannot fail. */
#include "faults/job.h"
#include "verge/wheel.h"

enum { RESERVED = 3000, LOOSE = 2000, TIMER_COUNT = RESERVED + LOOSE };

static bool is_pending[TIMER_COUNT];

static void schedule(verge_wheel *wheel, size_t from, size_t to, bool is_reserved) {
    for (size_t i = from; i < to; i++) {
        verge_timer timer = 0;
        const uint64_t deadline_ns = (i * UINT64_C(7919) % 1000003) * MS + i * i * SECOND;
        const int error = verge_wheel_start(wheel, deadline_ns, &is_pending[i], &timer);
        JOB_CHECK(error == 0 || (!is_reserved && error == -ENOMEM && fault_was_injected()));
        is_pending[i] = error == 0;
        if (error == 0 && i % 5 == 0) {
            JOB_CHECK(verge_wheel_cancel(wheel, timer, NULL) == 0);
            is_pending[i] = false;
        }
    }
}

static void poll_all(verge_wheel *wheel) {
    uint64_t now_ns = 0;
    while (verge_wheel_count(wheel) > 0) {
        verge_expiry out[64];
        const size_t count = verge_wheel_poll(wheel, now_ns, out, 64);
        for (size_t i = 0; i < count; i++) {
            bool *pending = out[i].data;
            JOB_CHECK(*pending && out[i].deadline_ns <= now_ns);
            *pending = false;
        }
        const uint64_t next_ns = verge_wheel_next_wakeup(wheel);
        now_ns = next_ns > now_ns && next_ns != VERGE_NEVER ? next_ns : now_ns;
    }
}

void job_wheel(const struct fault_plan *plan) {
    verge_wheel *wheel = NULL;
    faults_begin(plan);
    if (JOB_DONE_OR(verge_wheel_create(NULL, &wheel), ENOMEM)) {
        const bool is_reserved = JOB_DONE_OR(verge_wheel_reserve(wheel, RESERVED, 0), ENOMEM);
        schedule(wheel, 0, RESERVED, is_reserved);
        schedule(wheel, RESERVED, TIMER_COUNT, false);
        poll_all(wheel);
        verge_wheel_compact(wheel);
        for (size_t i = 0; i < TIMER_COUNT; i++) {
            JOB_CHECK(!is_pending[i]);
        }
        verge_wheel_destroy(wheel);
    }
    faults_end();
}
