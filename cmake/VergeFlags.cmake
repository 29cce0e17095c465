# SPDX-License-Identifier: MIT
# verge_flags: the flags of everything that is built here. Linked privately, so that none of them reaches a user's code.

add_library(verge_flags INTERFACE)

if(CMAKE_C_COMPILER_ID MATCHES "GNU|Clang")
    target_compile_options(verge_flags INTERFACE
        -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wundef -Wvla
        $<$<COMPILE_LANGUAGE:C>:-Wstrict-prototypes> $<$<COMPILE_LANGUAGE:C>:-Wmissing-prototypes>
        $<$<BOOL:${VERGE_WERROR}>:-Werror>)
    if(VERGE_SANITIZE)
        target_compile_options(verge_flags INTERFACE
            -fsanitize=${VERGE_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
        target_link_options(verge_flags INTERFACE -fsanitize=${VERGE_SANITIZE})
    endif()
    if(VERGE_COVERAGE)
        target_compile_options(verge_flags INTERFACE --coverage -fprofile-update=atomic)
        target_link_options(verge_flags INTERFACE --coverage)
    endif()
endif()

target_compile_definitions(verge_flags INTERFACE
    $<$<BOOL:${VERGE_ASSERTS}>:VERGE_ASSERTS=1> $<$<BOOL:${VERGE_STEPS}>:VERGE_STEPS=1>)
