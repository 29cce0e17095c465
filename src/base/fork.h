/* SPDX-License-Identifier: MIT */
/*
 * base/fork.h - whether an object was created by this process, or by the one that it was forked from. The threads of
 * the parent are not in the child, and locks that they held are held for ever: whoever has threads refuses to work
 * there.
 */
#ifndef VERGE_SRC_BASE_FORK_H
#define VERGE_SRC_BASE_FORK_H

#include <stdatomic.h>
#include <stdint.h>

/* How many forks led to this process since the first call of verge__watch_forks. Only the thread that forks exists when
 * it changes. */
extern _Atomic uint32_t verge__fork_count;

/* From now on forks are counted. Cheap if called again. -ENOMEM. */
int verge__watch_forks(void);

static inline uint32_t verge__forks(void) {
    return atomic_load_explicit(&verge__fork_count, memory_order_relaxed);
}

#endif
