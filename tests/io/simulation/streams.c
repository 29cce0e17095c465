/* SPDX-License-Identifier: MIT */
/*
 * Sockets and pipes between players. The bytes of a direction are numbered, so that a lost, doubled or misplaced byte
 * is found. One player at a time writes to a direction, and one reads. N1 to N4.
 */
#define _GNU_SOURCE

#include <sys/un.h>

#include "io/simulation/world.h"

enum { STREAM_COUNT = 5, BUFFER_SIZE = 6000, DOOR_QUEUE = 2 };

struct direction {
    int from, to;
    uint64_t written, read;
    uint32_t key; /* the bytes of the direction are computed from it */
    bool is_writing, is_reading;
    bool is_shut; /* the writer has shut down its side */
    bool is_deaf; /* the reader has shut down its side: writes return -EPIPE */
    bool is_socket;
    bool is_uncertain; /* I/O was lost while a kernel thread may have been at work on this direction (N5) */
};

struct stream {
    struct direction directions[2]; /* a pipe has one */
    bool is_pipe;
};

static struct stream streams[STREAM_COUNT];
static uint32_t next_key;

static struct {
    int fd;
    struct sockaddr_un address;
    socklen_t address_size;
    uint64_t attempts, under_way, connected, accepted;
} door;

static char byte_at(const struct direction *direction, uint64_t offset) {
    return (char)((offset + direction->key) * 0x9E3779B1 >> 24);
}

/* ---- open and close ---- */

/* Whether files must be O_NONBLOCK. Otherwise io_uring sometimes hands them to kernel threads, which the simulation
 * cannot step. */
static bool must_not_block(void) {
    return chance(2) || world->is_exact;
}

static void open_stream(struct stream *stream) {
    int fds[2] = {-1, -1};
    memset(stream, 0, sizeof(*stream));
    stream->is_pipe = chance(3);
    const int flags = must_not_block() ? O_NONBLOCK : 0;
    if (stream->is_pipe) {
        CHECK_EQUAL(pipe2(fds, flags | O_CLOEXEC), 0);
        (void)fcntl(fds[0], F_SETPIPE_SZ, 4096);
    } else {
        int type = SOCK_STREAM | SOCK_CLOEXEC | (flags != 0 ? SOCK_NONBLOCK : 0);
        CHECK_EQUAL(socketpair(AF_UNIX, type, 0, fds), 0);
        const int size = 4096; /* small, so that there are short writes */
        CHECK_EQUAL(setsockopt(fds[0], SOL_SOCKET, SO_SNDBUF, &size, sizeof(size)), 0);
        CHECK_EQUAL(setsockopt(fds[1], SOL_SOCKET, SO_SNDBUF, &size, sizeof(size)), 0);
    }
    for (int i = 0; i < 2; i++) {
        stream->directions[i] =
            (struct direction){.from = fds[1 - i], .to = fds[i], .key = next_key++, .is_socket = !stream->is_pipe};
    }
}

static void open_door(void) {
    memset(&door, 0, sizeof(door));
    door.address.sun_family = AF_UNIX;
    door.fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | (must_not_block() ? SOCK_NONBLOCK : 0), 0);
    CHECK_EQUAL(bind(door.fd, (struct sockaddr *)&door.address, sizeof(sa_family_t)), 0); /* the kernel finds a name */
    CHECK_EQUAL(listen(door.fd, DOOR_QUEUE), 0);
    door.address_size = sizeof(door.address);
    CHECK_EQUAL(getsockname(door.fd, (struct sockaddr *)&door.address, &door.address_size), 0);
}

void open_streams(void) {
    next_key = (uint32_t)below(1000);
    for (size_t i = 0; i < STREAM_COUNT; i++) {
        open_stream(&streams[i]);
    }
    open_door();
}

static void note_loss(struct direction *direction, int64_t result) {
    direction->is_uncertain |= result < 0 && result == world->io_error && is_uring();
}

static void check_bytes(const struct direction *direction, const char *bytes, uint64_t size) {
    uint64_t wrong = 0;
    for (uint64_t i = 0; i < size; i++) {
        wrong += bytes[i] != byte_at(direction, direction->read + i);
    }
    CHECK_EQUAL(wrong, 0);
}

/* Reads all that is left in a direction: bytes that were written and not read must still be there. */
static void drain(struct direction *direction) {
    char buffer[BUFFER_SIZE];
    ssize_t size;
    CHECK_EQUAL(fcntl(direction->to, F_SETFL, O_NONBLOCK), 0);
    while ((size = read(direction->to, buffer, sizeof(buffer))) > 0 && !direction->is_uncertain) {
        check_bytes(direction, buffer, (uint64_t)size);
        direction->read += (uint64_t)size;
    }
    CHECK(direction->is_uncertain || direction->read == direction->written);
}

static void drain_stream(struct stream *stream) {
    drain(&stream->directions[0]);
    if (!stream->is_pipe) {
        drain(&stream->directions[1]);
    }
}

