/* SPDX-License-Identifier: MIT */
/* verge-durable: durable timers from the command line. It uses only the installed headers. */
#define _GNU_SOURCE

#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "print.h"

enum { PAGE = 1000, PROGRESS = 10000, WRONG = 2 /* the exit status if the arguments make no sense */ };

static const char usage[] =
    "usage: verge-durable COMMAND URL [ARGUMENT...] [OPTION...]\n"
    "  init URL [SHARDS]     creates the tables; SHARDS (default: 64) cannot be changed later\n"
    "  migrate URL           upgrades the tables to the version of this program; older ones can run at the same time\n"
    "  contract URL          ends a migration: from now on, programs of an older version are refused\n"
    "  check URL             looks for rows that verge cannot have written; the exit status is 1 if there are any\n"
    "  stats URL             counts the pending, overdue and dead timers, and the shards of each node\n"
    "  list URL [dead]       lists the pending or the dead timers; also --handler, --key, --due-before\n"
    "  show URL ID           shows one timer, with its payload\n"
    "  schedule URL HANDLER  schedules a timer and prints its id; --in or --at, --key, --payload, --replace, --move\n"
    "  cancel URL ID         cancels a pending timer; instead of ID also --handler and --key\n"
    "  reset URL ID          moves a pending timer: --in or --at; instead of ID also --handler and --key\n"
    "  retry URL ID          lets a dead timer fire again, now; --all: all dead ones, or those of --handler, --key\n"
    "  forget URL ID         deletes a dead timer; --all: as retry\n"
    "  pause URL HANDLER     on all nodes, timers of this handler wait; resume lets them fire again\n"
    "  resume URL HANDLER\n"
    "  limit URL HANDLER     limits it for all nodes together: --concurrency, --rate; what is not given has no limit\n"
    "  handlers URL          lists the handlers that are paused or have such limits\n"
    "Options:\n"
    "  --in SECONDS, --at TIME, --due-before TIME   TIME is 2026-12-31T23:59:59Z, or seconds since 1970\n"
    "  --handler NAME, --key KEY, --payload TEXT\n"
    "  --concurrency COUNT, --rate CALLS_A_SECOND\n"
    "  --json                one JSON object a line\n"
    "A URL is sqlite:FILE, or postgresql://... in the form that psql takes. Commands that only read also work on a\n"
    "replica, and for a user who may only read.\n";

typedef struct verge__arguments {
    const char *command;
    const char *url;
    const char *argument;
    const char *handler;
    const char *key;
    const char *payload;
    uint64_t delay_ns;
    uint64_t at_ns;         /* 0: it is not given */
    uint64_t due_before_ns; /* the same */
    uint32_t concurrency;
    uint32_t rate;
    bool has_time;
    bool all;
    bool as_json;
    verge_durable_conflict on_conflict;
} verge__arguments;

static int refuse(const char *format, const char *what) {
    (void)fprintf(stderr, "verge-durable: ");
    (void)fprintf(stderr, format, what); /* NOLINT(clang-diagnostic-format-nonliteral) */
    (void)fprintf(stderr, "\n");
    return WRONG;
}

/* ---- lists ---- */

static bool is_wanted(const verge__arguments *a, const verge_durable_info *info) {
    return (a->handler == NULL || strcmp(a->handler, info->handler) == 0) &&
           (a->key == NULL || (strlen(a->key) == info->key_size && memcmp(a->key, info->key, info->key_size) == 0)) &&
           (a->due_before_ns == 0 || info->due_ns < a->due_before_ns);
}

/* What has been done so far, for who waits. */
static void print_progress(const char *what, uint64_t count) {
    if (count > 0 && count % PROGRESS == 0) {
        (void)fprintf(stderr, "verge-durable: %s %" PRIu64 " timers so far\n", what, count);
    }
}

/* Visits all timers that are wanted, until one is refused. */
static int for_each(verge_durable *durable, const verge__arguments *a, bool dead,
                    int (*visit)(verge_durable *durable, const verge__arguments *a, const verge_durable_info *info)) {
    static verge_durable_info infos[PAGE];
    verge_durable_id after = 0;
    uint64_t read = 0;
    int count;
    int status = 0;
    do {
        count = verge_durable_list(durable, dead, after, infos, PAGE);
        for (int i = 0; i < count && status == 0; i++) {
            after = infos[i].id;
            status = is_wanted(a, &infos[i]) ? visit(durable, a, &infos[i]) : 0;
            print_progress("read", ++read);
        }
    } while (count == PAGE && status == 0);
    return count < 0 ? complain(durable, a->command, count) : status;
}

static int print_one(verge_durable *durable, const verge__arguments *a, const verge_durable_info *info) {
    (void)durable;
    print_info(info, a->as_json);
    return 0;
}

