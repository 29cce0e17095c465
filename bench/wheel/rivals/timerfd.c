/* SPDX-License-Identifier: MIT */
/*
 * The kernel: one timerfd for each timer, all in one epoll set. It runs on real time: simulated time is mapped to it,
 * one to one, from the moment of creation. So it takes part only in workloads in which little time passes.
 */
#include <errno.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#include "../clock.h"
#include "../fail.h"
#include "../memory.h"
#include "../rival.h"
#include "../rivals.h"

enum {
    BATCH_COUNT = 256,
    ID_COUNT_MAX = 2000,
    SPARE_DESCRIPTORS = 64,
};

struct adapter {
    int epoll;
    int *descriptors;
    uint32_t id_count;
    uint64_t simulated_to_real_ns; /* real minus simulated time, modulo 2^64 */
    struct bench_log *log;
};

static struct timespec timespec_of(uint64_t time_ns) {
    return (struct timespec){.tv_sec = (time_t)(time_ns / 1000000000), .tv_nsec = (long)(time_ns % 1000000000)};
}

static void allow_descriptors(uint32_t count) {
    struct rlimit limit;
    getrlimit(RLIMIT_NOFILE, &limit);
    if (limit.rlim_cur < count && limit.rlim_max >= count) {
        limit.rlim_cur = count;
        setrlimit(RLIMIT_NOFILE, &limit);
    }
}

static int create_timer(const struct adapter *adapter, uint32_t id) {
    int descriptor = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
    if (descriptor < 0) {
        bench_fail("timerfd: cannot create timer %u", id);
    }
    struct epoll_event event = {.events = EPOLLIN, .data = {.u32 = id}};
    if (epoll_ctl(adapter->epoll, EPOLL_CTL_ADD, descriptor, &event) != 0) {
        bench_fail("timerfd: cannot watch timer %u", id);
    }
    return descriptor;
}

static void *adapter_create(const struct bench_setup *setup) {
    allow_descriptors(setup->id_count + SPARE_DESCRIPTORS);
    struct adapter *adapter = bench_memory_allocate(sizeof(*adapter), alignof(struct adapter));
    adapter->epoll = epoll_create1(EPOLL_CLOEXEC);
    adapter->log = setup->log;
    adapter->id_count = setup->id_count;
    adapter->descriptors = bench_memory_allocate(setup->id_count * sizeof(int), alignof(int));
    for (uint32_t id = 0; id < setup->id_count; id++) {
        adapter->descriptors[id] = create_timer(adapter, id);
    }
    adapter->simulated_to_real_ns = bench_wall_ns() - setup->start_ns;
    return adapter;
}

static void adapter_destroy(void *self) {
    struct adapter *adapter = self;
    for (uint32_t id = 0; id < adapter->id_count; id++) {
        close(adapter->descriptors[id]);
    }
    close(adapter->epoll);
    bench_memory_release(adapter->descriptors, adapter->id_count * sizeof(int));
    bench_memory_release(adapter, sizeof(*adapter));
}

static int adapter_schedule(void *self, uint32_t id, uint64_t deadline_ns) {
    struct adapter *adapter = self;
    struct itimerspec setting = {.it_value = timespec_of(deadline_ns + adapter->simulated_to_real_ns)};
    return timerfd_settime(adapter->descriptors[id], TFD_TIMER_ABSTIME, &setting, NULL);
}

static int adapter_cancel(void *self, uint32_t id) {
    struct adapter *adapter = self;
    const struct itimerspec off = {0};
    struct itimerspec old;
    timerfd_settime(adapter->descriptors[id], 0, &off, &old);
    return old.it_value.tv_sec != 0 || old.it_value.tv_nsec != 0 ? 0 : -1;
}

static void adapter_advance(void *self, uint64_t now_ns) {
    struct adapter *adapter = self;
    (void)now_ns;
    struct epoll_event events[BATCH_COUNT];
    int count;
    do {
        count = epoll_wait(adapter->epoll, events, BATCH_COUNT, 0);
        for (int i = 0; i < count; i++) {
            uint32_t id = events[i].data.u32;
            uint64_t expirations;
            if (read(adapter->descriptors[id], &expirations, sizeof(expirations)) == (ssize_t)sizeof(expirations)) {
                bench_log_fired(adapter->log, id);
            }
        }
    } while (count == BATCH_COUNT);
}

static void adapter_footprint(void *self, struct bench_footprint *ret_footprint) {
    const struct adapter *adapter = self;
    *ret_footprint = (struct bench_footprint){.own_bytes = 0, .embedded_bytes = sizeof(adapter->descriptors[0])};
}

static void adapter_await(void *self, uint64_t now_ns) {
    const struct adapter *adapter = self;
    struct timespec until = timespec_of(now_ns + adapter->simulated_to_real_ns);
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL) == EINTR) {
    }
}

static uint32_t adapter_pending(void *self) {
    const struct adapter *adapter = self;
    uint32_t count = 0;
    for (uint32_t id = 0; id < adapter->id_count; id++) {
        struct itimerspec setting;
        timerfd_gettime(adapter->descriptors[id], &setting);
        count += setting.it_value.tv_sec != 0 || setting.it_value.tv_nsec != 0;
    }
    return count;
}

const struct bench_rival bench_rival_timerfd = {
    .name = "timerfd",
    .flags = BENCH_RIVAL_SLOW | BENCH_RIVAL_REAL_TIME,
    .id_count_max = ID_COUNT_MAX,
    .create = adapter_create,
    .destroy = adapter_destroy,
    .schedule = adapter_schedule,
    .cancel = adapter_cancel,
    .reschedule = adapter_schedule,
    .advance = adapter_advance,
    .footprint = adapter_footprint,
    .await = adapter_await,
    .pending = adapter_pending,
};
