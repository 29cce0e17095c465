/* SPDX-License-Identifier: MIT */
/*
 * verge/metrics.h - statistics as text for Prometheus (exposition format 0.0.4). One call writes one text.
 *
 *     const verge_label worker_3[] = {{"worker", "3"}, {NULL, NULL}};
 *     const verge_label *labels[] = {worker_3};
 *     int length = verge_wheel_metrics(&wheel, labels, 1, buffer, sizeof(buffer));
 *     if (length < 0) ...                          -- an invalid label
 *     if ((size_t)length >= sizeof(buffer)) ...    -- the text was cut off: it needs length + 1 bytes
 *
 * Each function works like snprintf: it writes at most `size` bytes including a final 0, and returns the length of the
 * whole text without the 0. If size is 0, it writes nothing, and buffer may be NULL.
 *
 * Promises
 *   M1 format      a text that was not cut off is valid for Prometheus: each family is there once, with HELP and TYPE,
 *                  its samples follow each other, and label values are escaped.
 *   M2 whole       size decides only where the text is cut off.
 *   M3 no effects  no call allocates, waits, changes the object that it describes, or depends on the locale. But
 *                  verge_service_metrics with sources may read files, to find names, and verge_runtime_metrics takes a
 *                  lock while it looks at all stacks.
 *
 * A call describes one object or several of one kind. labels[i] has the labels of object i. For a single object, labels
 * may be NULL.
 *
 * You may join the texts of several calls if their families differ. The names of families begin with verge_wheel_,
 * verge_service_, verge_source_ or verge_runtime_, or are the names that you give to verge_histogram_metrics. So
 * describe all objects of one kind by one call.
 *
 * Errors. -EINVAL: a label name that does not match [a-zA-Z_][a-zA-Z0-9_]*, starts with __, is "le" or "quantile", or
 * is given twice; a label value that is NULL or not UTF-8; two objects with the same labels; a NULL object. -EOVERFLOW:
 * the text is longer than INT_MAX.
 */
#ifndef VERGE_METRICS_H
#define VERGE_METRICS_H

#include "verge/base.h"
#include "verge/histogram.h"
#include "verge/service.h"
#include "verge/task.h"
#include "verge/wheel.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Labels are an array that ends with a NULL name. A NULL pointer means no labels. */
typedef struct verge_label {
    const char *name;
    const char *value;
} verge_label;

/* Writes the figures of verge_wheel_get_stats, without level_count and worker_id, which never change. Call it from the
 * thread that uses the wheels. */
VERGE_API int verge_wheel_metrics(verge_wheel *const *wheels, const verge_label *const *labels, size_t wheel_count,
                                  char *buffer, size_t size);

/*
 * Writes the figures of verge_service_get_stats, and histograms of how late callbacks began and how long they took.
 * From any thread.
 *
 * with_sources adds for each source of timers: how many are pending, and how many are overdue by more than a second.
 * In the text, the source is the label source="...". Its value is the label that the timers were started with or, for
 * timers without a label, the name of their callback. If the number of a source's timers only grows, the source has a
 * leak. To count timers, the call reads each timer of the service twice: a million timers take milliseconds, on the
 * calling thread. To find names, the call may read the files of the program and its libraries. Also -EINVAL: a label
 * "source", or more than 30 labels.
 */
VERGE_API int verge_service_metrics(verge_service *const *services, const verge_label *const *labels,
                                    size_t service_count, bool with_sources, char *buffer, size_t size);

/* Writes the figures of verge_runtime_get_stats. From any thread. */
VERGE_API int verge_runtime_metrics(verge_runtime *const *runtimes, const verge_label *const *labels,
                                    size_t runtime_count, char *buffer, size_t size);

/* The unit of a histogram's values, and their unit in the text. The bounds of the buckets in the text are fixed, so
 * that histograms of several machines can be added up. */
typedef enum verge_metrics_unit {
    VERGE_METRICS_PLAIN = 0, /* plain numbers; bounds at 2^k - 1, k from 0 to 64 */
    VERGE_METRICS_SECONDS_FROM_NS =
        1, /* ns, shown in seconds; bounds at 2^k - 1 ns, k from 10 to 42 (1 us to 73 min) */
} verge_metrics_unit;

/*
 * Writes your own histograms, as one family. From any thread. Also -EINVAL: a name that does not match
 * [a-zA-Z_:][a-zA-Z0-9_:]*, a help that is NULL or not UTF-8, an unknown unit.
 */
VERGE_API int verge_histogram_metrics(const char *name, const char *help, verge_metrics_unit unit,
                                      const verge_histogram *const *histograms, const verge_label *const *labels,
                                      size_t histogram_count, char *buffer, size_t size);

#ifdef __cplusplus
}
#endif

#endif
