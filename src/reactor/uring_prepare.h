/* SPDX-License-Identifier: MIT */
/* reactor/uring_prepare.h - operations as entries of io_uring's submission queue. */
#ifndef VERGE_SRC_REACTOR_URING_PREPARE_H
#define VERGE_SRC_REACTOR_URING_PREPARE_H

#include "reactor/operation.h"

/* All but its user_data. An operation that polls becomes a poll for what it needs, one that naps
 * a timeout. */
void verge__uring_prepare(struct io_uring_sqe *sqe, const struct verge__operation *operation);

/* Whether a custom operation is one of file systems, which never wait for anybody. */
bool verge__uring_never_waits(const struct verge__operation *operation);

#endif
