/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE /* memmem, getaddrinfo */

#include "scope/client.h"

#include <errno.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

enum { RECEIVED_AT_ONCE = 1 << 16, ANSWER_SIZE_MAX = 16 << 20, PATIENCE_S = 20 };

static bool copy(char *to, size_t size, const char *text, size_t length) {
    if (length >= size) {
        return false;
    }
    memcpy(to, text, length);
    to[length] = '\0';
    return true;
}

/* Copies a path, and adds a slash if it does not end with one. */
static bool copy_path(struct client_address *address, const char *path, size_t size) {
    if (!copy(address->path, sizeof(address->path) - 1, path, size)) {
        return false;
    }
    if (path[size - 1] != '/') {
        address->path[size] = '/';
        address->path[size + 1] = '\0';
    }
    return true;
}

/* Parses the part of http://HOST:PORT/PATH/ after the two slashes. */
static bool parse_url(const char *text, struct client_address *address) {
    const char *path = strchr(text, '/');
    const size_t size = path == NULL ? strlen(text) : (size_t)(path - text);
    const char *colon = memrchr(text, ':', size);
    path = path == NULL ? "/" : path;
    if (colon == NULL || colon == text) {
        return false;
    }
    const char *host = text;
    size_t host_size = (size_t)(colon - text);
    if (host[0] == '[' && host[host_size - 1] == ']') {
        host++;
        host_size -= 2;
    }
    const char *port = colon + 1;
    const size_t port_size = size - (size_t)(port - text);
    const size_t path_size = strlen(path);
    return host_size > 0 && port_size > 0 && strspn(port, "0123456789") == port_size &&
           strpbrk(path, " \t\r\n?#") == NULL && copy(address->host, sizeof(address->host), host, host_size) &&
           copy(address->port, sizeof(address->port), port, port_size) && copy_path(address, path, path_size);
}

bool client_parse(const char *text, struct client_address *ret_address) {
    struct client_address address = {.path = "/"};
    bool is_right = false;
    if (strncmp(text, "unix:", 5) == 0) {
        is_right = text[5] != '\0' && copy(address.host, sizeof(address.host), text + 5, strlen(text + 5));
    } else if (strncmp(text, "http://", 7) == 0) {
        is_right = parse_url(text + 7, &address);
    }
    if (is_right) {
        *ret_address = address;
    }
    return is_right;
}

static int connect_local(const char *path) {
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    if (!copy(address.sun_path, sizeof(address.sun_path), path, strlen(path))) {
        return -ENAMETOOLONG;
    }
    const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd >= 0 && connect(fd, (struct sockaddr *)&address, sizeof(address)) != 0) {
        const int error = -errno;
        (void)close(fd);
        return error;
    }
    return fd >= 0 ? fd : -errno;
}

static int connect_port(const struct client_address *address) {
    const struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICSERV};
    struct addrinfo *found = NULL;
    int result = -EHOSTUNREACH;
    if (getaddrinfo(address->host, address->port, &hints, &found) != 0) {
        return result;
    }
    for (const struct addrinfo *at = found; at != NULL && result < 0; at = at->ai_next) {
        result = socket(at->ai_family, at->ai_socktype | SOCK_CLOEXEC, at->ai_protocol);
        result = result >= 0 ? result : -errno;
        if (result >= 0 && connect(result, at->ai_addr, at->ai_addrlen) != 0) {
            const int error = -errno;
            (void)close(result);
            result = error;
        }
    }
    freeaddrinfo(found);
    return result;
}

int client_connect(const struct client_address *address) {
    const struct timeval patience = {.tv_sec = PATIENCE_S};
    const int fd = address->port[0] == '\0' ? connect_local(address->host) : connect_port(address);
    if (fd >= 0) {
        (void)setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
        (void)setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
    }
    return fd;
}

int client_open(struct client *client, const struct client_address *address, const char *what) {
    char request[640];
    const bool is_six = strchr(address->host, ':') != NULL;
    const bool is_local = address->port[0] == '\0';
    const int size =
        snprintf(request, sizeof(request), "GET %s%s HTTP/1.1\r\nHost: %s%s%s%s%s\r\nConnection: close\r\n\r\n",
                 address->path, what, is_six ? "[" : "", is_local ? "localhost" : address->host, is_six ? "]" : "",
                 is_local ? "" : ":", address->port);
    *client = (struct client){.fd = -1};
    if (size < 0 || (size_t)size >= sizeof(request)) {
        return -EINVAL;
    }
    client->fd = client_connect(address);
    if (client->fd < 0) {
        const int error = client->fd;
        client->fd = -1;
        return error;
    }
    if (send(client->fd, request, (size_t)size, MSG_NOSIGNAL) != size) {
        client_close(client);
        return -EIO;
    }
    return 0;
}

void client_close(struct client *client) {
    if (client->fd >= 0) {
        (void)close(client->fd);
    }
    free(client->bytes);
    free(client->event);
    *client = (struct client){.fd = -1};
}

static void drop(struct client *client, size_t size) {
    client->size -= size;
    memmove(client->bytes, client->bytes + size, client->size);
}

static int take_head(struct client *client) {
    const char *end = memmem(client->bytes, client->size, "\r\n\r\n", 4);
    if (end == NULL) {
        return 1;
    }
    if (client->size < 12 || memcmp(client->bytes, "HTTP/1.1 200", 12) != 0) {
        return -EPROTO;
    }
    client->has_head = true;
    drop(client, (size_t)(end + 4 - client->bytes));
    return 1;
}

int client_receive(struct client *client) {
    if (client->room - client->size < RECEIVED_AT_ONCE) {
        const size_t room = client->room * 2 + RECEIVED_AT_ONCE;
        char *bytes = room > ANSWER_SIZE_MAX ? NULL : realloc(client->bytes, room);
        if (bytes == NULL) {
            return -ENOMEM;
        }
        client->bytes = bytes;
        client->room = room;
    }
    const ssize_t size = recv(client->fd, client->bytes + client->size, RECEIVED_AT_ONCE, 0);
    if (size <= 0) {
        return size == 0 ? 0 : errno == EINTR ? 1 : -errno;
    }
    client->size += (size_t)size;
    return client->has_head ? 1 : take_head(client);
}

/* Finds the next event in the bytes that were received. An event ends with an empty line. */
static const char *take_event(struct client *client, size_t *ret_size, bool *ret_is_named) {
    static const char field[] = "data: ";
    char *end = client->has_head ? memmem(client->bytes, client->size, "\n\n", 2) : NULL;
    if (end == NULL) {
        return NULL;
    }
    const size_t size = (size_t)(end - client->bytes);
    *ret_is_named = memmem(client->bytes, size, "event: ", 7) != NULL || size < sizeof(field) ||
                    memcmp(client->bytes, field, sizeof(field) - 1) != 0;
    *ret_size = size;
    return client->bytes;
}

const char *client_event(struct client *client, size_t *ret_size) {
    enum { FIELD_SIZE = 6 };
    size_t size = 0;
    bool is_named = false;
    const char *event = NULL;
    while ((event = take_event(client, &size, &is_named)) != NULL) {
        if (!is_named) {
            free(client->event);
            client->event = malloc(size);
            if (client->event != NULL) {
                memcpy(client->event, event + FIELD_SIZE, size - FIELD_SIZE);
                *ret_size = size - FIELD_SIZE;
            }
            drop(client, size + 2);
            return client->event;
        }
        drop(client, size + 2);
    }
    return NULL;
}
