/* SPDX-License-Identifier: MIT */
/* Bad input: URLs, names, keys, payloads, options; tables of another program or another version; rows that somebody has
 * damaged. */
#define _GNU_SOURCE

#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "durable/support.h"
#include "support/cmocka.h"
#include "support/random.h"

static char url[512];
static _Atomic(int) runs;

static int set_up(void **state) {
    (void)state;
    (void)snprintf(url, sizeof(url), "%s", durable_url("bad"));
    runs = 0;
    return 0;
}

static int tear_down(void **state) {
    (void)state;
    durable_drop(url);
    return 0;
}

static verge_durable_verdict count(const verge_durable_firing *firing) {
    (void)firing;
    runs++;
    return VERGE_DURABLE_DONE;
}

static int open_error(const char *bad_url) {
    verge_durable_options options = durable_options(bad_url);
    options.patience_ns = S;
    verge_durable *durable = NULL;
    const int error = verge_durable_open(&options, &durable);
    assert_true(error == 0 || durable == NULL);
    if (error == 0) {
        assert_int_equal(verge_durable_close(durable, VERGE_NEVER), 0);
    }
    return error;
}

static void test_urls(void **state) {
    (void)state;
    static const char *const bad[] = {
        "", "sqlite", "sqlite:", "sqlite::memory:", "mysql://x", "postgresqlx://", "http://", ":"};
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        assert_int_equal(open_error(bad[i]), -EINVAL);
        assert_true(verge_durable_migrate(bad[i], 8) == -EINVAL);
    }
    assert_int_equal(open_error(NULL), -EINVAL);
    assert_int_equal(open_error("sqlite:/no/such/folder/x.db"), -ENOENT);
    if (durable_is_postgres()) {
        assert_int_equal(open_error("postgresql:///x?no_such_option=1"), -EINVAL);
        assert_int_equal(open_error("postgresql:///x?host=/no/such/folder"), -EHOSTUNREACH);
        char other[600];
        (void)snprintf(other, sizeof(other), "postgresql:///no_such_database?user=verge&%s", strstr(url, "host="));
        assert_int_equal(open_error(other), -ENOENT);
    }
}

static void test_options(void **state) {
    (void)state;
    verge_durable *durable = NULL;
    verge_durable_options options = durable_options(url);
    assert_int_equal(verge_durable_open(NULL, &durable), -EINVAL);
    assert_int_equal(verge_durable_open(&options, NULL), -EINVAL);
    assert_int_equal(verge_durable_options_init(NULL, sizeof(verge_durable_options)), -EINVAL);
    options.shard_count = 0;
    assert_int_equal(verge_durable_open(&options, &durable), -EINVAL);
    options.shard_count = 257;
    assert_int_equal(verge_durable_open(&options, &durable), -EINVAL);
    options = durable_options(url);
    options.lease_ns = MS;
    assert_int_equal(verge_durable_open(&options, &durable), -EINVAL);
    options = durable_options(url);
    options.precision_ns = 1000;
    assert_int_equal(verge_durable_open(&options, &durable), -EINVAL);
    options = durable_options(url);
    options.rescan_ns = options.horizon_ns + 1;
    assert_int_equal(verge_durable_open(&options, &durable), -EINVAL);
    options = durable_options(url);
    options.create = false;
    assert_int_equal(verge_durable_open(&options, &durable), -ENOENT);
    assert_int_equal(verge_durable_migrate(url, 0), -EINVAL);
    assert_int_equal(verge_durable_close(NULL, 0), 0);
    assert_int_equal(verge_durable_now(NULL), 0);
}

