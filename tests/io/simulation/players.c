/* SPDX-License-Identifier: MIT */
/* The players: each makes up to 24 steps that the seed chooses, and ends once. */
#include "io/simulation/world.h"

enum { STEPS_MAX = 25, CHILDREN_ONE_IN = 8 };

/* ---- time ---- */

static void sleep_for_a_while(struct player *self) {
    const int64_t duration_ns = (int64_t)below(chance(4) ? HOUR : 20 * MS) - (int64_t)MS;
    const uint64_t wake_ns = verge_now() + (duration_ns > 0 ? (uint64_t)duration_ns : 0);
    const struct before before = before_call(self, wake_ns);
    const int result = verge_sleep((uint64_t)duration_ns);
    if (result == 0) {
        CHECK(verge_now() >= wake_ns); /* T1 */
        CHECK(duration_ns <= 0 || !before.is_cancelled);
        CHECK(wake_ns <= minimum(self->scope_ns, VERGE_NEVER) || duration_ns <= 0 || verge_now() == before.now_ns);
        if (world->memory.failures == before.failures) {
            CHECK(verge_now() - wake_ns < world->precision_ns + (world->jumped_ns - before.jumped_ns));
        }
    } else {
        CHECK(duration_ns > 0); /* T3 */
        CHECK(result != -ETIMEDOUT || self->scope_ns < wake_ns);
    }
    after_call(self, "sleep", &before, result, FOR_TASKS);
}

static void take_ticks(struct player *self) {
    const verge_interval_policy policies[] = {VERGE_INTERVAL_BURST, VERGE_INTERVAL_DELAY, VERGE_INTERVAL_SKIP};
    verge_interval interval;
    const uint64_t first_ns = verge_now() + below(10 * MS), period_ns = 1 + below(10 * MS);
    CHECK_EQUAL(verge_interval_init(&interval, first_ns, period_ns, policies[below(3)]), 0);
    for (uint64_t i = below(6), due_ns = first_ns; i > 0; i--) {
        verge_tick tick = {0};
        const struct before before = before_call(self, VERGE_NEVER);
        const int result = verge_interval_wait(&interval, &tick, VERGE_NEVER);
        if (result == 0) {
            CHECK(verge_now() >= tick.scheduled_ns && tick.scheduled_ns >= due_ns);
            due_ns = tick.scheduled_ns + 1;
        }
        after_call(self, "tick", &before, result, FOR_TASKS);
        if (result != 0) {
            return;
        }
    }
}

/* ---- other tasks ---- */

/* Returns another player with a valid handle, or NULL. */
static struct player *pick(const struct player *self) {
    struct player *player = &world->players[below(world->player_count)];
    return player->handle != NULL && player != self ? player : NULL;
}

void cancel_somebody(const struct player *self) {
    struct player *player = pick(self);
    if (player == NULL) {
        return;
    }
    if (!player->is_cancelled) {
        player->is_cancelled = true;
        player->cancelled_ns = verge_now();
        player->cancelled_jumped_ns = world->jumped_ns;
    }
    CHECK_EQUAL(verge_task_cancel(player->handle), 0);
    log_event(self, "cancel", player->id);
}

static void join_somebody(struct player *self) {
    struct player *player = pick(self);
    if (player == NULL || player->is_being_joined) {
        return;
    }
    player->is_being_joined = true;
    const uint64_t deadline_ns = random_deadline();
    const struct before before = before_call(self, deadline_ns);
    intptr_t result = -1;
    const int error = verge_task_join(player->handle, &result, deadline_ns);
    player->is_being_joined = false;
    if (error == 0) {
        player->handle = NULL;
        CHECK_EQUAL(player->ended_count, 1);
        CHECK_EQUAL(result, player->id * 3 + 1);
    }
    after_call(self, "join", &before, error, FOR_TASKS);
}

static void detach_somebody(struct player *self) {
    struct player *player = pick(self);
    if (player != NULL && !player->is_being_joined) {
        CHECK_EQUAL(verge_task_detach(player->handle), 0);
        player->handle = NULL;
        log_event(self, "detach", player->id);
    }
}

/* ---- a player ---- */

static void take_a_step(struct player *self);

static void take_steps_in_a_scope(struct player *self) {
    verge_deadline scope;
    const uint64_t outer_ns = self->scope_ns, deadline_ns = random_deadline();
    CHECK_EQUAL(verge_deadline_push(&scope, deadline_ns), 0);
    self->scope_ns = minimum(outer_ns, deadline_ns);
    for (uint64_t i = below(3); i > 0; i--) {
        take_a_step(self);
    }
    self->scope_ns = outer_ns;
    CHECK_EQUAL(verge_deadline_pop(&scope), 0);
}

static void take_a_step(struct player *self) {
    switch (below(17)) {
    case 0:
    case 1:
    case 2:
        sleep_for_a_while(self);
        break;
    case 3:
        take_ticks(self);
        break;
    case 4:
        CHECK_EQUAL(verge_yield(), 0);
        break;
    case 5:
        join_somebody(self);
        break;
    case 6:
        if (chance(3)) {
            detach_somebody(self);
        } else if (chance(4)) {
            cancel_somebody(self);
        }
        break;
    case 7:
        take_steps_in_a_scope(self);
        break;
    case 8:
    case 9:
    case 10:
        share(self);
        break;
    case 11:
        use_file(self);
        break;
    default:
        use_stream(self);
        break;
    }
}

static intptr_t play(void *argument) {
    struct player *self = argument;
    self->begun_count++;
    log_event(self, "begin", verge_task_worker_id());
    for (uint64_t i = below(STEPS_MAX); i > 0 && !(verge_task_is_cancelled() && chance(3)); i--) {
        take_a_step(self);
        if (chance(CHILDREN_ONE_IN)) {
            log_event(self, "spawn", spawn_player());
        }
    }
    log_event(self, "end", 0);
    self->ended_count++;
    return (intptr_t)self->id * 3 + 1;
}

int spawn_player(void) {
    if (world->player_count == PLAYERS_MAX) {
        return 0;
    }
    struct player *player = &world->players[world->player_count];
    *player = (struct player){.id = world->player_count, .scope_ns = VERGE_NEVER};
    const uint64_t failures = world->memory.failures;
    const uint32_t count = atomic_load(&world->runtime->runner_count);
    const bool is_detached = chance(4), is_here = chance(2);
    const uint32_t worker = (uint32_t)below(count);
    verge_task **place = is_detached ? NULL : &player->handle;
    const int error = is_here ? verge_spawn(play, player, place) : spawn_at(NULL, worker, play, player, place);
    if (error == 0) {
        world->player_count++;
    } else {
        CHECK((error == -ESHUTDOWN && world->is_stopped) || (error == -ENOMEM && world->memory.failures > failures));
        player->handle = NULL;
    }
    return error;
}
