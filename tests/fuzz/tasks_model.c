/* SPDX-License-Identifier: MIT */
#include "fuzz/tasks_model.h"

#include <string.h>

struct world world;

void trace(uint64_t value) {
    world.trace = (world.trace ^ value) * UINT64_C(0x100000001B3);
}

void model_begin(size_t worker_count, uint64_t fail_at) {
    memset(&world, 0, sizeof(world));
    verge_test_allocator_init(&world.memory);
    world.memory.fail_at = fail_at;
    world.worker_count = worker_count;
    world.semaphore.available = SEMAPHORE_AMOUNT;
    world.steps_left = STEPS_MAX;
    for (uint32_t i = 0; i <= ACTORS_MAX; i++) {
        world.actors[i] = (struct actor){.index = i, .scope_ns = VERGE_NEVER, .tick_ns = NO_INTERVAL};
    }
}

void model_end(void) {
    for (uint32_t item = 0; item < world.item_count; item++) {
        FUZZ_CHECK(world.fates[item] != SENT, "K1: an item that was sent is lost");
    }
    for (size_t i = 0; i < world.actor_count; i++) {
        FUZZ_CHECK(world.actors[i].task == NULL && world.actors[i].has_begun == world.actors[i].has_ended,
                   "every task has ended, and was joined");
    }
    FUZZ_CHECK(world.semaphore.available == SEMAPHORE_AMOUNT && world.amount_held == 0, "all amounts were released");
}

/* ---- which actors may be cancelled, and which are ---- */

static bool ran_out_of_memory(void) {
    return world.memory.failures != 0;
}

static bool may_be_cancelled(const struct actor *actor);

static bool team_may_be_cancelled(const struct team *team) {
    const bool is_over = team->is_waited_for && (team->deadline_ns <= verge_now() || ran_out_of_memory());
    return team->is_cancelled || team->first_error != 0 || is_over || may_be_cancelled(team->owner);
}

static bool may_be_cancelled(const struct actor *actor) {
    return actor->is_cancelled || world.is_stopping || (actor->team != NULL && team_may_be_cancelled(actor->team));
}

static bool is_cancelled(const struct actor *actor) {
    return actor->is_cancelled || world.is_stopping || (actor->team != NULL && actor->team->is_cancelled);
}

/* ---- time ---- */

static bool case_must_wait(const verge_case *one, uint64_t now_ns) {
    size_t place = 0;
    while (place + 1 < CHANNELS && world.channels[place] != one->object) {
        place++;
    }
    switch (one->kind) {
    case VERGE_CASE_RECEIVE:
        return verge_channel_count(one->object) == 0 && !world.is_closed[place];
    case VERGE_CASE_SEND:
        return verge_channel_count(one->object) == world.capacities[place] && !world.is_closed[place];
    case VERGE_CASE_JOIN:
        for (size_t i = 0; i < world.actor_count; i++) {
            if (world.actors[i].task == one->object) {
                return !world.actors[i].has_ended;
            }
        }
        return false;
    case VERGE_CASE_NEXT:
        return *one->position == world.broadcast_count;
    case VERGE_CASE_TICK:
        return ((const verge_interval *)one->object)->deadline_ns >= now_ns;
    default:
        return true;
    }
}

/* Whether nobody has waited longer for the same kind of thing. */
static bool is_first(const struct wait *wait) {
    for (size_t i = 0; i < world.actor_count; i++) {
        if (world.actors[i].wait.kind == wait->kind && world.actors[i].wait.number < wait->number) {
            return false;
        }
    }
    return true;
}

static bool must_wait(const struct actor *actor, uint64_t now_ns) {
    const struct wait *wait = &actor->wait;
    switch (wait->kind) {
    case AWAITS_ITEM:
        return verge_channel_count(world.channels[wait->object]) == 0 && !world.is_closed[wait->object];
    case AWAITS_ROOM:
        return verge_channel_count(world.channels[wait->object]) == world.capacities[wait->object] &&
               !world.is_closed[wait->object];
    case AWAITS_BROADCAST:
        return actor->position == world.broadcast_count;
    case AWAITS_TIME:
        return wait->time_ns >= now_ns;
    case AWAITS_END:
        return !world.actors[wait->object].has_ended;
    case AWAITS_AMOUNT:
        return !is_first(wait) || wait->amount > SEMAPHORE_AMOUNT - world.amount_held;
    case AWAITS_MUTEX:
    case AWAITS_MUTEX_REGARDLESS:
        return world.mutex_holder != NULL;
    case AWAITS_RWLOCK:
        return !is_first(wait) || wait->amount > RW_WHOLE - world.rw_held;
    case AWAITS_SIGNAL:
        return world.mutex_holder != NULL || (wait->deadline_ns >= now_ns && !is_cancelled(actor));
    case AWAITS_TEAM:
        return wait->team->live_count != 0;
    case AWAITS_FIRST:
        for (size_t i = 0; i < wait->amount; i++) {
            if (!case_must_wait(&wait->cases[i], now_ns)) {
                return false;
            }
        }
        return true;
    default:
        return true;
    }
}

