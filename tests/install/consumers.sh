#!/bin/sh
# SPDX-License-Identifier: MIT
# consumers.sh SOURCE BUILD CC: installs the build into a temporary folder, then builds and runs programs that find it
# there as a user's would.
set -eu

source=$1
build=$2
cc=$3
here=$source/tests/install
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
warnings="-Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wundef -Werror"

step() { echo "== $*"; }

step "install below DESTDIR"
DESTDIR=$work/stage cmake --install "$build" --prefix /opt/verge >"$work/log"
test -f "$work/stage/opt/verge/include/verge/verge.h"
test -z "$(find "$work/stage" -mindepth 1 -maxdepth 1 ! -name opt)"

step "install into a prefix"
prefix=$work/prefix
cmake --install "$build" --prefix "$prefix" >"$work/log"
library_dir=$(dirname "$(find "$prefix" -name libverge.so)")
PKG_CONFIG_PATH=$library_dir/pkgconfig
export PKG_CONFIG_PATH
flags=$(pkg-config --cflags verge)
libraries=$(pkg-config --libs verge)

step "the links of the installed documents"
sh "$source/tests/docs/links.sh" "$prefix/share/doc/verge"

# The flags are separate words throughout.
# shellcheck disable=SC2086
{
    step "a C program, by pkg-config"
    "$cc" -std=c11 $warnings $flags "$here/consumer.c" $libraries -o "$work/shared"
    LD_LIBRARY_PATH=$library_dir "$work/shared" "$(pkg-config --modversion verge)"

    step "a C program, with the static library"
    static_libraries=$(pkg-config --static --libs verge | sed "s|-lverge|$library_dir/libverge.a|")
    "$cc" -std=c11 $warnings $flags "$here/consumer.c" $static_libraries -o "$work/static"
    "$work/static" "$(pkg-config --modversion verge)"

    step "each header alone, in old and new C and C++"
    for header in "$prefix"/include/verge/*.h; do
        name=verge/$(basename "$header")
        echo "#include <$name>" | tee -a "$work/every_header.h" >"$work/alone.c"
        cp "$work/alone.c" "$work/alone.cpp"
        for standard in c11 c17; do
            "$cc" -std=$standard $warnings $flags -fsyntax-only "$work/alone.c"
        done
        for standard in c++11 c++20; do
            c++ -std=$standard $warnings $flags -fsyntax-only "$work/alone.cpp"
        done
    done

    step "a C++ program that includes every header"
    c++ -std=c++11 $warnings $flags -I "$work" "$here/consumer.cpp" $libraries -o "$work/plusplus"
    LD_LIBRARY_PATH=$library_dir "$work/plusplus"
}

step "the manual, under the name of every function"
for name in verge verge_wheel_create verge_wheel_cancel verge_histogram_metrics; do
    test -f "$prefix/share/man/man3/$name.3"
done
sed -n 's/^\.so //p' "$prefix"/share/man/man3/*.3 | sort -u | while read -r page; do
    test -f "$prefix/share/man/$page"
done

step "documentation and examples"
for file in README.md docs/TUTORIAL.md docs/bench/churn.svg examples/echo_server.c examples/loopback.h; do
    test -f "$prefix/share/doc/verge/$file"
done

step "a component, of which there is none: a reason is given"
mkdir "$work/component"
printf 'cmake_minimum_required(VERSION 3.25)\nproject(p LANGUAGES C)\nfind_package(verge REQUIRED COMPONENTS wheel)\n' \
    >"$work/component/CMakeLists.txt"
if cmake -S "$work/component" -B "$work/component/build" -DCMAKE_PREFIX_PATH="$prefix" >"$work/log" 2>&1; then
    echo "it was found"
    exit 1
fi
tr -s ' \n' ' ' <"$work/log" | grep -q 'verge has no component "wheel"'

step "C programs, by find_package"
cmake -S "$here/package" -B "$work/package" -DCMAKE_PREFIX_PATH="$prefix" -DCMAKE_C_COMPILER="$cc" \
    -DCMAKE_BUILD_TYPE=Release >"$work/log" || {
    cat "$work/log"
    exit 1
}
cmake --build "$work/package" >"$work/log" || {
    cat "$work/log"
    exit 1
}
"$work/package/consumer_shared" "$(pkg-config --modversion verge)"
if [ -x "$prefix/bin/verge-durable" ]; then
    step "durable timers, by find_package and by pkg-config"
    "$work/package/durable_shared" "sqlite:$work/a.db" </dev/null
    "$work/package/durable_static" "sqlite:$work/b.db" </dev/null
    # shellcheck disable=SC2046
    "$cc" -std=c11 $(pkg-config --cflags verge-durable) "$source/examples/reminders.c" $(pkg-config --libs verge-durable) \
        -o "$work/reminders"
    LD_LIBRARY_PATH=$library_dir "$work/reminders" "sqlite:$work/c.db" </dev/null
fi
"$work/package/consumer_static" "$(pkg-config --modversion verge)"
