/* SPDX-License-Identifier: MIT */
/*
 * Dumps: what every task does, as text. The tasks of a runner are in a list, under its list_latch. A task is taken out
 * of the list before it is freed. So the memory and the stack of a task in the list exist as long as the latch is held.
 * The dump copies what it finds, and writes the text after it has released the latch, as the writer may wait.
 *
 * Tasks continue to run meanwhile. Their state is atomic, and each name is under the latch of its task. The frames of a
 * stack are read without a latch, and the task may run again at any time. So the walk over the frames follows a
 * frame pointer only upwards and inside the stack: then the walk ends. Its result counts only if the task was suspended
 * in the same state and at the same stack pointer before and after the walk.
 */
#define _GNU_SOURCE

#include <dlfcn.h>
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "reactor/operation.h"
#include "task/context_machine.h"
#include "task/current.h"
#include "task/dump.h"
#include "task/latch.h"
#include "task/observe.h"
#include "task/runner.h"

enum { FRAME_COUNT_MAX = 24, TEXT_SIZE = 4096 };

/* A snapshot of a task. */
typedef struct verge__task_snapshot {
    const verge_task *task;
    verge_task_function function;
    char name[VERGE_TASK_NAME_SIZE];
    uint8_t state;
    uint8_t awaits;
    bool has_begun;
    bool is_cancelled;
    bool is_caller;
    uint32_t frame_count;
    uintptr_t awaited;
    uint64_t deadline_ns;
    uint64_t stopped_ns;
    uintptr_t frames[FRAME_COUNT_MAX];
} verge__task_snapshot;

void verge__copy_name(verge_task *task, char name[VERGE_TASK_NAME_SIZE]) {
    verge__lock(&task->latch);
    memcpy(name, task->name, VERGE_TASK_NAME_SIZE);
    verge__unlock(&task->latch);
}

/* ---- frames ---- */

/* Returns a return address without the signature (pointer authentication) that the machine may have put into it. */
static uintptr_t plain_address(uintptr_t address) {
#if defined(__aarch64__)
    register uintptr_t x30 __asm__("x30") = address;
    __asm__("hint #7" : "+r"(x30)); /* xpaclri; has no effect on machines without signatures */
    return x30;
#else
    return address;
#endif
}

/* A frame is two words: the frame pointer of the caller, and the return address. `address` and `frame` are as
 * verge__context_where returns them. */
static VERGE__NOT_SANITIZED void walk(const verge_task *task, uintptr_t address, uintptr_t frame,
                                      verge__task_snapshot *snapshot) {
    const uintptr_t low = (uintptr_t)task->stack->low;
    const uintptr_t high = (uintptr_t)task - 2 * sizeof(uintptr_t); /* the task struct is above its stack */
    while (address != 0 && snapshot->frame_count < FRAME_COUNT_MAX) {
        snapshot->frames[snapshot->frame_count++] = plain_address(address);
        if (frame == 0 || frame < low || frame > high || frame % sizeof(uintptr_t) != 0) {
            return;
        }
        const volatile uintptr_t *words = (const volatile uintptr_t *)frame;
        const uintptr_t next = words[0];
        address = words[1];
        if (next != 0 && next <= frame) {
            return;
        }
        frame = next;
    }
}

static bool is_suspended(uint8_t state) {
    return state != VERGE__TASK_RUNNING && state != VERGE__TASK_ENDED;
}

static VERGE__NOT_SANITIZED const void *stack_pointer_of(const verge_task *task) {
    return *(void *const volatile *)&task->context.stack_pointer;
}

static void find_frames(const verge_task *task, verge__task_snapshot *snapshot) {
    const void *stack_pointer = stack_pointer_of(task);
    const bool is_inside =
        (uintptr_t)stack_pointer >= (uintptr_t)task->stack->low && (uintptr_t)stack_pointer < (uintptr_t)task;
    uintptr_t address, frame;
    if (!is_suspended(snapshot->state) || !snapshot->has_begun || !is_inside ||
        !verge__context_where(stack_pointer, &address, &frame)) {
        return;
    }
    walk(task, address, frame, snapshot);
    if (atomic_load(&task->state) != snapshot->state || stack_pointer_of(task) != stack_pointer) {
        snapshot->frame_count = 0;
    }
}

/* ---- looking ---- */

static void look_at(verge_task *task, verge__task_snapshot *snapshot) {
    *snapshot = (verge__task_snapshot){
        .task = task,
        .function = task->function,
        .state = atomic_load(&task->state),
        .awaits = atomic_load_explicit(&task->awaits, memory_order_relaxed),
        .has_begun = atomic_load_explicit(&task->has_begun, memory_order_relaxed),
        .is_cancelled = atomic_load(&task->is_cancelled),
        .is_caller = task == verge__current_task(),
        .awaited = atomic_load_explicit(&task->awaited, memory_order_relaxed),
        .deadline_ns = atomic_load_explicit(&task->awaited_deadline_ns, memory_order_relaxed),
        .stopped_ns = atomic_load_explicit(&task->stopped_ns, memory_order_relaxed),
    };
    verge__copy_name(task, snapshot->name);
    if (snapshot->is_caller) { /* the walk begins where this function returns to, in the frame of its caller */
        const uintptr_t *own_frame = __builtin_frame_address(0);
        walk(task, own_frame[1], own_frame[0], snapshot);
    } else {
        find_frames(task, snapshot);
    }
}

