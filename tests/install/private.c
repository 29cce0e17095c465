/* SPDX-License-Identifier: MIT */
/* For private.sh. If LIBRARY is defined, this is a library of that name, with a copy of verge inside. Otherwise it is a
 * program that uses two such libraries. */
#include <stdio.h>
#include <string.h>

#ifdef LIBRARY
#include "verge.h"

#define NAME_OF(library, name) library##_##name
#define NAME(library, name) NAME_OF(library, name)

#ifdef __cplusplus
extern "C" {
#endif

const char *NAME(LIBRARY, version)(void);
int NAME(LIBRARY, count)(void);

const char *NAME(LIBRARY, version)(void) {
    return verge_version();
}

static void count_one(void *data, verge_loop_timer *timer) {
    (void)timer;
    ++*(int *)data;
}

/* Starts 100 timers, and returns how many of them were called back, or -1 on failure. */
int NAME(LIBRARY, count)(void) {
    static verge_loop_timer timers[100];
    verge_loop loop;
    verge_wheel *wheel;
    int count = 0, failed = 0;
    if (verge_wheel_create(NULL, &wheel) < 0) {
        return -1;
    }
    failed |= verge_loop_init(&loop, wheel) < 0;
    for (unsigned i = 0; i < 100; i++) {
        failed |= verge_loop_start(&loop, &timers[i], count_one, &count, 1000000u * i, 0) < 0;
    }
    (void)verge_loop_run(&loop, 1000000000);
    verge_wheel_destroy(wheel);
    return failed ? -1 : count;
}

#ifdef __cplusplus
}
#endif

#else
const char *first_version(void);
int first_count(void);
const char *second_version(void);
int second_count(void);

int main(int count, char **versions) {
    const int is_right = count == 3 && strcmp(first_version(), versions[1]) == 0 &&
                         strcmp(second_version(), versions[2]) == 0 && first_count() == 100 && second_count() == 100;
    printf("%s and %s: %d and %d timers\n", first_version(), second_version(), first_count(), second_count());
    return is_right ? 0 : 1;
}
#endif
