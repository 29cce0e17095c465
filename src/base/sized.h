/* SPDX-License-Identifier: MIT */
/*
 * base/sized.h - structs of callers that begin with their size in bytes (struct_size). A program and the library may be
 * of different versions, so the caller's struct may be shorter than the library's, or longer. Fields are only added at
 * the end, and 0 in an added field means: as before the field existed. So these rules hold:
 *
 *   options   a field that the caller's struct lacks is taken as 0. A field that the library does not know must be 0.
 *             Otherwise the caller wants something that this library cannot do, and the call returns -EINVAL.
 *   results   the caller gets the fields that both know. Those that the library does not know become 0.
 *
 * A struct_size below sizeof(size_t) or above 4,096 is -EINVAL: the caller forgot to set it.
 */
#ifndef VERGE_SRC_BASE_SIZED_H
#define VERGE_SRC_BASE_SIZED_H

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

enum { VERGE__SIZED_MAX = 4096 };

static inline bool verge__is_sized(const void *given, size_t struct_size) {
    return given != NULL && struct_size >= sizeof(struct_size) && struct_size <= VERGE__SIZED_MAX;
}

static inline size_t verge__size_in(const void *given) {
    size_t struct_size = 0;
    if (given != NULL) {
        memcpy(&struct_size, given, sizeof(struct_size));
    }
    return struct_size;
}

/* Fills the caller's options with the library's defaults. */
static inline int verge__sized_init(void *options, size_t struct_size, const void *defaults, size_t known_size) {
    if (!verge__is_sized(options, struct_size)) {
        return -EINVAL;
    }
    memset(options, 0, struct_size);
    memcpy(options, defaults, struct_size < known_size ? struct_size : known_size);
    memcpy(options, &struct_size, sizeof(struct_size));
    return 0;
}

/* Copies the caller's options to the library's struct. */
static inline int verge__sized_read(const void *options, void *ret_known, size_t known_size) {
    const size_t struct_size = verge__size_in(options);
    if (!verge__is_sized(options, struct_size)) {
        return -EINVAL;
    }
    for (size_t i = known_size; i < struct_size; i++) {
        if (((const unsigned char *)options)[i] != 0) {
            return -EINVAL;
        }
    }
    memset(ret_known, 0, known_size);
    memcpy(ret_known, options, struct_size < known_size ? struct_size : known_size);
    memcpy(ret_known, &known_size, sizeof(known_size));
    return 0;
}

/* Copies a result of the library to the caller's struct. */
static inline int verge__sized_write(void *result, const void *known, size_t known_size) {
    return verge__sized_init(result, verge__size_in(result), known, known_size);
}

#endif
