/* SPDX-License-Identifier: MIT */
/* How many timers each source has (service/sources.h), as text. */
#include "metrics/sources.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "service/service_internal.h"
#include "service/sources.h"
#include "service/symbol.h"

#define OVERDUE_AFTER_NS UINT64_C(1000000000) /* a timer that is less late is not overdue: it will run in a moment */

enum { NAME_SIZE = 128, LABELS_MAX = 30 };

/* The counts of one service. If several sources have the same name, the first of them has the counts of all. */
typedef struct counts {
    uint64_t pending[VERGE__SOURCE_COUNT];
    uint32_t overdue[VERGE__SOURCE_COUNT];
    uint16_t first[VERGE__SOURCE_COUNT]; /* for each source, the first one with the same name */
} counts;

static void count_timers(verge_service *service, counts *counts_) {
    const uint32_t end = atomic_load_explicit(&service->table.fresh, memory_order_acquire);
    const uint64_t now_ns = verge__service_clock(service);
    memset(counts_, 0, sizeof(*counts_));
    for (uint32_t i = 0; i < end; i++) {
        verge__timer *timer = NULL;
        if (!verge__table_has(&service->table, i, &timer)) {
            continue;
        }
        const uint64_t word = atomic_load_explicit(&timer->word, memory_order_relaxed);
        const bool waits = verge__word_state(word) == VERGE__SCHEDULED && (word & VERGE__QUIT) == 0;
        if (waits || verge__word_state(word) == VERGE__RUNNING_STATE) {
            const uint64_t deadline_ns = verge__timer_deadline(timer);
            const uint32_t source = verge__timer_source(&service->sources, timer);
            const bool is_overdue = waits && deadline_ns < now_ns && now_ns - deadline_ns > OVERDUE_AFTER_NS;
            counts_->pending[source]++;
            counts_->overdue[source] += is_overdue ? 1 : 0;
        }
    }
}

/* Copies a label. If it is too long, it is cut between two UTF-8 characters, not within one. */
static void copy_label(char name[NAME_SIZE], const char *label) {
    const char *end = memchr(label, '\0', NAME_SIZE);
    size_t size = end != NULL ? (size_t)(end - label) : NAME_SIZE - 1;
    if (end == NULL) {
        while (size > NAME_SIZE - 4 && (label[size] & 0xC0) == 0x80) {
            size--;
        }
    }
    memcpy(name, label, size);
    name[size] = '\0';
}

/* Writes the name of a source. A label may have any bytes, but Prometheus wants UTF-8. If the name is not UTF-8, bytes
 * from 0x80 on become '?', from left to right, until the name is UTF-8. */
static void name_source(const verge_service *service, uint32_t source, char name[NAME_SIZE]) {
    const uint64_t key = verge__source_key(&service->sources, source);
    if (source == VERGE__SOURCE_OTHERS || key == 0) {
        (void)snprintf(name, NAME_SIZE, "(others)");
    } else if ((key & VERGE__KEY_LABEL) == 0) {
        verge__symbol_name(key, name, NAME_SIZE);
    } else {
        copy_label(name, (const char *)(uintptr_t)(key & ~VERGE__KEY_LABEL));
    }
    for (char *at = name; *at != '\0' && !verge__metrics_is_utf8(name); at++) {
        if ((unsigned char)*at >= 0x80) {
            *at = '?';
        }
    }
}

static uint64_t hash_of(const char *text) {
    uint64_t hash = UINT64_C(0xcbf29ce484222325);
    for (; *text != '\0'; text++) {
        hash = (hash ^ (unsigned char)*text) * UINT64_C(0x100000001b3);
    }
    return hash;
}

/* Adds up sources with the same name. Only hashes of 64 bits are compared, so that names need not be stored. */
static void join_names(const verge_service *service, counts *counts_) {
    uint64_t hashes[VERGE__SOURCE_COUNT] = {0};
    for (uint32_t i = 0; i < VERGE__SOURCE_COUNT; i++) {
        char name[NAME_SIZE];
        uint16_t first = 0;
        if (counts_->pending[i] == 0) {
            continue;
        }
        name_source(service, i, name);
        hashes[i] = hash_of(name);
        while (counts_->pending[first] == 0 || hashes[first] != hashes[i]) {
            first++;
        }
        counts_->first[i] = first;
        if (first != i) {
            counts_->pending[first] += counts_->pending[i];
            counts_->overdue[first] += counts_->overdue[i];
        }
    }
}

static void write_family(verge__metrics_writer *writer, verge_service *service, const verge_label *labels,
                         const counts *counts_, bool is_overdue) {
    verge_label all[LABELS_MAX + 2];
    size_t count = 0;
    for (; labels != NULL && labels[count].name != NULL; count++) {
        all[count] = labels[count];
    }
    for (uint32_t i = 0; i < VERGE__SOURCE_COUNT; i++) {
        char name[NAME_SIZE];
        if (counts_->pending[i] > 0 && counts_->first[i] == i) {
            name_source(service, i, name);
            all[count] = (verge_label){"source", name};
            all[count + 1] = (verge_label){NULL, NULL};
            verge__metrics_sample(writer, is_overdue ? "verge_source_overdue" : "verge_source_pending", all,
                                  is_overdue ? counts_->overdue[i] : counts_->pending[i]);
        }
    }
}

static bool can_be_extended(const verge_label *labels) {
    size_t count = 0;
    for (; labels != NULL && labels[count].name != NULL; count++) {
        if (count >= LABELS_MAX || strcmp(labels[count].name, "source") == 0) {
            return false;
        }
    }
    return true;
}

int verge__metrics_check_for_sources(const verge_label *const *labels, size_t service_count) {
    for (size_t i = 0; i < service_count; i++) {
        if (labels != NULL && !can_be_extended(labels[i])) {
            return -EINVAL;
        }
    }
    return 0;
}

void verge__metrics_by_source(verge__metrics_writer *writer, verge_service *const *services,
                              const verge_label *const *labels, size_t service_count) {
    for (int family = 0; family < 2 && service_count > 0; family++) {
        verge__metrics_family(writer, family == 0 ? "verge_source_pending" : "verge_source_overdue",
                              family == 0 ? "Timers that are pending or running, by what started them."
                                          : "Timers that are due since more than a second, by what started them.",
                              VERGE__METRICS_GAUGE);
        for (size_t i = 0; i < service_count; i++) {
            counts counts_;
            count_timers(services[i], &counts_);
            join_names(services[i], &counts_);
            write_family(writer, services[i], labels == NULL ? NULL : labels[i], &counts_, family == 1);
        }
    }
}
