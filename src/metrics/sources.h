/* SPDX-License-Identifier: MIT */
/* metrics/sources.h - how many timers each source of a service has, as text. A source is what starts timers. */
#ifndef VERGE_SRC_METRICS_SOURCES_H
#define VERGE_SRC_METRICS_SOURCES_H

#include "metrics/writer.h"

/* Checks that the labels of each service can get one more, named "source". -EINVAL: there are too many, or one has this
 * name already. */
int verge__metrics_check_for_sources(const verge_label *const *labels, size_t service_count);

void verge__metrics_by_source(verge__metrics_writer *writer, verge_service *const *services,
                              const verge_label *const *labels, size_t service_count);

#endif
