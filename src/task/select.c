/* SPDX-License-Identifier: MIT */
/*
 * select: one task has a waiter in each of several lists. The first waiter that is granted something wins (waiters.h,
 * V1, V2).
 *
 *   1  Look at all cases in random order. The first that need not wait is chosen.
 *   2  If there is none: begin to wait, join all lists, and wait. If a case need not wait any more when its list is
 *      joined, it is chosen at once.
 *   3  If nothing was chosen, close the choice. Leave all lists.
 *
 * Cases for times have no list: the earliest time is the deadline of the wait. Cases for descriptors are poll
 * operations of the reactor: with such cases, the task waits in the state IN_IO, and waking it cancels the operations.
 * A poll takes no data, so nothing is lost if a descriptor becomes ready at the same moment as another case.
 */
#include <errno.h>
#include <limits.h>

#include "base/assert.h"
#include "base/step.h"
#include "reactor/attempt.h"
#include "task/broadcast.h"
#include "task/channel.h"
#include "verge/sync.h"

/* In verge_case.state. */
typedef struct verge__case_state {
    verge__waiter waiter;
    uint32_t order; /* in state number i: the index of the case that is looked at as the i-th */
} verge__case_state;

_Static_assert(sizeof(verge__case_state) <= sizeof(((verge_case *)NULL)->state), "a case has room for its state");

typedef struct verge__selection {
    verge_task *self;
    verge_case *cases;
    uint32_t count;
    uint32_t joined_count; /* lists that were joined, in the random order */
    verge__choice choice;
    verge_mutex *mutex; /* of the conditions; NULL: there are none */
    bool gave_mutex_up;
    uint32_t descriptor_count;
    verge_case *polled; /* the case whose descriptor is ready; NULL: none */
} verge__selection;

static verge__case_state *state_of(verge_case *one) {
    return (verge__case_state *)(void *)one->state;
}

static verge_case *case_at(const verge__selection *selection, uint32_t rank) {
    return &selection->cases[state_of(&selection->cases[rank])->order];
}

/* ---- arguments ---- */

static int check_condition(verge__selection *selection, const verge_case *one) {
    if (one->item == NULL || (selection->mutex != NULL && selection->mutex != one->item)) {
        return -EINVAL;
    }
    selection->mutex = one->item;
    return verge__mutex_is_owner(selection->mutex, selection->self) ? 0 : -EPERM;
}

static int check(verge__selection *selection, const verge_case *one) {
    switch (one->kind) {
    case VERGE_CASE_NONE:
        return 0;
    case VERGE_CASE_RECEIVE:
    case VERGE_CASE_SEND:
        return verge__channel_is_wrong(one->object, one->item) ? -EINVAL : 0;
    case VERGE_CASE_NEXT:
    case VERGE_CASE_LATEST:
        return verge__broadcast_is_wrong(one->object, one->position, one->item) ? -EINVAL : 0;
    case VERGE_CASE_JOIN:
    case VERGE_CASE_TICK:
        return one->object == NULL ? -EINVAL : 0;
    case VERGE_CASE_TIME:
        return verge__refuses(selection->self, one->time_ns) ? -EINVAL : 0;
    case VERGE_CASE_POLL:
        return ++selection->descriptor_count > VERGE_SELECT_DESCRIPTORS_MAX ? -EINVAL : 0;
    case VERGE_CASE_CONDITION:
        return one->object == NULL ? -EINVAL : check_condition(selection, one);
    default:
        return -EINVAL;
    }
}

static int check_all(verge__selection *selection) {
    int error = 0;
    for (uint32_t i = 0; i < selection->count && error == 0; i++) {
        error = check(selection, &selection->cases[i]);
    }
    return error;
}

/* ---- one case ---- */

static uint32_t *guard_of(const verge_case *one) {
    switch (one->kind) {
    case VERGE_CASE_RECEIVE:
    case VERGE_CASE_SEND:
        return &((verge_channel *)one->object)->guard;
    case VERGE_CASE_NEXT:
    case VERGE_CASE_LATEST:
        return &((verge_broadcast *)one->object)->guard;
    case VERGE_CASE_JOIN:
        return &((verge_task *)one->object)->guard;
    case VERGE_CASE_CONDITION:
        return &((verge_condition *)one->object)->guard;
    default:
        return NULL;
    }
}

