/* SPDX-License-Identifier: MIT */
/* Zones: those that the system lists, against localtime_r; names and files that are wrong; memory that is refused. */
#define _GNU_SOURCE /* tm_gmtoff */

#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "recurrence/zone.h"
#include "recurrence/zones.h"
#include "support/allocator.h"
#include "support/cmocka.h"
#include "support/random.h"

/* Compares with localtime_r: times around the first 333 changes of the clock, and random times from 1970 to 2262. */
static void compare_zone(const char *name, uint64_t seed) {
    struct verge_test_random random = verge_test_random_from(seed);
    verge_zone *zone = NULL;
    assert_true(verge_zone_open(name, NULL, &zone) == 0);
    assert_true(setenv("TZ", name, 1) == 0);
    tzset();
    int64_t change = 0;
    for (size_t i = 0; i < 3000; i++) {
        int64_t time = (int64_t)verge_test_below(&random, INT64_C(9223372036));
        if (i < 1000) {
            time = change + (int64_t)(i % 3) - 1;
        }
        struct tm tm;
        const time_t seconds = (time_t)time;
        assert_true(localtime_r(&seconds, &tm) != NULL);
        const verge__span span = verge__zone_span(zone, time);
        assert_true(span.begin <= time && time < span.end);
        if (span.offset != tm.tm_gmtoff) {
            print_error("%s at %" PRId64 ": %d, and not %ld\n", name, time, (int)span.offset, tm.tm_gmtoff);
            fail();
        }
        if (i % 3 == 2 && span.end != INT64_MAX) {
            change = span.end;
        }
    }
    verge_zone_close(zone);
}

/* The zones that the system lists. */
static void test_all_zones(void **state) {
    (void)state;
    const uint64_t seed = verge_test_seed(34011);
    FILE *table = fopen("/usr/share/zoneinfo/zone1970.tab", "r");
    assert_non_null(table);
    char line[512];
    size_t count = 0;
    while (fgets(line, sizeof(line), table) != NULL) {
        char name[128]; /* the columns: countries, coordinates, zone */
        if (line[0] != '#' && sscanf(line, "%*s %*s %127s", name) == 1) {
            compare_zone(name, seed + count);
            count++;
        }
    }
    (void)fclose(table);
    (void)printf("%zu zones\n", count);
    assert_true(count > 200);
}

static void test_names(void **state) {
    (void)state;
    static const char *const invalid[] = {"..",       "../passwd", "/etc/localtime", "Europe/../Europe/Berlin",
                                          "Europe/",  ".hidden",   "Eur ope",        "a//b",
                                          "Europe\n", "-1",        "\xc3\xa4"};
    verge_zone *zone = NULL;
    for (size_t i = 0; i < sizeof(invalid) / sizeof(*invalid); i++) {
        assert_int_equal(verge_zone_open(invalid[i], NULL, &zone), -EINVAL);
    }
    assert_int_equal(verge_zone_open("Europe/Nowhere", NULL, &zone), -ENOENT);
    assert_int_equal(verge_zone_open("Europe/Berlin/x", NULL, &zone), -ENOENT);
    assert_int_equal(verge_zone_open("Europe", NULL, &zone), -ENOENT);
    assert_int_equal(verge_zone_open("UTC", NULL, NULL), -EINVAL);
    assert_null(zone);
    static const char *const utc[] = {NULL, "", "UTC"};
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(verge_zone_open(utc[i], NULL, &zone), 0);
        assert_int_equal(verge__zone_span(zone, 0).offset, 0);
        assert_true(verge__zone_span(zone, 0).end == INT64_MAX);
        verge_zone_close(zone);
        zone = NULL;
    }
    verge_zone_close(NULL);
}

/* TZDIR names a folder of zones. */
static void test_folder(void **state) {
    (void)state;
    char folder[] = "/tmp/verge-zones-XXXXXX";
    char path[64];
    assert_non_null(mkdtemp(folder));
    assert_int_equal(setenv("TZDIR", folder, 1), 0);
    verge_zone *zone = NULL;
    assert_int_equal(verge_zone_open("Europe/Berlin", NULL, &zone), -ENOENT);
    (void)snprintf(path, sizeof(path), "%s/Empty", folder);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    (void)fclose(file);
    assert_int_equal(verge_zone_open("Empty", NULL, &zone), -EPROTO);
    assert_int_equal(remove(path), 0);
    (void)snprintf(path, sizeof(path), "%s/Pipe", folder);
    assert_int_equal(mkfifo(path, 0600), 0);
    assert_int_equal(verge_zone_open("Pipe", NULL, &zone), -ENOENT);
    assert_int_equal(remove(path), 0);
    assert_int_equal(remove(folder), 0);
    assert_int_equal(unsetenv("TZDIR"), 0);
    assert_int_equal(verge_zone_open("Europe/Berlin", NULL, &zone), 0);
    verge_zone_close(zone);
}

static size_t read_berlin(uint8_t *bytes, size_t size) {
    FILE *file = fopen("/usr/share/zoneinfo/Europe/Berlin", "rb");
    assert_non_null(file);
    const size_t count = fread(bytes, 1, size, file);
    (void)fclose(file);
    return count;
}

