/* SPDX-License-Identifier: MIT */
/*
 * A pass of a worker: T4, T5 (record.h). It takes the records of the inbox, and then runs timers that are due, one
 * batch at most.
 *
 * Due timers run in waves. A wave first runs the timers that came too late for their tick: those that other threads
 * sent, and then those that were started here. Timers from other threads run in the order in which the worker received
 * them. Those that it received together run in the order of their deadlines. Then the wave runs the ticks up to the
 * time at which it began. If a callback starts a timer for now or the past, that timer belongs to the next wave. A pass
 * runs callbacks of only one wave. So a timer waits only for timers that were due before it, however many start
 * themselves again, and however small the batch is.
 */
#include <errno.h>

#include "base/probes.h"
#include "histogram/histogram_internal.h"
#include "service/park.h"
#include "service/turn.h"

enum {
    NODES_MOVED_AT_ONCE = 8192, /* how many nodes may move to lower levels in one pass */
    NODES_SEEN_AT_ONCE = 8192,  /* how many nodes may come up in one run_wave, those of ended timers included */
    NAP_AFTER = 2,              /* so many records since the last sleep make the next sleep a nap */
    NAP_NS = 4000000,
};

/* ---- one timer ---- */

/* What happened to a timer that came up. */
typedef enum verge__fate {
    VERGE__FATE_RAN,
    VERGE__FATE_GONE,  /* it has ended, another worker has it now, or it comes back through the inbox */
    VERGE__FATE_ENDED, /* it was cancelled at the last moment, and is freed */
    VERGE__FATE_MOVED, /* its deadline is later now */
} fate;

/* T4, for a timer whose deadline is being written. The worker does not wait: the writer then sends the timer to the
 * worker. False: *word has changed. */
static bool leave_to_writer(verge__timer *timer, uint64_t *word) {
    bool is_on_its_way = (*word & VERGE__LINKED) != 0;
    return is_on_its_way || verge__word_change(timer, word, *word | VERGE__AGAIN);
}

/* T4, the first half: after it, no other thread writes the deadline. FATE_RAN: the timer is claimed. */
static fate claim(const verge_worker *worker, verge__timer *timer, uint64_t due_tick, uint64_t *ret_word) {
    uint64_t word = verge__word_load(timer);
    for (;;) {
        if (verge__word_owner(word) != worker->id || verge__word_state(word) != VERGE__SCHEDULED) {
            return VERGE__FATE_GONE;
        }
        if ((word & VERGE__WRITING) != 0) {
            if (leave_to_writer(timer, &word)) {
                return VERGE__FATE_GONE;
            }
        } else if (verge__worker_tick(worker, verge__timer_deadline(timer)) > due_tick) {
            return VERGE__FATE_MOVED;
        } else if (verge__word_change(timer, &word, word | VERGE__CLAIMED)) {
            *ret_word = word | VERGE__CLAIMED;
            return VERGE__FATE_RAN;
        }
    }
}

/* T4, the second half: the timer runs, unless it was reset or cancelled at the last moment. */
static fate end_claim(verge_worker *worker, verge__timer *timer, uint64_t *word, bool is_due) {
    uint64_t to = 0;
    do {
        bool is_quit = (*word & VERGE__QUIT) != 0;
        to = is_quit
                 ? verge__word_ended(*word)
                 : (*word & ~(VERGE__CLAIMED | VERGE__WAITED)) + (is_due ? VERGE__RUNNING_STATE - VERGE__SCHEDULED : 0);
    } while (!verge__word_change(timer, word, to));
    if (VERGE__UNLIKELY((*word & VERGE__WAITED) != 0)) {
        verge__worker_release_waiters(worker);
    }
    if ((*word & VERGE__QUIT) != 0) {
        return VERGE__FATE_ENDED;
    }
    *word = to;
    return is_due ? VERGE__FATE_RAN : VERGE__FATE_MOVED;
}

/* Fills in what the callback gets, and sets the next deadline of a periodic timer. The timer is CLAIMED. */
static verge_firing announce(verge_worker *worker, verge__timer *timer) {
    uint64_t deadline_ns = verge__timer_deadline(timer);
    uint64_t period_ns = verge__timer_period(timer);
    verge_tick tick = {.scheduled_ns = deadline_ns};
    if (period_ns != 0) {
        verge_interval interval = {.period_ns = 0};
        (void)verge_interval_init(&interval, deadline_ns, period_ns, verge__timer_policy(timer));
        (void)verge_interval_next(&interval, worker->now_ns, &tick);
        verge__timer_set_deadline(timer, interval.deadline_ns);
    }
    return (verge_firing){.service = worker->service,
                          .worker = worker,
                          .argument = atomic_load_explicit(&timer->argument, memory_order_relaxed),
                          .scheduled_ns = tick.scheduled_ns,
                          .actual_ns = worker->now_ns,
                          .missed = tick.missed};
}

