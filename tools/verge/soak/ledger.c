/* SPDX-License-Identifier: MIT */
#include "soak/ledger.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "random.h"

enum { GENERATION_MASK = SLOT_ALIGNMENT - 1 };

static const char *const finding_texts[FINDING_COUNT] = {
    [FINDING_EARLY] = "no timer ran early",
    [FINDING_OTHER_DEADLINE] = "no timer ran at a deadline that a reset had replaced",
    [FINDING_AFTER_CANCEL] = "no timer ran after a cancel had returned 0",
    [FINDING_AFTER_END] = "no timer ran after it had ended",
    [FINDING_NOT_ONCE] = "each timer ended exactly once: ran, cancelled or handed back",
    [FINDING_NOT_WAITED] = "no cancel_wait returned while the callback was running",
    [FINDING_VERDICT] = "no call returned an impossible result",
};

int ledger_open(struct ledger *ledger, size_t slot_count) {
    ledger->slots = aligned_alloc(SLOT_ALIGNMENT, slot_count * sizeof(*ledger->slots));
    if (ledger->slots == NULL) {
        return -ENOMEM;
    }
    memset(ledger->slots, 0, slot_count * sizeof(*ledger->slots));
    for (size_t i = 0; i < slot_count; i++) {
        ledger->slots[i].ledger = ledger;
    }
    ledger->slot_count = slot_count;
    return 0;
}

void ledger_free(struct ledger *ledger) {
    free(ledger->slots);
    ledger->slots = NULL;
}

void ledger_find(struct ledger *ledger, enum finding finding) {
    (void)atomic_fetch_add(&ledger->findings[finding], 1);
}

const char *ledger_finding_text(enum finding finding) {
    return finding_texts[finding];
}

/* ---- the callback ---- */

static void *argument_of(struct slot *slot) {
    return (char *)slot + (atomic_load(&slot->generation) & GENERATION_MASK);
}

static struct slot *slot_of(void *argument, uint32_t *ret_generation) {
    *ret_generation = (uint32_t)((uintptr_t)argument & GENERATION_MASK);
    return (struct slot *)(void *)((char *)argument - *ret_generation);
}

static void check_firing(struct slot *slot, const verge_firing *firing) {
    struct ledger *ledger = slot->ledger;
    uint64_t agreed_ns = atomic_load(&slot->agreed_ns); /* read before the announced one, which may be newer */
    uint64_t deadline_ns = firing->scheduled_ns;
    if (deadline_ns != agreed_ns && deadline_ns != atomic_load(&slot->announced_ns) &&
        deadline_ns != atomic_load(&slot->tolerated_ns)) {
        ledger_find(ledger, FINDING_OTHER_DEADLINE);
    }
    if (firing->actual_ns < deadline_ns ||
        (ledger->is_clock_steady && verge_service_exact_now(firing->service) < deadline_ns)) {
        ledger_find(ledger, FINDING_EARLY);
    }
    if (atomic_load(&slot->cancels) != 0) {
        ledger_find(ledger, FINDING_AFTER_CANCEL);
    }
}

static void run_again(struct slot *slot, const verge_firing *firing) {
    struct ledger *ledger = slot->ledger;
    uint64_t deadline_ns = firing->actual_ns + ledger->again_after_ns;
    if (atomic_load(&slot->expected) > ledger->again_count_max) {
        return;
    }
    atomic_store(&slot->announced_ns, deadline_ns);
    int verdict = verge_service_reset(firing->service, firing->timer, deadline_ns);
    if (verdict == VERGE_RUNNING) {
        atomic_store(&slot->agreed_ns, deadline_ns);
        (void)atomic_fetch_add(&slot->expected, 1);
        (void)atomic_fetch_add(&ledger->self_resets, 1);
    } else if (verdict != -ENOMEM) {
        ledger_find(ledger, FINDING_VERDICT);
    }
}

static void be_hostile(struct ledger *ledger, const verge_firing *firing) {
    uint64_t random = firing->timer ^ firing->actual_ns;
    uint64_t kind = random_below(&random, 64);
    if (kind < 4) {
        slot_cancel_shared(&ledger->slots[random_below(&random, ledger->slot_count)], firing->service);
    } else if (kind == 4) {
        uint64_t until_ns = verge_service_exact_now(firing->service) + random_below(&random, 50000);
        while (verge_service_exact_now(firing->service) < until_ns) {
        }
    }
}

static void run_callback(const verge_firing *firing) {
    uint32_t generation = 0;
    struct slot *slot = slot_of(firing->argument, &generation);
    if ((atomic_load(&slot->generation) & GENERATION_MASK) != generation) {
        ledger_find(slot->ledger, FINDING_AFTER_END);
        return;
    }
    (void)atomic_fetch_add(&slot->begun, 1);
    check_firing(slot, firing);
    if (atomic_load(&slot->kind) == SLOT_SELF) {
        run_again(slot, firing);
    }
    if (slot->ledger->is_hostile) {
        be_hostile(slot->ledger, firing);
    }
    (void)atomic_fetch_add(&slot->ended, 1); /* last, as the slot may be used again at once */
}

/* ---- for the owner ---- */

