/* SPDX-License-Identifier: MIT */
/*
 * scope/request.h - parses the head of an HTTP/1.1 request, as far as scope needs it. It is strict: lines must end with
 * CR LF, names must be tokens and values printable. It refuses folded lines, two Host fields, a body, and a target that
 * is no path.
 */
#ifndef VERGE_SRC_SCOPE_REQUEST_H
#define VERGE_SRC_SCOPE_REQUEST_H

#include <stdbool.h>
#include <stddef.h>

enum {
    VERGE__REQUEST_SIZE_MAX = 8192, /* of a head; a longer one is refused with status 431 */
};

/* A part of the head, not terminated by 0. bytes is NULL if the request does not have this part. */
typedef struct verge__part {
    const char *bytes;
    size_t size;
} verge__part;

typedef enum verge__method {
    VERGE__METHOD_GET,
    VERGE__METHOD_HEAD,
    VERGE__METHOD_POST,
    VERGE__METHOD_OTHER
} verge__method;

typedef struct verge__request {
    verge__method method;
    verge__part path; /* up to the question mark */
    verge__part host;
    verge__part origin;
    verge__part if_none_match;
    bool keeps_alive; /* the connection stays open after the answer */
    size_t size;      /* of the head; the bytes behind it are the next request */
} verge__request;

/* Returns 0 if the head is complete, and -EAGAIN if it is not complete yet. Otherwise the request is refused, and the
 * result is the status of the answer: 400, 413, 431 or 505. *ret_request is set only if the result is 0. */
int verge__request_parse(const char *bytes, size_t size, verge__request *ret_request);

bool verge__part_equals(verge__part part, const char *text);

/* Whether the request may come from an attack by DNS rebinding: it has no Host, its Host is neither numeric nor
 * localhost, or it has an Origin that is not "http://" and this Host. */
bool verge__request_is_foreign(const verge__request *request);

/* Whether If-None-Match names the tag, or is "*". */
bool verge__request_has_tag(const verge__request *request, const char *tag);

#endif
