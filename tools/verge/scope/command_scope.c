/* SPDX-License-Identifier: MIT */
/* verge scope: lists scopes (verge/scope.h), shows one in a terminal, or serves one to a browser. If stdin or stdout is
 * no terminal, a scope is shown as a snapshot in JSON. */
#define _POSIX_C_SOURCE 200809L /* isatty */

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <verge/base.h>

#include "command.h"
#include "scope/bridge.h"
#include "scope/list.h"
#include "scope/look_on.h"

struct settings {
    const char *address, *browser;
    uint64_t port;
    bool json;
};

static const struct option options[] = {
    {.name = "--connect",
     .value_name = "WHERE",
     .help = "an address (unix:PATH, tcp:PORT, that for the browser), or a name or process id of the list",
     .kind = OPTION_TEXT,
     .offset = offsetof(struct settings, address)},
    {.name = "--browser",
     .value_name = "WHERE",
     .help = "serve that scope to a browser, on a port of 127.0.0.1",
     .kind = OPTION_TEXT,
     .offset = offsetof(struct settings, browser)},
    {.name = "--port",
     .value_name = "N",
     .help = "with --browser: the port; default: any free one",
     .kind = OPTION_NUMBER,
     .offset = offsetof(struct settings, port),
     .maximum = UINT16_MAX},
    {.name = "--json",
     .help = "print one snapshot as JSON, even on a terminal",
     .kind = OPTION_FLAG,
     .offset = offsetof(struct settings, json)},
    {.name = NULL},
};

/* Finds a scope by its address. Words that are no address are looked up in the list of scopes. */
static bool find(const char *where, struct client_address *ret_address) {
    struct listed scope;
    size_t count = 0;
    if (client_parse(where, ret_address)) {
        return true;
    }
    if (list_find(where, &scope, &count) && client_parse(scope.address, ret_address)) {
        return true;
    }
    command_complain(&scope_command,
                     count > 1 ? "more than one scope is called '%s': use its process id"
                               : "'%s' is no address, and no scope of yours has this name, process id or port",
                     where);
    (void)fprintf(stderr, "try: verge scope, for a list\n");
    return false;
}

static int look(const struct settings *settings, const struct client_address *address) {
    const bool is_terminal = isatty(STDOUT_FILENO) != 0 && isatty(STDIN_FILENO) != 0;
    if (settings->browser != NULL) {
        return bridge_serve(address, (uint16_t)settings->port);
    }
    return settings->json || !is_terminal ? look_on_print(address) : look_on_terminal(address);
}

static int run(int argument_count, char **arguments) {
    struct settings settings = {.address = NULL};
    struct client_address address;
    int exit_status = EXIT_SUCCESS;
    if (!command_parse(&scope_command, argument_count, arguments, &settings, NULL, &exit_status)) {
        return exit_status;
    }
    const char *where = settings.browser != NULL ? settings.browser : settings.address;
    if (where == NULL) {
        return list_print();
    }
    if (!find(where, &address)) {
        return EXIT_USAGE;
    }
    const int error = look(&settings, &address);
    if (error != 0) {
        command_complain(&scope_command, "%s: %s", where,
                         error == -EPROTO ? "the answer is not a scope's, or the token is wrong"
                                          : verge_strerror(error));
    }
    return error == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

const struct command scope_command = {
    .name = "scope",
    .summary = "shows the timers of a running program, in a terminal or a browser",
    .description =
        "Without options it lists the scopes of your programs. --browser serves one to a browser. --connect connects "
        "to a program that has called verge_scope_create, and shows, like top: who started its timers,\n"
        "when they are due, how late they were, and what its workers do. q quits, s and the arrows sort and scroll.\n"
        "If the output is no terminal, it prints one snapshot as JSON.",
    .options = options,
    .run = run,
};
