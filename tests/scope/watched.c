/* SPDX-License-Identifier: MIT */
/* Scope looks at threads that start, cancel and run timers, at tasks that sleep, and at a wheel that is polled. Mainly
 * for ThreadSanitizer. */
#define _GNU_SOURCE
#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>

#include "scope/peer.h"
#include "scope/scope_internal.h"
#include "verge/io.h"

static atomic_bool is_over;
static verge_service *service;
static verge_scope_wheel *shown;

static void ring(const verge_firing *firing) {
    (void)firing;
}

/* A thread that starts and cancels timers: as a worker, by the short ways, or as a plain thread. */
static void *be_busy(void *argument) {
    verge_worker *worker = NULL;
    const bool joins = argument != NULL;
    assert_true(!joins || verge_worker_join(service, NULL, &worker) == 0);
    while (!atomic_load(&is_over)) {
        for (int i = 0; i < 64; i++) {
            verge_timer timer = 0;
            assert_int_equal(verge_service_start_after(service, HOUR, ring, NULL, &timer), 0);
            assert_int_equal(verge_service_cancel(service, timer), 0);
            assert_int_equal(verge_service_start_after(service, MS, ring, NULL, NULL), 0);
        }
        if (worker != NULL) {
            (void)verge_worker_run_once(worker, 0);
        } else {
            peer_pause(MS);
        }
    }
    assert_true(worker == NULL || verge_worker_leave(worker) == 0);
    return NULL;
}

static void *turn_wheel(void *argument) {
    verge_wheel_options options;
    verge_wheel *wheel = NULL;
    (void)argument;
    assert_int_equal(verge_wheel_options_init(&options, sizeof(options), VERGE_PRESET_DEFAULT), 0);
    assert_int_equal(verge_wheel_create(&options, &wheel), 0);
    const uint64_t began_ns = peer_now();
    uint64_t now_ns = 0;
    for (uint64_t i = 0; !atomic_load(&is_over); i++) {
        verge_expiry expiries[16];
        verge_timer timer = 0;
        now_ns = peer_now() - began_ns;
        assert_int_equal(verge_wheel_start(wheel, now_ns + (i % 100) * 10 * MS, NULL, &timer), 0);
        (void)verge_wheel_poll(wheel, now_ns, expiries, 16);
        assert_int_equal(verge_scope_publish(shown, wheel), 0);
        peer_pause(MS / 4);
    }
    verge_wheel_destroy(wheel);
    return NULL;
}

static intptr_t doze(void *argument) {
    (void)argument;
    while (!atomic_load(&is_over)) {
        (void)verge_sleep(3 * MS);
    }
    return 0;
}

static intptr_t keep_tasks(void *argument) {
    verge_spawn_options options;
    (void)argument;
    assert_int_equal(verge_spawn_options_init(&options, sizeof(options)), 0);
    options.function = doze;
    options.label = "dozing";
    options.worker_id = VERGE_WORKER_ANY;
    for (int i = 0; i < 20; i++) {
        assert_int_equal(verge_spawn_with(&options, NULL), 0);
    }
    return doze(NULL);
}

static void *run_tasks(void *runtime) {
    assert_int_equal(verge_runtime_run(runtime, keep_tasks, NULL, NULL), 0);
    return NULL;
}

