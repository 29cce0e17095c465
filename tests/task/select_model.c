/* SPDX-License-Identifier: MIT */
/*
 * Random tasks in virtual time send, receive, join and select over a few small channels, with deadlines, while tasks
 * are cancelled and channels closed. A simple model records the result of every call, and checks:
 *   - an item whose send succeeded is received once, or is in its channel in the end; any other item never shows up
 *     (K1 of verge/sync.h);
 *   - from one channel, a receiver gets the items of one sender in the order in which they were sent;
 *   - a task is joined once, with its result;
 *   - no call times out early (T1), and when the clock moves, nobody waits for what is there: time moves only when
 *     no task can run.
 * At the steps of a waiting select, an outsider also sends, receives, closes and cancels, as another thread would.
 * A seed is a world of its own, which is played with one worker, with two and with three. VERGE_TEST_SEED is the first
 * seed, VERGE_TEST_WORLDS is how many are played.
 */
#include "support/steps.h"
#include "task/runner.h"
#include "task/support.h"
#include "verge/sync.h"

enum {
    CHANNELS_MAX = 3,
    PLAYERS_MAX = 5,
    CHILDREN = 2,
    CASES_MAX = 6,
    ROUNDS = 14,
    ITEMS_MAX = (PLAYERS_MAX + 1) * ROUNDS
};

enum fate { NOT_SENT, SENT, RECEIVED };

/* The call in which a player waits. The count of cases is 0 while the player does not wait. */
struct wait {
    verge_case cases[CASES_MAX];
    size_t count;
    uint64_t deadline_ns;
};

struct player {
    struct verge_test_random random;
    uint32_t index;
    verge_task *task;
    struct wait wait;
    uint32_t sent_count;
    /* Of each channel and sender, 1 + the number of the last item; 0: none. */
    uint32_t last_seen[CHANNELS_MAX][PLAYERS_MAX + 1];
    verge_task *children[CHILDREN]; /* NULL: it was joined */
    bool child_has_ended[CHILDREN];
    bool is_cancelled;
};

static struct {
    uint64_t seed;
    verge_channel *channels[CHANNELS_MAX];
    size_t capacities[CHANNELS_MAX];
    bool is_closed[CHANNELS_MAX];
    size_t channel_count;
    struct player players[PLAYERS_MAX + 1]; /* the last one is the outsider */
    size_t player_count;
    enum fate fates[ITEMS_MAX];
    uint32_t places[ITEMS_MAX]; /* the channel to which each item was sent */
    uint64_t now_ns;
    uint64_t selected, timed_out, tried_in_vain; /* counted over all seeds, to check that each happens */
} world;

static size_t below(struct player *player, size_t bound) {
    return (size_t)verge_test_below(&player->random, bound);
}

/* ---- whenever the clock has moved ---- */

static size_t channel_index(const verge_channel *channel) {
    size_t index = 0;
    while (world.channels[index] != channel) {
        index++;
    }
    return index;
}

static bool must_wait(const struct player *player, const verge_case *one, uint64_t now_ns) {
    switch (one->kind) {
    case VERGE_CASE_RECEIVE:
        return verge_channel_count(one->object) == 0 && !world.is_closed[channel_index(one->object)];
    case VERGE_CASE_SEND: {
        const size_t index = channel_index(one->object);
        return verge_channel_count(one->object) == world.capacities[index] && !world.is_closed[index];
    }
    case VERGE_CASE_JOIN:
        return !player->child_has_ended[one->object == player->children[0] ? 0 : 1];
    case VERGE_CASE_TICK:
        return ((const verge_interval *)one->object)->deadline_ns >= now_ns;
    default:
        return true;
    }
}

static void look_at_the_clock(void) {
    const uint64_t now_ns = verge_now();
    if (now_ns == world.now_ns) {
        return;
    }
    for (size_t i = 0; i < world.player_count; i++) {
        const struct player *player = &world.players[i];
        for (size_t k = 0; k < player->wait.count; k++) {
            CHECK(must_wait(player, &player->wait.cases[k], now_ns));
        }
        CHECK(player->wait.count == 0 || (player->wait.deadline_ns >= now_ns && !player->is_cancelled));
    }
    world.now_ns = now_ns;
}

/* ---- what the callers know of each item ---- */

