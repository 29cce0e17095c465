/* SPDX-License-Identifier: MIT */
/* Scope and its clients: browsers, curl, and attackers. V1, V2, and the limits of V3. */
#define _GNU_SOURCE /* strcasestr */
#include <stdatomic.h>
#include <sys/stat.h>

#include "scope/peer.h"
#include "support/allocator.h"

static verge_service *service;
static verge_scope *scope;
static uint16_t port;

static void never(const verge_firing *firing) {
    (void)firing;
}

static int begin(void **state) {
    (void)state;
    assert_int_equal(verge_service_create(NULL, &service), 0);
    for (unsigned i = 1; i <= 7; i++) {
        assert_int_equal(verge_service_start_after(service, HOUR * i, never, NULL, NULL), 0);
    }
    scope = peer_scope(service, NULL);
    port = peer_port(scope);
    return 0;
}

static int end(void **state) {
    (void)state;
    assert_int_equal(verge_scope_destroy(scope), 0);
    assert_int_equal(verge_service_destroy(service, NULL, NULL), 0);
    return 0;
}

static const char *value_of(const char *answer, const char *field, char *value, size_t size) {
    const char *at = strcasestr(answer, field);
    assert_non_null(at);
    (void)snprintf(value, size, "%.*s", (int)strcspn(at + strlen(field), "\r"), at + strlen(field));
    return value;
}

static void the_page(void **state) {
    (void)state;
    char tag[128], policy[512], fields[256];
    char *answer = peer_ask(port, "GET", "/" TOKEN "/", "");
    assert_int_equal(peer_status(answer), 200);
    assert_non_null(strstr(answer, "\r\nContent-Type: text/html; charset=utf-8\r\n"));
    assert_non_null(strstr(answer, "\r\nReferrer-Policy: no-referrer\r\n")); /* the address has the token */
    assert_non_null(strstr(answer, "\r\n\r\n<!doctype html>"));
    assert_non_null(strstr(answer, "</html>"));
    (void)value_of(answer, "\r\nETag: ", tag, sizeof(tag));
    (void)value_of(answer, "\r\nContent-Security-Policy: ", policy, sizeof(policy));
    assert_non_null(strstr(policy, "default-src 'none'"));
    assert_null(strstr(policy, "unsafe"));
    assert_null(strstr(policy, "http"));
    /* The page is not sent again to a client that has it. */
    (void)snprintf(fields, sizeof(fields), "If-None-Match: %s\r\n", tag);
    answer = peer_ask(port, "GET", "/" TOKEN "/", fields);
    assert_int_equal(peer_status(answer), 304);
    assert_null(strstr(answer, "<!doctype"));
    assert_int_equal(peer_status(peer_ask(port, "GET", "/" TOKEN "/", "If-None-Match: \"another\"\r\n")), 200);
    /* A HEAD has the head only. */
    answer = peer_ask(port, "HEAD", "/" TOKEN "/", "");
    assert_int_equal(peer_status(answer), 200);
    assert_true(strtol(value_of(answer, "\r\nContent-Length: ", tag, sizeof(tag)), NULL, 10) > 1000);
    assert_string_equal(strstr(answer, "\r\n\r\n"), "\r\n\r\n");
}

/* The page loads nothing from elsewhere, and runs nothing but its one script. */
static void the_page_stands_alone(void **state) {
    (void)state;
    const char *page = strstr(peer_ask(port, "GET", "/" TOKEN "/", ""), "\r\n\r\n") + 4;
    assert_true(strlen(page) < 96 << 10);
    static const char *const forbidden[] = {"src=",      "@import",        "url(",          "onclick",
                                            "onload",    "onerror=",       "style=\"",      "eval(",
                                            "innerHTML", "document.write", "insertAdjacent"};
    for (size_t i = 0; i < sizeof(forbidden) / sizeof(*forbidden); i++) {
        assert_null(strstr(page, forbidden[i]));
    }
    for (const char *at = page; (at = strstr(at, "http")) != NULL; at++) {
        /* The name of a namespace, which browsers do not load. */
        assert_int_equal(strncmp(at, "http://www.w3.org/2000/svg", 26), 0);
    }
}

