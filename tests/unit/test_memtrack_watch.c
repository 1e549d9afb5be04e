/* SPDX-License-Identifier: MIT */
/* The tracker and its write watches. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/userfaultfd.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/unit/memtrack.h"

UNIT_TEST(a_watch_says_what_it_is)
{
    static const char *const names[] = {
        [LAP_WATCH_PAGEMAP] = "pagemap", [LAP_WATCH_MPROTECT] = "mprotect", [LAP_WATCH_COMPARE] = "compare"};
    struct lap_memtrack_options options = {.watch = (enum lap_watch_kind)77};
    for (unsigned i = LAP_WATCH_PAGEMAP; i <= LAP_WATCH_COMPARE; i++) {
        bool works;
        begin_with(COHERENT, (enum lap_watch_kind)i);
        works = strcmp(lap_memtrack_watch_name(tracker), names[i]) == 0;
        CHECK(works || strcmp(lap_memtrack_watch_name(tracker), "compare") == 0);
        CHECK(strstr(lap_memtrack_watch_reason(tracker), works ? "asked for" : names[i]) != NULL);
        end();
    }
    /* It breaks read(2), so it has to be asked for. */
    begin_with(COHERENT, LAP_WATCH_AUTO);
    CHECK(strcmp(lap_memtrack_watch_name(tracker), "mprotect") != 0);
    end();
    CHECK_EQ_INT(lap_memtrack_create(&options, &tracker), LAP_ERROR_ARGUMENT);
    CHECK(tracker == NULL);
    lap_memtrack_destroy(&tracker);
}

/* ---- a watch that is told what was written ---- */

static struct {
    unsigned char *begin;
    size_t bytes;
    bool dirty[MEM / 4096 + 1];
    unsigned armed, reported;
    bool broken;
} told;

static enum lap_status told_arm(void *context, void *begin, size_t bytes, void **out_region)
{
    CHECK(context == &told);
    if (told.broken)
        return LAP_ERROR_UNSUPPORTED;
    told.begin = begin;
    told.bytes = bytes;
    told.armed++;
    *out_region = &told;
    return LAP_OK;
}

static enum lap_status told_take(void *region, const void *begin, size_t bytes, lap_watch_report_fn report,
                                 void *context)
{
    size_t first = (size_t)((const unsigned char *)begin - told.begin);
    CHECK(region == &told);
    for (size_t page = first / 4096; page * 4096 < first + bytes; page++) {
        size_t page_end = (page + 1) * 4096 < told.bytes ? (page + 1) * 4096 : told.bytes;
        if (!told.dirty[page])
            continue;
        told.dirty[page] = false;
        told.reported++;
        report(context, told.begin + page * 4096, page_end - page * 4096);
    }
    return told.broken ? LAP_ERROR_IO : LAP_OK;
}

static void told_disarm(void *region)
{
    told.armed--;
}

static const struct lap_watch_ops told_ops = {
    .name = "told", .exact = true, .arm = told_arm, .take = told_take, .disarm = told_disarm};

static void begin_told(void)
{
    struct lap_memtrack_options options = {.watch = LAP_WATCH_AUTO};
    memset(&told, 0, sizeof(told));
    kind = LAP_WATCH_COMPARE;
    begin();
    lap_memtrack_destroy(&tracker);
    CHECK_EQ_INT(lap_memtrack_create_watched(&options, &told_ops, &told, "for a test", &tracker), LAP_OK);
    CHECK_EQ_INT(lap_mem_create(tracker, MEM, COHERENT, &mem), LAP_OK);
}

static void poke(size_t at, unsigned char value)
{
    store[at] = value;
    told.dirty[at / 4096] = true;
}

UNIT_TEST(a_watch_narrows_what_is_read)
{
    begin_told();
    struct lap_memobj *a = object_at(0, 0, 8192);
    CHECK_STR(lap_memtrack_watch_name(tracker), "told");
    map(0, MEM);
    CHECK_EQ_U64(told.armed, 1);
    COLLECT_ALL();
    CHECK_EQ_U64(stats.scanned_bytes, 0);
    poke(10, 1);
    poke(3000, 2);
    collect_range(a, 0, 100, false); /* the page is taken; its far part is remembered */
    CHECK_EQ_U64(stats.scanned_bytes, 100);
    CHECK_EQ_U64(copies[0].received, 1);
    COLLECT_ALL();
    CHECK_EQ_U64(stats.scanned_bytes, 4096 - 100);
    CHECK_EQ_U64(copies[0].received, 2);
    COLLECT_ALL();
    CHECK_EQ_U64(stats.scanned_bytes, 0);
    poke(8000, 3);
    poke(20000, 4);
    lap_mem_unmap(mem);
    CHECK_EQ_U64(told.armed, 0);
    COLLECT_ALL();
    CHECK_EQ_U64(stats.scanned_bytes, 8192);
    CHECK_EQ_U64(copies[0].received, 3);
    end();
}

