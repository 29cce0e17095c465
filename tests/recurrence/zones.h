/* SPDX-License-Identifier: MIT */
/* recurrence/zones.h - tests that need the system's zones are skipped where there are none, and say so. */
#ifndef VERGE_TESTS_RECURRENCE_ZONES_H
#define VERGE_TESTS_RECURRENCE_ZONES_H

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static inline void skip_without_zones(void) {
    if (access("/usr/share/zoneinfo/Europe/Berlin", R_OK) != 0) {
        (void)printf("SKIPPED: there is no /usr/share/zoneinfo here (Debian: tzdata)\n");
        exit(77);
    }
}

#endif