/* Copies the tasks of a runner, the oldest first, if there is room for all. Returns how many tasks the runner has. */
static size_t look_at_all(verge__runner *runner, verge__task_snapshot *snapshots, size_t room) {
    size_t count = 0;
    verge__lock(&runner->list_latch);
    for (const verge__link *link = runner->listed; link != NULL; link = link->next) {
        count++;
    }
    if (count <= room) {
        size_t left = count;
        for (verge__link *link = runner->listed; link != NULL; link = link->next) {
            look_at(verge__listed_task(link), &snapshots[--left]);
        }
    }
    verge__unlock(&runner->list_latch);
    return count;
}

/* ---- writing ---- */

typedef struct verge__dump_output {
    verge__dump_writer write;
    void *context;
    int error; /* what the writer returned, if not 0 */
    size_t size;
    char text[TEXT_SIZE];
} verge__dump_output;

static void flush(verge__dump_output *output) {
    if (output->error == 0 && output->size != 0) {
        output->error = output->write(output->context, output->text, output->size);
    }
    output->size = 0;
}

/* One call prints at most a quarter of the buffer. */
static __attribute__((format(printf, 2, 3))) void print(verge__dump_output *output, const char *format, ...) {
    va_list arguments;
    if (output->size > sizeof(output->text) * 3 / 4) {
        flush(output);
    }
    va_start(arguments, format);
    const size_t room = sizeof(output->text) - output->size;
    const int size = vsnprintf(output->text + output->size, room, format, arguments);
    va_end(arguments);
    output->size += size < 0 ? 0 : (size_t)size < room ? (size_t)size : room - 1;
}

static void print_seconds(verge__dump_output *output, uint64_t ns) {
    print(output, "%" PRIu64 ".%03u s", ns / 1000000000, (unsigned)(ns / 1000000 % 1000));
}

/* Prints an address. Then prints the file in which the address lies and the offset in this file (for addr2line), and
 * the function, if the dynamic linker knows its name. */
static void print_address(verge__dump_output *output, uintptr_t address) {
    Dl_info info = {0};
    print(output, "0x%" PRIxPTR, address);
    if (dladdr((const void *)address, &info) == 0 || info.dli_fname == NULL) {
        return;
    }
    const char *slash = strrchr(info.dli_fname, '/');
    print(output, " %.200s+0x%" PRIxPTR, slash != NULL ? slash + 1 : info.dli_fname,
          address - (uintptr_t)info.dli_fbase);
    if (info.dli_sname != NULL) {
        print(output, " (%.200s+0x%" PRIxPTR ")", info.dli_sname, address - (uintptr_t)info.dli_saddr);
    }
}

static const char *operation_name(unsigned kind) {
    static const char *const names[] = {
        [VERGE__ACCEPT] = "accept",   [VERGE__CONNECT] = "connect", [VERGE__READ] = "read",
        [VERGE__WRITE] = "write",     [VERGE__READV] = "readv",     [VERGE__WRITEV] = "writev",
        [VERGE__RECV] = "recv",       [VERGE__SEND] = "send",       [VERGE__RECVMSG] = "recvmsg",
        [VERGE__SENDMSG] = "sendmsg", [VERGE__POLL] = "poll",       [VERGE__FSYNC] = "fsync",
        [VERGE__OPENAT] = "openat",   [VERGE__CLOSE] = "close",     [VERGE__SPLICE] = "splice",
        [VERGE__CUSTOM] = "uring",
    };
    return kind < sizeof(names) / sizeof(*names) && names[kind] != NULL ? names[kind] : "I/O";
}

static void print_awaited(verge__dump_output *output, const verge__task_snapshot *snapshot) {
    static const char *const names[] = {
        [VERGE__AWAITS_TIME] = "time",
        [VERGE__AWAITS_TASK] = "task",
        [VERGE__AWAITS_MUTEX] = "mutex",
        [VERGE__AWAITS_CONDITION] = "condition",
        [VERGE__AWAITS_SEND] = "room in channel",
        [VERGE__AWAITS_RECEIVE] = "an item of channel",
        [VERGE__AWAITS_SELECT] = "the first of several (select)",
        [VERGE__AWAITS_GROUP] = "group",
        [VERGE__AWAITS_SEMAPHORE] = "semaphore",
        [VERGE__AWAITS_RWLOCK] = "read-write lock",
        [VERGE__AWAITS_BROADCAST] = "an item of broadcast",
        [VERGE__AWAITS_BLOCKING] = "blocking call",
    };
    if (snapshot->awaits >= VERGE__AWAITS_OPERATION) {
        const unsigned kind = snapshot->awaits - (unsigned)VERGE__AWAITS_OPERATION;
        print(output, "waits for %s", operation_name(kind));
        if (kind != VERGE__CUSTOM) {
            print(output, " of descriptor %d", (int)snapshot->awaited);
        }
        return;
    }
    print(output, "waits for %s", names[snapshot->awaits]);
    if (snapshot->awaited != 0) {
        print(output, " 0x%" PRIxPTR, snapshot->awaited);
    }
}

