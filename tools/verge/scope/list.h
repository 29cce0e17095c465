/* SPDX-License-Identifier: MIT */
/*
 * The scopes of this user on this machine. Each is in $XDG_RUNTIME_DIR, or in /tmp: as a Unix socket verge-PID.scope,
 * or as a file verge-PID-N.scope that contains the scope's address.
 */
#ifndef VERGE_TOOL_LIST_H
#define VERGE_TOOL_LIST_H

#include <stdbool.h>
#include <stddef.h>

enum { LIST_MAX = 64 };

struct listed {
    char address[256]; /* for client_parse */
    long pid;
    char name[96]; /* name of the program; "": it does not answer */
    double pending;
};

/* Finds the scopes that answer. Returns how many there are. */
size_t list_scopes(struct listed *scopes, size_t room);

/* Finds the scope that `what` names: by its address, as "tcp:PORT", by process id or by name. *ret_count is how many
 * scopes it names. Returns false unless it names exactly one. */
bool list_find(const char *what, struct listed *ret_scope, size_t *ret_count);

/* Prints the list. Returns the exit status. */
int list_print(void);

#endif