/* A file with any content is refused, or the next occurrence is later. Each file is in a block of exactly its size, so
 * that a sanitizer sees a read beyond it. */
static void test_broken_files(void **state) {
    (void)state;
    struct verge_test_random random = verge_test_random_from(verge_test_seed(34012));
    uint8_t good[8192];
    const size_t size = read_berlin(good, sizeof(good));
    size_t accepted = 0;
    verge_recurrence rule;
    assert_int_equal(verge_recurrence_parse("30 2 * * *", &rule, NULL, 0), 0);
    for (size_t i = 0; i < 20000; i++) {
        const size_t cut = i <= size ? i : size;
        uint8_t *bytes = malloc(cut + 1);
        assert_non_null(bytes);
        memcpy(bytes, good, cut);
        for (uint64_t j = i <= size ? 0 : 1 + verge_test_below(&random, 8); j > 0; j--) {
            /* Headers and footers are small, so every other place is chosen near one of them. */
            const size_t near = verge_test_chance(&random, 2) ? 64 : cut;
            const size_t place = (size_t)verge_test_below(&random, near);
            bytes[verge_test_chance(&random, 2) ? place : cut - 1 - place] = (uint8_t)verge_test_next(&random);
        }
        uint8_t *exact = realloc(bytes, cut > 0 ? cut : 1);
        assert_non_null(exact);
        verge_zone *zone = NULL;
        const int error = verge_zone_read(exact, cut, NULL, &zone);
        assert_true(error == 0 || error == -EPROTO);
        if (error == 0) {
            uint64_t time_ns = verge_test_below(&random, UINT64_C(1) << 61);
            for (size_t j = 0; j < 20; j++) {
                const uint64_t next_ns = verge_recurrence_next(&rule, zone, time_ns);
                assert_true(next_ns > time_ns);
                time_ns = next_ns;
            }
            accepted++;
        } else {
            assert_null(zone);
        }
        assert_false(error == 0 && cut < size);
        verge_zone_close(zone);
        free(exact);
    }
    assert_true(accepted > 1000);
    assert_int_equal(verge_zone_read(NULL, 0, NULL, NULL), -EINVAL);
}

static void test_footers(void **state) {
    (void)state;
    static const struct {
        const char *text;
        bool is_valid;
    } footers[] = {
        {"", true},
        {"UTC0", true},
        {"CET-1CEST,M3.5.0,M10.5.0/3", true},
        {"<-03>3<-02>,M3.5.0/-1,M10.5.0/0", true},
        {"IST-1GMT0,M10.5.0,M3.5.0/1", true},
        {"XXX3EDT4,0/0,J365/23", true},
        {"EST5EDT,0/-167,364/167:59:59", true},
        {"<+0845>-8:45", true},
        {"CET", false},
        {"CE-1", false},
        {"CET-1CEST", false}, /* it does not say when summer time begins */
        {"CET-1CEST,M3.5.0", false},
        {"CET-1CEST,M13.5.0,M10.5.0", false},
        {"CET-1CEST,M3.0.0,M10.5.0", false},
        {"CET-1CEST,M3.6.0,M10.5.0", false},
        {"CET-1CEST,M3.5.7,M10.5.0", false},
        {"CET-1CEST,J0,J365", false},
        {"CET-1CEST,J1,J366", false},
        {"CET-1CEST,366,1", false},
        {"CET-1CEST,M3.5.0/168,M10.5.0", false},
        {"CET-25", false},
        {"CET-1:60", false},
        {"CET-1 ", false},
        {"<+3>-3", false},
        {"<+03-3", false},
        {"99999999999999999999", false},
    };
    for (size_t i = 0; i < sizeof(footers) / sizeof(*footers); i++) {
        verge__zone_rule rule;
        if (verge__zone_rule_parse(footers[i].text, strlen(footers[i].text), &rule) != footers[i].is_valid) {
            print_error("%s\n", footers[i].text);
            fail();
        }
    }
}

static void test_memory(void **state) {
    (void)state;
    struct verge_test_allocator memory;
    verge_test_allocator_init(&memory);
    verge_zone *zone = NULL;
    for (uint64_t i = 1; i <= 2; i++) {
        memory.fail_at = memory.calls + i;
        assert_int_equal(verge_zone_open("Europe/Berlin", &memory.allocator, &zone), -ENOMEM);
        verge_test_allocator_assert_empty(&memory);
    }
    memory.fail_at = memory.calls + 1;
    assert_int_equal(verge_zone_open("UTC", &memory.allocator, &zone), -ENOMEM);
    assert_null(zone);
    assert_int_equal(verge_zone_open("Europe/Berlin", &memory.allocator, &zone), 0);
    verge_zone_close(zone);
    verge_test_allocator_assert_empty(&memory);
}

int main(void) {
    skip_without_zones();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_all_zones),    cmocka_unit_test(test_names),   cmocka_unit_test(test_folder),
        cmocka_unit_test(test_broken_files), cmocka_unit_test(test_footers), cmocka_unit_test(test_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
