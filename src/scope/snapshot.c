/* SPDX-License-Identifier: MIT */
/* Writes all that a scope shows: as JSON, and as metrics. docs/SCOPE.md has the format of the JSON. */
#define _GNU_SOURCE
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "scope/scope_internal.h"
#include "scope/trouble.h"
#include "task/observe.h"
#include "verge/metrics.h"

static void write_stats(verge__text *text, const verge__service_view *view) {
    verge_service_stats stats = {.struct_size = sizeof(stats)};
    (void)verge_service_get_stats(view->service, &stats);
    verge__json_begin(text, "stats", '{');
    verge__json_number(text, "pending", stats.pending);
    verge__json_number(text, "started", stats.started);
    verge__json_number(text, "fired", stats.fired);
    verge__json_number(text, "ended", stats.ended);
    verge__json_number(text, "cancelled", stats.cancelled_locally + stats.cancelled_remotely);
    verge__json_number(text, "reset", stats.reset);
    verge__json_number(text, "migrated", stats.migrated);
    verge__json_number(text, "rescued", stats.rescued);
    verge__json_number(text, "orphans", stats.orphans);
    verge__json_number(text, "stuck", stats.stuck);
    verge__json_number(text, "bytes", stats.bytes);
    verge__json_number(text, "workers", stats.workers);
    verge__json_end(text, '}');
    verge__json_begin(text, "rates", '{');
    verge__json_real(text, "started", view->started);
    verge__json_real(text, "fired", view->fired);
    verge__json_real(text, "cancelled", view->cancelled);
    verge__json_end(text, '}');
}

/* Writes a rate and, if it comes from samples, its bounds. */
static void write_rate(verge__text *text, const verge__service_view *view, const char *key, const char *range_key,
                       const verge__rate *rate) {
    double low = 0, high = 0;
    verge__json_real(text, key, verge__view_rate(view, rate, &low, &high));
    if (view->grain > 1) {
        verge__json_begin(text, range_key, '[');
        verge__json_real(text, NULL, low);
        verge__json_real(text, NULL, high);
        verge__json_end(text, ']');
    }
}

/* Adds up two rates: that of timers that fired for the last time, and that of timers that were cancelled. */
static verge__rate both(const verge__rate *a, const verge__rate *b) {
    return (verge__rate){.now = a->now + b->now, .past = a->past + b->past, .squares = a->squares + b->squares};
}

static double share_of_core(const verge__service_view *view, const verge__rate *time_ns) {
    const double cores = time_ns->now / 1e9;
    const double most = verge__service_seat_count(view->service);
    return cores < most ? cores : most;
}

static void write_source(verge__text *text, const verge__service_view *view, uint32_t index) {
    const verge__source_view *source = &view->sources[index];
    const verge__rate ended = both(&source->ended, &source->cancelled);
    verge__json_begin(text, NULL, '{');
    verge__json_string(text, "name", source->name);
    verge__json_bool(text, "label", source->is_label);
    verge__json_number(text, "pending", source->pending);
    verge__json_number(text, "id", index);
    write_rate(text, view, "started", "started_range", &source->started);
    write_rate(text, view, "ended", "ended_range", &ended);
    write_rate(text, view, "fired", "fired_range", &source->fired);
    write_rate(text, view, "cancelled", "cancelled_range", &source->cancelled);
    verge__json_real(text, "fired_share", ended.past > 0.5 ? source->ended.past / ended.past : 0);
    verge__json_real(text, "cancelled_share", ended.past > 0.5 ? source->cancelled.past / ended.past : 0);
    verge__json_real(text, "busy", share_of_core(view, &source->time_ns));
    verge__json_number(text, "time_ns",
                       source->fired.past > 0.5 ? (uint64_t)(source->time_ns.past / source->fired.past) : 0);
    verge__json_number(text, "late50_ns", verge__view_lateness(source, 0.5, 0));
    verge__json_number(text, "late99_ns", verge__view_lateness(source, 0.99, 0));
    verge__json_number(text, "oldest_s", source->oldest_s);
    verge__json_bool(text, "older", source->is_older);
    verge__json_number(text, "overdue", source->overdue);
    verge__json_bool(text, "leak", verge__view_is_leak(view, source));
    verge__json_end(text, '}');
}

