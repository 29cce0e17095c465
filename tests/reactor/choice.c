/* SPDX-License-Identifier: MIT */
/* Which backend is chosen, and which error there is if none is available. Each case is a process of its own. */
#define _GNU_SOURCE

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "reactor/support.h"

enum { took_io_uring = 200, took_epoll = 201, broke_promise = 255 };

/* Returns which backend was opened, or the error. */
static int open_and_close(verge__reactor_kind kind) {
    verge__reactor *reactor = NULL;
    const int error = verge__reactor_open(kind, 0, verge_allocator_default(), &reactor);
    if (error != 0) {
        return reactor == NULL ? -error : broke_promise;
    }
    const int result = strcmp(verge__reactor_name(reactor), "epoll") == 0 ? took_epoll : took_io_uring;
    verge__reactor_close(reactor);
    return result;
}

static void forbid(unsigned number, unsigned error) {
    struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | error),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    const struct sock_fprog program = {.len = sizeof(filter) / sizeof(filter[0]), .filter = filter};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0) {
        _exit(254);
    }
}

struct circumstances {
    const char *backend; /* VERGE_BACKEND in the environment; NULL: not set */
    bool io_uring_forbidden;
    unsigned enter_error; /* the errno value that a filter gives to io_uring_enter; 0: no filter */
    bool no_descriptors;
};

static int outcome(struct circumstances circumstances, verge__reactor_kind kind) {
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        (void)unsetenv("VERGE_BACKEND");
        if (circumstances.backend != NULL) {
            (void)setenv("VERGE_BACKEND", circumstances.backend, 1);
        }
        if (circumstances.io_uring_forbidden) {
            forbid(SYS_io_uring_setup, EPERM);
        }
        if (circumstances.enter_error != 0) {
            forbid(SYS_io_uring_enter, circumstances.enter_error);
        }
        if (circumstances.no_descriptors) {
            const struct rlimit none = {.rlim_cur = 0, .rlim_max = 0};
            (void)setrlimit(RLIMIT_NOFILE, &none);
        }
        _exit(open_and_close(kind));
    }
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

static void the_environment_decides(void **state) {
    (void)state;
    assert_int_equal(outcome((struct circumstances){.backend = "epoll"}, VERGE__REACTOR_AUTO), took_epoll);
    assert_int_equal(outcome((struct circumstances){.backend = "kqueue"}, VERGE__REACTOR_AUTO), EINVAL);
    assert_int_equal(
        outcome((struct circumstances){.backend = "io_uring", .io_uring_forbidden = true}, VERGE__REACTOR_EPOLL),
        took_epoll);
}

static void epoll_takes_over_where_io_uring_is_refused(void **state) {
    (void)state;
    const struct circumstances forbidden = {.io_uring_forbidden = true};
    assert_int_equal(outcome(forbidden, VERGE__REACTOR_AUTO), took_epoll);
    assert_int_equal(outcome((struct circumstances){.backend = "", .io_uring_forbidden = true}, VERGE__REACTOR_AUTO),
                     took_epoll);
}

static void one_that_is_demanded_and_refused_is_an_error(void **state) {
    (void)state;
    const struct circumstances forbidden = {.backend = "io_uring", .io_uring_forbidden = true};
    assert_in_range(outcome(forbidden, VERGE__REACTOR_AUTO), 1, 199);
    assert_in_range(outcome(forbidden, VERGE__REACTOR_URING), 1, 199);
}

static void a_ring_that_cannot_be_used_is_none(void **state) {
    (void)state;
    const unsigned errors[] = {EPERM, ENOSYS, EACCES};
    for (size_t i = 0; i < sizeof(errors) / sizeof(errors[0]); i++) {
        const struct circumstances useless = {.enter_error = errors[i]};
        assert_int_equal(outcome(useless, VERGE__REACTOR_AUTO), took_epoll);
        assert_in_range(outcome(useless, VERGE__REACTOR_URING), 1, 199);
        assert_int_equal(outcome(useless, VERGE__REACTOR_EPOLL), took_epoll);
    }
}

static void without_descriptors_there_is_a_clear_error(void **state) {
    (void)state;
    const struct circumstances poor = {.no_descriptors = true};
    assert_int_equal(outcome(poor, VERGE__REACTOR_AUTO), EMFILE);
    assert_int_equal(outcome(poor, VERGE__REACTOR_EPOLL), EMFILE);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_environment_decides),
        cmocka_unit_test(epoll_takes_over_where_io_uring_is_refused),
        cmocka_unit_test(one_that_is_demanded_and_refused_is_an_error),
        cmocka_unit_test(a_ring_that_cannot_be_used_is_none),
        cmocka_unit_test(without_descriptors_there_is_a_clear_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
