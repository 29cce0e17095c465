/* SPDX-License-Identifier: MIT */
/*
 * simulation/audit.h - notes what happens to every timer, independently of the service, and checks what must never
 * happen.
 *
 * A result counts from the moment at which it was returned: after cancel has returned 0, no callback may begin; after
 * reset has returned 0, no callback may begin for a deadline that was set before the reset.
 */
#ifndef VERGE_TESTS_SERVICE_SIMULATION_AUDIT_H
#define VERGE_TESTS_SERVICE_SIMULATION_AUDIT_H

#include <stdbool.h>
#include <stddef.h>

#include "verge/service.h"

enum {
    TIMERS_MAX = 768,
    SETTINGS_MAX = 24,
};

/* A deadline, set by start or by reset. */
struct setting {
    uint64_t deadline_ns;
    uint64_t begun;    /* when the call began, as a moment of the audit */
    uint64_t returned; /* when it returned; 0: not yet */
    int verdict;
    bool was_cancelled;   /* when the call began: a cancel had returned 0 */
    bool was_in_callback; /* when the call began */
    unsigned fired_before;
};

/* Stands for a handle whose memory was freed by the callback. */
#define HANDLE_FREED UINT64_C(0xfeedfeedfeedfeed)

struct life {
    verge_timer timer;  /* 0: start has not returned, and no callback has begun */
    verge_timer handle; /* start stores the handle here; from the first callback on, it is HANDLE_FREED */
    bool is_periodic;
    bool has_started;
    bool is_cancelled; /* a cancel has returned 0 */
    bool is_shut;
    bool is_visited;
    bool is_in_callback;
    bool has_died;
    unsigned cancels_begun; /* cancels that have not returned */
    unsigned calls_begun;   /* cancels and resets that have not returned */
    bool calls_overlap;     /* two calls were under way at a time, and there was no moment without a call since */
    bool is_owed;           /* a reset succeeded while there was no other call: the timer must run at owed_ns */
    uint64_t owed_ns;
    uint64_t last_scheduled_ns; /* scheduled_ns of the last callback */
    unsigned cancels_of_running;
    unsigned fired;
    unsigned last_run_that_waited; /* the value of `fired` in the last callback that called cancel_wait */
    unsigned resets_of_running;
    struct setting settings[SETTINGS_MAX];
    size_t setting_count;
};

struct audit {
    struct life lives[TIMERS_MAX];
    size_t life_count;
    uint64_t moment;       /* grows with every event */
    const char *complaint; /* the first mistake that was found */
    bool is_traced;
};

void audit_begin(struct audit *audit);

struct life *audit_starting(struct audit *audit, uint64_t deadline_ns, bool is_periodic);
void audit_started(struct audit *audit, struct life *life, int error);

/* Notes that a cancel begins. Returns how often the timer has run, for audit_cancelled. */
unsigned audit_cancelling(struct audit *audit, struct life *life);
void audit_cancelled(struct audit *audit, struct life *life, int verdict, bool waited, bool is_inside,
                     unsigned fired_before);

/* Notes that a reset begins. NULL: there is no room to note more resets of this timer, so do not reset it. */
struct setting *audit_resetting(struct audit *audit, struct life *life, uint64_t deadline_ns);
void audit_reset(struct audit *audit, struct life *life, struct setting *setting, int verdict);

void audit_fired(struct audit *audit, struct life *life, const verge_firing *firing, uint64_t clock_ns);
void audit_returned(struct life *life);

/* Notes that the thread died in the timer's callback. The timer has ended then, even if a reset has said that it runs
 * again. */
void audit_died(struct life *life);
void audit_visited(struct audit *audit, struct life *life);

/* Checks at the end that every timer has ended, and that every call has returned. */
void audit_end(struct audit *audit);

#endif
