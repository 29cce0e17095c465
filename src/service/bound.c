/* SPDX-License-Identifier: MIT */
/* Which worker a thread is bound to. A thread may be bound to workers of several services, so there is a list. */
#include "service/service_internal.h"

_Thread_local verge_worker *verge__bound_workers;

static void in_child(void) {
    verge__bound_workers = NULL;
    verge__forget_waiting();
}

int verge__forget_bound_in_child(void) {
    static _Atomic bool is_asked;
    return verge__at_fork(&is_asked, in_child);
}

/* When a bound thread ends, its workers leave. */
static pthread_key_t thread_end_key;
static bool has_thread_end_key;
static pthread_once_t thread_end_once = PTHREAD_ONCE_INIT;

static void leave_all(void *unused) {
    (void)unused;
    while (verge__bound_workers != NULL) {
        verge_worker *worker = verge__bound_workers;
        verge__unbind(worker); /* the thread may have ended in a callback, which will not return */
        (void)verge_worker_leave(worker);
    }
}

static void make_thread_end_key(void) {
    has_thread_end_key = pthread_key_create(&thread_end_key, leave_all) == 0;
}

void verge__bind(verge_worker *worker) {
    worker->bound_next = verge__bound_workers;
    verge__bound_workers = worker;
}

void verge__bind_until_thread_ends(verge_worker *worker) {
    verge__bind(worker);
    (void)pthread_once(&thread_end_once, make_thread_end_key);
    /* If this fails (no key is left), the thread must call verge_worker_leave before it ends, or another thread must
     * call it afterwards. */
    if (has_thread_end_key && pthread_setspecific(thread_end_key, &verge__bound_workers) == 0) {
        atomic_store_explicit(&worker->has_living_thread, true, memory_order_relaxed);
    }
}

void verge__unbind(verge_worker *worker) {
    for (verge_worker **at = &verge__bound_workers; *at != NULL; at = &(*at)->bound_next) {
        if (*at == worker) {
            *at = worker->bound_next;
            atomic_store_explicit(&worker->has_living_thread, false, memory_order_relaxed);
            return;
        }
    }
}

bool verge__is_bound(const verge_worker *worker) {
    const verge_worker *bound = verge__bound_workers;
    while (bound != NULL && bound != worker) {
        bound = bound->bound_next;
    }
    return bound != NULL;
}

bool verge__is_bound_to_another(const verge_worker *worker) {
    return !verge__is_bound(worker) && atomic_load_explicit(&worker->has_living_thread, memory_order_relaxed);
}

#if defined(VERGE_STEPS) && VERGE_STEPS
verge_worker *verge__exchange_bound(verge_worker *workers) {
    verge_worker *before = verge__bound_workers;
    verge__bound_workers = workers;
    return before;
}
#endif

verge_worker *verge_worker_current(const verge_service *service) {
    return service == NULL ? NULL : verge__bound(service);
}
