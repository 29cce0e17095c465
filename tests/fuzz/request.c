/* SPDX-License-Identifier: MIT */
/*
 * Arbitrary bytes as the head of a request to scope. Every part that is found lies within the bytes, and has no control
 * characters. A head is accepted only when it is complete. A Host that is not refused has only characters of numeric
 * addresses, or begins with localhost.
 */
#include <errno.h>
#include <string.h>
#include <strings.h>

#include "fuzz/fuzz.h"
#include "scope/request.h"

static void check_part(verge__part part, const uint8_t *bytes, size_t size) {
    const char *begin = (const char *)bytes;
    FUZZ_CHECK(part.bytes == NULL || (part.bytes >= begin && part.bytes + part.size <= begin + size),
               "a part that is not within the head");
    for (size_t i = 0; part.bytes != NULL && i < part.size; i++) {
        const unsigned char byte = (unsigned char)part.bytes[i];
        FUZZ_CHECK((byte >= 0x20 || byte == '\t') && byte != 0x7f, "a control character in a part");
    }
}

static void check_names(const verge__request *request) {
    if (verge__request_is_foreign(request)) {
        return;
    }
    const verge__part host = request->host;
    FUZZ_CHECK(host.size > 0, "no name is taken for one of ours");
    for (size_t i = 0; i < host.size; i++) {
        const bool is_number = strchr("0123456789.:[]abcdefABCDEF%", host.bytes[i]) != NULL;
        FUZZ_CHECK(is_number || strncasecmp(host.bytes, "localhost", 9) == 0, "a name of somebody else's");
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t byte_count) {
    static const int statuses[] = {0, -EAGAIN, 400, 413, 431, 505};
    const char *text = (const char *)bytes;
    verge__request request = {.size = SIZE_MAX};
    const int status = verge__request_parse(text, byte_count, &request);
    bool is_known = false;
    for (size_t i = 0; i < sizeof(statuses) / sizeof(*statuses); i++) {
        is_known |= status == statuses[i];
    }
    FUZZ_CHECK(is_known, "a status that is none");
    FUZZ_CHECK(status == 0 || request.size == SIZE_MAX, "a request that was refused, and yet filled in");
    if (status != 0) {
        return 0;
    }
    FUZZ_CHECK(request.size <= byte_count && request.size >= 4, "a head that is longer than what there is");
    FUZZ_CHECK(memcmp(text + request.size - 4, "\r\n\r\n", 4) == 0, "a head that does not end with an empty line");
    FUZZ_CHECK(request.path.size > 0 && request.path.bytes[0] == '/', "a path that is none");
    check_part(request.path, bytes, request.size);
    check_part(request.host, bytes, request.size);
    check_part(request.origin, bytes, request.size);
    check_part(request.if_none_match, bytes, request.size);
    check_names(&request);
    (void)verge__request_has_tag(&request, "\"tag\"");
    for (size_t size = 0; size < request.size; size++) {
        verge__request part;
        FUZZ_CHECK(verge__request_parse(text, size, &part) == -EAGAIN, "a part of a head that is taken for one");
    }
    return 0;
}
