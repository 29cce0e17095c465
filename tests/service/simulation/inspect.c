/* SPDX-License-Identifier: MIT */
#include "service/simulation/inspect.h"

#include <string.h>

#include "service/park.h"

/* Two segments of the table: a simulation has no more records. */
enum { FIRST_SEGMENT = 1024, RECORDS_MAX = FIRST_SEGMENT + 4096 };

/* What was found about each record. */
struct findings {
    const verge_service *service;
    const verge_worker *worker;
    bool is_in_wheel[RECORDS_MAX];  /* in the wheel of `worker` */
    uint64_t comes_up[RECORDS_MAX]; /* the first tick of the slot with its node; 0: it is due or late */
    bool is_linked[RECORDS_MAX];    /* in an inbox or a chain */
};

static verge__timer *record(const struct findings *findings, uint32_t index) {
    return verge__table_at(&findings->service->table, index);
}

/* Returns the number of a record, without the gap between the segments. */
static uint32_t rank(uint32_t index) {
    uint32_t rank = (index >> VERGE__TABLE_SEGMENT_BITS) * FIRST_SEGMENT + (index & (VERGE__TABLE_SEGMENT_RECORDS - 1));
    VERGE__INVARIANT(rank < RECORDS_MAX, "a simulation has no more records than are inspected");
    return rank;
}

static uint64_t word_of(const struct findings *findings, uint32_t index) {
    return atomic_load(&record(findings, index)->word);
}

static bool is_joined(const verge_worker *worker) {
    return atomic_load(&worker->seat_state) == VERGE__SEAT_JOINED;
}

/* ---- the wheel of one worker ---- */

static const char *see_node(void *context, verge__node *node, uint64_t start) {
    struct findings *findings = context;
    uint32_t index = verge__table_index(&findings->service->table, verge__timer_of(node));
    bool is_due = start < findings->worker->calendar.cursor;
    findings->is_in_wheel[rank(index)] = true;
    findings->comes_up[rank(index)] = is_due ? 0 : start;
    return NULL;
}

/* Also checks the calendar. */
static const char *see_wheel(struct findings *findings) {
    size_t late_count = 0;
    memset(findings->is_in_wheel, 0, rank(atomic_load(&findings->service->table.fresh)));
    for (size_t i = 0; i < 2; i++) {
        for (verge__node *node = findings->worker->late[i]; node != NULL; node = node->next) {
            (void)see_node(findings, node, 0);
            late_count++;
        }
    }
    return verge__calendar_check(&findings->worker->calendar, late_count, see_node, findings);
}

/* ---- inboxes and chains ---- */

static const char *see_links(struct findings *findings, uint32_t index) {
    for (; index != VERGE__NO_INDEX; index = record(findings, index)->link) {
        uint64_t word = word_of(findings, index);
        if (findings->is_linked[rank(index)]) {
            return "S1: a record is linked twice";
        }
        if ((word & VERGE__LINKED) == 0) {
            return "S1: what is in an inbox is LINKED";
        }
        findings->is_linked[rank(index)] = true;
    }
    return NULL;
}

/* Whether the records of a chain, which came while a worker sleeps, can wait until it wakes up. */
static bool can_wait(const struct findings *findings, uint32_t index, uint64_t until_ns) {
    for (; index != VERGE__NO_INDEX; index = record(findings, index)->link) {
        bool is_timer = verge__word_state(word_of(findings, index)) == VERGE__SCHEDULED;
        if (is_timer && verge__timer_deadline(record(findings, index)) < until_ns) {
            return false;
        }
    }
    return true;
}

/* ---- one worker ---- */

static const char *check_nodes(const struct findings *findings, uint64_t until_ns) {
    const verge_worker *worker = findings->worker;
    uint64_t timer_count = 0;
    uint64_t idle = 0;
    for (uint32_t index = 0; index < atomic_load(&findings->service->table.fresh);
         index = verge__table_next_index(index)) {
        const verge__timer *timer = record(findings, index);
        uint64_t word = word_of(findings, index);
        if (verge__word_owner(word) != worker->id) {
            continue;
        }
        bool is_in_wheel = verge__timer_is_filed(timer);
        bool is_free = verge__word_state(word) == VERGE__FREE;
        timer_count += is_in_wheel && !is_free;
        idle += is_in_wheel && is_free;
        if (is_in_wheel != findings->is_in_wheel[rank(index)]) {
            return "S2: a record and its owner's wheel do not agree on whether it is in the wheel";
        }
        bool is_to_be_sent = (word & (VERGE__WRITING | VERGE__AGAIN)) == (VERGE__WRITING | VERGE__AGAIN);
        if (verge__word_state(word) != VERGE__SCHEDULED || (word & VERGE__LINKED) != 0 || is_to_be_sent) {
            continue;
        }
        uint64_t tick = verge__worker_tick(worker, verge__timer_deadline(timer));
        uint64_t comes_up = findings->comes_up[rank(index)];
        if (!is_in_wheel || (comes_up > tick && comes_up > worker->calendar.cursor)) {
            return "S2: a timer does not come up in time";
        }
        if (until_ns > VERGE__WAKING && tick < until_ns >> worker->shift && comes_up >= tick) {
            return "G12: a worker sleeps beyond a timer of its own";
        }
    }
    if (idle > VERGE__FREE_KEPT) {
        return "S5: more idle nodes than a worker has free records";
    }
    return timer_count == verge__worker_timer_count(worker) ? NULL : "the timers of a worker are miscounted";
}