static void write_sources(verge__text *text, const verge__service_view *view) {
    verge__json_begin(text, "sources", '[');
    for (uint32_t i = 0; i < VERGE__SOURCE_COUNT; i++) {
        const verge__source_view *source = &view->sources[i];
        const bool is_shown = source->name[0] != '\0' && source->stands_for == i;
        const bool is_there = source->pending > 0 || source->started.past > 0.5 || source->ended.past > 0.5 ||
                              source->fired.past > 0.5 || source->cancelled.past > 0.5;
        if (is_shown && is_there) {
            write_source(text, view, i);
        }
    }
    verge__json_end(text, ']');
}

static void write_numbers(verge__text *text, const char *key, const uint64_t *numbers, size_t count) {
    verge__json_begin(text, key, '[');
    for (size_t i = 0; i < count; i++) {
        verge__json_number(text, NULL, numbers[i]);
    }
    verge__json_end(text, ']');
}

static void write_late(verge__text *text, const char *key, const verge__second *noted) {
    verge__json_begin(text, key, '[');
    verge__json_number(text, NULL, noted->second);
    for (size_t i = 0; i < VERGE__HEAT_ROWS; i++) {
        verge__json_number(text, NULL, noted->late[i]);
    }
    verge__json_end(text, ']');
}

static void write_second(verge__text *text, const char *key, const verge__second *noted) {
    const uint64_t figures[] = {noted->second,    noted->pending, noted->started, noted->fired,
                                noted->cancelled, noted->bytes,   noted->workers, noted->stuck};
    write_numbers(text, key, figures, sizeof(figures) / sizeof(*figures));
}

static void write_worker(verge__text *text, const verge__service_view *view, uint32_t id, uint64_t now_ns) {
    const verge__seat_view *seat = view->seats[id];
    verge__worker_figures figures;
    verge__worker_look_at(view->service, id, &figures);
    if (seat == NULL || !figures.is_there) {
        return;
    }
    const verge__stuck_event *stuck = verge__stuck_now(&view->stuck, id);
    verge__json_begin(text, NULL, '{');
    verge__json_number(text, "id", id);
    verge__json_string(text, "state",
                       stuck != NULL                              ? "stuck"
                       : figures.running != 0 || figures.is_awake ? "busy"
                                                                  : "idle");
    verge__json_real(text, "busy", seat->busy);
    verge__json_number(text, "timers", figures.timers);
    verge__json_real(text, "fired", seat->fired_rate);
    verge__json_number(text, "rescued", figures.rescued);
    verge__json_number(text, "moved", figures.migrated);
    verge__json_number(text, "stuck_ms", stuck == NULL ? 0 : (now_ns - stuck->since_ns) / 1000000);
    verge__json_string(text, "callback", stuck == NULL ? NULL : stuck->name);
    verge__json_end(text, '}');
}

static void write_picture(verge__text *text, const verge__picture_copy *copy, const char *name) {
    verge__json_begin(text, NULL, '{');
    verge__json_string(text, "name", name);
    verge__json_number(text, "tick", copy->tick);
    verge__json_number(text, "tick_ns", copy->tick_shift < 64 ? UINT64_C(1) << copy->tick_shift : 0);
    verge__json_number(text, "now_ns", copy->now_ns);
    verge__json_number(text, "nodes", copy->node_count);
    verge__json_begin(text, "levels", '[');
    for (uint32_t i = 0; i < copy->level_count; i++) {
        verge__json_begin(text, NULL, '{');
        verge__json_number(text, "shift", copy->level_shift[i]);
        verge__json_number(text, "slots", copy->level_slots[i]);
        verge__json_begin(text, "cells", '[');
        const uint32_t cells =
            copy->level_slots[i] < VERGE__PICTURE_CELLS ? copy->level_slots[i] : VERGE__PICTURE_CELLS;
        for (uint32_t cell = 0; cell < cells; cell++) {
            verge__json_number(text, NULL, copy->cells[i][cell]);
        }
        verge__json_end(text, ']');
        verge__json_end(text, '}');
    }
    verge__json_end(text, ']');
    verge__json_end(text, '}');
}

