/* SPDX-License-Identifier: MIT */
#include "replayer/play/check_trace.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "gen_replay.h"
#include "replayer/acceleration/acceleration.h"
#include "replayer/address/captured_memory.h"
#include "replayer/address/untranslated.h"
#include "replayer/analysis/recorded_machine.h"
#include "replayer/core/handles.h"
#include "replayer/descriptor/heap_code.h"
#include "replayer/device/limits.h"
#include "replayer/device/queues.h"
#include "replayer/device/video_profile.h"
#include "replayer/format/image_support.h"
#include "replayer/format/refused_copies.h"
#include "replayer/play/player.h"
#include "replayer/present/swapchain.h"
#include "replayer/present/window.h"
#include "replayer/ray_tracing/ray_tracing.h"
#include "replayer/resource/create.h"
#include "replayer/video/session.h"
#include "vulkan/block.h"
#include "vulkan/dictionary.h"

struct examine {
    struct replay *r;
    struct lap_dec_source source; /* returns indices for handles: the objects do not exist */
    uint32_t hidden;              /* enum gen_struct: in a chain of the current call, refused by a replay; 0: none */
    struct replay_limits *limits;
    struct replay_untranslated *addresses;
    struct replay_refused_copies *copies;
    bool *blocks; /* [blob]: already examined; identical command buffers share one */
    uint64_t block_count;
    bool keeps_addresses;   /* of the last device that a call referred to */
    uint32_t present_modes; /* bit N: the program queried mode N */
};

/* Reports a place where the replay would end. The check continues behind it. */
static enum lap_status refuse(struct examine *e, enum replay_area area, const char *name, enum lap_status status)
{
    if (status >= 0 || status == LAP_ERROR_MEMORY)
        return status;
    (void)replay_place(e->r, status);
    replay_report_add(e->r->report, area, REPLAY_REFUSED, name, "%s", lap_error_message());
    return replay_report_refusal(e->r, status);
}

static enum lap_status look_at_ray_tracing(struct examine *e, struct replay_device *dev,
                                           const struct gen_args_vkCreateRayTracingPipelinesKHR *args)
{
    enum lap_status status = LAP_OK;

    for (uint32_t i = 0; i < args->createInfoCount && args->pCreateInfos && status == LAP_OK; i++)
        status = refuse(e, REPLAY_AREA_LIMIT, "maxRayRecursionDepth",
                        replay_ray_tracing_check(e->r, dev, &args->pCreateInfos[i]));
    return status;
}

static void report_skipped(struct examine *e, uint64_t count)
{
    if (count)
        replay_report_add(e->r->report, REPLAY_AREA_STRUCTURE, REPLAY_DROPPED, "unknown",
                          "frame %" PRIu64 ", packet %" PRIu64 ": this build does not know %" PRIu64
                          " of its structures",
                          e->r->at.packet.frame + 1, e->r->at.packet.ticket, count);
}

/* The device of this call. Where it is unknown (a check has no command buffers and queues), a possible one. */
static struct replay_device *device_of(struct examine *e, const void *args)
{
    const struct replay_object *object;

    if (gen_replay_table[e->r->at.command].owner_type != GEN_HANDLE_VkDevice)
        return e->r->devices;
    object = replay_object_get(e->r, GEN_HANDLE_VkDevice, gen_u64_VkDevice(*(const VkDevice *)args));
    return object ? object->owner : NULL;
}

/* ---- callbacks of the decoders ---- */

static enum lap_status examine_blob(void *user, uint64_t id, const uint8_t **out_data, size_t *out_bytes)
{
    const struct examine *e = user;
    return lap_reader_blob(e->r->reader, LAP_BLOB_DATA, id, out_data, out_bytes);
}

static uint32_t examine_struct(void *user, uint64_t number)
{
    struct examine *e = user;
    uint32_t id = lap_dictionary_struct(e->r->dictionary, number);

    if (gen_fates[id] == GEN_FATE_REFUSED)
        e->hidden = id;
    return id;
}

/* ---- requirements of a call ---- */

static enum lap_status look_at_chains(struct examine *e)
{
    const char *name = gen_struct_names[e->hidden];

    if (!e->hidden)
        return LAP_OK;
    e->hidden = GEN_STRUCT_NONE;
    return refuse(e, REPLAY_AREA_STRUCTURE, name,
                  replay_refuse(e->r, "%s is hidden from programs and never replayed", name));
}

