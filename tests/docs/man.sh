#!/bin/sh
# SPDX-License-Identifier: MIT
# man.sh SOURCE: the manual pages can be formatted without a warning, refer to pages that are there, and have the
# functions of the headers, as the headers declare them. (A header that no page has is only mentioned.)
set -eu
cd "$1"

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
status=0
complain() {
    echo "$*"
    status=1
}

for page in man/man*/*; do # in lines of 79 columns: they fit into a terminal of 80
    LC_ALL=C groff -mandoc -rLL=79n -Tutf8 -ww -b "$page" 2>&1 >"$work/text" | sed "s|^|$page: |" >"$work/warnings"
    [ ! -s "$work/warnings" ] || complain "$(cat "$work/warnings")"
    [ -s "$work/text" ] || complain "$page: there is nothing in it"
    if command -v mandoc >/dev/null; then
        mandoc -T lint -W warning "$page" >"$work/warnings" || complain "$(cat "$work/warnings")"
    fi
done

# name.section of every page, and of every function that a page names
{
    for page in man/man*/*; do
        basename "$page"
    done
    sed -n 's/^\.Nm \(verge_[a-z0-9_]*\).*/\1.3/p' man/man3/*
} | sort -u >"$work/pages"
sed -n 's/^\.Xr \(verge[a-z0-9_-]*\) \([0-9]\).*/\1.\2/p' man/man*/* | sort -u >"$work/referred"
missing=$(comm -13 "$work/pages" "$work/referred")
[ -z "$missing" ] || complain "pages that others refer to and that are not there: $missing"

# the functions of each SYNOPSIS, in the form of scripts/declarations
awk '
    function unquoted(text) { gsub(/"/, "", text); return text }
    /^\.Ft / { type = unquoted(substr($0, 5)); type = type (type ~ /\*$/ ? "" : " ") }
    /^\.Fo / { head = type substr($0, 5) "("; arguments = "" }
    /^\.Fa / && head != "" { arguments = arguments (arguments == "" ? "" : ", ") unquoted(substr($0, 5)) }
    /^\.Fc/ { print head arguments ")"; head = "" }
' man/man3/* | LC_ALL=C sort >"$work/described"
functions() { # functions HEADER...: what they declare
    scripts/declarations "$@" | sed 's/^static inline //' | grep -v '^typedef' |
        grep -E '^[^{]*[ *]verge_[a-z0-9_]+\(' | LC_ALL=C sort
}
functions include/verge/*.h >"$work/declared"
[ -s "$work/declared" ] || complain "no declaration was found"
LC_ALL=C comm -23 "$work/described" "$work/declared" >"$work/wrong"
[ ! -s "$work/wrong" ] || complain "in a SYNOPSIS, but not declared like that:
$(cat "$work/wrong")"

# the structs that a page shows, in the same form; and those that a caller receives are shown
sed -n '/^typedef struct verge_[a-z_]* {$/,/^} verge_[a-z_]*;$/p' man/man3/* >"$work/structs.h"
scripts/declarations "$work/structs.h" | LC_ALL=C sort -u >"$work/shown"
scripts/declarations include/verge/*.h | grep '^typedef struct' | LC_ALL=C sort >"$work/structs"
LC_ALL=C comm -23 "$work/shown" "$work/structs" >"$work/wrong"
[ ! -s "$work/wrong" ] || complain "shown on a page, but not declared like that:
$(cat "$work/wrong")"
for name in verge_firing verge_expiry verge_timer_info verge_pending verge_stuck verge_tick; do
    grep -q "} $name\$" "$work/shown" || complain "no page shows $name"
done

for header in include/verge/*.h; do
    if ! grep -qxF ".In ${header#include/}" man/man3/*; then
        echo "no page has $header yet"
        continue
    fi
    functions "$header" | LC_ALL=C comm -13 "$work/described" - >"$work/forgotten"
    [ ! -s "$work/forgotten" ] || complain "declared by $header, but in no SYNOPSIS:
$(cat "$work/forgotten")"
done

echo "$(wc -l <"$work/described") functions on $(find man -type f | wc -l) pages"
exit $status
