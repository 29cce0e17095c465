/* SPDX-License-Identifier: MIT */
#include "model/model.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

static void *grown(void *items, size_t count, size_t *capacity, size_t size) {
    if (count < *capacity) {
        return items;
    }
    *capacity = *capacity == 0 ? 64 : *capacity * 2;
    items = realloc(items, *capacity * size);
    if (items == NULL) {
        abort();
    }
    return items;
}

static void default_levels(verge_wheel_options *options) {
    unsigned shift = 0;
    while ((options->precision_ns >> shift) > 1) {
        shift++;
    }
    while (shift < 64) {
        const unsigned wide = options->level_count == 0 ? 9 : options->level_count == 1 ? 8 : 6;
        const unsigned bits = 64 - shift < wide ? 64 - shift : wide;
        options->levels[options->level_count++] = (verge_wheel_level){(uint8_t)shift, (uint8_t)bits};
        shift += bits;
    }
}

void model_init(struct model *model, const verge_wheel_options *options) {
    memset(model, 0, sizeof(*model));
    model->options = *options;
    if (options->level_count == 0) {
        default_levels(&model->options);
    }
    model->precision_ns = UINT64_C(1) << model->options.levels[0].shift;
    model->now_ns = options->start_ns;
}

void model_free(struct model *model) {
    free(model->timers);
    free(model->issued.items);
    free(model->issued.set);
    memset(model, 0, sizeof(*model));
}

/* ---- handles ---- */

static size_t set_place(const struct model_handles *handles, verge_timer handle) {
    size_t place = (size_t)((handle * UINT64_C(0x9E3779B97F4A7C15)) >> 20) & (handles->set_size - 1);
    while (handles->set[place] != 0 && handles->set[place] != handle) {
        place = (place + 1) & (handles->set_size - 1);
    }
    return place;
}

static void set_grow(struct model_handles *handles) {
    free(handles->set);
    handles->set_size = handles->set_size == 0 ? 256 : handles->set_size * 4;
    handles->set = calloc(handles->set_size, sizeof(*handles->set));
    if (handles->set == NULL) {
        abort();
    }
    for (size_t i = 0; i < handles->count; i++) {
        handles->set[set_place(handles, handles->items[i])] = handles->items[i];
    }
}

bool model_handle_issued(const struct model *model, verge_timer handle) {
    const struct model_handles *handles = &model->issued;
    return handle != 0 && handles->set_size > 0 && handles->set[set_place(handles, handle)] == handle;
}

void model_handle_add(struct model *model, verge_timer handle) {
    struct model_handles *handles = &model->issued;
    if (handles->count * 2 >= handles->set_size) {
        set_grow(handles);
    }
    handles->items = grown(handles->items, handles->count, &handles->capacity, sizeof(*handles->items));
    handles->items[handles->count++] = handle;
    handles->set[set_place(handles, handle)] = handle;
}

struct model_timer *model_find(struct model *model, verge_timer handle) {
    for (size_t i = 0; i < model->count; i++) {
        if (model->timers[i].handle == handle && handle != 0) {
            return &model->timers[i];
        }
    }
    return NULL;
}

struct model_timer *model_find_timeout(struct model *model, const void *data) {
    for (size_t i = 0; i < model->count; i++) {
        if (model->timers[i].handle == 0 && model->timers[i].data == data) {
            return &model->timers[i];
        }
    }
    return NULL;
}

/* ---- time ---- */

/* Returns the last deadline whose tick comes: the tick before the last one or, in a strict wheel, 1 ns before it. */
static uint64_t last_deadline(const struct model *model) {
    const uint64_t last_ns = (VERGE_NEVER - 1) / model->precision_ns * model->precision_ns - model->precision_ns;
    return last_ns - (model->options.strict ? 1 : 0);
}

/* Whether the wheel accepts each deadline: its levels reach to the end of time, and it is not coarse. */
static bool reaches_end(const struct model *model) {
    return model_coverage(model, model->options.level_count - 1) == VERGE_NEVER && !model->options.coarse;
}

