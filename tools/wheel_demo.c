/* SPDX-License-Identifier: MIT */
/*
 * verge-demo - a million timers before your eyes.
 *
 * Schedules them (durations log-uniform from 1 ms to 1 hour), resets a part, cancels a part, and expires the rest
 * against simulated time: the loop sleeps until verge_wheel_next_wakeup by setting its clock to it. What the wheel is
 * given and what it returns is kept beside it and compared afterwards: that is the audit, and the exit status.
 *
 * Only the calls of the wheel are timed. Random numbers are drawn beforehand, everything is compared afterwards.
 */
#define _POSIX_C_SOURCE 200809L

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <verge/verge.h>

#define MS UINT64_C(1000000)
#define HOUR (UINT64_C(3600000) * MS)
#define START_NS (UINT64_C(86400000) * MS) /* any time will do: say, a day after boot */

enum {
    TIMERS_DEFAULT = 1000000,
    TIMERS_MAX = 50000000,
    POLL_LIMIT = 256,
    HISTOGRAM_ROWS = 12,
    BAR_WIDTH = 44,
    BYTES_A_TIMER_MAX = 48, /* G7, promised for a million timers and more */
    EXIT_USAGE = 2,
};

typedef struct arguments {
    uint64_t seed;
    size_t timers;
} arguments;

/* One kind of operation: how many, and how long they took together. */
typedef struct rate {
    size_t count;
    uint64_t took_ns;
} rate;

/* What happened to the timers, timer by timer. */
typedef struct demo {
    size_t timers;
    uint64_t *deadline_ns; /* by timer: what it was scheduled for, or was moved to */
    verge_timer *handle;
    uint8_t *cancelled;
    uint8_t *expired;
    uint32_t *order; /* the timers, shuffled: order[reset_from .. reset_to) are reset, and so on */
    size_t reset_from, reset_to;
    size_t cancel_from, cancel_to;
    uint64_t *moved_ns; /* by place in `order`: where resets move to */
    verge_expiry *returned;
    uint64_t *returned_at_ns;
    size_t returned_count;
    size_t wakeups;
    rate schedule, reset, cancel, expire;
    uint64_t bytes_full, bytes_end;
    const char *broken; /* what verge_wheel_check found first, or a call that failed */
} demo;

static uint64_t clock_ns(void) {
    verge_clock clock = verge_clock_monotonic();
    return clock.now_ns(clock.context);
}

/* ---- preparing ---- */

