/* SPDX-License-Identifier: MIT */
/*
 * The workers of a runtime are actors of one thread (service/simulation/scheduler.h). Tasks are queued, woken, taken
 * over and stolen, workers are parked and called. At every step of these protocols, a seed decides which worker goes
 * on. The loops are those of the library; only the reactors are simulated.
 *
 *   Players are tasks that spawn, join, cancel, yield, and talk to each other. Each must begin and end once, and never
 *   be in two places. Pinned tasks must stay on their worker, unless it retires.
 *   A hog makes a task ready, and keeps its worker busy until another worker has run that task. If a wake-up is lost,
 *   or a task is left where nobody looks, the world hangs. A third of the worlds have one processor and priorities
 *   (SCHED_FIFO). There, a worker that waits for another one without sleeping hangs.
 *
 * Every eighth seed is played twice, and must take the same number of steps. VERGE_TEST_SEED is the first seed,
 * VERGE_TEST_SEEDS is how many are played.
 */
#define _GNU_SOURCE

#include "service/simulation/scheduler.h"
#include "support/crash.h"
#include "task/current.h"
#include "task/queue.h"
#include "task/search.h"
#include "task/share.h"
#include "task/support.h"

enum {
    SEEDS_DEFAULT = VERGE__TSAN ? 20 : 10000,
    WORKERS_MAX = 4,
    PLAYERS_MAX = 60,
    CHILDREN_MAX = 4,
    ACTIONS_MAX = 8,
    MESSAGES_MAX = 6,
    CROWD = VERGE__TSAN ? 10 : 600, /* 600: more than a ring holds */
    STEPS_MAX = 3000000,
    NOBODY = -1,
};

struct player {
    int begun_count, ended_count;
    int inside;         /* the actor that runs the player; NOBODY: the player is in a call */
    uint32_t pinned_to; /* VERGE_WORKER_ANY: it is not pinned */
};

static struct {
    uint64_t seed;
    struct verge_test_random random;
    struct scheduler scheduler;
    verge_manual_clock clock;
    verge_runtime *runtime;
    uint32_t worker_count;
    uint32_t retired; /* the worker that retires; 0: none */
    bool will_stop, is_stopped;
    bool has_hog;
    _Atomic bool flag; /* a hog keeps its worker busy until this is true */
    uint32_t open_count;
    verge_mutex mutex;
    const struct player *owner;
    struct player players[PLAYERS_MAX];
    unsigned player_count;
    unsigned crowd_count; /* how many tasks of crowds have not run yet */
    uint64_t migrated;
} world;

static uint64_t below(uint64_t bound) {
    return verge_test_below(&world.random, bound);
}

static bool chance(uint64_t one_in) {
    return verge_test_chance(&world.random, one_in);
}

/* ---- reactors that only wait ---- */

struct idle_reactor {
    verge__reactor reactor;
    verge__runner *runner;
    uint64_t until_step;
};

static bool is_asleep(void *context) {
    const struct idle_reactor *idle = context;
    return atomic_load(&idle->runner->is_waiting) && world.scheduler.steps < idle->until_step;
}

static int wait_for_wake(verge__reactor *reactor, uint64_t timeout_ns) {
    struct idle_reactor *idle = (struct idle_reactor *)reactor;
    scheduler_step();
    if (timeout_ns != 0) {
        idle->until_step = timeout_ns == VERGE_NEVER ? UINT64_MAX : world.scheduler.steps + 1 + below(300);
        scheduler_wait_while(is_asleep, idle);
    }
    return 0;
}

static void close_reactor(verge__reactor *reactor) {
    verge__reactor_release(reactor, sizeof(struct idle_reactor));
}

static const verge__reactor_type idle_type = {.name = "idle", .close = close_reactor, .wait = wait_for_wake};

/* ---- players ---- */

