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

/* Opens a connection of the benchmark's own. */
void *open_sql(void);

/* Executes a statement on such a connection. */
void sql(void *handle, const char *text);

/* Returns how many timers a second go through their whole life, by batched INSERT and DELETE on one connection. */
double measure_raw(void);

/* Returns how many timers a second workers claim and complete (PostgreSQL). */
double measure_claims(int worker_count);

/* Copies a batch of rows with far deadlines into verge's table, by COPY. The first row has this number (PostgreSQL). */
void copy_batch(void *handle, uint64_t first);

#endif
