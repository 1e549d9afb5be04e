/* SPDX-License-Identifier: MIT */
#include "replayer/play/measure.h"

#include <cjson/cJSON.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/array.h"
#include "replayer/address/address.h"
#include "replayer/core/report.h"
#include "replayer/memory/memory.h"
#include "replayer/memory/staging.h"
#include "replayer/play/player.h"
#include "replayer/submit/gpu_time.h"
#include "replayer/submit/submit.h"
#include "replayer/sync/wait.h"
#include "vulkan/dictionary.h"

#define PROPERTIES_BYTES 128u

/* A live or destroyed device. */
struct device {
    char gpu[VK_MAX_PHYSICAL_DEVICE_NAME_SIZE];
    uint32_t max_allocations;
    VkPhysicalDeviceMemoryProperties memory;
    struct replay_memory_stats stats;
    struct replay_staging_stats staging;
    struct replay_address_counts addresses;
    struct replay_preserved_address_counts preserved;
    struct device *next;
};

enum figure { CPU_MS, PROCESS_CPU_MS, WALL_MS, GPU_MS, SUBMITS, FIGURES };

static const struct {
    const char *key, *name;
} figure_names[FIGURES] = {[CPU_MS] = {"cpu_ms", "CPU ms"},
                           [PROCESS_CPU_MS] = {"process_cpu_ms", "all threads"},
                           [WALL_MS] = {"wall_ms", "wall ms"},
                           [GPU_MS] = {"gpu_ms", "GPU ms"},
                           [SUBMITS] = {"submits", "submits"}};

struct frame {
    uint64_t number;
    double figures[FIGURES];
};

struct replay_measure {
    uint64_t frame;               /* the current one */
    struct frame now;             /* clocks at the end of the last frame; submits and GPU time since then */
    struct replay_gpu_times *gpu; /* NULL: not measured */
    bool has_gpu;                 /* it has reported a time */
    struct frame *frames;
    size_t count, capacity;
    bool failed; /* out of memory: figures are missing */
    struct device *devices, **last;
};