static void enter(struct player *self) {
    CHECK_EQUAL(self->inside, NOBODY);
    self->inside = scheduler_actor();
    if (self->pinned_to != VERGE_WORKER_ANY && self->pinned_to != world.retired) {
        CHECK_EQUAL(verge_task_worker_id(), self->pinned_to);
    }
}

static void leave(struct player *self) {
    CHECK_EQUAL(self->inside, scheduler_actor());
    self->inside = NOBODY;
}

/* Makes a call that may wait. It must return 0 or, if the task is cancelled, -ECANCELED. */
#define CALL(self, call) \
    do { \
        leave(self); \
        const int call_result = (call); \
        enter(self); \
        CHECK(call_result == 0 || (call_result == -ECANCELED && verge_task_is_cancelled())); \
    } while (0)

static intptr_t play(void *argument);

/* Returns NULL if there are enough players, or the runtime stops. */
static verge_task *spawn_player(void) {
    if (world.player_count == PLAYERS_MAX) {
        return NULL;
    }
    struct player *player = &world.players[world.player_count++];
    const uint32_t anywhere = chance(2) ? VERGE_WORKER_ANY : VERGE_WORKER_HERE;
    const uint32_t index = chance(3) ? (uint32_t)below(world.worker_count) : anywhere;
    *player = (struct player){.inside = NOBODY, .pinned_to = index < world.worker_count ? index : VERGE_WORKER_ANY};
    verge_task *task = NULL;
    const int error = spawn_at(world.runtime, index, play, player, &task);
    CHECK(error == 0 || (error == -ESHUTDOWN && world.is_stopped));
    if (error != 0) {
        player->begun_count = player->ended_count = 1; /* the task was not spawned: count the player as ended */
    }
    return task;
}

struct talk {
    verge_channel *there, *back;
    unsigned messages;
};

static intptr_t answer(void *argument) {
    const struct talk *talk = argument;
    unsigned item = 0;
    int error = 0;
    for (unsigned i = 0; i < talk->messages && error == 0; i++) {
        error = verge_channel_receive(talk->there, &item, VERGE_NEVER);
        CHECK(error != 0 || item == i);
        error = error == 0 ? verge_channel_send(talk->back, &item, VERGE_NEVER) : error;
    }
    CHECK(error == 0 || error == -EPIPE || (error == -ECANCELED && verge_task_is_cancelled()));
    return verge_channel_close(talk->back);
}

static void talk_to_a_task(struct player *self) {
    struct talk talk = {.messages = 1 + (unsigned)below(MESSAGES_MAX)};
    verge_task *task = NULL;
    CHECK_EQUAL(verge_channel_create(sizeof(unsigned), 1 + below(2), NULL, &talk.there), 0);
    CHECK_EQUAL(verge_channel_create(sizeof(unsigned), 1 + below(2), NULL, &talk.back), 0);
    const uint32_t index = chance(4) ? (uint32_t)below(world.worker_count) : VERGE_WORKER_ANY;
    leave(self);
    int error = spawn_at(NULL, index, answer, &talk, &task);
    for (unsigned i = 0; i < talk.messages && error == 0; i++) {
        unsigned item = i;
        error = verge_channel_send(talk.there, &item, VERGE_NEVER);
        error = error == 0 ? verge_channel_receive(talk.back, &item, VERGE_NEVER) : error;
        CHECK(error != 0 || item == i);
    }
    CHECK_EQUAL(verge_channel_close(talk.there), 0);
    CHECK(error == 0 || error == -EPIPE || error == -ESHUTDOWN || (error == -ECANCELED && verge_task_is_cancelled()));
    CHECK(task == NULL || verge_task_join(task, NULL, VERGE_REGARDLESS) == 0);
    enter(self);
    verge_channel_destroy(talk.there);
    verge_channel_destroy(talk.back);
}

static intptr_t set_flag(void *argument) {
    atomic_store((_Atomic bool *)argument, true);
    return 0;
}

