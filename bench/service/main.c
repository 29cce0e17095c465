/* SPDX-License-Identifier: MIT */
/*
 * verge-bench-service [--check] [--quick] [pairs|idle|moves|lateness]: compares the service with the bare wheel, with
 * itself on more threads, and with what people build instead. --check: fails if a bound is missed.
 */
#include <stdio.h>
#include <string.h>

#include "figures.h"

int main(int argument_count, char **arguments) {
    struct plan plan = {0};
    bool checks = false;
    const char *only = NULL;
    for (int i = 1; i < argument_count; i++) {
        if (strcmp(arguments[i], "--check") == 0) {
            checks = true;
        } else if (strcmp(arguments[i], "--quick") == 0) {
            plan.is_quick = true;
        } else if (arguments[i][0] != '-' && only == NULL) {
            only = arguments[i];
        } else {
            (void)fprintf(stderr, "usage: verge-bench-service [--check] [--quick] [pairs|idle|moves|lateness]\n");
            return 2;
        }
    }
    (void)printf(
        "The service: medians of alternating rounds; ns of processor time an operation, unless said otherwise\n");
    static const struct {
        const char *name;
        void (*measure)(struct plan *plan);
    } cases[] = {
        {"pairs", measure_pairs}, {"idle", measure_idle}, {"moves", measure_moves}, {"lateness", measure_lateness}};
    bool is_known = false;
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        if (only == NULL || strcmp(only, cases[i].name) == 0) {
            cases[i].measure(&plan);
            is_known = true;
        }
    }
    if (!is_known) {
        (void)fprintf(stderr, "verge-bench-service: there is no part %s\n", only);
        return 2;
    }
    (void)printf("\n%u bounds missed\n", plan.missed);
    return checks && plan.missed > 0 ? 1 : 0;
}
