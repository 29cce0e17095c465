#!/bin/sh
# SPDX-License-Identifier: MIT
# compare.sh PROGRAM EXPECTED: the program succeeds and prints what is expected.
set -eu
output=$("$1")
printf '%s\n' "$output" | diff "$2" -