static void other_paths_and_methods(void **state) {
    (void)state;
    assert_int_equal(peer_status(peer_ask(port, "GET", "/", "")), 404);
    assert_int_equal(peer_status(peer_ask(port, "GET", "/" TOKEN, "")), 404);
    assert_int_equal(peer_status(peer_ask(port, "GET", "/" TOKEN "x/", "")), 404);
    assert_int_equal(peer_status(peer_ask(port, "GET", "/tests-0123456789-abcdee/", "")), 404);
    assert_int_equal(peer_status(peer_ask(port, "GET", "/" TOKEN "/nothing", "")), 404);
    assert_int_equal(peer_status(peer_ask(port, "GET", "/" TOKEN "/../etc/passwd", "")), 404);
    const char *answer = peer_ask(port, "POST", "/" TOKEN "/", "Content-Length: 0\r\n");
    assert_int_equal(peer_status(answer), 405);
    assert_non_null(strstr(answer, "\r\nAllow: GET, HEAD\r\n"));
    assert_int_equal(peer_status(peer_ask(port, "DELETE", "/" TOKEN "/events", "")), 405);
    assert_int_equal(peer_status(peer_ask(port, "POST", "/" TOKEN "/", "Content-Length: 3\r\n\r\nabc")), 413);
}

static void foreign_names_get_nothing(void **state) {
    (void)state;
    char request[256];
    static const char *const hosts[] = {"evil.example", "evil.example:80", "127.0.0.1.evil.example"};
    for (size_t i = 0; i < sizeof(hosts) / sizeof(*hosts); i++) {
        const int fd = peer_connect(port);
        (void)snprintf(request, sizeof(request), "GET /%s/ HTTP/1.1\r\nHost: %s\r\nConnection: close\r\n\r\n", TOKEN,
                       hosts[i]);
        peer_send(fd, request);
        assert_int_equal(peer_status(peer_receive(fd, NULL)), 403);
        (void)close(fd);
    }
    assert_int_equal(peer_status(peer_ask(port, "GET", "/" TOKEN "/events", "Origin: http://evil.example\r\n")), 403);
    assert_int_equal(peer_status(peer_ask(port, "GET", "/" TOKEN "/", "Origin: null\r\n")), 403);
}

static void connections_are_kept(void **state) {
    (void)state;
    const int fd = peer_connect(port);
    char request[256];
    /* Two requests at once, then one in pieces. */
    (void)snprintf(request, sizeof(request),
                   "GET /%s/x HTTP/1.1\r\nHost: localhost\r\n\r\nHEAD /%s/ HTTP/1.1\r\nHost: localhost\r\n\r\n", TOKEN,
                   TOKEN);
    peer_send(fd, request);
    char *answer = peer_receive(fd, "text/html");
    assert_non_null(strstr(answer, "HTTP/1.1 404 Not Found\r\n"));
    assert_non_null(strstr(answer, "HTTP/1.1 200 OK\r\n"));
    if (strstr(strstr(answer, "200 OK"), "\r\n\r\n") == NULL) {
        (void)peer_receive(fd, "\r\n\r\n");
    }
    (void)snprintf(request, sizeof(request), "GET /%s/x HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n",
                   TOKEN);
    for (const char *at = request; *at != '\0'; at++) {
        assert_int_equal(send(fd, at, 1, MSG_NOSIGNAL), 1);
    }
    assert_int_equal(peer_status(peer_receive(fd, NULL)), 404);
    (void)close(fd);
}

static void heads_that_are_wrong(void **state) {
    (void)state;
    static char large[16 << 10];
    memset(large, 'a', sizeof(large) - 1);
    const int head = snprintf(large, sizeof(large), "GET / HTTP/1.1\r\nX: ");
    large[head] = 'a'; /* in place of the 0 that ended the text */
    static const struct {
        int status;
        const char *text;
    } cases[] = {
        {400, "nonsense\r\n\r\n"}, {505, "GET / HTTP/2.0\r\n\r\n"}, {400, "GET / HTTP/1.1\r\n\r\n"}, {431, large}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        const int fd = peer_connect(port);
        (void)!send(fd, cases[i].text, strlen(cases[i].text), MSG_NOSIGNAL);
        assert_int_equal(peer_status(peer_receive(fd, NULL)), cases[i].status);
        (void)close(fd);
    }
}

