/* SPDX-License-Identifier: MIT */
/*
 * Simulates the whole service from a seed: workers join, run, stall and leave; threads start, cancel and reset timers;
 * time passes; memory runs out. All this is interleaved at every step of the protocol, by chance or by priorities.
 * There are 10,000 seeds: VERGE_TEST_SEED replays one, VERGE_TEST_SEEDS sets how many, VERGE_TEST_SECONDS how long at
 * most.
 */
#include <errno.h>
#include <string.h>
#include <time.h>

#include "service/service_internal.h"
#include "service/simulation/audit.h"
#include "service/simulation/inspect.h"
#include "service/simulation/scheduler.h"
#include "support/allocator.h"
#include "support/cmocka.h"
#include "support/crash.h"

enum {
    WORKERS_MAX = 5,
    NARROW = 4,
    HELPLESS_MAX = 16,
};

#define PRECISION_NS (UINT64_C(1) << 20)
#define CROWD_NS (4 * PRECISION_NS)

struct world {
    struct verge_test_random random;
    struct scheduler scheduler;
    struct audit audit;
    struct verge_test_allocator memory;
    verge_manual_clock clock;
    verge_service *service;
    unsigned worker_count;
    unsigned remote_count;
    unsigned acts;     /* how many actions each actor does */
    bool is_watched;   /* stuck workers are rescued (stuck_after_ns) */
    bool is_published; /* as if there were a metronome: somebody calls tick now and then */
    bool memory_fails;
    bool threads_die;
    bool is_narrow;                 /* calls use the latest few timers, most are due at once, and most cancels wait */
    bool is_crowded;                /* many timers for one tick */
    verge_worker *lost[ACTORS_MAX]; /* workers whose threads have died, and which have not left yet */
    unsigned lost_count;
    bool goes_far;         /* some deadlines are 2^32 ticks away, and more */
    bool steps_back;       /* the clock goes back now and then */
    uint64_t latest_ns;    /* the latest time that the clock showed before it went back */
    const char *complaint; /* what an inspection has found */
    uint64_t inspections;
    uint32_t helpless_id;     /* the last stuck worker that needed help while all others slept */
    uint64_t helpless_moment; /* the moment of the audit at which helpless_id was set */
    unsigned helpless_count;  /* how often in a row the same worker needed help: a worker that is woken may help late */
    unsigned busy_count;      /* workers and remote threads that have not ended */
};

/* cmocka's callbacks get no context; there is one world at a time. */
static struct world *world;

static uint64_t below(uint64_t bound) {
    return verge_test_below(&world->random, bound);
}

static bool chance(uint64_t one_in) {
    return verge_test_chance(&world->random, one_in);
}

static uint64_t clock_now(void) {
    const verge_clock clock = verge_clock_manual(&world->clock);
    return clock.now_ns(clock.context);
}

/* ---- operations of any actor ---- */

static uint64_t some_deadline(void) {
    if (world->is_narrow && !chance(4)) {
        return clock_now();
    }
    if (world->is_crowded && !chance(4)) {
        return (clock_now() / CROWD_NS + 1) * CROWD_NS;
    }
    switch (below(world->goes_far ? 6 : 4)) {
    case 5:
        return clock_now() + (PRECISION_NS << 20) + below(PRECISION_NS << 34);
    case 4:
        return clock_now() + (PRECISION_NS << 32) * below(3) + below(8 * PRECISION_NS);
    case 0:
        return clock_now();
    case 1:
        return clock_now() + below(4 * PRECISION_NS);
    case 2:
        return clock_now() + below(300 * PRECISION_NS);
    default:
        return clock_now() - below(clock_now() < 3 * PRECISION_NS ? clock_now() : 3 * PRECISION_NS);
    }
}

static void on_timer(const verge_firing *firing);

static void start_one(void) {
    if (world->audit.life_count == TIMERS_MAX) {
        return;
    }
    verge_start_options options = {.struct_size = sizeof(options)};
    options.callback = on_timer;
    options.deadline_ns = some_deadline();
    options.period_ns = chance(6) ? PRECISION_NS + below(100 * PRECISION_NS) : 0;
    options.policy = (verge_interval_policy)below(3);
    options.worker_id = chance(4) ? (uint32_t)below(WORKERS_MAX + 2) : 0;
    struct life *life = audit_starting(&world->audit, options.deadline_ns, options.period_ns != 0);
    options.argument = life;
    int error = verge_service_start_with(world->service, &options, &life->handle);
    audit_started(&world->audit, life, error);
}

