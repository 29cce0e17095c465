/* SPDX-License-Identifier: MIT */
#include "output/audit.h"

#include <stdarg.h>

void audit_expect(struct audit *audit, bool holds, const char *format, ...) {
    va_list values;
    audit->failed += !holds;
    if (audit->count == AUDIT_ITEM_COUNT_MAX) {
        return;
    }
    struct audit_item *item = &audit->items[audit->count++];
    item->holds = holds;
    va_start(values, format);
    (void)vsnprintf(item->text, sizeof(item->text), format, values);
    va_end(values);
}

bool audit_holds(const struct audit *audit) {
    return audit->count > 0 && audit->failed == 0;
}

void audit_print(const struct audit *audit, const struct look *look) {
    printf("\n  %saudit%s\n", look->bold, look->plain);
    for (size_t i = 0; i < audit->count; i++) {
        const struct audit_item *item = &audit->items[i];
        printf("    %s%s%s %s\n", item->holds ? look->good : look->bad, item->holds ? "ok    " : "FAILED", look->plain,
               item->text);
    }
}

void audit_print_verdict(const struct audit *audit, const struct look *look) {
    if (audit_holds(audit)) {
        printf("\n%spassed%s: all %zu checks\n", look->good, look->plain, audit->count);
        return;
    }
    printf("\n%sfailed%s: %zu of %zu checks", look->bad, look->plain, audit->failed, audit->count);
    for (size_t i = 0; i < audit->count; i++) {
        if (!audit->items[i].holds) {
            printf("; not so: %s", audit->items[i].text);
        }
    }
    printf("\n");
}

void audit_write_json(const struct audit *audit, struct json *json) {
    json_begin_array(json, "audit");
    for (size_t i = 0; i < audit->count; i++) {
        json_begin_object(json, NULL);
        json_string(json, "promise", audit->items[i].text);
        json_bool(json, "holds", audit->items[i].holds);
        json_end_object(json);
    }
    json_end_array(json);
    json_bool(json, "holds", audit_holds(audit));
}
