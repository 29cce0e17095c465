/* SPDX-License-Identifier: MIT */
/* Text that strangers have written, such as labels, for a terminal: control characters, and characters that hide or
 * turn round what stands beside them, become \uXXXX. */
#ifndef VERGE_TOOL_SAFE_H
#define VERGE_TOOL_SAFE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* The next character of UTF-8 text that ends with 0, and its size in bytes. What is no UTF-8 is U+FFFD, one byte. */
uint32_t safe_character(const char *text, size_t *ret_size);

/* Whether a terminal must not get it. */
bool safe_is_hidden(uint32_t character);

/* As much of the text as there is room for, escaped. */
void safe_copy(char *to, size_t size, const char *text);

/* Prints valid JSON: hidden characters are only in its strings, where \uXXXX means the same. */
void safe_print_json(const char *text, size_t size, FILE *out);

#endif
