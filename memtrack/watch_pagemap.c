/* SPDX-License-Identifier: MIT */
/*
 * The kernel's own record of writes. A userfaultfd in WP_ASYNC mode lets PAGEMAP_SCAN write-protect pages; the first
 * store to one, also one by a system call, makes it writable again inside the fault. PAGEMAP_SCAN then finds the pages
 * that are not protected and protects them again in one step, which is atomic for each page. A page of plain memory
 * (base/process/address_space.h) without storage is left as it is: a store gives it storage without protection.
 *
 * A granule is the range of one page table (2 MiB on most machines). A granule without a table, or in one huge page,
 * costs a scan next to nothing. The kernel has a short way of scanning a table, which takes pages without storage for
 * written ones, and a long way, in which they can be left out: the short one is used for granules that have storage
 * nearly everywhere (dense), the long one for all others.
 *
 * One userfaultfd and one open pagemap a process, from the first arm on until the last tracker is gone. A program may
 * close them. A closed userfaultfd ends its watches: scans then fail, so that all of these ranges are compared; ranges
 * armed later are watched through a new one.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/types.h>
#include <linux/userfaultfd.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/file/own_file.h"
#include "base/process/address_space.h"
#include "base/process/process.h"
#include "memtrack/watch_region.h"

/* ---- the kernel's interface, for headers that are older than Linux 6.7 ---- */

#ifndef UFFD_USER_MODE_ONLY
#define UFFD_USER_MODE_ONLY 1
#endif
#ifndef UFFD_FEATURE_WP_HUGETLBFS_SHMEM
#define UFFD_FEATURE_WP_HUGETLBFS_SHMEM (1 << 12)
#endif
#ifndef UFFD_FEATURE_WP_ASYNC
#define UFFD_FEATURE_WP_ASYNC (1 << 15)
#endif

/* The layout of the kernel's struct page_region and struct pm_scan_arg; the names are our own, so that both may be
 * defined. */
struct scanned_run {
    __u64 start, end, categories;
};
struct scan_argument {
    __u64 size, flags, start, end, walk_end, vec, vec_len, max_pages;
    __u64 category_inverted, category_mask, category_anyof_mask, return_mask;
};
#define SCAN_PAGEMAP     _IOWR('f', 16, struct scan_argument)
#define SCAN_WP_MATCHING 1u  /* PM_SCAN_WP_MATCHING */
#define SCAN_CHECK_ASYNC 2u  /* PM_SCAN_CHECK_WPASYNC: an error where the range is not watched */
#define CATEGORY_WATCHED 1u  /* PAGE_IS_WPALLOWED */
#define CATEGORY_WRITTEN 2u  /* PAGE_IS_WRITTEN */
#define CATEGORY_STORAGE 24u /* PAGE_IS_PRESENT or PAGE_IS_SWAPPED */
#define RUNS_A_CALL      256u

#define DENSE            UINT16_MAX /* of lap_watch_region.counts */

struct files {
    struct lap_own_file fault, pagemap;
};
#define NO_FILES                                                                                                       \
    {                                                                                                                  \
        .fault = {.fd = -1}, .pagemap = {.fd = -1 }                                                                    \
    }

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static struct files files = NO_FILES;
static struct lap_watch_regions regions;
static unsigned users; /* trackers */

/* The files watch the memory of this process: a child of fork() that used them would change its parent's, and the mutex
 * may have been held when it was copied. 0: the back end is not in use. */
static atomic_int owner;

static bool is_child(void)
{
    int process = atomic_load_explicit(&owner, memory_order_relaxed);
    return process != 0 && process != lap_process();
}

static enum lap_status refuse_child(void)
{
    return lap_fail(LAP_ERROR_UNSUPPORTED, "a child of fork() has no write watch");
}

/* ---- system calls ---- */

static void close_files(struct files *f)
{
    (void)lap_own_file_close(&f->fault);
    (void)lap_own_file_close(&f->pagemap);
}