static void all_is_looked_at_while_it_runs(void **state) {
    (void)state;
    enum { SNAPSHOTS = 6 };
    verge_service_options options;
    verge_runtime_options runtime_options;
    verge_scope_options scope_options = {.struct_size = sizeof(scope_options)};
    verge_runtime *runtime = NULL;
    verge_scope *scope = NULL;
    pthread_t threads[4];
    assert_int_equal(verge_service_options_init(&options, sizeof(options)), 0);
    options.thread_count = 2;
    assert_int_equal(verge_service_create(&options, &service), 0);
    assert_int_equal(verge_runtime_options_init(&runtime_options, sizeof(runtime_options)), 0);
    runtime_options.worker_count = 2;
    assert_int_equal(verge_runtime_create(&runtime_options, &runtime), 0);
    scope_options.address = "tcp:0";
    scope_options.token = TOKEN;
    assert_int_equal(verge_scope_create(service, runtime, &scope_options, &scope), 0);
    assert_int_equal(verge_scope_add_wheel(scope, "a wheel <of> its own", &shown), 0);
    assert_int_equal(pthread_create(&threads[0], NULL, be_busy, NULL), 0);
    assert_int_equal(pthread_create(&threads[1], NULL, be_busy, service), 0);
    assert_int_equal(pthread_create(&threads[2], NULL, turn_wheel, NULL), 0);
    assert_int_equal(pthread_create(&threads[3], NULL, run_tasks, runtime), 0);
    const char *answer = NULL;
    for (int i = 0; i < SNAPSHOTS; i++) {
        answer = peer_ask(peer_port(scope), "GET", "/" TOKEN "/snapshot", "");
        assert_int_equal(peer_status(answer), 200);
        assert_non_null(strstr(answer, "\"kind\":\"service\""));
        assert_non_null(strstr(answer, "\"kind\":\"tasks\""));
    }
    /* Tasks are listed by label, or by their function; the wheel by its name. */
    while (strstr(answer, "{\"name\":\"dozing\",\"label\":true,") == NULL ||
           strstr(answer, "{\"name\":\"main\",\"label\":true,") == NULL ||
           strstr(answer, "\"kind\":\"wheel\",\"name\":\"a wheel \\u003cof\\u003e its own\"") == NULL ||
           strstr(answer, "{\"name\":\"ring\",\"label\":false,") == NULL) {
        answer = peer_ask(peer_port(scope), "GET", "/" TOKEN "/snapshot", "");
    }
    assert_non_null(strstr(peer_ask(peer_port(scope), "GET", "/" TOKEN "/metrics", ""), "\nverge_runtime_tasks "));
    answer = peer_ask(peer_port(scope), "GET", "/" TOKEN "/tasks", "");
    assert_int_equal(peer_status(answer), 200);
    assert_non_null(strstr(answer, "waits for time"));
    atomic_store(&is_over, true);
    for (size_t i = 0; i < 4; i++) {
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    }
    assert_int_equal(verge_scope_remove_wheel(shown), 0);
    assert_int_equal(verge_scope_destroy(scope), 0);
    assert_int_equal(verge_runtime_destroy(runtime), 0);
    assert_int_equal(verge_service_destroy(service, NULL, NULL), 0);
}

static void wheels_come_and_go(void **state) {
    (void)state;
    verge_scope_wheel *wheels[VERGE_SCOPE_WHEELS_MAX + 1];
    verge_scope *scope = peer_scope(NULL, NULL);
    for (size_t i = 0; i < VERGE_SCOPE_WHEELS_MAX; i++) {
        assert_int_equal(verge_scope_add_wheel(scope, "one of many", &wheels[i]), 0);
    }
    assert_int_equal(verge_scope_add_wheel(scope, "too many", &wheels[VERGE_SCOPE_WHEELS_MAX]), -ENOSPC);
    assert_int_equal(verge_scope_remove_wheel(wheels[5]), 0);
    assert_int_equal(verge_scope_add_wheel(scope, "in its place", &wheels[5]), 0);
    const char *answer = peer_ask(peer_port(scope), "GET", "/" TOKEN "/snapshot", "");
    assert_non_null(strstr(answer, "in its place"));
    assert_null(strstr(answer, "too many"));
    assert_int_equal(verge_scope_destroy(scope), 0); /* although panels and wheels are left */
}

