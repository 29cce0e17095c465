#!/bin/sh
# SPDX-License-Identifier: MIT
# private.sh SOURCE CC CXX: libraries that have a copy of verge inside, compiled with VERGE_PRIVATE, export none of its
# names; and two of them, with copies of different versions and options, live in one process.
set -eu

source=$1
cc=$2
cxx=$3
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

step() { echo "== $*"; }

exports_nothing() { # exports_nothing LIBRARY [NAME]: except names that begin with NAME
    nm -D --defined-only "$1" | awk '{ print $3 }' | grep -v "^${2:-none}_" >"$work/exported" || :
    if [ -s "$work/exported" ]; then
        echo "$1 exports:"
        cat "$work/exported"
        exit 1
    fi
}

"$source/scripts/amalgamate" --out "$work/first_copy"
cp -R "$work/first_copy" "$work/second_copy"
sed -i 's/^#define VERGE_VERSION_PATCH .*/#define VERGE_VERSION_PATCH 4711/' "$work/second_copy/verge.h" "$work/second_copy/verge_full.h"
version=$(sed -n 's/^#define VERGE_VERSION_[A-Z]* //p' "$work/first_copy/verge.h" | paste -sd. -)
versions="$version ${version%.*}.4711"

# Flags and versions are separate words throughout.
# shellcheck disable=SC2086
libraries() { # libraries COMPILER FLAG...: the second library has other options
    options=
    for name in first second; do
        "$@" -O0 -fPIC -DVERGE_PRIVATE $options -c "$work/${name}_copy/verge.c" -o "$work/$name.copy.o"
        "$@" -O0 -fPIC -DLIBRARY=$name -I"$work/${name}_copy" -c "$source/tests/install/private.c" -o "$work/$name.o"
        "$cc" -shared "$work/$name.o" "$work/$name.copy.o" -o "$work/lib$name.so"
        exports_nothing "$work/lib$name.so" $name
        options=-DVERGE_ASSERTS=1
    done
}

for compiler in "$cc -std=c11" "$cxx -x c++ -std=c++17"; do
    step "two shared libraries, by $compiler"
    # shellcheck disable=SC2086
    libraries $compiler
    "$cc" "$source/tests/install/private.c" -L"$work" -lfirst -lsecond -Wl,-rpath,"$work" -o "$work/program"
    # shellcheck disable=SC2086
    "$work/program" $versions
done

step "two static libraries, whose hidden names were made local"
# shellcheck disable=SC2086
libraries "$cc" -std=c11
for name in first second; do
    ld -r "$work/$name.o" "$work/$name.copy.o" -o "$work/$name.one.o"
    objcopy --localize-hidden "$work/$name.one.o"
done
"$cc" "$source/tests/install/private.c" "$work/first.one.o" "$work/second.one.o" -o "$work/program"
# shellcheck disable=SC2086
"$work/program" $versions

step "all of verge"
"$cc" -std=c11 -O0 -fPIC -shared -DVERGE_PRIVATE -pthread "$work/first_copy/verge_full.c" -o "$work/libfull.so"
exports_nothing "$work/libfull.so"

step "the classes of verge.hpp"
sed 's|<verge/verge.hpp>|"verge.hpp"|; s/int main()/int first_main()/' "$source/examples/wheel_in_cpp.cpp" >"$work/classes.cpp"
"$cxx" -std=c++17 -O0 -fPIC -DVERGE_PRIVATE -I"$work/first_copy" -c "$work/classes.cpp" -o "$work/classes.o"
"$cxx" -shared "$work/classes.o" "$work/first.copy.o" -o "$work/libclasses.so"
if nm -D --defined-only "$work/libclasses.so" | grep -e 5verge -e ' verge_'; then
    exit 1
fi