UNIT_TEST(a_watch_that_fails_means_comparing)
{
    begin_told();
    object_at(0, 0, MEM);
    map(0, MEM);
    store[5000] = 1; /* the watch knows nothing, and says that it failed */
    told.broken = true;
    COLLECT_ALL();
    CHECK_EQ_U64(copies[0].received, 1);
    lap_mem_unmap(mem);
    map(0, MEM); /* can't be armed */
    store[6000] = 1;
    COLLECT_ALL();
    CHECK_EQ_U64(copies[0].received, 2);
    CHECK_EQ_U64(told.armed, 0);
    end();
}

/* ---- pages, as the kernel has them ---- */

enum { PAGE = 4096, PAGES = 16 };

static unsigned char *pages_of(int flags, int fd, size_t bytes)
{
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, flags, fd, 0);
    CHECK(memory != MAP_FAILED);
    return memory == MAP_FAILED ? NULL : memory;
}

static unsigned char *anonymous(size_t bytes)
{
    return pages_of(MAP_PRIVATE | MAP_ANONYMOUS, -1, bytes);
}

/* A memory of its own, all of it one object. */
struct place {
    struct lap_memtrack *tracker;
    struct lap_mem *mem;
    struct lap_memobj *object;
    struct copy *copy;
    unsigned char *at;
    size_t bytes;
};

static void place_make(struct place *place, struct lap_memtrack *of, unsigned char *at, size_t bytes, uint32_t flags)
{
    static struct copy storage[8];
    static unsigned next;
    *place = (struct place){.tracker = of, .copy = &storage[next++ % 8], .at = at, .bytes = bytes};
    memset(place->copy, 0, sizeof(*place->copy));
    emit_budget = UINT32_MAX;
    CHECK_EQ_INT(lap_mem_create(of, bytes, flags, &place->mem), LAP_OK);
    CHECK_EQ_INT(lap_memobj_create(of, place->copy, bytes, true, &place->object), LAP_OK);
    CHECK_EQ_INT(lap_memobj_bind(place->object, 0, place->mem, 0, bytes), LAP_OK);
    CHECK_EQ_INT(lap_mem_map(place->mem, at, 0, bytes), LAP_OK);
}

/* What the next collect of its tracker sends for it. */
static uint64_t sent(struct place *place)
{
    uint64_t before = place->copy->received;
    CHECK_EQ_INT(lap_memtrack_collect(place->tracker, NULL, take, NULL, &tracker, &stats), LAP_OK);
    CHECK(memcmp(place->copy->bytes, place->at, place->bytes) == 0);
    return place->copy->received - before;
}

RULE(memories_of_two_trackers_share_a_page)
{
    struct lap_memtrack_options options = {.watch = kind};
    struct lap_memtrack *other = NULL;
    struct place a, b, c;
    unsigned char *page = anonymous(3 * PAGE);
    CHECK_EQ_INT(lap_memtrack_create(&options, &tracker), LAP_OK);
    CHECK_EQ_INT(lap_memtrack_create(&options, &other), LAP_OK);
    place_make(&a, tracker, page + 100, 1000, COHERENT);
    place_make(&b, other, page + 1100, 5000, COHERENT);
    place_make(&c, tracker, page + 6100, 3000, COHERENT);
    a.at[10] = b.at[10] = b.at[4900] = c.at[10] = 1;
    CHECK_EQ_U64(sent(&a), 1); /* takes the pages, of which b has not been told */
    CHECK_EQ_U64(sent(&b), 2);
    CHECK_EQ_U64(c.copy->received, 1);
    CHECK_EQ_U64(sent(&b), 0);
    b.at[200] = 2;
    lap_mem_destroy(&a.mem); /* b's part of the page stays watched, and what was written there is not forgotten */
    b.at[300] = 3;
    CHECK_EQ_U64(sent(&b), 2);
    b.at[400] = 4;
    CHECK_EQ_U64(sent(&b), 1);
    lap_memtrack_destroy(&tracker);
    b.at[500] = 5;
    CHECK_EQ_U64(sent(&b), 1);
    lap_memtrack_destroy(&other);
    page[100] = 1;
    munmap(page, 3 * PAGE);
}

RULE(the_same_bytes_are_two_memories)
{
    struct lap_memtrack_options options = {.watch = kind};
    struct place a, b;
    unsigned char *page = anonymous(2 * PAGE);
    CHECK_EQ_INT(lap_memtrack_create(&options, &tracker), LAP_OK);
    place_make(&a, tracker, page, 2 * PAGE, COHERENT);
    place_make(&b, tracker, page + 1000, 4000, COHERENT);
    page[2000] = 1;
    CHECK_EQ_U64(sent(&a), 1);
    CHECK_EQ_U64(sent(&b), 0);
    CHECK_EQ_U64(b.copy->bytes[1000], 1);
    lap_mem_unmap(a.mem);
    page[3000] = 1;
    CHECK_EQ_U64(sent(&b), 1);
    lap_memtrack_destroy(&tracker);
    munmap(page, 2 * PAGE);
}

