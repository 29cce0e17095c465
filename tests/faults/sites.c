/* SPDX-License-Identifier: MIT */
#include "faults/sites.h"

#include <errno.h>
#include <stddef.h>

#define EVER UINT64_MAX

#define ONCE(error) \
    { #error, error, false, 0 }
#define OFTEN(error) \
    { #error, error, false, 20 }
#define FOREVER(error) \
    { #error, error, false, EVER }
#define AFTER(error) \
    { #error "-after", error, true, 20 }
#define OTHER(name, kind) \
    { name, kind, false, 0 }

/* The errors of the manual pages that are not due to wrong arguments, and whether they can last. Calls that wait may
 * also be forbidden by a filter, or find another file at their descriptor: the errors of both last for ever. */
const struct site_description sites[SITE_COUNT] = {
    [SITE_MEMORY] = {"memory", {FOREVER(ENOMEM)}},
    [SITE_THREAD] = {"thread", {FOREVER(EAGAIN)}},
    [SITE_ATFORK] = {"pthread_atfork", {FOREVER(ENOMEM)}},
    [SITE_CLOCK] = {"clock",
                    {OTHER("back-once", FAULT_BACK_ONCE), OTHER("back", FAULT_BACK), OTHER("ahead", FAULT_AHEAD)}},
    [SITE_MMAP] = {"mmap", {FOREVER(ENOMEM)}},
    [SITE_MPROTECT] = {"mprotect", {FOREVER(ENOMEM)}},
    [SITE_MADVISE] = {"madvise", {FOREVER(EINVAL), FOREVER(ENOMEM)}},
    [SITE_FUTEX_WAIT] = {"futex", {OFTEN(EINTR), OFTEN(EAGAIN)}},
    [SITE_EVENTFD] = {"eventfd", {FOREVER(EMFILE), FOREVER(ENOMEM)}},
    [SITE_EPOLL_CREATE] = {"epoll_create", {FOREVER(EMFILE), FOREVER(ENOMEM)}},
    [SITE_EPOLL_CTL] = {"epoll_ctl", {FOREVER(ENOMEM), FOREVER(ENOSPC)}},
    [SITE_EPOLL_PWAIT2] = {"epoll_pwait2", {OFTEN(EINTR), FOREVER(ENOSYS), FOREVER(EPERM), FOREVER(EINVAL)}},
    [SITE_URING_SETUP] = {"io_uring_setup", {FOREVER(EMFILE), FOREVER(ENOMEM), FOREVER(EPERM), ONCE(EINVAL)}},
    [SITE_URING_ENTER] = {"io_uring_enter",
                          {OFTEN(EINTR), OFTEN(EAGAIN), OFTEN(EBUSY), OFTEN(ENOMEM), OTHER("short", FAULT_SHORT),
                           FOREVER(EPERM), FOREVER(ENOSYS)}},
    [SITE_READ] = {"read", {OFTEN(EINTR)}},
    [SITE_WRITE] = {"write", {OFTEN(EINTR)}},
    [SITE_PREADV2] = {"preadv2", {OFTEN(EINTR), OFTEN(ENOMEM)}},
    [SITE_PREADV2_NOWAIT] = {"preadv2-nowait", {OFTEN(EINTR), OFTEN(EAGAIN), FOREVER(EOPNOTSUPP), OFTEN(ENOMEM)}},
    [SITE_PWRITEV2] = {"pwritev2", {OFTEN(EINTR), FOREVER(ENOSPC)}},
    [SITE_PWRITEV2_NOWAIT] = {"pwritev2-nowait", {OFTEN(EINTR), OFTEN(EAGAIN), FOREVER(EOPNOTSUPP), FOREVER(ENOSPC)}},
    [SITE_RECVFROM] = {"recvfrom", {OFTEN(EINTR), OFTEN(EAGAIN), OFTEN(ENOMEM)}},
    [SITE_SENDTO] = {"sendto", {OFTEN(EINTR), OFTEN(EAGAIN), FOREVER(ENOBUFS)}},
    [SITE_ACCEPT] = {"accept", {OFTEN(EINTR), OFTEN(EAGAIN), OFTEN(ECONNABORTED), FOREVER(EMFILE)}},
    [SITE_CONNECT] = {"connect", {AFTER(EINTR), FOREVER(ENOMEM)}},
    [SITE_POLL] = {"poll", {OFTEN(EINTR), OFTEN(ENOMEM)}},
    [SITE_OPENAT] = {"openat", {OFTEN(EINTR), FOREVER(EMFILE)}},
    [SITE_FSYNC] = {"fsync", {OFTEN(EINTR), FOREVER(EIO)}},
    [SITE_CLOSE] = {"close", {AFTER(EINTR)}},
};

struct fault_counts *fault_counts;

static struct fault_plan current_plan;
static atomic_bool is_active;

void faults_begin(const struct fault_plan *plan) {
    current_plan = *plan;
    atomic_store(&is_active, true);
}

void faults_end(void) {
    atomic_store(&is_active, false);
}

const struct fault_kind *fault_at(enum site site) {
    if (!atomic_load(&is_active)) {
        return NULL;
    }
    const uint64_t number = atomic_fetch_add(&fault_counts->calls[site], 1) + 1;
    const struct fault_plan *plan = &current_plan;
    if (plan->kind == NULL || site != plan->site || number < plan->number ||
        number - plan->number > (plan->goes_on ? plan->kind->more : 0)) {
        return NULL;
    }
    atomic_store(&fault_counts->was_injected, true);
    return plan->kind;
}

bool fault_was_injected(void) {
    return atomic_load(&fault_counts->was_injected);
}
