/* SPDX-License-Identifier: MIT */
/*
 * service/record.h - a timer, and the one word for which threads compete.
 *
 * The word      generation (32 bits) | owner (16) | flags | state (2)
 *
 *   state       FREE       on a free list, or about to be started
 *               SCHEDULED  waits for its deadline
 *               RUNNING    its callback is running, on the owner
 *               SPENT      ended, but its link is still in use; the thread that takes it from its list frees it.
 *                          Or no generation is left, and it stays SPENT (free.c)
 *   LINKED      its link is in use: it is in an inbox, on its way there, or in a chain of the worker that took it
 *   WRITING     a thread is writing its deadline; only that thread may end the write
 *   AGAIN       while RUNNING: it was reset, and will be scheduled when the callback has returned
 *               while SCHEDULED WRITING: it came up during the write, so it may be in no wheel; the writing thread
 *               sends it to its owner
 *   QUIT        it was cancelled, but RUNNING, WRITING or CLAIMED kept it from ending at once
 *   SHUT        it cannot be reset any more
 *   WAITED      while RUNNING: a thread waits for the callback to return
 *               while CLAIMED: a reset waits for the claim to be decided
 *   CLAIMED     while SCHEDULED: the owner is about to run it, and reads the deadline for the last time. A reset waits
 *               until the claim is decided (a few instructions). Otherwise the reset could return 0 and have no effect
 *   owner       the worker in whose wheel the record is filed. While LINKED, the owner field may be out of date
 *
 * The generation is odd while SCHEDULED or RUNNING. It grows with each start and each end, so a handle fits exactly one
 * life of a record. State, flags, owner and generation are one word, so a thread that changes the word has seen all of
 * them. But the deadline is not in the word: after a reset, the word may look as before. So the thread that runs a
 * timer reads the deadline again while no other thread may write it (T4). Every transition is a compare-and-swap,
 * except where no other thread may change the word (T1, T2; also in free.c, and T3 of a SPENT orphan).
 *
 *       function        from                       to                             who            order    pairs with
 *   T1  start, bound    FREE                       SCHEDULED                      owner          relaxed  (see publish)
 *   T2  start, inbox    FREE                       SCHEDULED LINKED, pushed       starter        release  T3 T6..T10
 *   T3  take            SCHEDULED LINKED           SCHEDULED, owner = taker       taker          acq_rel  T2 T7 T11 T12
 *                       SPENT LINKED               FREE
 *                       RUNNING LINKED             RUNNING, the same owner
 *   T4  claim           SCHEDULED, not WRITING     + CLAIMED                      owner          acq_rel  T1 T10 T11
 *       run             SCHEDULED CLAIMED          RUNNING; - CLAIMED if it was   owner          acq_rel  T8 T14
 *                                                    reset; QUIT: as T5
 *       leave to writer SCHEDULED WRITING          + AGAIN, unless LINKED         owner          acq_rel  T11
 *   T5  return          RUNNING                    FREE; SPENT if LINKED          owner          acq_rel  T9 T11
 *                       RUNNING WRITING, or AGAIN, SCHEDULED                      owner
 *                         or not QUIT and periodic
 *   T6  cancel, bound   SCHEDULED                  FREE                           owner          relaxed  T11, query
 *       (below)
 *   T7  cancel, remote  SCHEDULED                  SPENT LINKED, pushed           any            acq_rel  T3
 *                       SCHEDULED LINKED           SPENT LINKED                   any
 *   T8  cancel          SCHEDULED WRITING/CLAIMED  + QUIT                         any            acq_rel  T4 T11
 *   T9  cancel          RUNNING                    + QUIT - AGAIN                 any            acq_rel  T5
 *   T10 reset begins    SCHEDULED or RUNNING,      + WRITING - QUIT               any            acq_rel  T1 T5
 *                         not WRITING, CLAIMED, SHUT
 *                       RUNNING WRITING QUIT,      - QUIT                         any
 *                         not SHUT
 *   T11 reset ends      SCHEDULED WRITING          - WRITING - AGAIN; pushed as   resetter       acq_rel  T3 T4
 *                                                    LINKED if it is earlier now,
 *                                                    or was AGAIN; not by owner
 *                       SCHEDULED WRITING QUIT     as T6, T7
 *                       RUNNING WRITING            - WRITING + AGAIN, unless QUIT
 *   T12 leave, rescue   SCHEDULED                  SCHEDULED LINKED; leave:       owner, or      acq_rel  T3
 *                                                    pushed; rescue: owner =        rescuer
 *                                                    rescuer
 *   T13 shut            as T8, T9                  + SHUT as well                 any            acq_rel  T10
 *   T14 wait            RUNNING or CLAIMED         + WAITED                       any            acq_rel  T4 T5
 *
 * Which thread may touch the other fields
 *   deadline       writes: the thread that holds WRITING or CLAIMED; before T1, T2 the starter. Reads: any thread
 *                  (atomic).
 *   link           the thread that set LINKED, until it has pushed the record; then the thread that took the record
 *                  from that list. Of a FREE record: the thread that moves it to or from the pool.
 *   node.next, node.pprev
 *                  the owner, LINKED or not. When the owner changes, the record is in no wheel: it was taken out of the
 *                  old owner's wheel when that worker left, or by the rescuer (rescue.c), or before it went to the
 *                  pool.
 *   callback, argument, period, policy, source
 *                  written only before T1, T2. Any thread may read them (atomic). They belong to one timer only if the
 *                  generation is still the same after the reads.
 *
 * Why T6 may be relaxed. T6 publishes nothing, and reads nothing that another thread has written: the place of a timer
 * in the wheel, and its link if it is not LINKED, belong to the owner. But the owner uses the record again. What it
 * then writes (T1) must come after what other threads did with the timer that has ended: after the deadline that a
 * reset wrote before T11, and after the reads of a query, which ends by changing the word to the same value. T11 and
 * that change release, and T6 compares the word with the value that they stored. All later stores depend on the result
 * of this comparison. No processor makes a store before the branch that it depends on, and no compiler moves a store up
 * over verge__exchange_relaxed. (C11 has no name for this order. An acquire would delay all later loads, which costs a
 * fifth of the time of a start and a cancel.)
 *
 * Why a record is in the wheel of its owner or in none. Only its owner files it. The thread that holds the owner's turn
 * takes the record out before the record gets another owner (T3, T12) or none (free.c).
 *
 * Why a place in the wheel comes up in time. While a record is SCHEDULED, not LINKED and not WRITING, its place comes
 * up no later than its deadline: the owner files the record there. If another thread makes the deadline earlier, that
 * thread LINKs the record (T11), and the owner files it anew (T3). If the owner itself makes the deadline earlier, it
 * files the record anew at once. A record that ends in this state (T6) may keep its place, and its deadline. The next
 * timer of this record uses the place, if the deadline of that timer is no earlier. A record that ends in another way
 * is taken out before it is free.
 */
