/* SPDX-License-Identifier: MIT */
#include "scope/trouble.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/bits.h"

#define MS_NS UINT64_C(1000000)
#define LATE_SAMPLES_MIN 2 /* a source with fewer samples in the last ten seconds never counts as late */
#define BUSY_SHARE 0.75    /* if callbacks take this share of a worker's time, other callbacks have to wait */

verge__trouble *verge__trouble_add(verge__troubles *troubles, verge__trouble_kind kind, const char *subject,
                                   uint32_t which, const char *format, ...) {
    if (troubles->count++ >= VERGE__TROUBLES_MAX) {
        return NULL;
    }
    verge__trouble *trouble = &troubles->list[troubles->count - 1];
    va_list values;
    *trouble = (verge__trouble){.kind = kind, .subject = subject, .which = which};
    va_start(values, format);
    (void)vsnprintf(trouble->text, sizeof(trouble->text), format, values);
    va_end(values);
    return trouble;
}

/* ---- numbers as text, independent of the locale ---- */

typedef struct verge__words {
    char text[32];
} words;

/* Writes a duration in ms or s. */
static words duration(uint64_t ns) {
    const uint64_t ms = (ns + MS_NS / 2) / MS_NS, tenths = (ns + 50 * MS_NS) / (100 * MS_NS);
    words in;
    if (ns < 1000 * MS_NS) {
        (void)snprintf(in.text, sizeof(in.text), "%" PRIu64 " ms", ms);
    } else if (tenths < 100 && tenths % 10 != 0) {
        (void)snprintf(in.text, sizeof(in.text), "%" PRIu64 ".%" PRIu64 " s", tenths / 10, tenths % 10);
    } else {
        (void)snprintf(in.text, sizeof(in.text), "%" PRIu64 " s", (ms + 500) / 1000);
    }
    return in;
}

/* Writes a count as 1,234,567. */
static words grouped(uint64_t count) {
    words in;
    const int digits = snprintf(in.text, sizeof(in.text), "%" PRIu64, count);
    for (int i = digits, end = digits; i > 3; i -= 3) {
        memmove(in.text + i - 2, in.text + i - 3, (size_t)(++end - (i - 3)));
        in.text[i - 3] = ',';
    }
    return in;
}

static words rate(double a_second) {
    const uint64_t tenths = (uint64_t)(a_second * 10 + 0.5);
    words in;
    if (tenths < 100) {
        (void)snprintf(in.text, sizeof(in.text), "%" PRIu64 ".%" PRIu64 "/s", tenths / 10, tenths % 10);
    } else {
        (void)snprintf(in.text, sizeof(in.text), "%.28s/s", grouped((tenths + 5) / 10).text);
    }
    return in;
}

/* ---- stuck ---- */

static void find_stuck(const verge__service_view *view, const char *subject, uint64_t now_ns,
                       verge__troubles *troubles) {
    for (uint32_t id = 1; id <= VERGE_WORKER_COUNT_MAX; id++) {
        const verge__stuck_event *event = verge__stuck_now(&view->stuck, id);
        if (event != NULL) {
            (void)verge__trouble_add(troubles, VERGE__TROUBLE_STUCK, subject, id, "worker %u is stuck for %s in %s", id,
                                     duration(now_ns - event->since_ns).text, event->name);
        }
    }
}

/* ---- leaks ---- */

static bool is_shown(const verge__service_view *view, uint32_t index) {
    return view->sources[index].name[0] != '\0' && view->sources[index].stands_for == index;
}

static void tell_leak(const verge__service_view *view, const char *subject, uint32_t index, verge__troubles *troubles) {
    const verge__source_view *source = &view->sources[index];
    const double ended = verge__view_ends(view, source);
    const words growth = rate(verge__growth_rate(&source->growth));
    if (!source->has_ended || ended < 0.05) {
        (void)verge__trouble_add(troubles, VERGE__TROUBLE_LEAK, subject, index, "%s only grows: +%s, %s", source->name,
                                 growth.text,
                                 source->has_ended ? "few ended"
                                 : view->grain > 1 ? "none was seen to end"
                                                   : "none ended");
    } else {
        (void)verge__trouble_add(troubles, VERGE__TROUBLE_LEAK, subject, index, "%s grows by %s, though %s end",
                                 source->name, growth.text, rate(ended).text);
    }
}

/* Sources of which no timer has ended come first. */
static void find_leaks(const verge__service_view *view, const char *subject, verge__troubles *troubles) {
    for (int has_ended = 0; has_ended <= 1; has_ended++) {
        for (uint32_t i = 0; i < VERGE__SOURCE_COUNT; i++) {
            const verge__source_view *source = &view->sources[i];
            if (is_shown(view, i) && source->has_ended == (has_ended == 1) && verge__view_is_leak(view, source)) {
                tell_leak(view, subject, i, troubles);
            }
        }
    }
}

