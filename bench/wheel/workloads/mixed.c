/* SPDX-License-Identifier: MIT */
/*
 * mixed: a server's whole zoo of timeouts. One timer is started each microsecond. 80 % have a duration that is
 * log-uniform over 1 ms .. 24 h, and are cancelled before they fire: at a random point of this duration or of a
 * horizon, whichever is shorter. The other 20 % fire: their durations are log-uniform from 1 ms to the horizon. The
 * horizon is chosen so that N timers are pending in the steady state (1.8 ms at N = 1e3, 3.8 s at 1e6, 49 s at 1e7). An
 * operation is a start together with the end of that timer.
 *
 * Operations come in batches of 20: all cancels of these 20 us, then 20 starts. An id is free for another start as soon
 * as its timer was cancelled, or about 4 ms after its deadline.
 */
#include <math.h>
#include <stdlib.h>

#include "../fail.h"
#include "../memory.h"
#include "../random.h"
#include "../workload.h"
#include "stream.h"
#include "workloads.h"

enum {
    BATCH_OPERATIONS = 20,
    BATCHES_PER_BLOCK = BENCH_BLOCK_OPERATIONS / BATCH_OPERATIONS,
    RELEASE_DELAY_BATCHES = 200,
    RING_BATCHES = 1 << 22, /* 84 s: more than the horizon for 1e7 timers */
    CANCELLED_PERCENT = 80,
};

#define NO_ID UINT32_MAX

#define SHORTEST_US 1000.0
#define LONGEST_US 86400e6

/* ---- the load in numbers ---- */

static double mean_life_us(double horizon_us) {
    double cancelled =
        0.5 * (horizon_us - SHORTEST_US + horizon_us * log(LONGEST_US / horizon_us)) / log(LONGEST_US / SHORTEST_US);
    double fired = (horizon_us - SHORTEST_US) / log(horizon_us / SHORTEST_US);
    return (CANCELLED_PERCENT * cancelled + (100 - CANCELLED_PERCENT) * fired) / 100;
}

/* With one start a microsecond, the number pending is the mean life in microseconds. */
static double horizon_us_for(double pending_count) {
    double low = SHORTEST_US * 1.01;
    double high = RING_BATCHES * BATCH_OPERATIONS * 0.9;
    for (int i = 0; i < 60; i++) {
        double middle = sqrt(low * high);
        if (mean_life_us(middle) < pending_count) {
            low = middle;
        } else {
            high = middle;
        }
    }
    return low;
}

static double log_uniform(struct bench_random *random, double low, double high) {
    return low * exp(bench_random_unit(random) * log(high / low));
}

/* ---- the plan ---- */

struct maker {
    struct bench_random random;
    double horizon_us;
    uint32_t id_count;
    uint32_t *free_ids;
    uint32_t free_count;
    uint32_t *next;  /* of each id: the next id that ends in the same batch */
    bool *cancelled; /* of each id: whether it is cancelled */
    uint32_t *ring;  /* of each batch: the first id that ends in it */
};

static void maker_open(struct maker *maker, uint32_t id_count, uint32_t timer_count) {
    *maker = (struct maker){
        .random = {.state = timer_count},
        .horizon_us = horizon_us_for(timer_count),
        .id_count = id_count,
        .free_ids = malloc(id_count * sizeof(uint32_t)),
        .next = malloc(id_count * sizeof(uint32_t)),
        .cancelled = malloc(id_count * sizeof(bool)),
        .ring = malloc(RING_BATCHES * sizeof(uint32_t)),
    };
    if (maker->free_ids == NULL || maker->next == NULL || maker->cancelled == NULL || maker->ring == NULL) {
        bench_fail("no memory for the plan");
    }
    for (uint32_t i = 0; i < id_count; i++) {
        maker->free_ids[maker->free_count++] = id_count - 1 - i;
    }
    for (size_t i = 0; i < RING_BATCHES; i++) {
        maker->ring[i] = NO_ID;
    }
}

static void maker_close(struct maker *maker) {
    free(maker->free_ids);
    free(maker->next);
    free(maker->cancelled);
    free(maker->ring);
}

/* Frees the ids that end in this batch. Lists those to be cancelled, and returns their number. */
static uint32_t make_ends(struct maker *maker, size_t batch, uint32_t *ret_cancels) {
    uint32_t *head = &maker->ring[batch % RING_BATCHES];
    uint32_t count = 0;
    for (uint32_t id = *head; id != NO_ID; id = maker->next[id]) {
        if (maker->cancelled[id]) {
            ret_cancels[count++] = id;
        }
        maker->free_ids[maker->free_count++] = id;
    }
    *head = NO_ID;
    return count;
}

