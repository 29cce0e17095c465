/* SPDX-License-Identifier: MIT */
#include "replay/report.h"

#include <inttypes.h>
#include <string.h>

#include "output/json.h"
#include "output/text.h"

const char *const replay_preset_names[] = {
    [VERGE_PRESET_DEFAULT] = "default",     [VERGE_PRESET_THREE_LEVEL] = "three-level",
    [VERGE_PRESET_TWO_LEVEL] = "two-level", [VERGE_PRESET_ALARM] = "alarm",
    [VERGE_PRESET_RUNTIME] = "runtime",     NULL,
};

const char *const replay_order_names[] = {
    [VERGE_ORDER_ANY] = "any",
    [VERGE_ORDER_FIFO] = "fifo",
    [VERGE_ORDER_DEADLINE] = "deadline",
    NULL,
};

/* ---- figures: each is a row of the table, and a field of the JSON ---- */

enum unit { COUNT, NANOSECONDS, BYTES };

static const struct figure {
    const char *label;
    const char *key;
    enum unit unit;
    size_t offset; /* of the figure, a uint64_t, in struct replay_result */
} figures[] = {
#define AT(field) offsetof(struct replay_result, field)
    {"precision", "precision_ns", NANOSECONDS, AT(precision_ns)},
    {"started", "started", COUNT, AT(started)},
    {"  fired", "fired", COUNT, AT(fired)},
    {"  cancelled", "cancelled", COUNT, AT(cancelled)},
    {"  pending at the end", "pending", COUNT, AT(pending)},
    {"reset", "reset", COUNT, AT(reset)},
    {"refused: out of range", "refused", COUNT, AT(refused)},
    {"gone before", "gone", COUNT, AT(gone)},
    {"late, median", "late_p50_ns", NANOSECONDS, AT(late_p50_ns)},
    {"  90 %", "late_p90_ns", NANOSECONDS, AT(late_p90_ns)},
    {"  99 %", "late_p99_ns", NANOSECONDS, AT(late_p99_ns)},
    {"  99.9 %", "late_p999_ns", NANOSECONDS, AT(late_p999_ns)},
    {"  max", "late_max_ns", NANOSECONDS, AT(late_max_ns)},
    {"wake-ups", "wakeups", COUNT, AT(wakeups)},
    {"  in vain", "wakeups_in_vain", COUNT, AT(in_vain)},
    {"polls", "polls", COUNT, AT(polls)},
    {"  moved down a level", "nodes_moved", COUNT, AT(stats.nodes_moved)},
    {"  filed again", "nodes_refiled", COUNT, AT(stats.nodes_refiled)},
    {"  dropped", "nodes_dropped", COUNT, AT(stats.nodes_dropped)},
    {"memory at most", "bytes_peak", BYTES, AT(bytes_peak)},
    {"  at the end", "bytes", BYTES, AT(stats.bytes)},
    {"the replay took", "took_ns", NANOSECONDS, AT(took_ns)},
#undef AT
};

enum { FIGURE_COUNT = sizeof(figures) / sizeof(*figures) };

static uint64_t figure_of(const struct figure *figure, const struct replay_result *result) {
    uint64_t value = 0;
    memcpy(&value, (const char *)result + figure->offset, sizeof(value));
    return value;
}

static const char *text_of(const struct figure *figure, uint64_t value) {
    switch (figure->unit) {
    case COUNT:
        return text_grouped(value);
    case NANOSECONDS:
        return text_duration(value);
    case BYTES:
        return text_bytes(value);
    }
    return "";
}

static uint64_t trace_duration(const struct trace *trace) {
    return trace->operations[trace->operation_count - 1].time_ns - trace->operations[0].time_ns;
}

/* ---- the table ---- */

void replay_report_table(const struct replay_report *report) {
    printf("%s: %s operations on %s timers in %s; polls %s\n\n%-24s", report->file,
           text_grouped(report->trace->operation_count), text_grouped(report->trace->timers.count),
           text_duration(trace_duration(report->trace)),
           report->options[0].recorded_polls ? "as recorded" : "when the wheel asks for it", "");
    for (size_t i = 0; i < report->count; i++) {
        printf(" %12s", replay_preset_names[report->options[i].preset]);
    }
    printf("\n");
    for (size_t row = 0; row < FIGURE_COUNT; row++) {
        printf("%-24s", figures[row].label);
        for (size_t i = 0; i < report->count; i++) {
            printf(" %12s", text_of(&figures[row], figure_of(&figures[row], &report->results[i])));
        }
        printf("\n");
    }
    if (report->sweep != NULL) {
        sweep_print(report->sweep);
    }
}

/* ---- JSON ---- */

static void write_trace(struct json *json, const struct replay_report *report) {
    json_begin_object(json, "trace");
    json_string(json, "file", report->file);
    json_number(json, "operations", report->trace->operation_count);
    json_number(json, "timers", report->trace->timers.count);
    json_number(json, "duration_ns", trace_duration(report->trace));
    json_end_object(json);
}

static void write_options(struct json *json, const struct replay_options *options) {
    json_begin_object(json, "options");
    json_number(json, "window_ns", options->window_ns);
    json_string(json, "order", options->has_order ? replay_order_names[options->order] : NULL);
    json_number(json, "limit", options->limit);
    json_number(json, "work_limit", options->work_limit);
    json_bool(json, "coarse", options->coarse);
    json_bool(json, "exact", options->exact);
    json_string(json, "polls", options->recorded_polls ? "recorded" : "wakeup");
    json_end_object(json);
}

static void write_replay(struct json *json, const struct replay_options *options, const struct replay_result *result) {
    json_begin_object(json, NULL);
    json_string(json, "preset", replay_preset_names[options->preset]);
    for (size_t i = 0; i < FIGURE_COUNT; i++) {
        json_number(json, figures[i].key, figure_of(&figures[i], result));
    }
    json_string(json, "broken", result->broken);
    json_end_object(json);
}

void replay_report_json(const struct replay_report *report) {
    struct json json = {.out = stdout};
    json_begin_object(&json, NULL);
    write_trace(&json, report);
    write_options(&json, &report->options[0]);
    json_begin_array(&json, "replays");
    for (size_t i = 0; i < report->count; i++) {
        write_replay(&json, &report->options[i], &report->results[i]);
    }
    json_end_array(&json);
    if (report->sweep != NULL) {
        sweep_write_json(report->sweep, &json);
    }
    json_end_object(&json);
}
