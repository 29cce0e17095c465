/* SPDX-License-Identifier: MIT */
/* Sizes and fields of structs, by name. (table.py tests that the table has all structs.) */
#include "verge/bindings.h"

#include <errno.h>
#include <string.h>

#include "support/cmocka.h"
#include "verge/verge.h"

static void sizes(void **state) {
    (void)state;
    assert_int_equal(verge_size_of("verge_timeout"), sizeof(verge_timeout));
    assert_int_equal(verge_size_of("verge_loop_timer"), sizeof(verge_loop_timer));
    assert_int_equal(verge_size_of("verge_histogram"), sizeof(verge_histogram));
    assert_int_equal(verge_size_of("verge_recurrence"), sizeof(verge_recurrence));
    assert_int_equal(verge_size_of("verge_wheel_options"), sizeof(verge_wheel_options));
    assert_int_equal(verge_size_of("verge_wheel"), 0); /* opaque */
    assert_int_equal(verge_size_of("verge_timeou"), 0);
    assert_int_equal(verge_size_of(""), 0);
    assert_int_equal(verge_size_of(NULL), 0);
}

/* Each call sets its field and no other one. */
static void fields_of_all_sizes(void **state) {
    (void)state;
    verge_runtime_options expected;
    verge_runtime_options options;
    assert_int_equal(verge_runtime_options_init(&options, sizeof(options)), 0);
    expected = options;
#define SET(field, value) \
    assert_int_equal(verge_options_set(&options, "verge_runtime_options", #field, (uint64_t)(value)), 0); \
    expected.field = value; \
    assert_memory_equal(&options, &expected, sizeof(options))
    SET(worker_count, UINT32_MAX);
    SET(backend, VERGE_BACKEND_EPOLL);
    SET(io_grace_ns, UINT64_MAX);
    SET(stack_size, 1 << 20);
    SET(report_overflow, true);
    SET(report_overflow, false);
    SET(dump_fd, -1);
    SET(dump_signal, 10);
#undef SET
    verge_manual_clock clock;
    assert_int_equal(verge_options_set(&options, "verge_runtime_options", "virtual_clock", (uintptr_t)&clock), 0);
    assert_ptr_equal(options.virtual_clock, &clock);
    assert_int_equal(verge_options_set(&options, "verge_runtime_options", "clock.context", (uintptr_t)&clock), 0);
    assert_ptr_equal(options.clock.context, &clock);
}

/* Options without an init function: the first field that is set also sets struct_size. */
static void zeroed_options(void **state) {
    (void)state;
    static const char *type = "verge_start_options";
    verge_start_options options = {0};
    assert_int_equal(verge_options_set(&options, type, "worker_id", UINT64_C(1) << 32), -EOVERFLOW);
    assert_int_equal(verge_options_set(&options, type, "period", 1), -ENOENT);
    assert_int_equal(options.struct_size, 0);
    assert_int_equal(verge_options_set(&options, type, "period_ns", 7), 0);
    assert_int_equal(options.struct_size, sizeof(options));
    assert_int_equal(options.period_ns, 7);
    options.struct_size = offsetof(verge_start_options, label); /* the size of an older version stays */
    assert_int_equal(verge_options_set(&options, type, "period_ns", 8), 0);
    assert_int_equal(options.struct_size, offsetof(verge_start_options, label));
    verge_worker_options worker = {0};
    assert_int_equal(verge_options_set(&worker, "verge_worker_options", "unbound", true), 0);
    assert_int_equal(worker.struct_size, sizeof(worker));
    assert_true(worker.unbound);
    verge_service_options service = {0}; /* not initialized, and has defaults that are not 0 */
    assert_int_equal(verge_options_set(&service, "verge_service_options", "metronome", 1), -EINVAL);
    assert_int_equal(service.struct_size, 0);
}

static void refused(void **state) {
    (void)state;
    static const char *type = "verge_start_options";
    verge_start_options options = {.struct_size = sizeof(options)};
    const verge_start_options before = options;
    assert_int_equal(verge_options_set(NULL, type, "period_ns", 1), -EINVAL);
    assert_int_equal(verge_options_set(&options, NULL, "period_ns", 1), -EINVAL);
    assert_int_equal(verge_options_set(&options, type, NULL, 1), -EINVAL);
    assert_int_equal(verge_options_set(&options, type, "period", 1), -ENOENT);
    assert_int_equal(verge_options_set(&options, type, "struct_size", 1), -ENOENT);
    assert_int_equal(verge_options_set(&options, "verge_start_option", "period_ns", 1), -ENOENT);
    assert_int_equal(verge_options_set(&options, type, "worker_id", UINT64_C(1) << 32), -EOVERFLOW);
    assert_int_equal(verge_options_set(&options, type, "worker_id", UINT64_MAX << 32), -EOVERFLOW);
    assert_memory_equal(&options, &before, sizeof(options));
    options.struct_size = offsetof(verge_start_options, period_ns) + 7; /* an older version, without the field */
    assert_int_equal(verge_options_set(&options, type, "period_ns", 1), -EINVAL);
    assert_int_equal(options.period_ns, before.period_ns);
    verge_service_options service;
    assert_int_equal(verge_service_options_init(&service, sizeof(service)), 0);
    assert_int_equal(verge_options_set(&service, "verge_service_options", "metronome", 2), -EOVERFLOW);
    assert_int_equal(verge_options_set(&service, "verge_service_options", "metronome", UINT64_MAX), -EOVERFLOW);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sizes),
        cmocka_unit_test(fields_of_all_sizes),
        cmocka_unit_test(zeroed_options),
        cmocka_unit_test(refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
