/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <inttypes.h>

#include "random.h"
#include "stress/stepped_internal.h"

#define MS UINT64_C(1000000)

struct subject *stepped_any_subject(struct stepped *stepped) {
    return &stepped->subjects[random_below(&stepped->random, SUBJECT_COUNT)];
}

static bool memory_may_fail(struct stepped *stepped) {
    return atomic_load(&stepped->memory.fail_every) != 0;
}

/* Returns a deadline up to a minute ahead, sometimes years ahead, sometimes in the past, never VERGE_NEVER. */
static uint64_t random_deadline(struct stepped *stepped) {
    uint64_t now_ns = stepped_now(stepped);
    uint64_t kind = random_below(&stepped->random, 16);
    uint64_t far_ns = random_next(&stepped->random) >> (1 + random_below(&stepped->random, 40));
    if (kind == 0) {
        return now_ns - (far_ns < now_ns ? far_ns : now_ns);
    }
    if (kind == 1) {
        return now_ns + (far_ns < VERGE_NEVER - 1 - now_ns ? far_ns : VERGE_NEVER - 1 - now_ns);
    }
    return now_ns + random_below(&stepped->random, MS << random_below(&stepped->random, 17));
}

static void expect_verdict(struct stepped *stepped, const char *call, const struct subject *subject, int verdict,
                           int expected) {
    stepped_note(stepped, (uint64_t)(int64_t)verdict);
    if (verdict != expected) {
        stepped_fail(stepped, "%s of timer %#" PRIx64 " says %d, not %d", call, subject->timer, verdict, expected);
    }
}

/* ---- callbacks ---- */

static void check_firing(struct stepped *stepped, const struct subject *subject, const verge_firing *firing) {
    if (subject->state != SUBJECT_PENDING) {
        stepped_fail(stepped, "a timer ran that is not pending: %#" PRIx64, firing->timer);
    } else if (subject->timer != firing->timer) {
        stepped_fail(stepped, "timer %#" PRIx64 " ran with the handle %#" PRIx64, subject->timer, firing->timer);
    } else if (firing->scheduled_ns < subject->earliest_ns || firing->scheduled_ns > subject->latest_ns) {
        stepped_fail(stepped, "timer %#" PRIx64 " ran for another deadline", subject->timer);
    } else if (firing->actual_ns < firing->scheduled_ns) {
        stepped_fail(stepped, "timer %#" PRIx64 " was early", subject->timer);
    }
}

static void leave_in_callback(struct stepped *stepped, verge_worker *worker) {
    for (size_t i = 0; i < stepped->worker_count; i++) {
        if (stepped->workers[i] == worker && verge_worker_leave(worker) == 0) {
            stepped->workers[i] = stepped->workers[--stepped->worker_count];
            stepped->result->left++;
            return;
        }
    }
}

static void act_in_callback(struct stepped *stepped, struct subject *self, verge_worker *worker) {
    for (uint64_t left = random_below(&stepped->random, 4); left > 0; left--) {
        switch (random_below(&stepped->random, 8)) {
        case 0:
        case 1:
            stepped_start(stepped);
            break;
        case 2:
        case 3:
            stepped_act_on(stepped, self);
            break;
        case 4:
            if (random_below(&stepped->random, 32 * stepped->churn_one_in) == 0) {
                leave_in_callback(stepped, worker);
            }
            break;
        default:
            stepped_act_on(stepped, stepped_any_subject(stepped));
        }
    }
}

static struct stepped *the_run; /* a callback's argument is the subject; there is only one run at a time */

static void run_callback(const verge_firing *firing) {
    struct stepped *stepped = the_run;
    struct subject *subject = firing->argument;
    check_firing(stepped, subject, firing);
    stepped_note(stepped, firing->timer ^ firing->actual_ns);
    stepped_note(stepped, verge_worker_id(firing->worker));
    stepped->result->fired++;
    subject->state = SUBJECT_RUNNING;
    subject->will_run_again = false;
    subject->was_cancelled = false;
    if (!stepped->is_quiet) {
        act_in_callback(stepped, subject, firing->worker);
    }
    subject->state = subject->will_run_again ? SUBJECT_PENDING : SUBJECT_FREE;
    stepped->result->ended += !subject->will_run_again;
}

/* ---- operations, from outside or in a callback ---- */

