/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE /* SOCK_CLOEXEC */
#include "stress/tasks.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include <verge/io.h>
#include <verge/task.h>

#include "output/text.h"
#include "random.h"
#include "soak/faulty_allocator.h"
#include "spawn.h"

#define US UINT64_C(1000)
#define MS (1000 * US)
#define SECOND (1000 * MS)

enum { STREAM_COUNT = 48, STREAMS_PER_WRITER = 6, WRITER_COUNT = STREAM_COUNT / STREAMS_PER_WRITER, BUFFER_SIZE = 512 };

/* A runtime has a limit on how many workers it ever has, and so has a round. */
enum { WORKERS_OF_A_ROUND = VERGE_RUNTIME_WORKERS_MAX - 10 };

static const uint64_t round_ns = 2 * SECOND;
static const uint64_t deadline_max_ns = 2 * MS;
static const uint64_t busy_max_ns = 100 * US;
static const unsigned hung_after_s = 60;

enum finding { FINDING_BYTES, FINDING_EARLY, FINDING_END, FINDING_ERROR, FINDING_LOST, FINDING_COUNT };

static const char *const finding_texts[] = {
    [FINDING_BYTES] = "every byte that was read is the next one that was written",
    [FINDING_EARLY] = "no call timed out before its deadline",
    [FINDING_END] = "no read returned 0 before the end of its stream",
    [FINDING_ERROR] = "no call had an error but -ETIMEDOUT",
    [FINDING_LOST] = "all bytes that were written were read",
};

struct stream {
    struct round *round;
    int reader_fd, writer_fd;
    uint64_t written, read;
    uint64_t random; /* used by the reader */
    atomic_bool is_shut;
    atomic_bool has_ended;
    _Atomic(uint64_t) progress; /* how often the reader has gone through its loop */
    uint64_t reads, writes, timeouts;
};

struct writer {
    struct round *round;
    struct stream *streams; /* STREAMS_PER_WRITER of them */
    uint64_t random;
    uint64_t timeouts;
};

struct round {
    const struct tasks_options *options;
    struct tasks_result *result;
    verge_runtime *runtime;
    uint64_t random;
    uint64_t end_ns;
    atomic_bool must_end;
    _Atomic(uint64_t) *findings;
    _Atomic(int) error; /* the first error that was found */
    struct stream streams[STREAM_COUNT];
    struct writer writers[WRITER_COUNT];
    uint32_t workers[WORKERS_OF_A_ROUND]; /* workers that may be retired */
    uint32_t worker_count, workers_begun;
};

static uint64_t now(void) {
    const verge_clock clock = verge_clock_monotonic();
    return clock.now_ns(clock.context);
}

static void find(struct round *round, enum finding finding, int64_t error) {
    int none = 0;
    (void)atomic_fetch_add(&round->findings[finding], 1);
    (void)atomic_compare_exchange_strong(&round->error, &none, (int)error);
}

static uint8_t byte_at(uint64_t offset) {
    return (uint8_t)(offset * 0x9E3779B1 >> 24);
}

static void be_busy(uint64_t *random) {
    const uint64_t end_ns = now() + random_below(random, busy_max_ns);
    while (now() < end_ns) {
    }
}

/* Returns whether a call has timed out. A timeout before the deadline is a finding, and so is any other error. */
static bool has_timed_out(struct round *round, int64_t result, uint64_t deadline_ns) {
    if (result == -ETIMEDOUT && verge_now() < deadline_ns) {
        find(round, FINDING_EARLY, 0);
    } else if (result < 0 && result != -ETIMEDOUT) {
        find(round, FINDING_ERROR, result);
    }
    return result == -ETIMEDOUT;
}

/* ---- readers ---- */

static void take_bytes(struct stream *stream, const uint8_t *bytes, int64_t size) {
    for (int64_t i = 0; i < size; i++) {
        if (bytes[i] != byte_at(stream->read + (uint64_t)i)) {
            find(stream->round, FINDING_BYTES, 0);
            break;
        }
    }
    stream->read += (uint64_t)size;
}

