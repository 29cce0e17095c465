/* SPDX-License-Identifier: MIT */
/* The task that collects the figures, and makes the texts that the clients' tasks wait for. */
#include <errno.h>
#include <string.h>

#include "scope/scope_internal.h"

#define SECOND_NS UINT64_C(1000000000)
#define LOOKS_ON_NS (5 * SECOND_NS) /* how long looks go on after a client last wanted one */

void verge__scope_release_message(verge_scope *scope, verge__message *message) {
    if (message != NULL && --message->holders == 0) {
        verge__text_free(&message->text);
        scope->allocator.release(scope->allocator.context, message, sizeof(*message));
    }
}

static verge__message *make_message(verge_scope *scope, uint64_t now_ns) {
    verge__message *message =
        scope->allocator.allocate(scope->allocator.context, sizeof(*message), _Alignof(verge__message));
    if (message == NULL) {
        return NULL;
    }
    *message = (verge__message){.holders = 1, .text = {.allocator = &scope->allocator}};
    if (scope->message != NULL) { /* the new text will be about as long */
        (void)verge__text_reserve(&message->text, scope->message->text.size + scope->message->text.size / 8);
    }
    verge__scope_write(scope, now_ns, &message->text);
    if (message->text.has_failed) {
        verge__scope_release_message(scope, message);
        return NULL;
    }
    return message;
}

static void look(verge_scope *scope, uint64_t now_ns) {
    for (size_t i = 0; i < VERGE__VIEW_COUNT; i++) {
        if (scope->views[i] != NULL) {
            verge__view_look(scope->views[i], now_ns);
        }
    }
    (void)atomic_fetch_add_explicit(&scope->look, 1, memory_order_relaxed);
    scope->look_count++;
    verge__message *message = make_message(scope, now_ns);
    if (message != NULL) { /* if there is no memory, clients wait for the next message */
        verge__scope_release_message(scope, scope->message);
        scope->message = message;
        scope->message_count++;
        (void)verge_condition_broadcast(&scope->changed);
    }
}

/* Asks for samples about 64 times a second. The moments are random, so that they are not in step with the program. */
static void poke(verge_scope *scope, uint64_t now_ns) {
    scope->random = scope->random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    scope->poke_ns = now_ns + SECOND_NS / 128 + (scope->random >> 33) % (SECOND_NS / 64);
    for (size_t i = 0; i < VERGE__VIEW_COUNT; i++) {
        if (scope->views[i] != NULL) {
            verge__view_poke(scope->views[i]);
        }
    }
}

static void look_away(verge_scope *scope) {
    for (size_t i = 0; i < VERGE__VIEW_COUNT; i++) {
        if (scope->views[i] != NULL) {
            verge__view_look_away(scope->views[i]);
        }
    }
    verge__scope_reset_panels(scope);
    atomic_store_explicit(&scope->look, 0, memory_order_relaxed);
    scope->look_count = 0;
    verge__scope_release_message(scope, scope->message);
    scope->message = NULL;
}

static void note_second(verge_scope *scope, uint64_t now_ns) {
    const uint64_t second = (now_ns - scope->began_ns) / SECOND_NS;
    for (size_t i = 0; i < VERGE__VIEW_COUNT; i++) {
        if (scope->views[i] != NULL && second > scope->views[i]->last_second) {
            verge__view_note_second(scope->views[i], second, now_ns);
        }
    }
}

/* Returns when the task has something to do again. */
static uint64_t next_ns(const verge_scope *scope, uint64_t now_ns, uint64_t looked_ns) {
    if (scope->look_count > 0) {
        const uint64_t look_ns = looked_ns + VERGE__LOOK_EVERY_NS;
        return scope->poke_ns < look_ns ? scope->poke_ns : look_ns;
    }
    const uint64_t second_ns = scope->began_ns + ((now_ns - scope->began_ns) / SECOND_NS + 1) * SECOND_NS;
    return second_ns;
}

intptr_t verge__scope_watch(void *argument) {
    verge_scope *scope = argument;
    uint64_t looked_ns = 0;
    int error = verge_mutex_lock(&scope->mutex, VERGE_NEVER);
    while (error == 0 || error == -ETIMEDOUT) {
        const uint64_t now_ns = verge_now();
        note_second(scope, now_ns);
        const bool is_wanted = now_ns < scope->look_until_ns;
        if (is_wanted && (scope->look_count == 0 || now_ns - looked_ns >= VERGE__LOOK_EVERY_NS)) {
            const bool is_in_step = scope->look_count > 0 && now_ns - looked_ns < 2 * VERGE__LOOK_EVERY_NS;
            looked_ns = is_in_step ? looked_ns + VERGE__LOOK_EVERY_NS : now_ns;
            look(scope, now_ns);
        } else if (!is_wanted && scope->look_count > 0) {
            look_away(scope);
        }
        if (scope->look_count > 0 && now_ns >= scope->poke_ns) {
            poke(scope, now_ns);
        }
        error = verge_condition_wait(&scope->wanted, &scope->mutex, next_ns(scope, now_ns, looked_ns));
    }
    look_away(scope);
    (void)verge_mutex_unlock(&scope->mutex);
    return 0;
}

void verge__scope_want_looks(verge_scope *scope) {
    scope->look_until_ns = verge_deadline_after(LOOKS_ON_NS);
    if (scope->look_count == 0) {
        (void)verge_condition_signal(&scope->wanted);
    }
}

int verge__scope_next_message(verge_scope *scope, uint64_t *number, uint64_t deadline_ns,
                              verge__message **ret_message) {
    int error = verge_mutex_lock(&scope->mutex, VERGE_NEVER);
    if (error != 0) {
        return error;
    }
    while (error == 0 && (scope->message == NULL || scope->message_count == *number)) {
        verge__scope_want_looks(scope);
        error = verge_condition_wait(&scope->changed, &scope->mutex, deadline_ns);
    }
    if (error == 0) {
        *number = scope->message_count;
        *ret_message = scope->message;
        scope->message->holders++;
    }
    (void)verge_mutex_unlock(&scope->mutex);
    return error;
}

bool verge__scope_has_all_figures(const verge_scope *scope) {
    enum { LOOKS = 3 };
    bool has = scope->look_count >= LOOKS;
    for (size_t i = 0; i < VERGE__VIEW_COUNT; i++) {
        has = has && (scope->views[i] == NULL || scope->views[i]->walk.round_count > 0);
    }
    return has;
}
