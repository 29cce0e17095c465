/* SPDX-License-Identifier: MIT */
/* verge demo: runs timers on all cores, shows figures, and checks at the end what became of each timer. */
#define _GNU_SOURCE /* sysconf, getrusage, SA_RESETHAND */

#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#include <verge/scope.h>

#include "command.h"
#include "demo/echo.h"
#include "output/lateness.h"
#include "output/reason.h"
#include "output/text.h"
#include "soak/soak.h"

#define SECOND UINT64_C(1000000000)
#define PRECISION_NS (UINT64_C(1) << 20) /* the default of services */

struct settings {
    uint64_t timers, seconds, seed, workers;
    bool scope;
    bool json;
};

static const struct option options[] = {
    {.name = "--timers",
     .value_name = "N",
     .help = "number of timers at a time, 100 to 20,000,000; default: a million",
     .kind = OPTION_NUMBER,
     .offset = offsetof(struct settings, timers),
     .minimum = 100,
     .maximum = 20000000},
    {.name = "--seconds",
     .value_name = "S",
     .help = "duration in seconds; default: 15, or 3600 with --scope",
     .kind = OPTION_NUMBER,
     .offset = offsetof(struct settings, seconds),
     .minimum = 1,
     .maximum = 1000000},
    {.name = "--workers",
     .value_name = "N",
     .help = "number of threads that run timers, 1 to 64; default: one for each core",
     .kind = OPTION_NUMBER,
     .offset = offsetof(struct settings, workers),
     .minimum = 1,
     .maximum = SOAK_ACTOR_COUNT_MAX},
    {.name = "--seed",
     .value_name = "N",
     .help = "seed of the random durations and choices; default: 1",
     .kind = OPTION_NUMBER,
     .offset = offsetof(struct settings, seed),
     .maximum = UINT64_MAX},
    {.name = "--scope",
     .help = "prints the address of a page that shows the timers in a browser",
     .kind = OPTION_FLAG,
     .offset = offsetof(struct settings, scope)},
    {.name = "--json",
     .help = "print the results as JSON",
     .kind = OPTION_FLAG,
     .offset = offsetof(struct settings, json)},
    {.name = NULL},
};

static uint64_t core_count(void) {
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    return cores < 1 ? 1 : cores > SOAK_ACTOR_COUNT_MAX ? SOAK_ACTOR_COUNT_MAX : (uint64_t)cores;
}

/* The number of threads that start timers: half of the workers, so that the machine is not overloaded. */
static uint64_t half_of(uint64_t workers) {
    return (workers + 1) / 2;
}

/* ---- interrupting ---- */

static volatile sig_atomic_t is_interrupted;

static void on_interrupt(int number) {
    (void)number;
    is_interrupted = 1;
}

/* The first Ctrl-C ends the demonstration, with its summary; the second one ends the program. */
static void end_on_interrupt(void) {
    struct sigaction action = {.sa_flags = (int)SA_RESETHAND};
    action.sa_handler = on_interrupt;
    (void)sigemptyset(&action.sa_mask);
    (void)sigaction(SIGINT, &action, NULL);
    (void)sigaction(SIGTERM, &action, NULL);
}

/* ---- output ---- */

static void print_introduction(const struct settings *settings, const struct look *look) {
    printf("%sverge %s%s: up to %s timers at a time, of 1 ms to 2 minutes.\n"
           "Workers that run them: %" PRIu64 "; threads that start, reset and cancel them: %" PRIu64 ".\n"
           "Half-way, one worker is retired and another joins. An echo server runs at the\n"
           "same time; some of its clients stall. %" PRIu64 " s, seed %" PRIu64 "; ctrl-C ends it early.\n\n",
           look->bold, verge_version(), look->plain, text_grouped(settings->timers), settings->workers,
           half_of(settings->workers), settings->seconds, settings->seed);
}

static void print_count(const char *name, uint64_t count, double seconds) {
    printf("  %-22s %13s %13s\n", name, text_grouped(count), text_grouped((uint64_t)((double)count / seconds)));
}

