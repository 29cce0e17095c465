/* SPDX-License-Identifier: MIT */
/*
 * An echo server and its clients, as tasks of one runtime, over TCP on the loopback. The server closes a connection if
 * no message comes in time. Some clients stall on purpose: these must be timed out, and no others.
 */
#ifndef VERGE_TOOL_ECHO_H
#define VERGE_TOOL_ECHO_H

#include <stdint.h>

#include <verge/task.h>

#include "output/audit.h"

struct echo;

/* Starts it on threads of its own. Returns 0 or a negative errno. */
int echo_begin(uint32_t worker_count, uint64_t seed, struct echo **ret_echo);

/* The runtime of server and clients. */
verge_runtime *echo_runtime(const struct echo *echo);

/* Messages that have come back so far. From any thread. */
uint64_t echo_count(struct echo *echo);

/* Ends the clients; those that stall end when the server times them out. Then adds the checks to the audit.
 * *ret_why_not says why it could not run; NULL: it could. Returns echo_count. */
uint64_t echo_end(struct echo *echo, struct audit *audit, const char **ret_why_not);

#endif
