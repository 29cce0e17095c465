/* SPDX-License-Identifier: MIT */
/*
 * base/compiler.h - hints to the compiler. Only VERGE__MAY_ALIAS changes what the code means.
 *
 * Calendar, wheel, loop, interval and what they use of base need a C17 compiler and nothing else. What they take from
 * GNU C is here, in bits.h, in one_thread.h and in relaxed.h, each with a form for other compilers. With VERGE_ISO_C,
 * any compiler uses these forms, so that they can be tested. VERGE_ISO_C has no effect on VERGE__NOT_SANITIZED, nor on
 * the assembly in relaxed.h. For other compilers, VERGE__MAY_ALIAS is empty: nothing in C17 replaces it. So these
 * compilers must not assume strict aliasing. Usually they do not assume it; if one does, give it an option like
 * -fno-strict-aliasing.
 */
#ifndef VERGE_SRC_BASE_COMPILER_H
#define VERGE_SRC_BASE_COMPILER_H

#if (defined(__GNUC__) || defined(__clang__)) && !defined(VERGE_ISO_C)
#define VERGE__GNU_C 1
#else
#define VERGE__GNU_C 0
#endif

/* The wheel as one file can be compiled as C++. C++ spells _Alignas, _Alignof and _Static_assert differently, and has
 * _Atomic only from C++23 on. */
#if defined(__cplusplus)
#define _Alignas alignas
#define _Alignof alignof
#define _Static_assert static_assert
#define __STDC_NO_ATOMICS__ 1
#endif

#if VERGE__GNU_C
#define VERGE__LIKELY(condition) __builtin_expect(!!(condition), 1)
#define VERGE__UNLIKELY(condition) __builtin_expect(!!(condition), 0)
#define VERGE__PREFETCH(address) __builtin_prefetch((address), 0, 3)
#define VERGE__PREFETCH_WRITE(address) __builtin_prefetch((address), 1, 3)
#define VERGE__ALWAYS_INLINE inline __attribute__((always_inline))
#define VERGE__NOINLINE __attribute__((noinline))
/* Memory that is declared as another type may be accessed through this type. This type is no larger than the other one,
 * and has the same alignment. */
#define VERGE__MAY_ALIAS __attribute__((may_alias))
#if defined(__MINGW32__) && !defined(__clang__) /* MinGW's default printf has other formats */
#define VERGE__PRINTF(text, values) __attribute__((format(gnu_printf, text, values)))
#else
#define VERGE__PRINTF(text, values) __attribute__((format(printf, text, values)))
#endif
#else
#define VERGE__LIKELY(condition) (!!(condition))
#define VERGE__UNLIKELY(condition) (!!(condition))
#define VERGE__PREFETCH(address) ((void)(address))
#define VERGE__PREFETCH_WRITE(address) ((void)(address))
#define VERGE__ALWAYS_INLINE inline
#define VERGE__NOINLINE
#define VERGE__MAY_ALIAS
#define VERGE__PRINTF(text, values)
#endif

/* For functions that read memory that other threads may be writing, or that is not initialised. The address, thread and
 * memory sanitizers do not check such a function. */
#if defined(__clang__)
#define VERGE__NOT_SANITIZED __attribute__((no_sanitize("address", "thread", "memory")))
#elif defined(__GNUC__)
#define VERGE__NOT_SANITIZED __attribute__((no_sanitize_address, no_sanitize_thread))
#else
#define VERGE__NOT_SANITIZED
#endif

/* ThreadSanitizer must see all atomic accesses, so its builds use no assembly for them. */
#if defined(__SANITIZE_THREAD__)
#define VERGE__THREADS_ARE_WATCHED 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define VERGE__THREADS_ARE_WATCHED 1
#endif
#endif

#endif
