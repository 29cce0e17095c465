/* SPDX-License-Identifier: MIT */
/* faults/job.h - what the jobs share. A job is run in a process of its own, once for each fault that is planned. */
#ifndef VERGE_TESTS_FAULTS_JOB_H
#define VERGE_TESTS_FAULTS_JOB_H

#include <errno.h>
#include <stdio.h>

#include "faults/sites.h"
#include "verge/base.h"
#include "verge/task.h"

#define US UINT64_C(1000)
#define MS (1000 * US)
#define SECOND (1000 * MS)
#define HOUR (3600 * SECOND)

/* Each job prepares, begins the faults of the plan, does its work, ends the faults, and then checks the outcome. */
void job_wheel(const struct fault_plan *plan);
void job_service(const struct fault_plan *plan);
void job_collect(const struct fault_plan *plan);
void job_flood(const struct fault_plan *plan);
void job_runtime(const struct fault_plan *plan);
void job_fork(const struct fault_plan *plan);
void job_scope(const struct fault_plan *plan);
void job_blocking(const struct fault_plan *plan);

extern atomic_int job_failures;

#define JOB_CHECK(condition) \
    do { \
        if (!(condition)) { \
            job_fail(__FILE__, __LINE__, #condition, 0); \
        } \
    } while (0)

/* Checks that a result is not negative, or that it is one of these errors and something was made to fail. */
#define JOB_DONE_OR(result, ...) job_is_done((long)(result), (const int[]){__VA_ARGS__, 0}, __FILE__, __LINE__, #result)

/* The errors of calls when the worker cannot wait for the kernel any more. */
#define JOB_FAILED_REACTOR EPERM, ENOSYS, EINVAL

/* Whether a result is one of JOB_FAILED_REACTOR. */
bool job_has_failed_reactor(long result);

/* N5: if io_uring_enter is forbidden, results of operations that are under way are lost: bytes that io_uring has
 * collected for MSG_WAITALL, and a descriptor that a thread of the kernel has just opened. */
bool job_may_lose_results(const struct fault_plan *plan);

void job_fail(const char *file, int line, const char *text, long result);
bool job_is_done(long result, const int *errors, const char *file, int line, const char *text);

/* Returns the faulty clock if the plan is about the clock. Otherwise now_ns is NULL, which means the real clock. */
verge_clock job_clock(const struct fault_plan *plan);

/* Begins the faults, creates a runtime with these options and the plan's clock, runs the task in it, and ends the
 * faults. Returns the task's result, or 0 if the task has not run. */
intptr_t job_run(const struct fault_plan *plan, verge_runtime_options *options, verge_task_function first);

#endif
