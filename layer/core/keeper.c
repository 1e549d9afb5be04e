/* SPDX-License-Identifier: MIT */
#include "layer/core/keeper.h"

#include <pthread.h>
#include <stdalign.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/array.h"
#include "base/map.h"
#include "base/object.h"
#include "gen_decode.h"
#include "gen_encode.h"
#include "gen_reflect.h"
#include "gen_renamed.h"
#include "layer/core/thread.h"
#include "trace/format/format.h"
#include "trace/format/hash.h"
#include "vulkan/walk.h"

#define MOST_INFOS  4096u             /* different ones */
#define ARENA_BYTES ((size_t)1 << 30) /* as for readers */

/* ---- records ---- */

struct kept_object;

/* A packet, in one allocation: the struct, then the objects that it names and makes, then its body. */
struct kept_packet {
    struct kept_packet *next; /* of the object's own packets */
    uint64_t number;          /* in the order of recording */
    union {
        uint64_t command_count; /* of a block */
        uint32_t holders;       /* of one that makes objects: those that are needed */
    };
    uint16_t command, flags;
    uint32_t use_count, made_count, bytes;
    struct kept_object *objects[]; /* use_count that it names, then made_count that it makes */
};

struct kept_object {
    struct lap_object head;      /* the index is its handle, too */
    struct kept_packet *creator; /* shared by all that it makes */
    struct kept_packet *own;     /* its other packets; newest first */
    struct kept_object *children, *next_child, **previous_child;
    struct kept_object *next_dropped;
    uint32_t users; /* packets that name it */
    bool alive;
};

_Static_assert(GEN_COMMAND_COUNT <= UINT16_MAX, "commands of packets are kept in 16 bits");

static struct {
    pthread_mutex_t mutex;
    struct lap_map maps[GEN_HANDLE_COUNT]; /* struct kept_object by index */
    struct lap_map *pointers[GEN_HANDLE_COUNT];
    struct lap_map equals;           /* struct kept_packet of KIND_DISTINCT, by hash of command and body */
    struct lap_object_tables tables; /* in which indices are handles */
    uint8_t kinds[GEN_COMMAND_COUNT];
    struct lap_enc enc, again;
    struct lap_arena arena;
    uint64_t last_number;
    size_t bytes, packets;
    const char *fault;
    enum gen_command command; /* of the packet that is being encoded */
    uint32_t flags;
    struct kept_object **named; /* by it, each once */
    size_t named_count, named_capacity;
    bool names_unknown;          /* it names others, too */
    struct kept_object *dropped; /* no longer needed, not handled yet */
    char **infos;
    size_t info_count, info_capacity;
} keeper;

enum kind { KIND_NOT, KIND_CREATES, KIND_DESTROYS, KIND_RESETS, KIND_ADDED, KIND_DISTINCT, KIND_REPLACED };

static bool is_made(const struct gen_member *member)
{
    return member->element == GEN_ELEMENT_HANDLE && member->flags & GEN_MEMBER_CREATED &&
           (member->shape == GEN_SHAPE_VALUE || member->shape == GEN_SHAPE_POINTER);
}

static bool is_destroyed(const struct gen_member *member)
{
    return member->element == GEN_ELEMENT_HANDLE && member->flags & GEN_MEMBER_DESTROYED &&
           (member->shape == GEN_SHAPE_VALUE || member->shape == GEN_SHAPE_POINTER);
}

static enum kind kind_of(uint32_t command)
{
    const struct gen_command_info *info = &gen_command_infos[command];
    enum kind kind = gen_command_kept[command] == GEN_KEPT_ADDED      ? KIND_ADDED
                     : gen_command_kept[command] == GEN_KEPT_REPLACED ? KIND_REPLACED
                                                                      : KIND_NOT;
    if (!gen_decode_table[command] || command == GEN_lapilliBlock)
        return KIND_NOT;
    if (command == GEN_vkResetDescriptorPool)
        return KIND_RESETS;
    if (command == GEN_vkGetDescriptorEXT) /* programs query the same ones repeatedly */
        return KIND_DISTINCT;
    for (uint32_t i = 0; i < info->member_count && kind == KIND_NOT; i++)
        kind = is_destroyed(&info->members[i]) ? KIND_DESTROYS : is_made(&info->members[i]) ? KIND_CREATES : kind;
    return kind;
}

