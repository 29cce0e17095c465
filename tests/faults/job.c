/* SPDX-License-Identifier: MIT */
#include "faults/job.h"

#include <stddef.h>

atomic_int job_failures;

void job_fail(const char *file, int line, const char *text, long result) {
    (void)atomic_fetch_add(&job_failures, 1);
    (void)fprintf(stderr, "%s:%d: %s: %ld\n", file, line, text, result);
}

bool job_is_done(long result, const int *errors, const char *file, int line, const char *text) {
    if (result >= 0) {
        return true;
    }
    bool is_allowed = false;
    for (const int *error = errors; *error != 0; error++) {
        is_allowed = is_allowed || *error == -result;
    }
    if (!is_allowed || !fault_was_injected()) {
        job_fail(file, line, text, result);
    }
    return false;
}

verge_clock job_clock(const struct fault_plan *plan) {
    return (verge_clock){.now_ns = plan->site == SITE_CLOCK ? faulty_clock_now : NULL};
}

bool job_has_failed_reactor(long result) {
    const int errors[] = {JOB_FAILED_REACTOR};
    for (size_t i = 0; i < sizeof(errors) / sizeof(errors[0]); i++) {
        if (result == -errors[i]) {
            return true;
        }
    }
    return false;
}

bool job_may_lose_results(const struct fault_plan *plan) {
    return plan->site == SITE_URING_ENTER && plan->kind != NULL && plan->goes_on &&
           job_has_failed_reactor(-plan->kind->error);
}

intptr_t job_run(const struct fault_plan *plan, verge_runtime_options *options, verge_task_function first) {
    verge_runtime *runtime = NULL;
    intptr_t result = 0;
    options->clock = job_clock(plan);
    faults_begin(plan);
    if (JOB_DONE_OR(verge_runtime_create(options, &runtime), ENOMEM)) {
        const int error = verge_runtime_run(runtime, first, NULL, &result);
        (void)JOB_DONE_OR(error, ENOMEM, EMFILE, ENOSPC, JOB_FAILED_REACTOR);
        JOB_CHECK(verge_runtime_destroy(runtime) == 0);
    }
    faults_end();
    return result;
}
