/* SPDX-License-Identifier: MIT */
/*
 * A ledger of timers that many threads use: the deadline of each timer, and how often it ran, was cancelled or was
 * handed back. Everything that must not happen is counted as a finding.
 *
 * A slot has one timer after the other; each is a new generation. One thread, the owner, starts the timers of a slot.
 * The kind of a timer says who resets and cancels it:
 *
 *   OWNED   the owner of its slot resets and cancels it
 *   SHARED  any thread cancels it; nobody resets it
 *   SELF    its callback resets it a few times; nobody else uses it
 *
 * So the ledger knows how many runs and cancels a timer must have in all: `expected` is 1, plus 1 for every reset that
 * found it running. A generation is over when ended + cancels == expected. Only then the slot is used again.
 *
 * Before a reset, the new deadline is stored as `announced`; after a reset that returned 0 or VERGE_RUNNING, also as
 * `agreed`. The deadline that a callback sees must be one of these two or, if the owner's reset found the callback
 * running, the old deadline, which is in `tolerated`. So the ledger notices a timer that runs at an old deadline after
 * a reset has returned 0.
 */
#ifndef VERGE_TOOL_LEDGER_H
#define VERGE_TOOL_LEDGER_H

#include <stdatomic.h>
#include <stdbool.h>

#include <verge/service.h>

enum slot_kind { SLOT_OWNED, SLOT_SHARED, SLOT_SELF, SLOT_KIND_COUNT };

/* The low bits of a slot's address are 0. In the argument of a callback, they hold the low bits of the generation. */
enum { SLOT_ALIGNMENT = 64 };

struct slot {
    _Alignas(SLOT_ALIGNMENT) struct ledger *ledger;
    _Atomic(uint64_t) timer; /* 0: start has not returned yet, or the timer is over */
    _Atomic(uint64_t) announced_ns, agreed_ns, tolerated_ns;
    _Atomic(uint32_t) generation;
    _Atomic(uint16_t) begun, ended; /* how many callbacks have begun and ended */
    _Atomic(uint16_t) cancels;      /* how many cancels returned 0 */
    _Atomic(uint16_t) expected;
    _Atomic(uint8_t) kind;
    bool is_used; /* only for the owner: a generation has begun, and is not over */
    uint8_t handed_back;
};

enum finding {
    FINDING_EARLY,
    FINDING_OTHER_DEADLINE,
    FINDING_AFTER_CANCEL,
    FINDING_AFTER_END,
    FINDING_NOT_ONCE,
    FINDING_NOT_WAITED,
    FINDING_VERDICT,
    FINDING_COUNT,
};

struct ledger {
    struct slot *slots;
    size_t slot_count;
    bool is_clock_steady;     /* the clock never goes back, so a callback can check that it is not early */
    unsigned again_count_max; /* how often a SELF timer resets itself */
    uint64_t again_after_ns;
    bool is_hostile; /* callbacks cancel other timers, and some take long */
    _Atomic(uint64_t) self_resets;
    _Atomic(uint64_t) findings[FINDING_COUNT];
};

/* Counts of generations and calls. Each thread has a tally of its own. */
struct ledger_tally {
    uint64_t started, refused, ran, cancelled, handed_back;
    uint64_t runs;   /* how many callbacks ran */
    uint64_t resets; /* how many resets returned 0 or VERGE_RUNNING */
};

int ledger_open(struct ledger *ledger, size_t slot_count); /* the ledger must be zeroed */
void ledger_free(struct ledger *ledger);
void ledger_find(struct ledger *ledger, enum finding finding);
const char *ledger_finding_text(enum finding finding);

/* For a slot's owner. Starts a timer. Returns false if the service refuses. */
bool slot_start(struct slot *slot, verge_service *service, enum slot_kind kind, uint64_t deadline_ns,
                struct ledger_tally *tally);

/* For a slot's owner. Resets its timer. */
void slot_reset(struct slot *slot, verge_service *service, uint64_t deadline_ns, struct ledger_tally *tally);

/* For a slot's owner. If its generation is over, counts that, frees the slot and returns true. Otherwise returns
 * false. */
bool slot_try_close(struct slot *slot, struct ledger_tally *tally);

/* For a slot's owner. Cancels its timer by `call`, which is verge_service_cancel or a similar function. waits: `call`
 * waits for a callback that is running. */
void slot_cancel(struct slot *slot, verge_service *service, int (*call)(verge_service *, verge_timer), bool waits);

/* For any thread. Cancels the slot's timer if it is SHARED. */
void slot_cancel_shared(struct slot *slot, verge_service *service);

/* The visitor for verge_service_destroy. It does not use context. */
void ledger_visit_pending(void *context, const verge_pending *pending);

/* Counts the generations that are left, after verge_service_destroy. */
void ledger_close(struct ledger *ledger, struct ledger_tally *tally);

#endif
