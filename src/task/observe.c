/* SPDX-License-Identifier: MIT */
/*
 * The observer: a thread that a runtime has while tasks run, if its options ask for one of these:
 *
 *   - Reports of tasks that do not let others run. A worker counts the tasks that it resumes. The observer reads these
 *     counts twice in each stuck_after_ns, but at most once in a millisecond. If a count has not changed for
 *     stuck_after_ns while a task ran, that task is stuck. The workers do nothing more for this.
 *   - Dumps at a signal. The signal handler only does what a handler may do: it adds to two words (below) and wakes the
 *     threads that sleep on one of them. The observer writes the dump.
 *
 * The two words of a signal belong to the process, as several runtimes may use the same signal. `requests` grows with
 * each signal. `word` grows with each signal, and whenever an observer must end. An observer reads `word`, then looks
 * at `ends` and `requests`, then sleeps as long as `word` is what it read. So it misses neither a signal nor `ends`.
 */
#define _GNU_SOURCE

#include <errno.h>
#include <signal.h>

#include "base/thread.h"
#include "task/dump.h"
#include "task/latch.h"
#include "task/runner.h"

enum { SIGNAL_COUNT = 65 };

static struct {
    _Atomic uint32_t word;
    _Atomic uint32_t requests;
    uint32_t user_count; /* how many runtimes use the signal; under `lock` */
    struct sigaction before;
} signals[SIGNAL_COUNT];

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* protects user_count, before, and sigaction */

/* ---- the signal ---- */

static void on_signal(int number) {
    const int error = errno;
    (void)atomic_fetch_add(&signals[number].requests, 1);
    (void)atomic_fetch_add(&signals[number].word, 1);
    verge__futex_wake_all(&signals[number].word);
    errno = error;
}

static int begin_handling(int number) {
    int result = 0;
    (void)pthread_mutex_lock(&lock);
    if (signals[number].user_count == 0) {
        struct sigaction action = {.sa_flags = SA_RESTART | SA_ONSTACK};
        action.sa_handler = on_signal;
        (void)sigemptyset(&action.sa_mask);
        result = sigaction(number, &action, &signals[number].before) == 0 ? 0 : -errno;
    }
    signals[number].user_count += result == 0;
    (void)pthread_mutex_unlock(&lock);
    return result;
}

/* When no runtime uses the signal any more, restores the action that the signal had before. If the program has set
 * another action meanwhile, that one stays. */
static void end_handling(int number) {
    struct sigaction now;
    (void)pthread_mutex_lock(&lock);
    signals[number].user_count--;
    if (signals[number].user_count == 0 && sigaction(number, NULL, &now) == 0 && (now.sa_flags & SA_SIGINFO) == 0 &&
        now.sa_handler == on_signal) {
        (void)sigaction(number, &signals[number].before, NULL);
    }
    (void)pthread_mutex_unlock(&lock);
}

/* ---- tasks that do not let others run ---- */

typedef struct verge__watched {
    uint64_t switches;         /* how many tasks were resumed, in the rounds that are over */
    uint64_t since_ns;         /* when these values of `switches` and `resumes_left` were first seen */
    const verge_task *suspect; /* the task that ran at the last look */
    int resumes_left;          /* how many tasks this round may still resume. Each resume changes it or `switches` */
    bool is_reported;
} verge__watched;

/* Returns the task that runs on a runner, or NULL. Copies its name and function, as the task may end at any time. */
static const verge_task *find_running(verge__runner *runner, char name[VERGE_TASK_NAME_SIZE], verge_stuck_task *stuck) {
    verge_task *task;
    verge__lock(&runner->list_latch);
    for (task = verge__listed_task(runner->listed); task != NULL; task = verge__listed_task(task->listed.next)) {
        if (atomic_load_explicit(&task->state, memory_order_relaxed) == VERGE__TASK_RUNNING) {
            verge__copy_name(task, name);
            stuck->name = name[0] != '\0' ? name : NULL;
            stuck->function = task->function;
            break;
        }
    }
    verge__unlock(&runner->list_latch);
    return task;
}

/* The stores of the worker may be seen late, and in any order. So a task is reported only if it was seen running at two
 * looks in a row. */
static void look_for_stuck(verge__runner *runner, verge__watched *watched, uint64_t now_ns) {
    const verge_runtime_options *options = &runner->runtime->options;
    char name[VERGE_TASK_NAME_SIZE];
    verge_stuck_task stuck = {.worker_id = runner->index, .running_ns = now_ns - watched->since_ns};
    const verge_task *running = find_running(runner, name, &stuck);
    const bool is_stuck = running != NULL && running == watched->suspect && stuck.running_ns >= options->stuck_after_ns;
    watched->suspect = running;
    if (is_stuck) {
        watched->is_reported = true;
        options->on_stuck(options->on_stuck_context, &stuck);
    }
}