static void has_sent(uint32_t item, const verge_channel *channel) {
    CHECK(world.fates[item] != SENT);
    world.places[item] = (uint32_t)channel_index(channel);
    if (world.fates[item] == NOT_SENT) {
        world.fates[item] = SENT;
    } else { /* the receiver's call has returned before this call of the sender */
        CHECK_EQUAL(world.fates[item], RECEIVED);
    }
}

/* A receive has returned; the call that sent the item may not have returned yet. */
static void has_received(struct player *player, uint32_t item, const verge_channel *channel) {
    const size_t place = channel_index(channel), sender = item / ROUNDS;
    CHECK(item < ITEMS_MAX && world.fates[item] != RECEIVED);
    CHECK(world.fates[item] == NOT_SENT || world.places[item] == place);
    world.fates[item] = RECEIVED;
    CHECK(player->last_seen[place][sender] < item % ROUNDS + 1);
    player->last_seen[place][sender] = item % ROUNDS + 1;
}

static void has_joined(struct player *player, const verge_task *task, intptr_t result) {
    const size_t child = task == player->children[0] ? 0 : 1;
    CHECK(player->child_has_ended[child]);
    CHECK_EQUAL(result, (size_t)player->index * 10 + child);
    player->children[child] = NULL;
}

/* ---- players ---- */

struct child {
    struct player *parent;
    size_t index;
    uint64_t duration_ns;
};

static intptr_t child_main(void *argument) {
    const struct child child = *(struct child *)argument;
    (void)verge_sleep(child.duration_ns);
    look_at_the_clock();
    child.parent->child_has_ended[child.index] = true;
    return (intptr_t)((size_t)child.parent->index * 10 + child.index);
}

static verge_case random_case(struct player *player, uint32_t *item, uint32_t *received, intptr_t *joined,
                              verge_interval *once) {
    verge_channel *channel = world.channels[below(player, world.channel_count)];
    switch (below(player, 8)) {
    case 0:
    case 1:
    case 2:
        return verge_case_receive(channel, received);
    case 3:
    case 4:
    case 5:
        return verge_case_send(channel, item);
    case 6: {
        verge_task *child = player->children[below(player, CHILDREN)];
        return child != NULL ? verge_case_join(child, joined) : (verge_case){0};
    }
    default:
        return case_at(once, verge_now() + below(player, 6));
    }
}

static bool joins_twice(const struct wait *wait) {
    for (size_t i = 0; i < wait->count; i++) {
        for (size_t k = 0; k < i; k++) {
            if (wait->cases[i].kind == VERGE_CASE_JOIN && wait->cases[k].kind == VERGE_CASE_JOIN &&
                wait->cases[i].object == wait->cases[k].object) {
                return true;
            }
        }
    }
    return false;
}

/* The plain call that a case stands for. */
static int plain_call(const verge_case *one, uint64_t deadline_ns) {
    switch (one->kind) {
    case VERGE_CASE_RECEIVE:
        return verge_channel_receive(one->object, one->item, deadline_ns);
    case VERGE_CASE_SEND:
        return verge_channel_send(one->object, one->item, deadline_ns);
    case VERGE_CASE_JOIN:
        return verge_task_join(one->object, one->item, deadline_ns);
    default:
        return verge_interval_wait(one->object, one->item, deadline_ns);
    }
}

static void account(struct player *player, const verge_case *one, uint32_t item, uint32_t received, intptr_t joined,
                    uint64_t time_ns) {
    if (one->result != 0) {
        CHECK(one->result == -EPIPE && world.is_closed[channel_index(one->object)]);
    } else if (one->kind == VERGE_CASE_RECEIVE) {
        has_received(player, received, one->object);
    } else if (one->kind == VERGE_CASE_SEND) {
        has_sent(item, one->object);
        player->sent_count++;
    } else if (one->kind == VERGE_CASE_JOIN) {
        has_joined(player, one->object, joined);
    } else {
        CHECK(one->kind == VERGE_CASE_TICK && verge_now() >= time_ns);
    }
}

/* A try fails only if each of its cases would have to wait. In a cancelled task, the error is -ECANCELED (T4). */
static void check_failed_try(const struct player *player, int error, size_t count) {
    for (size_t i = 0; i < count; i++) {
        CHECK(must_wait(player, &player->wait.cases[i], verge_now()));
    }
    CHECK_EQUAL(error, player->is_cancelled ? -ECANCELED : -ETIMEDOUT);
    world.tried_in_vain++;
}

