/* SPDX-License-Identifier: MIT */
/*
 * A deadline of 0: every call that would have to wait returns at once. It allocates nothing, no time passes, no other
 * task runs, and its task joins no list. Then random calls with any deadline: each result is compared with a model. T1
 * to T4 are promises of verge/task.h.
 */
#include "task/support.h"
#include "verge/blocking.h"
#include "verge/sync.h"

/* ---- every call ---- */

static struct {
    verge_mutex mutex, held;
    verge_condition condition;
    verge_channel *empty, *full;
    verge_semaphore semaphore;
    verge_rwlock lock;
    verge_once once;
    verge_broadcast *broadcast;
    verge_interval interval;
    verge_task *sleeper;
    struct verge_test_allocator memory;
    uint64_t other_rounds;   /* how often the other task ran, which runs whenever it can */
    uint64_t blocking_tries; /* how often verge_blocking was tried */
    bool is_over;
} all;

static int lock_mutex(uint64_t deadline_ns) {
    return verge_mutex_lock(&all.mutex, deadline_ns);
}

static int wait_for_condition(uint64_t deadline_ns) {
    return verge_condition_wait(&all.condition, &all.held, deadline_ns);
}

static int receive(uint64_t deadline_ns) {
    uint32_t item;
    return verge_channel_receive(all.empty, &item, deadline_ns);
}

static int send_item(uint64_t deadline_ns) {
    const uint32_t item = 0;
    return verge_channel_send(all.full, &item, deadline_ns);
}

static int acquire(uint64_t deadline_ns) {
    return verge_semaphore_acquire(&all.semaphore, 1, deadline_ns);
}

static int read_lock(uint64_t deadline_ns) {
    return verge_rwlock_read(&all.lock, deadline_ns);
}

static int write_lock(uint64_t deadline_ns) {
    return verge_rwlock_write(&all.lock, deadline_ns);
}

static int is_not_called(void *argument) {
    (void)argument;
    CHECK(false);
    return 0;
}

static int do_once(uint64_t deadline_ns) {
    return verge_once_do(&all.once, is_not_called, NULL, deadline_ns);
}

static int receive_broadcast(uint64_t deadline_ns) {
    uint64_t position = 0;
    uint32_t item;
    return verge_broadcast_receive(all.broadcast, &position, &item, deadline_ns);
}

static int read_latest(uint64_t deadline_ns) {
    uint64_t position = 0;
    uint32_t item;
    return verge_broadcast_latest(all.broadcast, &position, &item, deadline_ns);
}

static int join_sleeper(uint64_t deadline_ns) {
    return verge_task_join(all.sleeper, NULL, deadline_ns);
}

static int wait_for_tick(uint64_t deadline_ns) {
    return verge_interval_wait(&all.interval, NULL, deadline_ns);
}

static int select_first(uint64_t deadline_ns) {
    uint32_t item;
    uint64_t position = 0;
    verge_case cases[] = {
        verge_case_receive(all.empty, &item),
        verge_case_send(all.full, &item),
        verge_case_join(all.sleeper, NULL),
        verge_case_tick(&all.interval, NULL),
        verge_case_condition(&all.condition, &all.held),
        verge_case_next(all.broadcast, &position, &item),
        {0},
    };
    return verge_select(cases, COUNT_OF(cases), deadline_ns);
}

static int select_none(uint64_t deadline_ns) {
    return verge_select(NULL, 0, deadline_ns);
}

static intptr_t is_not_run(void *argument) {
    (void)argument;
    CHECK(false);
    return 0;
}

static int block(uint64_t deadline_ns) {
    all.blocking_tries++;
    return verge_blocking(is_not_run, NULL, NULL, NULL, deadline_ns);
}

static int (*const calls[])(uint64_t) = {
    lock_mutex,  wait_for_condition, receive,      send_item,     acquire,      read_lock,   write_lock, do_once,
    read_latest, receive_broadcast,  join_sleeper, wait_for_tick, select_first, select_none, block,
};

