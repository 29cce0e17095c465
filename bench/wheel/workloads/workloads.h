/* SPDX-License-Identifier: MIT */
/* bench/wheel/workloads/workloads.h - the list of workloads. docs/BENCHMARKS.md explains them. */
#ifndef BENCH_WORKLOADS_H
#define BENCH_WORKLOADS_H

struct bench_workload;

extern const struct bench_workload bench_workload_churn;
extern const struct bench_workload bench_workload_churn_rand;
extern const struct bench_workload bench_workload_reset;
extern const struct bench_workload bench_workload_connections;
extern const struct bench_workload bench_workload_expire;
extern const struct bench_workload bench_workload_expire_24h;
extern const struct bench_workload bench_workload_mixed;
extern const struct bench_workload bench_workload_idle;
extern const struct bench_workload bench_workload_tail;
extern const struct bench_workload bench_workload_burst;
extern const struct bench_workload bench_workload_bytes;
extern const struct bench_workload bench_workload_limit;

#endif
