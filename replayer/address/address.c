/* SPDX-License-Identifier: MIT */
#include "replayer/address/address.h"
#include "vulkan/chain.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gen_replay.h"
#include "replayer/address/address_word.h"
#include "replayer/address/captured_memory.h"
#include "replayer/address/halves.h"
#include "replayer/core/device.h"
#include "replayer/core/handles.h"
#include "replayer/sparse/sparse.h"
#include "vulkan/constants.h"
#include "vulkan/dictionary.h"
#include "vulkan/untranslated.h"

#define PAGE_BYTES 4096u

struct replay_addresses {
    struct replay *r;
    struct replay_device *dev;
    struct replay_address_space space;
    struct replay_address_word_space words;
    struct replay_address_counts counts;
    struct lap_upper_halves halves;
    struct replay_halves *split;
    bool warned_lost;                    /* the warning about an untranslatable address has been logged */
    uint64_t renewed_begin, renewed_end; /* recorded addresses of new ranges: replay_address_renewed */
};

struct replay_buffer_addresses {
    VkBuffer buffer;
    struct replay_buffer *record;
    struct replay_address_range *range; /* NULL: the program has not queried it */
    struct replay_address_words words;
    unsigned char **pages; /* shadow copy of memory that is not host-visible; NULL pages are zero */
};

/* ---- the memory of a buffer ---- */

static uint64_t page_count(const struct replay_buffer_addresses *buffer)
{
    return (buffer->words.bytes + PAGE_BYTES - 1) / PAGE_BYTES;
}

/* Copies from the shadow copy to `out`, or from `data` to the shadow copy, whichever is not NULL. */
static enum lap_status copy_kept(struct replay_buffer_addresses *buffer, uint64_t offset, unsigned char *out,
                                 const unsigned char *data, size_t bytes)
{
    if (!buffer->pages)
        buffer->pages = calloc(page_count(buffer), sizeof *buffer->pages);
    if (!buffer->pages)
        return lap_fail(LAP_ERROR_MEMORY, "out of memory for a copy of a buffer");
    for (size_t done = 0; done < bytes;) {
        unsigned char **page = &buffer->pages[(offset + done) / PAGE_BYTES];
        size_t at = (offset + done) % PAGE_BYTES;
        size_t piece = PAGE_BYTES - at < bytes - done ? PAGE_BYTES - at : bytes - done;
        if (data && !*page && !(*page = calloc(1, PAGE_BYTES)))
            return lap_fail(LAP_ERROR_MEMORY, "out of memory for a copy of a buffer");
        if (data)
            memcpy(*page + at, data + done, piece);
        else if (*page)
            memcpy(out + done, *page + at, piece);
        else
            memset(out + done, 0, piece);
        done += piece;
    }
    return LAP_OK;
}

static enum lap_status read_words(void *user, void *memory, uint64_t offset, void *out, size_t bytes)
{
    const struct replay_addresses *addresses = user;
    struct replay_buffer_addresses *buffer = memory;
    const struct replay_buffer *record = buffer->record;
    const void *data = NULL;
    enum lap_status status;

    if (replay_sparse_has_pages(record)) {
        status = replay_sparse_read(addresses->r, addresses->dev, record, offset, bytes, &data);
    } else if (record->place.host) {
        status = replay_memory_place_invalidate(addresses->r, addresses->dev, &record->place, offset, bytes);
        data = record->place.host + offset;
    } else {
        return copy_kept(buffer, offset, out, NULL, bytes);
    }
    if (status == LAP_OK)
        memcpy(out, data, bytes);
    return status;
}

static enum lap_status write_words(void *user, void *memory, uint64_t offset, const void *data, size_t bytes)
{
    const struct replay_addresses *addresses = user;
    struct replay_buffer_addresses *buffer = memory;
    enum lap_status status =
        replay_buffer_write(addresses->r, addresses->dev, buffer->buffer, buffer->record, offset, data, bytes);

