/* SPDX-License-Identifier: MIT */
/* What goes wrong outside: refused system calls, no descriptors, peers that reset, full queues. No call hangs. */
#define _GNU_SOURCE

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "io/support.h"

/* ---- peers ---- */

static intptr_t is_reset(void *argument) {
    (void)argument;
    struct sockaddr_in address;
    const int listener = listen_on_loopback(&address);
    const int client = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    CHECK_EQUAL(verge_connect(client, (struct sockaddr *)&address, sizeof(address), VERGE_NEVER), 0);
    const int server = verge_accept(listener, NULL, NULL, SOCK_CLOEXEC, VERGE_NEVER);
    const struct linger at_once = {.l_onoff = 1, .l_linger = 0};
    CHECK_EQUAL(setsockopt(server, SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once)), 0);
    CHECK_EQUAL(verge_close(server), 0); /* sends a reset */
    char byte = 0;
    CHECK_EQUAL(verge_recv(client, &byte, 1, 0, verge_deadline_after(MINUTE)), -ECONNRESET);
    CHECK_EQUAL(verge_send(client, &byte, 1, 0, verge_deadline_after(MINUTE)), -EPIPE); /* without SIGPIPE */
    CHECK_EQUAL(verge_close(client), 0);
    CHECK_EQUAL(verge_close(listener), 0);
    const int refused = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    CHECK_EQUAL(verge_connect(refused, (struct sockaddr *)&address, sizeof(address), verge_deadline_after(MINUTE)),
                -ECONNREFUSED);
    CHECK_EQUAL(verge_close(refused), 0);
    return 0;
}

static void peers_that_reset_and_refuse(void **state) {
    (void)state;
    run_tasks(1, is_reset, NULL);
}

/* A listener with a full queue answers nobody: the connect ends at its deadline. */
static intptr_t connects_to_nobody(void *argument) {
    (void)argument;
    struct sockaddr_in address;
    const int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    socklen_t size = sizeof(address);
    address = (struct sockaddr_in){.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    CHECK_EQUAL(bind(listener, (struct sockaddr *)&address, size), 0);
    CHECK_EQUAL(listen(listener, 0), 0);
    CHECK_EQUAL(getsockname(listener, (struct sockaddr *)&address, &size), 0);
    int clients[8];
    int timeouts = 0;
    for (size_t i = 0; i < COUNT_OF(clients); i++) {
        clients[i] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        const int result =
            verge_connect(clients[i], (struct sockaddr *)&address, sizeof(address), verge_deadline_after(5 * MS));
        CHECK(result == 0 || result == -ETIMEDOUT);
        timeouts += result == -ETIMEDOUT;
    }
    CHECK(timeouts > 0);
    for (size_t i = 0; i < COUNT_OF(clients); i++) {
        CHECK_EQUAL(verge_close(clients[i]), 0);
    }
    CHECK_EQUAL(verge_close(listener), 0);
    return 0;
}

static void a_connect_ends_at_its_deadline(void **state) {
    (void)state;
    run_tasks(1, connects_to_nobody, NULL);
}

/* One of the tasks of floods. Their operations are more than a ring has entries, except with ThreadSanitizer. */
static intptr_t reads_one(void *argument) {
    const int *fd = argument;
    char byte;
    return verge_recv(*fd, &byte, 1, 0, verge_deadline_after(HOUR));
}

static intptr_t floods(void *argument) {
    enum { count = fewer_under_tsan(2000) };
    (void)argument;
    static struct pair pairs[count];
    static verge_task *tasks[count];
    for (size_t i = 0; i < count; i++) {
        pairs[i] = open_pair();
        tasks[i] = spawn(reads_one, &pairs[i].near);
    }
    for (int i = 0; i < 3; i++) {
        CHECK_EQUAL(verge_yield(), 0);
    }
    for (size_t i = 0; i < count; i++) {
        if (i % 2 == 0) {
            CHECK_EQUAL(verge_task_cancel(tasks[i]), 0);
        } else {
            CHECK_EQUAL(write(pairs[i].far, "x", 1), 1);
        }
    }
    for (size_t i = 0; i < count; i++) {
        CHECK_EQUAL(join(tasks[i]), i % 2 == 0 ? -ECANCELED : 1);
        close_pair(pairs[i]);
    }
    return 0;
}

static void seed003_no_cancel_is_dropped_when_the_ring_is_full(void **state) {
    (void)state;
    run_tasks(1, floods, NULL);
}

/* ---- the kernel refuses a call: each case in a process of its own ---- */

enum { passed = 0, failed = 1 };

static int in_a_child(int (*function)(void)) {
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        _exit(function());
    }
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static verge_runtime *new_runtime(verge_backend backend) {
    verge_runtime_options options;
    verge_runtime *runtime = NULL;
    (void)verge_runtime_options_init(&options, sizeof(options));
    options.worker_count = 2;
    options.backend = backend;
    return verge_runtime_create(&options, &runtime) == 0 ? runtime : NULL;
}

static intptr_t runs_out_of_descriptors(void *argument) {
    (void)argument;
    struct sockaddr_in address;
    const int listener = listen_on_loopback(&address);
    const int client = socket(AF_INET, SOCK_STREAM, 0);
    CHECK_EQUAL(verge_connect(client, (struct sockaddr *)&address, sizeof(address), VERGE_NEVER), 0);
    while (dup(0) >= 0) {
    }
    CHECK_EQUAL(verge_accept(listener, NULL, NULL, 0, verge_deadline_after(MINUTE)), -EMFILE);
    CHECK_EQUAL(verge_openat(AT_FDCWD, "/dev/null", O_RDONLY, 0, VERGE_NEVER), -EMFILE);
    return 0;
}

static int no_descriptors_while_running(void) {
    const struct rlimit few = {.rlim_cur = 40, .rlim_max = 40};
    (void)setrlimit(RLIMIT_NOFILE, &few);
    verge_runtime *runtime = new_runtime(VERGE_BACKEND_AUTO);
    const int error = verge_runtime_run(runtime, runs_out_of_descriptors, NULL, NULL);
    return error == 0 && atomic_load(&failed_check_count) == 0 ? passed : failed;
}

static intptr_t must_not_run(void *argument) {
    (void)argument;
    CHECK(false);
    return 0;
}

static int no_descriptors_at_start(void) {
    verge_runtime *runtime = new_runtime(VERGE_BACKEND_AUTO);
    const struct rlimit none = {.rlim_cur = 4, .rlim_max = 4}; /* enough descriptors for the first worker, at most */
    (void)setrlimit(RLIMIT_NOFILE, &none);
    const int error = verge_runtime_run(runtime, must_not_run, NULL, NULL);
    return error == -EMFILE && verge_runtime_destroy(runtime) == 0 && atomic_load(&failed_check_count) == 0 ? passed
                                                                                                            : failed;
}

static intptr_t must_run(void *argument) {
    (void)argument;
    return 1;
}

static void forbid(unsigned number) {
    struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    const struct sock_fprog program = {.len = sizeof(filter) / sizeof(filter[0]), .filter = filter};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0) {
        _exit(254);
    }
}

