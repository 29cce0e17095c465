/* SPDX-License-Identifier: MIT */
/* Regular files: reads and writes compared with a model; and a file operation that blocks does not block the worker. */
#define _GNU_SOURCE

#include <sys/stat.h>
#include <sys/uio.h>

#include "io/support.h"
#include "verge/blocking.h"
#include "verge/sync.h"

enum { FILE_SIZE = 300000, PIECE_SIZE = 70000 };

static char folder[] = "/tmp/verge-files-XXXXXX";

static int make_folder(void **state) {
    (void)state;
    return mkdtemp(folder) != NULL ? 0 : -1;
}

static int remove_folder(void **state) {
    (void)state;
    return rmdir(folder);
}

/* ---- the contents ---- */

struct world {
    struct verge_test_random random;
    int fd;
    uint8_t model[FILE_SIZE];
    size_t size;     /* of the file */
    size_t position; /* of the descriptor */
    uint8_t piece[PIECE_SIZE];
};

static void write_some(struct world *world, bool is_at, size_t offset, size_t size) {
    for (size_t i = 0; i < size; i++) {
        world->piece[i] = (uint8_t)verge_test_next(&world->random);
    }
    const struct iovec parts[2] = {{world->piece, size / 3}, {world->piece + size / 3, size - size / 3}};
    const ptrdiff_t written = is_at ? verge_pwrite(world->fd, world->piece, size, offset, VERGE_NEVER)
                              : verge_test_chance(&world->random, 2)
                                  ? verge_writev(world->fd, parts, 2, VERGE_NEVER)
                                  : verge_write(world->fd, world->piece, size, VERGE_NEVER);
    CHECK_EQUAL(written, size);
    memcpy(world->model + offset, world->piece, size);
    world->size = world->size < offset + size ? offset + size : world->size;
    world->position += is_at ? 0 : size;
}

static void read_some(struct world *world, bool is_at, size_t offset, size_t size) {
    const struct iovec parts[2] = {{world->piece, size / 3}, {world->piece + size / 3, size - size / 3}};
    const ptrdiff_t count = is_at ? verge_pread(world->fd, world->piece, size, offset, VERGE_NEVER)
                            : verge_test_chance(&world->random, 2)
                                ? verge_readv(world->fd, parts, 2, VERGE_NEVER)
                                : verge_read(world->fd, world->piece, size, VERGE_NEVER);
    const size_t there = offset < world->size ? world->size - offset : 0;
    const size_t expected = there < size ? there : size; /* a read is short only at the end of the file */
    CHECK_EQUAL(count, expected);
    CHECK(memcmp(world->piece, world->model + offset, expected) == 0);
    world->position += is_at ? 0 : expected;
}

static void forget_pages(const struct world *world) {
    CHECK_EQUAL(verge_fdatasync(world->fd, VERGE_NEVER), 0);
    (void)posix_fadvise(world->fd, 0, 0, POSIX_FADV_DONTNEED);
}

static void act(struct world *world) {
    const bool is_at = verge_test_chance(&world->random, 2);
    if (!is_at && verge_test_chance(&world->random, 3)) {
        world->position = verge_test_below(&world->random, FILE_SIZE);
        CHECK_EQUAL(lseek(world->fd, (off_t)world->position, SEEK_SET), world->position);
    }
    const size_t offset = is_at ? verge_test_below(&world->random, FILE_SIZE) : world->position;
    const size_t room = FILE_SIZE - offset;
    const size_t size = verge_test_below(&world->random, room < PIECE_SIZE ? room + 1 : PIECE_SIZE + 1);
    switch (verge_test_below(&world->random, 5)) {
    case 0:
    case 1:
        if (size != 0) {
            write_some(world, is_at, offset, size);
        }
        break;
    case 2:
        forget_pages(world);
        break;
    default:
        read_some(world, is_at, offset, size);
    }
}

static intptr_t compares_with_the_model(void *argument) {
    char path[sizeof(folder) + 16];
    struct world *world = argument;
    (void)snprintf(path, sizeof(path), "%s/file", folder);
    world->fd = verge_openat(AT_FDCWD, path, O_RDWR | O_CREAT | O_CLOEXEC, 0600, VERGE_NEVER);
    CHECK(world->fd >= 0);
    for (int i = 0; i < 400; i++) {
        act(world);
    }
    CHECK_EQUAL(verge_fsync(world->fd, VERGE_NEVER), 0);
    CHECK_EQUAL(verge_task_cancel(verge_task_current()), 0); /* N3: a cancelled task can still save its state */
    write_some(world, true, 0, 1000);
    forget_pages(world);
    read_some(world, true, 0, PIECE_SIZE);
    CHECK_EQUAL(verge_close(world->fd), 0);
    CHECK_EQUAL(unlink(path), 0);
    return 0;
}

static void a_file_has_what_was_written(void **state) {
    (void)state;
    static struct world world;
    const uint64_t seed = verge_test_seed(20261117);
    for (uint64_t round = 0; round < 4; round++) {
        memset(&world, 0, sizeof(world));
        world.random = verge_test_random_from(seed + round);
        verge_runtime_options options = runtime_options(1);
        options.blocking_thread_max = 1 + (uint32_t)round % 2;
        (void)run_with(options, compares_with_the_model, &world);
        memset(&world, 0, sizeof(world));
        world.random = verge_test_random_from(seed + round);
        (void)run_virtual(1, 0, compares_with_the_model, &world);
    }
}