static void the_snapshot_is_what_the_service_says(void **state) {
    (void)state;
    const char *answer = peer_ask(port, "GET", "/" TOKEN "/snapshot", "");
    assert_int_equal(peer_status(answer), 200);
    assert_non_null(strstr(answer, "\"name\":\"peer \\u0022\\u003cx\\u003e\\u0022\""));
    assert_non_null(strstr(answer, "\"stats\":{\"pending\":7,\"started\":7,\"fired\":0,\"ended\":0,\"cancelled\":0,"));
    assert_non_null(strstr(answer, "{\"name\":\"never\",\"label\":false,\"pending\":7,"));
    assert_non_null(strstr(answer, "\"coming\":[0,0,0,0,0,0,0,0,1,6,0]"));
    assert_non_null(strstr(answer, "\"levels\":[{\"shift\":0,")); /* the worker slept, and was asked for a picture */
}

static void the_metrics(void **state) {
    (void)state;
    const char *answer = peer_ask(port, "GET", "/" TOKEN "/metrics", "");
    assert_int_equal(peer_status(answer), 200);
    assert_non_null(strstr(answer, "\r\nContent-Type: text/plain; version=0.0.4; charset=utf-8\r\n"));
    assert_non_null(strstr(answer, "\nverge_service_pending{service=\"service\"} 7\n"));
}

static void events_come_again_and_again(void **state) {
    (void)state;
    char request[256];
    const int fd = peer_connect(port);
    (void)snprintf(request, sizeof(request), "GET /%s/events HTTP/1.1\r\nHost: [::1]:80\r\n\r\n", TOKEN);
    peer_send(fd, request);
    char *answer = peer_receive(fd, "event: history\ndata: {");
    assert_non_null(strstr(answer, "\r\nContent-Type: text/event-stream\r\n"));
    for (int i = 0; i < 3; i++) {
        assert_non_null(strstr(peer_receive(fd, "\"trouble_count\":0}\n\n"), "\"trouble_count\":0}\n\n"));
    }
    (void)close(fd);
}

/* Clients that wait for events keep their places, so more clients are refused. */
static void more_clients_than_there_may_be(void **state) {
    (void)state;
    enum { COUNT = VERGE_SCOPE_CLIENTS_MAX };
    int fds[COUNT];
    for (int i = 0; i < COUNT; i++) {
        do { /* connections of earlier tests may still be closing */
            fds[i] = peer_connect(port);
            assert_true(fds[i] >= 0);
            peer_send(fds[i], "GET /" TOKEN "/events HTTP/1.1\r\nHost: localhost\r\n\r\n");
        } while (peer_status(peer_receive(fds[i], "\r\n\r\n")) != 200 && close(fds[i]) == 0);
    }
    for (int i = 0; i < 4; i++) {
        const int fd = peer_connect(port);
        assert_int_equal(peer_status(peer_receive(fd, "\r\n\r\n")), 503);
        (void)close(fd);
    }
    for (int i = 0; i < COUNT; i++) {
        (void)close(fds[i]);
    }
    const char *answer = NULL;
    do { /* until the others have gone: scope notices that only when it sends the next event */
        answer = peer_ask(port, "GET", "/" TOKEN "/snapshot", "");
    } while (peer_status(answer) != 200 || strstr(answer, "\"clients\":1,") == NULL);
}

/* Clients that never send a whole request lose their places to newer clients, the oldest first. This happens at once,
 * not after a while. */
