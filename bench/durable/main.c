/* SPDX-License-Identifier: MIT */
/*
 * verge-bench-durable URL [--seconds N] [--pending N] [--firing-threads N] [--snapshot SECONDS] [--rate N] [--disk
 * FILE] [--only PART]: compares durable timers with the SQL that bounds them, and with a scheduler that polls, on one
 * store in one run, and prints ratios. Parts are claims, bulk, lateness, idle and recovery. --rate sets how many timers
 * a second there are before and during the snapshot, instead of a quarter of the maximum. FILE, on the store's disk, is
 * written to measure how long fdatasync takes. bench/durable-run starts a server for it.
 */
#define _GNU_SOURCE

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "durable/sql.h"
#include "limits.h"
#include "verge/durable.h"

const char *url;
double seconds = 3;
static uint64_t pending = 1000000;
static uint32_t firing_threads = 2;
static double snapshot = 10; /* for how many seconds a snapshot is held before the measurement */
static double calm_rate;     /* timers a second before and during the snapshot; 0: a quarter of the maximum */
static const char *disk;
static const char *only;
static _Atomic(uint64_t) fired;

static bool is_wanted(const char *part) {
    return only == NULL || strcmp(only, part) == 0;
}

static void print_quantiles(const char *what, const verge_histogram *times) {
    printf("%s %.2f ms (median), %.2f ms (99 %%), %.2f ms (longest)\n", what,
           (double)verge_histogram_quantile(times, 0.5) / 1e6, (double)verge_histogram_quantile(times, 0.99) / 1e6,
           (double)verge_histogram_quantile(times, 1) / 1e6);
}

/* Measures what each commit waits for: a page is overwritten, and reaches the disk. */
static void measure_disk(void) {
    static char page[8192];
    enum { PAGES = 2048 };
    verge_histogram times;
    const int file = open(disk, O_RDWR | O_CREAT | O_TRUNC, 0600);
    check(file >= 0, "the file for --disk cannot be opened");
    for (int i = 0; i < PAGES; i++) {
        check(pwrite(file, page, sizeof(page), (off_t)i * (off_t)sizeof(page)) == sizeof(page), "pwrite");
    }
    check(fsync(file) == 0, "fsync");
    verge_histogram_clear(&times);
    const double began_s = now_s();
    for (int i = 0; now_s() - began_s < seconds; i++) {
        const double wrote_s = now_s();
        check(pwrite(file, page, sizeof(page), (off_t)(i % PAGES) * (off_t)sizeof(page)) == sizeof(page), "pwrite");
        check(fdatasync(file) == 0, "fdatasync");
        verge_histogram_record(&times, (uint64_t)((now_s() - wrote_s) * 1e9), 1);
    }
    (void)close(file);
    (void)unlink(disk);
    print_quantiles("a page of 8 KiB written and fdatasync:", &times);
}

/* ---- verge ---- */

static pthread_mutex_t lateness_lock = PTHREAD_MUTEX_INITIALIZER;
static verge_histogram *lateness_now; /* NULL: lateness is not measured now */

static void measure_into(verge_histogram *lateness) {
    (void)pthread_mutex_lock(&lateness_lock);
    lateness_now = lateness;
    (void)pthread_mutex_unlock(&lateness_lock);
}

static verge_durable_verdict count(const verge_durable_firing *firing) {
    (void)pthread_mutex_lock(&lateness_lock);
    if (lateness_now != NULL) {
        verge_histogram_record(lateness_now, firing->now_ns - firing->due_ns, 1);
    }
    (void)pthread_mutex_unlock(&lateness_lock);
    fired++;
    return VERGE_DURABLE_DONE;
}

static verge_durable *open_node(bool client, uint64_t lease_ns) {
    verge_durable_options options;
    verge_durable *durable = NULL;
    (void)verge_durable_options_init(&options, sizeof(options));
    options.url = url;
    options.create = true;
    options.client = client;
    options.batch = 1024;
    options.firing_threads = firing_threads;
    options.lease_ns = lease_ns;
    options.rescan_ns = lease_ns / 5;
    check(verge_durable_open(&options, &durable) == 0, "the store cannot be opened");
    if (!client) {
        check(verge_durable_register(durable, "bench", count, NULL, NULL) == 0, "register");
    }
    return durable;
}