void layer_keeper_init(void)
{
    layer_mutex_init(&keeper.mutex);
    for (uint32_t type = 0; type < GEN_HANDLE_COUNT; type++) {
        lap_map_init(&keeper.maps[type]);
        keeper.pointers[type] = &keeper.maps[type];
    }
    lap_map_init(&keeper.equals);
    keeper.tables.maps = keeper.pointers;
    for (uint32_t i = 1; i < GEN_COMMAND_COUNT; i++)
        keeper.kinds[i] = (uint8_t)kind_of(i);
    lap_enc_init(&keeper.enc, NULL);
    lap_enc_init(&keeper.again, &keeper.tables);
    lap_arena_init(&keeper.arena, ARENA_BYTES);
}

bool layer_keeper_wants(enum gen_command command, uint32_t flags)
{
    return keeper.kinds[command] != KIND_NOT && !(flags & LAP_PACKET_FAILED);
}

const char *layer_keeper_fault(void)
{
    return keeper.fault;
}

static void fail(const char *why)
{
    keeper.fault = keeper.fault ? keeper.fault : why;
}

void layer_keeper_lost(const char *why)
{
    fail(why);
}

static struct kept_object *find(uint32_t type, uint64_t index)
{
    return type < GEN_HANDLE_COUNT ? lap_map_get(&keeper.maps[type], index) : NULL;
}

static void *body_of(struct kept_packet *packet)
{
    return &packet->objects[packet->use_count + packet->made_count];
}

/* ---- packets and objects that are no longer needed ---- */

/* Once, when an object is neither alive nor named by a packet. */
static void drop(struct kept_object *object)
{
    object->next_dropped = keeper.dropped;
    keeper.dropped = object;
}

static void release_uses(struct kept_packet *packet)
{
    for (uint32_t i = 0; i < packet->use_count; i++) {
        struct kept_object *used = packet->objects[i];
        if (--used->users == 0 && !used->alive)
            drop(used);
    }
}

/* Of packets of which one of equal ones is kept; the map's largest keys are reserved. */
static uint64_t key_of(uint32_t command, const void *body, size_t bytes)
{
    return lap_hash64_seeded(body, bytes, command) >> 1;
}

static void free_packet(struct kept_packet *packet)
{
    if (keeper.kinds[packet->command] == KIND_DISTINCT) {
        const uint64_t key = key_of(packet->command, body_of(packet), packet->bytes);
        if (lap_map_get(&keeper.equals, key) == packet)
            lap_map_remove(&keeper.equals, key);
    }
    release_uses(packet);
    keeper.packets--;
    keeper.bytes -= packet->bytes;
    free(packet);
}

static void unlink_child(struct kept_object *object)
{
    if (!object->previous_child)
        return;
    *object->previous_child = object->next_child;
    if (object->next_child)
        object->next_child->previous_child = object->previous_child;
    object->previous_child = NULL;
}

static void free_object(struct kept_object *object)
{
    for (struct kept_packet *packet = object->own, *next; packet; packet = next) {
        next = packet->next;
        free_packet(packet);
    }
    while (object->children) /* which were dropped before */
        unlink_child(object->children);
    unlink_child(object);
    lap_map_remove(&keeper.maps[object->head.type], object->head.index);
    free(object);
}

/* A packet that creates several objects is kept until none of them is needed. */
static void free_dropped(void)
{
    while (keeper.dropped) {
        struct kept_object *object = keeper.dropped;
        struct kept_packet *creator = object->creator;
        keeper.dropped = object->next_dropped;
        if (--creator->holders)
            continue;
        for (uint32_t i = 0; i < creator->made_count; i++)
            free_object(creator->objects[creator->use_count + i]);
        free_packet(creator);
    }
}