static uint64_t random_next(uint64_t *state) { /* splitmix64 */
    uint64_t z = (*state += UINT64_C(0x9E3779B97F4A7C15));
    z = (z ^ (z >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94D049BB133111EB);
    return z ^ (z >> 31);
}

/* 1 ms to 1 hour: as many below 10 ms as from 10 to 100 ms, from 0.1 to 1 s, and so on. */
static uint64_t random_duration_ns(uint64_t *state) {
    double unit = (double)(random_next(state) >> 11) * 0x1p-53;
    return (uint64_t)((double)MS * exp(unit * log((double)HOUR / (double)MS)));
}

static void *room(size_t count, size_t size) {
    void *memory = calloc(count, size);
    if (memory == NULL) {
        (void)fprintf(stderr, "verge-demo: no memory for so many timers\n");
        exit(EXIT_FAILURE);
    }
    return memory;
}

static void prepare(demo *demo_, const arguments *arguments_) {
    size_t n = arguments_->timers;
    uint64_t state = arguments_->seed;
    *demo_ = (demo){.timers = n, .reset_to = n / 5 * 2, .cancel_from = n / 5, .cancel_to = n / 5 * 3};
    demo_->deadline_ns = room(n, sizeof(uint64_t));
    demo_->handle = room(n, sizeof(verge_timer));
    demo_->cancelled = room(n, 1);
    demo_->expired = room(n, 1);
    demo_->order = room(n, sizeof(uint32_t));
    demo_->moved_ns = room(n, sizeof(uint64_t));
    demo_->returned = room(n + POLL_LIMIT, sizeof(verge_expiry)); /* more than can come out */
    demo_->returned_at_ns = room(n + POLL_LIMIT, sizeof(uint64_t));
    /* Written once, so that the operations below do not wait for pages. */
    memset(demo_->returned, 0xff, (n + POLL_LIMIT) * sizeof(verge_expiry));
    memset(demo_->returned_at_ns, 0xff, (n + POLL_LIMIT) * sizeof(uint64_t));
    memset(demo_->handle, 0xff, n * sizeof(verge_timer));
    for (size_t i = 0; i < n; i++) {
        size_t other = (size_t)(random_next(&state) % (i + 1));
        demo_->order[i] = demo_->order[other];
        demo_->order[other] = (uint32_t)i;
        demo_->deadline_ns[i] = START_NS + random_duration_ns(&state);
        demo_->moved_ns[i] = START_NS + random_duration_ns(&state);
    }
}

static void tear_down(demo *demo_) {
    free(demo_->deadline_ns);
    free(demo_->handle);
    free(demo_->cancelled);
    free(demo_->expired);
    free(demo_->order);
    free(demo_->moved_ns);
    free(demo_->returned);
    free(demo_->returned_at_ns);
}

/* ---- running ---- */

static void check_wheel(demo *demo_, const verge_wheel *wheel) {
    const char *broken = verge_wheel_check(wheel);
    demo_->broken = demo_->broken != NULL ? demo_->broken : broken;
}

static void check_calls(demo *demo_, int errors) {
    if (errors != 0 && demo_->broken == NULL) {
        demo_->broken = "a schedule, reset or cancel failed that must not";
    }
}

static uint64_t wheel_bytes(const verge_wheel *wheel) {
    verge_wheel_stats stats = {.struct_size = sizeof(stats)};
    return verge_wheel_get_stats(wheel, &stats) == 0 ? stats.bytes : 0;
}

static void run_schedule(demo *demo_, verge_wheel *wheel) {
    int errors = 0;
    uint64_t began_ns = clock_ns();
    for (size_t i = 0; i < demo_->timers; i++) {
        void *data = &demo_->deadline_ns[i];
        errors |= verge_wheel_schedule(wheel, demo_->deadline_ns[i], data, &demo_->handle[i]);
    }
    demo_->schedule = (rate){.count = demo_->timers, .took_ns = clock_ns() - began_ns};
    demo_->bytes_full = wheel_bytes(wheel);
    check_calls(demo_, errors);
    check_wheel(demo_, wheel);
}

static void run_reset(demo *demo_, verge_wheel *wheel) {
    int errors = 0;
    uint64_t began_ns = clock_ns();
    for (size_t i = demo_->reset_from; i < demo_->reset_to; i++) {
        errors |= verge_wheel_reschedule(wheel, demo_->handle[demo_->order[i]], demo_->moved_ns[i]);
    }
    demo_->reset = (rate){.count = demo_->reset_to - demo_->reset_from, .took_ns = clock_ns() - began_ns};
    for (size_t i = demo_->reset_from; i < demo_->reset_to; i++) {
        demo_->deadline_ns[demo_->order[i]] = demo_->moved_ns[i];
    }
    check_calls(demo_, errors);
    check_wheel(demo_, wheel);
}

static void run_cancel(demo *demo_, verge_wheel *wheel) {
    int errors = 0;
    uint64_t began_ns = clock_ns();
    for (size_t i = demo_->cancel_from; i < demo_->cancel_to; i++) {
        errors |= verge_wheel_cancel(wheel, demo_->handle[demo_->order[i]], NULL);
    }
    demo_->cancel = (rate){.count = demo_->cancel_to - demo_->cancel_from, .took_ns = clock_ns() - began_ns};
    for (size_t i = demo_->cancel_from; i < demo_->cancel_to; i++) {
        demo_->cancelled[demo_->order[i]]++;
    }
    check_calls(demo_, errors);
    check_wheel(demo_, wheel);
}

/* Sleeps, by setting the clock, until the wheel says; polls; writes down what came out, and when. */
static void run_expire(demo *demo_, verge_wheel *wheel) {
    size_t count = 0;
    size_t wakeups = 0;
    /* A wheel in order wakes up once a tick, and once more for each batch that does not hold a tick. */
    size_t wakeups_max = demo_->timers + (size_t)(2 * HOUR / verge_wheel_precision(wheel));
    uint64_t began_ns = clock_ns();
    while (count <= demo_->timers && wakeups < wakeups_max) {
        uint64_t now_ns = verge_wheel_next_wakeup(wheel);
        if (now_ns == VERGE_NEVER) {
            break;
        }
        wakeups++;
        size_t polled = verge_wheel_poll(wheel, now_ns, demo_->returned + count, POLL_LIMIT);
        for (size_t end = count + polled; count < end; count++) {
            demo_->returned_at_ns[count] = now_ns;
        }
    }
    demo_->expire = (rate){.count = count, .took_ns = clock_ns() - began_ns};
    demo_->returned_count = count;
    demo_->wakeups = wakeups;
    demo_->bytes_end = wheel_bytes(wheel);
    check_wheel(demo_, wheel);
}

/* ---- telling ---- */

/* Colours and block characters, on a terminal only. */
typedef struct look {
    const char *bold, *good, *bad, *dim, *plain, *bar;
} look;

static look look_of_stdout(void) {
    const char *terminal = getenv("TERM");
    const char *no_color = getenv("NO_COLOR");
    bool is_plain = isatty(STDOUT_FILENO) == 0 || terminal == NULL || strcmp(terminal, "dumb") == 0 ||
                    (no_color != NULL && *no_color != '\0');
    return is_plain ? (look){"", "", "", "", "", "#"}
                    : (look){"\033[1m", "\033[32m", "\033[1;31m", "\033[2m", "\033[0m", "\xe2\x96\x88"};
}

/* 1234567 as 1,234,567, in one of a few buffers that take turns. */
static const char *grouped(uint64_t number) {
    enum { BUFFERS = 8, SIZE = 32 };
    static char buffers[BUFFERS][SIZE];
    static unsigned turn;
    char *at = buffers[turn++ % BUFFERS] + SIZE - 1;
    *at = '\0';
    for (int digits = 1;; digits++, number /= 10) {
        *--at = (char)('0' + number % 10);
        if (number < 10) {
            return at;
        }
        if (digits % 3 == 0) {
            *--at = ',';
        }
    }
}

static double ms(uint64_t ns) {
    return (double)ns / (double)MS;
}

static void tell_rate(const char *name, const rate *rate_) {
    if (rate_->count == 0) {
        return;
    }
    double each_ns = (double)rate_->took_ns / (double)rate_->count;
    printf("  %-10s %13s %13.1f %13.1f\n", name, grouped(rate_->count), each_ns, 1e3 / (each_ns > 0 ? each_ns : 1));
}

static void tell_rates(const demo *demo_, const look *look_) {
    printf("\n  %s%-10s %13s %13s %13s%s\n", look_->bold, "operation", "count", "ns each", "million/s", look_->plain);
    tell_rate("schedule", &demo_->schedule);
    tell_rate("reset", &demo_->reset);
    tell_rate("cancel", &demo_->cancel);
    tell_rate("expire", &demo_->expire);
    printf("  %sexpiring took %s wake-ups over an hour of simulated time; memory was allocated on the way%s\n",
           look_->dim, grouped(demo_->wakeups), look_->plain);
    printf("\n  %smemory%s     %.1f bytes a timer with all pending (%.1f MiB), %.1f MiB after all are gone\n",
           look_->bold, look_->plain, (double)demo_->bytes_full / (double)demo_->timers,
           (double)demo_->bytes_full / 0x1p20, (double)demo_->bytes_end / 0x1p20);
}

static int compare_u64(const void *a, const void *b) {
    uint64_t x = *(const uint64_t *)a;
    uint64_t y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

static void tell_histogram(const uint64_t *sorted_ns, size_t count, uint64_t width_ns, const look *look_) {
    size_t rows[HISTOGRAM_ROWS + 1] = {0}; /* the last one: later than promised */
    size_t most = 1;
    for (size_t i = 0; i < count; i++) {
        uint64_t row = sorted_ns[i] / width_ns;
        size_t *in_row = &rows[row < HISTOGRAM_ROWS ? row : HISTOGRAM_ROWS];
        most = ++*in_row > most ? *in_row : most;
    }
    for (size_t row = 0; row < HISTOGRAM_ROWS + (rows[HISTOGRAM_ROWS] > 0); row++) {
        printf("    from %5.3f ms  %s", ms(row * width_ns), row < HISTOGRAM_ROWS ? look_->good : look_->bad);
        size_t length = (rows[row] * BAR_WIDTH + most - 1) / most;
        for (size_t i = 0; i < BAR_WIDTH; i++) {
            printf("%s", i < length ? look_->bar : " ");
        }
        printf("%s %9s\n", look_->plain, grouped(rows[row]));
    }
}

/* Of those that were not early: the audit tells the others. */
static void tell_lateness(const demo *demo_, uint64_t precision_ns, const look *look_) {
    uint64_t *late_ns = room(demo_->returned_count + 1, sizeof(uint64_t));
    size_t count = 0;
    for (size_t i = 0; i < demo_->returned_count; i++) {
        if (demo_->returned_at_ns[i] >= demo_->returned[i].deadline_ns) {
            late_ns[count++] = demo_->returned_at_ns[i] - demo_->returned[i].deadline_ns;
        }
    }
    if (count > 0) {
        qsort(late_ns, count, sizeof(*late_ns), compare_u64);
        printf("\n  %slateness%s   min %.3f  p50 %.3f  p99 %.3f  max %.3f ms; %zu early; promised: below %.3f ms\n\n",
               look_->bold, look_->plain, ms(late_ns[0]), ms(late_ns[(count - 1) / 2]),
               ms(late_ns[(count - 1) * 99 / 100]), ms(late_ns[count - 1]), demo_->returned_count - count,
               ms(precision_ns));
        tell_histogram(late_ns, count, (precision_ns + HISTOGRAM_ROWS - 1) / HISTOGRAM_ROWS, look_);
    }
    free(late_ns);
}

/* ---- the audit ---- */

typedef struct findings {
    size_t strange; /* returned with data, deadline or handle that are no timer's */
    size_t not_once;
    size_t early;
    size_t late;
    size_t disordered;
    size_t alive; /* handles that do not say that they are gone */
} findings;

static void audit_returned(demo *demo_, const verge_wheel *wheel, findings *found) {
    uint64_t precision_ns = verge_wheel_precision(wheel);
    uint64_t last_tick_ns = 0;
    for (size_t i = 0; i < demo_->returned_count; i++) {
        const verge_expiry *expiry = &demo_->returned[i];
        uint64_t at_ns = demo_->returned_at_ns[i];
        uint64_t tick_ns = verge_wheel_fires_at(wheel, expiry->deadline_ns);
        size_t timer = ((uintptr_t)expiry->data - (uintptr_t)demo_->deadline_ns) / sizeof(uint64_t);
        if (timer >= demo_->timers || expiry->data != &demo_->deadline_ns[timer] ||
            expiry->deadline_ns != demo_->deadline_ns[timer] || expiry->timer != demo_->handle[timer]) {
            found->strange++;
            continue;
        }
        demo_->expired[timer] |= demo_->expired[timer] == 0 ? 1 : 2; /* 3: more than once */
        found->early += at_ns < expiry->deadline_ns;
        found->late += at_ns >= expiry->deadline_ns && at_ns - expiry->deadline_ns >= precision_ns;
        found->disordered += tick_ns < last_tick_ns;
        last_tick_ns = tick_ns;
    }
}

static bool verdict(const look *look_, bool holds, const char *text) {
    printf("    %s%s%s %s\n", holds ? look_->good : look_->bad, holds ? "ok    " : "FAILED", look_->plain, text);
    return holds;
}

static bool tell_audit(const demo *demo_, const verge_wheel *wheel, const findings *found, const look *look_) {
    size_t pending = verge_wheel_count(wheel);
    char text[256];
    bool holds = true;
    printf("\n  %saudit%s\n", look_->bold, look_->plain);
    (void)snprintf(text, sizeof(text), "scheduled %s = expired %s + cancelled %s + pending %s", grouped(demo_->timers),
                   grouped(demo_->returned_count), grouped(demo_->cancel.count), grouped(pending));
    holds &= verdict(look_, demo_->timers == demo_->returned_count + demo_->cancel.count + pending, text);
    holds &= verdict(look_, pending == 0, "none is pending any more");
    holds &= verdict(look_, found->not_once == 0, "each ended exactly once: expired or cancelled");
    holds &= verdict(look_, found->strange == 0, "each came with its own handle, data and last deadline");
    holds &= verdict(look_, found->early == 0, "none early");
    holds &= verdict(look_, found->late == 0, "none later than promised");
    holds &= verdict(look_, found->disordered == 0, "ticks in ascending order");
    holds &= verdict(look_, found->alive == 0, "every handle says that its timer is gone");
    if (demo_->timers >= TIMERS_DEFAULT) {
        bool fits = demo_->bytes_full <= (uint64_t)demo_->timers * BYTES_A_TIMER_MAX;
        holds &= verdict(look_, fits, "at most 48 bytes a timer");
    }
    (void)snprintf(text, sizeof(text), "%s",
                   demo_->broken == NULL ? "the wheel's own check, four times" : demo_->broken);
    holds &= verdict(look_, demo_->broken == NULL, text);
    return holds;
}

static bool audit(demo *demo_, verge_wheel *wheel, const look *look_) {
    findings found = {0};
    audit_returned(demo_, wheel, &found);
    for (size_t i = 0; i < demo_->timers; i++) {
        found.not_once += demo_->expired[i] + demo_->cancelled[i] != 1;
        found.alive += verge_wheel_cancel(wheel, demo_->handle[i], NULL) != -ENOENT;
    }
    return tell_audit(demo_, wheel, &found, look_);
}

/* ---- the command line ---- */

static const char usage[] = "usage: verge-demo [--timers N] [--seed N]\n"
                            "  --timers N   how many, 1 to 50,000,000; a million if not given\n"
                            "  --seed N     for the random durations and choices; 1 if not given\n";

static bool parse_number(const char *text, uint64_t *ret_number) {
    char *end = NULL;
    if (text == NULL || *text < '0' || *text > '9') {
        return false;
    }
    errno = 0;
    unsigned long long number = strtoull(text, &end, 10);
    if (errno != 0 || *end != '\0') {
        return false;
    }
    *ret_number = number;
    return true;
}

static bool parse_arguments(int count, char **values, arguments *ret_arguments) {
    *ret_arguments = (arguments){.seed = 1, .timers = TIMERS_DEFAULT};
    for (int i = 1; i < count; i += 2) {
        uint64_t number = 0;
        bool is_timers = strcmp(values[i], "--timers") == 0;
        if (!is_timers && strcmp(values[i], "--seed") != 0) {
            (void)fprintf(stderr, "verge-demo: no such argument: %s\n%s", values[i], usage);
            return false;
        }
        if (!parse_number(values[i + 1], &number) || (is_timers && (number == 0 || number > TIMERS_MAX))) {
            (void)fprintf(stderr, "verge-demo: %s needs a number in its range\n%s", values[i], usage);
            return false;
        }
        if (is_timers) {
            ret_arguments->timers = (size_t)number;
        } else {
            ret_arguments->seed = number;
        }
    }
    return true;
}

int main(int argc, char **argv) {
    arguments arguments_;
    if (argc == 2 && strcmp(argv[1], "--help") == 0) {
        printf("%s", usage);
        return EXIT_SUCCESS;
    }
    if (!parse_arguments(argc, argv, &arguments_)) {
        return EXIT_USAGE;
    }
    look look_ = look_of_stdout();
    verge_wheel_options options;
    verge_wheel *wheel = NULL;
    (void)verge_wheel_options_init(&options);
    options.start_ns = START_NS;
    int error = verge_wheel_create(&options, &wheel);
    if (error != 0) {
        (void)fprintf(stderr, "verge-demo: %s\n", verge_strerror(error));
        return EXIT_FAILURE;
    }
    demo demo_;
    prepare(&demo_, &arguments_);
    printf("%sverge %s%s: %s timers of 1 ms to 1 hour (log-uniform), precision %.3f ms, seed %" PRIu64 "\n", look_.bold,
           verge_version(), look_.plain, grouped(demo_.timers), ms(verge_wheel_precision(wheel)), arguments_.seed);
    run_schedule(&demo_, wheel);
    run_reset(&demo_, wheel);
    run_cancel(&demo_, wheel);
    run_expire(&demo_, wheel);
    tell_rates(&demo_, &look_);
    tell_lateness(&demo_, verge_wheel_precision(wheel), &look_);
    bool holds = audit(&demo_, wheel, &look_);
    verge_wheel_destroy(wheel);
    tear_down(&demo_);
    return holds ? EXIT_SUCCESS : EXIT_FAILURE;
}
