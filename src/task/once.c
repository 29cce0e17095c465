/* SPDX-License-Identifier: MIT */
/* Once: a mutex and a flag. is_done is stored with release and loaded with acquire: a caller that sees it set also sees
 * all that the function has written. */
#include <errno.h>

#include "verge/sync.h"

int verge_once_do(verge_once *once, int (*function)(void *argument), void *argument, uint64_t deadline_ns) {
    if (once == NULL || function == NULL) {
        return -EINVAL;
    }
    if (__atomic_load_n(&once->is_done, __ATOMIC_ACQUIRE) != 0) {
        return 0;
    }
    int error = verge_mutex_lock(&once->mutex, deadline_ns);
    if (error != 0) {
        return error;
    }
    if (once->is_done == 0) {
        error = function(argument);
        __atomic_store_n(&once->is_done, error == 0, __ATOMIC_RELEASE);
    }
    (void)verge_mutex_unlock(&once->mutex);
    return error;
}