static const char *check_worker(struct findings *findings) {
    const verge_worker *worker = findings->worker;
    uint64_t until_ns = atomic_load(&worker->wait_until_ns);
    uint32_t in_inbox = (uint32_t)atomic_load(&worker->inbox.head);
    const char *wrong = see_links(findings, in_inbox);
    wrong = wrong != NULL || worker->overdue.count == 0 ? wrong : see_links(findings, worker->overdue.first);
    wrong = wrong != NULL || worker->incoming.count == 0 ? wrong : see_links(findings, worker->incoming.first);
    if (wrong != NULL || !is_joined(worker)) {
        return wrong != NULL || in_inbox == VERGE__NO_INDEX ? wrong : "something was left in a vacant seat";
    }
    if (until_ns > VERGE__WAKING && !can_wait(findings, in_inbox, until_ns)) {
        return "G12: a worker sleeps beyond a timer in its inbox";
    }
    wrong = see_wheel(findings);
    return wrong != NULL ? wrong : check_nodes(findings, until_ns);
}

/* Whether any worker is in a wait from which it can be woken, not in a callback. */
static bool is_any_asleep(const verge_service *service) {
    uint32_t seat_count = atomic_load(&service->seat_count);
    for (uint32_t id = 1; id <= seat_count; id++) {
        const verge_worker *worker = verge__service_seat(service, id);
        if (is_joined(worker) && atomic_load(&worker->wait_until_ns) > VERGE__WAKING) {
            return true;
        }
    }
    return false;
}

const char *inspect_service(const verge_service *service) {
    static struct findings findings;
    findings.service = service;
    memset(findings.is_linked, 0, rank(atomic_load(&service->table.fresh)));
    uint32_t seat_count = atomic_load(&service->seat_count);
    for (uint32_t id = 1; id <= seat_count; id++) {
        findings.worker = verge__service_seat(service, id);
        const char *wrong = check_worker(&findings);
        if (wrong != NULL) {
            return wrong;
        }
    }
    uint32_t orphans = (uint32_t)atomic_load(&service->orphans.head);
    if (is_any_asleep(service) && orphans != VERGE__NO_INDEX) {
        return "G12: a worker sleeps, and there are orphans";
    }
    return see_links(&findings, orphans);
}

bool inspect_is_running(const verge_service *service, verge_timer timer) {
    uint64_t word = atomic_load(&verge__table_at(&service->table, (uint32_t)timer)->word);
    return verge__word_generation(word) == (uint32_t)(timer >> 32) && verge__word_state(word) == VERGE__RUNNING_STATE;
}

bool inspect_has_due(const verge_service *service, const verge_worker *worker, uint64_t now_ns) {
    for (uint32_t index = 0; index < atomic_load(&service->table.fresh); index = verge__table_next_index(index)) {
        const verge__timer *timer = verge__table_at(&service->table, index);
        uint64_t word = atomic_load(&timer->word);
        bool is_filed = verge__word_owner(word) == worker->id && verge__word_state(word) == VERGE__SCHEDULED &&
                        (word & (VERGE__LINKED | VERGE__WRITING)) == 0;
        if (is_filed && verge__worker_tick(worker, verge__timer_deadline(timer)) <= now_ns >> worker->shift) {
            return true;
        }
    }
    return false;
}

uint32_t inspect_who_needs_help(const verge_service *service, uint64_t now_ns) {
    const struct findings findings = {.service = service};
    uint32_t seat_count = atomic_load(&service->seat_count);
    for (uint32_t id = 1; id <= seat_count && is_any_asleep(service); id++) {
        const verge_worker *worker = verge__service_seat(service, id);
        uint64_t since_ns = atomic_load(&worker->callback_since_ns);
        bool is_stuck = is_joined(worker) && since_ns != 0 && now_ns > since_ns &&
                        now_ns - since_ns >= service->options.stuck_after_ns;
        uint64_t next_ns = ((now_ns >> worker->shift) + 1) << worker->shift;
        if (is_stuck && (inspect_has_due(service, worker, now_ns) ||
                         !can_wait(&findings, (uint32_t)atomic_load(&worker->inbox.head), next_ns))) {
            return id;
        }
    }
    return 0;
}
