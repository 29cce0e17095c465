#!/bin/sh
# SPDX-License-Identifier: MIT
# amalgamation.sh SOURCE CC CXX [liburing]: makes the library as one file (scripts/amalgamate), compiles it alone by
# each compiler that is here, and builds and runs the examples with it.
set -eu

source=$1
cc=$2
cxx=$3
io_uring=${4:-}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
warnings="-Wall -Wextra -Wpedantic -Werror"

step() { echo "== $*"; }

"$source/scripts/amalgamate" --out "$work"
step "made twice, it is the same"
"$source/scripts/amalgamate" --out "$work/again"
for file in verge.c verge.h verge_full.c verge_full.h; do
    cmp "$work/$file" "$work/again/$file"
done

step "the wheel's pair asks for nothing that is not ISO C, but for the clock and memory of the system"
! grep -h '^#include <' "$work/verge.c" "$work/verge.h" | sort -u |
    grep -v -e '<\(errno\|inttypes\|limits\|stdarg\|stdatomic\|stdbool\|stddef\|stdint\|stdio\|stdlib\|string\|time\)\.h>' \
        -e '<\(sys/mman\|unistd\|malloc\|sys/sdt\)\.h>' || exit 1

each() { # each COMPILER...: those that are here, each once, whatever its names are
    for compiler in "$@"; do
        path=$(command -v "$compiler") && echo "$(readlink -f "$path") $compiler"
    done | awk '!seen[$1]++ { print $2 }'
}

# Flags are separate words throughout.
# shellcheck disable=SC2086
for compiler in $(each "$cc" gcc clang); do
    step "compiled by $compiler"
    for pair in verge verge_full; do
        "$compiler" -std=c17 $warnings -O2 -c "$work/$pair.c" -o "$work/$pair.o"
        for standard in c11 gnu2x; do
            "$compiler" -std=$standard $warnings -fsyntax-only "$work/$pair.c"
        done
    done
    "$compiler" -std=c17 $warnings -DVERGE_ASSERTS=1 -DVERGE_UCONTEXT=1 -fsyntax-only "$work/verge_full.c"
    "$compiler" -std=c17 -pedantic-errors $warnings -DVERGE_ISO_C -fno-strict-aliasing -fsyntax-only "$work/verge.c"
done
for compiler in $(each "$cxx" g++ clang++ clang++-19); do
    for standard in c++17 c++20; do
        step "compiled by $compiler as $standard"
        "$compiler" -std=$standard -x c++ -Wall -Wextra -Werror -DVERGE_ASSERTS=1 -fsyntax-only "$work/verge.c"
        "$compiler" -std=$standard -x c++ -Wall -Wextra -Werror -I"$work" "$source/tests/portable/program.c" "$work/verge.c" -o "$work/program"
        "$work/program"
    done
done
libraries=-pthread
if [ -n "$io_uring" ]; then
    "$cc" -std=c17 $warnings -DVERGE_HAVE_LIBURING=1 -O2 -c "$work/verge_full.c" -o "$work/verge_full.o"
    libraries="-pthread -luring"
fi

# The examples include <verge/...>: here each of these headers includes the single file.
for pair in verge verge_full; do
    mkdir -p "$work/for_$pair/verge"
    for header in "$source"/include/verge/*.h; do
        echo "#include \"../../$pair.h\"" >"$work/for_$pair/verge/$(basename "$header")"
    done
done

# try PAIR NAME LIBRARY...
try() {
    pair=$1
    name=$2
    shift 2
    step "$name, with $pair.c"
    "$cc" -std=c17 -D_GNU_SOURCE -Wall -Wextra -Werror -I"$work/for_$pair" "$source/examples/$name.c" "$work/$pair.o" "$@" \
        -o "$work/$name"
    "$work/$name" >"$work/log" 2>&1 || {
        cat "$work/log"
        exit 1
    }
}

for name in idle_timeouts wheel_in_epoll_loop record_trace; do
    try verge $name
done
for loop in "uv.h libuv -luv" "ev.h libev -lev" "event2/event.h libevent -levent_core"; do
    # shellcheck disable=SC2086
    set -- $loop
    if echo "#include <$1>" | "$cc" -D_GNU_SOURCE -E - >/dev/null 2>&1; then
        try verge "embed_$2" "$3"
    fi
done
for name in echo_server ticker connect_deadline parallel_fetch metrics_over_http; do
    # shellcheck disable=SC2086
    try verge_full $name $libraries
done

step "a program of ISO C"
"$cc" -std=c17 $warnings -I"$work" "$source/tests/portable/program.c" "$work/verge.o" -o "$work/program"
"$work/program"

step "hosts of older standards, with the one file compiled by its own"
for compiler in $(each "$cc" gcc clang); do
    case $("$compiler" --version) in
    *clang*) tolerated=-Wno-c99-extensions ;; # of bool, in C90
    *) tolerated= ;;
    esac
    for standard in c90 c99 c11; do
        "$compiler" -std=$standard $warnings $tolerated -I"$work" "$source/tests/install/host.c" "$work/verge.o" \
            -o "$work/host"
        "$work/host"
    done
    echo '#include "verge_full.h"' >"$work/alone.c"
    "$compiler" -std=c99 -D_GNU_SOURCE $warnings -I"$work" -fsyntax-only "$work/alone.c"
done

step "C++ programs that include it"
sed 's|<verge/verge.hpp>|"verge.hpp"|' "$source/examples/wheel_in_cpp.cpp" >"$work/timers.cpp"
"$cxx" -std=c++17 $warnings -I"$work" "$work/timers.cpp" "$work/verge.o" -o "$work/timers"
"$work/timers"
cp "$source/tests/portable/program.c" "$work/program.cpp"
for standard in c++11 c++17 c++20; do
    for pair in verge verge_full; do
        echo "#include \"$pair.h\"" >"$work/alone.cpp"
        "$cxx" -std=$standard -Wall -Wextra -Werror -I"$work" -fsyntax-only "$work/alone.cpp"
    done
    "$cxx" -std=$standard -Wall -Wextra -Werror -Wno-missing-field-initializers -I"$work" "$work/program.cpp" "$work/verge.o" \
        -o "$work/program"
    "$work/program"
done