/* Calls that accept VERGE_REGARDLESS. */
static bool waits_regardless(int (*call)(uint64_t)) {
    return call == lock_mutex || call == do_once || call == join_sleeper;
}

static bool nobody_waits(void) {
    return all.mutex.waiting[0] == NULL && all.condition.waiting[0] == NULL && all.semaphore.waiting[0] == NULL &&
           all.lock.waiting[0] == NULL && all.once.mutex.waiting[0] == NULL;
}

/* Returns what all calls have returned, or 1 if they have returned different values. */
static int try_all(void) {
    int result = 0;
    for (size_t i = 0; i < COUNT_OF(calls); i++) {
        const uint64_t before_ns = verge_now(), rounds = all.other_rounds, allocations = all.memory.calls;
        const int error = calls[i](0);
        CHECK_EQUAL(verge_now(), before_ns);
        CHECK_EQUAL(all.other_rounds, rounds);
        CHECK_EQUAL(all.memory.calls, allocations);
        CHECK(nobody_waits());
        result = i == 0 || result == error ? error : 1;
    }
    return result;
}

static void refuse_regardless(void) {
    for (size_t i = 0; i < COUNT_OF(calls); i++) {
        if (!waits_regardless(calls[i])) {
            const uint64_t before_ns = verge_now(), allocations = all.memory.calls;
            CHECK_EQUAL(calls[i](VERGE_REGARDLESS), -EINVAL);
            CHECK_EQUAL(verge_now(), before_ns);
            CHECK_EQUAL(all.memory.calls, allocations);
            CHECK(nobody_waits());
        }
    }
}

static intptr_t holds_everything(void *argument) {
    (void)argument;
    CHECK_EQUAL(verge_mutex_lock(&all.mutex, 0), 0);
    CHECK_EQUAL(verge_mutex_lock(&all.once.mutex, 0), 0);
    CHECK_EQUAL(verge_rwlock_write(&all.lock, 0), 0);
    while (!all.is_over) {
        all.other_rounds++;
        CHECK_EQUAL(verge_yield(), 0);
    }
    CHECK_EQUAL(verge_rwlock_unlock(&all.lock), 0);
    CHECK_EQUAL(verge_mutex_unlock(&all.once.mutex), 0);
    CHECK_EQUAL(verge_mutex_unlock(&all.mutex), 0);
    return 0;
}

static intptr_t tries(void *argument) {
    const int expected = *(const int *)argument;
    const uint64_t failures = all.memory.failures;
    all.memory.fail_from = all.memory.calls + 1;
    for (int i = 0; i < 100; i++) { /* more calls in a row than waiting calls make before they yield */
        CHECK_EQUAL(try_all(), expected);
    }
    CHECK_EQUAL(all.memory.failures, failures);
    if (expected == -ETIMEDOUT) {
        CHECK_EQUAL(receive(verge_now() + 1), -ENOMEM); /* a call that waits finds no memory for its timer */
        CHECK_EQUAL(try_all(), -ETIMEDOUT);
    }
    all.memory.fail_from = 0;
    return 0;
}

