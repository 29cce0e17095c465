/* SPDX-License-Identifier: MIT */
/* Cancelling a timer: T6 to T9, T13, T14 (record.h). */
#include <errno.h>

#include "base/exchange.h"
#include "service/park.h"
#include "service/turn.h"

/* T6, T7: the caller has ended a SCHEDULED timer. `word` is the word of the timer before the caller changed it. */
void verge__free_or_send(verge_service *service, verge_worker *bound, verge__timer *timer, uint32_t index,
                         uint64_t word) {
    if ((word & VERGE__LINKED) != 0) {
        return; /* the thread that takes the record out of its list frees it */
    }
    if (bound != NULL && verge__word_owner(word) == bound->id) {
        verge__worker_count_timer(bound, verge__timer_is_filed(timer) ? -1 : 0);
        verge__worker_free(bound, timer, index);
        return;
    }
    verge__send_one(service, verge__word_owner(word), index, VERGE_NEVER);
}

/* The new word of a SCHEDULED timer that the caller ends. */
static uint64_t ended_by(const verge_worker *bound, uint64_t word) {
    bool is_own = bound != NULL && verge__word_owner(word) == bound->id;
    return verge__word_ended(is_own ? word : word | VERGE__LINKED);
}

/*
 * For a thread that is no worker: guesses the word, and does not load it. Usually the record is in the cache of the
 * worker's processor. A load would only get a copy of the record, and the exchange would have to ask that processor
 * again. If the guess is wrong, the exchange fails, but it has brought the record here, and returns the present word.
 */
static uint64_t likely_word(verge_timer handle) {
    return verge__word_with_owner((handle & VERGE__GENERATION_MASK) + VERGE__SCHEDULED, 1);
}

