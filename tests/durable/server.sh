#!/bin/sh
# SPDX-License-Identifier: MIT
# server.sh start BINDIR FILE [OPTION...] | restart BINDIR FILE MODE | stop BINDIR FILE: a PostgreSQL server of our own,
# in a temporary folder, on a Unix socket, as an ordinary user (root becomes nobody). FILE gets the folder, which is
# also that of the socket. Options are those of postgres: -c fsync=on
# server.sh standby BINDIR FILE PRIMARY: an asynchronous standby of the server whose folder the file PRIMARY has.
# server.sh halt BINDIR FILE: stops the server at once, and keeps its folder.
# server.sh promote BINDIR FILE: a standby becomes a primary.
set -eu
action=$1
bin=$2
file=$3
shift 3

as_user() {
    if [ "$(id -u)" -eq 0 ]; then
        setpriv --reuid=nobody --regid="$(id -g nobody)" --clear-groups env HOME=/nonexistent "$@"
    else
        "$@"
    fi
}

stop() {
    [ -s "$file" ] || return 0
    folder=$(cat "$file")
    if [ -f "$folder/data/postmaster.pid" ]; then
        (cd "$folder" && as_user "$bin/pg_ctl" -D "$folder/data" -m immediate -w -t 60 stop >/dev/null) || true
    fi
    rm -rf "$folder"
    rm -f "$file"
}

make_folder() {
    stop
    folder=$(mktemp -d /tmp/verge-durable.XXXXXX)
    [ "$(id -u)" -ne 0 ] || chown nobody "$folder"
    printf '%s' "$folder" >"$file"
    cd "$folder"
}

run_server() {
    options="-k $folder -c listen_addresses='' -c max_connections=100 -c fsync=off -c full_page_writes=off -c shared_buffers=64MB $*"
    as_user "$bin/pg_ctl" -D "$folder/data" -l "$folder/log" -w -t 60 -o "$options" start >/dev/null || {
        cat "$folder/log"
        exit 1
    }
}

case $action in
start)
    make_folder
    as_user "$bin/initdb" -D "$folder/data" -U verge -A trust -E UTF8 --locale=C --no-sync >"$folder/initdb.log" 2>&1 || {
        cat "$folder/initdb.log"
        exit 1
    }
    run_server "$@"
    ;;
standby)
    primary=$(cat "$1")
    make_folder
    as_user "$bin/pg_basebackup" -h "$primary" -U verge -D "$folder/data" -R -X stream --no-sync --checkpoint=fast
    run_server
    ;;
halt)
    folder=$(cat "$file")
    cd "$folder"
    as_user "$bin/pg_ctl" -D "$folder/data" -m immediate -w -t 60 stop >/dev/null
    ;;
promote)
    folder=$(cat "$file")
    cd "$folder"
    as_user "$bin/pg_ctl" -D "$folder/data" -w -t 60 promote >/dev/null
    ;;
restart) # fast or immediate
    folder=$(cat "$file")
    cd "$folder"
    as_user "$bin/pg_ctl" -D "$folder/data" -l "$folder/log" -m "$1" -w -t 60 restart >/dev/null
    ;;
stop) stop ;;
*) exit 2 ;;
esac
