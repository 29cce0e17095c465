/* SPDX-License-Identifier: MIT */
/*
 * The scopes of this user on this machine. Each is in $XDG_RUNTIME_DIR, or in /tmp: as a Unix socket verge-PID.scope,
 * or as a file verge-PID-N.scope that has its address.
 */
#ifndef VERGE_TOOL_LIST_H
#define VERGE_TOOL_LIST_H

#include <stdbool.h>
#include <stddef.h>

enum { LIST_MAX = 64 };

struct listed {
    char address[256]; /* as client_parse takes it */
    long pid;
    char name[96]; /* of the program; "": it does not answer */
    double pending;
};

/* How many there are. */
size_t list_scopes(struct listed *scopes, size_t room);

/* The one that is meant by an address, "tcp:PORT", a process id or a name. false: there is none, or more than one. */
bool list_find(const char *what, struct listed *ret_scope, size_t *ret_count);

/* Prints them. The exit status. */
int list_print(void);

#endif
