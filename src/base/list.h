/* SPDX-License-Identifier: MIT */
/*
 * base/list.h - doubly linked lists. A struct has a verge__link for each list that it can be in, and a list is two
 * pointers: to the links of its first and its last element. Where nothing is appended, the pointer to the first link is
 * enough.
 *
 *   - An empty list is zero: both pointers are NULL.
 *   - `previous` of the first link and `next` of the last link are NULL.
 *   - The fields of a link that is in no list mean nothing. The caller knows which list a link is in, if any.
 *
 * Public structs, such as verge_mutex, have pointers to void for their lists. So verge__list has them, too.
 */
#ifndef VERGE_SRC_BASE_LIST_H
#define VERGE_SRC_BASE_LIST_H

#include <stdbool.h>
#include <stddef.h>

typedef struct verge__link {
    struct verge__link *next, *previous;
} verge__link;

typedef struct verge__list {
    void *first, *last;
} verge__list;

/* The element whose field `field` is this link. NULL: the link is NULL. */
#define VERGE__LISTED(link, type, field) ((type *)verge__listed(link, offsetof(type, field)))

static inline void *verge__listed(void *link, size_t offset) {
    return link == NULL ? NULL : (char *)link - offset;
}

/* Puts a link in front of the first. */
static inline void verge__list_push(void **first, verge__link *link) {
    link->previous = NULL;
    link->next = *first;
    if (link->next != NULL) {
        link->next->previous = link;
    }
    *first = link;
}

/* Takes a link out. Returns whether no link came after it. */
static inline bool verge__list_unlink(void **first, const verge__link *link) {
    verge__link *next = link->next, *previous = link->previous;
    if (previous != NULL) {
        previous->next = next;
    } else {
        *first = next;
    }
    if (next != NULL) {
        next->previous = previous;
    }
    return next == NULL;
}

/* Puts a link behind the last. */
static inline void verge__list_append(verge__list *list, verge__link *link) {
    link->next = NULL;
    link->previous = list->last;
    if (link->previous != NULL) {
        link->previous->next = link;
    } else {
        list->first = link;
    }
    list->last = link;
}

/* Takes a link out of a list that knows its last link. */
static inline void verge__list_remove(verge__list *list, const verge__link *link) {
    if (verge__list_unlink(&list->first, link)) {
        list->last = link->previous;
    }
}

#endif
