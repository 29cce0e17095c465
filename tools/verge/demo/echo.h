/* SPDX-License-Identifier: MIT */
/*
 * An echo server and its clients, as tasks of one runtime, over TCP on the loopback. The server waits for a message of
 * a connection for so long and no longer. Some clients stall, and must be timed out: all of them, and nobody else.
 */
#ifndef VERGE_TOOL_ECHO_H
#define VERGE_TOOL_ECHO_H

#include <stdint.h>

#include <verge/task.h>

#include "output/audit.h"

struct echo;

/* Begins, in threads of its own. A negative errno. */
int echo_begin(uint32_t worker_count, uint64_t seed, struct echo **ret_echo);

/* The tasks of server and clients. */
verge_runtime *echo_runtime(const struct echo *echo);

/* Messages that have come back so far. From any thread. */
uint64_t echo_count(struct echo *echo);

/* The clients end; those that stall, when the server has lost its patience. Then tells what has to hold, and why it
 * could not run; NULL: it could. Returns echo_count. */
uint64_t echo_end(struct echo *echo, struct audit *audit, const char **ret_why_not);

#endif
