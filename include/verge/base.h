/* SPDX-License-Identifier: MIT */
/*
 * verge/base.h - what all layers of verge share: errors, memory, clocks, version.
 *
 * Times are uint64_t nanoseconds, on a clock that the caller chooses. A function that can fail returns an int (a
 * ptrdiff_t, if it transfers bytes): 0 or more, or a negative errno value. Other results go through trailing ret_
 * pointers, which are not written if the call fails. Bad arguments do not make the library print, exit or abort, unless
 * it was built with VERGE_ASSERTS.
 *
 * Some structs begin with struct_size: the size of the struct, which tells the library the version of the caller's
 * header. In results, and in options whose defaults are zero, set this field; all other fields may stay zero:
 *
 *     verge_start_options options = {.struct_size = sizeof(options)};
 *     verge_start_options options{}; options.struct_size = sizeof(options);    -- in C++
 *
 * Options with other defaults are filled by a function, as in verge_service_options_init(&options, sizeof(options)).
 *
 * Errors
 *   -EINVAL     an invalid argument, option or time
 *   -ERANGE     a time that is too far ahead
 *   -ENOENT     not found: the timer of this handle has ended (it fired or was cancelled); or there is no
 *               such file, socket, host or table
 *   -EBADF      this number was never a handle, or is not an open descriptor
 *   -EOVERFLOW  the result does not fit into its type
 *   -ENOSPC     a cap that you have set is reached
 *   -ENOMEM     out of memory; nothing has changed
 *   -ECHILD     a service or runtime of the parent, used in the child of a fork
 *   -EBUSY      not possible now: something is in use that must be idle
 */
#ifndef VERGE_BASE_H
#define VERGE_BASE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* If a library contains a copy of verge, define VERGE_PRIVATE: then the library does not export verge's names. A
 * program that contains a copy may define VERGE_API as empty. */
#if !defined(VERGE_API)
#if !defined(__GNUC__) || defined(_WIN32)
#define VERGE_API
#elif defined(VERGE_PRIVATE)
#define VERGE_API __attribute__((visibility("hidden")))
#else
#define VERGE_API __attribute__((visibility("default")))
#endif
#endif

/* Marks a function: the compiler warns if a caller ignores its result. */
#if defined(__GNUC__)
#define VERGE_MUST_USE __attribute__((warn_unused_result))
#else
#define VERGE_MUST_USE
#endif

/* ---- version: written here and nowhere else ---- */

#define VERGE_VERSION_MAJOR 0
#define VERGE_VERSION_MINOR 3
#define VERGE_VERSION_PATCH 0

/* "major.minor.patch" of the linked library, which may be newer than this header. */
VERGE_API const char *verge_version(void);

/* major * 1000000 + minor * 1000 + patch, of the linked library. */
VERGE_API uint32_t verge_version_number(void);

/* ---- errors ---- */

enum {
    VERGE_RUNNING = 1, /* a verdict, and no error: the callback is running now (verge/service.h, verge/durable.h) */
};

/* A sentence that explains an error which verge returned, or VERGE_RUNNING. If verge only passes an error on from the
 * system, the text is that of the system. Any other positive number counts as an errno value. Never NULL; do not free
 * it. */
VERGE_API const char *verge_strerror(int error);

/* ---- time ---- */

/* "No time": greater than every time. A call with this deadline waits for as long as it takes. */
#define VERGE_NEVER UINT64_MAX

/* A source of time. Every thread that uses an object with this clock may call now_ns. */
typedef struct verge_clock {
    uint64_t (*now_ns)(void *context);
    void *context;
} verge_clock;

VERGE_API verge_clock verge_clock_monotonic(void); /* stands still while the machine sleeps */
VERGE_API verge_clock verge_clock_boottime(void);  /* goes on while the machine sleeps; where there is no such clock,
                                                      it is the monotonic one */

/*
 * The time of day: ns since 1970, UTC. It jumps when somebody sets it, and when the machine wakes up. A service with
 * this clock notices a jump at once (in its own threads, and in yours that are in verge_worker_run_once): a timer for
 * 09:00 runs when the clock says 09:00, or at once if the clock jumped over that time. If the clock is set back,
 * pending timers wait for their time. But a timer that is started later, for a time that the service has already seen,
 * runs at once.
 */
VERGE_API verge_clock verge_clock_realtime(void);

/* A clock that moves only when you move it, also backwards. Any thread may set and read it. */
typedef struct verge_manual_clock {
    uint64_t now_ns; /* use the functions below */
} verge_manual_clock;

VERGE_API void verge_manual_clock_set(verge_manual_clock *manual, uint64_t now_ns);
VERGE_API void verge_manual_clock_advance(verge_manual_clock *manual, uint64_t duration_ns);
VERGE_API verge_clock verge_clock_manual(verge_manual_clock *manual);

/* ---- memory ---- */

/*
 * Where an object gets its memory. alignment is a power of two. If it is greater than the alignment of max_align_t,
 * size is a multiple of alignment. allocate returns NULL if there is no memory. release gets the size that was asked
 * for, and is never called with NULL.
 */
typedef struct verge_allocator {
    void *(*allocate)(void *context, size_t size, size_t alignment);
    void (*release)(void *context, void *memory, size_t size);
    void *context;
} verge_allocator;

/* Uses malloc and free. For blocks aligned to 2 MiB, it asks the system for huge pages. When a block of 16 KiB or more
 * is released, its pages go back to the system, even if free keeps the block for later use. (Both on Linux.) */
VERGE_API const verge_allocator *verge_allocator_default(void);

/*
 * For programs that have functions like malloc and free, which their users may replace. verge_host_allocate and
 * verge_host_release make an allocator of them, and align blocks by themselves. Each block takes up to alignment + 8
 * bytes more. If verge asks for an alignment of 2 MiB (for huge pages), the block is aligned to 4096 instead.
 *
 *     static const verge_host_memory memory = {my_malloc, my_free};
 *     static const verge_allocator allocator = {verge_host_allocate, verge_host_release, (void *)&memory};
 */
typedef struct verge_host_memory {
    void *(*allocate)(size_t size); /* NULL: there is no memory */
    void (*release)(void *memory);
} verge_host_memory;

VERGE_API void *verge_host_allocate(void *memory, size_t size, size_t alignment);
VERGE_API void verge_host_release(void *memory, void *block, size_t size);

#ifdef __cplusplus
}
#endif

#endif
