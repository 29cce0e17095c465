/* SPDX-License-Identifier: MIT */
#include "scope/request.h"

#include <errno.h>
#include <string.h>
#include <strings.h>

typedef struct verge__reading {
    verge__request request;
    bool is_1_1;
    bool closes, stays;
    int host_count;
} reading;

static bool is_token(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           (c != '\0' && strchr("!#$%&'*+-.^_`|~", c) != NULL);
}

/* Whether the value of a header field may contain this byte: printable, a blank, a tab, or a part of UTF-8. */
static bool is_text(char c) {
    return c == '\t' || ((unsigned char)c >= 0x20 && c != 0x7f);
}

bool verge__part_equals(verge__part part, const char *text) {
    return part.bytes != NULL && part.size == strlen(text) && memcmp(part.bytes, text, part.size) == 0;
}

static bool is_called(verge__part name, const char *text) {
    return name.size == strlen(text) && strncasecmp(name.bytes, text, name.size) == 0;
}

static verge__part trim(verge__part part) {
    while (part.size > 0 && (part.bytes[0] == ' ' || part.bytes[0] == '\t')) {
        part.bytes++;
        part.size--;
    }
    while (part.size > 0 && (part.bytes[part.size - 1] == ' ' || part.bytes[part.size - 1] == '\t')) {
        part.size--;
    }
    return part;
}

/* Cuts off the text before the separator. Returns false if there is no separator. */
static bool split(verge__part *rest, char separator, verge__part *ret_front) {
    const char *at = memchr(rest->bytes, separator, rest->size);
    if (at == NULL) {
        return false;
    }
    *ret_front = (verge__part){.bytes = rest->bytes, .size = (size_t)(at - rest->bytes)};
    rest->size -= ret_front->size + 1;
    rest->bytes = at + 1;
    return true;
}

/* Reads a line such as "METHOD PATH HTTP/1.1". */
static int read_first_line(verge__part line, reading *into) {
    verge__part method, path;
    if (!split(&line, ' ', &method) || !split(&line, ' ', &path) || method.size == 0) {
        return 400;
    }
    for (size_t i = 0; i < method.size; i++) {
        if (!is_token(method.bytes[i])) {
            return 400;
        }
    }
    for (size_t i = 0; i < path.size; i++) {
        const unsigned char byte = (unsigned char)path.bytes[i];
        if (byte <= ' ' || byte >= 0x7f) {
            return 400;
        }
    }
    if (line.size != 8 || memcmp(line.bytes, "HTTP/", 5) != 0 || line.bytes[6] != '.') {
        return 400;
    }
    if (line.bytes[5] != '1' || (line.bytes[7] != '0' && line.bytes[7] != '1')) {
        return 505;
    }
    if (path.size == 0 || path.bytes[0] != '/') {
        return 400;
    }
    const char *query = memchr(path.bytes, '?', path.size);
    into->request.path = path;
    into->request.path.size = query == NULL ? path.size : (size_t)(query - path.bytes);
    into->request.method = verge__part_equals(method, "GET")    ? VERGE__METHOD_GET
                           : verge__part_equals(method, "HEAD") ? VERGE__METHOD_HEAD
                           : verge__part_equals(method, "POST") ? VERGE__METHOD_POST
                                                                : VERGE__METHOD_OTHER;
    into->is_1_1 = line.bytes[7] == '1';
    return 0;
}

static void read_connection(verge__part value, reading *into) {
    verge__part word;
    do {
        if (!split(&value, ',', &word)) {
            word = value;
            value.size = 0;
        }
        word = trim(word);
        into->closes |= is_called(word, "close");
        into->stays |= is_called(word, "keep-alive");
    } while (value.size > 0);
}

static bool is_zero(verge__part value) {
    return value.size > 0 && strspn(value.bytes, "0") >= value.size;
}

