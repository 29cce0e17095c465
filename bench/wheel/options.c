/* SPDX-License-Identifier: MIT */
#include "options.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fail.h"
#include "rival.h"
#include "workload.h"

void bench_options_usage(void) {
    fputs("usage: verge-bench run [options]     measure, print a table\n"
          "       verge-bench check [options]   measure what is required, fail where it is missed\n"
          "       verge-bench list              workloads and rivals\n"
          "\n"
          "  --quick             up to a million timers, fewer operations, 3 rounds, huge pages only\n"
          "  --out DIR           write results.csv and plots to DIR\n"
          "  --only A[,B]        these workloads\n"
          "  --rivals A[,B]      these rivals\n"
          "  --n N[,N]           these numbers of timers (1000, 1e6)\n"
          "  --rounds R          so many rounds\n"
          "  --pages huge|small|both\n"
          "  --touch             the user writes to the object of each timer that fired\n",
          stderr);
}

static void set_defaults(struct bench_options *options, bool quick, bool check) {
    static const uint32_t sizes[] = {1000, 10000, 100000, 1000000, 10000000};
    options->quick = quick;
    options->round_count = quick ? 3 : 5;
    options->size_count = quick ? 4 : 5;
    memcpy(options->sizes, sizes, sizeof(sizes));
    options->workloads = (1u << bench_workload_count) - 1;
    options->rivals = (1u << bench_rival_count) - 1;
    options->pages[BENCH_PAGES_HUGE] = true;
    options->pages[BENCH_PAGES_SMALL] = !quick && !check;
}

static uint32_t find_workload(const char *name) {
    for (size_t i = 0; i < bench_workload_count; i++) {
        if (strcmp(bench_workloads[i]->name, name) == 0) {
            return 1u << i;
        }
    }
    bench_fail("no workload %s", name);
}

static uint32_t find_rival(const char *name) {
    for (size_t i = 0; i < bench_rival_count; i++) {
        if (strcmp(bench_rivals[i]->name, name) == 0) {
            return 1u << i;
        }
    }
    bench_fail("no rival %s", name);
}

static uint32_t parse_names(char *list, uint32_t (*find)(const char *name)) {
    uint32_t mask = 0;
    for (char *name = strtok(list, ","); name != NULL; name = strtok(NULL, ",")) {
        mask |= find(name);
    }
    return mask;
}

static void parse_sizes(struct bench_options *options, char *list) {
    options->size_count = 0;
    for (char *text = strtok(list, ","); text != NULL; text = strtok(NULL, ",")) {
        double size = strtod(text, NULL);
        if (size < 1 || size > 1e8 || options->size_count == BENCH_SIZE_COUNT_MAX) {
            bench_fail("cannot run with %s timers", text);
        }
        options->sizes[options->size_count++] = (uint32_t)size;
    }
}

static void parse_pages(struct bench_options *options, const char *text) {
    bool both = strcmp(text, "both") == 0;
    options->pages[BENCH_PAGES_HUGE] = both || strcmp(text, "huge") == 0;
    options->pages[BENCH_PAGES_SMALL] = both || strcmp(text, "small") == 0;
    if (!options->pages[BENCH_PAGES_HUGE] && !options->pages[BENCH_PAGES_SMALL]) {
        bench_fail("pages are huge, small or both");
    }
}

static void parse_value(struct bench_options *options, const char *name, char *value) {
    if (strcmp(name, "--out") == 0) {
        options->out = value;
        return;
    }
    if (strcmp(name, "--rounds") == 0) {
        options->round_count = (unsigned)strtoul(value, NULL, 10);
        if (options->round_count < 1 || options->round_count > BENCH_ROUND_COUNT_MAX) {
            bench_fail("1 to %d rounds", BENCH_ROUND_COUNT_MAX);
        }
        return;
    }
    options->filtered = true;
    if (strcmp(name, "--only") == 0) {
        options->workloads = parse_names(value, find_workload);
    } else if (strcmp(name, "--rivals") == 0) {
        options->rivals = parse_names(value, find_rival);
    } else if (strcmp(name, "--n") == 0) {
        parse_sizes(options, value);
    } else if (strcmp(name, "--pages") == 0) {
        parse_pages(options, value);
    } else {
        bench_fail("no option %s", name);
    }
}

void bench_options_parse(struct bench_options *options, int argument_count, char **arguments, bool check) {
    *options = (struct bench_options){0};
    bool quick = false;
    for (int i = 0; i < argument_count; i++) {
        quick = quick || strcmp(arguments[i], "--quick") == 0;
    }
    set_defaults(options, quick, check);
    options->filtered = quick;
    for (int i = 0; i < argument_count; i++) {
        if (strcmp(arguments[i], "--quick") == 0) {
            continue;
        }
        if (strcmp(arguments[i], "--touch") == 0) {
            options->touch = true;
            continue;
        }
        if (i + 1 == argument_count) {
            bench_fail("%s: no such option, or its value is missing", arguments[i]);
        }
        parse_value(options, arguments[i], arguments[i + 1]);
        i++;
    }
}