static enum lap_status open_fault(struct files *f)
{
    struct uffdio_api api = {.api = UFFD_API, .features = UFFD_FEATURE_WP_ASYNC | UFFD_FEATURE_WP_HUGETLBFS_SHMEM};
#ifdef __ANDROID__
    /* Older ones have no kernel that can, and may end an app for the question. */
    if (android_get_device_api_level() < 35)
        return lap_fail(LAP_ERROR_UNSUPPORTED, "userfaultfd: this Android is older than 15");
#endif
    int fd = (int)syscall(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK | UFFD_USER_MODE_ONLY);
    if (fd < 0)
        return lap_fail(LAP_ERROR_UNSUPPORTED, "userfaultfd: %s", strerror(errno));
    if (ioctl(fd, UFFDIO_API, &api) != 0) {
        enum lap_status status = lap_fail(
            LAP_ERROR_UNSUPPORTED, "userfaultfd can't write-protect asynchronously (Linux 6.7): %s", strerror(errno));
        close(fd);
        return status;
    }
    lap_own_file_init(&f->fault, fd, NULL);
    return LAP_OK;
}

static enum lap_status open_pagemap(struct files *f)
{
    int fd = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return lap_fail(LAP_ERROR_UNSUPPORTED, "/proc/self/pagemap: %s", strerror(errno));
    lap_own_file_init(&f->pagemap, fd, NULL);
    return LAP_OK;
}

/* Opens files that are not open, or that the program has closed. */
static enum lap_status open_files(struct files *f)
{
    enum lap_status status = lap_own_file_fd(&f->fault) < 0 ? open_fault(f) : LAP_OK;
    if (status == LAP_OK && lap_own_file_fd(&f->pagemap) < 0)
        status = open_pagemap(f);
    return status;
}

static int protect(const struct files *f, uint64_t begin, uint64_t end)
{
    struct uffdio_writeprotect argument = {.range = {begin, end - begin}, .mode = UFFDIO_WRITEPROTECT_MODE_WP};
    int result;
    do
        result = ioctl(f->fault.fd, UFFDIO_WRITEPROTECT, &argument);
    while (result != 0 && errno == EAGAIN);
    return result;
}

static void unregister(const struct files *f, uint64_t begin, uint64_t end)
{
    struct uffdio_range range = {begin, end - begin};
    ioctl(f->fault.fd, UFFDIO_UNREGISTER,
          &range); /* fails where the driver has unmapped already: nothing is left there */
}

/* One step of a scan: how many runs were stored, < 0 on an error. *at is moved. */
static int scan_step(const struct files *f, struct scan_argument *argument, struct scanned_run *runs, uint64_t *at,
                     uint64_t end)
{
    int count;
    argument->size = sizeof(*argument);
    argument->start = *at;
    argument->end = end;
    argument->walk_end = 0;
    argument->vec = (uintptr_t)runs;
    argument->vec_len = RUNS_A_CALL;
    do
        count = ioctl(f->pagemap.fd, SCAN_PAGEMAP, argument);
    while (count < 0 && errno == EINTR);
    if (count >= 0 && argument->walk_end <= *at) { /* no progress: a part of a hugetlb page */
        errno = EINVAL;
        return -1;
    }
    *at = argument->walk_end;
    return count;
}

/* ---- granules ---- */

static uint64_t granule_bytes(void)
{
    uint64_t page = lap_watch_page_bytes();
    return page / sizeof(uint64_t) * page;
}

struct granules {
    uint16_t
        *counts; /* of the region, from the granule on where it begins; NULL: granules are not counted one by one */
    bool plain;
    uint64_t begin, end, bytes, pages;
};

static struct granules granules_of(const struct lap_watch_region *region)
{
    uint64_t bytes = granule_bytes();
    return (struct granules){region->counts,
                             region->plain,
                             lap_watch_page_floor(region->node.begin, bytes),
                             lap_watch_page_ceil(region->node.end, bytes),
                             bytes,
                             bytes / lap_watch_page_bytes()};
}

static uint64_t pages_with_storage(const struct files *f, uint64_t begin, uint64_t end)
{
    uint64_t page = lap_watch_page_bytes(), pages = 0;
    struct scanned_run runs[RUNS_A_CALL];
    struct scan_argument argument = {.category_anyof_mask = CATEGORY_STORAGE, .return_mask = CATEGORY_STORAGE};
    while (begin < end) {
        int count = scan_step(f, &argument, runs, &begin, end);
        for (int i = 0; i < count; i++)
            pages += (runs[i].end - runs[i].start) / page;
        if (count < 0)
            return 0;
    }
    return pages;
}

