#!/bin/sh
# SPDX-License-Identifier: MIT
# links.sh SOURCE: what the documents link to in this repository is there.
set -eu
cd "$1"

status=0
for document in *.md docs/*.md docs/*/*.md ports/*.md ports/*/*.md; do
    folder=$(dirname "$document")
    # shellcheck disable=SC2013 # links have no blanks
    for link in $(grep -oE '\]\([^)#: ]+(#[^)]*)?\)' "$document" | sed -E 's/^\]\(([^)#]*).*/\1/' | sort -u); do
        if [ ! -e "$folder/$link" ]; then
            echo "$document: there is no $link"
            status=1
        fi
    done
done
exit $status
