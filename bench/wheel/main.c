/* SPDX-License-Identifier: MIT */
/* verge-bench: compares verge with what people use, in one run. docs/BENCHMARKS.md explains the output. */
#include <stdio.h>
#include <string.h>

#include "figures.h"
#include "options.h"
#include "report.h"
#include "required.h"
#include "rival.h"
#include "runner.h"
#include "workload.h"

static struct bench_figures figures;

static void report(const struct bench_options *options) {
    bench_report_print(&figures);
    if (options->out == NULL) {
        return;
    }
    bench_report_csv(&figures, options->out);
    bench_report_plot(&figures, options->out);
}

static int run(int argument_count, char **arguments) {
    struct bench_options options;
    struct bench_selection selection;
    bench_options_parse(&options, argument_count, arguments, false);
    bench_select_all(&options, &selection);
    bench_run(&options, &selection, &figures);
    report(&options);
    return figures.failure_count > 0;
}

static int check(int argument_count, char **arguments) {
    struct bench_options options;
    struct bench_selection selection;
    bench_options_parse(&options, argument_count, arguments, true);
    bench_select_all(&options, &selection);
    bench_required_select(&options, &selection);
    bench_run(&options, &selection, &figures);
    report(&options);
    return !bench_required_check(&figures, options.filtered) || figures.failure_count > 0;
}

static int list(void) {
    puts("workloads:");
    for (size_t i = 0; i < bench_workload_count; i++) {
        printf("  %s\n", bench_workloads[i]->name);
    }
    puts("rivals:");
    for (size_t i = 0; i < bench_rival_count; i++) {
        printf("  %s\n", bench_rivals[i]->name);
    }
    return 0;
}

int main(int argument_count, char **arguments) {
    setvbuf(stdout, NULL, _IOLBF, 0);
    const char *command = argument_count > 1 ? arguments[1] : "";
    if (strcmp(command, "run") == 0) {
        return run(argument_count - 2, arguments + 2);
    }
    if (strcmp(command, "check") == 0) {
        return check(argument_count - 2, arguments + 2);
    }
    if (strcmp(command, "list") == 0) {
        return list();
    }
    bench_options_usage();
    return 2;
}