/* Whether there may be a hog: a hog needs another worker that nobody keeps busy. */
static bool may_have_a_hog(void) {
    return !world.has_hog && !world.scheduler.is_real_time && world.open_count >= world.worker_count;
}

static void keep_the_worker_until_the_flag_is_set(void) {
    while (!atomic_load(&world.flag)) {
        scheduler_step();
    }
    atomic_store(&world.flag, false);
    world.has_hog = false;
}

static void be_a_hog(void) {
    if (may_have_a_hog()) {
        world.has_hog = true;
        verge_task *task = NULL;
        const int error = verge_spawn(set_flag, (void *)&world.flag, &task);
        CHECK(error == 0 || (error == -ESHUTDOWN && world.is_stopped));
        if (error == 0) {
            keep_the_worker_until_the_flag_is_set();
            CHECK_EQUAL(verge_task_join(task, NULL, VERGE_REGARDLESS), 0);
        } else {
            world.has_hog = false;
        }
    }
}

/* Checks that a worker that retires leaves soon, even while this task keeps its own worker busy. */
static void wait_for_who_retires(void) {
    const uint32_t retired = world.retired;
    if (retired != 0 && retired != verge_task_worker_id() && may_have_a_hog()) {
        world.has_hog = true;
        while (atomic_load(&world.runtime->runners[retired]->inbox) != &verge__inbox_closed) {
            scheduler_step();
        }
        world.has_hog = false;
    }
}

static intptr_t keep_a_worker(void *argument) {
    (void)argument;
    keep_the_worker_until_the_flag_is_set();
    return 0;
}

static intptr_t do_nothing(void *argument) {
    (void)argument;
    return 0;
}

/* Sends one task more than there are workers, all at once. The first keeps its worker busy until the last one has
 * run. */
static void send_a_batch(void) {
    const uint32_t count = world.worker_count + 1;
    if (!may_have_a_hog() || world.is_stopped || verge__run_is_over(world.runtime)) {
        return;
    }
    world.has_hog = true;
    for (uint32_t i = 0; i < count; i++) {
        const verge_task_function function = i == 0 ? keep_a_worker : i + 1 < count ? do_nothing : set_flag;
        CHECK_EQUAL(spawn_at(world.runtime, VERGE_WORKER_ANY, function, (void *)&world.flag, NULL), 0);
    }
}

/* If the runtime will stop, waits for that in a call: a stop must reach all tasks. */
static void wait_for_the_stop(struct player *self) {
    verge_channel *channel;
    int item;
    if (world.will_stop) {
        CHECK_EQUAL(verge_channel_create(sizeof(item), 1, NULL, &channel), 0);
        leave(self);
        CHECK_EQUAL(verge_channel_receive(channel, &item, VERGE_NEVER), -ECANCELED);
        enter(self);
        verge_channel_destroy(channel);
    }
}

static void lock_and_unlock(struct player *self) {
    leave(self);
    const int error = verge_mutex_lock(&world.mutex, VERGE_NEVER);
    enter(self);
    CHECK(error == 0 || (error == -ECANCELED && verge_task_is_cancelled()));
    if (error == 0) {
        CHECK(world.owner == NULL);
        world.owner = self;
        if (chance(2)) {
            CALL(self, verge_yield());
        }
        CHECK(world.owner == self);
        world.owner = NULL;
        CHECK_EQUAL(verge_mutex_unlock(&world.mutex), 0);
    }
}

static intptr_t be_counted(void *argument) {
    (void)argument;
    world.crowd_count--;
    return 0;
}

/* Lets other workers empty the ring of this one, for a while. */
static void let_others_take(void) {
    const verge__runner *runner = verge__current_runner();
    for (uint64_t steps = below(20000); steps > 0 && verge__task_ring_count(&runner->ring) != 0; steps--) {
        scheduler_step();
    }
}

