/* SPDX-License-Identifier: MIT */
/* Parsed JSON: a tree of values, whose memory is freed as a whole. */
#ifndef VERGE_TOOL_VALUE_H
#define VERGE_TOOL_VALUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum value_kind { VALUE_NULL, VALUE_BOOL, VALUE_NUMBER, VALUE_TEXT, VALUE_ARRAY, VALUE_OBJECT };

struct value {
    enum value_kind kind;
    double number; /* of a bool: 0 or 1 */
    const char *text;
    const char *key;           /* of a member of an object */
    const struct value *first; /* of an array or an object */
    const struct value *next;
    size_t count;
};

struct value_store; /* the memory */

/* Returns NULL if the text is no JSON or is nested too deeply, or if there is no memory. */
const struct value *value_read(const char *text, size_t size, struct value_store **ret_store);
void value_free(struct value_store *store);

/* These never return NULL: a missing value is a null of JSON. */
const struct value *value_of(const struct value *object, const char *key);
const struct value *value_at(const struct value *array, size_t place);

double value_number(const struct value *object, const char *key);    /* 0 if it is not there */
const char *value_text(const struct value *object, const char *key); /* "" if it is not there */
bool value_bool(const struct value *object, const char *key);

#endif