static void read_some(struct stream *stream) {
    uint8_t bytes[BUFFER_SIZE];
    const size_t size = 1 + (size_t)random_below(&stream->random, sizeof(bytes));
    const uint64_t deadline_ns = verge_deadline_after(random_below(&stream->random, deadline_max_ns));
    const ptrdiff_t result = random_below(&stream->random, 2) == 0
                                 ? verge_read(stream->reader_fd, bytes, size, deadline_ns)
                                 : verge_recv(stream->reader_fd, bytes, size, 0, deadline_ns);
    stream->timeouts += has_timed_out(stream->round, result, deadline_ns) ? 1 : 0;
    stream->reads++;
    if (result > 0) {
        take_bytes(stream, bytes, result);
    } else if (result != -ETIMEDOUT) {
        if (result == 0 && !atomic_load(&stream->is_shut)) {
            find(stream->round, FINDING_END, 0);
        }
        atomic_store(&stream->has_ended, true);
    }
}

static void wait_for_bytes(struct stream *stream) {
    const uint64_t deadline_ns = verge_deadline_after(random_below(&stream->random, deadline_max_ns));
    const int result = verge_poll(stream->reader_fd, POLLIN, deadline_ns);
    stream->timeouts += has_timed_out(stream->round, result, deadline_ns) ? 1 : 0;
}

static intptr_t be_a_reader(void *argument) {
    struct stream *stream = argument;
    while (!atomic_load(&stream->has_ended)) {
        switch (random_below(&stream->random, 16)) {
        case 0:
            wait_for_bytes(stream);
            break;
        case 1:
            (void)verge_yield();
            break;
        case 2:
            be_busy(&stream->random);
            break;
        case 3:
            (void)verge_sleep(random_below(&stream->random, deadline_max_ns));
            break;
        default:
            read_some(stream);
        }
        (void)atomic_fetch_add_explicit(&stream->progress, 1, memory_order_relaxed);
    }
    return 0;
}

/* ---- writers ---- */

static void write_some(struct writer *writer, struct stream *stream) {
    uint8_t bytes[BUFFER_SIZE];
    const size_t size = 1 + (size_t)random_below(&writer->random, sizeof(bytes));
    for (size_t i = 0; i < size; i++) {
        bytes[i] = byte_at(stream->written + i);
    }
    const uint64_t deadline_ns = verge_deadline_after(random_below(&writer->random, deadline_max_ns));
    const ptrdiff_t result = verge_write(stream->writer_fd, bytes, size, deadline_ns);
    writer->timeouts += has_timed_out(writer->round, result, deadline_ns) ? 1 : 0;
    stream->written += result > 0 ? (uint64_t)result : 0;
    stream->writes++;
}

/* Makes several readers ready at once, so that other workers have something to steal. */
static intptr_t be_a_writer(void *argument) {
    struct writer *writer = argument;
    while (!atomic_load(&writer->round->must_end)) {
        const bool is_for_all = random_below(&writer->random, 2) == 0;
        for (size_t i = 0; i < STREAMS_PER_WRITER; i++) {
            if (is_for_all || random_below(&writer->random, 3) == 0) {
                write_some(writer, &writer->streams[i]);
            }
        }
        if (random_below(&writer->random, 4) == 0) {
            be_busy(&writer->random);
        } else {
            (void)verge_sleep(random_below(&writer->random, deadline_max_ns));
        }
    }
    for (size_t i = 0; i < STREAMS_PER_WRITER; i++) {
        atomic_store(&writer->streams[i].is_shut, true);
        (void)shutdown(writer->streams[i].writer_fd, SHUT_WR);
    }
    return 0;
}

/* ---- workers that come and go ---- */

