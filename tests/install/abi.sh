#!/bin/sh
# SPDX-License-Identifier: MIT
# abi.sh SOURCE [--record]: everything that tests/install/abi.txt lists is still declared in the same way. So a program
# that was compiled with older headers works with the present library. New declarations are allowed. --record writes the
# list anew, after something was added, or was changed on purpose before a new minor version.
set -eu

source=$1
list=$source/tests/install/abi.txt
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

"$source/scripts/declarations" "$source"/include/verge/*.h | LC_ALL=C sort >"$work/now"
if [ "${2:-}" = --record ]; then
    cp "$work/now" "$list"
    exit 0
fi
LC_ALL=C sort -c "$list"
LC_ALL=C comm -23 "$list" "$work/now" >"$work/gone"
LC_ALL=C comm -13 "$list" "$work/now" >"$work/new"
if [ -s "$work/gone" ]; then
    echo "no longer declared, or not like this:"
    cat "$work/gone"
    echo "declared, and not in the list:"
    cat "$work/new"
    exit 1
fi
echo "$(wc -l <"$list") declarations as they were, $(wc -l <"$work/new") new ones"
