/* SPDX-License-Identifier: MIT */
/* reactor/attempt.h - makes operations by system calls. As far as possible, these calls do not block. The reactor on
 * epoll makes all operations in this way. */
#ifndef VERGE_SRC_REACTOR_ATTEMPT_H
#define VERGE_SRC_REACTOR_ATTEMPT_H

#include "reactor/operation.h"

/* What is known about the file when an operation is attempted. */
typedef enum verge__readiness {
    VERGE__NOT_KNOWN,    /* nothing */
    VERGE__READY,        /* it was ready a moment ago */
    VERGE__ALWAYS_READY, /* the file has no readiness: the call is made, and may block */
} verge__readiness;

/* Attempts an operation. True: the operation is done, and *ret_result is its result. False: the operation would have
 * blocked. If operation->blocks is set then, it must be attempted again on another thread. */
bool verge__attempt(verge__operation *operation, verge__readiness readiness, int32_t *ret_result);

/* Restores the flags of the file. Call it after the last attempt. */
void verge__attempt_end(const verge__operation *operation);

#endif
