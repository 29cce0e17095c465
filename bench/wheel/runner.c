/* SPDX-License-Identifier: MIT */
#include "runner.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fail.h"
#include "workload.h"

enum {
    CASE_SECONDS_MAX = 600,
    LARGE_TIMER_COUNT = 1000000,
    HUGE_TIMER_COUNT = 10000000,
    LARGE_ROUND_COUNT = 3,
};

struct runner {
    const struct bench_options *options;
    const struct bench_selection *selection;
    struct bench_figures *figures;
    struct bench_result *result; /* shared with the children */
    size_t case_count;
    size_t case_done_count;
    bool terminal;
};

/* ---- which cases ---- */

/* Returns how often a case is run. Cases that take seconds are repeated less; cases without timing are run once. */
static unsigned round_count_of(const struct bench_options *options, const struct bench_workload *workload,
                               const struct bench_rival *rival, uint32_t timer_count) {
    if (workload->untimed) {
        return 1;
    }
    bool slow = rival->flags & BENCH_RIVAL_SLOW;
    unsigned limit = BENCH_ROUND_COUNT_MAX;
    if (slow && (options->quick || timer_count >= HUGE_TIMER_COUNT)) {
        limit = 1;
    } else if (timer_count >= (slow ? LARGE_TIMER_COUNT : HUGE_TIMER_COUNT)) {
        limit = LARGE_ROUND_COUNT;
    }
    return options->round_count < limit ? options->round_count : limit;
}

void bench_select_all(const struct bench_options *options, struct bench_selection *ret_selection) {
    memset(ret_selection, 0, sizeof(*ret_selection));
    for (size_t w = 0; w < bench_workload_count; w++) {
        for (size_t s = 0; s < options->size_count; s++) {
            for (size_t r = 0; r < bench_rival_count; r++) {
                if ((options->workloads >> w & 1) && (options->rivals >> r & 1) &&
                    bench_workload_suits(bench_workloads[w], bench_rivals[r], options->sizes[s])) {
                    ret_selection->rivals[w][s] |= 1u << r;
                }
            }
        }
    }
}

static bool is_wanted(const struct runner *runner, size_t workload, size_t size, size_t rival, unsigned round) {
    return (runner->selection->rivals[workload][size] >> rival & 1) &&
           round < round_count_of(runner->options, bench_workloads[workload], bench_rivals[rival],
                                  runner->options->sizes[size]);
}

static size_t count_cases(const struct runner *runner) {
    size_t count = 0;
    for (size_t w = 0; w < bench_workload_count; w++) {
        for (size_t s = 0; s < runner->options->size_count; s++) {
            for (size_t r = 0; r < bench_rival_count; r++) {
                for (unsigned round = 0; round < runner->options->round_count; round++) {
                    count += is_wanted(runner, w, s, r, round);
                }
            }
        }
    }
    return count * ((size_t)runner->options->pages[BENCH_PAGES_HUGE] + runner->options->pages[BENCH_PAGES_SMALL]);
}

/* ---- one case ---- */

static _Noreturn void run_in_child(const struct runner *runner, const struct bench_plan *plan, size_t workload,
                                   size_t rival) {
    bench_fail_into(runner->result->error, sizeof(runner->result->error));
    alarm(CASE_SECONDS_MAX);
    struct bench_case run = {
        .plan = plan,
        .rival = bench_rivals[rival],
        .touch = runner->options->touch,
        .result = runner->result,
    };
    bench_workloads[workload]->run(&run);
    runner->result->done = true;
    _exit(0);
}

static void run_case(const struct runner *runner, const struct bench_plan *plan, size_t workload, size_t rival) {
    struct bench_result *result = runner->result;
    memset(result, 0, sizeof(*result));
    fflush(NULL);
    pid_t child = fork();
    if (child < 0) {
        bench_fail("cannot fork");
    }
    if (child == 0) {
        run_in_child(runner, plan, workload, rival);
    }
    int status = 0;
    waitpid(child, &status, 0);
    if (!result->done && result->error[0] == '\0') {
        snprintf(result->error, sizeof(result->error), "ended by signal %d",
                 WIFSIGNALED(status) ? WTERMSIG(status) : 0);
    }
}