/* Whether a timer whose callback has returned runs again. */
static bool goes_on(const verge__timer *timer, uint64_t word) {
    if ((word & VERGE__WRITING) != 0) {
        return true; /* the thread that writes the deadline decides */
    }
    bool is_periodic = verge__timer_period(timer) != 0;
    bool has_deadline = verge__timer_deadline(timer) != VERGE_NEVER;
    return (word & VERGE__QUIT) == 0 && ((word & VERGE__AGAIN) != 0 || is_periodic) && has_deadline;
}

/* T5. Returns whether the timer has ended. */
static bool finish(verge_worker *worker, verge__timer *timer, uint32_t index) {
    uint64_t word = verge__word_load(timer);
    bool again = false;
    uint64_t to = 0;
    do {
        VERGE__INVARIANT(verge__word_state(word) == VERGE__RUNNING_STATE, "S3: only the owner ends RUNNING");
        again = goes_on(timer, word);
        to = again ? (word & ~(VERGE__STATE_MASK | VERGE__AGAIN | VERGE__WAITED)) | VERGE__SCHEDULED
                   : verge__word_ended(word);
    } while (!verge__word_change(timer, &word, to));
    if ((word & VERGE__WAITED) != 0) {
        verge__worker_release_waiters(worker);
    }
    bool has_ended = !again || (word & VERGE__QUIT) != 0; /* QUIT and WRITING: the writing thread frees it */
    if (has_ended) {
        verge__count_ended(&worker->tally);
        verge__service_give_room(worker->service);
    }
    if (!again && (word & VERGE__LINKED) == 0) {
        verge__worker_free(worker, timer, index);
    } else if (again && (to & VERGE__LINKED) == 0) {
        verge__worker_count_timer(worker, 1);
        verge__worker_file(worker, timer);
    }
    return has_ended;
}

/* Runs a callback, without any lock. In a service that watches for stuck callbacks, also without the turn. */
static void call(verge_worker *worker, verge_callback callback, const verge_firing *firing) {
    verge_service *service = worker->service;
    bool watched = verge__service_watches(service);
    verge__histogram_record_once(
        &worker->lateness, firing->actual_ns > firing->scheduled_ns ? firing->actual_ns - firing->scheduled_ns : 0);
    atomic_store_explicit(&worker->running, firing->timer, memory_order_relaxed);
    worker->is_in_callback = true;
    if (watched) {
        atomic_store_explicit(&worker->running_callback, callback, memory_order_relaxed);
        /* Read the clock. The published time may be so old that the callback would look stuck at once. 0 would mean
         * that no callback runs. */
        uint64_t since_ns = verge__service_clock(service);
        atomic_store_explicit(&worker->callback_since_ns, since_ns == 0 ? 1 : since_ns, memory_order_release);
        verge__metronome_want(service);
        verge__turn_lay_down(worker);
    }
    VERGE__PROBE5(run, service, firing->timer, callback, firing->scheduled_ns, firing->actual_ns);
    callback(firing);
    VERGE__PROBE2(ran, service, firing->timer);
    if (watched) {
        verge__turn_begin(worker);
        verge__worker_end_watch(worker);
    }
    worker->is_in_callback = false;
    atomic_store_explicit(&worker->running, 0, memory_order_relaxed);
    uint64_t now_ns = verge__service_clock(service);
    verge__histogram_record_once(&worker->callback_time, now_ns > worker->now_ns ? now_ns - worker->now_ns : 0);
    worker->now_ns = now_ns > worker->now_ns ? now_ns : worker->now_ns;
    /* Another worker may have taken ticks of this worker, at a later time (rescue.c). This worker's time must not be
     * before that, even if the clock has gone back since. */
    worker->now_ns = worker->rescued_ns > worker->now_ns ? worker->rescued_ns : worker->now_ns;
    verge__count(&worker->tally.fired, 1);
}

/* ---- one node ---- */

