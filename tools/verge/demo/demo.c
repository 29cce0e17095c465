/* SPDX-License-Identifier: MIT */
#include "demo/demo.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "output/text.h"
#include "random.h"

#define MS UINT64_C(1000000)
#define HOUR (UINT64_C(3600000) * MS)
#define START_NS (UINT64_C(86400000) * MS) /* any time will do: say, a day after boot */

enum {
    POLL_LIMIT = 256,
    BYTES_A_TIMER_MAX = 48, /* G7, promised for a million timers and more */
};

static uint64_t clock_ns(void) {
    verge_clock clock = verge_clock_monotonic();
    return clock.now_ns(clock.context);
}

/* ---- preparing ---- */

/* 1 ms to 1 hour: as many below 10 ms as from 10 to 100 ms, from 0.1 to 1 s, and so on. */
static uint64_t random_duration_ns(uint64_t *state) {
    double unit = (double)(random_next(state) >> 11) * 0x1p-53;
    return (uint64_t)((double)MS * exp(unit * log((double)HOUR / (double)MS)));
}

static int make_room(struct demo *demo) {
    size_t n = demo->timers;
    demo->deadline_ns = calloc(n, sizeof(*demo->deadline_ns));
    demo->handle = calloc(n, sizeof(*demo->handle));
    demo->cancelled = calloc(n, sizeof(*demo->cancelled));
    demo->expired = calloc(n, sizeof(*demo->expired));
    demo->order = calloc(n, sizeof(*demo->order));
    demo->moved_ns = calloc(n, sizeof(*demo->moved_ns));
    demo->returned = calloc(n + POLL_LIMIT, sizeof(*demo->returned)); /* more than can come out */
    demo->returned_at_ns = calloc(n + POLL_LIMIT, sizeof(*demo->returned_at_ns));
    bool is_there = demo->deadline_ns != NULL && demo->handle != NULL && demo->cancelled != NULL &&
                    demo->expired != NULL && demo->order != NULL && demo->moved_ns != NULL && demo->returned != NULL &&
                    demo->returned_at_ns != NULL;
    return is_there ? 0 : -ENOMEM;
}

static void prepare(struct demo *demo, uint64_t seed) {
    size_t n = demo->timers;
    uint64_t state = seed;
    /* Written once, so that the operations below do not wait for pages. */
    memset(demo->returned, 0xff, (n + POLL_LIMIT) * sizeof(*demo->returned));
    memset(demo->returned_at_ns, 0xff, (n + POLL_LIMIT) * sizeof(*demo->returned_at_ns));
    memset(demo->handle, 0xff, n * sizeof(*demo->handle));
    for (size_t i = 0; i < n; i++) {
        size_t other = (size_t)random_below(&state, i + 1);
        demo->order[i] = demo->order[other];
        demo->order[other] = (uint32_t)i;
        demo->deadline_ns[i] = START_NS + random_duration_ns(&state);
        demo->moved_ns[i] = START_NS + random_duration_ns(&state);
    }
}

void demo_free(struct demo *demo) {
    free(demo->deadline_ns);
    free(demo->handle);
    free(demo->cancelled);
    free(demo->expired);
    free(demo->order);
    free(demo->moved_ns);
    free(demo->returned);
    free(demo->returned_at_ns);
}

/* ---- running ---- */

static void check_wheel(struct demo *demo, const verge_wheel *wheel) {
    const char *broken = verge_wheel_check(wheel);
    demo->broken = demo->broken != NULL ? demo->broken : broken;
}

static void check_calls(struct demo *demo, int errors) {
    if (errors != 0 && demo->broken == NULL) {
        demo->broken = "a schedule, reset or cancel failed that must not";
    }
}

static uint64_t wheel_bytes(const verge_wheel *wheel) {
    verge_wheel_stats stats = {.struct_size = sizeof(stats)};
    return verge_wheel_get_stats(wheel, &stats) == 0 ? stats.bytes : 0;
}

