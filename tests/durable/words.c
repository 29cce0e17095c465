/* SPDX-License-Identifier: MIT */
/* Messages of a node name the reason, and each message comes once. */
#define _GNU_SOURCE

#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "durable/support.h"
#include "support/cmocka.h"

static char url[512];
static char words[600];
static _Atomic(int) said[VERGE_DURABLE_DIED + 1];
static char last_text[VERGE_DURABLE_DIED + 1][600]; /* written before `said`, so it is read after `said` */

static int set_up(void **state) {
    (void)state;
    (void)snprintf(url, sizeof(url), "%s", durable_url("words"));
    for (int i = 0; i <= VERGE_DURABLE_DIED; i++) {
        said[i] = 0;
    }
    return 0;
}

static int tear_down(void **state) {
    (void)state;
    durable_drop(url);
    return 0;
}

static void hear(void *context, const verge_durable_message *message) {
    (void)context;
    (void)snprintf(last_text[message->event], sizeof(last_text[0]), "%s", message->text);
    said[message->event]++;
}

static verge_durable_options heard(const char *of_url) {
    verge_durable_options options = durable_options(of_url);
    options.log = hear;
    options.patience_ns = S;
    return options;
}

static int open_error(const char *bad_url, bool create) {
    verge_durable_options options = heard(bad_url);
    verge_durable *durable = NULL;
    options.create = create;
    const int error = verge_durable_open(&options, &durable);
    assert_true(error != 0 && durable == NULL);
    const int length = verge_durable_error(NULL, words, sizeof(words));
    assert_int_equal(length, strlen(words));
    assert_null(strchr(words, '\n')); /* it is one line of a log */
    print_message("%s: %s\n", verge_strerror(error), words);
    return error;
}

/* Returns the URL of another database and user on the same server. */
static const char *other_url(const char *database, const char *user) {
    static char other[600];
    (void)snprintf(other, sizeof(other), "postgresql:///%s?user=%s&%s", database, user, strstr(url, "host="));
    return other;
}

static void run(const char *text) {
    void *handle = sql_open(url);
    assert_int_equal(sql_run(handle, text), 0);
    sql_close(handle);
}

static void test_open_names_the_reason(void **state) {
    (void)state;
    assert_int_equal(open_error("mysql://x", true), -EINVAL);
    assert_non_null(strstr(words, "postgresql://"));
    if (!durable_is_postgres()) {
        assert_int_equal(open_error(url, false), -ENOENT);
        assert_non_null(strstr(words, "there is no such file: run verge-durable init, or set the option create"));
        assert_int_equal(open_error("sqlite:/no/such/folder/x.db", true), -ENOENT);
        assert_non_null(strstr(words, "/no/such/folder/: No such file or directory"));
        assert_int_equal(access(url + strlen("sqlite:"), F_OK), -1); /* no file was made */
        FILE *stream = fopen(url + strlen("sqlite:"), "w");
        assert_non_null(stream);
        for (int i = 0; i < 2000; i++) {
            (void)fputs("This is no database. ", stream);
        }
        (void)fclose(stream);
        assert_int_equal(open_error(url, true), -EPROTO);
        assert_non_null(strstr(words, "not a database"));
        return;
    }
    assert_int_equal(open_error(url, false), -ENOENT);
    assert_non_null(strstr(words, "verge-durable init"));
    assert_int_equal(open_error(other_url("no_such_database", "verge"), true), -ENOENT);
    assert_non_null(strstr(words, "no_such_database"));
    assert_null(strstr(words, "LOCATION"));
    assert_int_equal(open_error(other_url("postgres", "nobody_of_ours"), true), -EACCES);
    assert_non_null(strstr(words, "nobody_of_ours"));
    assert_int_equal(open_error("postgresql://127.0.0.1:1/x", true), -EHOSTUNREACH);
    assert_non_null(strstr(words, "127.0.0.1"));
    static const char *const misread[] = {"app:gehe%im1@h", "app:gehe/im1@h", "app:12?@im1@h",        "app:12/im1@h",
                                          "app:gehe@im1@h", "app:gehe:im1",   "h/x?password=gehe=im1"};
    for (size_t i = 0; i < sizeof(misread) / sizeof(misread[0]); i++) {
        char bad[100];
        (void)snprintf(bad, sizeof(bad), "postgresql://%s", misread[i]);
        assert_int_equal(open_error(bad, true), -EINVAL);
        assert_non_null(strstr(words, "the URL cannot be read: in a password, write % as %25, @ as %40"));
        assert_null(strstr(words, "gehe"));
        assert_null(strstr(words, "im1"));
    }
    assert_int_equal(open_error("postgresql:///x?no_such_option=1", true), -EINVAL);
    assert_non_null(strstr(words, "no_such_option"));
}

