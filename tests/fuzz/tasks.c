/* SPDX-License-Identifier: MIT */
/*
 * Any program of tasks, in virtual time. The bytes are the choices of all tasks, in the order in which these run:
 * spawn, join, cancel, groups, channels, select, semaphore, mutex, condition, read-write lock, broadcast, sleeps,
 * intervals, scopes, workers that come and go, a runtime that stops, memory that runs out. tasks_model.h has what is
 * checked at each call. For the whole run:
 *   - an item that was sent is received once, or is in its channel in the end (K1);
 *   - the warden cancels all tasks at END_NS: no time passes from then on, and all end, within a bound of switches;
 *   - all memory is given back;
 *   - the same bytes do the same again, call by call (T7).
 *
 * A random program may wait for itself for ever, which is no mistake of the library. So an actor follows these rules:
 *   - while it holds the mutex, it begins no group;
 *   - while it has a group, it begins no other one, and spawns no tasks of its own, since these would not be cancelled
 *     with it;
 *   - while it has a group or such tasks, it makes no call that locks the mutex regardless of cancellation.
 * Then an actor that is cancelled ends. So a run that does not end is a bug of the library, which the timeout of the
 * fuzzer or of the test reports.
 */
#include "fuzz/tasks_model.h"
#include "support/spawn.h"

static struct verge_test_random choices;

static size_t below(size_t bound) {
    return (size_t)verge_test_below(&choices, bound);
}

static uint64_t some_deadline(void) {
    switch (below(4)) {
    case 0:
        return VERGE_NEVER;
    case 1:
        return verge_now();
    default:
        return verge_now() + below(64);
    }
}

/* ---- items ---- */

static void send(struct actor *self) {
    const size_t place = below(CHANNELS);
    const uint32_t item = model_new_item(place);
    const uint64_t deadline_ns = some_deadline();
    model_wait_begin(self, AWAITS_ROOM, place, deadline_ns);
    const int result = verge_channel_send(world.channels[place], &item, deadline_ns);
    model_wait_end(self, result);
    model_sent(item, result);
}

static void receive(struct actor *self) {
    const size_t place = below(CHANNELS);
    const uint64_t deadline_ns = some_deadline();
    uint32_t item = NO_ITEM;
    model_wait_begin(self, AWAITS_ITEM, place, deadline_ns);
    const int result = verge_channel_receive(world.channels[place], &item, deadline_ns);
    model_wait_end(self, result);
    model_received(item, place, result);
}

/* What a try returns if it would have to wait. */
static int would_wait(void) {
    return verge_task_is_cancelled() ? -ECANCELED : -ETIMEDOUT;
}

static void try_channel(void) {
    const size_t place = below(CHANNELS);
    uint32_t item = NO_ITEM;
    if (below(2) == 0) {
        const int result = verge_channel_receive(world.channels[place], &item, 0);
        FUZZ_CHECK(result == 0 || result == would_wait() || result == -EPIPE, "try to receive: what it returns");
        model_received(item, place, result);
    } else {
        item = model_new_item(place);
        const int result = verge_channel_send(world.channels[place], &item, 0);
        FUZZ_CHECK(result == 0 || result == would_wait() || result == -EPIPE, "try to send: what it returns");
        model_sent(item, result);
    }
}

static void close_channel(void) {
    const size_t place = below(CHANNELS);
    if (below(4) == 0) {
        world.is_closed[place] = true;
        FUZZ_CHECK(verge_channel_close(world.channels[place]) == 0, "close");
    }
}

static void send_to_all(void) {
    const uint64_t number = world.broadcast_count;
    const int result = verge_broadcast_send(world.broadcast, &number);
    FUZZ_CHECK(result == 0, "broadcast: a send does not wait");
    world.broadcast_count++;
}

static void read_broadcast(struct actor *self) {
    const uint64_t deadline_ns = some_deadline(), position = self->position;
    const bool wants_latest = below(2) == 0;
    uint64_t number = UINT64_MAX;
    model_wait_begin(self, AWAITS_BROADCAST, 0, deadline_ns);
    const int result = wants_latest ? verge_broadcast_latest(world.broadcast, &self->position, &number, deadline_ns)
                                    : verge_broadcast_receive(world.broadcast, &self->position, &number, deadline_ns);
    model_wait_end(self, result);
    model_read(self, position, number, result, wants_latest);
}

