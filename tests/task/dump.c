/* SPDX-License-Identifier: MIT */
/* Names of tasks, dumps by a call and by a signal, and reports of tasks that do not let others run. */
#define _GNU_SOURCE

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "task/observe.h"
#include "task/support.h"
#include "verge/io.h"
#include "verge/sync.h"

/* ---- support ---- */

struct text {
    char bytes[1 << 16];
    size_t size;
};

static void dump(verge_runtime *runtime, struct text *text) {
    const int fd = memfd_create("dump", MFD_CLOEXEC);
    CHECK(fd >= 0);
    CHECK_EQUAL(verge_runtime_dump(runtime, fd), 0);
    const ssize_t size = pread(fd, text->bytes, sizeof(text->bytes), 0);
    CHECK(size > 0 && (size_t)size < sizeof(text->bytes));
    text->size = size > 0 && (size_t)size < sizeof(text->bytes) ? (size_t)size : 0;
    text->bytes[text->size] = '\0';
    CHECK_EQUAL(close(fd), 0);
}

/* Copies what the dump says about the task with that name: its line, and all lines up to the next task. */
static const char *part_of(const struct text *text, const char *name, char *part, size_t size) {
    char quoted[64];
    (void)snprintf(quoted, sizeof(quoted), " \"%s\", worker ", name);
    const char *begin = strstr(text->bytes, quoted);
    part[0] = '\0';
    if (begin != NULL) {
        const char *end = strstr(begin, "\ntask ");
        const size_t length = end != NULL ? (size_t)(end - begin) : strlen(begin);
        (void)snprintf(part, size, "%.*s", (int)length, begin);
    }
    return part;
}

static void check_says(const struct text *text, const char *name, const char *expected) {
    char part[4096];
    if (strstr(part_of(text, name, part, sizeof(part)), expected) == NULL) {
        atomic_fetch_add(&failed_check_count, 1);
        (void)fprintf(stderr, "of %s, not \"%s\" but: %s\nin\n%s", name, expected, part, text->bytes);
    }
}

static verge_task *spawn_named(const char *name, verge_task_function function, void *argument) {
    verge_spawn_options options;
    verge_task *task = NULL;
    CHECK_EQUAL(verge_spawn_options_init(&options, sizeof(options)), 0);
    options.function = function;
    options.argument = argument;
    options.name = name;
    CHECK_EQUAL(verge_spawn_with(&options, &task), 0);
    return task;
}

/* ---- names ---- */

static intptr_t has_the_name(void *argument) {
    CHECK(strcmp(verge_task_name(), argument) == 0);
    return 0;
}

static intptr_t gives_names(void *argument) {
    (void)argument;
    char name[2 * VERGE_TASK_NAME_SIZE];
    memset(name, 'x', sizeof(name) - 1);
    name[sizeof(name) - 1] = '\0';
    char expected[VERGE_TASK_NAME_SIZE];
    (void)snprintf(expected, sizeof(expected), "%.*s", VERGE_TASK_NAME_SIZE - 1, name);
    verge_task *task = spawn_named(name, has_the_name, expected);
    memset(name, 'y', sizeof(name) - 1); /* the task has not begun, but has a copy of its name */
    CHECK_EQUAL(join(task), 0);
    CHECK_EQUAL(verge_task_set_name(name), 0);
    CHECK_EQUAL(strlen(verge_task_name()), VERGE_TASK_NAME_SIZE - 1);
    CHECK_EQUAL(verge_task_set_name(""), 0);
    CHECK(verge_task_name() == NULL);
    return 0;
}

static void names_are_copied_as_far_as_they_fit(void **state) {
    (void)state;
    (void)run_virtual(1, 0, gives_names, NULL);
}

/* ---- what a dump says ---- */

static verge_mutex mutex = VERGE_MUTEX_INIT, second_mutex = VERGE_MUTEX_INIT;
static verge_condition condition = VERGE_CONDITION_INIT;
static verge_channel *full, *empty;
static int fds[2];

static intptr_t sleeps(void *argument) {
    (void)argument;
    return verge_sleep(5 * SECOND);
}

static intptr_t joins(void *argument) {
    return join(argument);
}

static intptr_t locks(void *argument) {
    (void)argument;
    CHECK_EQUAL(verge_mutex_lock(&mutex, verge_deadline_after(4 * SECOND)), 0);
    return verge_mutex_unlock(&mutex);
}

