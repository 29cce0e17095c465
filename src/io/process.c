/* SPDX-License-Identifier: MIT */
/*
 * Child processes. The end of a child is an event of its pidfd. While a program runs with pipes, there are up to four
 * things to wait for. An epoll instance turns them into one descriptor, and verge_poll waits for that, on either
 * backend.
 *
 *   R1  From the start of the program until it is reaped, no other process has its pid. So no other process is
 *       signalled.
 *   R2  However the call ends, the program has been reaped, and all descriptors are closed.
 */
#define _GNU_SOURCE

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/sized.h"
#include "reactor/operation.h"
#include "task/current.h"
#include "task/pool.h"
#include "task/runtime.h"
#include "task/wait.h"
#include "verge/io.h"
#include "verge/process.h"

enum { NONE = -1 };

static int open_pidfd(pid_t pid) {
    const long fd = syscall(SYS_pidfd_open, pid, 0);
    if (fd < 0) {
        return errno == ESRCH ? -ECHILD : -errno;
    }
    return (int)fd;
}

/* 1: the child has ended, and is reaped. 0: it runs. -ECHILD: there is no such child. */
static int reap_ended(pid_t pid, int *ret_status) {
    pid_t result;
    do {
        result = waitpid(pid, ret_status, WNOHANG);
    } while (result < 0 && errno == EINTR);
    return result < 0 ? -errno : result == pid;
}

int verge_wait_process(pid_t pid, int *ret_status, uint64_t deadline_ns) {
    if (verge__current_task() == NULL) {
        return -EPERM;
    }
    if (pid <= 0) {
        return -EINVAL;
    }
    int status = 0;
    int result = reap_ended(pid, &status);
    if (result == 0) {
        const int fd = open_pidfd(pid);
        result = fd < 0 ? fd : 0;
        while (result == 0) {
            result = verge_poll(fd, POLLIN, deadline_ns);
            result = result < 0 ? result : reap_ended(pid, &status);
        }
        if (fd >= 0) {
            (void)close(fd);
        }
    }
    if (result > 0 && ret_status != NULL) {
        *ret_status = status;
    }
    return result > 0 ? 0 : result;
}

/* ---- running a program ---- */

/* A pipe to or from the program, and the memory at this end of it. */
typedef struct process_stream {
    int near, far; /* near: the end of this process; far: that of the program; NONE: closed */
    char *memory;
    size_t size;
    size_t done;      /* how many bytes of the memory were written to the pipe, or read from it */
    uint64_t dropped; /* bytes of output for which the memory had no room */
} process_stream;

enum { INPUT, OUTPUT, ERRORS, STREAM_COUNT };

typedef struct running_program {
    const verge_process_options *options;
    process_stream streams[STREAM_COUNT];
    int events; /* an epoll instance */
    int pidfd;
    pid_t pid;
    int spawn_error;
    int status;
    bool is_reaped;
    bool is_lost; /* the program was reaped elsewhere (head of verge/process.h) */
} running_program;

static void close_fd(int *fd) {
    if (*fd != NONE) {
        (void)close(*fd);
        *fd = NONE;
    }
}

/* Moves a descriptor of a pipe above 0, 1 and 2. If the calling process has closed these, the pipe may have got them.
 * In the child, 0, 1 and 2 are made one after the other, and must not overwrite a pipe that is still needed. */
static int move_above_standard(int *fd) {
    if (*fd > STDERR_FILENO) {
        return 0;
    }
    const int moved = fcntl(*fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    if (moved < 0) {
        return -errno;
    }
    close_fd(fd);
    *fd = moved;
    return 0;
}

static int open_stream(process_stream *stream, bool is_input) {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) {
        return -errno;
    }
    stream->near = ends[is_input ? 1 : 0];
    stream->far = ends[is_input ? 0 : 1];
    int error = move_above_standard(&stream->near);
    error = error != 0 ? error : move_above_standard(&stream->far);
    if (error == 0 && fcntl(stream->near, F_SETFL, O_NONBLOCK) != 0) {
        error = -errno;
    }
    return error;
}

static int watch(const running_program *child, int fd, uint32_t events, uint32_t what) {
    struct epoll_event event = {.events = events, .data.u32 = what};
    return epoll_ctl(child->events, EPOLL_CTL_ADD, fd, &event) == 0 ? 0 : -errno;
}

static int open_child(running_program *child) {
    child->events = epoll_create1(EPOLL_CLOEXEC);
    int error = child->events < 0 ? -errno : 0;
    for (int i = INPUT; i < STREAM_COUNT && error == 0; i++) {
        process_stream *stream = &child->streams[i];
        const bool is_wanted = i == INPUT ? stream->size != 0 : stream->memory != NULL;
        if (is_wanted) {
            error = open_stream(stream, i == INPUT);
            error = error != 0 ? error : watch(child, stream->near, i == INPUT ? EPOLLOUT : EPOLLIN, (uint32_t)i);
        }
    }
    return error;
}

