/* SPDX-License-Identifier: MIT */
/* Makes text from strangers, such as labels, safe for a terminal. Control characters, and characters that cannot be
 * seen or change the direction of text, become \uXXXX. */
#ifndef VERGE_TOOL_SAFE_H
#define VERGE_TOOL_SAFE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* Returns the next character of UTF-8 text that ends with 0, and its size in bytes. A byte that is no UTF-8 is
 * U+FFFD. */
uint32_t safe_character(const char *text, size_t *ret_size);

/* Whether a terminal must not get this character. */
bool safe_is_hidden(uint32_t character);

/* Copies as much of the text as there is room for, escaped. */
void safe_copy(char *to, size_t size, const char *text);

/* Prints valid JSON, with \uXXXX for hidden characters. JSON has these only in strings, where \uXXXX means the same. */
void safe_print_json(const char *text, size_t size, FILE *out);

#endif