static intptr_t waits_for_condition(void *argument) {
    (void)argument;
    CHECK_EQUAL(verge_mutex_lock(&second_mutex, VERGE_NEVER), 0);
    CHECK_EQUAL(verge_condition_wait(&condition, &second_mutex, VERGE_NEVER), 0);
    return verge_mutex_unlock(&second_mutex);
}

static intptr_t sends(void *argument) {
    (void)argument;
    return verge_channel_send(full, &(int){1}, VERGE_NEVER);
}

static intptr_t receives(void *argument) {
    int item;
    (void)argument;
    return verge_channel_receive(empty, &item, VERGE_NEVER);
}

static intptr_t reads(void *argument) {
    char byte;
    (void)argument;
    return verge_recv(fds[0], &byte, 1, 0, verge_deadline_after(9 * SECOND));
}

static intptr_t selects(void *argument) {
    int item;
    verge_interval once;
    verge_case cases[] = {verge_case_receive(empty, &item), case_at(&once, verge_deadline_after(6 * SECOND))};
    (void)argument;
    return verge_select(cases, COUNT_OF(cases), VERGE_NEVER);
}

static intptr_t has_a_group(void *argument) {
    verge_group group;
    (void)argument;
    CHECK_EQUAL(verge_group_begin(&group), 0);
    CHECK_EQUAL(verge_group_spawn(&group, sleeps, NULL), 0);
    return verge_group_wait(&group, VERGE_NEVER);
}

static intptr_t yields(void *argument) {
    (void)argument;
    for (int i = 0; i < 3; i++) {
        CHECK_EQUAL(verge_yield(), 0);
    }
    return 0;
}

static intptr_t sees_all(void *argument) {
    static struct text text;
    (void)argument;
    verge_task *tasks[10];
    CHECK_EQUAL(verge_mutex_lock(&mutex, VERGE_NEVER), 0);
    CHECK_EQUAL(verge_channel_send(full, &(int){0}, VERGE_NEVER), 0);
    tasks[0] = spawn_named("sleeper", sleeps, NULL);
    tasks[1] = spawn_named("joiner", joins, tasks[0]);
    tasks[2] = spawn_named("locker", locks, NULL);
    tasks[3] = spawn_named("waiter", waits_for_condition, NULL);
    tasks[4] = spawn_named("sender", sends, NULL);
    tasks[5] = spawn_named("receiver", receives, NULL);
    tasks[6] = spawn_named("reader", reads, NULL);
    tasks[8] = spawn_named("selector", selects, NULL);
    tasks[9] = spawn_named("owner", has_a_group, NULL);
    CHECK_EQUAL(verge_sleep(SECOND), 0);
    tasks[7] = spawn_named("yielder", yields, NULL);
    CHECK_EQUAL(verge_yield(), 0);
    verge_task *late = spawn_named("late", yields, NULL);
    CHECK_EQUAL(verge_task_cancel(late), 0);

    char expected[128];
    dump(NULL, &text); /* NULL: the runtime of the calling task */
    CHECK(strstr(text.bytes, ": 13 tasks, 1 workers, time ") != NULL);
    check_says(&text, "main", ": runs\n");
    (void)snprintf(expected, sizeof(expected), "\n    function 0x%jx", (uintmax_t)(uintptr_t)sees_all);
    check_says(&text, "main", expected);
    check_says(&text, "sleeper", ": waits for time for 1.000 s, deadline in 4.000 s\n");
    (void)snprintf(expected, sizeof(expected), ": waits for task 0x%jx for 1.000 s, no deadline\n",
                   (uintmax_t)(uintptr_t)tasks[0]);
    check_says(&text, "joiner", expected);
    (void)snprintf(expected, sizeof(expected), ": waits for mutex 0x%jx for 1.000 s, deadline in 3.000 s\n",
                   (uintmax_t)(uintptr_t)&mutex);
    check_says(&text, "locker", expected);
    (void)snprintf(expected, sizeof(expected), ": waits for condition 0x%jx for 1.000 s, no deadline\n",
                   (uintmax_t)(uintptr_t)&condition);
    check_says(&text, "waiter", expected);
    check_says(&text, "sender", ": waits for room in channel 0x");
    check_says(&text, "receiver", ": waits for an item of channel 0x");
    (void)snprintf(expected, sizeof(expected), ": waits for recv of descriptor %d for 1.000 s, deadline in 8.000 s\n",
                   fds[0]);
    check_says(&text, "reader", expected);
    check_says(&text, "selector", ": waits for the first of several (select) for 1.000 s, deadline in 5.000 s\n");
    check_says(&text, "owner", ": waits for group 0x");
    check_says(&text, "yielder", ": can run\n");
    check_says(&text, "late", ": has not begun, cancelled\n");
    check_says(&text, "late", "\n    function 0x");

    CHECK_EQUAL(verge_mutex_unlock(&mutex), 0);
    CHECK_EQUAL(verge_condition_signal(&condition), 0);
    CHECK_EQUAL(verge_channel_close(full), 0);
    CHECK_EQUAL(verge_channel_close(empty), 0);
    CHECK_EQUAL(write(fds[1], "x", 1), 1);
    CHECK_EQUAL(join(tasks[1]), 0);
    CHECK_EQUAL(join(tasks[2]), 0);
    CHECK_EQUAL(join(tasks[3]), 0);
    CHECK_EQUAL(join(tasks[4]), -EPIPE);
    CHECK_EQUAL(join(tasks[5]), -EPIPE);
    CHECK_EQUAL(join(tasks[6]), 1);
    CHECK_EQUAL(join(tasks[7]), 0);
    CHECK_EQUAL(join(late), 0);
    CHECK_EQUAL(join(tasks[8]), 0);
    CHECK_EQUAL(join(tasks[9]), 0);
    return 0;
}

