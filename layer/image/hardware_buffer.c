/* SPDX-License-Identifier: MIT */
#include "layer/image/hardware_buffer.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "layer/core/hardware_functions.h"
#include "vulkan/chain.h"
#include "vulkan/texel/texels.h"

#define CPU_READ_MASK UINT64_C(0xf)
#define NO_FENCE      (-1)
#define FORMAT_BLOB   0x21u /* width is in bytes, height is 1 */

/* Of the formats for which vkGetAndroidHardwareBufferPropertiesANDROID names a color format ("AHardwareBuffer
 * Equivalence", Vulkan specification), and of BGRA. */
static const struct {
    uint32_t format, bytes;
} texels[] = {{1, 4},    {2, 4},    {3, 3},    {4, 2},    {5, 4},    {0x16, 8},
              {0x2b, 4}, {0x38, 1}, {0x39, 2}, {0x3a, 4}, {0x3b, 8}, {FORMAT_BLOB, 1}};

struct layer_hardware_buffer {
    struct AHardwareBuffer *buffer;
    struct layer_hardware_description is;
    unsigned char *pages; /* NULL: the CPU can't read it */
    uint64_t page_bytes;
    pthread_mutex_t mutex; /* one fetch at a time */
    atomic_bool changed;   /* since the last fetch, or not */
    atomic_bool failed;    /* the last fetch */
};

static uint32_t texel_bytes_of(const struct layer_hardware_description *is)
{
    for (size_t i = 0; i < sizeof texels / sizeof *texels; i++)
        if (texels[i].format == is->format && is->layers <= 1)
            return texels[i].bytes;
    return 0;
}

struct layer_hardware_buffer *layer_hardware_buffer_hold(struct AHardwareBuffer *buffer)
{
    struct layer_hardware_buffer *held = calloc(1, sizeof *held);

    if (!held)
        return NULL;
    layer_hardware.acquire(buffer);
    held->buffer = buffer;
    layer_hardware.describe(buffer, &held->is);
    pthread_mutex_init(&held->mutex, NULL);
    return held;
}

void layer_hardware_buffer_drop(struct layer_hardware_buffer **held)
{
    struct layer_hardware_buffer *h = *held;

    if (!h)
        return;
    if (h->pages)
        munmap(h->pages, (size_t)h->page_bytes);
    layer_hardware.release(h->buffer);
    pthread_mutex_destroy(&h->mutex);
    free(h);
    *held = NULL;
}

void layer_hardware_buffer_release(struct AHardwareBuffer *buffer)
{
    layer_hardware.release(buffer);
}

/* A buffer that comes back from another process has another pointer, and the same id. */
bool layer_hardware_buffer_is(const struct layer_hardware_buffer *held, const struct AHardwareBuffer *buffer)
{
    uint64_t one, other;

    if (held->buffer == buffer)
        return true;
    return layer_hardware.id && layer_hardware.id(held->buffer, &one) == 0 && layer_hardware.id(buffer, &other) == 0 &&
           one == other;
}

static uint64_t row_bytes(const struct layer_hardware_description *is)
{
    return (uint64_t)is->width * texel_bytes_of(is);
}

uint64_t layer_hardware_buffer_bytes(const struct layer_hardware_buffer *held)
{
    return row_bytes(&held->is) * held->is.height;
}

/* Whether the CPU may read its texels. A buffer of bytes has any stride. */
static bool is_readable(const struct layer_hardware_description *is)
{
    return is->usage & CPU_READ_MASK && texel_bytes_of(is) && is->height &&
           (is->format == FORMAT_BLOB || is->stride >= is->width);
}

uint64_t layer_hardware_image_pitch(const VkImageCreateInfo *info)
{
    const VkExternalMemoryImageCreateInfo *external =
        lap_chain_find(info->pNext, VK_STRUCTURE_TYPE_EXTERNAL_MEMORY_IMAGE_CREATE_INFO);
    struct lap_texel_block block;

    if (!external || !(external->handleTypes & VK_EXTERNAL_MEMORY_HANDLE_TYPE_ANDROID_HARDWARE_BUFFER_BIT_ANDROID) ||
        info->tiling != VK_IMAGE_TILING_OPTIMAL || info->imageType != VK_IMAGE_TYPE_2D || info->mipLevels != 1 ||
        info->arrayLayers != 1 || info->samples != VK_SAMPLE_COUNT_1_BIT ||
        !lap_texels_block(info->format, VK_IMAGE_ASPECT_COLOR_BIT, &block) || block.width != 1)
        return 0;
    return (uint64_t)info->extent.width * block.bytes;
}

bool layer_hardware_buffer_has_rows(const struct layer_hardware_buffer *held, const VkImageCreateInfo *info,
                                    uint64_t pitch)
{
    return held->pages && held->is.format != FORMAT_BLOB && info->extent.width == held->is.width &&
           info->extent.height == held->is.height && pitch == row_bytes(&held->is);
}

/* ---- reading ---- */

static bool copy_rows(struct layer_hardware_buffer *held)
{
    const struct layer_hardware_description *is = &held->is;
    const size_t bytes = (size_t)row_bytes(is);
    const uint64_t pitch = (uint64_t)is->stride * texel_bytes_of(is);
    void *rows = NULL;

    if (layer_hardware.lock(held->buffer, is->usage & CPU_READ_MASK, NO_FENCE, NULL, &rows) != 0)
        return false;
    for (uint32_t y = 0; rows && y < is->height; y++)
        memcpy(held->pages + y * bytes, (const char *)rows + y * pitch, bytes);
    return layer_hardware.unlock(held->buffer, NULL) == 0 && rows;
}

void layer_hardware_buffer_fetch(void *user)
{
    struct layer_hardware_buffer *held = user;

    if (!atomic_load_explicit(&held->changed, memory_order_relaxed))
        return;
    pthread_mutex_lock(&held->mutex);
    if (atomic_exchange(&held->changed, false))
        atomic_store(&held->failed, !copy_rows(held));
    pthread_mutex_unlock(&held->mutex);
}

bool layer_hardware_buffer_look(struct layer_hardware_buffer *held)
{
    atomic_store(&held->changed, true);
    return !atomic_load(&held->failed);
}

void *layer_hardware_buffer_pages(struct layer_hardware_buffer *held, uint64_t bytes)
{
    void *pages;

    if (held->pages || !is_readable(&held->is) || bytes < layer_hardware_buffer_bytes(held))
        return held->pages;
    pages = mmap(NULL, (size_t)bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (pages == MAP_FAILED)
        return NULL;
    held->pages = pages;
    held->page_bytes = bytes;
    if (copy_rows(held))
        return pages;
    munmap(pages, (size_t)bytes);
    return held->pages = NULL;
}
