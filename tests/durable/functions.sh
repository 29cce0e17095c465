#!/bin/sh
# SPDX-License-Identifier: MIT
# functions.sh VERGE-DURABLE REMINDERS: tests the SQL functions. They are called by psql, by a trigger and, where these
# are installed, by Python (psycopg2), Node (pg) and Go (lib/pq). What SQL schedules, a program of the library fires.
set -eu
tool=$1
reminders=$2
folder=$(cat "$VERGE_DURABLE_SERVER")
name=functions_$$
work=$(mktemp -d)
url="postgresql:///$name?host=$folder&user=verge"
sql() { psql -X -q -A -t -v ON_ERROR_STOP=1 "$url" "$@"; }
psql -X -q "postgresql:///postgres?host=$folder&user=verge" -c "CREATE DATABASE $name"
pid=
finish() {
    [ -z "$pid" ] || kill "$pid" 2>/dev/null || true
    [ -z "$pid" ] || wait "$pid" || true
    psql -X -q "postgresql:///postgres?host=$folder&user=verge" -c "DROP DATABASE $name WITH (FORCE)"
    rm -rf "$work"
}
trap finish EXIT

fail() {
    echo "$*"
    exit 1
}

is() { # is WANTED SQL
    got=$(sql -c "$2")
    [ "$got" = "$1" ] || fail "$2 gave '$got', not '$1'"
}

refused() { # refused TEXT SQL
    if sql -c "$2" 2>"$work/error"; then
        fail "$2 was not refused"
    fi
    grep -q -- "$1" "$work/error" || fail "$2: $(cat "$work/error")"
}

"$tool" init "$url" 8

# ids, checks, keys
is 1 "SELECT (verge_schedule('remind', now() + '1 hour', 'far', 'customer 7') >> 62)"
is 1 "SELECT count(*) FROM verge_timer WHERE handler = 'remind' AND name = 'customer 7' AND payload = 'far' AND shard = (id & 255)
      AND shard < 8 AND due BETWEEN verge_now() + 3500000000000 AND verge_now() + 3700000000000"
is "" "SELECT verge_schedule('remind', now(), 'again', 'customer 7')" # the key is taken
is 1 "SELECT count(*) FROM verge_timer"
"$tool" check "$url" >"$work/check" || fail "$(cat "$work/check")"
refused "a handler has" "SELECT verge_schedule('no spaces', now())"
refused "a handler has" "SELECT verge_schedule('', now())"
refused "a handler has" "SELECT verge_schedule(NULL, now())"
refused "a handler has" "SELECT verge_schedule(repeat('x', 65), now())"
refused "the key has" "SELECT verge_schedule('x', now(), '', convert_to(repeat('k', 256), 'UTF8'))"
refused "the payload has" "SELECT verge_schedule('x', now(), convert_to(repeat('p', 1048577), 'UTF8'))"
refused "the time is" "SELECT verge_schedule('x', 'infinity')"
refused "the time is" "SELECT verge_schedule('x', NULL)"
refused "the time is" "SELECT verge_schedule('x', '1969-12-31 23:59+00')"
refused "the time is" "SELECT verge_reschedule(1, '2300-01-01')"
is 1234567890123456000 "SELECT verge_ns('2009-02-13 23:31:30.123456+00')"
is 1 "SELECT count(*) FROM verge_timer"

# the owner of the shard is told
id=$(sql -c "SELECT id FROM verge_timer")
told() { # told SQL: about a timer of the handler remind
    sql -c "LISTEN verge_timer" -c "$1" -c "SELECT 1" >"$work/out"
    grep -q 'notification "verge_timer" with payload "[0-9]* [0-9]* remind"' "$work/out" || fail "$1: $(cat "$work/out")"
}
told "SELECT verge_schedule('remind', now() + '1 day', 'x', 'told')"
told "SELECT verge_reschedule($id, now() + '3 hours')"
is cancelled "SELECT verge_cancel_key('remind', 'told')"

