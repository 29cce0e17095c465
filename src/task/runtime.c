/* SPDX-License-Identifier: MIT */
/* The runtime: options, create, destroy. run.c runs it. */
#define _GNU_SOURCE

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/bits.h"
#include "base/checks.h"
#include "base/explain.h"
#include "base/sized.h"
#include "reactor/reactor.h"
#include "service/observe.h"
#include "task/current.h"
#include "task/pool.h"
#include "task/queue.h"
#include "task/runner.h"

/* ---- options ---- */

enum { PRECISION_EXPONENT_MAX = 40 }; /* as in service.c: the precision goes to the service */

int verge_runtime_options_init(verge_runtime_options *options, size_t struct_size) {
    const verge_runtime_options defaults = {
        .io_grace_ns = UINT64_C(20000000),
        .precision_ns = UINT64_C(1) << 20,
        .stack_size = VERGE_STACK_SIZE_DEFAULT,
        .dump_fd = STDERR_FILENO,
        .blocking_thread_max = 64,
        .blocking_idle_ns = UINT64_C(10000000000),
    };
    return verge__sized_init(options, struct_size, &defaults, sizeof(defaults));
}

static int explain_observed(const verge_runtime_options *options, verge__explanation why) {
    if (options->dump_signal < 0 || options->dump_signal > SIGRTMAX || options->dump_signal == SIGKILL ||
        options->dump_signal == SIGSTOP) {
        return verge__explain(why, "dump_signal is %d: no signal that a program can handle", options->dump_signal);
    }
    if (options->stuck_after_ns != 0 && options->on_stuck == NULL) {
        return verge__explain(why, "stuck_after_ns is %" PRIu64 ", and on_stuck is NULL: nobody would hear of it",
                              options->stuck_after_ns);
    }
    return 0;
}

static int explain_backend(verge_backend backend, verge__explanation why) {
    if (backend > VERGE_BACKEND_EPOLL) {
        return verge__explain(why, "backend is %d: there are VERGE_BACKEND_AUTO, _IO_URING and _EPOLL, from 0 to %d",
                              (int)backend, (int)VERGE_BACKEND_EPOLL);
    }
    const char *unknown = backend == VERGE_BACKEND_AUTO ? verge__reactor_unknown_backend() : NULL;
    return unknown == NULL
               ? 0
               : verge__explain(why, "the environment has VERGE_BACKEND=%.32s: it may be io_uring or epoll, or not set",
                                unknown);
}

static int read_options(const verge_runtime_options *options, verge_runtime_options *ret_all, verge__explanation why) {
    (void)verge_runtime_options_init(ret_all, sizeof(*ret_all));
    int error = options == NULL
                    ? 0
                    : verge__explain_sized(why, "verge_runtime_options_init", options, ret_all, sizeof(*ret_all));
    if (error != 0) {
        return error;
    }
    if (ret_all->worker_count == 0) {
        const long processors = sysconf(_SC_NPROCESSORS_ONLN);
        ret_all->worker_count = processors > 0 ? (uint32_t)processors : 1;
        if (ret_all->worker_count > VERGE_RUNTIME_WORKERS_MAX) {
            ret_all->worker_count = VERGE_RUNTIME_WORKERS_MAX;
        }
    }
    if (ret_all->worker_count > VERGE_RUNTIME_WORKERS_MAX) {
        return verge__explain(why, "worker_count is %" PRIu32 ": it may be %d at most (VERGE_RUNTIME_WORKERS_MAX)",
                              ret_all->worker_count, VERGE_RUNTIME_WORKERS_MAX);
    }
    if (ret_all->stack_size < VERGE_STACK_SIZE_MIN || ret_all->stack_size > VERGE__STACK_SIZE_MAX) {
        return verge__explain(why, "stack_size is %zu: it has to be from %zu (VERGE_STACK_SIZE_MIN) to %zu",
                              ret_all->stack_size, VERGE_STACK_SIZE_MIN, VERGE__STACK_SIZE_MAX);
    }
    if (ret_all->blocking_thread_max == 0) {
        return verge__explain(why, "blocking_thread_max is 0: it has to be 1 at least");
    }
    error = explain_backend(ret_all->backend, why);
    if (error == 0) {
        error = explain_observed(ret_all, why);
    }
    return error != 0 ? error
                      : verge__explain_power_of_two(why, "precision_ns", ret_all->precision_ns, PRECISION_EXPONENT_MAX);
}

int verge_runtime_options_explain(const verge_runtime_options *options, char *text, size_t size) {
    const verge__explanation why = verge__explanation_to(text, size);
    verge_runtime_options all;
    return options != NULL ? read_options(options, &all, why)
                           : verge__explain(why, "there are no options: the pointer is NULL");
}

/* ---- create and destroy ---- */