static verge_durable *shared;
static _Atomic(bool) is_over;
static _Atomic(uint64_t) scheduled;
static double target_rate; /* how many timers the threads start a second; 0: as many as possible */

static void *schedule_batches(void *argument) {
    static const verge_durable_request request = {.handler = "bench", .delay_ns = 50 * MS};
    verge_durable_request *requests = calloc(BATCH, sizeof(*requests));
    const size_t batch = target_rate == 0 ? BATCH : 50;
    (void)argument;
    for (size_t i = 0; i < BATCH; i++) {
        requests[i] = request;
    }
    const double began_s = now_s();
    uint64_t mine = 0;
    while (!is_over) {
        for (size_t i = 0; i < batch; i++) {
            requests[i].delay_ns = 50 * MS + i % 50 * MS;
        }
        check(verge_durable_start_many(shared, requests, batch, NULL) == (int)batch, "schedule");
        scheduled += batch;
        mine += batch;
        if (target_rate == 0) { /* at most about 60,000 timers are started and have not fired */
            while (scheduled - fired > 60000 && !is_over) {
                nap_ms(1);
            }
        } else {
            while (!is_over && (double)mine / (now_s() - began_s) > target_rate / 2) {
                nap_ms(1);
            }
        }
    }
    free(requests);
    return NULL;
}

/* Returns how many timers a second go through their whole life, with 2 threads that start timers, after warm_s seconds
 * to warm up. `rate` timers are started a second; 0: as many as possible. The histogram gets the lateness, and
 * *ret_commits the timers that end in one transaction. */
static double measure_verge(double rate, double warm_s, verge_histogram *lateness, double *ret_commits) {
    pthread_t threads[2];
    shared = open_node(false, 10 * S);
    nap_ms(1000); /* then the node has its shards, and has read its window */
    fired = scheduled = 0;
    is_over = false;
    target_rate = rate;
    for (int i = 0; i < 2; i++) {
        check(pthread_create(&threads[i], NULL, schedule_batches, NULL) == 0, "thread");
    }
    nap_ms((unsigned)(warm_s * 1000)); /* until about as many timers end as begin */
    if (lateness != NULL) {
        verge_histogram_clear(lateness);
    }
    measure_into(lateness);
    const double began_s = now_s();
    const uint64_t fired_before = fired;
    nap_ms((unsigned)(seconds * 1000));
    const double lives = (double)(fired - fired_before) / (now_s() - began_s);
    measure_into(NULL);
    is_over = true;
    for (int i = 0; i < 2; i++) {
        (void)pthread_join(threads[i], NULL);
    }
    while (fired < scheduled) {
        nap_ms(1);
    }
    verge_durable_stats stats = {.struct_size = sizeof(stats)};
    (void)verge_durable_get_stats(shared, &stats);
    if (ret_commits != NULL) {
        *ret_commits = (double)stats.done / (double)stats.firings;
    }
    check(verge_durable_close(shared, VERGE_NEVER) == 0, "close");
    return lives;
}

#define COLUMNS "(id, shard, due, attempt, running, revision, period, policy, handler, name, payload) "

static void fill(uint64_t rows) {
    void *handle = open_sql();
    char text[512];
    (void)snprintf(text, sizeof(text),
                   durable_is_postgres()
                       ? "INSERT INTO verge_timer " COLUMNS
                         "SELECT (n << 8) | (n & 15), n & 15, 4000000000000000000 + n, 0, 0, 0, 0, 0, "
                         "'bench', NULL, '' FROM generate_series(1, %llu) n"
                       : "WITH RECURSIVE s(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM s WHERE n < %llu) INSERT INTO "
                         "verge_timer " COLUMNS
                         "SELECT (n << 8) | (n & 15), n & 15, 4000000000000000000 + n, 0, 0, 0, 0, 0, 'bench', "
                         "NULL, '' FROM s",
                   (unsigned long long)rows);
    sql(handle, text);
    if (durable_is_postgres()) { /* as in a server that has run for a while: the log is overwritten, not extended */
        sql(handle, "VACUUM ANALYZE verge_timer");
        sql(handle, "CHECKPOINT");
    }
    sql_close(handle);
}

