/* SPDX-License-Identifier: MIT */
#include "soak/jumping_clock.h"

static uint64_t now(void *context) {
    struct jumping_clock *jumping = context;
    verge_clock clock = verge_clock_monotonic();
    return clock.now_ns(clock.context) + atomic_load_explicit(&jumping->ahead_ns, memory_order_relaxed);
}

verge_clock jumping_clock_table(struct jumping_clock *jumping) {
    return (verge_clock){.now_ns = now, .context = jumping};
}

void jumping_clock_jump(struct jumping_clock *jumping, int64_t by_ns) {
    uint64_t ahead_ns = atomic_load(&jumping->ahead_ns);
    if (by_ns < 0 && (uint64_t)-by_ns > ahead_ns) {
        by_ns = -(int64_t)ahead_ns;
    }
    atomic_store(&jumping->ahead_ns, ahead_ns + (uint64_t)by_ns);
}
