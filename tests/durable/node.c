/* SPDX-License-Identifier: MIT */
/*
 * A node in a process of its own, which the tests kill, stop and give a wrong clock: durable_node URL FOLDER COUNT.
 *
 * It starts COUNT timers, one in eight for the handler outside and the others for ledger. It also starts timers that it
 * cancels or moves. It writes the ids of promised timers to FOLDER/promised and FOLDER/promised_outside, and those of
 * cancelled ones to FOLDER/cancelled. It runs until SIGTERM, and then closes. Handlers:
 *   ledger   writes a row in the transaction that fires it
 *   outside  writes a line to FOLDER/outside, without a transaction
 *   killer   kills its process
 *   stopper  writes a row, and stops its process in the transaction, unless the file FOLDER/stopped exists
 * VERGE_TEST_CLOCK_OFFSET_S: by how much this process's clock is wrong.
 */
#define _GNU_SOURCE

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "durable/support.h"

static const char *folder;

/* ---- a clock that is wrong ---- */

int __real_clock_gettime(clockid_t clock, struct timespec *time);
int __wrap_clock_gettime(clockid_t clock, struct timespec *time);

int __wrap_clock_gettime(clockid_t clock, struct timespec *time) {
    const char *offset = getenv("VERGE_TEST_CLOCK_OFFSET_S");
    const int result = __real_clock_gettime(clock, time);
    if (clock == CLOCK_REALTIME && offset != NULL) {
        time->tv_sec += strtol(offset, NULL, 10);
    }
    return result;
}

/* ---- handlers ---- */

static void note(const char *name, uint64_t id) {
    char path[300];
    char line[32];
    (void)snprintf(path, sizeof(path), "%s/%s", folder, name);
    const int fd = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
    const int length = snprintf(line, sizeof(line), "%llu\n", (unsigned long long)id);
    if (fd < 0 || write(fd, line, (size_t)length) != length) {
        abort();
    }
    (void)close(fd);
}

static verge_durable_verdict ledger(const verge_durable_firing *firing) {
    char text[200];
    /* The time of the store, not of this process. */
    char now[32];
    (void)snprintf(now, sizeof(now), "%llu", (unsigned long long)firing->now_ns);
    (void)snprintf(text, sizeof(text), "INSERT INTO ledger (id, due, at) VALUES (%llu, %llu, %s)",
                   (unsigned long long)firing->id, (unsigned long long)firing->due_ns,
                   durable_is_postgres() ? "(extract(epoch FROM clock_timestamp()) * 1000000000)::bigint" : now);
    return sql_run(verge_durable_transaction(firing), text) == 0 ? VERGE_DURABLE_DONE : VERGE_DURABLE_RETRY;
}

static verge_durable_verdict outside(const verge_durable_firing *firing) {
    note(firing->now_ns < firing->due_ns ? "early" : "outside", firing->id);
    return VERGE_DURABLE_DONE;
}

static verge_durable_verdict killer(const verge_durable_firing *firing) {
    (void)firing;
    (void)raise(SIGKILL);
    return VERGE_DURABLE_DONE;
}

static verge_durable_verdict stopper(const verge_durable_firing *firing) {
    const verge_durable_verdict verdict = ledger(firing);
    char path[300];
    (void)snprintf(path, sizeof(path), "%s/stopped", folder);
    if (access(path, F_OK) != 0) {
        note("stopped", firing->id);
        (void)kill(getpid(), SIGSTOP);
    }
    return verdict;
}

/* ---- the node ---- */

static void register_with(verge_durable *durable, const char *name, verge_durable_handler handler, bool is_outside) {
    verge_durable_handler_options options;
    (void)verge_durable_handler_options_init(&options, sizeof(options));
    options.outside = is_outside;
    options.run_ns = 500 * MS; /* if the process is killed, its claims end after this time */
    options.attempts_max = 4;
    options.backoff_first_ns = options.backoff_max_ns = 10 * MS;
    if (handler == ledger || handler == outside) {
        options.attempts_max = 0;
    }
    if (verge_durable_register(durable, name, handler, NULL, &options) != 0) {
        abort();
    }
}

int main(int argc, char **argv) {
    sigset_t end;
    int signal_number;
    (void)sigemptyset(&end);
    (void)sigaddset(&end, SIGTERM);
    (void)pthread_sigmask(SIG_BLOCK, &end, NULL);
    if (argc != 4) {
        return 2;
    }
    folder = argv[2];
    verge_durable_options options = durable_options(argv[1]);
    options.lease_ns = 400 * MS;
    options.rescan_ns = 60 * MS;
    options.horizon_ns = S;
    options.batch = 16;
    verge_durable *durable = NULL;
    int error = verge_durable_open(&options, &durable);
    for (int i = 0; i < 600 && error == -EHOSTUNREACH; i++) { /* a busy server may be too slow for so short a lease */
        durable_nap(100);
        error = verge_durable_open(&options, &durable);
    }
    if (error != 0) {
        (void)fprintf(stderr, "durable_node: %s\n", verge_strerror(error));
        return 1;
    }
    register_with(durable, "ledger", ledger, false);
    register_with(durable, "outside", outside, true);
    register_with(durable, "killer", killer, false);
    register_with(durable, "stopper", stopper, false);
    const int count = (int)strtol(argv[3], NULL, 10);
    for (int i = 0; i < count; i++) {
        const verge_durable_request request = {
            .handler = i % 8 == 7 ? "outside" : "ledger",
            .delay_ns = (uint64_t)(i % 10) * 10 * MS,
        };
        verge_durable_id id = 0;
        error = verge_durable_start(durable, &request, &id);
        if (error == 0) {
            note(i % 8 == 7 ? "promised_outside" : "promised", id);
            /* Starts timers that are cancelled or moved, too. If the cancel returns 0, the timer must not run. */
            const verge_durable_request far = {.handler = "ledger", .delay_ns = 200 * MS};
            if (i % 5 == 0 && verge_durable_start(durable, &far, &id) == 0) {
                const int verdict = verge_durable_cancel(durable, id);
                if (verdict == 0) {
                    note("cancelled", id);
                }
            } else if (i % 5 == 1 && verge_durable_start(durable, &far, &id) == 0 &&
                       verge_durable_reset(durable, id, verge_durable_now(durable) + 5 * MS) == 0) {
                note("promised", id);
            }
        }
    }
    (void)sigwait(&end, &signal_number);
    return verge_durable_close(durable, 60 * S) == 0 ? 0 : 1;
}