/* Returns a timer, or NULL. A timer is not known before its start has returned or its callback has begun. */
static struct life *some_timer(void) {
    if (world->audit.life_count == 0) {
        return NULL;
    }
    size_t count = world->audit.life_count;
    size_t old = world->is_narrow && count > NARROW ? count - NARROW : 0;
    struct life *life = &world->audit.lives[old + below(count - old)];
    return life->timer == 0 ? NULL : life;
}

/* The timer whose callback an actor is in. */
static struct life *inside[ACTORS_MAX];

static bool is_inside(const struct life *life) {
    int actor = scheduler_actor();
    return actor >= 0 && inside[actor] == life;
}

/* The timer whose callback an actor may be waiting for. */
static struct life *awaited[ACTORS_MAX];

/* Notes that an actor begins to wait for a callback. life NULL: it does not wait any more. */
static void begin_wait(struct life *life) {
    int actor = scheduler_actor();
    if (actor >= 0) {
        awaited[actor] = life;
        if (life != NULL && inside[actor] != NULL) {
            inside[actor]->last_run_that_waited = inside[actor]->fired;
        }
    }
}

/* Whether an actor waits for a callback to return, not for a turn. */
static bool sleeps_on_returns(unsigned actor) {
    const _Atomic uint32_t *word = scheduler_sleeps_on(actor);
    uint32_t count = atomic_load(&world->service->seat_count);
    for (uint32_t id = 1; id <= count; id++) {
        if (word == &verge__service_seat(world->service, id)->returns) {
            return true;
        }
    }
    return false;
}

/* Checks that no actor goes on sleeping when the callback that it waits for has returned. */
static void look_at_who_waits(void) {
    for (unsigned actor = 0; actor < ACTORS_MAX; actor++) {
        const struct life *life = awaited[actor];
        if (life != NULL && sleeps_on_returns(actor) && !inspect_is_running(world->service, life->timer)) {
            world->complaint = "cancel_wait goes on after the callback has returned";
        }
    }
}

static void cancel_one(struct life *life) {
    if (life == NULL) {
        return;
    }
    unsigned how = world->is_narrow ? 2 + (unsigned)below(3) : (unsigned)below(5);
    unsigned fired_before = audit_cancelling(&world->audit, life);
    life->is_shut = life->is_shut || how == 4;
    begin_wait(how >= 3 ? life : NULL);
    int verdict = how < 3    ? verge_service_cancel(world->service, life->timer)
                  : how == 3 ? verge_service_cancel_wait(world->service, life->timer)
                             : verge_service_shutdown(world->service, life->timer);
    begin_wait(NULL);
    audit_cancelled(&world->audit, life, verdict, how >= 3, is_inside(life), fired_before);
}

static void reset_one(struct life *life) {
    uint64_t deadline_ns = some_deadline();
    struct setting *setting = life == NULL ? NULL : audit_resetting(&world->audit, life, deadline_ns);
    if (setting != NULL) {
        int verdict = verge_service_reset(world->service, life->timer, deadline_ns);
        audit_reset(&world->audit, life, setting, verdict);
    }
}

static void look_at_one(struct life *life) {
    verge_timer_info info;
    if (life != NULL && verge_service_get(world->service, life->timer, &info) == 0) {
        assert_ptr_equal(info.argument, life);
        assert_ptr_equal(info.callback, on_timer);
    }
}

static uint64_t latest_now(void) {
    return clock_now() > world->latest_ns ? clock_now() : world->latest_ns;
}

static void pass_time(void) {
    if (world->steps_back && chance(6)) {
        uint64_t now_ns = clock_now();
        world->latest_ns = latest_now();
        verge_manual_clock_set(&world->clock,
                               now_ns - below(now_ns < 8 * PRECISION_NS ? now_ns + 1 : 8 * PRECISION_NS));
        return;
    }
    if (world->goes_far && chance(16)) {
        verge_manual_clock_advance(&world->clock, (PRECISION_NS << 32) + below(PRECISION_NS << 32));
        return;
    }
    verge_manual_clock_advance(&world->clock, chance(8) ? below(200 * PRECISION_NS) : below(3 * PRECISION_NS));
}

/* Returns 1 or, in a crowded world, sometimes up to 40. */
static uint64_t some_number(void) {
    return world->is_crowded && chance(2) ? 1 + below(40) : 1;
}