/* However often a wheel is published, it is copied once for each look, and not at all while nobody looks. */
static void a_wheel_is_copied_once_a_look(void **state) {
    (void)state;
    enum { PUBLISHED = 1000, LOOKS = 3 };
    verge_wheel_options options;
    verge_wheel *wheel = NULL;
    verge_scope *scope = peer_scope(NULL, NULL);
    assert_int_equal(verge_wheel_options_init(&options, sizeof(options), VERGE_PRESET_DEFAULT), 0);
    assert_int_equal(verge_wheel_create(&options, &wheel), 0);
    assert_int_equal(verge_scope_add_wheel(scope, "published", &shown), 0);
    for (int i = 0; i < PUBLISHED; i++) {
        assert_int_equal(verge_scope_publish(shown, wheel), 0);
    }
    assert_int_equal(atomic_load(&shown->picture.take_count), 0);
    const int fd = peer_connect(peer_port(scope));
    peer_send(fd, "GET /" TOKEN "/events HTTP/1.1\r\nHost: localhost\r\n\r\n");
    uint64_t look = 0;
    for (uint64_t i = 0; i < PUBLISHED || look < LOOKS; i++) {
        assert_int_equal(verge_scope_publish(shown, wheel), 0);
        look = atomic_load(&scope->look);
    }
    const uint32_t copies = atomic_load(&shown->picture.take_count) / 2; /* take_count counts beginnings and ends */
    assert_true(copies > 0 && copies <= look);
    (void)close(fd);
    assert_int_equal(verge_scope_destroy(scope), 0);
    verge_wheel_destroy(wheel);
}

/* ---- a callback that does not return ---- */

static atomic_bool has_begun, may_return;

static void get_stuck(const verge_firing *firing) {
    (void)firing;
    atomic_store(&has_begun, true);
    while (!atomic_load(&may_return)) {
        peer_pause(MS);
    }
}

/* Reads events one by one, however many of them come at once. */
struct events {
    int fd;
    size_t size, begin;
    char text[1 << 20];
};

static const char *next_event(struct events *events) {
    char *end = NULL;
    memmove(events->text, events->text + events->begin, events->size - events->begin + 1);
    events->size -= events->begin;
    while ((end = strstr(events->text, "\n\n")) == NULL) {
        const ssize_t more = recv(events->fd, events->text + events->size, sizeof(events->text) - 1 - events->size, 0);
        assert_true(more > 0);
        events->size += (size_t)more;
        events->text[events->size] = '\0';
    }
    *end = '\0';
    events->begin = (size_t)(end - events->text) + 2;
    return events->text;
}

static uint64_t number_of(const char *event, const char *field) {
    const char *found = strstr(event, field);
    assert_non_null(found);
    return strtoull(found + strlen(field), NULL, 10);
}

/* More figures that are wrong than the list of troubles has room for. */
static size_t ask_for_troubles(void *context, verge_scope_figure *ret_figures, size_t count) {
    (void)context;
    for (size_t i = 0; i < count; i++) {
        ret_figures[i] = (verge_scope_figure){"no", VERGE_SCOPE_YES_NO, 0, 0, NULL};
    }
    return count;
}

/* Times are those of scope's own clock, so the test also holds on a busy machine. A look comes each quarter of a
 * second. The first look that comes a second after one that saw the callback run reports it. */
