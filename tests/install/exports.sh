#!/bin/sh
# SPDX-License-Identifier: MIT
# exports.sh SOURCE LIBRARY: what the headers declare, what the version script lists and what the shared library
# exports are one and the same list.
set -eu

source=$1
library=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# A declaration may go over several lines; the definition of the macro itself is none.
cat "$source"/include/verge/*.h | grep -v '^#' | tr '\n' ' ' | grep -oE 'VERGE_API [^;(]*\(' |
    sed -E 's/.*[ *]([a-z0-9_]+)\($/\1/' | sort -u >"$work/declared"
sed -nE 's/^ +(verge_[a-z0-9_]+);$/\1/p' "$source/src/libverge.map" | sort -u >"$work/listed"
nm -D --defined-only "$library" | sed -nE 's/^[0-9a-f]+ [A-Z] (verge[a-z0-9_]*)(@.*)?$/\1/p' | sort -u >"$work/exported"

[ -s "$work/declared" ] || { echo "no declaration was found"; exit 1; }
echo "headers (<) against src/libverge.map (>)"
diff "$work/declared" "$work/listed"
echo "src/libverge.map (<) against the shared library (>)"
diff "$work/listed" "$work/exported"
echo "$(wc -l <"$work/declared") functions"
