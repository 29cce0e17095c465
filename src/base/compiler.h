/* SPDX-License-Identifier: MIT */
/* base/compiler.h - hints to the compiler; without them the code means the same. */
#ifndef VERGE_SRC_BASE_COMPILER_H
#define VERGE_SRC_BASE_COMPILER_H

#if defined(__GNUC__) || defined(__clang__)
#define VERGE__LIKELY(condition) __builtin_expect(!!(condition), 1)
#define VERGE__UNLIKELY(condition) __builtin_expect(!!(condition), 0)
#define VERGE__PREFETCH(address) __builtin_prefetch((address), 0, 3)
#define VERGE__PREFETCH_WRITE(address) __builtin_prefetch((address), 1, 3)
#define VERGE__ALWAYS_INLINE inline __attribute__((always_inline))
#define VERGE__NOINLINE __attribute__((noinline))
/* Objects of the type may be declared with another type, of the same size and alignment. */
#define VERGE__MAY_ALIAS __attribute__((may_alias))
/* A value is computed here, not only where a branch needs it. */
#define VERGE__IS_NEEDED(value) __asm__("" : "+r"(value))
#else
#define VERGE__LIKELY(condition) (!!(condition))
#define VERGE__UNLIKELY(condition) (!!(condition))
#define VERGE__PREFETCH(address) ((void)(address))
#define VERGE__PREFETCH_WRITE(address) ((void)(address))
#define VERGE__ALWAYS_INLINE inline
#define VERGE__NOINLINE
#define VERGE__MAY_ALIAS
#define VERGE__IS_NEEDED(value) ((void)(value))
#endif

/* By ThreadSanitizer, which must see what orders what: no assembly there. */
#if defined(__SANITIZE_THREAD__)
#define VERGE__THREADS_ARE_WATCHED 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define VERGE__THREADS_ARE_WATCHED 1
#endif
#endif

#endif