static void reopen_stream(const struct player *self, struct stream *stream) {
    for (int i = 0; i < 2; i++) {
        if (stream->directions[i].is_writing || stream->directions[i].is_reading) {
            return;
        }
    }
    drain_stream(stream);
    stream->directions[0].is_writing = stream->directions[0].is_reading = true; /* nobody else may use it now */
    stream->directions[1].is_writing = stream->directions[1].is_reading = true;
    stream->directions[0].is_deaf = stream->directions[1].is_deaf = true;
    CHECK_EQUAL(verge_close(stream->directions[0].from), 0); /* close succeeds even for a cancelled player */
    CHECK_EQUAL(verge_close(stream->directions[0].to), 0);
    open_stream(stream);
    log_event(self, "reopen", stream->directions[0].to);
}

/* ---- reading ---- */

static ptrdiff_t read_somehow(const struct direction *direction, char *buffer, size_t size, uint64_t deadline_ns,
                              bool *ret_peeks) {
    const size_t half = size / 2;
    const struct iovec parts[] = {{.iov_base = buffer, .iov_len = half},
                                  {.iov_base = buffer + half, .iov_len = size - half}};
    struct msghdr message = {.msg_iov = (struct iovec *)(uintptr_t)parts, .msg_iovlen = 2};
    size_t done = 0;
    int error;
    switch (below(direction->is_socket ? 6 : 3)) {
    case 0:
        return verge_read(direction->to, buffer, size, deadline_ns);
    case 1:
        return verge_readv(direction->to, parts, 2, deadline_ns);
    case 2:
        error = verge_read_all(direction->to, buffer, size, &done, deadline_ns);
        return done != 0 || error == 0 ? (ptrdiff_t)done : error == -ENODATA ? 0 : error;
    case 3:
        return verge_recvmsg(direction->to, &message, 0, deadline_ns);
    case 4:
        return verge_recv(direction->to, buffer, size, chance(2) ? MSG_WAITALL : 0, deadline_ns);
    default:
        *ret_peeks = chance(2);
        return verge_recv(direction->to, buffer, size, *ret_peeks ? MSG_PEEK : 0, deadline_ns);
    }
}

static void read_from(struct player *self, struct direction *direction) {
    if (direction->is_reading) {
        return;
    }
    char *buffer = malloc(BUFFER_SIZE); /* on the heap, so that a sanitizer finds a write after the call */
    CHECK(buffer != NULL);
    const size_t size = 1 + below(chance(2) ? 10 : BUFFER_SIZE);
    bool peeks = false;
    direction->is_reading = true;
    const uint64_t deadline_ns = random_deadline();
    const struct before before = before_call(self, deadline_ns);
    const bool has_bytes = direction->written > direction->read;
    const ptrdiff_t result = read_somehow(direction, buffer, size, deadline_ns, &peeks);
    direction->is_reading = false;
    note_loss(direction, result);
    if (has_bytes && before.is_over) {
        CHECK(result != -ETIMEDOUT && result != -ECANCELED); /* N3 */
    }
    if (result > 0) {
        CHECK((size_t)result <= size);
        check_bytes(direction, buffer, (uint64_t)result);
        direction->read += peeks ? 0 : (uint64_t)result;
    } else if (result == 0) {
        CHECK(direction->is_shut || direction->is_deaf);
        CHECK(direction->is_writing || direction->read == direction->written);
    }
    free(buffer);
    after_call(self, "read", &before, result, FOR_IO);
}

/* ---- writing ---- */

static ptrdiff_t write_somehow(const struct direction *direction, const char *buffer, size_t size,
                               uint64_t deadline_ns) {
    const size_t half = size / 2;
    char *bytes = (char *)(uintptr_t)buffer;
    const struct iovec parts[] = {{.iov_base = bytes, .iov_len = half},
                                  {.iov_base = bytes + half, .iov_len = size - half}};
    const struct msghdr message = {.msg_iov = (struct iovec *)(uintptr_t)parts, .msg_iovlen = 2};
    size_t done = 0;
    int error;
    switch (below(direction->is_socket ? 6 : 3)) {
    case 0:
        return verge_write(direction->from, buffer, size, deadline_ns);
    case 1:
        return verge_writev(direction->from, parts, 2, deadline_ns);
    case 2:
        error = verge_write_all(direction->from, buffer, size, &done, deadline_ns);
        return done != 0 || error == 0 ? (ptrdiff_t)done : error;
    case 3:
        return verge_sendmsg(direction->from, &message, 0, deadline_ns);
    case 4:
        error = verge_send_all(direction->from, buffer, size, 0, &done, deadline_ns);
        return done != 0 || error == 0 ? (ptrdiff_t)done : error;
    default:
        return verge_send(direction->from, buffer, size, 0, deadline_ns);
    }
}

