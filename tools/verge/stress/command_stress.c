/* SPDX-License-Identifier: MIT */
/* verge stress: a long test of the service under faults, or of tasks, with an audit. */
#include <inttypes.h>
#include <stdlib.h>

#include "command.h"
#include "output/lateness.h"
#include "output/reason.h"
#include "output/text.h"
#include "soak/soak.h"
#include "stress/stepped.h"
#include "stress/stepped_internal.h"
#include "stress/tasks.h"

#define SECOND UINT64_C(1000000000)

enum threads { THREADS_STEPPED, THREADS_REAL, THREADS_TASKS };

struct settings {
    uint64_t seed, seconds, workers, steps;
    unsigned threads;
    bool json;
};

static const char *const thread_choices[] = {
    [THREADS_STEPPED] = "stepped", [THREADS_REAL] = "real", [THREADS_TASKS] = "tasks", NULL};

static const struct option options[] = {
    {.name = "--seed",
     .value_name = "N",
     .help = "seed of all random choices; default: 1",
     .kind = OPTION_NUMBER,
     .offset = offsetof(struct settings, seed),
     .maximum = UINT64_MAX},
    {.name = "--seconds",
     .value_name = "S",
     .help = "duration in seconds; default: 10",
     .kind = OPTION_NUMBER,
     .offset = offsetof(struct settings, seconds),
     .minimum = 1,
     .maximum = 1000000},
    {.name = "--workers",
     .value_name = "N",
     .help = "most workers at a time, 1 to 32; default: 4",
     .kind = OPTION_NUMBER,
     .offset = offsetof(struct settings, workers),
     .minimum = 1,
     .maximum = WORKER_COUNT_MAX},
    {.name = "--threads",
     .value_name = "KIND",
     .help = "stepped: one thread, equal runs (the default); real: threads that race; tasks: tasks in I/O",
     .kind = OPTION_CHOICE,
     .offset = offsetof(struct settings, threads),
     .choices = thread_choices},
    {.name = "--steps",
     .value_name = "N",
     .help = "for stepped runs: the number of steps, however long they take",
     .kind = OPTION_NUMBER,
     .offset = offsetof(struct settings, steps),
     .minimum = 1,
     .maximum = UINT64_MAX},
    {.name = "--json",
     .help = "print the results as JSON",
     .kind = OPTION_FLAG,
     .offset = offsetof(struct settings, json)},
    {.name = NULL},
};

/* ---- stepped ---- */

static void print_stepped(const struct settings *settings, const struct stepped_result *result,
                          const struct look *look) {
    printf("  steps %" PRIu64 ", joined %" PRIu64 ", left %" PRIu64 ", clock jumps %" PRIu64 ", reset %" PRIu64
           ", ran %" PRIu64 ", no memory %" PRIu64 " times, digest %016" PRIx64 "\n",
           result->steps, result->joined, result->left, result->jumps, result->reset, result->fired, result->refused,
           result->digest);
    audit_print(&result->audit, look);
    printf("\n  again: verge stress --seed %" PRIu64 " --workers %" PRIu64 " --steps %" PRIu64 "\n", settings->seed,
           settings->workers, result->steps);
}

static void write_stepped(const struct settings *settings, const struct stepped_result *result) {
    struct json json = {.out = stdout};
    char digest[32];
    (void)snprintf(digest, sizeof(digest), "%016" PRIx64, result->digest);
    json_begin_object(&json, NULL);
    json_string(&json, "threads", thread_choices[THREADS_STEPPED]);
    json_number(&json, "seed", settings->seed);
    json_number(&json, "workers", settings->workers);
    json_number(&json, "steps", result->steps);
    json_string(&json, "digest", digest);
    json_number(&json, "started", result->started);
    json_number(&json, "fired", result->fired);
    json_number(&json, "ended", result->ended);
    json_number(&json, "cancelled", result->cancelled);
    json_number(&json, "reset", result->reset);
    json_number(&json, "handed_back", result->handed_back);
    json_number(&json, "joined", result->joined);
    json_number(&json, "left", result->left);
    json_number(&json, "clock_jumps", result->jumps);
    json_number(&json, "refused_allocations", result->refused);
    audit_write_json(&result->audit, &json);
    json_end_object(&json);
}

static int run_stepped(const struct settings *settings, const struct look *look) {
    struct stepped_options stepped_options = {
        .seed = settings->seed,
        .worker_count_max = settings->workers,
        .step_count = settings->steps,
        .duration_ns = settings->seconds * SECOND,
    };
    struct stepped_result result;
    struct status status;
    status_begin(&status, look, settings->json);
    int error = stepped_run(&stepped_options, &status, &result);
    if (error != 0) {
        command_complain(&stress_command, "%s", reason_of(error));
        return EXIT_FAILURE;
    }
    if (settings->json) {
        write_stepped(settings, &result);
    } else {
        print_stepped(settings, &result, look);
    }
    return audit_holds(&result.audit) ? EXIT_SUCCESS : EXIT_FAILURE;
}

/* ---- with real threads ---- */

static void print_soak(const struct settings *settings, const struct soak_result *result, const struct look *look) {
    const struct ledger_tally *tally = &result->tally;
    printf("  ran %s times, reset %s, refused %s, joined %s, left %s, migrated %s, rescued %s, clock jumps %s, no "
           "memory %s "
           "times\n",
           text_grouped(tally->runs), text_grouped(tally->resets), text_grouped(tally->refused),
           text_grouped(result->joined), text_grouped(result->left), text_grouped(result->stats.migrated),
           text_grouped(result->stats.rescued), text_grouped(result->jumps), text_grouped(result->refused_allocations));
    audit_print(&result->audit, look);
    printf("\n  again, though threads race as they like: verge stress --threads real --seed %" PRIu64
           " --workers %" PRIu64 " --seconds %" PRIu64 "\n",
           settings->seed, settings->workers, settings->seconds);
}