static void end_children(struct kept_object *object);

static void end_object(struct kept_object *object)
{
    if (!object->alive)
        return;
    object->alive = false;
    end_children(object);
    if (!object->users)
        drop(object);
}

/* No deeper than instance, physical device, device, pool, set. */
static void end_children(struct kept_object *object)
{
    for (struct kept_object *child = object->children; child; child = child->next_child)
        end_object(child);
}

/* ---- decoding ---- */

static enum lap_status note_handle(void *user, uint32_t type, uint64_t index, uint64_t *out)
{
    struct kept_object *object = find(type, index);

    *out = index;
    keeper.names_unknown |= !object;
    if (!object)
        return LAP_OK;
    for (size_t i = 0; i < keeper.named_count; i++)
        if (keeper.named[i] == object)
            return LAP_OK;
    if (!lap_array_grow(&keeper.named, sizeof(*keeper.named), &keeper.named_capacity, keeper.named_count + 1))
        return lap_fail(LAP_ERROR_MEMORY, "out of memory");
    keeper.named[keeper.named_count++] = object;
    return LAP_OK;
}

static uint32_t same_struct(void *user, uint64_t number)
{
    return number < GEN_STRUCT_COUNT ? (uint32_t)number : 0;
}

static const struct lap_dec_source source = {.handle = note_handle, .struct_id = same_struct, .lenient = true};

struct room {
    alignas(16) unsigned char bytes[GEN_ARGS_MAX_BYTES];
};

static bool decode(uint32_t command, const void *body, size_t bytes, struct room *args)
{
    struct lap_dec dec;

    keeper.named_count = 0;
    lap_arena_reset(&keeper.arena);
    lap_dec_init(&dec, body, bytes, &keeper.arena, &source);
    gen_decode_table[command](&dec, args->bytes);
    return dec.status == LAP_OK && dec.p == dec.end;
}

/* The same for a new packet: if it fails, the keeper does not know all objects. */
static bool decode_new(uint32_t command, const void *body, size_t bytes, struct room *args)
{
    const bool decoded = decode(command, body, bytes, args);
    if (!decoded)
        fail("a packet can't be kept");
    return decoded;
}

static uint64_t load(const struct gen_member *member, const void *at)
{
    uint64_t value = 0;
    memcpy(&value, at, member->element_bytes < sizeof value ? member->element_bytes : sizeof value);
    return value;
}

/* Calls for each handle of the members that `is` says. */
static void each_handle(uint32_t command, const struct room *args, bool (*is)(const struct gen_member *member),
                        void (*visit)(void *user, uint32_t type, uint64_t index), void *user)
{
    const struct gen_command_info *info = &gen_command_infos[command];

    for (uint32_t i = 0; i < info->member_count; i++) {
        const struct gen_member *member = &info->members[i];
        const unsigned char *at = args->bytes + member->offset;
        uint64_t count = 1;
        if (!is(member))
            continue;
        if (member->shape == GEN_SHAPE_POINTER) {
            memcpy(&at, at, sizeof at);
            count = at ? lap_walk_count(info->members, member, args->bytes) : 0;
        }
        for (uint64_t j = 0; j < count; j++)
            visit(user, member->type, load(member, at + j * member->element_bytes));
    }
}

/* ---- keeping ---- */

