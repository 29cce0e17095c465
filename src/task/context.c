/* SPDX-License-Identifier: MIT */
/* Contexts, and what the sanitizers must be told about them. */
#include "task/context.h"

#include <stdint.h>
#include <string.h>

#include "base/compiler.h"
#include "task/context_machine.h"

#if VERGE__ASAN
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif
#if VERGE__TSAN
#include <sanitizer/tsan_interface.h>
#endif

/* ---- the sanitizers ---- */

/*
 * AddressSanitizer must be told the bounds of the new stack before a switch. After the switch, it tells the bounds of
 * the old stack: this is how the bounds of a thread's own stack become known.
 *
 * ThreadSanitizer notes each call and return for the flow that it was last told about. So once it knows of the new
 * flow, no function may return before the switch itself: the return would be noted for a flow that has called nothing.
 */

static VERGE__ALWAYS_INLINE void before_switch(verge__context *from, verge__context *to, int leaves) {
#if VERGE__ASAN
    to->resumed_by = from;
    __sanitizer_start_switch_fiber(leaves ? NULL : &from->fake_stack, to->stack_low, to->stack_size);
#endif
#if VERGE__TSAN
    __tsan_switch_to_fiber(to->fiber, 0);
#endif
    (void)from;
    (void)to;
    (void)leaves;
}

#if VERGE__ASAN
/* Not inline: if the thread ends in a task (lost.c), the frame of the function that has switched is unwound. In that
 * frame there must be no local variable that AddressSanitizer guards, such as low and size below. */
static VERGE__NOINLINE void finish_switch(verge__context *self) {
    verge__context *left = self->resumed_by;
    const void *low;
    size_t size;
    __sanitizer_finish_switch_fiber(self->fake_stack, &low, &size);
    if (left->stack_low == NULL) { /* only for a thread's own flow: any other flow may run on another thread by now */
        left->stack_low = low;
        left->stack_size = size;
    }
}
#endif

static void after_switch(verge__context *self) {
#if VERGE__ASAN
    finish_switch(self);
#endif
    (void)self;
}

/* ---- contexts ---- */

static void begin(void *argument) {
    verge__context *self = argument;
    after_switch(self);
    self->function(self->argument);
}

/* Clears all fields. is_live is cleared by an atomic store, as a thread with an old address of the context may be
 * reading it (ring.h, R2). */
static void clear(verge__context *context) {
    atomic_store_explicit(&context->is_live, 0, memory_order_relaxed);
    const size_t offset = offsetof(verge__context, stack_pointer);
    memset((char *)context + offset, 0, sizeof(*context) - offset);
}

void verge__context_adopt(verge__context *context) {
    clear(context);
#if VERGE__TSAN
    context->fiber = __tsan_get_current_fiber();
#endif
}

void verge__context_init(verge__context *context, void *stack_low, size_t stack_size, void (*function)(void *),
                         void *argument) {
    clear(context);
#if VERGE__ASAN
    __asan_unpoison_memory_region(
        stack_low, stack_size); /* the flow that had this stack before has not returned from its frames */
#endif
    char *stack_top = (char *)stack_low + stack_size;
    stack_top -= (uintptr_t)stack_top % 16;
    context->function = function;
    context->argument = argument;
    context->stack_pointer = verge__context_prepare(stack_low, stack_top, begin, context);
#if VERGE__ASAN
    context->stack_low = stack_low;
    context->stack_size = stack_size;
#endif
#if VERGE__TSAN
    context->fiber = __tsan_create_fiber(0);
#endif
}

VERGE__NOINLINE void verge__context_switch(verge__context *from, verge__context *to) {
    before_switch(from, to, 0);
    verge__context_swap(from, to->stack_pointer);
    after_switch(from);
}

_Noreturn void verge__context_leave(verge__context *from, verge__context *to) {
    atomic_store_explicit(&from->is_live, 0, memory_order_relaxed); /* nobody waits for this flow to leave its stack */
    before_switch(from, to, 1);
    verge__context_swap(from, to->stack_pointer);
    __builtin_unreachable();
}

void verge__context_unwound(verge__context *from, verge__context *to) {
    before_switch(from, to, 1);
    after_switch(to);
#if VERGE__ASAN
    __asan_handle_no_return(); /* the frames of `to` that led to the switch did not return either */
#endif
}

void verge__context_deinit(verge__context *context) {
#if VERGE__TSAN
    __tsan_destroy_fiber(context->fiber);
#endif
    (void)context;
}

const char *verge__context_kind(void) {
    return verge__context_machine_kind;
}
