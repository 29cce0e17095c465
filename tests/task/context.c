/* SPDX-License-Identifier: MIT */
/* Contexts: what a switch preserves, and where a flow of control begins and ends. */
#define _GNU_SOURCE

#include "task/context.h"

#include <execinfo.h>
#include <fenv.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "support/cmocka.h"

enum { stack_size = 256 << 10, stack_offset = 16 };

struct flow {
    verge__context loop;
    verge__context fiber;
    void *stack;
    unsigned resumed_count;
    unsigned rounds;
    double seed, result; /* what churn begins with and returns */
    unsigned wrong_mode_count;
    uintptr_t local, frame; /* addresses of a local variable and of its function's frame */
    int frame_count;
};

static void flow_begin(struct flow *flow, void (*entry)(void *)) {
    flow->stack = malloc(stack_size);
    assert_non_null(flow->stack);
    verge__context_adopt(&flow->loop);
    verge__context_init(&flow->fiber, flow->stack, stack_size, entry, flow);
}

static void flow_end(struct flow *flow) {
    verge__context_deinit(&flow->fiber);
    free(flow->stack);
}

static void resume(struct flow *flow) {
    verge__context_switch(&flow->loop, &flow->fiber);
}

static void suspend(struct flow *flow) {
    verge__context_switch(&flow->fiber, &flow->loop);
    flow->resumed_count++;
}

/* ---- */

/* Keeps at least as many values over switches as there are registers that a call preserves, both integer and
 * floating-point. */
static double churn(struct flow *flow, bool suspends) {
    const double seed = flow->seed;
    double a = seed, b = seed * 2, c = seed * 3, d = seed * 4, e = seed * 5, f = seed * 6, g = seed * 7, h = seed * 8;
    unsigned long i = (unsigned long)seed, j = 2, k = 3, l = 4, m = 5, n = 6, o = 7, p = 8, q = 9, r = 10, s = 11;
    for (unsigned round = 0; round < flow->rounds; round++) {
        if (suspends) {
            suspend(flow);
        }
        a += 1, b += a, c += b, d += c, e += d, f += e, g += f, h += g;
        i += 1, j += i, k += j, l += k, m += l, n += m, o += n, p += o, q += p, r += q, s += r;
    }
    return h + (double)(s % 1000003);
}

static void churn_entry(void *argument) {
    struct flow *flow = argument;
    flow->result = churn(flow, true);
    verge__context_leave(&flow->fiber, &flow->loop);
}

static void assert_has_churned(struct flow *flow) {
    assert_int_equal(flow->resumed_count, flow->rounds);
    assert_true(flow->result == churn(flow, false));
}

static void registers_survive_switches(void **state) {
    (void)state;
    struct flow flows[3] = {0};
    for (size_t i = 0; i < 3; i++) {
        flows[i].rounds = 20;
        flows[i].seed = (double)(i + 1);
        flow_begin(&flows[i], churn_entry);
    }
    for (unsigned round = 0; round <= 20; round++) {
        for (size_t i = 0; i < 3; i++) {
            resume(&flows[i]);
        }
    }
    for (size_t i = 0; i < 3; i++) {
        assert_has_churned(&flows[i]);
        flow_end(&flows[i]);
    }
}

/* Runs one flow to its end, on a thread of its own. */
static void *alone(void *argument) {
    struct flow *flow = argument;
    verge__context_adopt(&flow->loop);
    for (unsigned round = 0; round <= 20; round++) {
        resume(flow);
    }
    return NULL;
}

static void rounding_entry(void *argument) {
    struct flow *flow = argument;
    flow->wrong_mode_count += fegetround() != FE_TONEAREST || fesetround(FE_UPWARD) != 0;
    for (;;) {
        suspend(flow);
        flow->wrong_mode_count += fegetround() != FE_UPWARD;
        if (flow->resumed_count == 5) {
            verge__context_leave(&flow->fiber, &flow->loop);
        }
    }
}

