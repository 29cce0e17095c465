/* SPDX-License-Identifier: MIT */
/* The life of a scope, and the wheels that it shows. */
#define _GNU_SOURCE /* program_invocation_short_name, pthread_setname_np */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/explain.h"
#include "base/thread.h"
#include "scope/scope_internal.h"
#include "task/observe.h"
#include "wheel/wheel_internal.h"

/* Copies the options and checks them. */
static int read_options(const verge_scope_options *given, verge_scope_options *options, verge__address *ret_address,
                        verge__explanation why) {
    int error = verge__explain_sized(why, NULL, given, options, sizeof(*options));
    if (error != 0) {
        return error;
    }
    error = verge__address_parse(options->address, ret_address);
    if (error == -ENAMETOOLONG) {
        (void)verge__explain(why,
                             "address has a path that is too long for a Unix socket: it may have %zu bytes at most",
                             sizeof(ret_address->socket.local.sun_path) - 1);
        return error;
    }
    if (error != 0) {
        return verge__explain(why, "address is neither unix:PATH, nor tcp:PORT, nor tcp:NUMBER:PORT: %s",
                              options->address);
    }
    if (options->token != NULL && !verge__token_is_valid(options->token)) {
        return verge__explain(why, "token has %zu bytes: it has to have %d to %d, each a letter, a digit, - or _",
                              strlen(options->token), VERGE__TOKEN_SIZE_MIN, VERGE__TOKEN_SIZE_MAX);
    }
    return 0;
}

int verge_scope_options_explain(const verge_scope_options *options, char *text, size_t size) {
    verge_scope_options known;
    verge__address address;
    return read_options(options, &known, &address, verge__explanation_to(text, size));
}

/* ---- the beginning ---- */

static void *allocate(const verge_allocator *allocator, size_t size, size_t alignment) {
    return allocator->allocate(allocator->context, size, alignment);
}

static int open_view(verge_scope *scope, size_t which, verge_service *service) {
    if (!verge__service_show(service)) {
        return -EBUSY;
    }
    verge__service_view *view = allocate(&scope->allocator, sizeof(*view), _Alignof(verge__service_view));
    if (view == NULL) {
        verge__service_hide(service);
        return -ENOMEM;
    }
    verge__view_begin(view, service, &scope->allocator);
    view->keeps_numbers = which == VERGE__VIEW_TASKS;
    scope->views[which] = view;
    return 0;
}

static void close_views(verge_scope *scope) {
    for (size_t i = 0; i < VERGE__VIEW_COUNT; i++) {
        verge__service_view *view = scope->views[i];
        if (view != NULL) {
            verge__view_end(view);
            verge__service_hide(view->service);
            scope->allocator.release(scope->allocator.context, view, sizeof(*view));
        }
    }
}

static int open_views(verge_scope *scope, verge_service *service, verge_runtime *runtime) {
    int error = service == NULL ? 0 : open_view(scope, VERGE__VIEW_SERVICE, service);
    if (error == 0 && runtime != NULL) {
        error = open_view(scope, VERGE__VIEW_TASKS, verge__runtime_service(runtime));
    }
    if (error != 0) {
        close_views(scope);
    }
    return error;
}

static int create_runtime(verge_scope *scope) {
    enum { STACK_SIZE = 384 << 10 }; /* a look has large tables on its stack */
    verge_runtime_options options;
    (void)verge_runtime_options_init(&options, sizeof(options));
    options.worker_count = 1;
    options.stack_size = STACK_SIZE;
    options.allocator = &scope->allocator;
    const int error = verge_runtime_create(&options, &scope->runtime);
    if (error == 0) {
        const verge_clock clock = verge_clock_monotonic(); /* the clock of the runtime */
        scope->began_ns = clock.now_ns(clock.context);
    }
    return error;
}

static void *run(void *argument) {
    verge_scope *scope = argument;
    (void)pthread_setname_np(pthread_self(), "verge-scope");
    const int error = verge_runtime_run(scope->runtime, verge__scope_serve, scope, NULL);
    verge__scope_begin(scope, error == 0 ? -ECANCELED : error);
    return NULL;
}

void verge__scope_begin(verge_scope *scope, int error) {
    (void)pthread_mutex_lock(&scope->lock);
    scope->begin_error = scope->begin_error == 1 ? error : scope->begin_error;
    (void)pthread_cond_signal(&scope->progress);
    (void)pthread_mutex_unlock(&scope->lock);
}

static int start_thread(verge_scope *scope) {
    scope->begin_error = 1;
    const int error = verge__thread_create(&scope->thread, run, scope);
    if (error != 0) {
        return error;
    }
    (void)pthread_mutex_lock(&scope->lock);
    while (scope->begin_error == 1) {
        (void)pthread_cond_wait(&scope->progress, &scope->lock);
    }
    const int begin_error = scope->begin_error;
    (void)pthread_mutex_unlock(&scope->lock);
    if (begin_error != 0) {
        (void)pthread_join(scope->thread, NULL);
    }
    return begin_error;
}

static int open_scope(verge_scope *scope, verge_service *service, verge_runtime *runtime, const verge__address *address,
                      const char *token) {
    int error = open_views(scope, service, runtime);
    if (error != 0) {
        return error;
    }
    error = create_runtime(scope);
    if (error == 0) {
        error = verge__listener_open(address, token, &scope->listener);
        if (error == 0) {
            error = start_thread(scope);
            if (error == 0) {
                return 0;
            }
            verge__listener_close(&scope->listener);
        }
        (void)verge_runtime_destroy(scope->runtime);
    }
    close_views(scope);
    return error;
}

