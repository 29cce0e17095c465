/* SPDX-License-Identifier: MIT */
#include "base/explain.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

#include "base/bits.h"
#include "base/sized.h"
#include "verge/base.h"

verge__explanation verge__explanation_to(char *text, size_t size) {
    if (text != NULL && size > 0) {
        text[0] = '\0';
    }
    const verge__explanation why = {.text = text, .size = size};
    return why;
}

int verge__explain(verge__explanation why, const char *format, ...) {
    if (why.text != NULL && why.size > 0) {
        va_list values;
        va_start(values, format);
        (void)vsnprintf(why.text, why.size, format, values);
        va_end(values);
    }
    return -EINVAL;
}

int verge__explain_sized(verge__explanation why, const char *init, const void *options, void *ret_known,
                         size_t known_size) {
    if (options == NULL) {
        return verge__explain(why, "there are no options: the pointer is NULL");
    }
    if (verge__sized_read(options, ret_known, known_size) == 0) {
        return 0;
    }
    const size_t struct_size = verge__size_in(options);
    const bool is_sized = verge__is_sized(options, struct_size);
    if (!is_sized && init != NULL) {
        return verge__explain(why, "struct_size is %zu: fill the options by %s first", struct_size, init);
    }
    return !is_sized ? verge__explain(why, "struct_size is %zu: it has to be the size of the options", struct_size)
                     : verge__explain(why, "struct_size is %zu: a field is set that version %s does not know",
                                      struct_size, verge_version());
}

int verge__explain_power_of_two(verge__explanation why, const char *field, uint64_t value, unsigned exponent_max) {
    const uint64_t largest = UINT64_C(1) << exponent_max;
    if (value == 0) {
        return verge__explain(why, "%s is 0: it has to be a power of two of nanoseconds, such as %" PRIu64 " (2^20)",
                              field, UINT64_C(1) << 20);
    }
    if (value > largest) {
        return verge__explain(why, "%s is %" PRIu64 ": it may be %" PRIu64 " (2^%u) at most", field, value, largest,
                              exponent_max);
    }
    if (!verge__is_power_of_two(value)) {
        const unsigned below = (unsigned)verge__bit_floor_index(value);
        return verge__explain(why,
                              "%s is %" PRIu64 ", which is no power of two: the nearest are %" PRIu64
                              " (2^%u) and %" PRIu64 " (2^%u)",
                              field, value, UINT64_C(1) << below, below, UINT64_C(1) << (below + 1), below + 1);
    }
    return 0;
}