/* ---- time ---- */

static void sleep_some(struct actor *self) {
    const uint64_t until_ns = verge_now() + below(64);
    model_wait_begin(self, AWAITS_TIME, 0, VERGE_NEVER);
    self->wait.time_ns = until_ns;
    const int result = verge_sleep_until(until_ns);
    model_wait_end(self, result);
    FUZZ_CHECK(result != 0 || verge_now() >= until_ns, "T1: no sleep is early");
}

static void set_interval(struct actor *self) {
    const verge_interval_policy policies[] = {VERGE_INTERVAL_BURST, VERGE_INTERVAL_SKIP, VERGE_INTERVAL_DELAY};
    const uint64_t first_ns = verge_now() + below(32);
    FUZZ_CHECK(verge_interval_init(&self->interval, first_ns, 1 + below(32), policies[below(3)]) == 0, "interval_init");
    self->tick_ns = 0;
}

static void wait_for_tick(struct actor *self) {
    if (self->tick_ns == NO_INTERVAL || below(8) == 0) {
        set_interval(self);
    }
    verge_tick tick = {0};
    model_wait_begin(self, AWAITS_TIME, 0, VERGE_NEVER);
    self->wait.time_ns = self->interval.deadline_ns;
    const int result = verge_interval_wait(&self->interval, &tick, VERGE_NEVER);
    model_wait_end(self, result);
    model_ticked(self, &tick, result);
}

/* ---- several at once ---- */

enum { CASES_MAX = 10 };

struct offered {
    verge_case cases[CASES_MAX];
    uint32_t items[CASES_MAX];
    size_t places[CASES_MAX];
    verge_interval alarms[CASES_MAX]; /* of each, only one tick is used */
    uint64_t alarms_ns[CASES_MAX];
    intptr_t joined;
    verge_tick tick;
    uint64_t number, position;
    size_t count;
    bool joins, ticks, reads; /* there is a case of this kind already: at most one of each */
};

static verge_case some_case(struct actor *self, struct offered *offered, size_t index) {
    const size_t place = offered->places[index] = below(CHANNELS);
    switch (below(8)) {
    case 0:
    case 1:
        offered->items[index] = NO_ITEM;
        return verge_case_receive(world.channels[place], &offered->items[index]);
    case 2:
    case 3:
        offered->items[index] = model_new_item(place);
        return verge_case_send(world.channels[place], &offered->items[index]);
    case 4: {
        struct actor *child = model_child(self);
        const bool is_wanted = child != NULL && !offered->joins;
        offered->joins |= is_wanted;
        offered->places[index] = is_wanted ? child->index : 0;
        return is_wanted ? verge_case_join(child->task, &offered->joined) : (verge_case){0};
    }
    case 5: {
        const bool is_wanted = self->tick_ns != NO_INTERVAL && !offered->ticks;
        offered->ticks |= is_wanted;
        return is_wanted ? verge_case_tick(&self->interval, &offered->tick) : (verge_case){0};
    }
    case 6: {
        const bool is_wanted = !offered->reads;
        offered->reads |= is_wanted;
        return is_wanted ? verge_case_next(world.broadcast, &self->position, &offered->number) : (verge_case){0};
    }
    default:
        offered->alarms_ns[index] = verge_now() + below(64);
        FUZZ_CHECK(verge_interval_init(&offered->alarms[index], offered->alarms_ns[index], 1, VERGE_INTERVAL_SKIP) == 0,
                   "an interval begins at any time");
        return verge_case_tick(&offered->alarms[index], NULL);
    }
}

