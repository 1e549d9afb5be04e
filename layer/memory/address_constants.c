/* SPDX-License-Identifier: MIT */
/* Device addresses that the program passes to shaders in a form that a replay with other addresses does not
 * translate. */
#include <stdio.h>

#include "gen_layer.h"
#include "layer/core/description.h"
#include "layer/core/layer.h"
#include "layer/memory/address_range.h"
#include "layer/memory/capture_address.h"
#include "vulkan/untranslated.h"

void hook_after_GetBufferDeviceAddress(struct layer_device *dev, VkDevice device,
                                       const VkBufferDeviceAddressInfo *pInfo, VkDeviceAddress result)
{
    struct layer_buffer *buffer = LAYER_GET(dev, VkBuffer, pInfo->buffer);
    unsigned upper = (unsigned)(result >> 32);

    if (buffer) {
        atomic_store_explicit(&buffer->address, result, memory_order_relaxed);
        layer_address_range_add(dev, pInfo->buffer, buffer, result);
    }
    for (size_t i = 0; upper && i < LAYER_ADDRESS_UPPERS; i++) {
        unsigned known = 0;
        if (atomic_compare_exchange_strong(&dev->addresses.uppers[i], &known, upper) || known == upper)
            return;
    }
}

struct search {
    uint64_t word;
    enum lap_constant_fit fit;
};

static void look_at_buffer(void *user, uint64_t handle, void *record)
{
    const struct layer_buffer *buffer = record;
    struct search *search = user;
    uint64_t address = atomic_load_explicit(&buffer->address, memory_order_relaxed);

    if (!address || search->word < address || search->word - address > buffer->bytes)
        return;
    if (search->word == address || search->fit == LAP_CONSTANT_NONE)
        search->fit = search->word == address ? LAP_CONSTANT_BEGIN : LAP_CONSTANT_WITHIN;
}

/* Visits all buffers. This is rare: few words have the upper half of an address. */
static enum lap_constant_fit fit(void *user, uint64_t word)
{
    struct layer_device *dev = user;
    struct search search = {.word = word, .fit = LAP_CONSTANT_NONE};
    bool is_upper = false;

    for (size_t i = 0; i < LAYER_ADDRESS_UPPERS && word >> 32; i++)
        is_upper |= atomic_load_explicit(&dev->addresses.uppers[i], memory_order_relaxed) == word >> 32;
    if (is_upper)
        lap_map_each(dev->maps[GEN_HANDLE_VkBuffer], look_at_buffer, &search);
    return search.fit;
}

static void say(struct layer_device *dev, const struct lap_untranslated *lost)
{
    struct layer_description description;
    char text[256];

    if (atomic_exchange(&dev->addresses.warned_of_constants, true))
        return;
    snprintf(text, sizeof text,
             "in specialization constants %s (byte %llu, %#llx): a replay with other addresses, as on "
             "another driver, does not follow it",
             lap_untranslated_text(lost->kind), (unsigned long long)lost->offset, (unsigned long long)lost->address);
    lap_log(&layer.log, LAP_LOG_WARNING, "%s", text);
    description = layer_describe_begin();
    layer_describe_text(&description, NULL, "addresses_lost", text);
    layer_describe_end(&description, "device addresses");
}

void layer_address_check_constants(struct layer_device *dev, const VkSpecializationInfo *info)
{
    struct lap_upper_halves halves = {.count = 0};
    const struct lap_address_view view = {fit, dev, &halves};
    struct lap_untranslated lost;

    if (!info || atomic_load_explicit(&dev->addresses.warned_of_constants, memory_order_relaxed))
        return;
    for (size_t i = 0; i < LAYER_ADDRESS_UPPERS; i++) {
        uint64_t upper = atomic_load_explicit(&dev->addresses.uppers[i], memory_order_relaxed);
        if (upper)
            lap_upper_halves_add(&halves, upper << 32);
    }
    if (lap_untranslated_in_constants(&view, info, &lost))
        say(dev, &lost);
}