/* Returns the percentage of callbacks that were late by at most limit_ns. */
static double share_within(const verge_histogram *lateness, uint64_t limit_ns) {
    uint64_t within = 0;
    for (size_t i = 0; i < VERGE_HISTOGRAM_BUCKET_COUNT; i++) {
        uint64_t upper = 0;
        uint64_t count = 0;
        (void)verge_histogram_bucket(lateness, i, &upper, &count);
        within += upper <= limit_ns ? count : 0;
    }
    const uint64_t all = verge_histogram_count(lateness);
    return all > 0 ? 100 * (double)within / (double)all : 100;
}

/* Returns the share of the machine's processors that the program has used so far, in percent. */
static double share_of_machine(uint64_t took_ns) {
    struct rusage usage;
    (void)getrusage(RUSAGE_SELF, &usage);
    const double busy_s = (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
                          (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
    return 100 * busy_s / ((double)took_ns / 1e9 * (double)core_count());
}

static void explain_lateness(const struct soak_result *result, const struct look *look) {
    const uint64_t callbacks = verge_histogram_count(&result->callback_time);
    const uint64_t average_ns = callbacks > 0 ? verge_histogram_sum(&result->callback_time) / callbacks : 0;
    printf("\n  %sLateness is the time from the deadline to the pass that runs the callback:%s\n", look->dim,
           look->plain);
    printf("    up to %s  the precision: timers run at the next tick after a deadline;\n"
           "                    %.0f %% of the callbacks were late by this or less\n",
           text_duration(PRECISION_NS), share_within(&result->lateness, PRECISION_NS));
    printf("    then            the queue: half of the timers come in crowds, many for one\n"
           "                    moment, and each callback took %s, all included\n",
           text_duration(average_ns));
    printf("    then            the machine: a worker has to get a core. This program used\n"
           "                    %.0f %% of %" PRIu64 " cores; other programs use the cores, too\n",
           share_of_machine(result->took_ns), core_count());
}

/* Says why the worst second was bad. Most often, a worker was retired in it, and all of its timers had to move. */
static void explain_worst_second(const struct soak_result *result, const struct look *look) {
    const struct soak_second *worst = &result->worst;
    if (worst->count == 0) {
        return;
    }
    printf("\n  %sThe worst second%s was number %" PRIu64 ": 99 %% of %s callbacks were at most\n  %s late. ",
           look->bold, look->plain, worst->number, text_grouped(worst->count), text_duration(worst->late_ns));
    if (2 * worst->moved > result->stats.migrated) {
        printf("A worker was retired half-way: %s timers moved to\n"
               "  others in that second, and those that were due meanwhile had to wait.\n",
               text_grouped(worst->moved));
    } else {
        printf("It was not the one in which a worker was retired:\n"
               "  a crowd of timers was due, or another program had the cores.\n");
    }
}

static void print_result(const struct soak_result *result, uint64_t echoed, const struct look *look) {
    const struct ledger_tally *tally = &result->tally;
    double seconds = (double)result->took_ns / 1e9;
    printf("\n  %s%-22s %13s %13s%s\n", look->bold, "", "count", "a second", look->plain);
    print_count("started", tally->started, seconds);
    print_count("reset", tally->resets, seconds);
    print_count("cancelled", tally->cancelled, seconds);
    print_count("fired", tally->ran, seconds);
    print_count("callbacks", tally->runs, seconds);
    print_count("ticks of an interval", result->periodic, seconds);
    print_count("messages echoed", echoed, seconds);
    printf("  %sA timer that its callback resets runs again, and has fired once.\n"
           "  At most %s pending at a time; %s of memory at the end;\n  %s timers moved to another worker%s\n",
           look->dim, text_grouped(result->pending_max), text_bytes(result->stats.bytes),
           text_grouped(result->stats.migrated), look->plain);
    lateness_print(&result->lateness, look);
    explain_lateness(result, look);
    explain_worst_second(result, look);
    audit_print(&result->audit, look);
    audit_print_verdict(&result->audit, look);
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

/* The page shows the timers of the demonstration, and the tasks of the echo server. */
struct display {
    verge_runtime *runtime;
    verge_scope *scope;
    bool json;
};

static int begin_display(void *context, verge_service *service) {
    struct display *display = context;
    verge_scope_options scope_options = {.struct_size = sizeof(scope_options)};
    scope_options.address = "tcp:0";
    scope_options.name = "verge demo";
    const int error = verge_scope_create(service, display->runtime, &scope_options, &display->scope);
    if (error == 0) {
        (void)fprintf(display->json ? stderr : stdout, "To look at it, open this in a browser: %s\n\n",
                      verge_scope_address(display->scope));
        (void)fflush(stdout);
    }
    return error;
}

static void end_display(void *context) {
    struct display *display = context;
    (void)verge_scope_destroy(display->scope);
}

static void describe_echo(void *context, char *text, size_t size) {
    (void)snprintf(text, size, " | %s echoes", text_grouped(echo_count(context)));
}

/* Runs the timers and, at the same time, the echo server. */
static int run_both(const struct settings *settings, struct soak_options *soak_options, struct status *status,
                    struct soak_result *ret_result, uint64_t *ret_echoed) {
    struct echo *echo = NULL;
    struct display display = {.json = settings->json};
    int error = echo_begin(soak_options->actor_count, soak_options->seed, &echo);
    if (error != 0) {
        return error;
    }
    soak_options->describe = describe_echo;
    soak_options->describe_context = echo;
    if (settings->scope) {
        display.runtime = echo == NULL ? NULL : echo_runtime(echo);
        soak_options->on_begin = begin_display;
        soak_options->on_end = end_display;
        soak_options->on_context = &display;
    }
    error = soak_run(soak_options, status, ret_result);
    const char *why_not = NULL;
    *ret_echoed = echo_end(echo, &ret_result->audit, &why_not);
    if (why_not != NULL) {
        command_complain(&demo_command, "the echo server: %s", why_not);
    }
    return error;
}

static int run(int argument_count, char **arguments) {
    struct settings settings = {.timers = 1000000, .seed = 1, .workers = core_count()};
    struct look look = look_of_stdout();
    struct status status;
    struct soak_result result = {0};
    int exit_status = EXIT_SUCCESS;
    if (!command_parse(&demo_command, argument_count, arguments, &settings, NULL, &exit_status)) {
        return exit_status;
    }
    settings.seconds = settings.seconds != 0 ? settings.seconds : settings.scope ? 3600 : 15;
    if (!settings.json) {
        print_introduction(&settings, &look);
    }
    struct soak_options soak_options = {
        .seed = settings.seed,
        .duration_ns = settings.seconds * SECOND,
        .delay_max_ns = 120 * SECOND,
        .timer_count =
            (size_t)(settings.timers +
                     settings.timers / 6), /* more than asked for: some have ended and were not replaced yet */
        .worker_count = (uint32_t)settings.workers,
        .actor_count = (uint32_t)half_of(settings.workers),
        .is_interrupted = &is_interrupted,
    };
    uint64_t echoed = 0;
    status_begin(&status, &look, settings.json);
    end_on_interrupt();
    int error = run_both(&settings, &soak_options, &status, &result, &echoed);
    if (error != 0) {
        command_complain(&demo_command, "%s", reason_of_runtime(error));
        return EXIT_FAILURE;
    }
    if (settings.json) {
        write_result(&settings, &result, echoed);
    } else {
        if (is_interrupted) {
            printf("interrupted after %.1f s; what happened until then:\n", (double)result.took_ns / 1e9);
        }
        print_result(&result, echoed, &look);
    }
    return audit_holds(&result.audit) ? EXIT_SUCCESS : EXIT_FAILURE;
}

const struct command demo_command = {
    .name = "demo",
    .summary = "shows a million timers at work on all cores, and checks each",
    .description =
        "Starts, resets and cancels timers from several threads, and runs them on one worker for each core.\n"
        "Half-way, one worker is retired and another joins. At the same time, an echo server serves clients with\n"
        "deadlines; some clients stall. With --scope, a page in the browser shows the timers. At the end, an audit\n"
        "checks what became of every timer; the exit status says whether it held. Ctrl-C ends the demonstration\n"
        "early, with the same summary.",
    .options = options,
    .run = run,
};
