/* SPDX-License-Identifier: MIT */
#define _POSIX_C_SOURCE 200809L

#include "demo/echo.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <verge/io.h>

#include "output/reason.h"
#include "output/text.h"
#include "random.h"
#include "spawn.h"

#define MS UINT64_C(1000000)
#define PATIENCE_NS (2000 * MS) /* how long the server waits for a message */
#define PATIENCE_OF_CLIENT_NS (20000 * MS)
#define NOBODY UINT32_MAX

enum {
    CLIENT_COUNT = 200,
    STALLS_ONE_IN = 10,
    MESSAGES_BEFORE_STALL = 5,
};

struct message {
    uint32_t client;
    uint32_t number;
    unsigned char rest[56];
};

struct client {
    struct echo *echo;
    uint32_t number;
    bool stalls;
    bool was_cut;               /* the server has closed the connection */
    _Atomic(uint32_t) timeouts; /* how often the server timed this client out */
    uint64_t random;
};

struct connection {
    struct echo *echo;
    int fd;
};

struct echo {
    verge_runtime *runtime;
    pthread_t thread;
    int listener;
    struct sockaddr_in address;
    struct client clients[CLIENT_COUNT];
    atomic_bool must_stop;
    _Atomic(uint64_t) echoed;
    _Atomic(uint64_t) early;   /* how many timeouts came before their deadline */
    _Atomic(uint64_t) strange; /* how many answers were wrong or missing */
    _Atomic(int) failure;      /* the first error of a call that must not fail; 0: there was none */
    int error;                 /* what the run of the runtime returned */
};

static void count(_Atomic(uint64_t) *counter) {
    (void)atomic_fetch_add_explicit(counter, 1, memory_order_relaxed);
}

static void fail(struct echo *echo, int error) {
    int none = 0;
    (void)atomic_compare_exchange_strong(&echo->failure, &none, error);
}

/* ---- the server ---- */

static void time_out(struct echo *echo, uint32_t client, uint64_t deadline_ns) {
    if (verge_now() < deadline_ns) {
        count(&echo->early);
    }
    if (client < CLIENT_COUNT) {
        (void)atomic_fetch_add(&echo->clients[client].timeouts, 1);
    } else {
        count(&echo->strange);
    }
}

static intptr_t serve(void *argument) {
    struct connection *connection = argument;
    struct echo *echo = connection->echo;
    uint32_t client = NOBODY;
    for (;;) {
        struct message message;
        uint64_t deadline_ns = verge_deadline_after(PATIENCE_NS);
        int error = verge_read_all(connection->fd, &message, sizeof(message), NULL, deadline_ns);
        if (error == -ETIMEDOUT) {
            time_out(echo, client, deadline_ns);
        }
        if (error != 0) {
            break;
        }
        client = message.client;
        if (verge_send_all(connection->fd, &message, sizeof(message), 0, NULL, deadline_ns) != 0) {
            break;
        }
    }
    (void)verge_close(connection->fd);
    free(connection);
    return 0;
}

static intptr_t accept_connections(void *argument) {
    struct echo *echo = argument;
    for (;;) {
        int fd = verge_accept(echo->listener, NULL, NULL, SOCK_CLOEXEC, VERGE_NEVER);
        if (fd == -ECANCELED) {
            return 0;
        }
        struct connection *connection = fd < 0 ? NULL : malloc(sizeof(*connection));
        if (connection == NULL) {
            fail(echo, fd < 0 ? fd : -ENOMEM);
            return fd < 0 ? 0 : verge_close(fd);
        }
        *connection = (struct connection){.echo = echo, .fd = fd};
        int error = spawn_anywhere(serve, connection, NULL);
        if (error != 0) {
            fail(echo, error);
            (void)verge_close(fd);
            free(connection);
        }
    }
}

/* ---- a client ---- */

static bool exchange(struct client *client, int fd, uint32_t number) {
    struct message sent = {.client = client->number, .number = number};
    struct message received;
    uint64_t deadline_ns = verge_deadline_after(PATIENCE_OF_CLIENT_NS);
    memset(sent.rest, (int)(number & 0xff), sizeof(sent.rest));
    if (verge_send_all(fd, &sent, sizeof(sent), 0, NULL, deadline_ns) != 0 ||
        verge_read_all(fd, &received, sizeof(received), NULL, deadline_ns) != 0 ||
        memcmp(&sent, &received, sizeof(sent)) != 0) {
        count(&client->echo->strange);
        return false;
    }
    count(&client->echo->echoed);
    return true;
}

/* Sends nothing more, and waits until the server closes the connection. */
static bool stall(int fd) {
    char byte;
    ptrdiff_t size = verge_read(fd, &byte, 1, verge_deadline_after(PATIENCE_OF_CLIENT_NS));
    return size == 0 || size == -ECONNRESET;
}

static void talk(struct client *client, int fd) {
    for (uint32_t number = 0; !atomic_load(&client->echo->must_stop) || client->stalls; number++) {
        if (client->stalls && number == MESSAGES_BEFORE_STALL) {
            client->was_cut = stall(fd);
            return;
        }
        if (!exchange(client, fd, number)) {
            return;
        }
        (void)verge_sleep(MS + random_below(&client->random, 40 * MS));
    }
}

