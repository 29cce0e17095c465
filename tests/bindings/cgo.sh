#!/bin/sh
# SPDX-License-Identifier: MIT
# cgo.sh SOURCE FOLDER-OF-LIBVERGE: builds and runs the example in Go, where Go is.
set -eu

source=$1
folder=$2
command -v go >/dev/null || { echo "there is no Go"; exit 77; }
work=$(mktemp -d)
trap 'chmod -R u+w "$work"; rm -rf "$work"' EXIT

# A pkg-config file, as an installed verge has one.
printf 'Name: verge\nDescription: not installed\nVersion: 0\nLibs: -L%s -Wl,-rpath,%s -lverge\nCflags: -I%s\n' \
    "$folder" "$folder" "$source/include" >"$work/verge.pc"
export GOCACHE="$work/cache" GOFLAGS=-p=1 GO111MODULE=off CGO_ENABLED=1 PKG_CONFIG_PATH="$work"
go build -o "$work/timers" "$source/examples/bindings/cgo/main.go"
"$work/timers" >"$work/out"
printf 'first\nsecond\ndone\n' | diff - "$work/out"
