/* SPDX-License-Identifier: MIT */
/*
 * Records a trace: each call of the wheel that starts, moves, cancels or polls also writes a line. `verge replay`
 * then shows how late timers would be, how often the program would wake up, and how much memory it would take, with
 * another precision, window or preset. docs/TRACE.md has the format.
 *
 *     example_record_trace >my.trace
 *     verge replay --preset all my.trace
 *
 * The upper half of this file is the recorder: copy it into your program. The lower half is a program to record. It
 * sends requests, each with a timeout, to servers that answer most of them in time, and renews a lease.
 */
#include <inttypes.h>
#include <stdio.h>

#include <verge/verge.h>

/* ---- the recorder ---- */

static FILE *trace_file; /* NULL: record nothing */

static void record_header(FILE *file) {
    trace_file = file;
    (void)fprintf(trace_file, "verge-trace 1\n");
}

/* The handle of a timer is a good name for it, as no other timer ever gets the same one. */
static int recorded_start(verge_wheel *wheel, uint64_t now_ns, uint64_t deadline_ns, void *data, verge_timer *timer) {
    int error = verge_wheel_start(wheel, deadline_ns, data, timer);
    if (error == 0 && trace_file != NULL) {
        (void)fprintf(trace_file, "%" PRIu64 " start %" PRIu64 " %" PRIu64 "\n", now_ns, *timer, deadline_ns);
    }
    return error;
}

static int recorded_reset(verge_wheel *wheel, uint64_t now_ns, verge_timer timer, uint64_t deadline_ns) {
    int error = verge_wheel_reset(wheel, timer, deadline_ns);
    if (error == 0 && trace_file != NULL) {
        (void)fprintf(trace_file, "%" PRIu64 " reset %" PRIu64 " %" PRIu64 "\n", now_ns, timer, deadline_ns);
    }
    return error;
}

static int recorded_cancel(verge_wheel *wheel, uint64_t now_ns, verge_timer timer) {
    int error = verge_wheel_cancel(wheel, timer, NULL);
    if (error == 0 && trace_file != NULL) {
        (void)fprintf(trace_file, "%" PRIu64 " cancel %" PRIu64 "\n", now_ns, timer);
    }
    return error;
}

static size_t recorded_poll(verge_wheel *wheel, uint64_t now_ns, verge_expiry *out, size_t limit) {
    if (trace_file != NULL) {
        (void)fprintf(trace_file, "%" PRIu64 " poll %zu\n", now_ns, limit);
    }
    return verge_wheel_poll(wheel, now_ns, out, limit);
}

/* ---- the program that is recorded ---- */

#define MS UINT64_C(1000000)
#define ROUND (10 * MS)
#define TIMEOUT (250 * MS)
#define LEASE (1000 * MS)
#define MINUTE (60000 * MS)

enum { REQUESTS = 64, BATCH = 16 };

struct program {
    verge_wheel *wheel;
    verge_timer requests[REQUESTS]; /* 0: free */
    verge_timer lease;
    unsigned started, reset, cancelled, fired, errors;
};

/* Pseudo-random numbers that are the same in every run. */
static unsigned roll(unsigned sides) {
    static uint32_t state = 1;
    state = state * 1664525 + 1013904223;
    return (state >> 16) % sides;
}

static void send_request(struct program *program, uint64_t now_ns, verge_timer *request) {
    program->errors += recorded_start(program->wheel, now_ns, now_ns + TIMEOUT, request, request) != 0;
    program->started++;
}

static void receive_answer(struct program *program, uint64_t now_ns, verge_timer *request) {
    program->errors += recorded_cancel(program->wheel, now_ns, *request) != 0;
    program->cancelled++;
    *request = 0;
}

static void renew_lease(struct program *program, uint64_t now_ns) {
    program->errors += recorded_reset(program->wheel, now_ns, program->lease, now_ns + LEASE) != 0;
    program->reset++;
}

static void handle_timeouts(struct program *program, uint64_t now_ns) {
    verge_expiry due[BATCH];
    size_t count;
    do {
        count = recorded_poll(program->wheel, now_ns, due, BATCH);
        for (size_t i = 0; i < count; i++) {
            verge_timer *request = due[i].data;
            program->errors += *request != due[i].timer;
            *request = 0;
            program->fired++;
        }
    } while (count == BATCH);
}

int main(void) {
    static struct program program;
    if (verge_wheel_create(NULL, &program.wheel) < 0) {
        return 1;
    }
    record_header(stdout);
    program.errors += recorded_start(program.wheel, 0, LEASE, &program.lease, &program.lease) != 0;
    program.started++;
    for (uint64_t now_ns = ROUND; now_ns <= MINUTE; now_ns += ROUND) {
        handle_timeouts(&program, now_ns);
        for (unsigned i = 0; i < REQUESTS; i++) {
            if (program.requests[i] == 0) {
                send_request(&program, now_ns, &program.requests[i]);
            } else if (roll(12) == 0) {
                receive_answer(&program, now_ns, &program.requests[i]);
            }
        }
        renew_lease(&program, now_ns);
    }
    size_t pending = verge_wheel_count(program.wheel);
    program.errors += program.started != program.fired + program.cancelled + pending;
    (void)fprintf(stderr, "%u started, %u reset, %u cancelled, %u fired, %zu pending\n", program.started, program.reset,
                  program.cancelled, program.fired, pending);
    verge_wheel_destroy(program.wheel);
    return program.errors == 0 ? 0 : 1;
}
