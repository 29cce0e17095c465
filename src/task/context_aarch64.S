/* SPDX-License-Identifier: MIT */
/* Context switch for the AArch64 procedure call standard: x19 to x29, d8 to d15 and the mode of the floating-point unit
 * survive a call; x30 is the return address. All are saved in the layout of verge__frame in context_assembly.c. */

    .text

/* void verge__context_swap(verge__context *from, void *resumed) */
    .globl  verge__context_swap
    .hidden verge__context_swap
    .type   verge__context_swap, %function
    .p2align 4
verge__context_swap:
    .cfi_startproc
    hint    #34                         /* bti c */
    sub     sp, sp, #176
    .cfi_adjust_cfa_offset 176
    stp     x19, x20, [sp, #0]
    stp     x21, x22, [sp, #16]
    stp     x23, x24, [sp, #32]
    stp     x25, x26, [sp, #48]
    stp     x27, x28, [sp, #64]
    stp     x29, x30, [sp, #80]
    .cfi_rel_offset x29, 80
    .cfi_rel_offset x30, 88
    stp     d8, d9, [sp, #96]
    stp     d10, d11, [sp, #112]
    stp     d12, d13, [sp, #128]
    stp     d14, d15, [sp, #144]
    mrs     x9, fpcr
    str     x9, [sp, #160]
    mov     x10, sp
    str     x10, [x0, #8]               /* stack_pointer */
    ldr     x12, [x0]                   /* is_live */

    mov     sp, x1
    cbz     x12, 1f                     /* 0 if the worker does not share (share.h): no store-release needed */
    stlr    xzr, [x0]
1:
    ldp     x29, x30, [sp, #80]
    ldr     x11, [sp, #160]
    ldp     x19, x20, [sp, #0]
    ldp     x21, x22, [sp, #16]
    ldp     x23, x24, [sp, #32]
    ldp     x25, x26, [sp, #48]
    ldp     x27, x28, [sp, #64]
    ldp     d8, d9, [sp, #96]
    ldp     d10, d11, [sp, #112]
    ldp     d12, d13, [sp, #128]
    ldp     d14, d15, [sp, #144]
    cmp     x9, x11                     /* writing the mode is slow, and it hardly ever differs */
    b.ne    3f
2:  add     sp, sp, #176
    .cfi_remember_state
    .cfi_adjust_cfa_offset -176
    .cfi_restore x29
    .cfi_restore x30
    ret
    .cfi_restore_state
3:  msr     fpcr, x11
    b       2b
    .cfi_endproc
    .size   verge__context_swap, . - verge__context_swap

/* The outermost frame of a flow: no caller, so that unwinding ends here. */
    .globl  verge__context_start
    .hidden verge__context_start
    .type   verge__context_start, %function
    .p2align 4
verge__context_start:
    .cfi_startproc
    .cfi_undefined x30
    mov     x29, #0
    mov     x30, #0
    mov     x0, x20
    blr     x19
    brk     #1
    .cfi_endproc
    .size   verge__context_start, . - verge__context_start

    .section .note.GNU-stack, "", %progbits
