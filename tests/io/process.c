/* SPDX-License-Identifier: MIT */
/* verge/process.h: children that end, programs with pipes, deadlines that kill, signals. */
#define _GNU_SOURCE

#include <dirent.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "io/support.h"
#include "verge/process.h"

/* ---- support ---- */

static int descriptor_count(void) {
    int count = 0;
    DIR *directory = opendir("/proc/self/fd");
    CHECK(directory != NULL);
    while (directory != NULL && readdir(directory) != NULL) { /* NOLINT(concurrency-mt-unsafe): this thread's */
        count++;
    }
    (void)closedir(directory);
    return count;
}

static void check_no_children(void) {
    CHECK(waitpid(-1, NULL, WNOHANG) == -1 && errno == ECHILD);
}

/* A child that ends when the test closes the other end of its pipe. */
struct waiter {
    pid_t pid;
    int fd;
};

static struct waiter fork_waiter(int status) {
    int ends[2];
    CHECK_EQUAL(pipe2(ends, O_CLOEXEC), 0);
    const pid_t pid = fork();
    if (pid == 0) {
        char byte;
        (void)close(ends[1]);
        (void)!read(ends[0], &byte, 1);
        if (status < 0) {
            (void)signal(SIGTERM, SIG_DFL);
            (void)raise(SIGTERM);
        }
        _exit(status);
    }
    CHECK(pid > 0);
    CHECK_EQUAL(close(ends[0]), 0);
    return (struct waiter){.pid = pid, .fd = ends[1]};
}

/* ---- waiting for a child ---- */

static intptr_t closes_later(void *argument) {
    CHECK_EQUAL(verge_sleep(2 * MS), 0);
    return verge_close(*(const int *)argument);
}

static intptr_t waits_for_children(void *argument) {
    (void)argument;
    int status = 77;
    struct waiter child = fork_waiter(3);
    CHECK_EQUAL(verge_wait_process(child.pid, &status, verge_deadline_after(MS)), -ETIMEDOUT);
    CHECK_EQUAL(status, 77);
    verge_task *task = spawn(closes_later, &child.fd);
    CHECK_EQUAL(verge_wait_process(child.pid, &status, VERGE_NEVER), 0);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 3);
    CHECK_EQUAL(join(task), 0);
    CHECK_EQUAL(verge_wait_process(child.pid, &status, VERGE_NEVER), -ECHILD);
    CHECK_EQUAL(verge_wait_process(1, &status, VERGE_NEVER), -ECHILD); /* not our child */
    CHECK_EQUAL(verge_wait_process(0, &status, VERGE_NEVER), -EINVAL);
    CHECK_EQUAL(verge_wait_process(-1, &status, VERGE_NEVER), -EINVAL);

    child = fork_waiter(-1);
    CHECK_EQUAL(close(child.fd), 0);
    CHECK_EQUAL(verge_wait_process(child.pid, &status, VERGE_NEVER), 0);
    CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM);

    child = fork_waiter(0);
    CHECK_EQUAL(verge_task_cancel(verge_task_current()), 0);
    CHECK_EQUAL(verge_wait_process(child.pid, &status, VERGE_NEVER), -ECANCELED);
    CHECK_EQUAL(close(child.fd), 0);
    siginfo_t info;
    CHECK_EQUAL(waitid(P_PID, (id_t)child.pid, &info, WEXITED | WNOWAIT), 0);
    /* Even a cancelled task gets a status that is there. */
    CHECK_EQUAL(verge_wait_process(child.pid, NULL, VERGE_NEVER), 0);
    check_no_children();
    return 0;
}

static void a_child_is_waited_for(void **state) {
    (void)state;
    (void)run_tasks(1, waits_for_children, NULL);
    assert_int_equal(verge_wait_process(1, NULL, VERGE_NEVER), -EPERM);
}

/* ---- running a program ---- */

static int run_program(const char *const *arguments, verge_process_options *options, verge_process_result *result,
                       uint64_t deadline_ns) {
    options->arguments = arguments;
    *result = (verge_process_result){.struct_size = sizeof(*result), .status = 12345};
    return verge_run_process(options, result, deadline_ns);
}

static verge_process_options process_options(void) {
    verge_process_options options = {.struct_size = sizeof(options)};
    return options;
}

enum { LARGE = 1 << 20 };

static char input[LARGE], output[LARGE], errors[LARGE];

