/* SPDX-License-Identifier: MIT */
#include "service/simulation/audit.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "service/simulation/scheduler.h"

/* With VERGE_TEST_TRACE, prints every event, to show what a seed does. */
static void trace(const struct audit *audit, const struct life *life, const char *event, uint64_t time_ns,
                  int verdict) {
    if (audit->is_traced) {
        (void)fprintf(stderr, "%4" PRIu64 " actor %d timer %td %s %" PRIu64 ".%03" PRIu64 " -> %d\n", audit->moment,
                      scheduler_actor(), life - audit->lives, event, time_ns >> 20, (time_ns & 0xfffff) * 1000 >> 20,
                      verdict);
    }
}

static void expect(struct audit *audit, bool holds, const char *complaint) {
    if (!holds && audit->complaint == NULL) {
        audit->complaint = complaint;
        if (audit->is_traced) {
            (void)fprintf(stderr, "%s\n", complaint);
        }
    }
}

static void call_begins(struct life *life) {
    life->calls_overlap = life->calls_overlap || life->calls_begun > 0;
    life->calls_begun++;
    life->is_owed = false;
}

/* Returns true if there was no other call at the same time. */
static bool call_returns(struct life *life) {
    bool alone = !life->calls_overlap;
    life->calls_begun--;
    life->calls_overlap = life->calls_overlap && life->calls_begun > 0;
    return alone;
}

void audit_begin(struct audit *audit) {
    memset(audit, 0, sizeof(*audit));
    audit->is_traced = getenv("VERGE_TEST_TRACE") != NULL;
}

struct life *audit_starting(struct audit *audit, uint64_t deadline_ns, bool is_periodic) {
    struct life *life = &audit->lives[audit->life_count++];
    life->is_periodic = is_periodic;
    life->settings[0] = (struct setting){.deadline_ns = deadline_ns, .begun = ++audit->moment};
    life->setting_count = 1;
    trace(audit, life, is_periodic ? "starting periodic" : "starting", deadline_ns, 0);
    return life;
}

void audit_started(struct audit *audit, struct life *life, int error) {
    life->settings[0].returned = ++audit->moment;
    life->has_started = error == 0;
    expect(audit, life->fired == 0 || life->handle == HANDLE_FREED, "a handle was stored after the timer had run");
    expect(audit, life->fired != 0 || (life->handle != 0) == (error == 0), "a handle is stored if start succeeds");
    life->timer = life->fired == 0 ? life->handle : life->timer; /* if it has run, its callback (on_timer) has set it */
    trace(audit, life, "started", 0, error);
    expect(audit, error == 0 || error == -ENOMEM || error == -ENOSPC, "start fails for memory or the cap only");
    expect(audit, error == 0 || life->fired == 0, "a timer that was refused ran");
}

unsigned audit_cancelling(struct audit *audit, struct life *life) {
    audit->moment++;
    call_begins(life);
    life->cancels_begun++;
    trace(audit, life, "cancelling", 0, 0);
    return life->fired;
}

void audit_cancelled(struct audit *audit, struct life *life, int verdict, bool waited, bool is_inside,
                     unsigned fired_before) {
    audit->moment++;
    /* If the timer was reset meanwhile, its callback may have returned and run again. */
    bool is_the_run_it_met = call_returns(life) || life->fired == fired_before;
    life->cancels_begun--;
    trace(audit, life, waited ? "cancelled, waited" : "cancelled", 0, verdict);
    switch (verdict) {
    case 0:
        expect(audit, !life->is_cancelled, "G10: a timer was cancelled twice");
        expect(audit, life->is_periodic || life->fired <= life->resets_of_running + life->setting_count,
               "G3: a timer ran too often");
        life->is_cancelled = true;
        break;
    case VERGE_RUNNING:
        expect(audit, !waited || is_inside || !life->is_in_callback || !is_the_run_it_met,
               "cancel_wait returned while the callback ran");
        life->cancels_of_running++;
        break;
    case -EDEADLK:
        expect(audit, waited, "only who waits can be in a circle");
        expect(audit, life->fired > 0 && life->last_run_that_waited == life->fired,
               "-EDEADLK was said because of a callback that waited for nobody");
        life->cancels_of_running++;
        break;
    case -ENOENT:
        expect(audit, life->is_cancelled || life->fired > 0 || life->cancels_begun > 0 || life->is_visited,
               "gone was said of a timer that had neither run nor been cancelled");
        break;
    default:
        expect(audit, false, "cancel gave no verdict");
    }
}

struct setting *audit_resetting(struct audit *audit, struct life *life, uint64_t deadline_ns) {
    if (life->setting_count == SETTINGS_MAX) {
        return NULL;
    }
    struct setting *setting = &life->settings[life->setting_count++];
    *setting = (struct setting){.deadline_ns = deadline_ns,
                                .begun = ++audit->moment,
                                .was_cancelled = life->is_cancelled,
                                .was_in_callback = life->is_in_callback,
                                .fired_before = life->fired};
    call_begins(life);
    trace(audit, life, "resetting", deadline_ns, 0);
    return setting;
}

