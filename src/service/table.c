/* SPDX-License-Identifier: MIT */
#include "service/table.h"

#include <errno.h>
#include <string.h>

static size_t segment_bytes(uint32_t segment) {
    return (size_t)verge__table_segment_room(segment) * sizeof(verge__timer);
}

static verge__table_part *segment_part(const verge__table *table, uint32_t segment) {
    verge__table_group *group =
        atomic_load_explicit(&table->groups[segment >> VERGE__TABLE_GROUP_BITS], memory_order_acquire);
    return group == NULL ? NULL : &group->segments[segment & ((1 << VERGE__TABLE_GROUP_BITS) - 1)];
}

int verge__table_init(verge__table *table, const verge_allocator *allocator) {
    memset(table, 0, sizeof(*table));
    int error = pthread_mutex_init(&table->lock, NULL);
    if (error != 0) {
        return -error;
    }
    atomic_init(&table->groups[0], &table->first_group);
    table->allocator = allocator;
    table->pool = VERGE__NO_INDEX;
    return 0;
}

void verge__table_deinit(verge__table *table) {
    const verge_allocator *allocator = table->allocator;
    for (uint32_t g = 0; g < VERGE__TABLE_GROUPS; g++) {
        verge__table_group *group = atomic_load_explicit(&table->groups[g], memory_order_relaxed);
        if (group == NULL) {
            break;
        }
        for (uint32_t s = 0; s < 1 << VERGE__TABLE_GROUP_BITS; s++) {
            verge__timer *segment = atomic_load_explicit(&group->segments[s].records, memory_order_relaxed);
            if (segment != NULL) {
                allocator->release(allocator->context, segment, segment_bytes(g << VERGE__TABLE_GROUP_BITS | s));
            }
        }
        if (group != &table->first_group) {
            allocator->release(allocator->context, group, sizeof(*group));
        }
    }
    (void)pthread_mutex_destroy(&table->lock);
}

static void *allocate(verge__table *table, size_t size, size_t alignment) {
    void *memory = table->allocator->allocate(table->allocator->context, size, alignment);
    if (memory != NULL) {
        (void)atomic_fetch_add_explicit(&table->bytes, size, memory_order_relaxed);
    }
    return memory;
}

/* Makes the next segment. */
static int grow(verge__table *table) {
    uint32_t segment = table->next >> VERGE__TABLE_SEGMENT_BITS;
    if (segment == VERGE__TABLE_SEGMENTS_MAX) {
        return -ENOSPC;
    }
    verge__table_part *part = segment_part(table, segment);
    if (part == NULL) {
        verge__table_group *group = allocate(table, sizeof(*group), _Alignof(verge__table_group));
        if (group == NULL) {
            return -ENOMEM;
        }
        memset(group, 0, sizeof(*group));
        atomic_store_explicit(&table->groups[segment >> VERGE__TABLE_GROUP_BITS], group, memory_order_release);
        part = segment_part(table, segment);
    }
    size_t bytes = segment_bytes(segment);
    verge__timer *records = allocate(table, bytes, bytes >= (UINT32_C(1) << 21) ? (UINT32_C(1) << 21) : 64);
    if (records == NULL) {
        return -ENOMEM;
    }
    atomic_store_explicit(&part->records, records, memory_order_release);
    return 0;
}

/* Takes the next record that was never used. Under the lock. */
static int take_fresh(verge__table *table, uint32_t *ret_index) {
    uint32_t index = table->next;
    const verge__table_part *part = segment_part(table, index >> VERGE__TABLE_SEGMENT_BITS);
    if (part == NULL || atomic_load_explicit(&part->records, memory_order_relaxed) == NULL) {
        int error = grow(table);
        if (error != 0) {
            return error;
        }
    }
    verge__timer *record = verge__table_at(table, index);
    memset(record, 0, sizeof(*record));
    record->segment = (uint16_t)(index >> VERGE__TABLE_SEGMENT_BITS);
    atomic_store_explicit(&segment_part(table, index >> VERGE__TABLE_SEGMENT_BITS)->known,
                          (index & (VERGE__TABLE_SEGMENT_RECORDS - 1)) + 1, memory_order_release);
    table->next = verge__table_next_index(index);
    *ret_index = index;
    return 0;
}

/* Under the lock. */
static void add_to_pooled(verge__table *table, int64_t count) {
    atomic_store_explicit(&table->pool_count, verge__table_pooled(table) + (size_t)count, memory_order_relaxed);
}

static int take_one(verge__table *table, uint32_t *ret_index) {
    if (table->pool == VERGE__NO_INDEX) {
        return take_fresh(table, ret_index);
    }
    *ret_index = table->pool;
    table->pool = verge__table_at(table, table->pool)->link;
    if (table->pool != VERGE__NO_INDEX) { /* will be taken next; it may be in another processor's cache */
        VERGE__PREFETCH_WRITE(verge__table_at(table, table->pool));
    }
    add_to_pooled(table, -1);
    return 0;
}

int verge__table_take(verge__table *table, size_t count, uint32_t *ret_first, size_t *ret_count) {
    uint32_t first = VERGE__NO_INDEX;
    size_t taken = 0;
    int error = 0;
    (void)pthread_mutex_lock(&table->lock);
    while (taken < count) {
        uint32_t index = 0;
        error = take_one(table, &index);
        if (error != 0) {
            break;
        }
        verge__table_at(table, index)->link = first;
        first = index;
        taken++;
    }
    atomic_store_explicit(&table->fresh, table->next, memory_order_release);
    (void)pthread_mutex_unlock(&table->lock);
    if (taken == 0) {
        return error;
    }
    *ret_first = first;
    *ret_count = taken;
    return 0;
}

int verge__table_take_fresh(verge__table *table, uint32_t count, uint32_t *ret_first, uint32_t *ret_count) {
    uint32_t taken = 0;
    (void)pthread_mutex_lock(&table->lock);
    uint32_t first = table->next;
    uint32_t index = first;
    int error = take_fresh(table, &index);
    while (error == 0 && ++taken < count && table->next == index + 1) { /* until the segment ends */
        error = take_fresh(table, &index);
    }
    atomic_store_explicit(&table->fresh, table->next, memory_order_release);
    (void)pthread_mutex_unlock(&table->lock);
    *ret_first = first;
    *ret_count = taken;
    return taken == 0 ? error : 0;
}

void verge__table_give(verge__table *table, uint32_t first, uint32_t last, size_t count) {
    (void)pthread_mutex_lock(&table->lock);
    verge__table_at(table, last)->link = table->pool;
    table->pool = first;
    add_to_pooled(table, (int64_t)count);
    (void)pthread_mutex_unlock(&table->lock);
}

int verge__table_why_not(uint64_t word, verge_timer handle) {
    bool is_retired = verge__word_generation(word) == 0 && verge__word_state(word) == VERGE__SPENT;
    return is_retired || verge__word_generation(word) > (uint32_t)(handle >> 32) ? -ENOENT : -EBADF;
}