static void a_dump_says_what_each_task_waits_for(void **state) {
    (void)state;
    verge_manual_clock clock = {0};
    verge_runtime_options options = runtime_options(1);
    options.virtual_clock = &clock;
    options.precision_ns = 1;
    options.io_grace_ns = 0;
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds), 0);
    assert_int_equal(verge_channel_create(sizeof(int), 1, NULL, &full), 0);
    assert_int_equal(verge_channel_create(sizeof(int), 1, NULL, &empty), 0);
    (void)run_with(options, sees_all, NULL);
    verge_channel_destroy(full);
    verge_channel_destroy(empty);
    (void)close(fds[0]);
    (void)close(fds[1]);
}

/* ---- frames ---- */

/* Both functions have frame pointers (see CMakeLists.txt), and make no tail call. */

static __attribute__((noinline)) int waits_below(void) {
    const int error = verge_sleep(SECOND);
    __asm__ volatile("");
    return error;
}

static intptr_t waits_deep(void *argument) {
    (void)argument;
    const int error = waits_below();
    __asm__ volatile("");
    return error;
}

static intptr_t finds_frames(void *argument) {
    static struct text text;
    char part[4096];
    (void)argument;
    verge_task *task = spawn_named("deep", waits_deep, NULL);
    CHECK_EQUAL(verge_sleep(1), 0);
    dump(verge_task_runtime(), &text);
    (void)part_of(&text, "deep", part, sizeof(part));
    size_t near_count = 0;
    for (const char *at = strstr(part, "\n    at 0x"); at != NULL; at = strstr(at + 1, "\n    at 0x")) {
        const uintptr_t address = (uintptr_t)strtoull(at + strlen("\n    at "), NULL, 16);
        near_count += address - (uintptr_t)waits_below < 256 || address - (uintptr_t)waits_deep < 256;
    }
    const bool is_assembly = strcmp(verge__context_kind(), "assembly") == 0;
    if (is_assembly && near_count != 2) {
        (void)fprintf(stderr, "%s", text.bytes);
    }
    CHECK_EQUAL(near_count, is_assembly ? 2 : 0);
    return join(task);
}

static void a_dump_finds_the_frames_of_a_task(void **state) {
    (void)state;
    (void)run_virtual(1, 0, finds_frames, NULL);
}

/* A task that runs and dumps itself: each of its frames is there once. */
static intptr_t finds_own_frames(void *argument) {
    static struct text text;
    char part[4096];
    (void)argument;
    dump(verge_task_runtime(), &text);
    (void)part_of(&text, "own", part, sizeof(part));
    uintptr_t last = 0;
    size_t frame_count = 0;
    for (const char *at = strstr(part, "\n    at 0x"); at != NULL; at = strstr(at + 1, "\n    at 0x")) {
        const uintptr_t address = (uintptr_t)strtoull(at + strlen("\n    at "), NULL, 16);
        CHECK(address != last);
        last = address;
        frame_count++;
    }
    CHECK(frame_count != 0);
    return 0;
}

