/* SPDX-License-Identifier: MIT */
/* verge replay: replays a trace of timer operations on several wheels, one after the other. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "command.h"
#include "replay/report.h"

enum { PRESET_COUNT = VERGE_PRESET_RUNTIME + 1 };

enum { ORDER_OF_PRESET = VERGE_ORDER_DEADLINE + 1 };

struct settings {
    unsigned presets; /* one bit for each preset */
    uint64_t precision_ns, window_ns, late_ns, limit, work_limit;
    unsigned order; /* a verge_order, or ORDER_OF_PRESET */
    unsigned polls; /* when to poll; 0: when the wheel asks for it, 1: as recorded */
    bool coarse, exact, json;
};

static const char *const poll_choices[] = {"wakeup", "recorded", NULL};

#define LIMIT_MAX UINT64_C(1048576)

static const struct option options[] = {
    {.name = "--preset",
     .value_name = "NAME",
     .help = "default, three-level, two-level, alarm, runtime, or all; may be repeated",
     .kind = OPTION_CHOICES,
     .offset = offsetof(struct settings, presets),
     .choices = replay_preset_names},
    {.name = "--precision",
     .value_name = "TIME",
     .help = "slot width of the lowest level, rounded up to a power of two of ns; other levels scale",
     .kind = OPTION_DURATION,
     .offset = offsetof(struct settings, precision_ns),
     .minimum = 1,
     .maximum = UINT64_C(1) << 62},
    {.name = "--window",
     .value_name = "TIME",
     .help = "timers may fire this much later, in order to fire together",
     .kind = OPTION_DURATION,
     .offset = offsetof(struct settings, window_ns),
     .maximum = UINT64_MAX},
    {.name = "--late",
     .value_name = "TIME",
     .help = "how late timers may be with the recommended precision and window",
     .kind = OPTION_DURATION,
     .offset = offsetof(struct settings, late_ns),
     .minimum = 1,
     .maximum = UINT64_C(1) << 62},
    {.name = "--order",
     .value_name = "ORDER",
     .help = "order inside one tick: any, fifo, deadline; default: that of the preset",
     .kind = OPTION_CHOICE,
     .offset = offsetof(struct settings, order),
     .choices = replay_order_names},
    {.name = "--limit",
     .value_name = "N",
     .help = "most timers that one poll returns; default: 256",
     .kind = OPTION_NUMBER,
     .offset = offsetof(struct settings, limit),
     .minimum = 1,
     .maximum = LIMIT_MAX},
    {.name = "--work-limit",
     .value_name = "N",
     .help = "most nodes that one poll moves, inspects and returns; default: 0, no limit",
     .kind = OPTION_NUMBER,
     .offset = offsetof(struct settings, work_limit),
     .maximum = SIZE_MAX},
    {.name = "--coarse",
     .help = "never cascade: a timer has the resolution of its level",
     .kind = OPTION_FLAG,
     .offset = offsetof(struct settings, coarse)},
    {.name = "--exact",
     .help = "wake up at exact deadlines instead of ticks",
     .kind = OPTION_FLAG,
     .offset = offsetof(struct settings, exact)},
    {.name = "--polls",
     .value_name = "WHEN",
     .help = "wakeup: when the wheel asks for it (the default); recorded: where the trace polls",
     .kind = OPTION_CHOICE,
     .offset = offsetof(struct settings, polls),
     .choices = poll_choices},
    {.name = "--json",
     .help = "print the results as JSON",
     .kind = OPTION_FLAG,
     .offset = offsetof(struct settings, json)},
    {.name = NULL},
};

static uint64_t power_of_two_from(uint64_t number) {
    uint64_t power = 1;
    while (power < number) {
        power *= 2;
    }
    return power;
}

static struct replay_options options_for(const struct settings *settings, verge_wheel_preset preset) {
    return (struct replay_options){
        .preset = preset,
        .precision_ns = settings->precision_ns != 0 ? power_of_two_from(settings->precision_ns) : 0,
        .window_ns = settings->window_ns,
        .has_order = settings->order != ORDER_OF_PRESET,
        .order = settings->order != ORDER_OF_PRESET ? (verge_order)settings->order : VERGE_ORDER_ANY,
        .limit = settings->limit,
        .work_limit = settings->work_limit,
        .coarse = settings->coarse,
        .exact = settings->exact,
        .recorded_polls = settings->polls == 1,
    };
}

/* ---- running ---- */