/* The long way found these pages written. A granule with as many such pages as it has is checked: it may be dense by
 * now. */
static void count_written(const struct files *f, const struct granules *g, uint64_t begin, uint64_t end)
{
    uint64_t page = lap_watch_page_bytes();
    while (g->counts && begin < end) {
        uint64_t granule = lap_watch_page_floor(begin, g->bytes);
        uint64_t stop = end < granule + g->bytes ? end : granule + g->bytes;
        uint16_t *counter = &g->counts[(granule - g->begin) / g->bytes];
        uint64_t sum = *counter + (stop - begin) / page;
        *counter = sum < g->pages ? (uint16_t)sum : 0;
        if (sum >= g->pages && pages_with_storage(f, granule, granule + g->bytes) >= g->pages - g->pages / 8)
            *counter = DENSE;
        begin = stop;
    }
}

/* The end of the run of granules of the same kind as the one at `begin`. */
static uint64_t like_granules(const struct granules *g, uint64_t begin, uint64_t end, bool *out_dense)
{
    uint64_t at = lap_watch_page_floor(begin, g->bytes);
    if (!g->counts) {
        *out_dense = !g->plain;
        return end;
    }
    *out_dense = g->counts[(at - g->begin) / g->bytes] == DENSE;
    do
        at += g->bytes;
    while (at < end && (g->counts[(at - g->begin) / g->bytes] == DENSE) == *out_dense);
    return at < end ? at : end;
}

/* Finds the written pages in [*at, end) and protects them again. *at moves as far as that was done. watched: an
 * unwatched page is an error; otherwise it is skipped. */
static int scan_written(const struct files *f, const struct granules *g, bool watched, uint64_t *at, uint64_t end,
                        void (*found)(void *context, uint64_t begin, uint64_t end), void *context)
{
    struct scanned_run runs[RUNS_A_CALL];
    struct scan_argument argument = {.flags = SCAN_WP_MATCHING | (watched ? SCAN_CHECK_ASYNC : 0),
                                     .category_mask = CATEGORY_WRITTEN,
                                     .return_mask = CATEGORY_WRITTEN};
    while (*at < end) {
        bool dense;
        uint64_t stop = like_granules(g, *at, end, &dense);
        argument.category_anyof_mask = dense ? 0 : CATEGORY_STORAGE;
        while (*at < stop) {
            int count = scan_step(f, &argument, runs, at, stop);
            if (count < 0)
                return -1;
            for (int i = 0; i < count; i++) {
                if (!dense)
                    count_written(f, g, runs[i].start, runs[i].end);
                found(context, runs[i].start, runs[i].end);
            }
        }
    }
    return 0;
}

static void ignore_run(void *context, uint64_t begin, uint64_t end) {}

/* Pages of files and shared memory lose their dirty state when the kernel takes them out of the page table. If they are
 * protected before they are in it, the kernel leaves a mark in their place, which keeps the state. */
static int watch_pages(const struct files *f, const struct granules *g, uint64_t begin, uint64_t end)
{
    struct uffdio_register argument = {.range = {begin, end - begin}, .mode = UFFDIO_REGISTER_MODE_WP};
    uint64_t at = begin;
    if (ioctl(f->fault.fd, UFFDIO_REGISTER, &argument) != 0)
        return -1;
    if ((g->plain ? scan_written(f, g, true, &at, end, ignore_run, NULL) : protect(f, begin, end)) != 0) {
        int error = errno;
        unregister(f, begin, end);
        errno = error;
        return -1;
    }
    return 0;
}

/* ---- the probe ---- */

struct expected {
    uint64_t begin, end; /* pages that should be found; empty: none */
    bool wrong;
};

static void check_run(void *context, uint64_t begin, uint64_t end)
{
    struct expected *expected = context;
    if (begin != expected->begin || end != expected->end)
        expected->wrong = true;
    expected->begin = expected->end;
}

static bool finds(const struct files *f, const struct granules *g, uint64_t begin, uint64_t end, uint64_t page_begin,
                  uint64_t page_end)
{
    struct expected expected = {page_begin, page_end, false};
    return scan_written(f, g, true, &begin, end, check_run, &expected) == 0 && !expected.wrong &&
           expected.begin == expected.end;
}

