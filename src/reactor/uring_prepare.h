/* SPDX-License-Identifier: MIT */
/* reactor/uring_prepare.h - operations as entries of io_uring's submission queue. */
#ifndef VERGE_SRC_REACTOR_URING_PREPARE_H
#define VERGE_SRC_REACTOR_URING_PREPARE_H

#include "reactor/operation.h"

/* Fills the entry, except its user_data. An operation that polls becomes a poll; one that naps becomes a timeout. */
void verge__uring_prepare(struct io_uring_sqe *sqe, const verge__operation *operation);

/* Returns whether a custom operation never waits for other processes: most operations on file systems, and a few
 * others. Calls custom.prepare, to find the kind of the operation. */
bool verge__uring_never_waits(const verge__operation *operation);

#endif
