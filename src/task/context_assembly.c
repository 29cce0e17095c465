/* SPDX-License-Identifier: MIT */
/* The first frame of a context that is switched by assembly. */
#include <stdint.h>
#include <string.h>

#include "base/compiler.h"
#include "task/context.h"
#include "task/context_machine.h"

const char verge__context_machine_kind[] = "assembly";

/* Where a new flow begins: calls the function in x19 (r12 on x86-64) with the argument in x20 (r13). */
extern void verge__context_start(void);

/* What verge__context_swap leaves on a stack, from the stack pointer up. */
#if defined(__aarch64__)

typedef struct verge__frame {
    uint64_t x19, x20, x21_to_x28[8], x29, x30;
    uint64_t d8_to_d15[8];
    uint64_t fpcr, unused;
} verge__frame;

static void fill(verge__frame *frame, void (*function)(void *), void *argument) {
    frame->x19 = (uintptr_t)function;
    frame->x20 = (uintptr_t)argument;
    frame->x30 = (uintptr_t)verge__context_start;
    __asm__("mrs %0, fpcr" : "=r"(frame->fpcr));
}

#define RETURN_ADDRESS x30
#define FRAME_POINTER x29

#elif defined(__x86_64__)

typedef struct verge__frame {
    uint32_t mxcsr, x87_control;
    uint64_t r15, r14, r13, r12, rbx, rbp;
    uint64_t return_address;
} verge__frame;

static void fill(verge__frame *frame, void (*function)(void *), void *argument) {
    frame->r12 = (uintptr_t)function;
    frame->r13 = (uintptr_t)argument;
    frame->return_address = (uintptr_t)verge__context_start;
    uint16_t x87_control;
    __asm__("stmxcsr %0" : "=m"(frame->mxcsr));
    __asm__("fnstcw %0" : "=m"(x87_control));
    frame->x87_control = x87_control;
}

#define RETURN_ADDRESS return_address
#define FRAME_POINTER rbp

#endif

_Static_assert(offsetof(verge__context, is_live) == 0 && offsetof(verge__context, stack_pointer) == 8,
               "verge__context_swap expects them there");
_Static_assert(sizeof(verge__frame) % 16 == 0, "the stack pointer of a flow that begins is aligned to 16");

void *verge__context_prepare(void *stack_low, char *stack_top, void (*function)(void *), void *argument) {
    (void)stack_low;
    verge__frame *frame = (verge__frame *)(void *)(stack_top - sizeof(verge__frame));
    memset(frame, 0, sizeof(*frame));
    fill(frame, function, argument);
    return frame;
}

/* Not sanitized, because it reads the stack of another flow on purpose. */
VERGE__NOT_SANITIZED bool verge__context_where(const void *suspended, uintptr_t *ret_address, uintptr_t *ret_frame) {
    const volatile verge__frame *frame = suspended;
    *ret_address = frame->RETURN_ADDRESS;
    *ret_frame = frame->FRAME_POINTER;
    return true;
}