/* ---- errors are those of the system calls ---- */

static intptr_t makes_mistakes(void *argument) {
    char byte = 0;
    (void)argument;
    const int reads = verge_openat(AT_FDCWD, "/proc/self/status", O_RDONLY | O_CLOEXEC, 0, VERGE_NEVER);
    CHECK(reads >= 0);
    CHECK_EQUAL(verge_read(reads, &byte, 1, VERGE_NEVER), 1);
    CHECK_EQUAL(byte, 'N');
    CHECK_EQUAL(verge_write(reads, &byte, 1, VERGE_NEVER), -EBADF);
    CHECK_EQUAL(verge_read(reads, NULL, 0, VERGE_NEVER), 0);
    CHECK_EQUAL(verge_close(reads), 0);
    const int directory = verge_openat(AT_FDCWD, folder, O_RDONLY | O_CLOEXEC | O_DIRECTORY, 0, VERGE_NEVER);
    CHECK_EQUAL(verge_read(directory, &byte, 1, VERGE_NEVER), -EISDIR);
    CHECK_EQUAL(verge_openat(directory, "not there", O_RDONLY | O_CLOEXEC, 0, VERGE_NEVER), -ENOENT);
    CHECK_EQUAL(verge_fsync(directory, VERGE_NEVER), 0);
    CHECK_EQUAL(verge_close(directory), 0);
    CHECK_EQUAL(verge_fsync(-1, VERGE_NEVER), -EBADF);
    return 0;
}

static void mistakes_are_named(void **state) {
    (void)state;
    (void)run_tasks(1, makes_mistakes, NULL);
}

/* ---- a file that takes long to open ---- */

static intptr_t opens_to_read(void *argument) {
    return verge_openat(AT_FDCWD, argument, O_RDONLY | O_CLOEXEC, 0, VERGE_NEVER);
}

static intptr_t opens_both_ends(void *argument) {
    char path[sizeof(folder) + 16];
    (void)argument;
    (void)snprintf(path, sizeof(path), "%s/fifo", folder);
    CHECK_EQUAL(mkfifo(path, 0600), 0);
    verge_task *task = spawn(opens_to_read, path); /* blocks until somebody opens the other end */
    CHECK_EQUAL(verge_yield(), 0);
    CHECK_EQUAL(verge_sleep(MS), 0);
    const int to = verge_openat(AT_FDCWD, path, O_WRONLY | O_CLOEXEC, 0, VERGE_NEVER);
    const int from = (int)join(task);
    CHECK(to >= 0 && from >= 0);
    CHECK_EQUAL(verge_write(to, "x", 1, VERGE_NEVER), 1);
    char byte = 0;
    CHECK_EQUAL(verge_read(from, &byte, 1, VERGE_NEVER), 1);
    CHECK_EQUAL(byte, 'x');
    CHECK_EQUAL(verge_close(to), 0);
    CHECK_EQUAL(verge_close(from), 0);
    CHECK_EQUAL(unlink(path), 0);
    return 0;
}

static void what_takes_long_to_open_does_not_block_the_worker(void **state) {
    (void)state;
    (void)run_tasks(1, opens_both_ends, NULL);
}

/* ---- polling what is always ready ---- */

static intptr_t polls_what_is_always_ready(void *argument) {
    (void)argument;
    char path[64];
    (void)snprintf(path, sizeof(path), "%s/polled", folder);
    const int fds[] = {open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600), open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC),
                       open("/dev/null", O_RDWR | O_CLOEXEC)};
    for (size_t i = 0; i < COUNT_OF(fds); i++) {
        CHECK_EQUAL(verge_poll(fds[i], POLLIN | POLLOUT, 0), POLLIN | POLLOUT);
        CHECK_EQUAL(verge_poll(fds[i], POLLIN | POLLPRI, VERGE_NEVER), POLLIN);
        const short never[] = {0, POLLPRI};
        for (size_t k = 0; k < COUNT_OF(never); k++) {
            verge_case one = verge_case_poll(fds[i], never[k]);
            CHECK_EQUAL(verge_poll(fds[i], never[k], VERGE_NEVER), -EINVAL);
            CHECK_EQUAL(verge_poll(fds[i], never[k], verge_deadline_after(HOUR)), -EINVAL);
            CHECK_EQUAL(verge_select(&one, 1, VERGE_NEVER), 0);
            CHECK_EQUAL(one.result, -EINVAL);
        }
        CHECK_EQUAL(close(fds[i]), 0);
    }
    CHECK_EQUAL(verge_poll(fds[0], 0, VERGE_NEVER), -EBADF);
    CHECK_EQUAL(unlink(path), 0);
    return 0;
}

static void events_that_a_file_never_has_are_refused(void **state) {
    (void)state;
    (void)run_tasks(1, polls_what_is_always_ready, NULL);
    (void)run_virtual(1, SECOND, polls_what_is_always_ready, NULL);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_file_has_what_was_written),
        cmocka_unit_test(mistakes_are_named),
        cmocka_unit_test(what_takes_long_to_open_does_not_block_the_worker),
        cmocka_unit_test(events_that_a_file_never_has_are_refused),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
