/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE

#include "durable/process.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "durable/support.h"
#include "support/cmocka.h"

static char folder[64];

const char *nodes_begin(const char *url) {
    (void)snprintf(folder, sizeof(folder), "/tmp/verge-nodes.XXXXXX");
    assert_non_null(mkdtemp(folder));
    verge_durable_options options = durable_options(url);
    assert_int_equal(verge_durable_migrate(url, options.shard_count), 0);
    void *handle = sql_open(url);
    assert_int_equal(sql_run(handle, "CREATE TABLE ledger (id bigint, due bigint, at bigint)"), 0);
    sql_close(handle);
    return folder;
}

void nodes_end(void) {
    char command[128];
    (void)snprintf(command, sizeof(command), "rm -rf '%s'", folder);
    assert_int_equal(system(command), 0); /* NOLINT(cert-env33-c) */
}

pid_t node_start(const char *url, int count, const struct node_setting *settings, int setting_count) {
    char number[16];
    const char *program = getenv("VERGE_DURABLE_NODE");
    if (program == NULL) {
        fail_msg("VERGE_DURABLE_NODE says which program is a node");
        return -1;
    }
    (void)snprintf(number, sizeof(number), "%d", count);
    sigset_t end;
    (void)sigemptyset(&end);
    (void)sigaddset(&end, SIGTERM);
    (void)sigprocmask(SIG_BLOCK, &end, NULL); /* the node inherits this, and waits for SIGTERM to end cleanly */
    const pid_t pid = fork();
    assert_true(pid >= 0);
    (void)(pid != 0 && sigprocmask(SIG_UNBLOCK, &end, NULL));
    if (pid == 0) {
        for (int i = 0; i < setting_count && settings[i].name != NULL; i++) {
            (void)setenv(settings[i].name, settings[i].value, 1);
        }
        (void)setenv("ASAN_OPTIONS", "detect_leaks=0", 1); /* that takes minutes if many processes end at once */
        (void)execl(program, program, url, folder, number, (char *)NULL);
        _exit(127);
    }
    return pid;
}

void node_kill(pid_t pid) {
    int status;
    (void)kill(pid, SIGKILL);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFSIGNALED(status)); /* the process had not ended by itself */
}

void node_close(pid_t pid) {
    int status;
    (void)kill(pid, SIGTERM);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    if (status != 0) {
        fail_msg("a node ended with the status %#x", (unsigned)status);
    }
}

/* Calls `visit` for each id of a file. Returns how many there are. */
static int for_each(const char *name, void (*visit)(void *context, uint64_t id), void *context) {
    char path[128];
    int count = 0;
    (void)snprintf(path, sizeof(path), "%s/%s", folder, name);
    FILE *stream = fopen(path, "r");
    if (stream == NULL) {
        return -1;
    }
    char line[64];
    while (fgets(line, sizeof(line), stream) != NULL) {
        const uint64_t id = strtoull(line, NULL, 10);
        count++;
        if (visit != NULL) {
            visit(context, id);
        }
    }
    (void)fclose(stream);
    return count;
}

int noted(const char *name) {
    return for_each(name, NULL, NULL);
}

void nodes_drain(const char *url) {
    const pid_t pid = node_start(url, 0, NULL, 0);
    void *handle = sql_open(url);
    WAIT_UNTIL(sql_number(handle, "SELECT count(*) FROM verge_timer") == 0);
    sql_close(handle);
    node_close(pid);
}

static void put(void *context, uint64_t id) {
    char text[96];
    (void)snprintf(text, sizeof(text), "INSERT INTO noted VALUES (%llu)", (unsigned long long)id);
    assert_int_equal(sql_run(context, text), 0);
}

/* Puts the ids of a file into the table `noted`. Returns the result of the query. */
static int64_t compare(void *handle, const char *name, const char *query) {
    assert_int_equal(sql_run(handle, "DELETE FROM noted"), 0);
    (void)for_each(name, put, handle);
    return sql_number(handle, query);
}

void nodes_audit(const char *url) {
    nodes_drain(url); /* nodes that were closed may have left timers */
    void *handle = sql_open(url);
    assert_int_equal(sql_run(handle, "CREATE TEMPORARY TABLE noted (id bigint)"), 0);
    assert_int_equal(sql_run(handle, "BEGIN"), 0);
    /* each timer ran at most once (D2, D4), and none early (D3) */
    assert_int_equal(sql_number(handle, "SELECT count(*) - count(DISTINCT id) FROM ledger"), 0);
    assert_int_equal(sql_number(handle, "SELECT count(*) FROM ledger WHERE at < due"), 0);
    assert_int_equal(noted("early"), -1);
    /* what was promised was kept (D1) */
    assert_int_equal(compare(handle, "promised", "SELECT count(*) FROM noted WHERE id NOT IN (SELECT id FROM ledger)"),
                     0);
    /* what was cancelled did not run (D5) */
    assert_int_equal(compare(handle, "cancelled", "SELECT count(*) FROM noted WHERE id IN (SELECT id FROM ledger)"), 0);
    /* handlers outside ran at least once for each timer */
    (void)compare(handle, "outside", "SELECT 0");
    assert_int_equal(sql_run(handle, "CREATE TEMPORARY TABLE ran AS SELECT * FROM noted"), 0);
    assert_int_equal(
        compare(handle, "promised_outside", "SELECT count(*) FROM noted WHERE id NOT IN (SELECT id FROM ran)"), 0);
    assert_int_equal(sql_run(handle, "COMMIT"), 0);
    assert_int_equal(sql_number(handle, "SELECT count(*) FROM verge_timer"), 0);
    sql_close(handle);
}