static intptr_t tries_and_is_cancelled(void *argument) {
    (void)argument;
    uint32_t item = 0;
    int expected = -ETIMEDOUT;
    all.sleeper = spawn(holds_everything, NULL);
    CHECK_EQUAL(verge_yield(), 0);
    CHECK_EQUAL(verge_channel_create(sizeof(item), 1, NULL, &all.empty), 0);
    CHECK_EQUAL(verge_channel_create(sizeof(item), 1, NULL, &all.full), 0);
    CHECK_EQUAL(verge_broadcast_create(sizeof(item), 1, NULL, &all.broadcast), 0);
    CHECK_EQUAL(verge_channel_send(all.full, &item, 0), 0);
    CHECK_EQUAL(verge_mutex_lock(&all.held, 0), 0);
    CHECK_EQUAL(verge_interval_init(&all.interval, verge_now() + HOUR, HOUR, VERGE_INTERVAL_SKIP), 0);
    const uint64_t timeouts = stats_of(verge_task_runtime()).timeouts;
    (void)tries(&expected);
    const uint64_t tries_of_blocking = all.blocking_tries;
    refuse_regardless();
    /* Of these tries, only those of verge_blocking count as timeouts. */
    CHECK_EQUAL(stats_of(verge_task_runtime()).timeouts, timeouts + tries_of_blocking);
    CHECK_EQUAL(verge_task_cancel(verge_task_current()), 0);
    expected = -ECANCELED; /* T4 */
    (void)tries(&expected);
    all.is_over = true;
    CHECK_EQUAL(verge_task_join(all.sleeper, NULL, VERGE_REGARDLESS), 0);
    CHECK_EQUAL(lock_mutex(0), 0); /* T3: a call that need not wait succeeds, though the task is cancelled */
    CHECK_EQUAL(lock_mutex(0), -EDEADLK);
    CHECK_EQUAL(verge_mutex_unlock(&all.mutex), 0);
    CHECK_EQUAL(write_lock(0), 0);
    CHECK_EQUAL(read_lock(0), -EDEADLK);
    CHECK_EQUAL(verge_rwlock_unlock(&all.lock), 0);
    CHECK_EQUAL(verge_semaphore_release(&all.semaphore, 1), 0);
    CHECK_EQUAL(acquire(0), 0);
    CHECK_EQUAL(verge_mutex_unlock(&all.held), 0);
    verge_channel_destroy(all.empty);
    verge_channel_destroy(all.full);
    verge_broadcast_destroy(all.broadcast);
    return 0;
}

static void a_try_allocates_nothing_and_waits_for_nothing(void **state) {
    (void)state;
    memset(&all, 0, sizeof(all));
    verge_test_allocator_init(&all.memory);
    verge_manual_clock clock = {HOUR};
    verge_runtime_options options = runtime_options(1);
    options.virtual_clock = &clock;
    options.precision_ns = 1;
    options.allocator = &all.memory.allocator;
    (void)run_with(options, tries_and_is_cancelled, NULL);
    verge_test_allocator_assert_empty(&all.memory);
}

static intptr_t sleeps_for_an_hour(void *argument) {
    (void)argument;
    return verge_sleep(HOUR) == -ECANCELED ? 0 : -1;
}

/* P1 (verge/sync.h): verge_group_wait waits for all members, whatever its deadline. */
static intptr_t waits_for_a_group(void *argument) {
    struct verge_test_allocator *memory = argument;
    verge_group group;
    CHECK_EQUAL(verge_group_begin(&group), 0);
    CHECK_EQUAL(verge_group_wait(&group, 0), 0);
    CHECK_EQUAL(verge_group_begin(&group), 0);
    CHECK_EQUAL(verge_group_spawn(&group, sleeps_for_an_hour, NULL), 0);
    CHECK_EQUAL(verge_sleep(1), 0);
    const uint64_t before_ns = verge_now(), allocations = memory->calls;
    CHECK_EQUAL(verge_group_wait(&group, 0), -ETIMEDOUT);
    CHECK_EQUAL(memory->calls, allocations);
    CHECK_EQUAL(verge_now(), before_ns);
    CHECK_EQUAL(group.count, 0);
    return 0;
}

static void a_deadline_of_0_cancels_a_group(void **state) {
    (void)state;
    struct verge_test_allocator memory;
    verge_test_allocator_init(&memory);
    verge_manual_clock clock = {0};
    verge_runtime_options options = runtime_options(1);
    options.virtual_clock = &clock;
    options.allocator = &memory.allocator;
    (void)run_with(options, waits_for_a_group, &memory);
    verge_test_allocator_assert_empty(&memory);
}

