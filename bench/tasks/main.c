/* SPDX-License-Identifier: MIT */
/*
 * verge-bench-tasks [--quick] [switch|pingpong|tree|sleep|idle|recv|echo|balance]...: compares tasks and I/O with what
 * they replace.
 */
#include "tasks.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void bench_add(struct bench_series *series, double value) {
    bench_check(series->count < BENCH_ROUNDS_MAX, "there are not too many rounds");
    series->values[series->count++] = value;
}

static int by_value(const void *a, const void *b) {
    const double difference = *(const double *)a - *(const double *)b;
    return (difference > 0) - (difference < 0);
}

static double median_of(const double *values, int count) {
    double sorted[BENCH_ROUNDS_MAX];
    bench_check(count > 0, "something was measured");
    memcpy(sorted, values, (size_t)count * sizeof(*values));
    qsort(sorted, (size_t)count, sizeof(*sorted), by_value);
    return count % 2 == 1 ? sorted[count / 2] : (sorted[count / 2 - 1] + sorted[count / 2]) / 2;
}

double bench_median(const struct bench_series *series) {
    return median_of(series->values, series->count);
}

double bench_ratio(const struct bench_series *a, const struct bench_series *b) {
    double ratios[BENCH_ROUNDS_MAX];
    bench_check(a->count == b->count, "each round has both");
    for (int i = 0; i < a->count; i++) {
        ratios[i] = a->values[i] / b->values[i];
    }
    return median_of(ratios, a->count);
}

int bench_require(const char *what, double actual, const char *relation, double required) {
    const bool holds = relation[0] == '>' ? actual >= required : actual <= required;
    printf("    %-4s %s: %.2f, required %s %.2f\n", holds ? "ok" : "MISS", what, actual, relation, required);
    return !holds;
}

void bench_check(bool condition, const char *what) {
    if (!condition) {
        (void)fprintf(stderr, "verge-bench-tasks: not so: %s\n", what);
        exit(2);
    }
}

struct part {
    const char *name;
    int (*run)(bool quick);
};

static const struct part parts[] = {
    {"switch", bench_task_switch}, {"pingpong", bench_task_pingpong}, {"tree", bench_task_tree},
    {"sleep", bench_task_sleep},   {"idle", bench_task_idle},         {"recv", bench_io_recv},
    {"echo", bench_io_echo},       {"balance", bench_io_balance},
};

int main(int argc, char **argv) {
    bool quick = false, any = false;
    int missed = 0;
    (void)setvbuf(stdout, NULL, _IOLBF, 0);
    for (int pass = 0; pass < 2; pass++) {
        for (int i = 1; i < argc; i++) {
            const bool is_quick = strcmp(argv[i], "--quick") == 0;
            quick |= is_quick;
            bool known = is_quick;
            for (size_t k = 0; k < sizeof(parts) / sizeof(parts[0]); k++) {
                if (strcmp(argv[i], parts[k].name) == 0) {
                    known = any = true;
                    missed += pass == 1 ? parts[k].run(quick) : 0;
                }
            }
            if (!known) {
                (void)fprintf(stderr, "usage: %s [--quick] [switch|pingpong|tree|sleep|idle|recv|echo|balance]...\n",
                              argv[0]);
                return 2;
            }
        }
    }
    for (size_t k = 0; !any && k < sizeof(parts) / sizeof(parts[0]); k++) {
        missed += parts[k].run(quick);
    }
    printf("%d required figures missed\n", missed);
    return missed == 0 ? 0 : 1;
}