static void a_stuck_callback_is_told_after_a_second(void **state) {
    (void)state;
    static const char request[] = "GET /" TOKEN "/events HTTP/1.1\r\nHost: localhost\r\n\r\n";
    const char *event = "";
    uint64_t before_ms = 0;
    assert_int_equal(verge_service_create(NULL, &service), 0);
    verge_scope *scope = peer_scope(service, NULL);
    const verge_scope_panel_options troubles = {
        .struct_size = sizeof(troubles), .name = "troubles", .ask = ask_for_troubles};
    verge_scope_panel *panel = NULL;
    assert_int_equal(verge_scope_add_panel(scope, &troubles, &panel), 0);
    static struct events events;
    events.fd = peer_connect(peer_port(scope));
    peer_send(events.fd, request);
    assert_non_null(strstr(next_event(&events), "event: history"));
    assert_int_equal(verge_service_start_after(service, 0, get_stuck, NULL, NULL), 0);
    while (!atomic_load(&has_begun)) {
        peer_pause(MS);
    }
    for (int i = 0; strstr(event, "\"state\":\"stuck\"") == NULL; i++) {
        before_ms = i == 0 ? 0 : number_of(event, "\"time_ms\":");
        event = next_event(&events);
    }
    const uint64_t now_ms = number_of(event, "\"time_ms\":"), stuck_ms = number_of(event, "\"stuck_ms\":");
    assert_true(stuck_ms >= 1000);
    assert_true(before_ms < now_ms - stuck_ms + 1001); /* the event before came too early for a report */
    assert_non_null(strstr(event, "\"callback\":\"get_stuck\""));
    assert_non_null(strstr(event, "\"troubles\":[{\"kind\":\"stuck\"")); /* the first trouble, before those of panels */
    atomic_store(&may_return, true);
    while (strstr(next_event(&events), "\"state\":\"stuck\"") != NULL) {
    }
    (void)close(events.fd);
    assert_int_equal(verge_scope_destroy(scope), 0);
    assert_int_equal(verge_service_destroy(service, NULL, NULL), 0);
}

/* ---- panels ---- */

struct counter {
    _Atomic uint64_t asked;
    uint64_t released;
};

/* A total that grows by a thousand with each look: 4,000 a second. */
static size_t ask(void *context, verge_scope_figure *ret_figures, size_t count) {
    struct counter *counter = context;
    const uint64_t asked = atomic_fetch_add(&counter->asked, 1) + 1;
    assert_true(count >= 6);
    ret_figures[0] = (verge_scope_figure){"<shards>", VERGE_SCOPE_COUNT, 7, 16, NULL};
    ret_figures[1] = (verge_scope_figure){"done", VERGE_SCOPE_TOTAL, asked * 1000, 0, NULL};
    ret_figures[2] = (verge_scope_figure){"late", VERGE_SCOPE_NS, UINT64_MAX, 0, NULL};
    ret_figures[3] = (verge_scope_figure){"reachable", VERGE_SCOPE_YES_NO, 0, 0, NULL};
    ret_figures[4] = (verge_scope_figure){"<mine>", VERGE_SCOPE_PART, 7, 16, "the <first> ones"};
    ret_figures[5] = (verge_scope_figure){"other", VERGE_SCOPE_PART, 9, 16, NULL};
    return 6;
}

static size_t ask_for_too_many(void *context, verge_scope_figure *ret_figures, size_t count) {
    (void)context;
    for (size_t i = 0; i < count; i++) {
        ret_figures[i] = (verge_scope_figure){i == 0 ? NULL : "f", (verge_scope_unit)(i == 1 ? 99 : 0), i, 0, NULL};
    }
    return SIZE_MAX;
}

static void note_release(void *context) {
    struct counter *counter = context;
    counter->released++;
}

static size_t list_one(void *context, verge_scope_item *ret_items, size_t count) {
    const uint64_t *id = context;
    assert_true(count > 0);
    ret_items[0] = (verge_scope_item){.id = *id, .group = "All", .name = "it", .actions = {"retry"}};
    return 1;
}

static int act_on(void *context, uint64_t id, const char *action) {
    const uint64_t *expected = context;
    return id == *expected && strcmp(action, "retry") == 0 ? 0 : -ENOENT;
}

static verge_scope_panel_options panel_of(const char *name, verge_scope_ask figures) {
    return (verge_scope_panel_options){.struct_size = sizeof(verge_scope_panel_options), .name = name, .ask = figures};
}

static int add_panel(verge_scope *scope, verge_scope_panel_options options, verge_scope_panel **ret_panel) {
    return verge_scope_add_panel(scope, &options, ret_panel);
}

static verge_scope_panel_options counting_panel(const char *name, struct counter *counter) {
    verge_scope_panel_options options = panel_of(name, ask);
    options.release = note_release;
    options.context = counter;
    return options;
}

