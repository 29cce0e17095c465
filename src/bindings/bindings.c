/* SPDX-License-Identifier: MIT */
#include "verge/bindings.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "verge/verge.h"

struct row {
    const char *type;
    const char *field; /* NULL: this row is for the struct itself */
    uint32_t offset;
    uint16_t size;
    bool is_zeroed; /* a struct of options that has no init function, because all defaults are zero */
};

#define TYPE(type) ROW(#type, NULL, 0, sizeof(type), false)
#define ZEROED(type) ROW(#type, NULL, 0, sizeof(type), true)
#define FIELD(type, field) ROW(#type, #field, offsetof(type, field), sizeof(((type *)0)->field), false)
#define ROW(...) \
    { __VA_ARGS__ }

/* tests/bindings/table.py compares the table with the headers, and prints the rows that it must have. */
static const struct row rows[] = {
    TYPE(verge_allocator),
    TYPE(verge_case),
    TYPE(verge_clock),
    TYPE(verge_condition),
    TYPE(verge_deadline),
    TYPE(verge_expiry),
    TYPE(verge_firing),
    TYPE(verge_group),
    TYPE(verge_histogram),
    TYPE(verge_host_memory),
    TYPE(verge_interval),
    TYPE(verge_label),
    TYPE(verge_long_timer),
    TYPE(verge_loop),
    TYPE(verge_loop_timer),
    TYPE(verge_manual_clock),
    TYPE(verge_mutex),
    TYPE(verge_once),
    TYPE(verge_pending),
    ZEROED(verge_process_options),
    TYPE(verge_process_result),
    TYPE(verge_recurrence),
    TYPE(verge_runtime_options),
    TYPE(verge_runtime_stats),
    TYPE(verge_rwlock),
    TYPE(verge_scope_figure),
    TYPE(verge_scope_item),
    ZEROED(verge_scope_options),
    ZEROED(verge_scope_panel_options),
    TYPE(verge_semaphore),
    TYPE(verge_service_options),
    TYPE(verge_service_stats),
    TYPE(verge_signal),
    TYPE(verge_spawn_options),
    ZEROED(verge_start_options),
    TYPE(verge_stuck),
    TYPE(verge_stuck_task),
    TYPE(verge_tick),
    TYPE(verge_timeout),
    TYPE(verge_timer_info),
    TYPE(verge_wheel_compaction),
    TYPE(verge_wheel_level),
    TYPE(verge_wheel_level_stats),
    TYPE(verge_wheel_options),
    TYPE(verge_wheel_stats),
    ZEROED(verge_worker_options),
    FIELD(verge_process_options, arguments),
    FIELD(verge_process_options, environment),
    FIELD(verge_process_options, directory),
    FIELD(verge_process_options, input),
    FIELD(verge_process_options, input_size),
    FIELD(verge_process_options, output),
    FIELD(verge_process_options, output_size),
    FIELD(verge_process_options, errors),
    FIELD(verge_process_options, errors_size),
    FIELD(verge_process_options, grace_ns),
    FIELD(verge_runtime_options, worker_count),
    FIELD(verge_runtime_options, backend),
    FIELD(verge_runtime_options, clock.now_ns),
    FIELD(verge_runtime_options, clock.context),
    FIELD(verge_runtime_options, virtual_clock),
    FIELD(verge_runtime_options, io_grace_ns),
    FIELD(verge_runtime_options, precision_ns),
    FIELD(verge_runtime_options, stack_size),
    FIELD(verge_runtime_options, task_count_max),
    FIELD(verge_runtime_options, allocator),
    FIELD(verge_runtime_options, check_deadlines),
    FIELD(verge_runtime_options, report_overflow),
    FIELD(verge_runtime_options, dump_signal),
    FIELD(verge_runtime_options, dump_fd),
    FIELD(verge_runtime_options, stuck_after_ns),
    FIELD(verge_runtime_options, on_stuck),
    FIELD(verge_runtime_options, on_stuck_context),
    FIELD(verge_runtime_options, blocking_thread_max),
    FIELD(verge_runtime_options, blocking_idle_ns),
    FIELD(verge_scope_options, address),
    FIELD(verge_scope_options, token),
    FIELD(verge_scope_options, name),
    FIELD(verge_scope_options, allocator),
    FIELD(verge_scope_panel_options, name),
    FIELD(verge_scope_panel_options, ask),
    FIELD(verge_scope_panel_options, context),
    FIELD(verge_scope_panel_options, release),
    FIELD(verge_scope_panel_options, list),
    FIELD(verge_scope_panel_options, act),
    FIELD(verge_service_options, thread_count),
    FIELD(verge_service_options, metronome),
    FIELD(verge_service_options, check_deadlines),
    FIELD(verge_service_options, precision_ns),
    FIELD(verge_service_options, resolution_ns),
    FIELD(verge_service_options, clock.now_ns),
    FIELD(verge_service_options, clock.context),
    FIELD(verge_service_options, timer_cap),
    FIELD(verge_service_options, batch),
    FIELD(verge_service_options, stuck_after_ns),
    FIELD(verge_service_options, on_stuck),
    FIELD(verge_service_options, on_stuck_context),
    FIELD(verge_service_options, allocator),
    FIELD(verge_spawn_options, function),
    FIELD(verge_spawn_options, argument),
    FIELD(verge_spawn_options, name),
    FIELD(verge_spawn_options, runtime),
    FIELD(verge_spawn_options, worker_id),
    FIELD(verge_spawn_options, label),
    FIELD(verge_spawn_options, group),
    FIELD(verge_start_options, callback),
    FIELD(verge_start_options, argument),
    FIELD(verge_start_options, deadline_ns),
    FIELD(verge_start_options, window_ns),
    FIELD(verge_start_options, period_ns),
    FIELD(verge_start_options, policy),
    FIELD(verge_start_options, worker_id),
    FIELD(verge_start_options, label),
    FIELD(verge_wheel_options, start_ns),
    FIELD(verge_wheel_options, precision_ns),
    FIELD(verge_wheel_options, level_count),
    FIELD(verge_wheel_options, coarse),
    FIELD(verge_wheel_options, strict),
    FIELD(verge_wheel_options, order),
    FIELD(verge_wheel_options, past),
    FIELD(verge_wheel_options, work_limit),
    FIELD(verge_wheel_options, timer_cap),
    FIELD(verge_wheel_options, compaction.minimum),
    FIELD(verge_wheel_options, compaction.ratio),
    FIELD(verge_wheel_options, compaction.multiplier),
    FIELD(verge_wheel_options, allocator),
    FIELD(verge_wheel_options, worker_id),
    FIELD(verge_worker_options, unbound),
    FIELD(verge_worker_options, wake),
    FIELD(verge_worker_options, wake_context),
};

