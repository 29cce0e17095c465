/* SPDX-License-Identifier: MIT */
/* The wheel of a worker: filing timers and taking them out. Only for the thread that holds the worker's turn. */
#include <errno.h>
#include <string.h>

#include "service/service_internal.h"

/* ---- life ---- */

int verge__worker_init_wheel(verge_worker *worker, uint64_t now_ns) {
    verge__level_shape levels[VERGE__LEVELS_MAX];
    /* Tick 0 is past for every worker, so the first tick is at least 1. From there, the levels reach to the end of
     * time. */
    uint64_t first_tick = now_ns >> worker->shift;
    int error = verge__calendar_init(&worker->calendar,
                                     &(verge__calendar_setup){
                                         .levels = levels,
                                         .level_count = verge__calendar_default_levels(worker->shift, levels),
                                         .shift = worker->shift,
                                         .bias_ns = worker->part_mask,
                                         .first_tick = first_tick > 1 ? first_tick : 1,
                                         .allocator = &worker->service->allocator,
                                     });
    if (error != 0) {
        return error;
    }
    worker->late[0] = worker->late[1] = NULL;
    worker->late_list = 0;
    worker->wave_end = worker->calendar.cursor;
    return 0;
}

void verge__worker_deinit_wheel(verge_worker *worker) {
    verge__calendar_deinit(&worker->calendar);
}

/* ---- filing ---- */

/* `held` counts the timers in the wheel, and all free records of the worker, whether they are in the wheel or not. The
 * caller keeps `held` right: it adds 1 for a timer that was in no wheel. For a timer that has just been a free record,
 * the caller adds nothing. */
void verge__worker_file(verge_worker *worker, verge__timer *timer) {
    uint64_t tick = verge__worker_tick(worker, verge__timer_deadline(timer));
    if (verge__timer_is_filed(timer)) {
        verge__calendar_withdraw(&worker->calendar, &timer->node);
    }
    if (verge__worker_is_late(worker, tick)) {
        verge__calendar_file_in(&worker->calendar, &worker->late[worker->late_list], &timer->node);
    } else {
        verge__calendar_file(&worker->calendar, &timer->node, tick);
    }
}

/* ---- out of the wheel ---- */

/* A record that is in no wheel counts in `held` only if it is free. */
static verge__timer *taken_out(verge_worker *worker, verge__node *node) {
    verge__timer *timer = verge__timer_of(node);
    uint64_t word = atomic_load_explicit(&timer->word, memory_order_relaxed);
    verge__worker_count_timer(worker, verge__word_state(word) == VERGE__FREE ? 0 : -1);
    return timer;
}

verge__timer *verge__worker_pop_late(verge_worker *worker) {
    verge__node *node = worker->late[1 - worker->late_list];
    if (node == NULL) {
        return NULL;
    }
    VERGE__PREFETCH_WRITE(node->next);
    verge__calendar_withdraw(&worker->calendar, node);
    return taken_out(worker, node);
}

verge__timer *verge__worker_pop_due(verge_worker *worker) {
    return verge__calendar_has_due(&worker->calendar) ? taken_out(worker, verge__calendar_pop(&worker->calendar))
                                                      : NULL;
}
