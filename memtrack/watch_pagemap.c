/* SPDX-License-Identifier: MIT */
/*
 * The kernel's own record of writes. A userfaultfd in WP_ASYNC mode lets PAGEMAP_SCAN write-protect pages; the first
 * store to one, also one by a system call, makes it writable again inside the fault. PAGEMAP_SCAN then finds the pages
 * that are not protected and protects them again in one step, which is atomic for each page. A page of plain memory
 * (base/address_space.h) without storage is left as it is: a store gives it storage, and no protection.
 *
 * What a page table covers (2 MiB on most machines) is a granule. A granule without a table, or in one huge page, costs
 * a scan next to nothing. The kernel has a short way of scanning a table, which takes pages without storage for
 * written ones, and a long way, in which they can be left out: the short one is used for granules that have storage
 * nearly everywhere (dense), the long one for all others.
 *
 * One userfaultfd and one open pagemap a process, from the first arm on until the last tracker is gone. A program may
 * close them. With the userfaultfd the kernel forgets what it watched: scans then fail, so that all of it is compared,
 * and what is armed later is watched through a new one.
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

#include "base/address_space.h"
#include "base/own_file.h"
#include "base/process.h"
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

/* Laid out as the kernel's struct page_region and struct pm_scan_arg; names of our own, so that both may be there. */
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
 * may have been held when it was copied. 0: nobody uses the back end. */
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

/* Opens what is not open, or what the program has closed. */
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
    uint16_t *counts; /* of the region, from the granule on where it begins; NULL: none is told from the others */
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

/* The long way found these pages written. A granule where that was so for as many as it has is looked at: it may be
 * dense by now. */
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

/* The end of the run of granules that are like the one where `begin` lies. */
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

/* Finds what was written in [*at, end) and protects it again. *at is moved as far as that was done. */
static int scan_written(const struct files *f, const struct granules *g, uint64_t *at, uint64_t end,
                        void (*found)(void *context, uint64_t begin, uint64_t end), void *context)
{
    struct scanned_run runs[RUNS_A_CALL];
    struct scan_argument argument = {.flags = SCAN_WP_MATCHING | SCAN_CHECK_ASYNC,
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

/* Pages of files and shared memory lose what says that they were stored to when the kernel takes them out of the page
 * table. Where they are protected before they are in it, it leaves a mark in their place, and that way is kept. */
static int watch_pages(const struct files *f, const struct granules *g, uint64_t begin, uint64_t end)
{
    struct uffdio_register argument = {.range = {begin, end - begin}, .mode = UFFDIO_REGISTER_MODE_WP};
    uint64_t at = begin;
    if (ioctl(f->fault.fd, UFFDIO_REGISTER, &argument) != 0)
        return -1;
    if ((g->plain ? scan_written(f, g, &at, end, ignore_run, NULL) : protect(f, begin, end)) != 0) {
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
    return scan_written(f, g, &begin, end, check_run, &expected) == 0 && !expected.wrong &&
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
        return LAP_OK; /* out of descriptors: what can't be tried here is tried by the program */
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

/* The first tracker that a child of fork() makes: what its parent watched is not watched here. */
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

static void ignore(void *context, const void *begin, size_t bytes) {}

struct taking {
    struct lap_watch_region *region;
    lap_watch_report_fn report;
    void *report_context;
};

static void report_run(void *context, uint64_t begin, uint64_t end)
{
    const struct taking *taking = context;
    lap_watch_region_found(&regions, taking->region, begin, end, taking->report, taking->report_context);
}

static enum lap_status pagemap_take(void *armed, const void *begin, size_t bytes, lap_watch_report_fn report,
                                    void *report_context)
{
    struct lap_watch_region *region = armed;
    struct granules granules = granules_of(region);
    struct taking taking = {region, report, report_context};
    uint64_t page = lap_watch_page_bytes(), first = (uintptr_t)begin, end = first + bytes, at;
    enum lap_status status = LAP_OK;
    if (lap_watch_region_inherited(region))
        return refuse_child();
    pthread_mutex_lock(&mutex);
    lap_watch_region_left(region, first, end, report, report_context);
    at = lap_watch_page_floor(first, page);
    end = lap_watch_page_ceil(end, page);
    /* Whether the userfaultfd is there the kernel says: it scans nothing that is not watched. */
    if ((lap_own_file_fd(&files.pagemap) < 0 && open_pagemap(&files) != LAP_OK) ||
        scan_written(&files, &granules, &at, end, report_run, &taking) != 0) {
        /* What was taken before it failed is not known: it may have been written, for all that lies there. */
        status = lap_fail(LAP_ERROR_IO, "PAGEMAP_SCAN: %s", strerror(errno));
        lap_watch_region_found(&regions, region, at, end, ignore, NULL);
    }
    pthread_mutex_unlock(&mutex);
    return status;
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
                                                .disarm = pagemap_disarm,
                                                .begin = pagemap_begin,
                                                .end = pagemap_end};