static void plain_threads_try_as_well(void **state) {
    (void)state;
    verge_semaphore semaphore = VERGE_SEMAPHORE_INIT(1);
    verge_rwlock lock = VERGE_RWLOCK_INIT;
    verge_mutex mutex = VERGE_MUTEX_INIT;
    verge_condition condition = VERGE_CONDITION_INIT;
    verge_broadcast *broadcast = NULL;
    uint64_t position = 0;
    assert_int_equal(verge_broadcast_create(0, 1, NULL, &broadcast), 0);
    assert_int_equal(verge_broadcast_receive(broadcast, &position, NULL, 0), -ETIMEDOUT);
    assert_int_equal(verge_broadcast_send(broadcast, NULL), 0);
    assert_int_equal(verge_broadcast_receive(broadcast, &position, NULL, 0), 0);
    assert_int_equal(verge_semaphore_acquire(&semaphore, 1, 0), 0);
    assert_int_equal(verge_semaphore_acquire(&semaphore, 1, 0), -ETIMEDOUT);
    assert_int_equal(verge_rwlock_read(&lock, 0), 0);
    assert_int_equal(verge_rwlock_read(&lock, 0), 0);
    assert_int_equal(verge_rwlock_write(&lock, 0), -ETIMEDOUT);
    assert_int_equal(verge_mutex_lock(&mutex, 0), 0);
    assert_int_equal(verge_condition_wait(&condition, &mutex, 0), -ETIMEDOUT);
    assert_int_equal(verge_mutex_unlock(&mutex), 0);
    assert_null(semaphore.waiting[0]);
    assert_null(lock.waiting[0]);
    assert_null(condition.waiting[0]);
    verge_broadcast_destroy(broadcast);
}

/* ---- at random, compared with a model ---- */

enum { PLAYERS = 6, ROUNDS = 30, AMOUNT = 3, CAPACITY = 2, END_NS = 100, CHILD_NS = 10 };

struct before {
    uint64_t now_ns, deadline_ns;
    bool must_wait, is_cancelled;
};

struct player {
    struct verge_test_random random;
    verge_task *task, *child;
    bool child_has_ended, is_cancelled;
    uint32_t wants;  /* how much the player wants of the gate at which it waits */
    bool is_granted; /* the player has what it wants, and need not wait any more */
    uint64_t position;
    verge_interval interval;
    const struct before *before_once;
    bool is_called; /* verge_once_do has called `fails` */
};

/*
 * The model of all objects that serve players in order: an amount, and a queue of players that want a part of it (D1 in
 * src/task/semaphore.c). A mutex has an amount of 1. A read-write lock has an amount of 1 for each player, and a writer
 * wants all of it. A channel is two gates, one for items and one for room: passing one of them adds to the other.
 */
struct gate {
    uint32_t available;
    struct player *queue[PLAYERS];
    size_t length;
    struct gate *other;
};

static struct {
    struct player players[PLAYERS];
    struct gate mutex_gate, semaphore_gate, lock_gate, once_gate, items, room;
    verge_mutex mutex;
    verge_semaphore semaphore;
    verge_rwlock lock;
    verge_once once;
    verge_condition condition;
    verge_channel *channel;
    verge_broadcast *broadcast;
    uint64_t sent;          /* how many items were sent to the broadcast */
    struct player *running; /* the player that ran last */
    uint64_t seed;
    uint64_t got, tried_in_vain, timed_out, cancelled; /* counted over all seeds, to check that each happens */
} world;

static size_t below(struct player *player, size_t bound) {
    return (size_t)verge_test_below(&player->random, bound);
}

static void grant(struct gate *gate);

static void pass(struct gate *gate, uint32_t wants) {
    gate->available -= wants;
    if (gate->other != NULL) {
        gate->other->available += wants;
        grant(gate->other);
    }
}

static void leave(struct gate *gate, size_t place) {
    gate->length--;
    memmove(&gate->queue[place], &gate->queue[place + 1], (gate->length - place) * sizeof(*gate->queue));
}

static void grant(struct gate *gate) {
    while (gate->length > 0 && gate->queue[0]->wants <= gate->available) {
        struct player *first = gate->queue[0];
        first->is_granted = true;
        leave(gate, 0);
        pass(gate, first->wants);
    }
}

static void give_back(struct gate *gate, uint32_t amount) {
    gate->available += amount;
    grant(gate);
}

static uint64_t some_deadline(struct player *player) {
    switch (below(player, 6)) {
    case 0:
    case 1:
        return 0;
    case 2:
        return VERGE_NEVER;
    case 3:
        return verge_now() - below(player, 3);
    default:
        return verge_now() + below(player, 12);
    }
}

