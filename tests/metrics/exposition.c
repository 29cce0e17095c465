/* SPDX-License-Identifier: MIT */
#include "exposition.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/cmocka.h"

enum { NAME_SIZE = 128, SERIES_SIZE = 512, SERIES_COUNT_MAX = 4096 };

enum type { NONE, COUNTER, GAUGE, HISTOGRAM };

struct sample {
    char name[NAME_SIZE];
    char labels[SERIES_SIZE]; /* as in the text, without braces and without le */
    char bound[NAME_SIZE];    /* the value of the label le; empty if there is none */
    char value[NAME_SIZE];
};

/* The histogram whose samples are being read. */
struct buckets {
    bool open; /* a bucket has been read, and no _count yet */
    bool complete;
    bool summed;
    char labels[SERIES_SIZE];
    double bound;
    uint64_t count;
};

struct reader {
    const char *at;
    size_t line;
    char family[NAME_SIZE];
    enum type type;
    size_t family_samples;
    struct buckets buckets;
    char families[64][NAME_SIZE];
    size_t family_count;
    char (*series)[SERIES_SIZE * 2];
    size_t series_count;
    char message[256];
};

static bool fail_at(struct reader *reader, const char *what) {
    (void)snprintf(reader->message, sizeof(reader->message), "line %zu: %s", reader->line, what);
    return false;
}

static bool take(struct reader *reader, const char *text) {
    const size_t length = strlen(text);
    if (strncmp(reader->at, text, length) != 0) {
        return false;
    }
    reader->at += length;
    return true;
}

static bool take_name(struct reader *reader, char *ret_name, bool colon) {
    size_t length = 0;
    while (isalnum((unsigned char)reader->at[length]) || reader->at[length] == '_' ||
           (colon && reader->at[length] == ':')) {
        length++;
    }
    if (length == 0 || length >= NAME_SIZE || isdigit((unsigned char)reader->at[0])) {
        return false;
    }
    memcpy(ret_name, reader->at, length);
    ret_name[length] = '\0';
    reader->at += length;
    return true;
}

static bool take_quoted(struct reader *reader, char *ret_text, size_t size) {
    size_t length = 0;
    if (!take(reader, "\"")) {
        return false;
    }
    while (*reader->at != '"') {
        if (*reader->at == '\\') {
            if (strchr("\\n\"", reader->at[1]) == NULL || reader->at[1] == '\0' || length + 2 >= size) {
                return false;
            }
            ret_text[length++] = *reader->at++;
        } else if (*reader->at == '\n' || *reader->at == '\0' || length + 1 >= size) {
            return false;
        }
        ret_text[length++] = *reader->at++;
    }
    ret_text[length] = '\0';
    return take(reader, "\"");
}

static bool take_number(struct reader *reader, char *ret_text) {
    size_t length = strspn(reader->at, "0123456789");
    if (length > 0 && reader->at[length] == '.') {
        const size_t digits = strspn(reader->at + length + 1, "0123456789");
        length = digits == 0 ? 0 : length + 1 + digits;
    }
    if (length == 0 || length >= NAME_SIZE) {
        return false;
    }
    memcpy(ret_text, reader->at, length);
    ret_text[length] = '\0';
    reader->at += length;
    return true;
}

/* ---- families ---- */

static bool end_family(struct reader *reader) {
    if (reader->type != NONE && reader->family_samples == 0) {
        return fail_at(reader, "the family before has no sample");
    }
    if (reader->buckets.open) {
        return fail_at(reader, "the histogram before has no _count");
    }
    return true;
}

