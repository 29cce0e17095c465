#!/bin/sh
# SPDX-License-Identifier: MIT
# tool.sh VERGE-DURABLE REMINDERS: tests the commands of the tool, on SQLite.
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
status 0 "$tool" list --help
says "usage" "$tool" list -h
says "list needs a URL: sqlite:FILE or postgresql://" "$tool" list
says "see verge-durable --help" "$tool" list "$url" --no-such-option
says "sqlite:FILE takes no options" "$tool" stats "$url?mode=ro"
says "list does not take --in" "$tool" list "$url" --in 5
says "stats takes no argument, and not \"17\"" "$tool" stats "$url" 17
says "show takes one argument, and not \"8\"" "$tool" show "$url" 7 8
status 2 "$tool" dance "$url"
says "no command \"dance\"" "$tool" dance "$url"
status 1 "$tool" stats "$url" # there is no file yet
says "no such file" "$tool" stats "$url"
[ ! -e "$work/db" ]
status 2 "$tool" init "$url" 1000
status 1 "$tool" init "mysql://x" 8
status 0 "$tool" init "$url" 8
status 0 "$tool" migrate "$url"
status 0 "$tool" init "$url"
says "the tables exist already, with 8 shards" "$tool" init "$url" 8
status 1 "$tool" init "$url" 16
says "the tables exist already, with 8 shards" "$tool" init "$url" 16
status 1 "$tool" migrate "sqlite:$work/none" # migrate creates no tables
says "run verge-durable init" "$tool" migrate "sqlite:$work/none"
[ ! -e "$work/none" ]
status 0 "$tool" contract "$url"
status 1 "$tool" contract "sqlite:$work/none"
says "nothing wrong" "$tool" check "$url"
echo "3600 call the bank" | "$reminders" "$url"
says "pending.*1" "$tool" stats "$url"
says "^node	name	shards	lease$" "$tool" stats "$url"
says "^0		8	$" "$tool" stats "$url" # the shards have no owner: the node was closed
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
says "\"2026-02-31T00:00:00Z\" is no time" "$tool" schedule "$url" mail --at 2026-02-31T00:00:00Z
says "not both" "$tool" schedule "$url" mail --at 2100-01-01T00:00:00Z --in 5
says "need --key" "$tool" schedule "$url" mail --move
says "a key has at least one byte" "$tool" schedule "$url" mail --key ""
says "a handler has 1 to 64 letters, digits, dots, _ and -" "$tool" schedule "$url" "no such name"
says "a key has at most 255 bytes" "$tool" schedule "$url" mail --key "$(printf %0256d 0)"
status 2 "$tool" schedule "$url" mail --rule "0 99 * * *"
says "hour" "$tool" schedule "$url" mail --rule "0 99 * * *"
says "there is no time zone \"Nowhere/Land\" on this machine" "$tool" schedule "$url" mail --rule "0 9 * * * Nowhere/Land"
status 2 "$tool" schedule "$url" mail --replace
status 2 "$tool" schedule "$url"
status 2 "$tool" list "$url" --no-such-option
[ "$("$tool" list "$url" --json | wc -l)" -eq 2 ]
[ "$("$tool" list "$url" --handler other --json | wc -l)" -eq 1 ]
[ "$("$tool" list "$url" --due-before 2100-01-01T00:00:01Z --json | wc -l)" -eq 1 ]
[ "$("$tool" list "$url" --key 'say "k"' --json | jq -r '.id + .key + .due')" = "$id"'say "k"2100-01-01T00:00:00.000Z' ]
[ "$("$tool" show "$url" "$id" --json | jq -r .payload)" = hello ]
[ "$("$tool" show "$url" "$id" --json | jq -r .rule)" = null ]
odd=$("$tool" schedule "$url" odd --rule "0 9 * * *" --payload "$(printf 'gr\303\274n \342\202\254 \360\237\230\200 \303 \355\240\200 \\ \t "')")
"$tool" show "$url" "$odd" --json >"$work/out"
grep -q "$(printf 'gr\303\274n \342\202\254 \360\237\230\200 ')"'\\u00c3 \\u00ed\\u00a0\\u0080 \\u005c \\u0009 \\u0022"' "$work/out" || {
    cat "$work/out"
    exit 1
}
[ "$(jq -r .rule "$work/out")" = "0 9 * * *" ]
[ "$("$tool" list "$url" --handler odd --json | jq -r .rule)" = "0 9 * * *" ]
status 0 "$tool" cancel "$url" "$odd"
status 2 "$tool" reset "$url" "$id"
status 0 "$tool" reset "$url" "$id" --at 2101-01-01T00:00:00Z
says "2101-01-01" "$tool" show "$url" "$id"
status 0 "$tool" reset "$url" --handler mail --key 'say "k"' --in 100
status 0 "$tool" cancel "$url" --handler mail --key 'say "k"'
status 1 "$tool" cancel "$url" --handler mail --key 'say "k"'
status 2 "$tool" cancel "$url" --handler mail
says "cancel takes an id or --handler and --key, and not both" "$tool" cancel "$url" 7 --handler mail
says "there is no such dead timer" "$tool" retry "$url" 7
says "there is no such dead timer" "$tool" forget "$url" 7

# controls of handlers in the whole cluster
status 2 "$tool" pause "$url"
status 2 "$tool" pause "$url" "no such name"
says "a handler has 1 to 64 letters" "$tool" pause "$url" "no such name"
says "limit needs --concurrency or --rate" "$tool" limit "$url" mail
status 2 "$tool" limit "$url" mail --rate many
[ -z "$("$tool" handlers "$url" --json)" ]
says "^mail	yes	0	0$" "$tool" pause "$url" mail
[ "$("$tool" limit "$url" mail --concurrency 3 --json | jq .concurrency)" = 3 ]
status 0 "$tool" limit "$url" other --rate 10
says "^mail	yes	3	0$" "$tool" handlers "$url"
[ "$("$tool" handlers "$url" --json | jq -r 'select(.handler == "other") | .rate')" = 10 ]
status 0 "$tool" resume "$url" mail
says "^mail	no	3	0$" "$tool" handlers "$url"
says "^mail	no	0	0$" "$tool" limit "$url" mail --concurrency 0
[ "$("$tool" handlers "$url" --json | wc -l)" -eq 1 ]

# in bulk
if command -v sqlite3 >/dev/null; then
    sqlite3 "$work/db" "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1500) INSERT INTO verge_dead \
        (id, due, attempt, period, policy, handler, name, payload, reason, died) \
        SELECT i << 8, 5, 1, 0, 0, CASE WHEN i % 3 = 0 THEN 'a' ELSE 'b' END, NULL, x'', 'why', 5 FROM n"
    status 2 "$tool" retry "$url"
    says "retry needs the id of a timer or --all" "$tool" retry "$url" --handler a
    says "retried: 500, still dead: 0" "$tool" retry "$url" --all --handler a
    says "^dead	1000$" "$tool" stats "$url"
    says "^overdue	500$" "$tool" stats "$url"
    sqlite3 "$work/db" "UPDATE verge_dead SET name = x'6b' WHERE id IN (256, 512); UPDATE verge_dead SET reason = 'two' || char(10) || 'lines'"
    status 1 "$tool" retry "$url" --all --key k # both timers have this key
    says "still dead: 1" "$tool" retry "$url" --all --key k
    says "another pending timer has its key: cancel that one" "$tool" retry "$url" 512
    says 'two.x0alines' "$tool" list "$url" dead
    says 'two.x0alines' "$tool" show "$url" 512
    says "forgotten: 999" "$tool" forget "$url" --all
    says "^dead	0$" "$tool" stats "$url"
else
    echo "there is no sqlite3: retry and forget in bulk are skipped"
fi

# a file or a folder that cannot be written
mkdir "$work/locked"
cp "$work/db" "$work/locked"
chmod 755 "$work"
chmod 555 "$work/locked"
chmod 444 "$work/locked/db"
as_user() { # root may write everything
    if [ "$(id -u)" -eq 0 ]; then
        setpriv --reuid=nobody --regid="$(id -g nobody)" --clear-groups "$@"
    else
        "$@"
    fi
}
if as_user "$tool" --version >/dev/null 2>&1; then
    says "the file, or its directory, cannot be written" as_user "$tool" stats "sqlite:$work/locked/db"
    says "/locked/: Permission denied" as_user "$tool" init "sqlite:$work/locked/new"
fi
says "File too large" sh -c 'ulimit -f 8; trap "" XFSZ; exec "$@"' - "$tool" schedule "$url" mail --payload "$(printf %0100000d 0)"

# output that is lost. Standard descriptors that are closed, and must not become those of the store
for arguments in "stats $url" --help --version; do
    # shellcheck disable=SC2086
    if "$tool" $arguments >/dev/full 2>"$work/out" || ! grep -q "could not be written" "$work/out"; then
        echo "$arguments does not say that its output is lost"
        exit 1
    fi
done
sh -c '"$1" stats "$2" <&- >&- 2>&-' - "$tool" "$url"
sh -c '"$1" show "$2" 7 <&- >&- 2>&-' - "$tool" "$url" || [ $? -eq 1 ]
says "nothing wrong" "$tool" check "$url"

# no password is printed: neither that of a URL, nor one in a text that looks like a URL, nor in messages of the store
if ldd "$tool" | grep -q libpq; then
    says "postgresql://verge@127.0.0.1:1/x:" "$tool" stats "postgresql://verge:hush@127.0.0.1:1/x?password=hush&connect_timeout=1"
    says "postgresql://127.0.0.1:1/x?user=a&sslmode=disable:" "$tool" stats \
        "postgresql://127.0.0.1:1/x?user=a&pass%77ord=hush&connect_timeout=1&sslmode=disable"
    says "write % as %25, @ as %40" "$tool" stats "postgresql://app:hush%im1@h"
fi
for bad in "app:hush@127.0.0.1:1" "app:hush/im1@h" "app:hush#im1?@h" "app:hush@hush@h" "app:hush%im1@h" "app:1/hush@h" ":hush@127.0.0.1:1" \
    "127.0.0.1:1/x?password=hush" "127.0.0.1:1/x?password=a&hush" "127.0.0.1:1/x?pass%77ord=hush" "127.0.0.1:1/x?PASSWORD=hush" \
    "127.0.0.1:1/x?password=a@hush" "127.0.0.1:1/x?password=a:b@hush" "app:hu?x=hush@h"; do
    for command in stats ""; do
        # shellcheck disable=SC2086
        "$tool" $command "postgresql://$bad" stats >"$work/out" 2>&1 || true
        ! grep hush "$work/out" || exit 1
    done
    "$reminders" "postgresql://$bad" </dev/null >"$work/out" 2>&1 || true
    ! grep hush "$work/out" || exit 1
done
"$tool" stats "host=h password=hush" >"$work/out" 2>&1 || true
! grep hush "$work/out" || exit 1
says "the command comes first" "$tool" "postgresql://app:hush@h" stats
! grep hush "$work/out" || exit 1