static intptr_t runs_programs(void *argument) {
    (void)argument;
    verge_process_options options = process_options();
    verge_process_result result;

    /* More than the pipes hold goes in and comes out. */
    for (size_t i = 0; i < LARGE; i++) {
        input[i] = (char)(i * 2654435761U >> 24);
    }
    options.input = input;
    options.input_size = LARGE;
    options.output = output;
    options.output_size = LARGE;
    options.errors = errors;
    options.errors_size = LARGE;
    CHECK_EQUAL(run_program((const char *const[]){"cat", NULL}, &options, &result, VERGE_NEVER), 0);
    CHECK(result.has_begun && WIFEXITED(result.status) && WEXITSTATUS(result.status) == 0);
    CHECK_EQUAL(result.output_size, LARGE);
    CHECK_EQUAL(result.output_dropped, 0);
    CHECK_EQUAL(result.errors_size, 0);
    CHECK(memcmp(input, output, LARGE) == 0);

    /* Output for which the buffer has no room is counted. */
    options.output_size = 10;
    CHECK_EQUAL(run_program((const char *const[]){"cat", NULL}, &options, &result, VERGE_NEVER), 0);
    CHECK_EQUAL(result.output_size, 10);
    CHECK_EQUAL(result.output_dropped, LARGE - 10);

    /* If the program reads none of its input, the call returns no error, and raises no SIGPIPE. */
    CHECK_EQUAL(run_program((const char *const[]){"false", NULL}, &options, &result, VERGE_NEVER), 0);
    CHECK(WIFEXITED(result.status) && WEXITSTATUS(result.status) == 1);

    /* The program has the directory and environment of the options. Its output, errors and status are returned. */
    options = process_options();
    options.output = output;
    options.output_size = LARGE;
    options.errors = errors;
    options.errors_size = LARGE;
    options.directory = "/";
    options.environment = (const char *const[]){"ANSWER=42", "PATH=/usr/bin:/bin", NULL};
    CHECK_EQUAL(run_program((const char *const[]){"sh", "-c", "pwd; echo $ANSWER; cat; echo wrong >&2; exit 5", NULL},
                            &options, &result, VERGE_NEVER),
                0);
    CHECK(WIFEXITED(result.status) && WEXITSTATUS(result.status) == 5);
    CHECK_EQUAL(result.output_size, strlen("/\n42\n"));
    CHECK(memcmp(output, "/\n42\n", strlen("/\n42\n")) == 0);
    CHECK_EQUAL(result.errors_size, strlen("wrong\n"));
    CHECK(memcmp(errors, "wrong\n", strlen("wrong\n")) == 0);

    /* The call returns when the program has ended, even if the program leaves other processes behind. */
    CHECK_EQUAL(
        run_program((const char *const[]){"sh", "-c", "sleep 1000 & echo $!", NULL}, &options, &result, VERGE_NEVER),
        0);
    output[result.output_size] = '\0';
    CHECK_EQUAL(kill((pid_t)strtol(output, NULL, 10), SIGKILL), 0);
    return 0;
}

static intptr_t leaves_no_descriptor(void *argument) {
    (void)argument;
    const int before = descriptor_count();
    (void)runs_programs(NULL);
    CHECK_EQUAL(descriptor_count(), before);
    check_no_children();
    sigset_t pending;
    CHECK_EQUAL(sigpending(&pending), 0);
    CHECK_EQUAL(sigismember(&pending, SIGPIPE), 0);
    return 0;
}

static void programs_have_streams(void **state) {
    (void)state;
    (void)run_tasks(1, leaves_no_descriptor, NULL);
    verge_manual_clock clock = {0};
    verge_runtime_options options = runtime_options(1);
    options.virtual_clock = &clock;
    options.io_grace_ns = VERGE_NEVER;
    (void)run_with(options, leaves_no_descriptor, NULL);
}

static intptr_t makes_mistakes(void *argument) {
    (void)argument;
    verge_process_options options = process_options();
    verge_process_result result;
    CHECK_EQUAL(run_program((const char *const[]){"no such program", NULL}, &options, &result, VERGE_NEVER), -ENOENT);
    CHECK_EQUAL(result.status, 12345);
    CHECK_EQUAL(run_program((const char *const[]){"/etc/passwd", NULL}, &options, &result, VERGE_NEVER), -EACCES);
    options.directory = "/no such directory";
    CHECK_EQUAL(run_program((const char *const[]){"true", NULL}, &options, &result, VERGE_NEVER), -ENOENT);
    options.directory = NULL;
    CHECK_EQUAL(run_program(NULL, &options, &result, VERGE_NEVER), -EINVAL);
    CHECK_EQUAL(run_program((const char *const[]){NULL}, &options, &result, VERGE_NEVER), -EINVAL);
    options.output_size = 1;
    CHECK_EQUAL(run_program((const char *const[]){"true", NULL}, &options, &result, VERGE_NEVER), -EINVAL);
    options.output_size = 0;
    CHECK_EQUAL(verge_run_process(NULL, &result, VERGE_NEVER), -EINVAL);
    options.struct_size = 0;
    CHECK_EQUAL(run_program((const char *const[]){"true", NULL}, &options, &result, VERGE_NEVER), -EINVAL);
    options.struct_size = sizeof(options);
    CHECK_EQUAL(verge_run_process(&options, NULL, VERGE_NEVER), -EINVAL);
    CHECK_EQUAL(run_program((const char *const[]){"true", NULL}, &options, &result, 0), -ETIMEDOUT);
    CHECK(!result.has_begun);
    CHECK_EQUAL(verge_task_cancel(verge_task_current()), 0);
    CHECK_EQUAL(run_program((const char *const[]){"true", NULL}, &options, &result, VERGE_NEVER), -ECANCELED);
    CHECK(!result.has_begun);
    check_no_children();
    return 0;
}

