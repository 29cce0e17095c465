/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE /* SOCK_CLOEXEC */
#include "scope/address.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- text ---- */

static int parse_path(const char *path, verge__address *address) {
    struct sockaddr_un *local = &address->socket.local;
    const size_t size = strlen(path);
    if (size == 0) {
        return -EINVAL;
    }
    if (size >= sizeof(local->sun_path)) {
        return -ENAMETOOLONG;
    }
    local->sun_family = AF_UNIX;
    memcpy(local->sun_path, path, size + 1);
    address->size = (socklen_t)sizeof(*local);
    address->is_local = true;
    return 0;
}

static bool parse_port(const char *text, uint16_t *ret_port) {
    char *end = NULL;
    if (text[0] < '0' || text[0] > '9') {
        return false;
    }
    const unsigned long port = strtoul(text, &end, 10);
    *ret_port = (uint16_t)port;
    return *end == '\0' && port <= UINT16_MAX;
}

/* Parses NUMBER:PORT, where NUMBER is a numeric address, or PORT alone, which means 127.0.0.1. */
static int parse_port_of_host(const char *text, verge__address *address) {
    struct sockaddr_in *four = (struct sockaddr_in *)&address->socket.storage;
    struct sockaddr_in6 *six = (struct sockaddr_in6 *)&address->socket.storage;
    char host[INET6_ADDRSTRLEN + 2] = "127.0.0.1";
    uint16_t port = 0;
    const char *colon = strrchr(text, ':');
    if (colon != NULL) {
        const size_t size = (size_t)(colon - text);
        if (size >= sizeof(host)) {
            return -EINVAL;
        }
        memcpy(host, text, size);
        host[size] = '\0';
        text = colon + 1;
    }
    if (!parse_port(text, &port)) {
        return -EINVAL;
    }
    const size_t length = strlen(host);
    if (host[0] == '[' && length > 2 && host[length - 1] == ']') {
        host[length - 1] = '\0';
        six->sin6_family = AF_INET6;
        six->sin6_port = htons(port);
        address->size = (socklen_t)sizeof(*six);
        return inet_pton(AF_INET6, host + 1, &six->sin6_addr) == 1 ? 0 : -EINVAL;
    }
    four->sin_family = AF_INET;
    four->sin_port = htons(port);
    address->size = (socklen_t)sizeof(*four);
    return inet_pton(AF_INET, host, &four->sin_addr) == 1 ? 0 : -EINVAL;
}

/* Returns the folder of the sockets at default addresses, and of the files with all other addresses (leave_note). */
static const char *runtime_folder(void) {
    const char *folder = getenv("XDG_RUNTIME_DIR"); /* NOLINT(concurrency-mt-unsafe) */
    return folder != NULL && folder[0] == '/' ? folder : "/tmp";
}

int verge__address_parse(const char *text, verge__address *ret_address) {
    verge__address address;
    char path[128];
    memset(&address, 0, sizeof(address));
    if (text == NULL) {
        const int length = snprintf(path, sizeof(path), "unix:%s/verge-%ld.scope", runtime_folder(), (long)getpid());
        if (length < 0 || (size_t)length >= sizeof(path)) {
            return -ENAMETOOLONG;
        }
        text = path;
    }
    int error = -EINVAL;
    if (strncmp(text, "unix:", 5) == 0) {
        error = parse_path(text + 5, &address);
    } else if (strncmp(text, "tcp:", 4) == 0) {
        error = parse_port_of_host(text + 4, &address);
    }
    if (error == 0) {
        *ret_address = address;
    }
    return error;
}

/* ---- sockets ---- */

/* Removes a socket on which no process listens any more. */
static bool remove_stale(const verge__address *address) {
    struct stat status;
    const char *path = address->socket.local.sun_path;
    if (!address->is_local || lstat(path, &status) != 0 || !S_ISSOCK(status.st_mode)) {
        return false;
    }
    const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0) {
        return false;
    }
    const bool is_stale = connect(fd, &address->socket.any, address->size) != 0 && errno == ECONNREFUSED;
    (void)close(fd);
    return is_stale && unlink(path) == 0;
}

static int bind_and_listen(int fd, const verge__address *address) {
    enum { BACKLOG = 64, MODE = 0600 };
    const int on = 1;
    if (address->is_local) {
        /* This is done before the socket has a path. So there is no moment at which other users can connect. */
        if (fchmod(fd, MODE) != 0) {
            return -errno;
        }
    } else if (setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) != 0) {
        return -errno;
    }
    if (bind(fd, &address->socket.any, address->size) != 0 &&
        (errno != EADDRINUSE || !remove_stale(address) || bind(fd, &address->socket.any, address->size) != 0)) {
        return -errno;
    }
    return listen(fd, BACKLOG) == 0 ? 0 : -errno;
}

