/* SPDX-License-Identifier: MIT */
#include "output/text.h"

#include <stddef.h>
#include <stdio.h>

enum { BUFFER_COUNT = 16, BUFFER_SIZE = 32 };

static char *next_buffer(void) {
    static char buffers[BUFFER_COUNT][BUFFER_SIZE];
    static unsigned next;
    return buffers[next++ % BUFFER_COUNT];
}

const char *text_grouped(uint64_t number) {
    char *at = next_buffer() + BUFFER_SIZE - 1;
    *at = '\0';
    for (int digits = 1;; digits++, number /= 10) {
        *--at = (char)('0' + number % 10);
        if (number < 10) {
            return at;
        }
        if (digits % 3 == 0) {
            *--at = ',';
        }
    }
}

struct unit {
    const char *name;
    double size;
};

/* Writes a number in the largest unit in which it is at least 1, with four digits. In the smallest unit, it is a whole
 * number. */
static const char *in_units(uint64_t number, const struct unit *units, size_t count) {
    size_t best = 0;
    for (size_t i = 1; i < count && (double)number >= units[i].size; i++) {
        best = i;
    }
    double value = (double)number / units[best].size;
    int decimals = best == 0 || value >= 1000 ? 0 : value >= 100 ? 1 : value >= 10 ? 2 : 3;
    char *text = next_buffer();
    (void)snprintf(text, BUFFER_SIZE, "%.*f %s", decimals, value, units[best].name);
    return text;
}

const char *text_duration(uint64_t ns) {
    static const struct unit units[] = {{"ns", 1}, {"us", 1e3}, {"ms", 1e6}, {"s", 1e9}, {"min", 60e9}, {"h", 3600e9}};
    return in_units(ns, units, sizeof(units) / sizeof(*units));
}

const char *text_bytes(uint64_t bytes) {
    static const struct unit units[] = {{"B", 1}, {"KiB", 0x1p10}, {"MiB", 0x1p20}, {"GiB", 0x1p30}};
    return in_units(bytes, units, sizeof(units) / sizeof(*units));
}

double text_ms(uint64_t ns) {
    return (double)ns / 1e6;
}