static int list(verge_durable *durable, const verge__arguments *a) {
    if (a->argument != NULL && strcmp(a->argument, "dead") != 0) {
        return refuse("list takes \"dead\" or nothing, and not \"%s\"", a->argument);
    }
    if (!a->as_json) {
        print_heading(a->argument != NULL);
    }
    return for_each(durable, a, a->argument != NULL, print_one);
}

static int change_dead(verge_durable *durable, const verge__arguments *a, const verge_durable_info *info) {
    const bool retries = strcmp(a->command, "retry") == 0;
    const int error = retries ? verge_durable_retry(durable, info->id) : verge_durable_forget(durable, info->id);
    if (error == -EEXIST) {
        (void)fprintf(stderr, "verge-durable: %" PRIu64 " stays dead: another pending timer has its key\n", info->id);
    }
    return error != 0 && error != -ENOENT && error != -EEXIST ? complain(durable, a->command, error) : 0;
}

/* ---- one timer ---- */

static int show(verge_durable *durable, const verge__arguments *a, verge_durable_id id) {
    static uint8_t payload[VERGE_DURABLE_PAYLOAD_MAX];
    verge_durable_info info;
    const int error = verge_durable_get(durable, id, &info, payload, sizeof(payload));
    if (error == -ENOENT) {
        (void)fprintf(stderr, "verge-durable: show: there is no timer %" PRIu64 "\n", id);
        return 1;
    }
    if (error != 0) {
        return complain(durable, "show", error);
    }
    print_details(&info, payload, a->as_json);
    return 0;
}

static int schedule(verge_durable *durable, const verge__arguments *a) {
    const verge_durable_request request = {
        .handler = a->argument,
        .due_ns = a->at_ns,
        .delay_ns = a->delay_ns,
        .key = a->key,
        .payload = a->payload,
        .payload_size = a->payload == NULL ? 0 : strlen(a->payload),
        .on_conflict = a->on_conflict,
    };
    verge_durable_id id;
    const int error = verge_durable_schedule(durable, &request, &id);
    if (error == -EEXIST) {
        (void)fprintf(stderr, "verge-durable: a timer with this key is pending; see --replace and --move\n");
        return 1;
    }
    if (error == -EINVAL) {
        return refuse("\"%s\" is no name of a handler, or --replace or --move has no --key", a->argument);
    }
    if (error != 0) {
        return complain(durable, "schedule", error);
    }
    (void)printf(a->as_json ? "{\"id\":\"%" PRIu64 "\"}\n" : "%" PRIu64 "\n", id);
    return 0;
}

static int change(verge_durable *durable, const verge__arguments *a, verge_durable_id id) {
    const uint64_t at_ns = a->at_ns != 0 ? a->at_ns : verge_durable_now(durable) + a->delay_ns;
    int error;
    if (strcmp(a->command, "cancel") == 0) {
        error = id != 0 ? verge_durable_cancel(durable, id) : verge_durable_cancel_key(durable, a->handler, a->key, 0);
    } else if (strcmp(a->command, "reset") == 0) {
        error = id != 0 ? verge_durable_reset(durable, id, at_ns)
                        : verge_durable_reset_key(durable, a->handler, a->key, 0, at_ns);
    } else if (strcmp(a->command, "retry") == 0) {
        error = verge_durable_retry(durable, id);
    } else {
        error = verge_durable_forget(durable, id);
    }
    if (error == VERGE_RUNNING) {
        (void)printf("it is running now\n");
        return 0;
    }
    if (error == -ENOENT) {
        (void)fprintf(stderr, "verge-durable: %s: there is no such timer\n", a->command);
        return 1;
    }
    return error != 0 ? complain(durable, a->command, error) : 0;
}

/* ---- the store ---- */

static int check(verge_durable *durable) {
    char text[256];
    const int found = verge_durable_check(durable, text, sizeof(text));
    if (found < 0) {
        return complain(durable, "check", found);
    }
    (void)printf(found == 0 ? "nothing wrong was found\n" : "%d wrong; the first: %s\n", found, text);
    return found != 0;
}

static int stats(verge_durable *durable, const verge__arguments *a) {
    static verge_durable_owner owners[VERGE_DURABLE_SHARDS_MAX];
    uint64_t pending;
    uint64_t overdue;
    uint64_t dead;
    const int error = verge_durable_count(durable, &pending, &overdue, &dead);
    const int count = error != 0 ? error : verge_durable_list_owners(durable, owners, VERGE_DURABLE_SHARDS_MAX);
    if (count < 0) {
        return complain(durable, "stats", count);
    }
    print_stats(pending, overdue, dead, owners, count, a->as_json);
    return 0;
}

