/* SPDX-License-Identifier: MIT */
/*
 * A strict reader of the Prometheus text format. It accepts only what verge means to write: each family once, with
 * HELP, TYPE and at least one sample; counters that end in _total; integers, or decimals with a point; histograms whose
 * bounds rise, whose counts do not fall, and whose last bucket is +Inf and has the same count as _count.
 */
#ifndef VERGE_TESTS_METRICS_EXPOSITION_H
#define VERGE_TESTS_METRICS_EXPOSITION_H

#include <stdint.h>

/* Fails the test if strlen(text) is not `length`, the result of the function that wrote the text. (An assertion with
 * that call and strlen(text) as arguments would not do: the compiler may evaluate strlen first.) */
void exposition_expect_length(int length, const char *text);

/* Returns NULL if the text is valid; otherwise what is wrong, in static memory. */
const char *exposition_check(const char *text);

/* Returns the value of a series, which is named as in the text: name{label="value"}. Fails the test if there is
 * none. */
const char *exposition_value(const char *text, const char *series);

uint64_t exposition_number(const char *text, const char *series);

#endif