/* Error codes do not depend on the server's messages: these may be in another language, or have misleading words. */
static void test_language_does_not_matter(void **state) {
    (void)state;
    if (!durable_is_postgres()) {
        skip();
    }
    run("CREATE ROLE \"x does not exist\" LOGIN CONNECTION LIMIT 0"); /* too many connections, not a missing role */
    assert_int_equal(open_error(other_url("postgres", "x%20does%20not%20exist"), true), -EHOSTUNREACH);
    assert_non_null(strstr(words, "too many connections"));
    assert_non_null(strstr(words, "a node has firing_threads + 2 connections"));
}

/* ---- calls that are refused ---- */

static void test_a_refused_call_has_words(void **state) {
    (void)state;
    static const char long_key[300] = "k";
    verge_durable *durable = durable_open(url);
    const struct {
        verge_durable_request request;
        const char *why;
    } refused[] = {
        {{.handler = "no such name"}, "a handler has 1 to 64 letters, digits, dots, _ and -"},
        {{.handler = "x", .key = long_key, .key_size = 256}, "a key has at most 255 bytes"},
        {{.handler = "x", .payload = "", .payload_size = (1 << 20) + 1}, "a payload has at most 1 MiB"},
        {{.handler = "x", .delay_ns = UINT64_MAX}, "a delay or a period has at most 73 years"},
        {{.handler = "x", .due_ns = 1, .delay_ns = 1}, "due_ns and delay_ns are both set"},
        {{.handler = "x", .on_conflict = VERGE_DURABLE_MOVE}, "there is no key"},
        {{.handler = "x", .rule = "0 99 * * *"}, "hour: 99 is not between 0 and 23"},
        {{.handler = "x", .rule = "0 9 * * * Nowhere/Land"}, "there is no time zone \"Nowhere/Land\" on this machine"},
    };
    for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++) {
        assert_true(verge_durable_start(durable, &refused[i].request, NULL) < 0);
        assert_true(verge_durable_error(durable, words, sizeof(words)) > 0);
        print_message("%s\n", words);
        assert_non_null(strstr(words, refused[i].why));
    }
    assert_int_equal(verge_durable_limit(durable, "x", 0, 1000000001), -EINVAL);
    (void)verge_durable_error(durable, words, sizeof(words));
    assert_string_equal(words, "a rate is 0 to 1000000000");
    assert_int_equal(verge_durable_pause(durable, ""), -EINVAL);
    (void)verge_durable_error(durable, words, sizeof(words));
    assert_non_null(strstr(words, "a handler has"));
    assert_int_equal(verge_durable_close(durable, VERGE_NEVER), 0);
}

/* A file without tables of verge is not changed, unless the option `create` is set. */
static void test_a_file_of_others(void **state) {
    (void)state;
    if (durable_is_postgres()) {
        skip();
    }
    uint8_t modes[2] = {0};
    run("CREATE TABLE theirs (x)");
    assert_int_equal(open_error(url, false), -ENOENT);
    assert_non_null(strstr(words, "there are no tables of verge"));
    FILE *file = fopen(url + strlen("sqlite:"), "r");
    assert_non_null(file);
    assert_int_equal(fseek(file, 18, SEEK_SET), 0); /* two bytes: 1, or 2 with WAL */
    assert_int_equal(fread(modes, 1, 2, file), 2);
    (void)fclose(file);
    assert_int_equal(modes[0], 1);
    assert_int_equal(modes[1], 1);
}