/* ---- all of them ---- */

static void show_progress(struct runner *runner, size_t workload, size_t rival, uint32_t timer_count,
                          enum bench_pages pages, unsigned round) {
    runner->case_done_count++;
    fprintf(stderr, "%s[%zu/%zu] %s, %u timers, %s pages, round %u: %s%s", runner->terminal ? "\r\033[K" : "",
            runner->case_done_count, runner->case_count, bench_workloads[workload]->name, timer_count,
            bench_pages_name(pages), round + 1, bench_rivals[rival]->name, runner->terminal ? "" : "\n");
}

static struct bench_figure *figure_of(struct runner *runner, size_t workload, size_t size, enum bench_pages pages,
                                      size_t rival) {
    struct bench_figure **cell = &runner->figures->cells[workload][size][pages][rival];
    if (*cell == NULL) {
        *cell = calloc(1, sizeof(**cell));
    }
    if (*cell == NULL) {
        bench_fail("no memory");
    }
    return *cell;
}

static void keep_result(struct runner *runner, size_t workload, size_t size, enum bench_pages pages, size_t rival) {
    if (runner->result->done) {
        bench_figure_add(figure_of(runner, workload, size, pages, rival), runner->result);
        return;
    }
    runner->figures->failure_count++;
    fprintf(stderr, "%sFAILED: %s, %u timers, %s: %s\n", runner->terminal ? "\n" : "", bench_workloads[workload]->name,
            runner->options->sizes[size], bench_rivals[rival]->name, runner->result->error);
}

/* Each round starts with another rival, so that none is always the first. */
static void run_rounds(struct runner *runner, const struct bench_plan *plan, size_t workload, size_t size,
                       enum bench_pages pages) {
    const struct bench_options *options = runner->options;
    for (unsigned round = 0; round < options->round_count; round++) {
        for (size_t i = 0; i < bench_rival_count; i++) {
            size_t rival = (i + round) % bench_rival_count;
            if (!is_wanted(runner, workload, size, rival, round)) {
                continue;
            }
            show_progress(runner, workload, rival, options->sizes[size], pages, round);
            run_case(runner, plan, workload, rival);
            keep_result(runner, workload, size, pages, rival);
        }
    }
}

/* Makes one plan for all runs: children inherit it. */
static void run_workload(struct runner *runner, size_t workload, size_t size) {
    struct bench_plan plan = {.timer_count = runner->options->sizes[size], .quick = runner->options->quick};
    bench_memory_use(BENCH_PAGES_HUGE);
    bench_workloads[workload]->plan(&plan);
    for (enum bench_pages pages = 0; pages < BENCH_PAGES_COUNT; pages++) {
        if (!runner->options->pages[pages]) {
            continue;
        }
        bench_memory_use(pages);
        run_rounds(runner, &plan, workload, size, pages);
    }
    bench_plan_release(&plan);
}

void bench_run(const struct bench_options *options, const struct bench_selection *selection,
               struct bench_figures *figures) {
    figures->size_count = options->size_count;
    memcpy(figures->sizes, options->sizes, sizeof(figures->sizes));
    struct runner runner = {
        .options = options,
        .selection = selection,
        .figures = figures,
        .terminal = isatty(STDERR_FILENO),
    };
    runner.case_count = count_cases(&runner);
    runner.result = mmap(NULL, sizeof(*runner.result), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (runner.result == MAP_FAILED) {
        bench_fail("no memory");
    }
    for (size_t w = 0; w < bench_workload_count; w++) {
        for (size_t s = 0; s < options->size_count; s++) {
            if (selection->rivals[w][s] != 0) {
                run_workload(&runner, w, s);
            }
        }
    }
    munmap(runner.result, sizeof(*runner.result));
    if (runner.terminal) {
        fputs("\r\033[K", stderr);
    }
}