static struct bench_step make_start(struct maker *maker, size_t batch) {
    if (maker->free_count == 0) {
        bench_fail("the plan has too few ids");
    }
    uint32_t id = maker->free_ids[--maker->free_count];
    bool cancelled = bench_random_below(&maker->random, 100) < CANCELLED_PERCENT;
    double duration_us = log_uniform(&maker->random, SHORTEST_US, cancelled ? LONGEST_US : maker->horizon_us);
    double life_us = cancelled ? bench_random_unit(&maker->random) * fmin(duration_us, maker->horizon_us) : duration_us;
    size_t life_batches = (size_t)(life_us / BATCH_OPERATIONS) + (cancelled ? 0 : RELEASE_DELAY_BATCHES);
    uint32_t *head = &maker->ring[(batch + (life_batches == 0 ? 1 : life_batches)) % RING_BATCHES];
    maker->cancelled[id] = cancelled;
    maker->next[id] = *head;
    *head = id;
    return (struct bench_step){.id = id, .duration = (uint32_t)(duration_us * 1000 / (1 << BENCH_DURATION_SHIFT)) + 1};
}

static void plan_mixed(struct bench_plan *plan) {
    uint32_t n = plan->timer_count;
    plan->id_count = n + n / 8 + 2000;
    size_t fill_count = (size_t)horizon_us_for(n); /* after that, as many end as start */
    size_t warm_count = bench_clamp(n, plan->quick ? 1000000 : 3000000, 5000000);
    size_t count = bench_stream_plan(plan, fill_count, warm_count, plan->quick ? 1000000 : 10000000);
    plan->cancels = bench_memory_allocate(count * sizeof(*plan->cancels), 64);
    plan->cancel_end_count = count / BATCH_OPERATIONS + 1;
    plan->cancel_ends = bench_memory_allocate(plan->cancel_end_count * sizeof(*plan->cancel_ends), 64);
    struct maker maker;
    maker_open(&maker, plan->id_count, n);
    uint32_t cancel_count = 0;
    for (size_t batch = 0; batch < count / BATCH_OPERATIONS; batch++) {
        cancel_count += make_ends(&maker, batch, &plan->cancels[cancel_count]);
        plan->cancel_ends[batch + 1] = cancel_count;
        for (size_t i = 0; i < BATCH_OPERATIONS; i++) {
            plan->steps[batch * BATCH_OPERATIONS + i] = make_start(&maker, batch);
        }
    }
    maker_close(&maker);
}

/* ---- the run ---- */

static uint64_t mixed_block(struct bench_case *run, size_t block, uint64_t now_ns) {
    const struct bench_plan *plan = run->plan;
    const struct bench_rival *rival = run->rival;
    void *self = run->self;
    uint64_t cancelled_count = 0;
    int failed = 0;
    const struct bench_step *step = &plan->steps[block * BENCH_BLOCK_OPERATIONS];
    const uint32_t *cancel_end = &plan->cancel_ends[block * BATCHES_PER_BLOCK];
    const uint32_t *cancel = &plan->cancels[*cancel_end];
    for (size_t batch = 0; batch < BATCHES_PER_BLOCK; batch++) {
        const uint32_t *end = &plan->cancels[*++cancel_end];
        for (; cancel < end; cancel++) {
            cancelled_count += rival->cancel(self, *cancel) == 0;
        }
        for (size_t i = 0; i < BATCH_OPERATIONS; i++, step++, now_ns += BENCH_OPERATION_NS) {
            failed |= rival->schedule(self, step->id, now_ns + bench_duration_ns(step->duration));
        }
    }
    bench_expect_done(failed);
    return cancelled_count;
}

static void replay_mixed_block(const struct bench_plan *plan, struct bench_model *model, size_t block,
                               uint64_t now_ns) {
    for (size_t batch = block * BATCHES_PER_BLOCK; batch < (block + 1) * BATCHES_PER_BLOCK; batch++) {
        for (size_t i = plan->cancel_ends[batch]; i < plan->cancel_ends[batch + 1]; i++) {
            bench_model_cancel(model, plan->cancels[i]);
        }
        for (size_t i = batch * BATCH_OPERATIONS; i < (batch + 1) * BATCH_OPERATIONS; i++) {
            const struct bench_step *step = &plan->steps[i];
            if (model->deadlines_ns[step->id] != 0) {
                bench_fail("timer %u should have fired by now", step->id);
            }
            bench_model_schedule(model, step->id, now_ns + bench_duration_ns(step->duration));
            now_ns += BENCH_OPERATION_NS;
        }
    }
}

static const struct bench_stream mixed_stream = {.run_block = mixed_block, .replay_block = replay_mixed_block};

static void run_mixed(struct bench_case *run) {
    bench_stream_run(run, &mixed_stream);
}

const struct bench_workload bench_workload_mixed = {
    .name = "mixed",
    .section_names = {"start + end"},
    .plan = plan_mixed,
    .run = run_mixed,
};