#ifndef VERGE_SRC_SERVICE_RECORD_H
#define VERGE_SRC_SERVICE_RECORD_H

#include <stdatomic.h>

#include "base/assert.h"
#include "base/compiler.h"
#include "base/relaxed.h"
#include "base/step.h"
#include "calendar/node.h"
#include "verge/service.h"

#define VERGE__FREE UINT64_C(0)
#define VERGE__SCHEDULED UINT64_C(1)
#define VERGE__RUNNING_STATE UINT64_C(2)
#define VERGE__SPENT UINT64_C(3)
#define VERGE__STATE_MASK UINT64_C(3)

#define VERGE__LINKED (UINT64_C(1) << 2)
#define VERGE__WRITING (UINT64_C(1) << 3)
#define VERGE__AGAIN (UINT64_C(1) << 4)
#define VERGE__QUIT (UINT64_C(1) << 5)
#define VERGE__SHUT (UINT64_C(1) << 6)
#define VERGE__WAITED (UINT64_C(1) << 7)
#define VERGE__CLAIMED (UINT64_C(1) << 8)

#define VERGE__OWNER_SHIFT 16
#define VERGE__OWNER_MASK (UINT64_C(0xffff) << VERGE__OWNER_SHIFT)
#define VERGE__GENERATION_ONE (UINT64_C(1) << 32)
#define VERGE__GENERATION_MASK (UINT64_C(0xffffffff) << 32)

#define VERGE__NO_INDEX UINT32_MAX

