/* SPDX-License-Identifier: MIT */
/* verge-durable: durable timers from the command line. It uses only the installed headers. */
#define _GNU_SOURCE

#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "print.h"

enum { PAGE = 1000, PROGRESS = 10000, CONTROLS_MAX = 4096 };

static const char usage[] =
    "usage: verge-durable COMMAND URL [ARGUMENT...] [OPTION...]\n"
    "  init URL [SHARDS]     creates the tables; SHARDS (default: 64) cannot be changed later\n"
    "  migrate URL           upgrades the tables to the version of this program; older ones can run at the same time\n"
    "  contract URL          ends a migration: from now on, programs of an older version are refused\n"
    "  check URL             looks for rows that verge cannot have written; the exit status is 1 if there are any\n"
    "  stats URL             counts the pending, overdue and dead timers, and the shards of each node\n"
    "  list URL [dead]       lists the pending or the dead timers; also --handler, --key, --due-before\n"
    "  show URL ID           shows one timer, with its payload\n"
    "  schedule URL HANDLER  schedules a timer and prints its id; --in or --at, --rule, --key, --payload,\n"
    "                        --replace, --move\n"
    "  cancel URL ID         cancels a pending timer; instead of ID also --handler and --key\n"
    "  reset URL ID          moves a pending timer: --in or --at; instead of ID also --handler and --key\n"
    "  retry URL ID          lets a dead timer fire again, now; --all: all dead ones, or those of --handler, --key\n"
    "  forget URL ID         deletes a dead timer; --all: as retry\n"
    "  pause URL HANDLER     on all nodes, timers of this handler wait; resume lets them fire again\n"
    "  resume URL HANDLER\n"
    "  limit URL HANDLER     limits it for all nodes together: --concurrency, --rate; 0, or not given: no limit\n"
    "  handlers URL          lists the handlers that are paused or have such limits\n"
    "Options:\n"
    "  --in SECONDS, --at TIME, --due-before TIME   TIME is 2026-12-31T23:59:59Z, or seconds since 1970\n"
    "  --handler NAME, --key KEY, --payload TEXT, --rule RULE (\"0 9 * * mon-fri Europe/Berlin\")\n"
    "  --concurrency COUNT, --rate CALLS_A_SECOND\n"
    "  --json                one JSON object a line\n"
    "A URL is sqlite:FILE, or postgresql://... in the form that psql takes. There, commands that only read also work "
    "on\n"
    "a replica, and for a user who may only read.\n";

typedef struct verge__command verge__command;

typedef struct verge__arguments {
    const verge__command *command;
    const char *name; /* the command's name */
    const char *url;
    const char *argument;
    const char *handler;
    const char *key;
    const char *payload;
    const char *rule;
    verge_durable_id id; /* 0: not given */
    uint64_t delay_ns;
    uint64_t at_ns;         /* 0: not given */
    uint64_t due_before_ns; /* 0: not given */
    uint32_t concurrency;
    uint32_t rate;
    bool as_json;
    bool given[128]; /* which options were given, by their letters */
    verge_durable_conflict on_conflict;
} verge__arguments;

typedef enum verge__argument_kind {
    TAKES_NOTHING,
    TAKES_ANYTHING, /* an argument or none; the command checks it */
    TAKES_HANDLER,
    TAKES_ID, /* an id, or options that name one timer or many */
} verge__argument_kind;

struct verge__command {
    const char *name;
    const char *options; /* the letters of the options that the command takes */
    int (*run)(verge_durable *durable, const verge__arguments *a);
    verge__argument_kind argument;
    bool is_alone; /* the command gets no durable: it opens the store itself */
};

__attribute__((format(printf, 1, 2))) static int refuse(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    (void)fprintf(stderr, "verge-durable: ");
    (void)vfprintf(stderr, format, arguments);
    (void)fprintf(stderr, "\n");
    va_end(arguments);
    return WRONG;
}

static int open_store(const verge__arguments *a, verge_durable **ret_durable) {
    verge_durable_options options;
    (void)verge_durable_options_init(&options, sizeof(options));
    options.url = a->url;
    options.client = true;
    options.lease_ns = UINT64_C(600000000000);  /* to read a long table takes time */
    options.patience_ns = UINT64_C(2000000000); /* a person waits for the command */
    return verge_durable_open(&options, ret_durable);
}

/* ---- lists ---- */

