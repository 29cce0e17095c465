/* SPDX-License-Identifier: MIT */
/* Context switch for the System V ABI of x86-64: rbx, rbp, r12 to r15 and the modes of SSE and x87 survive a call.
 * They are saved in the layout of verge__frame in context_assembly.c. */

    .text

/* void verge__context_swap(verge__context *from, void *resumed) */
    .globl  verge__context_swap
    .hidden verge__context_swap
    .type   verge__context_swap, @function
    .p2align 4
verge__context_swap:
    .cfi_startproc
    pushq   %rbp
    .cfi_adjust_cfa_offset 8
    .cfi_rel_offset rbp, 0
    pushq   %rbx
    .cfi_adjust_cfa_offset 8
    pushq   %r12
    .cfi_adjust_cfa_offset 8
    pushq   %r13
    .cfi_adjust_cfa_offset 8
    pushq   %r14
    .cfi_adjust_cfa_offset 8
    pushq   %r15
    .cfi_adjust_cfa_offset 8
    subq    $8, %rsp
    .cfi_adjust_cfa_offset 8
    stmxcsr (%rsp)
    fnstcw  4(%rsp)
    movq    %rsp, 8(%rdi)               /* stack_pointer */

    movq    %rsi, %rsp
    movq    $0, (%rdi)                  /* is_live: stores are not reordered here */
    ldmxcsr (%rsp)
    fldcw   4(%rsp)
    addq    $8, %rsp
    .cfi_adjust_cfa_offset -8
    popq    %r15
    .cfi_adjust_cfa_offset -8
    popq    %r14
    .cfi_adjust_cfa_offset -8
    popq    %r13
    .cfi_adjust_cfa_offset -8
    popq    %r12
    .cfi_adjust_cfa_offset -8
    popq    %rbx
    .cfi_adjust_cfa_offset -8
    popq    %rbp
    .cfi_adjust_cfa_offset -8
    .cfi_restore rbp
    ret
    .cfi_endproc
    .size   verge__context_swap, . - verge__context_swap

/* The outermost frame of a flow: no caller, so that unwinding ends here. */
    .globl  verge__context_start
    .hidden verge__context_start
    .type   verge__context_start, @function
    .p2align 4
verge__context_start:
    .cfi_startproc
    .cfi_undefined rip
    xorl    %ebp, %ebp
    movq    %r13, %rdi
    callq   *%r12
    ud2
    .cfi_endproc
    .size   verge__context_start, . - verge__context_start

    .section .note.GNU-stack, "", @progbits
