/* SPDX-License-Identifier: MIT */
/* task/context_machine.h - what a context needs of the machine: context_aarch64.S, context_x86_64.S, or
 * context_ucontext.c where there is neither. */
#ifndef VERGE_SRC_TASK_CONTEXT_MACHINE_H
#define VERGE_SRC_TASK_CONTEXT_MACHINE_H

#include <stdbool.h>
#include <stdint.h>

typedef struct verge__context verge__context;

/* Suspends the running flow: stores what resumes it in from->stack_pointer. Resumes another, which is given by what it
 * has stored there, and then clears from->is_live, with release order. */
void verge__context_swap(verge__context *from, void *resumed);

/* Lays out a stack that ends at stack_top such that resuming it calls entry(argument). */
void *verge__context_prepare(void *stack_low, char *stack_top, void (*entry)(void *), void *argument);

/* Where a suspended flow goes on, and its frame pointer. False: that is not known of this machine. What it reads is on
 * the stack of the flow, and may be anything if that runs meanwhile. */
bool verge__context_where(const void *suspended, uintptr_t *ret_address, uintptr_t *ret_frame);

extern const char verge__context_machine_kind[];

#endif