static void do_something(void) {
    switch (below(9)) {
    case 0:
    case 1:
    case 2:
        for (uint64_t left = some_number(); left > 0; left--) {
            start_one();
        }
        break;
    case 3:
    case 4:
        for (uint64_t left = some_number(); left > 0; left--) {
            cancel_one(some_timer());
        }
        break;
    case 5:
    case 6:
        reset_one(some_timer());
        break;
    case 7:
        look_at_one(some_timer());
        break;
    default:
        pass_time();
    }
    if (world->memory_fails) {
        world->memory.fail_at = chance(4) ? world->memory.calls + 1 : 0;
    }
}

/* ---- callbacks ---- */

static void on_timer(const verge_firing *firing) {
    struct life *life = firing->argument;
    int actor = scheduler_actor();
    audit_fired(&world->audit, life, firing, latest_now());
    life->timer = firing->timer; /* its start may not have returned yet */
    assert_ptr_equal(firing->service, world->service);
    struct life *outer = actor < 0 ? NULL : inside[actor];
    if (actor >= 0) {
        inside[actor] = life;
    }
    if (actor >= 0 && world->acts > 0) {
        unsigned kind = (unsigned)below(10);
        if (world->is_narrow && chance(2)) {
            cancel_one(some_timer());
        } else if (kind == 0) {
            reset_one(life);
        } else if (kind == 1) {
            cancel_one(life);
        } else if (kind == 2) {
            assert_int_equal(verge_worker_leave(firing->worker), 0);
        } else if (kind < 5) {
            do_something();
        } else if (kind == 5) {
            for (uint64_t i = below(60); i > 0; i--) { /* the callback takes long */
                scheduler_step();
            }
        } else if (kind == 8 && chance(2)) {
            static _Atomic uint32_t never_changes;
            scheduler_wait(&never_changes, 0, clock_now() + below(40 * PRECISION_NS)); /* the whole worker stalls */
        } else if (kind == 7 && world->threads_die && chance(4)) {
            world->lost[world->lost_count++] = firing->worker;
            world->busy_count--;
            audit_died(life);
            scheduler_die();
        } else if (kind == 6) {
            assert_int_equal(verge_worker_run_once(firing->worker, 0), -EBUSY);
            assert_int_equal(verge_service_destroy(world->service, NULL, NULL), -EDEADLK);
        }
    }
    if (actor >= 0) {
        inside[actor] = outer;
    }
    audit_returned(life);
}

/* ---- actors ---- */

/* An event loop of the user, which waits in its own way. */
struct waiting {
    _Atomic uint32_t wakes;
};

static struct waiting waitings[ACTORS_MAX];

/* The waits of a worker, by its id. */
static struct {
    unsigned changes;    /* how often a wait has begun or ended: odd during a wait */
    bool is_interrupted; /* by a whole call of verge_worker_interrupt since its last wait, or since it joined */
} waits[VERGE_WORKER_COUNT_MAX + 1];

/* Returns whether the wait must end at once. */
static bool note_wait_begins(const verge_worker *worker) {
    bool is_interrupted = waits[worker->id].is_interrupted;
    waits[worker->id].changes++;
    waits[worker->id].is_interrupted = false;
    return is_interrupted;
}

static void note_wait_ends(const verge_worker *worker, bool was_interrupted, bool has_slept) {
    waits[worker->id].changes++;
    if (was_interrupted && has_slept) {
        world->complaint = "a worker that was interrupted sleeps in its next wait";
    }
}

static void interrupt_one(void) {
    uint32_t count = atomic_load(&world->service->seat_count);
    if (count > 0) {
        uint32_t id = 1 + (uint32_t)below(count);
        unsigned changes = waits[id].changes;
        verge_worker_interrupt(verge__service_seat(world->service, id));
        if (waits[id].changes == changes && changes % 2 == 0) {
            waits[id].is_interrupted = true;
        }
    }
}

static void wake(void *context) {
    struct waiting *waiting = context;
    scheduler_step();
    atomic_fetch_add(&waiting->wakes, 1);
}

static verge_worker *join(void) {
    verge_worker *worker = NULL;
    verge_worker_options options = {.struct_size = sizeof(options)};
    options.unbound = chance(4);
    if (scheduler_actor() >= 0) {
        options.wake = wake;
        options.wake_context = &waitings[scheduler_actor()];
    }
    int error = verge_worker_join(world->service, &options, &worker);
    if (error == 0 && chance(2)) {
        worker->naps = true;
    }
    assert_true(error == 0 || error == -ENOMEM);
    if (error == 0) {
        waits[worker->id].changes += 2 - waits[worker->id].changes % 2;
        waits[worker->id].is_interrupted = false;
    }
    return worker;
}

