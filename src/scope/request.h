/* SPDX-License-Identifier: MIT */
/*
 * scope/request.h - the head of a request of HTTP/1.1, as far as scope needs it. Strict: lines end with CR LF, names
 * are tokens, values are printable; a folded line, two Hosts, a body or a path that is no path are refused.
 */
#ifndef VERGE_SRC_SCOPE_REQUEST_H
#define VERGE_SRC_SCOPE_REQUEST_H

#include <stdbool.h>
#include <stddef.h>

enum {
    VERGE__REQUEST_SIZE_MAX = 8192, /* a longer head: 431 */
};

/* A part of the head; not ended by 0. bytes NULL: it was not there. */
typedef struct verge__part {
    const char *bytes;
    size_t size;
} verge__part;

typedef enum verge__method { VERGE__METHOD_GET, VERGE__METHOD_HEAD, VERGE__METHOD_OTHER } verge__method;

typedef struct verge__request {
    verge__method method;
    verge__part path; /* without what follows a question mark */
    verge__part host;
    verge__part origin;
    verge__part if_none_match;
    bool keeps_alive; /* the connection is to stay */
    size_t size;      /* of the head; what follows is the next one */
} verge__request;

/* 0: a whole head; -EAGAIN: so far it may become one; else the status of the answer: 400, 413, 431, 505. *ret_request
 * is untouched unless 0. */
int verge__request_parse(const char *bytes, size_t size, verge__request *ret_request);

bool verge__part_equals(verge__part part, const char *text);

/* Whether a browser may have been led here by a name of somebody else's: the Host is no number and not localhost, or
 * the Origin is not http:// and that Host. */
bool verge__request_is_foreign(const verge__request *request);

/* Whether If-None-Match names the tag, or is "*". */
bool verge__request_has_tag(const verge__request *request, const char *tag);

#endif