static void test_options_are_explained(void **state) {
    (void)state;
    verge_durable_options options = durable_options(url);
    assert_int_equal(verge_durable_options_explain(&options, words, sizeof(words)), 0);
    assert_string_equal(words, "");
    options.lease_ns = 5;
    assert_int_equal(verge_durable_options_explain(&options, words, sizeof(words)), -EINVAL);
    assert_non_null(strstr(words, "lease_ns is 5"));
    assert_int_equal(open_error(NULL, true), -EINVAL);
    assert_non_null(strstr(words, "url"));
    options = durable_options(url);
    options.precision_ns = 1000;
    assert_int_equal(verge_durable_options_explain(&options, words, sizeof(words)), -EINVAL);
    assert_non_null(strstr(words, "power of two"));
    assert_int_equal(verge_durable_options_explain(NULL, NULL, 0), -EINVAL);
}

static verge_durable_verdict refuse(const verge_durable_firing *firing) {
    (void)firing;
    return VERGE_DURABLE_DEAD;
}

/* ---- the log ---- */

static void test_a_dead_timer_is_told(void **state) {
    (void)state;
    verge_durable_options options = heard(url);
    verge_durable *durable;
    assert_int_equal(verge_durable_open(&options, &durable), 0);
    assert_int_equal(verge_durable_register(durable, "refuse", refuse, NULL, NULL), 0);
    const verge_durable_request request = {.handler = "refuse"};
    assert_int_equal(verge_durable_start(durable, &request, NULL), 0);
    WAIT_UNTIL(said[VERGE_DURABLE_DIED] == 1);
    assert_non_null(strstr(last_text[VERGE_DURABLE_DIED], "refuse"));
    assert_non_null(strstr(last_text[VERGE_DURABLE_DIED], "its handler said so"));
    assert_int_equal(verge_durable_close(durable, VERGE_NEVER), 0);
    assert_int_equal(said[VERGE_DURABLE_DIED], 1);
    assert_int_equal(said[VERGE_DURABLE_LOST], 0);
}

/* A role with too few connections: nothing runs, and one message says so. */
static void test_too_few_connections_are_told(void **state) {
    (void)state;
    if (!durable_is_postgres()) {
        skip();
    }
    run("DO $$ BEGIN IF NOT EXISTS (SELECT 1 FROM pg_roles WHERE rolname = 'few') THEN CREATE ROLE few LOGIN "
        "CONNECTION "
        "LIMIT 2; END IF; END $$; ALTER SCHEMA public OWNER TO few");
    const char *database = strstr(url, "///") + 3;
    char name[64];
    (void)snprintf(name, sizeof(name), "%.*s", (int)strcspn(database, "?"), database);
    verge_durable_options options = heard(other_url(name, "few"));
    verge_durable *durable;
    assert_int_equal(verge_durable_open(&options, &durable), 0);
    assert_int_equal(verge_durable_register(durable, "refuse", refuse, NULL, NULL), 0);
    const verge_durable_request request = {.handler = "refuse"};
    assert_int_equal(verge_durable_start(durable, &request, NULL), 0);
    WAIT_UNTIL(said[VERGE_DURABLE_LOST] == 1);
    assert_non_null(strstr(last_text[VERGE_DURABLE_LOST], "too many connections"));
    assert_true(verge_durable_error(durable, words, sizeof(words)) > 0);
    assert_non_null(strstr(words, "too many connections"));
    run("ALTER ROLE few CONNECTION LIMIT 10");
    WAIT_UNTIL(said[VERGE_DURABLE_DIED] == 1);
    WAIT_UNTIL(said[VERGE_DURABLE_BACK] == 1);
    assert_int_equal(said[VERGE_DURABLE_LOST], 1);
    assert_int_equal(verge_durable_close(durable, VERGE_NEVER), 0);
}

/* ---- SQLite: a file that goes away, and one that is locked ---- */

static void move_file(const char *from, const char *to) {
    static const char *const endings[] = {"", "-wal", "-shm"};
    for (int i = 0; i < 3; i++) {
        char a[600];
        char b[600];
        (void)snprintf(a, sizeof(a), "%s%s", from, endings[i]);
        (void)snprintf(b, sizeof(b), "%s%s", to, endings[i]);
        (void)rename(a, b);
    }
}

