/* SPDX-License-Identifier: MIT */
/*
 * A program to look at, for the tests in a browser and for the pictures: theatre ADDRESS TOKEN still|lively|tasks. It
 * prints where its scope is, then obeys the lines of its input:
 *
 *     stats           prints pending, started, fired and cancelled, as verge_service_get_stats has them
 *     stuck, free     a callback that does not return until it is freed
 *     busy, free      a source that keeps a worker busy, and two that wait behind it for 300 ms
 *     sources N       so many more sources, with a timer each
 *     leak, late      leak: more and more timers. late: callbacks that begin 400 ms late
 *     flood, calm     flood: starts and cancels as fast as possible, and 50 timers a second of a rare source
 *                     calm: ends the flood
 *     beat            a timer that fires 1,000 times a second
 *     many N          so many timers of one source
 *     durable PATH    durable timers in a file of SQLite; prints "none" if verge was built without
 *     durable?        prints what verge_durable_get_stats has: window, shards, started, done, retried, died
 *     another, alone  a second node of the same store, and its end
 *     quit            ends the program, as does the end of the input
 *
 * still: timers for tomorrow, and nothing happens. lively: a server's timers, some of which leak. tasks: as still, and
 * a runtime with tasks that wait.
 */
#define _GNU_SOURCE
#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <verge/verge.h>
#ifdef THEATRE_DURABLE
#include <verge/durable.h>
#endif

#define MS UINT64_C(1000000)
#define SECOND (1000 * MS)
#define HOUR (3600 * SECOND)

static verge_service *service;
static verge_scope *scope;
static bool is_lively;
static atomic_bool is_over;
static atomic_bool is_free;

static void must(int error) {
    if (error != 0) {
        (void)fprintf(stderr, "theatre: %s\n", verge_strerror(error));
        exit(1);
    }
}

static void pause_ns(uint64_t ns) {
    const struct timespec duration = {.tv_sec = (time_t)(ns / SECOND), .tv_nsec = (long)(ns % SECOND)};
    (void)nanosleep(&duration, NULL);
}

static void expire_session(const verge_firing *firing) {
    (void)firing;
}

static void send_heartbeat(const verge_firing *firing) {
    (void)firing;
}

static void rebuild_index(const verge_firing *firing) {
    (void)firing;
    pause_ns(400000);
}

static verge_timer start(const char *label, verge_callback callback, uint64_t delay_ns, uint64_t period_ns);

/* The stuck callback. Timers of the same worker become overdue meanwhile. */
static void wait_for_freedom(const verge_firing *firing) {
    (void)firing;
    for (int i = 0; i < 25; i++) {
        (void)start("waits behind it", expire_session, MS, 0);
    }
    while (!atomic_load(&is_free)) {
        pause_ns(MS);
    }
}

static verge_timer start(const char *label, verge_callback callback, uint64_t delay_ns, uint64_t period_ns) {
    verge_start_options options = {.struct_size = sizeof(options)};
    verge_timer timer = 0;
    options.callback = callback;
    options.label = label;
    options.deadline_ns = verge_service_exact_now(service) + delay_ns;
    options.period_ns = period_ns;
    options.policy = VERGE_INTERVAL_SKIP;
    must(verge_service_start_with(service, &options, &timer));
    return timer;
}

/* Keeps its worker busy, and starts itself again. The timers that it starts are due soon, but have to wait for its
 * end. */
static void export_rows(const verge_firing *firing) {
    (void)firing;
    (void)start("billing: flush ledger", send_heartbeat, MS, 0);
    (void)start("billing: send receipt", send_heartbeat, MS, 0);
    for (int i = 0; i < 300 && !atomic_load(&is_free); i++) {
        pause_ns(MS);
    }
    if (!atomic_load(&is_free)) {
        (void)start("report: export rows", export_rows, 0, 0);
    }
}

/* ---- still ---- */

static void be_still(void) {
    for (int i = 0; i < 700; i++) {
        (void)start("session timeout", expire_session, 26 * HOUR, 0);
    }
    for (int i = 0; i < 50; i++) {
        (void)start("<img src=x onerror=\"window.harm=1\"><script>window.harm=1</script>", expire_session, 2 * HOUR, 0);
    }
    for (int i = 0; i < 9; i++) {
        (void)start("caf\xc3\xa9 \xff", expire_session, 30 * HOUR, 0); /* one byte of it is no UTF-8 */
    }
    /* A terminal would show this label from right to left, and ring a bell.
     * NOLINTNEXTLINE(misc-misleading-bidirectional) */
    (void)start("bill\xe2\x80\xaegpj.exe\a", expire_session, 30 * HOUR, 0);
    for (int i = 0; i < 120; i++) {
        must(verge_service_start_after(service, HOUR / 2, rebuild_index, NULL, NULL));
    }
    for (int i = 0; i < 3; i++) {
        must(verge_service_cancel(service, start(NULL, send_heartbeat, HOUR, 0)));
    }
}

