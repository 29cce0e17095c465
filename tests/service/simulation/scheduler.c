/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE /* MAP_ANONYMOUS */
#include "service/simulation/scheduler.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "base/step.h"
#include "service/park.h"

enum {
    STACK_SIZE = 256 * 1024,
    HELD_STEPS_MAX = 300,
    STEPS_WITHOUT_TIME = 16,
};

/* From task/current.h. */
struct verge__runner;
struct verge__runner *verge__current_runner(void);
void verge__set_current_runner(struct verge__runner *runner);
struct verge_task *verge__current_task(void); /* the first member of a task is its context */

struct actor {
    struct verge__context context;
    struct verge__context own; /* copy of the context with which the actor began; for the sanitizers */
    void *stack;
    verge_worker *bound;          /* the worker to which the actor is bound */
    struct verge__runner *runner; /* the runner as which the actor runs tasks, if any */
    bool has_ended;
    unsigned number;
    _Atomic uint32_t *waits_on; /* NULL: it waits for no word */
    uint32_t expected;
    uint64_t until_ns;
    bool (*is_waiting)(void *context); /* NULL: it waits for no condition */
    void *context_of_wait;
    uint64_t held_until; /* the actor is held up until this step */
};

static struct scheduler *running;
static struct verge__context loop;
static struct actor actors[ACTORS_MAX];
static struct actor *current;
static void (*actor_body)(void *context, unsigned actor);
static void *actor_context;