static bool is_wanted(const verge__arguments *a, const verge_durable_info *info) {
    return (a->handler == NULL || strcmp(a->handler, info->handler) == 0) &&
           (a->key == NULL || (strlen(a->key) == info->key_size && memcmp(a->key, info->key, info->key_size) == 0)) &&
           (a->due_before_ns == 0 || info->due_ns < a->due_before_ns);
}

/* Tells the user from time to time how far the command is. */
static void print_progress(const char *what, uint64_t count) {
    if (count > 0 && count % PROGRESS == 0) {
        (void)fprintf(stderr, "verge-durable: %s %" PRIu64 " timers so far\n", what, count);
    }
}

/* Visits all timers that the options ask for, until a visit fails. */
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
    return count < 0 ? complain(durable, a->name, count) : status;
}

static int print_one(verge_durable *durable, const verge__arguments *a, const verge_durable_info *info) {
    (void)durable;
    print_info(info, a->as_json);
    return 0;
}

static int list(verge_durable *durable, const verge__arguments *a) {
    if (a->argument != NULL && strcmp(a->argument, "dead") != 0) {
        return refuse("list takes \"dead\" or nothing, and not \"%s\"", without_password(a->argument));
    }
    if (!a->as_json) {
        print_heading(a->argument != NULL);
    }
    return for_each(durable, a, a->argument != NULL, print_one);
}

static uint64_t changed_count; /* how many dead timers were retried or forgotten */
static uint64_t stayed_count;

static int change_dead(verge_durable *durable, const verge__arguments *a, const verge_durable_info *info) {
    const bool retries = strcmp(a->name, "retry") == 0;
    const int error = retries ? verge_durable_retry(durable, info->id) : verge_durable_forget(durable, info->id);
    if (error == -EEXIST) {
        (void)fprintf(stderr, "verge-durable: %" PRIu64 " stays dead: another pending timer has its key\n", info->id);
    }
    changed_count += error == 0;
    stayed_count += error == -EEXIST;
    return error != 0 && error != -ENOENT && error != -EEXIST ? complain(durable, a->name, error) : 0;
}

static int change_all(verge_durable *durable, const verge__arguments *a) {
    const int status = for_each(durable, a, true, change_dead);
    (void)printf("%s: %" PRIu64 ", still dead: %" PRIu64 "\n", strcmp(a->name, "retry") == 0 ? "retried" : "forgotten",
                 changed_count, stayed_count);
    return status != 0 ? status : stayed_count > 0;
}

/* ---- one timer ---- */

static int show(verge_durable *durable, const verge__arguments *a) {
    static uint8_t payload[VERGE_DURABLE_PAYLOAD_MAX];
    verge_durable_info info;
    const int error = verge_durable_get(durable, a->id, &info, payload, sizeof(payload));
    if (error == -ENOENT) {
        (void)fprintf(stderr, "verge-durable: show: there is no timer %" PRIu64 "\n", a->id);
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
        .rule = a->rule,
    };
    verge_durable_id id;
    const int error = verge_durable_start(durable, &request, &id);
    if (error == -EEXIST) {
        (void)fprintf(stderr, "verge-durable: a timer with this key is pending; see --replace and --move\n");
        return 1;
    }
    if (error != 0) {
        return complain(durable, "schedule", error);
    }
    (void)printf(a->as_json ? "{\"id\":\"%" PRIu64 "\"}\n" : "%" PRIu64 "\n", id);
    return 0;
}

static int change(verge_durable *durable, const verge__arguments *a) {
    const uint64_t at_ns = a->at_ns != 0 ? a->at_ns : verge_durable_now(durable) + a->delay_ns;
    const bool is_dead = a->command->options[0] == 'A';
    const verge_durable_id id = a->id;
    int error;
    if (strcmp(a->name, "cancel") == 0) {
        error = id != 0 ? verge_durable_cancel(durable, id) : verge_durable_cancel_key(durable, a->handler, a->key, 0);
    } else if (strcmp(a->name, "reset") == 0) {
        error = id != 0 ? verge_durable_reset(durable, id, at_ns)
                        : verge_durable_reset_key(durable, a->handler, a->key, 0, at_ns);
    } else if (a->given['A']) {
        return change_all(durable, a);
    } else {
        error = strcmp(a->name, "retry") == 0 ? verge_durable_retry(durable, id) : verge_durable_forget(durable, id);
    }
    if (error == VERGE_RUNNING) {
        (void)printf("it is running now\n");
        return 0;
    }
    if (error == -ENOENT || error == -EEXIST) {
        (void)fprintf(stderr, "verge-durable: %s: %s\n", a->name,
                      error == -EEXIST ? "another pending timer has its key: cancel that one, or forget this one"
                      : is_dead        ? "there is no such dead timer"
                                       : "there is no such timer");
        return 1;
    }
    return error != 0 ? complain(durable, a->name, error) : 0;
}

