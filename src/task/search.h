/* SPDX-License-Identifier: MIT */
/*
 * task/search.h - an idle runner finds the tasks of a busy one, and no ready task stays while runners sleep.
 *
 * Of the runners that have nothing to do, at most one searches: it looks into the rings of the others. The rest are
 * parked: they sleep in their reactors, each with its bit in `parked`. Who has more tasks than it can run calls one of
 * them, unless somebody searches already.
 *
 * A runner that has run out of work                  a runner that has a task for others
 *   1 is_searching: false -> true; if it cannot, 4     1 push it into the ring
 *   2 look into all rings; take what is there          2 look at is_searching: if it is set, done
 *   3 having taken something: is_searching = false;    3 look at parked: if nobody is, done
 *     look again: if there is more, go on as           4 is_searching: false -> true; if it cannot, done
 *     on the right, from 2                             5 take a bit out of parked; who does that wakes that
 *   4 set its bit in parked                              runner, which searches then
 *   5 if it searches: is_searching = false             6 if there was none: is_searching = false, and from 2
 *   6 look into all rings again: if something is
 *     there and is_searching is not set, stay awake
 *   7 sleep
 *   8 take its bit out of parked: if it is not there
 *     any more, it was called, and searches
 *
 * All of these are sequentially consistent, so that:
 *   Q1  If a task was pushed and its owner sees nobody parked and nobody searching (2, 3 on the right), whoever parks
 *       later sees the task (6 on the left): its bit comes after the push, or the owner would have seen it.
 *   Q2  If the owner sees somebody searching, that one looks into the rings after it has stopped (3, and 5 before 6),
 *       or somebody else has become the one who searches by then. So a task that stays has somebody who searches, or
 *       nobody is parked.
 *   Q3  is_searching is set by one runner, or by one that calls it (4, 5 on the right), and cleared by the same one:
 *       there is at most one. A bit is taken out by one: a runner is called once, and knows it.
 *   Q4  Nobody repeats a step because of what another thread has not done yet. 6 on the right goes back only if a
 *       runner has parked since.
 *
 * "The rings" are all that others may take of a runner: its ring, its overflow, and its inbox, which it may be too busy
 * to look into. Who posts into the inbox of a runner that does not sleep does what is on the right. A runner that stops
 * searching looks into its own inbox, too: what was posted there while it searched was not offered to anybody else.
 *
 * What a search costs is bounded. It looks up to 16 times, about a microsecond apart, if searches have found something
 * lately, and once otherwise. Where there are but a few tasks, it leaves them alone: their owner is about to run them,
 * as a rule. Then, if the others are busy (their heads move) or have something, the runner naps: it sleeps for 50 us to
 * 1.6 ms, still being the one who searches, so that nobody calls it in vain, and then takes also few. If nothing has
 * moved, it parks, and does nothing until it is called.
 */
#ifndef VERGE_SRC_TASK_SEARCH_H
#define VERGE_SRC_TASK_SEARCH_H

#include "task/task_internal.h"

/* The calling thread has made a task of a ring ready, or leaves one there and runs another: the right side, from 2. */
void verge__offer_slowly(verge_runtime *runtime);

static inline bool verge__anyone_parked(const verge_runtime *runtime) {
    const uint32_t words = (atomic_load_explicit(&runtime->runner_count, memory_order_relaxed) + 63) / 64;
    for (uint32_t i = 0; i < words; i++) {
        if (atomic_load(&runtime->parked[i]) != 0) {
            return true;
        }
    }
    return false;
}

static inline void verge__offer(verge_runtime *runtime) {
    VERGE__STEP("search: offer");
    if (!atomic_load(&runtime->is_searching) && verge__anyone_parked(runtime)) {
        verge__offer_slowly(runtime);
    }
}

/* The left side, for a runner that shares and has nothing to do. How long it may wait in its reactor; 0: it has
 * something to do now; VERGE_NEVER: it is to park. */
uint64_t verge__search(verge__runner *runner);

/* 4 and 5. False: it must not sleep (6). */
bool verge__park(verge__runner *runner);

/* 8. */
void verge__unpark(verge__runner *runner);

/* 3, and for a runner that has work of its own. */
void verge__search_end(verge__runner *runner);

#endif
