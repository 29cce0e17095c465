/* SPDX-License-Identifier: MIT */
/* Stacks: an overflow is a fault, stacks need memory only while they are used, and the high-water mark shows the
 * deepest use. */
#define _DEFAULT_SOURCE

#include "task/stack.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/allocator.h"
#include "support/cmocka.h"
#include "task/context.h"

enum { stack_size = 64 << 10, block_size = 400 };

struct fixture {
    struct verge_test_allocator memory;
    verge__stack_store store;
    verge__stack_cache cache;
};

static void open_store(struct fixture *fixture) {
    verge_test_allocator_init(&fixture->memory);
    assert_int_equal(verge__stack_store_init(&fixture->store, stack_size, block_size, &fixture->memory.allocator), 0);
    verge__stack_cache_init(&fixture->cache, &fixture->store);
}

static void close_store(struct fixture *fixture) {
    verge__stack_cache_flush(&fixture->cache);
    verge__stack_store_deinit(&fixture->store);
    verge_test_allocator_assert_empty(&fixture->memory);
}

static verge__stack *take(struct fixture *fixture) {
    verge__stack *stack = NULL;
    assert_int_equal(verge__stack_take(&fixture->cache, &stack), 0);
    return stack;
}

static verge__stack_stats stats_of(struct fixture *fixture) {
    verge__stack_stats stats;
    verge__stack_store_stats(&fixture->store, &stats);
    return stats;
}

/* ---- */

static void a_stack_has_room_and_a_block(void **state) {
    (void)state;
    struct fixture fixture;
    open_store(&fixture);
    verge__stack *stacks[20];
    for (size_t i = 0; i < 20; i++) {
        stacks[i] = take(&fixture);
        assert_true(verge__stack_room(&fixture.store, stacks[i]) >= stack_size);
        char *block = verge__stack_block(&fixture.store, stacks[i]);
        assert_int_equal((uintptr_t)block % 16, 0);
        memset(block, 0x55, block_size);
        memset(stacks[i]->low, 0x66, 16);
    }
    for (size_t i = 0; i < 20; i++) {
        assert_int_equal(*(unsigned char *)verge__stack_block(&fixture.store, stacks[i]), 0x55);
        verge__stack_give(&fixture.cache, stacks[i]);
    }
    close_store(&fixture);
}

static void the_last_one_given_is_taken_first(void **state) {
    (void)state;
    struct fixture fixture;
    open_store(&fixture);
    verge__stack *first = take(&fixture);
    verge__stack *second = take(&fixture);
    assert_ptr_not_equal(first, second);
    verge__stack_give(&fixture.cache, first);
    verge__stack_give(&fixture.cache, second);
    assert_ptr_equal(take(&fixture), second);
    assert_ptr_equal(take(&fixture), first);
    verge__stack_give(&fixture.cache, first);
    verge__stack_give(&fixture.cache, second);
    close_store(&fixture);
}

/* The stack of a shallow task needs one page. When the stacks are given back, only those in the cache keep their
 * page. */
static void memory_follows_use(void **state) {
    (void)state;
    enum { count = 2000 };
    struct fixture fixture;
    open_store(&fixture);
    static verge__stack *stacks[count];
    for (size_t i = 0; i < count; i++) {
        stacks[i] = take(&fixture);
        memset(verge__stack_block(&fixture.store, stacks[i]), 1, block_size);
    }
    const size_t page_size = fixture.store.page_size;
    assert_true(stats_of(&fixture).resident_bytes <= (count + 16) * page_size);
    for (size_t i = 0; i < count; i++) {
        verge__stack_give(&fixture.cache, stacks[i]);
    }
    assert_true(stats_of(&fixture).resident_bytes <= VERGE__STACK_CACHE_MAX * page_size);
    assert_true(stats_of(&fixture).stack_count <= count + 16);
    for (size_t i = 0; i < count; i++) {
        stacks[i] = take(&fixture);
    }
    assert_true(stats_of(&fixture).stack_count <= count + 16);
    for (size_t i = 0; i < count; i++) {
        verge__stack_give(&fixture.cache, stacks[i]);
    }
    close_store(&fixture);
}

static void the_mark_shows_the_deepest_use(void **state) {
    (void)state;
    struct fixture fixture;
    open_store(&fixture);
    const size_t page_size = fixture.store.page_size;
    verge__stack *stack = take(&fixture);
    assert_int_equal(stats_of(&fixture).high_water_bytes, page_size);
    ((char *)stack->low)[fixture.store.usable_size - 5 * page_size] = 1;
    assert_int_equal(stats_of(&fixture).high_water_bytes, 5 * page_size);
    verge__stack_give(&fixture.cache, stack);
    verge__stack_cache_flush(&fixture.cache); /* gives the memory back; the high-water mark stays */
    assert_int_equal(stats_of(&fixture).resident_bytes, 0);
    assert_int_equal(stats_of(&fixture).high_water_bytes, 5 * page_size);
    close_store(&fixture);
}

