/* SPDX-License-Identifier: MIT */
/* A hash table with open addressing. Nothing is ever removed. */
#include "replay/numbering.h"

#include <errno.h>
#include <stdlib.h>

struct numbering_place {
    uint64_t name;
    size_t number_plus_1; /* 0: the place is empty */
};

enum { PLACE_COUNT_FIRST = 64 };

/* Returns the place of a name, or the empty place where it belongs. */
static struct numbering_place *find_place(const struct numbering *numbering, uint64_t name) {
    uint64_t hash = (name ^ (name >> 32)) * UINT64_C(0x9E3779B97F4A7C15);
    size_t at = (size_t)(hash ^ (hash >> 32)) & (numbering->place_count - 1);
    while (numbering->places[at].number_plus_1 != 0 && numbering->places[at].name != name) {
        at = (at + 1) & (numbering->place_count - 1);
    }
    return &numbering->places[at];
}

static int grow(struct numbering *numbering) {
    struct numbering grown = {
        .place_count = numbering->place_count == 0 ? PLACE_COUNT_FIRST : numbering->place_count * 2,
        .count = numbering->count,
    };
    grown.places = calloc(grown.place_count, sizeof(*grown.places));
    if (grown.places == NULL) {
        return -ENOMEM;
    }
    for (size_t i = 0; i < numbering->place_count; i++) {
        if (numbering->places[i].number_plus_1 != 0) {
            *find_place(&grown, numbering->places[i].name) = numbering->places[i];
        }
    }
    free(numbering->places);
    *numbering = grown;
    return 0;
}

bool numbering_find(const struct numbering *numbering, uint64_t name, size_t *ret_number) {
    if (numbering->count == 0) {
        return false;
    }
    const struct numbering_place *place = find_place(numbering, name);
    if (place->number_plus_1 == 0) {
        return false;
    }
    *ret_number = place->number_plus_1 - 1;
    return true;
}

int numbering_add(struct numbering *numbering, uint64_t name, size_t *ret_number) {
    if (numbering->count >= numbering->place_count / 4 * 3 && grow(numbering) != 0) {
        return -ENOMEM;
    }
    struct numbering_place *place = find_place(numbering, name);
    if (place->number_plus_1 == 0) {
        *place = (struct numbering_place){.name = name, .number_plus_1 = ++numbering->count};
    }
    *ret_number = place->number_plus_1 - 1;
    return 0;
}

void numbering_free(struct numbering *numbering) {
    free(numbering->places);
    *numbering = (struct numbering){0};
}