static void mistakes_start_nothing(void **state) {
    (void)state;
    (void)run_tasks(1, makes_mistakes, NULL);
    verge_process_result result = {.struct_size = sizeof(result)};
    verge_process_options options = process_options();
    assert_int_equal(verge_run_process(&options, &result, VERGE_NEVER), -EPERM);
}

/* ---- programs that are killed ---- */

/* The script writes to descriptor 9 when it is ready. When all processes of the script have ended, nobody has this
 * descriptor open. */
struct killed {
    verge_task_function runs; /* NULL: the script */
    const char *script;
    uint64_t grace_ns;
    verge_process_result result;
    int error;
    int ready[2];
};

static intptr_t runs_script(void *argument) {
    struct killed *killed = argument;
    char script[512];
    (void)snprintf(script, sizeof(script), "exec 9>/proc/%d/fd/%d; %s", (int)getpid(), killed->ready[1],
                   killed->script);
    verge_process_options options = process_options();
    options.output = output;
    options.output_size = LARGE;
    options.grace_ns = killed->grace_ns;
    killed->error =
        run_program((const char *const[]){"sh", "-c", script, NULL}, &options, &killed->result, VERGE_NEVER);
    return 0;
}

static intptr_t kills_a_script(void *argument) {
    struct killed *killed = argument;
    char byte = 0;
    CHECK_EQUAL(pipe2(killed->ready, O_CLOEXEC), 0);
    verge_task *task = spawn(killed->runs != NULL ? killed->runs : runs_script, killed);
    CHECK_EQUAL(verge_read(killed->ready[0], &byte, 1, VERGE_NEVER), 1);
    CHECK_EQUAL(byte, 'r');
    CHECK_EQUAL(verge_task_cancel(task), 0);
    CHECK_EQUAL(join(task), 0);
    CHECK_EQUAL(killed->error, -ECANCELED);
    CHECK(killed->result.has_begun);
    CHECK_EQUAL(close(killed->ready[1]), 0);
    CHECK_EQUAL(verge_read(killed->ready[0], &byte, 1, VERGE_NEVER), 0); /* all processes have ended */
    CHECK_EQUAL(close(killed->ready[0]), 0);
    check_no_children();
    return 0;
}

static void a_program_is_killed_with_its_children(void **state) {
    (void)state;
    struct killed hard = {.script = "sleep 1000 & sleep 1000 & printf r >&9; wait"};
    (void)run_tasks(1, kills_a_script, &hard);
    assert_true(WIFSIGNALED(hard.result.status) && WTERMSIG(hard.result.status) == SIGKILL);

    struct killed deaf = {.script = "trap '' TERM; printf r >&9; while :; do sleep 0.01; done", .grace_ns = 30 * MS};
    (void)run_tasks(1, kills_a_script, &deaf);
    assert_true(WIFSIGNALED(deaf.result.status) && WTERMSIG(deaf.result.status) == SIGKILL);

    struct killed polite = {.script = "trap 'echo bye; exit 7' TERM; printf r >&9; while :; do sleep 0.01; done",
                            .grace_ns = HOUR};
    (void)run_tasks(1, kills_a_script, &polite);
    assert_true(WIFEXITED(polite.result.status) && WEXITSTATUS(polite.result.status) == 7);
    assert_int_equal(polite.result.output_size, strlen("bye\n"));
    assert_memory_equal(output, "bye\n", strlen("bye\n"));
}

/* What this test does as a program that it starts: it leaves its process group, says so, and ends by itself after a
 * while. */