static int handlers(verge_durable *durable, const verge__arguments *a) {
    static verge_durable_control controls[4096];
    const int count = verge_durable_list_controls(durable, controls, sizeof(controls) / sizeof(controls[0]));
    if (count < 0) {
        return complain(durable, "handlers", count);
    }
    print_controls(controls, count, a->as_json);
    return 0;
}

static int control(verge_durable *durable, const verge__arguments *a) {
    const int error = strcmp(a->command, "pause") == 0 ? verge_durable_pause(durable, a->argument)
                      : strcmp(a->command, "resume") == 0
                          ? verge_durable_resume(durable, a->argument)
                          : verge_durable_limit(durable, a->argument, a->concurrency, a->rate);
    return error != 0 ? complain(durable, a->command, error) : 0;
}

static int make_tables(const verge__arguments *a) {
    char *end = "";
    const unsigned long count = a->argument == NULL ? 64 : strtoul(a->argument, &end, 10);
    if (*end != '\0' || count < 1 || count > VERGE_DURABLE_SHARDS_MAX) {
        (void)fprintf(stderr, "verge-durable: there are 1 to %d shards\n", VERGE_DURABLE_SHARDS_MAX);
        return WRONG;
    }
    const int error = verge_durable_migrate(a->url, (uint32_t)count);
    return error != 0 ? complain(NULL, without_password(a->url), error) : 0;
}

/* ---- arguments ---- */

/* "2026-12-31T23:59:59Z", or seconds since 1970; 0: it is neither. */
static uint64_t time_of(const char *text) {
    struct tm parts = {0};
    char *end;
    const char *rest = strptime(text, "%Y-%m-%dT%H:%M:%S", &parts);
    if (rest != NULL && strcmp(rest, "Z") == 0) {
        return (uint64_t)timegm(&parts) * UINT64_C(1000000000);
    }
    const double seconds = strtod(text, &end);
    return end == text || *end != '\0' || !(seconds > 0 && seconds < 9e9) ? 0 : (uint64_t)(seconds * 1e9);
}

static int read_delay(const char *text, verge__arguments *a) {
    char *end;
    const double seconds = strtod(text, &end);
    if (end == text || *end != '\0' || !(seconds >= 0 && seconds < 2e9)) {
        return refuse("--in wants seconds, and not \"%s\"", text);
    }
    a->delay_ns = (uint64_t)(seconds * 1e9);
    a->has_time = true;
    return 0;
}

static int read_limit(const char *text, uint32_t *ret_limit) {
    char *end;
    const unsigned long limit = strtoul(text, &end, 10);
    if (end == text || *end != '\0' || text[0] == '-' || limit > 1000000000) {
        return refuse("\"%s\" is no limit: 0 to 1000000000", text);
    }
    *ret_limit = (uint32_t)limit;
    return 0;
}

static int read_option(int option, const char *value, verge__arguments *a) {
    uint64_t *time = option == 'a' ? &a->at_ns : &a->due_before_ns;
    switch (option) {
    case 'h':
        a->handler = value;
        return 0;
    case 'k':
        a->key = value;
        return 0;
    case 'p':
        a->payload = value;
        return 0;
    case 'i':
        return read_delay(value, a);
    case 'a':
    case 'd':
        *time = time_of(value);
        a->has_time |= option == 'a';
        return *time == 0 ? refuse("\"%s\" is no time: 2026-12-31T23:59:59Z, or seconds since 1970", value) : 0;
    case 'c':
        return read_limit(value, &a->concurrency);
    case 'r':
        return read_limit(value, &a->rate);
    case 'j':
        a->as_json = true;
        return 0;
    case 'A':
        a->all = true;
        return 0;
    case 'R':
        a->on_conflict = VERGE_DURABLE_REPLACE;
        return 0;
    case 'M':
        a->on_conflict = VERGE_DURABLE_MOVE;
        return 0;
    default:
        return WRONG; /* getopt has said why */
    }
}

static int read_arguments(int argc, char **argv, verge__arguments *a) {
    static const struct option options[] = {
        {"handler", required_argument, NULL, 'h'},
        {"key", required_argument, NULL, 'k'},
        {"payload", required_argument, NULL, 'p'},
        {"in", required_argument, NULL, 'i'},
        {"at", required_argument, NULL, 'a'},
        {"due-before", required_argument, NULL, 'd'},
        {"concurrency", required_argument, NULL, 'c'},
        {"rate", required_argument, NULL, 'r'},
        {"json", no_argument, NULL, 'j'},
        {"all", no_argument, NULL, 'A'},
        {"replace", no_argument, NULL, 'R'},
        {"move", no_argument, NULL, 'M'},
        {NULL, 0, NULL, 0},
    };
    int option;
    int status = 0;
    while (status == 0 && (option = getopt_long(argc, argv, "", options, NULL)) != -1) {
        status = read_option(option, optarg, a);
    }
    const int left = argc - optind;
    if (status == 0 && (left < 2 || left > 3)) {
        (void)fputs(usage, stderr);
        status = WRONG;
    }
    if (status == 0) {
        a->command = argv[optind];
        a->url = argv[optind + 1];
        a->argument = left == 3 ? argv[optind + 2] : NULL;
    }
    return status;
}

