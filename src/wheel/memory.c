/* SPDX-License-Identifier: MIT */
/* Reserving memory, and giving it back when there are fewer timers. */
#include <errno.h>

#include "wheel/wheel_internal.h"

enum { SLABS_AT_ONCE = 64 }; /* looked at, at the end of a poll */

#if defined(VERGE_STEPS) && VERGE_STEPS
size_t verge__idle_max = VERGE__IDLE_MAX;
size_t verge__narrow_max = VERGE__NARROW_MAX;
#endif

/* Each timer has one entry. Idle ones come on top, and nodes on the stack, which may become timers (W6). */
static size_t entries_for(size_t timers) {
    return timers + VERGE__STACK_MAX + 1 + verge__idle_max + 1;
}

/* Of the nodes in the table those have entries that are timers, those that are on the stack or were when it was last
 * refilled, and idle ones. Until the next refill there are no more. */
size_t verge__wheel_promised(const verge_wheel *wheel, size_t more) {
    const verge__nodes *nodes = &wheel->nodes;
    size_t in_table = verge__nodes_live(nodes) + nodes->stack_count + (nodes->spare != 0);
    size_t idle = (size_t)verge__calendar_idle(&wheel->calendar);
    return wheel->attached + wheel->loose + in_table + idle + more;
}

static size_t max_of(size_t a, size_t b) {
    return a > b ? a : b;
}

/* Timers whose entries there must be room for, because that was reserved; 0: nothing was. */
static size_t reserved(const verge_wheel *wheel) {
    size_t timers = max_of(wheel->reserved_entries, wheel->reserved_beside);
    bool is_any = timers > 0 || wheel->reserved_timeouts > 0;
    return is_any ? timers + max_of(wheel->reserved_timeouts, wheel->attached) : 0;
}

/* The calendar anew, as narrow as its entries allow. Not while somebody visits them: he stands at one. */
static int rebuild(verge_wheel *wheel, size_t entries) {
    entries = max_of(entries, max_of(wheel->calendar.entry_count, wheel->calendar.promised));
    const verge__calendar_setup setup = verge__wheel_calendar_setup(wheel, entries <= verge__narrow_max);
    int error = wheel->is_visiting ? -EBUSY : verge__calendar_rebuild(&wheel->calendar, &setup, entries);
    wheel->heap.is_loose = true;
    return error;
}

int verge__wheel_secure(verge_wheel *wheel, size_t entries) {
    if (wheel->calendar.is_narrow && entries > verge__narrow_max && entries > wheel->calendar.entry_capacity) {
        (void)rebuild(wheel, entries); /* a narrow calendar will do: it is only slower */
    }
    int error = verge__calendar_secure(&wheel->calendar, entries);
    return error == 0 ? verge__heap_secure(wheel, entries) : error;
}

static int promise(verge_wheel *wheel, size_t entries) {
    int error = verge__wheel_secure(wheel, entries);
    if (error == 0) {
        VERGE__INVARIANT(wheel->calendar.entry_capacity >= entries, "W6: there is room for an entry of each timeout");
        wheel->calendar.promised = entries;
    }
    return error;
}

int verge__wheel_promise_entry(verge_wheel *wheel) {
    return wheel->attached > 0 ? promise(wheel, verge__wheel_promised(wheel, 1)) : 0;
}

int verge__wheel_promise_nodes(verge_wheel *wheel) {
    bool is_refilled = wheel->nodes.spare == 0 && wheel->nodes.stack_count == 0;
    return is_refilled && wheel->attached > 0 ? promise(wheel, verge__wheel_promised(wheel, VERGE__STACK_MAX)) : 0;
}

/* What is reserved stays so: it is for others. */
int verge__wheel_attach_one(verge_wheel *wheel) {
    wheel->attached++;
    size_t entries = reserved(wheel) == 0 ? 0 : entries_for(reserved(wheel));
    int error = promise(wheel, max_of(entries, verge__wheel_promised(wheel, 0)));
    wheel->attached -= error != 0;
    return error;
}

void verge__wheel_detach_one(verge_wheel *wheel) {
    VERGE__INVARIANT(wheel->attached > 0, "W6: timeouts that are attached are counted");
    wheel->attached--;
    wheel->calendar.promised = wheel->attached == 0 ? 0 : verge__wheel_promised(wheel, 0);
}

/* Free nodes may have idle entries. */
static void release_slab(verge_wheel *wheel, uint32_t slab) {
    for (uint32_t i = 0; i < verge__nodes_slab_nodes(&wheel->nodes, slab); i++) {
        verge__node *node = &verge__nodes_at(&wheel->nodes, (slab << VERGE__SLAB_BITS) + i)->node;
        if (verge__node_has_entry(node)) {
            verge__wheel_drop(wheel, node);
        }
    }
    verge__nodes_release_slab(&wheel->nodes, slab);
}

