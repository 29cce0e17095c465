/* SPDX-License-Identifier: MIT */
/* verge scope: what a scope (verge/scope.h) shows, in a terminal; without one, a snapshot as JSON. */
#define _POSIX_C_SOURCE 200809L /* isatty */

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <verge/base.h>

#include "command.h"
#include "scope/look_on.h"

struct settings {
    const char *address;
    bool json;
};

static const struct option options[] = {
    {.name = "--connect",
     .value_name = "ADDRESS",
     .help = "unix:PATH, or the address for the browser; required",
     .kind = OPTION_TEXT,
     .offset = offsetof(struct settings, address)},
    {.name = "--json",
     .help = "print one snapshot as JSON, even on a terminal",
     .kind = OPTION_FLAG,
     .offset = offsetof(struct settings, json)},
    {.name = NULL},
};

static int run(int argument_count, char **arguments) {
    struct settings settings = {.address = NULL};
    struct client_address address;
    int exit_status = EXIT_SUCCESS;
    if (!command_parse(&scope_command, argument_count, arguments, &settings, NULL, &exit_status)) {
        return exit_status;
    }
    if (settings.address == NULL || !client_parse(settings.address, &address)) {
        command_complain(&scope_command,
                         settings.address == NULL ? "--connect is missing%s" : "--connect: '%s' is no address",
                         settings.address == NULL ? "" : settings.address);
        (void)fprintf(stderr, "try: verge scope --help\n");
        return EXIT_USAGE;
    }
    const bool is_terminal = isatty(STDOUT_FILENO) != 0 && isatty(STDIN_FILENO) != 0;
    const int error = settings.json || !is_terminal ? look_on_print(&address) : look_on_terminal(&address);
    if (error != 0) {
        command_complain(&scope_command, "%s: %s", settings.address,
                         error == -EPROTO ? "the answer is not a scope's, or the token is wrong"
                                          : verge_strerror(error));
    }
    return error == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

const struct command scope_command = {
    .name = "scope",
    .summary = "shows the timers of a running program in a terminal",
    .description =
        "Connects to a program that has called verge_scope_start, and shows, like top: who started its timers,\n"
        "when they are due, how late they were, and what its workers do. q quits, s and the arrows sort and scroll.\n"
        "If the output is no terminal, it prints one snapshot as JSON.",
    .options = options,
    .run = run,
};
