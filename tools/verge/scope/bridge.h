/* SPDX-License-Identifier: MIT */
/* A bridge from a browser to a scope on a Unix socket, which a browser cannot open. The bridge listens on a port of
 * 127.0.0.1, and has a secret of its own in the path of its URL. */
#ifndef VERGE_TOOL_BRIDGE_H
#define VERGE_TOOL_BRIDGE_H

#include <stdint.h>

#include "scope/client.h"

/* Prints the bridge's address, and serves until the program is interrupted. port 0: any free port. Returns a negative
 * errno. */
int bridge_serve(const struct client_address *to, uint16_t port);

#endif