static void close_child(running_program *child) {
    for (int i = INPUT; i < STREAM_COUNT; i++) {
        close_fd(&child->streams[i].near);
        close_fd(&child->streams[i].far);
    }
    close_fd(&child->events);
    close_fd(&child->pidfd);
}

/* ---- starting the program ---- */

static int set_streams(const running_program *child, posix_spawn_file_actions_t *actions) {
    int error = 0;
    for (int i = INPUT; i < STREAM_COUNT && error == 0; i++) {
        if (child->streams[i].far != NONE) {
            error = posix_spawn_file_actions_adddup2(actions, child->streams[i].far, i);
        } else if (i == INPUT) {
            error = posix_spawn_file_actions_addopen(actions, i, "/dev/null", O_RDONLY, 0);
        }
    }
    if (error == 0 && child->options->directory != NULL) {
        error = posix_spawn_file_actions_addchdir_np(actions, child->options->directory);
    }
    return error;
}

static int set_attributes(posix_spawnattr_t *attributes) {
    sigset_t none, defaults;
    (void)sigemptyset(&none);
    (void)sigemptyset(&defaults);
    (void)sigaddset(&defaults, SIGPIPE);
    const int flags = POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF;
    int error = posix_spawnattr_setflags(attributes, (short)flags);
    error = error != 0 ? error : posix_spawnattr_setpgroup(attributes, 0);
    error = error != 0 ? error : posix_spawnattr_setsigmask(attributes, &none);
    return error != 0 ? error : posix_spawnattr_setsigdefault(attributes, &defaults);
}

/* Blocks until the program has been loaded. */
static intptr_t spawn(void *argument) {
    running_program *child = argument;
    const verge_process_options *options = child->options;
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    int error = posix_spawn_file_actions_init(&actions);
    if (error == 0) {
        error = posix_spawnattr_init(&attributes);
        if (error == 0) {
            char *const *arguments = (char *const *)(uintptr_t)options->arguments;
            char *const *environment =
                options->environment != NULL ? (char *const *)(uintptr_t)options->environment : environ;
            error = set_streams(child, &actions);
            error = error != 0 ? error : set_attributes(&attributes);
            error = error != 0 ? error
                               : posix_spawnp(&child->pid, arguments[0], &actions, &attributes, arguments, environment);
            (void)posix_spawnattr_destroy(&attributes);
        }
        (void)posix_spawn_file_actions_destroy(&actions);
    }
    child->spawn_error = -error;
    return 0;
}

/* ---- ending the program ---- */

static void reap(running_program *child) {
    const int result = reap_ended(child->pid, &child->status);
    child->is_reaped = result > 0;
    child->is_lost = result < 0;
}

static void wait_for_end(running_program *child) {
    pid_t result;
    do {
        result = waitpid(child->pid, &child->status, 0);
    } while (result < 0 && errno == EINTR);
    child->is_reaped = result == child->pid;
    child->is_lost = result < 0;
}

static bool ends_within(int pidfd, uint64_t duration_ns) {
    const verge_clock clock = verge_clock_monotonic();
    const uint64_t begin_ns = verge__clock_now(&clock);
    struct pollfd end = {.fd = pidfd, .events = POLLIN};
    uint64_t passed_ns = 0;
    int count = 0;
    while (count <= 0 && passed_ns < duration_ns) {
        const uint64_t left_ns = duration_ns - passed_ns;
        const struct timespec left = {
            .tv_sec = (time_t)(left_ns / 1000000000),
            .tv_nsec = (long)(left_ns % 1000000000),
        };
        count = ppoll(&end, 1, &left, NULL);
        passed_ns = verge__clock_now(&clock) - begin_ns;
    }
    return count > 0;
}

/* Sends a signal to the group, and so also to processes that the program has started. If the program has left the
 * group, sends the signal to the program, too. */
static void send_signal(const running_program *child, int signal) {
    (void)kill(-child->pid, signal);
    if (getpgid(child->pid) != child->pid) {
        (void)kill(child->pid, signal);
    }
}

/* Ends the program, and blocks until it has ended. This takes at most about grace_ns, unless the kernel takes long to
 * end the program. Used where the task cannot wait (end_child). */
static intptr_t end(void *argument) {
    running_program *child = argument;
    const uint64_t grace_ns = child->options->grace_ns;
    if (grace_ns != 0 && child->pidfd != NONE) {
        send_signal(child, SIGTERM);
        (void)ends_within(child->pidfd, grace_ns);
    }
    send_signal(child, SIGKILL);
    wait_for_end(child);
    return 0;
}

