/* SPDX-License-Identifier: MIT */
/* Two flows of control take turns: tasks that yield are compared with swapcontext. */
#include <stdio.h>
#include <stdlib.h>
#include <ucontext.h>

#include <verge/task.h>

#include "tasks.h"

enum { stack_size = 64 << 10 };

static uint64_t turn_count, turn_limit;

/* ---- verge ---- */

static intptr_t yields(void *argument) {
    (void)argument;
    while (turn_count < turn_limit) {
        turn_count++;
        (void)verge_yield();
    }
    return 0;
}

static intptr_t spawns_two(void *argument) {
    (void)argument;
    bench_check(verge_spawn(yields, NULL, NULL) == 0 && verge_spawn(yields, NULL, NULL) == 0, "tasks are spawned");
    return 0;
}

static double run_verge(verge_runtime *runtime, uint64_t count) {
    turn_count = 0;
    turn_limit = count;
    const double begin_ns = bench_cpu_ns();
    bench_check(verge_runtime_run(runtime, spawns_two, NULL, NULL) == 0, "the runtime runs");
    bench_check(turn_count == count, "every turn was taken");
    return (bench_cpu_ns() - begin_ns) / (double)count;
}

/* ---- swapcontext ---- */

static ucontext_t main_context, contexts[2];

static void swaps(int self) {
    while (turn_count < turn_limit) {
        turn_count++;
        (void)swapcontext(&contexts[self], &contexts[1 - self]);
    }
    (void)setcontext(&main_context);
}

static double run_swapcontext(void *const stacks[2], uint64_t count) {
    turn_count = 0;
    turn_limit = count;
    for (int i = 0; i < 2; i++) {
        (void)getcontext(&contexts[i]);
        contexts[i].uc_stack.ss_sp = stacks[i];
        contexts[i].uc_stack.ss_size = stack_size;
        makecontext(&contexts[i], (void (*)(void))(uintptr_t)swaps, 1, i);
    }
    const double begin_ns = bench_cpu_ns();
    (void)swapcontext(&main_context, &contexts[0]);
    bench_check(turn_count == count, "every turn was taken");
    return (bench_cpu_ns() - begin_ns) / (double)count;
}

int bench_task_switch(bool quick) {
    const int rounds = quick ? 3 : 15;
    struct bench_series verge = {.name = "verge"}, swapcontext_series = {.name = "swapcontext"};
    verge_runtime_options options;
    verge_runtime *runtime;
    void *stacks[2] = {malloc(stack_size), malloc(stack_size)};
    (void)verge_runtime_options_init(&options, sizeof(options));
    options.worker_count = 1;
    bench_check(stacks[0] != NULL && stacks[1] != NULL && verge_runtime_create(&options, &runtime) == 0, "memory");
    for (int i = 0; i < rounds; i++) {
        bench_add(&verge, run_verge(runtime, quick ? 200000 : 2000000));
        bench_add(&swapcontext_series, run_swapcontext(stacks, quick ? 20000 : 200000));
    }
    printf("switch: two flows take turns, ns a turn\n");
    printf("    verge_yield %.1f, swapcontext %.1f\n", bench_median(&verge), bench_median(&swapcontext_series));
    (void)verge_runtime_destroy(runtime);
    free(stacks[0]);
    free(stacks[1]);
    return bench_require("faster than swapcontext", bench_ratio(&swapcontext_series, &verge), ">=", 10);
}
