/* SPDX-License-Identifier: MIT */
/*
 * Reads zones from TZif files (RFC 8536). Such a file has two blocks of data, each behind a header. The first has times
 * of 32 bits and is only skipped; the second has times of 64 bits. Then comes the footer (zone_rule.c). All counts,
 * indexes, offsets and the order of times are checked before they are used.
 */
#define _GNU_SOURCE /* secure_getenv */

#include <errno.h>
#include <fcntl.h>
#include <stdalign.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/memory.h"
#include "recurrence/zone.h"

enum {
    HEADER_SIZE = 44,
    TYPE_SIZE = 6,
    OFFSET_MIN = -25 * 3600 + 1, /* Z2 (zone.h) */
    OFFSET_MAX = 26 * 3600 - 1,
    FOLDER_MAX = 512,
};

static const int64_t time_max = INT64_C(1) << 40; /* Z2; about 35,000 years */

/* The counts of a header, in the order of the file. */
typedef struct tzif_counts {
    uint32_t is_ut;
    uint32_t is_standard;
    uint32_t leap;
    uint32_t time;
    uint32_t type;
    uint32_t character;
} tzif_counts;

/* Where the parts of the second block are. */
typedef struct tzif_block {
    const uint8_t *times;
    const uint8_t *type_of_time;
    const uint8_t *types;
    tzif_counts counts;
} tzif_block;

static uint32_t read_u32(const uint8_t *bytes) {
    return (uint32_t)bytes[0] << 24 | (uint32_t)bytes[1] << 16 | (uint32_t)bytes[2] << 8 | bytes[3];
}

static int64_t read_i64(const uint8_t *bytes) {
    return (int64_t)((uint64_t)read_u32(bytes) << 32 | read_u32(bytes + 4));
}

static bool read_header(const uint8_t *bytes, size_t size, tzif_counts *ret_counts) {
    if (size < HEADER_SIZE || memcmp(bytes, "TZif", 4) != 0 || bytes[4] < '2') {
        return false;
    }
    const uint8_t *numbers = bytes + 20;
    *ret_counts = (tzif_counts){.is_ut = read_u32(numbers),
                                .is_standard = read_u32(numbers + 4),
                                .leap = read_u32(numbers + 8),
                                .time = read_u32(numbers + 12),
                                .type = read_u32(numbers + 16),
                                .character = read_u32(numbers + 20)};
    return true;
}

/* The size of a block without its header. Counts have 32 bits, so 64 are enough for the sum. */
static uint64_t block_size(const tzif_counts *counts, uint64_t time_size) {
    return counts->time * (time_size + 1) + (uint64_t)counts->type * TYPE_SIZE + counts->character +
           counts->leap * (time_size + 4) + counts->is_standard + counts->is_ut;
}

/* Finds the parts of the second block, and the footer after it. */
static bool find_parts(const uint8_t *bytes, size_t size, tzif_block *ret_block, verge__zone_rule *ret_rule) {
    tzif_counts counts;
    if (!read_header(bytes, size, &counts) || block_size(&counts, 4) > size - HEADER_SIZE) {
        return false;
    }
    const size_t second = HEADER_SIZE + (size_t)block_size(&counts, 4);
    if (!read_header(bytes + second, size - second, &counts) || block_size(&counts, 8) > size - second - HEADER_SIZE ||
        counts.type == 0 || counts.leap != 0) {
        return false;
    }
    const uint8_t *times = bytes + second + HEADER_SIZE;
    *ret_block = (tzif_block){.times = times,
                              .type_of_time = times + (size_t)counts.time * 8,
                              .types = times + (size_t)counts.time * 9,
                              .counts = counts};
    const uint8_t *footer = times + block_size(&counts, 8);
    const uint8_t *end = bytes + size;
    if (footer == end || *footer != '\n') {
        return false;
    }
    footer++;
    const uint8_t *footer_end = memchr(footer, '\n', (size_t)(end - footer));
    return footer_end != NULL && verge__zone_rule_parse((const char *)footer, (size_t)(footer_end - footer), ret_rule);
}

static bool offset_of_type(const tzif_block *block, uint32_t type, int32_t *ret_offset) {
    if (type >= block->counts.type) {
        return false;
    }
    const int32_t offset = (int32_t)read_u32(block->types + (size_t)type * TYPE_SIZE);
    *ret_offset = offset;
    return offset >= OFFSET_MIN && offset <= OFFSET_MAX;
}

/* Establishes Z1 to Z3. Changes before -time_max only decide the first offset. Those from time_max on are left out. */
static bool read_changes(const tzif_block *block, verge_zone *zone) {
    if (!offset_of_type(block, 0, &zone->first_offset)) {
        return false;
    }
    int32_t before = zone->first_offset;
    int64_t passed = INT64_MIN;
    for (uint32_t i = 0; i < block->counts.time; i++) {
        const int64_t at = read_i64(block->times + (size_t)i * 8);
        int32_t offset = 0;
        if (!offset_of_type(block, block->type_of_time[i], &offset) ||
            (i > 0 && at <= read_i64(block->times + (size_t)(i - 1) * 8))) {
            return false;
        }
        if (at < -time_max) {
            zone->first_offset = offset;
        } else if (at < time_max) {
            passed = at + before > passed ? at + before : passed;
            zone->changes[zone->change_count++] = (verge__clock_change){.at = at, .passed = passed, .offset = offset};
        }
        before = offset;
    }
    return true;
}

