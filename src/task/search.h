/* SPDX-License-Identifier: MIT */
#include "task/runner.h"
/*
 * task/search.h - an idle runner finds the tasks of a busy one, and no ready task waits while runners sleep.
 *
 * Of the idle runners, at most one searches: it looks into the rings of the others. The rest are parked: they sleep in
 * their reactors, each with its bit in `parked`. A runner that pushes a task for others calls a parked runner, unless
 * one searches already. To call a runner is to wake it and make it the one that searches.
 *
 * A runner that has run out of work                  a runner that has a task for others
 *   1 is_searching: false -> true; if it cannot, 4     1 push it into the ring
 *   2 look into all rings; take what is there          2 look at is_searching: if it is set, done
 *   3 having taken something: is_searching = false;    3 look at parked: if no bit is set, done
 *     look again: if there is more, go on as           4 is_searching: false -> true; if it cannot, done
 *     on the right, from 2                             5 take a bit out of parked, and wake that runner,
 *   4 set its bit in parked                              which searches then
 *   5 if it searches: is_searching = false             6 if no bit was left: is_searching = false, and from 2
 *   6 look into all rings again: if something is
 *     there, is_searching: false -> true; if it can,
 *     take its own bit out of parked, and 8
 *   7 sleep
 *   8 take its bit out of parked: if it is not there
 *     any more, it was called, and searches
 *
 * All of these steps are sequentially consistent. So:
 *   Q1  Assume that a runner has pushed a task, and sees no runner parked and none searching (2, 3 on the right). Then
 *       a runner that parks later sees the task (6 on the left): it sets its bit after the push, or else the pushing
 *       runner would have seen the bit.
 *   Q2  Assume that the pushing runner sees that another one searches. The searching runner looks into the rings again
 *       after it has stopped searching (in 3; in 6, after 5). If it finds something in 3, it calls a parked runner; in
 *       6, it searches again. If yet another runner searches by then, it does neither. A runner that gets other work
 *       while it searches, or retires, also ends its search with 3. So while a task waits in a ring, a runner searches,
 *       or none is parked.
 *   Q3  At most one runner searches: is_searching is set by a runner for itself, or by one for the runner that it calls
 *       (4, 5 on the right; in 6 on the left, a runner calls itself). It is cleared by the runner that searches, or by
 *       one that found nobody to call (6 on the right). Only one runner can take a given bit out of `parked`. So a
 *       runner is called once, and notices it.
 *   Q4  No runner repeats a step to wait for another thread. 6 on the right goes back only if a runner has parked
 *       since.
 *
 * "The rings" are all tasks that others may take from a runner: those in its ring, in its overflow, and in its inbox,
 * which it may be too busy to look into. A thread that posts such a task into the inbox of a runner that does not sleep
 * goes through the steps on the right. A runner that stops searching also looks into its own inbox, because a task that
 * was posted there while it searched was not offered to another runner.
 *
 * The cost of a search is bounded. If recent searches found many tasks, it looks up to 17 times, about a microsecond
 * apart; otherwise once. After a nap (see below), it looks once more. It leaves a queue of one or two tasks alone,
 * since their owner usually runs them soon. If it finds nothing, but the others are busy (their heads move) or have
 * tasks, the runner naps: it sleeps for 50 us to 1.6 ms. During the nap it is still the one that searches, so runners
 * that push tasks call nobody. After the nap it also takes from queues of one or two tasks, and from inboxes. If no
 * head has moved and the others have no tasks, it parks, and does nothing until it is called.
 */
#ifndef VERGE_SRC_TASK_SEARCH_H
#define VERGE_SRC_TASK_SEARCH_H

/* Does the steps on the right from 3 on, for verge__offer. */
void verge__offer_slowly(verge_runtime *runtime);

static inline bool verge__anyone_parked(const verge_runtime *runtime) {
    const uint32_t words = (atomic_load(&runtime->runner_count) + 63) / 64;
    for (uint32_t i = 0; i < words; i++) {
        if (atomic_load(&runtime->parked[i]) != 0) {
            return true;
        }
    }
    return false;
}

/* Does the steps on the right from 2 on. The calling thread has put a task into a ring, or leaves one there and runs
 * another. */
static inline void verge__offer(verge_runtime *runtime) {
    VERGE__STEP("search: offer");
    if (!atomic_load(&runtime->is_searching) && verge__anyone_parked(runtime)) {
        verge__offer_slowly(runtime);
    }
}

/* The left side up to step 3, for a runner that shares and has nothing to do. Returns how long the runner may wait in
 * its reactor. 0: it has something to do now. VERGE_NEVER: it is to park. */
uint64_t verge__search(verge__runner *runner);

/* Steps 4 to 6 on the left. False: the runner must not sleep. */
bool verge__park(verge__runner *runner);

/* Step 8 on the left. */
void verge__unpark(verge__runner *runner);

/* If the runner searches, does step 3 on the left. Also called when a runner that searches gets work of its own,
 * retires or ends. */
void verge__search_end(verge__runner *runner);

#endif
