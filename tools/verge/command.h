/* SPDX-License-Identifier: MIT */
/* A sub-command `verge NAME`: its help, its options, and how they are read. */
#ifndef VERGE_TOOL_COMMAND_H
#define VERGE_TOOL_COMMAND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A third exit status, beside EXIT_SUCCESS and EXIT_FAILURE: the arguments were wrong. */
enum { EXIT_USAGE = 2 };

/* The type of an option's field in the settings of the command, and what its value may be. */
enum option_kind {
    OPTION_FLAG,     /* a bool; the option has no value */
    OPTION_NUMBER,   /* a uint64_t from minimum to maximum */
    OPTION_DURATION, /* a uint64_t, in ns; the value may have a unit */
    OPTION_CHOICE,   /* an unsigned: the index of the value in choices */
    OPTION_TEXT,     /* a const char * */
    OPTION_CHOICES,  /* an unsigned: one bit for each choice; may be repeated, and "all" sets all bits */
};

struct option {
    const char *name;       /* "--limit"; NULL ends a table */
    const char *value_name; /* as the help shows it; NULL for a flag */
    const char *help;
    enum option_kind kind;
    size_t offset; /* of the option's field in the settings of the command */
    uint64_t minimum, maximum;
    const char *const *choices; /* ends with NULL */
};

struct command {
    const char *name;
    const char *summary;  /* a line of `verge --help` */
    const char *argument; /* name of the argument that is no option; NULL: there is none */
    const char *description;
    const struct option *options;
    int (*run)(int argument_count, char **arguments); /* gets the words after NAME; returns the exit status */
};

extern const struct command bench_command;
extern const struct command demo_command;
extern const struct command replay_command;
extern const struct command scope_command;
extern const struct command stress_command;

/*
 * Fills the settings by the command's table, and *ret_argument with the argument that is no option (NULL if the command
 * takes none). Returns false if it has printed the help, or a message about a mistake to stderr. Then the caller must
 * end with *ret_status.
 */
bool command_parse(const struct command *command, int argument_count, char **arguments, void *settings,
                   const char **ret_argument, int *ret_status);

void command_print_help(const struct command *command);

/* Prints a line to stderr that begins with the command's name. */
void command_complain(const struct command *command, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Reads decimal digits, and nothing else. */
bool parse_number(const char *text, uint64_t *ret_number);

/* Reads digits and a unit: ns, us, ms, s, m or h. Without a unit, the digits are nanoseconds. */
bool parse_duration(const char *text, uint64_t *ret_ns);

#endif
