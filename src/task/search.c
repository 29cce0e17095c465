/* SPDX-License-Identifier: MIT */
/* Searching, parking and calling: see search.h. */
#include "task/search.h"

#include "base/assert.h"
#include "base/step.h"
#include "task/queue.h"
#include "task/share.h"

enum { FEW_MAX = 2, PATIENCE_MIN = 4, PATIENCE_MAX = 16 };

static const uint64_t nap_min_ns = 50000, nap_max_ns = 1600000;

/* ---- calling ---- */

/* Takes the parked runner with the lowest index out of `parked`. NULL: none is parked. */
static verge__runner *unpark_any(verge_runtime *runtime) {
    const uint32_t words = (atomic_load(&runtime->runner_count) + 63) / 64;
    for (uint32_t i = 0; i < words; i++) {
        uint64_t bits = atomic_load(&runtime->parked[i]);
        while (bits != 0) {
            VERGE__STEP("search: call");
            if (atomic_compare_exchange_weak(&runtime->parked[i], &bits, bits & (bits - 1))) {
                return atomic_load(&runtime->runners[i * 64 + (uint32_t)__builtin_ctzll(bits)]);
            }
        }
    }
    return NULL;
}

static bool begin_search(verge_runtime *runtime) {
    bool is_searching = false;
    VERGE__STEP("search: begin");
    return atomic_compare_exchange_strong(&runtime->is_searching, &is_searching, true);
}

static void end_search(verge_runtime *runtime) {
    VERGE__STEP("search: end");
    atomic_store(&runtime->is_searching, false);
}

void verge__offer_slowly(verge_runtime *runtime) {
    while (verge__anyone_parked(runtime) && begin_search(runtime)) {
        verge__runner *called = unpark_any(runtime);
        if (called != NULL) {
            (void)verge__runner_notify(called);
            return;
        }
        end_search(runtime);
        VERGE__STEP("search: nobody to call");
    }
}

/* ---- looking ---- */

static verge__runner *other(const verge__runner *runner, uint32_t distance, uint32_t count) {
    return atomic_load(&runner->runtime->runners[(runner->index + distance) % count]);
}

static bool others_have_tasks(const verge__runner *runner) {
    const uint32_t count = atomic_load(&runner->runtime->runner_count);
    for (uint32_t i = 1; i < count; i++) {
        VERGE__STEP("search: look again");
        const verge__runner *victim = other(runner, i, count);
        if (verge__has_shared(victim) || verge__inbox_has_tasks(victim)) {
            return true;
        }
    }
    return false;
}

/* Returns a number that changes whenever a task is taken out of the ring of another runner. */
static uint32_t sum_of_heads(const verge__runner *runner) {
    const uint32_t count = atomic_load(&runner->runtime->runner_count);
    uint32_t heads = 0;
    for (uint32_t i = 1; i < count; i++) {
        heads += atomic_load_explicit(&other(runner, i, count)->ring.head, memory_order_relaxed);
    }
    return heads;
}

/*
 * One or two tasks in a ring are left alone at first, since their owner is about to run them. After a nap they are
 * taken. If the ring's head has not moved during the nap, the owner is busy with something else. Then searching pays,
 * and the result is FOUND_MANY. Otherwise the tasks may be two that wait for each other in turn. Searching does not pay
 * for these, so the result is FOUND_FEW. Only the first look after a nap takes one or two tasks, so FOUND_FEW happens
 * at most once for each nap.
 */
typedef enum verge__look_result { FOUND_NOTHING, FOUND_FEW, FOUND_MANY } verge__look_result;

static verge__look_result look_at(verge__runner *runner, verge__runner *victim, bool tries_few) {
    verge__searching *search = &runner->search;
    const uint32_t head = atomic_load(&victim->ring.head);
    const uint32_t count = atomic_load(&victim->ring.tail) - head;
    const bool are_few = count <= FEW_MAX && atomic_load(&victim->overflow_count) == 0;
    const bool are_left = search->few_of == victim && search->few_head == head && tries_few;
    if (are_few && !tries_few) {
        if (count != 0 && search->few_of == NULL) {
            search->few_of = victim;
            search->few_head = head;
        }
        return FOUND_NOTHING;
    }
    const bool any = verge__steal(runner, victim) || (tries_few && verge__steal_inbox(runner, victim));
    return !any ? FOUND_NOTHING : are_few && !are_left ? FOUND_FEW : FOUND_MANY;
}