static bool is_one_of(const char *word, const char *const *words) {
    while (*words != NULL && strcmp(*words, word) != 0) {
        words++;
    }
    return *words != NULL;
}

/* What a command needs, before the store is asked. */
static int check_arguments(const verge__arguments *a, verge_durable_id *ret_id) {
    static const char *const with_id[] = {"show", "cancel", "reset", "retry", "forget", NULL};
    static const char *const by_key[] = {"cancel", "reset", NULL};
    static const char *const in_bulk[] = {"retry", "forget", NULL};
    static const char *const of_handlers[] = {"schedule", "pause", "resume", "limit", NULL};
    static const char *const others[] = {"init", "migrate", "contract", "check", "list", "stats", "handlers", NULL};
    char *end = "";
    *ret_id = 0;
    if (!is_one_of(a->command, with_id)) {
        if (is_one_of(a->command, of_handlers)) {
            return a->argument == NULL ? refuse("%s needs a handler", a->command) : 0;
        }
        return is_one_of(a->command, others)
                   ? 0
                   : refuse("there is no command \"%s\"; see verge-durable --help", a->command);
    }
    if (strcmp(a->command, "reset") == 0 && !a->has_time) {
        return refuse("%s", "reset needs --in or --at");
    }
    if (a->argument == NULL && ((is_one_of(a->command, by_key) && a->handler != NULL && a->key != NULL) ||
                                (is_one_of(a->command, in_bulk) && a->all))) {
        return 0;
    }
    *ret_id = a->argument == NULL ? 0 : strtoull(a->argument, &end, 10);
    return *ret_id == 0 || *end != '\0' ? refuse("%s needs the id of a timer; see verge-durable --help", a->command)
                                        : 0;
}

static int run(verge_durable *durable, const verge__arguments *a, verge_durable_id id) {
    if (strcmp(a->command, "list") == 0) {
        return list(durable, a);
    }
    if (strcmp(a->command, "check") == 0) {
        return check(durable);
    }
    if (strcmp(a->command, "stats") == 0) {
        return stats(durable, a);
    }
    if (strcmp(a->command, "schedule") == 0) {
        return schedule(durable, a);
    }
    if (strcmp(a->command, "handlers") == 0) {
        return handlers(durable, a);
    }
    if (strcmp(a->command, "pause") == 0 || strcmp(a->command, "resume") == 0 || strcmp(a->command, "limit") == 0) {
        return control(durable, a);
    }
    if (strcmp(a->command, "show") == 0) {
        return show(durable, a, id);
    }
    return id == 0 && a->all ? for_each(durable, a, true, change_dead) : change(durable, a, id);
}

static void print_message(void *context, const verge_durable_message *message) {
    (void)context;
    (void)fprintf(stderr, "verge-durable: %s\n", message->text);
}

int main(int argc, char **argv) {
    verge__arguments arguments = {.command = NULL};
    verge_durable_id id;
    if (argc == 2 && (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0)) {
        (void)fputs(usage, stdout);
        return 0;
    }
    if (argc == 2 && strcmp(argv[1], "--version") == 0) {
        (void)printf("verge-durable %s\n", verge_version());
        return 0;
    }
    int status = read_arguments(argc, argv, &arguments);
    status = status != 0 ? status : check_arguments(&arguments, &id);
    if (status != 0) {
        return status;
    }
    const char *shown = without_password(arguments.url);
    if (strcmp(arguments.command, "init") == 0 || strcmp(arguments.command, "migrate") == 0) {
        return make_tables(&arguments);
    }
    if (strcmp(arguments.command, "contract") == 0) {
        const int error = verge_durable_contract(arguments.url);
        return error != 0 ? complain(NULL, shown, error) : 0;
    }
    verge_durable_options options;
    verge_durable *durable = NULL;
    (void)verge_durable_options_init(&options);
    options.url = arguments.url;
    options.client = true;
    options.lease_ns = UINT64_C(600000000000); /* a table may be long */
    options.log = print_message;
    const int error = verge_durable_open(&options, &durable);
    if (error != 0) {
        return complain(NULL, shown, error);
    }
    status = run(durable, &arguments, id);
    (void)verge_durable_close(durable, VERGE_NEVER);
    return status;
}
