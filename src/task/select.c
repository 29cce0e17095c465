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
 * Cases for ticks have no list: the earliest tick is the deadline of the wait. Cases for descriptors are poll
 * operations of the reactor: with such cases, the task waits in the state IN_IO, and waking it cancels the operations.
 * A poll takes no data, so nothing is lost if a descriptor becomes ready at the same moment as another case.
 */
#include <errno.h>
#include <limits.h>
#include <stddef.h>

#include "base/assert.h"
#include "base/step.h"
#include "reactor/attempt.h"
#include "task/broadcast.h"
#include "task/channel.h"
#include "task/current.h"
#include "task/latch.h"
#include "task/runner.h"
#include "task/spawn.h"
#include "task/wait.h"
#include "verge/sync.h"

/* What verge_case.state contains. */
typedef struct verge__case_state {
    verge__waiter waiter;
    uint32_t order; /* in state number i: the index of the case that is looked at as the i-th */
} verge__case_state;

_Static_assert(sizeof(verge__case_state) <= sizeof(((verge_case *)NULL)->state), "a case has room for its state");

typedef struct verge__selection {
    verge_task *self;
    verge_case *cases;
    uint32_t count;
    uint32_t joined_count; /* cases that `join` was called for, in the random order */
    verge__choice choice;
    verge_mutex *mutex; /* the mutex of all conditions; NULL: no case is a condition */
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

/*
 * What a kind of case does. A case without a list (NONE, TICK, POLL) has `check`, `happens`, and `time` if time
 * alone makes it happen. A case with a list has `check`, `happens`, and the fields from latch_at on; latch_at and
 * list_at are offsets in its object.
 */
typedef struct verge__case_type {
    /* Returns 0 if the arguments of the case make sense, else -EINVAL or -EPERM. */
    int (*check)(verge__selection *selection, const verge_case *one);

    /* Makes the call of the case, if this call need not wait. True: the call was made, and the result of the case is
     * set. */
    bool (*happens)(const verge__selection *selection, verge_case *one, uint64_t now_ns);

    /* Returns the time at which the case happens; VERGE_NEVER: at no time. */
    uint64_t (*time)(const verge_case *one);

    size_t latch_at;
    size_t list_at; /* unused by a join: a task has one joiner, and no list of them */

    /* With the latch held: whether the call would have to wait. */
    bool (*must_wait)(const verge__selection *selection, const verge_case *one);

    /* With the latch held: makes a call that need not wait. If the call woke a task, it is stored in *ret_woken, and
     * the caller must deliver it. This field is NULL for a condition, which always has to wait. */
    int (*make_call)(const verge__selection *selection, const verge_case *one, verge_task **ret_woken);

    /* With the latch held: adds the waiter to the list. NULL: the case has no list. */
    void (*join_list)(const verge_case *one, verge__waiter *waiter);

    /* With the latch held: takes the waiter out of the list, if it is still there. */
    void (*leave_list)(const verge_case *one, verge__waiter *waiter);

    /* Without the latch, if make_call has returned 0 or the waiter was granted: completes the case, and returns its
     * result. NULL: there is nothing left to do. */
    int (*finish)(const verge_case *one);
} verge__case_type;

static const verge__case_type *type_of(const verge_case *one);

static uint32_t *latch_of(const verge_case *one) {
    return (uint32_t *)(void *)((char *)one->object + type_of(one)->latch_at);
}

static void **list_of(const verge_case *one) {
    return (void **)(void *)((char *)one->object + type_of(one)->list_at);
}

static void append_waiter(const verge_case *one, verge__waiter *waiter) {
    verge__waiters_append(list_of(one), waiter);
}

static void remove_waiter(const verge_case *one, verge__waiter *waiter) {
    if (waiter->is_listed) {
        verge__waiters_remove(list_of(one), waiter);
    }
}

static int finish(const verge_case *one, int result) {
    return result == 0 && type_of(one)->finish != NULL ? type_of(one)->finish(one) : result;
}

/* This is `happens` for all cases with a list. */
static bool call_at_once(const verge__selection *selection, verge_case *one, uint64_t now_ns) {
    const verge__case_type *type = type_of(one);
    uint32_t *latch = latch_of(one);
    verge_task *woken = NULL;
    (void)now_ns;
    verge__lock(latch);
    const bool happens = !type->must_wait(selection, one);
    const int result = happens ? type->make_call(selection, one, &woken) : 0;
    verge__unlock(latch);
    verge__deliver_granted(woken);
    if (happens) {
        one->result = finish(one, result);
    }
    return happens;
}

/* ---- nothing ---- */

static int check_nothing(verge__selection *selection, const verge_case *one) {
    (void)selection;
    (void)one;
    return 0;
}

static bool never_happens(const verge__selection *selection, verge_case *one, uint64_t now_ns) {
    (void)selection;
    (void)one;
    (void)now_ns;
    return false;
}

/* ---- ticks ---- */

static int check_object(verge__selection *selection, const verge_case *one) {
    (void)selection;
    return one->object == NULL ? -EINVAL : 0;
}

static uint64_t time_of_tick(const verge_case *one) {
    return ((const verge_interval *)one->object)->deadline_ns;
}

static bool take_tick(const verge__selection *selection, verge_case *one, uint64_t now_ns) {
    (void)selection;
    const int taken = verge_interval_next(one->object, now_ns, one->item);
    one->result = taken > 0 ? 0 : taken < 0 ? taken : -ERANGE;
    return taken != 0 || ((const verge_interval *)one->object)->deadline_ns == VERGE_NEVER;
}

/* ---- descriptors ---- */

static int check_poll(verge__selection *selection, const verge_case *one) {
    (void)one;
    return ++selection->descriptor_count > VERGE_SELECT_DESCRIPTORS_MAX ? -EINVAL : 0;
}

static verge__operation poll_of(const verge_case *one) {
    return (verge__operation){.kind = VERGE__POLL, .fd = one->fd, .flags = (unsigned short)one->events};
}

static bool poll_at_once(const verge__selection *selection, verge_case *one, uint64_t now_ns) {
    (void)selection;
    (void)now_ns;
    verge__operation operation = poll_of(one);
    one->result = -EBADF;
    return one->fd < 0 || verge__attempt(&operation, VERGE__NOT_KNOWN, &one->result);
}

/* ---- channels ---- */

static int check_channel(verge__selection *selection, const verge_case *one) {
    (void)selection;
    return verge__channel_is_wrong(one->object, one->item) ? -EINVAL : 0;
}

static bool is_empty(const verge__selection *selection, const verge_case *one) {
    (void)selection;
    return verge__channel_is_empty(one->object);
}

static int receive_item(const verge__selection *selection, const verge_case *one, verge_task **ret_woken) {
    (void)selection;
    return verge__channel_get(one->object, one->item, ret_woken);
}

static bool is_full(const verge__selection *selection, const verge_case *one) {
    (void)selection;
    return verge__channel_is_full(one->object);
}

static int send_item(const verge__selection *selection, const verge_case *one, verge_task **ret_woken) {
    (void)selection;
    return verge__channel_put(one->object, one->item, ret_woken);
}

/* ---- broadcasts ---- */

static int check_broadcast(verge__selection *selection, const verge_case *one) {
    (void)selection;
    return verge__broadcast_is_wrong(one->object, one->position, one->item) ? -EINVAL : 0;
}

static bool is_seen(const verge__selection *selection, const verge_case *one) {
    (void)selection;
    return verge__broadcast_is_seen(one->object, one->position);
}

static int read_next(const verge__selection *selection, const verge_case *one, verge_task **ret_woken) {
    (void)selection;
    (void)ret_woken;
    return verge__broadcast_get(one->object, one->position, one->item, VERGE__READ_NEXT);
}

static int read_latest(const verge__selection *selection, const verge_case *one, verge_task **ret_woken) {
    (void)selection;
    (void)ret_woken;
    return verge__broadcast_get(one->object, one->position, one->item, VERGE__READ_LATEST);
}

/* ---- tasks ---- */

static bool has_not_ended(const verge__selection *selection, const verge_case *one) {
    return verge__join_state(selection->self, one->object) == -EAGAIN;
}

static int join_state(const verge__selection *selection, const verge_case *one, verge_task **ret_woken) {
    (void)ret_woken;
    return verge__join_state(selection->self, one->object);
}

static void set_joiner(const verge_case *one, verge__waiter *waiter) {
    ((verge_task *)one->object)->joiner = waiter;
}

static void unset_joiner(const verge_case *one, verge__waiter *waiter) {
    verge_task *task = one->object;
    if (task->joiner == waiter && !waiter->is_granted) {
        task->joiner = NULL;
    }
}

static int take_result(const verge_case *one) {
    return verge__take_result(one->object, one->item);
}

/* ---- conditions ---- */

static int check_condition(verge__selection *selection, const verge_case *one) {
    if (one->object == NULL || one->item == NULL || (selection->mutex != NULL && selection->mutex != one->item)) {
        return -EINVAL;
    }
    selection->mutex = one->item;
    return verge__mutex_is_owner(selection->mutex, selection->self) ? 0 : -EPERM;
}

static bool always_waits(const verge__selection *selection, const verge_case *one) {
    (void)selection;
    (void)one;
    return true;
}

/* ---- the table ---- */

#define IN_LIST(type, list) \
    .happens = call_at_once, .latch_at = offsetof(type, latch), .list_at = offsetof(type, list), \
    .join_list = append_waiter, .leave_list = remove_waiter

static const verge__case_type types[] = {
    [VERGE_CASE_NONE] = {.check = check_nothing, .happens = never_happens},
    [VERGE_CASE_TICK] = {.check = check_object, .happens = take_tick, .time = time_of_tick},
    [VERGE_CASE_POLL] = {.check = check_poll, .happens = poll_at_once},
    [VERGE_CASE_RECEIVE] = {.check = check_channel,
                            .must_wait = is_empty,
                            .make_call = receive_item,
                            IN_LIST(verge_channel, receivers)},
    [VERGE_CASE_SEND] = {.check = check_channel,
                         .must_wait = is_full,
                         .make_call = send_item,
                         IN_LIST(verge_channel, senders)},
    [VERGE_CASE_NEXT] = {.check = check_broadcast,
                         .must_wait = is_seen,
                         .make_call = read_next,
                         IN_LIST(verge_broadcast, waiting)},
    [VERGE_CASE_LATEST] = {.check = check_broadcast,
                           .must_wait = is_seen,
                           .make_call = read_latest,
                           IN_LIST(verge_broadcast, waiting)},
    [VERGE_CASE_CONDITION] = {.check = check_condition, .must_wait = always_waits, IN_LIST(verge_condition, waiting)},
    [VERGE_CASE_JOIN] = {.check = check_object,
                         .happens = call_at_once,
                         .latch_at = offsetof(verge_task, latch),
                         .must_wait = has_not_ended,
                         .make_call = join_state,
                         .join_list = set_joiner,
                         .leave_list = unset_joiner,
                         .finish = take_result},
};

static const verge__case_type *type_of(const verge_case *one) {
    return &types[one->kind];
}

static bool has_list(const verge_case *one) {
    return type_of(one)->join_list != NULL;
}

static int check_all(verge__selection *selection) {
    int error = 0;
    for (uint32_t i = 0; i < selection->count && error == 0; i++) {
        const verge_case *one = &selection->cases[i];
        const bool is_known = (size_t)one->kind < sizeof(types) / sizeof(*types);
        error = is_known ? type_of(one)->check(selection, one) : -EINVAL;
    }
    return error;
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

static int index_of(const verge__selection *selection, const verge_case *one) {
    return (int)(one - selection->cases);
}

static int find_at_once(verge__selection *selection) {
    const uint64_t now_ns = verge__clock_now(&selection->self->runtime->clock);
    for (uint32_t rank = 0; rank < selection->count; rank++) {
        verge_case *one = case_at(selection, rank);
        if (type_of(one)->happens(selection, one, now_ns)) {
            return index_of(selection, one);
        }
    }
    return -EAGAIN;
}

/* ---- 2: waiting ---- */

/* Adds the waiter of a case to the list of its object. False: a case was chosen, so there is no need to wait. */
static bool join(verge__selection *selection, verge_case *one) {
    if (!has_list(one)) {
        return true;
    }
    const verge__case_type *type = type_of(one);
    uint32_t *latch = latch_of(one);
    verge__waiter *waiter = &state_of(one)->waiter;
    verge_task *woken = NULL;
    VERGE__STEP("select: join");
    *waiter = (verge__waiter){
        .task = selection->self, .choice = &selection->choice, .item = one->item, .position = one->position};
    verge__lock(latch);
    const bool waits = type->must_wait(selection, one);
    if (waits) {
        type->join_list(one, waiter);
    } else if (verge__choose(waiter)) {
        one->result = type->make_call(selection, one, &woken);
    }
    verge__unlock(latch);
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

/* Unlocks the mutex of the conditions, if there is one. The waiters are in their lists by now, so the next holder of
 * the mutex finds them. */
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
        const verge_case *one = &selection->cases[i];
        const uint64_t time_ns = type_of(one)->time != NULL ? type_of(one)->time(one) : VERGE_NEVER;
        earliest_ns = time_ns < earliest_ns ? time_ns : earliest_ns;
    }
    return earliest_ns;
}

/* ---- 3: what has happened ---- */

static void leave_all(verge__selection *selection) {
    for (uint32_t rank = 0; rank < selection->joined_count; rank++) {
        verge_case *one = case_at(selection, rank);
        if (has_list(one)) {
            VERGE__STEP("select: leave");
            verge__lock(latch_of(one));
            type_of(one)->leave_list(one, &state_of(one)->waiter);
            verge__unlock(latch_of(one));
        }
    }
}

/* Closes the choice, leaves all lists, and returns the chosen case. NULL: no case with a list was chosen, and none will
 * be. */
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
            one->result = finish(one, given);
            return one;
        }
    }
    return NULL;
}

