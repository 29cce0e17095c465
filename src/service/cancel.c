/* SPDX-License-Identifier: MIT */
/* Cancelling a timer: T6 to T9, T13, T14. */
#include <errno.h>

#include "base/exchange.h"
#include "service/park.h"
#include "service/turn.h"

/* T6, T7: a timer that was SCHEDULED has been ended by the caller: `word` is what its word was. */
void verge__give_up(verge_service *service, verge_worker *bound, verge__timer *timer, uint32_t index, uint64_t word) {
    if ((word & VERGE__LINKED) != 0) {
        return; /* who takes it from there frees it */
    }
    if (bound != NULL && verge__word_owner(word) == bound->id) {
        verge__worker_count_live(bound, timer->entry_tick == VERGE__NO_TICK ? 0 : -1);
        verge__worker_free(bound, timer, index);
        verge__worker_keep_tidy(bound);
        return;
    }
    verge__send_one(service, verge__word_owner(word), index, VERGE_NEVER);
}

/* What the word of a SCHEDULED timer becomes when the caller ends it. */
static uint64_t ended_by(const verge_worker *bound, uint64_t word) {
    bool is_own = bound != NULL && verge__word_owner(word) == bound->id;
    return verge__word_ended(is_own ? word : word | VERGE__LINKED);
}

static VERGE__ALWAYS_INLINE int cancel(verge_service *service, verge_worker *bound, verge_timer handle,
                                       uint64_t flags) {
    verge__timer *timer = verge__table_find(&service->table, handle);
    if (VERGE__UNLIKELY(timer == NULL)) {
        return -EBADF;
    }
    uint64_t word = verge__word_load(timer);
    for (;;) {
        if (VERGE__UNLIKELY(verge__word_generation(word) != (uint32_t)(handle >> 32))) {
            return verge__table_why_not(word, handle);
        }
        bool is_running = verge__word_state(word) == VERGE__RUNNING_STATE;
        if (VERGE__LIKELY(!is_running && (word & (VERGE__WRITING | VERGE__CLAIMED)) == 0)) {
            if (verge__word_change(timer, &word, ended_by(bound, word))) {
                verge__give_up(service, bound, timer, (uint32_t)handle, word);
                break;
            }
        } else if (!is_running && (word & VERGE__QUIT) != 0) {
            return -ENOENT;
        } else if (verge__word_change(timer, &word,
                                      (word | VERGE__QUIT | flags) & ~(is_running ? VERGE__AGAIN : UINT64_C(0)))) {
            if (is_running) {
                return VERGE_RUNNING;
            }
            break; /* who writes the deadline, or was about to run it, ends it */
        }
    }
    bool is_local = bound != NULL && verge__word_owner(word) == bound->id;
    verge__count_for(bound == NULL ? NULL
                     : is_local    ? &bound->tally.cancelled_locally
                                   : &bound->tally.cancelled_remotely,
                     &service->outside.cancelled_remotely);
    verge__service_give_room(service);
    return 0;
}

static VERGE__ALWAYS_INLINE int cancel_on_turn(verge_service *service, verge_timer timer, uint64_t flags) {
    verge_worker *bound = verge__bound(service);
    if (bound == NULL) {
        return cancel(service, NULL, timer, flags);
    }
    verge__turn_begin(bound);
    int verdict = cancel(service, bound, timer, flags);
    verge__turn_end(bound);
    return verdict;
}

/* The short way of the bound worker, T6: a timer of its own that waits for its deadline. False, and nothing has changed:
 * something is not as usual. */
static VERGE__ALWAYS_INLINE bool cancel_shortly(const verge_service *service, verge_worker *worker, verge_timer handle,
                                                bool machine_has_cas) {
    verge__timer *timer = NULL;
    uint32_t free_count = verge__worker_free_count(worker);
    if (VERGE__UNLIKELY(!verge__table_has(&service->table, (uint32_t)handle, &timer) ||
                        free_count >= worker->free_limit)) {
        return false;
    }
    verge_timer freed = handle + VERGE__GENERATION_ONE;
    if (VERGE__UNLIKELY(freed < handle)) {
        return false; /* its generations are used up */
    }
    /* What is there is not looked at but compared: a handle that is no timer's fits no word of a SCHEDULED one. */
    uint64_t word = (handle & VERGE__GENERATION_MASK) + worker->scheduled_here;
    VERGE__STEP("word: change");
    if (VERGE__UNLIKELY(!verge__exchange_relaxed(&timer->word, word, word + VERGE__GENERATION_ONE - VERGE__SCHEDULED,
                                                 machine_has_cas))) {
        return false;
    }
    worker->free[free_count] = freed;
    atomic_store_explicit(&worker->free_count, free_count + 1, memory_order_relaxed);
    verge__count(&worker->tally.cancelled_locally, 1);
    return true;
}