bool slot_start(struct slot *slot, verge_service *service, enum slot_kind kind, uint64_t deadline_ns,
                struct ledger_tally *tally) {
    verge_timer timer = 0;
    (void)atomic_fetch_add(&slot->generation, 1);
    atomic_store(&slot->kind, kind);
    atomic_store(&slot->begun, 0);
    atomic_store(&slot->ended, 0);
    atomic_store(&slot->cancels, 0);
    atomic_store(&slot->expected, 1);
    atomic_store(&slot->announced_ns, deadline_ns);
    atomic_store(&slot->agreed_ns, deadline_ns);
    atomic_store(&slot->tolerated_ns, 0);
    static const char *const labels[] = {[SLOT_OWNED] = "of one thread: reset and cancelled",
                                         [SLOT_SHARED] = "of all threads: cancelled by any",
                                         [SLOT_SELF] = "starts itself again"};
    verge_start_options options = {.struct_size = sizeof(options)};
    options.callback = run_callback;
    options.argument = argument_of(slot);
    options.deadline_ns = deadline_ns;
    options.label = labels[kind];
    int error = verge_service_start_with(service, &options, &timer);
    if (error != 0) {
        tally->refused++;
        if (error != -ENOMEM) {
            ledger_find(slot->ledger, FINDING_VERDICT);
        }
        return false;
    }
    slot->is_used = true;
    tally->started++;
    atomic_store(&slot->timer, timer);
    return true;
}

void slot_reset(struct slot *slot, verge_service *service, uint64_t deadline_ns, struct ledger_tally *tally) {
    if (atomic_load(&slot->expected) > 1) { /* it was reset while it was running: wait for its next run */
        return;
    }
    uint64_t before_ns = atomic_load(&slot->agreed_ns);
    atomic_store(&slot->announced_ns, deadline_ns);
    int verdict = verge_service_reset(service, atomic_load(&slot->timer), deadline_ns);
    switch (verdict) {
    case VERGE_RUNNING:
        (void)atomic_fetch_add(&slot->expected, 1);
        atomic_store(&slot->tolerated_ns, before_ns);
        atomic_store(&slot->agreed_ns, deadline_ns);
        tally->resets++;
        break;
    case 0:
        atomic_store(&slot->agreed_ns, deadline_ns);
        tally->resets++;
        break;
    case -ENOENT:
    case -ENOMEM:
        atomic_store(&slot->announced_ns, before_ns);
        break;
    default:
        ledger_find(slot->ledger, FINDING_VERDICT);
    }
}

static void take_verdict(struct slot *slot, int verdict) {
    if (verdict == 0) { /* the generation is not over before this cancel is counted */
        (void)atomic_fetch_add(&slot->cancels, 1);
    } else if (verdict != VERGE_RUNNING && verdict != -ENOENT) {
        ledger_find(slot->ledger, FINDING_VERDICT);
    }
}

void slot_cancel(struct slot *slot, verge_service *service, int (*call)(verge_service *, verge_timer), bool waits) {
    if (atomic_load(&slot->expected) > 1) { /* reset while it was running: which run the cancel meets is not known */
        return;
    }
    int verdict = call(service, atomic_load(&slot->timer));
    take_verdict(slot, verdict);
    if (waits && verdict == VERGE_RUNNING && atomic_load(&slot->begun) != atomic_load(&slot->ended)) {
        ledger_find(slot->ledger, FINDING_NOT_WAITED);
    }
}

void slot_cancel_shared(struct slot *slot, verge_service *service) {
    uint32_t generation = atomic_load(&slot->generation);
    verge_timer timer = atomic_load(&slot->timer);
    bool is_shared = atomic_load(&slot->kind) == SLOT_SHARED;
    if (timer != 0 && is_shared && atomic_load(&slot->generation) == generation) {
        take_verdict(slot, verge_service_cancel(service, timer));
    }
}

static void count_generation(struct slot *slot, struct ledger_tally *tally) {
    unsigned ended = atomic_load(&slot->ended);
    unsigned cancels = atomic_load(&slot->cancels);
    if (atomic_load(&slot->begun) != ended || ended + cancels + slot->handed_back != atomic_load(&slot->expected)) {
        ledger_find(slot->ledger, FINDING_NOT_ONCE);
    }
    tally->runs += ended;
    tally->handed_back += slot->handed_back != 0;
    tally->cancelled += slot->handed_back == 0 && cancels != 0;
    tally->ran += slot->handed_back == 0 && cancels == 0;
    atomic_store(&slot->timer, 0);
    slot->is_used = false;
    slot->handed_back = 0;
}

bool slot_try_close(struct slot *slot, struct ledger_tally *tally) {
    unsigned expected = atomic_load(&slot->expected);
    if ((unsigned)atomic_load(&slot->ended) + atomic_load(&slot->cancels) < expected ||
        expected != atomic_load(&slot->expected)) {
        return false;
    }
    count_generation(slot, tally);
    return true;
}

/* ---- the end ---- */

void ledger_visit_pending(void *context, const verge_pending *pending) {
    (void)context;
    uint32_t generation = 0;
    struct slot *slot = slot_of(pending->argument, &generation);
    if ((atomic_load(&slot->generation) & GENERATION_MASK) != generation || !slot->is_used ||
        atomic_load(&slot->timer) != pending->timer) {
        ledger_find(slot->ledger, FINDING_AFTER_END);
        return;
    }
    if (atomic_load(&slot->agreed_ns) != pending->deadline_ns) {
        ledger_find(slot->ledger, FINDING_OTHER_DEADLINE);
    }
    slot->handed_back++;
}

void ledger_close(struct ledger *ledger, struct ledger_tally *tally) {
    tally->resets += atomic_load(&ledger->self_resets);
    for (size_t i = 0; i < ledger->slot_count; i++) {
        if (ledger->slots[i].is_used) {
            count_generation(&ledger->slots[i], tally);
        }
    }
}
