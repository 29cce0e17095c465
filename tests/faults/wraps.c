/* SPDX-License-Identifier: MIT */
/* Functions of memory, threads and futexes that the library or the jobs call, wrapped at link time, so that they can
 * fail. And a clock that can jump. */
#define _GNU_SOURCE

#include <errno.h>
#include <linux/futex.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "faults/sites.h"

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_aligned_alloc(size_t alignment, size_t size);
void __real_free(void *memory);
void *__real_mmap(void *address, size_t size, int protection, int flags, int fd, off_t offset);
int __real_munmap(void *address, size_t size);
int __real_mprotect(void *address, size_t size, int protection);
int __real_madvise(void *address, size_t size, int advice);
long __real_syscall(long number, ...);
int __real_pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*function)(void *),
                          void *argument);
int __real_pthread_atfork(void (*prepare)(void), void (*parent)(void), void (*child)(void));
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_aligned_alloc(size_t alignment, size_t size);
void __wrap_free(void *memory);
void *__wrap_mmap(void *address, size_t size, int protection, int flags, int fd, off_t offset);
int __wrap_munmap(void *address, size_t size);
int __wrap_mprotect(void *address, size_t size, int protection);
int __wrap_madvise(void *address, size_t size, int advice);
long __wrap_syscall(long number, long a, long b, long c, long d, long e, long f);
int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*function)(void *),
                          void *argument);
int __wrap_pthread_atfork(void (*prepare)(void), void (*parent)(void), void (*child)(void));

static _Atomic int64_t outstanding;

static bool failed_at(enum site site) {
    const struct fault_kind *kind = fault_at(site);
    errno = kind != NULL ? kind->error : errno;
    return kind != NULL;
}

int64_t wraps_outstanding(void) {
    return atomic_load(&outstanding);
}

void *__wrap_malloc(size_t size) {
    void *memory = fault_at(SITE_MEMORY) == NULL ? __real_malloc(size) : NULL;
    (void)atomic_fetch_add(&outstanding, memory != NULL);
    return memory;
}

void *__wrap_calloc(size_t count, size_t size) {
    void *memory = fault_at(SITE_MEMORY) == NULL ? __real_calloc(count, size) : NULL;
    (void)atomic_fetch_add(&outstanding, memory != NULL);
    return memory;
}

void *__wrap_aligned_alloc(size_t alignment, size_t size) {
    void *memory = fault_at(SITE_MEMORY) == NULL ? __real_aligned_alloc(alignment, size) : NULL;
    (void)atomic_fetch_add(&outstanding, memory != NULL);
    return memory;
}

void __wrap_free(void *memory) {
    (void)atomic_fetch_sub(&outstanding, memory != NULL);
    __real_free(memory);
}

void *__wrap_mmap(void *address, size_t size, int protection, int flags, int fd, off_t offset) {
    if (failed_at(SITE_MMAP)) {
        return MAP_FAILED;
    }
    void *memory = __real_mmap(address, size, protection, flags, fd, offset);
    (void)atomic_fetch_add(&outstanding, memory != MAP_FAILED);
    return memory;
}

int __wrap_mprotect(void *address, size_t size, int protection) {
    return failed_at(SITE_MPROTECT) ? -1 : __real_mprotect(address, size, protection);
}

int __wrap_madvise(void *address, size_t size, int advice) {
    return failed_at(SITE_MADVISE) ? -1 : __real_madvise(address, size, advice);
}

/* The library calls syscall() for futexes, and to open a descriptor of a process. Variadic arguments are passed like
 * others here. */
long __wrap_syscall(long number, long a, long b, long c, long d, long e, long f) {
    const long command = b & FUTEX_CMD_MASK;
    const bool waits = number == SYS_futex && (command == FUTEX_WAIT || command == FUTEX_WAIT_BITSET);
    return waits && failed_at(SITE_FUTEX_WAIT) ? -1 : __real_syscall(number, a, b, c, d, e, f);
}

int __wrap_munmap(void *address, size_t size) {
    const int result = __real_munmap(address, size);
    (void)atomic_fetch_sub(&outstanding, result == 0);
    return result;
}

int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*function)(void *),
                          void *argument) {
    const struct fault_kind *kind = fault_at(SITE_THREAD);
    return kind == NULL ? __real_pthread_create(thread, attributes, function, argument) : kind->error;
}

int __wrap_pthread_atfork(void (*prepare)(void), void (*parent)(void), void (*child)(void)) {
    const struct fault_kind *kind = fault_at(SITE_ATFORK);
    return kind == NULL ? __real_pthread_atfork(prepare, parent, child) : kind->error;
}

/* ---- the clock ---- */

static _Atomic int64_t offset_ns;
static _Atomic uint64_t latest_ns;

uint64_t faulty_clock_now(void *context) {
    (void)context;
    const int64_t ms = 1000000;
    const struct fault_kind *kind = fault_at(SITE_CLOCK);
    int64_t once_ns = 0;
    if (kind != NULL && kind->error == FAULT_AHEAD) {
        atomic_store(&offset_ns, 10000 * ms);
    } else if (kind != NULL && kind->error == FAULT_BACK) {
        atomic_store(&offset_ns, -30 * ms);
    } else if (kind != NULL) {
        once_ns = -30 * ms;
    }
    struct timespec time;
    (void)clock_gettime(CLOCK_MONOTONIC, &time);
    const int64_t real_ns = (int64_t)time.tv_sec * 1000 * ms + time.tv_nsec;
    const uint64_t now_ns = (uint64_t)(real_ns + atomic_load(&offset_ns) + once_ns);
    uint64_t before_ns = atomic_load(&latest_ns);
    while (before_ns < now_ns && !atomic_compare_exchange_weak(&latest_ns, &before_ns, now_ns)) {
    }
    return now_ns;
}

uint64_t faulty_clock_latest(void) {
    return atomic_load(&latest_ns);
}