/* Runs a timer if it is due at due_tick. If the timer is still in the wheel then, takes it out first. */
static fate run_if_due(verge_worker *worker, verge__timer *timer, uint32_t index, uint64_t due_tick) {
    uint64_t word = 0;
    fate outcome = claim(worker, timer, due_tick, &word);
    if (outcome != VERGE__FATE_RAN) {
        return outcome;
    }
    bool is_due = verge__worker_tick(worker, verge__timer_deadline(timer)) <= due_tick;
    verge_firing firing = {0};
    if (is_due) {
        firing = announce(worker, timer);
    }
    outcome = end_claim(worker, timer, &word, is_due);
    if (outcome == VERGE__FATE_MOVED) {
        return outcome;
    }
    verge__worker_withdraw(worker, timer);
    if (outcome == VERGE__FATE_ENDED) {
        verge__free_or_send(worker->service, worker, timer, index, word);
        return outcome;
    }
    firing.timer = verge__word_handle(word, index);
    call(worker, atomic_load_explicit(&timer->callback, memory_order_relaxed), &firing);
    if (VERGE__UNLIKELY(atomic_load_explicit(&worker->shown.fires_left, memory_order_relaxed) != 0)) {
        uint32_t source = verge__timer_source(&worker->service->sources, timer);
        verge__sample_firing(worker, source, &firing, finish(worker, timer, index));
    } else {
        (void)finish(worker, timer, index);
    }
    return VERGE__FATE_RAN;
}

/* Handles a timer that has come up. True: its callback ran. */
static bool come_up(verge_worker *worker, verge__timer *timer, uint64_t due_tick) {
    uint32_t index = verge__table_index(&worker->service->table, timer);
    fate outcome = run_if_due(worker, timer, index, due_tick);
    if (outcome == VERGE__FATE_MOVED) {
        uint64_t tick = verge__worker_tick(worker, verge__timer_deadline(timer));
        verge__worker_count_timer(worker, 1);
        verge__calendar_file(&worker->calendar, &timer->node,
                             tick > worker->calendar.cursor ? tick : worker->calendar.cursor);
    }
    return outcome == VERGE__FATE_RAN;
}

static bool is_to_leave(const verge_worker *worker) {
    return worker->wants_to_leave || atomic_load_explicit(&worker->is_to_retire, memory_order_acquire);
}

/* Whether no more callbacks may begin. */
static bool is_to_stop(const verge_worker *worker) {
    return is_to_leave(worker) || atomic_load_explicit(&worker->service->is_stopping, memory_order_acquire);
}

/* Runs the first of the timers that arrived overdue. True: its callback ran. */
static bool run_overdue(verge_worker *worker, uint64_t due_tick) {
    const verge__table *table = &worker->service->table;
    uint32_t index = verge__chain_pop(&worker->overdue, table);
    verge__timer *timer = verge__table_at(table, index);
    worker->overdue_left--;
    if (!verge__worker_take(worker, timer, index)) {
        return false;
    }
    fate outcome = run_if_due(worker, timer, index, due_tick);
    if (outcome == VERGE__FATE_MOVED) {
        verge__worker_count_timer(worker, verge__timer_is_filed(timer) ? 0 : 1);
        verge__worker_file(worker, timer);
    }
    return outcome == VERGE__FATE_RAN;
}

/* ---- the pass ---- */

/* Begins a wave, unless one is in progress. Returns whether it began one. */
static bool begin_wave(verge_worker *worker, uint64_t target) {
    const verge__calendar *calendar = &worker->calendar;
    bool is_over = worker->overdue_left == 0 && worker->late[1 - worker->late_list] == NULL &&
                   !verge__calendar_has_due(calendar) && calendar->cursor >= worker->wave_end;
    if (is_over) {
        worker->overdue_left = worker->overdue.count;
        worker->late_list = (uint8_t)(1 - worker->late_list);
        worker->wave_end = target > worker->calendar.cursor ? target : worker->calendar.cursor;
    }
    return is_over;
}

static size_t run_wave(verge_worker *worker, uint64_t target, size_t *budget) {
    size_t fired = 0;
    verge__timer *timer = NULL;
    for (size_t seen = 0; fired < worker->service->options.batch && seen < NODES_SEEN_AT_ONCE && !is_to_stop(worker);
         seen++) {
        if (worker->overdue_left > 0) {
            fired += run_overdue(worker, target - 1);
        } else if ((timer = verge__worker_pop_late(worker)) != NULL) {
            fired += come_up(worker, timer, target - 1);
        } else if ((timer = verge__worker_pop_due(worker)) != NULL) {
            fired += come_up(worker, timer, worker->calendar.cursor - 1);
        } else if (!verge__calendar_next_tick(&worker->calendar, worker->wave_end - 1, budget)) {
            break;
        }
    }
    return fired;
}