static bool table_has(const void *table, uint16_t function)
{
    PFN_vkVoidFunction pointer;

    memcpy(&pointer, (const char *)table + (function - 1u) * sizeof pointer, sizeof pointer);
    return pointer != NULL;
}

static enum lap_status look_at_function(struct examine *e)
{
    struct replay *r = e->r;
    const struct gen_replay_entry *entry = &gen_replay_table[r->at.command];
    bool has = !entry->function;

    if (gen_replay_refusals[r->at.command])
        return refuse(e, REPLAY_AREA_COMMAND, gen_command_names[r->at.command], replay_refuse_command(r));
    if (entry->flags & GEN_REPLAY_INSTANCE)
        for (struct replay_instance *instance = r->instances; instance && !has; instance = instance->next)
            has = table_has(&instance->vk, entry->function);
    else
        for (struct replay_device *dev = r->devices; dev && !has; dev = dev->next)
            has = table_has(&dev->vk, entry->function);
    return has ? LAP_OK
               : refuse(e, REPLAY_AREA_COMMAND, gen_command_names[r->at.command], replay_missing(r, r->at.command));
}

/* Creates the image without memory, because only a creation shows support: some drivers support more than they
 * report. */
static enum lap_status look_at_image(struct examine *e, struct replay_device *dev,
                                     const struct gen_args_vkCreateImage *args)
{
    struct replay *r = e->r;
    const char *name;
    VkImageCreateInfo info;
    enum lap_status status;
    VkImage image;

    if (!args->pCreateInfo || !args->pImage || !*args->pImage)
        return LAP_OK;
    status = replay_video_profiles_check(r, args->pCreateInfo->pNext);
    if (status != LAP_OK)
        return status;
    info = *args->pCreateInfo;
    info.sharingMode = VK_SHARING_MODE_EXCLUSIVE; /* recorded families are not mapped in a check */
    name = replay_enum_name("VkFormat", info.format);
    name = name ? name : "unknown";
    status = replay_image_result(r, args, replay_image_create(dev, &info, &image));
    if (status != LAP_OK)
        return refuse(e, REPLAY_AREA_FORMAT, name, status);
    dev->vk.DestroyImage(dev->live, image, NULL);
    status = replay_refused_copies_image(e->copies, dev, gen_u64_VkImage(*args->pImage), args->pCreateInfo->format);
    if (status != LAP_OK)
        return status;
    /* Later uses take the format of the replay device. */
    ((VkImageCreateInfo *)(uintptr_t)args->pCreateInfo)->format = info.format;
    if (replay_format_image_supported(r, dev, &info) != LAP_OK)
        replay_report_add(r->report, REPLAY_AREA_FORMAT, REPLAY_IGNORED, name, "%s", lap_error_message());
    return LAP_OK;
}

static enum lap_status look_at_swapchain(struct examine *e, struct replay_device *dev,
                                         const VkSwapchainCreateInfoKHR *info, const VkSwapchainKHR *made)
{
    const char *name;
    enum lap_status status;
    uint32_t mode;

    if (!info || !made || !*made)
        return LAP_OK;
    name = replay_enum_name("VkFormat", info->imageFormat);
    status = refuse(e, REPLAY_AREA_FORMAT, name ? name : "unknown", replay_swapchain_supported(e->r, dev, info));
    mode = 1u << (info->presentMode & 31);
    if (status != LAP_OK || e->present_modes & mode)
        return status;
    e->present_modes |= mode;
    return refuse(e, REPLAY_AREA_PRESENTATION, "window", replay_window_examine(e->r, dev, info));
}

static enum lap_status look_at_swapchains(struct examine *e, struct replay_device *dev,
                                          const struct gen_args_vkCreateSharedSwapchainsKHR *args)
{
    enum lap_status status = LAP_OK;

    for (uint32_t i = 0; args->pCreateInfos && args->pSwapchains && i < args->swapchainCount && status == LAP_OK; i++)
        status = look_at_swapchain(e, dev, &args->pCreateInfos[i], &args->pSwapchains[i]);
    return status;
}

static enum lap_status look_at_session(struct examine *e, struct replay_device *dev,
                                       const struct gen_args_vkCreateVideoSessionKHR *args)
{
    VkVideoSessionCreateInfoKHR info;

    if (!args->pVideoSession || !*args->pVideoSession)
        return LAP_OK;
    if (!args->pCreateInfo || !args->pCreateInfo->pVideoProfile || !args->pCreateInfo->pStdHeaderVersion)
        return replay_invalid(e->r, "a video session without a profile");
    info = *args->pCreateInfo;
    info.queueFamilyIndex = replay_queue_map_family(e->r, dev, info.queueFamilyIndex);
    return refuse(e, REPLAY_AREA_COMMAND, gen_command_names[e->r->at.command],
                  replay_video_session_supported(e->r, dev, gen_u64_VkVideoSessionKHR(*args->pVideoSession), &info));
}