static long resident_kib(void) {
    long kib = 0;
    char line[256];
    FILE *status = fopen("/proc/self/status", "r");
    while (status != NULL && fgets(line, sizeof(line), status) != NULL) {
        if (strncmp(line, "VmRSS:", 6) == 0) {
            kib = strtol(line + 6, NULL, 10);
        }
    }
    if (status != NULL) {
        (void)fclose(status);
    }
    return kib;
}

static void measure_idle(void) {
    verge_durable_options options;
    verge_durable *durable = NULL;
    (void)verge_durable_options_init(&options, sizeof(options));
    options.url = url;
    check(verge_durable_open(&options, &durable) == 0, "the store cannot be opened");
    verge_durable_stats before = {.struct_size = sizeof(before)};
    verge_durable_stats after = {.struct_size = sizeof(after)};
    nap_ms(3000);
    (void)verge_durable_get_stats(durable, &before);
    const double began_s = now_s();
    nap_ms(6000);
    (void)verge_durable_get_stats(durable, &after);
    printf("idle node, default options: %.1f queries a second (at most 1)\n",
           (double)(after.queries - before.queries) / (now_s() - began_s));
    printf("%" PRIu64 " pending, far: %ld MiB of memory, %" PRIu64 " timers in it\n", pending, resident_kib() / 1024,
           after.window);
    check(verge_durable_close(durable, VERGE_NEVER) == 0, "close");
}

/* Measures how long it takes until another node fires, after the owner of a timer was killed. */
static void measure_recovery(void) {
    const pid_t child = fork();
    if (child == 0) {
        (void)open_node(false, 2 * S);
        nap_ms(60000);
        _exit(0);
    }
    nap_ms(2500);
    verge_durable *node = open_node(false, 2 * S);
    nap_ms(2500);
    void *handle = open_sql();
    const verge_durable_request request = {.handler = "bench", .delay_ns = 100 * MS};
    verge_durable *client = open_node(true, 2 * S);
    fired = 0;
    (void)kill(child, SIGKILL);
    (void)waitpid(child, NULL, 0);
    const double killed_s = now_s();
    for (int i = 0; i < 200; i++) {
        check(verge_durable_start(client, &request, NULL) == 0, "schedule");
        nap_ms(17);
    }
    while (sql_number(handle, "SELECT count(*) FROM verge_timer WHERE due < 4000000000000000000") > 0 &&
           now_s() - killed_s < 60) {
        nap_ms(5);
    }
    check(sql_number(handle, "SELECT count(*) FROM verge_timer WHERE due < 4000000000000000000") == 0, "recovery");
    verge_histogram lateness;
    verge_histogram_clear(&lateness);
    (void)verge_durable_get_histograms(node, &lateness, NULL);
    printf("owner killed, lease 2 s: the latest of its timers fired %.2f s after it was due\n",
           (double)verge_histogram_quantile(&lateness, 1) / 1e9);
    sql_close(handle);
    check(verge_durable_close(client, VERGE_NEVER) == 0 && verge_durable_close(node, VERGE_NEVER) == 0, "close");
}

static void print_lateness(const char *what, double rate, const verge_histogram *lateness) {
    char text[128];
    (void)snprintf(text, sizeof(text), "%s, %.0f timers a second: late by", what, rate);
    print_quantiles(text, lateness);
}

static void measure_all_claims(double verge) {
    (void)verge;
#if defined(VERGE_HAVE_POSTGRESQL)
    static const int counts[] = {1, CLAIMERS};
    for (int i = 0; i < 2 && durable_is_postgres(); i++) {
        const double claims = measure_claims(counts[i]);
        printf("claims by SKIP LOCKED, 100 at a time, each completed by itself, %d workers: %.0f a second; verge "
               "against that: %.1f times (10 are asked)\n",
               counts[i], claims, verge / claims);
    }
#endif
}