/* Of the first page, which has storage, the third, to which only a system call stores, and the others. */
static enum lap_status try_stores(const struct files *f, const struct granules *g, unsigned char *scratch,
                                  uint64_t page)
{
    uint64_t begin = (uintptr_t)scratch, end = begin + 4 * page;
    volatile unsigned char *bytes = scratch;
    int fds[2];
    bool read_seen;
    if (!finds(f, g, begin, end, 0, 0))
        return lap_fail(LAP_ERROR_UNSUPPORTED, "PAGEMAP_SCAN does not work: %s", strerror(errno));
    bytes[page] = 1;
    if (!finds(f, g, begin, end, begin + page, begin + 2 * page) || !finds(f, g, begin, end, 0, 0))
        return lap_fail(LAP_ERROR_UNSUPPORTED, "a write was not seen");
    bytes[0] = bytes[page - 1];
    if (!finds(f, g, begin, end, begin, begin + page))
        return lap_fail(LAP_ERROR_UNSUPPORTED, "a write to a page that was used before was not seen");
    if (pipe2(fds, O_CLOEXEC) != 0)
        return LAP_OK; /* out of descriptors: this last test is skipped */
    read_seen = write(fds[1], "x", 1) == 1 && read(fds[0], scratch + 2 * page, 1) == 1 &&
                finds(f, g, begin, end, begin + 2 * page, begin + 3 * page);
    close(fds[0]);
    close(fds[1]);
    return read_seen ? LAP_OK : lap_fail(LAP_ERROR_UNSUPPORTED, "a write by a system call was not seen");
}

static enum lap_status try_scratch(const struct files *f, unsigned char *scratch, uint64_t page)
{
    const struct granules the_long_way = {.plain = true}, the_short_way = {.plain = false};
    enum lap_status status;
    *(volatile unsigned char *)scratch = 1; /* one page has storage, the others don't */
    if (watch_pages(f, &the_long_way, (uintptr_t)scratch, (uintptr_t)scratch + 4 * page) != 0 ||
        watch_pages(f, &the_short_way, (uintptr_t)scratch + 4 * page, (uintptr_t)scratch + 8 * page) != 0)
        return lap_fail(LAP_ERROR_UNSUPPORTED, "memory can't be watched: %s", strerror(errno));
    status = try_stores(f, &the_long_way, scratch, page);
    return status == LAP_OK ? try_stores(f, &the_short_way, scratch + 4 * page, page) : status;
}

