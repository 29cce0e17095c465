#!/bin/sh
# SPDX-License-Identifier: MIT
# rename.sh SOURCE CC: scripts/rename-0.2 changes all names of 0.2 that are different now, so that a source with these
# names compiles. A second run changes nothing.
set -eu

source=$1
cc=$2
rename=$source/scripts/rename-0.2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cp "$source/tests/docs/names-0.2.txt" "$work/renamed.c"

echo "== the source uses every row of both tables"
sed -n '/^NAMES = /,/^"""/p; /^CALLS = /,/^"""/p' "$rename" | sed -nE 's,^([A-Za-z_]+[A-Za-z_0-9]*)(/[0-9]+)? .*,\1,p' |
    grep -v -e '^NAMES' -e '^CALLS' | sort -u >"$work/rows"
[ "$(wc -l <"$work/rows")" -gt 50 ]
grep -oE '[A-Za-z_][A-Za-z_0-9]*' "$work/renamed.c" | sort -u | comm -23 "$work/rows" - >"$work/unused"
[ ! -s "$work/unused" ] || { cat "$work/unused"; exit 1; }

echo "== --check finds something, and changes nothing"
if python3 -B "$rename" --check "$work/renamed.c"; then
    exit 1
fi
cmp "$source/tests/docs/names-0.2.txt" "$work/renamed.c"

echo "== renamed, it compiles"
python3 -B "$rename" "$work/renamed.c"
"$cc" -std=c17 -fsyntax-only -Wall -Wextra -Werror -I"$source/include" "$work/renamed.c"

echo "== it stays as it is"
python3 -B "$rename" --check "$work/renamed.c"
