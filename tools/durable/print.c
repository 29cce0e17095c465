/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE

#include "print.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

/* ---- errors ---- */

int complain(verge_durable *durable, const char *what, int error) {
    char words[600] = "";
    (void)verge_durable_error(durable, words, sizeof(words));
    (void)fprintf(stderr, "verge-durable: %s: %s\n", what, words[0] != '\0' ? words : verge_strerror(error));
    return 1;
}

/* Cuts the value of password= up to the next &, and what is between user: and @. */
const char *without_password(const char *url) {
    static char text[600];
    (void)snprintf(text, sizeof(text), "%s", url);
    char *host = strstr(text, "://");
    char *at = host == NULL ? NULL : memchr(host + 3, '@', strcspn(host + 3, "/?"));
    char *colon = at == NULL ? NULL : memchr(host + 3, ':', (size_t)(at - host) - 3);
    if (colon != NULL) {
        memmove(colon, at, strlen(at) + 1);
    }
    char *password;
    while ((password = strstr(text, "password=")) != NULL) {
        const char *end = password + strcspn(password, "&");
        memmove(password, *end == '&' ? end + 1 : end, strlen(*end == '&' ? end + 1 : end) + 1);
    }
    return text;
}

/* ---- values ---- */

/* Prints text as it is, and other bytes as \xNN, or in JSON as \u00NN. */
static void print_bytes(const uint8_t *bytes, size_t size, bool as_json) {
    for (size_t i = 0; i < size; i++) {
        if (isprint(bytes[i]) && bytes[i] != '\\' && !(as_json && bytes[i] == '"')) {
            (void)putchar(bytes[i]);
        } else {
            (void)printf(as_json ? "\\u%04x" : "\\x%02x", bytes[i]);
        }
    }
}

static void print_text(const char *text, bool as_json) {
    print_bytes((const uint8_t *)text, strlen(text), as_json);
}

static void print_time(uint64_t time_ns) {
    const time_t seconds = (time_t)(time_ns / 1000000000);
    struct tm parts;
    char text[64];
    (void)gmtime_r(&seconds, &parts);
    (void)strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%S", &parts);
    (void)printf("%s.%03uZ", text, (unsigned)(time_ns / 1000000 % 1000));
}

/* ---- timers ---- */

void print_heading(bool dead) {
    (void)printf("id\tdue\tattempts\thandler\tkey\t%s\n", dead ? "reason" : "state");
}

/* Ids are text in JSON: many readers keep only 53 bits of a number. */
static void print_json(const verge_durable_info *info) {
    (void)printf("{\"id\":\"%" PRIu64 "\",\"handler\":\"%s\",\"due\":\"", info->id, info->handler);
    print_time(info->due_ns);
    (void)printf("\",\"due_ns\":\"%" PRIu64 "\",\"period_ns\":\"%" PRIu64 "\",\"attempts\":%u,\"running\":%s,\"key\":",
                 info->due_ns, info->period_ns, info->attempt, info->is_running ? "true" : "false");
    (void)printf(info->key_size == 0 ? "null" : "\"");
    if (info->key_size > 0) {
        print_bytes(info->key, info->key_size, true);
        (void)putchar('"');
    }
    (void)printf(",\"payload_size\":%zu,\"dead\":%s", info->payload_size, info->died_ns != 0 ? "true" : "false");
    if (info->died_ns != 0) {
        (void)printf(",\"died\":\"");
        print_time(info->died_ns);
        (void)printf("\",\"reason\":\"");
        print_text(info->reason, true);
        (void)putchar('"');
    }
}

void print_info(const verge_durable_info *info, bool as_json) {
    if (as_json) {
        print_json(info);
        (void)printf("}\n");
        return;
    }
    (void)printf("%" PRIu64 "\t", info->id);
    print_time(info->due_ns);
    (void)printf("\t%u\t%s\t", info->attempt, info->handler);
    print_bytes(info->key, info->key_size, false);
    (void)printf("\t%s\n", info->died_ns != 0 ? info->reason : info->is_running ? "running" : "");
}

void print_details(const verge_durable_info *info, const uint8_t *payload, bool as_json) {
    if (as_json) {
        print_json(info);
        (void)printf(",\"shard\":%u,\"payload\":\"", info->shard);
        print_bytes(payload, info->payload_size, true);
        (void)printf("\"}\n");
        return;
    }
    (void)printf("id\t%" PRIu64 "\nhandler\t%s\nshard\t%u\ndue\t", info->id, info->handler, info->shard);
    print_time(info->due_ns);
    (void)printf("\nperiod_ns\t%" PRIu64 "\nrule\t%s\nattempts\t%u\nrunning\t%s\nkey\t", info->period_ns, info->rule,
                 info->attempt, info->is_running ? "yes" : "no");
    print_bytes(info->key, info->key_size, false);
    (void)printf("\ndead\t%s", info->died_ns == 0 ? "no" : "since ");
    if (info->died_ns != 0) {
        print_time(info->died_ns);
        (void)printf(": %s", info->reason);
    }
    (void)printf("\npayload\t");
    print_bytes(payload, info->payload_size, false);
    (void)printf("\n");
}

/* ---- statistics ---- */

static void print_owner(const verge_durable_owner *owner, bool as_json) {
    (void)printf(as_json ? "{\"node\":\"%" PRIu64 "\",\"name\":\"" : "%" PRIu64 "\t", owner->node);
    print_text(owner->name, as_json);
    (void)printf(as_json ? "\",\"shards\":%u,\"lease\":\"" : "\t%u\t", owner->shard_count);
    if (owner->lease_until_ns != 0) {
        print_time(owner->lease_until_ns);
    }
    (void)printf(as_json ? "\"}" : "\n");
}

void print_stats(uint64_t pending, uint64_t overdue, uint64_t dead, const verge_durable_owner *owners, int count,
                 bool as_json) {
    (void)printf(as_json ? "{\"pending\":%" PRIu64 ",\"overdue\":%" PRIu64 ",\"dead\":%" PRIu64 ",\"nodes\":["
                         : "pending\t%" PRIu64 "\noverdue\t%" PRIu64 "\ndead\t%" PRIu64
                           "\n\nnode\tname\tshards\tlease\n",
                 pending, overdue, dead);
    for (int i = 0; i < count; i++) {
        (void)printf("%s", as_json && i > 0 ? "," : "");
        print_owner(&owners[i], as_json);
    }
    (void)printf(as_json ? "]}\n" : "");
}

/* ---- handlers ---- */

void print_controls(const verge_durable_control *controls, int count, bool as_json) {
    (void)printf(as_json ? "" : "handler\tpaused\tconcurrency\trate\n");
    for (int i = 0; i < count; i++) {
        const verge_durable_control *c = &controls[i];
        (void)printf(as_json ? "{\"handler\":\"%s\",\"paused\":%s,\"concurrency\":%u,\"rate\":%u}\n"
                             : "%s\t%s\t%u\t%u\n",
                     c->handler, c->is_paused ? (as_json ? "true" : "yes") : (as_json ? "false" : "no"), c->concurrency,
                     c->rate);
    }
}
