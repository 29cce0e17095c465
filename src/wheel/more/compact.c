/* SPDX-License-Identifier: MIT */
/* Giving back at once all memory that can be given back. */
#include "base/memory.h"
#include "wheel/wheel_internal.h"

static void drop_idle(void *context, verge_wheel *wheel, verge__timer_node *timer) {
    (void)context;
    if (!verge__timer_is_pending(timer) && !verge__timer_is_marker(timer)) {
        wheel->dropped++;
        verge__calendar_withdraw(&wheel->calendar, &timer->node);
    }
}

void verge_wheel_compact(verge_wheel *wheel) {
    VERGE__ENTER(wheel);
    if (wheel == NULL) {
        return;
    }
    verge__wheel_visit(wheel, 0, drop_idle, NULL);
    while (verge__wheel_release_slab(wheel, verge__larger(wheel->nodes.pending_count, wheel->reserved_nodes))) {
    }
    if (verge__larger(wheel->calendar.linked, wheel->reserved_nodes) <= verge__narrow_max) {
        (void)verge__wheel_rebuild(wheel, true);
    }
}
