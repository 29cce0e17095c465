/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE /* O_NOFOLLOW */

#include "scope/list.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "output/text.h"
#include "scope/client.h"
#include "scope/safe.h"
#include "scope/value.h"

/* Only files of this user are read. A file of another user could lead us to a false server. */
static bool is_ours(const struct stat *status) {
    return status->st_uid == geteuid();
}

static bool read_note(const char *path, char *address, size_t size) {
    struct stat status;
    const int fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0) {
        return false;
    }
    const bool is_note = fstat(fd, &status) == 0 && S_ISREG(status.st_mode) && is_ours(&status);
    const ssize_t length = is_note ? read(fd, address, size - 1) : -1;
    (void)close(fd);
    address[length > 0 ? length : 0] = '\0';
    return length > 0;
}

static bool find_address(const char *folder, const char *name, struct listed *scope) {
    char path[512];
    struct stat status;
    const size_t size = strlen(name);
    static const char before[] = "verge-", after[] = ".scope";
    if (size <= sizeof(before) + sizeof(after) - 2 || strncmp(name, before, sizeof(before) - 1) != 0 ||
        strcmp(name + size - (sizeof(after) - 1), after) != 0) {
        return false;
    }
    (void)snprintf(path, sizeof(path), "%s/%s", folder, name);
    scope->pid = strtol(name + sizeof(before) - 1, NULL, 10);
    if (lstat(path, &status) != 0 || !is_ours(&status)) {
        return false;
    }
    if (S_ISSOCK(status.st_mode)) {
        return snprintf(scope->address, sizeof(scope->address), "unix:%s", path) < (int)sizeof(scope->address);
    }
    return read_note(path, scope->address, sizeof(scope->address));
}

/* Asks a scope for its name, and for how many timers are pending. */
static void ask(struct listed *scope) {
    struct client_address address;
    struct client client;
    struct value_store *store = NULL;
    if (!client_parse(scope->address, &address) || client_open(&client, &address, "next") != 0) {
        return;
    }
    while (client_receive(&client) > 0) {
    }
    const struct value *snapshot = client.has_head ? value_read(client.bytes, client.size, &store) : NULL;
    if (snapshot != NULL) {
        safe_copy(scope->name, sizeof(scope->name), value_text(snapshot, "name"));
        const struct value *subjects = value_of(snapshot, "subjects");
        for (const struct value *subject = subjects->first; subject != NULL; subject = subject->next) {
            scope->pending += value_number(value_of(subject, "stats"), "pending");
        }
    }
    value_free(store);
    client_close(&client);
}

size_t list_scopes(struct listed *scopes, size_t room) {
    const char *runtime = getenv("XDG_RUNTIME_DIR");
    const char *folder = runtime != NULL && runtime[0] == '/' ? runtime : "/tmp";
    DIR *directory = opendir(folder);
    size_t count = 0;
    for (struct dirent *entry; directory != NULL && count < room && (entry = readdir(directory)) != NULL;) {
        scopes[count] = (struct listed){.pid = 0};
        if (find_address(folder, entry->d_name, &scopes[count])) {
            ask(&scopes[count]);
            count += scopes[count].name[0] != '\0' ? 1 : 0; /* empty: the program does not answer */
        }
    }
    if (directory != NULL) {
        (void)closedir(directory);
    }
    return count;
}

/* Whether "tcp:8080" or "tcp:[::1]:8080" means the address "http://127.0.0.1:8080/..." or "http://[::1]:8080/...". */
static bool is_port(const char *what, const char *address) {
    char url[300];
    if (strncmp(what, "tcp:", 4) != 0) {
        return false;
    }
    (void)snprintf(url, sizeof(url), strchr(what + 4, ':') != NULL ? "http://%s/" : "http://127.0.0.1:%s/", what + 4);
    return strncmp(address, url, strlen(url)) == 0;
}

static bool is_meant(const char *what, const struct listed *scope) {
    char pid[24];
    (void)snprintf(pid, sizeof(pid), "%ld", scope->pid);
    return strcmp(what, scope->name) == 0 || strcmp(what, pid) == 0 || strcmp(what, scope->address) == 0 ||
           is_port(what, scope->address);
}

bool list_find(const char *what, struct listed *ret_scope, size_t *ret_count) {
    static struct listed scopes[LIST_MAX];
    const size_t count = list_scopes(scopes, LIST_MAX);
    *ret_count = 0;
    for (size_t i = 0; i < count; i++) {
        if (is_meant(what, &scopes[i])) {
            *ret_scope = scopes[i];
            ++*ret_count;
        }
    }
    return *ret_count == 1;
}

int list_print(void) {
    static struct listed scopes[LIST_MAX];
    const size_t count = list_scopes(scopes, LIST_MAX);
    if (count == 0) {
        (void)printf("No program of yours has a scope now. A program has one after verge_scope_create;\n"
                     "try: verge demo --scope\n");
        return EXIT_SUCCESS;
    }
    (void)printf("%-24s %8s %14s  %s\n", "NAME", "PROCESS", "PENDING", "ADDRESS");
    for (size_t i = 0; i < count; i++) {
        (void)printf("%-24s %8ld %14s  %s\n", scopes[i].name, scopes[i].pid, text_grouped((uint64_t)scopes[i].pending),
                     scopes[i].address);
    }
    (void)printf("\nverge scope --browser NAME    opens one in a browser\n"
                 "verge scope --connect NAME    shows one in this terminal\n");
    return EXIT_SUCCESS;
}
