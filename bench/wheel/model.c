/* SPDX-License-Identifier: MIT */
#include "model.h"

#include <inttypes.h>
#include <stdlib.h>

#include "fail.h"

void bench_model_start(struct bench_model *model, const struct bench_log *log, uint32_t id_count,
                       uint64_t lateness_ns_allowed) {
    *model = (struct bench_model){
        .log = log,
        .deadlines_ns = calloc(id_count, sizeof(uint64_t)),
        .id_count = id_count,
        .lateness_ns_allowed = lateness_ns_allowed,
    };
    if (model->deadlines_ns == NULL) {
        bench_fail("no memory for the model");
    }
    if (log->dropped_count > 0) {
        bench_fail("%zu firings more than there can be", log->dropped_count);
    }
}

static void check_not_lost(const struct bench_model *model, uint32_t id) {
    uint64_t deadline_ns = model->deadlines_ns[id];
    if (model->lateness_ns_allowed != UINT64_MAX && deadline_ns + model->lateness_ns_allowed < model->now_ns) {
        bench_fail("timer %" PRIu32 " was due at %" PRIu64 " and did not fire until %" PRIu64, id, deadline_ns,
                   model->now_ns);
    }
}

void bench_model_schedule(struct bench_model *model, uint32_t id, uint64_t deadline_ns) {
    if (model->deadlines_ns[id] == 0) {
        model->pending_count++;
    } else {
        check_not_lost(model, id);
    }
    model->deadlines_ns[id] = deadline_ns;
}

void bench_model_cancel(struct bench_model *model, uint32_t id) {
    if (model->deadlines_ns[id] == 0) {
        return;
    }
    check_not_lost(model, id);
    model->deadlines_ns[id] = 0;
    model->pending_count--;
    model->cancelled_count++;
}

static void fire(struct bench_model *model, uint32_t id) {
    if (id >= model->id_count || model->deadlines_ns[id] == 0) {
        bench_fail("timer %" PRIu32 " fired and was not pending", id);
    }
    uint64_t deadline_ns = model->deadlines_ns[id];
    if (deadline_ns > model->now_ns) {
        bench_fail("timer %" PRIu32 " fired %" PRIu64 " ns early", id, deadline_ns - model->now_ns);
    }
    uint64_t lateness_ns = model->now_ns - deadline_ns;
    if (lateness_ns > model->lateness_ns_allowed) {
        bench_fail("timer %" PRIu32 " fired %" PRIu64 " ns late", id, lateness_ns);
    }
    if (lateness_ns > model->lateness_ns_max && model->lateness_ns_allowed != UINT64_MAX) {
        model->lateness_ns_max = lateness_ns;
    }
    model->deadlines_ns[id] = 0;
    model->pending_count--;
    model->fired_count++;
}

void bench_model_advance(struct bench_model *model, uint64_t now_ns, size_t log_end) {
    model->now_ns = now_ns;
    model->log_begin = model->log_cursor;
    while (model->log_cursor < log_end) {
        fire(model, model->log->ids[model->log_cursor++]);
    }
}

void bench_model_end(struct bench_model *model) {
    if (model->pending_count != 0) {
        bench_fail("%" PRIu64 " timers never fired", model->pending_count);
    }
    if (model->log_cursor != model->log->count) {
        bench_fail("%zu firings too many", model->log->count - model->log_cursor);
    }
    free(model->deadlines_ns);
}
