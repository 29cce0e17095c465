# SPDX-License-Identifier: MIT
# VERGE_HAVE_LIBURING: whether the library can use io_uring. Without liburing it has epoll alone.

set(VERGE_HAVE_LIBURING OFF)
if(VERGE_LIBURING)
    find_package(PkgConfig QUIET)
    if(PkgConfig_FOUND)
        pkg_check_modules(LIBURING QUIET liburing>=2.3)
        set(VERGE_HAVE_LIBURING ${LIBURING_FOUND})
    endif()
    if(NOT VERGE_HAVE_LIBURING)
        message(STATUS "verge: no liburing, so no io_uring: epoll alone")
    endif()
endif()
