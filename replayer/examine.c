/* SPDX-License-Identifier: MIT */
#include "replayer/examine.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "codegen/support/block.h"
#include "codegen/support/dictionary.h"
#include "gen_replay.h"
#include "replayer/address_look.h"
#include "replayer/address_memory.h"
#include "replayer/limits.h"
#include "replayer/match.h"
#include "replayer/player.h"
#include "replayer/resource.h"
#include "replayer/swapchain.h"
#include "replayer/window.h"

struct examine {
    struct replay *r;
    struct lap_dec_source source; /* leaves handles as indices: the objects do not exist */
    uint32_t hidden; /* enum gen_struct: in a chain of the current call, and refused by a replay; 0: none */
    struct replay_limits *limits;
    struct replay_address_look *addresses;
    bool *blocks; /* [blob]: looked at; command buffers that are the same share one */
    uint64_t block_count;
    bool keeps_addresses;   /* of the device that was named last */
    uint32_t present_modes; /* bit N: asked for the mode N */
};

/* The replay would end here: that is a finding, and what comes after is looked at all the same. */
static enum lap_status refuse(struct examine *e, enum replay_area area, const char *name, enum lap_status status)
{
    if (status >= 0 || status == LAP_ERROR_MEMORY)
        return status;
    (void)replay_place(e->r, status);
    replay_report_add(e->r->report, area, REPLAY_REFUSED, name, "%s", lap_error_message());
    return replay_report_refusal(e->r, status);
}

static void report_skipped(struct examine *e, uint64_t count)
{
    if (count)
        replay_report_add(e->r->report, REPLAY_AREA_STRUCTURE, REPLAY_DROPPED, "unknown",
                          "frame %" PRIu64 ", packet %" PRIu64 ": this build does not know %" PRIu64
                          " of its structures",
                          e->r->packet.frame + 1, e->r->packet.ticket, count);
}

/* The device whose call this is; where that is not known (work and queues were not made), one that may be. */
static struct replay_device *device_of(struct examine *e, const void *args)
{
    const struct replay_object *object;

    if (gen_replay_table[e->r->command].owner_type != GEN_HANDLE_VkDevice)
        return e->r->devices;
    object = replay_object_get(e->r, GEN_HANDLE_VkDevice, gen_u64_VkDevice(*(const VkDevice *)args));
    return object ? object->owner : NULL;
}

/* ---- what decoders ask for ---- */

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

/* ---- what a call needs ---- */

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
    const struct gen_replay_entry *entry = &gen_replay_table[r->command];
    bool has = !entry->function;

    if (gen_replay_refusals[r->command])
        return refuse(e, REPLAY_AREA_COMMAND, gen_command_names[r->command], replay_refuse_command(r));
    if (entry->flags & GEN_REPLAY_INSTANCE)
        for (struct replay_instance *instance = r->instances; instance && !has; instance = instance->next)
            has = table_has(&instance->vk, entry->function);
    else
        for (struct replay_device *dev = r->devices; dev && !has; dev = dev->next)
            has = table_has(&dev->vk, entry->function);
    return has ? LAP_OK : refuse(e, REPLAY_AREA_COMMAND, gen_command_names[r->command], replay_missing(r, r->command));
}

/* One is made, without memory, since only that tells what the driver does: some make more than they promise. */
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
    info = *args->pCreateInfo;
    info.sharingMode = VK_SHARING_MODE_EXCLUSIVE; /* recorded families are not mapped here */
    name = replay_enum_name("VkFormat", info.format);
    name = name ? name : "unknown";
    status = replay_image_result(r, args, replay_image_create(dev, &info, &image));
    if (status != LAP_OK)
        return refuse(e, REPLAY_AREA_FORMAT, name, status);
    dev->vk.DestroyImage(dev->live, image, NULL);
    /* What is done with it later is done in the format that it has here. */
    ((VkImageCreateInfo *)(uintptr_t)args->pCreateInfo)->format = info.format;
    if (replay_image_supported(r, dev, &info) != LAP_OK)
        replay_report_add(r->report, REPLAY_AREA_FORMAT, REPLAY_IGNORED, name, "%s", lap_error_message());
    return LAP_OK;
}

static enum lap_status look_at_swapchain(struct examine *e, struct replay_device *dev,
                                         const struct gen_args_vkCreateSwapchainKHR *args)
{
    const char *name;
    enum lap_status status;
    uint32_t mode;

    if (!args->pCreateInfo || !args->pSwapchain || !*args->pSwapchain)
        return LAP_OK;
    name = replay_enum_name("VkFormat", args->pCreateInfo->imageFormat);
    status = refuse(e, REPLAY_AREA_FORMAT, name ? name : "unknown",
                    replay_swapchain_supported(e->r, dev, args->pCreateInfo));
    mode = 1u << (args->pCreateInfo->presentMode & 31);
    if (status != LAP_OK || e->present_modes & mode)
        return status;
    e->present_modes |= mode;
    return refuse(e, REPLAY_AREA_PRESENTATION, "window", replay_window_examine(e->r, dev, args->pCreateInfo));
}

static enum lap_status look_at_call(struct examine *e, void *args)
{
    struct replay_device *dev = device_of(e, args);
    enum lap_status status = look_at_chains(e);

