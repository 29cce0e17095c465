/* SPDX-License-Identifier: MIT */
/* The echo server on libuv. The idle timer of a connection is started again for each message. */
#include <stdlib.h>
#include <uv.h>

#include "echo.h"
#include "tasks.h"

struct connection {
    uv_tcp_t socket;
    uv_timer_t idle;
    uv_write_t write;
    char buffer[4096];
    int open_handles;
};

static uv_tcp_t listener_handle;
static int ended_count;

static void on_closed(uv_handle_t *handle) {
    struct connection *connection = handle->data;
    if (--connection->open_handles == 0) {
        free(connection);
        if (++ended_count == ECHO_CONNECTIONS) {
            uv_close((uv_handle_t *)&listener_handle, NULL);
        }
    }
}

static void end_connection(struct connection *connection) {
    if (!uv_is_closing((uv_handle_t *)&connection->socket)) {
        uv_close((uv_handle_t *)&connection->socket, on_closed);
        uv_close((uv_handle_t *)&connection->idle, on_closed);
    }
}

static void on_idle(uv_timer_t *timer) {
    end_connection(timer->data);
}

static void on_written(uv_write_t *write, int status) {
    if (status < 0) {
        end_connection(write->data);
    }
}

static void give_buffer(uv_handle_t *handle, size_t suggested_size, uv_buf_t *buffer) {
    struct connection *connection = handle->data;
    (void)suggested_size;
    *buffer = uv_buf_init(connection->buffer, sizeof(connection->buffer));
}

static void on_read(uv_stream_t *stream, ssize_t size, const uv_buf_t *buffer) {
    struct connection *connection = stream->data;
    if (size < 0) {
        end_connection(connection);
        return;
    }
    (void)uv_timer_again(&connection->idle);
    uv_buf_t answer = uv_buf_init(buffer->base, (unsigned)size);
    if (uv_try_write(stream, &answer, 1) != size) {
        connection->write.data = connection;
        (void)uv_write(&connection->write, stream, &answer, 1, on_written);
    }
}

static void on_connection(uv_stream_t *stream, int status) {
    struct connection *connection = calloc(1, sizeof(*connection));
    bench_check(status == 0 && connection != NULL, "a connection is served");
    (void)uv_tcp_init(stream->loop, &connection->socket);
    (void)uv_timer_init(stream->loop, &connection->idle);
    connection->socket.data = connection->idle.data = connection;
    connection->open_handles = 2;
    bench_check(uv_accept(stream, (uv_stream_t *)&connection->socket) == 0, "a connection is accepted");
    (void)uv_timer_start(&connection->idle, on_idle, 30000, 30000);
    (void)uv_read_start((uv_stream_t *)&connection->socket, give_buffer, on_read);
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
