/* SPDX-License-Identifier: MIT */
/*
 * verge/metrics.h - statistics as text for Prometheus (exposition format 0.0.4), by one call.
 *
 *     verge_label labels[] = {{"worker", "3"}, {NULL, NULL}};
 *     int length = verge_wheel_metrics(wheel, labels, buffer, sizeof(buffer));
 *     if (length < 0) ...                          -- the labels are no labels
 *     if ((size_t)length >= sizeof(buffer)) ...    -- it was cut off: it takes length + 1 bytes
 *
 * Like snprintf, each function writes at most `size` bytes, of which the last is 0, and returns the
 * length of the whole text without that 0. With size 0 it writes nothing and the buffer may be NULL.
 *
 * Promises
 *   M1 format      what was not cut off is a text that Prometheus takes: each family once, with HELP and TYPE,
 *                  its samples together; label values escaped.
 *   M2 whole       nothing of the text depends on size but where it is cut off.
 *   M3 no effects  no call allocates, blocks, changes what it describes, or depends on the locale.
 *
 * The texts of several calls may follow each other if their families differ: verge_wheel_...,
 * verge_service_..., verge_runtime_..., or the names given to verge_histogram_metrics. Several objects of one kind go into one call.
 *
 * -EINVAL: a label name that is not [a-zA-Z_][a-zA-Z0-9_]*, that starts with __, that is "le" or
 * "quantile", or that is there twice; a label value that is NULL or no UTF-8; objects whose labels are the same; a NULL
 * object. -EOVERFLOW: a text beyond INT_MAX.
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

/* Labels are arrays that end with a name of NULL. Where there are none, NULL will do. */
typedef struct verge_label {
    const char *name;
    const char *value;
} verge_label;

/* verge_wheel_get_stats as text. To be called by the thread that uses the wheel. */
VERGE_API int verge_wheel_metrics(const verge_wheel *wheel, const verge_label *labels, char *buffer, size_t size);

/* The same of several wheels: labels[i] belongs to wheels[i]. */
VERGE_API int verge_wheels_metrics(const verge_wheel *const *wheels, const verge_label *const *labels,
                                   size_t wheel_count, char *buffer, size_t size);

/* verge_service_get_stats as text, and how late callbacks began and how long they took. From any thread. */
VERGE_API int verge_service_metrics(const verge_service *service, const verge_label *labels, char *buffer, size_t size);

/* The same of several services: labels[i] belongs to services[i]. */
VERGE_API int verge_services_metrics(const verge_service *const *services, const verge_label *const *labels,
                                     size_t service_count, char *buffer, size_t size);

/* verge_runtime_get_stats as text, of one runtime and of several. From any thread. */
VERGE_API int verge_runtime_metrics(verge_runtime *runtime, const verge_label *labels, char *buffer, size_t size);
VERGE_API int verge_runtimes_metrics(verge_runtime *const *runtimes, const verge_label *const *labels,
                                     size_t runtime_count, char *buffer, size_t size);

/* What the values of a histogram are, and what they are shown in. The bounds that are shown are fixed, so that the
 * histograms of several machines can be added up. */
typedef enum verge_metrics_unit {
    VERGE_METRICS_PLAIN = 0, /* as they are; bounds at 2^k - 1, k from 0 to 64 */
    VERGE_METRICS_SECONDS_FROM_NS =
        1, /* ns, shown in seconds; bounds at 2^k - 1 ns, k from 10 to 42 (1 us to 73 min) */
} verge_metrics_unit;

/*
 * Histograms of the caller's own, as one family; labels[i] belongs to histograms[i], and labels may be
 * NULL if there is but one. From any thread. -EINVAL also for a name that is not
 * [a-zA-Z_:][a-zA-Z0-9_:]*, a help that is NULL or no UTF-8, an unknown unit.
 */
VERGE_API int verge_histogram_metrics(const char *name, const char *help, verge_metrics_unit unit,
                                      const verge_histogram *const *histograms, const verge_label *const *labels,
                                      size_t histogram_count, char *buffer, size_t size);

#ifdef __cplusplus
}
#endif

#endif
