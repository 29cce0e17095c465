/* SPDX-License-Identifier: MIT */
/*
 * base/assert.h - forgiving at the border, brutal inside.
 *
 * Bad input from a caller gets an error. What the library assumes about itself is an invariant. If the head of a file
 * lists an invariant by a number, the second argument begins with it: VERGE__INVARIANT(count <= capacity, "W3: ..."). A
 * build with VERGE_ASSERTS checks invariants, and aborts if one is broken. Other builds do not evaluate them.
 */
#ifndef VERGE_SRC_BASE_ASSERT_H
#define VERGE_SRC_BASE_ASSERT_H

#if defined(VERGE_ASSERTS) && VERGE_ASSERTS

#include <stdio.h>
#include <stdlib.h>

#define VERGE__INVARIANT(condition, text) \
    do { \
        if (!(condition)) { \
            (void)fprintf(stderr, "%s:%d: verge invariant broken: %s (%s)\n", __FILE__, __LINE__, (text), #condition); \
            abort(); \
        } \
    } while (0)

#else

/* sizeof evaluates nothing, but the compiler sees that the names are used. */
#define VERGE__INVARIANT(condition, text) ((void)sizeof(!(condition)), (void)sizeof(text))

#endif

#endif
