/* SPDX-License-Identifier: MIT */
/*
 * System calls are caught where they are made: a seccomp filter turns those of the table `calls` into a signal. The
 * handler counts the call, and makes it or lets it fail. To make it, the handler uses an instruction of its own, which
 * the filter lets pass (faults_system_call). While the C library begins or ends a thread, it blocks all signals. So
 * the system calls that the C library makes then cannot be caught.
 */
#define _GNU_SOURCE

#include <errno.h>
#include <linux/filter.h>
#include <linux/io_uring.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <ucontext.h>
#include <unistd.h>

#include "faults/sites.h"

long faults_system_call(long number, long a, long b, long c, long d, long e, long f);
extern const char faults_system_call_made[]; /* where the kernel returns to */

#if defined(__aarch64__)
__asm__(".text\n"
        ".balign 16\n"
        ".globl faults_system_call\n"
        ".type faults_system_call, %function\n"
        "faults_system_call:\n"
        "    mov x8, x0\n"
        "    mov x0, x1\n"
        "    mov x1, x2\n"
        "    mov x2, x3\n"
        "    mov x3, x4\n"
        "    mov x4, x5\n"
        "    mov x5, x6\n"
        "    svc #0\n"
        ".globl faults_system_call_made\n"
        "faults_system_call_made:\n"
        "    ret\n");

static void registers_of(ucontext_t *context, long arguments[6]) {
    for (int i = 0; i < 6; i++) {
        arguments[i] = (long)context->uc_mcontext.regs[i];
    }
}

static void set_result(ucontext_t *context, long result) {
    context->uc_mcontext.regs[0] = (unsigned long long)result;
}
#elif defined(__x86_64__)
__asm__(".text\n"
        ".balign 16\n"
        ".globl faults_system_call\n"
        ".type faults_system_call, @function\n"
        "faults_system_call:\n"
        "    mov %rdi, %rax\n"
        "    mov %rsi, %rdi\n"
        "    mov %rdx, %rsi\n"
        "    mov %rcx, %rdx\n"
        "    mov %r8, %r10\n"
        "    mov %r9, %r8\n"
        "    mov 8(%rsp), %r9\n"
        "    syscall\n"
        ".globl faults_system_call_made\n"
        "faults_system_call_made:\n"
        "    ret\n");

static void registers_of(ucontext_t *context, long arguments[6]) {
    static const int places[] = {REG_RDI, REG_RSI, REG_RDX, REG_R10, REG_R8, REG_R9};
    for (int i = 0; i < 6; i++) {
        arguments[i] = (long)context->uc_mcontext.gregs[places[i]];
    }
}

static void set_result(ucontext_t *context, long result) {
    context->uc_mcontext.gregs[REG_RAX] = result;
}
#endif

static const struct {
    unsigned number;
    enum site site;
} calls[] = {
    {SYS_eventfd2, SITE_EVENTFD},
    {SYS_epoll_create1, SITE_EPOLL_CREATE},
    {SYS_epoll_ctl, SITE_EPOLL_CTL},
    {SYS_epoll_pwait2, SITE_EPOLL_PWAIT2},
    {SYS_io_uring_setup, SITE_URING_SETUP},
    {SYS_io_uring_enter, SITE_URING_ENTER},
    {SYS_read, SITE_READ},
    {SYS_write, SITE_WRITE},
    {SYS_preadv2, SITE_PREADV2},
    {SYS_pwritev2, SITE_PWRITEV2},
    {SYS_recvfrom, SITE_RECVFROM},
    {SYS_sendto, SITE_SENDTO},
    {SYS_accept4, SITE_ACCEPT},
    {SYS_connect, SITE_CONNECT},
#if defined(SYS_poll)
    {SYS_poll, SITE_POLL},
#endif
    {SYS_ppoll, SITE_POLL},
    {SYS_openat, SITE_OPENAT},
    {SYS_fsync, SITE_FSYNC},
    {SYS_close, SITE_CLOSE},
};

enum { CALL_COUNT = sizeof(calls) / sizeof(calls[0]) };

static long make(long number, const long a[6]) {
    return faults_system_call(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}

/* Submits half of the entries, as the kernel does if it runs out of memory in the middle of a submission. */
static long submit_half(const long a[6]) {
    if (a[1] < 2) {
        return -EAGAIN;
    }
    return faults_system_call(SYS_io_uring_enter, a[0], a[1] / 2, 0, a[3] & ~(long)IORING_ENTER_GETEVENTS, a[4], a[5]);
}

static enum site site_of(long number, const long a[6]) {
    enum site site = SITE_COUNT;
    for (size_t i = 0; i < CALL_COUNT; i++) {
        site = (long)calls[i].number == number ? calls[i].site : site;
    }
    const bool is_nowait = (site == SITE_PREADV2 || site == SITE_PWRITEV2) && (a[5] & RWF_NOWAIT) != 0;
    return !is_nowait ? site : site == SITE_PREADV2 ? SITE_PREADV2_NOWAIT : SITE_PWRITEV2_NOWAIT;
}

static long call(long number, const long a[6]) {
    const enum site site = site_of(number, a);
    const struct fault_kind *kind = fault_at(site);
    if (kind == NULL) {
        return make(number, a);
    }
    if (kind->error == FAULT_SHORT) {
        return submit_half(a);
    }
    if (kind->after) {
        (void)make(number, a);
    }
    return -kind->error;
}

static void on_call(int signal_number, siginfo_t *info, void *context) {
    (void)signal_number;
    long arguments[6];
    registers_of(context, arguments);
    set_result(context, call(info->si_syscall, arguments));
}

bool trap_install(void) {
    enum { HEAD = 5, LENGTH = HEAD + CALL_COUNT + 2 };
    const uint64_t passes = (uint64_t)(uintptr_t)faults_system_call_made;
    const uint32_t ip = offsetof(struct seccomp_data, instruction_pointer);
    struct sock_filter filter[LENGTH] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, ip),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)passes, 0, 2),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, ip + 4),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)(passes >> 32), CALL_COUNT + 1, 0),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
    };
    for (size_t i = 0; i < CALL_COUNT; i++) {
        filter[HEAD + i] =
            (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, calls[i].number, (uint8_t)(CALL_COUNT - i), 0);
    }
    filter[HEAD + CALL_COUNT] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    filter[HEAD + CALL_COUNT + 1] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRAP);
    const struct sock_fprog program = {.len = LENGTH, .filter = filter};
    struct sigaction action = {.sa_flags = SA_SIGINFO};
    action.sa_sigaction = on_call;
    return sigaction(SIGSYS, &action, NULL) == 0 && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
           prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}
