/* SPDX-License-Identifier: MIT */
#define _POSIX_C_SOURCE 200809L /* PATH_MAX */
/* The jobs of the tool, wrapped at link time: each records what it is asked for. Those of bench fail, the others
 * succeed. */
#include <string.h>

#include "bench/program.h"
#include "demo/echo.h"
#include "fuzz/arguments.h"
#include "fuzz/fuzz.h"
#include "replay/replay.h"
#include "replay/sweep.h"
#include "scope/bridge.h"
#include "scope/list.h"
#include "scope/look_on.h"
#include "soak/soak.h"
#include "stress/stepped.h"
#include "stress/tasks.h"

int __wrap_soak_run(const struct soak_options *options, struct status *status, struct soak_result *ret_result);
int __wrap_stepped_run(const struct stepped_options *options, struct status *status, struct stepped_result *ret_result);
int __wrap_echo_begin(uint32_t worker_count, uint64_t seed, struct echo **ret_echo);
uint64_t __wrap_echo_end(struct echo *echo, struct audit *audit);
int __wrap_trace_read_file(struct trace *trace, const char *name, struct trace_problem *ret_problem);
int __wrap_replay_run(const struct trace *trace, const struct replay_options *options,
                      struct replay_result *ret_result);
int __wrap_sweep_run(const struct trace *trace, const struct replay_options *options, uint64_t late_ns,
                     struct sweep *ret_sweep);
int __wrap_tasks_run(const struct tasks_options *options, struct status *status, struct tasks_result *ret_result);
int __wrap_list_print(void);
bool __wrap_list_find(const char *what, struct listed *ret_scope, size_t *ret_count);
int __wrap_bridge_serve(const struct client_address *to, uint16_t port);
int __wrap_look_on_print(const struct client_address *address);
int __wrap_look_on_terminal(const struct client_address *address);
bool __wrap_bench_program_find(char path[PATH_MAX]);
int __wrap_bench_program_become(char **arguments);
int __wrap_bench_program_run(char **arguments);

struct asked asked;

#define SECOND UINT64_C(1000000000)

int __wrap_soak_run(const struct soak_options *options, struct status *status, struct soak_result *ret_result) {
    (void)status;
    *ret_result = (struct soak_result){.took_ns = SECOND};
    audit_expect(&ret_result->audit, true, "nothing was run");
    FUZZ_CHECK(options->duration_ns % SECOND == 0, "a duration that is not of seconds");
    const uint64_t seconds = options->duration_ns / SECOND;
    if (options->is_hostile) {
        asked.job = STRESS;
        const uint64_t values[RULE_COUNT_MAX] = {options->seed, seconds, options->worker_count, 1};
        memcpy(asked.values, values, sizeof(values));
    } else {
        asked.job = DEMO;
        FUZZ_CHECK(options->actor_count == (options->worker_count + 1) / 2, "another count of threads that act");
        /* A seventh of the timers is not pending. */
        const uint64_t timers = (options->timer_count * 6 + 6) / 7;
        const uint64_t values[RULE_COUNT_MAX] = {timers,        seconds, options->worker_count,
                                                 options->seed, 0,       options->on_begin != NULL};
        memcpy(asked.values, values, sizeof(values));
    }
    return 0;
}

int __wrap_stepped_run(const struct stepped_options *options, struct status *status,
                       struct stepped_result *ret_result) {
    (void)status;
    *ret_result = (struct stepped_result){.steps = 1};
    audit_expect(&ret_result->audit, true, "nothing was run");
    FUZZ_CHECK(options->duration_ns % SECOND == 0, "a duration that is not of seconds");
    asked.job = STRESS;
    const uint64_t values[RULE_COUNT_MAX] = {options->seed, options->duration_ns / SECOND, options->worker_count_max, 0,
                                             options->step_count};
    memcpy(asked.values, values, sizeof(values));
    return 0;
}