    if (status != LAP_OK || replay_sparse_has_pages(buffer->record) || buffer->record->place.host)
        return status;
    return copy_kept(buffer, offset, NULL, data, bytes);
}

/* ---- callbacks of decoders ---- */

/* The device that the current packet is for: each device has an address space of its own. */
static struct replay_device *current_device(struct replay *r)
{
    const struct gen_replay_entry *entry;
    const struct replay_object *object;
    struct lap_dec dec;

    if (!r->devices || !r->devices->next)
        return r->devices;
    entry = &gen_replay_table[lap_dictionary_command(r->dictionary, r->at.packet.command)];
    if (entry->owner_type == GEN_HANDLE_NONE || entry->flags & GEN_REPLAY_INSTANCE)
        return NULL;
    lap_dec_init(&dec, r->at.packet.body, r->at.packet.bytes, &r->arena, &r->source);
    object = replay_object_get(r, (enum gen_handle_type)entry->owner_type, lap_get_u64(&dec));
    return object ? object->owner : NULL;
}

static enum lap_constant_fit fit_address(void *user, uint64_t word)
{
    const struct replay_addresses *addresses = user;
    uint64_t begin;

    if (!replay_address_begin_of(&addresses->space, word, &begin))
        return LAP_CONSTANT_NONE;
    return begin == word ? LAP_CONSTANT_BEGIN : LAP_CONSTANT_WITHIN;
}

static void say_lost(struct replay_addresses *addresses, const char *where, const struct lap_untranslated *lost)
{
    addresses->warned_lost = true;
    (void)lap_fail(LAP_ERROR_REPLAY,
                   "in %s %s (byte %" PRIu64 ", %#" PRIx64
                   "): a shader gets the recorded one, which is another one on this device",
                   where, lap_untranslated_text(lost->kind), lost->offset, lost->address);
    (void)replay_place(addresses->r, LAP_ERROR_REPLAY);
    lap_log(addresses->r->log, LAP_LOG_WARNING, "%s", lap_error_message());
}

static struct lap_address_view view_of(struct replay_addresses *addresses)
{
    return (struct lap_address_view){fit_address, addresses, &addresses->halves};
}

static void look_for_lost_words(struct replay_addresses *addresses, const char *where, const void *data, size_t bytes)
{
    struct lap_address_view view = view_of(addresses);
    struct lap_untranslated lost;

    if (!addresses->warned_lost && lap_untranslated_in_words(&view, data, bytes, &lost))
        say_lost(addresses, where, &lost);
}

static uint64_t translate_address(void *user, uint64_t recorded)
{
    struct replay_device *dev = current_device(user);
    uint64_t live = recorded;

    if (dev && dev->addresses.translated && replay_address_to_live(&dev->addresses.known->space, recorded, &live))
        dev->addresses.known->counts.arguments += live != recorded;
    return live;
}

static bool has_words(const struct replay_address_space *space, const unsigned char *data, size_t bytes)
{
    for (size_t at = 0; bytes >= 8 && at <= bytes - 8; at += 4) {
        uint64_t word, live;
        memcpy(&word, data + at, sizeof word);
        if (replay_address_to_live(space, word, &live) && live != word)
            return true;
    }
    return false;
}

static const void *translate_words(void *user, enum lap_words what, struct lap_arena *arena, const void *data,
                                   size_t bytes)
{
    struct replay_device *dev = current_device(user);
    struct replay_addresses *addresses = dev ? dev->addresses.known : NULL;
    uint64_t count;
    void *copy;

    if (!addresses || !dev->addresses.translated)
        return data;
    look_for_lost_words(addresses, what == LAP_WORDS_UPDATED ? "vkCmdUpdateBuffer" : "an inline uniform block", data,
                        bytes);
    if (!has_words(&addresses->space, data, bytes))
        return data;
    copy = lap_arena_zalloc(arena, bytes, 1, 16); /* the bytes may belong to a shared blob */
    if (!copy)
        return NULL;
    memcpy(copy, data, bytes);
    count = replay_address_replace_recorded(&addresses->space, copy, bytes);
    if (what == LAP_WORDS_UPDATED)
        addresses->counts.inlined += count;
    else
        addresses->counts.uniform += count;
    return copy;
}

