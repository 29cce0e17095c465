/* SPDX-License-Identifier: MIT */
#include "output/json.h"

#include <inttypes.h>
#include <math.h>

static void write_text(struct json *json, const char *text) {
    (void)fputc('"', json->out);
    for (const unsigned char *at = (const unsigned char *)text; *at != '\0'; at++) {
        if (*at < 0x20 || *at == '"' || *at == '\\' || *at == 0x7f) {
            (void)fprintf(json->out, "\\u%04x", *at);
        } else {
            (void)fputc(*at, json->out);
        }
    }
    (void)fputc('"', json->out);
}

/* Writes what comes before a value: comma, new line, key. */
static void begin_value(struct json *json, const char *key) {
    if (json->depth > 0) {
        (void)fprintf(json->out, "%s\n%*s", json->needs_comma ? "," : "", (int)json->depth * 2, "");
    }
    if (key != NULL) {
        write_text(json, key);
        (void)fputs(": ", json->out);
    }
    json->needs_comma = true;
}

static void begin(struct json *json, const char *key, char bracket) {
    begin_value(json, key);
    (void)fputc(bracket, json->out);
    json->depth++;
    json->needs_comma = false;
}

static void end(struct json *json, char bracket) {
    json->depth--;
    if (json->needs_comma) {
        (void)fprintf(json->out, "\n%*s", (int)json->depth * 2, "");
    }
    (void)fputc(bracket, json->out);
    json->needs_comma = true;
    if (json->depth == 0) {
        (void)fputc('\n', json->out);
    }
}

void json_begin_object(struct json *json, const char *key) {
    begin(json, key, '{');
}

void json_end_object(struct json *json) {
    end(json, '}');
}

void json_begin_array(struct json *json, const char *key) {
    begin(json, key, '[');
}

void json_end_array(struct json *json) {
    end(json, ']');
}

void json_string(struct json *json, const char *key, const char *value) {
    begin_value(json, key);
    if (value == NULL) {
        (void)fputs("null", json->out);
    } else {
        write_text(json, value);
    }
}

void json_number(struct json *json, const char *key, uint64_t value) {
    begin_value(json, key);
    (void)fprintf(json->out, "%" PRIu64, value);
}

void json_real(struct json *json, const char *key, double value) {
    begin_value(json, key);
    if (isfinite(value)) {
        (void)fprintf(json->out, "%.6g", value);
    } else {
        (void)fputs("null", json->out); /* JSON has neither NaN nor infinity */
    }
}

void json_bool(struct json *json, const char *key, bool value) {
    begin_value(json, key);
    (void)fputs(value ? "true" : "false", json->out);
}

void json_literal(struct json *json, const char *key, const char *value) {
    begin_value(json, key);
    (void)fputs(value, json->out);
}
