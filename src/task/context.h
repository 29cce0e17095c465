/* SPDX-License-Identifier: MIT */
/*
 * task/context.h - flows of control with a stack each, of which one runs on a thread at a time.
 *
 * Usage
 *   verge__context_adopt(&loop);                                 the thread's own flow
 *   verge__context_init(&fiber, low, size, function, argument);  a new one; it does not run yet
 *   verge__context_switch(&loop, &fiber);                        runs the fiber; returns when the fiber switches back
 *   verge__context_switch(&fiber, &loop);                        inside the fiber: back, until resumed
 *   verge__context_leave(&fiber, &loop);                         inside the fiber: back, for good
 *   verge__context_deinit(&fiber);                               after that, in the flow to which the fiber went back
 *
 * A suspended context may be resumed by any thread. A switch keeps what a function call keeps: callee-saved registers
 * and the modes of the floating-point unit. The assembly leaves the signal mask of the thread alone; ucontext keeps one
 * for each flow. Unwinding a stack ends at the first frame of its flow.
 *
 * A function that switches to another context may continue on another thread. So it must not keep the address of a
 * thread-local variable over a switch.
 *
 * A flow may be announced as ready before it has left its stack: it announces itself, and then switches away. If other
 * threads may resume it, is_live keeps them from doing so too early. A thread sets is_live (verge__context_set_live)
 * before it resumes a flow. The switch away from the flow clears is_live after the last use of the stack (release). A
 * thread that reads 0 (acquire) may resume the flow.
 */
#ifndef VERGE_SRC_TASK_CONTEXT_H
#define VERGE_SRC_TASK_CONTEXT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#if defined(__SANITIZE_ADDRESS__)
#define VERGE__ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define VERGE__ASAN 1
#endif
#endif
#if defined(__SANITIZE_THREAD__)
#define VERGE__TSAN 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define VERGE__TSAN 1
#endif
#endif
#if !defined(VERGE__ASAN)
#define VERGE__ASAN 0
#endif
#if !defined(VERGE__TSAN)
#define VERGE__TSAN 0
#endif

typedef struct verge__context {
    _Atomic uint64_t is_live; /* not 0: the stack may be in use, even if the flow seems suspended. See above */
    void *stack_pointer;      /* while it is suspended: what verge__context_swap or _prepare left */
    void (*function)(void *argument);
    void *argument;
#if VERGE__ASAN
    const void *stack_low;
    size_t stack_size;
    void *fake_stack;
    struct verge__context *resumed_by;
#endif
#if VERGE__TSAN
    void *fiber;
#endif
} verge__context;

static inline void verge__context_set_live(verge__context *context) {
    atomic_store_explicit(&context->is_live, 1, memory_order_relaxed);
}

static inline bool verge__context_is_live(const verge__context *context) {
    return atomic_load_explicit(&context->is_live, memory_order_acquire) != 0;
}

/* Makes `context` stand for the flow that the calling thread is in. */
void verge__context_adopt(verge__context *context);

/* The stack is the memory from stack_low to stack_low + stack_size; its top is aligned down to 16. `function` must not
 * return: it ends with verge__context_leave. */
void verge__context_init(verge__context *context, void *stack_low, size_t stack_size, void (*function)(void *),
                         void *argument);

/* Suspends `from`, which is the running context, and resumes `to`. */
void verge__context_switch(verge__context *from, verge__context *to);

/* As switch, but `from` will never be resumed: its stack may be used for something else as soon as `to` runs. */
_Noreturn void verge__context_leave(verge__context *from, verge__context *to);

/* Call it when the end of a thread has unwound the stack of `from`: the thread is in `to` again, without a switch.
 * `from` is never resumed. */
void verge__context_unwound(verge__context *from, verge__context *to);

/* Frees what belongs to a context that has left, was unwound, or was never resumed. */
void verge__context_deinit(verge__context *context);

/* "assembly" or "ucontext". */
const char *verge__context_kind(void);

#endif
