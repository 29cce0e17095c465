/* SPDX-License-Identifier: MIT */
/* What players share. A mutex has one owner, a condition gives its mutex back, and an item that was sent is received
 * once. */
#include "io/simulation/world.h"

enum { MUTEX_COUNT = 3, CHANNEL_COUNT = 3, ITEMS_MAX = 20000 };

enum item_state { UNUSED, OFFERED, SENT, WITHDRAWN };

static struct {
    verge_mutex mutexes[MUTEX_COUNT];
    verge_condition conditions[MUTEX_COUNT];
    const struct player *owners[MUTEX_COUNT];
    unsigned tokens[MUTEX_COUNT]; /* players wait for tokens; the mutex of the same index protects them */
    verge_channel *channels[CHANNEL_COUNT];
    bool is_closed[CHANNEL_COUNT];
    uint8_t states[ITEMS_MAX];
    uint8_t received[ITEMS_MAX];
    uint32_t item_count;
} all;

void open_sharing(void) {
    memset(&all, 0, sizeof(all));
    for (size_t i = 0; i < CHANNEL_COUNT; i++) {
        CHECK_EQUAL(verge_channel_create(sizeof(uint32_t), 1 + below(4), NULL, &all.channels[i]), 0);
    }
}

/* ---- mutexes and conditions ---- */

static void own(const struct player *self, size_t i) {
    CHECK(all.owners[i] == NULL);
    all.owners[i] = self;
}

static void disown(const struct player *self, size_t i) {
    CHECK(all.owners[i] == self);
    all.owners[i] = NULL;
}

static bool lock(struct player *self, size_t i) {
    const bool tries = chance(8);
    const uint64_t deadline_ns = tries ? 0 : random_deadline();
    const struct before before = before_call(self, deadline_ns);
    const int result = verge_mutex_lock(&all.mutexes[i], deadline_ns);
    CHECK(!tries || result == 0 || all.mutexes[i].owner != NULL);
    if (result == 0) {
        own(self, i);
    }
    after_call(self, "lock", &before, result, FOR_TASKS);
    return result == 0;
}

static void wait_for_token(struct player *self, size_t i) {
    while (all.tokens[i] == 0) {
        const uint64_t deadline_ns = random_deadline();
        const struct before before = before_call(self, deadline_ns);
        disown(self, i);
        const int result = verge_condition_wait(&all.conditions[i], &all.mutexes[i], deadline_ns);
        own(self, i); /* the player has the mutex, whatever the result */
        after_call(self, "condition", &before, result, FOR_A_MUTEX_TOO); /* it may wait long for the mutex */
        if (result != 0) {
            return;
        }
    }
    all.tokens[i]--;
}

static void lock_and_unlock(struct player *self) {
    const size_t i = below(MUTEX_COUNT);
    if (!lock(self, i)) {
        return;
    }
    if (chance(3)) {
        wait_for_token(self, i);
    } else if (chance(2)) {
        all.tokens[i]++;
        CHECK_EQUAL(
            chance(2) ? verge_condition_signal(&all.conditions[i]) : verge_condition_broadcast(&all.conditions[i]), 0);
    } else if (chance(2)) {
        (void)verge_sleep(below(MS));
    } else {
        CHECK_EQUAL(verge_mutex_lock(&all.mutexes[i], VERGE_NEVER), -EDEADLK);
        CHECK_EQUAL(verge_yield(), 0);
    }
    disown(self, i);
    CHECK_EQUAL(verge_mutex_unlock(&all.mutexes[i]), 0);
}

/* ---- channels ---- */

static void send_item(struct player *self) {
    if (all.item_count == ITEMS_MAX) {
        return;
    }
    const size_t i = below(CHANNEL_COUNT);
    const uint32_t item = all.item_count++;
    all.states[item] = OFFERED;
    const uint64_t deadline_ns = chance(4) ? 0 : random_deadline();
    const struct before before = before_call(self, deadline_ns);
    const int result = verge_channel_send(all.channels[i], &item, deadline_ns);
    all.states[item] = result == 0 ? SENT : WITHDRAWN;
    CHECK(result == 0 || all.received[item] == 0); /* T2 */
    if (result == -EPIPE && all.is_closed[i]) {
        log_event(self, "not sent", result);
    } else {
        after_call(self, "send", &before, result, FOR_TASKS);
    }
}

static void count_received(uint32_t item) {
    CHECK(item < all.item_count && (all.states[item] == OFFERED || all.states[item] == SENT));
    CHECK_EQUAL(all.received[item], 0);
    all.received[item]++;
}

static void receive_item(struct player *self) {
    const size_t i = below(CHANNEL_COUNT);
    uint32_t item = UINT32_MAX;
    const uint64_t deadline_ns = chance(4) ? 0 : random_deadline();
    const struct before before = before_call(self, deadline_ns);
    const int result = verge_channel_receive(all.channels[i], &item, deadline_ns);
    if (result == 0) {
        count_received(item);
    } else {
        CHECK_EQUAL(item, UINT32_MAX);
    }
    if (result == -EPIPE && all.is_closed[i]) {
        log_event(self, "not received", result);
    } else {
        after_call(self, "receive", &before, result, FOR_TASKS);
    }
}

void share(struct player *self) {
    const uint64_t choice = below(20);
    if (choice < 8) {
        lock_and_unlock(self);
    } else if (choice < 13) {
        send_item(self);
    } else if (choice < 19) {
        receive_item(self);
    } else if (chance(10)) {
        const size_t i = below(CHANNEL_COUNT);
        all.is_closed[i] = true;
        CHECK_EQUAL(verge_channel_close(all.channels[i]), 0);
        log_event(self, "close channel", (int64_t)i);
    }
}

/* ---- the end ---- */

void audit_sharing(void) {
    for (size_t i = 0; i < CHANNEL_COUNT; i++) {
        uint32_t item;
        while (verge_channel_receive(all.channels[i], &item, 0) == 0) {
            count_received(item);
        }
        verge_channel_destroy(all.channels[i]);
    }
    for (uint32_t item = 0; item < all.item_count; item++) {
        CHECK(all.states[item] != OFFERED);
        CHECK_EQUAL(all.received[item], all.states[item] == SENT);
    }
    for (size_t i = 0; i < MUTEX_COUNT; i++) {
        CHECK(all.owners[i] == NULL && all.mutexes[i].owner == NULL && all.mutexes[i].waiting[0] == NULL &&
              all.conditions[i].waiting[0] == NULL);
    }
}