static verge_case *find_due(const verge__selection *selection, uint64_t now_ns) {
    for (uint32_t rank = 0; rank < selection->count; rank++) {
        verge_case *one = case_at(selection, rank);
        const verge__case_type *type = type_of(one);
        if (type->time != NULL && type->time(one) != VERGE_NEVER && type->happens(selection, one, now_ns)) {
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

int verge_select(verge_case *cases, size_t count, uint64_t deadline_ns) {
    verge_task *self = verge__current_task();
    if (self == NULL || (cases == NULL && count != 0) || count > INT_MAX) {
        return self == NULL ? -EPERM : -EINVAL;
    }
    verge__selection selection = {.self = self, .cases = cases, .count = (uint32_t)count};
    int result = check_all(&selection);
    if (result != 0) {
        return result;
    }
    (void)verge__begin_call(deadline_ns);
    shuffle(&selection);
    result = find_at_once(&selection);
    if (result == -EAGAIN) {
        result = verge__why_not_wait(self, deadline_ns);
        result = result != 0 ? result : wait_for_case(&selection, deadline_ns);
    }
    if (selection.gave_mutex_up) {
        const int error = verge_mutex_lock(selection.mutex, VERGE_REGARDLESS);
        result = error != 0 ? error : result;
    }
    return result;
}
