#!/bin/sh
# SPDX-License-Identifier: MIT
# reminders.sh PROGRAM: a reminder that one process has taken is printed by a later process. Three processes at once
# print each reminder once. On SQLite, or on the PostgreSQL server that the file VERGE_DURABLE_SERVER describes.
set -eu
program=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
url=sqlite:$work/db
[ -z "${VERGE_DURABLE_SERVER:-}" ] || url="postgresql:///postgres?user=verge&host=$(cat "$VERGE_DURABLE_SERVER")"

await() { # await COUNT: waits for so many lines in all outputs
    tries=0
    while [ "$(cat "$work"/out* | wc -l)" -lt "$1" ]; do
        tries=$((tries + 1))
        [ $tries -lt 1200 ] || { cat "$work"/out*; exit 1; }
        sleep 0.05
    done
}

echo "0.3 tea is ready" | "$program" "$url" >"$work/out0" # the program ends before the reminder is due
mkfifo "$work/in1" "$work/in2" "$work/in3"
for i in 1 2 3; do
    "$program" "$url" <"$work/in$i" >"$work/out$i" &
done
exec 4>"$work/in1" 5>"$work/in2" 6>"$work/in3"
for fd in 4 5 6; do
    printf '0.1 from %s\n0.2 again %s\n' $fd $fd >&$fd
done
await 7
exec 4>&- 5>&- 6>&-
wait
cat "$work"/out* | sort >"$work/all"
grep -c 'tea is ready (attempt 1)' "$work/all"
[ "$(sort -u "$work/all" | wc -l)" -eq 7 ]
[ "$(wc -l <"$work/all")" -eq 7 ]
