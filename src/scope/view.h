/* SPDX-License-Identifier: MIT */
/*
 * scope/view.h - what scope shows of a service. A view turns the counts of the workers into figures a second. Only
 * scope's thread touches a view.
 *
 * Several sources may have the same name: labels with the same text at different addresses. The first of them stands
 * for all: figures of a source are those of all sources that it stands for.
 */
#ifndef VERGE_SRC_SCOPE_VIEW_H
#define VERGE_SRC_SCOPE_VIEW_H

#include "scope/growth.h"
#include "scope/stuck.h"
#include "scope/walk.h"

enum {
    VERGE__NAME_SIZE = 96,
    VERGE__HEAT_ROWS = 34,      /* of lateness: below 2^10 ns, then each twice as far; the last has all above */
    VERGE__HISTORY_COUNT = 600, /* a second each */
};

#define VERGE__LATE_NS UINT64_C(100000000) /* a callback that begins so late is late: people notice that */

/* Of a rate that comes from samples. The estimates of the looks of about the last ten seconds tell how much they
 * differ, and so how far the true rate may be from their mean. */
typedef struct verge__rate {
    double now;     /* a second; it follows a change in about two seconds */
    double past;    /* sum of the estimates of looks; older ones count less */
    double squares; /* sum of their squares, likewise */
} verge__rate;

typedef struct verge__source_lateness {
    float past[VERGE__LATE_BUCKET_COUNT]; /* of about the last ten seconds, by bucket */
    uint32_t counted[VERGE__LATE_BUCKET_COUNT];
} verge__source_lateness;

typedef struct verge__source_view {
    char name[VERGE__NAME_SIZE]; /* empty: not in use */
    bool is_label;
    bool has_ended; /* a timer of it, since somebody looks */
    uint64_t key;
    uint32_t stands_for; /* the first source with this name, or itself */
    verge__rate started, fired, ended, cancelled, time_ns;
    verge__source_lateness *lateness; /* NULL: no memory */
    verge__growth growth;
    uint64_t used_ns; /* when it was seen to have a timer or an event */
    bool is_leaving;
    uint64_t leaving_ns;
    /* of the last round of the walk, for all sources that it stands for */
    uint64_t pending;
    uint32_t overdue, overdue_on, oldest_s; /* overdue_on: the worker of one that is overdue */
    bool is_older;
} verge__source_view;

/* What a worker did for a source, in about the last ten seconds. */
typedef struct verge__seat_source {
    float time_ns;         /* in its callbacks */
    float late;            /* callbacks that began VERGE__LATE_NS late, or later */
    uint32_t late_counted; /* of them, up to the last look */
} verge__seat_source;

typedef struct verge__seat_view {
    bool is_known;
    uint64_t started, cancelled, fired;           /* in all, by the tally */
    uint64_t event_count;                         /* starts or firings, since the last look */
    verge__source_counts of[VERGE__SOURCE_COUNT]; /* up to the last look */
    verge__seat_source recent[VERGE__SOURCE_COUNT];
    /* What the worker does */
    uint64_t callback_ns; /* in all, of callbacks that have returned */
    uint64_t ahead_ns;    /* of the callback that runs: what was counted already */
    uint64_t spent_ns;    /* of callbacks that have returned: what is not counted by source yet */
    uint64_t fired_before;
    double busy; /* share of a core, 0 to 1 */
    double fired_rate;
} verge__seat_view;

/* A second, as it is kept for ten minutes. */
typedef struct verge__second {
    uint64_t second; /* since scope was started; 0: none */
    uint64_t pending, bytes;
    uint32_t started, fired, cancelled; /* in that second */
    uint32_t workers, stuck;
    uint32_t late[VERGE__HEAT_ROWS];
} verge__second;

/* A source that a client looks at more closely. */
typedef struct verge__detail_want {
    uint32_t source; /* 0 with until_ns 0: none */
    uint64_t until_ns;
    uint32_t from_round; /* the first round that has all of it */
} verge__detail_want;

typedef struct verge__service_view {
    verge_service *service;
    const verge_allocator *allocator;
    bool is_looked_at;
    bool keeps_numbers; /* of sources, as tasks remember them */
    uint64_t looked_ns; /* the last time */
    uint64_t looked_before_ns;
    uint64_t tick_count;  /* of this look */
    uint64_t look;        /* different for each look, so that a worker notices each */
    double past_looks;    /* how many looks the sums of a verge__rate have; older ones count less */
    double past_seconds;  /* how long they took, likewise */
    uint32_t exact_looks; /* since each event was counted */
    double grain;         /* how many events one sample stands for, at most, in about the last ten seconds; 1: all */
    verge__walk walk;
    verge__source_view sources[VERGE__SOURCE_COUNT];
    verge__seat_view *seats[VERGE_WORKER_COUNT_MAX + 1]; /* 0: threads that are no workers */
    verge__stuck_watch stuck;
    verge__detail_want wants[VERGE__DETAILS_MAX];
    uint64_t heat_counted[VERGE__HEAT_ROWS];
    uint64_t noted_started, noted_fired, noted_cancelled;
    verge__second history[VERGE__HISTORY_COUNT]; /* by second modulo this */
    uint64_t last_second;                        /* the last one that is whole */
    double started, fired, cancelled;            /* a second */
    uint64_t started_before, fired_before, cancelled_before;
} verge__service_view;

void verge__view_begin(verge__service_view *view, verge_service *service, const verge_allocator *allocator);
void verge__view_end(verge__service_view *view);

/* Notes the figures of a second. Called once a second, whether somebody looks or not. */
void verge__view_note_second(verge__service_view *view, uint64_t second, uint64_t now_ns);

/* Called four times a second while somebody looks; and when nobody looks any more. */
void verge__view_look(verge__service_view *view, uint64_t now_ns);
void verge__view_look_away(verge__service_view *view);

/* Asks the workers for samples. Called at random moments between looks. */
void verge__view_poke(verge__service_view *view);

/* A rate as it is shown, and between which bounds the true rate is in 19 of 20 cases. If each event was counted, both
 * bounds are the rate. */
double verge__view_rate(const verge__service_view *view, const verge__rate *rate, double *ret_low, double *ret_high);

/* How many timers of a source ended a second, in about the last ten seconds; whether it seems to leak. */
double verge__view_ends(const verge__service_view *view, const verge__source_view *source);
bool verge__view_is_leak(const verge__service_view *view, const verge__source_view *source);

/* A quantile of the lateness of a source in about the last ten seconds, from at least `count_min` samples. 0: there are
 * not so many. */
uint64_t verge__view_lateness(const verge__source_view *source, double quantile, double count_min);

/* 99 % of the callbacks of all sources began at most so late, in about the last ten seconds. 0: there were none. */
uint64_t verge__view_lateness_of_all(const verge__service_view *view);

/* Wants details of a source for the next seconds. False: too many others are wanted. */
bool verge__view_want_detail(verge__service_view *view, uint32_t source, uint64_t now_ns);

/* The details of a source, of a whole round; NULL: there are none yet. */
const verge__detail *verge__view_detail(const verge__service_view *view, uint32_t source);

/* ---- names.c: which sources there are ---- */

/* Names the sources that are new, and gives memory to them. */
void verge__view_name_sources(verge__service_view *view, uint64_t now_ns);

/* After a round of the walk: adds up the sources with the same name, and frees numbers that are not used any more. */
void verge__view_take_round(verge__service_view *view, uint64_t now_ns);

/* The source that a timer is listed under. */
uint32_t verge__view_source_of(const verge__service_view *view, verge_timer timer);

#endif
