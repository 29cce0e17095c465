/* SPDX-License-Identifier: MIT */
/*
 * metrics/writer.h - the text format of Prometheus, one family after the other.
 *
 *     error = verge__metrics_start(&writer, objects, labels, source_count, buffer, size);
 *     verge__metrics_fields(&writer, fields, field_count, &sources);      -- families of one number a source
 *     verge__metrics_family(&writer, name, help, VERGE__METRICS_HISTOGRAM);
 *     verge__metrics_histogram(&writer, name, labels[i], histogram, unit);    -- for each source
 *     return verge__metrics_finish(&writer);
 *
 * A source is an object that is described: a wheel, a worker. Its labels tell it apart from the others.
 */
#ifndef VERGE_SRC_METRICS_WRITER_H
#define VERGE_SRC_METRICS_WRITER_H

#include <stdbool.h>

#include "verge/metrics.h"

struct verge__metrics_writer {
    char *buffer;
    size_t size;
    size_t length; /* of all that was written, whether or not it had room */
};

enum verge__metrics_type {
    VERGE__METRICS_COUNTER,
    VERGE__METRICS_GAUGE,
    VERGE__METRICS_HISTOGRAM,
};

/* A family whose samples are a uint64_t of the statistics of each source. */
struct verge__metrics_field {
    const char *name;
    const char *help;
    enum verge__metrics_type type; /* a counter or a gauge */
    size_t offset;                 /* of the number in the statistics */
};

struct verge__metrics_sources {
    size_t count;
    const verge_label *const *labels; /* of each source; NULL: none has any */
    /* The statistics of a source, good until the next call. */
    const void *(*read)(void *context, size_t source);
    void *context;
};

/* ---- labels and names ---- */

/* 0, or -EINVAL if the labels of any source are none, or are those of another. labels may be NULL for
 * at most one source. */
int verge__metrics_check_labels(const verge_label *const *labels, size_t source_count);

bool verge__metrics_is_name(const char *name);
bool verge__metrics_is_utf8(const char *text);

/* ---- text ---- */

/* Begins a text about sources. objects: an array of pointers to them, of any one type. -EINVAL: one is NULL, or the
 * labels are not right. */
int verge__metrics_start(struct verge__metrics_writer *writer, const void *objects, const verge_label *const *labels,
                         size_t source_count, char *buffer, size_t size);

/* The length of the whole text, or -EOVERFLOW. */
int verge__metrics_finish(struct verge__metrics_writer *writer);

void verge__metrics_family(struct verge__metrics_writer *writer, const char *name, const char *help,
                           enum verge__metrics_type type);

void verge__metrics_sample(struct verge__metrics_writer *writer, const char *name, const verge_label *labels,
                           uint64_t value);

void verge__metrics_histogram(struct verge__metrics_writer *writer, const char *name, const verge_label *labels,
                              const verge_histogram *histogram, verge_metrics_unit unit);

void verge__metrics_fields(struct verge__metrics_writer *writer, const struct verge__metrics_field *fields,
                           size_t field_count, const struct verge__metrics_sources *sources);

#endif
