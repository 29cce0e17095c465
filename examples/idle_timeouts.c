/* SPDX-License-Identifier: MIT */
/*
 * Idle timeouts: a server closes a connection that was silent for 30 s. Each request pushes the timeout back. A wheel
 * is good at this: moving a timeout later only writes the new deadline into the object.
 *
 * The server runs on a manual clock. So its ten minutes pass in milliseconds, and every run is the same. A real server
 * would use verge_clock_monotonic(), with no other change.
 */
#include <stdbool.h>
#include <stdio.h>

#include <verge/verge.h>

#define MS UINT64_C(1000000)
#define SECOND (1000 * MS)
#define IDLE_TIMEOUT (30 * SECOND)
#define ROUND (100 * MS) /* the loop of the server makes ten rounds a second */

enum { CONNECTIONS = 1000, BATCH = 64 };

struct connection {
    verge_timeout idle; /* must be first: a poll returns its address. Zeroed: not started */
    uint64_t last_request_ns;
    uint64_t closed_ns;
};

struct server {
    verge_clock clock;
    verge_wheel *wheel;
    struct connection connections[CONNECTIONS];
    unsigned requests, closed, errors;
};

static uint64_t now(const struct server *server) {
    return server->clock.now_ns(server->clock.context);
}

static void push_back(struct server *server, struct connection *connection) {
    connection->last_request_ns = now(server);
    server->errors += verge_timeout_start(server->wheel, &connection->idle, now(server) + IDLE_TIMEOUT) != 0;
}

static void accept_connection(struct server *server, struct connection *connection) {
    *connection = (struct connection){0};
    push_back(server, connection);
}

static void serve_request(struct server *server, struct connection *connection) {
    server->requests++;
    push_back(server, connection);
}

static void close_idle_connections(struct server *server) {
    verge_expiry due[BATCH];
    size_t count;
    do {
        count = verge_wheel_poll(server->wheel, now(server), due, BATCH);
        for (size_t i = 0; i < count; i++) {
            struct connection *connection = due[i].data; /* its timeout has ended: the memory could be freed */
            connection->closed_ns = now(server);
            server->closed++;
        }
    } while (count == BATCH);
}

/* The clients: number i sends a request every i % 20 + 1 seconds, and falls silent after i % 600 seconds. */
static bool has_request(unsigned i, uint64_t round) {
    uint64_t rounds_a_second = SECOND / ROUND;
    return round < i % 600 * rounds_a_second && round % ((i % 20 + 1) * rounds_a_second) == 0;
}

/* A connection is closed after 30 s of silence: not earlier, and at most the wheel's precision plus one round later. */
static bool was_closed_in_time(const struct server *server, const struct connection *connection) {
    uint64_t deadline_ns = connection->last_request_ns + IDLE_TIMEOUT;
    return connection->closed_ns >= deadline_ns &&
           connection->closed_ns < deadline_ns + verge_wheel_precision(server->wheel) + ROUND;
}

int main(void) {
    static struct server server;
    verge_manual_clock manual = {0};
    server.clock = verge_clock_manual(&manual);
    if (verge_wheel_create(NULL, &server.wheel) < 0) {
        return 1; /* from here on, no call can fail for lack of memory */
    }
    for (unsigned i = 0; i < CONNECTIONS; i++) {
        accept_connection(&server, &server.connections[i]);
    }
    for (uint64_t round = 1; verge_wheel_count(server.wheel) > 0; round++) {
        verge_manual_clock_advance(&manual, ROUND);
        for (unsigned i = 0; i < CONNECTIONS; i++) {
            if (has_request(i, round)) {
                serve_request(&server, &server.connections[i]);
            }
        }
        close_idle_connections(&server);
    }
    for (unsigned i = 0; i < CONNECTIONS; i++) {
        server.errors += !was_closed_in_time(&server, &server.connections[i]);
    }
    printf("%u requests, %u connections closed after %u s, %u errors\n", server.requests, server.closed,
           (unsigned)(now(&server) / SECOND), server.errors);
    verge_wheel_destroy(server.wheel);
    return server.closed == CONNECTIONS && server.errors == 0 ? 0 : 1;
}
