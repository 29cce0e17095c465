/* SPDX-License-Identifier: MIT */
/*
 * A wheel in a libev loop. One ev_timer stands for all timers of the wheel; a prepare watcher, which libev calls right
 * before it sleeps, sets it. So it does not matter which code has started timers in this round.
 */
#include <ev.h>

#include "embed.h"

static ev_timer alarm_clock;
static ev_prepare before_sleep;
static ev_io readable;

static void on_alarm(struct ev_loop *loop, ev_timer *watcher, int events) {
    (void)loop;
    (void)events;
    embed_run(watcher->data);
}

static void on_readable(struct ev_loop *loop, ev_io *watcher, int events) {
    (void)loop;
    (void)events;
    embed_readable(watcher->data);
}

static void on_before_sleep(struct ev_loop *loop, ev_prepare *watcher, int events) {
    const struct embed *embed = watcher->data;
    (void)events;
    ev_timer_stop(loop, &alarm_clock);
    if (embed_done(embed)) {
        ev_break(loop, EVBREAK_ALL);
        return;
    }
    ev_now_update(loop); /* an ev_timer counts from the loop's cached time, which is as old as this round */
    ev_timer_set(&alarm_clock, embed_wait_ms(embed) / 1e3, 0.);
    ev_timer_start(loop, &alarm_clock);
}

int main(void) {
    struct embed *embed = embed_start();
    struct ev_loop *loop = ev_loop_new(EVFLAG_AUTO);
    if (loop == NULL || embed == NULL) {
        return 1;
    }
    alarm_clock.data = before_sleep.data = readable.data = embed;
    ev_timer_init(&alarm_clock, on_alarm, 0., 0.);
    ev_prepare_init(&before_sleep, on_before_sleep);
    ev_io_init(&readable, on_readable, embed->read_end, EV_READ);
    ev_io_start(loop, &readable);
    ev_prepare_start(loop, &before_sleep);
    ev_run(loop, 0);
    ev_loop_destroy(loop);
    return embed_end(embed);
}