static bool can_be_given_up(enum awaited kind) {
    return kind != AWAITS_NOTHING && kind != AWAITS_SIGNAL && kind != AWAITS_TEAM && kind != AWAITS_MUTEX_REGARDLESS;
}

void model_look(const struct actor *self) {
    const uint64_t now_ns = verge_now();
    trace(now_ns + self->index);
    if (now_ns == world.now_ns) {
        return;
    }
    FUZZ_CHECK(now_ns > world.now_ns, "time does not go back");
    for (size_t i = 0; i < world.actor_count; i++) {
        const struct actor *actor = &world.actors[i];
        FUZZ_CHECK(must_wait(actor, now_ns), "T7: somebody waits for what is there, and time has moved");
        if (can_be_given_up(actor->wait.kind)) {
            FUZZ_CHECK(actor->wait.deadline_ns >= now_ns, "T2: a deadline was passed over");
            FUZZ_CHECK(!is_cancelled(actor), "T4: a task that is cancelled waits");
        }
    }
    world.now_ns = now_ns;
}

void model_wait_begin(struct actor *self, enum awaited kind, size_t object, uint64_t deadline_ns) {
    const bool has_scopes = kind != AWAITS_MUTEX_REGARDLESS;
    self->wait = (struct wait){
        .kind = kind,
        .object = object,
        .deadline_ns = has_scopes && self->scope_ns < deadline_ns ? self->scope_ns : deadline_ns,
        .began_ns = verge_now(),
        .time_ns = VERGE_NEVER,
        .was_cancelled = is_cancelled(self),
        .number = ++world.wait_count,
    };
}

static void check_reason(const struct actor *self, const struct wait *wait, int result) {
    switch (result) {
    case 0:
        break;
    case -ETIMEDOUT:
        FUZZ_CHECK(wait->deadline_ns <= verge_now(), "T1: a call timed out early");
        break;
    case -ECANCELED:
        FUZZ_CHECK(may_be_cancelled(self), "T4: cancelled without a cause");
        break;
    case -ENOMEM:
        FUZZ_CHECK(ran_out_of_memory(), "there was memory");
        break;
    case -EPIPE:
        FUZZ_CHECK((wait->kind == AWAITS_ITEM || wait->kind == AWAITS_ROOM) && world.is_closed[wait->object],
                   "a channel that is not closed");
        break;
    default:
        FUZZ_CHECK(result == -EOVERFLOW && wait->kind == AWAITS_BROADCAST, "an error that the header does not name");
    }
}

void model_wait_end(struct actor *self, int result) {
    model_look(self);
    const struct wait wait = self->wait;
    const uint64_t now_ns = verge_now();
    const uint64_t until_ns = wait.time_ns < wait.deadline_ns ? wait.time_ns : wait.deadline_ns;
    self->wait.kind = AWAITS_NOTHING;
    trace((uint64_t)(int64_t)result);
    check_reason(self, &wait, result);
    FUZZ_CHECK(now_ns == wait.began_ns || now_ns <= until_ns, "T2: a call returned late");
    FUZZ_CHECK(!can_be_given_up(wait.kind) || !wait.was_cancelled || now_ns == wait.began_ns,
               "T4: a task that is cancelled has waited");
}

/* ---- items ---- */

uint32_t model_new_item(size_t place) {
    FUZZ_CHECK(world.item_count < ITEMS_MAX, "room for items");
    world.places[world.item_count] = place;
    return world.item_count++;
}

/* Notes the result of a send. The call that receives the item may have returned before the call that sends it. */
void model_sent(uint32_t item, int result) {
    if (result != 0) {
        FUZZ_CHECK(world.fates[item] == NOT_SENT, "K1: an item that was not sent shows up");
        world.places[item] = CHANNELS; /* it is in no channel from now on */
    } else if (world.fates[item] == NOT_SENT) {
        world.fates[item] = SENT;
    }
}

void model_received(uint32_t item, size_t place, int result) {
    if (result != 0) {
        FUZZ_CHECK(item == NO_ITEM, "nothing is written unless something is received");
        return;
    }
    FUZZ_CHECK(item < world.item_count && world.places[item] == place, "K1: an item that was not sent here");
    FUZZ_CHECK(world.fates[item] != RECEIVED, "K1: an item is received twice");
    world.fates[item] = RECEIVED;
    trace(item);
}