static intptr_t runs_finds_own_frames(void *argument) {
    (void)argument;
    return join(spawn_named("own", finds_own_frames, NULL));
}

static void a_dump_has_the_frames_of_its_caller_once(void **state) {
    (void)state;
    (void)run_virtual(1, 0, runs_finds_own_frames, NULL);
}

/* ---- errors ---- */

static int refuse(void *context, const char *text, size_t size) {
    (void)text;
    (void)size;
    ++*(int *)context;
    return -EIO;
}

static void a_writer_can_end_it(void **state) {
    (void)state;
    verge_runtime *runtime = runtime_with(runtime_options(2));
    int calls = 0;
    assert_int_equal(verge__dump(runtime, refuse, &calls), -EIO);
    assert_int_equal(calls, 1);
    end_runtime(runtime);
}

static void a_descriptor_may_fail(void **state) {
    (void)state;
    verge_runtime *runtime = runtime_with(runtime_options(2));
    const int fd = open("/dev/full", O_WRONLY | O_CLOEXEC);
    assert_true(fd >= 0);
    assert_int_equal(verge_runtime_dump(runtime, fd), -ENOSPC);
    assert_int_equal(close(fd), 0);
    assert_int_equal(verge_runtime_dump(runtime, fd), -EBADF);
    assert_int_equal(verge_runtime_dump(runtime, -1), -EBADF);
    assert_int_equal(verge_runtime_dump(NULL, STDERR_FILENO), -EPERM); /* NULL is allowed only in a task */
    end_runtime(runtime);
}

static void dump_without_memory(void **state) {
    (void)state;
    struct verge_test_allocator memory;
    verge_test_allocator_init(&memory);
    verge_runtime_options options = runtime_options(1);
    options.allocator = &memory.allocator;
    verge_runtime *runtime = runtime_with(options);
    assert_int_equal(spawn_at(runtime, 0, yields, NULL, NULL), 0);
    int calls = 0;
    memory.fail_at = memory.calls + 1;
    assert_int_equal(verge__dump(runtime, refuse, &calls), -ENOMEM);
    assert_int_equal(verge__dump(runtime, refuse, &calls), -EIO);
    end_runtime(runtime);
    verge_test_allocator_assert_empty(&memory);
}

/* ---- while everything moves ---- */

static atomic_bool is_over;

static intptr_t changes(void *argument) {
    const uintptr_t number = (uintptr_t)argument;
    char name[16];
    for (int i = 0; i < 20; i++) {
        (void)snprintf(name, sizeof(name), "%ju.%d", (uintmax_t)number, i);
        CHECK_EQUAL(verge_task_set_name(name), 0);
        CHECK_EQUAL(i % 2 == 0 ? verge_yield() : verge_sleep(1), 0);
    }
    return 0;
}

static intptr_t keeps_things_moving(void *argument) {
    (void)argument;
    for (int round = 0; round < fewer_under_tsan(100); round++) {
        verge_task *tasks[8];
        for (uintptr_t i = 0; i < COUNT_OF(tasks); i++) {
            tasks[i] = spawn_on(VERGE_WORKER_ANY, changes, (void *)i); /* NOLINT(performance-no-int-to-ptr) */
        }
        for (size_t i = 0; i < COUNT_OF(tasks); i++) {
            CHECK_EQUAL(join(tasks[i]), 0);
        }
    }
    atomic_store(&is_over, true);
    return 0;
}

static void *dumps(void *argument) {
    static struct text text;
    do {
        dump(argument, &text);
        CHECK(strncmp(text.bytes, "verge runtime 0x", strlen("verge runtime 0x")) == 0);
    } while (!atomic_load(&is_over));
    return NULL;
}

