/* SPDX-License-Identifier: MIT */
#include "model/before.h"

#include <errno.h>
#include <string.h>

#include "wheel/wheel_internal.h"

struct before before_call(const struct run *run) {
    struct before before = {.stats.struct_size = sizeof(before.stats), .calls = run->memory.calls};
    before.failures = run->memory.failures;
    before.releases = run->memory.releases;
    before.was_narrow = run->wheel->calendar.is_narrow;
    before.backlog = verge_wheel_has_backlog(run->wheel);
    (void)verge_wheel_get_stats(run->wheel, &before.stats);
    return before;
}

void before_unchanged(struct run *run, const struct before *before) {
    struct before after = before_call(run);
    if (after.failures > before->failures) { /* the wheel may keep what it allocated before memory ran out */
        after.stats.bytes = before->stats.bytes;
        after.stats.nodes = before->stats.nodes;
    }
    RUN_CHECK(run, memcmp(&after.stats, &before->stats, sizeof(after.stats)) == 0,
              "a failed call changed the statistics");
}

void before_not_allocated(struct run *run, const struct before *before) {
    RUN_CHECK_EQUAL(run, run->memory.calls, before->calls, "G7: allocated");
}

void before_gave_back(struct run *run, const struct before *before) {
    run->gave_back = run->gave_back || run->memory.releases > before->releases;
}

bool before_ran_out(const struct run *run, const struct before *before, int error) {
    return error == -ENOMEM && run->memory.failures > before->failures;
}