/* Reads a line such as "Name: value". */
static int read_field(verge__part line, reading *into) {
    verge__part name, value = line;
    if (!split(&value, ':', &name) || name.size == 0) {
        return 400;
    }
    for (size_t i = 0; i < name.size; i++) {
        if (!is_token(name.bytes[i])) {
            return 400;
        }
    }
    for (size_t i = 0; i < value.size; i++) {
        if (!is_text(value.bytes[i])) {
            return 400;
        }
    }
    value = trim(value);
    if (is_called(name, "Host")) {
        into->request.host = value;
        into->host_count++;
    } else if (is_called(name, "Origin")) {
        into->request.origin = value;
    } else if (is_called(name, "If-None-Match")) {
        into->request.if_none_match = value;
    } else if (is_called(name, "Connection")) {
        read_connection(value, into);
    } else if (is_called(name, "Transfer-Encoding") || (is_called(name, "Content-Length") && !is_zero(value))) {
        return 413; /* scope takes no request with a body */
    }
    return 0;
}

int verge__request_parse(const char *bytes, size_t size, verge__request *ret_request) {
    reading into = {.host_count = 0};
    verge__part rest = {.bytes = bytes, .size = size};
    verge__part line;
    bool is_first = true;
    while (rest.size > 0 && split(&rest, '\n', &line)) {
        if (line.size == 0 || line.bytes[line.size - 1] != '\r') {
            return 400;
        }
        line.size--;
        if (line.size == 0 && !is_first) {
            const bool is_wrong = into.is_1_1 ? into.host_count != 1 : into.host_count > 1;
            if (is_wrong) {
                return 400;
            }
            into.request.keeps_alive = !into.closes && (into.is_1_1 || into.stays);
            into.request.size = (size_t)(rest.bytes - bytes);
            *ret_request = into.request;
            return 0;
        }
        const int status = is_first ? read_first_line(line, &into) : read_field(line, &into);
        if (status != 0) {
            return status;
        }
        is_first = false;
    }
    return size >= VERGE__REQUEST_SIZE_MAX ? 431 : -EAGAIN;
}

/* ---- who asks ---- */

/* Returns a Host without its port. */
static verge__part host_name(verge__part host) {
    size_t size = host.size;
    while (size > 0 && host.bytes[size - 1] >= '0' && host.bytes[size - 1] <= '9') {
        size--;
    }
    const bool has_port = size > 0 && host.bytes[size - 1] == ':';
    const bool is_bare_six = has_port && host.bytes[0] == '[' && host.bytes[size - 2] != ']'; /* such as "[::1" */
    host.size = has_port && !is_bare_six ? size - 1 : host.size;
    return host;
}

/* Whether a name is a numeric address: digits and dots or, in brackets, an IPv6 address. No registered name looks like
 * that. */
static bool is_number(verge__part name) {
    if (name.size == 0) {
        return false;
    }
    const bool is_bracketed = name.bytes[0] == '[' && name.bytes[name.size - 1] == ']';
    for (size_t i = is_bracketed ? 1 : 0; i < name.size - (is_bracketed ? 1 : 0); i++) {
        if (name.bytes[i] == '\0' ||
            strchr(is_bracketed ? "0123456789abcdefABCDEF:.%" : "0123456789.", name.bytes[i]) == NULL) {
            return false;
        }
    }
    return true;
}

bool verge__request_is_foreign(const verge__request *request) {
    static const char scheme[] = "http://";
    const size_t scheme_size = sizeof(scheme) - 1;
    if (request->host.bytes == NULL) {
        return true;
    }
    const verge__part name = host_name(request->host);
    if (!is_number(name) && !is_called(name, "localhost")) {
        return true;
    }
    const verge__part origin = request->origin;
    return origin.bytes != NULL &&
           (origin.size != scheme_size + request->host.size || memcmp(origin.bytes, scheme, scheme_size) != 0 ||
            strncasecmp(origin.bytes + scheme_size, request->host.bytes, request->host.size) != 0);
}

bool verge__request_has_tag(const verge__request *request, const char *tag) {
    verge__part value = request->if_none_match;
    verge__part word;
    if (value.bytes == NULL) {
        return false;
    }
    do {
        if (!split(&value, ',', &word)) {
            word = value;
            value.size = 0;
        }
        word = trim(word);
        if (word.size > 2 && memcmp(word.bytes, "W/", 2) == 0) {
            word.bytes += 2;
            word.size -= 2;
        }
        if (verge__part_equals(word, tag) || verge__part_equals(word, "*")) {
            return true;
        }
    } while (value.size > 0);
    return false;
}
