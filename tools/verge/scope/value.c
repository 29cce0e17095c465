/* SPDX-License-Identifier: MIT */
#include "scope/value.h"

#include <stdlib.h>
#include <string.h>

enum { DEPTH_MAX = 16, BLOCK_SIZE = 1 << 16 };

struct value_store {
    struct value_store *next;
    size_t used, size;
    _Alignas(16) char bytes[];
};

struct reader {
    const char *at, *end;
    struct value_store *store;
    unsigned depth;
};

static const struct value nothing = {.kind = VALUE_NULL, .text = ""};

static void *take(struct reader *reader, size_t size) {
    size = (size + 15) / 16 * 16;
    if (reader->store == NULL || reader->store->size - reader->store->used < size) {
        const size_t room = size > BLOCK_SIZE ? size : BLOCK_SIZE;
        struct value_store *store = malloc(sizeof(*store) + room);
        if (store == NULL) {
            return NULL;
        }
        store->next = reader->store;
        store->used = 0;
        store->size = room;
        reader->store = store;
    }
    void *memory = reader->store->bytes + reader->store->used;
    reader->store->used += size;
    return memory;
}

void value_free(struct value_store *store) {
    while (store != NULL) {
        struct value_store *next = store->next;
        free(store);
        store = next;
    }
}

static void skip_blanks(struct reader *reader) {
    while (reader->at < reader->end && strchr(" \t\r\n", *reader->at) != NULL && *reader->at != '\0') {
        reader->at++;
    }
}

static bool accept(struct reader *reader, char wanted) {
    skip_blanks(reader);
    if (reader->at < reader->end && *reader->at == wanted) {
        reader->at++;
        return true;
    }
    return false;
}

static bool accept_word(struct reader *reader, const char *word) {
    const size_t size = strlen(word);
    if ((size_t)(reader->end - reader->at) >= size && memcmp(reader->at, word, size) == 0) {
        reader->at += size;
        return true;
    }
    return false;
}

/* ---- text ---- */

static bool read_hex(struct reader *reader, uint32_t *ret_number) {
    uint32_t number = 0;
    if (reader->end - reader->at < 4) {
        return false;
    }
    for (int i = 0; i < 4; i++) {
        const char digit = *reader->at++;
        const uint32_t value = digit >= '0' && digit <= '9'   ? (uint32_t)(digit - '0')
                               : digit >= 'a' && digit <= 'f' ? (uint32_t)(digit - 'a') + 10
                               : digit >= 'A' && digit <= 'F' ? (uint32_t)(digit - 'A') + 10
                                                              : 16;
        if (value == 16) {
            return false;
        }
        number = number * 16 + value;
    }
    *ret_number = number;
    return true;
}

/* Writes a character as UTF-8. */
static char *put_character(char *to, uint32_t character) {
    if (character < 0x80) {
        *to++ = (char)character;
    } else if (character < 0x800) {
        *to++ = (char)(0xc0 | character >> 6);
        *to++ = (char)(0x80 | (character & 0x3f));
    } else if (character < 0x10000) {
        *to++ = (char)(0xe0 | character >> 12);
        *to++ = (char)(0x80 | (character >> 6 & 0x3f));
        *to++ = (char)(0x80 | (character & 0x3f));
    } else {
        *to++ = (char)(0xf0 | character >> 18);
        *to++ = (char)(0x80 | (character >> 12 & 0x3f));
        *to++ = (char)(0x80 | (character >> 6 & 0x3f));
        *to++ = (char)(0x80 | (character & 0x3f));
    }
    return to;
}

static bool read_escape(struct reader *reader, char **to) {
    static const char names[] = "\"\\/bfnrt";
    static const char meanings[] = "\"\\/\b\f\n\r\t";
    char name = '\0';
    if (reader->at < reader->end) {
        name = *reader->at++;
    }
    const char *place = name == '\0' ? NULL : strchr(names, name);
    uint32_t character = 0, low = 0;
    if (place != NULL) {
        *(*to)++ = meanings[place - names];
        return true;
    }
    if (name != 'u' || !read_hex(reader, &character)) {
        return false;
    }
    if (character >= 0xd800 && character < 0xdc00) { /* one half of a character */
        if (!accept_word(reader, "\\u") || !read_hex(reader, &low) || low < 0xdc00 || low > 0xdfff) {
            return false;
        }
        character = 0x10000 + ((character - 0xd800) << 10) + (low - 0xdc00);
    }
    *to = put_character(*to, character == 0 ? 0xfffd : character); /* a 0 would end the text */
    return true;
}

