#!/bin/sh
# SPDX-License-Identifier: MIT
# cpp.sh SOURCE LIBRARY...: compiles and runs tests/durable/cpp.cpp in C++17 and C++20, with g++ and clang++ if they are
# installed, and with sanitizers.
set -eu
source=$1
shift
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
tried=0
for compiler in g++ clang++; do
    command -v "$compiler" >/dev/null || continue
    for standard in c++17 c++20; do
        echo "== $compiler, $standard"
        "$compiler" -std=$standard -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wundef -Werror -I"$source/include" -g \
            -fsanitize=address,undefined -fno-sanitize-recover=all "$source/tests/durable/cpp.cpp" "$@" -pthread -o "$work/program"
        "$work/program" "sqlite:$work/$compiler-$standard.db"
        tried=$((tried + 1))
    done
done
test "$tried" -gt 0
