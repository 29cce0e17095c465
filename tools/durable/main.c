/* SPDX-License-Identifier: MIT */
/* verge-durable: durable timers from the command line. It uses only the installed headers. */
#define _GNU_SOURCE

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "verge/durable.h"

enum { PAGE = 256 };

static const char usage[] =
    "usage: verge-durable COMMAND URL [ARGUMENT...]\n"
    "  init URL [SHARDS]   creates the tables; SHARDS (default: 64) cannot be changed later\n"
    "  migrate URL         upgrades the tables to the version of this program; older ones can run at the same time\n"
    "  contract URL        ends a migration: from now on, programs of an older version are refused\n"
    "  check URL           looks for rows that verge cannot have written; the exit status is 1 if there are any\n"
    "  list URL [dead]     lists the pending or the dead timers: id, due, attempts, handler, key, reason\n"
    "  show URL ID         shows one timer, with its payload\n"
    "  cancel URL ID       cancels a pending timer\n"
    "  retry URL ID        lets a dead timer fire again, now\n"
    "  forget URL ID       deletes a dead timer\n"
    "  stats URL           counts the pending, overdue and dead timers, and the shards of each node\n"
    "A URL is sqlite:FILE, or postgresql://... in the form that psql takes.\n";

static int complain(const char *what, int error) {
    (void)fprintf(stderr, "verge-durable: %s: %s\n", what, verge_strerror(error));
    return 1;
}

/* Prints text as it is, and other bytes as \xNN. */
static void print_bytes(const uint8_t *bytes, size_t size) {
    for (size_t i = 0; i < size; i++) {
        if (isprint(bytes[i]) && bytes[i] != '\\') {
            (void)putchar(bytes[i]);
        } else {
            (void)printf("\\x%02x", bytes[i]);
        }
    }
}

static void print_time(uint64_t time_ns) {
    const time_t seconds = (time_t)(time_ns / 1000000000);
    struct tm parts;
    char text[64];
    (void)gmtime_r(&seconds, &parts);
    (void)strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%S", &parts);
    (void)printf("%s.%03uZ", text, (unsigned)(time_ns / 1000000 % 1000));
}

static void print_info(const verge_durable_info *info) {
    (void)printf("%" PRIu64 "\t", info->id);
    print_time(info->due_ns);
    (void)printf("\t%u\t%s\t", info->attempt, info->handler);
    print_bytes(info->key, info->key_size);
    (void)printf("\t%s\n", info->died_ns != 0 ? info->reason : info->is_running ? "running" : "");
}

static int list(verge_durable *durable, const char *which) {
    static verge_durable_info infos[PAGE];
    verge_durable_id after = 0;
    int count;
    if (which != NULL && strcmp(which, "dead") != 0) {
        return complain(which, -EINVAL);
    }
    do {
        count = verge_durable_list(durable, which != NULL, after, infos, PAGE);
        for (int i = 0; i < count; i++) {
            print_info(&infos[i]);
            after = infos[i].id;
        }
    } while (count == PAGE);
    return count < 0 ? complain("list", count) : 0;
}

static int show(verge_durable *durable, verge_durable_id id) {
    static uint8_t payload[VERGE_DURABLE_PAYLOAD_MAX];
    verge_durable_info info;
    const int error = verge_durable_get(durable, id, &info, payload, sizeof(payload));
    if (error != 0) {
        return complain("show", error);
    }
    (void)printf("id\t%" PRIu64 "\nhandler\t%s\nshard\t%u\ndue\t", info.id, info.handler, info.shard);
    print_time(info.due_ns);
    (void)printf("\nperiod_ns\t%" PRIu64 "\nattempts\t%u\nrunning\t%s\nkey\t", info.period_ns, info.attempt,
                 info.is_running ? "yes" : "no");
    print_bytes(info.key, info.key_size);
    (void)printf("\ndead\t%s", info.died_ns == 0 ? "no" : "since ");
    if (info.died_ns != 0) {
        print_time(info.died_ns);
        (void)printf(": %s", info.reason);
    }
    (void)printf("\npayload\t");
    print_bytes(payload, info.payload_size);
    (void)printf("\n");
    return 0;
}

static int check(verge_durable *durable) {
    char text[256];
    const int found = verge_durable_check(durable, text, sizeof(text));
    if (found < 0) {
        return complain("check", found);
    }
    (void)printf(found == 0 ? "nothing wrong was found\n" : "%d wrong; the first: %s\n", found, text);
    return found != 0;
}