static void write_workers(verge__text *text, const verge__service_view *view, uint64_t now_ns) {
    enum { PICTURES = 16 }; /* if there are more workers, only the first ones have a picture */
    const uint32_t count = verge__service_seat_count(view->service);
    verge__json_begin(text, "workers", '[');
    for (uint32_t id = 1; id <= count; id++) {
        write_worker(text, view, id, now_ns);
    }
    verge__json_end(text, ']');
    verge__json_begin(text, "wheels", '[');
    for (uint32_t id = 1; id <= count && id <= PICTURES; id++) {
        verge__picture_copy copy;
        if (verge__worker_picture(view->service, id, &copy)) {
            char name[] = "worker 000";
            name[7] = (char)('0' + id / 100);
            name[8] = (char)('0' + id / 10 % 10);
            name[9] = (char)('0' + id % 10);
            const size_t zeros = id < 10 ? 2 : id < 100 ? 1 : 0;
            memmove(name + 7, name + 7 + zeros, sizeof(name) - 7 - zeros);
            write_picture(text, &copy, name);
        }
    }
    verge__json_end(text, ']');
}

/* Writes which workers are or were stuck, the latest one first. since_ms is counted from the begin of scope. */
static void write_stuck(verge__text *text, const verge_scope *scope, const verge__service_view *view, uint64_t now_ns) {
    enum { SHOWN = 32 };
    const verge__stuck_watch *watch = &view->stuck;
    verge__json_begin(text, "stuck", '[');
    for (uint64_t i = 0; i < SHOWN && i < watch->event_count; i++) {
        const verge__stuck_event *event = &watch->events[(watch->event_count - i) % VERGE__STUCK_KEPT];
        const uint64_t until_ns = event->until_ns != 0 ? event->until_ns : now_ns;
        verge__json_begin(text, NULL, '{');
        verge__json_number(text, "worker", event->worker);
        verge__json_string(text, "callback", event->name);
        verge__json_number(text, "since_ms", (event->since_ns - scope->began_ns) / 1000000);
        verge__json_number(text, "lasted_ms", (until_ns - event->since_ns) / 1000000);
        verge__json_bool(text, "now", event->until_ns == 0);
        verge__json_end(text, '}');
    }
    verge__json_end(text, ']');
}

static void write_view(verge__text *text, const verge_scope *scope, const verge__service_view *view, const char *kind,
                       uint64_t now_ns) {
    verge__json_begin(text, NULL, '{');
    verge__json_string(text, "kind", kind);
    verge__json_string(text, "name", kind);
    verge__json_number(text, "now_ns", verge_service_exact_now(view->service));
    write_stats(text, view);
    write_sources(text, view);
    write_numbers(text, "coming", view->walk.last.coming, VERGE__COMING_BUCKETS);
    verge__json_number(text, "late99_ns", verge__view_lateness_of_all(view));
    write_late(text, "late", &view->history[view->last_second % VERGE__HISTORY_COUNT]);
    write_second(text, "second", &view->history[view->last_second % VERGE__HISTORY_COUNT]);
    write_stuck(text, scope, view, now_ns);
    write_workers(text, view, now_ns);
    verge__json_end(text, '}');
}

static void write_wheel(verge__text *text, const verge_scope_wheel *wheel) {
    verge__picture_copy copy;
    const bool is_shown = verge__picture_read(&wheel->picture, &copy);
    verge__json_begin(text, NULL, '{');
    verge__json_string(text, "kind", "wheel");
    verge__json_string(text, "name", wheel->name);
    verge__json_begin(text, "stats", '{');
    verge__json_number(text, "pending", atomic_load_explicit(&wheel->timers, memory_order_relaxed));
    verge__json_number(text, "started", atomic_load_explicit(&wheel->scheduled, memory_order_relaxed));
    verge__json_number(text, "fired", atomic_load_explicit(&wheel->expired, memory_order_relaxed));
    verge__json_number(text, "cancelled", atomic_load_explicit(&wheel->cancelled, memory_order_relaxed));
    verge__json_number(text, "bytes", atomic_load_explicit(&wheel->bytes, memory_order_relaxed));
    verge__json_end(text, '}');
    if (is_shown) {
        write_numbers(text, "coming", copy.coming, VERGE__COMING_BUCKETS);
    }
    verge__json_begin(text, "wheels", '[');
    if (is_shown) {
        write_picture(text, &copy, wheel->name);
    }
    verge__json_end(text, ']');
    verge__json_end(text, '}');
}

static void write_tasks(verge__text *text, verge_scope *scope) {
    verge_runtime_stats counts;
    verge__runtime_count(scope->watched_tasks, &counts);
    verge__json_begin(text, "tasks", '{');
    verge__json_number(text, "tasks", counts.tasks);
    verge__json_number(text, "spawned", counts.spawned);
    verge__json_number(text, "switches", counts.switches);
    verge__json_number(text, "operations", counts.operations);
    verge__json_number(text, "timeouts", counts.timeouts);
    verge__json_end(text, '}');
}