static intptr_t run_client(void *argument) {
    struct client *client = argument;
    struct echo *echo = client->echo;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    int error = fd < 0 ? -errno
                       : verge_connect(fd, (const struct sockaddr *)&echo->address, sizeof(echo->address),
                                       verge_deadline_after(PATIENCE_OF_CLIENT_NS));
    if (error != 0) {
        fail(echo, error);
    } else {
        talk(client, fd);
    }
    if (fd >= 0) {
        (void)verge_close(fd);
    }
    return 0;
}

/* ---- server and clients together ---- */

static intptr_t run_all(void *argument) {
    struct echo *echo = argument;
    verge_task *acceptor = NULL;
    verge_task *tasks[CLIENT_COUNT] = {0};
    int error = verge_spawn(accept_connections, echo, &acceptor);
    if (error != 0) {
        fail(echo, error);
        return 0;
    }
    for (size_t i = 0; i < CLIENT_COUNT; i++) {
        error = spawn_anywhere(run_client, &echo->clients[i], &tasks[i]);
        if (error != 0) {
            fail(echo, error);
        }
    }
    for (size_t i = 0; i < CLIENT_COUNT; i++) {
        error = tasks[i] == NULL ? 0 : verge_task_join(tasks[i], NULL, VERGE_NEVER);
        if (error != 0) {
            fail(echo, error);
        }
    }
    (void)verge_task_cancel(acceptor);
    error = verge_task_join(acceptor, NULL, VERGE_NEVER);
    if (error != 0) {
        fail(echo, error);
    }
    return 0;
}

static void *run_runtime(void *argument) {
    struct echo *echo = argument;
    echo->error = verge_runtime_run(echo->runtime, run_all, echo, NULL);
    return NULL;
}

static int listen_on_loopback(struct echo *echo) {
    socklen_t size = sizeof(echo->address);
    echo->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (echo->listener < 0) {
        return -errno;
    }
    echo->address = (struct sockaddr_in){.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    if (bind(echo->listener, (const struct sockaddr *)&echo->address, size) != 0 ||
        listen(echo->listener, CLIENT_COUNT) != 0 ||
        getsockname(echo->listener, (struct sockaddr *)&echo->address, &size) != 0) {
        return -errno;
    }
    return 0;
}

static void echo_free(struct echo *echo) {
    if (echo->listener >= 0) {
        (void)close(echo->listener);
    }
    (void)verge_runtime_destroy(echo->runtime);
    free(echo);
}

int echo_begin(uint32_t worker_count, uint64_t seed, struct echo **ret_echo) {
    struct echo *echo = calloc(1, sizeof(*echo));
    verge_runtime_options options;
    if (echo == NULL) {
        return -ENOMEM;
    }
    for (uint32_t i = 0; i < CLIENT_COUNT; i++) {
        echo->clients[i].echo = echo;
        echo->clients[i].number = i;
        echo->clients[i].stalls = i % STALLS_ONE_IN == 0;
        echo->clients[i].random = random_next(&seed);
    }
    (void)verge_runtime_options_init(&options, sizeof(options));
    options.report_overflow = true;
    options.worker_count = worker_count;
    int error = listen_on_loopback(echo);
    if (error == 0) {
        error = verge_runtime_create(&options, &echo->runtime);
    }
    if (error == 0) {
        error = -pthread_create(&echo->thread, NULL, run_runtime, echo);
    }
    if (error != 0) {
        echo_free(echo);
        return error;
    }
    *ret_echo = echo;
    return 0;
}

verge_runtime *echo_runtime(const struct echo *echo) {
    return echo->runtime;
}

uint64_t echo_count(struct echo *echo) {
    return atomic_load_explicit(&echo->echoed, memory_order_relaxed);
}

uint64_t echo_end(struct echo *echo, struct audit *audit, const char **ret_why_not) {
    uint64_t echoed = 0;
    uint64_t cut = 0;
    uint64_t wrong = 0;
    atomic_store(&echo->must_stop, true);
    (void)pthread_join(echo->thread, NULL);
    echoed = echo_count(echo);
    for (size_t i = 0; i < CLIENT_COUNT; i++) {
        const struct client *client = &echo->clients[i];
        bool was_timed_out = atomic_load(&client->timeouts) == 1;
        cut += client->was_cut && was_timed_out;
        wrong += client->stalls != client->was_cut || client->stalls != was_timed_out;
    }
    const char *why = echo->error != 0 ? reason_of_runtime(echo->error) : reason_of(atomic_load(&echo->failure));
    const bool has_run = echo->error == 0 && atomic_load(&echo->failure) == 0;
    audit_expect(audit, has_run, "an echo server and %d clients ran%s%s", CLIENT_COUNT, has_run ? "" : ": ",
                 has_run ? "" : why);
    *ret_why_not = has_run ? NULL : why;
    audit_expect(audit, atomic_load(&echo->strange) == 0, "each of %s messages came back as it was sent",
                 text_grouped(echoed));
    audit_expect(audit, wrong == 0, "the %s clients that stalled were timed out, and no others", text_grouped(cut));
    audit_expect(audit, atomic_load(&echo->early) == 0, "no client was timed out early");
    echo_free(echo);
    return echoed;
}
