#!/bin/sh
# SPDX-License-Identifier: MIT
# cpp.sh SOURCE LIBRARY [liburing]: verge.hpp in C++17 and C++20, by g++ and clang++ if they are here: programs that
# check what the header promises, with sanitizers; the examples; and code that must not compile.
set -eu

source=$1
library=$2
libraries="-pthread${3:+ -luring}"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
warnings="-Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wundef -Werror -I$source/include"

step() { echo "== $*"; }

tried=0
# Flags are separate words throughout.
# shellcheck disable=SC2086
for compiler in g++ clang++; do
    command -v "$compiler" >/dev/null || continue
    for standard in c++17 c++20; do
        step "$compiler, $standard"
        for program in hpp nested; do
            "$compiler" -std=$standard $warnings -g -fsanitize=address,undefined -fno-sanitize-recover=all \
                "$source/tests/install/$program.cpp" "$library" $libraries -o "$work/$program"
            "$work/$program"
        done
        "$compiler" -std=$standard $warnings -O2 "$source/examples/wheel_in_cpp.cpp" "$library" $libraries -o "$work/example"
        "$work/example"
        tried=$((tried + 1))
    done
    "$compiler" -std=c++20 $warnings -O2 "$source/examples/coroutines.cpp" "$library" $libraries -o "$work/example"
    "$work/example"

    step "$compiler: what must not compile"
    for mistake in 'verge::to_ns(1s);' 'loop.timeout_ms(loop.now());' 'verge::timer copy(timer);' 'verge::loop other(std::move(loop));' \
        'timer.start_after(loop, 5, [] {});'; do
        printf '#include <utility>\n#include <verge/verge.hpp>\nusing namespace std::chrono_literals;\n' >"$work/mistake.cpp"
        printf 'void f(verge::loop &loop, verge::timer &timer);\n' >>"$work/mistake.cpp"
        printf 'void f(verge::loop &loop, verge::timer &timer) { (void)loop; (void)timer; %s }\n' "$mistake" >>"$work/mistake.cpp"
        if "$compiler" -std=c++17 $warnings -fsyntax-only "$work/mistake.cpp" 2>"$work/log"; then
            echo "it compiles: $mistake"
            exit 1
        fi
    done
done
test "$tried" -gt 0
