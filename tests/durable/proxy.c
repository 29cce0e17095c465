/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE

#include "durable/proxy.h"

#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "durable/support.h"
#include "support/cmocka.h"
#include "support/random.h"

enum { LINKS_MAX = 4096 };

enum { TRAP_NONE, TRAP_COMMIT, TRAP_ANSWER };

struct link {
    struct proxy *proxy;
    int fds[2]; /* of the client, of the server */
    uint64_t seed;
};

struct proxy {
    int listener;
    char server[108];
    char path[108];
    uint64_t seed;
    pthread_t thread;
    _Atomic(int) is_bad;
    _Atomic(int) trap; /* what is done to the next COMMIT */
    _Atomic(int) is_shut;
    _Atomic(int) is_over;
    _Atomic(uint64_t) cuts;
    _Atomic(int) links;
};

static int unix_socket(const char *path, struct sockaddr_un *address) {
    *address = (struct sockaddr_un){.sun_family = AF_UNIX};
    (void)snprintf(address->sun_path, sizeof(address->sun_path), "%s", path);
    return socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
}

static bool send_all(int fd, const char *bytes, ssize_t size) {
    while (size > 0) {
        const ssize_t sent = send(fd, bytes, (size_t)size, MSG_NOSIGNAL);
        if (sent <= 0) {
            return false;
        }
        bytes += sent;
        size -= sent;
    }
    return true;
}

/* Loses a COMMIT. arrives: the server gets it, but its answers are dropped. Returns when the connection has ended. */
static void lose(struct link *link, const char *bytes, ssize_t size, bool arrives) {
    char ignored[8192];
    if (arrives) {
        (void)send_all(link->fds[1], bytes, size);
        (void)recv(link->fds[1], ignored, sizeof(ignored), 0); /* the commit has happened */
    }
    link->proxy->is_shut = 1;
    (void)shutdown(link->fds[0], SHUT_RDWR);
    while (!link->proxy->is_over) {
        struct pollfd fd = {.fd = link->fds[1], .events = POLLIN};
        if (poll(&fd, 1, 50) > 0 && recv(link->fds[1], ignored, sizeof(ignored), 0) <= 0) {
            return;
        }
    }
}

/* Passes one piece from one side to the other. False: the connection is over. */
static bool forward(struct link *link, int from, struct verge_test_random *random, int *swallowed) {
    char bytes[8192];
    const ssize_t size = recv(link->fds[from], bytes, sizeof(bytes), 0);
    if (size <= 0) {
        return false;
    }
    if (from == 0 && link->proxy->trap != TRAP_NONE && memmem(bytes, (size_t)size, "COMMIT", 6) != NULL) {
        lose(link, bytes, size, atomic_exchange(&link->proxy->trap, TRAP_NONE) == TRAP_ANSWER);
        return false;
    }
    if (link->proxy->is_bad) {
        if (verge_test_chance(random, 4)) {
            durable_nap((unsigned)verge_test_below(random, 8));
        }
        if (verge_test_chance(random, 60)) { /* the piece is lost, or arrives before the cut */
            link->proxy->cuts++;
            if (verge_test_chance(random, 2)) {
                (void)send_all(link->fds[!from], bytes, size);
            }
            return false;
        }
        if (*swallowed < 0 && verge_test_chance(random, 200)) {
            *swallowed = from;
        }
        if (*swallowed == from) {
            return true;
        }
    }
    return send_all(link->fds[!from], bytes, size);
}

static void *run_link(void *argument) {
    struct link *link = argument;
    struct verge_test_random random = verge_test_random_from(link->seed);
    int swallowed = -1;
    int silent_ms = 0;
    bool goes_on = true;
    while (goes_on && !link->proxy->is_over) {
        struct pollfd fds[2] = {{.fd = link->fds[0], .events = POLLIN}, {.fd = link->fds[1], .events = POLLIN}};
        const int ready = poll(fds, 2, 50);
        silent_ms = swallowed >= 0 ? silent_ms + 50 : 0;
        goes_on = silent_ms < 20000;
        for (int side = 0; side < 2 && goes_on && ready > 0; side++) {
            if (fds[side].revents != 0) {
                goes_on = forward(link, side, &random, &swallowed);
            }
        }
    }
    (void)close(link->fds[0]);
    (void)close(link->fds[1]);
    link->proxy->links--;
    free(link);
    return NULL;
}

static void *run_proxy(void *argument) {
    struct proxy *proxy = argument;
    struct verge_test_random random = verge_test_random_from(proxy->seed);
    while (!proxy->is_over) {
        struct pollfd fd = {.fd = proxy->listener, .events = POLLIN};
        if (poll(&fd, 1, 50) <= 0) {
            continue;
        }
        struct sockaddr_un address;
        struct link *link = calloc(1, sizeof(*link));
        link->proxy = proxy;
        link->seed = verge_test_next(&random);
        link->fds[0] = accept4(proxy->listener, NULL, NULL, SOCK_CLOEXEC);
        link->fds[1] = unix_socket(proxy->server, &address);
        pthread_t thread;
        proxy->links++;
        if (proxy->is_shut || connect(link->fds[1], (struct sockaddr *)&address, sizeof(address)) != 0 ||
            pthread_create(&thread, NULL, run_link, link) != 0) {
            (void)close(link->fds[0]);
            (void)close(link->fds[1]);
            free(link);
            proxy->links--;
            continue;
        }
        (void)pthread_detach(thread);
    }
    return NULL;
}

struct proxy *proxy_start(const char *folder, const char *server, uint64_t seed) {
    struct proxy *proxy = calloc(1, sizeof(*proxy));
    struct sockaddr_un address;
    assert_non_null(proxy);
    (void)snprintf(proxy->server, sizeof(proxy->server), "%s/.s.PGSQL.5432", server);
    (void)snprintf(proxy->path, sizeof(proxy->path), "%s/.s.PGSQL.5432", folder);
    proxy->seed = seed;
    proxy->listener = unix_socket(proxy->path, &address);
    assert_int_equal(bind(proxy->listener, (struct sockaddr *)&address, sizeof(address)), 0);
    assert_int_equal(listen(proxy->listener, 64), 0);
    assert_int_equal(pthread_create(&proxy->thread, NULL, run_proxy, proxy), 0);
    return proxy;
}

void proxy_set_bad(struct proxy *proxy, int is_bad) {
    proxy->is_bad = is_bad;
}

void proxy_lose_commit(struct proxy *proxy, bool arrives) {
    proxy->trap = arrives ? TRAP_ANSWER : TRAP_COMMIT;
}

bool proxy_is_shut(struct proxy *proxy) {
    return proxy->is_shut;
}

void proxy_let_through(struct proxy *proxy) {
    proxy->is_shut = 0;
}

uint64_t proxy_cuts(struct proxy *proxy) {
    return proxy->cuts;
}

void proxy_stop(struct proxy *proxy) {
    proxy->is_over = 1;
    (void)pthread_join(proxy->thread, NULL);
    WAIT_UNTIL(proxy->links == 0);
    (void)close(proxy->listener);
    (void)unlink(proxy->path);
    free(proxy);
}
