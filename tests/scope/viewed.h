/* SPDX-License-Identifier: MIT */
/* scope/viewed.h - a service that a test steps, and what scope sees of it. */
#ifndef VERGE_TESTS_SCOPE_VIEWED_H
#define VERGE_TESTS_SCOPE_VIEWED_H

#include "scope/trouble.h"
#include "service/service_internal.h"
#include "service/support.h"

static verge__service_view view; /* too large for the stack */
static uint64_t now_ns;          /* the time of scope's clock */

static inline void look(void) {
    now_ns += SECOND / 4;
    verge__view_look(&view, now_ns);
}

static inline const verge__source_view *find(const char *name) {
    for (uint32_t i = 0; i < VERGE__SOURCE_COUNT; i++) {
        if (strcmp(view.sources[i].name, name) == 0) {
            return &view.sources[view.sources[i].stands_for];
        }
    }
    return NULL;
}

static inline uint64_t pending(const char *name) {
    const verge__source_view *source = find(name);
    uint64_t count = 0;
    for (uint32_t i = 0; source != NULL && i < VERGE__SOURCE_COUNT; i++) {
        count += &view.sources[view.sources[i].stands_for] == source ? view.walk.last.pending[i] : 0;
    }
    return count;
}

/* Pokes come at random moments, as from scope's thread: about 16 in a quarter of a second, or at each start, cancel and
 * firing if these are few. */
static unsigned start_count, cancel_count; /* in a quarter of a second */
static unsigned until_poke = UINT32_MAX;
static struct verge_test_random moments;

static inline void maybe_poke(void) {
    if (until_poke-- == 0) {
        const unsigned all = 2 * start_count + cancel_count;
        verge__view_poke(&view);
        until_poke = all < 100 ? 0 : (unsigned)verge_test_below(&moments, all / 8);
    }
}

static inline void ring(const verge_firing *firing) {
    (void)firing;
    maybe_poke();
}

static inline void begin(struct stepped *stepped, verge_worker **ret_worker) {
    stepped_begin(stepped);
    *ret_worker = join_bound(stepped->service);
    now_ns = 1000 * SECOND;
    verge__view_begin(&view, stepped->service, &stepped->memory.allocator);
}

static inline void end(struct stepped *stepped, verge_worker *worker) {
    verge__view_end(&view);
    leave(worker);
    stepped_end(stepped);
}

static inline int start(struct stepped *stepped, const char *label, uint64_t delay_ns, uint64_t period_ns,
                        verge_timer *timer) {
    verge_start_options options = {.struct_size = sizeof(options)};
    options.callback = ring;
    options.label = label;
    options.deadline_ns = stepped->clock.now_ns + delay_ns;
    options.period_ns = period_ns;
    return verge_service_start_with(stepped->service, &options, timer);
}

static inline void assert_about(double value, double expected, double tolerance) {
    if (value < expected * (1 - tolerance) - 0.5 || value > expected * (1 + tolerance) + 0.5) {
        print_message("%f is not about %f\n", value, expected);
        fail();
    }
}

#endif
