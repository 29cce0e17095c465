/* SPDX-License-Identifier: MIT */
/*
 * scope/text.h - a growing text, and functions that write JSON into it. When memory runs out, or verge__text_format
 * makes more than 511 bytes at once, the text has failed, and ignores further writes. So a writer checks has_failed
 * once, at the end.
 */
#ifndef VERGE_SRC_SCOPE_TEXT_H
#define VERGE_SRC_SCOPE_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "verge/base.h"

typedef struct verge__text {
    const verge_allocator *allocator;
    char *bytes;
    size_t size, capacity;
    bool has_failed;
    bool needs_comma; /* the next JSON value comes after a comma */
} verge__text;

void verge__text_free(verge__text *text);
void verge__text_clear(verge__text *text);
bool verge__text_reserve(verge__text *text, size_t more); /* false: no memory */
void verge__text_add(verge__text *text, const char *bytes, size_t size);
void verge__text_format(verge__text *text, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* JSON. Inside an object each value has a key; in an array the key is NULL. */
void verge__json_begin(verge__text *text, const char *key, char bracket); /* '{' or '[' */
void verge__json_end(verge__text *text, char bracket);
void verge__json_number(verge__text *text, const char *key, uint64_t value);
void verge__json_real(verge__text *text, const char *key, double value);
void verge__json_bool(verge__text *text, const char *key, bool value);

/* Takes any bytes: invalid UTF-8 becomes U+FFFD. Control characters, characters that cannot be seen or that change
 * the direction of the text, and those with a meaning in HTML or JSON are escaped. A value of NULL is written as
 * null. */
void verge__json_string(verge__text *text, const char *key, const char *value);

#endif