/* ---- the store ---- */

static int check(verge_durable *durable, const verge__arguments *a) {
    char text[256];
    (void)a;
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
    static verge_durable_control controls[CONTROLS_MAX];
    const int count = verge_durable_list_controls(durable, controls, CONTROLS_MAX);
    if (count < 0) {
        return complain(durable, "handlers", count);
    }
    print_controls(controls, count, a->as_json);
    return 0;
}

/* Changes the settings of a handler, and prints the new ones. */
static int control(verge_durable *durable, const verge__arguments *a) {
    static verge_durable_control controls[CONTROLS_MAX];
    verge_durable_control now = {.is_paused = false};
    const int error = strcmp(a->name, "pause") == 0 ? verge_durable_pause(durable, a->argument)
                      : strcmp(a->name, "resume") == 0
                          ? verge_durable_resume(durable, a->argument)
                          : verge_durable_limit(durable, a->argument, a->concurrency, a->rate);
    const int count = error != 0 ? error : verge_durable_list_controls(durable, controls, CONTROLS_MAX);
    if (count < 0) {
        return complain(durable, a->name, count);
    }
    (void)snprintf(now.handler, sizeof(now.handler), "%s", a->argument); /* the list lacks handlers without settings */
    for (int i = 0; i < count; i++) {
        now = strcmp(controls[i].handler, a->argument) == 0 ? controls[i] : now;
    }
    print_controls(&now, 1, a->as_json);
    return 0;
}

static int contract(verge_durable *durable, const verge__arguments *a) {
    (void)durable;
    const int error = verge_durable_contract(a->url);
    return error != 0 ? complain(NULL, without_password(a->url), error) : 0;
}

/* For init, if the tables exist: says how many shards they have. Fails if another number was given. Closes `there`. */
static int compare_shards(verge_durable *there, const verge__arguments *a, uint32_t wanted) {
    static verge_durable_owner owners[VERGE_DURABLE_SHARDS_MAX];
    uint32_t shards = 0;
    const int count = verge_durable_list_owners(there, owners, VERGE_DURABLE_SHARDS_MAX);
    for (int i = 0; i < count; i++) {
        shards += owners[i].shard_count;
    }
    const int status = count < 0 ? complain(there, "init", count) : a->argument != NULL && shards != wanted;
    if (count >= 0) {
        (void)fprintf(status == 0 ? stdout : stderr, "verge-durable: the tables exist already, with %u shards\n",
                      shards);
    }
    (void)verge_durable_close(there, VERGE_NEVER);
    return status;
}

static int make_tables(verge_durable *durable, const verge__arguments *a) {
    char *end = "";
    const bool is_init = strcmp(a->name, "init") == 0;
    const unsigned long count = a->argument == NULL ? 64 : strtoul(a->argument, &end, 10);
    if (*end != '\0' || count < 1 || count > VERGE_DURABLE_SHARDS_MAX) {
        return refuse("there are 1 to %d shards", VERGE_DURABLE_SHARDS_MAX);
    }
    int error = open_store(a, &durable);
    if (error == 0 && is_init) {
        return compare_shards(durable, a, (uint32_t)count);
    }
    if (error == 0 || error == -EPROTO || (error == -ENOENT && is_init)) { /* -EPROTO: the tables may be older */
        (void)verge_durable_close(durable, VERGE_NEVER);
        error = verge_durable_migrate(a->url, (uint32_t)count);
    }
    return error != 0 ? complain(NULL, without_password(a->url), error) : 0;
}

/* ---- arguments ---- */

/* Reads "2026-12-31T23:59:59Z", or seconds since 1970. Returns 0 if the text is neither. */
static uint64_t time_of(const char *text) {
    struct tm parts = {0};
    char *end;
    const char *rest = strptime(text, "%Y-%m-%dT%H:%M:%S", &parts);
    double seconds;
    if (rest != NULL && strcmp(rest, "Z") == 0) {
        const struct tm given = parts; /* timegm changes 31 February to a day in March */
        seconds = (double)timegm(&parts);
        end = parts.tm_mday == given.tm_mday && parts.tm_sec == given.tm_sec ? "" : "no such day or second";
    } else {
        seconds = strtod(text, &end);
    }
    return end == text || *end != '\0' || !(seconds > 0 && seconds < 9e9) ? 0 : (uint64_t)(seconds * 1e9);
}