int verge__add_runner(verge_runtime *runtime, bool is_closed) {
    const uint32_t index = atomic_load(&runtime->runner_count);
    if (index == VERGE_RUNTIME_WORKERS_MAX) {
        return -ENOSPC;
    }
    verge__runner *runner =
        runtime->allocator.allocate(runtime->allocator.context, sizeof(*runner), _Alignof(max_align_t));
    if (runner == NULL) {
        return -ENOMEM;
    }
    memset(runner, 0, sizeof(*runner));
    runner->runtime = runtime;
    runner->index = index;
    atomic_store(&runner->inbox, is_closed ? &verge__inbox_closed : NULL);
    verge__stack_cache_init(&runner->stacks, &runtime->stacks);
    atomic_store(&runtime->runners[index], runner);
    atomic_store(&runtime->runner_count, index + 1);
    return 0;
}

static int create_service(verge_runtime *runtime) {
    verge_service_options options;
    (void)verge_service_options_init(&options, sizeof(options));
    options.thread_count = 0;
    options.metronome = false;
    options.precision_ns = runtime->options.precision_ns;
    options.clock = runtime->clock;
    options.stuck_after_ns = 0;
    options.allocator = &runtime->allocator;
    return verge_service_create(&options, &runtime->service);
}

static void free_runtime(verge_runtime *runtime) {
    verge__blocking_deinit(&runtime->pool);
    const uint32_t count = atomic_load(&runtime->runner_count);
    for (uint32_t i = 0; i < count; i++) {
        runtime->allocator.release(runtime->allocator.context, runtime->runners[i], sizeof(verge__runner));
    }
    if (runtime->service != NULL) {
        const int error = verge_service_destroy(runtime->service, NULL, NULL);
        VERGE__INVARIANT(error == 0, "all workers have left");
        (void)error;
    }
    (void)pthread_cond_destroy(&runtime->changed);
    (void)pthread_mutex_destroy(&runtime->lock);
    const verge_allocator allocator = runtime->allocator;
    allocator.release(allocator.context, runtime, sizeof(*runtime));
}

static uint64_t last_refused(const verge_runtime *runtime) {
    if (!verge__checks_deadlines(runtime->clock, runtime->options.check_deadlines)) {
        return 0;
    }
    const uint64_t now_ns = verge__clock_now(&runtime->clock);
    return now_ns > 0 ? now_ns - 1 : 0;
}

static int fill_runtime(verge_runtime *runtime) {
    int error = verge__forget_runner_in_child();
    runtime->forks = verge__forks();
    error = error == 0 ? create_service(runtime) : error;
    for (uint32_t i = 0; error == 0 && i < runtime->options.worker_count; i++) {
        error = verge__add_runner(runtime, false);
    }
    if (error == 0) {
        error = verge__stack_store_init(&runtime->stacks, runtime->options.stack_size, sizeof(verge_task),
                                        &runtime->allocator);
    }
    return error;
}

int verge_runtime_create(const verge_runtime_options *options, verge_runtime **ret_runtime) {
    verge_runtime_options all;
    int error = read_options(options, &all, (verge__explanation){NULL, 0});
    if (error != 0 || ret_runtime == NULL) {
        return -EINVAL;
    }
    const verge_allocator *allocator = all.allocator != NULL ? all.allocator : verge_allocator_default();
    verge_runtime *runtime = allocator->allocate(allocator->context, sizeof(*runtime), _Alignof(max_align_t));
    if (runtime == NULL) {
        return -ENOMEM;
    }
    memset(runtime, 0, sizeof(*runtime));
    runtime->options = all;
    runtime->allocator = *allocator;
    runtime->clock = all.virtual_clock != NULL  ? verge_clock_manual(all.virtual_clock)
                     : all.clock.now_ns != NULL ? all.clock
                                                : verge_clock_monotonic();
    (void)pthread_mutex_init(&runtime->lock, NULL);
    (void)pthread_cond_init(&runtime->changed, NULL);
    verge__blocking_init(&runtime->pool);
    error = fill_runtime(runtime);
    if (error != 0) {
        free_runtime(runtime);
        return error;
    }
    runtime->refused_ns = last_refused(runtime);
    verge__stack_cache_init(&runtime->outside_stacks, &runtime->stacks);
    *ret_runtime = runtime;
    return 0;
}

int verge_runtime_destroy(verge_runtime *runtime) {
    if (runtime == NULL) {
        return 0;
    }
    if (verge__runtime_is_forked(runtime)) {
        return -ECHILD;
    }
    (void)pthread_mutex_lock(&runtime->lock);
    const bool is_idle = runtime->stage == VERGE__RUNTIME_IDLE;
    (void)pthread_mutex_unlock(&runtime->lock);
    if (!is_idle || verge__service_is_shown(runtime->service)) {
        return -EBUSY;
    }
    while (verge__task_count(runtime) != 0) {
        verge_runtime_stop(runtime);
        const int error = verge_runtime_run(runtime, NULL, NULL, NULL);
        if (error != 0 && error != -EOWNERDEAD) { /* after -EOWNERDEAD, too, all tasks have ended */
            return error;
        }
    }
    verge__stack_cache_flush(&runtime->outside_stacks);
    verge__stack_store_deinit(&runtime->stacks);
    free_runtime(runtime);
    return 0;
}
