# SPDX-License-Identifier: MIT
# The toolchain of `make test-cross`: it builds for aarch64 on x86-64, and for x86-64 on aarch64, with the compilers of
# Debian. Programs are run by qemu-user. scripts/sysroot has put the C library and the other libraries of that machine
# into build/sysroot.

if(CMAKE_HOST_SYSTEM_PROCESSOR STREQUAL aarch64)
    set(machine x86_64)
else()
    set(machine aarch64)
endif()

set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR ${machine})
set(CMAKE_C_COMPILER ${machine}-linux-gnu-gcc)
set(CMAKE_CXX_COMPILER ${machine}-linux-gnu-g++)

cmake_path(SET CMAKE_SYSROOT NORMALIZE ${CMAKE_CURRENT_LIST_DIR}/../build/sysroot)
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
set(ENV{PKG_CONFIG_SYSROOT_DIR} ${CMAKE_SYSROOT})
set(ENV{PKG_CONFIG_LIBDIR} ${CMAKE_SYSROOT}/usr/lib/${machine}-linux-gnu/pkgconfig:${CMAKE_SYSROOT}/usr/share/pkgconfig)

# With -L, a program finds its loader and its libraries in the sysroot.
set(CMAKE_CROSSCOMPILING_EMULATOR qemu-${machine} -L ${CMAKE_SYSROOT})
