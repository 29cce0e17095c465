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

/* An empty folder for what nodes note, and a ledger in the store. */
const char *nodes_begin(const char *url);
void nodes_end(void);

pid_t node_start(const char *url, int count, const struct node_setting *settings, int setting_count);
void node_kill(pid_t pid);
void node_close(pid_t pid); /* SIGTERM: it gives its shards back */

/* Lines of what nodes have noted; -1 if the file does not exist. */
int noted(const char *name);

/* Until no timer is left, with a node of its own. */
void nodes_drain(const char *url);

/* Drains, and then D1 to D5: what was promised has one row in the ledger, or a line outside; what was cancelled has
 * none; nothing was early. */
void nodes_audit(const char *url);

#endif
