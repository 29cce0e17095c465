#!/bin/sh
# SPDX-License-Identifier: MIT
# roles.sh VERGE-DURABLE BINDIR SERVER: tests the tool on PostgreSQL, as a user who may only read, and through a pooler.
# SERVER is the file that has the folder of a server (server.sh). Without pgbouncer, the script says so, and leaves the
# pooler out.
set -eu
tool=$1
bin=$2
folder=$(cat "$3")
work=$(mktemp -d /tmp/verge-roles.XXXXXX)
pooler=
stop_pooler() {
    [ -z "$pooler" ] || kill "$pooler"
    [ -z "$pooler" ] || wait "$pooler" || true
    pooler=
}
trap 'stop_pooler; rm -rf "$work"' EXIT
name=roles_$$
url="postgresql:///$name?host=$folder&user="

sql() { "$bin/psql" -h "$folder" -U verge -d "${2:-$name}" -qtA -v ON_ERROR_STOP=1 -c "$1"; }

fails() { # fails TEXT COMMAND...: the command must fail, with one line of output that has this text
    text=$1
    shift
    if "$@" >"$work/out" 2>&1 || ! grep -q -- "$text" "$work/out" || [ "$(wc -l <"$work/out")" -ne 1 ]; then
        echo "$* should fail with '$text':"
        cat "$work/out"
        exit 1
    fi
}

sql "CREATE DATABASE $name" postgres
"$tool" init "${url}verge" 8
id=$("$tool" schedule "${url}verge" mail --in 3600 --key k)

# a user who may only read
sql "CREATE ROLE reader_$$ LOGIN; GRANT SELECT ON ALL TABLES IN SCHEMA public TO reader_$$"
[ "$("$tool" list "${url}reader_$$" --json | jq -r .id)" = "$id" ]
"$tool" stats "${url}reader_$$" | grep -q "^pending	1$"
"$tool" check "${url}reader_$$" >/dev/null
fails "permission denied.*: a role needs SELECT, INSERT, UPDATE and DELETE on verge_" "$tool" cancel "${url}reader_$$" "$id"
fails "permission denied" "$tool" schedule "${url}reader_$$" mail
fails "does not exist" "$tool" stats "${url}nobody_$$"
[ "$("$tool" list "${url}verge" --json | jq -r .id)" = "$id" ]
sql "CREATE SCHEMA theirs; GRANT USAGE ON SCHEMA theirs TO reader_$$"
fails "permission denied.*CREATE in the schema" "$tool" init "${url}reader_$$&options=-csearch_path%3Dtheirs"

# a server that only reads
sql "ALTER DATABASE $name SET default_transaction_read_only = on" postgres
[ "$("$tool" list "${url}verge" --json | jq -r .id)" = "$id" ]
fails "this server is a replica, or read-only: use the primary, or target_session_attrs=read-write" "$tool" cancel "${url}verge" "$id"
sql "ALTER DATABASE $name SET default_transaction_read_only = off" postgres

# standard descriptors that are closed. There are two pages, so the tool queries again after the first one was printed
sql "INSERT INTO verge_dead (id, due, attempt, period, policy, handler, name, payload, reason, died)
    SELECT n << 8, 5, 1, 0, 0, 'a', NULL, '', 'why', 5 FROM generate_series(1, 2500) n"
for closed in "<&-" ">&-" "2>&-" "<&- >&-" "<&- >&- 2>&-"; do
    sh -c '"$1" list "$2" dead '"$closed" - "$tool" "${url}verge" >"$work/out" 2>&1 || {
        echo "with $closed the store gets what is printed"
        exit 1
    }
done

command -v pgbouncer >/dev/null || PATH=$PATH:/usr/sbin
command -v pgbouncer >/dev/null || {
    echo "there is no pgbouncer: skipped"
    exit 77
}

start_pooler() { # start_pooler MODE
    cat >"$work/ini" <<EOF
[databases]
* = host=$folder user=verge
[pgbouncer]
unix_socket_dir = $work
listen_addr =
auth_type = any
pool_mode = $1
ignore_startup_parameters = extra_float_digits
logfile = $work/log
EOF
    if [ "$(id -u)" -eq 0 ]; then
        chown -R nobody "$work"
        setpriv --reuid=nobody --regid="$(id -g nobody)" --clear-groups pgbouncer -q "$work/ini" &
    else
        pgbouncer -q "$work/ini" &
    fi
    pooler=$!
    until "$bin/pg_isready" -q -h "$work" -p 6432 -d "$name"; do
        kill -0 "$pooler" || exit 1
    done
}

start_pooler transaction
fails "pool_mode = session" "$tool" stats "postgresql:///$name?host=$work&port=6432&user=verge"
fails "pool_mode = session" "$tool" init "postgresql:///$name?host=$work&port=6432&user=verge"
stop_pooler
start_pooler session
"$tool" stats "postgresql:///$name?host=$work&port=6432&user=verge" | grep -q "^pending	1$"
"$tool" cancel "postgresql:///$name?host=$work&port=6432&user=verge" "$id"