static uint64_t wall_ms(void) {
    struct timespec now = {0};
    (void)clock_gettime(CLOCK_REALTIME, &now);
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

void verge__scope_write(verge_scope *scope, uint64_t now_ns, verge__text *text) {
    verge__json_begin(text, NULL, '{');
    verge__json_string(text, "verge", verge_version());
    verge__json_string(text, "name", scope->name);
    verge__json_number(text, "pid", (uint64_t)getpid());
    verge__json_number(text, "time_ms", (now_ns - scope->began_ns) / 1000000);
    verge__json_number(text, "clients", scope->client_count);
    verge__json_number(text, "wall_ms", wall_ms());
    if (scope->watched_tasks != NULL) {
        write_tasks(text, scope);
    }
    verge__json_begin(text, "subjects", '[');
    if (scope->views[VERGE__VIEW_SERVICE] != NULL) {
        write_view(text, scope, scope->views[VERGE__VIEW_SERVICE], "service", now_ns);
    }
    if (scope->views[VERGE__VIEW_TASKS] != NULL) {
        write_view(text, scope, scope->views[VERGE__VIEW_TASKS], "tasks", now_ns);
    }
    (void)pthread_mutex_lock(&scope->lock);
    for (size_t i = 0; i < VERGE_SCOPE_WHEELS_MAX; i++) {
        if (scope->wheels[i] != NULL) {
            write_wheel(text, scope->wheels[i]);
        }
    }
    (void)pthread_mutex_unlock(&scope->lock);
    verge__json_end(text, ']');
    verge__troubles troubles = {.count = 0};
    verge__troubles_find(scope, now_ns, &troubles); /* before the panels, as their troubles may fill the list */
    verge__scope_write_panels(scope, now_ns, text, &troubles);
    verge__troubles_write(&troubles, text);
    verge__json_end(text, '}');
}

/* ---- history, and the details of a source ---- */

static void write_seconds(verge__text *text, const verge__service_view *view, const char *key,
                          void (*write)(verge__text *text, const char *key, const verge__second *noted)) {
    const uint64_t last = view->last_second;
    verge__json_begin(text, key, '[');
    for (uint64_t second = last >= VERGE__HISTORY_COUNT ? last - VERGE__HISTORY_COUNT + 1 : 1; second <= last;
         second++) {
        const verge__second *noted = &view->history[second % VERGE__HISTORY_COUNT];
        if (noted->second == second) {
            write(text, NULL, noted);
        }
    }
    verge__json_end(text, ']');
}

void verge__scope_write_history(const verge_scope *scope, verge__text *text) {
    verge__json_begin(text, NULL, '{');
    for (size_t i = 0; i < VERGE__VIEW_COUNT; i++) {
        if (scope->views[i] != NULL) {
            verge__json_begin(text, i == VERGE__VIEW_SERVICE ? "service" : "tasks", '{');
            write_seconds(text, scope->views[i], "late", write_late);
            write_seconds(text, scope->views[i], "seconds", write_second);
            verge__json_end(text, '}');
        }
    }
    verge__json_end(text, '}');
}

static void write_detail_timer(verge__text *text, const verge__detail_timer *detail, uint64_t now_ns) {
    const verge__seen_timer *timer = &detail->seen;
    char handle[24];
    (void)snprintf(handle, sizeof(handle), "0x%" PRIx64, timer->timer);
    verge__json_begin(text, NULL, '{');
    verge__json_string(text, "timer", handle); /* as text, because numbers in JavaScript have 53 bits */
    verge__json_number(text, "due_ns", timer->deadline_ns > now_ns ? timer->deadline_ns - now_ns : 0);
    verge__json_number(text, "overdue_ns", timer->deadline_ns < now_ns ? now_ns - timer->deadline_ns : 0);
    verge__json_number(text, "period_ns", timer->period_ns);
    verge__json_number(text, "age_ms", UINT64_C(250) * detail->age_quarters);
    verge__json_bool(text, "older", detail->is_older);
    verge__json_number(text, "worker", timer->worker);
    verge__json_bool(text, "running", timer->is_running);
    verge__json_end(text, '}');
}

static void write_detail_late(verge__text *text, const verge__source_view *source) {
    verge__json_begin(text, "late", '[');
    for (uint32_t i = 0; source->lateness != NULL && i < VERGE__LATE_BUCKET_COUNT; i++) {
        if (source->lateness->past[i] > 0.01F) {
            verge__json_begin(text, NULL, '[');
            verge__json_number(text, NULL, verge__late_bound(i));
            verge__json_real(text, NULL, (double)source->lateness->past[i]);
            verge__json_end(text, ']');
        }
    }
    verge__json_end(text, ']');
}

void verge__scope_write_detail(const verge__service_view *view, uint32_t index, const verge__detail *detail,
                               verge__text *text) {
    const uint64_t now_ns = verge_service_exact_now(view->service);
    const uint64_t shown = detail->count < VERGE__DETAIL_TIMERS ? detail->count : VERGE__DETAIL_TIMERS;
    verge__json_begin(text, NULL, '{');
    verge__json_string(text, "name", view->sources[index].name);
    verge__json_number(text, "pending", detail->count);
    verge__json_begin(text, "timers", '[');
    for (uint64_t i = 0; i < shown; i++) {
        write_detail_timer(text, &detail->timers[i], now_ns);
    }
    verge__json_end(text, ']');
    write_numbers(text, "coming", detail->coming, VERGE__COMING_BUCKETS);
    write_detail_late(text, &view->sources[index]);
    verge__json_end(text, '}');
}

/* ---- for Prometheus ---- */

static size_t list_services(const verge_scope *scope, verge_service *services[VERGE__VIEW_COUNT],
                            const verge_label *labels_of[VERGE__VIEW_COUNT]) {
    static const verge_label labels[VERGE__VIEW_COUNT][2] = {{{"service", "service"}, {NULL, NULL}},
                                                             {{"service", "tasks"}, {NULL, NULL}}};
    size_t count = 0;
    for (size_t i = 0; i < VERGE__VIEW_COUNT; i++) {
        if (scope->views[i] != NULL) {
            services[count] = scope->views[i]->service;
            labels_of[count++] = labels[i];
        }
    }
    return count;
}

static int make_service_metrics(const verge_scope *scope, char *bytes, size_t size) {
    verge_service *services[VERGE__VIEW_COUNT];
    const verge_label *labels_of[VERGE__VIEW_COUNT];
    const size_t count = list_services(scope, services, labels_of);
    return count == 0 ? 0 : verge_service_metrics(services, labels_of, count, true, bytes, size);
}

static int make_runtime_metrics(const verge_scope *scope, char *bytes, size_t size) {
    return scope->watched_tasks == NULL ? 0 : verge_runtime_metrics(&scope->watched_tasks, NULL, 1, bytes, size);
}

/* Calls `make` twice: for the size, and for the text. The text may have grown between the two calls, so there is room
 * to spare. */
static void add_metrics(const verge_scope *scope, int (*make)(const verge_scope *scope, char *bytes, size_t size),
                        verge__text *text) {
    enum { SPARE = 16 << 10 }; /* for new sources */
    const int wanted = make(scope, NULL, 0);
    if (wanted <= 0 || !verge__text_reserve(text, (size_t)wanted + SPARE)) {
        text->has_failed |= wanted < 0;
        return;
    }
    const int length = make(scope, text->bytes + text->size, (size_t)wanted + SPARE);
    text->has_failed |= length < 0 || length >= wanted + SPARE;
    text->size += text->has_failed ? 0 : (size_t)length;
}

/* Scope sees callbacks that run for too long even if the service does not watch them. */
static void add_stuck(const verge_scope *scope, verge__text *text) {
    static const char head[] = "# HELP verge_scope_stuck_workers Workers that scope sees stuck in a callback.\n"
                               "# TYPE verge_scope_stuck_workers gauge\n";
    static const char *const names[VERGE__VIEW_COUNT] = {"service", "tasks"};
    verge__text_add(text, head, sizeof(head) - 1);
    for (size_t i = 0; i < VERGE__VIEW_COUNT; i++) {
        if (scope->views[i] != NULL) {
            verge__text_format(text, "verge_scope_stuck_workers{service=\"%s\"} %" PRIu32 "\n", names[i],
                               verge__stuck_count(&scope->views[i]->stuck));
        }
    }
}

void verge__scope_write_metrics(verge_scope *scope, verge__text *text) {
    add_metrics(scope, make_service_metrics, text);
    add_stuck(scope, text);
    add_metrics(scope, make_runtime_metrics, text);
}
