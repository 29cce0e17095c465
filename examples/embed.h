/* SPDX-License-Identifier: MIT */
/*
 * What the embed_* examples share: a wheel on the monotonic clock, and something for it to do.
 *
 * A wheel needs two things of any event loop:
 *   - The loop sleeps no longer than embed_wait_ms() says. Ask again before every sleep, as the last round may have
 *     started an earlier timer.
 *   - The loop calls embed_run() when it wakes up. If no timer is due, this costs almost nothing.
 * Both are one line with verge/loop.h.
 *
 * The load: timers spread over 50 ms, of which some are cancelled and some moved later. In addition, a timer sends a
 * byte through a pipe. When the loop sees the byte, it starts the next such timer, from outside a run; this happens
 * five times. If anything hangs, a timer of 10 s ends the program.
 */
#ifndef VERGE_EXAMPLES_EMBED_H
#define VERGE_EXAMPLES_EMBED_H

#include <stdint.h>
#include <stdio.h>
#include <unistd.h>

#include <verge/verge.h>

#define EMBED_MS UINT64_C(1000000)

enum { EMBED_TIMERS = 1000, EMBED_BYTES = 5 };

struct embed {
    verge_wheel *wheel;
    verge_loop loop;
    verge_clock clock;
    int read_end; /* the loop watches it, and calls embed_readable() when it is readable */
    int write_end;
    verge_loop_timer timers[EMBED_TIMERS], sender, give_up;
    int expected, fired, bytes, errors;
};

static inline uint64_t embed_now(const struct embed *embed) {
    return embed->clock.now_ns(embed->clock.context);
}

static inline void embed_count(void *data, verge_loop_timer *timer) {
    struct embed *embed = data;
    (void)timer;
    embed->fired++;
}

static inline void embed_send(void *data, verge_loop_timer *timer) {
    struct embed *embed = data;
    (void)timer;
    embed->errors += write(embed->write_end, "x", 1) != 1;
}

static inline void embed_hangs(void *data, verge_loop_timer *timer) {
    struct embed *embed = data;
    (void)timer;
    embed->errors++;
    verge_wheel_cancel_all(embed->wheel);
}

static inline void embed_start_timer(struct embed *embed, verge_loop_timer *timer, verge_loop_function *callback,
                                     uint64_t deadline_ns) {
    embed->errors += verge_loop_start(&embed->loop, timer, callback, embed, deadline_ns, 0) < 0;
}

/* ---- what an event loop calls ---- */

/* How long the loop may sleep: 0 if something is due, -1 if nothing is pending. */
static inline int embed_wait_ms(const struct embed *embed) {
    return verge_loop_timeout(embed->wheel, embed_now(embed), 1000000);
}

static inline void embed_run(struct embed *embed) {
    (void)verge_loop_run(&embed->loop, embed_now(embed));
}

static inline void embed_readable(struct embed *embed) {
    char byte;
    embed->errors += read(embed->read_end, &byte, 1) != 1;
    if (++embed->bytes < EMBED_BYTES) {
        embed_start_timer(embed, &embed->sender, embed_send, embed_now(embed) + 5 * EMBED_MS);
    } else {
        embed->errors += verge_loop_cancel(&embed->loop, &embed->give_up) < 0;
    }
}

static inline int embed_done(const struct embed *embed) {
    return verge_wheel_count(embed->wheel) == 0;
}

/* ---- first and last ---- */

/* Creates the wheel and starts the timers. Returns NULL on failure. */
static inline struct embed *embed_start(void) {
    static struct embed state;
    struct embed *embed = &state;
    verge_wheel_options options;
    int ends[2];
    embed->clock = verge_clock_monotonic();
    const uint64_t start_ns = embed_now(embed);
    if (verge_wheel_options_init(&options, sizeof(options), VERGE_PRESET_DEFAULT) < 0 || pipe(ends) != 0) {
        return NULL;
    }
    options.start_ns = start_ns;
    embed->read_end = ends[0];
    embed->write_end = ends[1];
    if (verge_wheel_create(&options, &embed->wheel) < 0 || verge_loop_init(&embed->loop, embed->wheel) < 0) {
        return NULL;
    }
    for (unsigned i = 0; i < EMBED_TIMERS; i++) {
        const uint64_t deadline_ns = start_ns + i * (50 * EMBED_MS) / EMBED_TIMERS;
        embed_start_timer(embed, &embed->timers[i], embed_count, deadline_ns);
        if (i % 3 == 0) {
            embed->errors += verge_loop_cancel(&embed->loop, &embed->timers[i]) < 0;
        } else if (i % 5 == 0) {
            embed_start_timer(embed, &embed->timers[i], embed_count, deadline_ns + 10 * EMBED_MS);
        }
        embed->expected += i % 3 != 0;
    }
    embed_start_timer(embed, &embed->sender, embed_send, start_ns + 5 * EMBED_MS);
    embed_start_timer(embed, &embed->give_up, embed_hangs, start_ns + 10000 * EMBED_MS);
    return embed;
}

/* Prints the counts, and destroys the wheel. Returns the exit status for the program. */
static inline int embed_end(struct embed *embed) {
    printf("%d of %d timers, %d of %d bytes, %d errors\n", embed->fired, embed->expected, embed->bytes, EMBED_BYTES,
           embed->errors);
    verge_wheel_destroy(embed->wheel);
    close(embed->read_end);
    close(embed->write_end);
    return embed->fired == embed->expected && embed->bytes == EMBED_BYTES && embed->errors == 0 ? 0 : 1;
}

#endif