static void panels_show_what_they_are_asked_for(void **state) {
    (void)state;
    struct counter counter = {0}, stopped = {0};
    verge_scope_panel *panel = NULL, *strange = NULL, *rest = NULL;
    verge_scope *scope = peer_scope(NULL, NULL);
    assert_int_equal(add_panel(scope, counting_panel("a <panel>", &counter), &panel), 0);
    assert_int_equal(add_panel(scope, panel_of("strange", ask_for_too_many), &strange), 0);
    assert_int_equal(counter.asked, 0); /* nobody looks */
    const char *answer = peer_ask(peer_port(scope), "GET", "/" TOKEN "/snapshot", "");
    assert_non_null(strstr(answer, "\"panels\":[{\"name\":\"a \\u003cpanel\\u003e\",\"id\":1,\"figures\":["
                                   "{\"name\":\"\\u003cshards\\u003e\",\"unit\":\"count\",\"value\":7,\"of\":16},"
                                   "{\"name\":\"done\",\"unit\":\"total\",\"value\":"));
    assert_non_null(strstr(answer, "{\"name\":\"late\",\"unit\":\"ns\",\"value\":18446744073709551615,\"of\":0},"
                                   "{\"name\":\"reachable\",\"unit\":\"yes_no\",\"value\":0,\"of\":0},"
                                   "{\"name\":\"\\u003cmine\\u003e\",\"unit\":\"part\",\"value\":7,\"of\":16,"
                                   "\"text\":\"the \\u003cfirst\\u003e ones\"},{\"name\":\"other\",\"unit\":"
                                   "\"part\",\"value\":9,\"of\":16,\"text\":\"\"}],\"items\":[]}"));
    /* Figures without a name, or with an unknown unit, are left out. */
    assert_non_null(
        strstr(answer, "{\"name\":\"strange\",\"id\":2,\"figures\":[{\"name\":\"f\",\"unit\":\"count\",\"value\":2"));
    const char *rate = strstr(answer, "\"rate\":");
    assert_non_null(rate);
    assert_true(strtod(rate + 7, NULL) > 0 && strtod(rate + 7, NULL) < 4400);
    assert_int_equal(verge_scope_remove_panel(panel), 0);
    assert_int_equal(counter.released, 1);
    answer = peer_ask(peer_port(scope), "GET", "/" TOKEN "/snapshot", "");
    assert_null(strstr(answer, "a \\u003cpanel"));
    for (size_t i = 1; i < VERGE_SCOPE_PANELS_MAX; i++) {
        assert_int_equal(add_panel(scope, counting_panel("one of many", &stopped), &rest), 0);
    }
    assert_int_equal(add_panel(scope, counting_panel("too many", &stopped), &rest), -ENOSPC);
    assert_int_equal(add_panel(scope, panel_of(NULL, ask), &rest), -EINVAL);
    assert_int_equal(add_panel(scope, panel_of("none", NULL), &rest), -EINVAL);
    assert_int_equal(add_panel(NULL, panel_of("none", ask), &rest), -EINVAL);
    assert_int_equal(add_panel(scope, panel_of("none", ask), NULL), -EINVAL);
    assert_int_equal(verge_scope_add_panel(scope, NULL, &rest), -EINVAL);
    verge_scope_panel_options half = panel_of("none", ask);
    half.list = list_one;
    assert_int_equal(add_panel(scope, half, &rest), -EINVAL);
    half.list = NULL;
    half.act = act_on;
    assert_int_equal(add_panel(scope, half, &rest), -EINVAL);
    half = panel_of("none", ask);
    half.struct_size = 0;
    assert_int_equal(add_panel(scope, half, &rest), -EINVAL);
    assert_int_equal(verge_scope_remove_panel(NULL), -EINVAL);
    assert_int_equal(stopped.released, 0);
    assert_int_equal(verge_scope_destroy(scope), 0);
    assert_int_equal(stopped.released, VERGE_SCOPE_PANELS_MAX - 1);
}

