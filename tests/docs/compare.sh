#!/bin/sh
# SPDX-License-Identifier: MIT
# compare.sh PROGRAM EXPECTED: the program succeeds, and prints what the file EXPECTED has. If EXPECTED is empty, it may
# print anything.
set -eu
output=$("$1")
[ ! -s "$2" ] || printf '%s\n' "$output" | diff "$2" -
