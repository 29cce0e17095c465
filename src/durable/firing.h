/* SPDX-License-Identifier: MIT */
/* durable/firing.h - one firing of a timer: its row, its handler, and what the handler's verdict means for the row. A
 * firer fires timers in batches. */
#ifndef VERGE_SRC_DURABLE_FIRING_H
#define VERGE_SRC_DURABLE_FIRING_H

#include "durable/durable_internal.h"

typedef enum verge__ending {
    ENDS_GONE = 0, /* the row does not exist or was changed after its claim, or its shard belongs to another node */
    ENDS_EARLY,    /* the row exists, but is not due yet */
    ENDS_LOCKED,   /* another transaction has locked the row: one that cancels the timer, say */
    ENDS_DONE,
    ENDS_AGAIN, /* the row is inserted again, for a retry or the next tick */
    ENDS_DEAD,
} verge__ending;

/* A target, and what becomes of it. */
typedef struct verge__fired {
    verge__row row;
    void *memory; /* holds the row's payload, key and rule */
    uint32_t handler;
    bool is_there; /* the store has returned the row */
    bool has_run;
    uint32_t counted_attempt; /* copied from the hint (verge__hint), or set by count_attempt */
    verge__ending ending;
    const char *reason; /* with ENDS_DEAD: why the timer is given up */
    uint64_t late_ns;
    uint64_t again_ns;
} verge__fired;

/* What a handler was given, and what it returned. */
typedef struct verge__run {
    verge_durable_verdict verdict;
    uint32_t attempt;
    uint64_t now_ns;
    uint64_t next_tick_ns;
    bool has_no_zone; /* the next tick of its rule cannot be computed (no time zone, say): the handler was not called */
    uint64_t retry_after_ns;
} verge__run;

/* Copies a row that take or claim has returned. The context is the firer. */
void verge__visit_fired(void *context, const verge__row *row);

/* Returns when the timer fires: store time at the beginning of the transaction, or the due time if that is later. */
uint64_t verge__fired_at(const verge__firer *firer, const verge__fired *fired);

/* Returns why the timer is to be given up before its handler runs: too old, or too many attempts. Returns NULL if the
 * handler may run. */
const char *verge__verdict_before(const verge_durable_handler_options *options, const verge__fired *fired,
                                  uint32_t attempt, uint64_t now_ns);
void verge__run_handler(verge__firer *firer, const verge__handler *handler, verge__fired *fired,
                        verge__current *current, verge__run *run);

/* Does what the verdict says. Call it after the handler has run, in the transaction that has deleted the row. */
int verge__apply_verdict(verge__firer *firer, const verge__handler *handler, verge__fired *fired,
                         const verge__run *run);
int verge__make_dead(verge__firer *firer, verge__fired *fired, const char *reason);

/* Runs the handler and does what its verdict says, in the transaction that took the row. */
int verge__fire_inside(verge__firer *firer, const verge__handler *handler, verge__fired *fired);

/* ---- firer.c ---- */

/* Ends the firer's transaction: commits if error is 0, otherwise rolls back. If must_know is set and no answer comes,
 * finds out whether the transaction was committed. */
int verge__firer_end(verge__firer *firer, int error, bool must_know);
/* Naps and returns true. Returns false at once if until_ns has passed, or if the firer has no thread. */
bool verge__firer_may_try_again(verge__firer *firer, uint64_t until_ns);

/* ---- permits.c ---- */

/* Asks for a permit for the firer's batch, if the batch needs one. If the batch may not run now, next_allowed_ns of its
 * handler says when to try again. */
int verge__get_permit(verge__firer *firer, bool *ret_may_run);
void verge__end_permit(verge__firer *firer);

/* Adds a row to firer->back (firing.c): the batch will insert it, or a handler has inserted it already. */
int verge__keep_back(verge__firer *firer, const verge__row *row);

#endif