static struct before before_call(struct player *player, uint64_t deadline_ns, bool must_wait) {
    world.running = player;
    return (struct before){verge_now(), deadline_ns, must_wait, player->is_cancelled};
}

/* Compares a result with the model. True: the call succeeded. */
static bool after_call(struct player *player, const struct before *before, int result) {
    const uint64_t now_ns = verge_now();
    const bool tries = before->deadline_ns == 0;
    if (!before->must_wait || tries) {
        CHECK_EQUAL(now_ns, before->now_ns); /* T3 */
    }
    if (tries) {
        CHECK(world.running == player);
        CHECK_EQUAL(result, !before->must_wait ? 0 : before->is_cancelled ? -ECANCELED : -ETIMEDOUT);
        world.tried_in_vain += before->must_wait;
    } else {
        CHECK(result == 0 || result == -ETIMEDOUT || result == -ECANCELED);
        CHECK_EQUAL(result == 0, !before->must_wait || player->is_granted); /* T2 */
    }
    if (result == -ETIMEDOUT && !tries) { /* T1; the call is not late either */
        CHECK_EQUAL(now_ns, before->deadline_ns > before->now_ns ? before->deadline_ns : before->now_ns);
        CHECK(!before->is_cancelled);
        world.timed_out++;
    }
    if (result == -ECANCELED) {
        CHECK(player->is_cancelled); /* T4 */
        CHECK(!before->is_cancelled || now_ns == before->now_ns);
        world.cancelled++;
    }
    world.running = player;
    world.got += result == 0;
    return result == 0;
}

enum gate_call { LOCK, ACQUIRE, READ, WRITE, SEND, RECEIVE };

static int make_call(enum gate_call call, uint32_t wants, uint64_t deadline_ns) {
    switch (call) {
    case LOCK:
        return verge_mutex_lock(&world.mutex, deadline_ns);
    case ACQUIRE:
        return verge_semaphore_acquire(&world.semaphore, wants, deadline_ns);
    case READ:
        return verge_rwlock_read(&world.lock, deadline_ns);
    case WRITE:
        return verge_rwlock_write(&world.lock, deadline_ns);
    case SEND:
        return verge_channel_send(world.channel, NULL, deadline_ns);
    default:
        return verge_channel_receive(world.channel, NULL, deadline_ns);
    }
}

/* Called before a call that may wait at the gate. */
static struct before come_to(struct player *player, struct gate *gate, uint32_t wants, uint64_t deadline_ns) {
    const struct before before = before_call(player, deadline_ns, gate->length > 0 || wants > gate->available);
    player->is_granted = false;
    player->wants = wants;
    if (!before.must_wait) {
        pass(gate, wants);
    } else if (deadline_ns != 0) {
        gate->queue[gate->length++] = player;
    }
    return before;
}

/* Called after that call: the player does not wait any more. */
static void go_from(struct player *player, struct gate *gate) {
    for (size_t i = 0; i < gate->length; i++) {
        if (gate->queue[i] == player) {
            leave(gate, i);
            grant(gate); /* the players behind this one may want less, and get it now */
            break;
        }
    }
}

static bool go_through(struct player *player, struct gate *gate, enum gate_call call, uint32_t wants) {
    const struct before before = come_to(player, gate, wants, some_deadline(player));
    const int result = make_call(call, wants, before.deadline_ns);
    go_from(player, gate);
    return after_call(player, &before, result);
}

/* Never succeeds, so that verge_once_do calls it again. */
static int fails(void *argument) {
    struct player *player = argument;
    player->is_called = true;
    (void)after_call(player, player->before_once, 0);
    (void)verge_sleep(below(player, 6));
    world.running = player;
    give_back(&world.once_gate, 1);
    return -EPROTO;
}