static int leave_the_group(const char *path) {
    const int ready = open(path, O_WRONLY | O_CLOEXEC);
    const bool has_left = setpgid(0, getpgid(getppid())) == 0;
    (void)alarm(600);
    (void)!write(ready, has_left ? "r" : "-", 1);
    (void)pause();
    return 1;
}

static intptr_t runs_who_leaves(void *argument) {
    struct killed *killed = argument;
    char path[64];
    (void)snprintf(path, sizeof(path), "/proc/%d/fd/%d", (int)getpid(), killed->ready[1]);
    verge_process_options options = process_options();
    options.grace_ns = killed->grace_ns;
    killed->error = run_program((const char *const[]){"/proc/self/exe", "leave", path, NULL}, &options, &killed->result,
                                VERGE_NEVER);
    return 0;
}

static void a_program_is_killed_in_any_group(void **state) {
    (void)state;
    for (int i = 0; i < 4; i++) {
        struct killed killed = {.runs = runs_who_leaves, .grace_ns = i % 2 == 0 ? 0 : HOUR};
        verge_manual_clock clock = {0};
        verge_runtime_options options = runtime_options(1);
        options.virtual_clock = i < 2 ? NULL : &clock;
        options.io_grace_ns = VERGE_NEVER;
        (void)run_with(options, kills_a_script, &killed);
        assert_true(WIFSIGNALED(killed.result.status));
        assert_int_equal(WTERMSIG(killed.result.status), i % 2 == 0 ? SIGKILL : SIGTERM);
    }
}

static intptr_t is_late(void *argument) {
    (void)argument;
    verge_process_options options = process_options();
    verge_process_result result;
    verge_deadline scope;
    CHECK_EQUAL(
        run_program((const char *const[]){"sleep", "1000", NULL}, &options, &result, verge_deadline_after(20 * MS)),
        -ETIMEDOUT);
    CHECK(!result.has_begun || (WIFSIGNALED(result.status) && WTERMSIG(result.status) == SIGKILL));
    CHECK_EQUAL(verge_deadline_push(&scope, verge_deadline_after(20 * MS)), 0);
    CHECK_EQUAL(run_program((const char *const[]){"sleep", "1000", NULL}, &options, &result, VERGE_NEVER), -ETIMEDOUT);
    CHECK_EQUAL(verge_deadline_pop(&scope), 0);
    check_no_children();
    return 0;
}

static void a_deadline_kills(void **state) {
    (void)state;
    (void)run_tasks(1, is_late, NULL);
}

/* ---- descriptors run out ---- */

static intptr_t runs_out_of_descriptors(void *argument) {
    (void)argument;
    verge_process_options options = process_options();
    verge_process_result result;
    options.input = "x";
    options.input_size = 1;
    options.output = output;
    options.output_size = LARGE;
    options.errors = errors;
    options.errors_size = LARGE;
    /* The first run has no limit, so that the pool can start its thread. */
    CHECK_EQUAL(run_program((const char *const[]){"cat", NULL}, &options, &result, VERGE_NEVER), 0);
    const int before = descriptor_count();
    struct rlimit limit;
    CHECK_EQUAL(getrlimit(RLIMIT_NOFILE, &limit), 0);
    const struct rlimit unlimited = limit;
    int error = -EMFILE;
    int failures = 0;
    for (limit.rlim_cur = 3; error != 0 && limit.rlim_cur < 200; limit.rlim_cur++) {
        CHECK_EQUAL(setrlimit(RLIMIT_NOFILE, &limit), 0);
        error = run_program((const char *const[]){"cat", NULL}, &options, &result, VERGE_NEVER);
        CHECK_EQUAL(setrlimit(RLIMIT_NOFILE, &unlimited), 0);
        CHECK(error == 0 || error == -EMFILE || error == -EINVAL); /* -EINVAL comes from epoll_ctl */
        if (error == 0 && WEXITSTATUS(result.status) != 0) {
            error = -EMFILE; /* the program had too few descriptors */
        }
        failures += error != 0;
        CHECK_EQUAL(descriptor_count(), before);
        check_no_children();
    }
    CHECK(failures > 3);
    CHECK_EQUAL(error, 0);
    CHECK_EQUAL(result.output_size, 1);
    return 0;
}

static void without_descriptors_nothing_is_left(void **state) {
    (void)state;
    (void)run_tasks(1, runs_out_of_descriptors, NULL);
}

/* ---- signals ---- */

static int signals;