# controls of handlers in the whole cluster: nodes are told
told "SELECT verge_pause('remind')"
told "SELECT verge_limit('remind', 3, NULL)"
is "remind|1|3|0" "SELECT handler, paused, concurrency, rate FROM verge_control"
revision=$(sql -c "SELECT revision FROM verge_control")
told "SELECT verge_resume('remind')"
is "remind|0|3|0|t" "SELECT handler, paused, concurrency, rate, revision <> $revision FROM verge_control"
told "SELECT verge_limit('remind', 0, 0)"
for limits in "-1, 0" "0, -1" "1000000001, NULL" "NULL, 1000000001"; do
    refused "verge: a limit is 0 to 1000000000" "SELECT verge_limit('remind', $limits)"
done
refused "a handler has" "SELECT verge_pause('no spaces')"
sql -c "UPDATE verge_meta SET min_version = 2" # older programs may run, and would not know
for control in "verge_pause('remind')" "verge_resume('remind')" "verge_limit('remind', 1, 1)"; do
    refused "run verge-durable contract" "SELECT $control"
done
sql -c "UPDATE verge_meta SET min_version = version"
[ -z "$("$tool" handlers "$url" --json)" ] || fail "$("$tool" handlers "$url")"

# cancel and reschedule
id=$(sql -c "SELECT id FROM verge_timer")
is moved "SELECT verge_reschedule($id, now() + '2 hours')"
is 1 "SELECT count(*) FROM verge_timer WHERE id = $id AND revision = 2 AND due > verge_now() + 7000000000000"
is cancelled "SELECT verge_cancel_key('remind', 'customer 7')"
is gone "SELECT verge_cancel_key('remind', 'customer 7')"
is gone "SELECT verge_cancel($id)"
is gone "SELECT verge_reschedule($id, now())"
# in the caller's transaction
sql -c "BEGIN; SELECT verge_schedule('remind', now()); ROLLBACK" >"$work/out"
is 0 "SELECT count(*) FROM verge_timer"
# claimed for a handler outside: it is running, and does not run again
sql -c "INSERT INTO verge_timer SELECT 5 * 256, 0, verge_now() + 60000000000, 1, 1, 1, 0, 0, 'x', NULL, ''"
is running "SELECT verge_cancel(1280)"
is 0 "SELECT count(*) FROM verge_timer"
# locked by a transaction that fires it
sql -c "INSERT INTO verge_timer SELECT 5 * 256, 0, 0, 0, 0, 0, 0, 0, 'x', NULL, ''"
mkfifo "$work/in"
sql <"$work/in" >"$work/out" &
pid=$!
exec 9>"$work/in"
echo "BEGIN; DELETE FROM verge_timer WHERE id = 1280; SELECT 'locked';" >&9
for _ in $(seq 600); do
    ! grep -q locked "$work/out" || break
    sleep 0.1
done
is running "SELECT verge_cancel(1280)"
is running "SELECT verge_reschedule(1280, now())"
echo "COMMIT;" >&9
exec 9>&-
wait "$pid"
pid=
is gone "SELECT verge_cancel(1280)"
# a caller with another search path
sql -c "CREATE SCHEMA elsewhere"
is 1 "SET search_path = elsewhere; SELECT (public.verge_schedule('nobody', now() + '1 day', 'x', 'path') >> 62)"
is cancelled "SET search_path = elsewhere; SELECT public.verge_cancel_key('nobody', 'path')"
# a role with the rights that the page names
sql -c "CREATE ROLE ${name}_role; GRANT SELECT, INSERT, UPDATE, DELETE ON verge_timer TO ${name}_role;
    GRANT SELECT ON verge_meta, verge_node TO ${name}_role; GRANT USAGE ON SEQUENCE verge_sql_id TO ${name}_role"