    if (status == LAP_OK)
        status = look_at_function(e);
    if (status != LAP_OK || !dev)
        return status;
    if (e->r->command == GEN_vkCreateImage)
        status = look_at_image(e, dev, args);
    else if (e->r->command == GEN_vkCreateSwapchainKHR)
        status = look_at_swapchain(e, dev, args);
    else if (e->r->command == GEN_vkGetBufferDeviceAddress)
        replay_report_add(e->r->report, REPLAY_AREA_COMMAND, REPLAY_MAPPED, gen_command_names[e->r->command],
                          e->keeps_addresses
                              ? "buffers are asked to have the addresses that they had; where the driver refuses, "
                                "recorded ones in memory and in commands are translated"
                              : "buffers have other addresses here: recorded ones in memory and in commands are "
                                "translated");
    else if (e->r->command == GEN_lapilliCaptureDevice)
        e->keeps_addresses = dev->kept.possible && replay_is_recorded_driver(dev, args);
    if (status == LAP_OK)
        status = replay_address_look_call(e->addresses, e->r, args, !e->keeps_addresses);
    if (status != LAP_OK)
        return status;
    return replay_limits_look(e->limits, dev->instance, e->r->report,
                              &(struct replay_limits_place){e->r->command, e->r->packet.frame, e->r->packet.ticket},
                              args);
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
    replay_address_look_block(e->addresses);
    lap_block_init(&block, data, bytes, 0, r->dictionary, &r->arena, &e->source);
    do {
        lap_arena_reset(&r->arena);
        r->block_command = NULL;
        status = lap_block_next(&block, &r->command, &args);
        if (status == LAP_ERROR_UNSUPPORTED) {
            report_skipped(e, block.dec.unknown_structs);
            return refuse(e, REPLAY_AREA_COMMAND, "unknown", status);
        }
        if (status == LAP_OK) {
            r->block_command = gen_command_names[r->command];
            status = look_at_call(e, args.bytes);
        }
    } while (status == LAP_OK);
    r->block_command = NULL;
    report_skipped(e, block.dec.unknown_structs);
    return status == LAP_END ? LAP_OK : status;
}

/* ---- packets ---- */

/* Instances and devices are made as a replay does it. Without one there is nothing to compare with: LAP_END. */
static enum lap_status play_owner(struct examine *e)
{
    const char *name = gen_command_names[e->r->command];
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

    r->block_command = NULL;
    r->command = lap_dictionary_command(r->dictionary, r->packet.command);
    entry = &gen_replay_table[r->command];
    switch (r->command) {
    case GEN_vkCreateInstance:
    case GEN_vkDestroyInstance:
    case GEN_vkCreateDevice:
    case GEN_vkDestroyDevice:
        return play_owner(e);
    default:
        break;
    }
    if (r->packet.flags & (LAP_PACKET_FAILED | LAP_PACKET_INFO) ||
        (r->command && !entry->call && gen_command_flags[r->command] & LAP_PACKET_INFO))
        return replay_packet(r); /* it only takes notice */
    if (!entry->call || !gen_decode_table[r->command] || lap_block_has(r->command)) {
        enum lap_status status = replay_unknown_command(r);
        return status == LAP_ERROR_FORMAT
                   ? status
                   : refuse(e, REPLAY_AREA_COMMAND, lap_reader_command_name(r->reader, r->packet.command), status);
    }
    lap_arena_reset(&r->arena);
    e->source.formats = r->source.formats;
    lap_dec_init(&dec, r->packet.body, r->packet.bytes, &r->arena, &e->source);
    gen_decode_table[r->command](&dec, args.bytes);
    report_skipped(e, dec.unknown_structs);
    if (dec.status == LAP_OK && dec.p != dec.end)
        lap_dec_fail(&dec, "more bytes than the command has members for");
    if (dec.status != LAP_OK)
        return replay_place(r, dec.status);
    if (r->command == GEN_lapilliBlock)
        return look_at_block(e, ((struct gen_args_lapilliBlock *)(void *)args.bytes)->block);
    return look_at_call(e, args.bytes);
}

enum lap_status replay_examine(struct replay *r)
{
    struct examine e = {.r = r, .source = {.blob = examine_blob, .struct_id = examine_struct}};
    enum lap_status status = LAP_OK;

    e.source.user = &e;
    e.block_count = lap_reader_summary(r->reader)->blobs + 1;
    e.blocks = calloc(e.block_count, sizeof *e.blocks);
    e.limits = replay_limits_create();
    e.addresses = replay_address_look_create();
    if (!e.blocks || !e.limits || !e.addresses)
        status = lap_fail(LAP_ERROR_MEMORY, "out of memory for the report");
    while (status == LAP_OK && (status = lap_reader_next(r->reader, &r->packet)) == LAP_OK) {
        if (r->options.last_frame && r->packet.frame >= r->options.last_frame)
            status = LAP_END;
        else
            status = examine_packet(&e);
    }
    r->packet = (struct lap_packet){0};
    r->block_command = NULL;
    replay_limits_destroy(e.limits);
    replay_address_look_destroy(e.addresses);
    free(e.blocks);
    return status == LAP_END ? LAP_OK : status;
}
