/* SPDX-License-Identifier: MIT */
/*
 * verge/recurrence.h - when a rule such as "every weekday at 09:00 in Berlin" comes next. These functions only compute:
 * they read no clock and do not wait.
 *
 *     verge_recurrence rule;
 *     verge_zone *zone;
 *     verge_recurrence_parse("0 9 * * mon-fri Europe/Berlin", &rule, NULL, 0);
 *     verge_zone_open(rule.zone, NULL, &zone);
 *     next_ns = verge_recurrence_next(&rule, zone, now_ns);
 *
 * Words
 *   rule        the text, or what was read from it.
 *   zone        a time zone of the IANA database: what local clocks show. A rule without a zone is in UTC.
 *   occurrence  a moment at which the rule comes: ns since 1970, UTC. It is a whole second.
 *   local time  what a clock in the zone shows. If the clock is set forward, it skips local times. If it is set back,
 *               it shows some local times twice.
 *   gap         the local times that a clock skips.
 *
 * The text has one of three forms. A zone may follow each of them.
 *   "30 9 * * mon-fri"    five fields as of cron: minute (0-59), hour (0-23), day of the month (1-31), month (1-12 or
 *                         jan-dec), day of the week (0-7 or sun-sat; 0 and 7 are Sunday). A field is a list, separated
 *                         by commas, of numbers, ranges "9-17", "*" for all, and steps: "9-17/2", or "*" directly
 *                         followed by "/15" (written apart here, because together they would end this comment).
 *   "@daily"              also @hourly, @midnight, @weekly (Sunday), @monthly, @yearly and @annually.
 *   "mon-fri 09:00,17:30" days and local times. The days are days of the week, days of the month ("1,15") or "*".
 *
 * Promises, where next is the result of verge_recurrence_next(rule, zone, after)
 *   N1 later         next > after, and no occurrence lies between them.
 *   N2 the days      if neither the day of the month nor the day of the week begins with "*", a day has to match at
 *                    least one of these two fields. If one of them begins with "*", the day has to match both. cron
 *                    does the same.
 *   N3 fixed hours   a rule with days and local times, or with an hour field that does not begin with "*", has one
 *                    occurrence for each of its local times: the first moment at which the clock shows this time or a
 *                    later one. A local time that the clock shows twice comes the first time only. A local time in a
 *                    gap comes at the end of the gap. If several are in one gap, the rule comes once for all of them.
 *   N4 every hour    a rule whose hour field begins with "*", such as "30 * * * *", comes whenever the clock shows such
 *                    a time: not for times in a gap, and twice if the clock shows the time twice. So "30 * * * *" goes
 *                    on coming once an hour when the clock is set forward or back by one hour.
 *   N5 pure          the result depends on the arguments alone.
 *   N6 bounded       the time of a call is bounded, whatever the rule and the zone.
 *
 * A rule is plain data. A zone does not change: any number of threads may use it at the same time.
 */
#ifndef VERGE_RECURRENCE_H
#define VERGE_RECURRENCE_H

#include "verge/base.h"

#ifdef __cplusplus
extern "C" {
#endif

enum {
    VERGE_RECURRENCE_TEXT_MAX = 255, /* characters of a rule */
    VERGE_ZONE_NAME_MAX = 63,        /* characters of the name of a zone */
};

/* A rule. You may read `zone`; use the other fields only through the functions below. */
typedef struct verge_recurrence {
    uint64_t minutes[24]; /* for each hour, a bit for each minute at which the rule comes */
    uint32_t days;        /* of the month: bits 1 to 31 */
    uint16_t months;      /* bits 1 to 12 */
    uint8_t weekdays;     /* bits 0 (Sunday) to 6 */
    uint8_t flags;
    char zone[VERGE_ZONE_NAME_MAX + 1]; /* as in the text; empty: the text has none */
} verge_recurrence;

/* Reads a rule, but does not check whether the zone exists: verge_zone_open does. -EINVAL: the text is not a rule, or
 * the rule never comes ("0 0 30 2 *"). If the call fails, `why` gets a sentence with the reason, cut to size bytes;
 * otherwise `why` becomes empty. `why` may be NULL. */
VERGE_API VERGE_MUST_USE int verge_recurrence_parse(const char *rule, verge_recurrence *ret_recurrence, char *why,
                                                    size_t size);

typedef struct verge_zone verge_zone;

/*
 * Reads a zone from the system's files, in /usr/share/zoneinfo or the folder that the environment variable TZDIR names.
 * "", "UTC" and NULL are UTC, for which no file is needed. If allocator is NULL, the default one is used.
 * -EINVAL: this cannot be the name of a zone. -ENOENT: there is no such zone. -EPROTO: its file is not in the TZif
 * format, or has version 1 or leap seconds. -EIO, -EACCES, -ENOMEM.
 */
VERGE_API VERGE_MUST_USE int verge_zone_open(const char *name, const verge_allocator *allocator, verge_zone **ret_zone);

/* Reads a zone from the bytes of a TZif file. -EPROTO, -ENOMEM: as for verge_zone_open. */
VERGE_API VERGE_MUST_USE int verge_zone_read(const void *bytes, size_t size, const verge_allocator *allocator,
                                             verge_zone **ret_zone);

/* NULL is allowed. */
VERGE_API void verge_zone_close(verge_zone *zone);

/* Returns the next occurrence after a time. A zone of NULL means UTC. Returns VERGE_NEVER if there is no occurrence
 * before April 2262 (2^63 ns), or if the rule was not initialised. */
VERGE_API uint64_t verge_recurrence_next(const verge_recurrence *rule, const verge_zone *zone, uint64_t after_ns);

#ifdef __cplusplus
}
#endif

#endif
