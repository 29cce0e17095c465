/* SPDX-License-Identifier: MIT */
#include "scope/text.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void verge__text_free(verge__text *text) {
    if (text->bytes != NULL) {
        text->allocator->release(text->allocator->context, text->bytes, text->capacity);
    }
    *text = (verge__text){.allocator = text->allocator};
}

void verge__text_clear(verge__text *text) {
    text->size = 0;
    text->has_failed = text->needs_comma = false;
}

bool verge__text_reserve(verge__text *text, size_t more) {
    enum { FIRST_CAPACITY = 4096 };
    if (text->has_failed) {
        return false;
    }
    if (more <= text->capacity - text->size) {
        return true;
    }
    size_t capacity = text->capacity == 0 ? FIRST_CAPACITY : text->capacity;
    while (capacity - text->size < more) {
        capacity *= 2;
    }
    char *bytes = text->allocator->allocate(text->allocator->context, capacity, 1);
    if (bytes == NULL) {
        text->has_failed = true;
        return false;
    }
    if (text->bytes != NULL) {
        memcpy(bytes, text->bytes, text->size);
        text->allocator->release(text->allocator->context, text->bytes, text->capacity);
    }
    text->bytes = bytes;
    text->capacity = capacity;
    return true;
}

void verge__text_add(verge__text *text, const char *bytes, size_t size) {
    if (verge__text_reserve(text, size)) {
        memcpy(text->bytes + text->size, bytes, size);
        text->size += size;
    }
}

void verge__text_format(verge__text *text, const char *format, ...) {
    char part[512];
    va_list values;
    va_start(values, format);
    const int length = vsnprintf(part, sizeof(part), format, values);
    va_end(values);
    if (length < 0 || (size_t)length >= sizeof(part)) {
        text->has_failed = true;
        return;
    }
    verge__text_add(text, part, (size_t)length);
}

/* ---- JSON ---- */

/* Keys are string literals of this library, so they need no escaping. */
static void add_key(verge__text *text, const char *key) {
    if (text->needs_comma) {
        verge__text_add(text, ",", 1);
    }
    if (key != NULL) {
        verge__text_add(text, "\"", 1);
        verge__text_add(text, key, strlen(key));
        verge__text_add(text, "\":", 2);
    }
    text->needs_comma = true;
}

void verge__json_begin(verge__text *text, const char *key, char bracket) {
    add_key(text, key);
    verge__text_add(text, &bracket, 1);
    text->needs_comma = false;
}

void verge__json_end(verge__text *text, char bracket) {
    verge__text_add(text, &bracket, 1);
    text->needs_comma = true;
}

/* Does not use printf, which is slower: most of a text is numbers. */
void verge__json_number(verge__text *text, const char *key, uint64_t value) {
    char digits[20];
    size_t at = sizeof(digits);
    add_key(text, key);
    do {
        digits[--at] = (char)('0' + value % 10);
        value /= 10;
    } while (value != 0);
    verge__text_add(text, digits + at, sizeof(digits) - at);
}

/* Writes three digits after the point, or none if all three are 0. The text does not depend on the locale. A value that
 * is not positive, is NaN, or is 1e15 or more, is written as 0. */
void verge__json_real(verge__text *text, const char *key, double value) {
    const bool is_usable = value > 0 && value < 1e15; /* false for NaN, too */
    const uint64_t thousandths = is_usable ? (uint64_t)(value * 1000 + 0.5) : 0;
    verge__json_number(text, key, thousandths / 1000);
    if (thousandths % 1000 != 0) {
        verge__text_format(text, ".%03" PRIu64, thousandths % 1000);
    }
}

void verge__json_bool(verge__text *text, const char *key, bool value) {
    add_key(text, key);
    verge__text_add(text, value ? "true" : "false", value ? 4 : 5);
}

/* Returns the length in bytes of the UTF-8 character at `at`, or 0 if it is not valid. */
static size_t character_size(const unsigned char *at, uint32_t *ret_character) {
    static const struct {
        size_t size;
        uint32_t smallest;
        unsigned char mask, lead;
    } kinds[] = {{1, 0, 0x80, 0x00}, {2, 0x80, 0xe0, 0xc0}, {3, 0x800, 0xf0, 0xe0}, {4, 0x10000, 0xf8, 0xf0}};
    for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++) {
        if ((at[0] & kinds[i].mask) != kinds[i].lead) {
            continue;
        }
        uint32_t character = at[0] & (unsigned char)~kinds[i].mask;
        for (size_t j = 1; j < kinds[i].size; j++) {
            if ((at[j] & 0xc0) != 0x80) { /* also if the text ends here */
                return 0;
            }
            character = character << 6 | (at[j] & 0x3f);
        }
        const bool is_surrogate = character >= 0xd800 && character < 0xe000;
        *ret_character = character;
        return character < kinds[i].smallest || is_surrogate || character > 0x10ffff ? 0 : kinds[i].size;
    }
    return 0;
}

/* Whether the character is a control character, changes the direction of the text, or cannot be seen. */
static bool is_hidden(uint32_t character) {
    return character < 0x20 || (character >= 0x7f && character < 0xa0) || character == 0xad || character == 0x61c ||
           (character >= 0x200b && character <= 0x200f) || (character >= 0x2028 && character <= 0x202e) ||
           (character >= 0x2060 && character <= 0x206f) || character == 0xfeff;
}

/* Whether the character has a meaning in HTML or in JSON. */
static bool is_markup(uint32_t character) {
    return character == '"' || character == '\\' || character == '<' || character == '>' || character == '&' ||
           character == '\'';
}

void verge__json_string(verge__text *text, const char *key, const char *value) {
    add_key(text, key);
    if (value == NULL) {
        verge__text_add(text, "null", 4);
        return;
    }
    verge__text_add(text, "\"", 1);
    for (const unsigned char *at = (const unsigned char *)value; *at != 0;) {
        uint32_t character = 0;
        const size_t size = character_size(at, &character);
        if (size == 0) {
            verge__text_add(text, "\\ufffd", 6);
        } else if (is_hidden(character) || is_markup(character)) {
            verge__text_format(text, "\\u%04x", character);
        } else {
            verge__text_add(text, (const char *)at, size);
        }
        at += size == 0 ? 1 : size;
    }
    verge__text_add(text, "\"", 1);
}
