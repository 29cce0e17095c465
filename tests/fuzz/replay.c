/* SPDX-License-Identifier: MIT */
#define _POSIX_C_SOURCE 200809L /* opendir */
/* replay PATH...: runs a fuzz target on each file, and on each file of each folder. Nothing to run is a failure. */
#include <dirent.h>
#include <string.h>
#include <sys/stat.h>

#include "fuzz/fuzz.h"

enum {
    INPUT_BYTES_MAX = 1 << 20,
    PATH_BYTES_MAX = 4096,
};

static size_t replayed;

static int replay_file(const char *path) {
    static uint8_t bytes[INPUT_BYTES_MAX];
    FILE *file = fopen(path, "rb");
    if (file == NULL) {
        perror(path);
        return -1;
    }
    const size_t byte_count = fread(bytes, 1, sizeof(bytes), file);
    (void)fclose(file);
    /* A copy of its own, so that a sanitizer sees reads beyond the copy. */
    uint8_t *copy = malloc(byte_count > 0 ? byte_count : 1);
    if (copy == NULL) {
        perror(path);
        return -1;
    }
    memcpy(copy, bytes, byte_count);
    (void)printf("%s\n", path);
    (void)fflush(stdout); /* the last name in the log is that of the input that broke something */
    (void)LLVMFuzzerTestOneInput(copy, byte_count);
    free(copy);
    replayed++;
    return 0;
}

static int replay(const char *path) {
    struct stat status;
    if (stat(path, &status) == 0 && !S_ISDIR(status.st_mode)) {
        return replay_file(path);
    }
    DIR *folder = opendir(path);
    if (folder == NULL) {
        perror(path);
        return -1;
    }
    int result = 0;
    /* One thread. NOLINTNEXTLINE(concurrency-mt-unsafe) */
    for (const struct dirent *entry = readdir(folder); result == 0 && entry != NULL; entry = readdir(folder)) {
        char inner[PATH_BYTES_MAX];
        const int length = snprintf(inner, sizeof(inner), "%s/%s", path, entry->d_name);
        if (entry->d_name[0] != '.' && length > 0 && (size_t)length < sizeof(inner)) {
            result = replay_file(inner);
        }
    }
    (void)closedir(folder);
    return result;
}

int main(int argc, char **argv) {
    for (int i = 1; i < argc; i++) {
        if (replay(argv[i]) != 0) {
            return EXIT_FAILURE;
        }
    }
    (void)printf("%zu inputs\n", replayed);
    return replayed > 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
