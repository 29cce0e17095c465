/* SPDX-License-Identifier: MIT */
/* verge demo: timers across all cores, before your eyes, and an audit of what became of them. */
#define _POSIX_C_SOURCE 200809L /* sysconf */

#include <inttypes.h>
#include <stdlib.h>
#include <unistd.h>

#include "command.h"
#include "demo/echo.h"
#include "output/lateness.h"
#include "output/reason.h"
#include "output/text.h"
#include "soak/soak.h"

#define SECOND UINT64_C(1000000000)

struct settings {
    uint64_t timers, seconds, seed, workers;
    bool json;
};

static const struct option options[] = {
    {.name = "--timers",
     .value_name = "N",
     .help = "how many at a time, 100 to 20,000,000; a million if not given",
     .kind = OPTION_NUMBER,
     .offset = offsetof(struct settings, timers),
     .minimum = 100,
     .maximum = 20000000},
    {.name = "--seconds",
     .value_name = "S",
     .help = "how long; 15 if not given",
     .kind = OPTION_NUMBER,
     .offset = offsetof(struct settings, seconds),
     .minimum = 1,
     .maximum = 1000000},
    {.name = "--workers",
     .value_name = "N",
     .help = "threads that run timers, 1 to 64; one a core if not given",
     .kind = OPTION_NUMBER,
     .offset = offsetof(struct settings, workers),
     .minimum = 1,
     .maximum = SOAK_ACTOR_COUNT_MAX},
    {.name = "--seed",
     .value_name = "N",
     .help = "for the random durations and choices; 1 if not given",
     .kind = OPTION_NUMBER,
     .offset = offsetof(struct settings, seed),
     .maximum = UINT64_MAX},
    {.name = "--json", .help = "the same as JSON", .kind = OPTION_FLAG, .offset = offsetof(struct settings, json)},
    {.name = NULL},
};

static uint64_t core_count(void) {
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    return cores < 1 ? 1 : cores > SOAK_ACTOR_COUNT_MAX ? SOAK_ACTOR_COUNT_MAX : (uint64_t)cores;
}

/* ---- telling ---- */

static void print_introduction(const struct settings *settings, const struct look *look) {
    printf("%sverge %s%s: %s timers at a time, of 1 ms to 2 minutes, run on %" PRIu64
           " workers; as many threads start,\n"
           "reset and cancel them. Half-way a worker is retired and another joins. Beside it an echo server\n"
           "has clients of which some stall. %" PRIu64 " s, seed %" PRIu64 ".\n\n",
           look->bold, verge_version(), look->plain, text_grouped(settings->timers), settings->workers,
           settings->seconds, settings->seed);
}

static void print_count(const char *name, uint64_t count, double seconds) {
    printf("  %-22s %13s %13s\n", name, text_grouped(count), text_grouped((uint64_t)((double)count / seconds)));
}

static void print_result(const struct soak_result *result, uint64_t echoed, const struct look *look) {
    const struct ledger_tally *tally = &result->tally;
    double seconds = (double)result->took_ns / 1e9;
    printf("\n  %s%-22s %13s %13s%s\n", look->bold, "", "count", "a second", look->plain);
    print_count("started", tally->started, seconds);
    print_count("reset", tally->resets, seconds);
    print_count("cancelled", tally->cancelled, seconds);
    print_count("callbacks", tally->runs, seconds);
    print_count("ticks of an interval", result->periodic, seconds);
    print_count("messages echoed", echoed, seconds);
    printf("  %sat most %s pending at a time; %s of memory at the end; %s timers moved to another worker%s\n",
           look->dim, text_grouped(result->pending_max), text_bytes(result->stats.bytes),
           text_grouped(result->stats.migrated), look->plain);
    lateness_print(&result->lateness, look);
    audit_print(&result->audit, look);
}

static void write_result(const struct settings *settings, const struct soak_result *result, uint64_t echoed) {
    struct json json = {.out = stdout};
    json_begin_object(&json, NULL);
    json_number(&json, "timers", settings->timers);
    json_number(&json, "seconds", settings->seconds);
    json_number(&json, "seed", settings->seed);
    json_number(&json, "workers", settings->workers);
    json_number(&json, "bytes", result->stats.bytes);
    json_number(&json, "echoed", echoed);
    soak_write_json(result, &json);
    json_end_object(&json);
}

/* ---- running ---- */

static void describe_echo(void *context, char *text, size_t size) {
    (void)snprintf(text, size, " | %s echoes", text_grouped(echo_count(context)));
}

/* The timers, with the echo server beside them. */
static int run_both(struct soak_options *soak_options, struct status *status, struct soak_result *ret_result,
                    uint64_t *ret_echoed) {
    struct echo *echo = NULL;
    int error = echo_begin(soak_options->worker_count, soak_options->seed, &echo);
    if (error != 0) {
        return error;
    }
    soak_options->describe = describe_echo;
    soak_options->describe_context = echo;
    error = soak_run(soak_options, status, ret_result);
    const char *why_not = NULL;
    *ret_echoed = echo_end(echo, &ret_result->audit, &why_not);
    if (why_not != NULL) {
        command_complain(&demo_command, "the echo server: %s", why_not);
    }
    return error;
}

static int run(int argument_count, char **arguments) {
    struct settings settings = {.timers = 1000000, .seconds = 15, .seed = 1, .workers = core_count()};
    struct look look = look_of_stdout();
    struct status status;
    struct soak_result result = {0};
    int exit_status = EXIT_SUCCESS;
    if (!command_parse(&demo_command, argument_count, arguments, &settings, NULL, &exit_status)) {
        return exit_status;
    }
    if (!settings.json) {
        print_introduction(&settings, &look);
    }
    struct soak_options soak_options = {
        .seed = settings.seed,
        .duration_ns = settings.seconds * SECOND,
        .delay_max_ns = 120 * SECOND,
        .timer_count = (size_t)(settings.timers + settings.timers / 6), /* some have ended, and not been replaced yet */
        .worker_count = (uint32_t)settings.workers,
        .actor_count = (uint32_t)settings.workers,
    };
    uint64_t echoed = 0;
    status_begin(&status, &look, settings.json);
    int error = run_both(&soak_options, &status, &result, &echoed);
    if (error != 0) {
        command_complain(&demo_command, "%s", reason_of(error));
        return EXIT_FAILURE;
    }
    if (settings.json) {
        write_result(&settings, &result, echoed);
    } else {
        print_result(&result, echoed, &look);
    }
    return audit_holds(&result.audit) ? EXIT_SUCCESS : EXIT_FAILURE;
}

const struct command demo_command = {
    .name = "demo",
    .summary = "a million timers on all cores before your eyes, audited",
    .description =
        "Starts, resets and cancels timers from several threads, and runs them on one worker a core; half-way a\n"
        "worker is retired and another joins. Beside it an echo server has deadlines, and clients some of which\n"
        "stall. In the end what happened is compared with what must have: the exit status says whether that\n"
        "audit held.",
    .options = options,
    .run = run,
};
