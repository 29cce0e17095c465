#!/bin/sh
# SPDX-License-Identifier: MIT
#
# sizes.sh SOURCE CC: a program built against one version of the headers runs with a library of another one. The two
# versions differ by a field at the end of each struct that begins with its size (src/base/sized.h).
set -eu
source=$1
cc=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$work/newer/verge"
for header in "$source"/include/verge/*.h; do
    awk '
        /^typedef struct verge_[a-z_]+ \{$/ { is_sized = 0 }
        /^    size_t struct_size;/ { is_sized = 1 }
        /^\} verge_[a-z_]+;$/ && is_sized { print "    uint64_t added_later;"; is_sized = 0; count++ }
        { print }
        END { if (count > 0) print FILENAME ": " count > "/dev/stderr" }' "$header" >"$work/newer/verge/${header##*/}"
done 2>"$work/count"
[ "$(wc -l <"$work/count")" -ge 3 ] || {
    echo "no struct with a size was found"
    exit 1
}
build() { # build NAME INCLUDE: the layers up to the service, as a library
    mkdir "$work/$1"
    for layer in base calendar wheel wheel/more interval histogram service; do
        for file in "$source/src/$layer"/*.c; do
            "$cc" -std=c17 -fPIC -I "$2" -I "$source/src" -c "$file" \
                -o "$work/$1/$(echo "$layer-${file##*/}" | tr / -).o"
        done
    done
    "$cc" -shared -o "$work/$1/libverge.so" "$work/$1"/*.o -lpthread -lm
}
build older "$source/include"
build newer-library "$work/newer"
"$cc" -std=c17 -I "$work/newer" -DNEWER=1 "$source/tests/install/sizes.c" -o "$work/a" -L "$work/older" -lverge -lm
"$cc" -std=c17 -I "$source/include" "$source/tests/install/sizes.c" -o "$work/b" -L "$work/newer-library" -lverge -lm
LD_LIBRARY_PATH=$work/older "$work/a"
echo "ok: a newer program with an older library"
LD_LIBRARY_PATH=$work/newer-library "$work/b"
echo "ok: an older program with a newer library"
