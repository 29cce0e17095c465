/* SPDX-License-Identifier: MIT */
#include "command.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void command_complain(const struct command *command, const char *format, ...) {
    va_list values;
    va_start(values, format);
    (void)fprintf(stderr, "verge %s: ", command->name);
    (void)vfprintf(stderr, format, values);
    (void)fputc('\n', stderr);
    va_end(values);
}

/* ---- help ---- */

static void print_option(const struct option *option) {
    enum { COLUMN = 24 };
    int width = printf("  %s %s", option->name, option->value_name != NULL ? option->value_name : "");
    printf("%*s%s\n", width < COLUMN ? COLUMN - width : 1, "", option->help);
}

void command_print_help(const struct command *command) {
    printf("usage: verge %s [options]%s%s\n\n%s\n\n", command->name, command->argument != NULL ? " " : "",
           command->argument != NULL ? command->argument : "", command->description);
    for (const struct option *option = command->options; option->name != NULL; option++) {
        print_option(option);
    }
    print_option(&(struct option){.name = "--help", .help = "this text"});
}

/* ---- values ---- */

static bool parse_digits(const char **text, uint64_t *ret_number) {
    const char *at = *text;
    uint64_t number = 0;
    for (; *at >= '0' && *at <= '9'; at++) {
        uint64_t digit = (uint64_t)(*at - '0');
        if (number > (UINT64_MAX - digit) / 10) {
            return false;
        }
        number = number * 10 + digit;
    }
    if (at == *text) {
        return false;
    }
    *text = at;
    *ret_number = number;
    return true;
}

bool parse_number(const char *text, uint64_t *ret_number) {
    uint64_t number = 0;
    if (!parse_digits(&text, &number) || *text != '\0') {
        return false;
    }
    *ret_number = number;
    return true;
}

bool parse_duration(const char *text, uint64_t *ret_ns) {
    static const struct {
        const char *name;
        uint64_t ns;
    } units[] = {
        {"", 1},
        {"ns", 1},
        {"us", 1000},
        {"ms", 1000000},
        {"s", UINT64_C(1000000000)},
        {"m", UINT64_C(60000000000)},
        {"h", UINT64_C(3600000000000)},
    };
    uint64_t number = 0;
    if (!parse_digits(&text, &number)) {
        return false;
    }
    for (size_t i = 0; i < sizeof(units) / sizeof(*units); i++) {
        if (strcmp(text, units[i].name) == 0 && number <= UINT64_MAX / units[i].ns) {
            *ret_ns = number * units[i].ns;
            return true;
        }
    }
    return false;
}

static bool find_choice(const char *const *choices, const char *value, unsigned *ret_place) {
    for (unsigned i = 0; choices[i] != NULL; i++) {
        if (strcmp(choices[i], value) == 0) {
            *ret_place = i;
            return true;
        }
    }
    return false;
}

static unsigned all_choices(const char *const *choices) {
    unsigned count = 0;
    while (choices[count] != NULL) {
        count++;
    }
    return (1U << count) - 1;
}

static bool set_choice(const struct option *option, const char *value, unsigned *field) {
    unsigned place = 0;
    bool is_known = find_choice(option->choices, value, &place);
    if (option->kind == OPTION_CHOICE) {
        *field = is_known ? place : *field;
        return is_known;
    }
    bool is_all = strcmp(value, "all") == 0;
    *field |= is_all ? all_choices(option->choices) : is_known ? 1U << place : 0;
    return is_all || is_known;
}

static bool set_number(const struct option *option, const char *value, uint64_t *field) {
    uint64_t number = 0;
    bool is_number = option->kind == OPTION_NUMBER ? parse_number(value, &number) : parse_duration(value, &number);
    if (!is_number || number < option->minimum || number > option->maximum) {
        return false;
    }
    *field = number;
    return true;
}

static bool set_value(const struct option *option, const char *value, void *settings) {
    void *field = (char *)settings + option->offset;
    switch (option->kind) {
    case OPTION_FLAG:
        *(bool *)field = true;
        return true;
    case OPTION_NUMBER:
    case OPTION_DURATION:
        return set_number(option, value, field);
    case OPTION_TEXT:
        *(const char **)field = value;
        return true;
    case OPTION_CHOICE:
    case OPTION_CHOICES:
        return set_choice(option, value, field);
    }
    return false;
}

