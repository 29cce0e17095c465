/* SPDX-License-Identifier: MIT */
/*
 * A pool of blocking threads that is busy does not delay deadlines: a call that waits for a thread ends at its deadline
 * or when its task is cancelled, and its work is never begun. The only thread of the pool is kept busy until the test
 * lets it go, or for LIMIT_S at most. So a call that waits for the thread fails the test, and does not hang.
 */
#define _GNU_SOURCE

#include <semaphore.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>

#include "io/support.h"
#include "verge/blocking.h"
#include "verge/process.h"

enum { LIMIT_S = 20 };

static char folder[] = "/tmp/verge-pool-XXXXXX";
static char path[64];
static sem_t is_kept, may_go;
static verge_task *keeper;

/* ---- the thread of the pool is kept busy ---- */

static intptr_t keep(void *argument) {
    (void)argument;
    struct timespec end;
    (void)clock_gettime(CLOCK_REALTIME, &end);
    end.tv_sec += LIMIT_S;
    (void)sem_post(&is_kept);
    int error;
    do {
        error = sem_timedwait(&may_go, &end) == 0 ? 0 : errno;
    } while (error == EINTR);
    return error;
}

static intptr_t keeps_the_thread(void *argument) {
    intptr_t result = -1;
    CHECK_EQUAL(verge_blocking(keep, argument, NULL, &result, VERGE_NEVER), 0);
    return result;
}

static void begin_to_keep(void) {
    CHECK_EQUAL(sem_init(&is_kept, 0, 0) + sem_init(&may_go, 0, 0), 0);
    keeper = spawn(keeps_the_thread, NULL);
    while (sem_trywait(&is_kept) != 0) {
        CHECK_EQUAL(verge_yield(), 0);
    }
}

static intptr_t do_nothing(void *argument) {
    (void)argument;
    return 0;
}

/* Ends the work that keeps the thread busy, and waits until the pool has done all that was queued before. */
static void let_go(void) {
    CHECK_EQUAL(sem_post(&may_go), 0);
    CHECK_EQUAL(join(keeper), 0); /* ETIMEDOUT: a call has waited for the thread until LIMIT_S was over */
    CHECK_EQUAL(verge_blocking(do_nothing, NULL, NULL, NULL, VERGE_NEVER), 0);
}

static bool exists(const char *name) {
    struct stat status;
    return stat(name, &status) == 0;
}

/* ---- calls that wait for the thread ---- */

static int create(uint64_t deadline_ns) {
    return verge_openat(AT_FDCWD, path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600, deadline_ns);
}

static int run_touch(uint64_t deadline_ns) {
    const char *const arguments[] = {"touch", path, NULL};
    verge_process_options options = {.struct_size = sizeof(options)};
    options.arguments = arguments;
    verge_process_result result = {.struct_size = sizeof(result), .has_begun = true};
    const int error = verge_run_process(&options, &result, deadline_ns);
    CHECK_EQUAL(result.has_begun, error == 0);
    return error;
}

static int syncs(uint64_t deadline_ns) {
    const int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    const int error = verge_fsync(fd, deadline_ns);
    CHECK_EQUAL(close(fd), 0);
    return error;
}

static int (*const calls[])(uint64_t deadline_ns) = {run_touch, create, syncs};

/* With io_uring, only the first of the calls needs the pool. */
static size_t call_count(void) {
    return is_uring() ? 1 : COUNT_OF(calls);
}

static intptr_t call_without_deadline(void *argument) {
    return calls[*(const size_t *)argument](VERGE_NEVER);
}

static intptr_t calls_while_the_thread_is_kept(void *argument) {
    (void)argument;
    for (size_t i = 0; i < call_count(); i++) {
        verge_deadline scope;
        begin_to_keep();
        CHECK_EQUAL(calls[i](verge_deadline_after(5 * MS)), -ETIMEDOUT);
        CHECK_EQUAL(verge_deadline_push(&scope, verge_deadline_after(5 * MS)), 0);
        CHECK_EQUAL(calls[i](VERGE_NEVER), -ETIMEDOUT);
        CHECK_EQUAL(verge_deadline_pop(&scope), 0);
        verge_task *task = spawn(call_without_deadline, &i);
        CHECK_EQUAL(verge_yield(), 0); /* the task waits now */
        CHECK_EQUAL(verge_task_cancel(task), 0);
        CHECK_EQUAL(join(task), -ECANCELED);
        let_go();
        CHECK(!exists(path));
    }
    return 0;
}

