/* SPDX-License-Identifier: MIT */
#include "scope/safe.h"

#include <inttypes.h>
#include <string.h>

uint32_t safe_character(const char *text, size_t *ret_size) {
    const unsigned char *at = (const unsigned char *)text;
    const size_t size = at[0] < 0x80   ? 1
                        : at[0] < 0xc2 ? 0
                        : at[0] < 0xe0 ? 2
                        : at[0] < 0xf0 ? 3
                        : at[0] < 0xf5 ? 4
                                       : 0;
    uint32_t character = size <= 1 ? at[0] : at[0] & (0xffU >> (size + 1));
    *ret_size = 1;
    for (size_t i = 1; i < size; i++) {
        if ((at[i] & 0xc0) != 0x80) { /* the text may end here, too */
            return 0xfffd;
        }
        character = character << 6 | (at[i] & 0x3fU);
    }
    static const uint32_t lowest[] = {0, 0, 0x80, 0x800, 0x10000}; /* by size; a smaller character needs fewer bytes */
    const bool is_surrogate = character >> 11 == 0xd800 >> 11;
    if (size == 0 || character < lowest[size] || is_surrogate || character > 0x10ffff) {
        return 0xfffd;
    }
    *ret_size = size;
    return character;
}

bool safe_is_hidden(uint32_t character) {
    return character < 0x20 || (character >= 0x7f && character < 0xa0) || character == 0xad || character == 0x61c ||
           (character >= 0x200b && character <= 0x200f) || (character >= 0x2028 && character <= 0x202e) ||
           (character >= 0x2060 && character <= 0x206f) || character == 0xfeff;
}

void safe_copy(char *to, size_t size, const char *text) {
    enum { ESCAPED_SIZE = 8 };
    size_t used = 0;
    while (*text != '\0' && used + ESCAPED_SIZE < size) {
        size_t length = 0;
        const uint32_t character = safe_character(text, &length);
        if (safe_is_hidden(character)) {
            used += (size_t)snprintf(to + used, size - used, "\\u%04" PRIx32, character);
        } else if (character == 0xfffd && length == 1) {
            to[used++] = '?';
        } else {
            memcpy(to + used, text, length);
            used += length;
        }
        text += length;
    }
    to[used] = '\0';
}

void safe_print_json(const char *text, size_t size, FILE *out) {
    for (size_t i = 0; i < size;) {
        char four[5] = {0};
        size_t length = 0;
        memcpy(four, text + i, size - i < 4 ? size - i : 4);
        const uint32_t character = safe_character(four, &length);
        const bool is_space = character == '\n' || character == '\t' || character == '\r';
        if (character == 0xfffd && length == 1) {
            (void)fputs("\\ufffd", out);
        } else if (safe_is_hidden(character) && !is_space) {
            (void)fprintf(out, "\\u%04" PRIx32, character);
        } else {
            (void)fwrite(text + i, 1, length, out);
        }
        i += length;
    }
}
