/* SPDX-License-Identifier: MIT */
/* Shows a scope: in a terminal until the user quits, or as one snapshot for a program. */
#ifndef VERGE_TOOL_LOOK_ON_H
#define VERGE_TOOL_LOOK_ON_H

#include "scope/client.h"

/* Shows a scope in the terminal until the user quits. Returns 0, or a negative errno if the first connection fails or
 * stdin is no terminal. If the connection is lost later, connects again. */
int look_on_terminal(const struct client_address *address);

/* Prints one snapshot. */
int look_on_print(const struct client_address *address);

#endif
