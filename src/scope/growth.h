/* SPDX-License-Identifier: MIT */
/*
 * scope/growth.h - finds counts that only ever grow. The smallest count in each window of 4 s is its floor. A count
 * that follows the load comes back to its floor; the floor of a leak rises. If eight floors in a row are each above the
 * one before, a leak is suspected. If many of the timers end, it takes thirty floors. When more timers start than
 * before, their number grows until the first of the additional ones end, and this is no leak.
 */
#ifndef VERGE_SRC_SCOPE_GROWTH_H
#define VERGE_SRC_SCOPE_GROWTH_H

#include <stdbool.h>
#include <stdint.h>

typedef struct verge__growth {
    uint64_t window_since_ns; /* 0: nothing was noted yet */
    uint64_t floor;           /* the smallest count of this window, so far */
    uint64_t last_floor;
    uint32_t rise_count;
    uint64_t first_floor, first_ns; /* the floor before the rises in rise_count, and when its window ended */
} verge__growth;

enum { VERGE__GROWTH_RISES = 8, VERGE__GROWTH_RISES_WITH_ENDS = 30 };
#define VERGE__GROWTH_WINDOW_NS UINT64_C(4000000000)

static inline void verge__growth_note(verge__growth *growth, uint64_t now_ns, uint64_t count) {
    if (growth->window_since_ns == 0) {
        *growth = (verge__growth){.window_since_ns = now_ns, .floor = count, .last_floor = count};
    }
    growth->floor = count < growth->floor ? count : growth->floor;
    if (now_ns - growth->window_since_ns >= VERGE__GROWTH_WINDOW_NS) {
        growth->rise_count = growth->floor > growth->last_floor ? growth->rise_count + 1 : 0;
        if (growth->rise_count == 0) {
            growth->first_floor = growth->floor;
            growth->first_ns = now_ns;
        }
        growth->last_floor = growth->floor;
        growth->floor = count;
        growth->window_since_ns = now_ns;
    }
}

/* Returns by how much the floor rises a second. Only for a count whose floor has just risen. */
static inline double verge__growth_rate(const verge__growth *growth) {
    return (double)(growth->last_floor - growth->first_floor) * 1e9 /
           (double)(growth->window_since_ns - growth->first_ns);
}

/* Whether a leak is suspected. `ended` is how many timers end a second. These are many if they are more than a quarter
 * of the growth a second. */
static inline bool verge__growth_is_suspect(const verge__growth *growth, double ended) {
    return growth->rise_count >= VERGE__GROWTH_RISES_WITH_ENDS ||
           (growth->rise_count >= VERGE__GROWTH_RISES && 4 * ended <= verge__growth_rate(growth));
}

#endif