/* NULL for a join: a task has at most one joiner, which is no list. */
static void **list_of(const verge_case *one) {
    switch (one->kind) {
    case VERGE_CASE_RECEIVE:
        return ((verge_channel *)one->object)->receivers;
    case VERGE_CASE_SEND:
        return ((verge_channel *)one->object)->senders;
    case VERGE_CASE_NEXT:
    case VERGE_CASE_LATEST:
        return ((verge_broadcast *)one->object)->waiting;
    case VERGE_CASE_CONDITION:
        return ((verge_condition *)one->object)->waiting;
    default:
        return NULL;
    }
}

/* With the guard held. */
static bool must_wait(const verge__selection *selection, const verge_case *one) {
    switch (one->kind) {
    case VERGE_CASE_RECEIVE:
        return verge__channel_is_empty(one->object);
    case VERGE_CASE_SEND:
        return verge__channel_is_full(one->object);
    case VERGE_CASE_NEXT:
    case VERGE_CASE_LATEST:
        return verge__broadcast_is_seen(one->object, one->position);
    case VERGE_CASE_JOIN:
        return verge__join_state(selection->self, one->object) == -EAGAIN;
    default:
        return true;
    }
}

/* Makes the call of a case that need not wait, with the guard held. take_ended follows without the guard. */
static int make_call(const verge__selection *selection, const verge_case *one, verge_task **ret_woken) {
    switch (one->kind) {
    case VERGE_CASE_RECEIVE:
        return verge__channel_get(one->object, one->item, ret_woken);
    case VERGE_CASE_SEND:
        return verge__channel_put(one->object, one->item, ret_woken);
    case VERGE_CASE_NEXT:
        return verge__broadcast_get(one->object, one->position, one->item, VERGE__READ_NEXT);
    case VERGE_CASE_LATEST:
        return verge__broadcast_get(one->object, one->position, one->item, VERGE__READ_LATEST);
    default:
        return verge__join_state(selection->self, one->object);
    }
}

static int take_ended(const verge_case *one, int result) {
    return one->kind == VERGE_CASE_JOIN && result == 0 ? verge__take_result(one->object, one->item) : result;
}

static verge__operation poll_of(const verge_case *one) {
    return (verge__operation){.kind = VERGE__POLL, .fd = one->fd, .flags = (unsigned short)one->events};
}

static uint64_t time_of(const verge_case *one) {
    return one->kind == VERGE_CASE_TIME   ? one->time_ns
           : one->kind == VERGE_CASE_TICK ? verge_interval_deadline(one->object)
                                          : VERGE_NEVER;
}

/* Whether the time of this case, if it has one, has come by now_ns; then its result is set. */
static bool take_time(verge_case *one, uint64_t now_ns) {
    if (one->kind == VERGE_CASE_TICK) {
        const int taken = verge_interval_next(one->object, now_ns, one->item);
        one->result = taken > 0 ? 0 : taken < 0 ? taken : -ERANGE;
        return taken != 0 || verge_interval_deadline(one->object) == VERGE_NEVER;
    }
    one->result = 0;
    return one->kind == VERGE_CASE_TIME && one->time_ns <= now_ns;
}

/* ---- 1: what need not wait ---- */

/* Sets a random order; all orders are equally likely. */
static void shuffle(verge__selection *selection) {
    verge__runner *runner = verge__current_runner();
    for (uint32_t i = 0; i < selection->count; i++) {
        runner->random = runner->random * 1664525 + 1013904223;
        const uint32_t other = (uint32_t)(((uint64_t)runner->random * (i + 1)) >> 32);
        state_of(&selection->cases[i])->order = state_of(&selection->cases[other])->order;
        state_of(&selection->cases[other])->order = i;
    }
}

static bool happens_at_once(const verge__selection *selection, verge_case *one, uint64_t now_ns) {
    uint32_t *guard = guard_of(one);
    if (one->kind == VERGE_CASE_POLL) {
        verge__operation operation = poll_of(one);
        one->result = -EBADF;
        return one->fd < 0 || verge__attempt(&operation, VERGE__NOT_KNOWN, &one->result);
    }
    if (guard == NULL) {
        return take_time(one, now_ns);
    }
    verge_task *woken = NULL;
    verge__lock(guard);
    const bool happens = !must_wait(selection, one);
    const int result = happens ? make_call(selection, one, &woken) : 0;
    verge__unlock(guard);
    verge__deliver_granted(woken);
    if (happens) {
        one->result = take_ended(one, result);
    }
    return happens;
}