static void run_schedule(struct demo *demo, verge_wheel *wheel) {
    int errors = 0;
    uint64_t began_ns = clock_ns();
    for (size_t i = 0; i < demo->timers; i++) {
        void *data = &demo->deadline_ns[i];
        errors |= verge_wheel_schedule(wheel, demo->deadline_ns[i], data, &demo->handle[i]);
    }
    demo->schedule = (struct demo_rate){.count = demo->timers, .took_ns = clock_ns() - began_ns};
    demo->bytes_full = wheel_bytes(wheel);
    check_calls(demo, errors);
    check_wheel(demo, wheel);
}

static void run_reset(struct demo *demo, verge_wheel *wheel) {
    int errors = 0;
    uint64_t began_ns = clock_ns();
    for (size_t i = demo->reset_from; i < demo->reset_to; i++) {
        errors |= verge_wheel_reschedule(wheel, demo->handle[demo->order[i]], demo->moved_ns[i]);
    }
    demo->reset = (struct demo_rate){.count = demo->reset_to - demo->reset_from, .took_ns = clock_ns() - began_ns};
    for (size_t i = demo->reset_from; i < demo->reset_to; i++) {
        demo->deadline_ns[demo->order[i]] = demo->moved_ns[i];
    }
    check_calls(demo, errors);
    check_wheel(demo, wheel);
}

static void run_cancel(struct demo *demo, verge_wheel *wheel) {
    int errors = 0;
    uint64_t began_ns = clock_ns();
    for (size_t i = demo->cancel_from; i < demo->cancel_to; i++) {
        errors |= verge_wheel_cancel(wheel, demo->handle[demo->order[i]], NULL);
    }
    demo->cancel = (struct demo_rate){.count = demo->cancel_to - demo->cancel_from, .took_ns = clock_ns() - began_ns};
    for (size_t i = demo->cancel_from; i < demo->cancel_to; i++) {
        demo->cancelled[demo->order[i]]++;
    }
    check_calls(demo, errors);
    check_wheel(demo, wheel);
}

/* Sleeps, by setting the clock, until the wheel says; polls; writes down what came out, and when. */
static void run_expire(struct demo *demo, verge_wheel *wheel) {
    size_t count = 0;
    size_t wakeups = 0;
    /* A wheel in order wakes up once a tick, and once more for each batch that does not hold a tick. */
    size_t wakeups_max = demo->timers + (size_t)(2 * HOUR / verge_wheel_precision(wheel));
    uint64_t began_ns = clock_ns();
    while (count <= demo->timers && wakeups < wakeups_max) {
        uint64_t now_ns = verge_wheel_next_wakeup(wheel);
        if (now_ns == VERGE_NEVER) {
            break;
        }
        wakeups++;
        size_t polled = verge_wheel_poll(wheel, now_ns, demo->returned + count, POLL_LIMIT);
        for (size_t end = count + polled; count < end; count++) {
            demo->returned_at_ns[count] = now_ns;
        }
    }
    demo->expire = (struct demo_rate){.count = count, .took_ns = clock_ns() - began_ns};
    demo->returned_count = count;
    demo->wakeups = wakeups;
    demo->bytes_end = wheel_bytes(wheel);
    check_wheel(demo, wheel);
}

/* ---- the audit ---- */

struct findings {
    size_t strange; /* returned with data, deadline or handle that are no timer's */
    size_t not_once;
    size_t early;
    size_t late;
    size_t disordered;
    size_t alive; /* handles that do not say that they are gone */
};

