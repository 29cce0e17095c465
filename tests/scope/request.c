/* SPDX-License-Identifier: MIT */
/* The head of a request: as browsers and curl write it, and with mistakes. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "scope/address.h"
#include "scope/request.h"
#include "support/cmocka.h"

static int parse(const char *text, verge__request *request) {
    return verge__request_parse(text, strlen(text), request);
}

static const char chromium[] = "GET /token/events?x=1 HTTP/1.1\r\n"
                               "Host: 127.0.0.1:8080\r\n"
                               "Connection: keep-alive\r\n"
                               "Cache-Control: no-cache\r\n"
                               "User-Agent: Mozilla/5.0 (X11; Linux x86_64) \xc3\xa9\r\n"
                               "Accept: text/event-stream\r\n"
                               "If-None-Match: \"one\", W/\"two\"\r\n"
                               "Referer: \r\n\r\n";

static void what_browsers_send(void **state) {
    (void)state;
    verge__request request;
    assert_int_equal(parse(chromium, &request), 0);
    assert_int_equal(request.method, VERGE__METHOD_GET);
    assert_true(verge__part_equals(request.path, "/token/events"));
    assert_true(verge__part_equals(request.host, "127.0.0.1:8080"));
    assert_null(request.origin.bytes);
    assert_true(request.keeps_alive);
    assert_int_equal(request.size, strlen(chromium));
    assert_true(verge__request_has_tag(&request, "\"one\""));
    assert_true(verge__request_has_tag(&request, "\"two\""));
    assert_false(verge__request_has_tag(&request, "\"three\""));
}

/* A request that has come in part is neither accepted nor refused, wherever it is cut. Each part is in memory of its
 * own, so that a sanitizer finds reads beyond it. */
static void every_part_of_it_may_become_one(void **state) {
    (void)state;
    for (size_t size = 0; size < strlen(chromium); size++) {
        char *part = malloc(size == 0 ? 1 : size);
        verge__request request = {.size = 12345};
        assert_non_null(part);
        memcpy(part, chromium, size);
        assert_int_equal(verge__request_parse(part, size, &request), -EAGAIN);
        assert_int_equal(request.size, 12345);
        free(part);
    }
}

static void connections_stay_or_not(void **state) {
    (void)state;
    static const struct {
        const char *text;
        bool stays;
    } cases[] = {
        {"GET / HTTP/1.1\r\nHost: a\r\n\r\n", true},
        {"GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n", false},
        {"GET / HTTP/1.1\r\nHost: a\r\nconnection: upgrade , CLOSE\r\n\r\n", false},
        {"GET / HTTP/1.0\r\n\r\n", false},
        {"GET / HTTP/1.0\r\nConnection: Keep-Alive\r\n\r\n", true},
        {"HEAD / HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\nrest", true},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        verge__request request;
        assert_int_equal(parse(cases[i].text, &request), 0);
        assert_int_equal(request.keeps_alive, cases[i].stays);
    }
}

