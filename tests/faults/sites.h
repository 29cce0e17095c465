/* SPDX-License-Identifier: MIT */
/*
 * faults/sites.h - which calls of the system can fail, and how.
 *
 * A site is a function of the system that the library calls. Calls about files are caught where the system call is
 * made, even inside liburing (trap.c). Functions of memory, threads and futexes are wrapped at link time, and the clock
 * is one that the jobs pass (wraps.c). The calls of each site are counted, and a plan names the number of the call that
 * fails.
 */
#ifndef VERGE_TESTS_FAULTS_SITES_H
#define VERGE_TESTS_FAULTS_SITES_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

enum site {
    SITE_MEMORY,
    SITE_THREAD,
    SITE_ATFORK,
    SITE_CLOCK,
    SITE_MMAP,
    SITE_MPROTECT,
    SITE_MADVISE,
    SITE_FUTEX_WAIT,
    SITE_EVENTFD,
    SITE_EPOLL_CREATE,
    SITE_EPOLL_CTL,
    SITE_EPOLL_PWAIT2,
    SITE_URING_SETUP,
    SITE_URING_ENTER,
    SITE_READ,
    SITE_WRITE,
    SITE_PREADV2,
    SITE_PREADV2_NOWAIT,
    SITE_PWRITEV2,
    SITE_PWRITEV2_NOWAIT,
    SITE_RECVFROM,
    SITE_SENDTO,
    SITE_ACCEPT,
    SITE_CONNECT,
    SITE_POLL,
    SITE_OPENAT,
    SITE_FSYNC,
    SITE_CLOSE,
    SITE_COUNT,
};

/* Faults that are not errno values. */
enum {
    FAULT_SHORT = 1000, /* io_uring_enter takes half of what is submitted, and does not wait */
    FAULT_BACK_ONCE,    /* the clock: one reading is 30 ms too early */
    FAULT_BACK,         /* the clock: from this reading on, it is 30 ms too early */
    FAULT_AHEAD,        /* the clock: from this reading on, it is 10 s ahead */
};

enum { FAULT_KIND_COUNT_MAX = 8 };

struct fault_kind {
    const char *name; /* NULL ends the list of a site */
    int error;
    bool after;    /* the call is made, but its result is dropped */
    uint64_t more; /* if the fault goes on: how many later calls fail as well; 0: it cannot go on */
};

struct site_description {
    const char *name;
    struct fault_kind kinds[FAULT_KIND_COUNT_MAX];
};

extern const struct site_description sites[SITE_COUNT];

struct fault_plan {
    enum site site;
    const struct fault_kind *kind; /* NULL: nothing fails, calls are counted */
    uint64_t number;               /* of the call that fails; the first call of the site is number 1 */
    bool goes_on;                  /* later calls fail as well: kind->more of them */
};

/* These counts are in memory that parent and child share. */
struct fault_counts {
    _Atomic uint64_t calls[SITE_COUNT];
    _Atomic bool was_injected;
};

extern struct fault_counts *fault_counts;

/* From faults_begin to faults_end, the calls of all sites are counted, and the calls that the plan names fail. (System
 * calls are caught before and after that, too, until the process ends.) */
void faults_begin(const struct fault_plan *plan);
void faults_end(void);

/* Counts a call. Returns the fault that the call must have, or NULL. */
const struct fault_kind *fault_at(enum site site);

/* Whether a fault of the plan has happened. Only then may calls of the library fail. */
bool fault_was_injected(void);

/* trap.c */
bool trap_install(void);

/* wraps.c. wraps_outstanding: how many blocks and mappings of memory were not given back. faulty_clock_latest: the
 * latest time that the clock has shown. */
int64_t wraps_outstanding(void);
uint64_t faulty_clock_now(void *context);
uint64_t faulty_clock_latest(void);

#endif