static void a_deadline_comes_while_the_pool_is_busy(void **state) {
    (void)state;
    verge_runtime_options options = runtime_options(1);
    options.blocking_thread_max = 1;
    (void)run_with(options, calls_while_the_thread_is_kept, NULL);
}

/* ---- N2: what a file's cache had room for or gave at once is not lost while the rest waits for a thread ---- */

enum { CACHED_SIZE = 4, WANTED_SIZE = 10, ALL_OF_IT = -1 };

static int cached_left = ALL_OF_IT;

ssize_t __real_preadv2(int fd, const struct iovec *parts, int count, off_t offset, int flags);
ssize_t __wrap_preadv2(int fd, const struct iovec *parts, int count, off_t offset, int flags);
ssize_t __real_pwritev2(int fd, const struct iovec *parts, int count, off_t offset, int flags);
ssize_t __wrap_pwritev2(int fd, const struct iovec *parts, int count, off_t offset, int flags);

/* Takes from the cache what a call may transfer without waiting. False: nothing is left. */
static bool take_cached(struct iovec *part) {
    part->iov_len = part->iov_len < (size_t)cached_left ? part->iov_len : (size_t)cached_left;
    cached_left -= (int)part->iov_len;
    errno = EAGAIN;
    return part->iov_len != 0;
}

ssize_t __wrap_preadv2(int fd, const struct iovec *parts, int count, off_t offset, int flags) {
    struct iovec part = parts[0];
    if ((flags & RWF_NOWAIT) == 0 || cached_left == ALL_OF_IT) {
        return __real_preadv2(fd, parts, count, offset, flags);
    }
    return take_cached(&part) ? __real_preadv2(fd, &part, 1, offset, 0) : -1;
}

ssize_t __wrap_pwritev2(int fd, const struct iovec *parts, int count, off_t offset, int flags) {
    struct iovec part = parts[0];
    if ((flags & RWF_NOWAIT) == 0 || cached_left == ALL_OF_IT) {
        return __real_pwritev2(fd, parts, count, offset, flags);
    }
    return take_cached(&part) ? __real_pwritev2(fd, &part, 1, offset, 0) : -1;
}

struct half_cached {
    int fd;
    bool is_write;
    uint64_t deadline_ns;
};

static intptr_t transfers_half(void *argument) {
    const struct half_cached *half = argument;
    char bytes[WANTED_SIZE + 1] = "0123456789";
    cached_left = CACHED_SIZE;
    const ptrdiff_t size = half->is_write ? verge_write(half->fd, bytes, WANTED_SIZE, half->deadline_ns)
                                          : verge_read(half->fd, bytes, WANTED_SIZE, half->deadline_ns);
    cached_left = ALL_OF_IT;
    return size;
}

static intptr_t transfers_while_the_thread_is_kept(void *argument) {
    struct half_cached half = {.fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600)};
    verge_runtime_stats before = {.struct_size = sizeof(before)};
    verge_runtime_stats after = {.struct_size = sizeof(after)};
    (void)argument;
    for (int i = 0; i < 2 && !is_uring(); i++) { /* with io_uring, the kernel does it all */
        half.is_write = i == 0;
        CHECK_EQUAL(lseek(half.fd, 0, SEEK_SET), 0);
        CHECK_EQUAL(verge_runtime_get_stats(verge_task_runtime(), &before), 0);
        begin_to_keep();
        half.deadline_ns = verge_deadline_after(5 * MS);
        CHECK_EQUAL(transfers_half(&half), CACHED_SIZE);
        CHECK_EQUAL(lseek(half.fd, 0, SEEK_CUR), CACHED_SIZE);
        half.deadline_ns = VERGE_NEVER;
        verge_task *task = spawn(transfers_half, &half);
        CHECK_EQUAL(verge_yield(), 0); /* the task waits now */
        CHECK_EQUAL(verge_task_cancel(task), 0);
        CHECK_EQUAL(join(task), CACHED_SIZE);
        CHECK_EQUAL(lseek(half.fd, 0, SEEK_CUR), 2 * CACHED_SIZE);
        let_go();
        CHECK_EQUAL(verge_runtime_get_stats(verge_task_runtime(), &after), 0);
        CHECK_EQUAL(after.timeouts, before.timeouts);
    }
    CHECK_EQUAL(close(half.fd) + unlink(path), 0);
    return 0;
}