static void half_requests_lock_nobody_out(void **state) {
    (void)state;
    enum { COUNT = 4 * VERGE_SCOPE_CLIENTS_MAX };
    int fds[COUNT];
    for (int i = 0; i < COUNT; i++) {
        fds[i] = peer_connect(port);
        assert_true(fds[i] >= 0);
        peer_send(fds[i], i % 2 == 0 ? "GET /" : "");
        if (i % 8 == 7) {
            assert_int_equal(peer_status(peer_ask(port, "GET", "/" TOKEN "/", "")), 200);
        }
    }
    char byte;
    assert_int_equal(recv(fds[0], &byte, 1, 0), 0); /* the first ones are disconnected */
    assert_int_equal(recv(fds[1], &byte, 1, 0), 0);
    /* A client that does not know the token cannot stay, even if it sends complete requests. */
    const int fd = peer_connect(port);
    peer_send(fd, "GET /wrong HTTP/1.1\r\nHost: localhost\r\n\r\n");
    const char *answer = peer_receive(fd, NULL);
    assert_int_equal(peer_status(answer), 404);
    assert_non_null(strstr(answer, "\r\nConnection: close\r\n"));
    (void)close(fd);
    for (int i = 0; i < COUNT; i++) {
        (void)close(fds[i]);
    }
}

static atomic_int blocks; /* 1: scope's thread is to wait; 2: it waits */

static size_t block(void *context, verge_scope_figure *ret_figures, size_t count) {
    (void)context, (void)ret_figures, (void)count;
    int wanted = 1;
    if (atomic_compare_exchange_strong(&blocks, &wanted, 2)) {
        while (atomic_load(&blocks) == 2) {
            peer_pause(MS);
        }
    }
    return 0;
}

