/* SPDX-License-Identifier: MIT */
/* Reserving memory, and giving it back when there are fewer timers. */
#include <errno.h>

#include "base/memory.h"
#include "wheel/wheel_internal.h"

enum { SLABS_AT_ONCE = 64 }; /* looked at, at the end of a poll */

#if defined(VERGE_STEPS) && VERGE_STEPS
size_t verge__idle_max = VERGE__IDLE_MAX;
size_t verge__narrow_max = VERGE__NARROW_MAX;
#endif

/* W6, if the table has so many nodes, and so many of them are timers or on the stack. Others may have idle entries. */
static size_t entries_for(const verge_wheel *wheel, size_t node_count, size_t taken) {
    size_t in_table = verge__larger(taken, wheel->reserved_nodes) + verge__idle_max;
    in_table = in_table < node_count ? in_table : node_count;
    return in_table + verge__larger(wheel->attached + wheel->loose, wheel->reserved_timeouts);
}

/* Between two refills of the stack, no more nodes are taken. */
size_t verge__wheel_entries_needed(const verge_wheel *wheel) {
    return entries_for(wheel, wheel->nodes.node_count, wheel->nodes.node_count - wheel->nodes.free_count);
}

/* The calendar anew, as narrow as its entries allow. Not while somebody visits them. */
static int rebuild(verge_wheel *wheel, size_t entries) {
    const verge__calendar_setup setup = verge__wheel_calendar_setup(wheel, entries <= verge__narrow_max);
    int error = wheel->is_visiting ? -EBUSY : verge__calendar_rebuild(&wheel->calendar, &setup, entries);
    if (error == 0) {
        verge__heap_order(wheel);
    }
    return error;
}

static int secure(verge_wheel *wheel, size_t entries) {
    if (wheel->calendar.is_narrow && entries > verge__narrow_max && entries > wheel->calendar.entry_capacity) {
        (void)rebuild(wheel, entries); /* a narrow calendar will do: it is only slower */
    }
    int error = verge__calendar_secure(&wheel->calendar, entries);
    return error == 0 ? verge__heap_secure(wheel, entries) : error;
}

int verge__wheel_secure(verge_wheel *wheel) {
    return secure(wheel, verge__wheel_entries_needed(wheel));
}

/* Gives back what entries do not need. */
static void trim(verge_wheel *wheel) {
    size_t needed = verge__wheel_entries_needed(wheel);
    verge__calendar_shrink(&wheel->calendar, needed);
    (void)rebuild(wheel, needed);
    verge__heap_shrink(wheel, needed);
}

int verge__wheel_find_spare(verge_wheel *wheel) {
    verge__nodes *nodes = &wheel->nodes;
    size_t more = nodes->free_count == 0 ? verge__nodes_growth(nodes) : 0;
    size_t taken = nodes->node_count - nodes->free_count + VERGE__REFILL_NODES;
    int error = secure(wheel, entries_for(wheel, nodes->node_count + more, taken));
    error = error == 0 && more > 0 ? verge__nodes_grow(nodes) : error;
    wheel->calendar.slabs = nodes->slabs;
    if (error == 0) {
        verge__nodes_refill(nodes);
        (void)verge__nodes_pop(nodes);
    }
    return error;
}

/* Free nodes may have idle entries. False: the budget, of entries dropped (NULL: any number), ran out first. */
static bool release_slab(verge_wheel *wheel, uint32_t slab, size_t *budget) {
    for (uint32_t i = 0; i < verge__nodes_slab_nodes(&wheel->nodes, slab); i++) {
        verge__node *node = &verge__nodes_at(&wheel->nodes, (slab << VERGE__SLAB_BITS) + i)->node;
        if (verge__node_has_entry(node)) {
            if (budget != NULL && (*budget)-- == 0) {
                *budget = 0;
                return false;
            }
            verge__wheel_drop(wheel, node);
        }
    }
    verge__nodes_release_slab(&wheel->nodes, slab);
    return true;
}

/* Releases slabs without a timer, from the highest down. With a budget it looks at some, and goes on there the next
 * time; without one (NULL), at all. True: all were looked at. */
static bool release_slabs(verge_wheel *wheel, size_t keep, size_t *budget) {
    verge__nodes *table = &wheel->nodes;
    verge__nodes_empty_stack(table, VERGE__STACK_MAX);
    uint32_t slab = budget == NULL || table->release_at == 0 ? table->slab_count : table->release_at;
    uint32_t count = budget == NULL ? slab : (uint32_t)SLABS_AT_ONCE;
    for (; slab > 0 && count > 0; slab--, count--) {
        if (verge__nodes_is_slab_free(table, slab - 1) &&
            table->node_count - verge__nodes_slab_nodes(table, slab - 1) >= keep &&
            !release_slab(wheel, slab - 1, budget)) {
            break;
        }
    }
    VERGE__INVARIANT(table->node_count >= verge__nodes_live(table), "WN3: no slab with a timer was released");
    table->release_at = slab;
    return slab == 0;
}

