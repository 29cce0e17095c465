/* SPDX-License-Identifier: MIT */
/* Writes text into a buffer of limited size. Text that does not fit is only counted. */
#include "metrics/writer.h"

#include <errno.h>
#include <limits.h>
#include <string.h>

static void put(verge__metrics_writer *writer, const char *text, size_t length) {
    if (writer->length < writer->size) {
        const size_t room = writer->size - writer->length;
        memcpy(writer->buffer + writer->length, text, length < room ? length : room);
    }
    writer->length += length;
}

static void put_text(verge__metrics_writer *writer, const char *text) {
    put(writer, text, strlen(text));
}

/* Writes a number. If it has fewer than digits_min digits, it gets leading zeros. */
static void put_number(verge__metrics_writer *writer, uint64_t number, unsigned digits_min) {
    char text[24];
    size_t start = sizeof(text);
    do {
        text[--start] = (char)('0' + number % 10);
        number /= 10;
    } while (number != 0 || sizeof(text) - start < digits_min);
    put(writer, text + start, sizeof(text) - start);
}

static void put_escaped(verge__metrics_writer *writer, const char *text, bool quotes_too) {
    for (; *text != '\0'; text++) {
        if (*text == '\n') {
            put_text(writer, "\\n");
        } else {
            if (*text == '\\' || (*text == '"' && quotes_too)) {
                put_text(writer, "\\");
            }
            put(writer, text, 1);
        }
    }
}

/* Writes all digits: a double would lose some. */
static void put_in_unit(verge__metrics_writer *writer, uint64_t value, verge_metrics_unit unit) {
    if (unit == VERGE_METRICS_PLAIN) {
        put_number(writer, value, 1);
        return;
    }
    const uint64_t ns_per_s = UINT64_C(1000000000);
    put_number(writer, value / ns_per_s, 1);
    put_text(writer, ".");
    put_number(writer, value % ns_per_s, 9);
}

static void put_label_values(verge__metrics_writer *writer, const verge_label *labels) {
    for (const verge_label *label = labels; label != NULL && label->name != NULL; label++) {
        put_text(writer, label == labels ? "" : ",");
        put_text(writer, label->name);
        put_text(writer, "=\"");
        put_escaped(writer, label->value, true);
        put_text(writer, "\"");
    }
}

static bool has_any(const verge_label *labels) {
    return labels != NULL && labels->name != NULL;
}

/* Writes: name suffix { labels } blank */
static void put_series(verge__metrics_writer *writer, const char *name, const char *suffix, const verge_label *labels) {
    put_text(writer, name);
    put_text(writer, suffix);
    if (has_any(labels)) {
        put_text(writer, "{");
        put_label_values(writer, labels);
        put_text(writer, "}");
    }
    put_text(writer, " ");
}

/* Writes: name _bucket { labels, le="bound" } count. bound NULL: "+Inf". */
static void put_bucket(verge__metrics_writer *writer, const char *name, const verge_label *labels,
                       const uint64_t *bound, verge_metrics_unit unit, uint64_t count) {
    put_text(writer, name);
    put_text(writer, "_bucket{");
    put_label_values(writer, labels);
    put_text(writer, has_any(labels) ? ",le=\"" : "le=\"");
    if (bound != NULL) {
        put_in_unit(writer, *bound, unit);
    } else {
        put_text(writer, "+Inf");
    }
    put_text(writer, "\"} ");
    put_number(writer, count, 1);
    put_text(writer, "\n");
}

static bool all_are_there(const void *objects, size_t count) {
    for (size_t i = 0; i < count; i++) {
        const void *object;
        if (objects == NULL) {
            return false;
        }
        memcpy(&object, (const char *)objects + i * sizeof(object), sizeof(object));
        if (object == NULL) {
            return false;
        }
    }
    return true;
}

int verge__metrics_start(verge__metrics_writer *writer, const void *objects, const verge_label *const *labels,
                         size_t source_count, char *buffer, size_t size) {
    writer->buffer = buffer;
    writer->size = buffer == NULL ? 0 : size;
    writer->length = 0;
    return all_are_there(objects, source_count) ? verge__metrics_check_labels(labels, source_count) : -EINVAL;
}

int verge__metrics_finish(verge__metrics_writer *writer) {
    if (writer->size > 0) {
        writer->buffer[writer->length < writer->size ? writer->length : writer->size - 1] = '\0';
    }
    return writer->length > INT_MAX ? -EOVERFLOW : (int)writer->length;
}

void verge__metrics_family(verge__metrics_writer *writer, const char *name, const char *help,
                           verge__metrics_type type) {
    static const char *const type_names[] = {
        [VERGE__METRICS_COUNTER] = "counter",
        [VERGE__METRICS_GAUGE] = "gauge",
        [VERGE__METRICS_HISTOGRAM] = "histogram",
    };
    put_text(writer, "# HELP ");
    put_text(writer, name);
    put_text(writer, " ");
    put_escaped(writer, help, false);
    put_text(writer, "\n# TYPE ");
    put_text(writer, name);
    put_text(writer, " ");
    put_text(writer, type_names[type]);
    put_text(writer, "\n");
}

void verge__metrics_sample(verge__metrics_writer *writer, const char *name, const verge_label *labels, uint64_t value) {
    put_series(writer, name, "", labels);
    put_number(writer, value, 1);
    put_text(writer, "\n");
}

void verge__metrics_histogram(verge__metrics_writer *writer, const char *name, const verge_label *labels,
                              const verge_histogram *histogram, verge_metrics_unit unit) {
    const unsigned bits_first = unit == VERGE_METRICS_PLAIN ? 0 : 10;
    const unsigned bits_last = unit == VERGE_METRICS_PLAIN ? 64 : 42;
    uint64_t total = 0; /* each bucket is read once, so that the text is consistent while a thread records */
    unsigned bits = bits_first;
    for (size_t i = 0; i < VERGE_HISTOGRAM_BUCKET_COUNT; i++) {
        uint64_t upper = 0;
        uint64_t count = 0;
        (void)verge_histogram_bucket(histogram, i, &upper, &count);
        total = count > UINT64_MAX - total ? UINT64_MAX : total + count;
        if (bits <= bits_last && upper == (bits == 64 ? UINT64_MAX : (UINT64_C(1) << bits) - 1)) {
            put_bucket(writer, name, labels, &upper, unit, total);
            bits++;
        }
    }
    put_bucket(writer, name, labels, NULL, unit, total);
    put_series(writer, name, "_sum", labels);
    put_in_unit(writer, verge_histogram_sum(histogram), unit);
    put_text(writer, "\n");
    put_series(writer, name, "_count", labels);
    put_number(writer, total, 1);
    put_text(writer, "\n");
}

void verge__metrics_fields(verge__metrics_writer *writer, const verge__metrics_field *fields, size_t field_count,
                           const verge__metrics_sources *sources) {
    const char *statistics = sources->count == 1 ? sources->read(sources->context, 0) : NULL;
    for (size_t i = 0; i < field_count && sources->count > 0; i++) {
        verge__metrics_family(writer, fields[i].name, fields[i].help, fields[i].type);
        for (size_t source = 0; source < sources->count; source++) {
            if (sources->count > 1) {
                statistics = sources->read(sources->context, source);
            }
            uint64_t value;
            memcpy(&value, statistics + fields[i].offset, sizeof(value));
            verge__metrics_sample(writer, fields[i].name, sources->labels == NULL ? NULL : sources->labels[source],
                                  value);
        }
    }
}
