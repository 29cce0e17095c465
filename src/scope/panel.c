/* SPDX-License-Identifier: MIT */
/* Panels: figures that the program, or another library, adds to the page. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/sized.h"
#include "scope/scope_internal.h"
#include "scope/trouble.h"

/* ---- panels come and go ---- */

static void forget_panel(verge_scope_panel *panel) {
    verge_scope *scope = panel->scope;
    if (panel->release != NULL) {
        panel->release(panel->context);
    }
    scope->allocator.release(scope->allocator.context, panel, sizeof(*panel));
}

static bool list_panel(verge_scope *scope, verge_scope_panel *panel) {
    for (size_t i = 0; i < VERGE_SCOPE_PANELS_MAX; i++) {
        if (scope->panels[i] == NULL) {
            scope->panels[i] = panel;
            return true;
        }
    }
    return false;
}

int verge_scope_add_panel(verge_scope *scope, const verge_scope_panel_options *options, verge_scope_panel **ret_panel) {
    verge_scope_panel_options all;
    if (scope == NULL || ret_panel == NULL || verge__sized_read(options, &all, sizeof(all)) != 0 || all.name == NULL ||
        all.ask == NULL || (all.list == NULL) != (all.act == NULL)) {
        return -EINVAL;
    }
    verge_scope_panel *panel =
        scope->allocator.allocate(scope->allocator.context, sizeof(*panel), _Alignof(verge_scope_panel));
    if (panel == NULL) {
        return -ENOMEM;
    }
    memset(panel, 0, sizeof(*panel));
    panel->scope = scope;
    panel->ask = all.ask;
    panel->release = all.release;
    panel->context = all.context;
    panel->list = all.list;
    panel->act = all.act;
    (void)snprintf(panel->name, sizeof(panel->name), "%s", all.name);
    (void)pthread_mutex_lock(&scope->lock);
    panel->number = ++scope->panel_count;
    const bool has_room = list_panel(scope, panel);
    (void)pthread_mutex_unlock(&scope->lock);
    if (!has_room) {
        scope->allocator.release(scope->allocator.context, panel, sizeof(*panel));
        return -ENOSPC;
    }
    *ret_panel = panel;
    return 0;
}

int verge_scope_remove_panel(verge_scope_panel *panel) {
    if (panel == NULL) {
        return -EINVAL;
    }
    verge_scope *scope = panel->scope;
    (void)pthread_mutex_lock(&scope->lock);
    for (size_t i = 0; i < VERGE_SCOPE_PANELS_MAX; i++) {
        scope->panels[i] = scope->panels[i] == panel ? NULL : scope->panels[i];
    }
    while (panel->acting > 0) {
        (void)pthread_cond_wait(&scope->progress, &scope->lock);
    }
    (void)pthread_mutex_unlock(&scope->lock);
    forget_panel(panel);
    return 0;
}

void verge__scope_forget_panels(verge_scope *scope) {
    for (size_t i = 0; i < VERGE_SCOPE_PANELS_MAX; i++) {
        if (scope->panels[i] != NULL) {
            forget_panel(scope->panels[i]);
        }
    }
}

/* ---- items that people can act on ---- */

int verge__scope_act(verge_scope *scope, uint64_t number, uint64_t item, const char *action) {
    verge_scope_panel *panel = NULL;
    (void)pthread_mutex_lock(&scope->lock);
    for (size_t i = 0; i < VERGE_SCOPE_PANELS_MAX; i++) {
        verge_scope_panel *candidate = scope->panels[i];
        panel = candidate != NULL && candidate->number == number && candidate->act != NULL ? candidate : panel;
    }
    if (panel != NULL) {
        panel->acting++;
    }
    (void)pthread_mutex_unlock(&scope->lock);
    if (panel == NULL) {
        return -ENOENT;
    }
    const int result = panel->act(panel->context, item, action);
    (void)pthread_mutex_lock(&scope->lock);
    panel->acting--;
    (void)pthread_cond_broadcast(&scope->progress);
    (void)pthread_mutex_unlock(&scope->lock);
    return result;
}

static void write_item(verge__text *text, const verge_scope_item *item) {
    char id[24];
    (void)snprintf(id, sizeof(id), "%" PRIu64, item->id); /* as text, because numbers in JavaScript have 53 bits */
    verge__json_begin(text, NULL, '{');
    verge__json_string(text, "id", id);
    verge__json_string(text, "group", item->group == NULL ? "" : item->group);
    verge__json_string(text, "name", item->name == NULL ? "" : item->name);
    verge__json_string(text, "text", item->text == NULL ? "" : item->text);
    verge__json_begin(text, "actions", '[');
    for (size_t i = 0; i < VERGE_SCOPE_ACTIONS_MAX && item->actions[i] != NULL; i++) {
        verge__json_string(text, NULL, item->actions[i]);
    }
    verge__json_end(text, ']');
    verge__json_end(text, '}');
}