static void change_workers(struct round *round) {
    const bool may_join =
        round->worker_count + 1 < round->options->worker_count_max && round->workers_begun < WORKERS_OF_A_ROUND;
    if (may_join && (round->worker_count <= 1 || random_below(&round->random, 2) == 0)) {
        const int error = verge_runtime_add_worker(round->runtime, &round->workers[round->worker_count]);
        if (error == 0) {
            round->worker_count++;
            round->workers_begun++;
            round->result->joined++;
        } else {
            find(round, FINDING_ERROR, error);
        }
    } else if (round->worker_count > 0) {
        const uint32_t place = (uint32_t)random_below(&round->random, round->worker_count);
        const int error = verge_runtime_retire_worker(round->runtime, round->workers[place]);
        if (error != 0) {
            find(round, FINDING_ERROR, error);
        }
        round->workers[place] = round->workers[--round->worker_count];
        round->result->left++;
    }
}

static intptr_t be_the_first(void *argument) {
    struct round *round = argument;
    verge_task *tasks[STREAM_COUNT + WRITER_COUNT];
    size_t count = 0;
    int error = 0;
    for (size_t i = 0; i < STREAM_COUNT && error == 0; i++) {
        error = spawn_anywhere(be_a_reader, &round->streams[i], &tasks[count]);
        count += error == 0;
    }
    for (size_t i = 0; i < WRITER_COUNT && error == 0; i++) {
        error = spawn_anywhere(be_a_writer, &round->writers[i], &tasks[count]);
        count += error == 0;
    }
    while (error == 0 && now() < round->end_ns) {
        if (round->options->worker_count_max > 1) {
            change_workers(round);
        }
        (void)verge_sleep(random_below(&round->random, 20 * MS));
    }
    atomic_store(&round->must_end, true);
    if (error != 0) { /* some tasks are missing, so others would wait for ever */
        verge_runtime_stop(round->runtime);
        find(round, FINDING_ERROR, error);
    }
    for (size_t i = 0; i < count; i++) {
        (void)!verge_task_join(tasks[i], NULL, VERGE_REGARDLESS);
    }
    round->result->tasks += count;
    return 0;
}

/* ---- a thread that checks that every reader makes progress ---- */

struct watchdog {
    pthread_t thread;
    pthread_mutex_t lock;
    struct round *round; /* under the lock; NULL: between two rounds */
    uint64_t progress[STREAM_COUNT];
    unsigned still_s[STREAM_COUNT]; /* seconds without progress */
    atomic_bool must_stop;
};

/* Prints all tasks and ends the process, as a task that hangs cannot be ended. */
static void give_up(const struct round *round, size_t stream) {
    (void)fflush(stdout);
    (void)fprintf(stderr,
                  "verge stress: reader %zu hangs: it reads descriptor %d, with a deadline of %" PRIu64
                  " ms at most, since %u s\n",
                  stream, round->streams[stream].reader_fd, deadline_max_ns / MS, hung_after_s);
    (void)verge_runtime_dump(round->runtime, STDERR_FILENO);
    abort();
}

static void look_at_all(struct watchdog *dog) {
    for (size_t i = 0; i < STREAM_COUNT && dog->round != NULL; i++) {
        const struct stream *stream = &dog->round->streams[i];
        const uint64_t progress = atomic_load(&stream->progress);
        const bool goes_on = progress != dog->progress[i] || atomic_load(&stream->has_ended);
        dog->still_s[i] = goes_on ? 0 : dog->still_s[i] + 1;
        dog->progress[i] = progress;
        if (dog->still_s[i] == hung_after_s) {
            give_up(dog->round, i);
        }
    }
}

static void *be_a_watchdog(void *argument) {
    struct watchdog *dog = argument;
    const struct timespec tenth = {.tv_nsec = 100000000};
    for (unsigned tenths = 1; !atomic_load(&dog->must_stop); tenths++) {
        (void)nanosleep(&tenth, NULL);
        if (tenths % 10 == 0) {
            (void)pthread_mutex_lock(&dog->lock);
            look_at_all(dog);
            (void)pthread_mutex_unlock(&dog->lock);
        }
    }
    return NULL;
}