static void account(struct actor *self, struct offered *offered, int chosen) {
    for (size_t i = 0; i < offered->count; i++) {
        const verge_case *one = &offered->cases[i];
        const bool is_chosen = chosen == (int)i;
        const int result = is_chosen ? one->result : -EAGAIN;
        switch (one->kind) {
        case VERGE_CASE_SEND:
            model_sent(offered->items[i], result);
            break;
        case VERGE_CASE_RECEIVE:
            model_received(offered->items[i], offered->places[i], result);
            break;
        case VERGE_CASE_JOIN:
            if (is_chosen) {
                model_joined(self, &world.actors[offered->places[i]], offered->joined, result);
            }
            break;
        case VERGE_CASE_TICK:
            if (one->object == &self->interval) {
                model_ticked(self, &offered->tick, result);
            } else {
                FUZZ_CHECK(!is_chosen || verge_now() >= offered->alarms_ns[i], "T1: no tick is early");
            }
            break;
        case VERGE_CASE_NEXT:
            model_read(self, offered->position, offered->number, result, false);
            break;
        default:
            FUZZ_CHECK(!is_chosen, "select: a case of nothing was chosen");
        }
    }
}

static void choose(struct actor *self) {
    struct offered offered = {.count = below(CASES_MAX + 1), .position = self->position, .number = UINT64_MAX};
    for (size_t i = 0; i < offered.count; i++) {
        offered.cases[i] = some_case(self, &offered, i);
    }
    int chosen;
    if (below(4) == 0) {
        chosen = verge_select(offered.cases, offered.count, 0);
        FUZZ_CHECK(chosen >= 0 || chosen == would_wait(), "try to select: what it returns");
    } else {
        const uint64_t deadline_ns = some_deadline();
        model_wait_begin(self, AWAITS_FIRST, 0, deadline_ns);
        self->wait.cases = offered.cases;
        self->wait.amount = offered.count;
        chosen = verge_select(offered.cases, offered.count, deadline_ns);
        model_wait_end(self, chosen >= 0 ? 0 : chosen);
    }
    FUZZ_CHECK(chosen < (int)offered.count, "select: an index");
    trace((uint64_t)chosen);
    account(self, &offered, chosen);
}

/* ---- tasks ---- */

static intptr_t actor_main(void *argument);
static void act(struct actor *self, unsigned depth);

static void spawn(struct actor *self) {
    struct actor *child = self->leads == NULL ? model_new_actor(self, NULL) : NULL;
    if (child == NULL) {
        return;
    }
    const size_t where = below(6);
    const int result = where < 3    ? spawn_at(NULL, (uint32_t)where, actor_main, child, &child->task)
                       : where == 3 ? spawn_at(NULL, VERGE_WORKER_ANY, actor_main, child, &child->task)
                                    : verge_spawn(actor_main, child, &child->task);
    model_spawned(self, child, result, where < 3);
}

static void join(struct actor *self) {
    struct actor *child = model_child(self);
    if (child != NULL) {
        const uint64_t deadline_ns = some_deadline();
        intptr_t value = 0;
        model_wait_begin(self, AWAITS_END, child->index, deadline_ns);
        const int result = verge_task_join(child->task, &value, deadline_ns);
        model_wait_end(self, result);
        model_joined(self, child, value, result);
    }
}

/* Cancels a random actor, if its handle is valid. */
static void cancel(void) {
    struct actor *victim = &world.actors[below(ACTORS_MAX)];
    if (victim->task != NULL) {
        victim->is_cancelled = true;
        FUZZ_CHECK(verge_task_cancel(victim->task) == 0, "cancel");
    }
}

static void cancel_children(const struct actor *self) {
    for (size_t i = 0; i < ACTORS_MAX; i++) {
        if (world.actors[i].task != NULL && world.actors[i].parent == self) {
            world.actors[i].is_cancelled = true;
            FUZZ_CHECK(verge_task_cancel(world.actors[i].task) == 0, "cancel");
        }
    }
}

static void leave_children(const struct actor *self) {
    cancel_children(self);
    for (size_t i = 0; i < ACTORS_MAX; i++) {
        struct actor *child = &world.actors[i];
        if (child->task != NULL && child->parent == self) {
            intptr_t value = 0;
            const int result = verge_task_join(child->task, &value, VERGE_REGARDLESS);
            FUZZ_CHECK(result == 0, "VERGE_REGARDLESS: nothing ends a join but the end");
            model_joined(self, child, value, result);
        }
    }
}

static intptr_t actor_main(void *argument) {
    struct actor *self = argument;
    model_look(self);
    FUZZ_CHECK(!self->has_begun && !self->has_ended, "a task begins once");
    self->has_begun = true;
    act(self, 0);
    leave_children(self);
    model_ended(self);
    return self->value;
}

