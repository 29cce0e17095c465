/* SPDX-License-Identifier: MIT */
/* Signals, read from a signalfd. */
#define _GNU_SOURCE

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <sys/signalfd.h>

#include "task/current.h"
#include "verge/io.h"
#include "verge/process.h"

/* SIGKILL and SIGSTOP cannot be blocked. If a fault happens while its signal is blocked, the kernel kills the
 * process. */
static bool can_be_waited_for(int number) {
    return number != SIGKILL && number != SIGSTOP && number != SIGSEGV && number != SIGBUS && number != SIGFPE &&
           number != SIGILL && number != SIGSYS && number != SIGTRAP;
}

static int fill(sigset_t *set, const int *numbers, size_t count) {
    (void)sigemptyset(set);
    for (size_t i = 0; i < count; i++) {
        if (!can_be_waited_for(numbers[i]) || sigaddset(set, numbers[i]) != 0) {
            return -EINVAL;
        }
    }
    return 0;
}

int verge_signals_open(const int *numbers, size_t count) {
    sigset_t set, before;
    if (numbers == NULL || count == 0 || fill(&set, numbers, count) != 0) {
        return -EINVAL;
    }
    if (verge__current_task() != NULL) {
        return -EBUSY;
    }
    const int error = pthread_sigmask(SIG_BLOCK, &set, &before);
    if (error != 0) {
        return -error;
    }
    const int fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    if (fd < 0) {
        const int reason = -errno;
        (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
        return reason;
    }
    return fd;
}

int verge_signals_wait(int fd, verge_signal *ret_signal, uint64_t deadline_ns) {
    struct signalfd_siginfo info;
    if (ret_signal == NULL) {
        return -EINVAL;
    }
    const ptrdiff_t size = verge_read(fd, &info, sizeof(info), deadline_ns);
    if (size != sizeof(info)) {
        return size < 0 ? (int)size : -EINVAL;
    }
    *ret_signal = (verge_signal){
        .number = (int)info.ssi_signo,
        .code = info.ssi_code,
        .sender = (pid_t)info.ssi_pid,
        .user = info.ssi_uid,
        .status = info.ssi_status,
        .value = (intptr_t)info.ssi_ptr,
    };
    return 0;
}
