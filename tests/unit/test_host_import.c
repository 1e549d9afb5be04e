/* SPDX-License-Identifier: MIT */
/* Which pages a program may import, and which of them a watch may be trusted with. Only the layer's host_import.c. */
#include "layer/memory/host_import.h"

#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "layer/core/layer.h"
#include "layer/entry/resource.h"
#include "memtrack/memtrack_internal.h"
#include "tests/unit/unit.h"

enum { PAGES = 8 };

struct layer_state layer = {.devices_mutex = PTHREAD_MUTEX_INITIALIZER, .log = {.fd = -1}};
static struct layer_device devices[2];
static bool recording;
static size_t page;

bool layer_is_recording(void)
{
    return recording;
}

static VkResult import_as(struct layer_device *dev, VkExternalMemoryHandleTypeFlagBits type, void *pages, size_t bytes,
                          struct layer_host_import **out)
{
    VkImportMemoryHostPointerInfoEXT pointer = {
        .sType = VK_STRUCTURE_TYPE_IMPORT_MEMORY_HOST_POINTER_INFO_EXT, .handleType = type, .pHostPointer = pages};
    VkMemoryAllocateInfo info = {
        .sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO, .pNext = &pointer, .allocationSize = bytes};
    return layer_host_import_begin(dev, &info, out);
}

static VkResult import(void *pages, size_t bytes, struct layer_host_import **out)
{
    return import_as(&devices[0], VK_EXTERNAL_MEMORY_HANDLE_TYPE_HOST_ALLOCATION_BIT_EXT, pages, bytes, out);
}

static unsigned char *map(int protection, int flags, int fd)
{
    void *pages = mmap(NULL, PAGES * page, protection, flags, fd, 0);
    CHECK(pages != MAP_FAILED);
    return pages;
}

static unsigned char *begin(void)
{
    struct lap_memtrack_options options = {.watch = LAP_WATCH_COMPARE};
    recording = true;
    layer.imports_meet = false;
    for (unsigned i = 0; i < 2; i++)
        CHECK_EQ_INT(lap_memtrack_create(&options, &devices[i].memtrack), LAP_OK);
    page = (size_t)sysconf(_SC_PAGESIZE);
    return map(PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1);
}

static void end(unsigned char *pages)
{
    munmap(pages, PAGES * page);
    for (unsigned i = 0; i < 2; i++)
        lap_memtrack_destroy(&devices[i].memtrack);
    CHECK(layer.imports == NULL);
}

/* One memory of a device. */
struct memory {
    struct layer_host_import *import;
    struct lap_mem *mem;
};

static struct memory make(struct layer_device *dev, void *pages, size_t bytes)
{
    struct memory made = {0};
    CHECK_EQ_INT(import_as(dev, VK_EXTERNAL_MEMORY_HANDLE_TYPE_HOST_ALLOCATION_BIT_EXT, pages, bytes, &made.import),
                 VK_SUCCESS);
    CHECK(made.import != NULL);
    CHECK_EQ_INT(layer_host_import_track(made.import, LAP_MEM_HOST_VISIBLE | LAP_MEM_HOST_COHERENT, &made.mem), LAP_OK);
    return made;
}

static void drop(struct memory *memory)
{
    layer_host_import_untrack(memory->import);
    lap_mem_destroy(&memory->mem);
    layer_host_import_end(memory->import);
}

static bool is_compared(const struct memory *memory)
{
    struct lap_part part;
    uint64_t at = 0;
    CHECK(lap_mem_next_part(memory->mem, &at, UINT64_MAX, &part));
    CHECK(part.mem->flags & LAP_MEM_FILLED);
    return part.mem->flags & LAP_MEM_SHARED;
}

static bool is_shared(unsigned char *pages, size_t bytes)
{
    struct memory one = make(&devices[0], pages, bytes);
    bool shared = is_compared(&one);
    drop(&one);
    return shared;
}

UNIT_TEST(plain_memory_can_be_watched)
{
    unsigned char *pages = begin();
    CHECK(!is_shared(pages, PAGES * page));
    CHECK(!is_shared(pages + page, page));
    /* Two mappings that the kernel keeps apart, each of them plain. */
    CHECK(madvise(pages + 2 * page, page, MADV_DONTFORK) == 0);
    CHECK(!is_shared(pages, PAGES * page));
    end(pages);
}