static intptr_t runs_on_epoll(void *argument) {
    (void)argument;
    CHECK(!is_uring());
    return is_reset(NULL);
}

static int epoll_where(unsigned forbidden) {
    (void)alarm(600);
    forbid(forbidden);
    (void)unsetenv("VERGE_BACKEND");
    verge_runtime *runtime = new_runtime(VERGE_BACKEND_AUTO);
    int error = verge_runtime_run(runtime, runs_on_epoll, NULL, NULL);
    error |= verge_runtime_destroy(runtime);
    verge_runtime *demanding = new_runtime(VERGE_BACKEND_IO_URING);
    const int refused = verge_runtime_run(demanding, must_not_run, NULL, NULL);
    error |= verge_runtime_destroy(demanding);
    return error == 0 && refused < 0 && atomic_load(&failed_check_count) == 0 ? passed : failed;
}

static int epoll_where_io_uring_is_refused(void) {
    return epoll_where(SYS_io_uring_setup);
}

static int epoll_where_io_uring_can_be_set_up_and_not_used(void) {
    return epoll_where(SYS_io_uring_enter);
}

/* ---- the kernel begins to refuse calls while operations are pending (N5) ---- */

struct victim {
    int fd;
    uint64_t deadline_ns;
};

static intptr_t receives(void *argument) {
    const struct victim *victim = argument;
    char byte;
    return verge_recv(victim->fd, &byte, 1, 0, victim->deadline_ns);
}

static void forbid_waiting(void) {
    forbid(SYS_io_uring_enter);
    forbid(SYS_epoll_pwait2);
    forbid(SYS_epoll_pwait);
#if defined(SYS_epoll_wait)
    forbid(SYS_epoll_wait);
#endif
}

