/* SPDX-License-Identifier: MIT */
/*
 * Reads rules. The text is cut into words. The word of each field of cron is read into a set of bits. A list of local
 * times ("09:00,17:30") sets the minutes of the rule directly.
 */
#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "base/explain.h"
#include "recurrence/recurrence_internal.h"
#include "recurrence/zone.h"
#include "verge/recurrence.h"

_Static_assert(sizeof(verge_recurrence) == 264, "part of the ABI");

enum { WORDS_MAX = 7, FIELDS = 5, NAME_LENGTH = 3 };

enum { MINUTE, HOUR, DAY, MONTH, WEEKDAY };

static const char month_names[] = "janfebmaraprmayjunjulaugsepoctnovdec";
static const char weekday_names[] = "sunmontuewedthufrisat";

/* A field of cron, and its valid values. */
typedef struct cron_field {
    const char *name;
    unsigned first;
    unsigned last;
    const char *names; /* of the values from `first` on, three letters each; NULL: the field takes only numbers */
} cron_field;

static const cron_field fields[FIELDS] = {
    [MINUTE] = {"minute", 0, 59, NULL},
    [HOUR] = {"hour", 0, 23, NULL},
    [DAY] = {"day of the month", 1, 31, NULL},
    [MONTH] = {"month", 1, 12, month_names},
    [WEEKDAY] = {"day of the week", 0, 7, weekday_names}, /* 0 and 7 are Sunday */
};

/* A part of the text. */
typedef struct word {
    const char *text;
    size_t length;
} word;

static const struct shorthand {
    const char *name;
    const char *fields[FIELDS];
} shorthands[] = {
    {"@hourly", {"0", "*", "*", "*", "*"}},   {"@daily", {"0", "0", "*", "*", "*"}},
    {"@midnight", {"0", "0", "*", "*", "*"}}, {"@weekly", {"0", "0", "*", "*", "0"}},
    {"@monthly", {"0", "0", "1", "*", "*"}},  {"@yearly", {"0", "0", "1", "1", "*"}},
    {"@annually", {"0", "0", "1", "1", "*"}},
};

static char lower(char c) {
    return (char)(c >= 'A' && c <= 'Z' ? c + ('a' - 'A') : c);
}

static bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

static bool has(word part, char c) {
    return memchr(part.text, c, part.length) != NULL;
}

/* Cuts off and returns the part before the separator. If there is no separator, this is the whole word. */
static word take(word *from, char separator) {
    const char *end = memchr(from->text, separator, from->length);
    const size_t length = end != NULL ? (size_t)(end - from->text) : from->length;
    const word taken = {from->text, length};
    const size_t skipped = length + (end != NULL ? 1 : 0);
    *from = (word){from->text + skipped, from->length - skipped};
    return taken;
}

static bool number_of(word part, unsigned *ret_number) {
    unsigned number = 0;
    if (part.length == 0 || part.length > 4) {
        return false;
    }
    for (size_t i = 0; i < part.length; i++) {
        if (!is_digit(part.text[i])) {
            return false;
        }
        number = number * 10 + (unsigned)(part.text[i] - '0');
    }
    *ret_number = number;
    return true;
}

static bool is_name(word part, const char *name) {
    for (size_t i = 0; i < NAME_LENGTH; i++) {
        if (part.length != NAME_LENGTH || lower(part.text[i]) != name[i]) {
            return false;
        }
    }
    return true;
}

/* Reads a number or a name. */
static int read_value(const cron_field *field, word part, verge__explanation why, unsigned *ret_value) {
    unsigned value = 0;
    bool is_known = number_of(part, &value);
    for (const char *name = field->names; !is_known && name != NULL && *name != '\0'; name += NAME_LENGTH) {
        if (is_name(part, name)) {
            value = field->first + (unsigned)(name - field->names) / NAME_LENGTH;
            is_known = true;
        }
    }
    if (!is_known) {
        return verge__explain(why, "%s: \"%.*s\" is not a number%s", field->name, (int)part.length, part.text,
                              field->names != NULL ? " or a name of three letters" : "");
    }
    if (value < field->first || value > field->last) {
        return verge__explain(why, "%s: %u is not between %u and %u", field->name, value, field->first, field->last);
    }
    *ret_value = value;
    return 0;
}