static void watch(struct watchdog *dog, struct round *round) {
    (void)pthread_mutex_lock(&dog->lock);
    dog->round = round;
    for (size_t i = 0; i < STREAM_COUNT; i++) {
        dog->still_s[i] = 0;
    }
    (void)pthread_mutex_unlock(&dog->lock);
}

/* ---- a round ---- */

static int open_streams(struct round *round) {
    for (size_t i = 0; i < STREAM_COUNT; i++) {
        struct stream *stream = &round->streams[i];
        int fds[2] = {-1, -1};
        const int kind = SOCK_STREAM | SOCK_CLOEXEC | (random_below(&round->random, 2) == 0 ? SOCK_NONBLOCK : 0);
        const int error = socketpair(AF_UNIX, kind, 0, fds) == 0 ? 0 : -errno;
        *stream = (struct stream){
            .round = round, .reader_fd = fds[0], .writer_fd = fds[1], .random = random_next(&round->random)};
        if (error != 0) {
            return error;
        }
    }
    for (size_t i = 0; i < WRITER_COUNT; i++) {
        round->writers[i] = (struct writer){
            .round = round, .streams = &round->streams[i * STREAMS_PER_WRITER], .random = random_next(&round->random)};
    }
    return 0;
}

static void close_streams(struct round *round) {
    struct tasks_result *result = round->result;
    for (size_t i = 0; i < STREAM_COUNT; i++) {
        const struct stream *stream = &round->streams[i];
        if (stream->reader_fd > 0) {
            (void)close(stream->reader_fd);
            (void)close(stream->writer_fd);
        }
        if (stream->read != stream->written) {
            find(round, FINDING_LOST, 0);
        }
        result->reads += stream->reads;
        result->writes += stream->writes;
        result->bytes += stream->read;
        result->timeouts += stream->timeouts;
    }
    for (size_t i = 0; i < WRITER_COUNT; i++) {
        result->timeouts += round->writers[i].timeouts;
    }
}

static int create_runtime(struct round *round, const verge_allocator *allocator) {
    verge_runtime_options options;
    (void)verge_runtime_options_init(&options, sizeof(options));
    options.worker_count =
        1 + (uint32_t)random_below(&round->random, round->options->worker_count_max < 4 ? 1 : 3); /* others may join */
    options.precision_ns = UINT64_C(1) << (10 + random_below(&round->random, 11));
    options.allocator = allocator;
    for (uint32_t i = 1; i < options.worker_count; i++) {
        round->workers[round->worker_count++] = i;
    }
    return verge_runtime_create(&options, &round->runtime);
}

static int play_round(struct round *round, struct watchdog *dog, const verge_allocator *allocator) {
    int error = create_runtime(round, allocator);
    if (error != 0) {
        return error;
    }
    error = open_streams(round);
    if (error == 0) {
        watch(dog, round);
        error = verge_runtime_run(round->runtime, be_the_first, round, NULL);
        watch(dog, NULL);
    }
    verge_runtime_stats stats = {.struct_size = sizeof(stats)};
    (void)verge_runtime_get_stats(round->runtime, &stats);
    round->result->migrated += stats.migrated;
    round->result->backend = stats.backend;
    close_streams(round);
    const int destroyed = verge_runtime_destroy(round->runtime);
    return error != 0 ? error : destroyed;
}

/* ---- all of it ---- */

static uint64_t resident_bytes(void) {
    unsigned long long resident = 0;
    char text[128] = "";
    FILE *file = fopen("/proc/self/statm", "re");
    if (file != NULL) {
        /* The second number of the file. */
        const char *numbers = fgets(text, sizeof(text), file) == NULL ? NULL : strchr(text, ' ');
        resident = numbers == NULL ? 0 : strtoull(numbers, NULL, 10);
        (void)fclose(file);
    }
    return (uint64_t)resident * (uint64_t)sysconf(_SC_PAGESIZE);
}

