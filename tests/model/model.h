/* SPDX-License-Identifier: MIT */
/*
 * model/model.h - does what a wheel has to do in the simplest way: by an unsorted array that is searched.
 *
 * The model follows only verge/wheel.h. If the header leaves a choice, the model accepts each of the choices:
 *
 *   - a coarse wheel may return a timer at any tick from the timer's own to the next start of a slot. The level of that
 *     slot is the one that the timer's distance from now needed when it was last started or reset;
 *   - a timer started for a tick that has come already ("past") comes before all that become due later. Its order among
 *     timers that were due already is open. Two past timers have an order only if they are of one tick and neither was
 *     started during a backlog;
 *   - poll_exact looks at the current tick only if earlier ticks left room in the result;
 *   - in a wheel with a work limit, and after a poll that reached its limit, has_backlog may be true although nothing
 *     is left. Otherwise it is exact.
 */
#ifndef VERGE_TESTS_MODEL_MODEL_H
#define VERGE_TESTS_MODEL_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "verge/wheel_more.h"

struct model_timer {
    verge_timer handle; /* 0: a timeout, which is found by its data */
    uint64_t deadline_ns;
    uint64_t fires_ns;        /* the tick at which it comes out of an exact wheel */
    uint64_t fires_latest_ns; /* the latest tick at which a coarse wheel may return it */
    uint64_t scheduled_ns;    /* now when it was last started or reset */
    uint64_t sequence;        /* the number of the call that last started or reset it */
    void *data;
    bool past;    /* when it was last started or reset, its tick had already come */
    bool backlog; /* when it was last started or reset, the wheel had a backlog */
    /* It was started in a wheel that had no timer yet, or that a poll had emptied. Since then, no timer was cancelled
     * or reset, and no other one was started. */
    bool alone;
};

/* Every handle that a wheel ever returned. */
struct model_handles {
    verge_timer *items;
    size_t count;
    size_t capacity;
    verge_timer *set; /* open addressing; 0 is no handle */
    size_t set_size;
};

struct model {
    verge_wheel_options options; /* with the levels written out */
    uint64_t precision_ns;
    uint64_t now_ns;
    uint64_t sequence;
    struct model_timer *timers;
    size_t count;
    size_t capacity;
    struct model_handles issued;
    uint64_t scheduled;
    uint64_t moved; /* number of resets */
    uint64_t cancelled;
    uint64_t disturbed; /* what moved + cancelled was when a poll last emptied the wheel */
    uint64_t expired;
    size_t timeouts;         /* how many of the timers are timeouts */
    size_t reserved_handles; /* for so many pending timers with handles, starts may allocate nothing */
};

enum model_poll {
    MODEL_POLL,
    MODEL_POLL_EXACT,
    MODEL_POLL_TO_NEXT,
};

void model_init(struct model *model, const verge_wheel_options *options);
void model_free(struct model *model);

/* ---- handles ---- */

bool model_handle_issued(const struct model *model, verge_timer handle);
void model_handle_add(struct model *model, verge_timer handle);
struct model_timer *model_find(struct model *model, verge_timer handle); /* finds no timeouts */
struct model_timer *model_find_timeout(struct model *model, const void *data);

/* ---- timers ---- */

/* Returns what start must return for this deadline, apart from -ENOMEM and -ENOSPC. largest_ns: the wheel's largest
 * deadline. */
int model_judge(const struct model *model, uint64_t deadline_ns, uint64_t largest_ns);

/* Returns the first deadline that start does not refuse as past. */
uint64_t model_first_legal(const struct model *model);

/* Add a timer that the wheel has started. `backlog`: whether the wheel had a backlog before that. */
struct model_timer *model_add(struct model *model, verge_timer handle, uint64_t deadline_ns, void *data, bool backlog);
struct model_timer *model_add_timeout(struct model *model, void *data, uint64_t deadline_ns, bool backlog);
void model_move(struct model *model, struct model_timer *timer, uint64_t deadline_ns, bool backlog);
void model_remove(struct model *model, struct model_timer *timer);

/* Returns how many pending timers have handles. */
size_t model_handles_pending(const struct model *model);

/* ---- time ---- */

uint64_t model_fires_at(const struct model *model, uint64_t deadline_ns);
uint64_t model_resolution(const struct model *model, size_t level);
uint64_t model_coverage(const struct model *model, size_t level);
uint64_t model_roundest(uint64_t earliest_ns, uint64_t latest_ns);

uint64_t model_earliest_deadline(const struct model *model);

/* Returns the time by which a poll must return something if nothing else happens. VERGE_NEVER: nothing is pending, or
 * only timers that never come out. */
uint64_t model_next_expiry(const struct model *model);

/* Whether a timer must come out of a poll at the model's now that leaves no backlog. `room`: the result had room left,
 * so that an exact poll also had to look at the current tick. */
bool model_is_due(const struct model *model, const struct model_timer *timer, enum model_poll kind, bool room);

/* Whether a timer may come out of a poll at the model's now. */
bool model_may_fire(const struct model *model, const struct model_timer *timer, enum model_poll kind);

/* Whether `first` must come out before `second`, if both may come out. */
bool model_is_before(const struct model *model, const struct model_timer *first, const struct model_timer *second);

#endif