static void call_once(struct player *player) {
    const struct before before = come_to(player, &world.once_gate, 1, some_deadline(player));
    player->before_once = &before;
    player->is_called = false;
    const int result = verge_once_do(&world.once, fails, player, before.deadline_ns);
    if (player->is_called) {
        CHECK_EQUAL(result, -EPROTO);
    } else {
        go_from(player, &world.once_gate);
        CHECK(!after_call(player, &before, result));
    }
}

static void use(struct player *player, struct gate *gate, enum gate_call call, uint32_t wants) {
    if (!go_through(player, gate, call, wants)) {
        return;
    }
    (void)verge_sleep(below(player, 6));
    if (call == LOCK) {
        const struct before before = before_call(player, 0, true);
        CHECK(!after_call(player, &before, verge_condition_wait(&world.condition, &world.mutex, 0)));
    }
    world.running = player;
    give_back(gate, wants);
    CHECK_EQUAL(call == LOCK      ? verge_mutex_unlock(&world.mutex)
                : call == ACQUIRE ? verge_semaphore_release(&world.semaphore, wants)
                                  : verge_rwlock_unlock(&world.lock),
                0);
}

static void read_broadcast(struct player *player) {
    const uint64_t deadline_ns = some_deadline(player);
    player->is_granted = false;
    /* In three cases of four, nothing is new. */
    player->position = below(player, 4) == 0 ? player->position : world.sent;
    const struct before before = before_call(player, deadline_ns, player->position == world.sent);
    player->wants = UINT32_MAX; /* no amount: the player wants the next item of the broadcast */
    const int result = verge_broadcast_latest(world.broadcast, &player->position, NULL, deadline_ns);
    player->wants = 0;
    if (after_call(player, &before, result)) {
        CHECK(player->position <= world.sent);
    }
}

static void send_to_all(struct player *player) {
    world.running = player;
    world.sent++;
    for (size_t i = 0; i < PLAYERS; i++) {
        struct player *other = &world.players[i];
        other->is_granted = other->is_granted || other->wants == UINT32_MAX;
    }
    CHECK_EQUAL(verge_broadcast_send(world.broadcast, NULL), 0);
}

static intptr_t child_main(void *argument) {
    struct player *parent = argument;
    (void)verge_sleep(below(parent, CHILD_NS));
    parent->child_has_ended = true;
    return 0;
}

static void join_child(struct player *player) {
    if (player->child == NULL) {
        player->child_has_ended = false;
        player->child = spawn(child_main, player);
    }
    const struct before before = before_call(player, some_deadline(player), !player->child_has_ended);
    const int result = verge_task_join(player->child, NULL, before.deadline_ns);
    player->is_granted = player->child_has_ended;
    if (after_call(player, &before, result)) {
        player->child = NULL;
    }
}

static void wait_for_interval(struct player *player) {
    const uint64_t tick_ns = player->interval.deadline_ns;
    const struct before before = before_call(player, some_deadline(player), tick_ns > verge_now());
    const int result = verge_interval_wait(&player->interval, NULL, before.deadline_ns);
    player->is_granted = verge_now() >= tick_ns && before.deadline_ns >= tick_ns && result != -ECANCELED;
    (void)after_call(player, &before, result);
}

static void cancel_somebody(struct player *player) {
    struct player *other = &world.players[below(player, PLAYERS)];
    if (other->task != NULL && below(player, 6) == 0) {
        other->is_cancelled = true;
        CHECK_EQUAL(verge_task_cancel(other->task), 0);
    }
}

static void play_round(struct player *player) {
    switch (below(player, 11)) {
    case 0:
        use(player, &world.mutex_gate, LOCK, 1);
        break;
    case 1:
        use(player, &world.semaphore_gate, ACQUIRE, 1 + (uint32_t)below(player, AMOUNT));
        break;
    case 2:
        use(player, &world.lock_gate, READ, 1);
        break;
    case 3:
        use(player, &world.lock_gate, WRITE, PLAYERS);
        break;
    case 4:
        (void)go_through(player, &world.room, SEND, 1);
        break;
    case 5:
        (void)go_through(player, &world.items, RECEIVE, 1);
        break;
    case 6:
        below(player, 3) == 0 ? send_to_all(player) : read_broadcast(player);
        break;
    case 7:
        join_child(player);
        break;
    case 8:
        wait_for_interval(player);
        break;
    case 9:
        call_once(player);
        break;
    default:
        cancel_somebody(player);
    }
}