/* Reads one value, or two with '-' between them. "fri-sun" ends with day 7. */
static int read_range(const cron_field *field, word part, verge__explanation why, unsigned *ret_first,
                      unsigned *ret_last) {
    const bool is_range = has(part, '-');
    const word first_word = take(&part, '-');
    int error = read_value(field, first_word, why, ret_first);
    if (error < 0 || !is_range) {
        *ret_last = *ret_first;
        return error;
    }
    error = read_value(field, part, why, ret_last);
    if (error < 0) {
        return error;
    }
    if (field->names == weekday_names && *ret_last == 0 && *ret_first > 0) {
        *ret_last = 7;
    }
    if (*ret_first > *ret_last) {
        return verge__explain(why, "%s: the range %u-%u ends before it begins; write two ranges", field->name,
                              *ret_first, *ret_last);
    }
    return 0;
}

/* Reads "*", a value or a range, perhaps with a step. */
static int read_item(const cron_field *field, word item, verge__explanation why, uint64_t *bits) {
    const bool has_step = has(item, '/');
    word step_word = item;
    const word range = take(&step_word, '/');
    const bool is_all = range.length == 1 && range.text[0] == '*';
    unsigned first = field->first;
    unsigned last = field->names == weekday_names ? 6 : field->last;
    unsigned step = 1;
    if (!is_all) {
        const int error = read_range(field, range, why, &first, &last);
        if (error < 0) {
            return error;
        }
    }
    if (has_step && !is_all && !has(range, '-')) {
        return verge__explain(why, "%s: a step follows \"*\" or a range, so write %.*s-%u/%.*s", field->name,
                              (int)range.length, range.text, field->last, (int)step_word.length, step_word.text);
    }
    if (has_step && (!number_of(step_word, &step) || step == 0 || step > field->last)) {
        return verge__explain(why, "%s: the step \"%.*s\" is not a number from 1 to %u", field->name,
                              (int)step_word.length, step_word.text, field->last);
    }
    for (unsigned value = first; value <= last; value += step) {
        *bits |= UINT64_C(1) << value;
    }
    return 0;
}

static int read_field(const cron_field *field, word list, verge__explanation why, uint64_t *ret_bits) {
    uint64_t bits = 0;
    bool is_last = false;
    while (!is_last) {
        is_last = !has(list, ',');
        const int error = read_item(field, take(&list, ','), why, &bits);
        if (error < 0) {
            return error;
        }
    }
    if (field->names == weekday_names) {
        bits = (bits | bits >> 7) & 0x7F; /* day 7 is day 0 */
    }
    *ret_bits = bits;
    return 0;
}

static int read_cron(const word *words, verge__explanation why, verge_recurrence *rule) {
    uint64_t bits[FIELDS];
    for (size_t i = 0; i < FIELDS; i++) {
        const int error = read_field(&fields[i], words[i], why, &bits[i]);
        if (error < 0) {
            return error;
        }
    }
    for (size_t hour = 0; hour < 24; hour++) {
        rule->minutes[hour] = (bits[HOUR] >> hour & 1) != 0 ? bits[MINUTE] : 0;
    }
    rule->days = (uint32_t)bits[DAY];
    rule->months = (uint16_t)bits[MONTH];
    rule->weekdays = (uint8_t)bits[WEEKDAY];
    const bool either = words[DAY].text[0] != '*' && words[WEEKDAY].text[0] != '*';
    const bool every_hour = words[HOUR].text[0] == '*';
    rule->flags = (uint8_t)((either ? VERGE__RULE_EITHER : 0) | (every_hour ? VERGE__RULE_EVERY_HOUR : 0));
    return 0;
}

/* Reads a list of local times: "09:00,17:30". */
static int read_times(word list, verge__explanation why, verge_recurrence *rule) {
    bool is_last = false;
    while (!is_last) {
        is_last = !has(list, ',');
        word minute_word = take(&list, ',');
        const word time = minute_word;
        const word hour_word = take(&minute_word, ':');
        unsigned hour = 0;
        unsigned minute = 0;
        if (!number_of(hour_word, &hour) || minute_word.length != 2 || !number_of(minute_word, &minute) || hour > 23 ||
            minute > 59) {
            return verge__explain(why, "\"%.*s\" is not a time of day from 00:00 to 23:59", (int)time.length,
                                  time.text);
        }
        rule->minutes[hour] |= UINT64_C(1) << minute;
    }
    return 0;
}

/* Reads a word of days and a word of times. Days that begin with a digit are days of the month. */
static int read_days_and_times(const word *words, verge__explanation why, verge_recurrence *rule) {
    const bool of_month = is_digit(words[0].text[0]);
    uint64_t bits = 0;
    const int error = read_field(&fields[of_month ? DAY : WEEKDAY], words[0], why, &bits);
    if (error < 0) {
        return error;
    }
    rule->days = of_month ? (uint32_t)bits : UINT32_MAX - 1;
    rule->weekdays = of_month ? 0x7F : (uint8_t)bits;
    rule->months = 0x1FFE;
    return read_times(words[1], why, rule);
}

