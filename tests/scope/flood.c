/* SPDX-License-Identifier: MIT */
/*
 * A thousand bad clients: half requests, a byte a second, resets, nonsense, readers that do not read. Timers go on
 * meanwhile, scope still answers, and no memory is left behind (V3). The test floods and rests in turn, and prints how
 * late the timers were in both cases. VERGE_TEST_SECONDS=60 floods for a minute. The clients use the same processors
 * as scope and the timers. So that they do not delay the timers themselves, they run in a process of the lowest
 * priority.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdatomic.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "scope/peer.h"
#include "support/allocator.h"
#include "support/random.h"

enum { BAD_COUNT = 1000, TIMER_COUNT = 1000, TURNS = 4, RECORDS_MAX = 2 << 20 };

/* How late timers were. */
struct record {
    atomic_size_t count;
    uint32_t late_ns[RECORDS_MAX];
};

static struct record records[2]; /* [0]: without the flood; [1]: during the flood */
static _Atomic(struct record *) recording;

static void ring(const verge_firing *firing) {
    struct record *record = atomic_load(&recording);
    if (record != NULL) {
        const size_t place = atomic_fetch_add(&record->count, 1);
        const uint64_t late_ns = firing->actual_ns - firing->scheduled_ns;
        if (place < RECORDS_MAX) {
            record->late_ns[place] = late_ns < UINT32_MAX ? (uint32_t)late_ns : UINT32_MAX;
        }
    }
}

static int compare(const void *left, const void *right) {
    const uint32_t *a = left, *b = right;
    return *a < *b ? -1 : *a > *b;
}

static void print_lateness(void) {
    double ms[2][2];
    for (size_t i = 0; i < 2; i++) {
        const size_t count = records[i].count < RECORDS_MAX ? records[i].count : RECORDS_MAX;
        assert_true(count > 0); /* timers went on */
        qsort(records[i].late_ns, count, sizeof(uint32_t), compare);
        const size_t middle = count / 2;
        const size_t near_last = count * 99 / 100;
        ms[i][0] = records[i].late_ns[middle] / 1e6;
        ms[i][1] = records[i].late_ns[near_last] / 1e6;
    }
    print_message("late, without the flood: median %.3f ms, 99 %% %.3f ms; with it: %.3f ms, %.3f ms (%+.1f %%)\n",
                  ms[0][0], ms[0][1], ms[1][0], ms[1][1], (ms[1][1] / ms[0][1] - 1) * 100);
}

enum habit { HALF, DRIP, RESET, NONSENSE, DEAF, HABIT_COUNT };

struct bad {
    int fd; /* -1: not connected */
    enum habit habit;
    uint64_t next_ns;
    size_t sent;
};

static const char request[] = "GET /" TOKEN "/events HTTP/1.1\r\nHost: localhost\r\n\r\n";

static void hang_up(struct bad *bad) {
    const struct linger at_once = {.l_onoff = 1};
    if (bad->habit == RESET) {
        (void)setsockopt(bad->fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once));
    }
    (void)close(bad->fd);
    bad->fd = -1;
}

static void begin_bad(struct bad *bad, uint16_t port, struct verge_test_random *random) {
    bad->habit = (enum habit)verge_test_below(random, HABIT_COUNT);
    bad->sent = 0;
    bad->fd = peer_connect(port);
    if (bad->fd >= 0) {
        (void)fcntl(bad->fd, F_SETFL, O_NONBLOCK);
    }
}

/* Does one bad thing, after which the client waits for a while. Returns false if the client is to hang up. */
static bool misbehave(struct bad *bad, struct verge_test_random *random) {
    char nonsense[64];
    switch (bad->habit) {
    case HALF:
        return bad->sent != 0 || send(bad->fd, request, bad->sent = 20, MSG_NOSIGNAL) > 0;
    case DRIP:
        return bad->sent < sizeof(request) - 1 && send(bad->fd, request + bad->sent++, 1, MSG_NOSIGNAL) > 0;
    case RESET:
        (void)!send(bad->fd, request, 1 + (size_t)verge_test_below(random, sizeof(request) - 1), MSG_NOSIGNAL);
        return false;
    case NONSENSE:
        for (size_t i = 0; i < sizeof(nonsense); i++) {
            nonsense[i] = (char)verge_test_next(random);
        }
        return send(bad->fd, nonsense, sizeof(nonsense), MSG_NOSIGNAL) > 0;
    default: /* asks for events, and does not read them */
        return bad->sent != 0 || send(bad->fd, request, bad->sent = sizeof(request) - 1, MSG_NOSIGNAL) > 0;
    }
}

static void flood(uint16_t port, uint64_t until_ns, struct verge_test_random *random) {
    static struct bad bads[BAD_COUNT];
    for (size_t i = 0; i < BAD_COUNT; i++) {
        bads[i].fd = -1;
    }
    while (peer_now() < until_ns) {
        const uint64_t now_ns = peer_now();
        for (size_t i = 0; i < BAD_COUNT; i++) {
            struct bad *bad = &bads[i];
            if (bad->next_ns > now_ns) {
                continue;
            }
            bad->next_ns = now_ns + SECOND / 2 + verge_test_below(random, SECOND);
            if (bad->fd < 0) {
                begin_bad(bad, port, random);
            } else if (!misbehave(bad, random)) {
                hang_up(bad);
            }
        }
        peer_pause(5 * MS);
    }
}

