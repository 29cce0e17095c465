/* SPDX-License-Identifier: MIT */
#include "verge/base.h"

#define TEXT_OF(value) #value
#define TEXT(value) TEXT_OF(value)

const char *verge_version(void) {
    return TEXT(VERGE_VERSION_MAJOR) "." TEXT(VERGE_VERSION_MINOR) "." TEXT(VERGE_VERSION_PATCH);
}

uint32_t verge_version_number(void) {
    return VERGE_VERSION_MAJOR * UINT32_C(1000000) + VERGE_VERSION_MINOR * UINT32_C(1000) + VERGE_VERSION_PATCH;
}
