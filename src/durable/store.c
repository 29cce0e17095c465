/* SPDX-License-Identifier: MIT */
/* Finds the store that a URL names. Also has functions that both stores use. */
#include "durable/store.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static bool begins_with(const char *text, const char *beginning) {
    return strncmp(text, beginning, strlen(beginning)) == 0;
}

const verge__store *verge__store_of(const char *url, bool *ret_is_missing) {
    *ret_is_missing = false;
    if (url == NULL) {
        return NULL;
    }
    if (begins_with(url, "sqlite:")) {
#if defined(VERGE_HAVE_SQLITE)
        return &verge__sqlite_store;
#else
        *ret_is_missing = true;
#endif
    }
    if (begins_with(url, "postgresql://") || begins_with(url, "postgres://")) {
#if defined(VERGE_HAVE_POSTGRESQL)
        return &verge__postgres_store;
#else
        *ret_is_missing = true;
#endif
    }
    return NULL;
}

int verge__add_owned(verge_durable_owner *owners, int found, size_t count, const verge_durable_owner *owner,
                     uint64_t shard) {
    const bool is_new = found == 0 || owners[found - 1].node != owner->node;
    if (shard >= VERGE_DURABLE_SHARDS_MAX || (is_new && (size_t)found >= count)) {
        return found;
    }
    if (is_new) {
        owners[found++] = *owner;
    }
    owners[found - 1].shard_count++;
    owners[found - 1].shards[shard / 8] |= (uint8_t)(1U << shard % 8);
    return found;
}

static _Thread_local char words[VERGE__WORDS_MAX];

void verge__one_line(char *text) {
    char *to = text;
    for (const char *from = text; *from != '\0'; from++) {
        const bool is_space = strchr(" \t\r\n", *from) != NULL;
        if (!is_space) {
            *to++ = *from;
        } else if (to > text && to[-1] != ' ') {
            *to++ = ' ';
        }
    }
    to -= to > text && to[-1] == ' ';
    *to = '\0';
}

void verge__set_words(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(words, sizeof(words), format, arguments);
    va_end(arguments);
    verge__one_line(words);
}

const char *verge__words(void) {
    return words;
}

static bool are_same_bytes(const void *a, size_t a_size, const void *b, size_t b_size) {
    return a_size == b_size && (a_size == 0 || (a != NULL && b != NULL && memcmp(a, b, a_size) == 0));
}

bool verge__has_same_key(const verge__row *found, const verge__row *row) {
    return strcmp(found->handler, row->handler) == 0 && (found->key == NULL) == (row->key == NULL) &&
           are_same_bytes(found->key, found->key_size, row->key, row->key_size);
}

bool verge__is_same_timer(const verge__row *found, const verge__row *row) {
    return verge__has_same_key(found, row) &&
           are_same_bytes(found->payload, found->payload_size, row->payload, row->payload_size) &&
           found->period_ns == row->period_ns && found->policy == row->policy &&
           (found->rule == NULL) == (row->rule == NULL) && (row->rule == NULL || strcmp(found->rule, row->rule) == 0);
}

uint64_t verge__monotonic_ns(void) {
    const verge_clock clock = verge_clock_monotonic();
    return clock.now_ns(clock.context);
}