RULE(another_mapping_at_the_same_address)
{
    struct lap_memtrack_options options = {.watch = kind};
    unsigned char *memory = anonymous(PAGES * PAGE);
    CHECK_EQ_INT(lap_memtrack_create(&options, &tracker), LAP_OK);
    for (unsigned round = 0; round < 4; round++) {
        struct place place;
        place_make(&place, tracker, memory, PAGES * PAGE, COHERENT | LAP_MEM_FRESH);
        memory[round * PAGE] = 1;
        CHECK_EQ_U64(sent(&place), 1);
        memory[5 * PAGE + round] = 2;
        CHECK_EQ_U64(sent(&place), 1);
        if (round % 2) { /* once after the driver gave the pages back, once before */
            lap_mem_destroy(&place.mem);
            munmap(memory, PAGES * PAGE);
        } else {
            munmap(memory, PAGES * PAGE);
            lap_mem_destroy(&place.mem);
        }
        memory = mmap(memory, PAGES * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
        CHECK(memory != MAP_FAILED);
    }
    memset(memory, 1, PAGES * PAGE);
    lap_memtrack_destroy(&tracker);
    munmap(memory, PAGES * PAGE);
}

RULE(shared_memory_is_watched_too)
{
    struct lap_memtrack_options options = {.watch = kind};
    int fd = memfd_create("lapilli test", MFD_CLOEXEC);
    unsigned char *memory;
    struct stat stat;
    struct place place;
    CHECK_EQ_INT(ftruncate(fd, PAGES * PAGE), 0);
    memory = pages_of(MAP_SHARED, fd, PAGES * PAGE);
    CHECK_EQ_INT(lap_memtrack_create(&options, &tracker), LAP_OK);
    place_make(&place, tracker, memory, PAGES * PAGE, COHERENT | LAP_MEM_FRESH);
    CHECK_EQ_U64(lap_memtrack_watch_counts(tracker, NULL).compared, 0);
    memory[3 * PAGE + 5] = 1;
    CHECK_EQ_INT(lap_memtrack_collect(tracker, NULL, take, NULL, &tracker, &stats), LAP_OK);
    CHECK_EQ_U64(stats.emitted_bytes, 1);
    if (exact) { /* pages that nobody wrote were not read, so they have no storage */
        CHECK_EQ_INT(fstat(fd, &stat), 0);
        CHECK_EQ_U64((uint64_t)stat.st_blocks * 512, HOST_PAGE);
        CHECK_EQ_U64(stats.scanned_bytes, HOST_PAGE);
    }
    lap_memtrack_destroy(&tracker);
    munmap(memory, PAGES * PAGE);
    close(fd);
}

/* A device that stores behind the watch's back, as through another mapping; then the host stores what was there before.
 */
RULE(what_no_watch_sees_is_found_where_it_is_read_back)
{
    struct lap_memtrack_options options = {.watch = kind};
    int fd = memfd_create("lapilli test", MFD_CLOEXEC);
    unsigned char *memory, *device;
    struct place place;
    CHECK_EQ_INT(ftruncate(fd, PAGES * PAGE), 0);
    memory = pages_of(MAP_SHARED, fd, PAGES * PAGE);
    device = pages_of(MAP_SHARED, fd, PAGES * PAGE);
    CHECK_EQ_INT(lap_memtrack_create(&options, &tracker), LAP_OK);
    for (unsigned read_back = 0; read_back < 2; read_back++) {
        place_make(&place, tracker, memory, PAGES * PAGE, COHERENT | (read_back ? LAP_MEM_READ_BACK : 0));
        device[3 * PAGE + 5] = 7;
        lap_memtrack_doubt(tracker);
        CHECK_EQ_INT(lap_memtrack_collect(tracker, NULL, take, NULL, &tracker, &stats), LAP_OK);
        CHECK_EQ_U64(stats.emitted_bytes, read_back || !exact);
        memory[3 * PAGE + 5] = 0;
        CHECK_EQ_INT(lap_memtrack_collect(tracker, NULL, take, NULL, &tracker, &stats), LAP_OK);
        CHECK_EQ_U64(stats.emitted_bytes, read_back || !exact);
        lap_mem_destroy(&place.mem);
    }
    lap_memtrack_destroy(&tracker);
    munmap(memory, PAGES * PAGE);
    munmap(device, PAGES * PAGE);
    close(fd);
}

static uint64_t resident_bytes(void)
{
    unsigned long long total = 0, resident = 0;
    FILE *file = fopen("/proc/self/statm", "re");
    if (file && fscanf(file, "%llu %llu", &total, &resident) != 2)
        resident = 0;
    if (file)
        fclose(file);
    return resident * PAGE;
}

/* 1 % of 2 GiB: not what is mapped decides what it takes, but what is written. */
RULE(a_large_map_costs_what_is_written)
{
    const uint64_t bytes = UINT64_C(2) << 30;
    struct lap_memtrack_options options = {.watch = kind};
    struct lap_memobj *object = NULL;
    unsigned char *memory;
    uint64_t before, written = 0;
    if (!exact)
        SKIP("it reads all that is mapped");
    memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED)
        SKIP("no 2 GiB of addresses");
    CHECK_EQ_INT(lap_memtrack_create(&options, &tracker), LAP_OK);
    before = resident_bytes();
    CHECK_EQ_INT(lap_mem_create(tracker, bytes, COHERENT | LAP_MEM_FRESH, &mem), LAP_OK);
    CHECK_EQ_INT(lap_memobj_create(tracker, NULL, bytes, false, &object), LAP_OK);
    CHECK_EQ_INT(lap_memobj_bind(object, 0, mem, 0, bytes), LAP_OK);
    CHECK_EQ_INT(lap_mem_map(mem, memory, 0, bytes), LAP_OK);
    for (uint64_t at = 0; at < bytes; at += 100 * PAGE, written += PAGE)
        memset(memory + at, 1, PAGE);
    lap_mem_unmap(mem);
    CHECK_EQ_U64(lap_memtrack_watch_counts(tracker, NULL).compared, 0);
    CHECK_EQ_U64(mem->shadow.owned_pages, written / PAGE);
    CHECK_EQ_INT(lap_memtrack_collect(tracker, NULL, take, NULL, &tracker, &stats), LAP_OK);
    CHECK_EQ_U64(stats.scanned_bytes, written / PAGE * HOST_PAGE);
    /* The program's own pages, the copies, and what is allowed on top. */
    CHECK(resident_bytes() <= before + 2 * written + (64 << 20));
    lap_memtrack_destroy(&tracker);
    munmap(memory, bytes);
}