static void wait_outside(verge_worker *worker) {
    struct waiting *waiting = &waitings[scheduler_actor()];
    uint32_t wakes = atomic_load(&waiting->wakes);
    bool is_interrupted = note_wait_begins(worker);
    uint64_t until_ns = verge_worker_begin_wait(worker);
    if (until_ns != 0) {
        scheduler_wait(&waiting->wakes, wakes, until_ns);
        verge_worker_end_wait(worker);
    }
    note_wait_ends(worker, is_interrupted, until_ns != 0);
}

static int run_or_wait(verge_worker *worker, uint64_t until_ns) {
    uint64_t wakeups = verge__counted(&worker->tally.wakeups);
    bool is_interrupted = note_wait_begins(worker);
    int fired = verge_worker_run_once(worker, until_ns);
    if (fired >= 0) { /* otherwise it has left, and another actor may have its seat */
        note_wait_ends(worker, is_interrupted, verge__counted(&worker->tally.wakeups) != wakeups);
    }
    return fired;
}

/*
 * Makes passes, as a thread of the service does, until a timer or another actor has run. If neither happens in 100
 * passes, the worker waits in a loop for an actor that cannot go on.
 */
static int run_on(verge_worker *worker) {
    enum { PASSES_MAX = 100 };
    int fired = 0;
    uint64_t switches = world->scheduler.switches;
    for (int i = 0; fired == 0 && world->scheduler.switches == switches; i++) {
        fired = run_or_wait(worker, VERGE_NEVER);
        if (i == PASSES_MAX) {
            world->complaint = "a worker neither runs a timer nor sleeps";
            return fired;
        }
    }
    return fired;
}

/* Makes one pass. If it runs nothing, no timer may have been due when it began. */
static int pass_once(verge_worker *worker) {
    uint64_t now_ns = clock_now();
    int fired = verge_worker_run_once(worker, 0);
    if (fired == 0 && !world->steps_back && inspect_has_due(world->service, worker, now_ns)) {
        world->complaint = "G12: a pass that ran nothing has left a timer that was due";
    }
    return fired;
}

static void be_worker(void) {
    verge_worker *worker = join();
    for (unsigned i = 0; i < world->acts; i++) {
        if (worker == NULL) {
            worker = join();
        } else if (chance(24)) {
            assert_int_equal(verge_worker_leave(worker), 0);
            worker = NULL;
        } else if (chance(3)) {
            do_something();
        } else if (chance(6)) {
            wait_outside(worker);
        } else if (world->scheduler.is_real_time && chance(2)) {
            int fired = run_on(worker);
            assert_true(fired >= 0 || fired == -ESHUTDOWN);
            worker = fired < 0 ? NULL : worker;
        } else {
            uint64_t until_ns = chance(3) ? clock_now() + below(20 * PRECISION_NS) : chance(3) ? VERGE_NEVER : 0;
            int fired = until_ns == 0 ? pass_once(worker) : run_or_wait(worker, until_ns);
            assert_true(fired >= 0 || fired == -ESHUTDOWN);
            worker = fired < 0 ? NULL : worker;
        }
    }
    if (worker != NULL) {
        assert_int_equal(verge_worker_leave(worker), 0);
    }
}

static void bury_one(void) {
    if (world->lost_count > 0) {
        verge_worker *worker = world->lost[--world->lost_count];
        atomic_store(&worker->has_living_thread, false); /* as a thread does when it ends (bound.c) */
        assert_int_equal(verge_worker_leave(worker), 0);
    }
}

static void be_remote(void) {
    for (unsigned i = 0; i < world->acts; i++) {
        if (chance(8)) {
            bury_one();
        }
        if (chance(8)) {
            interrupt_one();
        }
        do_something();
    }
}

static void inspect(void) {
    const char *wrong = inspect_service(world->service);
    world->inspections++;
    world->complaint = world->complaint == NULL ? wrong : world->complaint;
}

/* Called when all others sleep. If a worker is stuck and has due timers that another worker could run, ticks of the
 * metronome must wake that other worker, and it must help. In this case, ticks the metronome, and returns true. */