/* ---- groups ---- */

static void spawn_member(struct actor *self, struct team *team) {
    struct actor *member = model_new_actor(self, team);
    if (member != NULL) {
        model_spawned(self, member, verge_group_spawn(&team->group, actor_main, member), false);
    }
}

static void gather(struct actor *self, unsigned depth) {
    struct team team = {.owner = self};
    self->leads = &team;
    FUZZ_CHECK(verge_group_begin(&team.group) == 0, "group_begin");
    for (size_t count = below(4); count > 0; count--) {
        spawn_member(self, &team);
    }
    act(self, depth + 1);
    if (below(8) == 0) {
        team.is_cancelled = true;
        FUZZ_CHECK(verge_group_cancel(&team.group) == 0, "group_cancel");
    }
    const uint64_t deadline_ns = some_deadline();
    model_wait_begin(self, AWAITS_TEAM, 0, deadline_ns);
    self->wait.team = &team;
    team.deadline_ns = self->wait.deadline_ns;
    team.is_waited_for = true;
    const int result = verge_group_wait(&team.group, deadline_ns);
    model_team_ended(self, &team, result);
    self->leads = NULL;
}

/* ---- what is held for a while ---- */

static void hold_amount(struct actor *self, unsigned depth) {
    const uint32_t amount = 1 + (uint32_t)below(SEMAPHORE_AMOUNT);
    if (self->amount != 0) {
        return;
    }
    const uint64_t deadline_ns = some_deadline();
    model_wait_begin(self, AWAITS_AMOUNT, 0, deadline_ns);
    self->wait.amount = amount;
    const int result = verge_semaphore_acquire(&world.semaphore, amount, deadline_ns);
    model_wait_end(self, result);
    if (result == 0) {
        model_hold(&self->amount, &world.amount_held, amount);
        act(self, depth + 1);
        model_let_go(&self->amount, &world.amount_held);
        FUZZ_CHECK(verge_semaphore_release(&world.semaphore, amount) == 0, "release");
    }
}

static void await_condition(struct actor *self) {
    if (model_child(self) != NULL || self->leads != NULL) {
        return;
    }
    const uint64_t deadline_ns = some_deadline();
    model_wait_begin(self, AWAITS_SIGNAL, 0, deadline_ns);
    self->holds_mutex = false;
    world.mutex_holder = NULL;
    const int result = verge_condition_wait(&world.condition, &world.mutex, deadline_ns);
    FUZZ_CHECK(world.mutex_holder == NULL, "a mutex has one holder");
    world.mutex_holder = self;
    self->holds_mutex = true;
    self->wait.deadline_ns = VERGE_NEVER; /* after its deadline, the call may wait for the mutex without limit */
    model_wait_end(self, result == -ETIMEDOUT ? 0 : result);
}

static int lock(struct actor *self) {
    const bool may_wait_regardless = self->depth == 0 && model_child(self) == NULL && self->leads == NULL;
    const bool waits_regardless = may_wait_regardless && below(4) == 0;
    const uint64_t deadline_ns = waits_regardless ? VERGE_NEVER : some_deadline();
    model_wait_begin(self, waits_regardless ? AWAITS_MUTEX_REGARDLESS : AWAITS_MUTEX, 0, deadline_ns);
    const int result = verge_mutex_lock(&world.mutex, waits_regardless ? VERGE_REGARDLESS : deadline_ns);
    FUZZ_CHECK(!waits_regardless || result == 0, "VERGE_REGARDLESS: nothing ends a wait but the lock");
    model_wait_end(self, result);
    return result;
}

static void hold_mutex(struct actor *self, unsigned depth) {
    if (self->holds_mutex || lock(self) != 0) {
        return;
    }
    FUZZ_CHECK(world.mutex_holder == NULL, "a mutex has one holder");
    world.mutex_holder = self;
    self->holds_mutex = true;
    if (below(2) == 0) {
        await_condition(self);
    }
    act(self, depth + 1);
    self->holds_mutex = false;
    world.mutex_holder = NULL;
    FUZZ_CHECK(verge_mutex_unlock(&world.mutex) == 0, "unlock");
}

