/* SPDX-License-Identifier: MIT */
/*
 * metrics/writer.h - writes the text format of Prometheus, one family after the other.
 *
 *     error = verge__metrics_start(&writer, objects, labels, source_count, buffer, size);
 *     verge__metrics_fields(&writer, fields, field_count, &sources);      -- one family for each field
 *     verge__metrics_family(&writer, name, help, VERGE__METRICS_HISTOGRAM);
 *     verge__metrics_histogram(&writer, name, labels[i], histogram, unit);    -- for each source
 *     return verge__metrics_finish(&writer);
 *
 * A source is an object that the text describes, such as a wheel. Sources differ in their labels. (Only in sources.h
 * and sources.c, the word has another meaning: a source is what starts timers.)
 */
#ifndef VERGE_SRC_METRICS_WRITER_H
#define VERGE_SRC_METRICS_WRITER_H

#include <stdbool.h>

#include "verge/metrics.h"

typedef struct verge__metrics_writer {
    char *buffer;
    size_t size;
    size_t length; /* of the whole text, including what did not fit */
} verge__metrics_writer;

typedef enum verge__metrics_type {
    VERGE__METRICS_COUNTER,
    VERGE__METRICS_GAUGE,
    VERGE__METRICS_HISTOGRAM,
} verge__metrics_type;

/* A family with one sample for each source: a uint64_t field of the source's statistics. */
typedef struct verge__metrics_field {
    const char *name;
    const char *help;
    verge__metrics_type type; /* a counter or a gauge */
    size_t offset;            /* of the number in the statistics */
} verge__metrics_field;

typedef struct verge__metrics_sources {
    size_t count;
    const verge_label *const *labels; /* by source; NULL: there is one source, without labels */
    /* Returns the statistics of a source. They are valid until the next call. */
    const void *(*read)(void *context, size_t source);
    void *context;
} verge__metrics_sources;

/* ---- labels and names ---- */

/* Returns -EINVAL if labels are invalid, or two sources have the same labels. labels may be NULL for at most one
 * source. */
int verge__metrics_check_labels(const verge_label *const *labels, size_t source_count);

bool verge__metrics_is_name(const char *name);
bool verge__metrics_is_utf8(const char *text);

/* ---- text ---- */

/* Begins a text about sources. objects is an array of pointers to them. -EINVAL: one is NULL, or labels are invalid. */
int verge__metrics_start(verge__metrics_writer *writer, const void *objects, const verge_label *const *labels,
                         size_t source_count, char *buffer, size_t size);

/* Ends the text with a 0. Returns the length of the whole text, or -EOVERFLOW. */
int verge__metrics_finish(verge__metrics_writer *writer);

void verge__metrics_family(verge__metrics_writer *writer, const char *name, const char *help, verge__metrics_type type);

void verge__metrics_sample(verge__metrics_writer *writer, const char *name, const verge_label *labels, uint64_t value);

void verge__metrics_histogram(verge__metrics_writer *writer, const char *name, const verge_label *labels,
                              const verge_histogram *histogram, verge_metrics_unit unit);

void verge__metrics_fields(verge__metrics_writer *writer, const verge__metrics_field *fields, size_t field_count,
                           const verge__metrics_sources *sources);

#endif