static intptr_t player_main(void *argument) {
    struct player *player = argument;
    for (int i = 0; i < ROUNDS; i++) {
        play_round(player);
    }
    if (player->child != NULL) {
        CHECK_EQUAL(verge_task_join(player->child, NULL, VERGE_REGARDLESS), 0);
    }
    return 0;
}

static intptr_t play(void *argument) {
    (void)argument;
    CHECK_EQUAL(verge_channel_create(0, CAPACITY, NULL, &world.channel), 0);
    CHECK_EQUAL(verge_broadcast_create(0, 1, NULL, &world.broadcast), 0);
    struct verge_test_random random = verge_test_random_from(world.seed);
    for (size_t i = 0; i < PLAYERS; i++) {
        struct player *player = &world.players[i];
        *player = (struct player){.random = verge_test_random_from(verge_test_next(&random))};
        CHECK_EQUAL(verge_interval_init(&player->interval, verge_now(), 1 + below(player, 9), VERGE_INTERVAL_SKIP), 0);
        player->task = spawn_on((uint32_t)i % 2, player_main, player);
    }
    CHECK_EQUAL(verge_sleep(END_NS), 0);
    for (size_t i = 0; i < PLAYERS; i++) { /* some players would wait for ever */
        world.players[i].is_cancelled = true;
        CHECK_EQUAL(verge_task_cancel(world.players[i].task), 0);
    }
    for (size_t i = 0; i < PLAYERS; i++) {
        CHECK_EQUAL(join(world.players[i].task), 0);
    }
    CHECK(verge_now() <= 1000 + END_NS + CHILD_NS); /* a cancelled player waits only for its child */
    verge_channel_destroy(world.channel);
    verge_broadcast_destroy(world.broadcast);
    return 0;
}

static void begin_world(uint64_t seed) {
    world.seed = seed;
    world.mutex = (verge_mutex)VERGE_MUTEX_INIT;
    world.semaphore = (verge_semaphore)VERGE_SEMAPHORE_INIT(AMOUNT);
    world.lock = (verge_rwlock)VERGE_RWLOCK_INIT;
    world.once = (verge_once)VERGE_ONCE_INIT;
    world.condition = (verge_condition)VERGE_CONDITION_INIT;
    world.mutex_gate = (struct gate){.available = 1};
    world.once_gate = (struct gate){.available = 1};
    world.semaphore_gate = (struct gate){.available = AMOUNT};
    world.lock_gate = (struct gate){.available = PLAYERS};
    world.items = (struct gate){.available = 0, .other = &world.room};
    world.room = (struct gate){.available = CAPACITY, .other = &world.items};
    world.sent = 0;
}

static void every_deadline_does_as_the_model(void **state) {
    (void)state;
    const uint64_t first = verge_test_seed(1), count = VERGE__TSAN ? 20 : 1000;
    for (uint64_t seed = first; seed < first + count; seed++) {
        begin_world(seed);
        verge_manual_clock clock = {1000};
        verge_runtime_options options = runtime_options(2);
        options.virtual_clock = &clock;
        options.precision_ns = 1;
        verge_runtime *runtime = runtime_with(options);
        assert_int_equal(verge_runtime_run(runtime, play, NULL, NULL), 0);
        if (atomic_load(&failed_check_count) != 0) {
            (void)fprintf(stderr, "again: VERGE_TEST_SEED=%llu\n", (unsigned long long)seed);
        }
        end_runtime(runtime);
    }
    assert_true(world.got > 10 * count && world.tried_in_vain > 5 * count && world.timed_out > 5 * count &&
                world.cancelled > 5 * count);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_try_allocates_nothing_and_waits_for_nothing),
        cmocka_unit_test(a_deadline_of_0_cancels_a_group),
        cmocka_unit_test(plain_threads_try_as_well),
        cmocka_unit_test(every_deadline_does_as_the_model),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
