/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE

#include "reactor/examine.h"

#include <errno.h>
#include <sys/socket.h>
#include <sys/uio.h>

bool verge__is_send(struct verge__operation *operation) {
    const bool is_write = operation->kind == VERGE__WRITE || operation->kind == VERGE__WRITEV;
    int type = 0;
    socklen_t size = sizeof(type);
    if (!is_write || operation->offset != VERGE__FILE_POSITION || operation->flags != 0 ||
        getsockopt(operation->fd, SOL_SOCKET, SO_TYPE, &type, &size) != 0) {
        return false;
    }
    operation->is_send = true;
    operation->send_flags = MSG_NOSIGNAL | (type == SOCK_SEQPACKET ? MSG_EOR : 0); /* as write(2) does */
    return true;
}

/* A transfer of no bytes, which the kernel checks as it checks any, and then does not even begin. */
static ssize_t transfer_nothing(const struct verge__operation *operation) {
    const struct iovec nothing = {0};
    const off_t offset = operation->offset == VERGE__FILE_POSITION ? -1 : (off_t)operation->offset;
    return verge__is_read(operation) ? preadv2(operation->fd, &nothing, 1, offset, 0)
                                     : pwritev2(operation->fd, &nothing, 1, offset, 0);
}

/* Of the file, and for good. Any other error is io_uring's to find. */
static bool is_refusal(int error) {
    return error == EBADF || error == EINVAL || error == ESPIPE;
}

bool verge__examine(struct verge__operation *operation, int32_t *ret_result) {
    if (!verge__is_transfer(operation) || verge__is_send(operation)) {
        return false;
    }
    if (transfer_nothing(operation) < 0 && is_refusal(errno)) {
        *ret_result = -errno;
        return true;
    }
    return false;
}
