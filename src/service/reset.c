/* SPDX-License-Identifier: MIT */
/*
 * Resetting a timer: T10, T11. Two changes of the word, with the deadline written in between. A second reset that finds
 * one under way has nothing to do: it counts as the one before, whose deadline was overwritten at once.
 */
#include <errno.h>

#include "service/turn.h"

/* T10. VERGE__WRITING in *ret_word: the caller writes. Otherwise the verdict is final. */
static int begin(verge__timer *timer, verge_timer handle, uint64_t *ret_word) {
    uint64_t word = verge__word_load(timer);
    for (;;) {
        if (verge__word_generation(word) != (uint32_t)(handle >> 32)) {
            return verge__table_why_not(word, handle);
        }
        if ((word & VERGE__SHUT) != 0) {
            return -ESHUTDOWN;
        }
        bool is_running = verge__word_state(word) == VERGE__RUNNING_STATE;
        if ((word & VERGE__WRITING) != 0) {
            return (word & VERGE__QUIT) != 0 ? -ENOENT : is_running ? VERGE_RUNNING : 0;
        }
        if ((word & VERGE__CLAIMED) != 0) {
            (void)sched_yield();
            word = verge__word_load(timer);
            continue;
        }
        uint64_t to = (word | VERGE__WRITING) & ~VERGE__QUIT;
        if (verge__word_change(timer, &word, to)) {
            *ret_word = to;
            return is_running ? VERGE_RUNNING : 0;
        }
    }
}

/* T11. Returns what the word was before. */
static uint64_t end(verge__timer *timer, uint64_t word, const verge_worker *bound, bool is_earlier) {
    for (;;) {
        bool is_own = bound != NULL && verge__word_owner(word) == bound->id;
        uint64_t to = word & ~VERGE__WRITING;
        if (verge__word_state(word) == VERGE__RUNNING_STATE) {
            to |= (word & VERGE__QUIT) != 0 ? 0 : VERGE__AGAIN;
        } else if ((word & VERGE__QUIT) != 0) {
            to = verge__word_ended(is_own ? word : word | VERGE__LINKED);
        } else if (is_earlier && !is_own) {
            to |= VERGE__LINKED;
        }
        if (verge__word_change(timer, &word, to)) {
            return word;
        }
    }
}

static int reset(verge_service *service, verge_worker *bound, verge_timer handle, uint64_t deadline_ns) {
    verge__timer *timer = verge__table_find(&service->table, handle);
    if (timer == NULL) {
        return -EBADF;
    }
    /* If it is filed here, nothing may fail once it is begun. */
    if (bound != NULL) {
        int error = verge__worker_prepare(bound, verge__worker_tick(bound, deadline_ns));
        if (error != 0) {
            return error;
        }
    }
    uint64_t word = 0;
    int verdict = begin(timer, handle, &word);
    if ((word & VERGE__WRITING) == 0) {
        return verdict;
    }
    uint64_t old_ns = verge__timer_deadline(timer);
    verge__timer_set_deadline(timer, deadline_ns);
    word = end(timer, word, bound, deadline_ns < old_ns);
    verge__count_for(bound == NULL ? NULL : &bound->tally.reset, &service->outside.reset);
    bool is_own = bound != NULL && verge__word_owner(word) == bound->id;
    if (verge__word_state(word) == VERGE__RUNNING_STATE) {
        return verdict;
    }
    if ((word & VERGE__QUIT) != 0) {
        verge__give_up(service, bound, timer, (uint32_t)handle, word);
    } else if ((word & VERGE__LINKED) != 0) {
        return verdict; /* who takes it looks at the deadline */
    } else if (is_own) {
        verge__worker_file(bound, timer, (uint32_t)handle, verge__worker_tick(bound, deadline_ns));
        if (verge__worker_is_untidy(bound)) {
            verge__worker_tidy(bound);
        }
    } else if (deadline_ns < old_ns) {
        verge__send_one(service, verge__word_owner(word), (uint32_t)handle, deadline_ns);
    }
    return verdict;
}

int verge_service_reset(verge_service *service, verge_timer timer, uint64_t deadline_ns) {
    if (service == NULL || deadline_ns == VERGE_NEVER) {
        return -EINVAL;
    }
    verge_worker *bound = verge__bound(service);
    if (bound == NULL) {
        return reset(service, NULL, timer, deadline_ns);
    }
    verge__turn_begin(bound);
    int verdict = reset(service, bound, timer, deadline_ns);
    verge__turn_end(bound);
    return verdict;
}
