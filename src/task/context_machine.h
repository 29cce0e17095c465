/* SPDX-License-Identifier: MIT */
/* task/context_machine.h - what a context needs of the machine: context_aarch64.S, context_x86_64.S, or
 * context_ucontext.c where there is neither. */
#ifndef VERGE_SRC_TASK_CONTEXT_MACHINE_H
#define VERGE_SRC_TASK_CONTEXT_MACHINE_H

/* Suspends the running flow, stores what resumes it in *ret_suspended, and resumes another. */
void verge__context_swap(void **ret_suspended, void *resumed);

/* Lays out a stack that ends at stack_top such that resuming it calls entry(argument). */
void *verge__context_prepare(void *stack_low, char *stack_top, void (*entry)(void *), void *argument);

extern const char verge__context_machine_kind[];

#endif