static size_t ask_nothing(void *context, verge_scope_figure *ret_figures, size_t count) {
    (void)context;
    (void)ret_figures;
    (void)count;
    return 0;
}

/* The id of an item may be any number of 64 bits. A path with a larger number is refused: cut to 64 bits, the first of
 * these would be 4. */
static void items_have_every_number(void **state) {
    (void)state;
    static const uint64_t ids[] = {4, 0, 1, UINT64_MAX / 10, UINT64_MAX / 10 + 1, UINT64_MAX - 5, UINT64_MAX};
    verge_scope *scope = peer_scope(NULL, NULL);
    const uint16_t port = peer_port(scope);
    char fields[96], path[128];
    (void)snprintf(fields, sizeof(fields), "Origin: http://127.0.0.1:%u\r\nContent-Length: 0\r\n", port);
    uint64_t id;
    verge_scope_panel *panel = NULL;
    for (size_t i = 0; i < sizeof(ids) / sizeof(ids[0]); i++) {
        id = ids[i];
        verge_scope_panel_options options = panel_of("items", ask_nothing);
        options.context = &id;
        options.list = list_one;
        options.act = act_on;
        assert_int_equal(verge_scope_add_panel(scope, &options, &panel), 0);
        const unsigned number = (unsigned)i + 1; /* of the panel */
        (void)snprintf(path, sizeof(path), "/" TOKEN "/act/%u/%" PRIu64 "/retry", number, id);
        assert_int_equal(peer_status(peer_ask(port, "POST", path, fields)), 200);
        (void)snprintf(path, sizeof(path), "/" TOKEN "/act/%u/%" PRIu64 "0/retry", number, UINT64_MAX / 10 + 1 + i);
        assert_int_equal(peer_status(peer_ask(port, "POST", path, fields)), 404);
        assert_int_equal(verge_scope_remove_panel(panel), 0);
    }
    assert_int_equal(verge_scope_destroy(scope), 0);
}

static size_t list_none(void *context, verge_scope_item *ret_items, size_t count) {
    (void)context;
    (void)ret_items;
    (void)count;
    return 0;
}

static int refuse(void *context, uint64_t id, const char *action) {
    const int *errors = context;
    (void)action;
    return errors[id];
}

/* Whatever error an action returns, the client gets an answer. */
static void an_action_that_fails_is_answered(void **state) {
    (void)state;
    static int errors[] = {-ECANCELED, -ETIMEDOUT, -EIO};
    verge_scope *scope = peer_scope(NULL, NULL);
    const uint16_t port = peer_port(scope);
    char fields[96];
    char path[96];
    (void)snprintf(fields, sizeof(fields), "Origin: http://127.0.0.1:%u\r\nContent-Length: 0\r\n", port);
    verge_scope_panel *panel = NULL;
    verge_scope_panel_options options = panel_of("items", ask_nothing);
    options.context = errors;
    options.list = list_none;
    options.act = refuse;
    assert_int_equal(verge_scope_add_panel(scope, &options, &panel), 0);
    for (size_t i = 0; i < sizeof(errors) / sizeof(errors[0]); i++) {
        (void)snprintf(path, sizeof(path), "/" TOKEN "/act/1/%zu/retry", i);
        assert_int_equal(peer_status(peer_ask(port, "POST", path, fields)), 409);
    }
    assert_int_equal(verge_scope_destroy(scope), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(items_have_every_number),
        cmocka_unit_test(an_action_that_fails_is_answered),
        cmocka_unit_test(all_is_looked_at_while_it_runs),
        cmocka_unit_test(wheels_come_and_go),
        cmocka_unit_test(a_wheel_is_copied_once_a_look),
        cmocka_unit_test(a_stuck_callback_is_told_after_a_second),
        cmocka_unit_test(panels_show_what_they_are_asked_for),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
