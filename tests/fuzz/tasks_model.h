/* SPDX-License-Identifier: MIT */
/*
 * fuzz/tasks_model.h - what the fuzz target of tasks knows of its world, and checks at each call:
 *   - no call times out early (T1) or late, is cancelled without a cause, or goes on waiting when its task is cancelled
 *     (T4);
 *   - when the clock has moved, nobody waits for something that is available: time moves only when no task can run
 *     (T7);
 *   - an item is received once, and only where it was sent; a broadcast is read in order;
 *   - a mutex has one holder, a read-write lock readers or a writer, a semaphore does not give more than it has;
 *   - a task is joined once, with its value, after its end; no task outlives its group, and its first error counts
 *     (P1 to P3).
 * An actor is a task, a team is a group.
 */
#ifndef VERGE_TESTS_FUZZ_TASKS_MODEL_H
#define VERGE_TESTS_FUZZ_TASKS_MODEL_H

#include <errno.h>
#include <stdbool.h>

#include "fuzz/fuzz.h"
#include "support/allocator.h"
#include "support/random.h"
#include "verge/sync.h"

enum {
    CHANNELS = 3,
    ACTORS_MAX = 24,
    WARDEN = ACTORS_MAX, /* the first task, which spawns the first actors */
    WORKERS_MAX = 4,
    STEPS_MAX = 400, /* of all actors together */
    DEPTH_MAX = 4,
    ITEMS_MAX = STEPS_MAX * 10,
    NO_ITEM = ITEMS_MAX,
    SEMAPHORE_AMOUNT = 4,
    RW_WHOLE = 1000, /* what a writer holds; a reader holds 1 */
    END_NS = 2000,
};

#define NO_INTERVAL UINT64_MAX

enum awaited {
    AWAITS_NOTHING,
    AWAITS_ITEM,
    AWAITS_ROOM,
    AWAITS_BROADCAST,
    AWAITS_TIME,
    AWAITS_END,
    AWAITS_AMOUNT,
    AWAITS_MUTEX,
    AWAITS_MUTEX_REGARDLESS,
    AWAITS_RWLOCK,
    AWAITS_SIGNAL,
    AWAITS_TEAM,
    AWAITS_FIRST,
};

struct actor;

struct team {
    verge_group group;
    struct actor *owner;
    size_t live_count;
    uint64_t deadline_ns;
    int first_error;
    bool is_cancelled; /* by verge_group_cancel */
    bool is_waited_for;
};

struct wait {
    enum awaited kind;
    size_t object;        /* a channel; with AWAITS_END, an actor */
    uint64_t deadline_ns; /* the earliest of the call and its scopes */
    uint64_t began_ns;
    uint64_t time_ns;
    const verge_case *cases;
    size_t amount;   /* the number of cases; or how much of the semaphore or the lock is wanted */
    uint64_t number; /* grows from wait to wait */
    struct team *team;
    bool was_cancelled; /* when the wait began */
};

struct actor {
    uint32_t index;
    unsigned depth;
    struct actor *parent;
    struct team *team;  /* the team that it belongs to */
    struct team *leads; /* the team that it has begun; NULL: none */
    verge_task *task;   /* while the handle is valid; otherwise NULL */
    intptr_t value;     /* what its function returns */
    struct wait wait;
    uint64_t scope_ns;
    uint64_t position; /* the next item to read from the broadcast */
    verge_interval interval;
    uint64_t tick_ns; /* the last tick; NO_INTERVAL: the actor has no interval */
    uint32_t amount;
    uint32_t rw_share;
    bool holds_mutex;
    bool is_cancelled;
    bool has_begun, has_ended;
};

enum fate { NOT_SENT, SENT, RECEIVED };

extern struct world {
    verge_manual_clock clock;
    verge_runtime *runtime;
    struct verge_test_allocator memory;
    size_t worker_count;
    size_t task_count_max;
    bool is_stopping;

    verge_channel *channels[CHANNELS];
    size_t capacities[CHANNELS];
    bool is_closed[CHANNELS];
    verge_broadcast *broadcast;
    size_t broadcast_capacity;
    uint64_t broadcast_count;
    verge_semaphore semaphore;
    uint32_t amount_held;
    verge_mutex mutex;
    verge_condition condition;
    struct actor *mutex_holder;
    verge_rwlock rwlock;
    uint32_t rw_held;

    struct actor actors[ACTORS_MAX + 1];
    size_t actor_count;
    enum fate fates[ITEMS_MAX];
    size_t places[ITEMS_MAX]; /* the channel of each item */
    uint32_t item_count;
    size_t steps_left;
    uint64_t wait_count;
    uint64_t now_ns;
    uint64_t trace; /* a hash of all that has happened */
} world;

void model_begin(size_t worker_count, uint64_t fail_at);
void model_end(void);
void trace(uint64_t value);

/* To be called before and after a call that may wait. result: what the call that may wait has returned. */
void model_wait_begin(struct actor *self, enum awaited kind, size_t object, uint64_t deadline_ns);
void model_wait_end(struct actor *self, int result);

/* A task calls this first whenever it runs again. */
void model_look(const struct actor *self);

uint32_t model_new_item(size_t place);
void model_sent(uint32_t item, int result);
void model_received(uint32_t item, size_t place, int result);
void model_read(const struct actor *self, uint64_t before, uint64_t number, int result, bool wants_latest);
void model_ticked(struct actor *self, const verge_tick *tick, int result);

struct actor *model_new_actor(struct actor *parent, struct team *team); /* NULL: there is no room for more */
void model_spawned(struct actor *self, struct actor *child, int result, bool may_have_no_worker);
struct actor *model_child(const struct actor *self); /* a child that is to be joined, or NULL */
void model_joined(const struct actor *self, struct actor *child, intptr_t value, int result);
void model_ended(struct actor *self);
void model_team_ended(struct actor *self, struct team *team, int result);

/* Take and give back a part of the semaphore or the read-write lock. */
void model_hold(uint32_t *share, uint32_t *held, uint32_t amount);
void model_let_go(uint32_t *share, uint32_t *held);

#endif