static int read_delay(const char *text, verge__arguments *a) {
    char *end;
    const double seconds = strtod(text, &end);
    if (end == text || *end != '\0' || !(seconds >= 0 && seconds < 2e9)) {
        return refuse("--in wants seconds, and not \"%s\"", text);
    }
    a->delay_ns = (uint64_t)(seconds * 1e9);
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

static const struct option options[] = {
    {"handler", required_argument, NULL, 'n'},
    {"key", required_argument, NULL, 'k'},
    {"payload", required_argument, NULL, 'p'},
    {"rule", required_argument, NULL, 'u'},
    {"in", required_argument, NULL, 'i'},
    {"at", required_argument, NULL, 'a'},
    {"due-before", required_argument, NULL, 'd'},
    {"concurrency", required_argument, NULL, 'c'},
    {"rate", required_argument, NULL, 'r'},
    {"json", no_argument, NULL, 'j'},
    {"all", no_argument, NULL, 'A'},
    {"replace", no_argument, NULL, 'R'},
    {"move", no_argument, NULL, 'M'},
    {"help", no_argument, NULL, 'h'},
    {"version", no_argument, NULL, 'V'},
    {NULL, 0, NULL, 0},
};

static const verge__command commands[] = {
    {"init", "", make_tables, TAKES_ANYTHING, true},
    {"migrate", "", make_tables, TAKES_NOTHING, true},
    {"contract", "", contract, TAKES_NOTHING, true},
    {"check", "", check, TAKES_NOTHING, false},
    {"stats", "j", stats, TAKES_NOTHING, false},
    {"list", "nkdj", list, TAKES_ANYTHING, false},
    {"show", "j", show, TAKES_ID, false},
    {"schedule", "iaukpRMj", schedule, TAKES_HANDLER, false},
    {"cancel", "nk", change, TAKES_ID, false},
    {"reset", "nkia", change, TAKES_ID, false},
    {"retry", "Ankd", change, TAKES_ID, false},
    {"forget", "Ankd", change, TAKES_ID, false},
    {"pause", "j", control, TAKES_HANDLER, false},
    {"resume", "j", control, TAKES_HANDLER, false},
    {"limit", "crj", control, TAKES_HANDLER, false},
    {"handlers", "j", handlers, TAKES_NOTHING, false},
};

static int read_option(int option, const char *value, verge__arguments *a) {
    uint64_t *time = option == 'a' ? &a->at_ns : &a->due_before_ns;
    a->given[option] = true;
    switch (option) {
    case 'n':
        a->handler = value;
        return 0;
    case 'k':
        a->key = value;
        return value[0] == '\0' ? refuse("a key has at least one byte") : 0;
    case 'p':
        a->payload = value;
        return 0;
    case 'u':
        a->rule = value;
        return 0;
    case 'i':
        return read_delay(value, a);
    case 'a':
    case 'd':
        *time = time_of(value);
        return *time == 0 ? refuse("\"%s\" is no time: 2026-12-31T23:59:59Z, or seconds since 1970", value) : 0;
    case 'c':
        return read_limit(value, &a->concurrency);
    case 'r':
        return read_limit(value, &a->rate);
    case 'j':
        a->as_json = true;
        return 0;
    case 'R':
    case 'M':
        a->on_conflict = option == 'R' ? VERGE_DURABLE_REPLACE : VERGE_DURABLE_MOVE;
        return 0;
    case '?': /* getopt has printed why */
        return refuse("see verge-durable --help");
    default:
        return 0;
    }
}

/* Refuses options that the command does not take, or that do not go together. */
static int check_options(const verge__arguments *a) {
    for (const struct option *option = options; option->name != NULL; option++) {
        if (a->given[option->val] && strchr(a->command->options, option->val) == NULL) {
            return refuse("%s does not take --%s", a->name, option->name);
        }
    }
    const struct {
        bool is_wrong;
        const char *text;
    } rules[] = {
        {a->given['i'] && a->given['a'], "--in or --at, and not both"},
        {a->given['R'] && a->given['M'], "--replace or --move, and not both"},
        {a->on_conflict != VERGE_DURABLE_REFUSE && a->key == NULL, "--replace and --move need --key"},
        {strcmp(a->name, "reset") == 0 && !a->given['i'] && !a->given['a'], "reset needs --in or --at"},
        {strcmp(a->name, "limit") == 0 && !a->given['c'] && !a->given['r'],
         "limit needs --concurrency or --rate; 0 is no limit"},
        {strncmp(a->url, "sqlite:", strlen("sqlite:")) == 0 && strchr(a->url, '?') != NULL,
         "sqlite:FILE takes no options: the ? and what follows would be part of the file's name"},
    };
    for (size_t i = 0; i < sizeof(rules) / sizeof(rules[0]); i++) {
        if (rules[i].is_wrong) {
            return refuse("%s", rules[i].text);
        }
    }
    return 0;
}

/* Reads the id of a timer, or checks that options name timers in its place. */
static int read_id(verge__arguments *a) {
    const bool takes_all = strchr(a->command->options, 'A') != NULL;
    const bool takes_key = !takes_all && strchr(a->command->options, 'k') != NULL;
    const char *instead = takes_all ? " or --all" : takes_key ? " or --handler and --key" : "";
    const bool is_named = takes_all ? a->given['A'] : takes_key && a->handler != NULL && a->key != NULL;
    char *end = "";
    if (a->argument != NULL && (a->given['A'] || a->given['n'] || a->given['k'] || a->given['d'])) {
        return refuse("%s takes an id%s, and not both", a->name, instead);
    }
    a->id = a->argument == NULL ? 0 : strtoull(a->argument, &end, 10);
    return is_named || (a->id != 0 && *end == '\0') ? 0 : refuse("%s needs the id of a timer%s", a->name, instead);
}

static int find_command(const char *name, const verge__command **ret_command) {
    for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++) {
        if (strcmp(commands[i].name, name) == 0) {
            *ret_command = &commands[i];
            return 0;
        }
    }
    return strstr(name, "://") != NULL || strncmp(name, "sqlite:", strlen("sqlite:")) == 0
               ? refuse("the command comes first: verge-durable stats URL")
               : refuse("there is no command \"%s\"; see verge-durable --help", without_password(name));
}