/* ---- addresses of buffers ---- */

static bool has_feature(const struct replay_device *dev)
{
    VkPhysicalDeviceBufferDeviceAddressFeatures address = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_BUFFER_DEVICE_ADDRESS_FEATURES};
    VkPhysicalDeviceFeatures2 features = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2, .pNext = &address};

    if (!dev->instance->vk.GetPhysicalDeviceFeatures2)
        return false;
    dev->instance->vk.GetPhysicalDeviceFeatures2(dev->gpu, &features);
    return address.bufferDeviceAddressCaptureReplay;
}

void replay_address_prepare(struct replay *r, struct replay_device *dev, const VkDeviceCreateInfo *info)
{
    VkPhysicalDeviceVulkan12Features *core =
        (void *)(uintptr_t)lap_chain_find(info->pNext, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES);
    VkPhysicalDeviceBufferDeviceAddressFeatures *khr = (void *)(uintptr_t)lap_chain_find(
        info->pNext, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_BUFFER_DEVICE_ADDRESS_FEATURES);
    VkBool32 *feature = core && core->bufferDeviceAddress ? &core->bufferDeviceAddressCaptureReplay
                        : khr && khr->bufferDeviceAddress ? &khr->bufferDeviceAddressCaptureReplay
                                                          : NULL;

    dev->addresses.preserved.possible = feature && !r->options.translate_addresses && has_feature(dev);
    if (dev->addresses.preserved.possible)
        *feature = VK_TRUE;
}

void replay_address_begin(struct replay_device *dev, const VkDeviceCreateInfo *info)
{
    const VkPhysicalDeviceVulkan12Features *core =
        lap_chain_find(info->pNext, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES);
    const VkPhysicalDeviceBufferDeviceAddressFeatures *khr =
        lap_chain_find(info->pNext, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_BUFFER_DEVICE_ADDRESS_FEATURES);
    const VkPhysicalDeviceBufferDeviceAddressFeaturesEXT *ext =
        lap_chain_find(info->pNext, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_BUFFER_DEVICE_ADDRESS_FEATURES_EXT);

    dev->addresses.need_memory = (core && core->bufferDeviceAddress) || (khr && khr->bufferDeviceAddress);
    dev->addresses.enabled = dev->addresses.need_memory || (ext && ext->bufferDeviceAddress);
}

static enum lap_status begin(struct replay *r, struct replay_device *dev)
{
    struct replay_addresses *addresses = calloc(1, sizeof *addresses);

    if (addresses)
        addresses->split = replay_halves_create();
    if (!addresses || !addresses->split) {
        free(addresses);
        return replay_place(r, lap_fail(LAP_ERROR_MEMORY, "out of memory for addresses"));
    }
    addresses->r = r;
    addresses->dev = dev;
    addresses->words.addresses = &addresses->space;
    addresses->words.access = (struct replay_address_words_access){read_words, write_words, addresses};
    dev->addresses.known = addresses;
    return LAP_OK;
}

static void begin_translating(struct replay *r, struct replay_device *dev)
{
    dev->addresses.translated = true;
    r->source.address = translate_address;
    r->source.words = translate_words;
}

static enum lap_status need_record(struct replay *r, VkBuffer buffer, struct replay_buffer *record)
{
    if (record->addresses)
        return LAP_OK;
    record->addresses = calloc(1, sizeof *record->addresses);
    if (!record->addresses)
        return replay_place(r, lap_fail(LAP_ERROR_MEMORY, "out of memory for the addresses in a buffer"));
    record->addresses->buffer = buffer;
    record->addresses->record = record;
    record->addresses->words.bytes = record->bytes;
    record->addresses->words.memory = record->addresses;
    return LAP_OK;
}

/* The program has queried the same address before. */
static bool is_settled(const struct replay_buffer *record, VkDeviceAddress recorded)
{
    return !recorded ||
           (record->addresses && record->addresses->range && record->addresses->range->recorded.begin == recorded);
}