/* ---- delays: sources that are late or overdue. Sources with the same worker and culprit are one trouble. ---- */

enum { NAMED_MAX = 3 };

typedef struct verge__delay {
    uint32_t worker;             /* the worker that is busy with the culprit; 0: the reason is not known */
    uint32_t culprit;            /* the source that keeps the worker busy (find_culprit) */
    uint64_t amount;             /* the largest lateness in ns; or how many timers are overdue */
    uint32_t source_count;       /* how many sources are late or overdue for this reason */
    uint32_t sources[NAMED_MAX]; /* the first NAMED_MAX of these sources */
} delay;

/* Returns the worker on which most callbacks of a source began late, or 0. */
static uint32_t worker_that_is_late(const verge__service_view *view, uint32_t source) {
    uint32_t worker = 0;
    float most = 0;
    for (uint32_t id = 1; id <= VERGE_WORKER_COUNT_MAX; id++) {
        if (view->seats[id] != NULL && view->seats[id]->recent[source].late > most) {
            most = view->seats[id]->recent[source].late;
            worker = id;
        }
    }
    return worker;
}

/* Returns the share of a worker's time that a source took, in about the last ten seconds. */
static double share_of_worker(const verge__service_view *view, uint32_t worker, uint32_t source) {
    const double share = (double)view->seats[worker]->recent[source].time_ns / 1e9 / view->past_seconds;
    return share < 1 ? share : 1;
}

/* Whether a callback of a source takes so long, in the mean, that callbacks which wait for it are late. */
static bool is_slow(const verge__source_view *source) {
    return source->fired.past > 0.05 && source->time_ns.past / source->fired.past >= (double)VERGE__LATE_NS;
}

/* Finds the source that a delay is blamed on. If the worker is stuck, it is the source of the callback that runs.
 * Otherwise it is the source that took most of the worker's time: among all sources if the worker is busy, or else
 * among the slow ones. There may be none: then to->worker stays 0. */
static void find_culprit(const verge__service_view *view, uint32_t worker, delay *to) {
    const verge__seat_view *seat = view->seats[worker];
    double busy = 0;
    float most = 0;
    if (worker == 0 || seat == NULL || view->past_seconds <= 0) {
        return;
    }
    if (verge__stuck_now(&view->stuck, worker) != NULL) {
        to->worker = worker;
        to->culprit = verge__view_source_of(view, view->stuck.running[worker].timer);
        return;
    }
    for (uint32_t i = 0; i < VERGE__SOURCE_COUNT; i++) {
        busy += share_of_worker(view, worker, i);
    }
    for (uint32_t i = 0; i < VERGE__SOURCE_COUNT; i++) {
        if ((busy >= BUSY_SHARE || is_slow(&view->sources[i])) && seat->recent[i].time_ns > most) {
            most = seat->recent[i].time_ns;
            to->worker = worker;
            to->culprit = i;
        }
    }
}

static void tell_delay(const verge__service_view *view, const char *subject, verge__trouble_kind kind,
                       const delay *told, verge__troubles *troubles) {
    char names[NAMED_MAX * (VERGE__NAME_SIZE + 2)] = "", more[32] = "", why[VERGE__NAME_SIZE + 64] = "", head[64];
    size_t size = 0;
    for (uint32_t i = 0; i < told->source_count && i < NAMED_MAX; i++) {
        size += (size_t)snprintf(names + size, sizeof(names) - size, "%s%s", i == 0 ? "" : ", ",
                                 view->sources[told->sources[i]].name);
    }
    if (told->source_count > NAMED_MAX) {
        (void)snprintf(more, sizeof(more), " and %" PRIu32 " more", told->source_count - NAMED_MAX);
    }
    if (told->worker != 0 && verge__stuck_now(&view->stuck, told->worker) != NULL) {
        (void)snprintf(why, sizeof(why), " (worker %" PRIu32 " is stuck in %s)", told->worker,
                       view->sources[told->culprit].name);
    } else if (told->worker != 0) {
        (void)snprintf(why, sizeof(why), " (worker %" PRIu32 " was %.0f %% busy with %s)", told->worker,
                       100 * share_of_worker(view, told->worker, told->culprit), view->sources[told->culprit].name);
    }
    if (kind == VERGE__TROUBLE_LATE) {
        (void)snprintf(head, sizeof(head), "late by up to %s", duration(told->amount).text);
    } else {
        (void)snprintf(head, sizeof(head), "%s overdue", grouped(told->amount).text);
    }
    verge__trouble *trouble =
        verge__trouble_add(troubles, kind, subject, told->sources[0], "%s: %s%s%s", head, names, more, why);
    if (trouble != NULL && told->worker != 0) {
        trouble->has_culprit = true;
        trouble->culprit = told->culprit;
    }
}