static int read_trace(const char *name, struct trace *trace) {
    struct trace_problem problem = {0};
    int error = trace_read_file(trace, name, &problem);
    if (error == -EINVAL && problem.line > 0) {
        command_complain(&replay_command, "%s:%zu: %s", name, problem.line, problem.text);
    } else if (error != 0) {
        command_complain(&replay_command, "%s: %s", name, problem.text != NULL ? problem.text : strerror(-error));
    }
    return error == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

static int replay_all(const struct settings *settings, struct replay_report *report,
                      struct replay_options all[PRESET_COUNT], struct replay_result results[PRESET_COUNT]) {
    for (unsigned preset = 0; preset < PRESET_COUNT; preset++) {
        if ((settings->presets >> preset & 1) == 0) {
            continue;
        }
        struct replay_options *of_preset = &all[report->count];
        *of_preset = options_for(settings, (verge_wheel_preset)preset);
        int error = replay_run(report->trace, of_preset, &results[report->count]);
        if (error == -EINVAL) {
            command_complain(&replay_command, "the preset %s does not go with these options: %s",
                             replay_preset_names[preset], results[report->count].refusal);
            return EXIT_USAGE;
        }
        if (error != 0) {
            command_complain(&replay_command, "%s", verge_strerror(error));
            return EXIT_FAILURE;
        }
        report->count++;
    }
    return EXIT_SUCCESS;
}

/* A sweep recommends settings. It runs if --late is given. Without --late, it runs only if the user has given no
 * settings. Recorded polls count as a setting, as the wheel then does not decide when to wake up. */
static bool is_sweep_asked_for(const struct settings *settings) {
    const bool is_given = settings->precision_ns != 0 || settings->window_ns != 0 || settings->coarse ||
                          settings->exact || settings->polls == 1;
    return settings->late_ns != 0 || (!is_given && settings->presets == 1U << VERGE_PRESET_DEFAULT);
}

static int add_sweep(const struct settings *settings, struct replay_report *report, struct sweep *sweep) {
    const struct replay_options base = options_for(settings, VERGE_PRESET_DEFAULT);
    const int error = sweep_run(report->trace, &base, settings->late_ns, sweep);
    if (error != 0) {
        command_complain(&replay_command, "%s", verge_strerror(error));
        return EXIT_FAILURE;
    }
    report->sweep = sweep;
    return EXIT_SUCCESS;
}

static int tell(const struct replay_report *report, bool as_json) {
    int status = EXIT_SUCCESS;
    if (as_json) {
        replay_report_json(report);
    } else {
        replay_report_table(report);
    }
    for (size_t i = 0; i < report->count; i++) {
        if (report->results[i].broken != NULL) {
            command_complain(&replay_command, "%s: a promise is broken: %s",
                             replay_preset_names[report->options[i].preset], report->results[i].broken);
            status = EXIT_FAILURE;
        }
    }
    if (report->sweep != NULL && sweep_broken(report->sweep) != NULL) {
        command_complain(&replay_command, "a promise is broken: %s", sweep_broken(report->sweep));
        status = EXIT_FAILURE;
    }
    return status;
}

static int run(int argument_count, char **arguments) {
    struct settings settings = {.limit = 256, .order = ORDER_OF_PRESET};
    struct replay_options all[PRESET_COUNT];
    struct replay_result results[PRESET_COUNT];
    struct trace trace = {0};
    static struct sweep sweep; /* too large for a stack */
    struct replay_report report = {.trace = &trace, .options = all, .results = results};
    int status = EXIT_SUCCESS;
    if (!command_parse(&replay_command, argument_count, arguments, &settings, &report.file, &status)) {
        return status;
    }
    settings.presets = settings.presets != 0 ? settings.presets : 1U << VERGE_PRESET_DEFAULT;
    status = read_trace(report.file, &trace);
    if (status == EXIT_SUCCESS) {
        status = replay_all(&settings, &report, all, results);
    }
    if (status == EXIT_SUCCESS && is_sweep_asked_for(&settings)) {
        status = add_sweep(&settings, &report, &sweep);
    }
    if (status == EXIT_SUCCESS) {
        status = tell(&report, settings.json);
    }
    trace_free(&trace);
    return status;
}

const struct command replay_command = {
    .name = "replay",
    .summary = "replays a trace of timer operations: lateness, wake-ups and memory of each preset",
    .argument = "FILE",
    .description =
        "Replays a trace of timer operations, which you recorded from your own program. (FILE - is the standard\n"
        "input; verge(1) has the format.) For each preset there is a column: how late timers were, how often the\n"
        "loop woke up, how much memory it took, how many nodes were moved. Unless a precision, a window, a preset\n"
        "or a way to poll is given, it also tries several precisions and windows, recommends one, and says why.",
    .options = options,
    .run = run,
};