int verge_wheel_reserve(verge_wheel *wheel, size_t timer_count) {
    VERGE__ENTER(wheel);
    if (wheel == NULL) {
        return -EINVAL;
    }
    size_t pending = (size_t)verge__wheel_pending(wheel);
    if (timer_count == 0) {
        wheel->reserved_nodes = 0;
        return 0;
    }
    size_t live = verge__nodes_live(&wheel->nodes);
    if (timer_count > (UINT32_C(1) << 31) - live || timer_count > SIZE_MAX / VERGE__TABLE_NODE_BYTES ||
        (wheel->options.timer_cap != 0 && timer_count > wheel->options.timer_cap - pending)) {
        return -ENOSPC;
    }
    verge__nodes *nodes = &wheel->nodes;
    size_t nodes_before = nodes->node_count;
    size_t reserved_before = wheel->reserved_nodes;
    size_t wanted = live + timer_count + nodes->retired_count;
    wheel->reserved_nodes = wanted + VERGE__STACK_MAX; /* of which the stack may have some */
    int error = secure(wheel, entries_for(wheel, verge__larger(wanted + VERGE__SLAB_NODES, nodes_before), 0));
    while (error == 0 && nodes->node_count < wanted) {
        error = verge__nodes_grow(nodes);
        wheel->calendar.slabs = nodes->slabs;
    }
    if (error != 0) { /* what could be had of it is not to be missing elsewhere */
        wheel->reserved_nodes = reserved_before;
        (void)release_slabs(wheel, nodes_before, NULL);
        trim(wheel);
    }
    return error;
}

int verge_timeout_reserve(verge_wheel *wheel, size_t timeout_count) {
    VERGE__ENTER(wheel);
    if (wheel == NULL) {
        return -EINVAL;
    }
    if (timeout_count > UINT32_MAX) {
        return -ENOSPC;
    }
    size_t before = wheel->reserved_timeouts;
    wheel->reserved_timeouts = timeout_count == 0 ? 0 : wheel->attached + wheel->loose + timeout_count;
    int error = verge__wheel_secure(wheel);
    wheel->reserved_timeouts = error == 0 ? wheel->reserved_timeouts : before;
    return error;
}

/* ---- giving back ---- */

static bool is_sparse(const verge_wheel *wheel, size_t used, size_t reserved_count, size_t room) {
    const verge_wheel_compaction *compaction = &wheel->options.compaction;
    return room > compaction->minimum && used < room / compaction->ratio && reserved_count < room;
}

/* What there must be room for, when so much is used and so much reserved. */
static size_t to_keep(const verge_wheel *wheel, size_t used, size_t reserved_count) {
    return verge__larger(verge__larger(used * wheel->options.compaction.multiplier, wheel->options.compaction.minimum),
                         reserved_count);
}

bool verge__wheel_give_back(verge_wheel *wheel, size_t *budget) {
    verge__calendar *calendar = &wheel->calendar;
    size_t live = verge__nodes_live(&wheel->nodes);
    size_t node_count = wheel->nodes.node_count;
    bool is_under_way = wheel->nodes.release_at != 0; /* what was begun is brought to its end */
    if (is_under_way || is_sparse(wheel, live, wheel->reserved_nodes, wheel->nodes.node_count)) {
        is_under_way = !release_slabs(wheel, to_keep(wheel, live, wheel->reserved_nodes), budget);
    }
    size_t needed = verge__wheel_entries_needed(wheel);
    if (is_sparse(wheel, calendar->entry_count, needed, calendar->entry_capacity)) {
        verge__calendar_shrink(calendar, to_keep(wheel, calendar->entry_count, needed));
    }
    return is_under_way || wheel->nodes.node_count < node_count;
}

static bool drop_idle(void *context, verge_wheel *wheel, verge__entry entry, verge__node *node) {
    (void)context;
    (void)entry;
    if (!verge__node_is_pending(node)) {
        verge__wheel_drop(wheel, node);
    }
    return true;
}

void verge_wheel_compact(verge_wheel *wheel) {
    VERGE__ENTER(wheel);
    if (wheel == NULL || wheel->is_visiting) { /* a visitor stands at an entry */
        return;
    }
    (void)verge__wheel_visit(wheel, drop_idle, NULL);
    (void)release_slabs(wheel, verge__larger(verge__nodes_live(&wheel->nodes), wheel->reserved_nodes), NULL);
    trim(wheel);
}
