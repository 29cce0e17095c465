/* SPDX-License-Identifier: MIT */
/*
 * base/explain.h - why options are refused. Each layer has one function that checks its options. It returns -EINVAL
 * through the functions below, with a sentence that names the field and the reason. The create function ignores this
 * sentence. The public ..._options_explain gives it to the caller. So both apply the same rules.
 */
#ifndef VERGE_SRC_BASE_EXPLAIN_H
#define VERGE_SRC_BASE_EXPLAIN_H

#include <stddef.h>
#include <stdint.h>

#include "base/compiler.h"

/* Where to write the sentence. If text is NULL or size is 0, it is not written. */
typedef struct verge__explanation {
    char *text;
    size_t size;
} verge__explanation;

/* Empties the text in the caller's buffer, where it stays empty if there is nothing to explain. Returns the buffer. */
verge__explanation verge__explanation_to(char *text, size_t size);

/* Writes the sentence, cut to the size. Always returns -EINVAL. */
int verge__explain(verge__explanation why, const char *format, ...) VERGE__PRINTF(2, 3);

/* Reads options that begin with their size (base/sized.h). `init` is the name of the function that fills them, or NULL
 * if their defaults are zero. Returns -EINVAL if options is NULL, if struct_size is no size of options, or if a field
 * is set that this library does not know. */
int verge__explain_sized(verge__explanation why, const char *init, const void *options, void *ret_known,
                         size_t known_size);

/* Returns 0 if the value is a power of two from 1 to 2^exponent_max. Otherwise returns -EINVAL, and the sentence has
 * values that would be accepted. */
int verge__explain_power_of_two(verge__explanation why, const char *field, uint64_t value, unsigned exponent_max);

#endif