typedef struct verge__timer {
    _Atomic uint64_t word;
    verge__node node; /* deadline_ns: any thread, atomic. next, pprev: the owner */
    _Atomic(verge_callback) callback;
    _Atomic(void *) argument;
    _Atomic uint64_t period_ns;
    uint32_t link;
    uint16_t segment;                   /* which segment of the table contains the record (verge__table_index) */
    _Atomic uint16_t source_and_policy; /* valid only if period_ns is not 0 (sources.h) */
} verge__timer;

_Static_assert(sizeof(void *) != 8 || sizeof(verge__timer) == 64, "a timer is a cache line");

static inline uint64_t verge__word_state(uint64_t word) {
    return word & VERGE__STATE_MASK;
}

static inline uint32_t verge__word_owner(uint64_t word) {
    return (uint32_t)((word & VERGE__OWNER_MASK) >> VERGE__OWNER_SHIFT);
}

static inline uint64_t verge__word_with_owner(uint64_t word, uint32_t owner) {
    return (word & ~VERGE__OWNER_MASK) | (uint64_t)owner << VERGE__OWNER_SHIFT;
}

static inline uint32_t verge__word_generation(uint64_t word) {
    return (uint32_t)(word >> 32);
}

static inline verge_timer verge__word_handle(uint64_t word, uint32_t index) {
    return (word & VERGE__GENERATION_MASK) | index;
}

/* The word of a record whose timer ends: SPENT if its link is in use, otherwise FREE. */
static inline uint64_t verge__word_ended(uint64_t word) {
    uint64_t kept = word & (VERGE__GENERATION_MASK | VERGE__OWNER_MASK | VERGE__LINKED);
    return kept + VERGE__GENERATION_ONE + ((word & VERGE__LINKED) != 0 ? VERGE__SPENT : VERGE__FREE);
}

static inline uint64_t verge__word_load(verge__timer *timer) {
    VERGE__STEP("word: load");
    return atomic_load_explicit(&timer->word, memory_order_acquire);
}

/* One transition. On failure, *word gets the present word. NOLINTNEXTLINE(readability-non-const-parameter) */
static inline bool verge__word_change(verge__timer *timer, uint64_t *word, uint64_t to) {
    VERGE__STEP("word: change");
    return atomic_compare_exchange_strong_explicit(&timer->word, word, to, memory_order_acq_rel, memory_order_acquire);
}

/* T1, and other changes of a word that only the caller may change. Relaxed is enough. Another thread first gets the
 * handle from the thread that started the timer, takes the owner's turn, or gets the record from the pool. In each
 * case, it then sees what was written before. */
static inline void verge__word_publish(verge__timer *timer, uint64_t to) {
    VERGE__STEP("word: publish");
    VERGE__STORE_RELAXED(&timer->word, to);
}

/* T2. Release: a thread that changes this word (T3, T6 to T10) also sees the fields that were written before. */
static inline void verge__word_publish_to(verge__timer *timer, uint64_t to) {
    VERGE__STEP("word: publish");
    atomic_store_explicit(&timer->word, to, memory_order_release);
}

static inline uint64_t verge__timer_deadline(const verge__timer *timer) {
    return verge__load_relaxed_plain(&timer->node.deadline_ns);
}

static inline void verge__timer_set_deadline(verge__timer *timer, uint64_t deadline_ns) {
    verge__store_relaxed_plain(&timer->node.deadline_ns, deadline_ns);
}

/* Reads the deadline, sequentially consistent (reset.c, wake_owner). */
static inline uint64_t verge__timer_latest_deadline(const verge__timer *timer) {
    return __atomic_load_n(&timer->node.deadline_ns, __ATOMIC_SEQ_CST);
}

/* Sets the deadline, sequentially consistent (reset.c). */
static inline void verge__timer_publish_deadline(verge__timer *timer, uint64_t deadline_ns) {
    __atomic_store_n(&timer->node.deadline_ns, deadline_ns, __ATOMIC_SEQ_CST);
}

static inline verge__timer *verge__timer_of(verge__node *node) {
    return (verge__timer *)(void *)((unsigned char *)node - offsetof(verge__timer, node));
}

/* Whether the timer's node is in a wheel. */
static inline bool verge__timer_is_filed(const verge__timer *timer) {
    return verge__node_is_linked(&timer->node);
}

#endif
