/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE /* memmem, strcasestr */

#include "scope/bridge.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

#include <verge/io.h>
#include <verge/task.h>

#define SECOND_NS UINT64_C(1000000000)
#define HEAD_WITHIN_NS (2 * SECOND_NS)
#define PART_WITHIN_NS (20 * SECOND_NS) /* a scope sends something within this time, unless an action takes longer */

enum { HEAD_SIZE_MAX = 8192, TOKEN_BYTES = 16, CROSSINGS_MAX = 64, PART_SIZE = 16 << 10 };

struct bridge {
    const struct client_address *to;
    int fd;
    unsigned crossing_count;
    char secret[2 * TOKEN_BYTES + 3]; /* "/TOKEN/" */
};

/* One connection of a browser, for one request. */
struct crossing {
    struct bridge *bridge;
    int fd;
    size_t size;
    char head[HEAD_SIZE_MAX + 1];
    char sent[HEAD_SIZE_MAX + 512];
};

static void answer(int fd, const char *status) {
    char text[128];
    const int size =
        snprintf(text, sizeof(text), "HTTP/1.1 %s\r\nContent-Length: 0\r\nConnection: close\r\n\r\n", status);
    (void)!verge_send_all(fd, text, (size_t)size, 0, NULL, verge_deadline_after(SECOND_NS));
}

static bool receive_head(struct crossing *crossing) {
    const uint64_t deadline_ns = verge_deadline_after(HEAD_WITHIN_NS);
    while (memmem(crossing->head, crossing->size, "\r\n\r\n", 4) == NULL) {
        const ptrdiff_t more = crossing->size == HEAD_SIZE_MAX
                                   ? -1
                                   : verge_recv(crossing->fd, crossing->head + crossing->size,
                                                HEAD_SIZE_MAX - crossing->size, 0, deadline_ns);
        if (more <= 0) {
            return false;
        }
        crossing->size += (size_t)more;
    }
    crossing->head[crossing->size] = '\0';
    return strlen(crossing->head) == crossing->size;
}

/* Takes the same time wherever the texts differ, so that nobody can guess the secret piece by piece. */
static bool has_secret(const char *path, const char *secret) {
    unsigned char differs = 0;
    for (size_t i = 0; secret[i] != '\0'; i++) {
        if (path[i] == '\0') {
            return false;
        }
        differs |= (unsigned char)(path[i] ^ secret[i]);
    }
    return differs == 0;
}

/* Rewrites a request: removes the bridge's secret from its path, and asks for one answer only. Returns the size of the
 * new request, or 0 to refuse it. The scope checks the rest: method, Host and Origin. */
static size_t rewrite(struct crossing *crossing) {
    const struct bridge *bridge = crossing->bridge;
    char *path = strchr(crossing->head, ' ');
    char *line = strstr(crossing->head, "\r\n");
    if (path == NULL || line == NULL || path > line || !has_secret(path + 1, bridge->secret)) {
        return 0;
    }
    *path++ = '\0';
    *line = '\0';
    int size = snprintf(crossing->sent, sizeof(crossing->sent), "%s %s%s\r\nConnection: close\r\n", crossing->head,
                        bridge->to->path, path + strlen(bridge->secret));
    for (line += 2; strncmp(line, "\r\n", 2) != 0; line += strlen(line) + 2) {
        char *end = strstr(line, "\r\n");
        if (end == NULL) {
            return 0;
        }
        *end = '\0';
        if (strncasecmp(line, "Connection:", 11) != 0) {
            size += snprintf(crossing->sent + size, sizeof(crossing->sent) - (size_t)size, "%s\r\n", line);
        }
    }
    size += snprintf(crossing->sent + size, sizeof(crossing->sent) - (size_t)size, "\r\n");
    return (size_t)size < sizeof(crossing->sent) ? (size_t)size : 0;
}

static void carry(int from, int to) {
    char part[PART_SIZE];
    for (;;) {
        const ptrdiff_t size = verge_recv(from, part, sizeof(part), 0, verge_deadline_after(PART_WITHIN_NS));
        if (size <= 0 || verge_send_all(to, part, (size_t)size, 0, NULL, verge_deadline_after(PART_WITHIN_NS)) != 0) {
            return;
        }
    }
}