/* Spawns more tasks than a ring holds, except with ThreadSanitizer. Yields while other workers take them. */
static void spawn_a_crowd(struct player *self) {
    for (int i = 0; i < CROWD; i++) {
        world.crowd_count++;
        const int error = verge_spawn(be_counted, NULL, NULL);
        CHECK(error == 0 || (error == -ESHUTDOWN && world.is_stopped));
        world.crowd_count -= error != 0;
    }
    for (uint64_t i = below(8); i > 0; i--) {
        let_others_take();
        CALL(self, verge_yield());
    }
}

static intptr_t play(void *argument) {
    struct player *self = argument;
    verge_task *children[CHILDREN_MAX];
    size_t child_count = 0;
    self->begun_count++;
    enter(self);
    for (uint64_t i = 1 + below(ACTIONS_MAX); i > 0; i--) {
        switch (below(10)) {
        case 0:
        case 1:
            if (child_count < CHILDREN_MAX) {
                children[child_count] = spawn_player();
                child_count += children[child_count] != NULL;
            }
            break;
        case 2:
            if (child_count > 0) {
                CALL(self, verge_task_join(children[--child_count], NULL, VERGE_REGARDLESS));
            }
            break;
        case 3:
            if (child_count > 0) {
                CHECK_EQUAL(verge_task_cancel(children[below(child_count)]), 0);
            }
            break;
        case 4:
            talk_to_a_task(self);
            break;
        case 5:
            leave(self);
            be_a_hog();
            enter(self);
            break;
        case 6:
            lock_and_unlock(self);
            break;
        case 7:
            leave(self);
            wait_for_who_retires();
            enter(self);
            break;
        case 8:
            wait_for_the_stop(self);
            break;
        default:
            CALL(self, verge_yield());
        }
    }
    if (chance(200)) {
        spawn_a_crowd(self);
    }
    while (child_count > 0) {
        CALL(self, verge_task_join(children[--child_count], NULL, VERGE_REGARDLESS));
    }
    leave(self);
    self->ended_count++;
    return 0;
}

/* ---- actors: the workers, somebody outside, and the time that passes ---- */

static void be_a_worker(uint32_t index) {
    verge__runner *runner = world.runtime->runners[index];
    verge__reactor *reactor = NULL;
    CHECK_EQUAL(verge__reactor_allocate(&idle_type, &world.runtime->allocator, sizeof(struct idle_reactor), &reactor),
                0);
    ((struct idle_reactor *)reactor)->runner = runner;
    CHECK_EQUAL(verge__runner_open(runner, reactor), 0);
    world.open_count++;
    verge__runner_loop(runner);
    verge__runner_close(runner);
    verge__reactor_close(reactor);
}

static void be_outside(void) {
    for (uint64_t i = below(400); i > 0; i--) {
        scheduler_step();
    }
    if (chance(2)) {
        send_a_batch();
    }
    if (world.worker_count > 2 && chance(2) && !verge__run_is_over(world.runtime)) {
        world.retired = 1 + (uint32_t)below(world.worker_count - 1);
        CHECK_EQUAL(verge_runtime_retire_worker(world.runtime, world.retired), 0);
    }
    for (uint64_t i = below(400); i > 0; i--) {
        scheduler_step();
    }
    if (world.will_stop) {
        world.is_stopped = true;
        verge_runtime_stop(world.runtime);
    }
}

/* With real-time priorities, time passes only in steps of actors that are awake. This one always is, so naps end. */
static void let_time_pass(void) {
    while (!verge__run_is_over(world.runtime)) {
        scheduler_step();
    }
}

static void act(void *context, unsigned actor) {
    (void)context;
    if (actor < world.worker_count) {
        be_a_worker(actor);
    } else if (actor == world.worker_count) {
        be_outside();
    } else {
        let_time_pass();
    }
}

/* ---- a world ---- */