/* Floods from another process. The end of that process closes all connections. */
static void flood_for(uint16_t port, uint64_t duration_ns, uint64_t seed) {
    const pid_t child = fork();
    if (child == 0) {
        struct verge_test_random random = verge_test_random_from(seed);
        (void)setpriority(PRIO_PROCESS, 0, 19);
        flood(port, peer_now() + duration_ns, &random);
        _exit(0);
    }
    int status = -1;
    assert_true(child > 0);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
}

static void bad_clients_harm_nothing(void **state) {
    (void)state;
    const uint64_t turn_ns = (uint64_t)(verge_test_seconds(3) * 1e9 / (int)TURNS);
    const uint64_t seed = verge_test_seed(1);
    struct verge_test_allocator memory;
    verge_service *service = NULL;
    struct rlimit limit;
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
    limit.rlim_cur = limit.rlim_max < 4096 ? limit.rlim_max : 4096;
    (void)setrlimit(RLIMIT_NOFILE, &limit);
    verge_test_allocator_init(&memory);
    assert_int_equal(verge_service_create(NULL, &service), 0);
    for (uint64_t i = 0; i < TIMER_COUNT; i++) {
        verge_start_options options = {.struct_size = sizeof(options)};
        options.callback = ring;
        options.deadline_ns = verge_service_exact_now(service) + i * MS / 10;
        options.period_ns = 100 * MS;
        assert_int_equal(verge_service_start_with(service, &options, NULL), 0);
    }
    verge_scope *scope = peer_scope(service, &memory.allocator);
    const uint16_t port = peer_port(scope);
    for (uint64_t turn = 0; turn < TURNS; turn++) {
        atomic_store(&recording, &records[0]);
        peer_pause(turn_ns);
        atomic_store(&recording, &records[1]);
        flood_for(port, turn_ns, seed + turn);
        atomic_store(&recording, NULL);
        peer_pause(turn_ns / 4);
    }
    while (peer_status(peer_ask(port, "GET", "/" TOKEN "/", "")) != 200) { /* until there is a place for this client */
        peer_pause(10 * MS);
    }
    assert_int_equal(verge_scope_destroy(scope), 0);
    verge_test_allocator_assert_empty(&memory);
    assert_int_equal(verge_service_destroy(service, NULL, NULL), 0);
    print_lateness();
}

static void start_many_sources(verge_service *service) {
    static char labels[200][16];
    for (size_t i = 0; i < sizeof(labels) / sizeof(*labels); i++) {
        verge_start_options options = {.struct_size = sizeof(options)};
        (void)snprintf(labels[i], sizeof(labels[i]), "label %zu", i);
        options.callback = ring;
        options.label = labels[i];
        options.deadline_ns = verge_service_exact_now(service) + HOUR;
        assert_int_equal(verge_service_start_with(service, &options, NULL), 0);
    }
}

/* A client that asks for events and does not read is dropped, and the memory for it is bounded. A client that says
 * nothing, or only half a request, is dropped too. */
static void who_does_not_read_is_dropped(void **state) {
    (void)state;
    verge_service *service = NULL;
    struct verge_test_allocator memory;
    verge_test_allocator_init(&memory);
    assert_int_equal(verge_service_create(NULL, &service), 0);
    start_many_sources(service); /* this makes each event long, so that the buffers of sockets are full soon */
    verge_scope *scope = peer_scope(service, &memory.allocator);
    const int size = 4096;
    int fds[VERGE_SCOPE_CLIENTS_MAX];
    for (size_t i = 0; i < VERGE_SCOPE_CLIENTS_MAX; i++) {
        fds[i] = peer_connect(peer_port(scope));
        (void)setsockopt(fds[i], SOL_SOCKET, SO_RCVBUF, &size, sizeof(size));
        if (i > 0) { /* the first one says nothing, the second one too little */
            const size_t length = i == 1 ? 20 : sizeof(request) - 1;
            assert_int_equal(send(fds[i], request, length, MSG_NOSIGNAL), length);
        }
    }
    const char *answer = NULL;
    const uint64_t until_ns = peer_now() + 300 * SECOND;
    do { /* until the client that asks is the only one left */
        assert_true(peer_now() < until_ns);
        peer_pause(100 * MS);
        answer = peer_ask(peer_port(scope), "GET", "/" TOKEN "/snapshot", "");
    } while (peer_status(answer) != 200 || strstr(answer, "\"clients\":1,") == NULL);
    for (size_t i = 0; i < VERGE_SCOPE_CLIENTS_MAX; i++) {
        (void)close(fds[i]);
    }
    assert_int_equal(verge_scope_destroy(scope), 0);
    assert_true(memory.bytes_in_use_max < 8 << 20);
    verge_test_allocator_assert_empty(&memory);
    assert_int_equal(verge_service_destroy(service, NULL, NULL), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bad_clients_harm_nothing),
        cmocka_unit_test(who_does_not_read_is_dropped),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
