/* SPDX-License-Identifier: MIT */
/* support/cmocka.h - cmocka with the headers that it wants to see before it. */
#ifndef VERGE_TESTS_SUPPORT_CMOCKA_H
#define VERGE_TESTS_SUPPORT_CMOCKA_H

/* clang-format off */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#endif
