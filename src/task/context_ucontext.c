/* SPDX-License-Identifier: MIT */
/*
 * Contexts by <ucontext.h>, for machines that have no assembly here, and for builds with VERGE_UCONTEXT. A suspended
 * flow is a ucontext_t on its own stack. Each switch is one or two system calls, as swapcontext keeps the signal mask.
 */
#define _XOPEN_SOURCE 700

#include <stddef.h>
#include <stdint.h>
#include <ucontext.h>

#include "base/compiler.h"
#include "task/context.h"
#include "task/context_machine.h"

const char verge__context_machine_kind[] = "ucontext";

typedef struct verge__first_frame {
    ucontext_t context;
    void (*function)(void *);
    void *argument;
} verge__first_frame;

/* The context that the thread has just left. It is accessed only through functions that are not inlined, as in
 * current.c. */
static _Thread_local verge__context *left;

static VERGE__NOINLINE void set_left(verge__context *context) {
    __asm__ volatile("");
    left = context;
}

static VERGE__NOINLINE void has_left(void) {
    __asm__ volatile("");
    atomic_store_explicit(&left->is_live, 0, memory_order_release);
}

/* makecontext passes only ints, so the pointer is passed as two halves. */
static void start(unsigned high, unsigned low) {
    const verge__first_frame *frame = (const verge__first_frame *)(((uintptr_t)high << 16 << 16) | low);
    has_left();
    frame->function(frame->argument);
}

void verge__context_swap(verge__context *from, void *resumed) {
    ucontext_t self;
    /* `self` exists as long as the flow is suspended, and is used only during that time. */
    // cppcheck-suppress autoVariables
    from->stack_pointer = &self;
    set_left(from);
    (void)swapcontext(&self, resumed);
    has_left();
}

void *verge__context_prepare(void *stack_low, char *stack_top, void (*function)(void *), void *argument) {
    const size_t frame_size = (sizeof(verge__first_frame) + 63) / 64 * 64;
    verge__first_frame *frame = (verge__first_frame *)(void *)(stack_top - frame_size);
    (void)getcontext(&frame->context);
    frame->context.uc_stack.ss_sp = stack_low;
    frame->context.uc_stack.ss_size = (size_t)((char *)frame - (char *)stack_low);
    frame->context.uc_link = NULL;
    frame->function = function;
    frame->argument = argument;
    const uintptr_t address = (uintptr_t)frame;
    makecontext(&frame->context, (void (*)(void))(uintptr_t)start, 2, (unsigned)(address >> 16 >> 16),
                (unsigned)address);
    return &frame->context;
}

bool verge__context_where(const void *suspended, uintptr_t *ret_address, uintptr_t *ret_frame) {
    (void)suspended;
    (void)ret_address;
    (void)ret_frame;
    return false;
}
