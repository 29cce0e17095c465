/* SPDX-License-Identifier: MIT */
/*
 * durable/failpoint.h - points in the code where a test kills the process.
 *
 * In a build with VERGE_STEPS, the environment variable VERGE_DURABLE_FAILPOINT=name:n ends the process by SIGKILL when
 * the process comes to that point for the n-th time. In other builds, a failpoint compiles to nothing.
 */
#ifndef VERGE_SRC_DURABLE_FAILPOINT_H
#define VERGE_SRC_DURABLE_FAILPOINT_H

#if defined(VERGE_STEPS) && VERGE_STEPS
void verge__failpoint(const char *name);
#else
#define verge__failpoint(name) ((void)sizeof(name))
#endif

#endif
