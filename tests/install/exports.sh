#!/bin/sh
# SPDX-License-Identifier: MIT
# exports.sh SOURCE LIBRARY [durable]: the functions that the headers of libverge or libverge-durable declare are those
# that the version script lists, and those that the shared library exports. The version script has the version of the
# header.
set -eu

source=$1
library=$2
if [ "${3:-}" = durable ]; then
    headers=$source/include/verge/durable.h
    map=src/durable/libverge-durable.map
else
    headers=$(find "$source/include/verge" -name '*.h' ! -name durable.h)
    map=src/libverge.map
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# A declaration may go over several lines. The definition of the macro VERGE_API is not a declaration.
# shellcheck disable=SC2086 # several files
cat $headers | grep -v '^#' | tr '\n' ' ' | grep -oE 'VERGE_API [^;(]*\(' |
    sed -E 's/.*[ *]([a-z0-9_]+)\($/\1/' | sort -u >"$work/declared"
sed -nE 's/^ +(verge_[a-z0-9_]+);$/\1/p' "$source/$map" | sort -u >"$work/listed"
nm -D --defined-only "$library" | sed -nE 's/^[0-9a-f]+ [A-Z] (verge[a-z0-9_]*)(@.*)?$/\1/p' | sort -u >"$work/exported"

[ -s "$work/declared" ] || { echo "no declaration was found"; exit 1; }
echo "headers (<) against $map (>)"
diff "$work/declared" "$work/listed"
echo "$map (<) against the shared library (>)"
diff "$work/listed" "$work/exported"
number() { sed -n "s/^#define VERGE_VERSION_$1 \([0-9]*\)$/\1/p" "$source/include/verge/base.h"; }
version=$(number MAJOR).$(number MINOR)
grep -q "^VERGE_[A-Z_]*$version {" "$source/$map" || { echo "$map is not of $version"; exit 1; }
echo "$(wc -l <"$work/declared") functions"