/* Adds a source to the delay with the same worker and culprit, or makes a new delay. */
static void add_delay(delay *delays, size_t *count, verge__trouble_kind kind, const delay *more) {
    delay *to = &delays[*count];
    for (size_t i = 0; i < *count && more->worker != 0; i++) {
        to = delays[i].worker == more->worker && delays[i].culprit == more->culprit ? &delays[i] : to;
    }
    if (to == &delays[*count]) {
        *to = *more;
        (*count)++;
        return;
    }
    if (to->source_count < NAMED_MAX) {
        to->sources[to->source_count] = more->sources[0];
    }
    to->source_count++;
    if (kind == VERGE__TROUBLE_OVERDUE) {
        to->amount += more->amount;
    } else {
        to->amount = more->amount > to->amount ? more->amount : to->amount;
    }
}

/* Sorts the delays, the largest first. Delays whose amounts have the same highest bit keep their order, so that lines
 * seldom change places. */
static void sort_delays(delay *delays, size_t count) {
    for (size_t i = 1; i < count; i++) {
        const delay moved = delays[i];
        size_t to = i;
        for (; to > 0 && verge__bit_floor_index(delays[to - 1].amount) < verge__bit_floor_index(moved.amount); to--) {
            delays[to] = delays[to - 1];
        }
        delays[to] = moved;
    }
}

static void find_delays(const verge__service_view *view, const char *subject, verge__trouble_kind kind,
                        verge__troubles *troubles) {
    delay delays[VERGE__TROUBLES_MAX + 1]; /* one more than can be listed: it is only counted */
    size_t count = 0;
    for (uint32_t i = 0; i < VERGE__SOURCE_COUNT && count < VERGE__TROUBLES_MAX + 1; i++) {
        const verge__source_view *source = &view->sources[i];
        const bool is_late = kind == VERGE__TROUBLE_LATE;
        if (!is_shown(view, i)) {
            continue;
        }
        delay found = {.source_count = 1, .sources = {i}};
        found.amount = is_late ? verge__view_lateness(source, 0.99, LATE_SAMPLES_MIN) : source->overdue;
        if (found.amount >= (is_late ? VERGE__LATE_NS : 1)) {
            find_culprit(view, is_late ? worker_that_is_late(view, i) : source->overdue_on, &found);
            add_delay(delays, &count, kind, &found);
        }
    }
    sort_delays(delays, count);
    for (size_t i = 0; i < count; i++) {
        tell_delay(view, subject, kind, &delays[i], troubles);
    }
}

void verge__troubles_find(const verge_scope *scope, uint64_t now_ns, verge__troubles *troubles) {
    static const char *const subjects[VERGE__VIEW_COUNT] = {"service", "tasks"};
    for (verge__trouble_kind kind = VERGE__TROUBLE_STUCK; kind < VERGE__TROUBLE_PANEL; kind++) {
        for (size_t i = 0; i < VERGE__VIEW_COUNT; i++) {
            const verge__service_view *view = scope->views[i];
            if (view == NULL) {
                continue;
            }
            if (kind == VERGE__TROUBLE_STUCK) {
                find_stuck(view, subjects[i], now_ns, troubles);
            } else if (kind == VERGE__TROUBLE_LEAK) {
                find_leaks(view, subjects[i], troubles);
            } else {
                find_delays(view, subjects[i], kind, troubles);
            }
        }
    }
}

void verge__troubles_write(const verge__troubles *troubles, verge__text *text) {
    static const char *const kinds[] = {"stuck", "leak", "overdue", "late", "panel"};
    const size_t count = troubles->count < VERGE__TROUBLES_MAX ? troubles->count : VERGE__TROUBLES_MAX;
    verge__json_begin(text, "troubles", '[');
    for (verge__trouble_kind kind = VERGE__TROUBLE_STUCK; kind <= VERGE__TROUBLE_PANEL; kind++) {
        for (size_t i = 0; i < count; i++) {
            const verge__trouble *trouble = &troubles->list[i];
            if (trouble->kind == kind) {
                verge__json_begin(text, NULL, '{');
                verge__json_string(text, "kind", kinds[kind]);
                verge__json_string(text, "subject", trouble->subject);
                verge__json_number(text, "which", trouble->which);
                verge__json_string(text, "text", trouble->text);
                if (trouble->has_culprit) {
                    verge__json_number(text, "culprit", trouble->culprit);
                }
                verge__json_end(text, '}');
            }
        }
    }
    verge__json_end(text, ']');
    verge__json_number(text, "trouble_count", troubles->count);
}
