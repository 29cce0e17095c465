#!/bin/sh
# SPDX-License-Identifier: MIT
#
# tests/portable/run.sh SOURCE_DIR WORK_DIR [MACHINE...]
#
# The wheel's one file (scripts/amalgamate) on other machines: compiled for each without a warning. Then the tests of
# wheel, loop, interval and model, and some of base, run with it, emulated. A machine whose compiler or emulator is not
# here is an error.
#
#   iso        this machine, without GNU C (VERGE_ISO_C) and without <stdatomic.h>
#   s390x      big-endian
#   i386, arm  32 bits
#   windows    compiled and linked only: nothing here runs it
set -eu

source=$1
work=$2
shift 2
[ $# -gt 0 ] || set -- iso s390x i386 arm windows
mkdir -p "$work"
"$source/scripts/amalgamate" --out "$work"

warnings="-std=c17 -Wall -Wextra -Wpedantic -Wconversion -Wundef -Wvla -Werror"
inside="-O1 -DVERGE_ASSERTS=1 -DVERGE_STEPS=1 -I$source/tests/portable -I$source/tests -I$source/src -I$source/include"

# Tests with threads and processes are not ISO C.
tests=$(grep -L -e 'pthread\.h' -e 'unistd\.h' -e 'sys/' "$source"/tests/wheel/*.c "$source"/tests/loop/*.c \
    "$source"/tests/interval/*.c "$source"/tests/base/bits.c "$source"/tests/base/errors.c "$source"/tests/base/allocator.c)
model="$(ls "$source"/tests/model/*.c) $source/tests/support/crash.c"
export VERGE_TEST_SCALE="${VERGE_TEST_SCALE:-0.1}"

# run_on MACHINE COMPILER EMULATOR: EMULATOR is a command that runs a program, or empty
run_on() {
    machine=$1
    compiler=$2
    emulator=$3
    objects=$work/$machine
    mkdir -p "$objects"
    # The compiler and its options are separate words, and so are the sources.
    # shellcheck disable=SC2086
    {
        $compiler $warnings -O2 -c "$work/verge.c" -o "$objects/strict.o"
        $compiler -std=c17 $inside -I"$work" -c "$work/verge.c" -o "$objects/verge.o"
        $compiler -std=c17 $inside -c "$source/tests/support/allocator.c" -o "$objects/allocator.o"
    }
    count=0
    for test in $tests model; do
        case "$emulator:$test" in
        ?*:*/exhaustive*) continue ;; # minutes, emulated
        esac
        name=$(basename "$(dirname "$test")")_$(basename "$test" .c)
        parts=$test
        [ "$test" != model ] || parts=$model
        # shellcheck disable=SC2086
        $compiler -std=c17 $inside -o "$objects/$name" $parts "$objects/allocator.o" "$objects/verge.o"
        $emulator "$objects/$name" >"$objects/$name.log" 2>&1 || {
            cat "$objects/$name.log"
            echo "portable: $name failed on $machine" >&2
            exit 1
        }
        count=$((count + 1))
    done
    echo "$machine: verge.c compiles without a warning, $count programs pass"
}

# Links a program that uses verge.c, so that nothing that verge.c needs is missing on Windows.
link_for_windows() {
    compiler=x86_64-w64-mingw32-gcc
    # shellcheck disable=SC2086
    $compiler $warnings -O2 -I"$work" -o "$work/portable.exe" "$source/tests/portable/program.c" "$work/verge.c"
    echo "windows: verge.c compiles without a warning, a program links"
}

for machine; do
    case $machine in
    iso) run_on iso "cc -DVERGE_ISO_C -D__STDC_NO_ATOMICS__ -fno-strict-aliasing" "" ;;
    s390x) run_on s390x s390x-linux-gnu-gcc "qemu-s390x -L /usr/s390x-linux-gnu" ;;
    i386) run_on i386 i686-linux-gnu-gcc "qemu-i386 -L /usr/i686-linux-gnu" ;;
    arm) run_on arm arm-linux-gnueabihf-gcc "qemu-arm -L /usr/arm-linux-gnueabihf" ;;
    windows) link_for_windows ;;
    *)
        echo "portable: no such machine: $machine" >&2
        exit 2
        ;;
    esac
done