UNIT_TEST(pages_with_other_mappings_are_compared)
{
    unsigned char *pages = begin(), *other;
    FILE *file = tmpfile();
    CHECK(file && ftruncate(fileno(file), (off_t)(PAGES * page)) == 0);
    other = map(PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1);
    CHECK(is_shared(other, page));
    munmap(other, PAGES * page);
    other = map(PROT_READ | PROT_WRITE, MAP_PRIVATE, fileno(file));
    CHECK(is_shared(other, page));
    munmap(other, PAGES * page);
    other = map(PROT_READ | PROT_WRITE, MAP_SHARED, fileno(file));
    CHECK(is_shared(other, page));
    munmap(other, PAGES * page);
    fclose(file);
    /* One page of many will do. */
    CHECK(mprotect(pages + 3 * page, page, PROT_READ) == 0);
    CHECK(is_shared(pages, PAGES * page));
    CHECK(is_shared(pages + 2 * page, page + 1));
    CHECK(!is_shared(pages, 3 * page));
    CHECK(!is_shared(pages + 4 * page, 4 * page));
    CHECK(mmap(pages + 3 * page, page, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_FIXED, -1, 0) ==
          pages + 3 * page);
    CHECK(is_shared(pages + 2 * page, 2 * page));
    end(pages);
}

UNIT_TEST(pages_are_imported_several_times)
{
    unsigned char *pages = begin();
    struct memory first = make(&devices[0], pages + 2 * page, 2 * page),
                  second = make(&devices[0], pages, PAGES * page);
    struct memory other = make(&devices[1], pages + 5 * page, page);
    uint64_t spaces[3], offsets[3];
    CHECK(layer_host_import_pointer(first.import, 5) == pages + 2 * page + 5);
    layer_host_import_place(first.import, &spaces[0], &offsets[0]);
    layer_host_import_place(second.import, &spaces[1], &offsets[1]);
    layer_host_import_place(other.import, &spaces[2], &offsets[2]);
    CHECK(spaces[0] != 0 && spaces[0] == spaces[1] && spaces[2] != spaces[0]);
    CHECK_EQ_U64(offsets[0] - offsets[1], 2 * page);
    drop(&first);
    drop(&other);
    drop(&second);
    layer_host_import_untrack(NULL);
    layer_host_import_end(NULL);
    end(pages);
}

UNIT_TEST(pages_of_two_devices_are_compared)
{
    unsigned char *pages = begin();
    struct memory first = make(&devices[0], pages, 2 * page), twice = make(&devices[0], pages + page, page);
    struct memory beside = make(&devices[1], pages + 2 * page, page), meets;
    CHECK(!is_compared(&first) && !is_compared(&twice) && !is_compared(&beside) && !layer.imports_meet);
    meets = make(&devices[1], pages + page, 2 * page);
    CHECK(is_compared(&first) && is_compared(&twice) && is_compared(&beside) && is_compared(&meets));
    CHECK(layer.imports_meet);
    drop(&meets);
    drop(&twice);
    drop(&first);
    drop(&beside);
    end(pages);
}

UNIT_TEST(other_allocations_are_left_alone)
{
    unsigned char *pages = begin();
    VkMemoryAllocateInfo info = {.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO, .allocationSize = page};
    struct layer_host_import *one = (struct layer_host_import *)(void *)pages;
    CHECK_EQ_INT(layer_host_import_begin(&devices[0], &info, &one), VK_SUCCESS);
    CHECK(one == NULL);
    CHECK_EQ_INT(import_as(&devices[0], (VkExternalMemoryHandleTypeFlagBits)0, pages, page, &one), VK_SUCCESS);
    CHECK(one == NULL);
    CHECK_EQ_INT(
        import_as(&devices[0], VK_EXTERNAL_MEMORY_HANDLE_TYPE_HOST_MAPPED_FOREIGN_MEMORY_BIT_EXT, pages, page, &one),
        VK_ERROR_INVALID_EXTERNAL_HANDLE);
    CHECK_EQ_INT(import((void *)(UINTPTR_MAX - page), 2 * page, &one), VK_ERROR_INVALID_EXTERNAL_HANDLE);
    recording = false; /* nothing is refused for the sake of a replay */
    CHECK_EQ_INT(
        import_as(&devices[0], VK_EXTERNAL_MEMORY_HANDLE_TYPE_HOST_MAPPED_FOREIGN_MEMORY_BIT_EXT, pages, page, &one),
        VK_SUCCESS);
    CHECK(one == NULL);
    end(pages);
}

UNIT_TEST(a_child_has_imports_of_its_own)
{
    unsigned char *pages = begin();
    struct layer_host_import *parents, *own;
    int status = -1;
    pid_t child;
    CHECK_EQ_INT(import(pages, page, &parents), VK_SUCCESS);
    child = fork();
    if (child == 0) {
        layer.imports = NULL; /* as fork.c does */
        bool good = import(pages, page, &own) == VK_SUCCESS;
        layer_host_import_end(parents);
        good = good && layer.imports != NULL;
        layer_host_import_end(own);
        _exit(good && layer.imports == NULL ? 0 : 1);
    }
    CHECK(child > 0 && waitpid(child, &status, 0) == child && status == 0);
    layer_host_import_end(parents);
    end(pages);
}

UNIT_MAIN();
