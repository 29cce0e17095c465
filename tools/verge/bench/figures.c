/* SPDX-License-Identifier: MIT */
#define _POSIX_C_SOURCE 200809L

#include "bench/figures.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "output/json.h"

enum { COLUMN_COUNT_MAX = 32 };

/* Cuts a line at its commas, in place; the fields of this file contain none. */
static size_t split(char *line, char *fields[COLUMN_COUNT_MAX]) {
    size_t count = 0;
    line[strcspn(line, "\n")] = '\0';
    for (char *at = line; at != NULL && count < COLUMN_COUNT_MAX;) {
        char *comma = strchr(at, ',');
        fields[count++] = at;
        if (comma != NULL) {
            *comma++ = '\0';
        }
        at = comma;
    }
    return count;
}

/* Whether a text is also a number in JSON: digits, and perhaps a dot between digits. */
static bool is_number(const char *text) {
    size_t whole = strspn(text, "0123456789");
    if (whole == 0 || (whole > 1 && text[0] == '0')) {
        return false;
    }
    if (text[whole] == '\0') {
        return true;
    }
    size_t fraction = text[whole] == '.' ? strspn(text + whole + 1, "0123456789") : 0;
    return fraction > 0 && text[whole + 1 + fraction] == '\0';
}

static void write_line(struct json *json, char *const *names, size_t name_count, char *line) {
    char *fields[COLUMN_COUNT_MAX];
    size_t count = split(line, fields);
    json_begin_object(json, NULL);
    for (size_t i = 0; i < count && i < name_count; i++) {
        if (fields[i][0] == '\0') {
            json_string(json, names[i], NULL);
        } else if (is_number(fields[i])) {
            json_literal(json, names[i], fields[i]);
        } else {
            json_string(json, names[i], fields[i]);
        }
    }
    json_end_object(json);
}

int bench_figures_write_json(const char *file, FILE *out) {
    FILE *in = fopen(file, "r");
    if (in == NULL) {
        return -errno;
    }
    struct json json = {.out = out};
    char *names[COLUMN_COUNT_MAX];
    char *header = NULL, *line = NULL;
    size_t header_size = 0, line_size = 0;
    int error = -EINVAL;
    if (getline(&header, &header_size, in) > 0) {
        size_t name_count = split(header, names);
        json_begin_array(&json, NULL);
        while (getline(&line, &line_size, in) > 0) {
            write_line(&json, names, name_count, line);
        }
        json_end_array(&json);
        error = 0;
    }
    free(header);
    free(line);
    (void)fclose(in);
    return error;
}

void bench_figures_remove(const char *folder) {
    DIR *directory = opendir(folder);
    if (directory == NULL) {
        return;
    }
    for (const struct dirent *entry = readdir(directory); entry != NULL; entry = readdir(directory)) {
        if (entry->d_name[0] != '.') {
            (void)unlinkat(dirfd(directory), entry->d_name, 0);
        }
    }
    (void)closedir(directory);
    (void)rmdir(folder);
}
