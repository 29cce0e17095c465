/* SPDX-License-Identifier: MIT */
#include "replay/trace_parse.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include <verge/base.h>

struct word {
    const char *text;
    size_t length;
};

enum { WORD_COUNT_MAX = 5 };

static bool is_space(char c) {
    return c == ' ' || c == '\t';
}

/* Splits a line, up to a comment, into words. Returns their number, or WORD_COUNT_MAX + 1 if there are more than
 * fit. */
static size_t split(const char *text, size_t length, struct word words[WORD_COUNT_MAX]) {
    size_t count = 0;
    for (size_t at = 0; at < length;) {
        if (is_space(text[at])) {
            at++;
            continue;
        }
        if (text[at] == '#') {
            break;
        }
        size_t begin = at;
        while (at < length && !is_space(text[at]) && text[at] != '#') {
            at++;
        }
        if (count == WORD_COUNT_MAX) {
            return WORD_COUNT_MAX + 1;
        }
        words[count++] = (struct word){.text = text + begin, .length = at - begin};
    }
    return count;
}

static bool is_word(const struct word *word, const char *text) {
    return word->length == strlen(text) && memcmp(word->text, text, word->length) == 0;
}

static bool parse_digits(const char *text, size_t length, uint64_t *ret_number) {
    uint64_t number = 0;
    for (size_t i = 0; i < length; i++) {
        unsigned digit = (unsigned)((unsigned char)text[i] - (unsigned)'0');
        if (digit > 9 || number > (UINT64_MAX - digit) / 10) {
            return false;
        }
        number = number * 10 + digit;
    }
    *ret_number = number;
    return length > 0;
}

/* Reads a time: nanoseconds, or "+" and nanoseconds after base_ns. VERGE_NEVER is refused. */
static bool parse_time(const struct word *word, uint64_t base_ns, uint64_t *ret_time_ns) {
    bool is_relative = word->text[0] == '+';
    uint64_t number = 0;
    if (!parse_digits(word->text + is_relative, word->length - is_relative, &number)) {
        return false;
    }
    if (is_relative) {
        if (number > VERGE_NEVER - base_ns) {
            return false;
        }
        number += base_ns;
    }
    *ret_time_ns = number;
    return number != VERGE_NEVER;
}

/* ---- the operations ---- */

static const struct {
    const char *name;
    size_t word_count_min, word_count_max; /* time and name included */
    const char *usage;
} operations[] = {
    [TRACE_START] = {"start", 4, 4, "start needs a timer and a deadline"},
    [TRACE_WINDOW] = {"window", 5, 5, "window needs a timer, an earliest and a latest time"},
    [TRACE_RESET] = {"reset", 4, 4, "reset needs a timer and a deadline"},
    [TRACE_CANCEL] = {"cancel", 3, 3, "cancel needs a timer and nothing else"},
    [TRACE_POLL] = {"poll", 2, 3, "poll needs nothing, or a limit"},
    [TRACE_ADVANCE] = {"advance", 2, 2, "advance needs nothing"},
};

enum { OPERATION_COUNT = sizeof(operations) / sizeof(*operations) };

static bool find_operation(const struct word *word, enum trace_operation_kind *ret_kind) {
    for (size_t i = 0; i < OPERATION_COUNT; i++) {
        if (is_word(word, operations[i].name)) {
            *ret_kind = (enum trace_operation_kind)i;
            return true;
        }
    }
    return false;
}

static const char *parse_operands(const struct word *words, size_t count, struct trace_operation *operation) {
    bool has_timer = operation->kind <= TRACE_CANCEL;
    if (has_timer && !parse_digits(words[2].text, words[2].length, &operation->timer)) {
        return "a timer is a number";
    }
    if (has_timer && count > 3 && !parse_time(&words[3], operation->time_ns, &operation->deadline_ns)) {
        return "a deadline is nanoseconds, or + and nanoseconds from the line's time";
    }
    if (operation->kind == TRACE_WINDOW) {
        if (!parse_time(&words[4], operation->time_ns, &operation->latest_ns)) {
            return "a latest time is nanoseconds, or + and nanoseconds from the line's time";
        }
        if (operation->latest_ns < operation->deadline_ns) {
            return "the latest time is before the earliest";
        }
    }
    if (operation->kind == TRACE_POLL && count > 2 &&
        (!parse_digits(words[2].text, words[2].length, &operation->limit) || operation->limit == 0)) {
        return "a limit is a number above 0";
    }
    return NULL;
}

static const char *parse_operation(const struct word *words, size_t count, struct trace_operation *operation) {
    uint64_t time_ns = 0;
    if (!parse_digits(words[0].text, words[0].length, &time_ns) || time_ns == VERGE_NEVER) {
        return "a line begins with a time in nanoseconds";
    }
    if (count < 2) {
        return "an operation is missing";
    }
    *operation = (struct trace_operation){.time_ns = time_ns};
    if (!find_operation(&words[1], &operation->kind)) {
        return "no such operation: there are start, window, reset, cancel, poll, advance";
    }
    if (count < operations[operation->kind].word_count_min || count > operations[operation->kind].word_count_max) {
        return operations[operation->kind].usage;
    }
    return parse_operands(words, count, operation);
}

int trace_parse_header(const char *text, size_t length, const char **ret_problem) {
    struct word words[WORD_COUNT_MAX];
    size_t count = split(text, length, words);
    if (count < 1 || !is_word(&words[0], "verge-trace")) {
        *ret_problem = "not a trace: the first line must be 'verge-trace 1'";
        return -EINVAL;
    }
    if (count != 2 || !is_word(&words[1], "1")) {
        *ret_problem = "a version that is not known: the first line must be 'verge-trace 1'";
        return -EINVAL;
    }
    return 0;
}

int trace_parse_line(const char *text, size_t length, struct trace_operation *ret_operation, const char **ret_problem) {
    struct word words[WORD_COUNT_MAX];
    struct trace_operation operation = {0};
    size_t count = split(text, length, words);
    if (count == 0) {
        return 0;
    }
    const char *problem = parse_operation(words, count, &operation);
    if (problem != NULL) {
        *ret_problem = problem;
        return -EINVAL;
    }
    *ret_operation = operation;
    return 1;
}