/* Takes turns: a call of start_many, and a bare COPY of as many rows into the same table. */
static void measure_bulk(void) {
#if defined(VERGE_HAVE_POSTGRESQL)
    verge_durable_request requests[BATCH];
    double verge_s = 0;
    double copy_s = 0;
    uint64_t count = 0;
    if (!durable_is_postgres()) {
        return;
    }
    for (size_t i = 0; i < BATCH; i++) {
        requests[i] = (verge_durable_request){.handler = "bench", .delay_ns = 86400 * S};
    }
    verge_durable *client = open_node(true, 10 * S);
    void *handle = open_sql();
    while (verge_s + copy_s < seconds) {
        const double began_s = now_s();
        check(verge_durable_start_many(client, requests, BATCH, NULL) == BATCH, "start_many");
        const double between_s = now_s();
        copy_batch(handle, (UINT64_C(1) << 30) + count); /* ids that no node uses */
        copy_s += now_s() - between_s;
        verge_s += between_s - began_s;
        count += BATCH;
    }
    printf("start_many, %d a call: %.0f timers a second; COPY into the same table: %.0f; verge against COPY: %.2f\n",
           BATCH, (double)count / verge_s, (double)count / copy_s, copy_s / verge_s);
    sql(handle, "DELETE FROM verge_timer");
    sql_close(handle);
    check(verge_durable_close(client, VERGE_NEVER) == 0, "close");
#endif
}

static void measure_lateness(double verge) {
    verge_histogram lateness;
    const double half = measure_verge(verge / 2, WARM_S, &lateness, NULL);
    printf("%" PRIu64 " more pending: ", pending);
    print_lateness("half of that load", half, &lateness);
    if (!durable_is_postgres()) {
        return;
    }
    const double calm = calm_rate != 0 ? calm_rate : verge / 4;
    const double quarter = measure_verge(calm, WARM_S, &lateness, NULL);
    print_lateness(calm_rate != 0 ? "the rate that was asked for" : "a quarter of that load", quarter, &lateness);
    void *holder = open_sql();
    sql(holder, "BEGIN ISOLATION LEVEL REPEATABLE READ");
    check(sql_number(holder, "SELECT count(*) FROM verge_meta") == 1, "verge_meta");
    const double held = measure_verge(calm, snapshot, &lateness, NULL);
    char what[64];
    (void)snprintf(what, sizeof(what), "after %.0f s of it with a snapshot held elsewhere", snapshot);
    print_lateness(what, held, &lateness);
    sql_close(holder);
}

int main(int argc, char **argv) {
    for (int i = 2; i + 1 < argc; i += 2) {
        if (strcmp(argv[i], "--seconds") == 0) {
            seconds = strtod(argv[i + 1], NULL);
        } else if (strcmp(argv[i], "--pending") == 0) {
            pending = strtoull(argv[i + 1], NULL, 10);
        } else if (strcmp(argv[i], "--firing-threads") == 0) {
            firing_threads = (uint32_t)strtoul(argv[i + 1], NULL, 10);
        } else if (strcmp(argv[i], "--snapshot") == 0) {
            snapshot = strtod(argv[i + 1], NULL);
        } else if (strcmp(argv[i], "--rate") == 0) {
            calm_rate = strtod(argv[i + 1], NULL);
        } else if (strcmp(argv[i], "--disk") == 0) {
            disk = argv[i + 1];
        } else if (strcmp(argv[i], "--only") == 0) {
            only = argv[i + 1];
        }
    }
    if (argc < 2) {
        (void)fprintf(
            stderr,
            "usage: verge-bench-durable URL [--seconds N] [--pending N] [--firing-threads N] [--snapshot SECONDS] "
            "[--rate N] [--disk FILE] [--only PART]\n");
        return 2;
    }
    url = argv[1];
    (void)setenv("VERGE_DURABLE_STORE", strncmp(url, "postgres", 8) == 0 ? "postgresql" : "sqlite", 1);
    setvbuf(stdout, NULL, _IOLBF, 0);
    double per_batch;
    if (disk != NULL) {
        measure_disk();
    }
    (void)measure_verge(0, WARM_S, NULL, NULL); /* makes the tables, and warms up */
    const double raw = measure_raw();
    const double verge = measure_verge(0, WARM_S, NULL, &per_batch);
    printf("raw batched INSERT and DELETE by key, %d a commit: %.0f timers a second\n", BATCH, raw);
    printf("verge, schedule to deletion: %.0f a second, %.0f a transaction; against raw: %.2f (at least 0.5)\n", verge,
           per_batch, verge / raw);
    if (is_wanted("claims")) {
        measure_all_claims(verge);
    }
    if (is_wanted("bulk")) {
        measure_bulk();
    }
    fill(pending);
    if (is_wanted("lateness")) {
        measure_lateness(verge);
    }
    if (is_wanted("idle")) {
        measure_idle();
    }
    if (is_wanted("recovery")) {
        measure_recovery();
    }
    return 0;
}
