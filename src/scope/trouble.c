/* SPDX-License-Identifier: MIT */
#include "scope/trouble.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

#define MS_NS UINT64_C(1000000)
#define LATE_NS (100 * MS_NS) /* 99 % of a source: people notice that */
#define LATE_SAMPLES_MIN 2    /* in the last ten seconds: one callback may have had bad luck */

void verge__trouble_add(verge__troubles *troubles, verge__trouble_kind kind, const char *subject, uint32_t which,
                        const char *format, ...) {
    if (troubles->count++ >= VERGE__TROUBLES_MAX) {
        return;
    }
    verge__trouble *trouble = &troubles->list[troubles->count - 1];
    va_list values;
    *trouble = (verge__trouble){.kind = kind, .subject = subject, .which = which};
    va_start(values, format);
    (void)vsnprintf(trouble->text, sizeof(trouble->text), format, values);
    va_end(values);
}

/* Seconds with one digit after the point, whatever the locale. */
#define SECONDS "%" PRIu64 ".%" PRIu64 " s"
#define IN_SECONDS(ns) (ns) / (1000 * MS_NS), (ns) / (100 * MS_NS) % 10

static void find_stuck(const verge__service_view *view, const char *subject, uint64_t now_ns,
                       verge__troubles *troubles) {
    for (uint32_t id = 1; id <= VERGE_WORKER_COUNT_MAX; id++) {
        const verge__stuck_event *event = verge__stuck_now(&view->stuck, id);
        if (event != NULL) {
            verge__trouble_add(troubles, VERGE__TROUBLE_STUCK, subject, id, "worker %u is stuck for " SECONDS " in %s",
                               id, IN_SECONDS(now_ns - event->since_ns), event->name);
        }
    }
}

static void judge_source(const verge__service_view *view, const char *subject, uint32_t index,
                         verge__troubles *troubles) {
    const verge__source_view *source = &view->sources[index];
    const uint64_t late_ns = verge__view_lateness(source, 0.99, LATE_SAMPLES_MIN);
    if (source->overdue > 0) {
        verge__trouble_add(troubles, VERGE__TROUBLE_OVERDUE, subject, index, "%" PRIu32 " overdue: %s", source->overdue,
                           source->name);
    }
    if (late_ns >= LATE_NS) {
        verge__trouble_add(troubles, VERGE__TROUBLE_LATE, subject, index, "up to " SECONDS " late: %s",
                           IN_SECONDS(late_ns), source->name);
    }
    if (verge__growth_is_suspect(&source->growth)) {
        verge__trouble_add(troubles, VERGE__TROUBLE_LEAK, subject, index, "only grows, a leak? %s, %" PRIu64 " timers",
                           source->name, source->pending);
    }
}

void verge__troubles_find(const verge_scope *scope, uint64_t now_ns, verge__troubles *troubles) {
    static const char *const subjects[VERGE__VIEW_COUNT] = {"service", "tasks"};
    for (size_t i = 0; i < VERGE__VIEW_COUNT; i++) {
        if (scope->views[i] != NULL) {
            find_stuck(scope->views[i], subjects[i], now_ns, troubles);
        }
    }
    for (size_t i = 0; i < VERGE__VIEW_COUNT; i++) {
        const verge__service_view *view = scope->views[i];
        for (uint32_t index = 0; view != NULL && index < VERGE__SOURCE_COUNT; index++) {
            if (view->sources[index].name[0] != '\0' && view->sources[index].stands_for == index) {
                judge_source(view, subjects[i], index, troubles);
            }
        }
    }
}

void verge__troubles_write(const verge__troubles *troubles, verge__text *text) {
    static const char *const kinds[] = {"stuck", "overdue", "late", "leak", "panel"};
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
                verge__json_end(text, '}');
            }
        }
    }
    verge__json_end(text, ']');
    verge__json_number(text, "trouble_count", troubles->count);
}