static void note_renewed(struct replay_addresses *addresses, const struct replay_address_range *range)
{
    bool first = addresses->renewed_begin == addresses->renewed_end;

    if (first || range->recorded.begin < addresses->renewed_begin)
        addresses->renewed_begin = range->recorded.begin;
    if (first || range->recorded.end > addresses->renewed_end)
        addresses->renewed_end = range->recorded.end;
}

enum lap_status replay_GetBufferDeviceAddress(struct replay *r, struct replay_device *dev,
                                              struct gen_args_vkGetBufferDeviceAddress *args)
{
    uint64_t index;
    struct replay_buffer *record = replay_buffer_of(r, args->pInfo->buffer, &index);
    struct replay_addresses *addresses;
    enum lap_status status;
    VkDeviceAddress live;

    if (!record)
        return replay_invalid(r, "the address of a buffer that is not alive");
    if (is_settled(record, args->result))
        return LAP_OK;
    if (!dev->addresses.enabled) /* with --force: shaders would read other memory */
        return replay_refuse(r, "the program follows device addresses, and this device has none");
    if (!dev->vk.GetBufferDeviceAddress)
        return replay_missing(r, GEN_vkGetBufferDeviceAddress);
    live = dev->vk.GetBufferDeviceAddress(dev->live, args->pInfo);
    if (!live)
        return replay_refuse(r, "VkBuffer:%" PRIu64 " has no address in this replay", index);
    status = dev->addresses.known ? LAP_OK : begin(r, dev);
    if (status == LAP_OK)
        status = need_record(r, args->pInfo->buffer, record);
    if (status != LAP_OK)
        return status;
    addresses = dev->addresses.known;
    if (record->addresses->range) {
        replay_address_end(&addresses->space, record->addresses->range);
        record->addresses->range = NULL;
    }
    status = replay_address_add(&addresses->space, REPLAY_ADDRESS_BUFFER, index, args->result, live, record->bytes,
                                &record->addresses->range);
    if (status == LAP_OK) {
        lap_upper_halves_add(&addresses->halves, args->result);
        addresses->counts.buffers++;
        addresses->counts.preserved += live == args->result;
        if (live != args->result && !dev->addresses.translated)
            begin_translating(r, dev);
        note_renewed(addresses, record->addresses->range);
        status = replay_address_words_renew(&addresses->words, record->addresses->range);
    }
    return status < 0 ? replay_place(r, status) : status;
}

enum lap_status replay_address_structure(struct replay *r, struct replay_device *dev, uint64_t index, uint64_t recorded,
                                         uint64_t live, struct replay_address_range **range)
{
    struct replay_addresses *addresses;
    enum lap_status status = dev->addresses.known ? LAP_OK : begin(r, dev);

    if (status != LAP_OK)
        return status;
    addresses = dev->addresses.known;
    if (*range)
        replay_address_end(&addresses->space, *range);
    *range = NULL;
    status = replay_address_add(&addresses->space, REPLAY_ADDRESS_STRUCTURE, index, recorded, live, 1, range);
    if (status == LAP_OK) {
        lap_upper_halves_add(&addresses->halves, recorded);
        addresses->counts.structures++;
        if (live != recorded && !dev->addresses.translated)
            begin_translating(r, dev);
        note_renewed(addresses, *range);
        status = replay_address_words_renew(&addresses->words, *range);
    }
    return status < 0 ? replay_place(r, status) : status;
}

void replay_address_structure_end(struct replay_device *dev, struct replay_address_range *range)
{
    replay_address_end(&dev->addresses.known->space, range);
}

void replay_address_forget(struct replay_device *dev, struct replay_buffer *record)
{
    struct replay_buffer_addresses *buffer = record->addresses;

    if (!buffer)
        return;
    if (buffer->range)
        replay_address_end(&dev->addresses.known->space, buffer->range);
    replay_address_words_finish(&dev->addresses.known->words, &buffer->words);
    for (uint64_t i = 0; buffer->pages && i < page_count(buffer); i++)
        free(buffer->pages[i]);
    free(buffer->pages);
    free(buffer);
    record->addresses = NULL;
}