RULE(a_read_back_sends_nothing_though_the_host_writes_next_to_it)
{
    struct lap_memobj *read_back;
    begin_with(COHERENT | LAP_MEM_FRESH, kind);
    read_back = object_at(0, 1000, 2000);
    object_at(1, 3000, 1000);
    for (unsigned frame = 1; frame < 6; frame++) {
        bool mapped_early = frame & 1;
        if (mapped_early)
            map(0, UINT64_MAX);
        collect_range(read_back, 0, UINT64_MAX, true);
        memset(store + 1000, (int)frame, 2000); /* by the device */
        device_wrote(read_back, 0, 2000);
        if (!mapped_early)
            map(0, UINT64_MAX);
        store[3100 + frame] = (unsigned char)frame; /* by the host, in the same page */
        COLLECT_ALL();
        CHECK_EQ_U64(copies[0].received, 0);
        CHECK_EQ_U64(copies[1].bytes[100 + frame], frame);
        store[1500] = 99; /* in the middle of what the device wrote */
        COLLECT_ALL();
        CHECK_EQ_U64(copies[0].received, 1);
        CHECK_EQ_U64(copies[0].bytes[500], 99);
        copies[0].received = 0;
        lap_mem_unmap(mem);
    }
    end();
}

RULE(the_kernel_writes_into_watched_memory)
{
    struct lap_memtrack_options options = {.watch = kind};
    unsigned char *memory = anonymous(PAGES * PAGE);
    struct place place;
    int fds[2];
    if (kind == LAP_WATCH_MPROTECT)
        SKIP("it can't let the kernel write: docs/memory.md");
    CHECK_EQ_INT(lap_memtrack_create(&options, &tracker), LAP_OK);
    place_make(&place, tracker, memory, PAGES * PAGE, COHERENT);
    CHECK_EQ_INT(pipe(fds), 0);
    CHECK_EQ_INT(write(fds[1], "hello", 5), 5);
    CHECK_EQ_INT(read(fds[0], memory + 3 * PAGE - 2, 5), 5);
    CHECK_EQ_U64(sent(&place), 5);
    close(fds[0]);
    close(fds[1]);
    lap_memtrack_destroy(&tracker);
    munmap(memory, PAGES * PAGE);
}

/* The kernel would report 2 MiB for each byte. */
RULE(huge_pages_are_watched_by_the_page)
{
    const size_t huge = 2 << 20;
    struct lap_memtrack_options options = {.watch = kind};
    struct lap_memobj *object = NULL;
    unsigned char *block = anonymous(3 * huge), *memory = block + (huge - (uintptr_t)block % huge);
    if (!exact)
        SKIP("it reads all that is mapped");
    if (madvise(memory, 2 * huge, MADV_HUGEPAGE) != 0)
        SKIP("no huge pages");
    memset(memory, 1, 2 * huge);
    CHECK_EQ_INT(lap_memtrack_create(&options, &tracker), LAP_OK);
    CHECK_EQ_INT(lap_mem_create(tracker, 2 * huge, COHERENT | LAP_MEM_FRESH, &mem), LAP_OK);
    CHECK_EQ_INT(lap_memobj_create(tracker, NULL, 2 * huge, true, &object), LAP_OK);
    CHECK_EQ_INT(lap_memobj_bind(object, 0, mem, 0, 2 * huge), LAP_OK);
    CHECK_EQ_INT(lap_mem_map(mem, memory, 0, 2 * huge), LAP_OK);
    memory[huge + 5 * PAGE] = 2;
    lap_mem_unmap(mem);
    CHECK_EQ_U64(mem->shadow.owned_pages, HOST_PAGE / LAP_SHADOW_PAGE);
    lap_memtrack_destroy(&tracker);
    munmap(block, 3 * huge);
}

