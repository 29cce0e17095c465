/* SPDX-License-Identifier: MIT */
/* The two ways to look on: for a person, until a key ends it; for a program, once. */
#ifndef VERGE_TOOL_LOOK_ON_H
#define VERGE_TOOL_LOOK_ON_H

#include "scope/client.h"

/* 0, or a negative errno. When the connection is lost later, it is tried again. */
int look_on_terminal(const struct client_address *address);

/* Prints one snapshot. */
int look_on_print(const struct client_address *address);

#endif
