/* SPDX-License-Identifier: MIT */
/* tests/durable/process.h - nodes that are processes (node.c), and what they have left behind. */
#ifndef VERGE_TESTS_DURABLE_PROCESS_H
#define VERGE_TESTS_DURABLE_PROCESS_H

#include <stdint.h>
#include <sys/types.h>

struct node_setting {
    const char *name; /* NULL: none */
    char value[64];
};

/* Makes an empty folder, in which nodes write files of ids, and the table `ledger` in the store. */
const char *nodes_begin(const char *url);
void nodes_end(void);

pid_t node_start(const char *url, int count, const struct node_setting *settings, int setting_count);
void node_kill(pid_t pid);
void node_close(pid_t pid); /* sends SIGTERM: the node gives its shards back, and ends */

/* How many lines nodes have noted in a file; -1 if the file does not exist. */
int noted(const char *name);

/* Opens a node, and waits until no timer is left. */
void nodes_drain(const char *url);

/* Drains, and then checks D1 to D5: each promised timer has exactly one row in the ledger (handler `ledger`), or at
 * least one line in the file `outside` (handler `outside`); a cancelled timer has none; no timer was early. */
void nodes_audit(const char *url);

#endif
