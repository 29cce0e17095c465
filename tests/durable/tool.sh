#!/bin/sh
# SPDX-License-Identifier: MIT
# tool.sh VERGE-DURABLE REMINDERS: the commands of the tool, on SQLite.
set -eu
tool=$1
reminders=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
url=sqlite:$work/db

says() { # says TEXT COMMAND...
    text=$1
    shift
    "$@" >"$work/out" 2>&1 || true
    grep -q -- "$text" "$work/out" || {
        echo "$* does not say '$text' but:"
        cat "$work/out"
        exit 1
    }
}

status() { # status NUMBER COMMAND...
    wanted=$1
    shift
    got=0
    "$@" >"$work/out" 2>&1 || got=$?
    [ "$got" -eq "$wanted" ] || {
        echo "$* ended with $got, not $wanted:"
        cat "$work/out"
        exit 1
    }
}

says "usage" "$tool" --help
says "^verge-durable [0-9]" "$tool" --version
status 2 "$tool"
status 2 "$tool" dance "$url"
says "no command \"dance\"" "$tool" dance "$url"
status 1 "$tool" stats "$url" # there is no file yet
says "no such file" "$tool" stats "$url"
[ ! -e "$work/db" ]
status 2 "$tool" init "$url" 1000
status 1 "$tool" init "mysql://x" 8
status 0 "$tool" init "$url" 8
status 0 "$tool" migrate "$url"
status 0 "$tool" contract "$url"
status 1 "$tool" contract "sqlite:$work/none"
says "nothing wrong" "$tool" check "$url"
echo "3600 call the bank" | "$reminders" "$url"
says "pending.*1" "$tool" stats "$url"
says "^node	name	shards	lease$" "$tool" stats "$url"
says "^0		8	$" "$tool" stats "$url" # nobody's: it was closed
says '"pending":1,"overdue":0,"dead":0,"nodes":\[{"node":"0"' "$tool" stats "$url" --json
says "^id	due	attempts	handler	key	state$" "$tool" list "$url"
id=$("$tool" list "$url" | sed 1d | cut -f 1)
says "call the bank" "$tool" show "$url" "$id"
status 2 "$tool" show "$url" seven
says "there is no timer 7" "$tool" show "$url" 7
status 1 "$tool" retry "$url" "$id" # it is not dead
status 0 "$tool" cancel "$url" "$id"
status 1 "$tool" cancel "$url" "$id"
[ -z "$("$tool" list "$url" | sed 1d)" ]
[ -z "$("$tool" list "$url" dead --json)" ]

# schedule, and lists with filters
"$tool" schedule "$url" mail --in 3600 --key 'say "k"' --payload "hello" >"$work/id"
id=$(cat "$work/id")
status 1 "$tool" schedule "$url" mail --in 3600 --key 'say "k"'
[ "$("$tool" schedule "$url" mail --at 2100-01-01T00:00:00Z --key 'say "k"' --move)" = "$id" ]
"$tool" schedule "$url" other --at 4102444801 >/dev/null
status 2 "$tool" schedule "$url" mail --at tomorrow
status 2 "$tool" schedule "$url" mail --replace
status 2 "$tool" schedule "$url"
status 2 "$tool" list "$url" --no-such-option
[ "$("$tool" list "$url" --json | wc -l)" -eq 2 ]
[ "$("$tool" list "$url" --handler other --json | wc -l)" -eq 1 ]
[ "$("$tool" list "$url" --due-before 2100-01-01T00:00:01Z --json | wc -l)" -eq 1 ]
[ "$("$tool" list "$url" --key 'say "k"' --json | jq -r '.id + .key + .due')" = "$id"'say "k"2100-01-01T00:00:00.000Z' ]
[ "$("$tool" show "$url" "$id" --json | jq -r .payload)" = hello ]
status 2 "$tool" reset "$url" "$id"
status 0 "$tool" reset "$url" "$id" --at 2101-01-01T00:00:00Z
says "2101-01-01" "$tool" show "$url" "$id"
status 0 "$tool" reset "$url" --handler mail --key 'say "k"' --in 100
status 0 "$tool" cancel "$url" --handler mail --key 'say "k"'
status 1 "$tool" cancel "$url" --handler mail --key 'say "k"'
status 2 "$tool" cancel "$url" --handler mail

# handlers of the whole cluster
status 2 "$tool" pause "$url"
status 1 "$tool" pause "$url" "no such name"
status 2 "$tool" limit "$url" mail --rate many
[ -z "$("$tool" handlers "$url" --json)" ]
status 0 "$tool" pause "$url" mail
status 0 "$tool" limit "$url" mail --concurrency 3
status 0 "$tool" limit "$url" other --rate 10
says "^mail	yes	3	0$" "$tool" handlers "$url"
[ "$("$tool" handlers "$url" --json | jq -r 'select(.handler == "other") | .rate')" = 10 ]
status 0 "$tool" resume "$url" mail
says "^mail	no	3	0$" "$tool" handlers "$url"
status 0 "$tool" limit "$url" mail
[ "$("$tool" handlers "$url" --json | wc -l)" -eq 1 ]

# in bulk
if command -v sqlite3 >/dev/null; then
    sqlite3 "$work/db" "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1500) INSERT INTO verge_dead \
        (id, due, attempt, period, policy, handler, name, payload, reason, died) \
        SELECT i << 8, 5, 1, 0, 0, CASE WHEN i % 3 = 0 THEN 'a' ELSE 'b' END, NULL, x'', 'why', 5 FROM n"
    status 2 "$tool" retry "$url"
    status 0 "$tool" retry "$url" --all --handler a
    says "^dead	1000$" "$tool" stats "$url"
    says "^overdue	500$" "$tool" stats "$url"
    status 0 "$tool" forget "$url" --all
    says "^dead	0$" "$tool" stats "$url"
else
    echo "there is no sqlite3: retry and forget in bulk are skipped"
fi

# no password is printed
says "postgresql://verge@127.0.0.1:1/x?connect_timeout=1:" "$tool" stats "postgresql://verge:hush@127.0.0.1:1/x?password=hush&connect_timeout=1"
! grep -q hush "$work/out"