static bool is_virtual(const verge_task *self) {
    return self->runtime->options.virtual_clock != NULL;
}

/* Starts the program on a thread. In virtual time, or if no thread can be started, the worker starts it, and is blocked
 * meanwhile. -ETIMEDOUT, -ECANCELED: all threads were busy until the deadline or the cancellation, and the program is
 * not started. */
static int spawn_on_a_thread(running_program *child, uint64_t deadline_ns) {
    verge_task *self = verge__current_task();
    const int error = is_virtual(self) ? -EAGAIN
                                       : verge__blocking_until(self, spawn, child, VERGE__AWAITS_BLOCKING,
                                                               (uintptr_t)spawn, deadline_ns);
    if (error == -ETIMEDOUT || error == -ECANCELED) {
        return verge__count_if_timeout(error);
    }
    if (error != 0) {
        (void)spawn(child);
    }
    return child->spawn_error;
}

static void end_on_a_thread(running_program *child) {
    verge_task *self = verge__current_task();
    if (is_virtual(self) || verge__blocking_regardless(self, end, child, VERGE__AWAITS_BLOCKING, (uintptr_t)end) != 0) {
        (void)end(child);
    }
}

/* Returns a positive number if the program has ended, -ETIMEDOUT if the deadline came first, and -ECANCELED if the task
 * was cancelled first. Another error: the worker's I/O has failed (N5 in verge/io.h), or there is no memory for a
 * timer. */
static int await_end(const running_program *child, uint64_t deadline_ns) {
    verge__operation operation = {.kind = VERGE__POLL, .fd = child->pidfd, .flags = POLLIN, .is_regardless = true};
    return verge__wait_for_operation(verge__current_task(), &operation, deadline_ns);
}

/* Ends the program, and waits until it has ended. Uses a thread of the pool only if it must, since all threads may be
 * busy for long. */
static void end_child(running_program *child) {
    const uint64_t grace_ns = child->options->grace_ns;
    int ended = 0;
    if (child->pidfd == NONE || is_virtual(verge__current_task())) {
        end_on_a_thread(child);
        return;
    }
    if (grace_ns != 0) {
        send_signal(child, SIGTERM);
        ended = await_end(child, verge_deadline_after(grace_ns));
    }
    if (ended >= 0 || ended == -ETIMEDOUT || ended == -ECANCELED) {
        send_signal(child, SIGKILL);
        ended = await_end(child, VERGE_NEVER);
    }
    if (ended > 0) {
        wait_for_end(child); /* which does not block any more */
    } else {
        end_on_a_thread(child);
    }
}

/* ---- while the program runs ---- */

/* As write(2), but without the SIGPIPE of a program that has closed its input. */
static ssize_t write_without_sigpipe(int fd, const void *buffer, size_t size) {
    const struct timespec at_once = {0};
    sigset_t pipe_signal, before, pending;
    (void)sigemptyset(&pipe_signal);
    (void)sigaddset(&pipe_signal, SIGPIPE);
    (void)sigpending(&pending);
    (void)pthread_sigmask(SIG_BLOCK, &pipe_signal, &before);
    const ssize_t written = write(fd, buffer, size);
    const int error = errno;
    if (written < 0 && error == EPIPE && sigismember(&pending, SIGPIPE) == 0) {
        while (sigtimedwait(&pipe_signal, NULL, &at_once) < 0 && errno == EINTR) {
        }
    }
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    errno = error;
    return written;
}

static bool would_wait(ssize_t result) {
    return result < 0 && (errno == EAGAIN || errno == EINTR);
}

static void feed(process_stream *stream) {
    const ssize_t written =
        write_without_sigpipe(stream->near, stream->memory + stream->done, stream->size - stream->done);
    if (would_wait(written)) {
        return;
    }
    stream->done += written > 0 ? (size_t)written : 0;
    if (written <= 0 || stream->done == stream->size) {
        close_fd(&stream->near);
    }
}

/* Reads once from the pipe. Returns whether there was something to read. */
static bool collect(process_stream *stream) {
    char rest[4096];
    const size_t room = stream->size - stream->done;
    const ssize_t count =
        read(stream->near, room != 0 ? stream->memory + stream->done : rest, room != 0 ? room : sizeof(rest));
    if (would_wait(count)) {
        return false;
    }
    if (count <= 0) {
        close_fd(&stream->near); /* end of the file, or an error */
        return false;
    }
    if (room != 0) {
        stream->done += (size_t)count;
    } else {
        stream->dropped += (uint64_t)count;
    }
    return true;
}