int __wrap_tasks_run(const struct tasks_options *options, struct status *status, struct tasks_result *ret_result) {
    (void)status;
    *ret_result = (struct tasks_result){.backend = "none", .rounds = 1};
    audit_expect(&ret_result->audit, true, "nothing was run");
    asked.job = STRESS;
    const uint64_t values[RULE_COUNT_MAX] = {options->seed, options->duration_ns / SECOND, options->worker_count_max,
                                             2};
    memcpy(asked.values, values, sizeof(values));
    return 0;
}

int __wrap_echo_begin(uint32_t worker_count, uint64_t seed, struct echo **ret_echo) {
    (void)seed;
    FUZZ_CHECK(worker_count >= 1 && worker_count <= 64, "workers: the range");
    *ret_echo = NULL;
    return 0;
}

uint64_t __wrap_echo_end(struct echo *echo, struct audit *audit) {
    (void)echo;
    (void)audit;
    return 0;
}

int __wrap_trace_read_file(struct trace *trace, const char *name, struct trace_problem *ret_problem) {
    static const char *const lines[] = {"verge-trace 1", "0 poll"}; /* a trace is never empty */
    int error = 0;
    for (size_t i = 0; error == 0 && i < sizeof(lines) / sizeof(*lines); i++) {
        error = trace_add_line(trace, lines[i], strlen(lines[i]), ret_problem);
    }
    asked.file = name;
    return error;
}

int __wrap_replay_run(const struct trace *trace, const struct replay_options *options,
                      struct replay_result *ret_result) {
    (void)trace;
    *ret_result = (struct replay_result){.precision_ns = 1};
    FUZZ_CHECK((asked.values[0] >> options->preset & 1) == 0, "a preset twice");
    asked.job = REPLAY;
    const uint64_t values[RULE_COUNT_MAX] = {
        asked.values[0] | UINT64_C(1) << options->preset,
        options->precision_ns,
        options->window_ns,
        options->has_order ? options->order : UINT64_MAX,
        options->limit,
        options->work_limit,
        options->coarse,
        options->exact,
        options->recorded_polls,
    };
    memcpy(asked.values, values, sizeof(values));
    return 0;
}

int __wrap_sweep_run(const struct trace *trace, const struct replay_options *options, uint64_t late_ns,
                     struct sweep *ret_sweep) {
    (void)trace;
    (void)options;
    enum { LATE = 10 };
    *ret_sweep = (struct sweep){.late_ns = late_ns};
    asked.is_swept = true;
    asked.values[LATE] = late_ns;
    return 0;
}

int __wrap_list_print(void) {
    asked.job = LIST;
    return 0;
}

bool __wrap_list_find(const char *what, struct listed *ret_scope, size_t *ret_count) {
    (void)what;
    (void)ret_scope;
    *ret_count = 0;
    return false;
}

int __wrap_bridge_serve(const struct client_address *to, uint16_t port) {
    (void)port;
    return __wrap_look_on_print(to);
}

int __wrap_look_on_print(const struct client_address *address) {
    FUZZ_CHECK(address->host[0] != '\0' && address->path[strlen(address->path) - 1] == '/', "an address that is none");
    asked.job = LOOK;
    asked.is_json = true;
    return 0;
}

int __wrap_look_on_terminal(const struct client_address *address) {
    asked.job = LOOK;
    return address->host[0] == '\0';
}

bool __wrap_bench_program_find(char path[PATH_MAX]) {
    (void)snprintf(path, PATH_MAX, "verge-bench");
    return true;
}

static void keep_words(char **words) {
    asked.job = BENCH;
    while (words[asked.word_count] != NULL && asked.word_count < BENCH_WORD_COUNT_MAX) {
        asked.words[asked.word_count] = words[asked.word_count];
        asked.word_count++;
    }
}

int __wrap_bench_program_become(char **arguments) {
    keep_words(arguments);
    return -1;
}

int __wrap_bench_program_run(char **arguments) {
    keep_words(arguments);
    asked.is_json = true;
    return EXIT_FAILURE;
}