void audit_reset(struct audit *audit, struct life *life, struct setting *setting, int verdict) {
    setting->returned = ++audit->moment;
    setting->verdict = verdict;
    trace(audit, life, "reset", setting->deadline_ns, verdict);
    /* The timer may have run already, at the deadline that was just set. */
    if (call_returns(life) && verdict >= 0 && life->last_scheduled_ns != setting->deadline_ns) {
        life->is_owed = true;
        life->owed_ns = setting->deadline_ns;
    }
    if (verdict == VERGE_RUNNING) {
        life->resets_of_running++;
    }
    expect(audit, verdict == 0 || verdict == VERGE_RUNNING || verdict == -ENOENT || verdict == -ESHUTDOWN,
           "reset gave no verdict");
    expect(audit, verdict != -ESHUTDOWN || life->is_shut, "reset was refused without a shutdown");
    expect(audit, !setting->was_cancelled || verdict == -ENOENT,
           "a reset of a timer that was cancelled is not refused");
    bool is_the_same_run = setting->was_in_callback && life->is_in_callback && life->fired == setting->fired_before;
    expect(audit, !is_the_same_run || verdict == VERGE_RUNNING || (verdict == -ESHUTDOWN && life->is_shut),
           "reset does not say that the callback runs");
}

/* Whether the deadline of this setting may not be used any more: a reset to another deadline returned 0, and began
 * after the call that made this setting had returned. */
static bool is_superseded(const struct life *life, const struct setting *setting) {
    for (size_t i = 1; i < life->setting_count; i++) {
        const struct setting *later = &life->settings[i];
        if (later->returned != 0 && later->verdict == 0 && setting->returned != 0 && later->begun > setting->returned &&
            later->deadline_ns != setting->deadline_ns) {
            return true;
        }
    }
    return false;
}

static bool is_allowed(const struct life *life, uint64_t scheduled_ns) {
    for (size_t i = 0; i < life->setting_count; i++) {
        const struct setting *setting = &life->settings[i];
        if (setting->deadline_ns == scheduled_ns && (setting->returned == 0 || setting->verdict >= 0) &&
            !is_superseded(life, setting)) {
            return true;
        }
    }
    return false;
}

void audit_fired(struct audit *audit, struct life *life, const verge_firing *firing, uint64_t clock_ns) {
    audit->moment++;
    trace(audit, life, "fired", firing->scheduled_ns, (int)verge_worker_id(firing->worker));
    expect(audit, firing->scheduled_ns <= firing->actual_ns && firing->actual_ns <= clock_ns, "G1: a timer ran early");
    expect(audit, !life->is_cancelled, "G10: a timer ran after it was cancelled");
    expect(audit, !life->is_visited, "G11: a timer ran after it was handed back");
    expect(audit, !life->is_in_callback, "G11: a timer runs twice at the same time");
    expect(audit, life->timer == 0 || life->timer == firing->timer, "G4: a timer ran under another handle");
    if (!life->is_periodic) {
        expect(audit, is_allowed(life, firing->scheduled_ns), "G10: a timer ran at a deadline that had been reset");
        expect(audit, life->fired <= life->setting_count - 1, "G3: a timer ran too often");
    }
    expect(audit, life->handle == (life->fired == 0 ? firing->timer : HANDLE_FREED),
           "a handle is stored before the timer runs, and once");
    life->handle = HANDLE_FREED;
    life->fired++;
    life->last_scheduled_ns = firing->scheduled_ns;
    life->is_owed = life->is_owed && firing->scheduled_ns != life->owed_ns;
    life->is_in_callback = true;
}

void audit_returned(struct life *life) {
    life->is_in_callback = false;
}

void audit_died(struct life *life) {
    life->is_in_callback = false;
    life->has_died = true;
}

void audit_visited(struct audit *audit, struct life *life) {
    expect(audit, !life->is_visited, "G11: a timer was handed back twice");
    expect(audit, !life->is_cancelled, "G11: a timer was handed back after it was cancelled");
    life->is_visited = true;
}

void audit_end(struct audit *audit) {
    for (size_t i = 0; i < audit->life_count; i++) {
        const struct life *life = &audit->lives[i];
        if (!life->has_started) {
            expect(audit, life->fired == 0 && !life->is_visited, "G3: a timer that was refused came out");
            continue;
        }
        bool may_be_over = life->is_cancelled || life->fired > 0;
        expect(audit, may_be_over || life->is_visited, "G11: a timer was lost");
        expect(audit, !life->is_owed || life->is_visited || life->is_cancelled || life->has_died,
               "G11: a timer that was reset was lost");
        expect(audit, life->fired > 0 || life->cancels_of_running + life->resets_of_running == 0,
               "running was said of a timer that never ran");
        expect(audit, life->cancels_begun == 0 && !life->is_in_callback, "something has not returned");
    }
}