static void the_rounding_mode_belongs_to_the_flow(void **state) {
    (void)state;
    struct flow flow = {0};
    flow_begin(&flow, rounding_entry);
    for (int i = 0; i < 6; i++) {
        resume(&flow);
        assert_int_equal(fegetround(), FE_TONEAREST);
    }
    assert_int_equal(flow.resumed_count, 5);
    assert_int_equal(flow.wrong_mode_count, 0);
    flow_end(&flow);
}

static void aligned_entry(void *argument) {
    struct flow *flow = argument;
    _Alignas(16) volatile char local[16];
    local[0] = 1;
    flow->local = (uintptr_t)local;
    flow->frame = (uintptr_t)__builtin_frame_address(0);
    verge__context_leave(&flow->fiber, &flow->loop);
}

static void a_stack_of_any_alignment_serves(void **state) {
    (void)state;
    for (size_t offset = 0; offset < stack_offset; offset++) {
        struct flow flow = {0};
        flow.stack = malloc(stack_size + stack_offset);
        assert_non_null(flow.stack);
        verge__context_adopt(&flow.loop);
        verge__context_init(&flow.fiber, (char *)flow.stack + offset, stack_size, aligned_entry, &flow);
        resume(&flow);
        assert_int_equal(flow.local % 16, 0);
        /* A sanitizer may keep locals elsewhere, but not the frame. */
        const uintptr_t low = (uintptr_t)flow.stack + offset;
        assert_true(flow.frame > low && flow.frame < low + stack_size);
        flow_end(&flow);
    }
}

static void *resume_there(void *argument) {
    struct flow *flow = argument;
    verge__context_adopt(&flow->loop);
    resume(flow);
    return NULL;
}

static void a_flow_continues_on_another_thread(void **state) {
    (void)state;
    struct flow flow = {.rounds = 4, .seed = 1};
    flow_begin(&flow, churn_entry);
    for (int i = 0; i < 5; i++) {
        pthread_t thread;
        assert_int_equal(pthread_create(&thread, NULL, resume_there, &flow), 0);
        assert_int_equal(pthread_join(thread, NULL), 0);
    }
    assert_has_churned(&flow);
    flow_end(&flow);
}

static void flows_of_two_threads_do_not_meet(void **state) {
    (void)state;
    struct flow flows[2] = {{.rounds = 20, .seed = 1}, {.rounds = 20, .seed = 2}};
    pthread_t threads[2];
    for (size_t i = 0; i < 2; i++) {
        flow_begin(&flows[i], churn_entry);
        assert_int_equal(pthread_create(&threads[i], NULL, alone, &flows[i]), 0);
    }
    for (size_t i = 0; i < 2; i++) {
        assert_int_equal(pthread_join(threads[i], NULL), 0);
        assert_has_churned(&flows[i]);
        flow_end(&flows[i]);
    }
}

static void unwinding_entry(void *argument) {
    struct flow *flow = argument;
    void *frames[64];
    flow->frame_count = backtrace(frames, 64);
    verge__context_leave(&flow->fiber, &flow->loop);
}

/* A backtrace inside a flow has few frames: those of its entry, of the functions that started the flow, and perhaps of
 * a wrapper. It does not go on to the flow that resumed this one, or to addresses that are no frames. */
static void unwinding_ends_at_the_first_frame(void **state) {
    (void)state;
    struct flow flow = {0};
    flow_begin(&flow, unwinding_entry);
    resume(&flow);
    assert_in_range(flow.frame_count, 1, 6);
    flow_end(&flow);
}

static void a_flow_that_never_ran_can_be_dropped(void **state) {
    (void)state;
    struct flow flow = {0};
    flow_begin(&flow, churn_entry);
    flow_end(&flow);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(registers_survive_switches),           cmocka_unit_test(the_rounding_mode_belongs_to_the_flow),
        cmocka_unit_test(a_stack_of_any_alignment_serves),      cmocka_unit_test(a_flow_continues_on_another_thread),
        cmocka_unit_test(flows_of_two_threads_do_not_meet),     cmocka_unit_test(unwinding_ends_at_the_first_frame),
        cmocka_unit_test(a_flow_that_never_ran_can_be_dropped),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
