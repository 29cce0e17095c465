/* SPDX-License-Identifier: MIT */
/* verge bench: runs the separate program verge-bench, and prints its table, or its figures as JSON. */
#define _POSIX_C_SOURCE 200809L

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <verge/base.h>

#include "bench/figures.h"
#include "bench/program.h"
#include "command.h"

static const struct option options[] = {
    {.name = "--json", .help = "print the figures as JSON; the table goes to stderr"},
    {.name = NULL},
};

/* Makes the arguments of verge-bench: its path, the command that the user gives or else `run`, the other arguments, and
 * --out FOLDER if the folder is not NULL. */
static char **make_arguments(char *path, int count, char **given, char *folder) {
    static char run_word[] = "run", out_word[] = "--out";
    char **arguments = calloc((size_t)count + 5, sizeof(*arguments));
    size_t at = 0;
    if (arguments == NULL) {
        return NULL;
    }
    arguments[at++] = path;
    for (int i = 0; i < count; i++) {
        if (strcmp(given[i], "--json") == 0) {
            continue;
        }
        if (at == 1 && given[i][0] == '-') {
            arguments[at++] = run_word;
        }
        arguments[at++] = given[i];
    }
    if (at == 1) {
        arguments[at++] = run_word;
    }
    if (folder != NULL) {
        arguments[at++] = out_word;
        arguments[at++] = folder;
    }
    return arguments;
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
    int status = arguments != NULL ? bench_program_run(arguments) : -ENOMEM;
    if (status < 0) {
        command_complain(&bench_command, "%s: %s", path, strerror(-status));
        status = EXIT_FAILURE;
    }
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
    if (!bench_program_find(path)) {
        const char *named = getenv("VERGE_BENCH");
        if (named != NULL && *named != '\0') {
            command_complain(&bench_command, "VERGE_BENCH=%s cannot be run", named);
            return EXIT_FAILURE;
        }
        command_complain(&bench_command,
                         "the program verge-bench is not installed, and no package has it: it is built along with the "
                         "libraries that it measures. Get the source of verge %s and run `make bench` there; it "
                         "installs what it needs and measures. To use it from here: "
                         "VERGE_BENCH=SOURCE/build/bench/bench/verge-bench verge bench",
                         verge_version());
        return EXIT_FAILURE;
    }
    if (has_word(argument_count, given, "--json")) {
        return run_for_json(path, argument_count, given);
    }
    char **arguments = make_arguments(path, argument_count, given, NULL);
    int error = arguments != NULL ? bench_program_become(arguments) : -ENOMEM;
    command_complain(&bench_command, "%s: %s", path, strerror(-error));
    free(arguments);
    return EXIT_FAILURE;
}

const struct command bench_command = {
    .name = "bench",
    .summary = "measures verge against other timer libraries",
    .description =
        "Runs the program verge-bench with the given options, for example: verge bench --quick. No package has that\n"
        "program; `make bench` in the source of verge builds it. It is looked for in VERGE_BENCH, beside verge, and "
        "in\n"
        "PATH. `verge bench list` lists workloads and rivals. `verge bench check` compares with the required figures.",
    .options = options,
    .run = run,
};
