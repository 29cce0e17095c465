/* SPDX-License-Identifier: MIT */
/* A histogram of lateness: a line of quantiles and a drawing, or JSON. */
#ifndef VERGE_TOOL_LATENESS_H
#define VERGE_TOOL_LATENESS_H

#include <verge/histogram.h>

#include "output/json.h"
#include "output/look.h"

void lateness_print(const verge_histogram *lateness, const struct look *look);
void lateness_write_json(const verge_histogram *lateness, struct json *json); /* the field "lateness" */

#endif