static int make_token(char *token) {
    unsigned char bits[VERGE__TOKEN_SIZE / 2];
    if (getrandom(bits, sizeof(bits), 0) != (ssize_t)sizeof(bits)) {
        return -EAGAIN;
    }
    for (size_t i = 0; i < sizeof(bits); i++) {
        (void)snprintf(token + 2 * i, 3, "%02x", bits[i]);
    }
    return 0;
}

bool verge__token_is_valid(const char *token) {
    const size_t size = strlen(token);
    return size >= VERGE__TOKEN_SIZE_MIN && size <= VERGE__TOKEN_SIZE_MAX &&
           strspn(token, "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ-_") == size;
}

/* Writes the address for people: "unix:PATH", or a URL with the port that the system has chosen. */
static void describe(verge__listener *listener) {
    verge__address *address = &listener->address;
    if (address->is_local) {
        (void)snprintf(listener->text, sizeof(listener->text), "unix:%s", address->socket.local.sun_path);
        return;
    }
    char host[INET6_ADDRSTRLEN] = "";
    const struct sockaddr_in *four = (const struct sockaddr_in *)&address->socket.storage;
    const struct sockaddr_in6 *six = (const struct sockaddr_in6 *)&address->socket.storage;
    const bool is_six = address->socket.any.sa_family == AF_INET6;
    (void)inet_ntop(is_six ? AF_INET6 : AF_INET, is_six ? (const void *)&six->sin6_addr : &four->sin_addr, host,
                    sizeof(host));
    (void)snprintf(listener->text, sizeof(listener->text), is_six ? "http://[%s]:%u/%s/" : "http://%s:%u/%s/", host,
                   ntohs(is_six ? six->sin6_port : four->sin_port), listener->token);
}

/* If scope is not at the default address, writes its address to a file in the runtime folder. Only the same user can
 * read the file. O_EXCL: a file or a link that somebody else has put there is not touched. Without the file, `verge
 * scope` does not find the scope by its name, but its address still works. */
static void leave_note(verge__listener *listener) {
    enum { MODE = 0600 };
    char place[sizeof(listener->note)];
    (void)snprintf(place, sizeof(place), "%s/verge-%ld.scope", runtime_folder(), (long)getpid());
    const bool is_default = listener->address.is_local && strcmp(listener->text + strlen("unix:"), place) == 0;
    const int length = snprintf(listener->note, sizeof(listener->note), "%s/verge-%ld-%d.scope", runtime_folder(),
                                (long)getpid(), listener->fd);
    if (is_default || length < 0 || (size_t)length >= sizeof(listener->note)) {
        listener->note[0] = '\0';
        return;
    }
    const int fd = open(listener->note, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, MODE);
    const size_t size = strlen(listener->text);
    if (fd < 0) {
        listener->note[0] = '\0';
        return;
    }
    if (write(fd, listener->text, size) != (ssize_t)size) {
        (void)unlink(listener->note);
        listener->note[0] = '\0';
    }
    (void)close(fd);
}

int verge__listener_open(const verge__address *address, const char *token, verge__listener *ret_listener) {
    verge__listener listener = {.address = *address};
    int error = 0;
    if (address->is_local) {
        listener.token[0] = '\0'; /* the mode of the socket decides who may connect */
    } else if (token != NULL) {
        (void)snprintf(listener.token, sizeof(listener.token), "%s", token);
    } else {
        error = make_token(listener.token);
    }
    if (error != 0) {
        return error;
    }
    listener.fd = socket(address->socket.any.sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (listener.fd < 0) {
        return -errno;
    }
    error = bind_and_listen(listener.fd, address);
    if (error == 0 && !address->is_local) {
        socklen_t size = sizeof(listener.address.socket);
        error = getsockname(listener.fd, &listener.address.socket.any, &size) == 0 ? 0 : -errno;
    }
    if (error != 0) {
        (void)close(listener.fd);
        return error;
    }
    describe(&listener);
    leave_note(&listener);
    *ret_listener = listener;
    return 0;
}

void verge__listener_close(verge__listener *listener) {
    if (listener->address.is_local) {
        (void)unlink(listener->address.socket.local.sun_path);
    }
    if (listener->note[0] != '\0') {
        (void)unlink(listener->note);
    }
    (void)close(listener->fd);
}

bool verge__listener_strip_token(const verge__listener *listener, verge__part *path) {
    const size_t size = strlen(listener->token);
    if (size == 0) {
        return true;
    }
    if (path->size <= size + 1 || path->bytes[size + 1] != '/') { /* "/TOKEN/" */
        return false;
    }
    unsigned char differs = 0;
    for (size_t i = 0; i < size; i++) {
        differs |= (unsigned char)(path->bytes[1 + i] ^ listener->token[i]);
    }
    path->bytes += size + 1;
    path->size -= size + 1;
    return differs == 0;
}
