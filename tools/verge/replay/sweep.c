/* SPDX-License-Identifier: MIT */
#include "replay/sweep.h"

#include <errno.h>
#include <inttypes.h>

#include <verge/histogram.h>

#include "output/text.h"

#define DEFAULT_PRECISION_NS (UINT64_C(1) << 20)
#define PRECISION_MAX_NS (UINT64_C(1) << 36)

#define LATE_MIN_NS UINT64_C(100000) /* waking a thread takes about so long, so a smaller limit makes no sense */

enum { PRECISION_COUNT = 5, PART_OF_DURATION = 20 };

/* ---- the durations of the timers ---- */

static bool sets_a_timer(const struct trace_operation *operation) {
    return (operation->kind == TRACE_START || operation->kind == TRACE_WINDOW || operation->kind == TRACE_RESET) &&
           operation->deadline_ns > operation->time_ns;
}

static void look_at_durations(const struct trace *trace, struct sweep *sweep) {
    verge_histogram durations;
    verge_histogram_clear(&durations);
    for (size_t i = 0; i < trace->operation_count; i++) {
        const struct trace_operation *operation = &trace->operations[i];
        if (sets_a_timer(operation)) {
            verge_histogram_record(&durations, operation->deadline_ns - operation->time_ns, 1);
        }
    }
    if (verge_histogram_count(&durations) > 0) {
        sweep->short_ns = verge_histogram_quantile(&durations, 0.1);
        sweep->median_ns = verge_histogram_quantile(&durations, 0.5);
    }
}

/* ---- the replays ---- */

static int add(const struct trace *trace, const struct replay_options *options, struct sweep *sweep,
               uint64_t precision_ns, uint64_t window_ns) {
    if (sweep->count == SWEEP_COUNT_MAX) {
        return 0;
    }
    struct replay_options with = *options;
    with.precision_ns = precision_ns;
    with.window_ns = window_ns;
    struct setting *setting = &sweep->settings[sweep->count];
    *setting = (struct setting){.precision_ns = precision_ns, .window_ns = window_ns};
    const int error = replay_run(trace, &with, &setting->result);
    sweep->count += error == 0;
    return error == -EINVAL ? 0 : error; /* -EINVAL: there is no such wheel, so it is not recommended */
}

/* Adds a setting without a window, and up to two with one. A timer is late by less than the sum of precision and
 * window, and this sum is within the limit. */
static int add_with_windows(const struct trace *trace, const struct replay_options *options, struct sweep *sweep,
                            uint64_t precision_ns) {
    const uint64_t room_ns = sweep->late_ns - precision_ns;
    int error = add(trace, options, sweep, precision_ns, 0);
    if (error == 0 && room_ns >= precision_ns) {
        error = add(trace, options, sweep, precision_ns, room_ns);
    }
    if (error == 0 && room_ns / 2 >= precision_ns) {
        error = add(trace, options, sweep, precision_ns, room_ns / 2);
    }
    return error;
}

static uint64_t power_of_two_up_to(uint64_t number) {
    uint64_t power = 1;
    while (power <= number / 2 && power < PRECISION_MAX_NS) {
        power *= 2;
    }
    return power;
}

static bool keeps_to_limit(const struct sweep *sweep, const struct setting *setting) {
    return setting->precision_ns + setting->window_ns <= sweep->late_ns;
}

/* Chooses the best setting within the limit. A later setting takes the place of the best so far only if it has fewer
 * wake-ups by more than 1 %, as earlier settings are simpler. */
static void choose(struct sweep *sweep) {
    bool has_best = keeps_to_limit(sweep, &sweep->settings[0]);
    for (size_t i = 1; i < sweep->count; i++) {
        const uint64_t wakeups = sweep->settings[i].result.wakeups;
        const uint64_t least = sweep->settings[sweep->best].result.wakeups;
        if (!has_best || wakeups < least - least / 100) {
            sweep->best = i;
            has_best = true;
        }
    }
}

int sweep_run(const struct trace *trace, const struct replay_options *options, uint64_t late_ns,
              struct sweep *ret_sweep) {
    struct sweep *sweep = ret_sweep;
    *sweep = (struct sweep){.late_ns = late_ns, .is_late_given = late_ns != 0};
    look_at_durations(trace, sweep);
    if (late_ns == 0) {
        sweep->late_ns = sweep->short_ns / PART_OF_DURATION;
        sweep->late_ns = sweep->late_ns > LATE_MIN_NS ? sweep->late_ns : LATE_MIN_NS;
    }
    int error = add(trace, options, sweep, DEFAULT_PRECISION_NS, 0);
    uint64_t precision_ns = power_of_two_up_to(sweep->late_ns);
    for (int i = 0; i < PRECISION_COUNT && error == 0 && precision_ns > 0; i++, precision_ns /= 4) {
        error = add_with_windows(trace, options, sweep, precision_ns);
    }
    if (error == 0) {
        choose(sweep);
    }
    return error;
}