static void hold_rwlock(struct actor *self, unsigned depth) {
    const bool writes = below(3) == 0;
    const uint32_t share = writes ? RW_WHOLE : 1;
    if (self->rw_share != 0) {
        return;
    }
    const uint64_t deadline_ns = some_deadline();
    model_wait_begin(self, AWAITS_RWLOCK, 0, deadline_ns);
    self->wait.amount = share;
    const int result =
        writes ? verge_rwlock_write(&world.rwlock, deadline_ns) : verge_rwlock_read(&world.rwlock, deadline_ns);
    model_wait_end(self, result);
    if (result == 0) {
        model_hold(&self->rw_share, &world.rw_held, share);
        act(self, depth + 1);
        model_let_go(&self->rw_share, &world.rw_held);
        FUZZ_CHECK(verge_rwlock_unlock(&world.rwlock) == 0, "unlock");
    }
}

static void enter_scope(struct actor *self, unsigned depth) {
    verge_deadline scope = {0};
    const uint64_t outer_ns = self->scope_ns, deadline_ns = some_deadline();
    FUZZ_CHECK(verge_deadline_push(&scope, deadline_ns) == 0, "push");
    self->scope_ns = deadline_ns < outer_ns ? deadline_ns : outer_ns;
    act(self, depth + 1);
    self->scope_ns = outer_ns;
    FUZZ_CHECK(verge_deadline_pop(&scope) == 0, "pop");
}

/* ---- the runtime ---- */

static void change_runtime(void) {
    switch (below(16)) {
    case 0:
        world.is_stopping = true;
        verge_runtime_stop(world.runtime);
        break;
    case 1:
    case 2:
        (void)verge_runtime_retire_worker(world.runtime, 1 + (uint32_t)below(2));
        break;
    case 3:
        if (world.worker_count < WORKERS_MAX) {
            const int result = verge_runtime_add_worker(world.runtime, NULL);
            FUZZ_CHECK(result == 0 || (result == -ENOMEM && world.memory.failures != 0), "add_worker");
            world.worker_count += result == 0;
        }
        break;
    default:
        FUZZ_CHECK(verge_yield() == 0, "yield");
    }
}

static void do_one(struct actor *self, unsigned depth, size_t what) {
    const bool may_nest = depth < DEPTH_MAX;
    switch (what) {
    case 0:
    case 1:
        send(self);
        break;
    case 2:
    case 3:
        receive(self);
        break;
    case 4:
        try_channel();
        break;
    case 5:
        close_channel();
        break;
    case 6:
        send_to_all();
        break;
    case 7:
        read_broadcast(self);
        break;
    case 8:
        sleep_some(self);
        break;
    case 9:
        wait_for_tick(self);
        break;
    case 10:
    case 11:
        choose(self);
        break;
    case 12:
    case 13:
        spawn(self);
        break;
    case 14:
        join(self);
        break;
    case 15:
        cancel();
        break;
    case 16:
        if (self->team != NULL) {
            spawn_member(self, self->team);
        }
        break;
    case 17:
        if (may_nest && !self->holds_mutex && model_child(self) == NULL && self->leads == NULL) {
            gather(self, depth);
        }
        break;
    case 18:
    case 19:
    case 20:
    case 21:
        if (may_nest) {
            static void (*const nest[])(struct actor *, unsigned) = {hold_amount, hold_mutex, hold_rwlock, enter_scope};
            nest[what - 18](self, depth);
        }
        break;
    case 22:
        if (below(2) == 0) {
            (void)verge_condition_signal(&world.condition);
        } else {
            (void)verge_condition_broadcast(&world.condition);
        }
        break;
    default:
        change_runtime();
    }
}

/* Makes some steps, and not more than are left for all actors. */
static void act(struct actor *self, unsigned depth) {
    for (size_t count = below(12); count > 0 && world.steps_left > 0; count--) {
        const size_t what = below(24);
        world.steps_left--;
        trace((uint64_t)self->index * 64 + what);
        do_one(self, depth, what);
    }
}

/* ---- a run ---- */