static verge_zone *create(const verge_allocator *allocator, size_t change_count) {
    const size_t size = sizeof(verge_zone) + change_count * sizeof(verge__clock_change);
    verge_zone *zone = verge__allocate(allocator, size, alignof(verge_zone));
    if (zone != NULL) {
        *zone = (verge_zone){.allocator = *allocator, .size = size};
    }
    return zone;
}

int verge_zone_read(const void *bytes, size_t size, const verge_allocator *allocator, verge_zone **ret_zone) {
    tzif_block block;
    verge__zone_rule rule;
    if (ret_zone == NULL || bytes == NULL) {
        return -EINVAL;
    }
    if (size > VERGE__ZONE_FILE_MAX || !find_parts(bytes, size, &block, &rule)) {
        return -EPROTO;
    }
    const verge_allocator *from = allocator != NULL ? allocator : verge_allocator_default();
    verge_zone *zone = create(from, block.counts.time);
    if (zone == NULL) {
        return -ENOMEM;
    }
    zone->rule = rule;
    if (!read_changes(&block, zone)) {
        verge_zone_close(zone);
        return -EPROTO;
    }
    *ret_zone = zone;
    return 0;
}

void verge_zone_close(verge_zone *zone) {
    if (zone != NULL) {
        const verge_allocator allocator = zone->allocator;
        verge__release(&allocator, zone, zone->size);
    }
}

/* A name has parts of letters, digits, '+', '-' and '_', separated by '/'. Each part begins with a letter or digit. So
 * a name cannot refer to a file outside of the folder. */
bool verge__zone_name_is_valid(const char *name, size_t length) {
    bool is_first = true;
    for (size_t i = 0; i < length; i++) {
        const char c = name[i];
        const bool is_letter = (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
        if (!is_letter && (is_first || (c != '/' && c != '+' && c != '-' && c != '_'))) {
            return false;
        }
        is_first = c == '/';
    }
    return length > 0 && length <= VERGE_ZONE_NAME_MAX && !is_first;
}

/* Reads up to `size` bytes of a file. Returns how many were read, or a negative errno. */
static ssize_t read_bytes(int file, uint8_t *bytes, size_t size) {
    size_t done = 0;
    while (done < size) {
        const ssize_t count = read(file, bytes + done, size - done);
        if (count == 0) {
            break;
        }
        if (count < 0 && errno != EINTR) {
            return -errno;
        }
        done += count > 0 ? (size_t)count : 0;
    }
    return (ssize_t)done;
}

static int read_file(int file, const verge_allocator *allocator, verge_zone **ret_zone) {
    struct stat status;
    if (fstat(file, &status) < 0) {
        return -errno;
    }
    if (!S_ISREG(status.st_mode)) {
        return -ENOENT; /* a folder, such as "Europe" */
    }
    if (status.st_size < HEADER_SIZE || status.st_size > VERGE__ZONE_FILE_MAX) {
        return -EPROTO;
    }
    const size_t file_size = (size_t)status.st_size;
    uint8_t *bytes = verge__allocate(allocator, file_size, 1);
    if (bytes == NULL) {
        return -ENOMEM;
    }
    const ssize_t size = read_bytes(file, bytes, file_size);
    const int error = size < 0 ? (int)size : verge_zone_read(bytes, (size_t)size, allocator, ret_zone);
    verge__release(allocator, bytes, file_size);
    return error;
}

/* Opens the file of a zone. With O_NONBLOCK, open does not wait if a pipe has that name. */
static int open_file(const char *name) {
    const char *folder = secure_getenv("TZDIR");
    char path[FOLDER_MAX + VERGE_ZONE_NAME_MAX + 2];
    if (folder == NULL || strlen(folder) > FOLDER_MAX) {
        folder = "/usr/share/zoneinfo";
    }
    (void)snprintf(path, sizeof(path), "%s/%s", folder, name);
    const int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (file < 0) {
        return errno == ENOTDIR ? -ENOENT : -errno;
    }
    return file;
}

int verge_zone_open(const char *name, const verge_allocator *allocator, verge_zone **ret_zone) {
    const verge_allocator *from = allocator != NULL ? allocator : verge_allocator_default();
    if (ret_zone == NULL) {
        return -EINVAL;
    }
    if (name == NULL || *name == '\0' || strcmp(name, "UTC") == 0) {
        verge_zone *utc = create(from, 0);
        if (utc == NULL) {
            return -ENOMEM;
        }
        *ret_zone = utc;
        return 0;
    }
    if (!verge__zone_name_is_valid(name, strnlen(name, VERGE_ZONE_NAME_MAX + 1))) {
        return -EINVAL;
    }
    const int file = open_file(name);
    if (file < 0) {
        return file;
    }
    const int error = read_file(file, from, ret_zone);
    (void)close(file);
    return error;
}