/* As before, but all of them are accepted one after the other, because scope's thread was busy when they came. */
static void half_requests_that_came_together_lock_nobody_out(void **state) {
    (void)state;
    enum { COUNT = 3 * VERGE_SCOPE_CLIENTS_MAX };
    int fds[COUNT + 2];
    verge_scope_panel *panel = NULL;
    const verge_scope_panel_options options = {.struct_size = sizeof(options), .name = "block", .ask = block};
    assert_int_equal(verge_scope_add_panel(scope, &options, &panel), 0);
    atomic_store(&blocks, 1);
    for (int i = 0; i < COUNT + 2; i++) {
        fds[i] = peer_connect(port);
        assert_true(fds[i] >= 0);
        if (i == 0) {
            peer_send(fds[i], "GET /" TOKEN "/snapshot HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
            while (atomic_load(&blocks) != 2) {
                peer_pause(MS);
            }
        } else {
            peer_send(fds[i], i <= COUNT ? "GET /" : "GET /" TOKEN "/ HTTP/1.1\r\nHost: localhost\r\n\r\n");
        }
    }
    atomic_store(&blocks, 0);
    assert_int_equal(peer_status(peer_receive(fds[COUNT + 1], "\r\n\r\n")), 200);
    for (int i = 0; i < COUNT + 2; i++) {
        (void)close(fds[i]);
    }
    assert_int_equal(verge_scope_remove_panel(panel), 0);
}

static void what_a_page_asks_for(void **state) {
    (void)state;
    const char *answer = peer_ask(port, "GET", "/" TOKEN "/next", "");
    assert_int_equal(peer_status(answer), 200);
    assert_non_null(strstr(answer, "\r\nContent-Type: application/json\r\n"));
    assert_non_null(strstr(answer, "\"pending\":7,"));
    answer = peer_ask(port, "GET", "/" TOKEN "/history", "");
    assert_int_equal(peer_status(answer), 200);
    assert_non_null(strstr(answer, "{\"service\":{\"late\":["));
    /* Asks for a source, by the number that the snapshot has for it. */
    answer = peer_ask(port, "GET", "/" TOKEN "/snapshot", "");
    const char *found = strstr(answer, "{\"name\":\"never\",\"label\":false,\"pending\":7,\"id\":");
    assert_non_null(found);
    char path[128];
    (void)snprintf(path, sizeof(path), "/%s/source/service/%ld", TOKEN, strtol(strstr(found, "\"id\":") + 5, NULL, 10));
    answer = peer_ask(port, "GET", path, "");
    assert_int_equal(peer_status(answer), 200);
    assert_non_null(strstr(answer, "{\"name\":\"never\",\"pending\":7,\"timers\":[{\"timer\":\"0x"));
    assert_non_null(strstr(answer, "\"coming\":[0,0,0,0,0,0,0,0,1,6,0]"));
    static const char *const none[] = {"/source/service/1023",
                                       "/source/service/9999",
                                       "/source/service/x",
                                       "/source/service/",
                                       "/source/tasks/1",
                                       "/source/",
                                       "/source",
                                       "/tasks"}; /* no runtime is shown */
    for (size_t i = 0; i < sizeof(none) / sizeof(*none); i++) {
        (void)snprintf(path, sizeof(path), "/%s%s", TOKEN, none[i]);
        assert_int_equal(peer_status(peer_ask(port, "GET", path, "")), 404);
    }
}

/* ---- options, and Unix sockets ---- */

static void options_that_are_wrong(void **state) {
    (void)state;
    verge_scope_options options = {.struct_size = sizeof(options)};
    verge_scope *other = NULL;
    char text[128];
    assert_int_equal(verge_scope_create(NULL, NULL, NULL, NULL), -EINVAL);
    options.struct_size = sizeof(size_t) - 1;
    assert_int_equal(verge_scope_create(NULL, NULL, &options, &other), -EINVAL);
    assert_int_equal(verge_scope_options_explain(&options, text, sizeof(text)), -EINVAL);
    assert_non_null(strstr(text, ": it has to be the size of the options"));
    options.struct_size = sizeof(options);
    options.address = "tcp:nowhere";
    assert_int_equal(verge_scope_create(NULL, NULL, &options, &other), -EINVAL);
    options.address = "tcp:0";
    options.token = "too short";
    assert_int_equal(verge_scope_create(NULL, NULL, &options, &other), -EINVAL);
    options.token = "0123456789abcdef/..";
    assert_int_equal(verge_scope_create(NULL, NULL, &options, &other), -EINVAL);
    options.token = NULL;
    assert_int_equal(verge_scope_create(service, NULL, &options, &other), -EBUSY); /* the service has a scope already */
    options.address = "tcp:192.0.2.1:0";                                           /* not an address of this machine */
    assert_int_equal(verge_scope_create(NULL, NULL, &options, &other), -EADDRNOTAVAIL);
    options.address = "unix:/nowhere/at/all";
    assert_int_equal(verge_scope_create(NULL, NULL, &options, &other), -ENOENT);
    assert_null(other);
    assert_int_equal(verge_scope_destroy(NULL), 0);
    assert_null(verge_scope_address(NULL));
    assert_int_equal(verge_scope_publish(NULL, NULL), -EINVAL);
    assert_int_equal(verge_scope_remove_wheel(NULL), -EINVAL);
    assert_int_equal(verge_scope_add_wheel(scope, NULL, NULL), -EINVAL);
}

static void tokens_are_random(void **state) {
    (void)state;
    char first[192];
    verge_scope *one = NULL;
    verge_scope_options options = {.struct_size = sizeof(options)};
    options.address = "tcp:0";
    for (int i = 0; i < 2; i++) {
        assert_int_equal(verge_scope_create(NULL, NULL, &options, &one), 0);
        const char *token = strrchr(verge_scope_address(one), ':');
        token = strchr(token, '/');
        assert_int_equal(strspn(token + 1, "0123456789abcdef"), 32);
        if (i == 0) {
            (void)snprintf(first, sizeof(first), "%s", token);
        } else {
            assert_string_not_equal(token, first);
        }
        assert_int_equal(verge_scope_destroy(one), 0);
    }
}

static int connect_local(const char *path) {
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    (void)snprintf(address.sun_path, sizeof(address.sun_path), "%s", path);
    const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_true(fd >= 0);
    if (connect(fd, (struct sockaddr *)&address, sizeof(address)) != 0) {
        (void)close(fd);
        return -1;
    }
    return fd;
}

static void a_unix_socket_is_its_owners(void **state) {
    (void)state;
    char folder[] = "/tmp/verge-scope-XXXXXX", address[64];
    struct stat status;
    verge_scope_options options = {.struct_size = sizeof(options)};
    verge_scope *local = NULL, *second = NULL;
    assert_non_null(mkdtemp(folder));
    (void)snprintf(address, sizeof(address), "unix:%s/s", folder);
    const char *path = address + 5;
    options.address = address;
    const mode_t before = umask(0); /* would let everybody use the socket */
    assert_int_equal(verge_scope_create(NULL, NULL, &options, &local), 0);
    (void)umask(before);
    assert_string_equal(verge_scope_address(local), address);
    assert_int_equal(stat(path, &status), 0);
    assert_int_equal(status.st_mode & 07777, 0600);
    /* With ssh -L, browsers can use a Unix socket. So a page of another origin must get nothing there, too. */
    static const struct {
        int status;
        const char *fields;
    } cases[] = {{200, "Host: localhost:8080"},
                 {200, "Host: localhost:8080\r\nOrigin: http://localhost:8080"},
                 {403, "Host: anything.example"},
                 {403, "Host: localhost:8080\r\nOrigin: http://evil.example"}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        char request[256];
        const int fd = connect_local(path);
        (void)snprintf(request, sizeof(request), "GET / HTTP/1.1\r\n%s\r\nConnection: close\r\n\r\n", cases[i].fields);
        peer_send(fd, request);
        assert_int_equal(peer_status(peer_receive(fd, NULL)), cases[i].status);
        (void)close(fd);
    }
    /* A socket that is in use is not replaced. */
    assert_int_equal(verge_scope_create(NULL, NULL, &options, &second), -EADDRINUSE);
    assert_int_equal(verge_scope_destroy(local), 0);
    assert_int_equal(stat(path, &status), -1);
    /* A socket that was left behind is replaced. A file is not. */
    const int stale = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    struct sockaddr_un name = {.sun_family = AF_UNIX};
    (void)snprintf(name.sun_path, sizeof(name.sun_path), "%s", path);
    assert_int_equal(bind(stale, (struct sockaddr *)&name, sizeof(name)), 0);
    (void)close(stale);
    assert_int_equal(verge_scope_create(NULL, NULL, &options, &local), 0);
    assert_int_equal(verge_scope_destroy(local), 0);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    (void)fclose(file);
    assert_int_equal(verge_scope_create(NULL, NULL, &options, &local), -EADDRINUSE);
    assert_int_equal(stat(path, &status), 0);
    (void)unlink(path);
    (void)rmdir(folder);
}

/* One allocation fails: create says so and leaves nothing behind; or it comes later, and scope serves again soon. */
static void one_failed_allocation_ends_nothing(void **state) {
    (void)state;
    enum { LATER = 12, TRIES = 20 };
    struct verge_test_allocator memory;
    verge_scope_options options = {.struct_size = sizeof(options)};
    options.address = "tcp:0";
    options.token = TOKEN;
    options.allocator = &memory.allocator;
    int failed_later = 0;
    for (uint64_t i = 1, later = 0; later < LATER; i++) {
        verge_scope *one = NULL;
        verge_test_allocator_init(&memory);
        memory.fail_at = i;
        const int error = verge_scope_create(NULL, NULL, &options, &one);
        assert_true(error == 0 || error == -ENOMEM);
        assert_true((error == 0) == (one != NULL));
        if (error == 0) {
            int tries = 1;
            while (peer_status(peer_ask(peer_port(one), "GET", "/" TOKEN "/snapshot", "")) != 200) {
                assert_true(tries++ < TRIES);
            }
            later++;
        }
        assert_int_equal(verge_scope_destroy(one), 0);
        failed_later += error == 0 && memory.failures > 0;
        verge_test_allocator_assert_empty(&memory);
    }
    assert_true(failed_later > 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_page),
        cmocka_unit_test(the_page_stands_alone),
        cmocka_unit_test(other_paths_and_methods),
        cmocka_unit_test(foreign_names_get_nothing),
        cmocka_unit_test(connections_are_kept),
        cmocka_unit_test(heads_that_are_wrong),
        cmocka_unit_test(the_snapshot_is_what_the_service_says),
        cmocka_unit_test(the_metrics),
        cmocka_unit_test(events_come_again_and_again),
        cmocka_unit_test(what_a_page_asks_for),
        cmocka_unit_test(more_clients_than_there_may_be),
        cmocka_unit_test(half_requests_lock_nobody_out),
        cmocka_unit_test(half_requests_that_came_together_lock_nobody_out),
        cmocka_unit_test(options_that_are_wrong),
        cmocka_unit_test(tokens_are_random),
        cmocka_unit_test(a_unix_socket_is_its_owners),
        cmocka_unit_test(one_failed_allocation_ends_nothing),
    };
    return cmocka_run_group_tests(tests, begin, end);
}
