/* SPDX-License-Identifier: MIT */
/*
 * scope/view.h - what scope shows of a service. A view turns the counts of the workers into figures a second. Only
 * scope's thread touches a view.
 */
#ifndef VERGE_SRC_SCOPE_VIEW_H
#define VERGE_SRC_SCOPE_VIEW_H

#include "scope/growth.h"
#include "scope/walk.h"

enum {
    VERGE__NAME_SIZE = 96,
    VERGE__HEAT_ROWS = 26,     /* of lateness: below 2^10 ns, then each twice as far; the last has all above */
    VERGE__HEAT_COLUMNS = 600, /* a second each */
};

typedef struct verge__source_view {
    char name[VERGE__NAME_SIZE]; /* empty: not in use */
    bool is_label;
    uint32_t stands_for;                                         /* the first source with this label, or itself */
    double started, fired, ended, cancelled, time_ns;            /* a second */
    double past_ended, past_cancelled, past_fired, past_time_ns; /* of about the last ten seconds */
    float late[VERGE__LATE_BUCKET_COUNT];                        /* the same, by bucket */
    uint32_t late_counted[VERGE__LATE_BUCKET_COUNT];
    verge__growth growth;
} verge__source_view;

/* What was counted for a source up to the last look. */
typedef struct verge__counted_source {
    uint64_t started, cancelled, fired, ended, time_ns;
} verge__counted_source;

typedef struct verge__seat_view {
    bool is_known;
    uint64_t started, cancelled, fired; /* in all, by the tally */
    uint64_t event_count;               /* starts or firings, since the last look */
    verge__counted_source of[VERGE__SOURCE_COUNT];
    /* What the worker does */
    uint64_t callback_ns; /* in all */
    uint64_t fired_before;
    verge_timer running;
    uint64_t running_since_ns; /* on scope's clock, as far as it was seen; 0: none runs */
    double busy;               /* share of a core, 0 to 1 */
    double fired_rate;
} verge__seat_view;

typedef struct verge__heat_column {
    uint64_t second; /* since scope was started; 0: none */
    uint32_t rows[VERGE__HEAT_ROWS];
} verge__heat_column;

typedef struct verge__service_view {
    verge_service *service;
    const verge_allocator *allocator;
    bool is_looked_at;
    uint64_t looked_ns;  /* the last time */
    uint64_t tick_count; /* of this look */
    uint64_t look;       /* different for each look, so that a worker notices each */
    verge__walk walk;
    verge__source_view sources[VERGE__SOURCE_COUNT];
    verge__seat_view *seats[VERGE_WORKER_COUNT_MAX + 1]; /* 0: threads that are no workers */
    uint64_t heat_counted[VERGE__HEAT_ROWS];
    verge__heat_column heat[VERGE__HEAT_COLUMNS]; /* by second modulo this */
    uint64_t heat_second;                         /* the last one that is whole */
    double started, fired, cancelled;             /* a second */
    uint64_t started_before, fired_before, cancelled_before;
} verge__service_view;

void verge__view_begin(verge__service_view *view, verge_service *service, const verge_allocator *allocator);
void verge__view_end(verge__service_view *view);

/* Notes the lateness of a second. Called once a second, whether somebody looks or not. */
void verge__view_note_second(verge__service_view *view, uint64_t second);

/* Called four times a second while somebody looks; and when nobody looks any more. */
void verge__view_look(verge__service_view *view, uint64_t now_ns);
void verge__view_look_away(verge__service_view *view);

/* Asks the workers for samples. Called at random moments between looks. */
void verge__view_poke(verge__service_view *view);

/* A quantile of the lateness of a source in about the last ten seconds. 0: no callback ran. */
uint64_t verge__view_lateness(const verge__source_view *source, double quantile);

/* If a worker is stuck: when its callback began, on scope's clock. Otherwise 0. */
uint64_t verge__view_stuck_since(const verge__service_view *view, uint32_t seat, uint64_t now_ns);

/* The source of the timer whose callback a worker runs. */
uint32_t verge__view_running_source(const verge__service_view *view, uint32_t seat);

#endif
