/* SPDX-License-Identifier: MIT */
/*
 * verge/bindings.h - for programs in other languages, which call the library but cannot read its headers: Python's
 * ctypes, LuaJIT, Java. With these functions they need not repeat the declarations of verge's structs.
 *
 *     options = create_string_buffer(verge.verge_size_of(b"verge_start_options"))    -- zeroes
 *     verge.verge_options_set(options, b"verge_start_options", b"period_ns", 1000000)
 *
 * C programs do not need these functions: they have sizeof and fields. examples/bindings has programs in Python and Go.
 */
#ifndef VERGE_BINDINGS_H
#define VERGE_BINDINGS_H

#include "verge/base.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Returns the size in bytes of a struct of this library, such as "verge_timeout". Returns 0 if there is no such struct,
 * or if only the library allocates it. Memory from malloc is aligned for all these structs. */
VERGE_API size_t verge_size_of(const char *type);

/*
 * Sets a field of an options struct, after its init function was called. Options without an init function are
 * verge_size_of(type) bytes of zero, and the first call sets their struct_size. type is the name of the struct, such as
 * "verge_wheel_options". A field of a nested struct is named with a dot: "clock.now_ns". value is a number or, for a
 * pointer or a function, an address. A negative number is given in two's complement, as C converts it. -ENOENT: there
 * is no such type or field, or the field is an array, a struct or struct_size. -EOVERFLOW: the field has no room for
 * this value. -EINVAL: an argument is NULL, or the options are too short to have the field.
 */
VERGE_API int verge_options_set(void *options, const char *type, const char *field, uint64_t value);

#ifdef __cplusplus
}
#endif

#endif