/* Spawns some actors, waits for them until END_NS, and then cancels those that have not ended. */
static intptr_t warden(void *argument) {
    struct actor *self = argument;
    for (size_t count = 1 + below(4); count > 0; count--) {
        spawn(self);
    }
    for (size_t i = 0; i < ACTORS_MAX; i++) {
        struct actor *child = &world.actors[i];
        intptr_t value = 0;
        if (child->task != NULL && child->parent == self) {
            int result = verge_task_join(child->task, &value, END_NS);
            model_look(self);
            if (result != 0) {
                FUZZ_CHECK(result == -ENOMEM || world.is_stopping || verge_now() == END_NS, "the warden's deadline");
                cancel_children(self);
                result = verge_task_join(child->task, &value, VERGE_REGARDLESS);
            }
            model_joined(self, child, value, result);
        }
    }
    FUZZ_CHECK(verge_now() <= END_NS, "no time passes after the end");
    model_ended(self);
    return 0;
}

static int open_world(void) {
    const size_t worker_count = 1 + below(WORKERS_MAX - 1);
    const size_t fails = below(8);
    const uint64_t fail_at = fails == 0 ? 1 + below(256) : 0;
    model_begin(worker_count, fail_at);
    verge_runtime_options options;
    FUZZ_CHECK(verge_runtime_options_init(&options, sizeof(options)) == 0, "options");
    options.worker_count = (uint32_t)worker_count;
    options.virtual_clock = &world.clock;
    options.precision_ns = 1;
    options.io_grace_ns = 0;
    options.backend = VERGE_BACKEND_EPOLL;
    options.allocator = &world.memory.allocator;
    options.task_count_max = world.task_count_max = below(8) == 0 ? 4 : 0;
    int error = verge_runtime_create(&options, &world.runtime);
    for (size_t i = 0; i < CHANNELS && error == 0; i++) {
        world.capacities[i] = 1 + below(3);
        error =
            verge_channel_create(sizeof(uint32_t), world.capacities[i], &world.memory.allocator, &world.channels[i]);
    }
    if (error == 0) {
        world.broadcast_capacity = 1 + below(4);
        error = verge_broadcast_create(sizeof(uint64_t), world.broadcast_capacity, &world.memory.allocator,
                                       &world.broadcast);
    }
    return error;
}

static void close_world(void) {
    for (size_t i = 0; i < CHANNELS; i++) {
        verge_channel_destroy(world.channels[i]);
    }
    verge_broadcast_destroy(world.broadcast);
    FUZZ_CHECK(world.runtime == NULL || verge_runtime_destroy(world.runtime) == 0, "destroy");
    FUZZ_CHECK(world.memory.complaint == NULL, "the contract of the allocator");
    FUZZ_CHECK(world.memory.blocks_in_use == 0, "all memory is given back");
}

static void look_back(void) {
    verge_runtime_stats stats = {.struct_size = sizeof(stats)};
    FUZZ_CHECK(verge_runtime_get_stats(world.runtime, &stats) == 0, "stats");
    FUZZ_CHECK(stats.tasks == 0, "no task is left");
    FUZZ_CHECK(stats.switches <= UINT64_C(2) * (STEPS_MAX + ACTORS_MAX) * (ACTORS_MAX + 2), "a bound of switches");
    for (size_t place = 0; place < CHANNELS; place++) {
        uint32_t item = NO_ITEM;
        int result;
        while ((result = verge_channel_receive(world.channels[place], &item, 0)) == 0) {
            model_received(item, place, result);
        }
    }
    model_end();
}

static uint64_t run(const uint8_t *bytes, size_t byte_count) {
    choices = verge_test_random_from_bytes(bytes, byte_count);
    const int error = open_world();
    FUZZ_CHECK(error == 0 || (error == -ENOMEM && world.memory.failures != 0), "a world is made");
    if (error == 0) {
        const int result = verge_runtime_run(world.runtime, warden, &world.actors[WARDEN], NULL);
        FUZZ_CHECK(result == 0 || (result == -ENOMEM && world.memory.failures != 0), "run");
        trace(world.clock.now_ns);
        if (result == 0) {
            look_back();
        }
    }
    close_world();
    return world.trace;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t byte_count) {
    const uint64_t first = run(bytes, byte_count);
    FUZZ_CHECK(run(bytes, byte_count) == first, "T7: the same bytes do the same again");
    return 0;
}
