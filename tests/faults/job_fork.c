/* SPDX-License-Identifier: MIT */
/*
 * A service and a runtime are created, and the process forks. Whatever fails: each is created, or there is an error and
 * the next attempt succeeds when the fault is over. Calls in the child are refused at once.
 */
#define _GNU_SOURCE

#include <sys/wait.h>
#include <unistd.h>

#include "faults/job.h"
#include "verge/service.h"
#include "verge/task.h"

static void on_timer(const verge_firing *firing) {
    (void)firing;
}

static bool is_refused_in_child(verge_service *service, verge_runtime *runtime) {
    int status = 0;
    const pid_t child = fork();
    if (child == 0) {
        const bool is_refused = verge_service_start_after(service, MS, on_timer, NULL, NULL) == -ECHILD &&
                                verge_runtime_destroy(runtime) == -ECHILD;
        _exit(is_refused ? 0 : 1);
    }
    return child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

void job_fork(const struct fault_plan *plan) {
    verge_service_options options;
    verge_runtime_options runtime_options;
    verge_service *service = NULL;
    verge_runtime *runtime = NULL;
    (void)verge_service_options_init(&options, sizeof(options));
    options.thread_count = 0;
    (void)verge_runtime_options_init(&runtime_options, sizeof(runtime_options));
    runtime_options.worker_count = 1;
    faults_begin(plan);
    (void)JOB_DONE_OR(verge_service_create(&options, &service), ENOMEM, EAGAIN);
    (void)JOB_DONE_OR(verge_runtime_create(&runtime_options, &runtime), ENOMEM, EMFILE, EAGAIN, EPERM, EINVAL, ENOSPC);
    faults_end();
    JOB_CHECK(service != NULL || verge_service_create(&options, &service) == 0);
    JOB_CHECK(runtime != NULL || verge_runtime_create(&runtime_options, &runtime) == 0);
    JOB_CHECK(is_refused_in_child(service, runtime));
    JOB_CHECK(verge_runtime_destroy(runtime) == 0);
    JOB_CHECK(verge_service_destroy(service, NULL, NULL) == 0);
}
