/* SPDX-License-Identifier: MIT */
#include "fail.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static char *message_buffer;
static size_t message_size;

void bench_fail_into(char *buffer, size_t size) {
    message_buffer = buffer;
    message_size = size;
}

void bench_fail(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    if (message_buffer != NULL) {
        vsnprintf(message_buffer, message_size, format, arguments);
        va_end(arguments);
        _exit(1);
    }
    fputs("verge-bench: ", stderr);
    vfprintf(stderr, format, arguments);
    fputc('\n', stderr);
    va_end(arguments);
    exit(2);
}
