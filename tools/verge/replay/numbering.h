/* SPDX-License-Identifier: MIT */
/* Gives names the numbers 0, 1, 2 and so on, in the order in which the names are first seen. A name is any
 * uint64_t. */
#ifndef VERGE_TOOL_NUMBERING_H
#define VERGE_TOOL_NUMBERING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct numbering { /* starts as {0} */
    struct numbering_place *places;
    size_t place_count; /* 0, or a power of two: at least count * 4 / 3 */
    size_t count;
};

bool numbering_find(const struct numbering *numbering, uint64_t name, size_t *ret_number);

/* *ret_number: the number of the name; a new name gets the next number. Returns 0 or -ENOMEM. */
int numbering_add(struct numbering *numbering, uint64_t name, size_t *ret_number);

void numbering_free(struct numbering *numbering);

#endif
