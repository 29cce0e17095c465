/* SPDX-License-Identifier: MIT */
/*
 * A wheel in a libuv loop. One uv_timer stands for all timers of the wheel; a prepare handle, which libuv calls right
 * before it sleeps, sets it. So it does not matter which code has started timers in this round.
 */
#define _POSIX_C_SOURCE 200809L /* pthread_rwlock_t, for uv.h */

#include <uv.h>

#include "embed.h"

static uv_loop_t loop;
static uv_timer_t alarm_clock;
static uv_prepare_t before_sleep;
static uv_poll_t readable;

static void on_alarm(uv_timer_t *handle) {
    embed_run(handle->data);
}

static void on_readable(uv_poll_t *handle, int status, int events) {
    struct embed *embed = handle->data;
    (void)events;
    embed->errors += status < 0;
    embed_readable(embed);
}

static void on_before_sleep(uv_prepare_t *handle) {
    struct embed *embed = handle->data;
    if (embed_done(embed)) {
        uv_stop(&loop);
        return;
    }
    uv_update_time(&loop); /* a uv_timer counts from the loop's cached time, which is as old as this round */
    embed->errors += uv_timer_start(&alarm_clock, on_alarm, (uint64_t)embed_wait_ms(embed), 0) < 0;
}

int main(void) {
    struct embed *embed = embed_start();
    if (embed == NULL || uv_loop_init(&loop) < 0 || uv_timer_init(&loop, &alarm_clock) < 0 ||
        uv_prepare_init(&loop, &before_sleep) < 0 || uv_poll_init(&loop, &readable, embed->read_end) < 0) {
        return 1;
    }
    alarm_clock.data = before_sleep.data = readable.data = embed;
    if (uv_prepare_start(&before_sleep, on_before_sleep) < 0 ||
        uv_poll_start(&readable, UV_READABLE, on_readable) < 0) {
        return 1;
    }
    uv_run(&loop, UV_RUN_DEFAULT);

    uv_close((uv_handle_t *)&alarm_clock, NULL);
    uv_close((uv_handle_t *)&before_sleep, NULL);
    uv_close((uv_handle_t *)&readable, NULL);
    uv_run(&loop, UV_RUN_DEFAULT);
    embed->errors += uv_loop_close(&loop) < 0;
    return embed_end(embed);
}