static void what_is_wrong_is_refused(void **state) {
    (void)state;
    static const struct {
        int status;
        const char *text;
    } cases[] = {
        {400, "\r\n\r\n"},
        {400, "GET\r\n"},
        {400, "GET /\r\n"},
        {400, "GET  / HTTP/1.1\r\n"},
        {400, "G@T / HTTP/1.1\r\n"},
        {400, "GET x HTTP/1.1\r\n"},
        {400, "GET http://a/ HTTP/1.1\r\n"},
        {400, "GET /\x01 HTTP/1.1\r\n"},
        {400, "GET /\xc3\xa9 HTTP/1.1\r\n"},
        {400, "GET / HTTP/1.1 \r\n"},
        {400, "GET / HTTQ/1.1\r\n"},
        {505, "GET / HTTP/2.0\r\n"},
        {505, "GET / HTTP/1.2\r\n"},
        {400, "GET / HTTP/1.1\n"},
        {400, "GET / HTTP/1.1\r\nHost: a\nX: b\r\n\r\n"},
        {400, "GET / HTTP/1.1\r\n\r\n"}, /* no Host */
        {400, "GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n"},
        {400, "GET / HTTP/1.1\r\nHost: a\r\n folded\r\n\r\n"},
        {400, "GET / HTTP/1.1\r\nHost : a\r\n\r\n"},
        {400, "GET / HTTP/1.1\r\n: a\r\n\r\n"},
        {400, "GET / HTTP/1.1\r\nHost\r\n\r\n"},
        {400, "GET / HTTP/1.1\r\nHost: a\x7f\r\n\r\n"},
        {400, "GET / HTTP/1.1\r\nHost: a\rb\r\n\r\n"},
        {413, "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhello"},
        {413, "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"},
        {413, "GET / HTTP/1.1\r\nHost: a\r\nContent-Length: \r\n\r\n"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        verge__request request;
        const int status = parse(cases[i].text, &request);
        if (status != cases[i].status) {
            print_message("%s", cases[i].text);
        }
        assert_int_equal(status, cases[i].status);
    }
}

static void a_long_head_is_refused(void **state) {
    (void)state;
    static char text[VERGE__REQUEST_SIZE_MAX];
    verge__request request;
    memset(text, 'a', sizeof(text));
    text[0] = 'G';
    text[1] = ' ';
    text[2] = '/';
    assert_int_equal(verge__request_parse(text, sizeof(text) - 1, &request), -EAGAIN);
    assert_int_equal(verge__request_parse(text, sizeof(text), &request), 431);
}

static bool is_foreign(const char *host, const char *origin) {
    const verge__request request = {
        .host = {.bytes = host, .size = strlen(host)},
        .origin = {.bytes = origin, .size = origin == NULL ? 0 : strlen(origin)},
    };
    return verge__request_is_foreign(&request);
}

static void names_of_others_are_foreign(void **state) {
    (void)state;
    assert_false(is_foreign("127.0.0.1:8080", NULL));
    assert_false(is_foreign("127.0.0.1", NULL));
    assert_false(is_foreign("[::1]:8080", NULL));
    assert_false(is_foreign("localhost:8080", NULL));
    assert_false(is_foreign("LocalHost", NULL));
    assert_false(is_foreign("127.0.0.1:8080", "http://127.0.0.1:8080"));
    assert_true(is_foreign("evil.example:8080", NULL));
    assert_true(is_foreign("127.0.0.1.evil.example", NULL));
    assert_true(is_foreign("localhost.evil.example", NULL));
    assert_true(is_foreign("[::1].evil.example", NULL));
    assert_true(is_foreign("[evil]", NULL));
    assert_true(is_foreign("", NULL));
    assert_true(is_foreign(":8080", NULL));
    assert_true(is_foreign("127.0.0.1:8080", "http://evil.example"));
    assert_true(is_foreign("127.0.0.1:8080", "http://127.0.0.1:8081"));
    assert_true(is_foreign("127.0.0.1:8080", "https://127.0.0.1:8080"));
    assert_true(is_foreign("127.0.0.1:8080", "null"));
    assert_true(verge__request_is_foreign(&(verge__request){.size = 1})); /* HTTP/1.0 without a Host */
}

/* ---- addresses and tokens ---- */

static int parse_address(const char *text, verge__address *address) {
    return verge__address_parse(text, address);
}

static void addresses(void **state) {
    (void)state;
    verge__address address;
    static const char *const wrong[] = {"",           "unix:",       "tcp:",      "tcp:x",           "tcp:65536",
                                        "tcp:-1",     "tcp:1:2:3",   "http://x/", "tcp:localhost:1", "tcp:[::1:1",
                                        "tcp:[x]:80", "tcp:1.2.3:1", "8080",      "tcp: 80"};
    for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
        assert_int_equal(parse_address(wrong[i], &address), -EINVAL);
    }
    char path[256] = "unix:/";
    memset(path + 6, 'a', 200);
    assert_int_equal(parse_address(path, &address), -ENAMETOOLONG);
    assert_int_equal(parse_address("unix:/run/x", &address), 0);
    assert_true(address.is_local);
    assert_int_equal(parse_address("tcp:0", &address), 0);
    assert_int_equal(address.socket.any.sa_family, AF_INET);
    assert_int_equal(parse_address("tcp:[::1]:8080", &address), 0);
    assert_int_equal(address.socket.any.sa_family, AF_INET6);
    assert_int_equal(parse_address(NULL, &address), 0);
    assert_true(address.is_local);
}

static bool takes(const verge__listener *listener, const char *path, const char *rest) {
    verge__part part = {.bytes = path, .size = strlen(path)};
    return verge__listener_strip_token(listener, &part) && verge__part_equals(part, rest);
}

static void tokens(void **state) {
    (void)state;
    const verge__listener listener = {.token = "0123456789abcdef"};
    const verge__listener local = {.token = ""};
    assert_true(takes(&listener, "/0123456789abcdef/", "/"));
    assert_true(takes(&listener, "/0123456789abcdef/events", "/events"));
    assert_false(takes(&listener, "/0123456789abcdef", ""));
    assert_false(takes(&listener, "/0123456789abcdeg/", "/"));
    assert_false(takes(&listener, "/0123456789abcde/", "/"));
    assert_false(takes(&listener, "/", "/"));
    assert_true(takes(&local, "/events", "/events"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_browsers_send),
        cmocka_unit_test(every_part_of_it_may_become_one),
        cmocka_unit_test(connections_stay_or_not),
        cmocka_unit_test(what_is_wrong_is_refused),
        cmocka_unit_test(a_long_head_is_refused),
        cmocka_unit_test(names_of_others_are_foreign),
        cmocka_unit_test(addresses),
        cmocka_unit_test(tokens),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