static void test_requests(void **state) {
    (void)state;
    static char long_key[300];
    static char long_payload[VERGE_DURABLE_PAYLOAD_MAX + 1];
    char long_name[80];
    memset(long_key, 'k', sizeof(long_key) - 1);
    memset(long_name, 'n', sizeof(long_name));
    long_name[65] = '\0';
    verge_durable *durable = durable_open(url);
    const struct {
        verge_durable_request request;
        int error;
    } bad[] = {
        {{.handler = NULL}, -EINVAL},
        {{.handler = ""}, -EINVAL},
        {{.handler = "a b"}, -EINVAL},
        {{.handler = "\xFF"}, -EINVAL},
        {{.handler = long_name}, -EINVAL},
        {{.handler = "x", .due_ns = 1, .delay_ns = 1}, -EINVAL},
        {{.handler = "x", .payload_size = 1}, -EINVAL},
        {{.handler = "x", .key_size = 1}, -EINVAL},
        {{.handler = "x", .policy = (verge_interval_policy)9}, -EINVAL},
        {{.handler = "x", .reserved = {0, 1}}, -EINVAL},
        {{.handler = "x", .due_ns = UINT64_MAX}, -EOVERFLOW},
        {{.handler = "x", .delay_ns = UINT64_MAX}, -EOVERFLOW},
        {{.handler = "x", .period_ns = UINT64_MAX}, -EOVERFLOW},
        {{.handler = "x", .key = long_key}, -ENAMETOOLONG},
        {{.handler = "x", .key = long_key, .key_size = 256}, -ENAMETOOLONG},
        {{.handler = "x", .payload = long_payload, .payload_size = sizeof(long_payload)}, -EMSGSIZE},
    };
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        verge_durable_id id = 7;
        assert_int_equal(verge_durable_start(durable, &bad[i].request, &id), bad[i].error);
        assert_int_equal(id, 7); /* untouched */
        /* with one bad request in a call, no timer is started */
        const verge_durable_request two[2] = {{.handler = "x", .delay_ns = 3600 * S}, bad[i].request};
        assert_int_equal(verge_durable_start_many(durable, two, 2, NULL), bad[i].error);
    }
    assert_int_equal(verge_durable_start(durable, NULL, NULL), -EINVAL);
    assert_int_equal(verge_durable_start(NULL, &bad[0].request, NULL), -EINVAL);
    assert_int_equal(verge_durable_register(durable, "bad name", count, NULL, NULL), -EINVAL);
    assert_int_equal(verge_durable_register(durable, "x", NULL, NULL, NULL), -EINVAL);
    assert_int_equal(verge_durable_register(durable, "x", count, NULL, NULL), 0);
    assert_int_equal(verge_durable_register(durable, "x", count, NULL, NULL), -EEXIST);
    assert_int_equal(sql_ask(url, "SELECT count(*) FROM verge_timer"), 0);
    /* the largest that there may be */
    const verge_durable_request largest = {
        .handler = "y",
        .due_ns = INT64_MAX,
        .key = long_key,
        .key_size = VERGE_DURABLE_KEY_MAX,
        .payload = long_payload,
        .payload_size = VERGE_DURABLE_PAYLOAD_MAX,
    };
    verge_durable_id id;
    verge_durable_info info;
    assert_int_equal(verge_durable_start(durable, &largest, &id), 0);
    assert_int_equal(verge_durable_get(durable, id, &info, NULL, 0), 0);
    assert_int_equal(info.payload_size, VERGE_DURABLE_PAYLOAD_MAX);
    assert_int_equal(info.key_size, VERGE_DURABLE_KEY_MAX);
    assert_int_equal(verge_durable_close(durable, VERGE_NEVER), 0);
}

