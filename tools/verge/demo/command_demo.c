/* SPDX-License-Identifier: MIT */
/* verge demo: timers at work, and an audit of what became of them. */
#include <inttypes.h>
#include <stdlib.h>

#include "command.h"
#include "demo/demo.h"
#include "output/lateness.h"
#include "output/text.h"

struct settings {
    uint64_t timers, seed;
    bool json;
};

static const struct option options[] = {
    {.name = "--timers",
     .value_name = "N",
     .help = "how many, 1 to 50,000,000; a million if not given",
     .kind = OPTION_NUMBER,
     .offset = offsetof(struct settings, timers),
     .minimum = 1,
     .maximum = DEMO_TIMERS_MAX},
    {.name = "--seed",
     .value_name = "N",
     .help = "for the random durations and choices; 1 if not given",
     .kind = OPTION_NUMBER,
     .offset = offsetof(struct settings, seed),
     .maximum = UINT64_MAX},
    {.name = "--json", .help = "the same as JSON", .kind = OPTION_FLAG, .offset = offsetof(struct settings, json)},
    {.name = NULL},
};

static void print_rate(const char *name, const struct demo_rate *rate) {
    if (rate->count == 0) {
        return;
    }
    double each_ns = (double)rate->took_ns / (double)rate->count;
    printf("  %-10s %13s %13.1f %13.1f\n", name, text_grouped(rate->count), each_ns, 1e3 / (each_ns > 0 ? each_ns : 1));
}

static void print_demo(const struct demo *demo, const struct look *look) {
    printf("\n  %s%-10s %13s %13s %13s%s\n", look->bold, "operation", "count", "ns each", "million/s", look->plain);
    print_rate("schedule", &demo->schedule);
    print_rate("reset", &demo->reset);
    print_rate("cancel", &demo->cancel);
    print_rate("expire", &demo->expire);
    printf("  %sexpiring took %s wake-ups over an hour of simulated time; memory was allocated on the way%s\n",
           look->dim, text_grouped(demo->wakeups), look->plain);
    printf("\n  %smemory%s     %.1f bytes a timer with all pending (%s), %s after all are gone\n", look->bold,
           look->plain, (double)demo->bytes_full / (double)demo->timers, text_bytes(demo->bytes_full),
           text_bytes(demo->bytes_end));
    lateness_print(&demo->lateness, look);
    audit_print(&demo->audit, look);
}

static void write_rate(struct json *json, const char *name, const struct demo_rate *rate) {
    json_begin_object(json, name);
    json_number(json, "count", rate->count);
    json_number(json, "took_ns", rate->took_ns);
    json_end_object(json);
}

static void write_demo(const struct demo *demo, uint64_t seed) {
    struct json json = {.out = stdout};
    json_begin_object(&json, NULL);
    json_number(&json, "timers", demo->timers);
    json_number(&json, "seed", seed);
    write_rate(&json, "schedule", &demo->schedule);
    write_rate(&json, "reset", &demo->reset);
    write_rate(&json, "cancel", &demo->cancel);
    write_rate(&json, "expire", &demo->expire);
    json_number(&json, "wakeups", demo->wakeups);
    json_number(&json, "bytes_with_all_pending", demo->bytes_full);
    json_number(&json, "bytes_at_the_end", demo->bytes_end);
    lateness_write_json(&demo->lateness, &json);
    audit_write_json(&demo->audit, &json);
    json_end_object(&json);
}

static int run(int argument_count, char **arguments) {
    struct settings settings = {.timers = DEMO_TIMERS_DEFAULT, .seed = 1};
    struct look look = look_of_stdout();
    struct status status;
    struct demo demo;
    int exit_status = EXIT_SUCCESS;
    if (!command_parse(&demo_command, argument_count, arguments, &settings, NULL, &exit_status)) {
        return exit_status;
    }
    if (!settings.json) {
        printf("%sverge %s%s: %s timers of 1 ms to 1 hour (log-uniform), seed %" PRIu64 "\n", look.bold,
               verge_version(), look.plain, text_grouped(settings.timers), settings.seed);
    }
    status_begin(&status, &look, settings.json || !look.is_terminal);
    int error = demo_run(&demo, (size_t)settings.timers, settings.seed, &status);
    if (error != 0) {
        command_complain(&demo_command, "%s", verge_strerror(error));
    } else if (settings.json) {
        write_demo(&demo, settings.seed);
    } else {
        print_demo(&demo, &look);
    }
    bool holds = error == 0 && audit_holds(&demo.audit);
    demo_free(&demo);
    return holds ? EXIT_SUCCESS : EXIT_FAILURE;
}

const struct command demo_command = {
    .name = "demo",
    .summary = "a million timers before your eyes, audited",
    .description =
        "Schedules timers, resets a part of them, cancels a part, expires the rest against simulated time, and\n"
        "compares what came out with what went in. The exit status says whether that audit held.",
    .options = options,
    .run = run,
};
