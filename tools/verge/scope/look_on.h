/* SPDX-License-Identifier: MIT */
/* Shows a scope: to a person, until a key ends it; to a program, once. */
#ifndef VERGE_TOOL_LOOK_ON_H
#define VERGE_TOOL_LOOK_ON_H

#include "scope/client.h"

/* 0, or a negative errno. When the connection is lost later, it is tried again. */
int look_on_terminal(const struct client_address *address);

/* Prints one snapshot. */
int look_on_print(const struct client_address *address);

#endif
