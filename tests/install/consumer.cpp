// SPDX-License-Identifier: MIT
// The headers are C++ too: names link, and the inline functions compile.
#include "every_header.h" // written by consumers.sh: includes all installed headers

int main() {
    verge_wheel_options options;
    verge_wheel *wheel = nullptr;
    if (verge_wheel_options_init(&options, sizeof(options), VERGE_PRESET_DEFAULT) != 0 ||
        verge_wheel_create(&options, &wheel) != 0) {
        return 1;
    }
    verge_wheel_destroy(wheel);
    return verge_version_number() == VERGE_VERSION_MAJOR * 1000000 + VERGE_VERSION_MINOR * 1000 + VERGE_VERSION_PATCH
               ? 0
               : 1;
}
