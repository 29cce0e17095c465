/* SPDX-License-Identifier: MIT */
/* scope/trouble.h - what is wrong right now, for the top of the page. Each trouble is a line of text. */
#ifndef VERGE_SRC_SCOPE_TROUBLE_H
#define VERGE_SRC_SCOPE_TROUBLE_H

#include "scope/scope_internal.h"

/* The kinds of trouble, the worst first. */
typedef enum verge__trouble_kind {
    VERGE__TROUBLE_STUCK,   /* a worker runs one callback for too long */
    VERGE__TROUBLE_LEAK,    /* the number of a source's timers only grows */
    VERGE__TROUBLE_OVERDUE, /* timers of a source have been due for more than a second */
    VERGE__TROUBLE_LATE,    /* callbacks of a source begin late */
    VERGE__TROUBLE_PANEL,   /* a figure of a panel is a "no", or a time that has run out */
} verge__trouble_kind;

typedef struct verge__trouble {
    verge__trouble_kind kind;
    const char *subject; /* "service", "tasks"; "": a panel */
    uint32_t which;      /* the worker, the source or the panel */
    bool has_culprit;
    uint32_t culprit; /* the source that keeps the worker busy; because of it, others are late or overdue */
    char text[512];
} verge__trouble;

enum { VERGE__TROUBLES_MAX = 24 };

typedef struct verge__troubles {
    size_t count; /* may be larger than the list */
    verge__trouble list[VERGE__TROUBLES_MAX];
} verge__troubles;

/* Adds a trouble. If the list is full, only counts it, and returns NULL. */
verge__trouble *verge__trouble_add(verge__troubles *troubles, verge__trouble_kind kind, const char *subject,
                                   uint32_t which, const char *format, ...) __attribute__((format(printf, 5, 6)));

/* Adds what is wrong with the services that are shown. */
void verge__troubles_find(const verge_scope *scope, uint64_t now_ns, verge__troubles *troubles);

void verge__troubles_write(const verge__troubles *troubles, verge__text *text);

#endif
