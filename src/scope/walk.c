/* SPDX-License-Identifier: MIT */
#include "scope/walk.h"

#include <string.h>

#define QUARTER_NS UINT64_C(250000000)

enum {
    PAGE_BITS = 15, /* a page has the notes of 2^15 records */
    PAGE_BYTES = sizeof(uint32_t) << PAGE_BITS,
    AGE_BITS = 18, /* bits of a note that say when the timer was first seen: 18 hours in quarters of a second */
    AGE_MAX = (1 << AGE_BITS) - 1,
};

void verge__walk_begin(verge__walk *walk, verge_service *service, const verge_allocator *allocator, uint64_t now_ns) {
    *walk = (verge__walk){.service = service, .allocator = allocator, .began_ns = now_ns};
}

void verge__walk_end(verge__walk *walk) {
    for (size_t i = 0; i < walk->seen_count; i++) {
        if (walk->seen[i] != NULL) {
            walk->allocator->release(walk->allocator->context, walk->seen[i], PAGE_BYTES);
        }
    }
    if (walk->seen != NULL) {
        walk->allocator->release(walk->allocator->context, walk->seen, walk->seen_count * sizeof(*walk->seen));
    }
    *walk = (verge__walk){.allocator = walk->allocator};
}

static bool make_room(verge__walk *walk, size_t page) {
    const size_t count = (page + 1) * 2;
    uint32_t **seen = walk->allocator->allocate(walk->allocator->context, count * sizeof(*seen), _Alignof(uint32_t *));
    if (seen == NULL) {
        return false;
    }
    memset(seen, 0, count * sizeof(*seen));
    if (walk->seen != NULL) {
        memcpy(seen, walk->seen, walk->seen_count * sizeof(*seen));
        walk->allocator->release(walk->allocator->context, walk->seen, walk->seen_count * sizeof(*seen));
    }
    walk->seen = seen;
    walk->seen_count = count;
    return true;
}

/* Returns what the walk remembers about the records of a page. NULL: no memory, so their age is not known. */
static uint32_t *seen_of(verge__walk *walk, uint32_t page) {
    if (page >= walk->seen_count && !make_room(walk, page)) {
        return NULL;
    }
    if (walk->seen[page] == NULL) {
        walk->seen[page] = walk->allocator->allocate(walk->allocator->context, PAGE_BYTES, _Alignof(uint32_t));
        if (walk->seen[page] != NULL) {
            memset(walk->seen[page], 0, PAGE_BYTES);
        }
    }
    return walk->seen[page];
}

/* State of one call of verge__walk_on. */
typedef struct verge__glance {
    uint64_t service_now_ns;
    uint32_t now;  /* in quarters of a second since began_ns */
    uint32_t page; /* the page that has the note of the last record */
    uint32_t *seen;
} glance;

/* Notes the age of a timer. Returns when the timer was first seen, in quarters of a second since began_ns, or 0 if that
 * was in the first round. */
static uint32_t note_age(const verge__walk *walk, verge__walk_result *result, uint32_t *seen, uint32_t source,
                         uint32_t generation, uint32_t now) {
    if (*seen >> AGE_BITS != generation << AGE_BITS >> AGE_BITS) { /* generations are odd, never 0 */
        *seen = generation << AGE_BITS | (walk->round_count == 0 ? 0 : now);
    }
    const uint32_t since = *seen & AGE_MAX;
    if (now - since >= result->oldest_quarters[source]) {
        result->oldest_quarters[source] = now - since;
        result->is_older[source] = since == 0;
    }
    return since;
}

/* Reservoir sampling: in the end, each timer of the source has the same chance to be kept. Returns where to keep the
 * present timer, or NULL if it is not kept. */
static verge__detail_timer *choose(verge__walk *walk, verge__detail *detail) {
    const uint64_t count = detail->count++;
    walk->random = walk->random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    const uint64_t place = count < VERGE__DETAIL_TIMERS ? count : (walk->random >> 33) % (count + 1);
    return place < VERGE__DETAIL_TIMERS ? &detail->timers[place] : NULL;
}

static void note_overdue(verge__walk_result *result, uint32_t source, uint32_t worker, uint64_t late_ns) {
    result->overdue[source]++;
    result->overdue_on[source] = (uint16_t)worker;
    result->most_overdue_ns = late_ns > result->most_overdue_ns ? late_ns : result->most_overdue_ns;
}

/* Counts a timer of a source that is looked at more closely, and perhaps keeps it. */
static void look_closer(verge__walk *walk, verge__detail *detail, const verge__detail_timer *timer, uint32_t bucket) {
    verge__detail_timer *to = choose(walk, detail);
    detail->coming[bucket]++;
    if (to != NULL) {
        *to = *timer;
    }
}

static inline void look_at(verge__walk *walk, glance *glance_, const verge__seen_timer *timer) {
    verge__walk_result *result = &walk->under_way;
    const uint32_t index = (uint32_t)timer->timer;
    const uint32_t source = timer->source;
    const bool is_overdue = timer->deadline_ns <= glance_->service_now_ns;
    const uint32_t bucket = is_overdue ? 0 : verge__coming_bucket(timer->deadline_ns - glance_->service_now_ns);
    uint32_t since = glance_->now;
    result->pending[source]++;
    result->coming[bucket]++;
    if (is_overdue && !timer->is_running && glance_->service_now_ns - timer->deadline_ns > VERGE__OVERDUE_AFTER_NS) {
        note_overdue(result, source, timer->worker, glance_->service_now_ns - timer->deadline_ns);
    }
    if (index >> PAGE_BITS != glance_->page) {
        glance_->page = index >> PAGE_BITS;
        glance_->seen = seen_of(walk, glance_->page);
    }
    if (glance_->seen != NULL) {
        since = note_age(walk, result, &glance_->seen[index & ((1 << PAGE_BITS) - 1)], source,
                         (uint32_t)(timer->timer >> 32), glance_->now);
    }
    if (walk->detail_of[source] != 0) {
        const verge__detail_timer known = {
            .seen = *timer, .age_quarters = glance_->now - since, .is_older = since == 0};
        look_closer(walk, &walk->details[walk->detail_of[source] - 1], &known, bucket);
    }
}

bool verge__walk_on(verge__walk *walk, uint32_t count, uint64_t now_ns) {
    const uint64_t passed = (now_ns - walk->began_ns) / QUARTER_NS;
    glance glance_ = {.service_now_ns = verge_service_exact_now(walk->service),
                      .now = passed < AGE_MAX ? (uint32_t)passed : AGE_MAX,
                      .page = UINT32_MAX};
    bool is_last = false;
    for (uint32_t looked = 0; looked < count && !is_last; looked += VERGE__SEEN_AT_ONCE) {
        verge__seen_timer timers[VERGE__SEEN_AT_ONCE];
        const size_t seen = verge__service_see(walk->service, &walk->next, timers);
        for (size_t i = 0; i < seen; i++) {
            look_at(walk, &glance_, &timers[i]);
        }
        is_last = walk->next == 0;
    }
    if (!is_last) {
        return false;
    }
    walk->last = walk->under_way;
    memset(&walk->under_way, 0, sizeof(walk->under_way));
    memcpy(walk->last_details, walk->details, sizeof(walk->details));
    memset(walk->details, 0, sizeof(walk->details));
    walk->round_count++;
    return true;
}