static intptr_t waits_for_signals(void *argument) {
    (void)argument;
    verge_signal signal = {.number = 99};
    CHECK_EQUAL(verge_signals_wait(signals, &signal, verge_deadline_after(MS)), -ETIMEDOUT);
    CHECK_EQUAL(signal.number, 99);
    CHECK_EQUAL(kill(getpid(), SIGHUP), 0);
    CHECK_EQUAL(verge_signals_wait(signals, &signal, VERGE_NEVER), 0);
    CHECK_EQUAL(signal.number, SIGHUP);
    CHECK_EQUAL(signal.sender, getpid());
    CHECK_EQUAL(signal.user, getuid());
    CHECK_EQUAL(sigqueue(getpid(), SIGRTMIN + 3, (union sigval){.sival_ptr = &signal}), 0);
    CHECK_EQUAL(verge_signals_wait(signals, &signal, VERGE_NEVER), 0);
    CHECK_EQUAL(signal.number, SIGRTMIN + 3);
    CHECK_EQUAL(signal.value, (intptr_t)&signal);
    CHECK_EQUAL(signal.code, SI_QUEUE);
    CHECK_EQUAL(verge_signals_wait(signals, &signal, 0), -ETIMEDOUT);
    CHECK_EQUAL(verge_signals_wait(signals, NULL, 0), -EINVAL);
    CHECK_EQUAL(verge_signals_wait(-1, &signal, 0), -EBADF);
    CHECK_EQUAL(verge_signals_open((const int[]){SIGHUP}, 1), -EBUSY);
    const int nothing = open("/dev/null", O_RDONLY | O_CLOEXEC);
    CHECK_EQUAL(verge_signals_wait(nothing, &signal, VERGE_NEVER), -EINVAL);
    CHECK_EQUAL(close(nothing), 0);

    const struct waiter child = fork_waiter(6);
    CHECK_EQUAL(close(child.fd), 0);
    CHECK_EQUAL(verge_signals_wait(signals, &signal, VERGE_NEVER), 0);
    CHECK_EQUAL(signal.number, SIGCHLD);
    CHECK_EQUAL(signal.sender, child.pid);
    CHECK_EQUAL(signal.status, 6);
    CHECK_EQUAL(verge_wait_process(child.pid, NULL, VERGE_NEVER), 0);
    return 0;
}

static intptr_t sends_signal(void *argument) {
    (void)argument;
    CHECK_EQUAL(verge_yield(), 0);
    return kill(getpid(), SIGHUP);
}

static intptr_t is_woken_by_signal(void *argument) {
    (void)argument;
    verge_signal signal;
    verge_task *task = spawn_on(1, sends_signal, NULL);
    CHECK_EQUAL(verge_signals_wait(signals, &signal, VERGE_NEVER), 0);
    CHECK_EQUAL(signal.number, SIGHUP);
    return join(task);
}

static void signals_are_waited_for(void **state) {
    (void)state;
    sigset_t before;
    assert_int_equal(pthread_sigmask(SIG_BLOCK, NULL, &before), 0);
    assert_int_equal(verge_signals_open(NULL, 1), -EINVAL);
    assert_int_equal(verge_signals_open((const int[]){SIGHUP}, 0), -EINVAL);
    static const int wrong[] = {0, -1, 65, SIGKILL, SIGSTOP, SIGSEGV};
    for (size_t i = 0; i < COUNT_OF(wrong); i++) {
        assert_int_equal(verge_signals_open((const int[]){SIGHUP, wrong[i]}, 2), -EINVAL);
    }
    sigset_t after;
    assert_int_equal(pthread_sigmask(SIG_BLOCK, NULL, &after), 0);
    assert_int_equal(sigismember(&after, SIGHUP), sigismember(&before, SIGHUP));
    signals = verge_signals_open((const int[]){SIGHUP, SIGRTMIN + 3, SIGCHLD}, 3);
    assert_true(signals >= 0);
    (void)run_tasks(2, waits_for_signals, NULL);
    (void)run_tasks(2, is_woken_by_signal, NULL);
    assert_int_equal(close(signals), 0);
    verge_signal signal;
    assert_int_equal(verge_signals_wait(signals, &signal, VERGE_NEVER), -EPERM);
    assert_int_equal(pthread_sigmask(SIG_SETMASK, &before, NULL), 0);
}

int main(int argc, char **argv) {
    if (argc == 3) {
        return leave_the_group(argv[2]);
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_child_is_waited_for),
        cmocka_unit_test(programs_have_streams),
        cmocka_unit_test(mistakes_start_nothing),
        cmocka_unit_test(a_program_is_killed_with_its_children),
        cmocka_unit_test(a_program_is_killed_in_any_group),
        cmocka_unit_test(a_deadline_kills),
        cmocka_unit_test(without_descriptors_nothing_is_left),
        cmocka_unit_test(signals_are_waited_for),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
