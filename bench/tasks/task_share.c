/* SPDX-License-Identifier: MIT */
/*
 * Tasks on several workers. Ping-pong: two tasks send each other messages. There are three cases: both on the only
 * worker; begun on different workers, and free to move; pinned to different workers. Tree: a million tasks, each
 * spawned and joined, on one worker and on two.
 */
#include <stdio.h>

#include <verge/task.h>

#include "tasks.h"

static verge_runtime *create(uint32_t worker_count) {
    verge_runtime_options options;
    verge_runtime *runtime = NULL;
    (void)verge_runtime_options_init(&options, sizeof(options));
    options.worker_count = worker_count;
    bench_check(verge_runtime_create(&options, &runtime) == 0, "a runtime is created");
    return runtime;
}

/* ---- ping-pong ---- */

static struct {
    verge_channel *there, *back;
    uint64_t rounds;
    uint32_t answers_on;
    double ns;
} game;

static intptr_t answers(void *argument) {
    (void)argument;
    uint64_t item = 0;
    while (verge_channel_receive(game.there, &item, VERGE_NEVER) == 0) {
        bench_check(verge_channel_send(game.back, &item, VERGE_NEVER) == 0, "an answer is sent");
    }
    return 0;
}

static intptr_t asks(void *argument) {
    (void)argument;
    const double begin_ns = bench_now_ns();
    for (uint64_t i = 0; i < game.rounds; i++) {
        uint64_t item = i, answer = 0;
        bench_check(verge_channel_send(game.there, &item, VERGE_NEVER) == 0 &&
                        verge_channel_receive(game.back, &answer, VERGE_NEVER) == 0 && answer == i,
                    "each message is answered");
    }
    game.ns = (bench_now_ns() - begin_ns) / (double)game.rounds;
    return verge_channel_close(game.there);
}

static intptr_t begins(void *argument) {
    (void)argument;
    const uint32_t asks_on = game.answers_on == 1 ? 0 : game.answers_on;
    bench_check(bench_spawn_on(game.answers_on, answers, NULL) == 0 && bench_spawn_on(asks_on, asks, NULL) == 0,
                "two tasks are spawned");
    return 0;
}

static double play(verge_runtime *runtime, uint32_t answers_on, uint64_t rounds) {
    game.rounds = rounds;
    game.answers_on = answers_on;
    bench_check(verge_channel_create(sizeof(uint64_t), 1, NULL, &game.there) == 0 &&
                    verge_channel_create(sizeof(uint64_t), 1, NULL, &game.back) == 0 &&
                    verge_runtime_run(runtime, begins, NULL, NULL) == 0,
                "the game is played");
    verge_channel_destroy(game.there);
    verge_channel_destroy(game.back);
    return game.ns;
}

int bench_task_pingpong(bool quick) {
    const int rounds = quick ? 3 : 15;
    const uint64_t count = quick ? 20000 : 200000;
    struct bench_series one = {.name = "one"}, two = {.name = "two"}, held = {.name = "held"};
    verge_runtime *single = create(1), *pair = create(2);
    for (int i = 0; i < rounds; i++) {
        bench_add(&one, play(single, VERGE_WORKER_ANY, count));
        bench_add(&two, play(pair, VERGE_WORKER_ANY, count));
        bench_add(&held, play(pair, 1, count / 20));
    }
    (void)verge_runtime_destroy(single);
    (void)verge_runtime_destroy(pair);
    printf("pingpong: two tasks and two channels, ns for each message with its answer\n");
    printf("    one worker %.0f, begun on two workers %.0f, held on two by name %.0f\n", bench_median(&one),
           bench_median(&two), bench_median(&held));
    return bench_require("begun on two workers, us", bench_median(&two) / 1000, "<=", 1.0);
}

/* ---- a tree ---- */

enum { branches = 16 };

static uint64_t tree_width;

/* Spawns the subtrees, one after the other. Returns how many tasks there were, this one included. */
static intptr_t grow(void *argument) {
    const uint64_t depth = (uint64_t)(uintptr_t)argument;
    intptr_t sum = 1;
    for (uint64_t i = 0; i < tree_width && depth > 0; i++) {
        verge_task *child;
        intptr_t count = 0;
        bench_check(verge_spawn(grow, (void *)(uintptr_t)(depth - 1), &child) == 0 &&
                        verge_task_join(child, &count, VERGE_NEVER) == 0,
                    "a task is spawned and joined");
        sum += count;
    }
    return sum;
}

static intptr_t grow_branches(void *argument) {
    verge_task *children[branches];
    intptr_t *ret_sum = argument;
    for (int i = 0; i < branches; i++) {
        bench_check(verge_spawn(grow, (void *)(uintptr_t)2, &children[i]) == 0, "a branch is spawned");
    }
    for (int i = 0; i < branches; i++) {
        intptr_t count = 0;
        bench_check(verge_task_join(children[i], &count, VERGE_NEVER) == 0, "a branch is joined");
        *ret_sum += count;
    }
    return 0;
}

struct growth {
    double ns;     /* for each task */
    double cpu_ns; /* for each task, of all processors */
};

static double process_cpu_ns(void) {
    struct timespec time;
    (void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return (double)time.tv_sec * 1e9 + (double)time.tv_nsec;
}

static struct growth plant(verge_runtime *runtime, uint64_t width) {
    intptr_t sum = 0;
    tree_width = width;
    const double begin_ns = bench_now_ns(), begin_cpu_ns = process_cpu_ns();
    bench_check(verge_runtime_run(runtime, grow_branches, &sum, NULL) == 0, "the tree grows");
    const double count = (double)sum;
    bench_check((uint64_t)sum == branches * (1 + width + width * width), "every task has run");
    return (struct growth){(bench_now_ns() - begin_ns) / count, (process_cpu_ns() - begin_cpu_ns) / count};
}

int bench_task_tree(bool quick) {
    const int rounds = quick ? 3 : 15;
    const uint64_t width = quick ? 64 : 256; /* 16 branches of 256 by 256 are a million */
    struct bench_series one = {0}, two = {0}, one_cpu = {0}, two_cpu = {0};
    verge_runtime *single = create(1), *pair = create(2);
    for (int i = 0; i < rounds; i++) {
        const struct growth alone = plant(single, width), shared = plant(pair, width);
        bench_add(&one, alone.ns);
        bench_add(&two, shared.ns);
        bench_add(&one_cpu, alone.cpu_ns);
        bench_add(&two_cpu, shared.cpu_ns);
    }
    (void)verge_runtime_destroy(single);
    (void)verge_runtime_destroy(pair);
    printf("tree: %d branches of %llu by %llu tasks, each spawned and joined, ns a task (of processors)\n", branches,
           (unsigned long long)width, (unsigned long long)width);
    printf("    one worker %.0f (%.0f), two %.0f (%.0f)\n", bench_median(&one), bench_median(&one_cpu),
           bench_median(&two), bench_median(&two_cpu));
    printf("    estimated from processor time, as if nothing else used the two processors: %.2f times as fast\n",
           2 * bench_ratio(&one_cpu, &two_cpu));
    return bench_require("two workers to one", bench_ratio(&one, &two), ">=", 1.7);
}
