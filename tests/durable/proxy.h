/* SPDX-License-Identifier: MIT */
/*
 * tests/durable/proxy.h - a bad network in front of a PostgreSQL server: between two Unix sockets, each piece of data
 * may come late, a connection may be cut, and one direction may be swallowed while the other one works.
 */
#ifndef VERGE_TESTS_DURABLE_PROXY_H
#define VERGE_TESTS_DURABLE_PROXY_H

#include <stdint.h>

struct proxy;

/* folder: where its socket is to be; server: where that of the server is. */
struct proxy *proxy_start(const char *folder, const char *server, uint64_t seed);
void proxy_set_bad(struct proxy *proxy, int is_bad); /* 0: it only forwards */
uint64_t proxy_cuts(struct proxy *proxy);
void proxy_stop(struct proxy *proxy);

#endif
