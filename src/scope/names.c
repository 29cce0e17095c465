/* SPDX-License-Identifier: MIT */
/* Which sources there are, what they are called, and when they are forgotten. */
#include <string.h>

#include "scope/view.h"

#define SECOND_NS UINT64_C(1000000000)
#define UNUSED_NS (60 * SECOND_NS) /* a source without timers and events for so long is forgotten */
#define LEAVING_NS (5 * SECOND_NS) /* so long a thread may take to use a number that it has looked up (sources.h) */

/* ---- new sources ---- */

static void find_first(verge__service_view *view, uint32_t index) {
    verge__source_view *source = &view->sources[index];
    source->stands_for = index;
    for (uint32_t i = 1; i < VERGE__SOURCE_COUNT; i++) {
        const verge__source_view *other = &view->sources[i];
        if (i != index && other->name[0] != '\0' && other->is_label == source->is_label && other->stands_for == i &&
            strcmp(other->name, source->name) == 0) {
            source->stands_for = i;
            return;
        }
    }
}

static void name_source(verge__service_view *view, uint32_t index, uint64_t key, uint64_t now_ns) {
    verge__source_view *source = &view->sources[index];
    verge__source_lateness *lateness = source->lateness; /* stays with the number, whose counters go on */
    *source = (verge__source_view){.key = key, .lateness = lateness, .used_ns = now_ns};
    source->is_label = verge__key_name(key, source->name, sizeof(source->name));
    if (source->name[0] == '\0') {
        memcpy(source->name, "(empty)", sizeof("(empty)"));
    }
    find_first(view, index);
}

static void add_lateness(verge__service_view *view, verge__source_view *source) {
    const size_t size = sizeof(*source->lateness);
    source->lateness = view->allocator->allocate(view->allocator->context, size, _Alignof(verge__source_lateness));
    if (source->lateness != NULL) {
        memset(source->lateness, 0, size);
    }
}

void verge__view_name_sources(verge__service_view *view, uint64_t now_ns) {
    verge__source_view *others = &view->sources[VERGE__SOURCE_OTHERS];
    memcpy(others->name, "(others)", sizeof("(others)"));
    for (uint32_t i = 0; i < VERGE__SOURCE_COUNT; i++) {
        verge__source_view *source = &view->sources[i];
        const uint64_t key = i == VERGE__SOURCE_OTHERS ? 0 : verge__service_source_key(view->service, i);
        if (key != 0 && (source->name[0] == '\0' || source->key != key)) {
            name_source(view, i, key, now_ns);
        }
        if (source->name[0] != '\0' && source->lateness == NULL) {
            add_lateness(view, source);
        }
    }
}

uint32_t verge__view_source_of(const verge__service_view *view, verge_timer timer) {
    return view->sources[verge__service_source_of(view->service, timer)].stands_for;
}

/* ---- a round of the walk ---- */

static void add_up(verge__service_view *view) {
    const verge__walk_result *last = &view->walk.last;
    for (uint32_t i = 0; i < VERGE__SOURCE_COUNT; i++) {
        verge__source_view *source = &view->sources[i];
        source->pending = source->overdue = source->overdue_on = source->oldest_s = 0;
        source->is_older = false;
    }
    for (uint32_t i = 0; i < VERGE__SOURCE_COUNT; i++) {
        verge__source_view *shown = &view->sources[view->sources[i].stands_for];
        shown->pending += last->pending[i];
        shown->overdue += last->overdue[i];
        shown->overdue_on = last->overdue[i] > 0 ? last->overdue_on[i] : shown->overdue_on;
        if (last->pending[i] > 0 && last->oldest_quarters[i] / 4 >= shown->oldest_s) {
            shown->oldest_s = last->oldest_quarters[i] / 4;
            shown->is_older = last->is_older[i];
        }
    }
}

static bool has_events(const verge__source_view *source) {
    return source->started.now > 0 || source->fired.now > 0 || source->cancelled.now > 0;
}

/* Forgets a source and all sources that it stands for. */
static void forget(verge__service_view *view, uint32_t index) {
    for (uint32_t i = 1; i < VERGE__SOURCE_COUNT; i++) {
        verge__source_view *source = &view->sources[i];
        if (source->name[0] != '\0' && source->stands_for == index && i != index &&
            verge__service_source_free(view->service, i)) {
            source->name[0] = '\0';
            source->stands_for = i;
        }
    }
    for (uint32_t i = 1; i < VERGE__SOURCE_COUNT; i++) { /* if one of them is in use again, `index` stays, too */
        if (i != index && view->sources[i].name[0] != '\0' && view->sources[i].stands_for == index) {
            return;
        }
    }
    if (verge__service_source_free(view->service, index)) {
        view->sources[index].name[0] = '\0';
    }
}

static void mark_as_leaving(verge__service_view *view, uint32_t index) {
    for (uint32_t i = 1; i < VERGE__SOURCE_COUNT; i++) {
        if (view->sources[i].name[0] != '\0' && view->sources[i].stands_for == index) {
            (void)verge__service_source_leave(view->service, i);
        }
    }
}

static void note_use(verge__service_view *view, uint32_t index, uint64_t now_ns) {
    verge__source_view *source = &view->sources[index];
    if (source->pending > 0 || has_events(source)) {
        source->used_ns = now_ns;
        source->is_leaving = false;
    } else if (source->is_leaving && now_ns - source->leaving_ns >= LEAVING_NS) {
        source->is_leaving = false;
        source->used_ns = now_ns; /* if the source is in use again, forget keeps it */
        forget(view, index);
    } else if (!source->is_leaving && now_ns - source->used_ns >= UNUSED_NS) {
        source->is_leaving = true;
        source->leaving_ns = now_ns;
        mark_as_leaving(view, index);
    }
}

void verge__view_take_round(verge__service_view *view, uint64_t now_ns) {
    add_up(view);
    for (uint32_t i = 0; i < VERGE__SOURCE_COUNT; i++) {
        verge__source_view *source = &view->sources[i];
        if (source->name[0] == '\0' || source->stands_for != i) {
            continue;
        }
        /* Overdue timers wait for a worker. They are no leak. */
        verge__growth_note(&source->growth, now_ns, source->pending - source->overdue);
        if (i != VERGE__SOURCE_OTHERS && !view->keeps_numbers) {
            note_use(view, i, now_ns);
        }
    }
}
