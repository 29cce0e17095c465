/* SPDX-License-Identifier: MIT */
/*
 * Idioms of Go (goroutines, channels, contexts) and of tokio (tasks), written with verge. The last column of the table
 * in docs/TASKS.md ("In Go, in tokio, in verge") names the functions. Each returns 0 if all went well.
 *
 * The program runs in virtual time. So its sleeps take no time, and every run is the same.
 */
#include <errno.h>
#include <stdio.h>

#include <verge/verge.h>

#define MS UINT64_C(1000000)

/* ---- a task and its result ---- */

static intptr_t answer(void *argument) {
    (void)argument;
    return verge_sleep(10 * MS) == 0 ? 42 : -1;
}

static int spawn_and_join(void) {
    verge_task *task;
    intptr_t result = 0;
    if (verge_spawn(answer, NULL, &task) != 0 || verge_task_join(task, &result, VERGE_NEVER) != 0) {
        return -1;
    }
    return result == 42 ? 0 : -1;
}

/* ---- a deadline around a call ---- */

static int deadline(void) {
    verge_deadline scope;
    verge_deadline_push(&scope, verge_deadline_after(5 * MS));
    const int error = verge_sleep(1000 * MS);
    verge_deadline_pop(&scope);
    return error == -ETIMEDOUT ? 0 : -1;
}

/* ---- cancellation ---- */

static int cancel(void) {
    verge_task *task;
    intptr_t result = 0;
    if (verge_spawn(answer, NULL, &task) != 0 || verge_yield() != 0 || verge_task_cancel(task) != 0 ||
        verge_task_join(task, &result, VERGE_NEVER) != 0) {
        return -1;
    }
    return result == -1 ? 0 : -1; /* its sleep returned -ECANCELED */
}

/* ---- channels; select; a default case ---- */

static intptr_t produce(void *channel) {
    for (int i = 1; i <= 3; i++) {
        if (verge_channel_send(channel, &i, VERGE_NEVER) != 0) {
            return -1;
        }
    }
    return verge_channel_close(channel);
}

static int channel(void) {
    verge_channel *channel;
    verge_task *task;
    int item, sum = 0;
    if (verge_channel_create(sizeof(item), 2, NULL, &channel) != 0 || verge_spawn(produce, channel, &task) != 0) {
        return -1;
    }
    while (verge_channel_receive(channel, &item, VERGE_NEVER) == 0) {
        sum += item;
    }
    const int error = verge_task_join(task, NULL, VERGE_NEVER);
    verge_channel_destroy(channel);
    return error == 0 && sum == 6 ? 0 : -1;
}

static int select_or_time(void) {
    verge_channel *channel;
    int item;
    if (verge_channel_create(sizeof(item), 1, NULL, &channel) != 0) {
        return -1;
    }
    verge_case cases[] = {
        verge_case_receive(channel, &item),
    };
    const int index = verge_select(cases, 1, verge_deadline_after(20 * MS));
    const int without = verge_select(cases, 1, 0);
    verge_channel_destroy(channel);
    return index == -ETIMEDOUT && without == -ETIMEDOUT ? 0 : -1;
}

/* ---- a group of tasks: the first error cancels the rest ---- */

static intptr_t fail(void *argument) {
    (void)argument;
    return verge_sleep(5 * MS) == 0 ? -EIO : -ECANCELED;
}

static int group(void) {
    verge_group group;
    verge_group_begin(&group);
    if (verge_group_spawn(&group, answer, NULL) != 0 || verge_group_spawn(&group, fail, NULL) != 0) {
        verge_group_cancel(&group);
    }
    return verge_group_wait(&group, VERGE_NEVER) == -EIO ? 0 : -1;
}

/* ---- a ticker, and restarting it ---- */

