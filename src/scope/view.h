/* SPDX-License-Identifier: MIT */
/*
 * scope/view.h - what scope shows of a service. A view turns the counts of the workers into rates. Only scope's thread
 * touches a view.
 *
 * Several sources may have the same name, such as labels with the same text at different addresses. The first of these
 * sources stands for all of them: figures are added up there.
 */
#ifndef VERGE_SRC_SCOPE_VIEW_H
#define VERGE_SRC_SCOPE_VIEW_H

#include "scope/growth.h"
#include "scope/stuck.h"
#include "scope/walk.h"

enum {
    VERGE__NAME_SIZE = 96,
    VERGE__HEAT_ROWS = 34,      /* rows of lateness: below 2^10 ns, below 2^11 ns, and so on; the last has all above */
    VERGE__HISTORY_COUNT = 600, /* so many seconds are kept */
};

#define VERGE__LATE_NS UINT64_C(100000000) /* a callback that begins so late counts as late: people notice that */

/* A rate that may come from samples. Each look makes an estimate. The spread of the estimates of about the last ten
 * seconds tells how far the true rate may be from their mean. */
typedef struct verge__rate {
    double now;     /* events a second; it follows a change in about two seconds */
    double past;    /* sum of the estimates of all looks; older ones count less */
    double squares; /* sum of their squares; older ones count less */
} verge__rate;

typedef struct verge__source_lateness {
    float past[VERGE__LATE_BUCKET_COUNT];       /* samples of about the last ten seconds, by bucket */
    uint32_t counted[VERGE__LATE_BUCKET_COUNT]; /* samples up to the last look, by bucket */
} verge__source_lateness;

typedef struct verge__source_view {
    char name[VERGE__NAME_SIZE]; /* empty: not in use */
    bool is_label;
    bool has_ended; /* a timer of this source was seen to end since somebody began to look */
    uint64_t key;
    uint32_t stands_for; /* the first source with this name, or itself */
    verge__rate started, fired, ended, cancelled, time_ns;
    verge__source_lateness *lateness; /* NULL: no memory */
    verge__growth growth;
    uint64_t used_ns; /* when it last had a timer or an event */
    bool is_leaving;
    uint64_t leaving_ns;
    /* from the last round of the walk (walk.h), over all sources that this source stands for */
    uint64_t pending;
    uint32_t overdue, overdue_on, oldest_s; /* overdue_on: the worker of one overdue timer */
    bool is_older;                          /* the oldest timer may be older than oldest_s (walk.h) */
} verge__source_view;

/* What a worker did for a source, in about the last ten seconds. */
typedef struct verge__seat_source {
    float time_ns;         /* spent in callbacks of the source */
    float late;            /* callbacks that began VERGE__LATE_NS late, or later */
    uint32_t late_counted; /* how many late callbacks were counted up to the last look */
} verge__seat_source;

typedef struct verge__seat_view {
    bool is_known;
    uint64_t started, cancelled, fired;           /* totals of the worker that were counted already */
    uint64_t event_count;                         /* new at the last look: starts or firings, whichever are more */
    verge__source_counts of[VERGE__SOURCE_COUNT]; /* samples up to the last look */
    verge__seat_source recent[VERGE__SOURCE_COUNT];
    /* what the worker does */
    uint64_t callback_ns; /* total time of callbacks that have returned */
    uint64_t ahead_ns;    /* time of the callback that is running, as far as it was counted already */
    uint64_t spent_ns;    /* time of callbacks that have returned and were not counted by source yet */
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
    uint32_t source; /* valid if until_ns is not 0 */
    uint64_t until_ns;
    uint32_t from_round; /* the first round that sees all timers of the source */
} verge__detail_want;

typedef struct verge__service_view {
    verge_service *service;
    const verge_allocator *allocator;
    bool is_looked_at;
    bool keeps_numbers; /* numbers of sources are never freed, as tasks remember them */
    uint64_t looked_ns; /* when the last look was */
    uint64_t looked_before_ns;
    uint64_t tick_count;  /* looks since somebody began to look */
    uint64_t look;        /* number of the last look; a new number tells workers that scope has looked */
    double past_looks;    /* number of looks in the sums of a verge__rate; older ones count less */
    double past_seconds;  /* seconds between these looks; older ones count less */
    uint32_t exact_looks; /* how many looks in a row have counted each event */
    double grain; /* the most events that a sample stood for in about the last ten seconds; 1: each was counted */
    verge__walk walk;
    verge__source_view sources[VERGE__SOURCE_COUNT];
    verge__seat_view *seats[VERGE_WORKER_COUNT_MAX + 1]; /* by worker id; 0: threads that are no workers */
    verge__stuck_watch stuck;
    verge__detail_want wants[VERGE__DETAILS_MAX];
    uint64_t heat_counted[VERGE__HEAT_ROWS];
    uint64_t noted_started, noted_fired, noted_cancelled;
    verge__second history[VERGE__HISTORY_COUNT]; /* index: second modulo HISTORY_COUNT */
    uint64_t last_second;                        /* the last second that is over */
    double started, fired, cancelled;            /* rates of the whole service, in events a second */
    uint64_t started_before, fired_before, cancelled_before;
} verge__service_view;

void verge__view_begin(verge__service_view *view, verge_service *service, const verge_allocator *allocator);
void verge__view_end(verge__service_view *view);

/* Notes the figures of a second. Called once a second, whether somebody looks or not. */
void verge__view_note_second(verge__service_view *view, uint64_t second, uint64_t now_ns);

/* Updates the figures. Called four times a second while somebody looks. */
void verge__view_look(verge__service_view *view, uint64_t now_ns);

/* Called when nobody looks any more. */
void verge__view_look_away(verge__service_view *view);

/* Asks the workers for samples. Called at random moments between looks. */
void verge__view_poke(verge__service_view *view);

/* Returns a rate as it is shown. The true rate is between *ret_low and *ret_high in 19 of 20 cases. If each event was
 * counted, both bounds are the rate itself. */
double verge__view_rate(const verge__service_view *view, const verge__rate *rate, double *ret_low, double *ret_high);

/* Returns how many timers of a source ended a second, in about the last ten seconds. */
double verge__view_ends(const verge__service_view *view, const verge__source_view *source);

/* Returns whether a source seems to leak timers. */
bool verge__view_is_leak(const verge__service_view *view, const verge__source_view *source);

/* Returns a quantile of the lateness of a source in about the last ten seconds, or 0 if there are fewer than
 * `count_min` samples. */
uint64_t verge__view_lateness(const verge__source_view *source, double quantile, double count_min);

/* Returns the 99 % quantile of the lateness that was sampled in about the last ten seconds, over all sources. Returns 0
 * if there were no samples. */
uint64_t verge__view_lateness_of_all(const verge__service_view *view);

/* Asks for details of a source for the next 5 seconds. Returns false if details of VERGE__DETAILS_MAX other sources are
 * wanted already. */
bool verge__view_want_detail(verge__service_view *view, uint32_t source, uint64_t now_ns);

/* Returns the details of a source from a complete round, or NULL if there are none yet. */
const verge__detail *verge__view_detail(const verge__service_view *view, uint32_t source);

/* ---- names.c: which sources there are ---- */

/* Names new sources, and allocates memory for them. */
void verge__view_name_sources(verge__service_view *view, uint64_t now_ns);

/* Called after a round of the walk. Adds up sources with the same name, and frees numbers that are no longer used. */
void verge__view_take_round(verge__service_view *view, uint64_t now_ns);

/* Returns the source under which a timer is listed. */
uint32_t verge__view_source_of(const verge__service_view *view, verge_timer timer);

#endif