/* Releases slabs without a timer, from the highest down; looks at so many. True: all were looked at. */
static bool release_slabs(verge_wheel *wheel, size_t keep, uint32_t count) {
    verge__nodes *table = &wheel->nodes;
    verge__nodes_empty_stack(table, VERGE__STACK_MAX);
    uint32_t slab =
        table->release_at == 0 || table->release_at > table->slab_count ? table->slab_count : table->release_at;
    for (; slab > 0 && count > 0; slab--, count--) {
        if (verge__nodes_is_slab_free(table, slab - 1) &&
            table->node_count - verge__nodes_slab_nodes(table, slab - 1) >= keep) {
            release_slab(wheel, slab - 1);
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
        wheel->reserved_entries = 0;
        wheel->reserved_nodes = 0;
        return 0;
    }
    size_t live = verge__nodes_live(&wheel->nodes);
    if (timer_count > UINT32_MAX - live || timer_count > SIZE_MAX / VERGE__TABLE_NODE_BYTES ||
        (wheel->options.timer_cap != 0 && timer_count > wheel->options.timer_cap - pending)) {
        return -ENOSPC;
    }
    size_t nodes = live + timer_count;
    size_t nodes_before = wheel->nodes.node_count;
    size_t total = pending + timer_count;
    int error = verge__nodes_reserve(&wheel->nodes, nodes);
    wheel->calendar.slabs = wheel->nodes.slabs;
    if (error == 0) {
        size_t timers = max_of(wheel->reserved_beside, total) + max_of(wheel->attached, wheel->reserved_timeouts);
        error = verge__wheel_secure(wheel, entries_for(timers));
    }
    if (error == 0) {
        wheel->reserved_entries = total;
        wheel->reserved_nodes = nodes;
    } else { /* what could be had of it is not to be missing elsewhere */
        wheel->nodes.release_at = 0;
        (void)release_slabs(wheel, nodes_before, UINT32_MAX);
    }
    return error;
}

int verge_timeout_reserve(verge_wheel *wheel, size_t timeout_count) {
    VERGE__ENTER(wheel);
    if (wheel == NULL) {
        return -EINVAL;
    }
    if (timeout_count == 0) {
        wheel->reserved_timeouts = 0;
        wheel->reserved_beside = 0;
        return 0;
    }
    if (timeout_count > UINT32_MAX) {
        return -ENOSPC;
    }
    size_t beside = verge__nodes_live(&wheel->nodes);
    size_t timeouts = wheel->attached + wheel->loose + timeout_count;
    int error = verge__wheel_secure(wheel, entries_for(max_of(beside, wheel->reserved_entries) + timeouts));
    if (error == 0) {
        wheel->reserved_timeouts = timeouts;
        wheel->reserved_beside = beside;
    }
    return error;
}

/* ---- giving back ---- */

static bool is_sparse(const verge_wheel *wheel, size_t used, size_t reserved_count, size_t room) {
    const verge_wheel_compaction *compaction = &wheel->options.compaction;
    return room > compaction->minimum && used < room / compaction->ratio && reserved_count < room;
}

/* What there must be room for, when so much is used and so much reserved. */
static size_t to_keep(const verge_wheel *wheel, size_t used, size_t reserved_count) {
    return max_of(max_of(used * wheel->options.compaction.multiplier, wheel->options.compaction.minimum),
                  reserved_count);
}

bool verge__wheel_give_back(verge_wheel *wheel) {
    verge__calendar *calendar = &wheel->calendar;
    size_t live = verge__nodes_live(&wheel->nodes);
    size_t node_count = wheel->nodes.node_count;
    bool is_under_way =
        wheel->nodes.release_at != 0; /* what was begun is brought to its end, down to what is to be kept */
    if (is_under_way || is_sparse(wheel, live, wheel->reserved_nodes, wheel->nodes.node_count)) {
        is_under_way = !release_slabs(wheel, to_keep(wheel, live, wheel->reserved_nodes), SLABS_AT_ONCE);
    }
    if (is_sparse(wheel, calendar->entry_count, reserved(wheel), calendar->entry_capacity)) {
        size_t timers = to_keep(wheel, (size_t)verge__wheel_pending(wheel), reserved(wheel));
        verge__calendar_shrink(calendar, entries_for(timers));
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
    if (wheel == NULL) {
        return;
    }
    (void)verge__wheel_visit(wheel, drop_idle, NULL);
    wheel->nodes.release_at = 0;
    (void)release_slabs(wheel, max_of(verge__nodes_live(&wheel->nodes), wheel->reserved_nodes), UINT32_MAX);
    size_t keep = reserved(wheel) == 0 ? 0 : entries_for(max_of(reserved(wheel), (size_t)verge__wheel_pending(wheel)));
    verge__calendar_shrink(&wheel->calendar, keep);
    (void)rebuild(wheel, keep);
    verge__heap_shrink(wheel, keep);
}
