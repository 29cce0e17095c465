/* SPDX-License-Identifier: MIT */
/* Services, runtimes and scopes that come and go in a random order: none ends while a scope shows it. And which options
 * a scope refuses. */
#define _GNU_SOURCE /* SOCK_CLOEXEC, nanosleep */
#include "scope/peer.h"
#include "support/random.h"

enum { COUNT = 2, STEPS = 400 };

static verge_service *services[COUNT];
static verge_runtime *runtimes[COUNT];
static struct {
    verge_scope *scope;
    size_t service, runtime; /* the indices of what the scope shows; COUNT: none */
} scopes[COUNT];
static struct verge_test_random random_;

static bool is_service_shown(size_t index) {
    bool is_shown = false;
    for (size_t i = 0; i < COUNT; i++) {
        is_shown = is_shown || (scopes[i].scope != NULL && scopes[i].service == index);
    }
    return is_shown;
}

static bool is_runtime_shown(size_t index) {
    bool is_shown = false;
    for (size_t i = 0; i < COUNT; i++) {
        is_shown = is_shown || (scopes[i].scope != NULL && scopes[i].runtime == index);
    }
    return is_shown;
}

static void toggle_service(size_t i) {
    if (services[i] == NULL) {
        verge_service_options options;
        assert_int_equal(verge_service_options_init(&options, sizeof(options)), 0);
        options.thread_count = 1;
        assert_int_equal(verge_service_create(&options, &services[i]), 0);
        return;
    }
    const bool is_shown = is_service_shown(i);
    assert_int_equal(verge_service_destroy(services[i], NULL, NULL), is_shown ? -EBUSY : 0);
    services[i] = is_shown ? services[i] : NULL;
}

static void toggle_runtime(size_t i) {
    if (runtimes[i] == NULL) {
        verge_runtime_options options;
        assert_int_equal(verge_runtime_options_init(&options, sizeof(options)), 0);
        options.worker_count = 1;
        assert_int_equal(verge_runtime_create(&options, &runtimes[i]), 0);
        return;
    }
    const bool is_shown = is_runtime_shown(i);
    assert_int_equal(verge_runtime_destroy(runtimes[i]), is_shown ? -EBUSY : 0);
    runtimes[i] = is_shown ? runtimes[i] : NULL;
}

static void toggle_scope(size_t i) {
    if (scopes[i].scope != NULL) {
        assert_int_equal(verge_scope_destroy(scopes[i].scope), 0);
        scopes[i].scope = NULL;
        return;
    }
    verge_scope_options options = {.struct_size = sizeof(options)};
    options.address = "tcp:0";
    options.token = TOKEN;
    size_t service = verge_test_below(&random_, COUNT + 1);
    size_t runtime = verge_test_below(&random_, COUNT + 1);
    service = service < COUNT && services[service] == NULL ? COUNT : service;
    runtime = runtime < COUNT && runtimes[runtime] == NULL ? COUNT : runtime;
    const bool is_busy =
        (service < COUNT && is_service_shown(service)) || (runtime < COUNT && is_runtime_shown(runtime));
    verge_scope *scope = NULL;
    const int error = verge_scope_create(service < COUNT ? services[service] : NULL,
                                         runtime < COUNT ? runtimes[runtime] : NULL, &options, &scope);
    assert_int_equal(error, is_busy ? -EBUSY : 0);
    if (error == 0) {
        scopes[i].scope = scope;
        scopes[i].service = service;
        scopes[i].runtime = runtime;
    }
}

static void look(size_t i) {
    if (scopes[i].scope != NULL) {
        assert_int_equal(peer_status(peer_ask(peer_port(scopes[i].scope), "GET", "/" TOKEN "/metrics", "")), 200);
    }
}

static void none_ends_while_it_is_shown(void **state) {
    (void)state;
    static void (*const steps[])(size_t i) = {toggle_service, toggle_service, toggle_runtime,
                                              toggle_runtime, toggle_scope,   look};
    random_ = verge_test_random_from(verge_test_seed(20261118));
    for (int step = 0; step < STEPS; step++) {
        const size_t which = verge_test_below(&random_, sizeof(steps) / sizeof(steps[0]));
        steps[which](verge_test_below(&random_, COUNT));
    }
    for (size_t i = 0; i < COUNT; i++) {
        assert_int_equal(verge_scope_destroy(scopes[i].scope), 0);
    }
    for (size_t i = 0; i < COUNT; i++) {
        assert_int_equal(verge_service_destroy(services[i], NULL, NULL), 0);
        assert_int_equal(verge_runtime_destroy(runtimes[i]), 0);
    }
}

/* Asserts that explain and create both refuse these options, with the same error. */
static void assert_refused(const verge_scope_options *options, int error, const char *beginning) {
    char text[128] = "?";
    verge_scope *scope = NULL;
    assert_int_equal(verge_scope_options_explain(options, text, sizeof(text)), error);
    assert_int_equal(strncmp(text, beginning, strlen(beginning)), 0);
    assert_int_equal(verge_scope_create(NULL, NULL, options, &scope), error);
    assert_null(scope);
}

static void refused_options_are_explained(void **state) {
    (void)state;
    char text[128] = "?";
    char path[256] = "unix:/tmp/";
    verge_scope_options options = {.struct_size = sizeof(options)};
    assert_int_equal(verge_scope_options_explain(&options, text, sizeof(text)), 0);
    assert_string_equal(text, "");
    assert_int_equal(verge_scope_options_explain(NULL, text, sizeof(text)), -EINVAL);
    assert_int_equal(verge_scope_options_explain(NULL, NULL, 0), -EINVAL);
    options.struct_size = 0;
    assert_refused(&options, -EINVAL, "struct_size is ");
    options.struct_size = sizeof(options);
    options.token = "too short";
    assert_refused(&options, -EINVAL, "token has 9 bytes: ");
    options.token = "0123456789abcdef/..";
    assert_refused(&options, -EINVAL, "token has 19 bytes: ");
    options.token = NULL;
    options.address = "tcp:nowhere";
    assert_refused(&options, -EINVAL, "address is neither ");
    memset(path + strlen(path), 'x', sizeof(path) - 1 - strlen(path));
    options.address = path;
    assert_refused(&options, -ENAMETOOLONG, "address has a path that is too long");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(none_ends_while_it_is_shown),
        cmocka_unit_test(refused_options_are_explained),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