static double clock_ms(clockid_t clock)
{
    struct timespec now = {0};
    clock_gettime(clock, &now);
    return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

static void read_clocks(struct frame *out)
{
    out->figures[CPU_MS] = clock_ms(CLOCK_THREAD_CPUTIME_ID);
    out->figures[PROCESS_CPU_MS] = clock_ms(CLOCK_PROCESS_CPUTIME_ID);
    out->figures[WALL_MS] = clock_ms(CLOCK_MONOTONIC);
    out->figures[GPU_MS] = out->figures[SUBMITS] = 0;
}

static int compare_numbers(const void *key, const void *frame)
{
    uint64_t number = *(const uint64_t *)key, other = ((const struct frame *)frame)->number;
    return (number > other) - (number < other);
}

static void gpu_took(void *user, uint64_t number, double ms)
{
    struct replay_measure *measure = user;
    struct frame *frame =
        measure->count ? bsearch(&number, measure->frames, measure->count, sizeof *measure->frames, compare_numbers)
                       : NULL;

    measure->has_gpu = true;
    if (!frame && number == measure->frame)
        frame = &measure->now;
    if (frame)
        frame->figures[GPU_MS] += ms;
}

static void before_submit(struct replay *r, const struct replay_device *dev, VkQueue queue)
{
    replay_gpu_times_begin(r->measure->gpu, dev, queue, r->measure->frame);
}

static void after_submit(struct replay *r, const struct replay_device *dev, VkQueue queue)
{
    replay_gpu_times_end(r->measure->gpu, dev, queue);
}

static const struct replay_submit_observer observer = {before_submit, after_submit};

enum lap_status replay_measure_create(struct replay *r)
{
    r->measure = calloc(1, sizeof *r->measure);
    if (!r->measure)
        return lap_fail(LAP_ERROR_MEMORY, "out of memory");
    r->measure->last = &r->measure->devices;
    read_clocks(&r->measure->now);
    /* Timestamps submit work before and behind the program's. */
    if (!r->options.blackhole)
        r->measure->gpu = replay_gpu_times_create(gpu_took, r->measure);
    if (r->measure->gpu)
        r->submit_observer = &observer;
    return LAP_OK;
}

static void destroy_devices(struct device *device)
{
    while (device) {
        struct device *next = device->next;
        free(device);
        device = next;
    }
}

void replay_measure_destroy(struct replay *r)
{
    if (!r->measure)
        return;
    if (r->measure->gpu)
        replay_gpu_times_destroy(&r->measure->gpu);
    destroy_devices(r->measure->devices);
    free(r->measure->frames);
    free(r->measure);
    r->measure = NULL;
    r->submit_observer = NULL;
}

/* Ends a frame, which counts if the options select it. */
static void end_frame(struct replay *r)
{
    const struct replay_options *options = &r->options;
    struct replay_measure *measure = r->measure;
    uint64_t first = options->first_measured ? options->first_measured : 1;
    struct frame now, *frame;

    read_clocks(&now);
    if (measure->frame + 1 >= first && measure->frame + 1 - first >= options->warm_up) {
        if (!lap_array_grow(&measure->frames, sizeof *measure->frames, &measure->capacity, measure->count + 1)) {
            measure->failed = true;
            return;
        }
        frame = &measure->frames[measure->count++];
        frame->number = measure->frame;
        for (unsigned i = 0; i < FIGURES; i++)
            frame->figures[i] = now.figures[i] - measure->now.figures[i];
        frame->figures[SUBMITS] = measure->now.figures[SUBMITS];
        frame->figures[GPU_MS] = measure->now.figures[GPU_MS];
    }
    measure->now = now;
}

void replay_measure_packet(struct replay *r)
{
    struct replay_measure *measure = r->measure;
    uint32_t command = lap_dictionary_command(r->dictionary, r->at.packet.command);

    if (r->at.packet.frame != measure->frame) {
        end_frame(r);
        measure->frame = r->at.packet.frame;
    }
    measure->now.figures[SUBMITS] += command == GEN_vkQueueSubmit || command == GEN_vkQueueSubmit2;
}

void replay_measure_end(struct replay *r)
{
    if (r->measure->frame < lap_reader_summary(r->reader)->frames)
        end_frame(r);
}

static struct device *take(const struct replay_device *dev)
{
    struct device *device = calloc(1, sizeof *device);

    if (!device)
        return NULL;
    snprintf(device->gpu, sizeof device->gpu, "%s", dev->instance->properties.deviceName);
    device->max_allocations = dev->instance->properties.limits.maxMemoryAllocationCount;
    device->memory = dev->instance->memory;
    device->stats = replay_memory_stats(dev);
    device->staging = replay_staging_stats(dev);
    device->addresses = replay_address_counts(dev);
    device->preserved = dev->addresses.preserved.counts;
    return device;
}

static void note_device(struct replay *r, const struct replay_device *dev)
{
    struct device *device;

    if (!dev->memory.planner)
        return;
    device = take(dev);
    r->measure->failed |= !device;
    if (!device)
        return;
    *r->measure->last = device;
    r->measure->last = &device->next;
}

void replay_measure_device(struct replay *r, const struct replay_device *dev)
{
    if (!r->measure)
        return;
    if (r->measure->gpu)
        replay_gpu_times_finish(r->measure->gpu, dev);
    note_device(r, dev);
}

/* ---- figures ---- */

static double ratio(const struct replay_memory_use *use)
{
    return use->used_bytes ? (double)use->allocated_bytes / (double)use->used_bytes : 0;
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

struct times {
    double mean, p50, p90, p99, most;
};

static bool has_figure(const struct replay_measure *measure, enum figure figure)
{
    return figure != GPU_MS || measure->has_gpu;
}

/* False: out of memory, or no frames. */
static bool find_times(const struct replay_measure *measure, enum figure figure, struct times *out)
{
    double *sorted = measure->count ? malloc(measure->count * sizeof *sorted) : NULL, sum = 0;
    size_t count = measure->count;

    *out = (struct times){0};
    if (!sorted)
        return false;
    for (size_t i = 0; i < count; i++) {
        sorted[i] = measure->frames[i].figures[figure];
        sum += sorted[i];
    }
    qsort(sorted, count, sizeof *sorted, compare);
    *out = (struct times){sum / (double)count, sorted[count / 2], sorted[count * 9 / 10], sorted[count * 99 / 100],
                          sorted[count - 1]};
    free(sorted);
    return true;
}

static const char *properties_text(VkMemoryPropertyFlags flags, char text[PROPERTIES_BYTES])
{
    static const struct {
        VkMemoryPropertyFlags flag;
        const char *name;
    } names[] = {
        {VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT, "DEVICE_LOCAL"},
        {VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT, "HOST_VISIBLE"},
        {VK_MEMORY_PROPERTY_HOST_COHERENT_BIT, "HOST_COHERENT"},
        {VK_MEMORY_PROPERTY_HOST_CACHED_BIT, "HOST_CACHED"},
        {VK_MEMORY_PROPERTY_LAZILY_ALLOCATED_BIT, "LAZILY_ALLOCATED"},
        {VK_MEMORY_PROPERTY_PROTECTED_BIT, "PROTECTED"},
    };
    size_t length = 0;

    text[0] = 0;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (flags & names[i].flag)
            length +=
                (size_t)snprintf(text + length, PROPERTIES_BYTES - length, "%s%s", length ? " " : "", names[i].name);
    return text;
}

/* ---- JSON ---- */

static bool add_number(cJSON *object, const char *key, double value)
{
    return cJSON_AddNumberToObject(object, key, value) != NULL;
}

static bool add_use(cJSON *object, const char *key, const struct replay_memory_use *use)
{
    cJSON *member = cJSON_AddObjectToObject(object, key);
    return member && add_number(member, "allocations", (double)use->allocations) &&
           add_number(member, "allocated_bytes", (double)use->allocated_bytes) &&
           add_number(member, "required_bytes", (double)use->used_bytes) && add_number(member, "ratio", ratio(use));
}

static bool add_types(cJSON *object, const struct device *device)
{
    cJSON *list = cJSON_AddArrayToObject(object, "types");
    char text[PROPERTIES_BYTES];

    for (uint32_t i = 0; list && i < device->memory.memoryTypeCount; i++) {
        const VkMemoryType *type = &device->memory.memoryTypes[i];
        cJSON *item;
        if (!device->stats.type_peaks[i].used_bytes)
            continue;
        item = cJSON_CreateObject();
        if (!cJSON_AddItemToArray(list, item) || !add_number(item, "type", i) ||
            !add_number(item, "heap", type->heapIndex) ||
            !cJSON_AddStringToObject(item, "properties", properties_text(type->propertyFlags, text)) ||
            !add_use(item, "peak", &device->stats.type_peaks[i]))
            return false;
    }
    return list != NULL;
}

static bool add_addresses(cJSON *object, const struct device *device)
{
    cJSON *addresses = cJSON_AddObjectToObject(object, "addresses");
    const struct replay_address_counts *counts = &device->addresses;

    return addresses && add_number(addresses, "buffers", (double)counts->buffers) &&
           add_number(addresses, "kept", (double)counts->preserved) &&
           add_number(addresses, "translated_words", (double)replay_address_counts_total(counts)) &&
           add_number(addresses, "memories", (double)device->preserved.memories) &&
           add_number(addresses, "memory_bytes", (double)device->preserved.bytes);
}

static bool add_device(cJSON *list, const struct device *device)
{
    const struct replay_memory_stats *stats = &device->stats;
    cJSON *object = cJSON_CreateObject(), *memory, *staging;

    if (!cJSON_AddItemToArray(list, object) || !cJSON_AddStringToObject(object, "gpu", device->gpu))
        return false;
    memory = cJSON_AddObjectToObject(object, "memory");
    if (!memory || !add_number(memory, "allocations_made", (double)stats->made_allocations) ||
        !add_number(memory, "most_allocations", (double)stats->most_allocations) ||
        !add_number(memory, "max_allocations", device->max_allocations) || !add_use(memory, "peak", &stats->peak) ||
        !add_use(memory, "worst", &stats->worst) ||
        !add_number(memory, "peak_fragmentation", stats->peak_fragmentation) ||
        !add_number(memory, "worst_fragmentation", stats->worst_fragmentation) ||
        !add_number(memory, "own_bytes", (double)stats->own_bytes) || !add_types(memory, device))
        return false;
    staging = cJSON_AddObjectToObject(object, "staging");
    return staging && add_number(staging, "batches", (double)device->staging.batches) &&
           add_number(staging, "copies", (double)device->staging.copies) &&
           add_number(staging, "bytes", (double)device->staging.bytes) &&
           add_number(staging, "zeroed_bytes", (double)device->staging.fresh_bytes) &&
           add_number(staging, "waits", (double)device->staging.waits) && add_addresses(object, device);
}

static bool add_times(cJSON *object, const char *key, const struct times *times)
{
    cJSON *member = cJSON_AddObjectToObject(object, key);
    return member && add_number(member, "mean", times->mean) && add_number(member, "p50", times->p50) &&
           add_number(member, "p90", times->p90) && add_number(member, "p99", times->p99) &&
           add_number(member, "max", times->most);
}

static bool add_frames(cJSON *object, const struct replay_measure *measure)
{
    cJSON *member = cJSON_AddObjectToObject(object, "frames");
    struct times times;

    if (!member || !add_number(member, "count", (double)measure->count))
        return false;
    for (unsigned i = 0; i < FIGURES; i++)
        if (has_figure(measure, i) && find_times(measure, i, &times) && !add_times(member, figure_names[i].key, &times))
            return false;
    return true;
}

static char *json_text(const struct replay *r)
{
    const struct replay_measure *measure = r->measure;
    cJSON *object = cJSON_CreateObject();
    cJSON *list = object && replay_report_sandbox(r->options.sandboxed, object) &&
                          add_number(object, "invalid_calls", (double)r->summary.invalid_count) &&
                          add_frames(object, measure)
                      ? cJSON_AddArrayToObject(object, "devices")
                      : NULL;
    bool added = list != NULL;
    char *text;

    for (const struct device *device = measure->devices; device && added; device = device->next)
        added = add_device(list, device);
    text = added ? cJSON_Print(object) : NULL;
    cJSON_Delete(object);
    return text;
}

/* Frees the text. Devices and pipes can't be truncated. */
static enum lap_status write_file(const struct replay_options *options, char *text)
{
    int fd = options->measure_fd;
    struct stat info;
    FILE *file = NULL;
    bool written;

    if (!text)
        return lap_fail(LAP_ERROR_MEMORY, "out of memory for the figures");
    if (fstat(fd, &info) == 0 && (!S_ISREG(info.st_mode) || ftruncate(fd, 0) == 0))
        file = fdopen(fd, "w");
    written = file && fprintf(file, "%s\n", text) > 0;
    if (file && fclose(file) != 0)
        written = false;
    cJSON_free(text);
    return written ? LAP_OK : lap_fail(LAP_ERROR_IO, "%s can't be written: %s", options->measure_file, strerror(errno));
}

enum lap_status replay_measure_none(const struct replay_options *options, const char *why)
{
    cJSON *object = cJSON_CreateObject();
    char *text = cJSON_AddStringToObject(object, "failed", why) ? cJSON_Print(object) : NULL;

    cJSON_Delete(object);
    return write_file(options, text);
}

/* ---- text ---- */

static void print_use(const char *name, const struct replay_memory_use *use)
{
    printf("  %-14s %.2f: %" PRIu64 " bytes allocated in %" PRIu64 " allocations, %" PRIu64 " required\n", name,
           ratio(use), use->allocated_bytes, use->allocations, use->used_bytes);
}

static void print_device(const struct device *device)
{
    const struct replay_memory_stats *stats = &device->stats;
    char text[PROPERTIES_BYTES];

    printf("memory on %s: %" PRIu64 " allocations made, %" PRIu64 " at most at once\n", device->gpu,
           stats->made_allocations, stats->most_allocations);
    print_use("peak", &stats->peak);
    print_use("worst", &stats->worst);
    for (uint32_t i = 0; i < device->memory.memoryTypeCount; i++) {
        char name[32];
        if (!stats->type_peaks[i].used_bytes)
            continue;
        snprintf(name, sizeof name, "peak of type %u", i);
        print_use(name, &stats->type_peaks[i]);
        printf("  %-14s %s\n", "", properties_text(device->memory.memoryTypes[i].propertyFlags, text));
    }
    printf("  fragmentation  %.2f at the peak, %.2f at the worst\n", stats->peak_fragmentation,
           stats->worst_fragmentation);
    printf("  staging        %" PRIu64 " bytes in %" PRIu64 " copies, %" PRIu64 " batches; the host waited %" PRIu64
           " times; %" PRIu64 " bytes of the replay's own\n",
           device->staging.bytes, device->staging.copies, device->staging.batches, device->staging.waits,
           stats->own_bytes);
    if (device->addresses.buffers)
        printf("  addresses      of %" PRIu64 " buffers, %" PRIu64 " as recorded, in %" PRIu64
               " memories as large as recorded, of up to %" PRIu64 " bytes; %" PRIu64 " words were translated\n",
               device->addresses.buffers, device->addresses.preserved, device->preserved.memories,
               device->preserved.bytes, replay_address_counts_total(&device->addresses));
}

static void print_times(const char *name, const struct times *times)
{
    printf("  %-14s mean %.3f, median %.3f, 90 %% %.3f, 99 %% %.3f, most %.3f\n", name, times->mean, times->p50,
           times->p90, times->p99, times->most);
}

enum lap_status replay_measure_write(struct replay *r)
{
    struct replay_measure *measure = r->measure;
    struct times times;

    for (struct replay_device *dev = r->devices; dev; dev = dev->next)
        if (replay_device_finishes(dev, REPLAY_FINISH_LIMIT_NS))
            replay_measure_device(r, dev);
        else
            note_device(r, dev); /* excludes work that the GPU did not finish */
    if (measure->failed)
        return lap_fail(LAP_ERROR_MEMORY, "out of memory for the figures");
    if (r->options.measure_file)
        return write_file(&r->options, json_text(r));
    printf("frames: %zu\n", measure->count);
    for (unsigned i = 0; i < FIGURES; i++)
        if (has_figure(measure, i) && find_times(measure, i, &times))
            print_times(figure_names[i].name, &times);
    for (const struct device *device = measure->devices; device; device = device->next)
        print_device(device);
    return LAP_OK;
}
