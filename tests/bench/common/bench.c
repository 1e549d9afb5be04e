/* SPDX-License-Identifier: MIT */
#include "bench.h"

bool bench_warming_up(const struct bench *bench)
{
    return bench->frame < BENCH_WARM_UP;
}

uint32_t bench_frames(const struct bench *bench)
{
    return bench->app->frames + BENCH_WARM_UP;
}

void bench_frame_begin(struct bench *bench)
{
    bench->thread_cpu = bench_clock(CLOCK_THREAD_CPUTIME_ID);
    bench->other_cpu = bench_clock(CLOCK_PROCESS_CPUTIME_ID);
    bench->frame_start = bench_now();
}

void bench_sample_once(struct bench *bench, const char *name, uint64_t ns)
{
    struct bench_series *series = bench->series;
    while (series < bench->series + bench->series_count && strcmp(series->name, name))
        series++;
    if (series == bench->series + bench->series_count) {
        CHECK(bench->series_count < COUNT_OF(bench->series));
        *series = (struct bench_series){.name = name};
        bench->series_count++;
    }
    if (series->count == series->capacity) {
        series->capacity = series->capacity ? series->capacity * 2 : 64;
        series->ns = realloc(series->ns, series->capacity * sizeof(*series->ns));
        CHECK(series->ns);
    }
    series->ns[series->count++] = ns;
}

void bench_sample(struct bench *bench, const char *name, uint64_t ns)
{
    if (!bench_warming_up(bench))
        bench_sample_once(bench, name, ns);
}

void bench_frame_end(struct bench *bench)
{
    uint64_t end = bench_now();
    bench_sample(bench, "frame", end - bench->frame_start);
    bench_sample(bench, "frame_thread_cpu", bench_clock(CLOCK_THREAD_CPUTIME_ID) - bench->thread_cpu);
    bench_sample(bench, "frame_process_cpu", bench_clock(CLOCK_PROCESS_CPUTIME_ID) - bench->other_cpu);
    bench->frame++;
}

void bench_add(struct bench *bench, const char *name, uint64_t value)
{
    for (uint32_t i = 0; i < bench->counts_count; i++)
        if (!strcmp(bench->counts[i].name, name)) {
            bench->counts[i].value += value;
            return;
        }
    CHECK(bench->counts_count < COUNT_OF(bench->counts));
    bench->counts[bench->counts_count++] = (struct bench_count){name, value};
}

/* Adds the fields of a /proc file that are wanted, in bytes, under their own names; `: N kB` is how each line ends. */
static void print_memory(const char *path, const char *const *wanted, const char **separator)
{
    FILE *file = fopen(path, "r");
    char line[256], key[64];
    unsigned long long kib;
    while (file && fgets(line, sizeof(line), file)) {
        if (sscanf(line, "%63[^:]: %llu kB", key, &kib) != 2)
            continue;
        for (const char *const *name = wanted; *name; name++)
            if (!strcmp(*name, key)) {
                printf("%s\"%s\": %llu", *separator, key, kib * 1024);
                *separator = ", ";
            }
    }
    if (file)
        fclose(file);
}

static int compare(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}

static void print_series(const struct bench_series *series)
{
    uint64_t sum = 0;
    for (uint32_t i = 0; i < series->count; i++)
        sum += series->ns[i];
    qsort(series->ns, series->count, sizeof(*series->ns), compare);
    printf("\"%s\": {\"count\": %u, \"mean_ns\": %.1f, \"median_ns\": %" PRIu64 ", \"min_ns\": %" PRIu64
           ", \"max_ns\": %" PRIu64 "}",
           series->name, series->count, (double)sum / series->count, series->ns[series->count / 2], series->ns[0],
           series->ns[series->count - 1]);
}

void bench_print(struct bench *bench)
{
    static const char *const status[] = {"VmHWM", "VmRSS", "RssAnon", "RssFile", "RssShmem", "VmPTE", NULL};
    static const char *const rollup[] = {"Pss", NULL};
    const VkPhysicalDeviceProperties *device = &bench->app->properties;

    printf("{\"workload\": \"%s\", \"frames\": %u, \"frames_with_warm_up\": %u, \"device\": \"%s\", "
           "\"driver_version\": %u, \"api_version\": \"%u.%u.%u\", \"series\": {",
           bench->app->program->name, bench->app->frames, bench->frame, device->deviceName, device->driverVersion,
           VK_API_VERSION_MAJOR(device->apiVersion), VK_API_VERSION_MINOR(device->apiVersion),
           VK_API_VERSION_PATCH(device->apiVersion));
    for (uint32_t i = 0; i < bench->series_count; i++) {
        printf("%s", i ? ", " : "");
        print_series(&bench->series[i]);
        free(bench->series[i].ns);
    }
    printf("}, \"counts\": {");
    for (uint32_t i = 0; i < bench->counts_count; i++)
        printf("%s\"%s\": %" PRIu64, i ? ", " : "", bench->counts[i].name, bench->counts[i].value);
    printf("}, \"memory\": {");
    const char *separator = "";
    print_memory("/proc/self/status", status, &separator);
    print_memory("/proc/self/smaps_rollup", rollup, &separator);
    printf("}}\n");
    fflush(stdout);
    bench->series_count = bench->counts_count = 0;
}

void bench_fill_pages(void *memory, VkDeviceSize bytes)
{
    uint64_t *words = memory;
    for (VkDeviceSize i = 0; i < bytes / 8; i++)
        words[i] = (i * 8 / BENCH_PAGE + 1) * 0x0001000100010001u;
}

void bench_fill_random(void *memory, size_t bytes, uint64_t *state)
{
    uint64_t *words = memory;
    for (size_t i = 0; i < bytes / 8; i++)
        words[i] = bench_random(state);
}
