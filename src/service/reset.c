/* SPDX-License-Identifier: MIT */
/*
 * Resetting a timer: T10, T11. The word changes twice, and the deadline is written in between. If a second reset finds
 * a first one in progress, it writes nothing: it counts as if it had come just before the first, and its deadline had
 * been overwritten at once. But if a cancel has come after the first reset began, while the callback runs, the second
 * reset takes that cancel back: the timer runs again, at the deadline of the first reset.
 */
#include <errno.h>

#include "service/park.h"
#include "service/turn.h"

/* T10. If *ret_word has VERGE__WRITING, the caller writes the deadline. Otherwise the returned value is the result of
 * the reset. */
static int begin(verge_service *service, verge__timer *timer, verge_timer handle, uint64_t *ret_word) {
    uint64_t word = verge__word_load(timer);
    for (;;) {
        if (verge__word_generation(word) != (uint32_t)(handle >> 32)) {
            return verge__table_why_not(word, handle);
        }
        bool is_running = verge__word_state(word) == VERGE__RUNNING_STATE;
        bool is_quit = (word & VERGE__QUIT) != 0;
        bool is_written = (word & VERGE__WRITING) != 0; /* another reset is in progress */
        if (is_quit && !is_running) {
            return -ENOENT;
        }
        if ((word & VERGE__SHUT) != 0) {
            return -ESHUTDOWN;
        }
        if (is_written && !is_quit) {
            return is_running ? VERGE_RUNNING : 0;
        }
        if ((word & VERGE__CLAIMED) != 0) {
            verge__wait_for_owner(service, timer, &word);
            continue;
        }
        uint64_t to = (word | VERGE__WRITING) & ~VERGE__QUIT;
        if (verge__word_change(timer, &word, to)) {
            *ret_word = is_written ? 0 : to;
            return is_running ? VERGE_RUNNING : 0;
        }
    }
}

/* T11. Returns the word before the change. */
static uint64_t end(verge__timer *timer, uint64_t word, const verge_worker *bound, bool is_earlier) {
    for (;;) {
        bool is_own = bound != NULL && verge__word_owner(word) == bound->id;
        uint64_t to = word & ~(VERGE__WRITING | VERGE__AGAIN);
        if (verge__word_state(word) == VERGE__RUNNING_STATE) {
            to |= (word & VERGE__QUIT) != 0 ? 0 : VERGE__AGAIN;
        } else if ((word & VERGE__QUIT) != 0) {
            to = verge__word_ended(is_own ? word : word | VERGE__LINKED);
        } else if (!is_own && (is_earlier || (word & VERGE__AGAIN) != 0)) {
            to |= VERGE__LINKED;
        }
        VERGE__INVARIANT(!is_own || verge__word_state(word) != VERGE__SCHEDULED || (word & VERGE__AGAIN) == 0,
                         "T4: the owner has withdrawn a timer that its own thread is resetting");
        if (verge__word_change(timer, &word, to)) {
            return word;
        }
    }
}

/*
 * Wakes the owner of a LINKED timer that got an earlier deadline. The owner may sleep beyond this deadline, because the
 * thread that pushed the timer woke the owner only if it slept beyond the deadline that the timer had then. (If the
 * owner field is out of date, the worker that gets the timer was woken in any case.) If two threads reset the timer,
 * one may link it, and the other may find it linked before it is pushed. So the thread that pushes reads the deadline
 * once more. This read, the store of the deadline, the push, and what the owner does before it sleeps are sequentially
 * consistent. So if the other thread did not see the owner asleep, the pushing thread sees the other thread's deadline.
 */
static void wake_owner(verge_service *service, uint64_t word, uint64_t deadline_ns) {
    verge_worker *owner = verge__service_seat(service, verge__word_owner(word));
    if (owner != NULL) {
        verge__park_wake(owner, deadline_ns);
    }
}

static void send_to_owner(verge_service *service, const verge__timer *timer, uint32_t index, uint64_t word,
                          uint64_t deadline_ns) {
    verge__send_one(service, verge__word_owner(word), index, deadline_ns);
    VERGE__STEP("reset: look again");
    uint64_t latest_ns = verge__timer_latest_deadline(timer);
    if (latest_ns < deadline_ns) {
        wake_owner(service, word, latest_ns);
    }
}

static int reset(verge_service *service, verge_worker *bound, verge_timer handle, uint64_t deadline_ns) {
    verge__timer *timer = verge__table_find(&service->table, handle);
    if (timer == NULL) {
        return -EBADF;
    }
    uint64_t word = 0;
    int verdict = begin(service, timer, handle, &word);
    if ((word & VERGE__WRITING) == 0) {
        return verdict;
    }
    uint64_t old_ns = verge__timer_deadline(timer);
    if (bound != NULL && verge__word_owner(word) == bound->id) {
        verge__timer_set_deadline(timer, deadline_ns);
    } else {
        verge__timer_publish_deadline(timer, deadline_ns);
    }
    word = end(timer, word, bound, deadline_ns < old_ns);
    verge__count_for(bound == NULL ? NULL : &bound->tally.reset, &service->outside.reset);
    bool is_own = bound != NULL && verge__word_owner(word) == bound->id;
    if (verge__word_state(word) == VERGE__RUNNING_STATE) {
        return verdict;
    }
    if ((word & VERGE__QUIT) != 0) {
        if (is_own && (word & VERGE__LINKED) == 0) {
            verge__worker_withdraw(bound, timer); /* its place may come up after the new deadline */
        }
        verge__free_or_send(service, bound, timer, (uint32_t)handle, word);
    } else if ((word & VERGE__LINKED) != 0) { /* the thread that takes it reads the deadline */
        if (deadline_ns < old_ns) {
            wake_owner(service, word, deadline_ns);
        }
    } else if (is_own && (deadline_ns < old_ns || !verge__timer_is_filed(timer))) {
        verge__worker_file(bound, timer);
    } else if (is_own) {
        VERGE__INVARIANT(verge__timer_is_filed(timer), "S3: a timer of the owner's that is not LINKED is in its wheel");
    } else if (deadline_ns < old_ns || (word & VERGE__AGAIN) != 0) {
        send_to_owner(service, timer, (uint32_t)handle, word, deadline_ns);
    }
    return verdict;
}

int verge_service_reset(verge_service *service, verge_timer timer, uint64_t deadline_ns) {
    if (service == NULL || deadline_ns == VERGE_NEVER || verge__service_refuses(service, deadline_ns)) {
        return -EINVAL;
    }
    verge_worker *bound = verge__bound(service);
    if (bound == NULL) {
        return verge__service_is_forked(service) ? -ECHILD : reset(service, NULL, timer, deadline_ns);
    }
    verge__turn_begin(bound);
    int verdict = reset(service, bound, timer, deadline_ns);
    verge__turn_end(bound);
    return verdict;
}
