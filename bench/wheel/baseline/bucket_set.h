/* SPDX-License-Identifier: MIT */
/*
 * bench/wheel/baseline/bucket_set.h - the data structure of Seastar's timer_set, written anew from its description:
 * there is a list for each number of leading bits that a timer's time has in common with the last time of expiry. When
 * time passes, lists with more bits in common than the new time has are due as a whole. One list is searched: its
 * timers are due, or go to another list.
 */
#ifndef BENCH_BUCKET_SET_H
#define BENCH_BUCKET_SET_H

#include "ring.h"

enum { BUCKET_SET_COUNT = 65 };

struct bucket_set {
    uint64_t last_tick; /* the last tick of an expiry */
    uint64_t next_tick; /* no timer is due before this tick */
    uint64_t used;      /* one bit for each list except the last */
    struct ring buckets[BUCKET_SET_COUNT];
};

void bucket_set_init(struct bucket_set *set, uint64_t start_ns);
int bucket_set_schedule(struct bucket_set *set, struct ring_node *node, uint64_t deadline_ns);
int bucket_set_cancel(struct bucket_set *set, struct ring_node *node);
int bucket_set_reschedule(struct bucket_set *set, struct ring_node *node, uint64_t deadline_ns);
void bucket_set_advance(struct bucket_set *set, uint64_t now_ns, ring_fired *on_fired, void *context);
uint64_t bucket_set_next(const struct bucket_set *set);

#endif
