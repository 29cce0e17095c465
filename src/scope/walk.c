/* SPDX-License-Identifier: MIT */
#include "scope/walk.h"

#include <string.h>

#define SECOND_NS UINT64_C(1000000000)

enum {
    SEEN_BYTES = VERGE__TABLE_SEGMENT_RECORDS * sizeof(uint32_t),
    AGE_MAX_S = UINT16_MAX,
};

void verge__walk_begin(verge__walk *walk, verge_service *service, const verge_allocator *allocator, uint64_t now_ns) {
    *walk = (verge__walk){.service = service, .allocator = allocator, .began_ns = now_ns};
}

void verge__walk_end(verge__walk *walk) {
    for (size_t i = 0; i < walk->seen_count; i++) {
        if (walk->seen[i] != NULL) {
            walk->allocator->release(walk->allocator->context, walk->seen[i], SEEN_BYTES);
        }
    }
    if (walk->seen != NULL) {
        walk->allocator->release(walk->allocator->context, walk->seen, walk->seen_count * sizeof(*walk->seen));
    }
    *walk = (verge__walk){.allocator = walk->allocator};
}

static bool make_room(verge__walk *walk, size_t segment) {
    const size_t count = (segment + 1) * 2;
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

/* What the walk remembers about the records of a segment. NULL: no memory, so their age is not known. */
static uint32_t *seen_of(verge__walk *walk, uint32_t segment) {
    if (segment >= walk->seen_count && !make_room(walk, segment)) {
        return NULL;
    }
    if (walk->seen[segment] == NULL) {
        walk->seen[segment] = walk->allocator->allocate(walk->allocator->context, SEEN_BYTES, _Alignof(uint32_t));
        if (walk->seen[segment] != NULL) {
            memset(walk->seen[segment], 0, SEEN_BYTES);
        }
    }
    return walk->seen[segment];
}

/* What does not change from record to record during one look. */
typedef struct verge__glance {
    uint64_t service_now_ns;
    uint32_t now_s;
    uint64_t last_callback; /* with its source: the next timer often has the same callback */
    uint32_t last_source;
} glance;

/* Returns since when the timer was seen. */
static uint32_t note_age(const verge__walk *walk, verge__walk_result *result, uint32_t *seen, uint32_t source,
                         uint32_t generation, uint32_t now_s) {
    if (*seen >> 16 != (generation & UINT16_MAX)) { /* generations are odd, never 0 */
        *seen = generation << 16 | (walk->round_count == 0 ? 0 : now_s);
    }
    const uint32_t since_s = *seen & UINT16_MAX;
    if (now_s - since_s >= result->oldest_s[source]) {
        result->oldest_s[source] = now_s - since_s;
        result->is_older[source] = since_s == 0;
    }
    return since_s;
}

static uint32_t source_of(verge__sources *sources, const verge__timer *timer, glance *glance_) {
    if (atomic_load_explicit(&timer->period_ns, memory_order_relaxed) != 0) {
        return verge__timer_source(sources, timer);
    }
    const uint64_t callback = (uint64_t)(uintptr_t)atomic_load_explicit(&timer->callback, memory_order_relaxed);
    if (callback != glance_->last_callback) {
        glance_->last_callback = callback;
        glance_->last_source = verge__source_find(sources, callback);
    }
    return glance_->last_source;
}

static bool is_pending(uint64_t word) {
    const uint64_t state = verge__word_state(word);
    return state == VERGE__RUNNING_STATE || (state == VERGE__SCHEDULED && (word & VERGE__QUIT) == 0);
}

/* Keeps the first timers of a source, then each later one in place of a random one of them, so that in the end each
 * timer has the same chance to be kept. */
static verge__detail_timer *choose(verge__walk *walk, verge__detail *detail) {
    const uint64_t count = detail->count++;
    walk->random = walk->random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    const uint64_t place = count < VERGE__DETAIL_TIMERS ? count : (walk->random >> 33) % (count + 1);
    return place < VERGE__DETAIL_TIMERS ? &detail->timers[place] : NULL;
}

static void look_closer(verge__walk *walk, verge__detail *detail, const verge__timer *timer, uint64_t word,
                        const verge__detail_timer *seen) {
    verge__detail_timer *to = choose(walk, detail);
    if (to != NULL) {
        *to = *seen;
        to->timer = verge__word_handle(word, verge__table_index(&walk->service->table, timer));
        to->period_ns = verge__timer_period(timer);
        to->worker = verge__word_owner(word);
        to->is_running = verge__word_state(word) == VERGE__RUNNING_STATE;
    }
}

static void note_overdue(verge__walk_result *result, uint32_t source, uint64_t late_ns) {
    result->overdue[source]++;
    result->most_overdue_ns = late_ns > result->most_overdue_ns ? late_ns : result->most_overdue_ns;
}

static void look_at(verge__walk *walk, const verge__timer *timer, uint32_t *seen, glance *glance_) {
    const uint64_t word = atomic_load_explicit(&timer->word, memory_order_relaxed);
    if (!is_pending(word)) {
        return;
    }
    verge__walk_result *result = &walk->under_way;
    const uint32_t source = source_of(&walk->service->sources, timer, glance_);
    const uint64_t deadline_ns = verge__timer_deadline(timer);
    const bool is_overdue = deadline_ns <= glance_->service_now_ns;
    const uint32_t bucket = is_overdue ? 0 : verge__coming_bucket(deadline_ns - glance_->service_now_ns);
    uint32_t since_s = glance_->now_s;
    result->pending[source]++;
    result->coming[bucket]++;
    if (is_overdue && verge__word_state(word) == VERGE__SCHEDULED &&
        glance_->service_now_ns - deadline_ns > VERGE__OVERDUE_AFTER_NS) {
        note_overdue(result, source, glance_->service_now_ns - deadline_ns);
    }
    if (seen != NULL) {
        since_s = note_age(walk, result, seen, source, verge__word_generation(word), glance_->now_s);
    }
    if (walk->detail_of[source] != 0) {
        verge__detail *detail = &walk->details[walk->detail_of[source] - 1];
        const verge__detail_timer known = {
            .deadline_ns = deadline_ns, .age_s = glance_->now_s - since_s, .is_older = since_s == 0};
        detail->coming[bucket]++;
        look_closer(walk, detail, timer, word, &known);
    }
}

/* Visits records of one segment, from `next` on. Returns how many. */
static uint32_t walk_segment(verge__walk *walk, uint32_t count, glance *glance_) {
    const uint32_t segment = walk->next >> VERGE__TABLE_SEGMENT_BITS;
    const uint32_t room = verge__table_segment_room(segment);
    const uint32_t first = walk->next & (VERGE__TABLE_SEGMENT_RECORDS - 1);
    const uint32_t passed = count < room - first ? count : room - first;
    uint32_t *seen = seen_of(walk, segment);
    verge__timer *timer = NULL;
    for (uint32_t i = 0; i < passed; i++) {
        /* Records that were never used are at the end of a segment. */
        if (!verge__table_has(&walk->service->table, walk->next + i, &timer)) {
            break;
        }
        look_at(walk, timer, seen == NULL ? NULL : seen + first + i, glance_);
    }
    walk->next = first + passed == room ? (segment + 1) << VERGE__TABLE_SEGMENT_BITS : walk->next + passed;
    return passed;
}

bool verge__walk_on(verge__walk *walk, uint32_t count, uint64_t now_ns) {
    const uint32_t end = atomic_load_explicit(&walk->service->table.fresh, memory_order_acquire);
    const uint64_t passed_s = (now_ns - walk->began_ns) / SECOND_NS;
    glance glance_ = {.service_now_ns = verge__service_clock(walk->service),
                      .now_s = passed_s < AGE_MAX_S ? (uint32_t)passed_s : AGE_MAX_S};
    while (count > 0 && walk->next < end) {
        count -= walk_segment(walk, count, &glance_);
    }
    if (walk->next < end) {
        return false;
    }
    walk->last = walk->under_way;
    memset(&walk->under_way, 0, sizeof(walk->under_way));
    memcpy(walk->last_details, walk->details, sizeof(walk->details));
    memset(walk->details, 0, sizeof(walk->details));
    walk->next = 0;
    walk->round_count++;
    return true;
}