const char *sweep_broken(const struct sweep *sweep) {
    for (size_t i = 0; i < sweep->count; i++) {
        if (sweep->settings[i].result.broken != NULL) {
            return sweep->settings[i].result.broken;
        }
    }
    return NULL;
}

/* ---- output ---- */

static const char *window_text(const struct setting *setting) {
    return setting->window_ns == 0 ? "none" : text_duration(setting->window_ns);
}

static void print_settings(const struct sweep *sweep) {
    printf("\nthe same workload with other precisions and windows\n\n"
           "  %12s %12s %12s %12s %14s %12s\n",
           "precision", "window", "late, 99.9 %", "max", "wake-ups", "memory");
    for (size_t i = 0; i < sweep->count; i++) {
        const struct setting *setting = &sweep->settings[i];
        printf("%c %12s %12s %12s %12s %14s %12s%s\n", i == sweep->best ? '*' : ' ',
               text_duration(setting->precision_ns), window_text(setting), text_duration(setting->result.late_p999_ns),
               text_duration(setting->result.late_max_ns), text_grouped(setting->result.wakeups),
               text_bytes(setting->result.bytes_peak), i == 0 ? "  (the default)" : "");
    }
}

static void print_limit(const struct sweep *sweep) {
    if (sweep->is_late_given) {
        printf("  Timers may be late by %s: so --late says.\n", text_duration(sweep->late_ns));
    } else if (sweep->short_ns > 0) {
        printf("  Half of the timers are set for less than %s, a tenth for less than %s.\n"
               "  The allowed lateness is 5 %% of the latter, but at least 100 us: %s.\n"
               "  --late TIME sets another limit.\n",
               text_duration(sweep->median_ns), text_duration(sweep->short_ns), text_duration(sweep->late_ns));
    } else {
        printf("  No timer of this trace is set for the future: any precision is good enough.\n");
    }
}

static void print_comparison(const struct sweep *sweep) {
    const struct setting *best = &sweep->settings[sweep->best];
    const struct setting *first = &sweep->settings[0];
    printf("  A timer is late by less than precision plus window, which keep to this limit.\n");
    if (sweep->best == 0) {
        printf("  No other setting within the limit has fewer wake-ups, by more than 1 %%.\n");
        return;
    }
    if (keeps_to_limit(sweep, first)) {
        printf("  This setting has the fewest wake-ups within the limit: %s; the default has %s.\n",
               text_grouped(best->result.wakeups), text_grouped(first->result.wakeups));
    } else {
        printf("  The default may be late by %s, which is beyond the limit. Within the limit,\n"
               "  this setting has the fewest wake-ups: %s; the default has %s.\n",
               text_duration(first->precision_ns), text_grouped(best->result.wakeups),
               text_grouped(first->result.wakeups));
    }
}

static unsigned exponent_of(uint64_t power_of_two) {
    unsigned exponent = 0;
    for (; power_of_two > 1; power_of_two /= 2) {
        exponent++;
    }
    return exponent;
}

void sweep_print(const struct sweep *sweep) {
    if (sweep->count == 0) {
        return;
    }
    const struct setting *best = &sweep->settings[sweep->best];
    print_settings(sweep);
    printf("\nrecommended (*): precision %s, window %s%s\n", text_duration(best->precision_ns), window_text(best),
           sweep->best == 0 ? ", which is the default" : "");
    print_limit(sweep);
    print_comparison(sweep);
    printf("\n    options.precision_ns = UINT64_C(1) << %u;\n", exponent_of(best->precision_ns));
    if (best->window_ns > 0) {
        printf("    verge_wheel_start_window(wheel, deadline, deadline + %" PRIu64 ", data, &timer);\n",
               best->window_ns);
    }
}

void sweep_write_json(const struct sweep *sweep, struct json *json) {
    json_begin_object(json, "sweep");
    json_number(json, "late_ns", sweep->late_ns);
    json_begin_array(json, "settings");
    for (size_t i = 0; i < sweep->count; i++) {
        const struct setting *setting = &sweep->settings[i];
        json_begin_object(json, NULL);
        json_number(json, "precision_ns", setting->precision_ns);
        json_number(json, "window_ns", setting->window_ns);
        json_number(json, "late_p999_ns", setting->result.late_p999_ns);
        json_number(json, "late_max_ns", setting->result.late_max_ns);
        json_number(json, "wakeups", setting->result.wakeups);
        json_number(json, "bytes_peak", setting->result.bytes_peak);
        json_bool(json, "is_recommended", i == sweep->best);
        json_end_object(json);
    }
    json_end_array(json);
    json_end_object(json);
}
