/* SPDX-License-Identifier: MIT */
/*
 * base/explain.h - why options are refused. What checks the options of a layer says -EINVAL through these functions, with
 * the field and the reason; create ignores the text, and the public ..._options_explain hands it to the caller. So there
 * is one list of what is wrong.
 */
#ifndef VERGE_SRC_BASE_EXPLAIN_H
#define VERGE_SRC_BASE_EXPLAIN_H

#include <stddef.h>
#include <stdint.h>

/* Where the sentence goes; size 0: nowhere. */
struct verge__explanation {
    char *text;
    size_t size;
};

/* Writes the sentence, as much of it as fits. Always -EINVAL. */
int verge__explain(struct verge__explanation why, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* 0 if the value is a power of two from 1 to 2^exponent_max; else -EINVAL, and the nearest ones that are. */
int verge__explain_power_of_two(struct verge__explanation why, const char *field, uint64_t value,
                                unsigned exponent_max);

#endif