static int read_shorthand(word name, verge__explanation why, verge_recurrence *rule) {
    for (size_t i = 0; i < sizeof(shorthands) / sizeof(*shorthands); i++) {
        const struct shorthand *shorthand = &shorthands[i];
        if (strlen(shorthand->name) == name.length && memcmp(shorthand->name, name.text, name.length) == 0) {
            word words[FIELDS];
            for (size_t j = 0; j < FIELDS; j++) {
                words[j] = (word){shorthand->fields[j], 1};
            }
            return read_cron(words, why, rule);
        }
    }
    return verge__explain(why, "\"%.*s\" is not @hourly, @daily, @midnight, @weekly, @monthly, @yearly or @annually",
                          (int)name.length, name.text);
}

/* Cuts the text at spaces and tabs. Returns the number of words, at most WORDS_MAX. */
static size_t cut(const char *text, size_t length, word *words) {
    size_t count = 0;
    size_t i = 0;
    while (i < length && count < WORDS_MAX) {
        const size_t begin = i;
        while (i < length && text[i] != ' ' && text[i] != '\t') {
            i++;
        }
        if (i > begin) {
            words[count++] = (word){text + begin, i - begin};
        }
        i++;
    }
    return count;
}

/* Returns whether the rule has any occurrence. One of its months must be long enough for one of its days. With
 * VERGE__RULE_EITHER, any month will do, as each has all days of the week. */
static bool ever_comes(const verge_recurrence *rule) {
    for (unsigned month = 1; month <= 12; month++) {
        const unsigned day_count = verge__days_of_month(2000, month);
        const uint32_t days = rule->days & (uint32_t)((UINT64_C(2) << day_count) - 1);
        if ((rule->months >> month & 1) != 0 && (days != 0 || (rule->flags & VERGE__RULE_EITHER) != 0)) {
            return true;
        }
    }
    return false;
}

static int read_zone(word part, verge__explanation why, verge_recurrence *rule) {
    if (!verge__zone_name_is_valid(part.text, part.length)) {
        return verge__explain(why, "\"%.*s\" is not the name of a time zone, such as Europe/Berlin", (int)part.length,
                              part.text);
    }
    memcpy(rule->zone, part.text, part.length);
    return 0;
}

static int parse(const char *text, verge__explanation why, verge_recurrence *ret_rule) {
    if (text == NULL) {
        return verge__explain(why, "there is no text");
    }
    size_t length = 0;
    while (length <= VERGE_RECURRENCE_TEXT_MAX && text[length] != '\0') {
        length++;
    }
    if (length > VERGE_RECURRENCE_TEXT_MAX) {
        return verge__explain(why, "the text has more than %d characters", VERGE_RECURRENCE_TEXT_MAX);
    }
    word words[WORDS_MAX];
    const size_t count = cut(text, length, words);
    const bool is_shorthand = count > 0 && words[0].text[0] == '@';
    const bool has_times = !is_shorthand && count > 1 && has(words[1], ':');
    const size_t expected = is_shorthand ? 1 : has_times ? 2 : FIELDS;
    verge_recurrence rule = {.days = 0};
    if (count < expected) {
        return verge__explain(why,
                              "a rule has five fields (\"0 9 * * mon-fri\"), or days and times (\"mon-fri 09:00\"), or "
                              "is @daily or the like");
    }
    if (count > expected + 1) {
        return verge__explain(why, "there is more than a time zone after \"%.*s\"; seconds are not supported",
                              (int)words[expected - 1].length, words[expected - 1].text);
    }
    int error = is_shorthand ? read_shorthand(words[0], why, &rule)
                : has_times  ? read_days_and_times(words, why, &rule)
                             : read_cron(words, why, &rule);
    if (error == 0 && count > expected) {
        error = read_zone(words[expected], why, &rule);
    }
    if (error == 0 && !ever_comes(&rule)) {
        error = verge__explain(why, "no such day exists in these months");
    }
    if (error == 0) {
        rule.flags |= VERGE__RULE_VALID;
        *ret_rule = rule;
    }
    return error;
}

int verge_recurrence_parse(const char *rule, verge_recurrence *ret_recurrence, char *why, size_t size) {
    const verge__explanation explanation = verge__explanation_to(why, size);
    return ret_recurrence == NULL ? verge__explain(explanation, "there is no place for the rule: the pointer is NULL")
                                  : parse(rule, explanation, ret_recurrence);
}
