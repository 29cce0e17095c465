/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE

#include "print.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

/* ---- errors ---- */

int complain(verge_durable *durable, const char *what, int error) {
    char words[600] = "";
    (void)verge_durable_error(durable, words, sizeof(words));
    (void)fprintf(stderr, "verge-durable: %s: %s\n", what, words[0] != '\0' ? words : verge_strerror(error));
    return durable != NULL && error == -EINVAL ? WRONG : 1;
}

/* Removes all between the first ':' and the last '@', however the password is written. If the '@' may be in the value
 * of an option, all from the ':' on is removed. */
static void cut_password(char *text) {
    char *colon = strchr(text, ':');
    const char *at = colon == NULL ? NULL : strrchr(colon, '@');
    const char *options = at == NULL ? NULL : memchr(colon, '?', (size_t)(at - colon));
    if (options != NULL && memchr(options, '=', (size_t)(at - options)) != NULL) {
        *colon = '\0';
    } else if (at != NULL) {
        memmove(colon, at, strlen(at) + 1);
    }
}

static bool is_harmless(const char *option) {
    static const char *const names[] = {"host=", "port=", "user=", "dbname=", "sslmode=", "target_session_attrs="};
    bool is_known = false;
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        is_known |= strncmp(option, names[i], strlen(names[i])) == 0;
    }
    return is_known;
}

/* Removes the options after the '?' that could be secret. */
static void cut_options(char *text) {
    char *to = text + strcspn(text, "?");
    char *rest = *to == '\0' ? NULL : to + 1;
    char separator = '?';
    *to = '\0';
    for (char *option; (option = strsep(&rest, "&")) != NULL;) {
        if (is_harmless(option)) {
            *to++ = separator;
            memmove(to, option, strlen(option) + 1);
            to += strlen(to);
            separator = '&';
        }
    }
}

const char *without_password(const char *url) {
    static char text[600];
    (void)snprintf(text, sizeof(text), "%s", url);
    if (strncmp(text, "sqlite:", strlen("sqlite:")) != 0) {
        char *host = strstr(text, "://");
        cut_password(host == NULL ? text : host + 3);
        cut_options(text);
        char *word = host != NULL ? NULL : strcasestr(text, "password"); /* "host=h password=p" */
        if (word != NULL) {
            *word = '\0';
        }
    }
    return text;
}

/* ---- values ---- */

/* Returns how many bytes the character at `bytes` has, if it is valid UTF-8 and not ASCII. Otherwise returns 0. */
static size_t utf8_size(const uint8_t *bytes, size_t size) {
    static const struct {
        uint8_t first, last;               /* of the first byte */
        uint8_t second_first, second_last; /* of the second byte; other bytes are 80 to BF */
        uint8_t size;
    } forms[] = {{0xC2, 0xDF, 0x80, 0xBF, 2}, {0xE0, 0xE0, 0xA0, 0xBF, 3}, {0xE1, 0xEC, 0x80, 0xBF, 3},
                 {0xED, 0xED, 0x80, 0x9F, 3}, {0xEE, 0xEF, 0x80, 0xBF, 3}, {0xF0, 0xF0, 0x90, 0xBF, 4},
                 {0xF1, 0xF3, 0x80, 0xBF, 4}, {0xF4, 0xF4, 0x80, 0x8F, 4}};
    for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
        bool is_one = size >= forms[i].size && bytes[0] >= forms[i].first && bytes[0] <= forms[i].last &&
                      bytes[1] >= forms[i].second_first && bytes[1] <= forms[i].second_last;
        for (size_t j = 2; is_one && j < forms[i].size; j++) {
            is_one = (bytes[j] & 0xC0) == 0x80;
        }
        if (is_one) {
            return forms[i].size;
        }
    }
    return 0;
}

/* Prints ASCII text as it is, and in JSON also UTF-8. Other bytes are printed as \xNN, in JSON as \u00NN. */
static void print_bytes(const uint8_t *bytes, size_t size, bool as_json) {
    for (size_t i = 0; i < size; i++) {
        const size_t utf8 = as_json ? utf8_size(bytes + i, size - i) : 0;
        if (utf8 > 0) {
            (void)fwrite(bytes + i, 1, utf8, stdout);
            i += utf8 - 1;
        } else if (isprint(bytes[i]) && bytes[i] != '\\' && !(as_json && bytes[i] == '"')) {
            (void)putchar(bytes[i]);
        } else {
            (void)printf(as_json ? "\\u%04x" : "\\x%02x", bytes[i]);
        }
    }
}

static void print_text(const char *text, bool as_json) {
    print_bytes((const uint8_t *)text, strlen(text), as_json);
}

static void print_or_null(const uint8_t *bytes, size_t size) {
    (void)printf(size == 0 ? "null" : "\"");
    print_bytes(bytes, size, true);
    (void)printf(size == 0 ? "" : "\"");
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
    (void)printf("{\"id\":\"%" PRIu64 "\",\"handler\":\"", info->id);
    print_text(info->handler, true);
    (void)printf("\",\"due\":\"");
    print_time(info->due_ns);
    (void)printf("\",\"due_ns\":\"%" PRIu64 "\",\"period_ns\":\"%" PRIu64 "\",\"attempts\":%u,\"running\":%s,\"key\":",
                 info->due_ns, info->period_ns, info->attempt, info->is_running ? "true" : "false");
    print_or_null(info->key, info->key_size);
    (void)printf(",\"rule\":");
    print_or_null((const uint8_t *)info->rule, strlen(info->rule));
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
    (void)putchar('\t');
    print_text(info->died_ns != 0 ? info->reason : info->is_running ? "running" : "", false);
    (void)putchar('\n');
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
        (void)printf(": ");
        print_text(info->reason, false);
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
