/* SPDX-License-Identifier: MIT */
/*
 * What the embed_* examples share: a wheel on the monotonic clock, and something for it to do.
 *
 * Whatever the event loop, a wheel needs two things of it:
 *   - it sleeps no longer than embed_wait_ns() says. Ask after every turn: what happened in it may have scheduled an
 *     earlier timer;
 *   - it calls embed_poll() when it wakes up. To call it for nothing costs next to nothing.
 *
 * The load: timers spread over 50 ms, of which some are cancelled and some moved later. Beside them, a timer sends a
 * byte through a pipe; when the loop sees the byte, it schedules the next of these timers (from outside a poll), five
 * times. If all that hangs, a timer of 10 s ends it.
 */
#ifndef VERGE_EXAMPLES_EMBED_H
#define VERGE_EXAMPLES_EMBED_H

#include <stdint.h>
#include <stdio.h>
#include <unistd.h>

#include <verge/verge.h>

#define EMBED_MS UINT64_C(1000000)

enum { EMBED_TIMERS = 1000, EMBED_BYTES = 5, EMBED_BATCH = 64 };

struct embed {
    verge_wheel *wheel;
    verge_clock clock;
    int read_end; /* for the loop to watch: embed_readable() */
    int write_end;
    verge_timer give_up;
    int expected, fired, bytes, errors;
};

/* What the data of a timer points to. */
typedef void embed_action(struct embed *embed, uint64_t now_ns);

struct embed_timer {
    embed_action *fire;
};

static inline void embed_count(struct embed *embed, uint64_t now_ns) {
    (void)now_ns;
    embed->fired++;
}

static inline void embed_send(struct embed *embed, uint64_t now_ns) {
    (void)now_ns;
    embed->errors += write(embed->write_end, "x", 1) != 1;
}

static inline void embed_hangs(struct embed *embed, uint64_t now_ns) {
    (void)now_ns;
    embed->errors++;
    verge_wheel_clear(embed->wheel);
}

static struct embed_timer embed_counted = {embed_count};
static struct embed_timer embed_sender = {embed_send};
static struct embed_timer embed_last_resort = {embed_hangs};

static inline verge_timer embed_schedule(struct embed *embed, uint64_t deadline_ns, struct embed_timer *data) {
    verge_timer timer = 0;
    embed->errors += verge_wheel_schedule(embed->wheel, deadline_ns, data, &timer) < 0;
    return timer;
}

/* ---- what an event loop calls ---- */

/* How long the loop may sleep: 0 if something is due, UINT64_MAX if nothing is pending. */
static inline uint64_t embed_wait_ns(const struct embed *embed) {
    const uint64_t wakeup_ns = verge_wheel_next_wakeup(embed->wheel);
    const uint64_t now_ns = embed->clock.now_ns(embed->clock.context);
    return wakeup_ns == VERGE_NEVER ? UINT64_MAX : wakeup_ns <= now_ns ? 0 : wakeup_ns - now_ns;
}

/* The same for loops that count milliseconds; rounded up, as to wake up too early would be for nothing. */
static inline uint64_t embed_wait_ms(const struct embed *embed) {
    const uint64_t wait_ns = embed_wait_ns(embed);
    return wait_ns / EMBED_MS + (wait_ns % EMBED_MS != 0);
}

static inline void embed_poll(struct embed *embed) {
    const uint64_t now_ns = embed->clock.now_ns(embed->clock.context);
    verge_expiry due[EMBED_BATCH]; /* what is due beyond that, the next turn gets: embed_wait_ns() is 0 then */
    const size_t count = verge_wheel_poll(embed->wheel, now_ns, due, EMBED_BATCH);
    for (size_t i = 0; i < count; i++) {
        embed->errors += due[i].deadline_ns > now_ns; /* never early */
        ((struct embed_timer *)due[i].data)->fire(embed, now_ns);
    }
}

static inline void embed_readable(struct embed *embed) {
    char byte;
    embed->errors += read(embed->read_end, &byte, 1) != 1;
    if (++embed->bytes < EMBED_BYTES) {
        const uint64_t now_ns = embed->clock.now_ns(embed->clock.context);
        (void)embed_schedule(embed, now_ns + 5 * EMBED_MS, &embed_sender);
    } else {
        embed->errors += verge_wheel_cancel(embed->wheel, embed->give_up, NULL) < 0;
    }
}

static inline int embed_done(const struct embed *embed) {
    return verge_wheel_count(embed->wheel) == 0;
}

/* ---- first and last ---- */

/* 0, or -1 if it cannot begin. */
static inline int embed_start(struct embed *embed) {
    verge_wheel_options options;
    int ends[2];
    *embed = (struct embed){.clock = verge_clock_monotonic()};
    const uint64_t start_ns = embed->clock.now_ns(embed->clock.context);
    if (verge_wheel_options_init(&options) < 0 || pipe(ends) != 0) {
        return -1;
    }
    options.start_ns = start_ns;
    embed->read_end = ends[0];
    embed->write_end = ends[1];
    if (verge_wheel_create(&options, &embed->wheel) < 0) {
        return -1;
    }
    for (unsigned i = 0; i < EMBED_TIMERS; i++) {
        const uint64_t deadline_ns = start_ns + i * (50 * EMBED_MS) / EMBED_TIMERS;
        const verge_timer timer = embed_schedule(embed, deadline_ns, &embed_counted);
        if (i % 3 == 0) {
            embed->errors += verge_wheel_cancel(embed->wheel, timer, NULL) < 0;
        } else {
            embed->errors += i % 5 == 0 && verge_wheel_reschedule(embed->wheel, timer, deadline_ns + 10 * EMBED_MS) < 0;
            embed->expected++;
        }
    }
    (void)embed_schedule(embed, start_ns + 5 * EMBED_MS, &embed_sender);
    embed->give_up = embed_schedule(embed, start_ns + 10000 * EMBED_MS, &embed_last_resort);
    return 0;
}

/* The exit status. */
static inline int embed_end(struct embed *embed) {
    printf("%d of %d timers, %d of %d bytes, %d errors\n", embed->fired, embed->expected, embed->bytes, EMBED_BYTES,
           embed->errors);
    verge_wheel_destroy(embed->wheel);
    close(embed->read_end);
    close(embed->write_end);
    return embed->fired == embed->expected && embed->bytes == EMBED_BYTES && embed->errors == 0 ? 0 : 1;
}

#endif