/* ---- memory with little or no storage ---- */

static uint64_t page_table_bytes(void)
{
    char line[128];
    uint64_t kib = 0;
    FILE *status = fopen("/proc/self/status", "re");
    while (status && fgets(line, sizeof(line), status))
        if (sscanf(line, "VmPTE: %" SCNu64, &kib) == 1)
            break;
    if (status)
        fclose(status);
    return kib << 10;
}

static struct lap_mem *watched_map(unsigned char *memory, size_t bytes, struct lap_memobj **out_object)
{
    struct lap_memtrack_options options = {.watch = LAP_WATCH_PAGEMAP};
    CHECK_EQ_INT(lap_memtrack_create(&options, &tracker), LAP_OK);
    CHECK_EQ_INT(lap_mem_create(tracker, bytes, COHERENT | LAP_MEM_FRESH, &mem), LAP_OK);
    CHECK_EQ_INT(lap_memobj_create(tracker, NULL, bytes, true, out_object), LAP_OK);
    CHECK_EQ_INT(lap_memobj_bind(*out_object, 0, mem, 0, bytes), LAP_OK);
    CHECK_EQ_INT(lap_mem_map(mem, memory, 0, bytes), LAP_OK);
    return mem;
}

static enum lap_status count_bytes(void *context, void *user, uint64_t offset, const void *data, uint64_t bytes)
{
    *(uint64_t *)context += bytes;
    return LAP_OK;
}

static uint64_t collected(void)
{
    uint64_t bytes = 0;
    CHECK_EQ_INT(lap_memtrack_collect(tracker, NULL, count_bytes, NULL, &bytes, &stats), LAP_OK);
    return bytes;
}

UNIT_TEST(memory_without_storage_gets_none_by_being_watched)
{
    const size_t bytes = (size_t)256 << 20, step = (size_t)4 << 20;
    const char *missing = prepare(LAP_WATCH_PAGEMAP, "pagemap");
    struct lap_memobj *object;
    if (missing)
        SKIP(missing);
    unsigned char *memory = anonymous(bytes);
    CHECK(madvise(memory, bytes, MADV_NOHUGEPAGE) == 0 || errno == EINVAL);
    uint64_t tables = page_table_bytes(), resident = resident_bytes();
    watched_map(memory, bytes, &object);
    CHECK_EQ_U64(collected(), 0);
    CHECK(page_table_bytes() - tables < (size_t)128 << 10); /* of 512 KiB for all of it */
    CHECK(resident_bytes() - resident < (size_t)1 << 20);
    for (size_t at = 0; at < bytes; at += step)
        memory[at + PAGE] = 1;
    CHECK_EQ_U64(collected(), bytes / step);
    CHECK_EQ_U64(stats.scanned_bytes, bytes / step * PAGE); /* and not the neighbours, which have a page table now */
    CHECK_EQ_U64(collected(), 0);
    CHECK_EQ_U64(stats.scanned_bytes, 0);
    lap_memtrack_destroy(&tracker);
    munmap(memory, bytes);
}

/* From empty over half full to full, in any order, and then some pages again and again. */
UNIT_TEST(memory_that_fills_up_is_watched_by_the_page)
{
    const size_t count = 3 * 512, bytes = count * PAGE;
    const char *missing = prepare(LAP_WATCH_PAGEMAP, "pagemap");
    struct lap_memobj *object;
    if (missing)
        SKIP(missing);
    unsigned char *memory = anonymous(bytes);
    CHECK(madvise(memory, bytes, MADV_NOHUGEPAGE) == 0 || errno == EINVAL);
    watched_map(memory, bytes, &object);
    for (size_t i = 0; i < 4 * count; i++) {
        size_t at = i * 577 % count * PAGE;
        memory[at + i % PAGE]++;
        CHECK_EQ_U64(collected(), 1);
        if (i >= count) /* before, a few pages may be reported that have no storage */
            CHECK_EQ_U64(stats.scanned_bytes, PAGE);
        CHECK(stats.scanned_bytes <= 512 * PAGE);
    }
    lap_memtrack_destroy(&tracker);
    munmap(memory, bytes);
}

