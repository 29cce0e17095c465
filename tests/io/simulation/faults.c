/* SPDX-License-Identifier: MIT */
/* The faults: memory runs out, rings are full, I/O is lost, workers come and go, the clock jumps, tasks are
 * cancelled. */
#include "io/simulation/world.h"

enum { ALLOCATIONS_FAIL_ONE_IN = 4, WORKERS_MAX = 12 };

static void *allocate(void *context, size_t size, size_t alignment) {
    if (world->memory_fails && chance(ALLOCATIONS_FAIL_ONE_IN)) {
        world->memory.failures++;
        return NULL;
    }
    return world->memory.allocator.allocate(context, size, alignment);
}

void open_faults(void) {
    verge_test_allocator_init(&world->memory);
    world->allocator = world->memory.allocator;
    world->allocator.allocate = allocate;
    world->memory_fails = false;
    world->can_fail = chance(2);
    world->rings_fill = chance(2);
    const char *backend = getenv("VERGE_BACKEND");
    const bool is_epoll = backend != NULL && strcmp(backend, "epoll") == 0;
    world->is_exact = chance(2) || is_epoll;
    world->loses_io = chance(8) && (is_epoll || !world->is_exact); /* io_uring cancels in any order */
}

static void move_clock(const struct player *self) {
    const uint64_t by_ns = below(chance(10) ? DAY : 100 * MS);
    world->jumped_ns += by_ns;
    verge_manual_clock_advance(&world->clock, by_ns);
    log_event(self, "jump", (int64_t)by_ns);
}

static void change_workers(const struct player *self) {
    const uint32_t count = atomic_load(&world->runtime->runner_count);
    if (chance(2) && count < WORKERS_MAX) {
        const uint64_t failures = world->memory.failures;
        uint32_t index = 0;
        const int error = verge_runtime_add_worker(world->runtime, &index);
        CHECK(error == 0 || (error == -ENOMEM && world->memory.failures > failures));
        log_event(self, "add worker", error);
    } else if (count > 1) {
        const int error = verge_runtime_retire_worker(world->runtime, 1 + (uint32_t)below(count - 1));
        CHECK(error == 0 || error == -EALREADY);
        log_event(self, "retire worker", error);
    }
}

static void lose_io(const struct player *self) {
    world->io_error = -EPERM;
    world->runtime->runners[0]->reactor->injected_error = -EPERM;
    log_event(self, "no more I/O", 0);
}

/* The task that makes faults. It is a task like others, so its own waits may fail as well. */
intptr_t sabotage(void *argument) {
    const struct player *self = argument;
    while (!verge_task_is_cancelled()) {
        if (world->loses_io && world->io_error == 0 && chance(20)) {
            lose_io(self);
        }
        switch (below(8)) {
        case 0:
        case 1:
            world->memory_fails = world->can_fail && !world->memory_fails;
            log_event(self, "memory", world->memory_fails);
            break;
        case 2:
        case 3:
            if (world->rings_fill) {
                world->runtime->runners[0]->reactor->refusals = (unsigned)below(20);
            }
            break;
        case 4:
            move_clock(self);
            break;
        case 5:
        case 6:
            change_workers(self);
            break;
        default:
            cancel_somebody(self);
            break;
        }
        (void)verge_sleep(below(20 * MS));
    }
    world->memory_fails = false;
    return 0;
}