/* ---- addresses in memory and in constants ---- */

enum lap_status replay_address_update(struct replay *r, struct replay_device *dev, VkBuffer buffer,
                                      struct replay_buffer *record, VkDeviceSize offset, const void *data, size_t bytes)
{
    enum lap_status status = need_record(r, buffer, record);

    if (status == LAP_OK)
        status =
            replay_address_words_update(&dev->addresses.known->words, &record->addresses->words, offset, data, bytes);
    return status < 0 ? replay_place(r, status) : status;
}

struct constants {
    struct replay *r;
    struct replay_addresses *addresses;
    const VkSpecializationInfo *info;
    unsigned char *copy; /* of the data, which may belong to a shared blob */
    bool failed;
};

static enum lap_constant_fit fit_constant(void *user, uint64_t word)
{
    return fit_address(((struct constants *)user)->addresses, word);
}

static void translate_constant(void *user, const struct lap_constant_word *word)
{
    struct constants *constants = user;
    uint64_t live = word->word;
    uint32_t halves[2];

    if (!replay_address_to_live(&constants->addresses->space, word->word, &live) || live == word->word)
        return;
    if (!constants->copy) {
        constants->copy = replay_scratch(constants->r, constants->info->dataSize, 1);
        if (!constants->copy) {
            constants->failed = true;
            return;
        }
        memcpy(constants->copy, constants->info->pData, constants->info->dataSize);
    }
    halves[0] = (uint32_t)live;
    halves[1] = (uint32_t)(live >> 32);
    memcpy(constants->copy + word->low, &halves[0], sizeof halves[0]);
    memcpy(constants->copy + word->high, &halves[1], sizeof halves[1]);
    constants->addresses->counts.constants++;
}

enum lap_status replay_address_constants(struct replay *r, struct replay_device *dev, const VkSpecializationInfo *info)
{
    struct constants constants = {r, dev->addresses.known, info, NULL, false};
    struct lap_address_view view = view_of(dev->addresses.known);
    struct lap_untranslated lost;

    if (!dev->addresses.known->warned_lost && lap_untranslated_in_constants(&view, info, &lost))
        say_lost(dev->addresses.known, "specialization constants", &lost);
    if (!lap_constants_visit(info, fit_constant, translate_constant, &constants) || constants.failed)
        return replay_place(r, lap_fail(LAP_ERROR_MEMORY, "out of memory for addresses in constants"));
    if (constants.copy)
        ((VkSpecializationInfo *)(uintptr_t)info)->pData = constants.copy; /* the decoder's own memory */
    return LAP_OK;
}

void replay_address_commands_begin(struct replay_device *dev)
{
    replay_halves_clear(dev->addresses.known->split);
}

enum lap_status replay_address_command(struct replay *r, struct replay_device *dev, VkCommandBuffer commands,
                                       void *args)
{
    struct replay_addresses *addresses = dev->addresses.known;
    struct lap_address_view view = view_of(addresses);
    struct lap_untranslated lost;
    enum lap_status status;
    const char *where;
    uint64_t count;

    if (replay_halves_note(addresses->split, &view, r->at.command, args, &lost, &where) && !addresses->warned_lost)
        say_lost(addresses, where, &lost);
    status = replay_halves_translate(addresses->split, &addresses->space, &dev->vk, &r->arena, commands, r->at.command,
                                     args, &count);
    addresses->counts.pushed += count;
    return status;
}

void replay_address_restore(struct replay_device *dev, void *data, size_t bytes)
{
    dev->addresses.known->counts.checked += replay_address_replace_live(&dev->addresses.known->space, data, bytes);
}

/* ---- for other forms of data ---- */

