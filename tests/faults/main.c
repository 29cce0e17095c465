/* SPDX-License-Identifier: MIT */
/*
 * faults JOB                     counts the calls that a job makes, then runs it again and again: each time one fails
 * faults JOB SITE KIND NUMBER [on]    one of these runs; on: later calls fail as well
 *
 * A call fails alone or, where that is possible, with all later ones: memory stays scarce, a signal comes again and
 * again. Each run is a process of its own, with a time limit. The job must end, with a documented error or none. All
 * that it has begun must end, and nothing may be left behind. By default, the first calls of each site fail, and some
 * later calls, chosen at random (VERGE_TEST_SEED). With VERGE_FAULTS=all, each of the first CALLS_MAX calls fails, and
 * as many later ones. Threads race, so a call with a given number may never be made. The output says how many runs had
 * a fault.
 */
#define _GNU_SOURCE

#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "faults/job.h"
#include "support/random.h"

enum { CALLS_MAX = 300, HUNG_AFTER_S = 600 }; /* a run takes some ms, and far more on a busy machine */

static const struct {
    const char *name;
    void (*run)(const struct fault_plan *plan);
} jobs[] = {{"wheel", job_wheel},     {"service", job_service},   {"collect", job_collect}, {"flood", job_flood},
            {"runtime", job_runtime}, {"blocking", job_blocking}, {"scope", job_scope},     {"fork", job_fork}};

static void (*run_job)(const struct fault_plan *plan);
static const char *job_name;

/* ---- one run ---- */

static int descriptor_count(void) {
    int count = 0;
    DIR *folder = opendir("/proc/self/fd");
    if (folder == NULL) {
        return -1;
    }
    /* There is only one thread. NOLINTNEXTLINE(concurrency-mt-unsafe) */
    while (readdir(folder) != NULL) {
        count++;
    }
    (void)closedir(folder);
    return count;
}

_Noreturn static void be_the_child(const struct fault_plan *plan) {
    (void)alarm(HUNG_AFTER_S);
    const int descriptors = descriptor_count();
    const int64_t outstanding = wraps_outstanding();
    if (!trap_install()) {
        _exit(EXIT_FAILURE);
    }
    run_job(plan);
    JOB_CHECK(wraps_outstanding() == outstanding);
    JOB_CHECK(descriptor_count() == descriptors || job_may_lose_results(plan));
    _exit(atomic_load(&job_failures) == 0 ? EXIT_SUCCESS : EXIT_FAILURE);
}