void stepped_start(struct stepped *stepped) {
    struct subject *subject = stepped_any_subject(stepped);
    if (subject->state != SUBJECT_FREE) {
        stepped_act_on(stepped, subject);
        return;
    }
    verge_start_options options = {.struct_size = sizeof(options)};
    options.callback = run_callback;
    options.argument = subject;
    options.deadline_ns = random_deadline(stepped);
    if (random_below(&stepped->random, 4) == 0) {
        options.window_ns = random_below(&stepped->random, 100 * MS);
    }
    if (random_below(&stepped->random, 4) == 0) {
        options.worker_id = (uint32_t)random_below(&stepped->random, WORKER_COUNT_MAX);
    }
    the_run = stepped;
    int error = verge_service_start_with(stepped->service, &options, &subject->timer);
    stepped_note(stepped, (uint64_t)(int64_t)error);
    if (error == 0) {
        uint64_t room_ns = VERGE_NEVER - 1 - options.deadline_ns;
        subject->state = SUBJECT_PENDING;
        subject->earliest_ns = options.deadline_ns;
        subject->latest_ns = options.deadline_ns + (options.window_ns < room_ns ? options.window_ns : room_ns);
        stepped->result->started++;
    } else if (error != -ENOMEM || !memory_may_fail(stepped)) {
        stepped_fail(stepped, "a start says %d", error);
    }
}

static void reset(struct stepped *stepped, struct subject *subject) {
    uint64_t deadline_ns = random_deadline(stepped);
    if (subject->state == SUBJECT_RUNNING && subject->was_cancelled) {
        return;
    }
    int verdict = verge_service_reset(stepped->service, subject->timer, deadline_ns);
    if (verdict == -ENOMEM && memory_may_fail(stepped)) {
        stepped_note(stepped, 0);
        return;
    }
    expect_verdict(stepped, "a reset", subject, verdict,
                   subject->state == SUBJECT_PENDING   ? 0
                   : subject->state == SUBJECT_RUNNING ? VERGE_RUNNING
                                                       : -ENOENT);
    if (subject->state == SUBJECT_FREE) {
        return;
    }
    stepped->result->reset++;
    subject->earliest_ns = deadline_ns;
    subject->latest_ns = deadline_ns;
    subject->will_run_again = true; /* counts only in the state SUBJECT_RUNNING */
}

static void cancel(struct stepped *stepped, struct subject *subject) {
    static int (*const calls[])(verge_service *, verge_timer) = {verge_service_cancel, verge_service_cancel_wait,
                                                                 verge_service_shutdown};
    uint64_t call = subject->state == SUBJECT_RUNNING ? 0 : random_below(&stepped->random, 3);
    if (subject->state == SUBJECT_RUNNING && subject->was_cancelled) {
        return;
    }
    int verdict = calls[call](stepped->service, subject->timer);
    expect_verdict(stepped, "a cancel", subject, verdict,
                   subject->state == SUBJECT_PENDING   ? 0
                   : subject->state == SUBJECT_RUNNING ? VERGE_RUNNING
                                                       : -ENOENT);
    if (subject->state == SUBJECT_PENDING) {
        subject->state = SUBJECT_FREE;
        stepped->result->cancelled++;
    }
    subject->will_run_again = false;
    subject->was_cancelled = true;
}

static void query(struct stepped *stepped, struct subject *subject) {
    verge_timer_info info;
    int verdict = verge_service_get(stepped->service, subject->timer, &info);
    expect_verdict(stepped, "a query", subject, verdict, subject->state == SUBJECT_FREE ? -ENOENT : 0);
    if (subject->state == SUBJECT_PENDING && verdict == 0 &&
        (info.argument != subject || info.deadline_ns < subject->earliest_ns || info.deadline_ns > subject->latest_ns ||
         info.is_running)) {
        stepped_fail(stepped, "a query of timer %#" PRIx64 " tells something else", subject->timer);
    }
}

void stepped_act_on(struct stepped *stepped, struct subject *subject) {
    if (subject->timer == 0) { /* never used yet */
        return;
    }
    uint64_t choice = random_below(&stepped->random, 16);
    if (choice < stepped->cancels_in_16) {
        cancel(stepped, subject);
    } else if (choice == 15) {
        query(stepped, subject);
    } else {
        reset(stepped, subject);
    }
}

void stepped_visit_pending(void *context, const verge_pending *pending) {
    struct stepped *stepped = context;
    struct subject *subject = pending->argument;
    if (subject->state != SUBJECT_PENDING || subject->timer != pending->timer ||
        pending->deadline_ns < subject->earliest_ns || pending->deadline_ns > subject->latest_ns) {
        stepped_fail(stepped, "a timer was handed back that is not pending: %#" PRIx64, pending->timer);
    }
    subject->state = SUBJECT_FREE;
    stepped->result->handed_back++;
}