static void *stack_of(struct actor *actor) {
    if (actor->stack == NULL) {
        actor->stack = mmap(NULL, STACK_SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (actor->stack == MAP_FAILED) {
            abort();
        }
    }
    return actor->stack;
}

/* For the sanitizers: notes on which stack the actor is, its own or that of a task that it runs. */
static void note_flow(struct actor *actor) {
    const struct verge_task *task = verge__current_task();
    const char *here = (const char *)__builtin_frame_address(0);
    const bool is_own = here >= (char *)actor->stack && here < (char *)actor->stack + STACK_SIZE;
    const struct verge__context *flow = is_own ? &actor->own : (const struct verge__context *)(const void *)task;
#if VERGE__ASAN
    actor->context.stack_low = flow->stack_low;
    actor->context.stack_size = flow->stack_size;
#endif
#if VERGE__TSAN
    actor->context.fiber = flow->fiber;
#endif
    (void)flow;
}

static void leave_actor(void) {
    note_flow(current);
    verge__context_switch(&current->context, &loop);
}

static void enter(void *argument) {
    struct actor *actor = argument;
    actor_body(actor_context, actor->number);
    actor->has_ended = true;
    note_flow(actor);
    verge__context_leave(&actor->context, &loop);
}

void scheduler_step(void) {
    if (current == NULL) {
        return;
    }
    struct scheduler *scheduler = running;
    scheduler->steps++;
    if (scheduler->steps > scheduler->steps_max) {
        scheduler->is_hung = true;
        leave_actor(); /* does not return */
    }
    if (scheduler->is_real_time) {
        if (verge_test_chance(scheduler->random, STEPS_WITHOUT_TIME)) {
            verge_manual_clock_advance(scheduler->clock, verge_test_below(scheduler->random, scheduler->step_ns));
        }
        leave_actor();
    } else if (verge_test_chance(scheduler->random, scheduler->stay_in)) {
        if (scheduler->held_one_in != 0 && verge_test_chance(scheduler->random, scheduler->held_one_in)) {
            current->held_until = scheduler->steps + verge_test_below(scheduler->random, HELD_STEPS_MAX);
        }
        leave_actor();
    }
}

static void step_hook(const char *step) {
    (void)step;
    scheduler_step();
}

static uint64_t clock_now(void) {
    const verge_clock clock = verge_clock_manual(running->clock);
    return clock.now_ns(clock.context);
}

static bool sleeps(const struct actor *actor) {
    if (actor->is_waiting != NULL) {
        return actor->is_waiting(actor->context_of_wait);
    }
    return actor->waits_on != NULL && atomic_load(actor->waits_on) == actor->expected && clock_now() < actor->until_ns;
}

const _Atomic uint32_t *scheduler_sleeps_on(unsigned actor) {
    return !actors[actor].has_ended && sleeps(&actors[actor]) ? actors[actor].waits_on : NULL;
}

bool scheduler_others_sleep(uint64_t *ret_until_ns) {
    *ret_until_ns = VERGE_NEVER;
    bool any = false;
    for (unsigned i = 0; i < ACTORS_MAX; i++) {
        const struct actor *actor = &actors[i];
        if (actor == current || actor->has_ended) {
            continue;
        }
        if (!sleeps(actor)) {
            return false;
        }
        any = true;
        *ret_until_ns = actor->until_ns < *ret_until_ns ? actor->until_ns : *ret_until_ns;
    }
    return any;
}

static void let_others_go_on(struct actor *actor) {
    while (sleeps(actor)) {
        running->steps++;
        if (running->steps > running->steps_max) {
            running->is_hung = true;
        }
        leave_actor();
    }
}

/* verge__wait_hook: lets other actors run until the word has changed or the time has come. */
static bool wait_hook(_Atomic uint32_t *word, uint32_t expected, uint64_t until_ns) {
    if (current == NULL) {
        return true;
    }
    struct actor *actor = current;
    actor->waits_on = word;
    actor->expected = expected;
    actor->until_ns = until_ns;
    let_others_go_on(actor);
    actor->waits_on = NULL;
    return true;
}

void scheduler_wait_while(bool (*is_waiting)(void *context), void *context) {
    struct actor *actor = current;
    actor->context_of_wait = context;
    actor->is_waiting = is_waiting;
    let_others_go_on(actor);
    actor->is_waiting = NULL;
}

void scheduler_wait(_Atomic uint32_t *word, uint32_t expected, uint64_t until_ns) {
    (void)wait_hook(word, expected, until_ns);
}

void scheduler_die(void) {
    current->has_ended = true;
    leave_actor();
    abort();
}

/* Lists the actors that have not ended and are not held up. There may be none. */
static unsigned find_alive(unsigned actor_count, uint64_t steps, unsigned *alive) {
    unsigned count = 0;
    for (unsigned i = 0; i < actor_count; i++) {
        if (!actors[i].has_ended && actors[i].held_until <= steps) {
            alive[count++] = i;
        }
    }
    return count;
}

/* Lists the actors that have the highest priority of those that do not sleep. */
static unsigned find_urgent(const struct scheduler *scheduler, unsigned actor_count, unsigned *urgent) {
    unsigned count = 0;
    for (unsigned i = 0; i < actor_count; i++) {
        if (actors[i].has_ended || sleeps(&actors[i])) {
            continue;
        }
        if (count > 0 && scheduler->priorities[i] > scheduler->priorities[urgent[0]]) {
            count = 0;
        }
        if (count == 0 || scheduler->priorities[i] == scheduler->priorities[urgent[0]]) {
            urgent[count++] = i;
        }
    }
    return count;
}

static struct actor *pick(const struct scheduler *scheduler, unsigned actor_count) {
    unsigned alive[ACTORS_MAX];
    if (scheduler->is_real_time) {
        unsigned urgent = find_urgent(scheduler, actor_count, alive);
        return urgent == 0 ? NULL : &actors[alive[verge_test_below(scheduler->random, urgent)]];
    }
    unsigned count = find_alive(actor_count, scheduler->steps, alive);
    count = count == 0 ? find_alive(actor_count, UINT64_MAX, alive) : count;
    return count == 0 ? NULL : &actors[alive[verge_test_below(scheduler->random, count)]];
}

void scheduler_run(struct scheduler *scheduler, unsigned actor_count, void (*body)(void *context, unsigned actor),
                   void *context) {
    running = scheduler;
    actor_body = body;
    actor_context = context;
    verge__context_adopt(&loop);
    for (unsigned i = 0; i < ACTORS_MAX; i++) {
        actors[i].has_ended = true;
    }
    for (unsigned i = 0; i < actor_count; i++) {
        actors[i].has_ended = false;
        actors[i].waits_on = NULL;
        actors[i].is_waiting = NULL;
        actors[i].held_until = 0;
        actors[i].bound = NULL;
        actors[i].runner = NULL;
        actors[i].number = i;
        verge__context_init(&actors[i].context, stack_of(&actors[i]), STACK_SIZE, enter, &actors[i]);
        actors[i].own = actors[i].context;
    }
    verge__step_hook = step_hook;
    verge__wait_hook = wait_hook;
    const struct actor *last = NULL;
    for (struct actor *next = pick(scheduler, actor_count); next != NULL && !scheduler->is_hung;
         next = pick(scheduler, actor_count)) {
        scheduler->switches += next != last;
        last = next;
        (void)verge__exchange_bound(next->bound);
        verge__set_current_runner(next->runner);
        current = next;
        verge__context_switch(&loop, &next->context);
        current = NULL;
        next->bound = verge__exchange_bound(NULL);
        next->runner = verge__current_runner();
        verge__set_current_runner(NULL);
    }
    verge__step_hook = NULL;
    verge__wait_hook = NULL;
    if (!scheduler->is_hung) {
        for (unsigned i = 0; i < actor_count; i++) {
            verge__context_deinit(&actors[i].context);
        }
    }
    running = NULL;
}

int scheduler_actor(void) {
    return current == NULL ? -1 : (int)current->number;
}