static VERGE__NOINLINE int cancel_at_length(verge_service *service, verge_timer timer) {
    if (service == NULL) {
        return -EINVAL;
    }
    verge_worker *bound = verge__bound_plainly(service);
    bool is_short = bound != NULL && bound->plain_service_with_cas != service;
    return is_short && cancel_shortly(service, bound, timer, false) ? 0 : cancel_on_turn(service, timer, 0);
}

int verge_service_cancel(verge_service *service, verge_timer timer) {
    verge_worker *bound = verge__bound_plainly_with_cas(service);
    if (VERGE__UNLIKELY(bound == NULL || !cancel_shortly(service, bound, timer, true))) {
        return cancel_at_length(service, timer);
    }
    return 0;
}

/* ---- waiting for the callback ---- */

static bool is_running(uint64_t word, verge_timer timer) {
    return verge__word_generation(word) == (uint32_t)(timer >> 32) && verge__word_state(word) == VERGE__RUNNING_STATE;
}

/* Whether this thread is inside the callback of that timer: the one it runs, or one in which it makes a pass of another
 * worker. */
static bool is_inside(const verge_service *service, verge_timer timer) {
    for (const verge_worker *worker = verge__bound_workers; worker != NULL; worker = worker->bound_next) {
        if (worker->service == service && worker->is_in_callback &&
            atomic_load_explicit(&worker->running, memory_order_relaxed) == timer) {
            return true;
        }
    }
    return false;
}

/* For whom the callbacks that this thread is inside of wait; 0: for nobody. */
static void say_for_whom(const verge_service *service, verge_timer timer) {
    for (verge_worker *worker = verge__bound_workers; worker != NULL; worker = worker->bound_next) {
        if (worker->service == service && worker->is_in_callback) {
            VERGE__STEP("wait: say for whom");
            atomic_store_explicit(&worker->waits_for, timer, memory_order_seq_cst);
        }
    }
}

/* Whether the callback of `timer` waits, itself or through others, for one that this thread is inside of. All say for
 * whom they wait before they look: one of those that would wait in a circle sees it. */
static bool waits_for_this_thread(const verge_service *service, verge_timer timer) {
    for (uint32_t hops = 0; hops < VERGE_WORKER_COUNT_MAX && timer != 0; hops++) {
        if (is_inside(service, timer)) {
            return true;
        }
        verge__timer *record = verge__table_at(&service->table, (uint32_t)timer);
        uint64_t word = verge__word_load(record);
        const verge_worker *runner = verge__service_place(service, verge__word_owner(word));
        if (!is_running(word, timer) || runner == NULL) {
            return false;
        }
        VERGE__STEP("wait: for whom it waits");
        verge_timer next = atomic_load_explicit(&runner->waits_for, memory_order_seq_cst);
        /* It may have returned before: then that is what another callback there waits for. */
        uint64_t word_after = verge__word_load(record);
        if (!is_running(word_after, timer) || verge__word_owner(word_after) != runner->id) {
            return false;
        }
        timer = next;
    }
    return false;
}

/* T14, until the callback has returned. */
static void wait_for_return(verge_service *service, verge__timer *timer, verge_timer handle) {
    uint64_t word = verge__word_load(timer);
    while (is_running(word, handle)) {
        verge__wait_for_owner(service, timer, &word);
    }
}

static int cancel_and_wait(verge_service *service, verge_timer timer, uint64_t flags) {
    int verdict = cancel_on_turn(service, timer, flags);
    if (verdict != VERGE_RUNNING || is_inside(service, timer)) {
        return verdict;
    }
    say_for_whom(service, timer);
    if (waits_for_this_thread(service, timer)) {
        verdict = -EDEADLK;
    } else {
        wait_for_return(service, verge__table_at(&service->table, (uint32_t)timer), timer);
    }
    say_for_whom(service, 0);
    return verdict;
}

int verge_service_cancel_wait(verge_service *service, verge_timer timer) {
    return service == NULL ? -EINVAL : cancel_and_wait(service, timer, 0);
}

int verge_service_shutdown(verge_service *service, verge_timer timer) {
    return service == NULL ? -EINVAL : cancel_and_wait(service, timer, VERGE__SHUT);
}