void model_read(const struct actor *self, uint64_t before, uint64_t number, int result, bool wants_latest) {
    if (result == 0) {
        FUZZ_CHECK(self->position == number + 1 && number < world.broadcast_count,
                   "broadcast: the position is the next");
        FUZZ_CHECK(wants_latest ? number >= before : number == before, "broadcast: the next item, or a later one");
    } else if (result == -EOVERFLOW) {
        FUZZ_CHECK(!wants_latest && self->position > before && number == UINT64_MAX, "broadcast: some were lost");
        FUZZ_CHECK(self->position + world.broadcast_capacity <= world.broadcast_count, "broadcast: but not so many");
    } else {
        FUZZ_CHECK(self->position == before && number == UINT64_MAX, "broadcast: nothing has changed");
    }
    trace(self->position);
}

void model_ticked(struct actor *self, const verge_tick *tick, int result) {
    if (result == 0) {
        FUZZ_CHECK(tick->scheduled_ns <= verge_now(), "I1: no tick is early");
        FUZZ_CHECK(self->tick_ns == 0 || tick->scheduled_ns > self->tick_ns, "a tick is taken once");
        self->tick_ns = tick->scheduled_ns;
        trace(tick->scheduled_ns);
    }
}

void model_hold(uint32_t *share, uint32_t *held, uint32_t amount) {
    *share = amount;
    *held += amount;
    FUZZ_CHECK(world.amount_held <= SEMAPHORE_AMOUNT, "a semaphore has given more than it had");
    FUZZ_CHECK(world.rw_held <= RW_WHOLE, "a writer is alone");
}

void model_let_go(uint32_t *share, uint32_t *held) {
    *held -= *share;
    *share = 0;
}

/* ---- tasks ---- */

struct actor *model_new_actor(struct actor *parent, struct team *team) {
    if (world.actor_count == ACTORS_MAX) {
        return NULL;
    }
    struct actor *actor = &world.actors[world.actor_count++];
    actor->parent = parent;
    actor->depth = parent->index == WARDEN ? 0 : parent->depth + 1;
    actor->team = team;
    actor->scope_ns = team != NULL ? parent->scope_ns : VERGE_NEVER; /* P3 */
    actor->value = actor->index % 4 == 3 ? -1000 - (intptr_t)actor->index : (intptr_t)actor->index;
    return actor;
}

void model_spawned(struct actor *self, struct actor *child, int result, bool may_have_no_worker) {
    trace((uint64_t)(int64_t)result);
    switch (result) {
    case 0:
        if (child->team != NULL) {
            child->team->live_count++;
        }
        return;
    case -ENOMEM:
        FUZZ_CHECK(ran_out_of_memory(), "there was memory");
        break;
    case -ENOSPC:
        FUZZ_CHECK(world.task_count_max != 0, "no limit was set");
        break;
    case -ESHUTDOWN:
        FUZZ_CHECK(world.is_stopping, "nothing stops");
        break;
    case -EINVAL:
        FUZZ_CHECK(may_have_no_worker, "there is such a worker");
        break;
    default:
        FUZZ_CHECK(result == -ECANCELED && child->team != NULL &&
                       (may_be_cancelled(self) || team_may_be_cancelled(child->team)),
                   "a spawn fails without a cause");
    }
    FUZZ_CHECK(child->task == NULL, "no handle without a task");
}

struct actor *model_child(const struct actor *self) {
    for (size_t i = 0; i < world.actor_count; i++) {
        struct actor *child = &world.actors[(i + world.steps_left) % world.actor_count];
        if (child->task != NULL && child->parent == self) {
            return child;
        }
    }
    return NULL;
}

void model_joined(const struct actor *self, struct actor *child, intptr_t value, int result) {
    if (result == 0) {
        FUZZ_CHECK(child->task != NULL && child->parent == self, "a task is joined once");
        FUZZ_CHECK(child->has_ended && child->value == value, "a task is joined after its end, with its value");
        child->task = NULL;
    }
}

void model_ended(struct actor *self) {
    self->has_ended = true;
    if (self->team != NULL) {
        FUZZ_CHECK(self->team->live_count != 0, "P1: a task of a group that is over");
        self->team->live_count--;
        if (self->value < 0 && self->team->first_error == 0) {
            self->team->first_error = (int)self->value;
        }
    }
}

void model_team_ended(struct actor *self, struct team *team, int result) {
    model_look(self);
    trace((uint64_t)(int64_t)result);
    self->wait.kind = AWAITS_NOTHING;
    FUZZ_CHECK(team->live_count == 0, "P1: a task outlives its group");
    switch (result) {
    case 0:
        FUZZ_CHECK(team->first_error == 0 && !team->is_cancelled, "P2: the group has failed");
        break;
    case -ETIMEDOUT:
        FUZZ_CHECK(team->deadline_ns <= verge_now(), "T1: a group timed out early");
        break;
    case -ECANCELED:
        FUZZ_CHECK(team->is_cancelled || may_be_cancelled(self), "P3: a group is cancelled without a cause");
        break;
    case -ENOMEM:
        FUZZ_CHECK(ran_out_of_memory(), "there was memory");
        break;
    default:
        FUZZ_CHECK(result == team->first_error, "P2: the first error counts");
    }
}
