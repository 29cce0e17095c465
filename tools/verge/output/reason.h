/* SPDX-License-Identifier: MIT */
/* Why a command could not do its work, and what its user can do about it. */
#ifndef VERGE_TOOL_REASON_H
#define VERGE_TOOL_REASON_H

/* Returns a sentence about an error of threads, runtimes or descriptors. */
const char *reason_of(int error);

/* Returns a sentence about an error of verge_runtime_create or _run, which may also be about VERGE_BACKEND. Only for
 * one thread at a time; the text is valid until the next call. */
const char *reason_of_runtime(int error);

#endif