/* Reads the text after a quotation mark. The result is never longer than the text in the JSON. */
static const char *read_text(struct reader *reader) {
    const char *end = reader->at;
    while (end < reader->end && *end != '"') {
        end += *end == '\\' && end + 1 < reader->end ? 2 : 1;
    }
    if (end >= reader->end) {
        return NULL;
    }
    char *text = take(reader, (size_t)(end - reader->at) + 1);
    char *to = text;
    while (text != NULL && *reader->at != '"') {
        const char byte = *reader->at++;
        if (byte != '\\') {
            *to = '?';
            if (byte != '\0') {
                *to = byte;
            }
            to++;
        } else if (!read_escape(reader, &to)) {
            return NULL;
        }
    }
    if (text != NULL) {
        *to = '\0';
        reader->at++;
    }
    return text;
}

/* ---- values ---- */

static bool read_value(struct reader *reader, struct value *into);

static bool read_members(struct reader *reader, struct value *into, char end) {
    const struct value **place = &into->first;
    if (accept(reader, end)) {
        return true;
    }
    do {
        struct value *member = take(reader, sizeof(*member));
        if (member == NULL) {
            return false;
        }
        const char *key = NULL;
        if (end == '}' && (!accept(reader, '"') || (key = read_text(reader)) == NULL || !accept(reader, ':'))) {
            return false;
        }
        if (!read_value(reader, member)) {
            return false;
        }
        member->key = key;
        *place = member;
        place = &member->next;
        into->count++;
    } while (accept(reader, ','));
    return accept(reader, end);
}

static bool read_number(struct reader *reader, struct value *into) {
    char digits[64];
    size_t size = 0;
    while (reader->at < reader->end && *reader->at != '\0' && strchr("+-.eE0123456789", *reader->at) != NULL &&
           size + 1 < sizeof(digits)) {
        digits[size++] = *reader->at++;
    }
    char *end = digits;
    digits[size] = '\0';
    into->kind = VALUE_NUMBER;
    into->number = strtod(digits, &end);
    return size > 0 && *end == '\0';
}

static bool read_value(struct reader *reader, struct value *into) {
    *into = (struct value){.kind = VALUE_NULL, .text = ""};
    bool is_read = false;
    if (++reader->depth > DEPTH_MAX) {
        return false;
    }
    if (accept(reader, '{')) {
        into->kind = VALUE_OBJECT;
        is_read = read_members(reader, into, '}');
    } else if (accept(reader, '[')) {
        into->kind = VALUE_ARRAY;
        is_read = read_members(reader, into, ']');
    } else if (accept(reader, '"')) {
        into->kind = VALUE_TEXT;
        into->text = read_text(reader);
        is_read = into->text != NULL;
    } else if (accept_word(reader, "true") || accept_word(reader, "false")) {
        into->kind = VALUE_BOOL;
        into->number = reader->at[-2] == 'u'; /* the last letter but one: u of true, s of false */
        is_read = true;
    } else {
        is_read = accept_word(reader, "null") || read_number(reader, into);
    }
    reader->depth--;
    return is_read;
}

const struct value *value_read(const char *text, size_t size, struct value_store **ret_store) {
    struct reader reader = {.at = text, .end = text + size};
    struct value *value = take(&reader, sizeof(*value));
    const bool is_read = value != NULL && read_value(&reader, value);
    skip_blanks(&reader);
    if (!is_read || reader.at != reader.end) {
        value_free(reader.store);
        return NULL;
    }
    *ret_store = reader.store;
    return value;
}

/* ---- looking ---- */

const struct value *value_of(const struct value *object, const char *key) {
    for (const struct value *member = object->first; member != NULL; member = member->next) {
        if (member->key != NULL && strcmp(member->key, key) == 0) {
            return member;
        }
    }
    return &nothing;
}

const struct value *value_at(const struct value *array, size_t place) {
    const struct value *member = array->first;
    while (member != NULL && place > 0) {
        member = member->next;
        place--;
    }
    return member == NULL ? &nothing : member;
}

double value_number(const struct value *object, const char *key) {
    return value_of(object, key)->number;
}

const char *value_text(const struct value *object, const char *key) {
    return value_of(object, key)->text;
}

bool value_bool(const struct value *object, const char *key) {
    return value_of(object, key)->number != 0;
}