static void complain_of_value(const struct command *command, const struct option *option, const char *value) {
    char wanted[256] = "";
    size_t length = 0;
    if (option->choices != NULL) {
        for (const char *const *choice = option->choices; *choice != NULL && length < sizeof(wanted); choice++) {
            length += (size_t)snprintf(wanted + length, sizeof(wanted) - length, "%s%s", length > 0 ? ", " : "one of ",
                                       *choice);
        }
        if (option->kind == OPTION_CHOICES && length < sizeof(wanted)) {
            (void)snprintf(wanted + length, sizeof(wanted) - length, ", all");
        }
    } else {
        (void)snprintf(wanted, sizeof(wanted), "%s from %llu to %llu",
                       option->kind == OPTION_NUMBER ? "a number" : "a duration (1000, 1us, 5ms, 2s, 1h), in ns",
                       (unsigned long long)option->minimum, (unsigned long long)option->maximum);
    }
    command_complain(command, "%s: '%s' is not %s", option->name, value, wanted);
}

/* ---- the command line ---- */

/* Splits --name=value. *ret_value is NULL if there is only --name. */
static const struct option *find_option(const struct option *options, const char *word, const char **ret_value) {
    const char *equals = strchr(word, '=');
    size_t length = equals != NULL ? (size_t)(equals - word) : strlen(word);
    *ret_value = equals != NULL ? equals + 1 : NULL;
    for (const struct option *option = options; option->name != NULL; option++) {
        if (strlen(option->name) == length && strncmp(option->name, word, length) == 0) {
            return option;
        }
    }
    return NULL;
}

/* Reads the option at *place, and moves *place to the option's last word. */
static bool parse_option(const struct command *command, int argument_count, char **arguments, int *place,
                         void *settings) {
    const char *word = arguments[*place];
    const char *value = NULL;
    const struct option *option = find_option(command->options, word, &value);
    if (option == NULL) {
        command_complain(command, "no such option: %s", word);
        return false;
    }
    if (option->kind == OPTION_FLAG && value != NULL) {
        command_complain(command, "%s takes no value", option->name);
        return false;
    }
    if (option->kind != OPTION_FLAG && value == NULL) {
        if (*place + 1 >= argument_count) {
            command_complain(command, "%s needs a value: %s", option->name, option->value_name);
            return false;
        }
        value = arguments[++*place];
    }
    if (!set_value(option, value, settings)) {
        complain_of_value(command, option, value);
        return false;
    }
    return true;
}

static bool parse_word(const struct command *command, const char *word, const char **ret_argument) {
    if (command->argument == NULL) {
        command_complain(command, "unexpected: %s", word);
        return false;
    }
    if (*ret_argument != NULL) {
        command_complain(command, "more than one %s: %s, %s", command->argument, *ret_argument, word);
        return false;
    }
    *ret_argument = word;
    return true;
}

static bool parse_words(const struct command *command, int argument_count, char **arguments, void *settings,
                        const char **ret_argument) {
    bool only_words = false; /* after "--", words are no options */
    for (int i = 0; i < argument_count; i++) {
        const char *word = arguments[i];
        bool is_option = !only_words && word[0] == '-' && word[1] != '\0';
        if (is_option && strcmp(word, "--") == 0) {
            only_words = true;
        } else if (is_option ? !parse_option(command, argument_count, arguments, &i, settings)
                             : !parse_word(command, word, ret_argument)) {
            return false;
        }
    }
    if (command->argument != NULL && *ret_argument == NULL) {
        command_complain(command, "%s is missing", command->argument);
        return false;
    }
    return true;
}

static bool asks_for_help(int argument_count, char **arguments) {
    for (int i = 0; i < argument_count && strcmp(arguments[i], "--") != 0; i++) {
        if (strcmp(arguments[i], "--help") == 0) {
            return true;
        }
    }
    return false;
}

bool command_parse(const struct command *command, int argument_count, char **arguments, void *settings,
                   const char **ret_argument, int *ret_status) {
    const char *argument = NULL;
    if (asks_for_help(argument_count, arguments)) {
        command_print_help(command);
        *ret_status = EXIT_SUCCESS;
        return false;
    }
    if (!parse_words(command, argument_count, arguments, settings, &argument)) {
        (void)fprintf(stderr, "try: verge %s --help\n", command->name);
        *ret_status = EXIT_USAGE;
        return false;
    }
    if (ret_argument != NULL) {
        *ret_argument = argument;
    }
    return true;
}