static int ticker(void) {
    verge_interval interval;
    verge_tick tick;
    const uint64_t start_ns = verge_now();
    if (verge_interval_init(&interval, start_ns + 10 * MS, 10 * MS, VERGE_INTERVAL_SKIP) != 0 ||
        verge_interval_wait(&interval, &tick, VERGE_NEVER) != 0 || verge_sleep(5 * MS) != 0 ||
        verge_interval_reset(&interval, verge_now() + interval.period_ns) != 0 ||
        verge_interval_wait(&interval, &tick, VERGE_NEVER) != 0) {
        return -1;
    }
    return tick.scheduled_ns == start_ns + 25 * MS ? 0 : -1;
}

/* ---- locks, once ---- */

static verge_rwlock lock = VERGE_RWLOCK_INIT;
static verge_semaphore slots = VERGE_SEMAPHORE_INIT(4);
static verge_once once = VERGE_ONCE_INIT;
static int loads;

static int load(void *argument) {
    (void)argument;
    loads++;
    return 0;
}

static int locks(void) {
    for (int i = 0; i < 2; i++) {
        if (verge_once_do(&once, load, NULL, VERGE_NEVER) != 0 || verge_rwlock_read(&lock, VERGE_NEVER) != 0) {
            return -1;
        }
        verge_rwlock_unlock(&lock);
        if (verge_semaphore_acquire(&slots, 3, VERGE_NEVER) != 0) {
            return -1;
        }
        verge_semaphore_release(&slots, 3);
    }
    return loads == 1 ? 0 : -1;
}

/* ---- a value to watch; items for every reader ---- */

static int watch(void) {
    verge_broadcast *value;
    uint64_t position = 0;
    int latest = 0;
    if (verge_broadcast_create(sizeof(int), 1, NULL, &value) != 0) {
        return -1;
    }
    for (int i = 1; i <= 3; i++) {
        verge_broadcast_send(value, &i);
    }
    const int error = verge_broadcast_latest(value, &position, &latest, VERGE_NEVER);
    verge_broadcast_destroy(value);
    return error == 0 && latest == 3 ? 0 : -1;
}

static int broadcast(void) {
    verge_broadcast *news;
    uint64_t slow = 0;
    int item = 0;
    if (verge_broadcast_create(sizeof(int), 2, NULL, &news) != 0) {
        return -1;
    }
    for (int i = 1; i <= 3; i++) {
        verge_broadcast_send(news, &i);
    }
    const int lagged = verge_broadcast_receive(news, &slow, &item, VERGE_NEVER); /* the first item is lost */
    const int error = verge_broadcast_receive(news, &slow, &item, VERGE_NEVER);
    verge_broadcast_destroy(news);
    return lagged == -EOVERFLOW && error == 0 && item == 2 ? 0 : -1;
}

/* ---- all of them ---- */

static const struct {
    const char *name;
    int (*function)(void);
} idioms[] = {
    {"spawn_and_join", spawn_and_join},
    {"deadline", deadline},
    {"cancel", cancel},
    {"channel", channel},
    {"select_or_time", select_or_time},
    {"group", group},
    {"ticker", ticker},
    {"locks", locks},
    {"watch", watch},
    {"broadcast", broadcast},
};

static intptr_t run_all(void *argument) {
    intptr_t failures = 0;
    (void)argument;
    for (size_t i = 0; i < sizeof(idioms) / sizeof(*idioms); i++) {
        const int error = idioms[i].function();
        printf("%-15s %s\n", idioms[i].name, error == 0 ? "as it should be" : "WRONG");
        failures += error != 0;
    }
    return failures;
}

int main(void) {
    verge_manual_clock clock = {0};
    verge_runtime_options options;
    verge_runtime *runtime;
    intptr_t failures = 1;
    verge_runtime_options_init(&options, sizeof(options));
    options.virtual_clock = &clock;
    options.precision_ns = 1;
    if (verge_runtime_create(&options, &runtime) != 0) {
        return 1;
    }
    const int error = verge_runtime_run(runtime, run_all, NULL, &failures);
    verge_runtime_destroy(runtime);
    return error != 0 || failures != 0;
}