static struct kept_packet *new_packet(uint32_t command, uint32_t flags, struct kept_object *const *uses,
                                      size_t use_count, size_t made_count, const void *body, size_t bytes)
{
    struct kept_packet *packet = malloc(sizeof *packet + (use_count + made_count) * sizeof *packet->objects + bytes);

    if (!packet || bytes > UINT32_MAX) {
        fail(packet ? "a packet is too large to be kept" : "out of memory");
        free(packet);
        return NULL;
    }
    *packet = (struct kept_packet){.number = ++keeper.last_number,
                                   .command = (uint16_t)command,
                                   .flags = (uint16_t)flags,
                                   .use_count = (uint32_t)use_count,
                                   .made_count = (uint32_t)made_count,
                                   .bytes = (uint32_t)bytes};
    for (size_t i = 0; i < use_count; i++) {
        packet->objects[i] = uses[i];
        uses[i]->users++;
    }
    memcpy(body_of(packet), body, bytes);
    keeper.packets++;
    keeper.bytes += bytes;
    return packet;
}

/* The parent of the new objects of a command: its pool or swapchain argument, or its first handle. */
static struct kept_object *parent_of(uint32_t command, const struct room *args)
{
    switch (command) {
    case GEN_vkAllocateCommandBuffers:
        return find(GEN_HANDLE_VkCommandPool,
                    gen_u64_VkCommandPool(
                        ((const struct gen_args_vkAllocateCommandBuffers *)args)->pAllocateInfo->commandPool));
    case GEN_vkAllocateDescriptorSets:
        return find(GEN_HANDLE_VkDescriptorPool,
                    gen_u64_VkDescriptorPool(
                        ((const struct gen_args_vkAllocateDescriptorSets *)args)->pAllocateInfo->descriptorPool));
    case GEN_vkGetSwapchainImagesKHR:
        return find(GEN_HANDLE_VkSwapchainKHR,
                    gen_u64_VkSwapchainKHR(((const struct gen_args_vkGetSwapchainImagesKHR *)args)->swapchain));
    default:
        break;
    }
    if (gen_command_dispatch[command] == GEN_HANDLE_NONE)
        return NULL;
    return find(gen_command_dispatch[command], load(gen_command_infos[command].members, args->bytes));
}

struct made {
    struct kept_object **objects;
    size_t count, capacity;
};

static void add_made(void *user, uint32_t type, uint64_t index)
{
    struct made *made = user;
    struct kept_object *object;

    if (!index || find(type, index)) /* a queue or image that was queried again */
        return;
    object = calloc(1, sizeof *object);
    if (object)
        object->head = (struct lap_object){.index = index, .handle = index, .type = type};
    if (!object || !lap_array_grow(&made->objects, sizeof(*made->objects), &made->capacity, made->count + 1) ||
        lap_map_put(&keeper.maps[type], index, object, NULL) != LAP_OK) {
        free(object);
        fail("out of memory");
        return;
    }
    object->alive = true;
    made->objects[made->count++] = object;
}

static void set_parent(struct kept_object *object, struct kept_object *parent)
{
    if (!parent || parent == object)
        return;
    object->next_child = parent->children;
    object->previous_child = &parent->children;
    if (parent->children)
        parent->children->previous_child = &object->next_child;
    parent->children = object;
}

static void keep_creation(const struct room *args)
{
    struct made made = {0};
    struct kept_object *parent = parent_of(keeper.command, args);
    struct kept_packet *packet;
    size_t uses = keeper.named_count;

    each_handle(keeper.command, args, is_made, add_made, &made);
    /* Memory of a dedicated allocation and its bound object name each other: neither would ever be dropped. */
    if (keeper.command == GEN_vkAllocateMemory)
        uses = keeper.named_count && keeper.named[0]->head.type == GEN_HANDLE_VkDevice ? 1 : 0;
    packet = made.count ? new_packet(keeper.command, keeper.flags, keeper.named, uses, made.count, keeper.enc.base,
                                     (size_t)(keeper.enc.p - keeper.enc.base))
                        : NULL;
    for (size_t i = 0; i < made.count; i++) {
        if (packet) {
            packet->objects[uses + i] = made.objects[i];
            made.objects[i]->creator = packet;
            set_parent(made.objects[i], parent);
        } else {
            lap_map_remove(&keeper.maps[made.objects[i]->head.type], made.objects[i]->head.index);
            free(made.objects[i]);
        }
    }
    if (packet)
        packet->holders = (uint32_t)made.count;
    free(made.objects);
}

