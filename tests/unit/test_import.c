/* SPDX-License-Identifier: MIT */
/* Which pages a program may import, and which of them a watch may be trusted with. Only the layer's import.c. */
#include "layer/import.h"

#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "layer/layer.h"
#include "layer/resource.h"
#include "tests/unit/unit.h"

enum { PAGES = 8 };

struct layer_state layer = {.devices_mutex = PTHREAD_MUTEX_INITIALIZER, .log = {.fd = -1}};
static bool recording;
static size_t page;

bool layer_is_recording(void)
{
    return recording;
}

const void *layer_chain_find(const void *chain, VkStructureType type)
{
    const VkBaseInStructure *at = chain;
    while (at && at->sType != type)
        at = at->pNext;
    return at;
}

static VkResult import_as(VkExternalMemoryHandleTypeFlagBits type, void *pages, size_t bytes, struct layer_import **out)
{
    VkImportMemoryHostPointerInfoEXT pointer = {
        .sType = VK_STRUCTURE_TYPE_IMPORT_MEMORY_HOST_POINTER_INFO_EXT, .handleType = type, .pHostPointer = pages};
    VkMemoryAllocateInfo info = {
        .sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO, .pNext = &pointer, .allocationSize = bytes};
    return layer_import_begin(&info, out);
}

static VkResult import(void *pages, size_t bytes, struct layer_import **out)
{
    return import_as(VK_EXTERNAL_MEMORY_HANDLE_TYPE_HOST_ALLOCATION_BIT_EXT, pages, bytes, out);
}

static unsigned char *map(int protection, int flags, int fd)
{
    void *pages = mmap(NULL, PAGES * page, protection, flags, fd, 0);
    CHECK(pages != MAP_FAILED);
    return pages;
}

static unsigned char *begin(void)
{
    recording = true;
    page = (size_t)sysconf(_SC_PAGESIZE);
    return map(PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1);
}

static void end(unsigned char *pages)
{
    munmap(pages, PAGES * page);
    CHECK(layer.imports == NULL);
}

static bool is_shared(unsigned char *pages, size_t bytes)
{
    struct layer_import *one = NULL;
    uint32_t flags;
    CHECK_EQ_INT(import(pages, bytes, &one), VK_SUCCESS);
    CHECK(one != NULL);
    flags = layer_import_tracking_flags(one);
    CHECK_EQ_U64(flags & ~(uint32_t)LAP_MEM_SHARED, LAP_MEM_FILLED);
    layer_import_end(one);
    return flags & LAP_MEM_SHARED;
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

UNIT_TEST(all_else_is_compared)
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
    munmap(pages + 3 * page, page);
    CHECK(is_shared(pages + 2 * page, 2 * page));
    end(pages);
}

UNIT_TEST(pages_are_imported_once_at_a_time)
{
    unsigned char *pages = begin();
    struct layer_import *first, *beside, *none;
    CHECK_EQ_INT(import(pages + 2 * page, 2 * page, &first), VK_SUCCESS);
    CHECK_EQ_INT(import(pages + 4 * page, page, &beside), VK_SUCCESS);
    CHECK(layer_import_pointer(first, 0) == pages + 2 * page &&
          layer_import_pointer(beside, 5) == pages + 4 * page + 5);
    CHECK_EQ_INT(import(pages + 2 * page, 2 * page, &none), VK_ERROR_INVALID_EXTERNAL_HANDLE);
    CHECK_EQ_INT(import(pages + 3 * page, page, &none), VK_ERROR_INVALID_EXTERNAL_HANDLE);
    CHECK_EQ_INT(import(pages, PAGES * page, &none), VK_ERROR_INVALID_EXTERNAL_HANDLE);
    CHECK(none == NULL);
    layer_import_end(first);
    CHECK_EQ_INT(import(pages, 4 * page, &first), VK_SUCCESS);
    layer_import_end(beside);
    layer_import_end(first);
    layer_import_end(NULL);
    end(pages);
}

UNIT_TEST(what_is_no_import_of_pages_goes_on)
{
    unsigned char *pages = begin();
    VkMemoryAllocateInfo info = {.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO, .allocationSize = page};
    struct layer_import *one = (struct layer_import *)(void *)pages;
    CHECK_EQ_INT(layer_import_begin(&info, &one), VK_SUCCESS);
    CHECK(one == NULL);
    CHECK_EQ_INT(import_as((VkExternalMemoryHandleTypeFlagBits)0, pages, page, &one), VK_SUCCESS);
    CHECK(one == NULL);
    CHECK_EQ_INT(import_as(VK_EXTERNAL_MEMORY_HANDLE_TYPE_HOST_MAPPED_FOREIGN_MEMORY_BIT_EXT, pages, page, &one),
                 VK_ERROR_INVALID_EXTERNAL_HANDLE);
    CHECK_EQ_INT(import((void *)(UINTPTR_MAX - page), 2 * page, &one), VK_ERROR_INVALID_EXTERNAL_HANDLE);
    recording = false; /* nothing is refused for the sake of a replay */
    CHECK_EQ_INT(import_as(VK_EXTERNAL_MEMORY_HANDLE_TYPE_HOST_MAPPED_FOREIGN_MEMORY_BIT_EXT, pages, page, &one),
                 VK_SUCCESS);
    CHECK(one == NULL);
    end(pages);
}

UNIT_TEST(a_child_has_imports_of_its_own)
{
    unsigned char *pages = begin();
    struct layer_import *parents, *own;
    int status = -1;
    pid_t child;
    CHECK_EQ_INT(import(pages, page, &parents), VK_SUCCESS);
    child = fork();
    if (child == 0) {
        layer.imports = NULL; /* as fork.c does */
        bool good = import(pages, page, &own) == VK_SUCCESS;
        layer_import_end(parents);
        good = good && layer.imports != NULL;
        layer_import_end(own);
        _exit(good && layer.imports == NULL ? 0 : 1);
    }
    CHECK(child > 0 && waitpid(child, &status, 0) == child && status == 0);
    layer_import_end(parents);
    end(pages);
}

UNIT_MAIN();
