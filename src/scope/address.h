/* SPDX-License-Identifier: MIT */
/* scope/address.h - where scope listens: an address as text, a socket that listens there, the secret in its path. */
#ifndef VERGE_SRC_SCOPE_ADDRESS_H
#define VERGE_SRC_SCOPE_ADDRESS_H

#include <stdbool.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "scope/request.h"

enum {
    VERGE__TOKEN_SIZE = 32, /* hexadecimal digits of a random one */
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
    char text[VERGE__ADDRESS_SIZE];        /* what to give to people */
    char note[128];                        /* the file that tells `verge scope` where it is; empty: there is none */
} verge__listener;

/* text NULL: the default. -EINVAL; -ENAMETOOLONG: a path that does not fit into a socket's address. */
int verge__address_parse(const char *text, verge__address *ret_address);

bool verge__token_is_valid(const char *token);

/* token NULL: a random one. Otherwise it is valid. Errors of the system. */
int verge__listener_open(const verge__address *address, const char *token, verge__listener *ret_listener);
void verge__listener_close(verge__listener *listener);

/* Removes the token from the front of a path: "/TOKEN/events" becomes "/events". False: the token is wrong or missing.
 * How long this takes does not depend on how much of the token is right. */
bool verge__listener_strip_token(const verge__listener *listener, verge__part *path);

#endif
