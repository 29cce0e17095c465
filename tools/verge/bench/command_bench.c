/* SPDX-License-Identifier: MIT */
/* verge bench: runs verge-bench, which is a program of its own, and hands on its table or makes JSON of its figures. */
#define _POSIX_C_SOURCE 200809L

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench/figures.h"
#include "command.h"

static const struct option options[] = {
    {.name = "--json", .help = "the figures as JSON; the table goes to stderr"},
    {.name = NULL},
};

/* ---- where it is: named by VERGE_BENCH, beside this program, in the build tree, or in PATH ---- */

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

static bool find_program(char path[PATH_MAX]) {
    const char *named = getenv("VERGE_BENCH");
    if (named != NULL && *named != '\0') {
        int length = snprintf(path, PATH_MAX, "%s", named);
        return length < PATH_MAX && access(path, X_OK) == 0;
    }
    return find_beside_this_program(path) || find_in_path(path);
}

/* ---- running it ---- */

/* NAME run ARGUMENTS..., or with the word the user has for `run`; and --out FOLDER if it is not NULL. */
static char **make_arguments(char *path, int count, char **given, char *folder) {
    static char run_word[] = "run", out_word[] = "--out";
    char **arguments = calloc((size_t)count + 5, sizeof(*arguments));
    size_t at = 0;
    if (arguments == NULL) {
        return NULL;
    }
    arguments[at++] = path;
    if (count == 0 || given[0][0] == '-') {
        arguments[at++] = run_word;
    }
    for (int i = 0; i < count; i++) {
        if (strcmp(given[i], "--json") != 0) {
            arguments[at++] = given[i];
        }
    }
    if (folder != NULL) {
        arguments[at++] = out_word;
        arguments[at++] = folder;
    }
    return arguments;
}

/* The child's exit status; EXIT_FAILURE if it was ended otherwise. Its stdout is our stderr. */
static int run_and_wait(char **arguments) {
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
        command_complain(&bench_command, "%s: %s", arguments[0], strerror(errno));
        return EXIT_FAILURE;
    }
    return WIFEXITED(status) ? WEXITSTATUS(status) : EXIT_FAILURE;
}

static int run_for_json(char *path, int count, char **given) {
    const char *temporary = getenv("TMPDIR");
    char folder[PATH_MAX];
    (void)snprintf(folder, sizeof(folder), "%s/verge-bench.XXXXXX", temporary != NULL ? temporary : "/tmp");
    if (mkdtemp(folder) == NULL) {
        command_complain(&bench_command, "%s: %s", folder, strerror(errno));
        return EXIT_FAILURE;
    }
    char **arguments = make_arguments(path, count, given, folder);
    int status = arguments != NULL ? run_and_wait(arguments) : EXIT_FAILURE;
    char file[PATH_MAX + 16];
    (void)snprintf(file, sizeof(file), "%s/results.csv", folder);
    if (status == EXIT_SUCCESS && bench_figures_write_json(file, stdout) != 0) {
        command_complain(&bench_command, "%s left no figures", path);
        status = EXIT_FAILURE;
    }
    bench_figures_remove(folder);
    free(arguments);
    return status;
}

static bool has_word(int count, char **words, const char *word) {
    for (int i = 0; i < count; i++) {
        if (strcmp(words[i], word) == 0) {
            return true;
        }
    }
    return false;
}

static int run(int argument_count, char **given) {
    char path[PATH_MAX];
    if (has_word(argument_count, given, "--help")) {
        command_print_help(&bench_command);
        return EXIT_SUCCESS;
    }
    if (!find_program(path)) {
        command_complain(&bench_command,
                         "verge-bench is not here: build it with `make bench` in the source tree, then put it "
                         "beside verge or into PATH, or name it in VERGE_BENCH");
        return EXIT_FAILURE;
    }
    if (has_word(argument_count, given, "--json")) {
        return run_for_json(path, argument_count, given);
    }
    char **arguments = make_arguments(path, argument_count, given, NULL);
    if (arguments != NULL) {
        (void)execv(path, arguments);
    }
    command_complain(&bench_command, "%s: %s", path, strerror(errno));
    free(arguments);
    return EXIT_FAILURE;
}

const struct command bench_command = {
    .name = "bench",
    .summary = "measure verge against other timer libraries",
    .description =
        "Runs the program verge-bench, which `make bench` builds, with the options given: verge bench --quick.\n"
        "`verge bench list` has its workloads and rivals, `verge bench check` compares with what is required.",
    .options = options,
    .run = run,
};
