/* SPDX-License-Identifier: MIT */
/*
 * The window: the timers that are due soon, in a wheel for each priority, and in a hash table by their ids. This file
 * also estimates store time. An entry of the window is a hint: it stands for a row of the store.
 *
 *   V1  a hint that waits has a timer in the wheel of its priority; a hint that fires or is held has none
 *   V2  every hint that is not free is in the chain of its id in the hash table, once
 *   V3  if there was no room for a row, the window or the row's handler has a cut: rows at or beyond the cut need not
 *       be in the window
 *   V4  a hint that is held is in the list of its handler; handlers count their hints
 *   V5  a hint that waits or is held is due by read_until_ns (keeper.c). If a timer is moved beyond that time, its hint
 *       is dropped to make room; a later scan finds the row. (If the store's clock is set back, read_until_ns gets
 *       smaller, and V5 may not hold for a while. And a scan may have read the row before the timer was moved. Then the
 *       row has a hint with the old time. When that hint fires, the firer finds that the row is due later.)
 *   V6  released_count of a handler is the number of its hints with is_released; each of these waits
 */
#define _GNU_SOURCE

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "durable/durable_internal.h"

/* ---- the store's clock (P6 in docs/DURABLE.md) ---- */

#define ESTIMATE_PERIOD_NS UINT64_C(5000000000)

void verge__note_time(verge_durable *durable, const verge__connection *connection) {
    verge__estimate *estimate = &durable->estimate;
    if (connection->now_ns == 0 || (estimate->is_known && connection->answered_ns < estimate->period_began_ns)) {
        return; /* no answer, or one from before the period, and perhaps from before the store's clock was set back */
    }
    /* The store's clock was at now_ns before the answer came. */
    const int64_t offset_ns = (int64_t)(connection->now_ns - connection->answered_ns);
    if (!estimate->is_known) {
        *estimate = (verge__estimate){
            .is_known = true,
            .offset_ns = offset_ns,
            .last_offset_ns = offset_ns,
            .period_began_ns = connection->answered_ns,
        };
        return;
    }
    if (connection->answered_ns - estimate->period_began_ns > ESTIMATE_PERIOD_NS) {
        estimate->last_offset_ns = estimate->offset_ns;
        estimate->offset_ns = offset_ns;
        estimate->period_began_ns = connection->answered_ns;
    } else if (offset_ns > estimate->offset_ns) {
        estimate->offset_ns = offset_ns;
    }
}

void verge__forget_store_time(verge_durable *durable, const verge__connection *connection) {
    if (connection->now_ns == 0) {
        return; /* the connection is new, and knows no time: the old estimate stays, as firers need one */
    }
    durable->estimate.is_known = false;
    verge__note_time(durable, connection);
}

uint64_t verge__store_now(const verge_durable *durable) {
    const verge__estimate *estimate = &durable->estimate;
    if (!estimate->is_known) {
        return 0;
    }
    const int64_t best_ns =
        estimate->offset_ns > estimate->last_offset_ns ? estimate->offset_ns : estimate->last_offset_ns;
    return verge__local_now(durable) + (uint64_t)best_ns;
}

/* ---- hints ---- */

int verge__window_init(verge__window *window, const verge_durable_options *options) {
    verge_wheel_options wheel_options;
    (void)verge_wheel_options_init(&wheel_options, sizeof(wheel_options), VERGE_PRESET_DEFAULT);
    wheel_options.precision_ns = options->precision_ns;
    wheel_options.order = VERGE_ORDER_DEADLINE; /* overdue timers fire in the same order on each owner (is_careful) */
    for (int i = 0; i < VERGE__PRIORITIES; i++) {
        const int error = verge_wheel_create(&wheel_options, &window->wheels[i]);
        if (error != 0) {
            return error;
        }
    }
    size_t bucket_count = 1024;
    while (bucket_count < options->window_max) {
        bucket_count *= 2;
    }
    window->buckets = malloc(bucket_count * sizeof(*window->buckets));
    if (window->buckets == NULL) {
        return -ENOMEM;
    }
    memset(window->buckets, 0xFF, bucket_count * sizeof(*window->buckets));
    window->bucket_mask = (uint32_t)(bucket_count - 1);
    window->free = VERGE__NO_HINT;
    return 0;
}

void verge__window_end(verge__window *window) {
    for (int i = 0; i < VERGE__PRIORITIES; i++) {
        verge_wheel_destroy(window->wheels[i]);
    }
    free(window->hints);
    free(window->buckets);
}