/* Reads what the program wrote before it ended. The number of reads is limited, since other processes that have the
 * pipe may write for ever. */
static void collect_rest(process_stream *stream) {
    enum { PIPE_SIZE_MAX = 1 << 20, READ_COUNT_MAX = PIPE_SIZE_MAX / 4096 + 1 };
    for (int i = 0; i < READ_COUNT_MAX && stream->near != NONE && collect(stream); i++) {
    }
}

static void handle_events(running_program *child) {
    struct epoll_event events[STREAM_COUNT + 1];
    const int count = epoll_wait(child->events, events, STREAM_COUNT + 1, 0);
    for (int i = 0; i < count; i++) {
        const uint32_t what = events[i].data.u32;
        if (what == STREAM_COUNT) {
            reap(child);
        } else if (what == INPUT) {
            feed(&child->streams[INPUT]);
        } else {
            (void)collect(&child->streams[what]);
        }
    }
}

static int run_child(running_program *child, uint64_t deadline_ns) {
    child->pidfd = open_pidfd(child->pid);
    int error = child->pidfd < 0 ? child->pidfd : watch(child, child->pidfd, EPOLLIN, STREAM_COUNT);
    if (child->pidfd < 0) {
        child->pidfd = NONE;
    }
    while (error == 0 && !child->is_reaped && !child->is_lost) {
        const int ready = verge_poll(child->events, POLLIN, deadline_ns);
        error = ready < 0 ? ready : 0;
        if (error == 0) {
            handle_events(child);
        }
    }
    if (!child->is_reaped && !child->is_lost) {
        end_child(child);
    }
    collect_rest(&child->streams[OUTPUT]);
    collect_rest(&child->streams[ERRORS]);
    return child->is_lost ? -ECHILD : error;
}

/* ---- the call ---- */

static bool is_wrong(const verge_process_options *options) {
    return options->arguments == NULL || options->arguments[0] == NULL ||
           (options->input == NULL && options->input_size != 0) ||
           (options->output == NULL && options->output_size != 0) ||
           (options->errors == NULL && options->errors_size != 0);
}

static void set_result(const running_program *child, verge_process_result *ret_result) {
    const verge_process_result all = {
        .status = child->status,
        .output_size = child->streams[OUTPUT].done,
        .errors_size = child->streams[ERRORS].done,
        .output_dropped = child->streams[OUTPUT].dropped,
        .errors_dropped = child->streams[ERRORS].dropped,
        .has_begun = child->pid != 0,
    };
    (void)verge__sized_write(ret_result, &all, sizeof(all));
}

/* Returns the error with which the call ends before the program is started; 0: the program may be started. */
static int why_not(const verge_task *self, uint64_t deadline_ns) {
    const uint64_t end_ns = verge__effective_deadline(self, deadline_ns);
    if (atomic_load(&self->is_cancelled)) {
        return -ECANCELED;
    }
    return end_ns != VERGE_NEVER && end_ns <= verge__clock_now(&self->runtime->clock) ? -ETIMEDOUT : 0;
}

static int run(running_program *child, uint64_t deadline_ns) {
    int error = open_child(child);
    if (error == 0) {
        error = spawn_on_a_thread(child, deadline_ns);
    }
    if (error != 0) {
        child->pid = 0;
        return error;
    }
    for (int i = INPUT; i < STREAM_COUNT; i++) {
        close_fd(&child->streams[i].far);
    }
    return run_child(child, deadline_ns);
}

int verge_run_process(const verge_process_options *options, verge_process_result *ret_result, uint64_t deadline_ns) {
    verge_process_options all;
    if (verge__current_task() == NULL) {
        return -EPERM;
    }
    if (verge__sized_read(options, &all, sizeof(all)) != 0 || ret_result == NULL ||
        ret_result->struct_size < sizeof(size_t)) {
        return -EINVAL;
    }
    if (is_wrong(&all) || verge__refuses(verge__current_task(), deadline_ns)) {
        return -EINVAL;
    }
    running_program child = {
        .options = &all,
        .streams = {{.near = NONE, .far = NONE, .memory = (char *)(uintptr_t)all.input, .size = all.input_size},
                    {.near = NONE, .far = NONE, .memory = all.output, .size = all.output_size},
                    {.near = NONE, .far = NONE, .memory = all.errors, .size = all.errors_size}},
        .events = NONE,
        .pidfd = NONE,
    };
    int error = why_not(verge__current_task(), deadline_ns);
    if (error == 0) {
        error = run(&child, deadline_ns);
    }
    close_child(&child);
    if (error == 0 || error == -ETIMEDOUT || error == -ECANCELED) {
        set_result(&child, ret_result);
    }
    return error;
}