/* A swapchain need not be created from a destroyed one; else all former swapchains of a window would be kept. */
static void forget_old_swapchain(void *user, uint64_t index, void *value)
{
    struct kept_object *object = value, *old = user;
    struct kept_packet *packet = object->creator, *again;
    struct gen_args_vkCreateSwapchainKHR *args;
    struct kept_object *uses[2];
    size_t use_count = 0;
    struct room room;

    if (packet->command != GEN_vkCreateSwapchainKHR || object == old)
        return;
    for (uint32_t i = 0; i < packet->use_count; i++) {
        if (packet->objects[i] == old)
            break;
        if (i + 1 == packet->use_count)
            return;
    }
    if (!decode_new(packet->command, body_of(packet), packet->bytes, &room))
        return;
    args = (struct gen_args_vkCreateSwapchainKHR *)&room;
    ((VkSwapchainCreateInfoKHR *)(uintptr_t)args->pCreateInfo)->oldSwapchain = VK_NULL_HANDLE; /* in the arena */
    lap_enc_reset(&keeper.again);
    gen_encode_vkCreateSwapchainKHR(&keeper.again, args->device, args->pCreateInfo, NULL, args->pSwapchain,
                                    args->result);
    for (uint32_t i = 0; i < packet->use_count; i++)
        if (packet->objects[i] != old && use_count < 2)
            uses[use_count++] = packet->objects[i]; /* device and surface */
    again = keeper.again.failed ? NULL
                                : new_packet(packet->command, packet->flags, uses, use_count, 1, keeper.again.base,
                                             (size_t)(keeper.again.p - keeper.again.base));
    if (!again)
        return;
    again->number = packet->number;
    again->holders = packet->holders;
    again->objects[use_count] = object;
    object->creator = again;
    free_packet(packet);
}

static void destroy_one(void *user, uint32_t type, uint64_t index)
{
    struct kept_object *object = find(type, index);
    struct kept_packet *packet;

    if (!object || !object->alive)
        return;
    if (type == GEN_HANDLE_VkSwapchainKHR && object->users) {
        /* The packet that is being kept was decoded; its body is in keeper.enc. */
        for (struct kept_object *child = object->children; child; child = child->next_child)
            end_object(child);
        lap_map_each(&keeper.maps[type], forget_old_swapchain, object);
    }
    end_object(object);
    if (!object->users && object->creator->holders == 1)
        return;
    packet =
        new_packet(keeper.command, keeper.flags, NULL, 0, 0, keeper.enc.base, (size_t)(keeper.enc.p - keeper.enc.base));
    if (packet) {
        packet->next = object->own;
        object->own = packet;
    }
}

static bool is_device_level(uint32_t type)
{
    return type == GEN_HANDLE_VkInstance || type == GEN_HANDLE_VkPhysicalDevice || type == GEN_HANDLE_VkDevice;
}

static bool is_same(const struct kept_packet *packet, uint32_t command, struct kept_object *const *uses, size_t count)
{
    return packet->command == command && packet->use_count == count &&
           (!count || memcmp(packet->objects, uses, count * sizeof(struct kept_object *)) == 0);
}

/* A packet with the same body is kept already: it names the same objects, since indices are unique, and becomes the
 * newest. */
static bool renumber_equal(const void *body, size_t bytes)
{
    struct kept_packet *packet;

    if (keeper.kinds[keeper.command] != KIND_DISTINCT)
        return false;
    packet = lap_map_get(&keeper.equals, key_of(keeper.command, body, bytes));
    if (!packet || packet->command != keeper.command || packet->bytes != bytes ||
        memcmp(body_of(packet), body, bytes) != 0)
        return false;
    packet->number = ++keeper.last_number;
    return true;
}

