/* SPDX-License-Identifier: MIT */
/*
 * A strict reader of the Prometheus text format. It accepts only what verge means to write: each family once, with
 * HELP, TYPE and at least one sample; counters that end in _total; integers, or decimals with a point; histograms whose
 * buckets rise, in bound and in count, end with +Inf, and agree with their _count.
 */
#ifndef VERGE_TESTS_METRICS_EXPOSITION_H
#define VERGE_TESTS_METRICS_EXPOSITION_H

#include <stdint.h>

/* Fails the test unless a text has the length that the function which wrote it returned. Not strlen beside the call of
 * it: which of two arguments is evaluated first is the compiler's choice. */
void exposition_expect_length(int length, const char *text);

/* NULL if the text is in order; else what is not, in static memory. */
const char *exposition_check(const char *text);

/* The value of a series, written exactly as in the text: name{label="value"}. Fails the test if it is not there. */
const char *exposition_value(const char *text, const char *series);

uint64_t exposition_number(const char *text, const char *series);

#endif
