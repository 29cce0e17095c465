/* SPDX-License-Identifier: MIT */
/* Options, open and close, migrate and contract; registering handlers; functions that all parts share. */
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic ignored "-Wanalyzer-malloc-leak" /* gcc 12 loses sight of memory that a struct holds */
#endif

#define _GNU_SOURCE

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

#include "base/sized.h"
#include "durable/durable_internal.h"

#define MS UINT64_C(1000000)
#define S UINT64_C(1000000000)

/* ---- options ---- */

static const verge_durable_options default_options = {
    .struct_size = sizeof(verge_durable_options),
    .shard_count = 64,
    .firing_threads = 2,
    .batch = 256,
    .window_max = 131072,
    .precision_ns = UINT64_C(1) << 20,
    .lease_ns = 10 * S,
    .horizon_ns = 5 * S,
    .rescan_ns = 2 * S,
    .patience_ns = 30 * S,
};

static const char unread_options[] =
    "the options are NULL, or verge_durable_options_init was not called, or a field is set that this version does not "
    "know";
static const char unknown_url[] = "url must begin with sqlite: or postgresql://";

int verge_durable_options_init(verge_durable_options *options, size_t struct_size) {
    return verge__sized_init(options, struct_size, &default_options, sizeof(default_options));
}

static int is_out_of_range(const char *field, uint64_t value, uint64_t least, uint64_t most, char *text, size_t size) {
    if (value >= least && value <= most) {
        return 0;
    }
    (void)snprintf(text, size, "%s is %" PRIu64 ", but must be from %" PRIu64 " to %" PRIu64, field, value, least,
                   most);
    return -EINVAL;
}

/* Returns 0 if the options make sense. Otherwise it returns -EINVAL, and the text says which option does not. */
static int explain(const verge_durable_options *o, char *text, size_t size) {
    const struct {
        const char *field;
        uint64_t value;
        uint64_t least;
        uint64_t most;
    } ranges[] = {
        {"shard_count", o->shard_count, 1, VERGE_DURABLE_SHARDS_MAX},
        {"firing_threads", o->firing_threads, 1, VERGE__FIRERS_MAX},
        {"batch", o->batch, 1, VERGE__BATCH_MAX},
        {"window_max", o->window_max, 2 * (uint64_t)o->batch, UINT32_MAX / 2},
        {"precision_ns", o->precision_ns, 1, UINT64_C(1) << 32},
        {"lease_ns", o->lease_ns, 300 * MS, 86400 * S},
        {"horizon_ns", o->horizon_ns, 10 * MS, 86400 * S},
        {"rescan_ns", o->rescan_ns, 10 * MS, o->horizon_ns},
        {"patience_ns", o->patience_ns, 0, VERGE__TIME_MAX_NS},
    };
    int error = o->url == NULL ? -EINVAL : 0;
    if (error != 0) {
        (void)snprintf(text, size, "url is NULL, but must name the store");
    }
    for (size_t i = 0; i < sizeof(ranges) / sizeof(ranges[0]) && error == 0; i++) {
        error = is_out_of_range(ranges[i].field, ranges[i].value, ranges[i].least, ranges[i].most, text, size);
    }
    if (error == 0 && (o->precision_ns & (o->precision_ns - 1)) != 0) {
        (void)snprintf(text, size, "precision_ns is %" PRIu64 ", but must be a power of two", o->precision_ns);
        error = -EINVAL;
    }
    return error;
}

int verge_durable_options_explain(const verge_durable_options *options, char *text, size_t size) {
    char ignored[VERGE__WORDS_MAX];
    verge_durable_options given;
    bool is_missing;
    if (text == NULL || size == 0) {
        text = ignored;
        size = sizeof(ignored);
    }
    text[0] = '\0';
    if (verge__sized_read(options, &given, sizeof(given)) != 0) {
        (void)snprintf(text, size, "%s", unread_options);
        return -EINVAL;
    }
    int error = explain(&given, text, size);
    if (error == 0 && verge__store_of(given.url, &is_missing) == NULL && !is_missing) {
        (void)snprintf(text, size, "%s", unknown_url);
        error = -EINVAL;
    }
    return error;
}