static enum lap_status look_at_call(struct examine *e, void *args)
{
    struct replay_device *dev = device_of(e, args);
    enum lap_status status = look_at_chains(e);

    if (status == LAP_OK)
        status = look_at_function(e);
    if (status != LAP_OK || !dev)
        return status;
    if (e->r->at.command == GEN_vkCreateImage)
        status = look_at_image(e, dev, args);
    else if (e->r->at.command == GEN_vkCreateSwapchainKHR)
        status = look_at_swapchain(e, dev, ((struct gen_args_vkCreateSwapchainKHR *)args)->pCreateInfo,
                                   ((struct gen_args_vkCreateSwapchainKHR *)args)->pSwapchain);
    else if (e->r->at.command == GEN_vkCreateSharedSwapchainsKHR)
        status = look_at_swapchains(e, dev, args);
    else if (e->r->at.command == GEN_vkGetBufferDeviceAddress)
        replay_report_add(
            e->r->report, REPLAY_AREA_COMMAND, REPLAY_MAPPED, gen_command_names[e->r->at.command],
            e->keeps_addresses
                ? "buffers are asked to have the addresses that they had; where the driver refuses, "
                  "recorded ones in memory and in commands are translated"
                : "buffers have other addresses on this device: recorded ones in memory and in commands are "
                  "translated");
    else if (e->r->at.command == GEN_lapilliDescriptorHeaps)
        status = refuse(e, REPLAY_AREA_DEVICE, "descriptor heaps", replay_lapilliDescriptorHeaps(e->r, dev, args));
    else if (e->r->at.command == GEN_lapilliCaptureDevice) {
        dev->recorded.same_driver = replay_address_is_recorded_driver(dev, args);
        e->keeps_addresses = dev->addresses.preserved.possible && dev->recorded.same_driver;
    } else if (e->r->at.command == GEN_vkCmdCopyAccelerationStructureToMemoryKHR ||
               e->r->at.command == GEN_vkCmdCopyMemoryToAccelerationStructureKHR ||
               e->r->at.command == GEN_vkCmdCopyMicromapToMemoryEXT ||
               e->r->at.command == GEN_vkCmdCopyMemoryToMicromapEXT)
        status = refuse(e, REPLAY_AREA_COMMAND, gen_command_names[e->r->at.command],
                        replay_acceleration_reads_serialized(e->r, dev));
    else if (e->r->at.command == GEN_vkCreateVideoSessionKHR)
        status = look_at_session(e, dev, args);
    else if (e->r->at.command == GEN_vkCreateRayTracingPipelinesKHR)
        status = look_at_ray_tracing(e, dev, args);
    if (status == LAP_OK && dev->descriptors.buffers)
        status = refuse(e, REPLAY_AREA_COMMAND, gen_command_names[e->r->at.command],
                        replay_heaps_adapt_call(e->r, dev, e->r->at.command, args));
    if (status == LAP_OK)
        status = refuse(e, REPLAY_AREA_COMMAND, gen_command_names[e->r->at.command],
                        replay_refused_copies_call(e->copies, e->r, args));
    if (status == LAP_OK)
        status = replay_untranslated_call(e->addresses, e->r, args, !e->keeps_addresses);
    if (status != LAP_OK)
        return status;
    return replay_limits_check(
        e->limits, dev->instance, e->r->report,
        &(struct replay_limits_place){e->r->at.command, e->r->at.packet.frame, e->r->at.packet.ticket}, args);
}

static enum lap_status look_at_block(struct examine *e, uint64_t id)
{
    struct replay *r = e->r;
    struct lap_block block;
    struct lap_args args;
    const uint8_t *data;
    size_t bytes;
    enum lap_status status;

