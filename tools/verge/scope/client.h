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
    char *event;   /* the last one that was asked for */
    bool has_head; /* the head of the answer is behind us */
};

/* Where a scope is: "unix:PATH", what it says to a browser, "http://NUMBER:PORT/TOKEN/", or "tcp:PORT" and the like, as
 * the program was told: then the token is in the list of scopes (list.h). */
struct client_address {
    char host[256]; /* a path, a number or a name */
    char port[8];   /* empty: a Unix socket */
    char path[128]; /* begins and ends with a slash */
};

bool client_parse(const char *text, struct client_address *ret_address);

/* A socket that is connected to the scope, or a negative errno. Reads give up after a while. */
int client_connect(const struct client_address *address);

/* Connects and requests path + what. Returns 0 or a negative errno. */
int client_open(struct client *client, const struct client_address *address, const char *what);
void client_close(struct client *client);

/* Receives some of the answer, waiting for it. 1: there was something; 0: the end; a negative errno, -EPROTO for an
 * answer that is not 200. */
int client_receive(struct client *client);

/* The data of the next event, if it is complete; valid until the next call. NULL: there is none. Named events are
 * skipped. */
const char *client_event(struct client *client, size_t *ret_size);

#endif