/* Returns the wheel for hints of the handler. */
static verge_wheel *wheel_of(const verge_durable *durable, uint32_t handler) {
    return durable->window.wheels[VERGE_DURABLE_HIGH - durable->handlers[handler].options.priority];
}

size_t verge__window_poll(verge__window *window, uint64_t now_ns, verge_expiry *due, size_t count) {
    size_t found = 0;
    for (int i = 0; i < VERGE__PRIORITIES && found < count; i++) {
        found += verge_wheel_poll(window->wheels[i], now_ns, due + found, count - found);
    }
    return found;
}

uint64_t verge__window_next_wakeup(const verge__window *window) {
    uint64_t first_ns = VERGE_NEVER;
    for (int i = 0; i < VERGE__PRIORITIES; i++) {
        const uint64_t wakeup_ns = verge_wheel_next_wakeup(window->wheels[i]);
        first_ns = wakeup_ns < first_ns ? wakeup_ns : first_ns;
    }
    return first_ns;
}

static uint32_t *bucket_of(const verge__window *window, uint64_t id) {
    return &window->buckets[(uint32_t)((id * UINT64_C(0x9E3779B97F4A7C15)) >> 32) & window->bucket_mask];
}

uint32_t verge__window_find(const verge__window *window, uint64_t id) {
    uint32_t index = *bucket_of(window, id);
    while (index != VERGE__NO_HINT && window->hints[index].id != id) {
        index = window->hints[index].next;
    }
    return index;
}

/* Makes room for one more hint; false: there is no memory. */
static bool make_room(verge__window *window) {
    if (window->free != VERGE__NO_HINT || window->hint_count < window->capacity) {
        return true;
    }
    const uint32_t capacity = window->capacity == 0 ? 256 : window->capacity * 2;
    verge__hint *hints = realloc(window->hints, capacity * sizeof(*hints));
    if (hints == NULL) {
        return false;
    }
    window->hints = hints;
    window->capacity = capacity;
    return true;
}

static void set_cut(verge__cut *cut, uint64_t due_ns, uint64_t id) {
    if (!cut->is_set || due_ns < cut->due_ns || (due_ns == cut->due_ns && id < cut->id)) {
        *cut = (verge__cut){.is_set = true, .due_ns = due_ns, .id = id};
    }
}

/* Call it after a hint was filed: wakes the firers if the hint is due before they wake up by themselves. */
static void wake_firers(verge_durable *durable) {
    const uint64_t wakeup_ns = verge__window_next_wakeup(&durable->window);
    if (wakeup_ns < durable->waiting_until_ns) {
        durable->waiting_until_ns = wakeup_ns;
        (void)pthread_cond_broadcast(&durable->due);
    }
}

/* Returns whether the row needs no hint, because a later scan finds it. */
static bool is_far(const verge_durable *durable, const verge__hint *hint) {
    return hint->due_ns > durable->keeper.read_until_ns;
}

static void unmark_released(verge_durable *durable, verge__hint *hint) {
    durable->handlers[hint->handler].released_count -= hint->is_released;
    hint->is_released = false;
}

static void move(verge_durable *durable, uint32_t index, uint64_t due_ns, bool is_told) {
    verge__hint *hint = &durable->window.hints[index];
    /* is_told: the row was committed just now. If its hint is firing, the firer may have read the row before that. */
    const bool is_new = is_told && hint->state == VERGE__HINT_FIRING;
    if (hint->due_ns == due_ns && !is_new) {
        return;
    }
    hint->due_ns = due_ns;
    if (hint->state == VERGE__HINT_FIRING) {
        hint->is_moved = true;
        return;
    }
    if (is_far(durable, hint)) {
        verge__window_drop(durable, index);
        return;
    }
    if (hint->state == VERGE__HINT_HELD) {
        return; /* when the hint is released, it waits for its new time */
    }
    unmark_released(durable, hint);
    if (verge_wheel_reset(wheel_of(durable, hint->handler), hint->timer, due_ns) == 0) {
        wake_firers(durable);
    } /* this reset does not fail: the wheel takes any time, and needs no memory for it */
}

bool verge__window_find_room(const verge_durable *durable, verge__cut *ret_first) {
    const verge__window *window = &durable->window;
    const size_t places = verge__window_places(durable);
    size_t of_shares = 0;
    *ret_first = (verge__cut){0};
    for (uint32_t i = 0; i < durable->handler_count && window->count < places; i++) {
        const verge__handler *handler = &durable->handlers[i];
        of_shares += verge__gets_share(durable, handler) ? handler->window_count : 0;
        if (handler->cut.is_set && verge__has_share(durable, handler, true)) {
            set_cut(ret_first, handler->cut.due_ns, handler->cut.id);
        }
    }
    if (window->cut.is_set && window->count - of_shares < (places - of_shares + 1) / 2) {
        set_cut(ret_first, window->cut.due_ns, window->cut.id);
    }
    return ret_first->is_set;
}