static bool see_to_the_stuck(void) {
    uint32_t id = inspect_who_needs_help(world->service, clock_now());
    if (id == 0 || world->memory_fails || world->steps_back || world->complaint != NULL) {
        return false;
    }
    bool is_the_same = id == world->helpless_id && world->audit.moment == world->helpless_moment;
    world->helpless_count = is_the_same ? world->helpless_count + 1 : 0;
    world->helpless_id = id;
    world->helpless_moment = world->audit.moment;
    if (world->helpless_count == HELPLESS_MAX) {
        world->complaint = "G11: a worker is stuck, another one sleeps, and what is due is not rescued";
    }
    assert_int_equal(verge_service_tick(world->service), 0);
    return true;
}

/* The actor that lets time pass, until all others have ended. */
static void be_time(void) {
    while (world->busy_count > 0) {
        uint64_t until_ns = 0;
        if (scheduler_others_sleep(&until_ns)) {
            inspect();
            if (world->is_watched && see_to_the_stuck()) {
                scheduler_step();
                continue;
            }
            if (world->lost_count > 0 && chance(2)) {
                bury_one();
            } else if (until_ns == VERGE_NEVER || chance(8)) {
                interrupt_one();
            } else if (chance(2)) {
                verge_manual_clock_set(&world->clock, until_ns);
            }
        }
        if ((world->is_watched || world->is_published) && chance(3)) {
            assert_int_equal(verge_service_tick(world->service), 0);
        }
        if (chance(4)) {
            pass_time();
        }
        look_at_who_waits();
        scheduler_step();
    }
}

static void act(void *context, unsigned actor) {
    (void)context;
    if (actor == 0) {
        be_time();
    } else if (actor <= world->worker_count) {
        be_worker();
        world->busy_count--;
    } else {
        be_remote();
        world->busy_count--;
    }
}

/* ---- the end ---- */

static void visit(void *context, const verge_pending *pending) {
    (void)context;
    audit_visited(&world->audit, pending->argument);
}

static void cancel_periodic(void) {
    for (size_t i = 0; i < world->audit.life_count; i++) {
        struct life *life = &world->audit.lives[i];
        if (life->is_periodic && life->has_started) {
            unsigned fired_before = audit_cancelling(&world->audit, life);
            int verdict = verge_service_cancel(world->service, life->timer);
            audit_cancelled(&world->audit, life, verdict, false, false, fired_before);
        }
    }
}

/* Lets a worker join at the end, which must find all timers that are left, and run them. */
static void drain(void) {
    world->memory.fail_at = 0;
    world->acts = 0;
    verge_worker *worker = join();
    assert_non_null(worker);
    cancel_periodic();
    for (int i = 0; i < 20; i++) {
        verge_manual_clock_advance(&world->clock, 100 * PRECISION_NS);
        while (verge_worker_run_once(worker, 0) > 0) {
        }
    }
    for (int i = 0; world->goes_far && i < 40; i++) {
        verge_manual_clock_advance(&world->clock, PRECISION_NS << 31);
        while (verge_worker_run_once(worker, 0) > 0 || verge_worker_next_wakeup(worker) == 0) {
        }
    }
    inspect();
    assert_int_equal(verge_service_count(world->service, 0), 0);
    verge_service_stats stats = {.struct_size = sizeof(stats)};
    assert_int_equal(verge_service_get_stats(world->service, &stats), 0);
    assert_int_equal(stats.started, stats.ended + stats.cancelled_locally + stats.cancelled_remotely);
    assert_int_equal(stats.orphans, 0);
    assert_int_equal(verge_worker_leave(worker), 0);
}

static void create(void) {
    verge_service_options options;
    assert_int_equal(verge_service_options_init(&options, sizeof(options)), 0);
    options.thread_count = 0;
    options.metronome = false;
    options.clock = verge_clock_manual(&world->clock);
    options.allocator = &world->memory.allocator;
    options.batch = 1 + below(8);
    options.timer_cap = chance(4) ? 8 + below(32) : 0;
    options.stuck_after_ns = world->is_watched ? PRECISION_NS + below(20 * PRECISION_NS) : 0;
    assert_int_equal(verge_service_create(&options, &world->service), 0);
    atomic_store(&world->service->metronome_is_on, world->is_published);
}

