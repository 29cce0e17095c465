/* SPDX-License-Identifier: MIT */
/* A client of a scope (verge/scope.h): connects, sends a request, and parses the answer. */
#ifndef VERGE_TOOL_CLIENT_H
#define VERGE_TOOL_CLIENT_H

#include <stdbool.h>
#include <stddef.h>

struct client {
    int fd;      /* -1: not connected */
    char *bytes; /* what was received and not used yet */
    size_t size, room;
    char *event;   /* the last event that client_event returned */
    bool has_head; /* the head of the answer was read */
};

/* Where a scope is. client_parse takes what verge_scope_address returns: "unix:PATH" or "http://NUMBER:PORT/TOKEN/".
 * It does not take "tcp:PORT", which has no token: list_find finds the token (list.h). */
struct client_address {
    char host[256]; /* a path, a number or a name */
    char port[8];   /* empty: a Unix socket */
    char path[128]; /* begins and ends with a slash */
};

bool client_parse(const char *text, struct client_address *ret_address);

/* Returns a socket that is connected to the scope, or a negative errno. Its reads and writes time out after 20 s. */
int client_connect(const struct client_address *address);

/* Connects and requests path + what. Returns 0 or a negative errno. */
int client_open(struct client *client, const struct client_address *address, const char *what);
void client_close(struct client *client);

/* Waits for some of the answer, and receives it. Returns 1 if there may be more, 0 at the end of the answer, or a
 * negative errno. -EPROTO: the status of the answer is not 200. */
int client_receive(struct client *client);

/* Returns the data of the next event, valid until the next call, or NULL if no event is complete. Skips named
 * events. */
const char *client_event(struct client *client, size_t *ret_size);

#endif
