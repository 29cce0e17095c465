# SPDX-License-Identifier: MIT
# verge_runnable(VARIABLE TARGET): what a script or another program calls to run the program TARGET: the program itself
# or, if it is for another machine, a script that emulates that machine.

function(verge_runnable variable target)
    set(runnable $<TARGET_FILE:${target}>)
    if(CMAKE_CROSSCOMPILING)
        get_property(is_written TARGET ${target} PROPERTY VERGE_IS_RUNNABLE)
        if(NOT is_written)
            list(JOIN CMAKE_CROSSCOMPILING_EMULATOR " " emulator)
            file(GENERATE OUTPUT ${PROJECT_BINARY_DIR}/emulated/${target}
                CONTENT "#!/bin/sh\nexec ${emulator} ${runnable} \"$@\"\n"
                FILE_PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE)
            set_property(TARGET ${target} PROPERTY VERGE_IS_RUNNABLE TRUE)
        endif()
        set(runnable ${PROJECT_BINARY_DIR}/emulated/${target})
    endif()
    set(${variable} ${runnable} PARENT_SCOPE)
endfunction()