static size_t run_due(verge_worker *worker, uint64_t target) {
    size_t budget = NODES_MOVED_AT_ONCE;
    bool is_rest = !begin_wave(worker, target);
    size_t fired = run_wave(worker, target, &budget);
    if (is_rest && fired == 0 && begin_wave(worker, target)) { /* nothing was left of the wave before */
        fired = run_wave(worker, target, &budget);
    }
    if (!verge__worker_has_backlog(worker) && worker->calendar.cursor >= target) {
        verge__calendar_settle(&worker->calendar, &budget);
    } else {
        worker->calendar.quiet_until = 0;
    }
    return fired;
}

static bool has_mail(const verge_worker *worker) {
    return !verge__inbox_is_empty(&worker->inbox) || !verge__inbox_is_empty(&worker->service->orphans);
}

/* When the worker will have something to do, apart from records that it has not taken yet. */
static uint64_t next_taken(const verge_worker *worker) {
    if (worker->incoming.count > 0 || verge__worker_has_backlog(worker)) {
        return 0;
    }
    uint64_t tick = verge__calendar_next(&worker->calendar);
    uint64_t now_tick = worker->now_ns >> worker->shift;
    if (tick <= now_tick) {
        return 0;
    }
    return tick > VERGE_NEVER >> worker->shift ? VERGE_NEVER : tick << worker->shift;
}

/* When the worker will have something to do. */
static uint64_t next(const verge_worker *worker) {
    return has_mail(worker) ? 0 : next_taken(worker);
}

static void publish_state(verge_worker *worker) {
    atomic_store_explicit(&worker->tally.linked, worker->calendar.linked, memory_order_relaxed);
    atomic_store_explicit(&worker->tally.nodes_moved, worker->calendar.nodes_moved, memory_order_relaxed);
    atomic_store_explicit(&worker->next_ns, next(worker), memory_order_relaxed);
    atomic_store_explicit(&worker->has_made_a_pass, true, memory_order_relaxed);
    uint64_t look = atomic_load_explicit(&worker->service->look, memory_order_relaxed);
    if (VERGE__UNLIKELY(look != worker->shown.look_seen)) {
        verge__worker_note_look(worker, look);
    }
}

size_t verge__worker_pass(verge_worker *worker) {
    if (VERGE__UNLIKELY(verge__service_watches(worker->service))) {
        worker->now_ns = verge__worker_read_now(worker);
        verge__worker_rescue_others(worker); /* the rescued timers are received below */
    }
    verge__worker_receive(worker);
    worker->now_ns = verge__worker_read_now(worker);
    uint64_t target = (worker->now_ns >> worker->shift) + 1;
    size_t fired = 0;
    if (target <= worker->calendar.quiet_until && !verge__worker_has_backlog(worker)) {
        worker->calendar.cursor = target > worker->calendar.cursor ? target : worker->calendar.cursor;
        worker->wave_end = worker->calendar.cursor;
    } else {
        fired = run_due(worker, target);
    }
    publish_state(worker);
    return fired;
}

/* ---- run_once ---- */

uint64_t verge_worker_next_wakeup(verge_worker *worker) {
    if (worker == NULL || !verge__worker_is_there(worker)) {
        return VERGE_NEVER;
    }
    verge__turn_begin(worker); /* this function may be called in one of the worker's own callbacks */
    uint64_t next_ns = next(worker);
    verge__turn_end(worker);
    return next_ns;
}

/*
 * A thread of the service sleeps although records come in all the time. It must not wake up for each of them: a thread
 * that starts and cancels timers would keep it awake, and both would compete for the same cache lines. So if NAP_AFTER
 * records have come since its last sleep, it naps: it sleeps for NAP_NS at most. Records that are due after the nap
 * wake it only if VERGE__SPENT_BEFORE_WAKE records have come. After the thread has written until when it sleeps, it
 * takes the records that have come (park.h). A record then keeps the thread awake only if the record is due before that
 * time.
 */