static int read_arguments(int argc, char **argv, verge__arguments *a) {
    int option;
    int status = 0;
    while (status == 0 && (option = getopt_long(argc, argv, "h", options, NULL)) != -1) {
        status = read_option(option, optarg, a);
    }
    const int left = argc - optind;
    if (status != 0 || a->given['h'] || a->given['V']) {
        return status;
    }
    if (left == 0) {
        (void)fputs(usage, stderr);
        return WRONG;
    }
    status = find_command(argv[optind], &a->command);
    if (status != 0) {
        return status;
    }
    a->name = a->command->name;
    a->url = argv[optind + 1];
    a->argument = left < 3 ? NULL : argv[optind + 2];
    if (left < 2) {
        return refuse("%s needs a URL: sqlite:FILE or postgresql://...", a->name);
    }
    const int most = a->command->argument == TAKES_NOTHING ? 2 : 3;
    if (left > most) {
        return refuse("%s takes %s, and not \"%s\"", a->name, most == 2 ? "no argument" : "one argument",
                      without_password(argv[optind + most]));
    }
    if (a->command->argument == TAKES_HANDLER && a->argument == NULL) {
        return refuse("%s needs a handler", a->name);
    }
    status = check_options(a);
    return status == 0 && a->command->argument == TAKES_ID ? read_id(a) : status;
}

static int run(const verge__arguments *a) {
    verge_durable *durable = NULL;
    const int error = a->command->is_alone ? 0 : open_store(a, &durable);
    if (error != 0) {
        return complain(NULL, without_password(a->url), error);
    }
    const int status = a->command->run(durable, a);
    (void)verge_durable_close(durable, VERGE_NEVER);
    return status;
}

/* If a standard file is closed, opens /dev/null in its place. Otherwise the store could get this descriptor, and output
 * would be written into the store. */
static void open_standard_files(void) {
    int fd = 0;
    while (fd >= 0 && fd <= STDERR_FILENO) {
        fd = open("/dev/null", O_RDWR);
    }
    if (fd > STDERR_FILENO) {
        (void)close(fd);
    }
}

int main(int argc, char **argv) {
    verge__arguments arguments = {.command = NULL};
    open_standard_files();
    int status = read_arguments(argc, argv, &arguments);
    if (status == 0 && arguments.given['h']) {
        (void)fputs(usage, stdout);
    } else if (status == 0 && arguments.given['V']) {
        (void)printf("verge-durable %s\n", verge_version());
    } else if (status == 0) {
        status = run(&arguments);
    }
    if (fflush(stdout) != 0 || ferror(stdout)) {
        (void)fprintf(stderr, "verge-durable: the output could not be written\n");
        status = status != 0 ? status : 1;
    }
    return status;
}