static void uncut(verge__cut *cut, uint64_t due_ns, uint64_t id) {
    cut->is_set = cut->is_set && (cut->due_ns < due_ns || (cut->due_ns == due_ns && cut->id <= id));
}

void verge__window_uncut(verge_durable *durable, uint64_t due_ns, uint64_t id) {
    uncut(&durable->window.cut, due_ns, id);
    for (uint32_t i = 0; i < durable->handler_count; i++) {
        uncut(&durable->handlers[i].cut, due_ns, id);
    }
}

void verge__window_add(verge_durable *durable, uint64_t id, uint64_t due_ns, uint32_t handler, bool is_told) {
    verge__window *window = &durable->window;
    uint32_t index = verge__window_find(window, id);
    if (index != VERGE__NO_HINT) {
        move(durable, index, due_ns, is_told);
        return;
    }
    verge_timer timer;
    if (!verge__has_share(durable, &durable->handlers[handler], false)) {
        set_cut(&durable->handlers[handler].cut, due_ns, id);
        return;
    }
    if (window->count >= verge__window_places(durable) || !make_room(window)) {
        set_cut(&window->cut, due_ns, id);
        return;
    }
    const bool is_reused = window->free != VERGE__NO_HINT;
    index = is_reused ? window->free : window->hint_count;
    if (verge_wheel_start(wheel_of(durable, handler), due_ns, (void *)(uintptr_t)index, &timer) != 0) {
        set_cut(&window->cut, due_ns, id);
        return;
    }
    if (is_reused) {
        window->free = window->hints[index].next;
    } else {
        window->hint_count++;
    }
    uint32_t *bucket = bucket_of(window, id);
    window->hints[index] = (verge__hint){
        .id = id,
        .due_ns = due_ns,
        .timer = timer,
        .next = *bucket,
        .handler = (uint16_t)handler,
        .state = VERGE__HINT_WAITING,
    };
    *bucket = index;
    window->count++;
    durable->handlers[handler].window_count++;
    wake_firers(durable);
}

static void leave_held(verge_durable *durable, uint32_t index) {
    verge__hint *hints = durable->window.hints;
    const verge__hint *hint = &hints[index];
    verge__handler *handler = &durable->handlers[hint->handler];
    *(hint->held_previous == VERGE__NO_HINT ? &handler->held_first : &hints[hint->held_previous].held_next) =
        hint->held_next;
    *(hint->held_next == VERGE__NO_HINT ? &handler->held_last : &hints[hint->held_next].held_previous) =
        hint->held_previous;
    handler->held_count--;
    durable->held_count--;
}

void verge__window_drop(verge_durable *durable, uint32_t index) {
    verge__window *window = &durable->window;
    verge__hint *hint = &window->hints[index];
    VERGE__INVARIANT(hint->state != VERGE__HINT_FREE, "V2: a hint is dropped once");
    if (hint->state == VERGE__HINT_WAITING) {
        (void)verge_wheel_cancel(wheel_of(durable, hint->handler), hint->timer, NULL);
        unmark_released(durable, hint);
    } else if (hint->state == VERGE__HINT_HELD) {
        leave_held(durable, index);
    }
    durable->handlers[hint->handler].window_count--;
    uint32_t *link = bucket_of(window, hint->id);
    while (*link != index) {
        VERGE__INVARIANT(*link != VERGE__NO_HINT, "V2: a hint is in the chain of its id");
        link = &window->hints[*link].next;
    }
    *link = hint->next;
    *hint = (verge__hint){.state = VERGE__HINT_FREE, .next = window->free};
    window->free = index;
    window->count--;
}

void verge__window_file(verge_durable *durable, uint32_t index, uint64_t at_ns) {
    verge__window *window = &durable->window;
    verge__hint *hint = &window->hints[index];
    VERGE__INVARIANT(hint->state == VERGE__HINT_FIRING, "V1: only what fires is filed again");
    hint->is_moved = false;
    if (is_far(durable, hint)) {
        verge__window_drop(durable, index);
        return;
    }
    if (verge_wheel_start(wheel_of(durable, hint->handler), at_ns, (void *)(uintptr_t)index, &hint->timer) != 0) {
        set_cut(&window->cut, hint->due_ns, hint->id); /* no memory: a scan finds the row again */
        verge__window_drop(durable, index);
        return;
    }
    hint->state = VERGE__HINT_WAITING;
    wake_firers(durable);
}

