#!/bin/sh
# SPDX-License-Identifier: MIT
# ports.sh SOURCE: each patch in ports/ is as long as the pages say, and not longer than a patch may be. make ports
# builds every port that there is.
set -eu
cd "$1"

status=0
complain() {
    echo "$*"
    status=1
}

names=
for patch in ports/*/verge.patch; do
    name=$(basename "$(dirname "$patch")")
    names="$names $name"
    lines=$(grep '^[+-]' "$patch" | grep -cv '^+++ \|^--- ')
    case $name in
    libevent) most=200 ;;
    libuv) most=130 ;;
    *) most=150 ;;
    esac
    [ "$lines" -le "$most" ] || complain "$patch changes $lines lines, and $most are allowed"
    grep -q "^The patch changes $lines lines" "ports/$name/README.md" ||
        complain "ports/$name/README.md: no line starts with: The patch changes $lines lines"
    for page in ports/README.md docs/EMBEDDING.md; do
        grep "$name/README.md" "$page" | grep -q "| $lines |" || complain "$page: the row of $name does not say $lines"
    done
done
[ "$(sed -n 's/^PORTS ?= //p' Makefile | tr ' ' '\n' | sort | xargs)" = "$(echo "$names" | xargs)" ] ||
    complain "Makefile: PORTS is not:$names"
exit $status