static void remove_same(struct kept_object *subject, uint32_t command, struct kept_object *const *uses, size_t count)
{
    for (struct kept_packet **at = &subject->own; *at; at = &(*at)->next)
        if (is_same(*at, command, uses, count)) {
            struct kept_packet *packet = *at;
            *at = packet->next;
            free_packet(packet);
            return;
        }
}

static void keep_state(enum kind kind)
{
    struct kept_object *subject = keeper.named_count ? keeper.named[0] : NULL;
    struct kept_packet *packet;
    size_t uses = 0;

    for (size_t i = 0; i < keeper.named_count; i++)
        if (!is_device_level(keeper.named[i]->head.type)) {
            subject = keeper.named[i];
            /* A descriptor is kept for its view only: samplers outlive many views, whose packets would all be kept. */
            if (kind != KIND_DISTINCT || subject->head.type != GEN_HANDLE_VkSampler)
                break;
        }
    if (!subject)
        return;
    for (size_t i = 0; i < keeper.named_count; i++) /* it does not keep its own object */
        if (keeper.named[i] != subject)
            keeper.named[uses++] = keeper.named[i];
    packet = new_packet(keeper.command, keeper.flags, keeper.named, uses, 0, keeper.enc.base,
                        (size_t)(keeper.enc.p - keeper.enc.base));
    if (kind == KIND_REPLACED)
        remove_same(subject, keeper.command, keeper.named, uses);
    else if (kind == KIND_DISTINCT && packet &&
             lap_map_put(&keeper.equals, key_of(packet->command, body_of(packet), packet->bytes), packet, NULL) !=
                 LAP_OK)
        fail("out of memory");
    if (packet) {
        packet->next = subject->own;
        subject->own = packet;
    }
}

/* ---- packets ---- */

struct lap_enc *layer_keeper_begin(const struct lap_object_tables *tables, enum gen_command command, uint32_t flags)
{
    pthread_mutex_lock(&keeper.mutex);
    keeper.command = command;
    keeper.flags = flags;
    lap_enc_reset(&keeper.enc);
    keeper.enc.objects = tables;
    return &keeper.enc;
}

void layer_keeper_end(void (*show)(enum gen_command command, uint32_t flags, const void *body, size_t bytes))
{
    const size_t bytes = (size_t)(keeper.enc.p - keeper.enc.base);
    struct room args;

    if (keeper.enc.failed) {
        fail("out of memory");
    } else {
        show(keeper.command, keeper.flags, keeper.enc.base, bytes);
        if (!renumber_equal(keeper.enc.base, bytes) && decode_new(keeper.command, keeper.enc.base, bytes, &args))
            switch ((enum kind)keeper.kinds[keeper.command]) {
            case KIND_CREATES:
                keep_creation(&args);
                break;
            case KIND_DESTROYS:
                each_handle(keeper.command, &args, is_destroyed, destroy_one, NULL);
                break;
            case KIND_RESETS: {
                struct kept_object *pool = find(
                    GEN_HANDLE_VkDescriptorPool,
                    gen_u64_VkDescriptorPool(((const struct gen_args_vkResetDescriptorPool *)&args)->descriptorPool));
                if (pool)
                    end_children(pool);
                break;
            }
            case KIND_ADDED:
            case KIND_DISTINCT:
            case KIND_REPLACED:
                keep_state((enum kind)keeper.kinds[keeper.command]);
                break;
            case KIND_NOT:
                break;
            }
    }
    free_dropped();
    pthread_mutex_unlock(&keeper.mutex);
}

void layer_keeper_block(uint64_t command_buffer, const void *block, size_t bytes, uint64_t command_count)
{
    struct kept_object *object;
    struct kept_packet *packet;

    pthread_mutex_lock(&keeper.mutex);
    object = find(GEN_HANDLE_VkCommandBuffer, command_buffer);
    if (object) {
        remove_same(object, GEN_lapilliBlock, NULL, 0);
        packet = new_packet(GEN_lapilliBlock, 0, NULL, 0, 0, block, bytes);
        if (packet) {
            packet->command_count = command_count;
            packet->next = object->own;
            object->own = packet;
        }
    }
    pthread_mutex_unlock(&keeper.mutex);
}

