/* SPDX-License-Identifier: MIT */
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/process/address_space.h"
#include "unit.h"

static size_t page;

static unsigned char *pages(size_t count, int flags, int fd)
{
    page = (size_t)sysconf(_SC_PAGESIZE);
    void *memory = mmap(NULL, count * page, PROT_READ | PROT_WRITE, flags, fd, 0);
    CHECK(memory != MAP_FAILED);
    return memory;
}

/* Asks the kernel both ways. */
static bool is_plain(const unsigned char *begin, size_t bytes)
{
    FILE *maps = fopen("/proc/self/maps", "re");
    CHECK(maps != NULL);
    bool said = lap_maps_say_plain(maps, (uintptr_t)begin, (uintptr_t)begin + bytes);
    fclose(maps);
    CHECK_EQ_INT(lap_memory_is_plain(begin, bytes), said);
    return said;
}

UNIT_TEST(private_memory_of_no_file_is_plain)
{
    unsigned char *memory = pages(8, MAP_PRIVATE | MAP_ANONYMOUS, -1);
    CHECK(is_plain(memory, 8 * page));
    CHECK(is_plain(memory + 100, 3 * page));
    memory[4 * page] = 1;
    CHECK(madvise(memory + 4 * page, 2 * page, MADV_DONTFORK) == 0); /* the kernel has three mappings now */
    CHECK(is_plain(memory, 8 * page));
    munmap(memory, 8 * page);
}

UNIT_TEST(shared_memory_and_files_are_not_plain)
{
    int file = memfd_create("address_space", MFD_CLOEXEC);
    unsigned char *memory = pages(4, MAP_SHARED | MAP_ANONYMOUS, -1), *shared, *private;
    CHECK(file >= 0 && ftruncate(file, (off_t)(4 * page)) == 0);
    shared = pages(4, MAP_SHARED, file);
    private = pages(4, MAP_PRIVATE, file);
    CHECK(!is_plain(memory, 4 * page));
    CHECK(!is_plain(shared, page));
    CHECK(!is_plain(private, page));
    munmap(memory, 4 * page);
    munmap(shared, 4 * page);
    munmap(private, 4 * page);
    close(file);
}

UNIT_TEST(all_of_it_must_be_plain)
{
    unsigned char *memory = pages(8, MAP_PRIVATE | MAP_ANONYMOUS, -1);
    CHECK(mprotect(memory + 3 * page, page, PROT_READ) == 0);
    CHECK(!is_plain(memory, 8 * page));
    CHECK(!is_plain(memory + 2 * page, page + 1));
    CHECK(is_plain(memory, 3 * page));
    munmap(memory + 5 * page, page);
    CHECK(!is_plain(memory + 4 * page, 3 * page));
    CHECK(!is_plain(memory + 5 * page, page));
    CHECK(is_plain(memory + 6 * page, 2 * page));
    munmap(memory, 8 * page);
}

UNIT_TEST(a_line_of_any_length_is_one_mapping)
{
    char text[4096], name[2048];
    memset(name, 'n', sizeof(name) - 1);
    name[sizeof(name) - 1] = '\0';
    snprintf(text, sizeof(text),
             "1000-3000 r-xp 00000000 fd:00 77 /%s 5000-6000 rw-p 00000000 00:00 0\n"
             "5000-7000 rw-p 00000000 00:00 0 \n7000-8000 rw-p 00000000 00:00 0 [heap]\n",
             name);
    for (int whole = 0; whole < 2; whole++) {
        FILE *maps = fmemopen(text, strlen(text), "r");
        CHECK(maps != NULL);
        CHECK_EQ_INT(lap_maps_say_plain(maps, whole ? 0x5000 : 0x4000, 0x8000), whole);
        fclose(maps);
    }
}

UNIT_MAIN();