static int index_of(const verge__selection *selection, const verge_case *one) {
    return (int)(one - selection->cases);
}

static int find_at_once(verge__selection *selection) {
    const uint64_t now_ns = verge__clock_now(&selection->self->runtime->clock);
    for (uint32_t rank = 0; rank < selection->count; rank++) {
        verge_case *one = case_at(selection, rank);
        if (happens_at_once(selection, one, now_ns)) {
            return index_of(selection, one);
        }
    }
    return -EAGAIN;
}

/* ---- 2: waiting ---- */

static void join_list(const verge_case *one, verge__waiter *waiter) {
    if (one->kind == VERGE_CASE_JOIN) {
        ((verge_task *)one->object)->joiner = waiter;
    } else {
        verge__waiters_append(list_of(one), waiter);
    }
}

/* False: a case was chosen, so there is no need to wait. */
static bool join(verge__selection *selection, verge_case *one) {
    uint32_t *guard = guard_of(one);
    if (guard == NULL) {
        return true;
    }
    verge__waiter *waiter = &state_of(one)->waiter;
    verge_task *woken = NULL;
    VERGE__STEP("select: join");
    *waiter = (verge__waiter){
        .task = selection->self, .choice = &selection->choice, .item = one->item, .position = one->position};
    verge__lock(guard);
    const bool waits = must_wait(selection, one);
    if (waits) {
        join_list(one, waiter);
    } else if (verge__choose(waiter)) {
        one->result = make_call(selection, one, &woken);
    }
    verge__unlock(guard);
    verge__deliver_granted(woken);
    return waits;
}

static bool join_all(verge__selection *selection) {
    bool waits = true;
    while (waits && selection->joined_count < selection->count) {
        waits = join(selection, case_at(selection, selection->joined_count++));
    }
    return waits;
}

/* The waiters are in the lists of the conditions by now, so the next holder of the mutex finds them. */
static void give_mutex_up(verge__selection *selection) {
    VERGE__STEP("select: joined");
    if (selection->mutex != NULL) {
        (void)verge_mutex_unlock(selection->mutex);
        selection->gave_mutex_up = true;
    }
}

static int wait_for_lists(verge__selection *selection, uint64_t deadline_ns) {
    verge__wait_begin(selection->self);
    if (!join_all(selection)) {
        verge__wait_end(selection->self);
        return 0;
    }
    give_mutex_up(selection);
    verge__awaits(selection->self, VERGE__AWAITS_SELECT, 0);
    return verge__wait(selection->self, deadline_ns, VERGE__WAIT);
}

static int wait_in_io(verge__selection *selection, verge__operation *operations, uint64_t deadline_ns) {
    if (!verge__io_begin(selection->self, operations, selection->descriptor_count) || !join_all(selection)) {
        verge__io_end(selection->self);
        return 0;
    }
    give_mutex_up(selection);
    verge__awaits(selection->self, VERGE__AWAITS_SELECT, 0);
    return verge__io_wait(selection->self, verge__effective_deadline(selection->self, deadline_ns));
}

/* Not inlined: operations are large, and need stack only in this case. */
static VERGE__NOINLINE int wait_for_descriptors(verge__selection *selection, uint64_t deadline_ns) {
    verge__operation operations[VERGE_SELECT_DESCRIPTORS_MAX];
    verge_case *cases[VERGE_SELECT_DESCRIPTORS_MAX];
    uint32_t count = 0;
    for (uint32_t rank = 0; rank < selection->count; rank++) {
        verge_case *one = case_at(selection, rank);
        if (one->kind == VERGE_CASE_POLL) {
            cases[count] = one;
            operations[count++] = poll_of(one);
        }
    }
    const int reason = wait_in_io(selection, operations, deadline_ns);
    for (uint32_t i = 0; i < count && selection->polled == NULL; i++) {
        if (operations[i].state == VERGE__DONE && operations[i].result != -ECANCELED) {
            cases[i]->result = operations[i].result;
            selection->polled = cases[i];
        }
    }
    return reason;
}

static uint64_t earliest_time(const verge__selection *selection) {
    uint64_t earliest_ns = VERGE_NEVER;
    for (uint32_t i = 0; i < selection->count; i++) {
        const uint64_t time_ns = time_of(&selection->cases[i]);
        earliest_ns = time_ns < earliest_ns ? time_ns : earliest_ns;
    }
    return earliest_ns;
}