static void audit_returned(struct demo *demo, const verge_wheel *wheel, struct findings *found) {
    uint64_t precision_ns = verge_wheel_precision(wheel);
    uint64_t last_tick_ns = 0;
    for (size_t i = 0; i < demo->returned_count; i++) {
        const verge_expiry *expiry = &demo->returned[i];
        uint64_t at_ns = demo->returned_at_ns[i];
        uint64_t tick_ns = verge_wheel_fires_at(wheel, expiry->deadline_ns);
        size_t timer = ((uintptr_t)expiry->data - (uintptr_t)demo->deadline_ns) / sizeof(uint64_t);
        if (timer >= demo->timers || expiry->data != &demo->deadline_ns[timer] ||
            expiry->deadline_ns != demo->deadline_ns[timer] || expiry->timer != demo->handle[timer]) {
            found->strange++;
            continue;
        }
        demo->expired[timer] |= demo->expired[timer] == 0 ? 1 : 2; /* 3: more than once */
        found->early += at_ns < expiry->deadline_ns;
        found->late += at_ns >= expiry->deadline_ns && at_ns - expiry->deadline_ns >= precision_ns;
        found->disordered += tick_ns < last_tick_ns;
        last_tick_ns = tick_ns;
    }
}

static void measure_lateness(struct demo *demo) {
    for (size_t i = 0; i < demo->returned_count; i++) {
        if (demo->returned_at_ns[i] >= demo->returned[i].deadline_ns) {
            verge_histogram_record(&demo->lateness, demo->returned_at_ns[i] - demo->returned[i].deadline_ns);
        }
    }
}

static void conclude(struct demo *demo, const verge_wheel *wheel, const struct findings *found) {
    struct audit *audit = &demo->audit;
    size_t pending = verge_wheel_count(wheel);
    audit_expect(audit, demo->timers == demo->returned_count + demo->cancel.count + pending,
                 "scheduled %s = expired %s + cancelled %s + pending %s", text_grouped(demo->timers),
                 text_grouped(demo->returned_count), text_grouped(demo->cancel.count), text_grouped(pending));
    audit_expect(audit, pending == 0, "none is pending any more");
    audit_expect(audit, found->not_once == 0, "each ended exactly once: expired or cancelled");
    audit_expect(audit, found->strange == 0, "each came with its own handle, data and last deadline");
    audit_expect(audit, found->early == 0, "none early");
    audit_expect(audit, found->late == 0, "none later than promised: %s", text_duration(demo->precision_ns));
    audit_expect(audit, found->disordered == 0, "ticks in ascending order");
    audit_expect(audit, found->alive == 0, "every handle says that its timer is gone");
    if (demo->timers >= DEMO_TIMERS_DEFAULT) {
        audit_expect(audit, demo->bytes_full <= (uint64_t)demo->timers * BYTES_A_TIMER_MAX, "at most %d bytes a timer",
                     BYTES_A_TIMER_MAX);
    }
    audit_expect(audit, demo->broken == NULL, "%s",
                 demo->broken == NULL ? "the wheel's own check, four times" : demo->broken);
}

static void run_audit(struct demo *demo, verge_wheel *wheel) {
    struct findings found = {0};
    audit_returned(demo, wheel, &found);
    for (size_t i = 0; i < demo->timers; i++) {
        found.not_once += demo->expired[i] + demo->cancelled[i] != 1;
        found.alive += verge_wheel_cancel(wheel, demo->handle[i], NULL) != -ENOENT;
    }
    conclude(demo, wheel, &found);
}

int demo_run(struct demo *demo, size_t timers, uint64_t seed, struct status *status) {
    verge_wheel_options options;
    verge_wheel *wheel = NULL;
    *demo = (struct demo){
        .timers = timers, .reset_to = timers / 5 * 2, .cancel_from = timers / 5, .cancel_to = timers / 5 * 3};
    (void)verge_wheel_options_init(&options);
    options.start_ns = START_NS;
    int error = make_room(demo);
    if (error == 0) {
        error = verge_wheel_create(&options, &wheel);
    }
    if (error != 0) {
        return error;
    }
    demo->precision_ns = verge_wheel_precision(wheel);
    prepare(demo, seed);
    status_show(status, "  scheduling");
    run_schedule(demo, wheel);
    status_show(status, "  resetting");
    run_reset(demo, wheel);
    status_show(status, "  cancelling");
    run_cancel(demo, wheel);
    status_show(status, "  expiring");
    run_expire(demo, wheel);
    measure_lateness(demo);
    run_audit(demo, wheel);
    status_end(status);
    verge_wheel_destroy(wheel);
    return 0;
}