static void tasks_come_and_go_while_a_thread_dumps(void **state) {
    (void)state;
    pthread_t thread;
    verge_runtime_options options = runtime_options(2);
    options.precision_ns = 1 << 10;
    verge_runtime *runtime = runtime_with(options);
    atomic_store(&is_over, false);
    assert_int_equal(pthread_create(&thread, NULL, dumps, runtime), 0);
    assert_int_equal(verge_runtime_run(runtime, keeps_things_moving, NULL, NULL), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    end_runtime(runtime);
}

/* ---- by a signal ---- */

static intptr_t asks_by_signal(void *argument) {
    const int *ends = argument;
    static struct text text;
    for (int i = 0; i < 3; i++) {
        CHECK_EQUAL(kill(getpid(), SIGUSR2), 0);
        text.size = 0;
        do {
            const ptrdiff_t size =
                verge_read(ends[0], text.bytes + text.size, sizeof(text.bytes) - 1 - text.size, VERGE_NEVER);
            CHECK(size > 0);
            if (size <= 0) {
                return -1;
            }
            text.size += (size_t)size;
            text.bytes[text.size] = '\0';
        } while (strstr(text.bytes, " \"main\", worker 0: ") == NULL);
    }
    return 0;
}

static void a_signal_asks_for_a_dump(void **state) {
    (void)state;
    int ends[2];
    struct sigaction before, after;
    assert_int_equal(pipe(ends), 0);
    assert_int_equal(sigaction(SIGUSR2, NULL, &before), 0);
    verge_runtime_options options = runtime_options(2);
    options.dump_signal = SIGUSR2;
    options.dump_fd = ends[1];
    assert_int_equal(run_with(options, asks_by_signal, ends), 0);
    assert_int_equal(sigaction(SIGUSR2, NULL, &after), 0);
    assert_true(before.sa_handler == after.sa_handler);
    (void)close(ends[0]);
    (void)close(ends[1]);
}

/* ---- tasks that do not let others run ---- */

struct reports {
    _Atomic uint32_t count;
    char name[VERGE_TASK_NAME_SIZE];
    verge_task_function function;
    uint32_t worker_id;
    uint64_t running_ns;
};

static void on_stuck(void *context, const verge_stuck_task *stuck) {
    struct reports *reports = context;
    if (stuck->name != NULL && strcmp(stuck->name, "spinner") == 0) {
        (void)snprintf(reports->name, sizeof(reports->name), "%s", stuck->name);
        reports->function = stuck->function;
        reports->worker_id = stuck->worker_id;
        reports->running_ns = stuck->running_ns;
        (void)atomic_fetch_add(&reports->count, 1);
    }
}

static intptr_t spins_until_it_is_reported(void *argument) {
    struct reports *reports = argument;
    const uint32_t before = atomic_load(&reports->count);
    while (atomic_load(&reports->count) == before) {
    }
    return 0;
}

static intptr_t has_spinners(void *argument) {
    struct reports *reports = argument;
    for (uint32_t i = 1; i <= 2; i++) {
        verge_spawn_options options;
        verge_task *task = NULL;
        CHECK_EQUAL(verge_spawn_options_init(&options, sizeof(options)), 0);
        options.function = spins_until_it_is_reported;
        options.argument = reports;
        options.name = "spinner";
        options.worker_id = 1;
        CHECK_EQUAL(verge_spawn_with(&options, &task), 0);
        CHECK_EQUAL(join(task), 0);
        CHECK_EQUAL(atomic_load(&reports->count), i); /* each task is reported once */
    }
    return 0;
}

static void a_task_that_keeps_others_waiting_is_reported(void **state) {
    (void)state;
    struct reports reports = {.count = 0};
    verge_runtime_options options = runtime_options(2);
    options.stuck_after_ns = 5 * MS;
    options.on_stuck = on_stuck;
    options.on_stuck_context = &reports;
    assert_int_equal(run_with(options, has_spinners, &reports), 0);
    assert_string_equal(reports.name, "spinner");
    assert_true(reports.function == spins_until_it_is_reported);
    assert_int_equal(reports.worker_id, 1);
    assert_true(reports.running_ns >= 5 * MS);
}

static void wrong_options_are_explained(void **state) {
    (void)state;
    char text[128];
    verge_runtime *runtime = NULL;
    verge_runtime_options options = runtime_options(1);
    options.stuck_after_ns = SECOND;
    assert_int_equal(verge_runtime_create(&options, &runtime), -EINVAL);
    assert_int_equal(verge_runtime_options_explain(&options, text, sizeof(text)), -EINVAL);
    assert_non_null(strstr(text, "on_stuck"));
    options.stuck_after_ns = 0;
    static const int wrong[] = {-1, SIGKILL, SIGSTOP, 65, INT32_MAX};
    for (size_t i = 0; i < COUNT_OF(wrong); i++) {
        options.dump_signal = wrong[i];
        assert_int_equal(verge_runtime_create(&options, &runtime), -EINVAL);
        assert_int_equal(verge_runtime_options_explain(&options, text, sizeof(text)), -EINVAL);
        assert_non_null(strstr(text, "dump_signal"));
    }
}

/* ---- tasks that have ended, and that nobody joins ---- */

static intptr_t ends_after(void *duration_ns) {
    return verge_sleep((uint64_t)(uintptr_t)duration_ns);
}

static uint64_t unjoined(void) {
    return stats_of(verge_task_runtime()).unjoined;
}

static intptr_t leaves_tasks_unjoined(void *argument) {
    static struct text text;
    verge_task *tasks[4];
    for (size_t i = 0; i < COUNT_OF(tasks); i++) {
        tasks[i] = spawn(ends_after, NULL);
    }
    verge_task *waited_for = spawn(ends_after, (void *)(uintptr_t)SECOND);
    /* Without a handle it is detached, and does not count as unjoined. */
    CHECK_EQUAL(verge_spawn(ends_after, NULL, NULL), 0);
    CHECK_EQUAL(unjoined(), 0);
    /* Nor does a task that ends while another one waits to join it. */
    CHECK_EQUAL(verge_task_join(waited_for, NULL, VERGE_NEVER), 0);
    CHECK_EQUAL(unjoined(), 4);
    dump(verge_task_runtime(), &text);
    CHECK(strstr(text.bytes, " ns; 4 ended and not joined\n") != NULL);

    CHECK_EQUAL(verge_task_join(tasks[0], NULL, VERGE_NEVER), 0);
    CHECK_EQUAL(unjoined(), 3);
    CHECK_EQUAL(verge_task_detach(tasks[1]), 0);
    CHECK_EQUAL(unjoined(), 2);
    verge_case joins = verge_case_join(tasks[2], NULL);
    CHECK_EQUAL(verge_select(&joins, 1, 0), 0);
    CHECK_EQUAL(unjoined(), 1);

    /* A select that waits for a task but returns another case has not joined the task. */
    verge_task *passed_over = spawn(ends_after, (void *)(uintptr_t)(2 * SECOND));
    verge_interval once;
    verge_case cases[] = {verge_case_join(passed_over, NULL), case_at(&once, verge_now() + SECOND)};
    CHECK_EQUAL(verge_select(cases, 2, VERGE_NEVER), 1);
    CHECK_EQUAL(verge_sleep(2 * SECOND), 0);
    CHECK_EQUAL(unjoined(), 2);
    CHECK_EQUAL(verge_select(cases, 1, VERGE_NEVER), 0);
    verge_task *chosen = spawn(ends_after, (void *)(uintptr_t)SECOND);
    cases[0] = verge_case_join(chosen, NULL);
    CHECK_EQUAL(verge_select(cases, 1, VERGE_NEVER), 0);
    CHECK_EQUAL(unjoined(), 1);
    *(verge_task **)argument = tasks[3];
    return 0;
}

static void tasks_that_nobody_joins_are_counted(void **state) {
    (void)state;
    for (uint32_t worker_count = 1; worker_count <= 3; worker_count += 2) {
        verge_manual_clock clock = {0};
        verge_runtime_options options = runtime_options(worker_count);
        options.virtual_clock = &clock;
        verge_runtime *runtime = runtime_with(options);
        verge_task *left = NULL;
        assert_int_equal(verge_runtime_run(runtime, leaves_tasks_unjoined, &left, NULL), 0);
        assert_int_equal(stats_of(runtime).unjoined, 1); /* only `left`: the first task of a run does not count */
        assert_int_equal(verge_task_detach(left), 0);
        assert_int_equal(stats_of(runtime).unjoined, 0);
        end_runtime(runtime);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tasks_that_nobody_joins_are_counted),
        cmocka_unit_test(names_are_copied_as_far_as_they_fit),
        cmocka_unit_test(a_dump_says_what_each_task_waits_for),
        cmocka_unit_test(a_dump_finds_the_frames_of_a_task),
        cmocka_unit_test(a_dump_has_the_frames_of_its_caller_once),
        cmocka_unit_test(a_writer_can_end_it),
        cmocka_unit_test(a_descriptor_may_fail),
        cmocka_unit_test(dump_without_memory),
        cmocka_unit_test(tasks_come_and_go_while_a_thread_dumps),
        cmocka_unit_test(a_signal_asks_for_a_dump),
        cmocka_unit_test(a_task_that_keeps_others_waiting_is_reported),
        cmocka_unit_test(wrong_options_are_explained),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