static void test_a_file_that_was_deleted(void **state) {
    (void)state;
    if (durable_is_postgres()) {
        skip();
    }
    char away[600];
    const char *path = url + strlen("sqlite:");
    (void)snprintf(away, sizeof(away), "%s.away", path);
    verge_durable_options options = heard(url);
    verge_durable *durable;
    const verge_durable_request request = {.handler = "other", .delay_ns = 3600 * S};
    options.patience_ns = 300 * MS;
    assert_int_equal(verge_durable_open(&options, &durable), 0);
    assert_int_equal(verge_durable_start(durable, &request, NULL), 0);
    move_file(path, away);
    assert_int_equal(verge_durable_start(durable, &request, NULL), -EHOSTUNREACH);
    assert_true(verge_durable_error(durable, words, sizeof(words)) > 0);
    assert_non_null(strstr(words, path));
    assert_int_equal(access(path, F_OK), -1);
    WAIT_UNTIL(said[VERGE_DURABLE_LOST] >= 1);
    move_file(away, path);
    WAIT_UNTIL(verge_durable_start(durable, &request, NULL) == 0);
    WAIT_UNTIL(said[VERGE_DURABLE_BACK] >= 1);
    assert_true(sql_ask(url, "SELECT count(*) FROM verge_timer") >= 2);
    assert_int_equal(verge_durable_close(durable, VERGE_NEVER), 0);
}

static sem_t gate;
static _Atomic(bool) is_inside;

static verge_durable_verdict stay(const verge_durable_firing *firing) {
    (void)firing;
    is_inside = true;
    (void)sem_wait(&gate);
    return VERGE_DURABLE_DONE;
}

/* A handler that does not return keeps the file locked. Calls give up after their patience, and say why. */
static void test_a_locked_file(void **state) {
    (void)state;
    if (durable_is_postgres()) {
        skip();
    }
    verge_durable_options options = heard(url);
    verge_durable *durable;
    const verge_durable_request request = {.handler = "stay"};
    options.patience_ns = 300 * MS;
    (void)sem_init(&gate, 0, 0);
    is_inside = false;
    assert_int_equal(verge_durable_open(&options, &durable), 0);
    assert_int_equal(verge_durable_register(durable, "stay", stay, NULL, NULL), 0);
    assert_int_equal(verge_durable_start(durable, &request, NULL), 0);
    WAIT_UNTIL(is_inside);
    assert_int_equal(verge_durable_start(durable, &request, NULL), -EAGAIN); /* the call returns */
    assert_true(verge_durable_error(durable, words, sizeof(words)) > 0);
    (void)sem_post(&gate);
    WAIT_UNTIL(sql_ask(url, "SELECT count(*) FROM verge_timer") == 0);
    /* the same if another connection has locked the file */
    void *handle = sql_open(url);
    assert_int_equal(sql_run(handle, "BEGIN IMMEDIATE"), 0);
    assert_int_equal(verge_durable_start(durable, &request, NULL), -EAGAIN);
    assert_true(verge_durable_error(durable, words, sizeof(words)) > 0);
    assert_non_null(strstr(words, "locked"));
    options.create = false;
    assert_int_equal(open_error(url, true), -EAGAIN);
    assert_int_equal(sql_run(handle, "ROLLBACK"), 0);
    sql_close(handle);
    assert_int_equal(verge_durable_close(durable, VERGE_NEVER), 0);
    (void)sem_destroy(&gate);
}

/* ---- other tables of the user ---- */

static void test_a_table_of_the_user(void **state) {
    (void)state;
    run("CREATE TABLE verge_x (mine bigint)");
    verge_durable *durable = durable_open(url);
    assert_int_equal(verge_durable_close(durable, VERGE_NEVER), 0);
}

#define ON_A_STORE(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void) {
    const struct CMUnitTest tests[] = {
        ON_A_STORE(test_open_names_the_reason),
        ON_A_STORE(test_language_does_not_matter),
        ON_A_STORE(test_options_are_explained),
        ON_A_STORE(test_a_refused_call_has_words),
        ON_A_STORE(test_a_file_of_others),
        ON_A_STORE(test_a_dead_timer_is_told),
        ON_A_STORE(test_too_few_connections_are_told),
        ON_A_STORE(test_a_file_that_was_deleted),
        ON_A_STORE(test_a_locked_file),
        ON_A_STORE(test_a_table_of_the_user),
    };
    return cmocka_run_group_tests_name("durable_words", tests, NULL, NULL);
}
