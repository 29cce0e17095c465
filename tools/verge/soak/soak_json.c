/* SPDX-License-Identifier: MIT */
#include "output/lateness.h"
#include "soak/soak.h"

void soak_write_json(const struct soak_result *result, struct json *json) {
    const struct ledger_tally *tally = &result->tally;
    json_number(json, "took_ns", result->took_ns);
    json_number(json, "started", tally->started);
    json_number(json, "fired", tally->ran);
    json_number(json, "cancelled", tally->cancelled);
    json_number(json, "pending", tally->handed_back);
    json_number(json, "callbacks", tally->runs);
    json_number(json, "reset", tally->resets);
    json_number(json, "refused", tally->refused);
    json_number(json, "pending_max", result->pending_max);
    json_number(json, "periodic", result->periodic);
    json_number(json, "periodic_missed", result->periodic_missed);
    json_number(json, "joined", result->joined);
    json_number(json, "left", result->left);
    json_number(json, "migrated", result->stats.migrated);
    json_number(json, "rescued", result->stats.rescued);
    json_number(json, "clock_jumps", result->jumps);
    json_number(json, "refused_allocations", result->refused_allocations);
    json_begin_object(json, "worst_second");
    json_number(json, "number", result->worst.number);
    json_number(json, "callbacks", result->worst.count);
    json_number(json, "late_99_ns", result->worst.late_ns);
    json_number(json, "moved", result->worst.moved);
    json_end_object(json);
    lateness_write_json(&result->lateness, json);
    audit_write_json(&result->audit, json);
}