/* ---- 3: what has happened ---- */

static void leave_all(verge__selection *selection) {
    for (uint32_t rank = 0; rank < selection->joined_count; rank++) {
        verge_case *one = case_at(selection, rank);
        uint32_t *guard = guard_of(one);
        verge__waiter *waiter = &state_of(one)->waiter;
        if (guard == NULL) {
            continue;
        }
        VERGE__STEP("select: leave");
        verge__lock(guard);
        if (one->kind != VERGE_CASE_JOIN) {
            if (waiter->is_listed) {
                verge__waiters_remove(list_of(one), waiter);
            }
        } else if (((verge_task *)one->object)->joiner == waiter && !waiter->is_granted) {
            ((verge_task *)one->object)->joiner = NULL;
        }
        verge__unlock(guard);
    }
}

/* Closes the choice, and returns the chosen case; NULL: no case with a list was chosen, and none will be. */
static verge_case *chosen(verge__selection *selection) {
    void *made_for = NULL;
    VERGE__STEP("select: give up");
    if (atomic_compare_exchange_strong(&selection->choice.made_for, &made_for, &selection->choice)) {
        made_for = NULL;
    }
    leave_all(selection);
    for (uint32_t i = 0; made_for != NULL && i < selection->count; i++) {
        verge_case *one = &selection->cases[i];
        verge__waiter *waiter = &state_of(one)->waiter;
        if (waiter == made_for) {
            const int given = waiter->is_granted ? 0 : waiter->is_closed ? -EPIPE : one->result;
            one->result = take_ended(one, given);
            return one;
        }
    }
    return NULL;
}

static verge_case *find_due(const verge__selection *selection, uint64_t now_ns) {
    for (uint32_t rank = 0; rank < selection->count; rank++) {
        verge_case *one = case_at(selection, rank);
        if (time_of(one) != VERGE_NEVER && take_time(one, now_ns)) {
            return one;
        }
    }
    return NULL;
}

static int wait_for_case(verge__selection *selection, uint64_t deadline_ns) {
    const uint64_t time_ns = earliest_time(selection);
    const bool has_time = time_ns <= verge__effective_deadline(selection->self, deadline_ns);
    const uint64_t until_ns = has_time ? time_ns : deadline_ns;
    const int reason = selection->descriptor_count != 0 ? wait_for_descriptors(selection, until_ns)
                                                        : wait_for_lists(selection, until_ns);
    const verge_case *one = chosen(selection);
    if (one == NULL) {
        one = selection->polled;
    }
    if (one == NULL && reason == -ETIMEDOUT && has_time) {
        const uint64_t now_ns = verge__clock_now(&selection->self->runtime->clock);
        one = find_due(selection, now_ns > time_ns ? now_ns : time_ns);
    }
    VERGE__INVARIANT(one != NULL || reason != 0, "V1: a select is woken for a case, by time, or cancelled");
    return one != NULL ? index_of(selection, one) : verge__count_if_timeout(reason);
}

typedef enum verge__select_mode { WAITS, TRIES } verge__select_mode;

static int select_until(verge_case *cases, size_t count, uint64_t deadline_ns, verge__select_mode mode) {
    verge_task *self = verge__current_task();
    if (self == NULL || (cases == NULL && count != 0) || count > INT_MAX) {
        return self == NULL ? -EPERM : -EINVAL;
    }
    verge__selection selection = {.self = self, .cases = cases, .count = (uint32_t)count};
    int result = check_all(&selection);
    if (result != 0) {
        return result;
    }
    if (mode == WAITS) {
        verge__begin_call();
    }
    shuffle(&selection);
    result = find_at_once(&selection);
    if (result == -EAGAIN && mode == WAITS) {
        result = wait_for_case(&selection, deadline_ns);
    }
    if (selection.gave_mutex_up) {
        const int error = verge_mutex_lock_regardless(selection.mutex);
        result = error != 0 ? error : result;
    }
    return result;
}

int verge_select_until(verge_case *cases, size_t count, uint64_t deadline_ns) {
    return select_until(cases, count, deadline_ns, WAITS);
}

int verge_select(verge_case *cases, size_t count) {
    return select_until(cases, count, VERGE_NEVER, WAITS);
}

int verge_try_select(verge_case *cases, size_t count) {
    return select_until(cases, count, 0, TRIES);
}
