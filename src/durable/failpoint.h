/* SPDX-License-Identifier: MIT */
/*
 * durable/failpoint.h - places where a test kills the process, as a machine that loses its power would.
 *
 * In a build with VERGE_STEPS, VERGE_DURABLE_FAILPOINT=name:n in the environment ends the process by SIGKILL when it
 * comes to that place for the n-th time. In other builds nothing is left of it.
 */
#ifndef VERGE_SRC_DURABLE_FAILPOINT_H
#define VERGE_SRC_DURABLE_FAILPOINT_H

#if defined(VERGE_STEPS) && VERGE_STEPS
void verge__failpoint(const char *name);
#else
#define verge__failpoint(name) ((void)sizeof(name))
#endif

#endif
