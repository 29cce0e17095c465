/* SPDX-License-Identifier: MIT */
#include "scope/stuck.h"

#include <string.h>

#include "scope/view.h"

#define STUCK_AFTER_NS UINT64_C(1000000000) /* when a callback counts as stuck, if the service has no stuck_after_ns */

static verge__stuck_event *event_of(verge__stuck_watch *watch, uint64_t number) {
    verge__stuck_event *event = &watch->events[number % VERGE__STUCK_KEPT];
    return number != 0 && event->number == number ? event : NULL;
}

static void end_event(verge__stuck_watch *watch, verge__running *running, uint64_t now_ns) {
    verge__stuck_event *event = event_of(watch, running->event);
    if (event != NULL) {
        event->until_ns = now_ns;
    }
    running->event = 0;
}

static void begin_event(verge__service_view *view, uint32_t worker, verge__running *running) {
    verge__stuck_watch *watch = &view->stuck;
    const uint64_t number = ++watch->event_count;
    verge__stuck_event *event = &watch->events[number % VERGE__STUCK_KEPT];
    *event = (verge__stuck_event){.number = number, .worker = worker, .since_ns = running->since_ns};
    running->event = number;
    memcpy(event->name, view->sources[verge__view_source_of(view, running->timer)].name, sizeof(event->name));
}

static void note_worker(verge__service_view *view, uint32_t id, uint64_t now_ns) {
    const uint64_t after_ns = verge__service_stuck_after(view->service);
    verge__running *running = &view->stuck.running[id];
    verge__worker_figures now;
    verge__worker_look_at(view->service, id, &now);
    if (now.running == 0 || now.running != running->timer || now.fired != running->fired) {
        end_event(&view->stuck, running, now_ns);
        *running = (verge__running){.timer = now.running, .fired = now.fired, .since_ns = now_ns};
    } else if (running->event == 0 && now_ns - running->since_ns >= (after_ns != 0 ? after_ns : STUCK_AFTER_NS)) {
        verge__view_name_sources(view, now_ns);
        begin_event(view, id, running);
    }
}

void verge__stuck_note(verge__service_view *view, uint64_t now_ns) {
    const uint32_t count = verge__service_seat_count(view->service);
    for (uint32_t id = 1; id <= count; id++) {
        note_worker(view, id, now_ns);
    }
}

const verge__stuck_event *verge__stuck_now(const verge__stuck_watch *watch, uint32_t worker) {
    const uint64_t number = watch->running[worker].event;
    const verge__stuck_event *event = &watch->events[number % VERGE__STUCK_KEPT];
    return number != 0 && event->number == number ? event : NULL;
}

uint32_t verge__stuck_count(const verge__stuck_watch *watch) {
    uint32_t count = 0;
    for (uint32_t id = 1; id <= VERGE_WORKER_COUNT_MAX; id++) {
        count += watch->running[id].event != 0 ? 1 : 0;
    }
    return count;
}