is cancelled "SET ROLE ${name}_role; SELECT verge_cancel(verge_schedule('nobody', now() + '1 day'))"
sql -c "DROP OWNED BY ${name}_role; DROP ROLE ${name}_role"

# a program fires what SQL schedules
mkfifo "$work/lines"
"$reminders" "$url" <"$work/lines" >"$work/reminders" 2>&1 &
pid=$!
exec 8>"$work/lines"
fires() { # fires TEXT: waits until a reminder with this text is printed
    for _ in $(seq 600); do
        ! grep -q -- "reminder: $1 (attempt 1)" "$work/reminders" || return 0
        sleep 0.1
    done
    fail "no reminder says $1: $(cat "$work/reminders")"
}
sql -c "SELECT verge_schedule('remind', now(), 'from psql')" >"$work/out"
fires "from psql"
sql -c "CREATE TABLE orders (id bigint PRIMARY KEY)"
sql -c "CREATE FUNCTION remind_of_order() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN PERFORM verge_schedule(\$\$remind\$\$,
    now(), convert_to(\$\$order \$\$ || NEW.id, \$\$UTF8\$\$)); RETURN NEW; END'"
sql -c "CREATE TRIGGER remind_of_order AFTER INSERT ON orders FOR EACH ROW EXECUTE FUNCTION remind_of_order()"
sql -c "INSERT INTO orders VALUES (7)"
fires "order 7"
python=/usr/bin/python3 # which has Debian's modules
if "$python" -c "import psycopg2" 2>/dev/null; then
    "$python" - "$url" <<'END'
import sys, psycopg2
with psycopg2.connect(sys.argv[1]) as connection, connection.cursor() as cursor:
    cursor.execute("SELECT verge_schedule(%s, now() + %s::interval, %s, %s)",
                   ("remind", "0 seconds", b"from Python", b"customer 8"))
    assert cursor.fetchone()[0] >> 62 == 1
END
    fires "from Python"
else
    echo "SKIPPED: Python without psycopg2"
fi
if [ -n "${VERGE_NODE_MODULES:-}" ] && NODE_PATH=$VERGE_NODE_MODULES node -e "require('pg')" 2>/dev/null; then
    NODE_PATH=$VERGE_NODE_MODULES node - "$url" "$folder" "$name" <<'END'
const { Client } = require("pg");
(async () => {
    const client = new Client({ host: process.argv[3], database: process.argv[4], user: "verge" });
    await client.connect();
    await client.query("SELECT verge_schedule($1, now() + $2::interval, $3, $4)",
        ["remind", "0 seconds", Buffer.from("from Node"), Buffer.from("customer 9")]);
    await client.end();
})().catch((error) => { console.error(error); process.exit(1); });
END
    fires "from Node"
else
    echo "SKIPPED: Node without pg"
fi
go_source=/usr/share/gocode # which has Debian's packages
if command -v go >/dev/null && [ -d $go_source/src/github.com/lib/pq ]; then
    cat >"$work/schedule.go" <<'END'
package main

import (
	"database/sql"
	"log"
	"os"

	_ "github.com/lib/pq"
)

func main() {
	db, err := sql.Open("postgres", os.Args[1])
	if err != nil {
		log.Fatal(err)
	}
	var id int64
	err = db.QueryRow("SELECT verge_schedule($1, now() + $2::interval, $3, $4)", "remind", "0 seconds",
		[]byte("from Go"), []byte("customer 10")).Scan(&id)
	if err != nil || id>>62 != 1 {
		log.Fatal(id, err)
	}
}
END
    GO111MODULE=off GOPATH=$go_source GOCACHE=${VERGE_GO_CACHE:-$work/go} CGO_ENABLED=0 go run "$work/schedule.go" \
        "host=$folder dbname=$name user=verge sslmode=disable"
    fires "from Go"
else
    echo "SKIPPED: Go without lib/pq"
fi
exec 8>&-
wait "$pid"
pid=
"$tool" check "$url" >"$work/check" || fail "$(cat "$work/check")"