/* The kernel takes a page of a file out of the page table when it likes; what was stored to it is in the file. */
UNIT_TEST(a_page_of_a_file_that_is_taken_away_was_stored_to)
{
    const char *missing = prepare(LAP_WATCH_PAGEMAP, "pagemap");
    struct lap_memobj *object;
    int file = memfd_create("watched", MFD_CLOEXEC);
    if (missing)
        SKIP(missing);
    CHECK(file >= 0 && ftruncate(file, PAGES * PAGE) == 0);
    unsigned char *memory = pages_of(MAP_SHARED, file, PAGES * PAGE);
    watched_map(memory, PAGES * PAGE, &object);
    memory[3 * PAGE] = 1;
    memory[5 * PAGE] = 2;
    CHECK(madvise(memory, PAGES * PAGE, MADV_DONTNEED) == 0);
    CHECK_EQ_U64(collected(), 2);
    CHECK_EQ_U64(collected(), 0);
    lap_memtrack_destroy(&tracker);
    munmap(memory, PAGES * PAGE);
    close(file);
}

/* ---- memory that can't be watched ---- */

/* Another userfaultfd, the program's own, has the pages. False: it can't be had here. */
static bool register_elsewhere(int fault, unsigned char *memory, size_t bytes)
{
    struct uffdio_api api = {.api = UFFD_API};
    struct uffdio_register range = {.range = {(uintptr_t)memory, bytes}, .mode = UFFDIO_REGISTER_MODE_MISSING};
    return fault >= 0 && ioctl(fault, UFFDIO_API, &api) == 0 && ioctl(fault, UFFDIO_REGISTER, &range) == 0;
}

UNIT_TEST(what_the_kernel_refuses_is_compared)
{
    struct lap_memtrack_options options = {.watch = LAP_WATCH_PAGEMAP};
    const char *missing = prepare(LAP_WATCH_PAGEMAP, "pagemap"), *reason = NULL;
    int fault = (int)syscall(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK | UFFD_USER_MODE_ONLY);
    unsigned char *memory = anonymous(PAGES * PAGE);
    struct place place, watched;
    memset(memory, 1, PAGES * PAGE); /* all are there, so nobody waits for the one that has them */
    if (missing)
        SKIP(missing);
    if (!register_elsewhere(fault, memory + 4 * PAGE, 4 * PAGE))
        SKIP("no userfaultfd to take the pages with");
    CHECK_EQ_INT(lap_memtrack_create(&options, &tracker), LAP_OK);
    place_make(&place, tracker, memory + 6 * PAGE, 8 * PAGE, COHERENT);
    place_make(&watched, tracker, memory + 14 * PAGE, 2 * PAGE, COHERENT);
    CHECK_EQ_U64(lap_memtrack_watch_counts(tracker, &reason).mappings, 2);
    CHECK_EQ_U64(lap_memtrack_watch_counts(tracker, &reason).compared, 1);
    CHECK(reason && strstr(reason, strerror(EBUSY)) != NULL);
    place.at[5] = watched.at[5] = 2;
    CHECK_EQ_INT(lap_memtrack_collect(tracker, NULL, take, NULL, &tracker, &stats), LAP_OK);
    CHECK_EQ_U64(stats.emitted_bytes, 2);
    CHECK_EQ_U64(stats.scanned_bytes, 8 * PAGE + PAGE);
    CHECK(place.copy->bytes[5] == 2 && watched.copy->bytes[5] == 2);
    lap_memtrack_destroy(&tracker);
    close(fault);
    munmap(memory, PAGES * PAGE);
}

/* All descriptors are strangers' from now on. */
static void replace_all_descriptors(void)
{
    int null = open("/dev/null", O_RDONLY);
    for (int fd = 3; fd < 4096; fd++)
        if (fd != null && fcntl(fd, F_GETFD) >= 0)
            CHECK_EQ_INT(dup2(null, fd), fd);
}

/* A program that closes what it did not open takes our files away only where it does not count: what is mapped is
 * compared then, and what is mapped later is watched again. */
static void check_closed_files(void (*close_them)(void), bool lost)
{
    struct lap_memtrack_options options = {.watch = LAP_WATCH_PAGEMAP};
    const char *missing = prepare(LAP_WATCH_PAGEMAP, "pagemap");
    unsigned char *memory = anonymous(PAGES * PAGE);
    struct place place, later;
    if (missing)
        SKIP(missing);
    CHECK_EQ_INT(lap_memtrack_create(&options, &tracker), LAP_OK);
    place_make(&place, tracker, memory, 8 * PAGE, COHERENT);
    memory[0] = 1;
    CHECK_EQ_U64(sent(&place), 1);
    memory[2 * PAGE] = 3;
    close_them();
    memory[1] = memory[3 * PAGE] = 2;
    CHECK_EQ_U64(sent(&place), 3);
    CHECK((stats.scanned_bytes == 8 * PAGE) == lost);
    place_make(&later, tracker, memory + 8 * PAGE, 8 * PAGE, COHERENT);
    CHECK_EQ_U64(lap_memtrack_watch_counts(tracker, NULL).compared, 0);
    later.at[5] = 3;
    CHECK_EQ_U64(sent(&later), 1);
    memory[4] = 7;
    CHECK_EQ_U64(sent(&place), 1);
    lap_memtrack_destroy(&tracker);
    munmap(memory, PAGES * PAGE);
}

