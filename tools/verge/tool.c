/* SPDX-License-Identifier: MIT */
#include "tool.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <verge/base.h>

#include "command.h"

static const struct command *const commands[] = {&demo_command, &scope_command, &replay_command, &stress_command,
                                                 &bench_command};

enum { COMMAND_COUNT = sizeof(commands) / sizeof(*commands) };

static void print_help(FILE *out) {
    (void)fprintf(out, "usage: verge COMMAND [options]\n\nTimers: see them at work, measure them, choose them.\n\n");
    for (size_t i = 0; i < COMMAND_COUNT; i++) {
        (void)fprintf(out, "  %-10s %s\n", commands[i]->name, commands[i]->summary);
    }
    (void)fprintf(
        out,
        "\n  verge help COMMAND     shows the options of a command; so does verge COMMAND --help\n  verge --version\n");
}

static const struct command *find_command(const char *name) {
    for (size_t i = 0; i < COMMAND_COUNT; i++) {
        if (strcmp(commands[i]->name, name) == 0) {
            return commands[i];
        }
    }
    return NULL;
}

static int complain_of_command(const char *name) {
    (void)fprintf(stderr, "verge: no such %s: %s\ntry: verge --help\n", name[0] == '-' ? "option" : "command", name);
    return EXIT_USAGE;
}

/* Runs verge help [COMMAND]. */
static int help(int argument_count, char **arguments) {
    const struct command *command = argument_count > 0 ? find_command(arguments[0]) : NULL;
    if (argument_count > 0 && command == NULL) {
        return complain_of_command(arguments[0]);
    }
    if (argument_count > 1) {
        command_complain(command, "unexpected: %s\ntry: verge help %s", arguments[1], command->name);
        return EXIT_USAGE;
    }
    if (command != NULL) {
        command_print_help(command);
    } else {
        print_help(stdout);
    }
    return EXIT_SUCCESS;
}

int tool_run(int argument_count, char **arguments) {
    if (argument_count < 2) {
        print_help(stderr);
        return EXIT_USAGE;
    }
    if (strcmp(arguments[1], "--help") == 0 || strcmp(arguments[1], "-h") == 0 || strcmp(arguments[1], "help") == 0) {
        return help(argument_count - 2, arguments + 2);
    }
    if (strcmp(arguments[1], "--version") == 0) {
        printf("verge %s\n", verge_version());
        return EXIT_SUCCESS;
    }
    const struct command *command = find_command(arguments[1]);
    if (command == NULL) {
        return complain_of_command(arguments[1]);
    }
    return command->run(argument_count - 2, arguments + 2);
}