/* Keys and payloads of random bytes come back as they were. */
static void test_any_bytes(void **state) {
    (void)state;
    struct verge_test_random random = verge_test_random_from(verge_test_seed(20260104));
    verge_durable *durable = durable_open(url);
    for (int i = 0; i < 60; i++) {
        uint8_t key[VERGE_DURABLE_KEY_MAX];
        uint8_t payload[600];
        uint8_t back[600];
        const size_t key_size = 1 + (size_t)verge_test_below(&random, sizeof(key));
        const size_t size = (size_t)verge_test_below(&random, sizeof(payload));
        for (size_t j = 0; j < sizeof(payload); j++) {
            payload[j] = (uint8_t)verge_test_next(&random);
            key[j % sizeof(key)] = (uint8_t)verge_test_next(&random);
        }
        const verge_durable_request request = {.handler = "any",
                                               .delay_ns = 3600 * S,
                                               .key = key,
                                               .key_size = key_size,
                                               .payload = payload,
                                               .payload_size = size};
        verge_durable_id id;
        verge_durable_id found = 0;
        verge_durable_info info;
        const int error = verge_durable_start(durable, &request, &id);
        if (error == -EEXIST) {
            continue; /* random keys that are short may be equal */
        }
        assert_int_equal(error, 0);
        assert_int_equal(verge_durable_find(durable, "any", key, key_size, &found), 0);
        assert_int_equal(found, id);
        assert_int_equal(verge_durable_get(durable, id, &info, back, sizeof(back)), 0);
        assert_int_equal(info.key_size, key_size);
        assert_memory_equal(info.key, key, key_size);
        assert_int_equal(info.payload_size, size);
        assert_memory_equal(back, payload, size);
    }
    assert_int_equal(verge_durable_close(durable, VERGE_NEVER), 0);
}

static void change(const char *text) {
    void *handle = sql_open(url);
    assert_int_equal(sql_run(handle, text), 0);
    sql_close(handle);
}

static void test_tables_of_others(void **state) {
    (void)state;
    change("CREATE TABLE verge_meta (nothing_of_ours bigint)");
    assert_int_equal(open_error(url), -EPROTO);
    assert_int_equal(verge_durable_migrate(url, 8), -EPROTO);
}

static void test_versions(void **state) {
    (void)state;
    assert_int_equal(verge_durable_contract(url), -ENOENT);
    assert_int_equal(verge_durable_contract(NULL), -EINVAL);
    assert_int_equal(verge_durable_migrate(url, 8), 0);
    assert_int_equal(verge_durable_migrate(url, 200), 0); /* the tables exist: nothing changes */
    assert_int_equal(sql_ask(url, "SELECT count(*) FROM verge_shard"), 8);
    change("UPDATE verge_meta SET version = 4"); /* expanded by a newer library: this library may still use it */
    assert_int_equal(open_error(url), 0);
    change("UPDATE verge_meta SET version = 5, min_version = 4"); /* contracted: this library may not */
    assert_int_equal(open_error(url), -EPROTO);
    assert_int_equal(verge_durable_migrate(url, 8), -EPROTO);
    change("UPDATE verge_meta SET version = 0, min_version = 0");
    assert_int_equal(open_error(url), -EPROTO);
    change("UPDATE verge_meta SET version = 3, min_version = 1, shards = 100000");
    assert_int_equal(open_error(url), -EPROTO);
    change("DELETE FROM verge_meta");
    assert_int_equal(open_error(url), -EPROTO);
}

/* Tables such as version 1 made, with a timer in them, are migrated. */
static void test_version_1(void **state) {
    (void)state;
    verge_durable_options options = durable_options(url);
    verge_durable *durable = durable_open(url);
    const verge_durable_request request = {.handler = "some", .delay_ns = 3600 * S};
    verge_durable_id id;
    assert_int_equal(verge_durable_start(durable, &request, &id), 0);
    assert_int_equal(verge_durable_close(durable, VERGE_NEVER), 0);
    if (durable_is_postgres()) {
        change("DROP TABLE verge_mark");
    }
    change("ALTER TABLE verge_timer DROP COLUMN rule");
    change("ALTER TABLE verge_dead DROP COLUMN rule");
    change("DROP TABLE verge_control");
    change("DROP TABLE verge_permit");
    change("UPDATE verge_meta SET version = 1, min_version = 1");
    options.create = false;
    assert_int_equal(verge_durable_open(&options, &durable), -EPROTO); /* nobody has asked for a migration */
    assert_int_equal(verge_durable_migrate(url, 8), 0);
    assert_int_equal(verge_durable_migrate(url, 8), 0);
    assert_int_equal(sql_ask(url, "SELECT version FROM verge_meta"), VERGE_DURABLE_SCHEMA_VERSION);
    assert_int_equal(sql_ask(url, "SELECT min_version FROM verge_meta"), 1); /* old programs may go on */
    assert_int_equal(verge_durable_contract(url), 0);
    assert_int_equal(sql_ask(url, "SELECT min_version FROM verge_meta"), VERGE_DURABLE_SCHEMA_VERSION);
    assert_int_equal(verge_durable_open(&options, &durable), 0);
    assert_int_equal(verge_durable_cancel(durable, id), 0);
    assert_int_equal(verge_durable_start(durable, &request, &id), 0);
    assert_int_equal(verge_durable_close(durable, VERGE_NEVER), 0);
}