static void close_some(void)
{
    for (int fd = 3; fd < 1024; fd++)
        close(fd);
}

static void close_all(void)
{
    closefrom(3);
}

UNIT_TEST(files_stay_where_a_program_closes_by_counting)
{
    check_closed_files(close_some, false);
}

UNIT_TEST(closed_files_mean_comparing)
{
    check_closed_files(close_all, true);
}

UNIT_TEST(a_strangers_file_is_not_asked_and_not_closed)
{
    check_closed_files(replace_all_descriptors, true);
    CHECK(unit_skipped || (fcntl(4096 - 64, F_GETFD) >= 0 && fcntl(4096 - 63, F_GETFD) >= 0));
    close_all();
}

/* ---- signals ---- */

static volatile unsigned char *guarded; /* a page that the program protects itself */
static volatile sig_atomic_t program_faults, program_segv;
static sigjmp_buf jump;

static void program_handler(int number, siginfo_t *info, void *context)
{
    program_segv++;
    if (info->si_addr == guarded && info->si_code > 0) {
        program_faults++;
        mprotect((void *)(uintptr_t)guarded, PAGE, PROT_READ | PROT_WRITE);
    }
}

static void jumping_handler(int number)
{
    program_segv++;
    siglongjmp(jump, 1);
}

UNIT_TEST(the_programs_own_handler_keeps_getting_its_faults)
{
    struct sigaction own = {.sa_sigaction = program_handler, .sa_flags = SA_SIGINFO}, old, now;
    struct lap_memtrack_options options = {.watch = LAP_WATCH_MPROTECT};
    unsigned char *memory = anonymous(PAGES * PAGE);
    struct place place;
    sigset_t mask;
    sigaction(SIGSEGV, &own, &old);
    CHECK_EQ_INT(lap_memtrack_create(&options, &tracker), LAP_OK);
    place_make(&place, tracker, memory, PAGES * PAGE, COHERENT);
    guarded = anonymous(PAGE);
    mprotect((void *)(uintptr_t)guarded, PAGE, PROT_READ);
    program_faults = program_segv = 0;
    memory[5] = 1;
    guarded[0] = 1;
    CHECK_EQ_INT(program_faults, 1);
    CHECK_EQ_INT(program_segv, 1);
    CHECK_EQ_U64(sent(&place), 1);
    raise(SIGSEGV); /* sent, not caused */
    CHECK_EQ_INT(program_segv, 2);
    sigprocmask(SIG_BLOCK, NULL, &mask);
    CHECK_EQ_INT(sigismember(&mask, SIGSEGV), 0);
    CHECK_EQ_INT(sigismember(&mask, SIGUSR1), 0);
    lap_memtrack_destroy(&tracker);
    sigaction(SIGSEGV, NULL, &now); /* given back as it was */
    CHECK(now.sa_sigaction == program_handler);
    /* One that never returns. */
    sigaction(SIGSEGV, &(struct sigaction){.sa_handler = jumping_handler}, NULL);
    CHECK_EQ_INT(lap_memtrack_create(&options, &tracker), LAP_OK);
    mprotect((void *)(uintptr_t)guarded, PAGE, PROT_NONE);
    for (unsigned i = 0; i < 3; i++)
        if (sigsetjmp(jump, 1) == 0)
            guarded[0] = 1;
    CHECK_EQ_INT(program_segv, 5);
    lap_memtrack_destroy(&tracker);
    sigaction(SIGSEGV, &old, NULL);
    munmap((void *)(uintptr_t)guarded, PAGE);
    munmap(memory, PAGES * PAGE);
}

UNIT_TEST(a_handler_that_comes_later_ends_the_mprotect_watch)
{
    struct sigaction own = {.sa_sigaction = program_handler, .sa_flags = SA_SIGINFO}, ours;
    struct lap_memtrack_options options = {.watch = LAP_WATCH_MPROTECT};
    struct lap_memtrack *second = NULL;
    unsigned char *memory = anonymous(PAGES * PAGE);
    struct place place, later;
    CHECK_EQ_INT(lap_memtrack_create(&options, &tracker), LAP_OK);
    place_make(&place, tracker, memory, 8 * PAGE, COHERENT);
    memory[0] = 1;
    sigaction(SIGSEGV, &own, &ours);
    CHECK_EQ_U64(sent(&place), 1); /* notices */
    program_segv = 0;
    memory[2 * PAGE] = 2;
    CHECK_EQ_INT(program_segv, 0);
    CHECK_EQ_U64(sent(&place), 1);
    CHECK_EQ_U64(stats.scanned_bytes, 8 * PAGE);
    place_make(&later, tracker, memory + 8 * PAGE, 8 * PAGE, COHERENT);
    CHECK_EQ_U64(lap_memtrack_watch_counts(tracker, NULL).compared, 1);
    later.at[5] = 3;
    CHECK_EQ_U64(sent(&later), 1);
    CHECK_EQ_INT(lap_memtrack_create(&options, &second), LAP_OK);
    CHECK_STR(lap_memtrack_watch_name(second), "compare");
    CHECK(strstr(lap_memtrack_watch_reason(second), "SIGSEGV") != NULL);
    lap_memtrack_destroy(&second);
    lap_memtrack_destroy(&tracker);
    sigaction(SIGSEGV, &ours, NULL);
    CHECK_EQ_INT(lap_memtrack_create(&options, &tracker), LAP_OK);
    CHECK_STR(lap_memtrack_watch_name(tracker), "mprotect");
    memset(memory, 0, PAGES * PAGE);
    place_make(&place, tracker, memory, 8 * PAGE, COHERENT);
    memory[7] = 7;
    CHECK_EQ_U64(sent(&place), 1);
    CHECK_EQ_U64(stats.scanned_bytes, HOST_PAGE);
    lap_memtrack_destroy(&tracker);
    munmap(memory, PAGES * PAGE);
}

