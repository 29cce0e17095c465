/* SPDX-License-Identifier: MIT */
/*
 * base/fork.h - whether an object was created by this process, or by the one that it was forked from. The child of a
 * fork has only the thread that forked. Locks that other threads held stay locked for ever. So an object that has
 * threads refuses to work in the child.
 */
#ifndef VERGE_SRC_BASE_FORK_H
#define VERGE_SRC_BASE_FORK_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* Grows with each fork that leads to this process, from the first call of verge__watch_forks on. It changes only in the
 * child, while the child has one thread. */
extern _Atomic uint32_t verge__fork_count;

/* From now on, in_child is called in every child. *is_asked is a static variable of the caller, false at first. The
 * function sets it, and does nothing if it is set. The function takes no lock, because a child might find the lock
 * locked for ever. So if several threads make the first call at the same time, in_child may be called several times.
 * -ENOMEM: the call can be tried again. */
int verge__at_fork(_Atomic bool *is_asked, void (*in_child)(void));

/* From now on, verge__fork_count counts forks. Further calls are cheap. -ENOMEM: forks are not counted; the call can be
 * tried again. */
int verge__watch_forks(void);

static inline uint32_t verge__forks(void) {
    return atomic_load_explicit(&verge__fork_count, memory_order_relaxed);
}

#endif