static VERGE__ALWAYS_INLINE int cancel(verge_service *service, verge_worker *bound, verge_timer handle,
                                       uint64_t flags) {
    verge__timer *timer = verge__table_find(&service->table, handle);
    if (VERGE__UNLIKELY(timer == NULL)) {
        return -EBADF;
    }
    uint64_t word = bound != NULL ? verge__word_load(timer) : likely_word(handle);
    const bool is_sampled = verge__samples_cancels(service, bound);
    uint32_t source = VERGE__SOURCE_OTHERS;
    for (;;) {
        if (VERGE__UNLIKELY(verge__word_generation(word) != (uint32_t)(handle >> 32))) {
            return verge__table_why_not(word, handle);
        }
        if (is_sampled) { /* now: after the word has changed, the record may be another timer's */
            source = verge__timer_source(&service->sources, timer);
        }
        bool is_running = verge__word_state(word) == VERGE__RUNNING_STATE;
        if (VERGE__LIKELY(!is_running && (word & (VERGE__WRITING | VERGE__CLAIMED)) == 0)) {
            if (verge__word_change(timer, &word, ended_by(bound, word))) {
                verge__free_or_send(service, bound, timer, (uint32_t)handle, word);
                break;
            }
        } else if (!is_running && (word & VERGE__QUIT) != 0) {
            return -ENOENT;
        } else if (verge__word_change(timer, &word,
                                      (word | VERGE__QUIT | flags) & ~(is_running ? VERGE__AGAIN : UINT64_C(0)))) {
            if (is_running) {
                return VERGE_RUNNING;
            }
            break; /* the timer ends later: a thread writes its deadline, or is about to run it, and sees QUIT */
        }
    }
    bool is_local = bound != NULL && verge__word_owner(word) == bound->id;
    verge__count_for(bound == NULL ? NULL
                     : is_local    ? &bound->tally.cancelled_locally
                                   : &bound->tally.cancelled_remotely,
                     &service->outside.cancelled_remotely);
    if (is_sampled) {
        verge__sample_cancel(service, bound, source);
    }
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

/* The short way of the bound worker, T6, for its own timer that waits for its deadline. False: the short way does not
 * apply, and nothing has changed. */
static VERGE__ALWAYS_INLINE bool cancel_by_short_way(const verge_service *service, verge_worker *worker,
                                                     verge_timer handle, bool machine_has_cas) {
    verge__timer *timer = NULL;
    uint32_t free_count = verge__worker_free_count(worker);
    if (VERGE__UNLIKELY(!verge__table_has(&service->table, (uint32_t)handle, &timer) ||
                        free_count >= VERGE__FREE_KEPT)) {
        return false;
    }
    verge_timer freed = handle + VERGE__GENERATION_ONE;
    if (VERGE__UNLIKELY(freed < handle)) {
        return false; /* the record has no generations left */
    }
    /* No test of the handle is needed: the exchange compares its generation, and that of an invalid handle fits no word
     * of a SCHEDULED timer. */
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

static VERGE__NOINLINE int cancel_timer_slowly(verge_service *service, verge_timer timer) {
    if (service == NULL || verge__service_is_forked(service)) {
        return service == NULL ? -EINVAL : -ECHILD;
    }
    verge_worker *bound = verge__bound_for_short_way(service);
    bool is_short = bound != NULL && !bound->machine_has_cas;
    return is_short && cancel_by_short_way(service, bound, timer, false) ? 0 : cancel_on_turn(service, timer, 0);
}

int verge_service_cancel(verge_service *service, verge_timer timer) {
    verge_worker *bound = verge__bound_for_short_way_with_cas(service);
    if (VERGE__UNLIKELY(bound == NULL || !cancel_by_short_way(service, bound, timer, true))) {
        return cancel_timer_slowly(service, timer);
    }
    return 0;
}

/* ---- waiting for the callback ---- */

static bool is_running(uint64_t word, verge_timer timer) {
    return verge__word_generation(word) == (uint32_t)(timer >> 32) && verge__word_state(word) == VERGE__RUNNING_STATE;
}

/* Whether a thread is inside the callback of that timer. A thread may be inside several callbacks: a callback may make
 * a pass of another worker. `bound` is the list of workers that the thread is bound to. */
static bool is_inside(const verge_worker *bound, const verge_service *service, verge_timer timer) {
    for (const verge_worker *worker = bound; worker != NULL; worker = worker->bound_next) {
        if (worker->service == service && worker->is_in_callback &&
            atomic_load_explicit(&worker->running, memory_order_relaxed) == timer) {
            return true;
        }
    }
    return false;
}

static bool is_in_any_callback(const verge_worker *bound) {
    while (bound != NULL && !bound->is_in_callback) {
        bound = bound->bound_next;
    }
    return bound != NULL;
}

/*
 * Circles. Callbacks may wait for each other, also across services. In a circle, they would wait for ever. All threads
 * that wait inside a callback are in one list, under one lock. A thread that would close a circle is not added. While a
 * thread is in the list, it stays inside its callbacks. So its workers and their services exist, and nothing that is
 * read here changes. The service that a thread waits for is only compared, and not read: it may be freed as soon as the
 * callback has returned.
 */
typedef struct verge__waiting {
    const verge_worker *bound;    /* the workers of this thread */
    const verge_service *service; /* of the timer whose callback this thread waits for */
    verge_timer timer;
    struct verge__waiting *next;
} waiting;

static pthread_mutex_t waiting_lock = PTHREAD_MUTEX_INITIALIZER;
static waiting *waiting_threads;

/* The waiting thread that is inside the callback of that timer; NULL: none. */
static const waiting *find_waiting(const verge_service *service, verge_timer timer) {
    const waiting *found = waiting_threads;
    while (found != NULL && !is_inside(found->bound, service, timer)) {
        found = found->next;
    }
    return found;
}

/* Whether the callback that `self` wants to wait for is waiting, directly or through others, for a callback that this
 * thread is inside. The list has no circles. But a thread whose wait is over may still be in the list, and the timer it
 * waited for may run again. Then the list looks as if it had a circle. So the search visits at most as many threads as
 * the list has. */
static bool closes_a_circle(const waiting *self) {
    const waiting *link = find_waiting(self->service, self->timer);
    for (const waiting *left = waiting_threads; link != NULL && left != NULL; left = left->next) {
        if (is_inside(self->bound, link->service, link->timer)) {
            return true;
        }
        link = find_waiting(link->service, link->timer);
    }
    return false;
}

/* Adds this thread to the list. False: it would close a circle, and was not added. */
static bool begin_waiting(waiting *self) {
    VERGE__STEP("wait: begin");
    (void)pthread_mutex_lock(&waiting_lock);
    bool may_wait = !closes_a_circle(self);
    if (may_wait) {
        self->next = waiting_threads;
        waiting_threads = self;
    }
    (void)pthread_mutex_unlock(&waiting_lock);
    return may_wait;
}

void verge__forget_waiting(void) {
    (void)pthread_mutex_init(&waiting_lock, NULL); /* a thread of the parent may have held it */
    waiting_threads = NULL;
}

static void end_waiting(waiting *self) {
    VERGE__STEP("wait: end");
    (void)pthread_mutex_lock(&waiting_lock);
    waiting **link = &waiting_threads;
    while (*link != self) {
        link = &(*link)->next;
    }
    *link = self->next;
    (void)pthread_mutex_unlock(&waiting_lock);
}

/* T14: waits until the callback has returned. */
static void wait_for_return(verge_service *service, verge__timer *timer, verge_timer handle) {
    uint64_t word = verge__word_load(timer);
    while (is_running(word, handle)) {
        verge__wait_for_owner(service, timer, &word);
    }
}

static int cancel_and_wait(verge_service *service, verge_timer timer, uint64_t flags) {
    if (service == NULL || verge__service_is_forked(service)) {
        return service == NULL ? -EINVAL : -ECHILD;
    }
    int verdict = cancel_on_turn(service, timer, flags);
    if (verdict != VERGE_RUNNING || is_inside(verge__bound_workers, service, timer)) {
        return verdict;
    }
    waiting self = {.bound = verge__bound_workers, .service = service, .timer = timer};
    bool is_in_callback = is_in_any_callback(self.bound);
    if (is_in_callback && !begin_waiting(&self)) {
        return -EDEADLK;
    }
    wait_for_return(service, verge__table_at(&service->table, (uint32_t)timer), timer);
    if (is_in_callback) {
        end_waiting(&self);
    }
    return verdict;
}

int verge_service_cancel_wait(verge_service *service, verge_timer timer) {
    return cancel_and_wait(service, timer, 0);
}

int verge_service_shutdown(verge_service *service, verge_timer timer) {
    return cancel_and_wait(service, timer, VERGE__SHUT);
}