/* Memory must be flat: after the first quarter of the run, it must not grow by more than a quarter and 2 MiB. Runs of
 * less than a minute are not checked, as they are still warming up. */
static void conclude(struct tasks_result *result, _Atomic(uint64_t) *findings, int found, uint64_t bytes_kept,
                     uint64_t took_ns) {
    struct audit *audit = &result->audit;
    const uint64_t slack = 2 << 20;
    for (enum finding finding = 0; finding < FINDING_COUNT; finding++) {
        const uint64_t count = atomic_load(&findings[finding]);
        audit_expect(audit, count == 0, "%s%s%s", finding_texts[finding],
                     count == 0 ? "" : ", but: ", count == 0 ? "" : text_grouped(count));
    }
    audit_expect(audit, found == 0, "no error was found%s%s",
                 found == 0 ? "" : ", but: ", found == 0 ? "" : verge_strerror(found));
    audit_expect(audit, true, "no read hung, in %s rounds of %s tasks", text_grouped(result->rounds),
                 text_grouped(STREAM_COUNT + WRITER_COUNT));
    audit_expect(audit, bytes_kept == 0, "all memory was freed, after each round");
    audit_expect(audit, took_ns < 60 * SECOND || result->resident_late <= result->resident_early / 4 * 5 + slack,
                 "the process did not grow: %s KB after a quarter of the time, %s KB at the end",
                 text_grouped(result->resident_early / 1024), text_grouped(result->resident_late / 1024));
}

static int play(const struct tasks_options *options, struct round *round, struct watchdog *dog, struct status *status,
                struct tasks_result *result) {
    _Atomic(uint64_t) findings[FINDING_COUNT] = {0};
    uint64_t random = options->seed, kept = 0;
    struct faulty_allocator memory;
    int error = 0, found = 0;
    const uint64_t begin_ns = now(), end_ns = begin_ns + options->duration_ns;
    faulty_allocator_init(&memory);
    while (error == 0 && now() < end_ns) {
        *round = (struct round){.options = options, .result = result, .findings = findings};
        round->random = random_next(&random);
        round->end_ns = now() + round_ns < end_ns ? now() + round_ns : end_ns;
        error = play_round(round, dog, &memory.table);
        result->rounds++;
        kept += atomic_load(&memory.bytes);
        found = found != 0 ? found : atomic_load(&round->error);
        result->resident_late = resident_bytes();
        if (now() - begin_ns <= options->duration_ns / 4 || result->resident_early == 0) {
            result->resident_early = result->resident_late;
        }
        if (status_is_due(status)) {
            status_show(status, "  round %s: %s reads, %s timeouts, %s workers joined, %s KB resident",
                        text_grouped(result->rounds), text_grouped(result->reads), text_grouped(result->timeouts),
                        text_grouped(result->joined), text_grouped(result->resident_late / 1024));
        }
    }
    status_end(status);
    conclude(result, findings, found, kept, now() - begin_ns);
    return error;
}

int tasks_run(const struct tasks_options *options, struct status *status, struct tasks_result *ret_result) {
    struct watchdog dog = {.round = NULL};
    *ret_result = (struct tasks_result){0};
    struct round *round = calloc(1, sizeof(*round));
    if (round == NULL) {
        return -ENOMEM;
    }
    (void)pthread_mutex_init(&dog.lock, NULL);
    int error = -pthread_create(&dog.thread, NULL, be_a_watchdog, &dog);
    if (error == 0) {
        error = play(options, round, &dog, status, ret_result);
        atomic_store(&dog.must_stop, true);
        (void)pthread_join(dog.thread, NULL);
    }
    (void)pthread_mutex_destroy(&dog.lock);
    free(round);
    return error;
}
