/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE

#include "durable/support.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "support/cmocka.h"

static const char *server_folder(void) {
    static char folder[256];
    const char *file = getenv("VERGE_DURABLE_SERVER");
    FILE *stream = file == NULL ? NULL : fopen(file, "r");
    if (stream == NULL || fgets(folder, sizeof(folder), stream) == NULL) {
        (void)fprintf(stderr, "VERGE_DURABLE_SERVER is not the file that names the folder of a server\n");
        exit(1);
    }
    (void)fclose(stream);
    return folder;
}

const char *durable_url(const char *name) {
    static char url[512];
    if (!durable_is_postgres()) {
        (void)snprintf(url, sizeof(url), "sqlite:/tmp/verge-durable-%s-%ld.db", name, (long)getpid());
        durable_drop(url);
        return url;
    }
    char text[256];
    char server[300];
    (void)snprintf(server, sizeof(server), "postgresql:///postgres?user=verge&host=%s", server_folder());
    void *handle = sql_open(server);
    (void)snprintf(text, sizeof(text), "DROP DATABASE IF EXISTS %s_%ld WITH (FORCE)", name, (long)getpid());
    assert_int_equal(sql_run(handle, text), 0);
    (void)snprintf(text, sizeof(text), "CREATE DATABASE %s_%ld", name, (long)getpid());
    assert_int_equal(sql_run(handle, text), 0);
    sql_close(handle);
    (void)snprintf(url, sizeof(url), "postgresql:///%s_%ld?user=verge&host=%s", name, (long)getpid(), server_folder());
    return url;
}

void durable_drop(const char *url) {
    static const char *const endings[] = {"", "-wal", "-shm", "-journal"};
    if (durable_is_postgres()) {
        return; /* the database is deleted with its server */
    }
    for (int i = 0; i < 4; i++) {
        char path[600];
        (void)snprintf(path, sizeof(path), "%s%s", url + strlen("sqlite:"), endings[i]);
        (void)unlink(path);
    }
}

verge_durable_options durable_options(const char *url) {
    verge_durable_options options;
    (void)verge_durable_options_init(&options, sizeof(options));
    options.url = url;
    options.create = true;
    options.shard_count = 16;
    options.lease_ns = 2 * S;
    options.rescan_ns = 300 * MS;
    options.horizon_ns = 2 * S;
    return options;
}

verge_durable *durable_open(const char *url) {
    const verge_durable_options options = durable_options(url);
    verge_durable *durable = NULL;
    assert_int_equal(verge_durable_open(&options, &durable), 0);
    return durable;
}

void durable_nap(unsigned ms) {
    const struct timespec time = {.tv_sec = ms / 1000, .tv_nsec = (long)(ms % 1000) * 1000000L};
    (void)nanosleep(&time, NULL);
}
