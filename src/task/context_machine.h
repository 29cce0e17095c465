/* SPDX-License-Identifier: MIT */
/* task/context_machine.h - what a context needs of the machine. It is implemented by context_assembly.c with
 * context_aarch64.S or context_x86_64.S, or else by context_ucontext.c. */
#ifndef VERGE_SRC_TASK_CONTEXT_MACHINE_H
#define VERGE_SRC_TASK_CONTEXT_MACHINE_H

#include <stdbool.h>
#include <stdint.h>

typedef struct verge__context verge__context;

/* Suspends the running flow: stores in from->stack_pointer what resumes it. Then leaves its stack, clears from->is_live
 * with release order, and resumes another flow. `resumed` is the stack_pointer of that flow. */
void verge__context_swap(verge__context *from, void *resumed);

/* Lays out a stack that ends at stack_top such that resuming it calls function(argument). Returns its stack_pointer. */
void *verge__context_prepare(void *stack_low, char *stack_top, void (*function)(void *), void *argument);

/* Gets the address at which a suspended flow goes on, and its frame pointer. False: this machine's code does not know
 * them. Both are read from the stack of the flow, and may be anything if the flow runs meanwhile. */
bool verge__context_where(const void *suspended, uintptr_t *ret_address, uintptr_t *ret_frame);

extern const char verge__context_machine_kind[];

#endif