/* How a program ends that faults while pages are watched. */
static int end_of(void (*fault)(void), bool watched, void (*handler)(int))
{
    int status = 0;
    pid_t child;
    fflush(stdout);
    child = fork();
    if (child == 0) {
        struct lap_memtrack_options options = {.watch = watched ? LAP_WATCH_MPROTECT : LAP_WATCH_COMPARE};
        unsigned char *memory = anonymous(PAGES * PAGE);
        struct place place;
        signal(SIGSEGV, handler);
        CHECK_EQ_INT(lap_memtrack_create(&options, &tracker), LAP_OK);
        place_make(&place, tracker, memory, PAGES * PAGE, COHERENT);
        memory[0] = 1;
        guarded = anonymous(PAGE);
        mprotect((void *)(uintptr_t)guarded, PAGE, PROT_READ);
        fault();
        _exit(3);
    }
    CHECK(waitpid(child, &status, 0) == child);
    return status;
}

static void store_to_guarded(void)
{
    guarded[0] = 1;
}

static void store_to_nowhere(void)
{
    volatile char *volatile nowhere = (volatile char *)8;
    *nowhere = 1;
}

static void send_signal(void)
{
    kill(getpid(), SIGSEGV);
    usleep(100000);
}

UNIT_TEST(a_fault_that_nobody_handles_ends_the_program_as_ever)
{
    static void (*const faults[])(void) = {store_to_guarded, store_to_nowhere, send_signal};
    for (unsigned i = 0; i < 3; i++) {
        int without = end_of(faults[i], false, SIG_DFL), with = end_of(faults[i], true, SIG_DFL);
        CHECK(WIFSIGNALED(without) && WTERMSIG(without) == SIGSEGV);
        CHECK_EQ_INT(with, without);
        CHECK_EQ_INT(end_of(faults[i], true, SIG_IGN), end_of(faults[i], false, SIG_IGN));
    }
}

/* ---- fork ---- */

RULE(a_child_of_fork_goes_its_own_way)
{
    struct lap_memtrack_options options = {.watch = kind};
    unsigned char *memory = anonymous(PAGES * PAGE);
    struct place place;
    pid_t child;
    int status = -1;
    CHECK_EQ_INT(lap_memtrack_create(&options, &tracker), LAP_OK);
    place_make(&place, tracker, memory, PAGES * PAGE, COHERENT);
    memory[0] = 1;
    fflush(stdout);
    child = fork();
    if (child == 0) {
        struct lap_memtrack *own = NULL;
        struct place mine;
        unit_failed = false;
        memory[PAGE] = 2; /* its own copy of a page that is watched in its parent */
        CHECK_EQ_U64(sent(&place), 2);
        CHECK_EQ_INT(lap_memtrack_create(&options, &own), LAP_OK);
        place_make(&mine, own, anonymous(PAGES * PAGE), PAGES * PAGE, COHERENT);
        CHECK_EQ_U64(lap_memtrack_watch_counts(own, NULL).compared, 0);
        mine.at[7] = 1;
        CHECK_EQ_U64(sent(&mine), 1);
        memory[2 * PAGE] = 3;
        CHECK_EQ_U64(sent(&place), 1);
        lap_memtrack_destroy(&tracker);
        mine.at[8] = 1;
        CHECK_EQ_U64(sent(&mine), 1);
        lap_memtrack_destroy(&own);
        fflush(stdout);
        _exit(unit_failed);
    }
    CHECK(waitpid(child, &status, 0) == child && status == 0);
    memory[3 * PAGE] = 4;
    CHECK_EQ_U64(sent(&place), 2);
    CHECK_EQ_U64(place.copy->bytes[PAGE], 0);
    memory[4 * PAGE] = 5;
    CHECK_EQ_U64(sent(&place), 1);
    lap_memtrack_destroy(&tracker);
    munmap(memory, PAGES * PAGE);
}

UNIT_MAIN();
