/* SPDX-License-Identifier: MIT */
/* A list of conditions that must hold, and whether each does. */
#ifndef VERGE_TOOL_AUDIT_H
#define VERGE_TOOL_AUDIT_H

#include <stddef.h>

#include "output/json.h"
#include "output/look.h"

enum { AUDIT_ITEM_COUNT_MAX = 32, AUDIT_TEXT_SIZE = 192 };

struct audit { /* starts as {0} */
    struct audit_item {
        bool holds;
        char text[AUDIT_TEXT_SIZE];
    } items[AUDIT_ITEM_COUNT_MAX];
    size_t count;
    size_t failed;
};

void audit_expect(struct audit *audit, bool holds, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* Whether all conditions hold. False for an empty audit. */
bool audit_holds(const struct audit *audit);

void audit_print(const struct audit *audit, const struct look *look);
void audit_print_verdict(const struct audit *audit, const struct look *look); /* one line: passed, or what failed */
void audit_write_json(const struct audit *audit, struct json *json);          /* the fields "audit" and "holds" */

#endif
