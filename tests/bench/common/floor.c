/* SPDX-License-Identifier: MIT */
/* Laid out as the kernel's struct pm_scan_arg and page_region (Linux 6.7, uapi/linux/fs.h). */
#include "floor.h"

#include <fcntl.h>
#include <linux/types.h>
#include <linux/userfaultfd.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#define USER_MODE_ONLY 1
#define WP_ASYNC       (1u << 15)

struct found {
    __u64 start, end, categories;
};
struct scan {
    __u64 size, flags, start, end, walk_end, vec, vec_len, max_pages;
    __u64 category_inverted, category_mask, category_anyof_mask, return_mask;
};
#define SCAN_PAGEMAP _IOWR('f', 16, struct scan)
#define SCAN_FLAGS   3u /* write-protect what matches, and fail where nothing is watched */
#define WRITTEN      2u

/* Finds what was written and protects it again; how many runs, or -1. */
static int scan(int pagemap, const uint8_t *memory, size_t bytes)
{
    struct found found[256];
    struct scan argument = {.size = sizeof(argument),
                            .flags = SCAN_FLAGS,
                            .start = (uintptr_t)memory,
                            .end = (uintptr_t)memory + bytes,
                            .vec = (uintptr_t)found,
                            .vec_len = sizeof(found) / sizeof(found[0]),
                            .category_mask = WRITTEN,
                            .return_mask = WRITTEN};
    int total = 0;
    while (argument.start < argument.end) {
        int count = ioctl(pagemap, SCAN_PAGEMAP, &argument);
        if (count < 0 || argument.walk_end <= argument.start)
            return -1;
        total += count;
        argument.start = argument.walk_end;
    }
    return total;
}

static int watch(const uint8_t *memory, size_t bytes)
{
    struct uffdio_api api = {.api = UFFD_API, .features = WP_ASYNC};
    struct uffdio_register range = {.range = {(uintptr_t)memory, bytes}, .mode = UFFDIO_REGISTER_MODE_WP};
    int fault = (int)syscall(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK | USER_MODE_ONLY);
    if (fault < 0 || (ioctl(fault, UFFDIO_API, &api) == 0 && ioctl(fault, UFFDIO_REGISTER, &range) == 0))
        return fault;
    close(fault);
    return -1;
}

void bench_kernel_floor(struct bench *bench, size_t bytes, uint32_t rounds, bench_store_fn store, void *context)
{
    int pagemap = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC), fault = -1;
    uint8_t *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (pagemap >= 0 && memory != MAP_FAILED) {
        bench_fill_pages(memory, bytes);
        for (uint32_t i = 0; i < rounds; i++)
            bench_sample_once(bench, "floor_plain", store(context, memory, bytes));
        fault = watch(memory, bytes);
    }
    if (fault >= 0 && scan(pagemap, memory, bytes) >= 0) {
        for (uint32_t i = 0; i < rounds; i++) {
            uint64_t stored = store(context, memory, bytes), start = bench_now();
            CHECK(scan(pagemap, memory, bytes) > 0);
            bench_sample_once(bench, "floor_scan", bench_now() - start);
            bench_sample_once(bench, "floor_watched", stored);
        }
    }
    if (memory != MAP_FAILED)
        munmap(memory, bytes);
    if (fault >= 0)
        close(fault);
    if (pagemap >= 0)
        close(pagemap);
}
