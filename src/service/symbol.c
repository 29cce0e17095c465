/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE /* dladdr1 */
#include "service/symbol.h"

#include <dlfcn.h>
#include <elf.h>
#include <fcntl.h>
#include <inttypes.h>
#include <link.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* A mapped file. Every offset in it is checked: the file may have been replaced since the program was started. */
typedef struct verge__image {
    const unsigned char *bytes;
    size_t size;
} image;

static const void *at(const image *file, uint64_t offset, uint64_t size) {
    return offset <= file->size && size <= file->size - offset ? file->bytes + offset : NULL;
}

static const ElfW(Shdr) * section(const image *file, const ElfW(Ehdr) * head, uint64_t index) {
    return index >= head->e_shnum || head->e_shentsize != sizeof(ElfW(Shdr))
               ? NULL
               : at(file, head->e_shoff + index * sizeof(ElfW(Shdr)), sizeof(ElfW(Shdr)));
}

/* Writes the name of the function in whose code the value lies. False: no symbol of the file covers the value. */
static bool search(const image *file, const ElfW(Shdr) * symbols, const ElfW(Shdr) * names, uint64_t value, char *name,
                   size_t size) {
    const uint64_t count = symbols->sh_size / sizeof(ElfW(Sym));
    const ElfW(Sym) *symbol = at(file, symbols->sh_offset, count * sizeof(ElfW(Sym)));
    const char *texts = at(file, names->sh_offset, names->sh_size);
    if (symbol == NULL || texts == NULL || names->sh_size == 0 || texts[names->sh_size - 1] != '\0') {
        return false;
    }
    for (uint64_t i = 0; i < count; i++, symbol++) {
        const bool is_it = ELF64_ST_TYPE(symbol->st_info) == STT_FUNC && value >= symbol->st_value &&
                           value - symbol->st_value < symbol->st_size && symbol->st_name < names->sh_size;
        if (is_it) {
            (void)snprintf(name, size, "%s", texts + symbol->st_name);
            return true;
        }
    }
    return false;
}

static bool search_tables(const image *file, uint64_t base, uint64_t address, char *name, size_t size) {
    const ElfW(Ehdr) *head = at(file, 0, sizeof(*head));
    if (head == NULL || memcmp(head->e_ident, ELFMAG, SELFMAG) != 0 || head->e_shoff % sizeof(uint64_t) != 0) {
        return false;
    }
    const uint64_t value = head->e_type == ET_DYN ? address - base : address;
    for (uint64_t i = 0; i < head->e_shnum; i++) {
        const ElfW(Shdr) *symbols = section(file, head, i);
        if (symbols != NULL && symbols->sh_type == SHT_SYMTAB && symbols->sh_offset % sizeof(uint64_t) == 0) {
            const ElfW(Shdr) *names = section(file, head, symbols->sh_link);
            return names != NULL && search(file, symbols, names, value, name, size);
        }
    }
    return false;
}

/* The main program is opened by /proc/self/exe, as its name may be relative or not a path at all. Libraries are opened
 * by their path, if it is absolute. */
static bool search_file(const struct link_map *map, uint64_t base, uint64_t address, char *name, size_t size) {
    const char *path = map->l_name[0] == '\0' ? "/proc/self/exe" : map->l_name;
    const int fd = path[0] == '/' ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    struct stat status;
    if (fd < 0 || fstat(fd, &status) != 0 || status.st_size <= 0) {
        return fd >= 0 && close(fd) != 0;
    }
    void *bytes = mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    (void)close(fd);
    if (bytes == MAP_FAILED) {
        return false;
    }
    const image file = {.bytes = bytes, .size = (size_t)status.st_size};
    const bool is_found = search_tables(&file, base, address, name, size);
    (void)munmap(bytes, (size_t)status.st_size);
    return is_found;
}

void verge__symbol_name(uint64_t address, char *name, size_t size) {
    Dl_info info;
    void *map = NULL;
    if (dladdr1((const void *)(uintptr_t)address, &info, &map, RTLD_DL_LINKMAP) == 0 || info.dli_fname == NULL) {
        (void)snprintf(name, size, "0x%" PRIx64, address);
        return;
    }
    const uint64_t base = (uint64_t)(uintptr_t)info.dli_fbase;
    if (info.dli_sname != NULL) {
        (void)snprintf(name, size, "%s", info.dli_sname);
    } else if (map == NULL || !search_file(map, base, address, name, size)) {
        const char *slash = strrchr(info.dli_fname, '/');
        (void)snprintf(name, size, "%s+0x%" PRIx64, slash == NULL ? info.dli_fname : slash + 1, address - base);
    }
}
