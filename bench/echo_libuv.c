/* SPDX-License-Identifier: MIT */
/* The same server on libuv; the idle timer of a connection is started again for each message. */
#include <stdlib.h>
#include <uv.h>

#include "echo.h"
#include "tasks.h"

struct session {
    uv_tcp_t socket;
    uv_timer_t idle;
    uv_write_t write;
    char buffer[4096];
    int open_handles;
};

static uv_tcp_t listener_handle;
static int ended_count;

static void on_closed(uv_handle_t *handle) {
    struct session *session = handle->data;
    if (--session->open_handles == 0) {
        free(session);
        if (++ended_count == ECHO_CONNECTIONS) {
            uv_close((uv_handle_t *)&listener_handle, NULL);
        }
    }
}

static void end_session(struct session *session) {
    if (!uv_is_closing((uv_handle_t *)&session->socket)) {
        uv_close((uv_handle_t *)&session->socket, on_closed);
        uv_close((uv_handle_t *)&session->idle, on_closed);
    }
}

static void on_idle(uv_timer_t *timer) {
    end_session(timer->data);
}

static void on_written(uv_write_t *write, int status) {
    if (status < 0) {
        end_session(write->data);
    }
}

static void give_buffer(uv_handle_t *handle, size_t suggested_size, uv_buf_t *buffer) {
    struct session *session = handle->data;
    (void)suggested_size;
    *buffer = uv_buf_init(session->buffer, sizeof(session->buffer));
}

static void on_read(uv_stream_t *stream, ssize_t size, const uv_buf_t *buffer) {
    struct session *session = stream->data;
    if (size < 0) {
        end_session(session);
        return;
    }
    (void)uv_timer_again(&session->idle);
    uv_buf_t answer = uv_buf_init(buffer->base, (unsigned)size);
    if (uv_try_write(stream, &answer, 1) != size) {
        session->write.data = session;
        (void)uv_write(&session->write, stream, &answer, 1, on_written);
    }
}

static void on_connection(uv_stream_t *stream, int status) {
    struct session *session = calloc(1, sizeof(*session));
    bench_check(status == 0 && session != NULL, "a connection is served");
    (void)uv_tcp_init(stream->loop, &session->socket);
    (void)uv_timer_init(stream->loop, &session->idle);
    session->socket.data = session->idle.data = session;
    session->open_handles = 2;
    bench_check(uv_accept(stream, (uv_stream_t *)&session->socket) == 0, "a connection is accepted");
    (void)uv_timer_start(&session->idle, on_idle, 30000, 30000);
    (void)uv_read_start((uv_stream_t *)&session->socket, give_buffer, on_read);
}

void echo_serve_libuv(int listener) {
    uv_loop_t loop;
    ended_count = 0;
    bench_check(uv_loop_init(&loop) == 0 && uv_tcp_init(&loop, &listener_handle) == 0 &&
                    uv_tcp_open(&listener_handle, listener) == 0 &&
                    uv_listen((uv_stream_t *)&listener_handle, 256, on_connection) == 0,
                "libuv listens");
    (void)uv_run(&loop, UV_RUN_DEFAULT);
    bench_check(uv_loop_close(&loop) == 0, "libuv ends");
}
