/* SPDX-License-Identifier: MIT */
/* T6 (verge/task.h): a stack overflow is reported with the name of the task before the process ends. The overflow
 * happens in a child process. Also: names of tasks. */
#define _GNU_SOURCE

#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "task/support.h"

/* ---- a child process that faults: its exit status, and what it has written ---- */

struct remains {
    int status;
    char text[4096];
};

static void die_in_a_child(void (*body)(void), struct remains *remains) {
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        const struct rlimit no_core = {0, 0};
        (void)setrlimit(RLIMIT_CORE, &no_core);
        (void)signal(SIGSEGV, SIG_DFL); /* instead of the handlers of cmocka and of sanitizers */
        (void)dup2(ends[1], STDERR_FILENO);
        body();
        _exit(0);
    }
    (void)close(ends[1]);
    size_t size = 0;
    ssize_t count;
    while ((count = read(ends[0], remains->text + size, sizeof(remains->text) - 1 - size)) > 0) {
        size += (size_t)count;
    }
    remains->text[size] = '\0';
    (void)close(ends[0]);
    assert_int_equal(waitpid(child, &remains->status, 0), child);
}

static void assert_segfault(const struct remains *remains) {
    assert_true(WIFSIGNALED(remains->status));
    assert_int_equal(WTERMSIG(remains->status), SIGSEGV);
}

/* Uses a page of stack in each call. The compiler cannot make a loop of it. NOLINTNEXTLINE(misc-no-recursion) */
static __attribute__((noinline)) int go_deep(int depth) {
    volatile char page[4096] = {0};
    page[depth % 4096] = (char)depth;
    return depth < 0 ? 0 : go_deep(depth + 1) + page[(depth + 1) % 4096];
}

static intptr_t overflows(void *argument) {
    (void)argument;
    return go_deep(0);
}

static void run(verge_runtime_options options, verge_task_function function, uint32_t worker_id, const char *name) {
    options.report_overflow = true;
    verge_runtime *runtime = NULL;
    verge_spawn_options spawn_options;
    (void)verge_spawn_options_init(&spawn_options, sizeof(spawn_options));
    spawn_options.function = function;
    spawn_options.name = name;
    spawn_options.worker_id = worker_id;
    if (verge_runtime_create(&options, &runtime) == 0) {
        spawn_options.runtime = runtime;
        if (verge_spawn_with(&spawn_options, NULL) != 0 || verge_runtime_run(runtime, NULL, NULL, NULL) != 0) {
            _exit(3);
        }
        (void)verge_runtime_destroy(runtime);
    }
}

static verge_runtime_options plain_options(uint32_t worker_count) {
    verge_runtime_options options;
    (void)verge_runtime_options_init(&options, sizeof(options));
    options.worker_count = worker_count;
    return options;
}

static void on_the_calling_thread(void) {
    run(plain_options(1), overflows, 0, "the deep one");
}

static void on_another_worker(void) {
    run(plain_options(2), overflows, 1, "the deep one");
}

static void in_virtual_time(void) {
    verge_manual_clock clock = {0};
    verge_runtime_options options = plain_options(2);
    options.virtual_clock = &clock;
    run(options, overflows, 1, "the deep one");
}

static void without_a_name(void) {
    run(plain_options(1), overflows, 0, NULL);
}

static void in_the_first_task(void) {
    verge_runtime *runtime = NULL;
    verge_runtime_options options = plain_options(1);
    options.report_overflow = true;
    if (verge_runtime_create(&options, &runtime) != 0 || verge_runtime_run(runtime, overflows, NULL, NULL) != 0) {
        _exit(3);
    }
}

static void t6_an_overflow_names_its_task(void **state) {
    (void)state;
    static const struct {
        void (*body)(void);
        const char *text;
    } cases[] = {
        {on_the_calling_thread,
         "verge: stack overflow in task the deep one, worker 0: it needs more than its 65536 bytes"},
        {on_another_worker, "verge: stack overflow in task the deep one, worker 1:"},
        {in_virtual_time, "verge: stack overflow in task the deep one, worker 1:"},
        {without_a_name, "verge: stack overflow in task without a name, function 0x"},
        {in_the_first_task, "verge: stack overflow in task main, worker 0:"},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct remains remains;
        die_in_a_child(cases[i].body, &remains);
        assert_segfault(&remains);
        if (strstr(remains.text, cases[i].text) != remains.text) {
            fail_msg("case %zu: %s", i, remains.text);
        }
    }
}

/* ---- faults that are no overflow ---- */

static intptr_t touches_what_is_forbidden(void *argument) {
    (void)argument;
    volatile char *page = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return page == MAP_FAILED ? 1 : page[0];
}

static intptr_t raises(void *argument) {
    (void)argument;
    return raise(SIGSEGV);
}

static void fault_elsewhere(void) {
    run(plain_options(1), touches_what_is_forbidden, 0, "the clumsy one");
}

static void be_killed(void) {
    run(plain_options(1), raises, 0, "the killed one");
}

static void exit_with_42(int number) {
    (void)number;
    _exit(42);
}