void verge__window_hold(verge_durable *durable, uint32_t index, bool is_first) {
    verge__hint *hints = durable->window.hints;
    verge__hint *hint = &hints[index];
    verge__handler *handler = &durable->handlers[hint->handler];
    VERGE__INVARIANT(hint->state == VERGE__HINT_FIRING, "V1: only what has come out of the wheel is held");
    hint->is_moved = false;
    if (is_far(durable, hint)) { /* the timer was moved while the firer asked for a permit */
        verge__window_drop(durable, index);
        return;
    }
    hint->state = VERGE__HINT_HELD;
    const bool is_only = handler->held_count == 0;
    hint->held_previous = is_only || is_first ? VERGE__NO_HINT : handler->held_last;
    hint->held_next = is_only || !is_first ? VERGE__NO_HINT : handler->held_first;
    *(hint->held_previous == VERGE__NO_HINT ? &handler->held_first : &hints[hint->held_previous].held_next) = index;
    *(hint->held_next == VERGE__NO_HINT ? &handler->held_last : &hints[hint->held_next].held_previous) = index;
    handler->held_count++;
    durable->held_count++;
}

bool verge__window_release(verge_durable *durable, uint32_t index, uint64_t now_ns) {
    verge__hint *hint = &durable->window.hints[index];
    const bool is_due = hint->due_ns <= now_ns;
    leave_held(durable, index);
    hint->state = VERGE__HINT_FIRING;
    verge__window_file(durable, index, hint->due_ns);
    if (is_due && hint->state == VERGE__HINT_WAITING) {
        hint->is_released = true;
        durable->handlers[hint->handler].released_count++;
    }
    return is_due;
}

void verge__window_trim(verge_durable *durable) {
    verge__window *window = &durable->window;
    for (uint32_t i = window->hint_count; i-- > 0;) {
        const verge__hint *hint = &window->hints[i];
        if (hint->state != VERGE__HINT_WAITING && hint->state != VERGE__HINT_HELD) {
            continue;
        }
        verge__handler *handler = &durable->handlers[hint->handler];
        handler->window_count--; /* so that verge__has_share tells whether this hint has room */
        const bool has_share = verge__has_share(durable, handler, false);
        handler->window_count++;
        if (!has_share) {
            set_cut(&handler->cut, hint->due_ns, hint->id);
            verge__window_drop(durable, i);
        }
    }
}

void verge__window_drop_foreign(verge_durable *durable) {
    verge__window *window = &durable->window;
    for (uint32_t i = 0; i < window->hint_count; i++) {
        const verge__hint *hint = &window->hints[i];
        if ((hint->state == VERGE__HINT_WAITING || hint->state == VERGE__HINT_HELD) &&
            durable->epochs[verge__shard_of(hint->id)] == 0) {
            verge__window_drop(durable, i);
        }
    }
}

bool verge__window_check(const verge_durable *durable) {
    const verge__window *window = &durable->window;
    uint32_t waiting = 0;
    uint32_t firing = 0;
    uint32_t held = 0;
    uint32_t of_handlers = 0;
    uint32_t released = 0;
    uint32_t released_of_handlers = 0;
    for (uint32_t i = 0; i < window->hint_count; i++) {
        const verge__hint *hint = &window->hints[i];
        if (hint->state != VERGE__HINT_FREE && verge__window_find(window, hint->id) != i) {
            return false;
        }
        if ((hint->state == VERGE__HINT_WAITING || hint->state == VERGE__HINT_HELD) && is_far(durable, hint)) {
            return false;
        }
        released += hint->state == VERGE__HINT_WAITING && hint->is_released;
        waiting += hint->state == VERGE__HINT_WAITING;
        firing += hint->state == VERGE__HINT_FIRING;
        held += hint->state == VERGE__HINT_HELD;
    }
    for (uint32_t i = 0; i < durable->handler_count; i++) {
        const verge__handler *handler = &durable->handlers[i];
        uint32_t in_list = 0;
        released_of_handlers += handler->released_count;
        of_handlers += handler->window_count;
        for (uint32_t at = handler->held_first; in_list < handler->held_count; at = window->hints[at].held_next) {
            if (window->hints[at].state != VERGE__HINT_HELD || window->hints[at].handler != i) {
                return false;
            }
            in_list++;
        }
    }
    size_t in_wheels = 0;
    for (int i = 0; i < VERGE__PRIORITIES; i++) {
        in_wheels += verge_wheel_count(window->wheels[i]);
    }
    return waiting == in_wheels && waiting + firing + held == window->count && held == durable->held_count &&
           of_handlers == window->count && released == released_of_handlers;
}