static verge__look_result look(verge__runner *runner, bool tries_few) {
    const uint32_t count = atomic_load(&runner->runtime->runner_count);
    verge__look_result result = FOUND_NOTHING;
    for (uint32_t i = 1; i < count && result == FOUND_NOTHING; i++) {
        VERGE__STEP("search: look");
        result = look_at(runner, other(runner, i, count), tries_few);
    }
    return result;
}

/* Waits for about a microsecond between two looks, so that the owners of the rings are not slowed down. */
static void pause_a_little(void) {
    for (int i = 0; i < 32; i++) {
#if defined(__x86_64__) || defined(__i386__)
        __builtin_ia32_pause();
#elif defined(__aarch64__)
        __asm__ volatile("isb");
#else
        __asm__ volatile("");
#endif
    }
}

static verge__look_result look_for_a_while(verge__runner *runner) {
    verge__look_result result = runner->search.has_napped ? look(runner, true) : FOUND_NOTHING;
    runner->search.few_of = NULL;
    result = result != FOUND_NOTHING ? result : look(runner, false);
    for (uint32_t i = 0; i < runner->search.patience && result == FOUND_NOTHING; i++) {
        pause_a_little();
        result = verge__runner_has_work(runner) ? FOUND_MANY : look(runner, false);
    }
    return result;
}

/* ---- the search ---- */

static uint64_t clamp(uint64_t value, uint64_t low, uint64_t high) {
    return value < low ? low : value > high ? high : value;
}

uint64_t verge__search(verge__runner *runner) {
    verge__searching *search = &runner->search;
    if (!search->is_mine) {
        if (!begin_search(runner->runtime)) {
            return VERGE_NEVER;
        }
        search->is_mine = true;
        search->has_napped = false;
        search->heads = sum_of_heads(runner);
    }
    const verge__look_result result = look_for_a_while(runner);
    if (result == FOUND_MANY) {
        search->patience = (uint32_t)clamp((uint64_t)search->patience * 2, PATIENCE_MIN, PATIENCE_MAX);
        search->nap_ns = 0;
    }
    if (result != FOUND_NOTHING) {
        verge__search_end(runner);
        return 0;
    }
    search->patience /= 2;
    const uint32_t heads = sum_of_heads(runner);
    if (heads == search->heads && !others_have_tasks(runner)) {
        return VERGE_NEVER;
    }
    search->heads = heads;
    search->has_napped = true;
    search->nap_ns = clamp(2 * search->nap_ns, nap_min_ns, nap_max_ns);
    return search->nap_ns;
}

void verge__search_end(verge__runner *runner) {
    if (runner->search.is_mine) {
        runner->search.is_mine = false;
        end_search(runner->runtime);
        if (others_have_tasks(runner) || verge__inbox_has_tasks(runner)) {
            verge__offer(runner->runtime);
        }
    }
}

/* ---- parking ---- */

static _Atomic uint64_t *parked_word(const verge__runner *runner) {
    return &runner->runtime->parked[runner->index / 64];
}

static uint64_t parked_bit(const verge__runner *runner) {
    return UINT64_C(1) << runner->index % 64;
}

bool verge__park(verge__runner *runner) {
    VERGE__STEP("search: park");
    const uint64_t before = atomic_fetch_or(parked_word(runner), parked_bit(runner));
    VERGE__INVARIANT((before & parked_bit(runner)) == 0, "Q3: a runner that is parked does not park");
    (void)before;
    if (runner->search.is_mine) {
        runner->search.is_mine = false;
        end_search(runner->runtime);
    }
    if (!others_have_tasks(runner) || !begin_search(runner->runtime)) {
        return true;
    }
    atomic_fetch_and(parked_word(runner), ~parked_bit(runner)); /* this runner searches, instead of parking */
    return false;
}

void verge__unpark(verge__runner *runner) {
    VERGE__STEP("search: unpark");
    const uint64_t before = atomic_fetch_and(parked_word(runner), ~parked_bit(runner));
    if ((before & parked_bit(runner)) == 0) {
        runner->search.is_mine = true;
        runner->search.has_napped = false;
        /* Store a wrong sum, as if the heads of the other rings had moved. So if this runner finds nothing, it naps
         * before it parks. If it parked at once, the next push could call it again, for nothing. */
        runner->search.heads = sum_of_heads(runner) - 1;
    }
}
