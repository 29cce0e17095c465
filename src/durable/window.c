/* SPDX-License-Identifier: MIT */
/*
 * The window: the timers that are due soon, in a wheel for each priority, and in a hash table by their ids. It also
 * keeps the latest known time of the store's clock.
 *
 *   V1  an entry that waits has a timer in the wheel of its priority; an entry that fires or is held has none
 *   V2  every entry that is not free is in the chain of its id in the hash table, once
 *   V3  if there was no room for a row, the window or the row's handler has a cut: rows at or beyond the cut need not
 *       be in the window
 *   V4  an entry that is held is in the list of its handler; handlers count their entries
 */
#define _GNU_SOURCE

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "durable/durable_internal.h"

/* ---- the store's clock (P6) ---- */

#define ESTIMATE_PERIOD_NS UINT64_C(5000000000)

void verge__note_time(verge_durable *durable, const verge__connection *connection) {
    verge__estimate *estimate = &durable->estimate;
    if (connection->now_ns == 0) {
        return;
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

/* ---- entries ---- */

int verge__window_init(verge__window *window, const verge_durable_options *options) {
    verge_wheel_options wheel_options;
    (void)verge_wheel_options_init(&wheel_options);
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
    window->free = VERGE__NO_ENTRY;
    return 0;
}

void verge__window_end(verge__window *window) {
    for (int i = 0; i < VERGE__PRIORITIES; i++) {
        verge_wheel_destroy(window->wheels[i]);
    }
    free(window->entries);
    free(window->buckets);
}

/* The wheel for entries of the handler. */
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
    while (index != VERGE__NO_ENTRY && window->entries[index].id != id) {
        index = window->entries[index].next;
    }
    return index;
}

/* Room for one more entry; false: there is none. */
static bool make_room(verge__window *window) {
    if (window->free != VERGE__NO_ENTRY || window->entry_count < window->capacity) {
        return true;
    }
    const uint32_t capacity = window->capacity == 0 ? 256 : window->capacity * 2;
    verge__entry *entries = realloc(window->entries, capacity * sizeof(*entries));
    if (entries == NULL) {
        return false;
    }
    window->entries = entries;
    window->capacity = capacity;
    return true;
}

static void set_cut(verge__cut *cut, uint64_t due_ns, uint64_t id) {
    if (!cut->is_set || due_ns < cut->due_ns || (due_ns == cut->due_ns && id < cut->id)) {
        *cut = (verge__cut){.is_set = true, .due_ns = due_ns, .id = id};
    }
}

/* After an entry was filed: wakes the runners if it is due before they wake up by themselves. */
static void wake_runners(verge_durable *durable) {
    const uint64_t wakeup_ns = verge__window_next_wakeup(&durable->window);
    if (wakeup_ns < durable->waiting_until_ns) {
        durable->waiting_until_ns = wakeup_ns;
        (void)pthread_cond_broadcast(&durable->due);
    }
}

static void move(verge_durable *durable, verge__entry *entry, uint64_t due_ns, bool is_told) {
    /* It fires, and its row is told of: the firing may have looked for the row before that was committed. */
    const bool is_new = is_told && entry->state == VERGE__ENTRY_FIRING;
    if (entry->due_ns == due_ns && !is_new) {
        return;
    }
    entry->due_ns = due_ns;
    if (entry->state == VERGE__ENTRY_FIRING) {
        entry->is_moved = true;
    } else if (entry->state == VERGE__ENTRY_HELD) {
        return; /* when it is released, it waits for its new time */
    } else if (verge_wheel_reschedule(wheel_of(durable, entry->handler), entry->timer, due_ns) == 0) {
        wake_runners(durable);
    } /* otherwise it comes out at the old time, and firing finds that it is not due */
}

bool verge__window_find_room(const verge_durable *durable, verge__cut *ret_first) {
    const verge__window *window = &durable->window;
    *ret_first = (verge__cut){0};
    if (window->cut.is_set && window->count < durable->options.window_max / 2) {
        *ret_first = window->cut;
    }
    for (uint32_t i = 0; i < durable->handler_count && window->count < durable->options.window_max; i++) {
        const verge__handler *handler = &durable->handlers[i];
        if (handler->cut.is_set && verge__has_share(durable, handler, true)) {
            set_cut(ret_first, handler->cut.due_ns, handler->cut.id);
        }
    }
    return ret_first->is_set;
}

static void uncut(verge__cut *cut, uint64_t due_ns) {
    cut->is_set = cut->is_set && cut->due_ns < due_ns;
}

void verge__window_uncut(verge_durable *durable, uint64_t due_ns) {
    uncut(&durable->window.cut, due_ns);
    for (uint32_t i = 0; i < durable->handler_count; i++) {
        uncut(&durable->handlers[i].cut, due_ns);
    }
}

void verge__window_add(verge_durable *durable, uint64_t id, uint64_t due_ns, uint32_t handler, bool is_told) {
    verge__window *window = &durable->window;
    uint32_t index = verge__window_find(window, id);
    if (index != VERGE__NO_ENTRY) {
        move(durable, &window->entries[index], due_ns, is_told);
        return;
    }
    verge_timer timer;
    if (!verge__has_share(durable, &durable->handlers[handler], false)) {
        set_cut(&durable->handlers[handler].cut, due_ns, id);
        return;
    }
    if (window->count >= durable->options.window_max || !make_room(window)) {
        set_cut(&window->cut, due_ns, id);
        return;
    }
    const bool is_reused = window->free != VERGE__NO_ENTRY;
    index = is_reused ? window->free : window->entry_count;
    if (verge_wheel_schedule(wheel_of(durable, handler), due_ns, (void *)(uintptr_t)index, &timer) != 0) {
        set_cut(&window->cut, due_ns, id);
        return;
    }
    if (is_reused) {
        window->free = window->entries[index].next;
    } else {
        window->entry_count++;
    }
    uint32_t *bucket = bucket_of(window, id);
    window->entries[index] = (verge__entry){
        .id = id,
        .due_ns = due_ns,
        .timer = timer,
        .next = *bucket,
        .handler = (uint16_t)handler,
        .state = VERGE__ENTRY_WAITING,
    };
    *bucket = index;
    window->count++;
    durable->handlers[handler].window_count++;
    wake_runners(durable);
}

static void leave_held(verge_durable *durable, uint32_t index) {
    verge__entry *entries = durable->window.entries;
    const verge__entry *entry = &entries[index];
    verge__handler *handler = &durable->handlers[entry->handler];
    *(entry->held_previous == VERGE__NO_ENTRY ? &handler->held_first : &entries[entry->held_previous].held_next) =
        entry->held_next;
    *(entry->held_next == VERGE__NO_ENTRY ? &handler->held_last : &entries[entry->held_next].held_previous) =
        entry->held_previous;
    handler->held_count--;
    durable->held_count--;
}

void verge__window_drop(verge_durable *durable, uint32_t index) {
    verge__window *window = &durable->window;
    verge__entry *entry = &window->entries[index];
    VERGE__INVARIANT(entry->state != VERGE__ENTRY_FREE, "V2: an entry is dropped once");
    if (entry->state == VERGE__ENTRY_WAITING) {
        (void)verge_wheel_cancel(wheel_of(durable, entry->handler), entry->timer, NULL);
        durable->handlers[entry->handler].released_count -= entry->is_released;
    } else if (entry->state == VERGE__ENTRY_HELD) {
        leave_held(durable, index);
    }
    durable->handlers[entry->handler].window_count--;
    uint32_t *link = bucket_of(window, entry->id);
    while (*link != index) {
        VERGE__INVARIANT(*link != VERGE__NO_ENTRY, "V2: an entry is in the chain of its id");
        link = &window->entries[*link].next;
    }
    *link = entry->next;
    *entry = (verge__entry){.state = VERGE__ENTRY_FREE, .next = window->free};
    window->free = index;
    window->count--;
}

void verge__window_file(verge_durable *durable, uint32_t index, uint64_t at_ns) {
    verge__window *window = &durable->window;
    verge__entry *entry = &window->entries[index];
    VERGE__INVARIANT(entry->state == VERGE__ENTRY_FIRING, "V1: only what fires is filed again");
    entry->is_moved = false;
    if (verge_wheel_schedule(wheel_of(durable, entry->handler), at_ns, (void *)(uintptr_t)index, &entry->timer) != 0) {
        set_cut(&window->cut, entry->due_ns, entry->id); /* no memory: a scan finds it again */
        verge__window_drop(durable, index);
        return;
    }
    entry->state = VERGE__ENTRY_WAITING;
    wake_runners(durable);
}

void verge__window_hold(verge_durable *durable, uint32_t index, bool is_first) {
    verge__entry *entries = durable->window.entries;
    verge__entry *entry = &entries[index];
    verge__handler *handler = &durable->handlers[entry->handler];
    VERGE__INVARIANT(entry->state == VERGE__ENTRY_FIRING, "V1: only what has come out of the wheel is held");
    entry->state = VERGE__ENTRY_HELD;
    const bool is_only = handler->held_count == 0;
    entry->held_previous = is_only || is_first ? VERGE__NO_ENTRY : handler->held_last;
    entry->held_next = is_only || !is_first ? VERGE__NO_ENTRY : handler->held_first;
    *(entry->held_previous == VERGE__NO_ENTRY ? &handler->held_first : &entries[entry->held_previous].held_next) =
        index;
    *(entry->held_next == VERGE__NO_ENTRY ? &handler->held_last : &entries[entry->held_next].held_previous) = index;
    handler->held_count++;
    durable->held_count++;
}

bool verge__window_release(verge_durable *durable, uint32_t index, uint64_t now_ns) {
    verge__entry *entry = &durable->window.entries[index];
    const bool is_due = entry->due_ns <= now_ns;
    leave_held(durable, index);
    entry->state = VERGE__ENTRY_FIRING;
    verge__window_file(durable, index, entry->due_ns);
    if (is_due && entry->state == VERGE__ENTRY_WAITING) {
        entry->is_released = true;
        durable->handlers[entry->handler].released_count++;
    }
    return is_due;
}

void verge__window_trim(verge_durable *durable) {
    verge__window *window = &durable->window;
    for (uint32_t i = window->entry_count; i-- > 0;) {
        const verge__entry *entry = &window->entries[i];
        if (entry->state != VERGE__ENTRY_WAITING && entry->state != VERGE__ENTRY_HELD) {
            continue;
        }
        verge__handler *handler = &durable->handlers[entry->handler];
        handler->window_count--; /* would there be room for it? */
        const bool has_share = verge__has_share(durable, handler, false);
        handler->window_count++;
        if (!has_share) {
            set_cut(&handler->cut, entry->due_ns, entry->id);
            verge__window_drop(durable, i);
        }
    }
}

void verge__window_drop_foreign(verge_durable *durable) {
    verge__window *window = &durable->window;
    for (uint32_t i = 0; i < window->entry_count; i++) {
        const verge__entry *entry = &window->entries[i];
        if ((entry->state == VERGE__ENTRY_WAITING || entry->state == VERGE__ENTRY_HELD) &&
            durable->epochs[verge__shard_of(entry->id)] == 0) {
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
    for (uint32_t i = 0; i < window->entry_count; i++) {
        const verge__entry *entry = &window->entries[i];
        if (entry->state != VERGE__ENTRY_FREE && verge__window_find(window, entry->id) != i) {
            return false;
        }
        waiting += entry->state == VERGE__ENTRY_WAITING;
        firing += entry->state == VERGE__ENTRY_FIRING;
        held += entry->state == VERGE__ENTRY_HELD;
    }
    for (uint32_t i = 0; i < durable->handler_count; i++) {
        const verge__handler *handler = &durable->handlers[i];
        uint32_t in_list = 0;
        of_handlers += handler->window_count;
        for (uint32_t at = handler->held_first; in_list < handler->held_count; at = window->entries[at].held_next) {
            if (window->entries[at].state != VERGE__ENTRY_HELD || window->entries[at].handler != i) {
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
           of_handlers == window->count;
}
