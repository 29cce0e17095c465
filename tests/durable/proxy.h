/* SPDX-License-Identifier: MIT */
/*
 * tests/durable/proxy.h - a bad network in front of a PostgreSQL server: between two Unix sockets, each piece of data
 * may come late, a connection may be cut, and one direction may be swallowed while the other one works.
 */
#ifndef VERGE_TESTS_DURABLE_PROXY_H
#define VERGE_TESTS_DURABLE_PROXY_H

#include <stdbool.h>
#include <stdint.h>

struct proxy;

/* folder: where the proxy makes its socket. server: the folder of the server's socket. */
struct proxy *proxy_start(const char *folder, const char *server, uint64_t seed);
void proxy_set_bad(struct proxy *proxy, int is_bad); /* 0: it only forwards */
uint64_t proxy_cuts(struct proxy *proxy);

/* The next COMMIT of a client is lost, or only its answer (arrives): the client's side of that connection is cut, the
 * server's stays open, and no new connection gets through (proxy_is_shut) until proxy_let_through. */
void proxy_lose_commit(struct proxy *proxy, bool arrives);
bool proxy_is_shut(struct proxy *proxy);
void proxy_let_through(struct proxy *proxy);

void proxy_stop(struct proxy *proxy);

#endif