static bool read_help(struct reader *reader) {
    if (!end_family(reader)) {
        return false;
    }
    reader->type = NONE;
    if (!take_name(reader, reader->family, true) || !take(reader, " ")) {
        return fail_at(reader, "HELP without a name");
    }
    for (size_t i = 0; i < reader->family_count; i++) {
        if (strcmp(reader->families[i], reader->family) == 0) {
            return fail_at(reader, "a family comes twice");
        }
    }
    if (reader->family_count == sizeof(reader->families) / sizeof(reader->families[0])) {
        return fail_at(reader, "more families than this can read");
    }
    memcpy(reader->families[reader->family_count++], reader->family, NAME_SIZE);
    for (; *reader->at != '\n' && *reader->at != '\0'; reader->at++) {
        if (*reader->at == '\\' && *++reader->at != '\\' && *reader->at != 'n') {
            return fail_at(reader, "a wrong escape in HELP");
        }
    }
    return take(reader, "\n# TYPE ") || fail_at(reader, "HELP without TYPE");
}

static bool ends_with(const char *text, const char *end) {
    const size_t length = strlen(text);
    return length >= strlen(end) && strcmp(text + length - strlen(end), end) == 0;
}

static bool read_type(struct reader *reader) {
    char name[NAME_SIZE];
    reader->line++;
    if (!take_name(reader, name, true) || strcmp(name, reader->family) != 0 || !take(reader, " ")) {
        return fail_at(reader, "TYPE is of another family than HELP");
    }
    reader->type = take(reader, "counter\n")     ? COUNTER
                   : take(reader, "gauge\n")     ? GAUGE
                   : take(reader, "histogram\n") ? HISTOGRAM
                                                 : NONE;
    reader->family_samples = 0;
    if (reader->type == NONE) {
        return fail_at(reader, "an unknown TYPE");
    }
    return (reader->type == COUNTER) == ends_with(reader->family, "_total") ||
           fail_at(reader, "_total is for counters, and for all of them");
}

/* ---- samples ---- */

static bool take_labels(struct reader *reader, struct sample *ret_sample) {
    size_t length = 0;
    do {
        char name[NAME_SIZE];
        char value[SERIES_SIZE];
        if (!take_name(reader, name, false) || !take(reader, "=") || !take_quoted(reader, value, sizeof(value))) {
            return false;
        }
        if (strcmp(name, "le") == 0) {
            (void)snprintf(ret_sample->bound, sizeof(ret_sample->bound), "%.100s", value);
            continue;
        }
        const int added = snprintf(ret_sample->labels + length, sizeof(ret_sample->labels) - length, "%s%s=\"%s\"",
                                   length == 0 ? "" : ",", name, value);
        length += (size_t)added;
        if (length >= sizeof(ret_sample->labels)) {
            return false;
        }
    } while (take(reader, ","));
    return take(reader, "}");
}

static bool take_sample(struct reader *reader, struct sample *ret_sample) {
    *ret_sample = (struct sample){.name = ""};
    return take_name(reader, ret_sample->name, true) && (!take(reader, "{") || take_labels(reader, ret_sample)) &&
           take(reader, " ") && take_number(reader, ret_sample->value) && take(reader, "\n");
}

static bool is_new_series(struct reader *reader, const struct sample *sample) {
    char series[SERIES_SIZE * 2];
    (void)snprintf(series, sizeof(series), "%s{%s,%s}", sample->name, sample->labels, sample->bound);
    for (size_t i = 0; i < reader->series_count; i++) {
        if (strcmp(reader->series[i], series) == 0) {
            return fail_at(reader, "a series comes twice");
        }
    }
    if (reader->series_count == SERIES_COUNT_MAX) {
        return fail_at(reader, "more series than this can read");
    }
    memcpy(reader->series[reader->series_count++], series, sizeof(series));
    return true;
}