static bool begin_sleep(verge_worker *worker, uint64_t until_ns, uint32_t *ret_signal) {
    if (!worker->naps) {
        return verge__park_begin(worker, until_ns, ret_signal);
    }
    verge__park_say(worker, until_ns, ret_signal);
    verge__worker_receive(worker);
    publish_state(worker);
    return next_taken(worker) >= until_ns && verge__park_may_sleep(worker);
}

static uint64_t end_of_nap(verge_worker *worker, uint64_t until_ns) {
    bool naps = worker->naps && worker->received_count >= NAP_AFTER;
    worker->received_count = 0;
    return naps && worker->now_ns < until_ns && until_ns - worker->now_ns > NAP_NS ? worker->now_ns + NAP_NS : until_ns;
}

/* Waits until there is something to do, but no longer than until_ns. */
static void wait_until(verge_worker *worker, uint64_t until_ns) {
    uint64_t next_ns = worker->naps ? next_taken(worker) : next(worker);
    until_ns = end_of_nap(worker, next_ns < until_ns ? next_ns : until_ns);
    uint32_t signal = 0;
    if (until_ns <= worker->now_ns || until_ns <= VERGE__WAKING) {
        return;
    }
    worker->busy_count = 0;
    if (begin_sleep(worker, until_ns, &signal)) {
        verge__park_sleep(worker, signal, until_ns);
        verge__count(&worker->tally.wakeups, 1);
    }
    verge__park_end(worker);
}

/* Ends an interruption. Returns whether there was one. This is an exchange, because a plain store could overwrite an
 * interruption unseen. */
static bool end_interruption(verge_worker *worker) {
    VERGE__STEP("interrupt: end");
    return atomic_exchange_explicit(&worker->is_interrupted, false, memory_order_acq_rel);
}

static int run_once(verge_worker *worker, uint64_t wait_until_ns) {
    size_t fired = is_to_leave(worker) ? 0 : verge__worker_pass(worker);
    VERGE__STEP("run once: wait or return");
    bool may_wait = fired == 0 && wait_until_ns > worker->now_ns && !is_to_leave(worker);
    /* A call that does not wait leaves the interruption to the next wait. */
    if (may_wait && !end_interruption(worker)) {
        wait_until(worker, wait_until_ns);
        (void)end_interruption(worker);
        fired = is_to_leave(worker) ? 0 : verge__worker_pass(worker);
    }
    return fired > INT32_MAX ? INT32_MAX : (int)fired;
}

int verge_worker_run_once(verge_worker *worker, uint64_t wait_until_ns) {
    if (worker == NULL) {
        return -EINVAL;
    }
    if (VERGE__UNLIKELY(verge__service_is_forked(worker->service))) {
        return -ECHILD;
    }
    if (VERGE__UNLIKELY(verge__is_bound_to_another(worker))) {
        return -EPERM;
    }
    if (worker->is_in_pass) {
        return -EBUSY;
    }
    if (VERGE__UNLIKELY(!verge__worker_is_there(worker))) {
        return -ESHUTDOWN;
    }
    bool is_guest = !verge__is_bound(worker);
    if (is_guest) {
        verge__bind(worker);
    }
    worker->is_in_pass = true;
    int fired = run_once(worker, wait_until_ns);
    worker->is_in_pass = false;
    if (is_guest) {
        verge__unbind(worker);
    }
    if (is_to_leave(worker)) {
        (void)verge_worker_leave(worker);
        return -ESHUTDOWN;
    }
    return fired;
}

uint64_t verge_worker_begin_wait(verge_worker *worker) {
    if (worker == NULL || !verge__worker_is_there(worker)) {
        return 0;
    }
    uint64_t until_ns = verge_worker_next_wakeup(worker);
    uint32_t signal = 0;
    worker->busy_count = 0;
    if (until_ns <= worker->now_ns || until_ns <= VERGE__WAKING) {
        return 0;
    }
    if (verge__park_begin(worker, until_ns, &signal)) {
        return until_ns;
    }
    verge__park_end(worker);
    return 0;
}

void verge_worker_end_wait(verge_worker *worker) {
    if (worker != NULL) {
        verge__park_end(worker);
        (void)end_interruption(worker);
    }
}

void verge_worker_interrupt(verge_worker *worker) {
    if (worker != NULL) {
        VERGE__STEP("interrupt");
        atomic_store_explicit(&worker->is_interrupted, true, memory_order_seq_cst);
        verge__park_wake(worker, 0);
    }
}