static void cross(struct crossing *crossing) {
    const size_t size = receive_head(crossing) ? rewrite(crossing) : 0;
    if (size == 0) {
        answer(crossing->fd, "404 Not Found");
        return;
    }
    const int fd = client_connect(crossing->bridge->to);
    if (fd < 0 || fcntl(fd, F_SETFL, O_NONBLOCK) != 0) {
        answer(crossing->fd, "502 Bad Gateway"); /* the program has ended */
    } else if (verge_send_all(fd, crossing->sent, size, 0, NULL, verge_deadline_after(PART_WITHIN_NS)) == 0) {
        carry(fd, crossing->fd);
    }
    if (fd >= 0) {
        (void)verge_close(fd);
    }
}

static intptr_t serve_crossing(void *argument) {
    struct crossing *crossing = argument;
    cross(crossing);
    (void)verge_close(crossing->fd);
    crossing->bridge->crossing_count--;
    free(crossing);
    return 0;
}

static void begin_crossing(struct bridge *bridge, int fd) {
    struct crossing *crossing = bridge->crossing_count < CROSSINGS_MAX ? calloc(1, sizeof(*crossing)) : NULL;
    if (crossing != NULL) {
        crossing->bridge = bridge;
        crossing->fd = fd;
        if (verge_spawn(serve_crossing, crossing, NULL) == 0) {
            bridge->crossing_count++;
            return;
        }
    }
    free(crossing);
    (void)verge_close(fd);
}

static intptr_t serve(void *argument) {
    struct bridge *bridge = argument;
    for (;;) {
        const int fd = verge_accept(bridge->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK, VERGE_NEVER);
        if (fd >= 0) {
            begin_crossing(bridge, fd);
        } else if (fd == -ECANCELED || verge_sleep(SECOND_NS / 100) != 0) {
            return 0;
        }
    }
}

static int open_port(struct bridge *bridge, uint16_t port, struct sockaddr_in *ret_address) {
    enum { BACKLOG = 64 };
    const int on = 1;
    socklen_t size = sizeof(*ret_address);
    *ret_address =
        (struct sockaddr_in){.sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    bridge->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    const bool is_open = bridge->fd >= 0 && setsockopt(bridge->fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) == 0 &&
                         bind(bridge->fd, (struct sockaddr *)ret_address, size) == 0 &&
                         listen(bridge->fd, BACKLOG) == 0 &&
                         getsockname(bridge->fd, (struct sockaddr *)ret_address, &size) == 0;
    return is_open ? 0 : -errno;
}

int bridge_serve(const struct client_address *to, uint16_t port) {
    struct bridge bridge = {.to = to};
    struct sockaddr_in address;
    unsigned char random[TOKEN_BYTES];
    verge_runtime_options options;
    verge_runtime *runtime = NULL;
    if (getrandom(random, sizeof(random), 0) != (ssize_t)sizeof(random)) {
        return -EAGAIN;
    }
    bridge.secret[0] = '/';
    for (size_t i = 0; i < sizeof(random); i++) {
        (void)snprintf(bridge.secret + 1 + 2 * i, 3, "%02x", random[i]);
    }
    bridge.secret[1 + 2 * TOKEN_BYTES] = '/';
    int error = open_port(&bridge, port, &address);
    if (error == 0) {
        (void)verge_runtime_options_init(&options, sizeof(options));
        options.worker_count = 1;
        error = verge_runtime_create(&options, &runtime);
    }
    if (error == 0) {
        (void)printf("http://127.0.0.1:%u%s\nopen this address in a browser; interrupt (^C) to end\n",
                     ntohs(address.sin_port), bridge.secret);
        (void)fflush(stdout);
        error = verge_runtime_run(runtime, serve, &bridge, NULL);
        (void)verge_runtime_destroy(runtime);
    }
    if (bridge.fd >= 0) {
        (void)close(bridge.fd);
    }
    return error;
}
