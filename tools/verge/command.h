/* SPDX-License-Identifier: MIT */
/* A sub-command: what `verge NAME` is, which options it takes, and how they are read. */
#ifndef VERGE_TOOL_COMMAND_H
#define VERGE_TOOL_COMMAND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* EXIT_SUCCESS and EXIT_FAILURE are the other two. */
enum { EXIT_USAGE = 2 };

enum option_kind {
    OPTION_FLAG,     /* no value; a bool */
    OPTION_NUMBER,   /* a uint64_t from minimum to maximum */
    OPTION_DURATION, /* a uint64_t, in ns; the value may have a unit */
    OPTION_CHOICE,   /* an unsigned: the index of the value in choices */
    OPTION_TEXT,     /* a const char * */
    OPTION_CHOICES,  /* an unsigned: one bit for each choice; may be repeated, and "all" sets all bits */
};

struct option {
    const char *name;       /* "--limit"; NULL ends a table */
    const char *value_name; /* as the help has it; NULL for a flag */
    const char *help;
    enum option_kind kind;
    size_t offset; /* of its field in the settings of the command */
    uint64_t minimum, maximum;
    const char *const *choices; /* ends with NULL */
};

struct command {
    const char *name;
    const char *summary;  /* a line of `verge --help` */
    const char *argument; /* the name of the argument that is not an option; NULL: there is none */
    const char *description;
    const struct option *options;
    int (*run)(int argument_count, char **arguments); /* without the words `verge NAME`; the exit status */
};

extern const struct command bench_command;
extern const struct command demo_command;
extern const struct command replay_command;
extern const struct command scope_command;
extern const struct command stress_command;

/*
 * Fills the settings by the command's table, and *ret_argument with the argument that is not an option (NULL if the
 * command takes none). False: the caller must end with *ret_status, as help was printed, or stderr says what is wrong.
 */
bool command_parse(const struct command *command, int argument_count, char **arguments, void *settings,
                   const char **ret_argument, int *ret_status);

void command_print_help(const struct command *command);

/* A line on stderr that begins with the command's name. */
void command_complain(const struct command *command, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Decimal digits only. */
bool parse_number(const char *text, uint64_t *ret_number);

/* Digits, then nothing (nanoseconds), ns, us, ms, s, m or h. */
bool parse_duration(const char *text, uint64_t *ret_ns);

#endif