static enum lap_status probe(void)
{
    struct files f = NO_FILES;
    uint64_t page = lap_watch_page_bytes();
    enum lap_status status = open_files(&f);
    void *scratch;
    if (status != LAP_OK)
        return status;
    scratch = mmap(NULL, 8 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (scratch == MAP_FAILED) {
        status = lap_fail(LAP_ERROR_MEMORY, "no page to try it on");
    } else {
        status = try_scratch(&f, scratch, page);
        munmap(scratch, 8 * page);
    }
    close_files(&f);
    return status;
}

/* ---- the operations ---- */

/* The first tracker that a child of fork() makes: its parent's watches do not exist here. */
static void leave_parent(void)
{
    pthread_mutex_init(&mutex, NULL);
    close_files(&files);
    regions.tree = NULL;
    users = 0;
    atomic_store(&owner, 0);
}

static enum lap_status pagemap_begin(void)
{
    enum lap_status status;
    if (is_child())
        leave_parent();
    pthread_mutex_lock(&mutex);
    status = probe();
    if (status == LAP_OK && users++ == 0)
        atomic_store(&owner, lap_process());
    pthread_mutex_unlock(&mutex);
    return status;
}

static void pagemap_end(void)
{
    pthread_mutex_lock(&mutex);
    if (--users == 0) {
        close_files(&files);
        atomic_store(&owner, 0);
    }
    pthread_mutex_unlock(&mutex);
}

static void disown(const struct lap_watch_region *region, uint64_t stop)
{
    uint64_t page = lap_watch_page_bytes(), at = lap_watch_page_floor(region->node.begin, page), begin, end;
    if (lap_own_file_fd(&files.fault) < 0) /* nothing is registered any more */
        return;
    while (lap_watch_region_own_pages(&regions, &at, stop, &begin, &end))
        unregister(&files, begin, end);
}

static enum lap_status pagemap_arm(void *context, void *begin, size_t bytes, void **out_region)
{
    struct lap_watch_region *region;
    struct granules granules;
    enum lap_status status = LAP_OK;
    uint64_t page = lap_watch_page_bytes(), at, end, from, to;
    if (is_child())
        return refuse_child();
    region = lap_watch_region_create(begin, bytes);
    if (!region)
        return LAP_ERROR_MEMORY;
    region->plain = lap_memory_is_plain(begin, bytes);
    granules = granules_of(region);
    if (region->plain) /* without them every scan goes the long way */
        granules.counts = region->counts =
            calloc((size_t)((granules.end - granules.begin) / granules.bytes), sizeof(*region->counts));
    pthread_mutex_lock(&mutex);
    status = open_files(&files);
    at = lap_watch_page_floor(region->node.begin, page);
    end = lap_watch_page_ceil(region->node.end, page);
    while (status == LAP_OK && lap_watch_region_own_pages(&regions, &at, end, &from, &to))
        if (watch_pages(&files, &granules, from, to) != 0) {
            status = lap_fail(LAP_ERROR_UNSUPPORTED, "the kernel can't watch this memory: %s", strerror(errno));
            disown(region, from);
        }
    if (status == LAP_OK) {
        lap_watch_region_insert(&regions, region);
        *out_region = region;
    } else {
        lap_watch_region_destroy(region);
    }
    pthread_mutex_unlock(&mutex);
    return status;
}

/* ---- takes ---- */

/* Ranges no further apart than this are one scan. A second scan costs a system call, and, where pages were written,
 * interrupts all processors of the program once more. The gap costs 2 to 5 ns a page, and nothing where it isn't
 * watched. */
#define GAP_BYTES (UINT64_C(256) << 10)
/* A larger region keeps its granules, and how each of them is to be scanned. */
#define MOST_MERGED_BYTES (UINT64_C(2) << 20)

static uint64_t first_page(const struct lap_watch_range *range)
{
    return lap_watch_page_floor((uintptr_t)range->begin, lap_watch_page_bytes());
}

static uint64_t last_page_end(const struct lap_watch_range *range)
{
    return lap_watch_page_ceil((uintptr_t)range->begin + range->bytes, lap_watch_page_bytes());
}

static int compare_ranges(const void *a, const void *b)
{
    uint64_t x = first_page(a), y = first_page(b);
    return x < y ? -1 : x > y;
}

static bool can_be_merged(const struct lap_watch_range *range)
{
    const struct lap_watch_region *region = range->region;
    return region->plain && range->bytes <= MOST_MERGED_BYTES;
}

/* Ranges from `first` on that are scanned at once: *end is the end of their pages, *close whether none lies between. */
static size_t run_of_ranges(const struct lap_watch_range *first, size_t count, uint64_t *end, bool *close)
{
    size_t n = 1;
    *end = last_page_end(first);
    *close = true;
    for (; n < count && can_be_merged(first) && can_be_merged(&first[n]); n++) {
        uint64_t begin = first_page(&first[n]), its_end = last_page_end(&first[n]);
        if (begin > *end && begin - *end > GAP_BYTES)
            break;
        *close = *close && begin <= *end;
        *end = its_end > *end ? its_end : *end;
    }
    return n;
}

static void report_run(void *context, uint64_t begin, uint64_t end)
{
    const lap_watch_report_fn *report = context;
    lap_watch_region_found(&regions, begin, end, *report);
}

static void fail_all(struct lap_watch_range *ranges, size_t count)
{
    for (size_t i = 0; i < count; i++)
        ranges[i].failed = true;
}

/* A scan over the gaps between ranges also skips ranges that are not watched any more: the driver has unmapped them,
 * and other memory lies there. Protects nothing, so it interrupts no processor. */
static void find_unwatched(struct lap_watch_range *first, size_t count, uint64_t end)
{
    struct scanned_run runs[RUNS_A_CALL];
    struct scan_argument argument = {
        .category_inverted = CATEGORY_WATCHED, .category_mask = CATEGORY_WATCHED, .return_mask = CATEGORY_WATCHED};
    uint64_t at = first_page(first);
    size_t behind = 0; /* ranges that end before what is looked at */
    while (at < end) {
        int found = scan_step(&files, &argument, runs, &at, end);
        if (found < 0) {
            fail_all(first, count);
            return;
        }
        for (int i = 0; i < found; i++) {
            while (behind < count && last_page_end(&first[behind]) <= runs[i].start)
                behind++;
            for (size_t j = behind; j < count && first_page(&first[j]) < runs[i].end; j++)
                first[j].failed |= last_page_end(&first[j]) > runs[i].start;
        }
    }
}

/* Several regions are scanned the long way, which is right for all plain memory. */
static void take_run(struct lap_watch_range *first, size_t count, uint64_t end, bool close, bool is_open,
                     lap_watch_report_fn report)
{
    struct granules granules = count == 1 ? granules_of(first->region) : (struct granules){.plain = true};
    uint64_t at = first_page(first);
    if (is_open && scan_written(&files, &granules, close, &at, end, report_run, &report) == 0) {
        if (!close)
            find_unwatched(first, count, end);
        return;
    }
    (void)lap_fail(LAP_ERROR_IO, "PAGEMAP_SCAN: %s", strerror(errno));
    /* The pages taken before the failure are unknown: all of the regions there may have been written. */
    lap_watch_region_found(&regions, at, end, report);
    fail_all(first, count);
}

/* Begins a take of the range. A child of fork() watches nothing: its copy of the range fails. */
static void ask(struct lap_watch_range *range, lap_watch_report_fn report)
{
    struct lap_watch_region *region = range->region;
    uint64_t begin = (uintptr_t)range->begin;
    range->failed = false;
    lap_watch_region_left(region, begin, begin + range->bytes, report, range->report_context);
    region->asked = range->report_context;
}

static void pagemap_take_many(struct lap_watch_range *ranges, size_t count, lap_watch_report_fn report)
{
    uint64_t end;
    bool close;
    if (count && lap_watch_region_inherited(ranges->region)) { /* so are the others */
        fail_all(ranges, count);
        return;
    }
    pthread_mutex_lock(&mutex);
    /* The kernel checks the userfaultfd: it scans nothing that is not watched. */
    bool is_open = lap_own_file_fd(&files.pagemap) >= 0 || open_pagemap(&files) == LAP_OK;
    if (count > 1)
        qsort(ranges, count, sizeof(*ranges), compare_ranges);
    for (size_t i = 0; i < count; i++)
        ask(&ranges[i], report);
    for (size_t i = 0, n; i < count; i += n) {
        n = run_of_ranges(&ranges[i], count - i, &end, &close);
        take_run(&ranges[i], n, end, close, is_open, report);
    }
    for (size_t i = 0; i < count; i++)
        ((struct lap_watch_region *)ranges[i].region)->asked = NULL;
    pthread_mutex_unlock(&mutex);
}

static enum lap_status pagemap_take(void *armed, const void *begin, size_t bytes, lap_watch_report_fn report,
                                    void *report_context)
{
    struct lap_watch_range range = {.region = armed, .begin = begin, .bytes = bytes, .report_context = report_context};
    if (lap_watch_region_inherited(armed))
        return refuse_child();
    pagemap_take_many(&range, 1, report);
    return range.failed ? LAP_ERROR_IO : LAP_OK;
}

static void pagemap_disarm(void *armed)
{
    struct lap_watch_region *region = armed;
    if (lap_watch_region_inherited(region))
        return;
    pthread_mutex_lock(&mutex);
    lap_watch_region_remove(&regions, region);
    disown(region, lap_watch_page_ceil(region->node.end, lap_watch_page_bytes()));
    lap_watch_region_destroy(region);
    pthread_mutex_unlock(&mutex);
}

const struct lap_watch_ops lap_watch_pagemap = {.name = "pagemap",
                                                .exact = true,
                                                .arm = pagemap_arm,
                                                .take = pagemap_take,
                                                .take_many = pagemap_take_many,
                                                .disarm = pagemap_disarm,
                                                .begin = pagemap_begin,
                                                .end = pagemap_end};
