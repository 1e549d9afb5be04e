/* SPDX-License-Identifier: MIT */
#include "base/process/address_space.h"

#include <fcntl.h>
#include <inttypes.h>
#include <linux/types.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

/* Laid out as the kernel's struct procmap_query (Linux 6.11), which headers may lack. */
struct mapping_query {
    __u64 size, query_flags, query_addr;
    __u64 begin, end, flags, page_size, offset, inode;
    __u32 device_major, device_minor, name_bytes, build_id_bytes;
    __u64 name, build_id;
};
#define QUERY_MAPPING _IOWR('f', 17, struct mapping_query)
#define IS_READABLE   1u
#define IS_WRITABLE   2u
#define IS_SHARED     8u

enum answer { PLAIN, NOT_PLAIN, UNKNOWN };

static enum answer ask(int maps, uint64_t begin, uint64_t end)
{
    while (begin < end) {
        struct mapping_query query = {.size = sizeof(query), .query_addr = begin};
        if (ioctl(maps, QUERY_MAPPING, &query) != 0)
            return UNKNOWN; /* an older kernel, or nothing is mapped there */
        if (query.inode != 0 || (query.flags & (IS_READABLE | IS_WRITABLE | IS_SHARED)) != (IS_READABLE | IS_WRITABLE))
            return NOT_PLAIN;
        begin = query.end;
    }
    return PLAIN;
}

bool lap_maps_say_plain(FILE *maps, uint64_t begin, uint64_t end)
{
    char line[512], rights[8], inode[24];
    bool line_begins = true;

    while (begin < end && fgets(line, sizeof line, maps)) {
        uint64_t from, to;
        bool is_first_part = line_begins;
        line_begins = strchr(line, '\n') != NULL;
        if (!is_first_part ||
            sscanf(line, "%" SCNx64 "-%" SCNx64 " %7s %*s %*s %23s", &from, &to, rights, inode) != 4 || to <= begin)
            continue;
        if (from > begin || strcmp(rights, "rw-p") != 0 || strcmp(inode, "0") != 0)
            return false;
        begin = to;
    }
    return begin >= end;
}

bool lap_memory_is_plain(const void *begin, size_t bytes)
{
    uint64_t first = (uintptr_t)begin;
    int fd = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
    enum answer answer = fd >= 0 ? ask(fd, first, first + bytes) : NOT_PLAIN;
    FILE *maps = answer == UNKNOWN ? fdopen(fd, "r") : NULL;
    if (maps) {
        answer = lap_maps_say_plain(maps, first, first + bytes) ? PLAIN : NOT_PLAIN;
        fclose(maps);
    } else if (fd >= 0) {
        close(fd);
    }
    return answer == PLAIN;
}
