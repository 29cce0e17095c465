/* SPDX-License-Identifier: MIT */
/* Room that is reserved, and memory that is given back when the load has gone. */
#include <errno.h>

#include "wheel/wheel_internal.h"

enum { SLABS_AT_ONCE = 64 }; /* looked at, at the end of a poll */

#if defined(VERGE_STEPS) && VERGE_STEPS
size_t verge__idle_max = VERGE__IDLE_MAX;
#endif

/* Each timer has one entry. Idle ones come on top and, where entries are sorted, vacant ones: at most as many as others, as four
 * are looked at for each that becomes vacant. */
size_t verge__wheel_entries_for(const verge_wheel *wheel, size_t timers) {
    return timers + verge__idle_max + (verge__wheel_is_ordered(wheel) ? timers : 0) + 1;
}

static int reserve_entries(verge_wheel *wheel, size_t timers) {
    int error = verge__calendar_ready_all(&wheel->calendar);
    if (error == 0) {
        error = verge__calendar_secure(&wheel->calendar, verge__wheel_entries_for(wheel, timers), true);
    }
    verge__wheel_set_short_reach(wheel);
    return error;
}

int verge_wheel_reserve(verge_wheel *wheel, size_t timer_count) {
    if (wheel == NULL) {
        return -EINVAL;
    }
    size_t pending = (size_t)verge__wheel_pending(wheel);
    if (timer_count == 0) {
        wheel->reserved_entries = 0;
        wheel->reserved_nodes = 0;
        return 0;
    }
    if (timer_count > UINT32_MAX ||
        (wheel->options.timer_cap != 0 && timer_count > wheel->options.timer_cap - pending)) {
        return -ENOSPC;
    }
    size_t nodes = verge__nodes_live(&wheel->nodes) + timer_count;
    size_t total = pending + timer_count;
    int error = verge__nodes_reserve(&wheel->nodes, nodes);
    wheel->calendar.slabs = wheel->nodes.slabs;
    if (error == 0) {
        size_t beside = wheel->reserved_beside > total ? wheel->reserved_beside : total;
        error = reserve_entries(wheel, beside + wheel->reserved_timeouts);
    }
    if (error == 0) {
        wheel->reserved_entries = total;
        wheel->reserved_nodes = nodes;
    }
    return error;
}

int verge_timeout_reserve(verge_wheel *wheel, size_t timeout_count) {
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
    size_t timers = beside > wheel->reserved_entries ? beside : wheel->reserved_entries;
    int error = reserve_entries(wheel, timers + wheel->attached + timeout_count);
    if (error == 0) {
        wheel->reserved_timeouts = wheel->attached + timeout_count;
        wheel->reserved_beside = beside;
    }
    return error;
}

/* ---- giving back ---- */

/* Timers whose entries there must be room for. */
static size_t reserved(const verge_wheel *wheel) {
    size_t timers = wheel->reserved_entries > wheel->reserved_beside ? wheel->reserved_entries : wheel->reserved_beside;
    return timers + wheel->reserved_timeouts;
}

static size_t max_of(size_t a, size_t b) {
    return a > b ? a : b;
}

static bool is_sparse(const verge_wheel *wheel, size_t used, size_t reserved_count, size_t room) {
    const verge_wheel_compaction *compaction = &wheel->options.compaction;
    return room > compaction->minimum && used < room / compaction->ratio && reserved_count < room;
}

/* What there must be room for, when so much is used and so much reserved. */
static size_t to_keep(const verge_wheel *wheel, size_t used, size_t reserved_count) {
    return max_of(max_of(used * wheel->options.compaction.multiplier, wheel->options.compaction.minimum),
                  reserved_count);
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
    table->release_at = slab;
    return slab == 0;
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
        verge__calendar_shrink(calendar, verge__wheel_entries_for(wheel, timers));
    }
    wheel->is_large = calendar->entry_count > VERGE__PREFETCH_MIN;
    return is_under_way || wheel->nodes.node_count < node_count;
}

/* ---- compact ---- */

typedef struct compaction {
    uint64_t last_tick;
} compaction;

static bool compact_entry(void *context, verge_wheel *wheel, verge__entry entry, verge__node *node) {
    compaction *compaction_ = context;
    (void)entry;
    if (!verge__node_is_pending(node)) {
        verge__wheel_drop(wheel, node);
    } else {
        uint64_t tick = verge__wheel_rounded(wheel, verge__wheel_tick(wheel, node->deadline_ns));
        compaction_->last_tick = tick > compaction_->last_tick ? tick : compaction_->last_tick;
    }
    return true;
}

void verge_wheel_compact(verge_wheel *wheel) {
    if (wheel == NULL) {
        return;
    }
    compaction compaction_ = {0};
    (void)verge__wheel_visit(wheel, compact_entry, &compaction_);
    size_t live = verge__nodes_live(&wheel->nodes);
    wheel->nodes.release_at = 0;
    (void)release_slabs(wheel, max_of(live, wheel->reserved_nodes), UINT32_MAX);
    if (reserved(wheel) == 0) {
        verge__calendar_shed_levels(&wheel->calendar, compaction_.last_tick);
        verge__calendar_shrink(&wheel->calendar, 0);
    } else {
        size_t keep = max_of(reserved(wheel), (size_t)verge__wheel_pending(wheel));
        verge__calendar_shrink(&wheel->calendar, verge__wheel_entries_for(wheel, keep));
    }
    verge__wheel_set_short_reach(wheel);
}