int verge_scope_create(verge_service *service, verge_runtime *runtime, const verge_scope_options *given,
                       verge_scope **ret_scope) {
    const verge_scope_options defaults = {.struct_size = sizeof(defaults)};
    verge_scope_options options;
    verge__address address;
    given = given == NULL ? &defaults : given;
    int error = ret_scope == NULL ? -EINVAL : read_options(given, &options, &address, (verge__explanation){NULL, 0});
    if (error != 0) {
        return error;
    }
    const verge_allocator *allocator = options.allocator == NULL ? verge_allocator_default() : options.allocator;
    verge_scope *scope = allocate(allocator, sizeof(*scope), _Alignof(verge_scope));
    if (scope == NULL) {
        return -ENOMEM;
    }
    memset(scope, 0, sizeof(*scope));
    scope->allocator = *allocator;
    scope->watched_tasks = runtime;
    (void)snprintf(scope->name, sizeof(scope->name), "%s",
                   options.name == NULL ? program_invocation_short_name : options.name);
    error = -pthread_mutex_init(&scope->lock, NULL);
    if (error == 0) {
        error = -pthread_cond_init(&scope->progress, NULL);
        if (error == 0) {
            error = open_scope(scope, service, runtime, &address, options.token);
            if (error == 0) {
                *ret_scope = scope;
                return 0;
            }
            (void)pthread_cond_destroy(&scope->progress);
        }
        (void)pthread_mutex_destroy(&scope->lock);
    }
    allocator->release(allocator->context, scope, sizeof(*scope));
    return error;
}

/* ---- the end ---- */

static void forget_wheel(verge_scope_wheel *shown) {
    verge_scope *scope = shown->scope;
    scope->allocator.release(scope->allocator.context, shown, sizeof(*shown));
}

int verge_scope_destroy(verge_scope *scope) {
    if (scope == NULL) {
        return 0;
    }
    verge_runtime_stop(scope->runtime);
    (void)pthread_join(scope->thread, NULL);
    (void)verge_runtime_destroy(scope->runtime);
    verge__listener_close(&scope->listener);
    close_views(scope);
    for (size_t i = 0; i < VERGE_SCOPE_WHEELS_MAX; i++) {
        if (scope->wheels[i] != NULL) {
            forget_wheel(scope->wheels[i]);
        }
    }
    verge__scope_forget_panels(scope);
    (void)pthread_cond_destroy(&scope->progress);
    (void)pthread_mutex_destroy(&scope->lock);
    const verge_allocator allocator = scope->allocator;
    allocator.release(allocator.context, scope, sizeof(*scope));
    return 0;
}

const char *verge_scope_address(const verge_scope *scope) {
    return scope == NULL ? NULL : scope->listener.text;
}

/* ---- wheels ---- */

static int list_wheel(verge_scope *scope, verge_scope_wheel *shown) {
    for (size_t i = 0; i < VERGE_SCOPE_WHEELS_MAX; i++) {
        if (scope->wheels[i] == NULL) {
            scope->wheels[i] = shown;
            return 0;
        }
    }
    return -ENOSPC;
}

int verge_scope_add_wheel(verge_scope *scope, const char *name, verge_scope_wheel **ret_wheel) {
    if (scope == NULL || name == NULL || ret_wheel == NULL) {
        return -EINVAL;
    }
    verge_scope_wheel *shown = allocate(&scope->allocator, sizeof(*shown), _Alignof(verge_scope_wheel));
    if (shown == NULL) {
        return -ENOMEM;
    }
    memset(shown, 0, sizeof(*shown));
    shown->scope = scope;
    (void)snprintf(shown->name, sizeof(shown->name), "%s", name);
    (void)pthread_mutex_lock(&scope->lock);
    const int error = list_wheel(scope, shown);
    (void)pthread_mutex_unlock(&scope->lock);
    if (error != 0) {
        forget_wheel(shown);
        return error;
    }
    *ret_wheel = shown;
    return 0;
}

static void store(_Atomic uint64_t *to, uint64_t value) {
    atomic_store_explicit(to, value, memory_order_relaxed);
}

int verge_scope_publish(verge_scope_wheel *shown, const verge_wheel *wheel) {
    if (shown == NULL || wheel == NULL) {
        return -EINVAL;
    }
    const uint64_t look = atomic_load_explicit(&shown->scope->look, memory_order_relaxed);
    if (look == 0 || look == shown->look_seen) {
        return 0;
    }
    shown->look_seen = look;
    verge_wheel_stats stats = {.struct_size = sizeof(stats)};
    (void)verge_wheel_get_stats(wheel, &stats);
    store(&shown->timers, stats.timers);
    store(&shown->scheduled, stats.started);
    store(&shown->cancelled, stats.cancelled);
    store(&shown->expired, stats.expired);
    store(&shown->bytes, stats.bytes);
    verge__picture_take(&shown->picture, &wheel->calendar, wheel->now_ns);
    return 0;
}

int verge_scope_remove_wheel(verge_scope_wheel *shown) {
    if (shown == NULL) {
        return -EINVAL;
    }
    verge_scope *scope = shown->scope;
    (void)pthread_mutex_lock(&scope->lock);
    for (size_t i = 0; i < VERGE_SCOPE_WHEELS_MAX; i++) {
        scope->wheels[i] = scope->wheels[i] == shown ? NULL : scope->wheels[i];
    }
    (void)pthread_mutex_unlock(&scope->lock);
    forget_wheel(shown);
    return 0;
}
