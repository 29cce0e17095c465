/* SPDX-License-Identifier: MIT */
/*
 * verge/process.h - child processes and signals, for tasks (verge/task.h). The calls for child processes need
 * pidfd_open(2): Linux 5.3 or newer.
 *
 * Waiting calls return -EPERM outside of tasks, -ETIMEDOUT at their deadline or at that of a scope
 * (verge_deadline_push), and -ECANCELED if the task is cancelled. In virtual time, processes and signals are like other
 * I/O: they happen in real time.
 *
 * If the calling program ignores SIGCHLD (SIG_IGN), or reaps any child by waitpid(-1), the calls cannot reap their
 * child, and return -ECHILD.
 */
#ifndef VERGE_PROCESS_H
#define VERGE_PROCESS_H

#include <sys/types.h>

#include "verge/task.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- child processes ---- */

/* Waits until a child of this process has ended, and reaps it. *ret_status gets the status of waitpid(2); ret_status
 * may be NULL. -ETIMEDOUT and -ECANCELED: the child has not been reaped. -ECHILD: pid is no child, or was reaped
 * already. -EINVAL: pid is not positive. */
VERGE_API VERGE_MUST_USE int verge_wait_process(pid_t pid, int *ret_status, uint64_t deadline_ns);

typedef struct verge_process_options {
    size_t struct_size; /* set by the caller; all defaults are zero (verge/base.h) */
    const char *const
        *arguments; /* ends with NULL. The first is the program; it is looked for in PATH if it has no slash */
    const char *const *environment; /* ends with NULL. NULL: that of the calling process */
    const char *directory;          /* where the program runs. NULL: where the calling process does */
    const void *input;              /* what the program can read from stdin */
    size_t input_size;              /* 0: nothing, stdin is /dev/null */
    void *output;                   /* gets what the program writes to stdout. NULL: the program has the stdout of the
                                     * calling process */
    size_t output_size;             /* output has room for so many bytes; the rest is read and dropped */
    void *errors;                   /* gets what the program writes to stderr, in the same way */
    size_t errors_size;
    uint64_t grace_ns; /* the time between SIGTERM and SIGKILL, in real time. 0: SIGKILL at once */
} verge_process_options;

typedef struct verge_process_result {
    size_t struct_size;      /* set by the caller */
    int status;              /* as of waitpid(2): WIFEXITED, WEXITSTATUS, WIFSIGNALED, WTERMSIG */
    size_t output_size;      /* bytes in output */
    size_t errors_size;      /* bytes in errors */
    uint64_t output_dropped; /* bytes of stdout that did not fit into output */
    uint64_t errors_dropped;
    bool has_begun; /* false: the deadline had passed, or the task was cancelled, before the program was started */
} verge_process_result;

/*
 * Runs a program to its end. 0: it has ended, and *ret_result says how; a program that fails is no error of this call.
 *
 * At the deadline, and when the task is cancelled, the program is killed. It gets SIGTERM, and SIGKILL if it has not
 * ended after grace_ns; without a grace, it gets SIGKILL at once. The program is the leader of a new process group, and
 * the signals go to all of the group, so that processes which the program has started end, too. A program that has left
 * the group gets the signals as well. When the program has been reaped, the call returns -ETIMEDOUT or -ECANCELED.
 * *ret_result is then set as well. The program is started on a thread (verge/blocking.h). If all threads are busy until
 * the deadline, the program is not started at all: see has_begun.
 *
 * The call ends with the program. Processes that the program leaves behind are not killed, and what they write after
 * its end is not read. The program begins with no signal blocked and with the default action of SIGPIPE. As it has a
 * process group of its own, keys like ctrl-C do not reach it. A program that does not read all of its input is no
 * error.
 *
 * -EINVAL: no arguments, or a size without memory. -ENOENT, -EACCES, -ENOEXEC, -ENOTDIR, -E2BIG and other errors of
 * execve(2) and chdir(2). -EMFILE, -ENFILE, -ENOMEM, -EAGAIN: the system has no descriptors, memory or processes left.
 * -ENOSYS: the kernel has no pidfd. After all of these, and after -ECHILD, *ret_result is untouched.
 */
VERGE_API VERGE_MUST_USE int verge_run_process(const verge_process_options *options, verge_process_result *ret_result,
                                               uint64_t deadline_ns);

/* ---- signals ---- */

/*
 * Returns a descriptor from which tasks can read these signals (verge_signals_wait), so that no signal handlers are
 * needed. It is a signalfd(2), and verge_poll works, too. Close it with close(2) or verge_close.
 *
 * The kernel gives a signal to any thread that has not blocked it. So this call blocks the signals in the calling
 * thread, and threads that are started later inherit that. Call it at the beginning of main, before verge_runtime_run
 * and before any other thread is started. The signals stay blocked when the descriptor is closed.
 *
 * -EBUSY: called in a task. By then other threads run, which have not blocked the signals. -EINVAL: no signals, or one
 * that cannot be waited for (SIGKILL, SIGSTOP, and faults like SIGSEGV). -EMFILE, -ENFILE, -ENOMEM.
 */
VERGE_API VERGE_MUST_USE int verge_signals_open(const int *numbers, size_t count);

typedef struct verge_signal {
    int number;
    int code;       /* si_code of sigaction(2) */
    pid_t sender;   /* the process that has sent the signal; SIGCHLD: the child */
    uid_t user;     /* of the sender */
    int status;     /* SIGCHLD: the exit status of the child, or the signal that has ended it */
    intptr_t value; /* of sigqueue(3) */
} verge_signal;

/* Waits for the next of these signals and takes it. If several tasks wait, each signal goes to one of them. A standard
 * signal that comes again before it was taken is taken once. -EINVAL: the descriptor is not of verge_signals_open. */
VERGE_API VERGE_MUST_USE int verge_signals_wait(int fd, verge_signal *ret_signal, uint64_t deadline_ns);

#ifdef __cplusplus
}
#endif

#endif