static void write_to(struct player *self, struct direction *direction) {
    if (direction->is_writing || direction->is_shut) {
        return;
    }
    char *buffer = malloc(BUFFER_SIZE);
    CHECK(buffer != NULL);
    const size_t size = 1 + below(chance(2) ? 10 : BUFFER_SIZE);
    for (size_t i = 0; i < size; i++) {
        buffer[i] = byte_at(direction, direction->written + i);
    }
    direction->is_writing = true;
    const uint64_t deadline_ns = random_deadline();
    const struct before before = before_call(self, deadline_ns);
    const uint64_t written_before = direction->written;
    const ptrdiff_t result = write_somehow(direction, buffer, size, deadline_ns);
    direction->is_writing = false;
    note_loss(direction, result);
    direction->written = written_before + (result > 0 ? (uint64_t)result : 0);
    CHECK(result != 0 && result <= (ptrdiff_t)size);
    free(buffer);
    if (result == -EPIPE && direction->is_deaf) {
        log_event(self, "nobody reads", 0);
    } else {
        after_call(self, "write", &before, result, FOR_IO);
    }
}

/* Whether a direction may be shut down. A task that waits to write to a peer that has shut down takes naps, which the
 * simulation does not step. */
static bool may_shut(const struct direction *direction) {
    return direction->is_socket && !(world->is_exact && is_uring());
}

static void shut(const struct player *self, struct direction *direction) {
    if (may_shut(direction) && !direction->is_writing && !direction->is_shut) {
        direction->is_shut = true;
        CHECK_EQUAL(shutdown(direction->from, SHUT_WR), 0);
        log_event(self, "shut", direction->from);
    }
}

/* Shuts down the reader's side. Bytes that were written can still be read. */
static void deafen(const struct player *self, struct direction *direction) {
    if (may_shut(direction) && !direction->is_deaf) {
        direction->is_deaf = true;
        CHECK_EQUAL(shutdown(direction->to, SHUT_RD), 0);
        log_event(self, "deafen", direction->to);
    }
}

/* ---- waiting for events ---- */

static void poll_for(struct player *self, struct direction *direction) {
    if (direction->is_reading) {
        return;
    }
    direction->is_reading = true;
    const uint64_t deadline_ns = random_deadline();
    const struct before before = before_call(self, deadline_ns);
    const int result = verge_poll(direction->to, POLLIN, deadline_ns);
    direction->is_reading = false;
    CHECK(result < 0 || (result & POLLIN) != 0);
    CHECK(result < 0 || direction->is_shut || direction->is_deaf || direction->is_writing ||
          direction->read < direction->written);
    after_call(self, "poll", &before, result, FOR_IO);
}

/* ---- connections ---- */

/* Whether a player may connect. If the queue is full, io_uring may try for any time without success. */
static bool may_connect(void) {
    return !world->is_exact || !is_uring() || door.connected + door.under_way - door.accepted < DOOR_QUEUE;
}

static void connect_to_door(struct player *self) {
    if (!may_connect()) {
        return;
    }
    const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | (must_not_block() ? SOCK_NONBLOCK : 0), 0);
    CHECK(fd >= 0);
    const uint64_t deadline_ns = random_deadline();
    const struct before before = before_call(self, deadline_ns);
    door.attempts++;
    door.under_way++;
    const int result = verge_connect(fd, (struct sockaddr *)&door.address, door.address_size, deadline_ns);
    door.under_way--;
    door.connected += result == 0;
    if (result == -ECONNREFUSED) { /* the queue is full */
        log_event(self, "refused", 0);
    } else {
        after_call(self, "connect", &before, result, FOR_IO);
    }
    CHECK_EQUAL(verge_close(fd), 0);
}

static void accept_at_door(struct player *self) {
    const uint64_t deadline_ns = random_deadline();
    const struct before before = before_call(self, deadline_ns);
    const int fd = verge_accept(door.fd, NULL, NULL, SOCK_CLOEXEC, deadline_ns);
    if (fd >= 0) {
        door.accepted++;
        CHECK_EQUAL(verge_close(fd), 0);
    }
    after_call(self, "accept", &before, fd < 0 ? fd : 0, FOR_IO);
}

/* ---- all of it ---- */

void use_stream(struct player *self) {
    struct stream *stream = &streams[below(STREAM_COUNT)];
    struct direction *direction = &stream->directions[stream->is_pipe ? 0 : below(2)];
    const uint64_t choice = below(40);
    if (choice < 16) {
        read_from(self, direction);
    } else if (choice < 32) {
        write_to(self, direction);
    } else if (choice < 34) {
        poll_for(self, direction);
    } else if (choice < 35) {
        if (chance(2)) {
            shut(self, direction);
        } else {
            deafen(self, direction);
        }
    } else if (choice < 36) {
        reopen_stream(self, stream);
    } else if (choice < 38) {
        connect_to_door(self);
    } else {
        accept_at_door(self);
    }
}

void audit_streams(void) {
    for (size_t i = 0; i < STREAM_COUNT; i++) {
        const struct direction *direction = &streams[i].directions[0];
        drain_stream(&streams[i]);
        CHECK_EQUAL(close(direction->from) + close(direction->to), 0);
    }
    CHECK_EQUAL(fcntl(door.fd, F_SETFL, O_NONBLOCK), 0);
    for (int fd = accept(door.fd, NULL, NULL); fd >= 0; fd = accept(door.fd, NULL, NULL)) {
        door.accepted++;
        CHECK_EQUAL(close(fd), 0);
    }
    CHECK(door.connected <= door.accepted && door.accepted <= door.attempts);
    CHECK_EQUAL(close(door.fd), 0);
}
