/* SPDX-License-Identifier: MIT */
/*
 * base/assert.h - forgiving at the border, brutal inside.
 *
 * What a caller passes in is answered with an error. What the library itself believes is stated
 * as an invariant, with its number first: VERGE__INVARIANT(count <= capacity, "W3: ...").
 * A build with VERGE_ASSERTS checks it and aborts; any other build does not evaluate it.
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

/* sizeof keeps the names in the condition used, and evaluates nothing. */
#define VERGE__INVARIANT(condition, text) ((void)sizeof(!(condition)), (void)sizeof(text))

#endif

#endif