static void write_soak(const struct settings *settings, const struct soak_result *result) {
    struct json json = {.out = stdout};
    json_begin_object(&json, NULL);
    json_string(&json, "threads", thread_choices[THREADS_REAL]);
    json_number(&json, "seed", settings->seed);
    json_number(&json, "workers", settings->workers);
    json_number(&json, "seconds", settings->seconds);
    soak_write_json(result, &json);
    json_end_object(&json);
}

static int run_real(const struct settings *settings, const struct look *look) {
    struct soak_options soak_options = {
        .seed = settings->seed,
        .duration_ns = settings->seconds * SECOND,
        .delay_max_ns = 2 * SECOND,
        .timer_count = 20000,
        .worker_count = (uint32_t)settings->workers,
        .actor_count = 3,
        .is_hostile = true,
    };
    struct soak_result result;
    struct status status;
    status_begin(&status, look, settings->json);
    int error = soak_run(&soak_options, &status, &result);
    if (error != 0) {
        command_complain(&stress_command, "%s", reason_of(error));
        return EXIT_FAILURE;
    }
    if (settings->json) {
        write_soak(settings, &result);
    } else {
        print_soak(settings, &result, look);
    }
    return audit_holds(&result.audit) ? EXIT_SUCCESS : EXIT_FAILURE;
}

/* ---- tasks ---- */

static void print_tasks(const struct settings *settings, const struct tasks_result *result, const struct look *look) {
    printf("  %s: read %s times, %s bytes, wrote %s times, %s timeouts, %s tasks changed their worker, joined %s, left "
           "%s\n",
           result->backend, text_grouped(result->reads), text_grouped(result->bytes), text_grouped(result->writes),
           text_grouped(result->timeouts), text_grouped(result->migrated), text_grouped(result->joined),
           text_grouped(result->left));
    audit_print(&result->audit, look);
    printf("\n  again, though threads race as they like: verge stress --threads tasks --seed %" PRIu64
           " --workers %" PRIu64 " --seconds %" PRIu64 "\n",
           settings->seed, settings->workers, settings->seconds);
}

static void write_tasks(const struct settings *settings, const struct tasks_result *result) {
    struct json json = {.out = stdout};
    json_begin_object(&json, NULL);
    json_string(&json, "threads", thread_choices[THREADS_TASKS]);
    json_number(&json, "seed", settings->seed);
    json_number(&json, "workers", settings->workers);
    json_number(&json, "seconds", settings->seconds);
    json_string(&json, "backend", result->backend);
    json_number(&json, "rounds", result->rounds);
    json_number(&json, "tasks", result->tasks);
    json_number(&json, "reads", result->reads);
    json_number(&json, "writes", result->writes);
    json_number(&json, "bytes", result->bytes);
    json_number(&json, "timeouts", result->timeouts);
    json_number(&json, "migrated", result->migrated);
    json_number(&json, "joined", result->joined);
    json_number(&json, "left", result->left);
    json_number(&json, "resident_early", result->resident_early);
    json_number(&json, "resident_late", result->resident_late);
    audit_write_json(&result->audit, &json);
    json_end_object(&json);
}

static int run_tasks(const struct settings *settings, const struct look *look) {
    const struct tasks_options tasks_options = {
        .seed = settings->seed,
        .duration_ns = settings->seconds * SECOND,
        .worker_count_max = (uint32_t)settings->workers,
    };
    struct tasks_result result;
    struct status status;
    status_begin(&status, look, settings->json);
    const int error = tasks_run(&tasks_options, &status, &result);
    if (error != 0) {
        command_complain(&stress_command, "%s", reason_of_runtime(error));
        return EXIT_FAILURE;
    }
    if (settings->json) {
        write_tasks(settings, &result);
    } else {
        print_tasks(settings, &result, look);
    }
    return audit_holds(&result.audit) ? EXIT_SUCCESS : EXIT_FAILURE;
}

static int run(int argument_count, char **arguments) {
    struct settings settings = {.seed = 1, .seconds = 10, .workers = 4};
    struct look look = look_of_stdout();
    int status = EXIT_SUCCESS;
    if (!command_parse(&stress_command, argument_count, arguments, &settings, NULL, &status)) {
        return status;
    }
    if (settings.threads != THREADS_STEPPED && settings.steps != 0) {
        command_complain(&stress_command, "--steps does not go with --threads %s: try --seconds",
                         thread_choices[settings.threads]);
        return EXIT_USAGE;
    }
    return settings.threads == THREADS_TASKS  ? run_tasks(&settings, &look)
           : settings.threads == THREADS_REAL ? run_real(&settings, &look)
                                              : run_stepped(&settings, &look);
}

const struct command stress_command = {
    .name = "stress",
    .summary = "tests the service for long, with faults: workers leave, the clock jumps, memory runs out",
    .description =
        "Starts, resets and cancels timers while workers join and leave, the clock jumps and memory runs out. An "
        "audit\n"
        "compares what happens with what must happen; the exit status says whether it held. By default one thread\n"
        "steps all workers, so that runs with the same options and --steps are equal. With --threads tasks, tasks\n"
        "read and write under deadlines instead, while workers steal them from each other, come and go.",
    .options = options,
    .run = run,
};
