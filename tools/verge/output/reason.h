/* SPDX-License-Identifier: MIT */
/* Why a command could not do its work, and what its user can do about it. */
#ifndef VERGE_TOOL_REASON_H
#define VERGE_TOOL_REASON_H

/* A sentence for an error of threads, runtimes and descriptors, for one thread at a time. */
const char *reason_of(int error);

/* The same for an error of verge_runtime_create or _run, which may also be about VERGE_BACKEND. */
const char *reason_of_runtime(int error);

#endif