static void check_error(struct player *player, int error, size_t count) {
    if (player->wait.deadline_ns == 0) {
        check_failed_try(player, error, count);
    } else if (error == -ETIMEDOUT) {
        CHECK(verge_now() >= player->wait.deadline_ns);
        world.timed_out++;
    } else {
        CHECK(error == -ECANCELED && player->is_cancelled);
    }
}

static void play_round(struct player *player) {
    uint32_t item = player->index * ROUNDS + player->sent_count, received = 0;
    intptr_t joined = -1;
    verge_case cases[CASES_MAX];
    verge_interval once[CASES_MAX] = {0};
    uint64_t times_ns[CASES_MAX] = {0};
    const size_t count = 1 + below(player, CASES_MAX);
    const bool tries = below(player, 8) == 0, is_plain = count == 1 && below(player, 2) == 0;
    for (size_t i = 0; i < count; i++) {
        cases[i] = random_case(player, &item, &received, &joined, &once[i]);
        times_ns[i] = cases[i].kind == VERGE_CASE_TICK ? once[i].deadline_ns : 0;
    }
    player->wait.deadline_ns = tries ? 0 : verge_now() + below(player, 8);
    memcpy(player->wait.cases, cases, sizeof(cases));
    player->wait.count = count;
    if (joins_twice(&player->wait) || (is_plain && cases[0].kind == VERGE_CASE_NONE)) {
        player->wait.count = 0;
        return;
    }
    const uint64_t began_ns = verge_now();
    int index;
    if (is_plain) {
        cases[0].result = plain_call(&cases[0], player->wait.deadline_ns);
        index = cases[0].result == -ETIMEDOUT || cases[0].result == -ECANCELED ? cases[0].result : 0;
    } else {
        index = verge_select(cases, count, player->wait.deadline_ns);
    }
    player->wait.count = 0;
    CHECK(!tries || verge_now() == began_ns);
    look_at_the_clock();
    if (index < 0) {
        check_error(player, index, count);
    } else {
        world.selected += !is_plain;
        account(player, &cases[index], item, received, joined, times_ns[index]);
    }
}

static void disturb(struct player *player) {
    switch (below(player, player->index == PLAYERS_MAX ? 2 : 24)) {
    case 0: {
        struct player *other = &world.players[below(player, world.player_count)];
        if (other->task != NULL) {
            other->is_cancelled = true;
            CHECK_EQUAL(verge_task_cancel(other->task), 0);
        }
        break;
    }
    case 1: {
        const size_t index = below(player, world.channel_count);
        world.is_closed[index] = true;
        CHECK_EQUAL(verge_channel_close(world.channels[index]), 0);
        break;
    }
    case 2:
    case 3:
    case 4:
        CHECK_EQUAL(verge_yield(), 0);
        break;
    default:
        break;
    }
}

/* ---- the outsider ---- */

static void at_step(const char *step) {
    struct player *outsider = &world.players[PLAYERS_MAX];
    if (strncmp(step, "select: ", 8) != 0) {
        return;
    }
    look_at_the_clock();
    verge_channel *channel = world.channels[below(outsider, world.channel_count)];
    uint32_t item = PLAYERS_MAX * ROUNDS + outsider->sent_count;
    switch (below(outsider, 16)) {
    case 0:
    case 1:
        if (outsider->sent_count < ROUNDS && verge_channel_send(channel, &item, 0) == 0) {
            has_sent(item, channel);
            outsider->sent_count++;
        }
        break;
    case 2:
    case 3:
        if (verge_channel_receive(channel, &item, 0) == 0) {
            has_received(outsider, item, channel);
        }
        break;
    case 4:
        disturb(outsider);
        break;
    default:
        break;
    }
}

static intptr_t player_main(void *argument) {
    struct player *player = argument;
    struct child children[CHILDREN];
    look_at_the_clock();
    for (size_t i = 0; i < CHILDREN; i++) {
        children[i] = (struct child){player, i, below(player, 30)};
        player->children[i] = spawn_on(VERGE_WORKER_ANY, child_main, &children[i]);
    }
    for (int i = 0; i < ROUNDS; i++) {
        play_round(player);
        disturb(player);
    }
    for (size_t i = 0; i < CHILDREN; i++) {
        intptr_t result = -1;
        if (player->children[i] != NULL) {
            CHECK_EQUAL(verge_task_join(player->children[i], &result, VERGE_REGARDLESS), 0);
            look_at_the_clock();
            has_joined(player, player->children[i], result);
        }
    }
    return 0;
}

