/* SPDX-License-Identifier: MIT */
/* histogram/histogram_internal.h - recording one value, quickly. */
#ifndef VERGE_SRC_HISTOGRAM_HISTOGRAM_INTERNAL_H
#define VERGE_SRC_HISTOGRAM_HISTOGRAM_INTERNAL_H

#include "verge/histogram.h"

/* verge_histogram_record(histogram, value, 1), without the multiplication and the branch. */
void verge__histogram_record_once(verge_histogram *histogram, uint64_t value);

#endif