static void watch(verge__runner *runner, verge__watched *watched, uint64_t now_ns) {
    const uint64_t switches = atomic_load_explicit(&runner->switches, memory_order_relaxed);
    const int resumes_left = atomic_load_explicit(&runner->resumes_left, memory_order_relaxed);
    if (switches != watched->switches || resumes_left != watched->resumes_left || watched->since_ns == 0) {
        *watched = (verge__watched){.switches = switches, .resumes_left = resumes_left, .since_ns = now_ns};
    } else if (!watched->is_reported && !atomic_load(&runner->is_waiting)) {
        look_for_stuck(runner, watched, now_ns);
    }
}

/* ---- the thread ---- */

static _Atomic uint32_t *word_of(verge_runtime *runtime) {
    const int number = runtime->options.dump_signal;
    return number != 0 ? &signals[number].word : &runtime->observer.word;
}

static uint32_t requests_to(const verge_runtime *runtime) {
    return atomic_load(&signals[runtime->options.dump_signal].requests); /* 0 if there is no signal */
}

static void look_around(verge_runtime *runtime, verge__watched *watched, uint64_t now_ns) {
    const uint32_t count = atomic_load(&runtime->runner_count);
    for (uint32_t i = 0; i < count; i++) {
        watch(runtime->runners[i], &watched[i], now_ns);
    }
}

static void sleep_on(_Atomic uint32_t *word, uint32_t seen, uint64_t until_ns) {
    if (until_ns == VERGE_NEVER) {
        verge__futex_sleep(word, seen);
    } else {
        verge__futex_sleep_until(word, seen, until_ns);
    }
}

static void *observer_main(void *argument) {
    const uint64_t period_min_ns = 1000000;
    verge_runtime *runtime = argument;
    verge__watched watched[VERGE_RUNTIME_WORKERS_MAX] = {{0}};
    const verge_clock real = verge_clock_monotonic();
    const uint64_t half_ns = runtime->options.stuck_after_ns / 2;
    const uint64_t period_ns = half_ns > period_min_ns ? half_ns : period_min_ns;
    const bool watches = runtime->options.stuck_after_ns != 0;
    _Atomic uint32_t *word = word_of(runtime);
    uint32_t seen_requests = runtime->observer.requests;
    for (;;) {
        const uint32_t seen = atomic_load(word);
        if (atomic_load(&runtime->observer.ends)) {
            return NULL;
        }
        const uint32_t requests = requests_to(runtime);
        if (requests != seen_requests) {
            seen_requests = requests;
            (void)verge_runtime_dump(runtime, runtime->options.dump_fd);
        }
        uint64_t until_ns = VERGE_NEVER;
        if (watches) {
            const uint64_t now_ns = verge__clock_now(&real);
            look_around(runtime, watched, now_ns);
            until_ns = period_ns < VERGE_NEVER - now_ns ? now_ns + period_ns : VERGE_NEVER;
        }
        sleep_on(word, seen, until_ns);
    }
}

int verge__observe_begin(verge_runtime *runtime) {
    const int number = runtime->options.dump_signal;
    if (number == 0 && runtime->options.stuck_after_ns == 0) {
        return 0;
    }
    atomic_store(&runtime->observer.ends, false);
    runtime->observer.requests = requests_to(runtime);
    int error = number != 0 ? begin_handling(number) : 0;
    runtime->observer.handles_signal = number != 0 && error == 0;
    if (error == 0) {
        error = verge__thread_create(&runtime->observer.thread, observer_main, runtime);
        runtime->observer.has_thread = error == 0;
    }
    if (error != 0) {
        verge__observe_end(runtime);
    }
    return error;
}

void verge__observe_end(verge_runtime *runtime) {
    if (runtime->observer.has_thread) {
        _Atomic uint32_t *word = word_of(runtime);
        atomic_store(&runtime->observer.ends, true);
        (void)atomic_fetch_add(word, 1);
        verge__futex_wake_all(word);
        (void)pthread_join(runtime->observer.thread, NULL);
        runtime->observer.has_thread = false;
    }
    if (runtime->observer.handles_signal) {
        end_handling(runtime->options.dump_signal);
        runtime->observer.handles_signal = false;
    }
}