bool replay_address_renewed(const struct replay_device *dev, VkDeviceAddress *out_begin, VkDeviceAddress *out_end)
{
    struct replay_addresses *addresses = dev->addresses.known;

    if (!addresses || addresses->renewed_begin >= addresses->renewed_end)
        return false;
    *out_begin = addresses->renewed_begin;
    *out_end = addresses->renewed_end;
    addresses->renewed_begin = addresses->renewed_end = 0;
    return true;
}

VkDeviceAddress replay_address_end_of(const struct replay_device *dev, VkDeviceAddress live)
{
    return dev->addresses.known ? replay_address_live_end(&dev->addresses.known->space, live) : 0;
}

VkDeviceAddress replay_address_recorded_of(const struct replay_device *dev, VkDeviceAddress live)
{
    uint64_t recorded = live;

    return dev->addresses.known && replay_address_to_recorded(&dev->addresses.known->space, live, &recorded) ? recorded
                                                                                                             : live;
}

VkDeviceAddress replay_address_live_of(const struct replay_device *dev, VkDeviceAddress recorded)
{
    uint64_t live = recorded;

    return dev->addresses.known && replay_address_to_live(&dev->addresses.known->space, recorded, &live) ? live
                                                                                                         : recorded;
}

void replay_address_words(const struct replay_device *dev, void *data, size_t bytes)
{
    if (dev->addresses.translated)
        (void)replay_address_replace_recorded(&dev->addresses.known->space, data, bytes);
}

/* ---- statistics ---- */

struct replay_address_counts replay_address_counts(const struct replay_device *dev)
{
    struct replay_address_counts counts = {0};

    if (!dev->addresses.known)
        return counts;
    counts = dev->addresses.known->counts;
    counts.updated = dev->addresses.known->words.updated;
    counts.renewed = dev->addresses.known->words.renewed;
    return counts;
}

/* Explains why addresses changed although the driver is the recorded one. */
static void say_what_moved(struct replay *r, const struct replay_device *dev, uint64_t moved)
{
    const struct replay_preserved_address_counts *counts = &dev->addresses.preserved.counts;

    lap_log(r->log, LAP_LOG_INFO,
            "the addresses of %" PRIu64 " buffers are others though the driver is the recorded one: it created %" PRIu64
            " buffers not where they were, and %" PRIu64 " times no memory there; %" PRIu64
            " buffers share memory with others",
            moved, counts->refused_buffers, counts->refused_memories, counts->aliased);
}

void replay_address_finish(struct replay *r, struct replay_device *dev)
{
    struct replay_address_counts counts = replay_address_counts(dev);
    char as_recorded[64] = "", structures[64] = "";

    replay_address_memory_finish(dev);
    if (!dev->addresses.known)
        return;
    if (dev->addresses.preserved.active)
        snprintf(as_recorded, sizeof as_recorded, ", %" PRIu64 " of them as recorded", counts.preserved);
    if (counts.structures)
        snprintf(structures, sizeof structures, ", and of %" PRIu64 " acceleration structures", counts.structures);
    if (dev->addresses.preserved.active && counts.preserved < counts.buffers)
        say_what_moved(r, dev, counts.buffers - counts.preserved);
    lap_log(r->log, LAP_LOG_INFO,
            "addresses of %" PRIu64 " buffers%s%s; translated: %" PRIu64 " in memory, %" PRIu64 " there again, %" PRIu64
            " in push constants, %" PRIu64 " in vkCmdUpdateBuffer, %" PRIu64 " in inline uniform blocks, %" PRIu64
            " in specialization constants, %" PRIu64 " in arguments, %" PRIu64 " back for --verify",
            counts.buffers, as_recorded, structures, counts.updated, counts.renewed, counts.pushed, counts.inlined,
            counts.uniform, counts.constants, counts.arguments, counts.checked);
    replay_address_word_space_finish(&dev->addresses.known->words);
    replay_address_space_finish(&dev->addresses.known->space);
    replay_halves_destroy(dev->addresses.known->split);
    free(dev->addresses.known);
    dev->addresses.known = NULL;
    dev->addresses.translated = false;
}
