/* SPDX-License-Identifier: MIT */
/* scope/address.h - the address at which scope listens: parses it, opens a socket that listens there, and checks the
 * token in the path of a request. */
#ifndef VERGE_SRC_SCOPE_ADDRESS_H
#define VERGE_SRC_SCOPE_ADDRESS_H

#include <stdbool.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "scope/request.h"

enum {
    VERGE__TOKEN_SIZE = 32, /* hexadecimal digits of a random token */
    VERGE__TOKEN_SIZE_MIN = 16,
    VERGE__TOKEN_SIZE_MAX = 64,
    VERGE__ADDRESS_SIZE = 192,
};

typedef struct verge__address {
    union {
        struct sockaddr any;
        struct sockaddr_un local;
        struct sockaddr_storage storage;
    } socket;
    socklen_t size;
    bool is_local; /* a Unix socket */
} verge__address;

typedef struct verge__listener {
    int fd;
    verge__address address;
    char token[VERGE__TOKEN_SIZE_MAX + 1]; /* empty: a Unix socket needs none */
    char text[VERGE__ADDRESS_SIZE];        /* the address, for people */
    char note[128]; /* path of the file in which `verge scope` finds the address; empty: there is none */
} verge__listener;

/* Parses an address. If text is NULL, the result is the default address. -EINVAL: text is no address. -ENAMETOOLONG:
 * the path does not fit into a socket's address. */
int verge__address_parse(const char *text, verge__address *ret_address);

bool verge__token_is_valid(const char *token);

/* Opens a socket that listens. A Unix socket ignores `token`. For a TCP port, `token` must be valid or NULL; if it is
 * NULL, a random token is made. Returns errors of system calls, and -EAGAIN if there are no random numbers. */
int verge__listener_open(const verge__address *address, const char *token, verge__listener *ret_listener);
void verge__listener_close(verge__listener *listener);

/* Removes the token from the front of a path: "/TOKEN/events" becomes "/events". Returns false if the token is wrong or
 * missing. Tokens are compared in constant time. If the listener has no token, the path stays as it is. */
bool verge__listener_strip_token(const verge__listener *listener, verge__part *path);

#endif