/* check counts the rows that somebody damaged, and names the first. The others fire. */
static void test_damaged_rows(void **state) {
    (void)state;
    verge_durable *durable = durable_open(url);
    char text[200];
    assert_int_equal(verge_durable_check(durable, text, sizeof(text)), 0);
    change("INSERT INTO verge_timer VALUES (256, 9999, 0, 0, 0, 0, 0, 0, 'x', NULL, '', NULL)"); /* no such shard */
    change("INSERT INTO verge_timer VALUES (513, 1, -5, 0, 0, 0, 0, 0, 'x', NULL, '', NULL)");   /* before 1970 */
    change("INSERT INTO verge_timer VALUES (770, 2, 5, -1, 0, 0, -7, 77, 'x', NULL, '', NULL)"); /* below 0 */
    change("INSERT INTO verge_timer VALUES (1027, 3, 5, 0, 0, 0, 0, 0, '', NULL, '', NULL)");    /* no handler */
    change("INSERT INTO verge_timer VALUES (-5, 4, 5, 0, 0, 0, 0, 0, 'x', NULL, '', NULL)");     /* no id */
    assert_true(verge_durable_check(durable, text, sizeof(text)) >= 5);
    assert_non_null(strstr(text, "timer"));
    assert_int_equal(verge_durable_register(durable, "x", count, NULL, NULL), 0);
    const verge_durable_request request = {.handler = "x"};
    for (int i = 0; i < 20; i++) {
        assert_int_equal(verge_durable_start(durable, &request, NULL), 0);
    }
    WAIT_UNTIL(runs >= 20);
    assert_int_equal(verge_durable_close(durable, VERGE_NEVER), 0);
}

/* An index that check does not read has a page of zeros. */
static void test_corrupt_file(void **state) {
    (void)state;
    if (durable_is_postgres()) {
        skip();
    }
    static const char zeros[4096];
    verge_durable_options options = durable_options(url);
    verge_durable *durable = durable_open(url);
    char text[400] = "";
    assert_int_equal(verge_durable_close(durable, VERGE_NEVER), 0);
    const int64_t page = sql_ask(url, "SELECT rootpage FROM sqlite_master WHERE name = 'verge_timer_due'");
    assert_int_equal(sql_ask(url, "PRAGMA page_size"), sizeof(zeros));
    FILE *file = fopen(url + strlen("sqlite:"), "r+");
    assert_non_null(file);
    assert_int_equal(fseek(file, (long)(page - 1) * (long)sizeof(zeros), SEEK_SET), 0);
    assert_int_equal(fwrite(zeros, sizeof(zeros), 1, file), 1);
    assert_int_equal(fclose(file), 0);
    options.client = true;
    assert_int_equal(verge_durable_open(&options, &durable), 0);
    assert_int_equal(verge_durable_check(durable, text, sizeof(text)), 1);
    print_message("%s\n", text);
    assert_non_null(strstr(text, "age ")); /* Page or page */
    assert_null(strchr(text, '\n'));
    assert_int_equal(verge_durable_close(durable, VERGE_NEVER), 0);
}

#define ON_A_STORE(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void) {
    const struct CMUnitTest tests[] = {
        ON_A_STORE(test_urls),      ON_A_STORE(test_options),          ON_A_STORE(test_requests),
        ON_A_STORE(test_any_bytes), ON_A_STORE(test_tables_of_others), ON_A_STORE(test_versions),
        ON_A_STORE(test_version_1), ON_A_STORE(test_damaged_rows),     ON_A_STORE(test_corrupt_file),
    };
    return cmocka_run_group_tests_name("durable_bad", tests, NULL, NULL);
}
