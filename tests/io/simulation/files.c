/* SPDX-License-Identifier: MIT */
/*
 * Regular files are opened, written and read back, each call with a deadline. Bytes that a call reports as written must
 * be there. N3: calls that need not wait succeed, so a player that is cancelled or past its deadline can still save.
 */
#define _GNU_SOURCE

#include "io/simulation/world.h"

enum { FILE_COUNT = 3, FILE_SIZE = 64 };

static struct {
    char path[96];
    char bytes[FILE_SIZE]; /* what must be in the file */
    bool is_used;          /* a player uses it now */
} files[FILE_COUNT];

static char folder[64];

/* Chooses names for the files: in memory if possible, where fsync takes no time. */
void open_files(void) {
    (void)snprintf(folder, sizeof(folder), "/dev/shm/verge-simulation-XXXXXX");
    if (mkdtemp(folder) == NULL) {
        (void)snprintf(folder, sizeof(folder), "/tmp/verge-simulation-XXXXXX");
        CHECK(mkdtemp(folder) != NULL);
    }
    for (size_t i = 0; i < FILE_COUNT; i++) {
        memset(&files[i], 0, sizeof(files[i]));
        (void)snprintf(files[i].path, sizeof(files[i].path), "%s/%zu", folder, i);
    }
}

void close_files(void) {
    for (size_t i = 0; i < FILE_COUNT; i++) {
        (void)unlink(files[i].path); /* fails if no player has created the file */
    }
    CHECK_EQUAL(rmdir(folder), 0);
}

static int open_one(struct player *self, size_t i) {
    const uint64_t deadline_ns = random_deadline();
    const struct before before = before_call(self, deadline_ns);
    const int fd = verge_openat(AT_FDCWD, files[i].path, O_RDWR | O_CREAT | O_CLOEXEC, 0600, deadline_ns);
    after_call(self, "open", &before, fd < 0 ? fd : 0, FOR_FILES);
    return fd;
}

static void write_to(struct player *self, size_t i, int fd) {
    char bytes[FILE_SIZE];
    const uint64_t place = below(FILE_SIZE - 1), size = 1 + below(FILE_SIZE - place);
    for (uint64_t k = 0; k < size; k++) {
        bytes[k] = (char)below(256);
    }
    const uint64_t deadline_ns = random_deadline();
    const struct before before = before_call(self, deadline_ns);
    const ptrdiff_t result = verge_pwrite(fd, bytes, size, place, deadline_ns);
    if (result > 0) {
        CHECK((uint64_t)result <= size);
        memcpy(files[i].bytes + place, bytes, (size_t)result);
    }
    after_call(self, "write file", &before, result, FOR_FILES);
}

static void read_from(struct player *self, size_t i, int fd) {
    char bytes[FILE_SIZE] = {0};
    const uint64_t place = below(FILE_SIZE), size = 1 + below(FILE_SIZE - place);
    const struct iovec parts = {.iov_base = bytes, .iov_len = size};
    const uint64_t deadline_ns = random_deadline();
    CHECK_EQUAL(lseek(fd, (off_t)place, SEEK_SET), (off_t)place);
    const struct before before = before_call(self, deadline_ns);
    const ptrdiff_t result = chance(2)   ? verge_pread(fd, bytes, size, place, deadline_ns)
                             : chance(2) ? verge_read(fd, bytes, size, deadline_ns)
                                         : verge_readv(fd, &parts, 1, deadline_ns);
    CHECK(result < 0 || memcmp(bytes, files[i].bytes + place, (size_t)result) == 0);
    after_call(self, "read file", &before, result, FOR_FILES);
}

static void sync_one(struct player *self, int fd) {
    const uint64_t deadline_ns = random_deadline();
    const struct before before = before_call(self, deadline_ns);
    after_call(self, "sync", &before, chance(2) ? verge_fsync(fd, deadline_ns) : verge_fdatasync(fd, deadline_ns),
               FOR_FILES);
}

/* Uses a file, except in exact worlds with io_uring: there, kernel threads do the work on files, and the simulation
 * cannot step kernel threads. */
void use_file(struct player *self) {
    const size_t i = below(FILE_COUNT);
    if (files[i].is_used || (world->is_exact && is_uring())) {
        return;
    }
    files[i].is_used = true;
    const int fd = open_one(self, i);
    for (uint64_t k = below(4); k > 0 && fd >= 0; k--) {
        switch (below(3)) {
        case 0:
            read_from(self, i, fd);
            break;
        case 1:
            write_to(self, i, fd);
            break;
        default:
            sync_one(self, fd);
            break;
        }
    }
    CHECK(fd < 0 || verge_close(fd) == 0);
    files[i].is_used = false;
}