    if (id < e->block_count && e->blocks[id])
        return LAP_OK;
    status = lap_reader_blob(r->reader, LAP_BLOB_BLOCK, id, &data, &bytes);
    if (status != LAP_OK)
        return replay_place(r, status);
    if (id < e->block_count)
        e->blocks[id] = true;
    replay_untranslated_block(e->addresses);
    lap_block_init(&block, data, bytes, 0, r->dictionary, &r->arena, &e->source);
    do {
        lap_arena_reset(&r->arena);
        r->at.block_command = NULL;
        status = lap_block_next(&block, &r->at.command, &args);
        if (status == LAP_ERROR_UNSUPPORTED) {
            report_skipped(e, block.dec.unknown_structs);
            return refuse(e, REPLAY_AREA_COMMAND, "unknown", status);
        }
        if (status == LAP_OK) {
            r->at.block_command = gen_command_names[r->at.command];
            status = look_at_call(e, args.bytes);
        }
    } while (status == LAP_OK);
    r->at.block_command = NULL;
    report_skipped(e, block.dec.unknown_structs);
    return status == LAP_END ? LAP_OK : status;
}

/* ---- packets ---- */

/* Creates instances and devices as a replay does. LAP_END: there is none to compare with. */
static enum lap_status play_owner(struct examine *e)
{
    const char *name = gen_command_names[e->r->at.command];
    enum lap_status status = replay_packet(e->r);

    if (status >= 0 || status == LAP_ERROR_MEMORY || status == LAP_ERROR_FORMAT)
        return status;
    status = refuse(e, REPLAY_AREA_DEVICE, name, status);
    return status == LAP_OK ? LAP_END : status;
}

static enum lap_status examine_packet(struct examine *e)
{
    struct replay *r = e->r;
    const struct gen_replay_entry *entry;
    struct lap_args args;
    struct lap_dec dec;

    r->at.block_command = NULL;
    r->at.command = lap_dictionary_command(r->dictionary, r->at.packet.command);
    entry = &gen_replay_table[r->at.command];
    switch (r->at.command) {
    case GEN_vkCreateInstance:
    case GEN_vkDestroyInstance:
    case GEN_vkCreateDevice:
    case GEN_vkDestroyDevice:
        return play_owner(e);
    default:
        break;
    }
    if (r->at.packet.flags & (LAP_PACKET_FAILED | LAP_PACKET_INFO) ||
        (r->at.command && !entry->call && gen_command_flags[r->at.command] & LAP_PACKET_INFO))
        return replay_packet(r); /* it only records the packet */
    if (!entry->call || !gen_decode_table[r->at.command] || lap_block_has(r->at.command)) {
        enum lap_status status = replay_unknown_command(r);
        return status == LAP_ERROR_FORMAT
                   ? status
                   : refuse(e, REPLAY_AREA_COMMAND, lap_reader_command_name(r->reader, r->at.packet.command), status);
    }
    lap_arena_reset(&r->arena);
    e->source.formats = r->source.formats;
    lap_dec_init(&dec, r->at.packet.body, r->at.packet.bytes, &r->arena, &e->source);
    gen_decode_table[r->at.command](&dec, args.bytes);
    report_skipped(e, dec.unknown_structs);
    if (dec.status == LAP_OK && dec.p != dec.end)
        lap_dec_fail(&dec, "more bytes than the command has members for");
    if (dec.status != LAP_OK)
        return replay_place(r, dec.status);
    if (r->at.command == GEN_lapilliBlock)
        return look_at_block(e, ((struct gen_args_lapilliBlock *)(void *)args.bytes)->block);
    return look_at_call(e, args.bytes);
}

enum lap_status replay_check_trace(struct replay *r)
{
    struct examine e = {.r = r, .source = {.blob = examine_blob, .struct_id = examine_struct}};
    enum lap_status status = LAP_OK;

    e.source.user = &e;
    e.block_count = lap_reader_summary(r->reader)->blobs + 1;
    e.blocks = calloc(e.block_count, sizeof *e.blocks);
    e.limits = replay_limits_create();
    e.addresses = replay_untranslated_create();
    e.copies = replay_refused_copies_create();
    if (!e.blocks || !e.limits || !e.addresses || !e.copies)
        status = lap_fail(LAP_ERROR_MEMORY, "out of memory for the report");
    while (status == LAP_OK && (status = lap_reader_next(r->reader, &r->at.packet)) == LAP_OK) {
        if (r->options.last_frame && r->at.packet.frame >= r->options.last_frame)
            status = LAP_END;
        else
            status = examine_packet(&e);
    }
    r->at.packet = (struct lap_packet){0};
    r->at.block_command = NULL;
    replay_limits_destroy(e.limits);
    replay_untranslated_destroy(e.addresses);
    replay_refused_copies_destroy(e.copies);
    free(e.blocks);
    return status == LAP_END ? LAP_OK : status;
}