static const struct row *row_of(const char *type, const char *field) {
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const struct row *row = &rows[i];
        const bool is_field = field == NULL ? row->field == NULL : row->field != NULL && strcmp(row->field, field) == 0;
        if (is_field && strcmp(row->type, type) == 0) {
            return row;
        }
    }
    return NULL;
}

size_t verge_size_of(const char *type) {
    const struct row *row = type == NULL ? NULL : row_of(type, NULL);
    return row == NULL ? 0 : row->size;
}

/* Whether the value fits into the field, as an unsigned or as a negative number. Every field of one byte is a bool. */
static bool fits(uint64_t value, const struct row *row) {
    if (row->size == 1) {
        return value <= 1;
    }
    const unsigned bits = 8u * row->size;
    return bits == 64 || value >> bits == 0 || value >= UINT64_MAX << (bits - 1);
}

int verge_options_set(void *options, const char *type, const char *field, uint64_t value) {
    if (options == NULL || type == NULL || field == NULL) {
        return -EINVAL;
    }
    const struct row *row = row_of(type, field);
    if (row == NULL) {
        return -ENOENT;
    }
    size_t struct_size;
    memcpy(&struct_size, options, sizeof(struct_size));
    const struct row *whole = row_of(type, NULL);
    if (struct_size == 0 && whole != NULL && whole->is_zeroed) {
        struct_size = whole->size;
    }
    if (struct_size < row->offset + (size_t)row->size) {
        return -EINVAL;
    }
    if (!fits(value, row)) {
        return -EOVERFLOW;
    }
    memcpy(options, &struct_size, sizeof(struct_size));
    const uint8_t byte = (uint8_t)value;
    const uint32_t word = (uint32_t)value;
    const void *number = row->size == 1 ? (const void *)&byte : row->size == 4 ? (const void *)&word : &value;
    memcpy((char *)options + row->offset, number, row->size);
    return 0;
}
