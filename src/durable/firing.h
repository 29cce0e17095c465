/* SPDX-License-Identifier: MIT */
/* durable/firing.h - one firing of a timer: its row, its handler, and what the handler's result means for the row. A
 * runner fires timers in batches. */
#ifndef VERGE_SRC_DURABLE_FIRING_H
#define VERGE_SRC_DURABLE_FIRING_H

#include "durable/durable_internal.h"

typedef enum verge__ending {
    ENDS_GONE = 0, /* vanished: the row is not there, or not ours */
    ENDS_EARLY,    /* the row is there, and not due yet */
    ENDS_DONE,
    ENDS_AGAIN, /* inserted again */
    ENDS_DEAD,
} verge__ending;

/* A target and what becomes of it. */
typedef struct verge__fired {
    verge__row row;
    void *memory; /* of the row's key and payload */
    uint32_t handler;
    bool is_there;
    bool has_run;
    verge__ending ending;
    uint64_t late_ns;
    uint64_t again_ns;
} verge__fired;

/* What a handler was told, and what it said. */
typedef struct verge__run {
    verge_durable_verdict verdict;
    uint32_t attempt;
    uint64_t now_ns;
    uint64_t next_tick_ns;
    uint64_t retry_after_ns;
} verge__run;

/* A row that take or claim has returned, for the runner. */
void verge__visit_fired(void *context, const verge__row *row);

/* When it fires: the time of the transaction. */
uint64_t verge__fired_at(const verge__runner *runner, const verge__fired *fired);

/* What is judged before the handler runs. NULL: it is to run; else why it is dead. */
const char *verge__verdict_before(const verge_durable_handler_options *options, const verge__fired *fired,
                                  uint32_t attempt, uint64_t now_ns);
void verge__run_handler(verge__runner *runner, const verge__handler *handler, verge__fired *fired,
                        verge__current *current, verge__run *run);

/* After the handler has run, and its row was deleted or completed: does what the verdict says, in the same
 * transaction. */
int verge__apply_verdict(verge__runner *runner, const verge__handler *handler, verge__fired *fired,
                         const verge__run *run);
int verge__bury(verge__runner *runner, verge__fired *fired, const char *reason);

/* All of it, in the transaction that took the row. */
int verge__fire_inside(verge__runner *runner, const verge__handler *handler, verge__fired *fired, bool is_counted);

/* A row to be inserted with the batch, or that a handler has inserted. */
int verge__keep_back(verge__runner *runner, const verge__row *row);

#endif
