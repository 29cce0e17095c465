/* SPDX-License-Identifier: MIT */
#define _POSIX_C_SOURCE 200809L /* nanosleep */

#include "soak/actor.h"

#include <errno.h>
#include <math.h>
#include <time.h>

#include "random.h"

#define MS UINT64_C(1000000)
#define CROWD_NS (128 * MS)

enum { BATCH = 256, LOOKED_AT = 768 };

/* Returns a random deadline. Half of the delays are logarithmic: as many from 1 to 10 ms as from 10 to 100 ms, and so
 * on. The others are uniform. Half of all deadlines are moved to the next multiple of CROWD_NS, so that crowds of
 * timers are due at the same time. */
static uint64_t random_deadline(struct actor *actor) {
    double unit = (double)(random_next(&actor->random) >> 11) * 0x1p-53;
    double max_ns = (double)actor->delay_max_ns;
    bool is_long = random_below(&actor->random, 2) == 0;
    double delay_ns = is_long ? unit * max_ns : (double)MS * exp(unit * log(max_ns / (double)MS));
    uint64_t deadline_ns = verge_service_exact_now(actor->service) + (uint64_t)delay_ns;
    bool is_of_crowd = random_below(&actor->random, 2) == 0;
    return is_of_crowd ? deadline_ns / CROWD_NS * CROWD_NS + CROWD_NS : deadline_ns;
}

static void start(struct actor *actor, struct slot *slot) {
    static const enum slot_kind kinds[] = {SLOT_OWNED, SLOT_OWNED,  SLOT_OWNED,  SLOT_OWNED,
                                           SLOT_OWNED, SLOT_SHARED, SLOT_SHARED, SLOT_SELF};
    enum slot_kind kind = kinds[random_below(&actor->random, sizeof(kinds) / sizeof(*kinds))];
    (void)slot_start(slot, actor->service, kind, random_deadline(actor), &actor->tally);
}

static void cancel(struct actor *actor, struct slot *slot) {
    switch (random_below(&actor->random, 8)) {
    case 0:
        slot_cancel(slot, actor->service, verge_service_cancel_wait, true);
        break;
    case 1:
        slot_cancel(slot, actor->service, verge_service_shutdown, true);
        break;
    default:
        slot_cancel(slot, actor->service, verge_service_cancel, false);
    }
}

static void act_on(struct actor *actor, struct slot *slot) {
    if (!slot->is_used || slot_try_close(slot, &actor->tally)) {
        return;
    }
    enum slot_kind kind = atomic_load(&slot->kind);
    uint64_t choice = random_below(&actor->random, 8);
    if (kind == SLOT_OWNED && choice < 4) {
        slot_reset(slot, actor->service, random_deadline(actor), &actor->tally);
    } else if (kind != SLOT_SELF && choice < 6) {
        cancel(actor, slot);
    }
}

/* Starts new timers where some have ended. */
static void refill(struct actor *actor) {
    for (unsigned i = 0; i < LOOKED_AT; i++) {
        struct slot *slot = &actor->ledger->slots[actor->slot_next];
        actor->slot_next = actor->slot_next + 1 < actor->slot_to ? actor->slot_next + 1 : actor->slot_from;
        if (!slot->is_used || slot_try_close(slot, &actor->tally)) {
            start(actor, slot);
        }
    }
}

static void run_batch(struct actor *actor) {
    struct ledger *ledger = actor->ledger;
    refill(actor);
    for (unsigned i = 0; i < BATCH; i++) {
        size_t own = actor->slot_from + (size_t)random_below(&actor->random, actor->slot_to - actor->slot_from);
        act_on(actor, &ledger->slots[own]);
        if (i % 8 == 0) {
            slot_cancel_shared(&ledger->slots[random_below(&actor->random, ledger->slot_count)], actor->service);
        }
    }
}

/* Now and then, the thread joins as a worker, or leaves. */
static verge_worker *join_or_leave(struct actor *actor, verge_worker *worker) {
    if (!actor->joins || random_below(&actor->random, 64) != 0) {
        return worker;
    }
    if (worker == NULL) {
        int error = verge_worker_join(actor->service, NULL, &worker);
        if (error == 0) {
            (void)atomic_fetch_add(&actor->joined, 1);
        } else if (error != -ENOMEM) {
            ledger_find(actor->ledger, FINDING_VERDICT);
        }
        return error == 0 ? worker : NULL;
    }
    if (verge_worker_leave(worker) != 0) {
        ledger_find(actor->ledger, FINDING_VERDICT);
    }
    return NULL;
}

static void pause_for(uint64_t ns) {
    struct timespec duration = {.tv_nsec = (long)ns};
    if (ns > 0) {
        (void)nanosleep(&duration, NULL);
    }
}

static void *run(void *argument) {
    struct actor *actor = argument;
    verge_worker *worker = NULL;
    actor->slot_next = actor->slot_from;
    while (!atomic_load(actor->must_stop)) {
        run_batch(actor);
        worker = join_or_leave(actor, worker);
        if (worker != NULL && verge_worker_run_once(worker, 0) < 0) {
            ledger_find(actor->ledger, FINDING_VERDICT);
        }
        pause_for(actor->pause_ns);
    }
    if (worker != NULL && verge_worker_leave(worker) != 0) {
        ledger_find(actor->ledger, FINDING_VERDICT);
    }
    return NULL;
}

int actor_begin(struct actor *actor) {
    return -pthread_create(&actor->thread, NULL, run, actor);
}

void actor_end(struct actor *actor) {
    (void)pthread_join(actor->thread, NULL);
}
