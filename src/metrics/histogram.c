/* SPDX-License-Identifier: MIT */
#include <errno.h>

#include "metrics/writer.h"

int verge_histogram_metrics(const char *name, const char *help, verge_metrics_unit unit,
                            const verge_histogram *const *histograms, const verge_label *const *labels,
                            size_t histogram_count, char *buffer, size_t size) {
    if (!verge__metrics_is_name(name) || !verge__metrics_is_utf8(help) ||
        (unit != VERGE_METRICS_PLAIN && unit != VERGE_METRICS_SECONDS_FROM_NS)) {
        return -EINVAL;
    }
    verge__metrics_writer writer;
    const int error = verge__metrics_start(&writer, histograms, labels, histogram_count, buffer, size);
    if (error != 0) {
        return error;
    }
    if (histogram_count > 0) {
        verge__metrics_family(&writer, name, help, VERGE__METRICS_HISTOGRAM);
    }
    for (size_t i = 0; i < histogram_count; i++) {
        verge__metrics_histogram(&writer, name, labels == NULL ? NULL : labels[i], histograms[i], unit);
    }
    return verge__metrics_finish(&writer);
}