/* ---- lively ---- */

static uint64_t draw(uint64_t *state, uint64_t below) {
    uint64_t z = (*state += UINT64_C(0x9E3779B97F4A7C15));
    z = (z ^ (z >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    return (z ^ (z >> 27)) % below;
}

/* A millisecond of a server's life, again and again: requests with timeouts that are cancelled, retries, sessions. */
static void *live(void *argument) {
    enum { REQUESTS = 512 };
    verge_timer requests[REQUESTS] = {0};
    uint64_t state = 7;
    (void)argument;
    for (uint64_t round = 0; !atomic_load(&is_over); round++) {
        for (int i = 0; i < 12; i++) {
            const size_t place = (size_t)draw(&state, REQUESTS);
            if (requests[place] != 0) {
                (void)verge_service_cancel(service, requests[place]);
            }
            requests[place] = start("request timeout", expire_session, 2 * SECOND + draw(&state, SECOND), 0);
        }
        (void)start("retry", send_heartbeat, draw(&state, 400 * MS), 0);
        (void)start("retry", send_heartbeat, (1 + draw(&state, 20)) * 64 * MS, 0);
        if (round % 2 == 0) {
            (void)start("session timeout", expire_session, 8 * SECOND + draw(&state, 30 * SECOND), 0);
            (void)start("cache entry", expire_session, draw(&state, 90 * SECOND), 0);
            must(verge_service_start_after(service, draw(&state, 200 * MS), rebuild_index, NULL, NULL));
        }
        if (round % 4 == 0) {
            (void)start("abandoned upload", expire_session, 20 * HOUR, 0);
        }
        pause_ns(MS);
    }
    return NULL;
}

static void be_lively(pthread_t *ret_thread) {
    for (uint64_t i = 0; i < 2500; i++) {
        (void)start("heartbeat", send_heartbeat, i * MS, 5 * SECOND);
    }
    for (uint64_t i = 0; i < 9000; i++) {
        (void)start("session timeout", expire_session, i * 4 * MS, 0);
        (void)start("cache entry", expire_session, i * 9 * MS, 0);
    }
    for (uint64_t i = 0; i < 1200; i++) {
        (void)start("certificate renewal", expire_session, (24 + i) * HOUR / 2, 0);
        (void)start("nightly report", expire_session, 3 * HOUR + i * SECOND, 0);
    }
    must(-pthread_create(ret_thread, NULL, live, NULL));
}

/* ---- durable ---- */

#ifdef THEATRE_DURABLE

static verge_durable *durable;
static verge_durable *second;
static char url[512];

static verge_durable_verdict remind(const verge_durable_firing *firing) {
    (void)firing;
    return VERGE_DURABLE_DONE;
}

static verge_durable_verdict charge(const verge_durable_firing *firing) {
    verge_durable_retry_after(firing, MS);
    return firing->attempt == 1 ? VERGE_DURABLE_RETRY : VERGE_DURABLE_DONE;
}

static verge_durable_verdict close_account(const verge_durable_firing *firing) {
    (void)firing;
    return VERGE_DURABLE_DEAD;
}

static void schedule_durable(const char *handler, int count, uint64_t delay_ns, uint64_t period_ns) {
    for (int i = 0; i < count; i++) {
        const verge_durable_request request = {
            .handler = handler, .delay_ns = delay_ns + (uint64_t)i * MS / 4, .period_ns = period_ns};
        must(verge_durable_start(durable, &request, NULL));
    }
}

static verge_durable *open_node(const char *name) {
    verge_durable *node = NULL;
    verge_durable_options options;
    (void)verge_durable_options_init(&options, sizeof(options));
    options.url = url;
    options.create = true;
    options.name = name;
    options.shard_count = VERGE_DURABLE_SHARDS_MAX;
    options.horizon_ns = 2 * HOUR;
    options.rescan_ns = SECOND / 2;
    must(verge_durable_open(&options, &node));
    must(verge_durable_register(node, "remind", remind, NULL, NULL));
    must(verge_durable_register(node, "charge", charge, NULL, NULL));
    must(verge_durable_register(node, "close-account", close_account, NULL, NULL));
    return node;
}

static const char *be_durable(const char *path) {
    (void)snprintf(url, sizeof(url), "sqlite:%s", path);
    durable = open_node(is_lively ? "theatre-1" : "theatre <b>1</b>");
    must(verge_durable_show(durable, scope, NULL));
    schedule_durable("remind", 40, 0, is_lively ? SECOND / 10 : 0);
    schedule_durable("remind", 25, HOUR, 0);
    schedule_durable("charge", 5, 0, 0);
    schedule_durable("close-account", 2, 0, 0);
    return "durable";
}

static void tell_durable(void) {
    verge_durable_stats stats = {.struct_size = sizeof(stats)};
    must(verge_durable_get_stats(durable, &stats));
    (void)printf("%" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 "\n", stats.window,
                 stats.shards, stats.started, stats.done, stats.retried, stats.died);
}

static void be_two(bool are_two) {
    if (are_two) {
        second = open_node("theatre-2");
    } else {
        must(verge_durable_close(second, VERGE_NEVER));
        second = NULL;
    }
}

static void end_durable(void) {
    must(verge_durable_close(second, VERGE_NEVER));
    must(verge_durable_close(durable, VERGE_NEVER));
}

#else

static const char *be_durable(const char *path) {
    (void)path;
    return "none";
}

static void tell_durable(void) {}

static void be_two(bool are_two) {
    (void)are_two;
}

static void end_durable(void) {}

#endif

/* ---- trouble ---- */

static pthread_t planted[8];
static size_t planted_count;
static atomic_bool is_calm;

/* The label is longer than a column is wide, and is at two addresses. */
static void *leak(void *argument) {
    static const char first[] = "session of a customer who never came back, started by the login page";
    static const char again[] = "session of a customer who never came back, started by the login page";
    (void)argument;
    for (uint64_t i = 0; !atomic_load(&is_over); i++) {
        (void)start(i % 2 == 0 ? first : again, expire_session, 20 * HOUR, 0);
        pause_ns(20 * MS);
    }
    return NULL;
}

/* Starts timers whose deadlines have passed already. */
static void *be_late(void *argument) {
    (void)argument;
    while (!atomic_load(&is_over)) {
        verge_start_options options = {.struct_size = sizeof(options)};
        options.callback = send_heartbeat;
        options.label = "monthly invoice";
        options.deadline_ns = verge_service_exact_now(service) - 400 * MS;
        must(verge_service_start_with(service, &options, NULL));
        pause_ns(50 * MS);
    }
    return NULL;
}

static void *flood(void *argument) {
    uint64_t rare_ns = 0;
    verge_worker *worker = NULL;
    (void)argument;
    must(verge_worker_join(service, NULL, &worker));
    while (!atomic_load(&is_over) && !atomic_load(&is_calm)) {
        for (int i = 0; i < 1000; i++) {
            must(verge_service_cancel(service, start("flood", expire_session, HOUR, 0)));
        }
        if (verge_service_exact_now(service) - rare_ns > 20 * MS) {
            rare_ns = verge_service_exact_now(service);
            must(verge_service_cancel(service, start("rare", expire_session, HOUR, 0)));
        }
        (void)verge_worker_run_once(worker, 0);
    }
    must(verge_worker_leave(worker));
    return NULL;
}

static void plant(void *(*trouble)(void *)) {
    if (planted_count < sizeof(planted) / sizeof(*planted)) {
        must(-pthread_create(&planted[planted_count++], NULL, trouble, NULL));
    }
}

/* ---- tasks ---- */

static verge_runtime *runtime;

static intptr_t nap(void *argument) {
    (void)argument;
    while (!atomic_load(&is_over)) {
        (void)verge_sleep(50 * MS);
    }
    return 0;
}

static intptr_t spawn_tasks(void *argument) {
    (void)argument;
    for (int i = 0; i < 12; i++) {
        verge_spawn_options options;
        must(verge_spawn_options_init(&options, sizeof(options)));
        options.function = nap;
        options.label = "nap";
        must(verge_spawn_with(&options, NULL));
    }
    return nap(NULL);
}

static void *run_tasks(void *argument) {
    (void)argument;
    must(verge_runtime_run(runtime, spawn_tasks, NULL, NULL));
    return NULL;
}

static void begin_tasks(void) {
    verge_runtime_options options;
    must(verge_runtime_options_init(&options, sizeof(options)));
    options.worker_count = 1;
    must(verge_runtime_create(&options, &runtime));
}

/* ---- orders ---- */

static void add_sources(long count) {
    for (long i = 0; i < count; i++) {
        char *label = malloc(64); /* it has to stay until the end */
        if (label == NULL) {
            exit(1);
        }
        (void)snprintf(label, 64, "source number %03ld", i);
        (void)start(label, send_heartbeat, MS, 100 * MS + (uint64_t)i * MS);
    }
}

static void obey(char *order) {
    if (strcmp(order, "stats\n") == 0) {
        verge_service_stats stats = {.struct_size = sizeof(stats)};
        must(verge_service_get_stats(service, &stats));
        (void)printf("%" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 "\n", stats.pending, stats.started, stats.fired,
                     stats.cancelled_locally + stats.cancelled_remotely);
    } else if (strcmp(order, "stuck\n") == 0) {
        atomic_store(&is_free, false);
        must(verge_service_start_after(service, 0, wait_for_freedom, NULL, NULL));
        (void)printf("stuck\n");
    } else if (strcmp(order, "busy\n") == 0) {
        atomic_store(&is_free, false);
        (void)start("report: export rows", export_rows, 0, 0);
        (void)printf("busy\n");
    } else if (strcmp(order, "free\n") == 0) {
        atomic_store(&is_free, true);
        (void)printf("free\n");
    } else if (strcmp(order, "leak\n") == 0 || strcmp(order, "late\n") == 0 || strcmp(order, "flood\n") == 0) {
        plant(order[0] == 'f' ? flood : order[1] == 'e' ? leak : be_late);
        (void)printf("planted\n");
    } else if (strcmp(order, "calm\n") == 0) {
        atomic_store(&is_calm, true);
        (void)printf("calm\n");
    } else if (strcmp(order, "beat\n") == 0) {
        (void)start("beat", send_heartbeat, MS, MS);
        (void)printf("beat\n");
    } else if (strncmp(order, "many ", 5) == 0) {
        for (long i = strtol(order + 5, NULL, 10); i > 0; i--) {
            (void)start("one of many", expire_session, HOUR + (uint64_t)i * MS, 0);
        }
        (void)printf("many\n");
    } else if (strncmp(order, "sources ", 8) == 0) {
        add_sources(strtol(order + 8, NULL, 10));
        (void)printf("sources\n");
    } else if (strncmp(order, "durable ", 8) == 0) {
        (void)printf("%s\n", be_durable(strtok(order + 8, "\n")));
    } else if (strcmp(order, "durable?\n") == 0) {
        tell_durable();
    } else if (strcmp(order, "another\n") == 0 || strcmp(order, "alone\n") == 0) {
        be_two(order[1] == 'n');
        (void)printf("done\n");
    }
    (void)fflush(stdout);
}

int main(int argc, char **argv) {
    verge_service_options options;
    verge_scope_options scope_options = {.struct_size = sizeof(scope_options)};
    pthread_t thread = 0;
    char order[512];
    is_lively = argc > 3 && strcmp(argv[3], "lively") == 0;
    if (argc < 4) {
        return 2;
    }
    (void)verge_service_options_init(&options, sizeof(options));
    options.thread_count = 3;
    must(verge_service_create(&options, &service));
    scope_options.address = argv[1];
    scope_options.token = argv[2];
    scope_options.name = "theatre";
    if (strcmp(argv[3], "tasks") == 0) {
        begin_tasks();
        must(-pthread_create(&planted[planted_count++], NULL, run_tasks, NULL));
    }
    must(verge_scope_create(service, runtime, &scope_options, &scope));
    if (is_lively) {
        be_lively(&thread);
    } else {
        be_still();
    }
    (void)printf("%s\n", verge_scope_address(scope));
    (void)fflush(stdout);
    while (fgets(order, sizeof(order), stdin) != NULL && strcmp(order, "quit\n") != 0) {
        obey(order);
    }
    atomic_store(&is_over, true);
    atomic_store(&is_free, true);
    if (is_lively) {
        (void)pthread_join(thread, NULL);
    }
    for (size_t i = 0; i < planted_count; i++) {
        (void)pthread_join(planted[i], NULL);
    }
    must(verge_scope_destroy(scope));
    end_durable();
    if (runtime != NULL) {
        must(verge_runtime_destroy(runtime));
    }
    return verge_service_destroy(service, NULL, NULL) != 0;
}
