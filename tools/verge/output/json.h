/* SPDX-License-Identifier: MIT */
/* Writes JSON, one value after the other. Inside an object each value has a key; in an array the key is NULL. */
#ifndef VERGE_TOOL_JSON_H
#define VERGE_TOOL_JSON_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct json {
    FILE *out;
    unsigned depth;
    bool needs_comma;
};

void json_begin_object(struct json *json, const char *key);
void json_end_object(struct json *json); /* after the outermost object, also ends the line */
void json_begin_array(struct json *json, const char *key);
void json_end_array(struct json *json);
void json_string(struct json *json, const char *key, const char *value); /* writes NULL as null */
void json_number(struct json *json, const char *key, uint64_t value);
void json_real(struct json *json, const char *key, double value);
void json_bool(struct json *json, const char *key, bool value);

/* Writes a text that is already a number in JSON. */
void json_literal(struct json *json, const char *key, const char *value);

#endif
