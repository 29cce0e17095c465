/* SPDX-License-Identifier: MIT */
/* bench/durable/limits.h - what a store can do without verge: the SQL that bounds it, and a job queue that polls. */
#ifndef BENCH_DURABLE_LIMITS_H
#define BENCH_DURABLE_LIMITS_H

#include <stdbool.h>
#include <stdint.h>

#define MS UINT64_C(1000000)
#define S UINT64_C(1000000000)
#define WARM_S 0.5

enum { BATCH = 1000, CLAIMERS = 10 };

extern const char *url;
extern double seconds;

void check(bool holds, const char *what);
double now_s(void);
void nap_ms(unsigned ms);

/* A connection of our own, and a statement on it. */
void *open_sql(void);
void sql(void *handle, const char *text);

/* Timers a second, their whole life: by batched INSERT and DELETE on one connection; by workers that claim and complete
 * them (PostgreSQL). */
double measure_raw(void);
double measure_claims(int worker_count);
/* Copies a batch of far rows into verge's table, the first with this number (PostgreSQL). */
void copy_batch(void *handle, uint64_t first);

#endif