/* ---- worlds ---- */

/* Resets what the runtime has kept from earlier worlds. */
static void forget(verge_runtime *runtime) {
    atomic_store(&runtime->next_runner, 0);
    for (uint32_t i = 0; i < atomic_load(&runtime->runner_count); i++) {
        runtime->runners[i]->random = (uint32_t)world.seed;
    }
}

static void open_world(struct verge_test_random *random) {
    world.channel_count = 1 + (size_t)verge_test_below(random, CHANNELS_MAX);
    world.player_count = 2 + (size_t)verge_test_below(random, PLAYERS_MAX - 1);
    memset(world.fates, 0, sizeof(world.fates));
    memset(world.players, 0, sizeof(world.players));
    for (size_t i = 0; i < world.channel_count; i++) {
        world.capacities[i] = 1 + (size_t)verge_test_below(random, 3);
        world.is_closed[i] = false;
        CHECK_EQUAL(verge_channel_create(sizeof(uint32_t), world.capacities[i], NULL, &world.channels[i]), 0);
    }
    for (size_t i = 0; i <= PLAYERS_MAX; i++) {
        struct player *player = &world.players[i];
        player->index = (uint32_t)i;
        player->random = verge_test_random_from(verge_test_next(random));
    }
}

static void close_world(void) {
    uint32_t item;
    for (size_t i = 0; i < world.channel_count; i++) {
        while (verge_channel_receive(world.channels[i], &item, 0) == 0) {
            CHECK_EQUAL(world.fates[item], SENT);
            CHECK_EQUAL(world.places[item], i);
            world.fates[item] = RECEIVED;
        }
        verge_channel_destroy(world.channels[i]);
    }
    for (size_t i = 0; i < ITEMS_MAX; i++) {
        CHECK(world.fates[i] != SENT); /* the item was lost */
    }
}

/* In the end, an item was received if and only if its send returned 0. A player's sent_count counts sends that returned
 * 0. */
static void check_counts(void) {
    for (size_t i = 0; i <= PLAYERS_MAX; i++) {
        for (uint32_t k = 0; k < ROUNDS; k++) {
            CHECK_EQUAL(world.fates[i * ROUNDS + k] == RECEIVED, k < world.players[i].sent_count);
        }
    }
}

static intptr_t run_worlds(void *argument) {
    const uint64_t first_seed = world.seed, count = *(uint64_t *)argument;
    for (; world.seed < first_seed + count; world.seed++) {
        struct verge_test_random random = verge_test_random_from(world.seed);
        forget(verge_task_runtime());
        open_world(&random);
        for (uint32_t i = 0; i < world.player_count; i++) {
            world.players[i].task = spawn_on(VERGE_WORKER_ANY, player_main, &world.players[i]);
        }
        for (size_t i = 0; i < world.player_count; i++) {
            (void)join(world.players[i].task);
            world.players[i].task = NULL;
        }
        close_world();
        check_counts();
        if (atomic_load(&failed_check_count) != 0) {
            (void)fprintf(stderr, "seed %" PRIu64 ", %" PRIu32 " workers\n", world.seed,
                          stats_of(verge_task_runtime()).workers);
            return -1;
        }
    }
    return 0;
}

static void worlds_agree_with_the_model(void **state) {
    (void)state;
    const char *text = getenv("VERGE_TEST_WORLDS");
    uint64_t count = text != NULL ? strtoull(text, NULL, 10) : fewer_under_tsan(10000);
    const uint64_t first_seed = verge_test_seed(1);
    steps_begin(at_step);
    for (uint32_t worker_count = 1; worker_count <= 3; worker_count++) {
        world.seed = first_seed;
        run_virtual(worker_count, 0, run_worlds, &count);
    }
    steps_end();
    assert_true(text != NULL ||
                (world.selected > 10 * count && world.timed_out > count && world.tried_in_vain > count));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(worlds_agree_with_the_model),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