static bool read_bucket(struct reader *reader, const struct sample *sample) {
    struct buckets *buckets = &reader->buckets;
    const uint64_t count = strtoull(sample->value, NULL, 10);
    const bool infinite = strcmp(sample->bound, "+Inf") == 0;
    char *end;
    const double bound = infinite ? 0 : strtod(sample->bound, &end);
    if (sample->bound[0] == '\0' || (!infinite && *end != '\0')) {
        return fail_at(reader, "a bucket without a bound");
    }
    if (!buckets->open) {
        *buckets = (struct buckets){.open = true};
        memcpy(buckets->labels, sample->labels, sizeof(buckets->labels));
    } else if (strcmp(buckets->labels, sample->labels) != 0 || buckets->complete) {
        return fail_at(reader, "buckets of two histograms are mixed");
    } else if (!infinite && bound <= buckets->bound) {
        return fail_at(reader, "bounds that do not rise");
    } else if (count < buckets->count) {
        return fail_at(reader, "counts that fall");
    }
    buckets->bound = bound;
    buckets->count = count;
    buckets->complete = infinite;
    return true;
}

static bool read_sum_or_count(struct reader *reader, const struct sample *sample) {
    struct buckets *buckets = &reader->buckets;
    if (!buckets->open || !buckets->complete || strcmp(buckets->labels, sample->labels) != 0) {
        return fail_at(reader, "_sum or _count without all buckets before");
    }
    if (ends_with(sample->name, "_sum")) {
        buckets->summed = true;
        return true;
    }
    buckets->open = false;
    return (buckets->summed && buckets->count == strtoull(sample->value, NULL, 10)) ||
           fail_at(reader, "a _count that is not that of +Inf, or no _sum before it");
}

static bool read_histogram_sample(struct reader *reader, const struct sample *sample) {
    const size_t length = strlen(reader->family);
    const char *suffix = sample->name + length;
    if (strncmp(sample->name, reader->family, length) != 0) {
        return fail_at(reader, "a sample of another family");
    }
    if (strcmp(suffix, "_bucket") == 0) {
        return read_bucket(reader, sample);
    }
    if (strcmp(suffix, "_sum") == 0 || strcmp(suffix, "_count") == 0) {
        return read_sum_or_count(reader, sample);
    }
    return fail_at(reader, "no sample of a histogram");
}

static bool read_sample(struct reader *reader) {
    struct sample sample;
    if (reader->type == NONE) {
        return fail_at(reader, "a sample without HELP and TYPE");
    }
    if (!take_sample(reader, &sample)) {
        return fail_at(reader, "no sample");
    }
    reader->family_samples++;
    if (!is_new_series(reader, &sample)) {
        return false;
    }
    if (reader->type == HISTOGRAM) {
        return read_histogram_sample(reader, &sample);
    }
    return (strcmp(sample.name, reader->family) == 0 && sample.bound[0] == '\0') ||
           fail_at(reader, "a sample of another family");
}

const char *exposition_check(const char *text) {
    static struct reader reader;
    static char series[SERIES_COUNT_MAX][SERIES_SIZE * 2];
    memset(&reader, 0, sizeof(reader));
    reader.at = text;
    reader.series = series;
    for (bool fine = true; *reader.at != '\0';) {
        reader.line++;
        fine = take(&reader, "# HELP ") ? read_help(&reader) && read_type(&reader) : read_sample(&reader);
        if (!fine) {
            return reader.message;
        }
    }
    return end_family(&reader) ? NULL : reader.message;
}

const char *exposition_value(const char *text, const char *series) {
    static char value[NAME_SIZE];
    const size_t length = strlen(series);
    for (const char *line = text; line != NULL && *line != '\0';) {
        const char *end = strchr(line, '\n');
        if (strncmp(line, series, length) == 0 && line[length] == ' ' && end != NULL) {
            (void)snprintf(value, sizeof(value), "%.*s", (int)(end - line - (ptrdiff_t)length - 1), line + length + 1);
            return value;
        }
        line = end == NULL ? NULL : end + 1;
    }
    fail_msg("there is no series %s in\n%s", series, text);
    return NULL;
}

uint64_t exposition_number(const char *text, const char *series) {
    return strtoull(exposition_value(text, series), NULL, 10);
}

void exposition_expect_length(int length, const char *text) {
    assert_int_equal(length, strlen(text));
}