static void have_a_handler(void) {
    (void)signal(SIGSEGV, exit_with_42);
    fault_elsewhere();
}

static void overflow_with_a_handler(void) {
    (void)signal(SIGSEGV, exit_with_42);
    on_the_calling_thread();
}

static void other_faults_are_what_they_were(void **state) {
    (void)state;
    struct remains remains;
    die_in_a_child(fault_elsewhere, &remains);
    assert_segfault(&remains);
    assert_string_equal(remains.text, "");
    die_in_a_child(be_killed, &remains);
    assert_segfault(&remains);
    assert_string_equal(remains.text, "");
}

static void a_handler_of_the_programs_is_called(void **state) {
    (void)state;
    struct remains remains;
    die_in_a_child(have_a_handler, &remains);
    assert_true(WIFEXITED(remains.status));
    assert_int_equal(WEXITSTATUS(remains.status), 42);
    assert_string_equal(remains.text, "");
    die_in_a_child(overflow_with_a_handler, &remains);
    assert_true(WIFEXITED(remains.status));
    assert_int_equal(WEXITSTATUS(remains.status), 42);
    assert_non_null(strstr(remains.text, "stack overflow in task the deep one"));
}

static intptr_t does_nothing(void *argument) {
    (void)argument;
    return 0;
}

static void afterwards_all_is_as_before(void **state) {
    (void)state;
    struct sigaction before, after;
    stack_t stack_before, stack_after;
    assert_int_equal(sigaction(SIGSEGV, NULL, &before), 0);
    assert_int_equal(sigaltstack(NULL, &stack_before), 0);
    verge_runtime_options options = runtime_options(3);
    options.report_overflow = true;
    (void)run_with(options, does_nothing, NULL);
    assert_int_equal(sigaction(SIGSEGV, NULL, &after), 0);
    assert_int_equal(sigaltstack(NULL, &stack_after), 0);
    assert_true(before.sa_handler == after.sa_handler);
    assert_int_equal(before.sa_flags, after.sa_flags);
    assert_ptr_equal(stack_before.ss_sp, stack_after.ss_sp);
    assert_int_equal(stack_before.ss_flags, stack_after.ss_flags);
}

/* ---- names, and where a task is spawned ---- */

static intptr_t knows_its_name(void *argument) {
    CHECK(strcmp(verge_task_name(), argument) == 0);
    CHECK_EQUAL(verge_task_set_name("another"), 0);
    CHECK(strcmp(verge_task_name(), "another") == 0);
    CHECK_EQUAL(verge_task_set_name(NULL), 0);
    CHECK(verge_task_name() == NULL);
    return verge_task_worker_id();
}

static intptr_t spawns_with_options(void *argument) {
    (void)argument;
    CHECK(strcmp(verge_task_name(), "main") == 0);
    verge_spawn_options options;
    verge_task *task;
    CHECK_EQUAL(verge_spawn_options_init(&options, sizeof(options)), 0);
    CHECK_EQUAL(verge_spawn_with(&options, &task), -EINVAL); /* no function */
    options.function = knows_its_name;
    options.argument = "the one";
    options.name = "the one";
    CHECK_EQUAL(verge_spawn_with(&options, &task), 0);
    CHECK_EQUAL(join(task), 0); /* VERGE_WORKER_HERE */
    options.worker_id = 2;
    CHECK_EQUAL(verge_spawn_with(&options, &task), 0);
    CHECK_EQUAL(join(task), 2);
    options.worker_id = 3;
    CHECK_EQUAL(verge_spawn_with(&options, &task), -EINVAL); /* no such worker */
    bool seen[3] = {false};
    for (int i = 0; i < 3; i++) { /* VERGE_WORKER_ANY: the workers in turn */
        CHECK_EQUAL(spawn_at(NULL, VERGE_WORKER_ANY, does_nothing, NULL, NULL), 0);
        options.worker_id = VERGE_WORKER_ANY;
        CHECK_EQUAL(verge_spawn_with(&options, &task), 0);
        seen[join(task)] = true;
        CHECK_EQUAL(verge_yield(), 0);
    }
    CHECK(seen[0] && seen[1] && seen[2]);
    return 0;
}

static void a_task_has_a_name_and_a_worker(void **state) {
    (void)state;
    (void)run_virtual(3, 0, spawns_with_options, NULL);
    verge_spawn_options options;
    assert_int_equal(verge_spawn_options_init(&options, sizeof(options)), 0);
    options.function = does_nothing;
    assert_int_equal(verge_spawn_with(&options, NULL), -EPERM);
    assert_int_equal(verge_spawn_with(NULL, NULL), -EINVAL);
    assert_int_equal(verge_spawn_options_init(NULL, sizeof(verge_spawn_options)), -EINVAL);
    assert_int_equal(verge_task_set_name("nobody"), -EPERM);
    assert_null(verge_task_name());
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(t6_an_overflow_names_its_task),       cmocka_unit_test(other_faults_are_what_they_were),
        cmocka_unit_test(a_handler_of_the_programs_is_called), cmocka_unit_test(afterwards_all_is_as_before),
        cmocka_unit_test(a_task_has_a_name_and_a_worker),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
