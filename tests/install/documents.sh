#!/bin/sh
# SPDX-License-Identifier: MIT
# documents.sh SOURCE CC: installs the headers and documents of a verge without durable, and follows the links of the
# documents. consumers.sh does so with durable, if that was built.
set -eu

source=$1
cc=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

cmake -S "$source" -B "$work/build" -DCMAKE_C_COMPILER="$cc" -DVERGE_DURABLE=OFF -DVERGE_TESTS=OFF >"$work/log" 2>&1 || {
    cat "$work/log"
    exit 1
}
for component in headers documents; do
    cmake --install "$work/build" --prefix "$work/prefix" --component $component >"$work/log"
done
test ! -e "$work/prefix/include/verge/durable.h"
test -f "$work/prefix/share/doc/verge/docs/DURABLE.md"
sh "$source/tests/docs/links.sh" "$work/prefix/share/doc/verge"