uint64_t model_fires_at(const struct model *model, uint64_t deadline_ns) {
    const uint64_t precision_ns = model->precision_ns;
    if (deadline_ns > last_deadline(model)) {
        return VERGE_NEVER;
    }
    const uint64_t tick_ns = deadline_ns & ~(precision_ns - 1);
    if (tick_ns == deadline_ns && !model->options.strict) {
        return deadline_ns;
    }
    return tick_ns > UINT64_MAX - precision_ns ? VERGE_NEVER : tick_ns + precision_ns;
}

uint64_t model_resolution(const struct model *model, size_t level) {
    return UINT64_C(1) << model->options.levels[level].shift;
}

uint64_t model_coverage(const struct model *model, size_t level) {
    const unsigned reach = (unsigned)model->options.levels[level].shift + model->options.levels[level].bits;
    return reach >= 64 ? VERGE_NEVER : UINT64_C(1) << reach;
}

static uint64_t add_capped(uint64_t a, uint64_t b) {
    return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

/* Returns the latest tick for a timer of a coarse wheel. Its distance from the first tick after now decides the level,
 * and the level decides how late the timer may be. A backlog makes no difference. */
static uint64_t coarse_latest(const struct model *model, uint64_t fires_ns, uint64_t now_ns) {
    const uint64_t first_ns = add_capped(now_ns & ~(model->precision_ns - 1), model->precision_ns);
    if (fires_ns < first_ns) {
        return fires_ns;
    }
    size_t level = 0;
    while (level + 1 < model->options.level_count && fires_ns - first_ns >= model_coverage(model, level)) {
        level++;
    }
    const uint64_t rest_ns = fires_ns & (model_resolution(model, level) - 1);
    return rest_ns == 0 ? fires_ns : add_capped(fires_ns - rest_ns, model_resolution(model, level));
}

uint64_t model_roundest(uint64_t earliest_ns, uint64_t latest_ns) {
    uint64_t best_ns = latest_ns;
    while (best_ns != 0 && (best_ns & (best_ns - 1)) >= earliest_ns) {
        best_ns &= best_ns - 1; /* clear the lowest bit while the time stays in the window */
    }
    return best_ns;
}

/* ---- timers ---- */

int model_judge(const struct model *model, uint64_t deadline_ns, uint64_t largest_ns) {
    if (deadline_ns > largest_ns && !reaches_end(model)) {
        return -ERANGE;
    }
    switch (model->options.past) {
    case VERGE_PAST_FIRES:
        return 0;
    case VERGE_PAST_SINCE_START:
        return deadline_ns == 0 || deadline_ns < model->options.start_ns ? -EINVAL : 0;
    case VERGE_PAST_REJECTED:
        return deadline_ns < (model->now_ns & ~(model->precision_ns - 1)) ? -EINVAL : 0;
    }
    return -EINVAL;
}

uint64_t model_first_legal(const struct model *model) {
    switch (model->options.past) {
    case VERGE_PAST_FIRES:
        return 0;
    case VERGE_PAST_SINCE_START:
        return model->options.start_ns == 0 ? 1 : model->options.start_ns;
    case VERGE_PAST_REJECTED:
        return model->now_ns & ~(model->precision_ns - 1);
    }
    return 0;
}

void model_move(struct model *model, struct model_timer *timer, uint64_t deadline_ns, bool backlog) {
    const uint64_t fires_ns = model_fires_at(model, deadline_ns);
    const uint64_t for_ever_ns = VERGE_NEVER - 1 - model->precision_ns + (model->options.strict ? 0 : 1);
    timer->deadline_ns = deadline_ns > last_deadline(model) ? for_ever_ns : deadline_ns;
    timer->fires_ns = fires_ns;
    timer->fires_latest_ns = model->options.coarse ? coarse_latest(model, fires_ns, model->now_ns) : fires_ns;
    timer->scheduled_ns = model->now_ns;
    timer->sequence = model->sequence++;
    timer->past = fires_ns <= model->now_ns;
    timer->backlog = backlog;
    timer->alone = false;
}

static struct model_timer *add(struct model *model, verge_timer handle, uint64_t deadline_ns, void *data,
                               bool backlog) {
    model->timers = grown(model->timers, model->count, &model->capacity, sizeof(*model->timers));
    struct model_timer *timer = &model->timers[model->count++];
    *timer = (struct model_timer){.handle = handle, .data = data};
    model_move(model, timer, deadline_ns, backlog);
    timer->alone = model->count == 1 && model->moved + model->cancelled == model->disturbed;
    for (size_t i = 0; i + 1 < model->count; i++) {
        model->timers[i].alone = false;
    }
    return timer;
}

struct model_timer *model_add(struct model *model, verge_timer handle, uint64_t deadline_ns, void *data, bool backlog) {
    model_handle_add(model, handle);
    return add(model, handle, deadline_ns, data, backlog);
}

struct model_timer *model_add_timeout(struct model *model, void *data, uint64_t deadline_ns, bool backlog) {
    model->timeouts++;
    return add(model, 0, deadline_ns, data, backlog);
}

void model_remove(struct model *model, struct model_timer *timer) {
    assert(timer >= model->timers && timer < model->timers + model->count);
    model->timeouts -= timer->handle == 0;
    *timer = model->timers[--model->count];
}

size_t model_handles_pending(const struct model *model) {
    return model->count - model->timeouts;
}

uint64_t model_earliest_deadline(const struct model *model) {
    uint64_t earliest_ns = VERGE_NEVER;
    for (size_t i = 0; i < model->count; i++) {
        if (model->timers[i].deadline_ns < earliest_ns) {
            earliest_ns = model->timers[i].deadline_ns;
        }
    }
    return earliest_ns;
}

uint64_t model_next_expiry(const struct model *model) {
    uint64_t next_ns = VERGE_NEVER;
    for (size_t i = 0; i < model->count; i++) {
        if (model->timers[i].fires_latest_ns < next_ns) {
            next_ns = model->timers[i].fires_latest_ns;
        }
    }
    return next_ns < model->now_ns ? model->now_ns : next_ns;
}

/* Whether a poll also looks at timers of the current tick. */
static bool is_exact(const struct model *model, enum model_poll kind) {
    const bool is_tickwise = model->options.strict || model->options.coarse;
    return kind == MODEL_POLL_EXACT || (kind == MODEL_POLL_TO_NEXT && !is_tickwise);
}

bool model_is_due(const struct model *model, const struct model_timer *timer, enum model_poll kind, bool room) {
    if (timer->fires_ns == VERGE_NEVER) {
        return false;
    }
    if (timer->fires_latest_ns <= model->now_ns) {
        return true;
    }
    if (!is_exact(model, kind) || !room || model->options.coarse || model->options.work_limit != 0) {
        return false;
    }
    return timer->deadline_ns <= model->now_ns;
}

bool model_may_fire(const struct model *model, const struct model_timer *timer, enum model_poll kind) {
    return (timer->fires_ns <= model->now_ns && timer->fires_ns != VERGE_NEVER) ||
           (is_exact(model, kind) && timer->deadline_ns <= model->now_ns);
}

static bool is_before_in_tick(const struct model *model, const struct model_timer *first,
                              const struct model_timer *second) {
    switch (model->options.order) {
    case VERGE_ORDER_ANY:
        return false;
    case VERGE_ORDER_FIFO:
        return first->sequence < second->sequence;
    case VERGE_ORDER_DEADLINE:
        return first->deadline_ns != second->deadline_ns ? first->deadline_ns < second->deadline_ns
                                                         : first->sequence < second->sequence;
    }
    return false;
}

bool model_is_before(const struct model *model, const struct model_timer *first, const struct model_timer *second) {
    if (first->past != second->past) {
        return first->past && second->fires_ns > first->scheduled_ns;
    }
    if (model->options.coarse) {
        return !first->past && first->fires_latest_ns < second->fires_ns;
    }
    if (first->fires_ns != second->fires_ns) {
        return !first->past && first->fires_ns < second->fires_ns;
    }
    if (first->past && (first->backlog || second->backlog)) {
        return false;
    }
    return is_before_in_tick(model, first, second);
}
