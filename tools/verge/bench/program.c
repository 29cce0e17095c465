/* SPDX-License-Identifier: MIT */
#define _POSIX_C_SOURCE 200809L

#include "bench/program.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- finding the program ---- */

static bool is_program_beside(const char *folder, const char *place, char path[PATH_MAX]) {
    int length = snprintf(path, PATH_MAX, "%s/%s", folder, place);
    return length > 0 && length < PATH_MAX && access(path, X_OK) == 0;
}

static bool find_beside_this_program(char path[PATH_MAX]) {
    char self[PATH_MAX];
    ssize_t length = readlink("/proc/self/exe", self, sizeof(self) - 1);
    if (length <= 0) {
        return false;
    }
    self[length] = '\0';
    char *slash = strrchr(self, '/');
    if (slash == NULL) {
        return false;
    }
    *slash = '\0';
    return is_program_beside(self, "verge-bench", path) || is_program_beside(self, "../../bench/verge-bench", path);
}

static bool find_in_path(char path[PATH_MAX]) {
    const char *folders = getenv("PATH");
    while (folders != NULL && *folders != '\0') {
        size_t length = strcspn(folders, ":");
        char folder[PATH_MAX];
        if (length > 0 && length < sizeof(folder)) {
            memcpy(folder, folders, length);
            folder[length] = '\0';
            if (is_program_beside(folder, "verge-bench", path)) {
                return true;
            }
        }
        folders += length + (folders[length] == ':');
    }
    return false;
}

bool bench_program_find(char path[PATH_MAX]) {
    const char *named = getenv("VERGE_BENCH");
    if (named != NULL && *named != '\0') {
        int length = snprintf(path, PATH_MAX, "%s", named);
        return length < PATH_MAX && access(path, X_OK) == 0;
    }
    return find_beside_this_program(path) || find_in_path(path);
}

/* ---- running it ---- */

int bench_program_become(char **arguments) {
    (void)execv(arguments[0], arguments);
    return -errno;
}

int bench_program_run(char **arguments) {
    (void)fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        if (dup2(STDERR_FILENO, STDOUT_FILENO) >= 0) {
            (void)execv(arguments[0], arguments);
        }
        _exit(127);
    }
    int status = 0;
    if (child < 0 || waitpid(child, &status, 0) != child) {
        return -errno;
    }
    return WIFEXITED(status) ? WEXITSTATUS(status) : EXIT_FAILURE;
}