void layer_keeper_block_reset(uint64_t command_buffer)
{
    struct kept_object *object;

    pthread_mutex_lock(&keeper.mutex);
    object = find(GEN_HANDLE_VkCommandBuffer, command_buffer);
    if (object)
        remove_same(object, GEN_lapilliBlock, NULL, 0);
    pthread_mutex_unlock(&keeper.mutex);
}

void layer_keeper_info(const char *json)
{
    pthread_mutex_lock(&keeper.mutex);
    for (size_t i = 0; i < keeper.info_count; i++)
        if (strcmp(keeper.infos[i], json) == 0)
            goto out;
    if (keeper.info_count < MOST_INFOS &&
        lap_array_grow(&keeper.infos, sizeof(*keeper.infos), &keeper.info_capacity, keeper.info_count + 1) &&
        (keeper.infos[keeper.info_count] = strdup(json)))
        keeper.info_count++;
out:
    pthread_mutex_unlock(&keeper.mutex);
}

bool layer_keeper_lives(enum gen_handle_type type, uint64_t index)
{
    const struct kept_object *object = find(type, index);
    return object && object->alive;
}

bool layer_keeper_is_bound(enum gen_handle_type type, uint64_t index)
{
    const struct kept_object *object;
    bool bound = false;

    pthread_mutex_lock(&keeper.mutex);
    object = find(type, index);
    for (const struct kept_packet *packet = object ? object->own : NULL; packet; packet = packet->next) {
        if (packet->command != GEN_lapilliBindBuffer && packet->command != GEN_lapilliBindImage)
            continue;
        bound = true;
        for (uint32_t i = 0; i < packet->use_count && bound; i++)
            bound = packet->objects[i]->alive;
        if (!bound)
            break;
    }
    pthread_mutex_unlock(&keeper.mutex);
    return bound;
}

/* ---- writing ---- */

struct writing {
    struct {
        struct kept_packet *packet;
        struct kept_object *object;
    } * items;
    size_t count, capacity;
    bool failed;
};

static void add_item(struct writing *writing, struct kept_packet *packet, struct kept_object *object)
{
    if (!lap_array_grow(&writing->items, sizeof(*writing->items), &writing->capacity, writing->count + 1)) {
        writing->failed = true;
        return;
    }
    writing->items[writing->count].packet = packet;
    writing->items[writing->count++].object = object;
}

static void add_object(void *user, uint64_t index, void *value)
{
    struct kept_object *object = value;

    if (object->creator->objects[object->creator->use_count] == object) /* once */
        add_item(user, object->creator, object);
    for (struct kept_packet *packet = object->own; packet; packet = packet->next)
        add_item(user, packet, object);
}

static int by_number(const void *a, const void *b)
{
    const struct kept_packet *x = *(struct kept_packet *const *)a, *y = *(struct kept_packet *const *)b;
    return x->number < y->number ? -1 : x->number > y->number;
}

/* *out_failed: out of memory. */
static bool is_valid_block(const struct kept_packet *packet, const void *body, bool *out_failed)
{
    struct lap_dec dec;
    struct room args;
    bool valid = true;

    lap_dec_init(&dec, body, packet->bytes, &keeper.arena, &source);
    while (dec.p < dec.end && valid) {
        uint64_t command = lap_get_u64(&dec);
        keeper.named_count = 0;
        keeper.names_unknown = false;
        lap_arena_reset(&keeper.arena);
        if (command >= GEN_COMMAND_COUNT || !gen_decode_table[command])
            return false;
        gen_decode_table[command](&dec, args.bytes);
        valid = dec.status == LAP_OK && !keeper.names_unknown;
        for (size_t i = 0; i < keeper.named_count; i++)
            valid = valid && (keeper.named[i]->alive || keeper.named[i]->head.type == GEN_HANDLE_VkPipelineLayout);
    }
    *out_failed = dec.status == LAP_ERROR_MEMORY;
    return valid;
}

