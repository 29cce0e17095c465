/* SPDX-License-Identifier: MIT */
/*
 * Arbitrary bytes as a rule, and, after a byte that is 0, as the file of a zone. A text is refused with a reason, or is
 * a rule. A file is refused, or is a zone in which each time is in a span. Each occurrence is later than the one
 * before, and there is none between them (N1).
 */
#include <errno.h>
#include <string.h>

#include "fuzz/fuzz.h"
#include "recurrence/zone.h"
#include "verge/recurrence.h"

enum { STEPS = 16 };

static void check_spans(const verge_zone *zone) {
    int64_t time = 0;
    for (size_t i = 0; i < STEPS && time != INT64_MAX; i++) {
        const verge__span span = verge__zone_span(zone, time);
        FUZZ_CHECK(span.begin <= time && time < span.end, "a time that is not within its span");
        const verge__span same = verge__zone_span(zone, span.end - 1);
        FUZZ_CHECK(same.offset == span.offset, "two offsets in one span");
        time = span.end;
    }
}

static void walk(const verge_recurrence *rule, const verge_zone *zone, uint64_t time_ns) {
    for (size_t i = 0; i < STEPS && time_ns != VERGE_NEVER; i++) {
        const uint64_t next_ns = verge_recurrence_next(rule, zone, time_ns);
        FUZZ_CHECK(next_ns > time_ns, "N1: later");
        if (next_ns != VERGE_NEVER) {
            FUZZ_CHECK(next_ns % 1000000000 == 0, "an occurrence is a whole second");
            FUZZ_CHECK(verge_recurrence_next(rule, zone, next_ns - 1) == next_ns, "N1: nothing in between");
            FUZZ_CHECK(verge_recurrence_next(rule, zone, time_ns + (next_ns - time_ns) / 2) == next_ns,
                       "N1: nothing in between");
        }
        time_ns = next_ns;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t byte_count) {
    static char text[4096];
    char why[160];
    const uint8_t *end = memchr(bytes, 0, byte_count);
    const size_t length = end != NULL ? (size_t)(end - bytes) : byte_count;
    if (length >= sizeof(text)) {
        return 0;
    }
    if (length > 0) {
        memcpy(text, bytes, length);
    }
    text[length] = '\0';
    verge_recurrence rule = {.days = 0};
    const int error = verge_recurrence_parse(text, &rule, why, sizeof(why));
    FUZZ_CHECK(error == 0 || error == -EINVAL, "an error that is none of parse's");
    FUZZ_CHECK((error == 0) == (why[0] == '\0'), "refused without a reason, or not refused and yet a reason");

    verge_zone *zone = NULL;
    if (end != NULL) {
        const size_t size = byte_count - length - 1;
        const int zone_error = verge_zone_read(end + 1, size, NULL, &zone);
        FUZZ_CHECK(zone_error == 0 || zone_error == -EPROTO, "an error that is none of read's");
        FUZZ_CHECK((zone_error == 0) == (zone != NULL), "a zone that was refused");
    }
    check_spans(zone);
    if (error == 0) {
        walk(&rule, zone, 0);
        walk(&rule, zone, UINT64_C(1774659600000000000)); /* 2026-03-28 */
    }
    verge_zone_close(zone);
    return 0;
}
