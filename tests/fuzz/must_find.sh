#!/bin/sh
# SPDX-License-Identifier: MIT
# must_find.sh TEXT COMMAND...: succeeds if the command fails and says so with this text.
text=$1
shift
output=$("$@" 2>&1) && {
    echo "nothing was found"
    exit 1
}
echo "$output" | grep -F "$text"