/* Says why there is no store for a URL, and returns the error. */
static int refuse_url(bool is_missing) {
    verge__set_words("%s", is_missing ? "this library was built without that store" : unknown_url);
    return is_missing ? -EPROTONOSUPPORT : -EINVAL;
}

/* ---- what all parts share ---- */

uint64_t verge__local_now(const verge_durable *durable) {
    return durable->clock.now_ns(durable->clock.context);
}

bool verge__set_flag(verge_durable *durable, bool *flag, bool value) {
    verge__lock(durable);
    const bool before = *flag;
    *flag = value;
    verge__unlock(durable);
    return before;
}

uint64_t verge__random(verge_durable *durable) {
    verge__lock(durable);
    uint64_t z = (durable->random += UINT64_C(0x9E3779B97F4A7C15));
    verge__unlock(durable);
    z = (z ^ (z >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94D049BB133111EB);
    return z ^ (z >> 31);
}

uint32_t verge__handler_index(const verge_durable *durable, const char *name) {
    for (uint32_t i = 0; i < durable->handler_count; i++) {
        if (strcmp(durable->handlers[i].name, name) == 0) {
            return i;
        }
    }
    return VERGE__NO_HANDLER;
}

bool verge__is_lost(int error) {
    return error == -EHOSTUNREACH || error == -EREMOTEIO || error == -EROFS;
}

/* Returns how long a transaction waits for a lock. On PostgreSQL, the writer waits for a short time only, since all
 * calls wait with it. */
static uint64_t lock_ns_of(const verge_durable *durable, bool is_writer) {
    const uint64_t part_ns = durable->options.patience_ns / 4;
    if (durable->store->has_one_writer) {
        return part_ns < 10 * MS ? 10 * MS : part_ns > S ? S : part_ns;
    }
    return is_writer ? 50 * MS : durable->options.lease_ns;
}

int verge__connect(verge_durable *durable, verge__connection **connection) {
    if (*connection != NULL) {
        return 0;
    }
    const bool is_writer = connection == &durable->writer.connection || durable->options.client;
    const verge__access access = {
        .url = durable->url,
        .lease_ns = durable->options.lease_ns,
        .lock_ns = lock_ns_of(durable, is_writer),
        .create = durable->options.create && durable->shard_count == 0, /* tables are made only at open */
    };
    int error = durable->store->connect(&access, connection);
    if (error == -ENOENT && durable->shard_count != 0) {
        error = -EHOSTUNREACH; /* the store was there before, so it may come back */
    }
    if (error == 0) {
        verge__lock(durable);
        durable->stats.connects++;
        if (durable->ids.server_id != (*connection)->server_id) {
            durable->ids.server_id = (*connection)->server_id;
            durable->ids.incarnation = 0;
            memset(durable->last_epochs, 0, sizeof(durable->last_epochs)); /* a new server may repeat epochs */
        }
        verge__unlock(durable);
    }
    return error;
}

void verge__disconnect(verge_durable *durable, verge__connection **connection) {
    if (*connection != NULL) {
        durable->store->disconnect(*connection);
        *connection = NULL;
    }
}

uint64_t verge__new_id(verge_durable *durable, uint64_t due_ns) {
    if (durable->ids.incarnation == 0 || durable->ids.counter >> VERGE__ID_COUNTER_BITS != 0) {
        return 0;
    }
    /* Timers that are due at about the same time go to the same shard: a batch then has few shards to lock. */
    const uint64_t slice = due_ns >> 24;
    const uint32_t shard = durable->owned_count > 0 ? durable->owned[slice % durable->owned_count].shard
                                                    : (uint32_t)(slice % durable->shard_count);
    return durable->ids.incarnation << (VERGE__ID_COUNTER_BITS + VERGE__ID_SHARD_BITS) |
           durable->ids.counter++ << VERGE__ID_SHARD_BITS | shard;
}

uint64_t verge__new_mark(verge_durable *durable) {
    return verge__random(durable) >> 2 | 1;
}

uint64_t verge__highest_incarnation(verge_durable *durable) {
    verge__lock(durable);
    const uint64_t highest = durable->ids.highest_incarnation;
    verge__unlock(durable);
    return highest;
}

void verge__check_incarnation(verge_durable *durable, const verge__connection *connection, uint64_t highest_before) {
    if (connection->incarnation < highest_before && durable->ids.highest_incarnation == highest_before) {
        durable->ids.incarnation = durable->ids.highest_incarnation = 0;
        durable->said.is_restored = true;
    }
}

void verge__drop_incarnation(verge_durable *durable) {
    verge__lock(durable);
    durable->ids.incarnation = durable->ids.highest_incarnation = 0;
    durable->said.is_restored = true;
    verge__unlock(durable);
    verge__wake_keeper(durable);
}

int verge__refresh_incarnation(verge_durable *durable, verge__connection *connection) {
    verge__lock(durable);
    const uint64_t highest = durable->ids.highest_incarnation;
    const bool is_enough = durable->ids.incarnation != 0 && durable->ids.counter >> (VERGE__ID_COUNTER_BITS - 1) == 0;
    verge__unlock(durable);
    if (is_enough) {
        return 0;
    }
    uint64_t incarnation;
    const int error = durable->store->new_incarnation(connection, &incarnation);
    if (error != 0) {
        return error;
    }
    if (incarnation >> VERGE__ID_INCARNATION_BITS != 0) {
        return -EOVERFLOW;
    }
    /* The counter starts at a random number. A failover can lose an incarnation, and the store then gives it out again.
     * Somebody may still cancel a timer that was lost with it. So no new timer should get the id of that timer. */
    const uint64_t counter = verge__random(durable) >> (64 - VERGE__ID_COUNTER_BITS + 2);
    verge__lock(durable);
    const bool is_first = durable->ids.highest_incarnation == highest; /* no other thread has taken one meanwhile */
    if (is_first || incarnation > durable->ids.highest_incarnation) {
        durable->said.is_restored |= is_first && incarnation <= highest;
        durable->ids.incarnation = durable->ids.highest_incarnation = incarnation;
        durable->ids.counter = counter;
    }
    verge__unlock(durable);
    return 0;
}

int verge__begin(verge_durable *durable, verge__connection **connection) {
    int error = verge__connect(durable, connection);
    VERGE__THEN(error, verge__refresh_incarnation(durable, *connection));
    const uint64_t highest = verge__highest_incarnation(durable);
    VERGE__THEN(error, durable->store->begin(*connection));
    if (error == 0) {
        verge__lock(durable);
        verge__note_time(durable, *connection);
        verge__check_incarnation(durable, *connection, highest);
        verge__unlock(durable);
    }
    return error;
}

void verge__wake_keeper(verge_durable *durable) {
    const uint64_t one = 1;
    if (durable->wake_fd >= 0) {
        (void)!write(durable->wake_fd, &one, sizeof(one));
    }
}

/* ---- create ---- */

static int init_firer(verge_durable *durable, verge__firer *firer, size_t fired_size) {
    const size_t batch = durable->options.batch;
    firer->durable = durable;
    firer->due = calloc(batch, sizeof(*firer->due));
    firer->targets = calloc(batch, sizeof(*firer->targets));
    firer->run_ns = calloc(batch, sizeof(*firer->run_ns));
    firer->batch = calloc(batch, sizeof(*firer->batch));
    firer->fired = calloc(batch, fired_size);
    firer->missing = calloc(batch, sizeof(*firer->missing));
    return firer->due == NULL || firer->targets == NULL || firer->run_ns == NULL || firer->batch == NULL ||
                   firer->fired == NULL || firer->missing == NULL
               ? -ENOMEM
               : 0;
}

void verge__durable_free(verge_durable *durable) {
    for (uint32_t i = 0; i < VERGE__FIRERS_MAX; i++) {
        verge__firer *firer = &durable->firers[i];
        verge__disconnect(durable, &firer->connection);
        free(firer->due);
        free(firer->targets);
        free(firer->run_ns);
        free(firer->batch);
        free(firer->fired);
        free(firer->missing);
        free(firer->back);
    }
    verge__disconnect(durable, &durable->keeper.connection);
    verge__disconnect(durable, &durable->writer.connection);
    verge__window_end(&durable->window);
    if (durable->wake_fd >= 0) {
        (void)close(durable->wake_fd);
    }
    (void)pthread_cond_destroy(&durable->due);
    (void)pthread_cond_destroy(&durable->work);
    (void)pthread_cond_destroy(&durable->idle);
    (void)pthread_mutex_destroy(&durable->lock);
    (void)pthread_mutex_destroy(&durable->said.lock);
    free(durable->writer.rows);
    free(durable->writer.changes);
    free(durable->shown.owners);
    free(durable->shown.troubled);
    free(durable->controls);
    free(durable->url);
    free(durable->name);
    free(durable);
}

/* Makes locks, and conditions that wait on the monotonic clock. */
static void init_lock(verge_durable *durable) {
    pthread_condattr_t monotonic;
    (void)pthread_condattr_init(&monotonic);
    (void)pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    (void)pthread_mutex_init(&durable->lock, NULL);
    (void)pthread_mutex_init(&durable->said.lock, NULL);
    (void)pthread_cond_init(&durable->due, &monotonic);
    (void)pthread_cond_init(&durable->work, &monotonic);
    (void)pthread_cond_init(&durable->idle, &monotonic);
    (void)pthread_condattr_destroy(&monotonic);
}

static char *name_of(const verge_durable_options *options) {
    char name[300];
    char host[256] = "";
    if (options->name != NULL) {
        return strndup(options->name, 255);
    }
    (void)gethostname(host, sizeof(host) - 1);
    (void)snprintf(name, sizeof(name), "%s:%ld", host, (long)getpid());
    return strdup(name);
}

/* Makes the rest of a node that has its options, store and clock. After an error, verge__durable_free frees it. */
static int init(verge_durable *durable) {
    const verge_durable_options *options = &durable->options;
    durable->writer.calls_end = &durable->writer.calls;
    durable->batch_limit = options->batch;
    durable->waiting_until_ns = VERGE_NEVER;
    durable->keeper.scan_rows = VERGE__SCAN_ROWS_MAX;
    durable->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    verge_histogram_clear(&durable->lateness);
    init_lock(durable);
    durable->url = strdup(options->url);
    durable->name = name_of(options);
    int error = durable->url == NULL || durable->name == NULL ? -ENOMEM
                : durable->wake_fd < 0                        ? -EMFILE
                                                              : verge__window_init(&durable->window, options);
    for (uint32_t i = 0; i < options->firing_threads && error == 0; i++) {
        error = init_firer(durable, &durable->firers[i], verge__fired_size());
    }
    return error;
}

int verge__durable_create(const verge_durable_options *options, const verge__store *store, verge_clock clock,
                          verge_durable **ret_durable) {
    verge_durable_options given;
    if (verge__sized_read(options, &given, sizeof(given)) != 0) {
        verge__set_words("%s", unread_options);
        return -EINVAL;
    }
    char why[VERGE__WORDS_MAX];
    if (explain(&given, why, sizeof(why)) != 0) {
        verge__set_words("%s", why);
        return -EINVAL;
    }
    const bool is_real = store == NULL;
    bool is_missing = false;
    if (store == NULL && (store = verge__store_of(given.url, &is_missing)) == NULL) {
        return refuse_url(is_missing);
    }
    verge_durable *durable = calloc(1, sizeof(*durable));
    if (durable == NULL) {
        return -ENOMEM;
    }
    durable->options = given;
    durable->store = store;
    durable->clock = clock.now_ns == NULL ? verge_clock_monotonic() : clock;
    durable->random = verge__local_now(durable);
    uint64_t seed;
    if (is_real && getrandom(&seed, sizeof(seed), 0) == (ssize_t)sizeof(seed)) {
        durable->random ^= seed;
    }
    const int error = init(durable);
    if (error != 0) {
        verge__durable_free(durable);
        return error;
    }
    *ret_durable = durable;
    return 0;
}

/* ---- the schema ---- */

/* Returns 0 if this library may use the tables, otherwise -EPROTO. */
static int check_version(const verge__store_meta *meta) {
    const char *what = NULL;
    if (meta->version < VERGE_DURABLE_SCHEMA_VERSION && meta->version > 0) {
        what = "are older than this library: run verge-durable migrate, or set the option create";
    } else if (meta->min_version > VERGE_DURABLE_SCHEMA_VERSION) {
        what = "are for newer versions of this library only";
    } else if (meta->min_version > meta->version || meta->version == 0 || meta->shard_count < 1 ||
               meta->shard_count > VERGE_DURABLE_SHARDS_MAX) {
        what = "are damaged: verge_meta makes no sense";
    }
    if (what != NULL) {
        verge__set_words("the tables (version %u, for programs of version %u and newer) %s", meta->version,
                         meta->min_version, what);
    }
    return what == NULL ? 0 : -EPROTO;
}

static int look_at_tables(const verge__store *store, verge__connection *connection, bool create, uint32_t shard_count,
                          verge__store_meta *ret_meta) {
    int error = store->read_meta(connection, ret_meta);
    if (create && (error == -ENOENT || (error == 0 && ret_meta->version < VERGE_DURABLE_SCHEMA_VERSION))) {
        error = store->make_tables(connection, shard_count);
        VERGE__THEN(error, store->read_meta(connection, ret_meta));
    }
    if (error == -ENOENT) {
        verge__set_words("there are no tables of verge: run verge-durable init, or set the option create");
    }
    return error != 0 ? error : check_version(ret_meta);
}

/* Makes a connection without a verge_durable, to work on the tables. */
static int connect_to(const char *url, bool create, const verge__store **ret_store, verge__connection **ret) {
    bool is_missing = false;
    verge__set_words("%s", "");
    *ret_store = url == NULL ? NULL : verge__store_of(url, &is_missing);
    if (*ret_store == NULL) {
        return refuse_url(is_missing);
    }
    const verge__access access = {
        .url = url, .lease_ns = default_options.lease_ns, .lock_ns = default_options.lease_ns, .create = create};
    return (*ret_store)->connect(&access, ret);
}

int verge_durable_migrate(const char *url, uint32_t shard_count) {
    const verge__store *store;
    verge__connection *connection;
    verge__store_meta meta;
    if (shard_count < 1 || shard_count > VERGE_DURABLE_SHARDS_MAX) {
        return -EINVAL;
    }
    int error = connect_to(url, true, &store, &connection);
    if (error == 0) {
        error = look_at_tables(store, connection, true, shard_count, &meta);
        store->disconnect(connection);
    }
    return error;
}

int verge_durable_contract(const char *url) {
    const verge__store *store;
    verge__connection *connection;
    verge__store_meta meta;
    int error = connect_to(url, false, &store, &connection);
    if (error == 0) {
        error = look_at_tables(store, connection, false, 0, &meta);
        VERGE__THEN(error, store->contract(connection));
        store->disconnect(connection);
    }
    return error;
}

/* ---- open and close ---- */

static int begin_node(verge_durable *durable) {
    const verge_durable_options *options = &durable->options;
    verge__store_meta meta;
    int error = verge__connect(durable, &durable->keeper.connection);
    if (error != 0) {
        return error;
    }
    verge__connection *connection = durable->keeper.connection;
    error = look_at_tables(durable->store, connection, options->create, options->shard_count, &meta);
    if (error != 0) {
        return error;
    }
    durable->shard_count = meta.shard_count;
    durable->has_rules = meta.min_version >= 3;
    error = verge__refresh_incarnation(durable, connection);
    if (options->client && (error == -EACCES || error == -EROFS)) {
        error = 0; /* a client that may only read */
    }
    if (error != 0) {
        return error;
    }
    /* A part of the node's number is random: two nodes hardly ever have the same number, even if their incarnations are
     * the same. */
    durable->node = options->client ? 0 : durable->ids.incarnation << 32 | verge__random(durable) >> 32;
    error = durable->store->join(connection, durable->name, options->client ? 0 : options->lease_ns, durable->node);
    if (error != 0) {
        return error;
    }
    verge__note_time(durable, connection);
    if (options->client) { /* a client has no keeper */
        durable->writer.connection = connection;
        durable->keeper.connection = NULL;
    }
    return 0;
}

static int start_threads(verge_durable *durable) {
    if (pthread_create(&durable->writer.thread, NULL, verge__writer_run, durable) != 0) {
        return -EAGAIN;
    }
    durable->writer.is_started = true;
    if (durable->options.client) {
        return 0;
    }
    for (uint32_t i = 0; i < durable->options.firing_threads; i++) {
        verge__firer *firer = &durable->firers[i];
        verge__lock(durable);
        durable->firers_alive++;
        verge__unlock(durable);
        firer->is_started = true; /* before there is a thread that reads it */
        if (pthread_create(&firer->thread, NULL, verge__firer_run, firer) != 0) {
            firer->is_started = false;
            verge__lock(durable);
            durable->firers_alive--;
            verge__unlock(durable);
            return -EAGAIN;
        }
    }
    if (pthread_create(&durable->keeper.thread, NULL, verge__keeper_run, durable) != 0) {
        return -EAGAIN;
    }
    durable->keeper.is_started = true;
    return 0;
}

int verge_durable_open(const verge_durable_options *options, verge_durable **ret_durable) {
    verge_durable *durable;
    verge__set_words("%s", "");
    if (ret_durable == NULL) {
        return -EINVAL;
    }
    int error = verge__durable_create(options, NULL, (verge_clock){0}, &durable);
    if (error != 0) {
        return error;
    }
    /* -EAGAIN: another process may be making the tables in this file (SQLite). */
    const struct timespec nap = {.tv_nsec = 20000000};
    const uint64_t began_ns = verge__monotonic_ns();
    while ((error = begin_node(durable)) == -EAGAIN &&
           verge__monotonic_ns() - began_ns < durable->options.patience_ns) {
        (void)nanosleep(&nap, NULL);
    }
    if (error == 0) {
        error = start_threads(durable);
    }
    if (error != 0) {
        char why[VERGE__WORDS_MAX];
        (void)snprintf(why, sizeof(why), "%s", verge__words());
        (void)verge_durable_close(durable, VERGE_NEVER);
        verge__set_words("%s", why); /* close may have set other words */
        return error;
    }
    *ret_durable = durable;
    return 0;
}

static int wait_for_firers(verge_durable *durable, uint64_t grace_ns) {
    const uint64_t now_ns = verge__monotonic_ns();
    const uint64_t until_ns = grace_ns > VERGE__TIME_MAX_NS - now_ns ? VERGE__TIME_MAX_NS : now_ns + grace_ns;
    const struct timespec until = {.tv_sec = (time_t)(until_ns / S), .tv_nsec = (long)(until_ns % S)};
    int error = 0;
    while (durable->firers_alive > 0 && error == 0) {
        error = pthread_cond_timedwait(&durable->idle, &durable->lock, &until);
    }
    return durable->firers_alive > 0 ? -ETIMEDOUT : 0;
}

int verge_durable_close(verge_durable *durable, uint64_t grace_ns) {
    if (durable == NULL) {
        return 0;
    }
    for (uint32_t i = 0; i < VERGE__FIRERS_MAX; i++) {
        if (durable->firers[i].is_started && pthread_equal(durable->firers[i].thread, pthread_self())) {
            return -EDEADLK;
        }
    }
    verge__lock(durable);
    durable->is_stopping = true;
    (void)pthread_cond_broadcast(&durable->due);
    const int error = wait_for_firers(durable, grace_ns);
    if (error == 0) {
        durable->is_ending = true;
        (void)pthread_cond_broadcast(&durable->work);
    }
    verge__unlock(durable);
    if (error != 0) {
        return error;
    }
    verge__wake_keeper(durable);
    for (uint32_t i = 0; i < VERGE__FIRERS_MAX; i++) {
        if (durable->firers[i].is_started) {
            (void)pthread_join(durable->firers[i].thread, NULL);
        }
    }
    if (durable->keeper.is_started) {
        (void)pthread_join(durable->keeper.thread, NULL);
    }
    if (durable->writer.is_started) {
        (void)pthread_join(durable->writer.thread, NULL);
    }
    if (!durable->options.client && durable->node != 0) {
        verge__keeper_leave(durable);
    }
    verge__durable_free(durable);
    return 0;
}

uint64_t verge_durable_now(const verge_durable *durable) {
    if (durable == NULL) {
        return 0;
    }
    verge_durable *locked = (verge_durable *)(uintptr_t)durable;
    verge__lock(locked);
    const uint64_t now_ns = verge__store_now(durable);
    verge__unlock(locked);
    return now_ns;
}

/* ---- handlers ---- */

static const verge_durable_handler_options default_handler_options = {
    .struct_size = sizeof(verge_durable_handler_options),
    .run_ns = 60 * S,
    .attempts_max = 20,
    .backoff_first_ns = S,
    .backoff_max_ns = 3600 * S,
};

int verge_durable_handler_options_init(verge_durable_handler_options *options, size_t struct_size) {
    return verge__sized_init(options, struct_size, &default_handler_options, sizeof(default_handler_options));
}

int verge_durable_register(verge_durable *durable, const char *name, verge_durable_handler handler, void *context,
                           const verge_durable_handler_options *options) {
    const verge_durable_handler_options *all = options != NULL ? options : &default_handler_options;
    verge_durable_handler_options given;
    if (durable == NULL || !verge__is_handler_name(name) || handler == NULL ||
        verge__sized_read(all, &given, sizeof(given)) != 0 || given.backoff_first_ns > given.backoff_max_ns ||
        given.backoff_max_ns > VERGE__TIME_MAX_NS / 4 || given.age_max_ns > VERGE__TIME_MAX_NS / 4 ||
        given.run_ns == 0 || given.run_ns > VERGE__TIME_MAX_NS / 4 || given.rate > 1000000000 ||
        given.priority < VERGE_DURABLE_LOW || given.priority > VERGE_DURABLE_HIGH || given.reserved != 0) {
        return -EINVAL;
    }
    int error = 0;
    verge__lock(durable);
    if (verge__handler_index(durable, name) != VERGE__NO_HANDLER) {
        error = -EEXIST;
    } else if (durable->handler_count == VERGE_DURABLE_HANDLERS_MAX) {
        error = -ENOSPC;
    } else {
        verge__handler *added = &durable->handlers[durable->handler_count++];
        (void)snprintf(added->name, sizeof(added->name), "%s", name);
        added->function = handler;
        added->context = context;
        added->options = given;
        verge__control_handler(durable, added);
        verge__count_limited(durable);
        durable->keeper.scan_now = true; /* finds the rows that have waited for this handler */
    }
    verge__unlock(durable);
    if (error == 0) {
        verge__wake_keeper(durable);
    }
    return error;
}
