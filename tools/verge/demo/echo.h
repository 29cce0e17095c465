/* SPDX-License-Identifier: MIT */
/*
 * An echo server and its clients, as tasks of one runtime, over TCP on the loopback. The server closes a connection if
 * no message comes in time. Some clients stall on purpose: these, and no others, must be timed out.
 */
#ifndef VERGE_TOOL_ECHO_H
#define VERGE_TOOL_ECHO_H

#include <stdint.h>

#include <verge/task.h>

#include "output/audit.h"

struct echo;

/* Starts server and clients on threads of their own. Returns 0 or a negative errno. */
int echo_begin(uint32_t worker_count, uint64_t seed, struct echo **ret_echo);

/* Returns the runtime of server and clients. */
verge_runtime *echo_runtime(const struct echo *echo);

/* Returns how many messages have come back so far. Any thread may call it. */
uint64_t echo_count(struct echo *echo);

/* Ends the clients; those that stall end when the server times them out. Then adds the checks to the audit. Sets
 * *ret_why_not to the reason why the server could not run, or to NULL. Frees echo, and returns its last echo_count. */
uint64_t echo_end(struct echo *echo, struct audit *audit, const char **ret_why_not);

#endif