/* Of several that are freed at once, only this one still exists. */
static bool free_one(const struct layer_keeper_sink *sink, struct kept_packet *packet, const struct kept_object *object)
{
    struct room room;

    if (!decode(packet->command, body_of(packet), packet->bytes, &room))
        return false;
    lap_enc_reset(&keeper.again);
    if (packet->command == GEN_vkFreeDescriptorSets) {
        const struct gen_args_vkFreeDescriptorSets *args = (const void *)&room;
        const VkDescriptorSet set = gen_VkDescriptorSet(object->head.index);
        gen_encode_vkFreeDescriptorSets(&keeper.again, args->device, args->descriptorPool, 1, &set);
    } else {
        const struct gen_args_vkFreeCommandBuffers *args = (const void *)&room;
        const VkCommandBuffer commands = gen_VkCommandBuffer(object->head.index);
        gen_encode_vkFreeCommandBuffers(&keeper.again, args->device, args->commandPool, 1, &commands);
    }
    if (!keeper.again.failed)
        sink->packet(packet->command, packet->flags, keeper.again.base, (size_t)(keeper.again.p - keeper.again.base));
    return !keeper.again.failed;
}

static bool frees_one(const struct kept_packet *packet)
{
    return packet->command == GEN_vkFreeDescriptorSets || packet->command == GEN_vkFreeCommandBuffers;
}

static bool write_item(const struct layer_keeper_sink *sink, struct kept_packet *packet,
                       const struct kept_object *object)
{
    const void *body = body_of(packet);
    bool failed = false;

    if (frees_one(packet))
        return free_one(sink, packet, object);
    if (packet->command != GEN_lapilliBlock)
        sink->packet((enum gen_command)packet->command, packet->flags, body, packet->bytes);
    else if (is_valid_block(packet, body, &failed))
        sink->block(&keeper.tables, object->head.index, body, packet->bytes, packet->command_count);
    return !failed;
}

enum stage { MAKING, BLOCKS, ENDS };

static enum stage stage_of(const struct kept_packet *packet)
{
    return packet->command == GEN_lapilliBlock                                    ? BLOCKS
           : keeper.kinds[packet->command] == KIND_DESTROYS && !frees_one(packet) ? ENDS
                                                                                  : MAKING;
}

bool layer_keeper_write(const struct layer_keeper_sink *sink, bool second)
{
    struct writing writing = {0};

    pthread_mutex_lock(&keeper.mutex);
    for (size_t i = 0; i < keeper.info_count && !second; i++)
        sink->info(keeper.infos[i]);
    for (uint32_t type = 1; type < GEN_HANDLE_COUNT; type++)
        lap_map_each(&keeper.maps[type], add_object, &writing);
    if (writing.count)
        qsort(writing.items, writing.count, sizeof *writing.items, by_number);
    for (enum stage stage = second ? BLOCKS : MAKING; stage <= (second ? ENDS : MAKING); stage++)
        for (size_t i = 0; i < writing.count && !writing.failed; i++)
            if (stage_of(writing.items[i].packet) == stage &&
                !write_item(sink, writing.items[i].packet, writing.items[i].object))
                writing.failed = true;
    free(writing.items);
    pthread_mutex_unlock(&keeper.mutex);
    return !writing.failed;
}

struct layer_keeper_size layer_keeper_size(void)
{
    struct layer_keeper_size size = {0};

    pthread_mutex_lock(&keeper.mutex);
    size.packets = keeper.packets;
    size.bytes = keeper.bytes;
    for (uint32_t type = 1; type < GEN_HANDLE_COUNT; type++)
        size.objects += lap_map_count(&keeper.maps[type]);
    pthread_mutex_unlock(&keeper.mutex);
    return size;
}

void layer_keeper_forked(void)
{
    memset(&keeper, 0, sizeof keeper);
    layer_keeper_init();
}
