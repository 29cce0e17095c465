/* SPDX-License-Identifier: MIT */
/*
 * verge/base.h - what every layer of verge shares: errors, memory, clocks, version.
 *
 * Times are uint64_t nanoseconds on a clock of the caller's choice. Errors are negative errno
 * values returned as int; results go through trailing ret_ pointers, which are left untouched on
 * failure. The library never prints, exits or aborts because of what a caller passes in.
 *
 *   -EINVAL     an argument, an option or a time that makes no sense
 *   -ERANGE     a time too far ahead
 *   -ENOENT     a handle whose timer is gone: it fired, was cancelled or was cleared
 *   -EBADF      a handle that never was
 *   -EOVERFLOW  arithmetic that does not fit
 *   -ENOSPC     a configured cap is reached
 *   -ENOMEM     memory ran out; nothing has changed
 *   -EBUSY      not now: something that must be idle is not
 */
#ifndef VERGE_BASE_H
#define VERGE_BASE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(_WIN32) /* so that these headers can be read there; verge itself is for Linux */
#define VERGE_API
#else
#define VERGE_API __attribute__((visibility("default")))
#endif

/* The compiler warns where such a result is ignored: without a look at it the program goes wrong. */
#if defined(__GNUC__)
#define VERGE_MUST_USE __attribute__((warn_unused_result))
#else
#define VERGE_MUST_USE
#endif

/* ---- version: this is the one place where it is written ---- */

#define VERGE_VERSION_MAJOR 0
#define VERGE_VERSION_MINOR 1
#define VERGE_VERSION_PATCH 0

/* "major.minor.patch" of the library that is linked, which may be newer than the header. */
VERGE_API const char *verge_version(void);

/* major * 1000000 + minor * 1000 + patch of the library that is linked. */
VERGE_API uint32_t verge_version_number(void);

/* ---- errors ---- */

/* A sentence for a negative errno value that verge returns, in the system's words if it is the system's; never NULL, never
 * to be freed. */
VERGE_API const char *verge_strerror(int error);

/* ---- time ---- */

/* No time at all: later than every time. It is not a valid deadline. */
#define VERGE_NEVER UINT64_MAX

/* A source of time. now_ns may be called from any thread that uses the object it was given to. */
typedef struct verge_clock {
    uint64_t (*now_ns)(void *context);
    void *context;
} verge_clock;

VERGE_API verge_clock verge_clock_monotonic(void); /* stands still while the machine sleeps */
VERGE_API verge_clock verge_clock_boottime(void);  /* goes on while the machine sleeps */

/* A clock that moves only when told to. Set and read from any thread; goes backwards if told so. */
typedef struct verge_manual_clock {
    uint64_t now_ns; /* use the functions below */
} verge_manual_clock;

VERGE_API void verge_manual_clock_set(verge_manual_clock *manual, uint64_t now_ns);
VERGE_API void verge_manual_clock_advance(verge_manual_clock *manual, uint64_t duration_ns);
VERGE_API verge_clock verge_clock_manual(verge_manual_clock *manual);

/* ---- memory ---- */

/*
 * Where an object gets its memory. alignment is a power of two; size is a multiple of it when it
 * exceeds that of max_align_t. allocate returns NULL when there is none. release gets the size that was asked for
 * and is never called with NULL.
 */
typedef struct verge_allocator {
    void *(*allocate)(void *context, size_t size, size_t alignment);
    void (*release)(void *context, void *memory, size_t size);
    void *context;
} verge_allocator;

/* malloc; blocks aligned to 2 MiB are also advised to be huge pages where the system has them. */
VERGE_API const verge_allocator *verge_allocator_default(void);

#ifdef __cplusplus
}
#endif

#endif
