/* SPDX-License-Identifier: MIT */
#define _POSIX_C_SOURCE 200809L

#include "scope/look_on.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "scope/safe.h"
#include "scope/screen.h"
#include "scope/terminal.h"

enum { RETRY_MS = 1000, REDRAW_MS = 1000 };

/* ---- one snapshot ---- */

int look_on_print(const struct client_address *address) {
    struct client client;
    int error = client_open(&client, address, "snapshot");
    int received = error;
    while (error == 0 && (received = client_receive(&client)) > 0) {
    }
    error = error != 0 ? error : received;
    if (error == 0 && (!client.has_head || client.size == 0)) {
        error = -EPROTO;
    }
    /* Only JSON is printed. So another server cannot write what it likes to the terminal. */
    struct value_store *store = NULL;
    if (error == 0 && value_read(client.bytes, client.size, &store) == NULL) {
        error = -EPROTO;
    }
    value_free(store);
    if (error == 0) {
        safe_print_json(client.bytes, client.size, stdout);
        (void)fputc('\n', stdout);
    }
    client_close(&client);
    return error;
}

/* ---- in a terminal ---- */

static volatile sig_atomic_t is_ended;

static void on_end(int number) {
    (void)number;
    is_ended = 1;
}

/* Ends the program on signals in such a way that the terminal is restored. */
static void end_on_signals(void) {
    struct sigaction action = {.sa_flags = 0};
    action.sa_handler = on_end;
    (void)sigemptyset(&action.sa_mask);
    (void)sigaction(SIGTERM, &action, NULL);
    (void)sigaction(SIGHUP, &action, NULL);
    (void)sigaction(SIGINT, &action, NULL);
}

struct session {
    const struct client_address *address;
    struct client client;
    struct screen screen;
    struct look look;
    const struct value *snapshot;
    struct value_store *store;
};

/* Takes all events that have come, and keeps the newest. */
static void take_events(struct session *session) {
    const char *event = NULL;
    size_t size = 0;
    while ((event = client_event(&session->client, &size)) != NULL) {
        struct value_store *store = NULL;
        const struct value *snapshot = value_read(event, size, &store);
        if (snapshot != NULL) {
            value_free(session->store);
            session->store = store;
            session->snapshot = snapshot;
        }
    }
}

static void hear(struct session *session) {
    const int received = client_receive(&session->client);
    if (received <= 0) {
        client_close(&session->client);
        session->screen.is_lost = true;
        return;
    }
    take_events(session);
}

static bool press_keys(struct session *session) {
    int key = 0;
    while ((key = terminal_key()) >= 0) {
        if (!screen_press(&session->screen, key)) {
            return false;
        }
    }
    return true;
}

static void draw(struct session *session) {
    terminal_size(&session->screen.width, &session->screen.height);
    screen_draw(&session->screen, session->snapshot, &session->look, stdout);
}

/* Waits once for an event or a key. Returns false if the user quits, a signal has come, or the terminal has gone. */
static bool go_on(struct session *session) {
    struct pollfd ready[2] = {{.fd = STDIN_FILENO, .events = POLLIN}, {.fd = session->client.fd, .events = POLLIN}};
    if (session->client.fd < 0) { /* poll ignores a negative descriptor */
        session->screen.is_lost = client_open(&session->client, session->address, "events") != 0;
        ready[1].fd = session->client.fd;
    }
    draw(session);
    const int count = poll(ready, 2, session->client.fd < 0 ? RETRY_MS : REDRAW_MS);
    if (count < 0 && errno != EINTR) {
        return false;
    }
    if (count > 0 && (ready[0].revents & (POLLHUP | POLLERR | POLLNVAL)) != 0) {
        return false;
    }
    if (count > 0 && ready[1].revents != 0) {
        hear(session);
    }
    return press_keys(session) && is_ended == 0;
}

int look_on_terminal(const struct client_address *address) {
    struct session session = {.address = address, .look = look_of_stdout()};
    session.look.is_terminal = true; /* NO_COLOR means no colours; the cursor may still move */
    int error = client_open(&session.client, address, "events");
    if (error != 0) {
        return error;
    }
    /* Receives before the screen changes, so that a wrong token is reported at once. */
    error = client_receive(&session.client);
    if (error > 0) {
        error = terminal_begin();
        end_on_signals();
        while (error == 0 && go_on(&session)) {
        }
        terminal_end();
    } else {
        error = error == 0 ? -EPROTO : error;
    }
    client_close(&session.client);
    value_free(session.store);
    return error;
}