static void no_memory_is_an_error_and_nothing_changes(void **state) {
    (void)state;
    struct fixture fixture;
    open_store(&fixture);
    for (uint64_t call = 1; call <= 2; call++) {
        fixture.memory.fail_at = fixture.memory.calls + call;
        verge__stack *stack = NULL;
        assert_int_equal(verge__stack_take(&fixture.cache, &stack), -ENOMEM);
        assert_null(stack);
    }
    verge__stack_give(&fixture.cache, take(&fixture));
    close_store(&fixture);
}

static void sizes_that_make_no_sense_are_refused(void **state) {
    (void)state;
    verge__stack_store store;
    assert_int_equal(verge__stack_store_init(&store, SIZE_MAX, 16, verge_allocator_default()), -EINVAL);
    assert_int_equal(verge__stack_store_init(&store, stack_size, 1 << 20, verge_allocator_default()), -EINVAL);
}

/* ---- overflow ---- */

static verge__context loop, fiber;

static int descend(const volatile char *above, uintptr_t limit) {
    volatile char frame[512];
    frame[0] = 1;
    frame[511] = above[0];
    return (uintptr_t)__builtin_frame_address(0) < limit ? frame[0] : descend(frame, limit) + frame[511];
}

/* If there were no guard, `descend` would return when it has passed the place of the guard. */
static void overflow_entry(void *limit) {
    volatile char top = 0;
    (void)descend(&top, (uintptr_t)limit);
    verge__context_leave(&fiber, &loop);
}

static void overflow(struct fixture *fixture) {
    const struct rlimit no_core = {0, 0};
    (void)setrlimit(RLIMIT_CORE, &no_core);
    (void)signal(SIGSEGV, SIG_DFL); /* a sanitizer's handler would report the fault */
    verge__stack *stack = take(fixture);
    char *guard = (char *)stack->low - fixture->store.guard_size;
    verge__context_adopt(&loop);
    verge__context_init(&fiber, stack->low, verge__stack_room(&fixture->store, stack), overflow_entry, guard);
    verge__context_switch(&loop, &fiber);
    _exit(0);
}

static void expect_clean_fault(bool guards_by_mprotect) {
    struct fixture fixture;
    open_store(&fixture);
    fixture.store.guards_by_mprotect = guards_by_mprotect;
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        overflow(&fixture);
    }
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status));
    assert_int_equal(WTERMSIG(status), SIGSEGV);
    close_store(&fixture);
}

static void an_overflow_is_a_fault(void **state) {
    (void)state;
    expect_clean_fault(false);
}

static void an_overflow_is_a_fault_on_an_older_kernel(void **state) {
    (void)state;
    expect_clean_fault(true);
}

/* With -fstack-clash-protection, the first access of a function to its frame is at most so far below the stack pointer
 * of its caller (gcc and clang). */
#if defined(__aarch64__)
enum { probe_distance = 64 << 10 };
#else
enum { probe_distance = 4 << 10 };
#endif

/* Whether the byte at an address can be read. If not, the write to the pipe fails with EFAULT. */
static bool is_accessible(int pipe_fd, const char *address) {
    const ssize_t written = write(pipe_fd, address, 1);
    assert_true(written == 1 || errno == EFAULT);
    return written == 1;
}

static void expect_wide_guard(bool guards_by_mprotect) {
    struct fixture fixture;
    int pipe_fds[2];
    open_store(&fixture);
    fixture.store.guards_by_mprotect = guards_by_mprotect;
    assert_int_equal(pipe(pipe_fds), 0);
    for (int i = 0; i < 3; i++) { /* takes three stacks, which lie side by side */
        const char *low = take(&fixture)->low;
        assert_true(is_accessible(pipe_fds[1], low));
        for (size_t distance = 1; distance <= probe_distance; distance += 1023) {
            assert_false(is_accessible(pipe_fds[1], low - distance));
        }
        assert_false(is_accessible(pipe_fds[1], low - probe_distance));
    }
    assert_int_equal(close(pipe_fds[0]) + close(pipe_fds[1]), 0);
    close_store(&fixture);
}

static void t6_no_probe_steps_over_the_guard(void **state) {
    (void)state;
    expect_wide_guard(false);
    expect_wide_guard(true);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_stack_has_room_and_a_block),
        cmocka_unit_test(the_last_one_given_is_taken_first),
        cmocka_unit_test(memory_follows_use),
        cmocka_unit_test(the_mark_shows_the_deepest_use),
        cmocka_unit_test(no_memory_is_an_error_and_nothing_changes),
        cmocka_unit_test(sizes_that_make_no_sense_are_refused),
        cmocka_unit_test(an_overflow_is_a_fault),
        cmocka_unit_test(an_overflow_is_a_fault_on_an_older_kernel),
        cmocka_unit_test(t6_no_probe_steps_over_the_guard),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
