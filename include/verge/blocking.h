/* SPDX-License-Identifier: MIT */
/*
 * verge/blocking.h - lets tasks (verge/task.h) call functions that block. The function runs on a thread of the runtime,
 * and the worker runs other tasks meanwhile.
 *
 * A thread is started when a call finds none free, up to blocking_thread_max in the options of the runtime. A thread
 * that had nothing to do for blocking_idle_ns ends. If all threads are busy, calls wait for one, in their order.
 *
 * A function that has begun cannot be stopped. At the deadline, at that of a scope (verge_deadline_push), or when the
 * task is cancelled, there are two cases. They differ in who owns the argument:
 *
 *   abandon is NULL   The argument stays the caller's, and may be in its frame. If the function has not begun, it will
 *                     never be called, and the call returns -ETIMEDOUT or -ECANCELED. If it has begun, the call waits
 *                     for its end, however late, and returns 0.
 *   abandon is set    The call returns -ETIMEDOUT or -ECANCELED at once, although the function may be running. The
 *                     argument is then no longer the caller's: abandon(argument) is called exactly once, on any thread,
 *                     when the function has ended or if it never began. It has to release the argument.
 *
 * After every other result the argument is the caller's:
 *   0             the function was called, and *ret_result is what it returned
 *   -EOWNERDEAD   the function was called, and has ended its thread (pthread_exit)
 *   -EAGAIN       not called: the runtime has no thread for it, and none can be started
 *   -ENOMEM       not called: memory ran out
 *   -EINVAL       not called: there is no function; or the deadline is refused (check_deadlines in verge/task.h)
 *   -EPERM        not called: the caller is no task
 *
 * The function runs on the stack of a thread (8 MiB, usually), outside of tasks, with all signals but faults blocked.
 * verge_runtime_run does not wait for functions that were abandoned; verge_runtime_destroy does.
 *
 * In virtual time (T7 in verge/task.h) the whole runtime stands still until the function has returned: no time passes,
 * no other task runs, and nothing that has begun is abandoned. So the same program does the same every time.
 */
#ifndef VERGE_BLOCKING_H
#define VERGE_BLOCKING_H

#include "verge/task.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The function to call. verge_blocking stores its result in *ret_result. */
typedef intptr_t (*verge_blocking_function)(void *argument);

/* ret_result may be NULL. */
VERGE_API VERGE_MUST_USE int verge_blocking(verge_blocking_function function, void *argument,
                                            void (*abandon)(void *argument), intptr_t *ret_result,
                                            uint64_t deadline_ns);

struct addrinfo;

/*
 * Calls getaddrinfo(3) by verge_blocking with an abandon function: after -ETIMEDOUT and -ECANCELED the thread still
 * waits for the name server, and drops the answer. node, service and hints are copied. Free *ret_addresses by
 * freeaddrinfo(3).
 *
 *   -ENOENT    there is no such name, or it has no address of that family (EAI_NONAME, EAI_NODATA, EAI_ADDRFAMILY); or
 *              there is no such service (EAI_SERVICE)
 *   -EAGAIN    the name server does not answer now (EAI_AGAIN), or no thread can be started
 *   -EIO       the name server has failed (EAI_FAIL)
 *   -EINVAL    wrong flags (EAI_BADFLAGS); neither node nor service
 *   -EAFNOSUPPORT, -ESOCKTNOSUPPORT, -ENOMEM, -EOVERFLOW: EAI_FAMILY, EAI_SOCKTYPE, EAI_MEMORY, EAI_OVERFLOW
 *   other errors: errno of EAI_SYSTEM
 */
VERGE_API VERGE_MUST_USE int verge_getaddrinfo(const char *node, const char *service, const struct addrinfo *hints,
                                               struct addrinfo **ret_addresses, uint64_t deadline_ns);

#ifdef __cplusplus
}
#endif

#endif