/* shards NODE NAME COUNT LEASE: the time until which the shards are its own. */
static void print_owner(const verge_durable_owner *owner) {
    (void)printf("shards\t%" PRIu64 "\t", owner->node);
    print_bytes((const uint8_t *)owner->name, strlen(owner->name));
    (void)printf("\t%u\t", owner->shard_count);
    if (owner->lease_until_ns != 0) {
        print_time(owner->lease_until_ns);
    }
    (void)putchar('\n');
}

static int stats(verge_durable *durable) {
    static verge_durable_owner owners[VERGE_DURABLE_SHARDS_MAX];
    uint64_t pending;
    uint64_t overdue;
    uint64_t dead;
    const int error = verge_durable_count(durable, &pending, &overdue, &dead);
    if (error != 0) {
        return complain("stats", error);
    }
    (void)printf("pending\t%" PRIu64 "\noverdue\t%" PRIu64 "\ndead\t%" PRIu64 "\n", pending, overdue, dead);
    const int count = verge_durable_list_owners(durable, owners, VERGE_DURABLE_SHARDS_MAX);
    for (int i = 0; i < count; i++) {
        print_owner(&owners[i]);
    }
    return count < 0 ? complain("stats", count) : 0;
}

static int change(verge_durable *durable, const char *command, verge_durable_id id) {
    int error = -ENOENT;
    if (strcmp(command, "cancel") == 0) {
        error = verge_durable_cancel(durable, id);
    } else if (strcmp(command, "retry") == 0) {
        error = verge_durable_retry(durable, id);
    } else {
        error = verge_durable_forget(durable, id);
    }
    if (error == VERGE_RUNNING) {
        (void)printf("it is running now\n");
        return 0;
    }
    return error != 0 ? complain(command, error) : 0;
}

static int run(verge_durable *durable, const char *command, const char *argument) {
    char *end = NULL;
    const verge_durable_id id = argument == NULL ? 0 : strtoull(argument, &end, 10);
    if (strcmp(command, "list") == 0) {
        return list(durable, argument);
    }
    if (strcmp(command, "check") == 0) {
        return check(durable);
    }
    if (strcmp(command, "stats") == 0) {
        return stats(durable);
    }
    if (id == 0 || *end != '\0') {
        (void)fprintf(stderr, "verge-durable: %s needs the id of a timer\n", command);
        return 2;
    }
    return strcmp(command, "show") == 0 ? show(durable, id) : change(durable, command, id);
}

static int make_tables(const char *url, const char *shards) {
    char *end = "";
    const unsigned long count = shards == NULL ? 64 : strtoul(shards, &end, 10);
    if (*end != '\0' || count < 1 || count > VERGE_DURABLE_SHARDS_MAX) {
        (void)fprintf(stderr, "verge-durable: there are 1 to %d shards\n", VERGE_DURABLE_SHARDS_MAX);
        return 2;
    }
    const int error = verge_durable_migrate(url, (uint32_t)count);
    return error != 0 ? complain(url, error) : 0;
}

int main(int argc, char **argv) {
    static const char *const commands[] = {"check", "list", "show", "cancel", "retry", "forget", "stats"};
    if (argc == 2 && (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0)) {
        (void)fputs(usage, stdout);
        return 0;
    }
    if (argc == 2 && strcmp(argv[1], "--version") == 0) {
        (void)printf("verge-durable %s\n", verge_version());
        return 0;
    }
    if (argc < 3 || argc > 4) {
        (void)fputs(usage, stderr);
        return 2;
    }
    const char *argument = argc == 4 ? argv[3] : NULL;
    if (strcmp(argv[1], "init") == 0 || strcmp(argv[1], "migrate") == 0) {
        return make_tables(argv[2], argument);
    }
    if (strcmp(argv[1], "contract") == 0 && argument == NULL) {
        const int error = verge_durable_contract(argv[2]);
        return error != 0 ? complain(argv[2], error) : 0;
    }
    bool is_known = false;
    for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++) {
        is_known |= strcmp(argv[1], commands[i]) == 0;
    }
    if (!is_known) {
        (void)fputs(usage, stderr);
        return 2;
    }
    verge_durable_options options;
    verge_durable *durable = NULL;
    (void)verge_durable_options_init(&options);
    options.url = argv[2];
    options.client = true;
    const int error = verge_durable_open(&options, &durable);
    if (error != 0) {
        return complain(argv[2], error);
    }
    const int status = run(durable, argv[1], argument);
    (void)verge_durable_close(durable, VERGE_NEVER);
    return status;
}
