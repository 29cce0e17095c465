/* SPDX-License-Identifier: MIT */
/*
 * Says which task has overflowed its stack. The fault is a SIGSEGV at an address in the guard below the stack of the
 * running task. The handler cannot run on that stack, so each worker's thread has an alternate stack for signals while
 * it runs tasks.
 *
 * The handler prints a line. It does not end the process: if the program has a handler of its own, this handler calls
 * it. Otherwise this handler restores the default action, and returns. Then the instruction faults again, and the
 * process ends as it would without this file. For any other fault the handler does the same, but prints no line.
 */
#define _GNU_SOURCE

#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/checks.h"
#include "task/current.h"
#include "task/runner.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* protects watch_count, before, and the action of SIGSEGV */
static uint32_t watch_count;                             /* how many threads need the handler */
static struct sigaction before;                          /* the action of SIGSEGV before the handler was installed */

/* ---- in the handler: only what a handler may call ---- */

typedef struct verge__overflow_line {
    char text[320];
    size_t size;
} verge__overflow_line;

static void add(verge__overflow_line *line, const char *text) {
    while (*text != '\0' && line->size < sizeof(line->text)) {
        line->text[line->size++] = *text++;
    }
}

static void add_number(verge__overflow_line *line, uint64_t number, unsigned base) {
    char digits[24];
    char *at = digits + sizeof(digits) - 1;
    *at = '\0';
    do {
        *--at = "0123456789abcdef"[number % base];
        number /= base;
    } while (number != 0);
    add(line, at);
}

static void report(const verge_task *task, uint32_t worker_id) {
    verge__overflow_line line = {.size = 0};
    add(&line, "verge: stack overflow in task ");
    if (task->name[0] != '\0') {
        add(&line, task->name);
    } else {
        add(&line, "without a name, function 0x");
        add_number(&line, (uintptr_t)task->function, 16);
    }
    add(&line, ", worker ");
    add_number(&line, worker_id, 10);
    add(&line, ": it needs more than its ");
    add_number(&line, task->runtime->options.stack_size, 10);
    add(&line, " bytes. Raise stack_size in verge_runtime_options, or put large variables on the heap.\n");
    const ssize_t written = write(STDERR_FILENO, line.text, line.size);
    (void)written;
}

static bool is_in_guard(const verge_task *task, const void *address) {
    const uintptr_t low = (uintptr_t)task->stack->low;
    const uintptr_t at = (uintptr_t)address;
    return at < low && low - at <= task->runtime->stacks.guard_size;
}

static void pass_on(int number, siginfo_t *info, void *context) {
    if ((before.sa_flags & SA_SIGINFO) != 0) {
        before.sa_sigaction(number, info, context);
    } else if (before.sa_handler != SIG_DFL && before.sa_handler != SIG_IGN) {
        before.sa_handler(number);
    } else {
        (void)signal(number, SIG_DFL);
        if (info->si_code <= 0) { /* from kill(2): no instruction would fault again */
            (void)raise(number);
        }
    }
}

static void on_fault(int number, siginfo_t *info, void *context) {
    const verge__runner *runner = verge__current_runner();
    const verge_task *task = runner != NULL ? runner->running : NULL;
    if (task != NULL && info->si_code > 0 && is_in_guard(task, info->si_addr)) {
        report(task, runner->index);
    }
    pass_on(number, info, context);
}

/* ---- coming and going ---- */

static bool is_ours(const struct sigaction *action) {
    return (action->sa_flags & SA_SIGINFO) != 0 && action->sa_sigaction == on_fault;
}

static bool is_default(const struct sigaction *action) {
    return (action->sa_flags & SA_SIGINFO) == 0 && action->sa_handler == SIG_DFL;
}

/* Returns whether this runtime wants the handler. It does if report_overflow is set. In a build with assertions, it
 * also does if the program (or a sanitizer) has no handler of its own. */
static bool is_wanted(const verge_runtime *runtime, const struct sigaction *now) {
    return runtime->options.report_overflow || (VERGE__CHECKS_CALLERS && (is_default(now) || is_ours(now)));
}

/* If this runtime wants the handler, installs it, unless it is there already. Returns true if the runtime wants the
 * handler and the handler is there. */
static bool begin_handling(const verge_runtime *runtime) {
    struct sigaction now;
    (void)pthread_mutex_lock(&lock);
    bool is_there = sigaction(SIGSEGV, NULL, &now) == 0 && is_wanted(runtime, &now);
    if (is_there && !is_ours(&now)) {
        struct sigaction ours = {.sa_flags = SA_SIGINFO | SA_ONSTACK};
        ours.sa_sigaction = on_fault;
        (void)sigemptyset(&ours.sa_mask);
        before = now;
        is_there = sigaction(SIGSEGV, &ours, NULL) == 0;
    }
    watch_count += is_there;
    (void)pthread_mutex_unlock(&lock);
    return is_there;
}

static void end_handling(void) {
    struct sigaction now;
    (void)pthread_mutex_lock(&lock);
    watch_count--;
    if (watch_count == 0 && sigaction(SIGSEGV, NULL, &now) == 0 && is_ours(&now)) {
        (void)sigaction(SIGSEGV, &before, NULL);
    }
    (void)pthread_mutex_unlock(&lock);
}

static size_t alternate_size(void) {
    size_t size = (size_t)32 << 10;
#if defined(_SC_SIGSTKSZ)
    const long asked = sysconf(_SC_SIGSTKSZ);
    size += asked > 0 ? (size_t)asked : 0;
#endif
    const size_t page_size = (size_t)sysconf(_SC_PAGESIZE);
    return (size + page_size - 1) / page_size * page_size;
}

/* Gives the thread an alternate stack, unless it has one. If there is no memory for it, an overflow ends the process
 * without the line. */
static void begin_alternate(verge__overflow_stack *watch) {
    stack_t now;
    if (sigaltstack(NULL, &now) != 0 || (now.ss_flags & SS_DISABLE) == 0) {
        return;
    }
    const size_t size = alternate_size();
    void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
    if (memory == MAP_FAILED) {
        return;
    }
    const stack_t alternate = {.ss_sp = memory, .ss_size = size};
    if (sigaltstack(&alternate, NULL) != 0) {
        (void)munmap(memory, size);
        return;
    }
    watch->alternate = memory;
    watch->alternate_size = size;
}

void verge__overflow_watch(verge__runner *runner) {
    verge__overflow_stack *watch = &runner->overflow;
    *watch = (verge__overflow_stack){.is_on = begin_handling(runner->runtime)};
    if (watch->is_on) {
        begin_alternate(watch);
    }
}

void verge__overflow_unwatch(verge__runner *runner) {
    verge__overflow_stack *watch = &runner->overflow;
    if (watch->alternate != NULL) {
        const stack_t none = {.ss_flags = SS_DISABLE};
        if (sigaltstack(&none, NULL) == 0) { /* this fails while a handler runs on the stack: then its memory stays */
            (void)munmap(watch->alternate, watch->alternate_size);
        }
        watch->alternate = NULL;
    }
    if (watch->is_on) {
        watch->is_on = false;
        end_handling();
    }
}