/* Runs the job with a plan. True: the outcome is as it must be. */
static bool run_once(const struct fault_plan *plan) {
    memset(fault_counts, 0, sizeof(*fault_counts));
    (void)fflush(NULL);
    const pid_t child = fork();
    if (child == 0) {
        be_the_child(plan);
    }
    int status = 0;
    if (child < 0 || waitpid(child, &status, 0) != child) {
        perror("faults");
        return false;
    }
    if (WIFEXITED(status) && WEXITSTATUS(status) == EXIT_SUCCESS) {
        return true;
    }
    const char *kind = plan->kind == NULL ? "" : plan->kind->name;
    (void)printf("faults: %s %s %s %" PRIu64 "%s: %s %d\n", job_name, sites[plan->site].name, kind, plan->number,
                 plan->goes_on ? " on" : "", WIFSIGNALED(status) ? "ended by signal" : "failed with status",
                 WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
    return false;
}

/* ---- all runs ---- */

struct tally {
    uint64_t runs, injected, failed;
};

static void run_plan(const struct fault_plan *plan, struct tally *tally) {
    tally->failed += !run_once(plan);
    tally->injected += atomic_load(&fault_counts->was_injected);
    tally->runs++;
}

/* Returns how often the job makes calls of this site when nothing fails, or 0 if the job does not pass even then. */
static uint64_t calls_of(enum site site, uint64_t *failed) {
    const struct fault_plan nothing = {.site = site};
    const bool is_good = run_once(&nothing);
    *failed += !is_good;
    return is_good ? atomic_load(&fault_counts->calls[site]) : 0;
}

static struct tally run_kind(struct fault_plan plan, uint64_t call_count, struct verge_test_random *random) {
    const char *wish = getenv("VERGE_FAULTS");
    const bool all = wish != NULL && strcmp(wish, "all") == 0;
    const uint64_t first_count = all ? CALLS_MAX : 3;
    const uint64_t more_count = all ? CALLS_MAX : 2;
    struct tally tally = {0};
    for (plan.number = 1; plan.number <= call_count && plan.number <= first_count; plan.number++) {
        run_plan(&plan, &tally);
    }
    for (uint64_t i = 0; call_count > first_count && i < more_count; i++) {
        plan.number = first_count + 1 + verge_test_below(random, call_count - first_count);
        run_plan(&plan, &tally);
    }
    return tally;
}

static void run_and_tell(struct fault_plan plan, uint64_t call_count, struct verge_test_random *random,
                         struct tally *sum) {
    const struct tally tally = run_kind(plan, call_count, random);
    (void)printf("%-15s %-12s %-7s %5" PRIu64 " calls: %4" PRIu64 " runs, %4" PRIu64 " with a fault, %" PRIu64
                 " failed\n",
                 sites[plan.site].name, plan.kind->name, plan.goes_on ? "goes on" : "once", call_count, tally.runs,
                 tally.injected, tally.failed);
    sum->runs += tally.runs;
    sum->injected += tally.injected;
    sum->failed += tally.failed;
}

static uint64_t run_all(void) {
    struct verge_test_random random = verge_test_random_from(verge_test_seed(20261115));
    struct tally sum = {0};
    for (enum site site = 0; site < SITE_COUNT; site++) {
        const uint64_t call_count = calls_of(site, &sum.failed);
        if (call_count == 0) {
            (void)printf("%-15s no calls\n", sites[site].name);
        }
        for (const struct fault_kind *kind = sites[site].kinds; kind->name != NULL && call_count > 0; kind++) {
            struct fault_plan plan = {.site = site, .kind = kind};
            run_and_tell(plan, call_count, &random, &sum);
            plan.goes_on = true;
            if (kind->more != 0) {
                run_and_tell(plan, call_count, &random, &sum);
            }
        }
    }
    (void)printf("faults: %s: %" PRIu64 " runs, %" PRIu64 " with a fault, %" PRIu64 " failed\n", job_name, sum.runs,
                 sum.injected, sum.failed);
    return sum.failed + (sum.injected == 0);
}

static uint64_t run_named(const char *site_name, const char *kind_name, const char *number, bool goes_on) {
    for (enum site site = 0; site < SITE_COUNT; site++) {
        for (const struct fault_kind *kind = sites[site].kinds; kind->name != NULL; kind++) {
            if (strcmp(sites[site].name, site_name) == 0 && strcmp(kind->name, kind_name) == 0) {
                const struct fault_plan plan = {site, kind, strtoull(number, NULL, 10), goes_on};
                return !run_once(&plan);
            }
        }
    }
    return 1;
}

int main(int argc, char **argv) {
    for (size_t i = 0; argc > 1 && i < sizeof(jobs) / sizeof(jobs[0]); i++) {
        if (strcmp(argv[1], jobs[i].name) == 0) {
            run_job = jobs[i].run;
            job_name = jobs[i].name;
        }
    }
    fault_counts = mmap(NULL, sizeof(*fault_counts), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (run_job == NULL || fault_counts == MAP_FAILED || (argc != 2 && argc < 5)) {
        (void)fprintf(stderr, "usage: faults JOB [SITE KIND NUMBER [on]]\n");
        return EXIT_FAILURE;
    }
    const uint64_t failed = argc >= 5 ? run_named(argv[2], argv[3], argv[4], argc > 5) : run_all();
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