/* Under the scope's lock. */
static void write_items(verge__text *text, const verge_scope_panel *panel) {
    verge_scope_item items[VERGE_SCOPE_ITEMS_MAX] = {{.id = 0}};
    size_t count = panel->list == NULL ? 0 : panel->list(panel->context, items, VERGE_SCOPE_ITEMS_MAX);
    count = count < VERGE_SCOPE_ITEMS_MAX ? count : VERGE_SCOPE_ITEMS_MAX;
    verge__json_begin(text, "items", '[');
    for (size_t i = 0; i < count; i++) {
        write_item(text, &items[i]);
    }
    verge__json_end(text, ']');
}

/* ---- figures ---- */

/* Updates a rate, over about the last two seconds. If a total is smaller than before, it has begun anew. Then the rate
 * stays as it was. */
static void note_value(verge_scope_panel *panel, size_t index, uint64_t value, double seconds) {
    const double weight = 0.25;
    const uint64_t before = panel->values[index];
    panel->values[index] = value;
    if (seconds <= 0) {
        panel->rates[index] = 0;
    } else if (value >= before) {
        panel->rates[index] += ((double)(value - before) / seconds - panel->rates[index]) * weight;
    }
}

static void write_figure(verge__text *text, const verge_scope_panel *panel, size_t index,
                         const verge_scope_figure *figure) {
    static const char *const units[] = {"count", "total", "ns", "yes_no", "part"};
    if (figure->name == NULL || (size_t)figure->unit >= sizeof(units) / sizeof(*units)) {
        return;
    }
    verge__json_begin(text, NULL, '{');
    verge__json_string(text, "name", figure->name);
    verge__json_string(text, "unit", units[figure->unit]);
    verge__json_number(text, "value", figure->value);
    if (figure->unit == VERGE_SCOPE_TOTAL) {
        verge__json_real(text, "rate", panel->rates[index]);
    } else {
        verge__json_number(text, "of", figure->of);
    }
    if (figure->unit == VERGE_SCOPE_PART) {
        verge__json_string(text, "text", figure->text == NULL ? "" : figure->text);
    }
    verge__json_end(text, '}');
}

/* Adds a trouble if the figure is a "no", or a time that has run out. */
static void note_trouble(const verge_scope_panel *panel, size_t number, const verge_scope_figure *figure,
                         verge__troubles *troubles) {
    const bool is_no = figure->unit == VERGE_SCOPE_YES_NO && figure->value == 0;
    const bool has_run_out = figure->unit == VERGE_SCOPE_NS && figure->of > 0 && figure->value == 0;
    if (figure->name != NULL && (is_no || has_run_out)) {
        (void)verge__trouble_add(troubles, VERGE__TROUBLE_PANEL, "", (uint32_t)number, "%s: %s: %s", panel->name,
                                 figure->name, is_no ? "no" : "none");
    }
}

static void write_panel(verge__text *text, verge_scope_panel *panel, uint64_t now_ns, size_t number,
                        verge__troubles *troubles) {
    verge_scope_figure figures[VERGE_SCOPE_FIGURES_MAX] = {{.name = NULL}};
    size_t count = panel->ask(panel->context, figures, VERGE_SCOPE_FIGURES_MAX);
    count = count < VERGE_SCOPE_FIGURES_MAX ? count : VERGE_SCOPE_FIGURES_MAX;
    const double seconds = panel->asked_ns == 0 ? 0 : (double)(now_ns - panel->asked_ns) / 1e9;
    panel->asked_ns = now_ns;
    verge__json_begin(text, NULL, '{');
    verge__json_string(text, "name", panel->name);
    verge__json_number(text, "id", panel->number);
    verge__json_begin(text, "figures", '[');
    for (size_t i = 0; i < count; i++) {
        note_value(panel, i, figures[i].value, seconds);
        write_figure(text, panel, i, &figures[i]);
        note_trouble(panel, number, &figures[i], troubles);
    }
    verge__json_end(text, ']');
    write_items(text, panel);
    verge__json_end(text, '}');
}

void verge__scope_write_panels(verge_scope *scope, uint64_t now_ns, verge__text *text, verge__troubles *troubles) {
    size_t number = 0; /* index of the panel in the text */
    verge__json_begin(text, "panels", '[');
    (void)pthread_mutex_lock(&scope->lock);
    for (size_t i = 0; i < VERGE_SCOPE_PANELS_MAX; i++) {
        if (scope->panels[i] != NULL) {
            write_panel(text, scope->panels[i], now_ns, number++, troubles);
        }
    }
    (void)pthread_mutex_unlock(&scope->lock);
    verge__json_end(text, ']');
}

void verge__scope_reset_panels(verge_scope *scope) {
    (void)pthread_mutex_lock(&scope->lock);
    for (size_t i = 0; i < VERGE_SCOPE_PANELS_MAX; i++) {
        if (scope->panels[i] != NULL) {
            scope->panels[i]->asked_ns = 0;
        }
    }
    (void)pthread_mutex_unlock(&scope->lock);
}