static intptr_t loses_its_backend(void *argument) {
    (void)argument;
    const struct pair pair = open_pair();
    struct victim victims[2] = {{pair.near, VERGE_NEVER}, {pair.near, verge_deadline_after(HOUR)}};
    verge_task *tasks[2] = {spawn(receives, &victims[0]), spawn(receives, &victims[1])};
    CHECK_EQUAL(verge_sleep((int64_t)MS), 0); /* both wait by now: during the sleep, the worker waits in its reactor */
    CHECK_EQUAL(stats_of(verge_task_runtime()).failed_reactors, 0);
    forbid_waiting();
    CHECK_EQUAL(join(tasks[0]), -EPERM);
    CHECK_EQUAL(join(tasks[1]), -EPERM);
    CHECK_EQUAL(stats_of(verge_task_runtime()).failed_reactors, 1);
    CHECK_EQUAL(stats_of(verge_task_runtime()).reactor_error, -EPERM);
    char byte = 0;
    CHECK_EQUAL(verge_send(pair.far, &byte, 1, 0, VERGE_NEVER), -EPERM);
    CHECK_EQUAL(verge_recv(pair.near, &byte, 1, 0, verge_deadline_after(HOUR)), -EPERM);
    CHECK_EQUAL(verge_sleep((int64_t)MS), 0); /* sleeps still work */
    CHECK_EQUAL(join(spawn(must_run, NULL)), 1);
    CHECK_EQUAL(verge_close(pair.near), 0);
    CHECK_EQUAL(verge_close(pair.far), 0);
    CHECK_EQUAL(fcntl(pair.near, F_GETFD), -1);
    return 0;
}

static int a_filter_that_comes_later(void) {
    (void)alarm(600);
    verge_runtime_options options;
    verge_runtime *runtime = NULL;
    (void)verge_runtime_options_init(&options, sizeof(options));
    options.worker_count = 1;
    int error = verge_runtime_create(&options, &runtime);
    error |= verge_runtime_run(runtime, loses_its_backend, NULL, NULL);
    error |= verge_runtime_destroy(runtime);
    return error == 0 && atomic_load(&failed_check_count) == 0 ? passed : failed;
}

/* An unknown VERGE_BACKEND is an error when options are read, or in the run if it is set later. It is ignored if the
 * options name a backend. */
static int an_unknown_backend(void) {
    char text[128];
    verge_runtime *runtime = new_runtime(VERGE_BACKEND_AUTO);
    verge_runtime *refused = NULL;
    verge_runtime_options options = runtime_options(1);
    (void)setenv("VERGE_BACKEND", "kqueue", 1);
    CHECK_EQUAL(verge_runtime_options_explain(&options, text, sizeof(text)), -EINVAL);
    CHECK_EQUAL(strcmp(text, "the environment has VERGE_BACKEND=kqueue: it may be io_uring or epoll, or not set"), 0);
    CHECK_EQUAL(verge_runtime_create(&options, &refused), -EINVAL);
    CHECK_EQUAL(verge_runtime_create(NULL, &refused), -EINVAL);
    CHECK(refused == NULL);
    CHECK_EQUAL(verge_runtime_run(runtime, must_not_run, NULL, NULL), -EINVAL);
    CHECK_EQUAL(verge_runtime_destroy(runtime), 0);
    options.backend = VERGE_BACKEND_EPOLL;
    CHECK_EQUAL(verge_runtime_options_explain(&options, text, sizeof(text)), 0);
    return atomic_load(&failed_check_count) == 0 ? passed : failed;
}

static void what_the_system_refuses_is_a_clear_error(void **state) {
    (void)state;
    assert_int_equal(in_a_child(no_descriptors_while_running), passed);
    assert_int_equal(in_a_child(no_descriptors_at_start), passed);
    assert_int_equal(in_a_child(epoll_where_io_uring_is_refused), passed);
    assert_int_equal(in_a_child(epoll_where_io_uring_can_be_set_up_and_not_used), passed);
    assert_int_equal(in_a_child(an_unknown_backend), passed);
}

static void n5_what_the_system_forbids_later_ends_all_calls(void **state) {
    (void)state;
    assert_int_equal(in_a_child(a_filter_that_comes_later), passed);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_the_system_refuses_is_a_clear_error),
        cmocka_unit_test(n5_what_the_system_forbids_later_ends_all_calls),
        cmocka_unit_test(peers_that_reset_and_refuse),
        cmocka_unit_test(a_connect_ends_at_its_deadline),
        cmocka_unit_test(seed003_no_cancel_is_dropped_when_the_ring_is_full),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