static void create_world(uint64_t seed) {
    memset(&world, 0, sizeof(world));
    world.seed = seed;
    world.random = verge_test_random_from(seed);
    world.will_stop = chance(4);
    world.worker_count = 2 + (uint32_t)below(WORKERS_MAX - 1);
    verge_runtime_options options = runtime_options(world.worker_count);
    options.clock = verge_clock_manual(&world.clock);
    CHECK_EQUAL(verge_runtime_create(&options, &world.runtime), 0);
    world.scheduler = (struct scheduler){
        .random = &world.random,
        .clock = &world.clock,
        .stay_in = 1 + (unsigned)below(4),
        .held_one_in = chance(2) ? 20 : 0,
        .is_real_time = chance(3),
        .steps_max = STEPS_MAX,
    };
    for (unsigned i = 0; i <= world.worker_count; i++) {
        world.scheduler.priorities[i] = 1 + (unsigned)below(3);
    }
}

static void audit(void) {
    CHECK(!world.scheduler.is_hung);
    CHECK_EQUAL(verge__task_count(world.runtime), 0);
    CHECK(!atomic_load(&world.runtime->is_searching));
    CHECK_EQUAL(atomic_load(&world.runtime->parked[0]), 0);
    CHECK_EQUAL(world.crowd_count, 0);
    for (unsigned i = 0; i < world.player_count; i++) {
        CHECK_EQUAL(world.players[i].begun_count, 1);
        CHECK_EQUAL(world.players[i].ended_count, 1);
    }
    for (uint32_t i = 0; i < world.worker_count; i++) {
        const verge__runner *runner = world.runtime->runners[i];
        CHECK(runner->listed == NULL && runner->ready.first == NULL && runner->handed_over == NULL);
        CHECK(!verge__has_shared(runner));
        CHECK_EQUAL(atomic_load(&runner->credit), 0);
        world.migrated += atomic_load(&runner->migrated);
    }
}

/* Plays a world, and returns how many steps it took. */
static uint64_t play_seed(uint64_t seed) {
    create_world(seed);
    for (uint64_t i = 1 + below(4); i > 0; i--) {
        verge_task *task = spawn_player();
        CHECK_EQUAL(verge_task_detach(task), 0);
    }
    scheduler_run(&world.scheduler, world.worker_count + 2, act, NULL);
    audit();
    if (!world.scheduler.is_hung) {
        CHECK_EQUAL(verge_runtime_destroy(world.runtime), 0);
    }
    return world.scheduler.steps;
}

static void say_seed(void) {
    (void)fprintf(stderr, "again: VERGE_TEST_SEED=%llu\n", (unsigned long long)world.seed);
}

static void every_seed_ends_as_promised_and_twice_the_same(void **state) {
    (void)state;
    const uint64_t first_seed = verge_test_seed(1);
    const char *text = getenv("VERGE_TEST_SEEDS");
    const uint64_t seed_count = text != NULL && *text != '\0' ? strtoull(text, NULL, 0) : SEEDS_DEFAULT;
    uint64_t step_count = 0, migrated = 0, player_count = 0;
    verge_test_on_crash(say_seed);
    for (uint64_t seed = first_seed; seed < first_seed + seed_count; seed++) {
        atomic_store(&failed_check_count, 0);
        const uint64_t steps = play_seed(seed);
        migrated += world.migrated;
        player_count += world.player_count;
        if (atomic_load(&failed_check_count) == 0 && seed % 8 == 0) {
            CHECK_EQUAL(play_seed(seed), steps);
        }
        if (atomic_load(&failed_check_count) != 0) {
            say_seed();
            assert_int_equal(atomic_load(&failed_check_count), 0);
        }
        step_count += steps;
    }
    assert_true(seed_count < 100 || migrated > seed_count); /* tasks do move to other workers */
    (void)printf("%llu seeds, %llu players, %llu steps, %llu tasks changed their worker\n",
                 (unsigned long long)seed_count, (unsigned long long)player_count, (unsigned long long)step_count,
                 (unsigned long long)migrated);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_seed_ends_as_promised_and_twice_the_same),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