static void what_was_cached_is_not_lost_while_the_pool_is_busy(void **state) {
    (void)state;
    verge_runtime_options options = runtime_options(1);
    options.blocking_thread_max = 1;
    (void)run_with(options, transfers_while_the_thread_is_kept, NULL);
}

/* ---- N3: a call that begins after its deadline is made, so that a task can save its state ---- */

static intptr_t creates_too_late(void *argument) {
    (void)argument;
    const int fd = create(1);
    CHECK(fd >= 0);
    return close(fd);
}

static intptr_t saves_when_a_thread_is_free(void *argument) {
    (void)argument;
    begin_to_keep();
    verge_task *task = spawn(creates_too_late, NULL);
    CHECK_EQUAL(verge_yield(), 0);
    let_go();
    CHECK_EQUAL(join(task), 0);
    CHECK_EQUAL(unlink(path), 0);
    return 0;
}

static void what_begins_after_its_deadline_waits_for_a_thread(void **state) {
    (void)state;
    verge_runtime_options options = runtime_options(1);
    options.blocking_thread_max = 1;
    (void)run_with(options, saves_when_a_thread_is_free, NULL);
}

/* ---- a program that runs is ended in time ---- */

static struct {
    int said; /* the descriptor to which the program writes when it has begun */
    uint64_t grace_ns;
} program;

static intptr_t runs_for_ever(void *argument) {
    (void)argument;
    char script[128];
    (void)snprintf(script, sizeof(script), "%secho >&%d; while :; do sleep 1000; done",
                   program.grace_ns != 0 ? "trap '' TERM; " : "", program.said);
    const char *const arguments[] = {"sh", "-c", script, NULL};
    verge_process_options options = {.struct_size = sizeof(options)};
    options.arguments = arguments;
    options.grace_ns = program.grace_ns;
    verge_process_result result = {.struct_size = sizeof(result)};
    const int error = verge_run_process(&options, &result, VERGE_NEVER);
    CHECK(result.has_begun && WIFSIGNALED(result.status) && WTERMSIG(result.status) == SIGKILL);
    return error;
}

static intptr_t ends_programs(void *argument) {
    (void)argument;
    for (int i = 0; i < 2; i++) {
        int ends[2];
        char line;
        CHECK_EQUAL(pipe(ends), 0); /* not close-on-exec: the program writes to it */
        program.said = ends[1];
        program.grace_ns = i == 0 ? 0 : MS;
        verge_task *task = spawn(runs_for_ever, NULL);
        CHECK_EQUAL(verge_read(ends[0], &line, 1, VERGE_NEVER), 1);
        begin_to_keep();
        CHECK_EQUAL(verge_task_cancel(task), 0);
        CHECK_EQUAL(join(task), -ECANCELED);
        let_go();
        CHECK_EQUAL(close(ends[0]) + close(ends[1]), 0);
    }
    return 0;
}

static void a_program_is_killed_while_the_pool_is_busy(void **state) {
    (void)state;
    verge_runtime_options options = runtime_options(1);
    options.blocking_thread_max = 1;
    (void)run_with(options, ends_programs, NULL);
}

static int set_up(void **state) {
    (void)state;
    (void)snprintf(path, sizeof(path), "%s/file", mkdtemp(folder));
    return 0;
}

static int tear_down(void **state) {
    (void)state;
    return rmdir(folder);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_deadline_comes_while_the_pool_is_busy),
        cmocka_unit_test(what_was_cached_is_not_lost_while_the_pool_is_busy),
        cmocka_unit_test(what_begins_after_its_deadline_waits_for_a_thread),
        cmocka_unit_test(a_program_is_killed_while_the_pool_is_busy),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
