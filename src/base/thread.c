/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE

#include "base/thread.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int verge__thread_create(pthread_t *ret_thread, void *(*function)(void *argument), void *argument) {
    static const int faults[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS, SIGABRT};
    sigset_t blocked, before;
    (void)sigfillset(&blocked);
    for (size_t i = 0; i < sizeof(faults) / sizeof(*faults); i++) {
        (void)sigdelset(&blocked, faults[i]);
    }
    (void)pthread_sigmask(SIG_SETMASK, &blocked, &before);
    const int error = pthread_create(ret_thread, NULL, function, argument);
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    return error == 0 ? 0 : -EAGAIN;
}

#define THREADS_FOLDER "/proc/self/task"

/* Counts the threads of the process: the folder of threads has one link for each, and two of its own. Returns 0 if the
 * folder cannot be read. */
static uint64_t count_threads(void) {
    const uint64_t own_links = 2;
    struct stat status;
    return stat(THREADS_FOLDER, &status) == 0 && status.st_nlink > own_links ? status.st_nlink - own_links : 0;
}

/* Whether a thread belongs to io_uring: the kernel names these threads iou-wrk-... and iou-sqp-... */
static bool is_of_kernel(const char *id) {
    char path[sizeof(THREADS_FOLDER) + 32];
    char name[4] = "";
    (void)snprintf(path, sizeof(path), THREADS_FOLDER "/%.20s/comm", id);
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd >= 0) {
        const ssize_t size = read(fd, name, sizeof(name));
        (void)close(fd);
        return size == (ssize_t)sizeof(name) && memcmp(name, "iou-", sizeof(name)) == 0;
    }
    return false;
}

static uint64_t count_threads_of_kernel(void) {
    DIR *folder = opendir(THREADS_FOLDER);
    uint64_t count = 0;
    if (folder != NULL) {
        /* readdir is safe, since no other thread uses this DIR. */
        for (const struct dirent *entry = readdir(folder); entry != NULL; entry = readdir(folder)) {
            count += entry->d_name[0] != '.' && is_of_kernel(entry->d_name);
        }
        (void)closedir(folder);
    }
    return count;
}

bool verge__thread_count_is(uint32_t count) {
    if (count_threads() == count) {
        return true;
    }
    const uint64_t of_kernel = count_threads_of_kernel(); /* if one of them ends now, the counts differ */
    return of_kernel != 0 && count_threads() == count + of_kernel;
}