/* Returns what went wrong, or NULL. */
static const char *simulate(uint64_t seed) {
    static struct world the_world;
    world = &the_world;
    memset(world, 0, sizeof(*world));
    memset(inside, 0, sizeof(inside));
    memset(awaited, 0, sizeof(awaited));
    memset(waits, 0, sizeof(waits));
    world->random = verge_test_random_from(seed);
    verge_test_allocator_init(&world->memory);
    audit_begin(&world->audit);
    verge_manual_clock_set(&world->clock, below(2) * below(UINT64_C(1) << 50));
    world->worker_count = 1 + (unsigned)below(chance(4) ? WORKERS_MAX : WORKERS_MAX - 2);
    world->remote_count = (unsigned)below(3);
    world->acts = 10 + (unsigned)below(40);
    world->is_watched = chance(3);
    world->is_published = chance(4);
    world->memory_fails = chance(4);
    world->goes_far = chance(4);
    world->threads_die = chance(4);
    world->is_narrow = chance(4);
    world->is_crowded = chance(24);
    world->acts *= world->is_crowded ? 8 : 1;
    world->steps_back = chance(4);
    verge__orphans_min = chance(2) ? (uint32_t)below(8) : VERGE__ORPHANS_MIN;
    verge__fresh_at_once = 1 + (uint32_t)below(64);
    world->scheduler = (struct scheduler){.random = &world->random,
                                          .clock = &world->clock,
                                          .stay_in = 1 + (unsigned)below(6),
                                          .held_one_in = chance(2) ? 4 + (unsigned)below(60) : 0,
                                          .step_ns = PRECISION_NS,
                                          .steps_max = 10000000};
    world->scheduler.is_real_time = chance(4);
    for (unsigned i = 1; i < ACTORS_MAX; i++) { /* time passes when all others sleep */
        world->scheduler.priorities[i] = 1 + (unsigned)below(3);
    }
    world->busy_count = world->worker_count + world->remote_count;
    create();
    scheduler_run(&world->scheduler, 1 + world->worker_count + world->remote_count, act, NULL);
    if (world->scheduler.is_hung) {
        return "it hangs";
    }
    while (world->lost_count > 0) {
        bury_one();
    }
    inspect();
    bool drains = chance(2);
    if (drains) {
        drain();
    }
    if (verge_service_destroy(world->service, visit, NULL) != 0) {
        return "the service could not be destroyed";
    }
    audit_end(&world->audit);
    if (world->audit.complaint == NULL) {
        verge_test_allocator_assert_empty(&world->memory);
    }
    return world->audit.complaint == NULL ? world->complaint : world->audit.complaint;
}

/* A failed assertion ends the test at once. Then this seed is printed. */
static uint64_t seed_under_way;

static void say_seed(void) {
    if (seed_under_way != 0) {
        (void)fprintf(stderr, "to replay: VERGE_TEST_SEED=%llu, with VERGE_TEST_TRACE=1 to see it\n",
                      (unsigned long long)seed_under_way);
    }
}

static int say_seed_afterwards(void **state) {
    (void)state;
    say_seed();
    return 0;
}

static uint64_t seeds_wanted(void) {
    const char *text = getenv("VERGE_TEST_SEEDS");
#if defined(VERGE__THREADS_ARE_WATCHED)
    enum { SEEDS = 1000 }; /* few: the simulation has one thread, so ThreadSanitizer finds little */
#else
    enum { SEEDS = 10000 };
#endif
    return text != NULL && *text != '\0' ? strtoull(text, NULL, 0) : SEEDS;
}

static void every_timer_ends_once_whatever_happens(void **state) {
    (void)state;
    uint64_t first = verge_test_seed(1);
    uint64_t count = getenv("VERGE_TEST_SEED") != NULL && getenv("VERGE_TEST_SEEDS") == NULL ? 1 : seeds_wanted();
    double seconds = verge_test_seconds(1e9);
    clock_t begin = clock();
    uint64_t done = 0;
    uint64_t steps = 0;
    uint64_t inspections = 0;
    for (; done < count && (double)(clock() - begin) / CLOCKS_PER_SEC < seconds; done++) {
        seed_under_way = first + done;
        const char *complaint = simulate(seed_under_way);
        steps += world->scheduler.steps;
        inspections += world->inspections;
        if (complaint != NULL) {
            fail_msg("%s", complaint);
        }
    }
    seed_under_way = 0;
    (void)printf("%llu seeds, %llu steps, %llu inspections\n", (unsigned long long)done, (unsigned long long)steps,
                 (unsigned long long)inspections);
}

int main(void) {
    verge_test_on_crash(say_seed);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(every_timer_ends_once_whatever_happens, NULL, say_seed_afterwards)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