static void print_deadline(verge__dump_output *output, uint64_t deadline_ns, uint64_t now_ns) {
    if (deadline_ns == 0) {
        print(output, ", no deadline");
    } else if (deadline_ns >= now_ns) {
        print(output, ", deadline in ");
        print_seconds(output, deadline_ns - now_ns);
    } else {
        print(output, ", deadline was ");
        print_seconds(output, now_ns - deadline_ns);
        print(output, " ago");
    }
}

static void print_state(verge__dump_output *output, const verge__task_snapshot *snapshot, uint64_t now_ns) {
    if (snapshot->state == VERGE__TASK_RUNNING) {
        print(output, "runs");
    } else if (snapshot->state == VERGE__TASK_ENDED) {
        print(output, "has ended");
    } else if (snapshot->state == VERGE__TASK_READY) {
        print(output, snapshot->has_begun ? "can run" : "has not begun");
    } else {
        print_awaited(output, snapshot);
        print(output, " for ");
        print_seconds(output, now_ns > snapshot->stopped_ns ? now_ns - snapshot->stopped_ns : 0);
        print_deadline(output, snapshot->deadline_ns, now_ns);
    }
    print(output, snapshot->is_cancelled ? ", cancelled\n" : "\n");
}

static void print_snapshot(verge__dump_output *output, const verge__task_snapshot *snapshot, uint32_t worker_id,
                           uint64_t now_ns) {
    print(output, "task 0x%" PRIxPTR " \"%s\", worker %" PRIu32 ": ", (uintptr_t)snapshot->task, snapshot->name,
          worker_id);
    print_state(output, snapshot, now_ns);
    print(output, "    function ");
    print_address(output, (uintptr_t)snapshot->function);
    print(output, "\n");
    for (uint32_t i = 0; i < snapshot->frame_count; i++) {
        print(output, "    at ");
        print_address(output, snapshot->frames[i]);
        print(output, "\n");
    }
}

/* ---- the calls ---- */

static int dump_runner(verge__runner *runner, verge__dump_output *output) {
    const verge_allocator *allocator = &runner->runtime->allocator;
    verge__task_snapshot *snapshots = NULL;
    size_t room = 0;
    size_t count;
    while ((count = look_at_all(runner, snapshots, room)) > room) {
        if (snapshots != NULL) {
            allocator->release(allocator->context, snapshots, room * sizeof(*snapshots));
        }
        room = count + count / 4 + 16;
        snapshots = allocator->allocate(allocator->context, room * sizeof(*snapshots), _Alignof(verge__task_snapshot));
        if (snapshots == NULL) {
            return -ENOMEM;
        }
    }
    const uint64_t now_ns = verge__clock_now(&runner->runtime->clock);
    for (size_t i = 0; i < count && output->error == 0; i++) {
        print_snapshot(output, &snapshots[i], runner->index, now_ns);
    }
    if (snapshots != NULL) {
        allocator->release(allocator->context, snapshots, room * sizeof(*snapshots));
    }
    return output->error;
}

int verge__dump(verge_runtime *runtime, verge__dump_writer write, void *context) {
    if (verge__runtime_is_forked(runtime)) {
        return -ECHILD;
    }
    verge__dump_output output = {.write = write, .context = context};
    const uint32_t count = atomic_load(&runtime->runner_count);
    print(&output, "verge runtime 0x%" PRIxPTR ": %" PRIu64 " tasks, %" PRIu32 " workers, time %" PRIu64 " ns",
          (uintptr_t)runtime, verge__existing_tasks(runtime), count, verge__clock_now(&runtime->clock));
    const uint64_t unjoined = verge__unjoined_tasks(runtime);
    if (unjoined != 0) {
        print(&output, "; %" PRIu64 " ended and not joined", unjoined);
    }
    print(&output, "\n");
    int error = 0;
    for (uint32_t i = 0; i < count && error == 0; i++) {
        error = dump_runner(runtime->runners[i], &output);
    }
    flush(&output);
    return error != 0 ? error : output.error;
}

static int write_to(void *context, const char *text, size_t size) {
    const int fd = *(const int *)context;
    while (size != 0) {
        const ssize_t written = write(fd, text, size);
        if (written >= 0) {
            text += written;
            size -= (size_t)written;
        } else if (errno == EAGAIN) {
            struct pollfd wanted = {.fd = fd, .events = POLLOUT};
            (void)poll(&wanted, 1, -1);
        } else if (errno != EINTR) {
            return -errno;
        }
    }
    return 0;
}

int verge_runtime_dump(verge_runtime *runtime, int fd) {
    verge_runtime *dumped = runtime != NULL ? runtime : verge_task_runtime();
    if (dumped == NULL || fd < 0) {
        return dumped == NULL ? -EPERM : -EBADF;
    }
    return verge__dump(dumped, write_to, &fd);
}
