/* SPDX-License-Identifier: MIT */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gen_decode.h"
#include "gen_reflect.h"
#include "tests/fuzz/driver.h"
#include "tests/fuzz/forge.h"

#define MAX_DEPTH 64
#define TYPE_BITS 8u

static struct driver_object *objects;
static size_t object_count, object_capacity;
static const char *call; /* the command that is looked at */
static uint64_t call_owner;
static uint64_t digest;
static uint64_t recorded; /* the command buffer that a command is recorded into */
static bool is_question;  /* what it is given may be room for the answer, with anything in it */

void driver_problem(const char *format, ...)
{
    va_list arguments;
    char text[512];

    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    forge_say("driver: %s: %s", call ? call : "?", text);
    abort();
}

/* ---- objects: a handle is its place in the list and its type, which together are no wider than a pointer ---- */

_Static_assert(GEN_HANDLE_COUNT <= 1u << TYPE_BITS, "a handle has room for its type");

static uint64_t handle_of(size_t place)
{
    return (uint64_t)(place + 1) << TYPE_BITS | objects[place].type;
}

uint64_t driver_object_number(uint64_t handle)
{
    return handle >> TYPE_BITS;
}

uint64_t driver_object_new(uint32_t type, uint64_t device)
{
    if (object_count == object_capacity) {
        object_capacity = object_capacity ? 2 * object_capacity : 256;
        objects = realloc(objects, object_capacity * sizeof *objects);
        if (!objects)
            abort();
    }
    objects[object_count] = (struct driver_object){.type = type, .alive = 1, .device = device};
    if (handle_of(object_count) > UINT32_MAX)
        driver_problem("there are too many objects");
    return handle_of(object_count++);
}

struct driver_object *driver_object(uint32_t type, uint64_t handle)
{
    struct driver_object *object;
    uint64_t number = driver_object_number(handle);

    if (handle == 0)
        return NULL;
    if (number == 0 || number > object_count || handle != handle_of(number - 1))
        driver_problem("%#llx is no handle", (unsigned long long)handle);
    object = &objects[number - 1];
    if (object->type != type)
        driver_problem("a %s where a %s is wanted", gen_handle_names[object->type], gen_handle_names[type]);
    if (!object->alive)
        driver_problem("a %s that is gone", gen_handle_names[type]);
    return object;
}

/* As driver_object, of what may be gone. */
static struct driver_object *find(uint64_t handle)
{
    uint64_t number = driver_object_number(handle);
    return number && number <= object_count && objects[number - 1].alive ? &objects[number - 1] : NULL;
}

bool driver_is_under_way(const struct driver_object *object)
{
    const struct driver_object *queue = find(object->queue);
    return queue && object->type != GEN_HANDLE_VkQueue && object->work > queue->work;
}

void driver_idle(uint32_t type, uint64_t handle)
{
    const struct driver_object *object = driver_object(type, handle);

    if (object && driver_is_under_way(object))
        driver_problem("work that is under way has the %s", gen_handle_names[type]);
}

void driver_work(uint64_t handle, uint64_t queue, uint64_t work)
{
    struct driver_object *object = find(handle);

    if (!object || (object->queue == queue && object->work == work) || object->type == GEN_HANDLE_VkQueue)
        return;
    object->queue = queue;
    object->work = work;
    for (size_t i = 0; i < object->name_count; i++)
        driver_work(object->names[i], queue, work);
}

static void note_name(uint64_t handle)
{
    struct driver_object *object = find(recorded);

    if (!object || !handle || handle == recorded ||
        (object->name_count && object->names[object->name_count - 1] == handle))
        return;
    if (object->name_count == object->name_capacity) {
        object->name_capacity = object->name_capacity ? 2 * object->name_capacity : 16;
        object->names = realloc(object->names, object->name_capacity * sizeof *object->names);
        if (!object->names)
            abort();
    }
    object->names[object->name_count++] = handle;
}

static void release(struct driver_object *object)
{
    free(object->data);
    free(object->names);
    object->data = object->names = NULL;
    object->name_count = object->name_capacity = 0;
}

void driver_object_end(uint32_t type, uint64_t handle)
{
    struct driver_object *object = driver_object(type, handle);

    if (!object)
        return;
    driver_idle(type, handle);
    object->alive = 0;
    release(object);
    for (size_t i = 0; i < object_count; i++)
        if (objects[i].alive && objects[i].pool == handle)
            driver_object_end(objects[i].type, handle_of(i));
}

struct driver_object *driver_object_next(size_t *at, uint64_t *out_handle)
{
    while (*at < object_count) {
        size_t i = (*at)++;
        *out_handle = handle_of(i);
        if (objects[i].alive)
            return &objects[i];
    }
    return NULL;
}

void driver_reset(void)
{
    for (size_t i = 0; i < object_count; i++)
        release(&objects[i]);
    object_count = 0;
    call = NULL;
    digest = 0;
}

uint64_t driver_digest(void)
{
    return digest;
}

static void note(uint64_t value)
{
    if (is_question)
        return;
    digest = (digest ^ value) * UINT64_C(0x9e3779b97f4a7c15);
    digest ^= digest >> 29;
}

/* ---- what the layer shows to no program, and no replay may hand on ---- */

static bool lists(const uint16_t *numbers, uint32_t number)
{
    while (*numbers && *numbers != number)
        numbers++;
    return *numbers == number;
}

/* The hidden extension that a command or structure is of, if it is of no other and of no version; else NULL. */
static const char *hidden_owner(uint32_t number, bool is_struct)
{
    const char *provider = (is_struct ? gen_struct_providers : gen_command_providers)[number], *owner = NULL;

    if (!provider || strncmp(provider, "VK_VERSION_", 11) == 0)
        return NULL;
    for (uint32_t i = 0; i < GEN_EXTENSION_COUNT; i++) {
        if (!lists(is_struct ? gen_extensions[i].structs : gen_extensions[i].commands, number))
            continue;
        if (!gen_extensions[i].hidden)
            return NULL;
        owner = gen_extensions[i].name;
    }
    return owner;
}

static bool is_shown_command(uint32_t number)
{
    static bool known[GEN_COMMAND_COUNT];
    return known[number] || (known[number] = !hidden_owner(number, false));
}

static bool is_shown_struct(uint32_t number)
{
    static bool known[GEN_STRUCT_COUNT];
    return known[number] || (known[number] = !hidden_owner(number, true));
}

/* ---- what a driver would follow ---- */

static volatile uint64_t sink;

static uint64_t load(const void *at, uint32_t bytes)
{
    uint64_t value = 0;
    memcpy(&value, at, bytes < 8 ? bytes : 8); /* little-endian, as everything here */
    return value;
}

uint64_t driver_load_handle(const struct gen_member *member, const void *at)
{
    return load(at, member->element_bytes);
}

void driver_store_handle(const struct gen_member *member, void *at, uint64_t handle)
{
    memcpy(at, &handle, member->element_bytes);
}

static void *load_pointer(const void *at)
{
    void *pointer;
    memcpy(&pointer, at, sizeof pointer);
    return pointer;
}

static void touch(const void *data, uint64_t bytes)
{
    for (uint64_t i = 0; i < bytes; i++)
        sink += ((const uint8_t *)data)[i];
}

static uint64_t count_of(const struct gen_member *members, const struct gen_member *member, const void *owner)
{
    const struct gen_member *counter = members + member->count_member;
    const void *pointee;

    switch ((enum gen_count)member->count_kind) {
    case GEN_COUNT_CONSTANT:
        return member->count;
    case GEN_COUNT_MEMBER:
        return load((const char *)owner + counter->offset, counter->element_bytes);
    case GEN_COUNT_POINTEE:
        pointee = load_pointer((const char *)owner + counter->offset);
        return pointee ? load(pointee, counter->element_bytes) : 0;
    case GEN_COUNT_COMPUTE:
        return member->compute(owner, 0);
    }
    return 0;
}

static void check_struct(uint32_t number, const void *data, uint64_t selector, bool in_chain, int depth);

static void check_handle(const struct gen_member *member, uint64_t handle, bool needed)
{
    struct driver_object *object;

    note(handle);
    if (recorded && member->type != GEN_HANDLE_VkPipelineLayout)
        note_name(handle);
    if (handle == 0 && needed)
        driver_problem("%s is null", gen_member_name(member));
    object = driver_object(member->type, handle);
    if (!object || member->type == GEN_HANDLE_VkInstance || member->type == GEN_HANDLE_VkPhysicalDevice ||
        member->type == GEN_HANDLE_VkDevice)
        return;
    if (object->device != call_owner)
        driver_problem("%s belongs to another device", gen_member_name(member));
}

static void check_element(const struct gen_member *member, const void *at, uint64_t selector, bool needed, int depth)
{
    if (member->element == GEN_ELEMENT_STRUCT)
        check_struct(member->type, at, selector, false, depth);
    else if (member->element == GEN_ELEMENT_HANDLE)
        check_handle(member, driver_load_handle(member, at), needed);
    else if (member->element == GEN_ELEMENT_OPAQUE && !is_question && load(at, member->element_bytes))
        driver_problem("%s is an address", gen_member_name(member));
    else
        note(load(at, member->element_bytes));
}

static void check_elements(const struct gen_member *member, const void *first, uint64_t count, bool needed, int depth)
{
    touch(first, count * member->element_bytes);
    if (member->element != GEN_ELEMENT_STRUCT && member->element != GEN_ELEMENT_HANDLE)
        return;
    for (uint64_t i = 0; i < count; i++)
        check_element(member, (const char *)first + i * member->element_bytes, 0, needed, depth);
}

static void check_chain(const VkBaseInStructure *chain, int depth)
{
    for (; chain; chain = chain->pNext) {
        uint32_t number = gen_struct_of_type(chain->sType);
        if (number == GEN_STRUCT_NONE)
            driver_problem("a chain has a structure of no known type (%d)", (int)chain->sType);
        if (!is_question && !is_shown_struct(number))
            driver_problem("%s is of %s, which is hidden", gen_struct_names[number], hidden_owner(number, true));
        check_struct(number, chain, 0, true, depth);
    }
}

static void check_pointed(const struct gen_member *members, const struct gen_member *member, const void *owner,
                          int depth)
{
    const void *pointee = load_pointer((const char *)owner + member->offset);
    uint64_t count =
        member->shape == GEN_SHAPE_STRING || member->shape == GEN_SHAPE_PNEXT ? 1 : count_of(members, member, owner);

    if (!pointee) {
        if (count && member->flags & (GEN_MEMBER_NEEDED | GEN_MEMBER_CREATED))
            driver_problem("%s is null", gen_member_name(member));
        return;
    }
    switch ((enum gen_shape)member->shape) {
    case GEN_SHAPE_STRING:
        touch(pointee, strlen(pointee));
        break;
    case GEN_SHAPE_STRINGS:
        for (uint64_t i = 0; i < count; i++) {
            if (!((const char *const *)pointee)[i])
                driver_problem("%s has a null", gen_member_name(member));
            touch(((const char *const *)pointee)[i], strlen(((const char *const *)pointee)[i]));
        }
        break;
    case GEN_SHAPE_BYTES:
        touch(pointee, count);
        for (uint64_t i = 0; i < count; i++)
            note(((const uint8_t *)pointee)[i]);
        break;
    case GEN_SHAPE_PNEXT:
        check_chain(pointee, depth);
        break;
    case GEN_SHAPE_POINTERS:
        for (uint64_t i = 0; i < count; i++)
            if (((void *const *)pointee)[i])
                check_elements(member, ((void *const *)pointee)[i], member->compute(owner, i), false, depth);
            else if (member->compute(owner, i))
                driver_problem("%s has a null", gen_member_name(member));
        break;
    default:
        if (member->flags & GEN_MEMBER_CREATED)
            touch(pointee, count * member->element_bytes);
        else
            check_elements(member, pointee, count, member->flags & GEN_MEMBER_ELEMENTS, depth);
        break;
    }
}

static void check_member(const struct gen_member *members, const struct gen_member *member, const void *owner,
                         bool in_chain, int depth)
{
    const char *at = (const char *)owner + member->offset;
    uint64_t selector = 0;

    if (member->selector != GEN_MEMBER_NONE)
        selector =
            load((const char *)owner + members[member->selector].offset, members[member->selector].element_bytes);
    switch ((enum gen_shape)member->shape) {
    case GEN_SHAPE_SKIP:
    case GEN_SHAPE_STYPE:
    case GEN_SHAPE_BITS:
        break;
    case GEN_SHAPE_VALUE:
        check_element(member, at, selector, member->flags & GEN_MEMBER_NEEDED, depth);
        break;
    case GEN_SHAPE_ARRAY:
        check_elements(member, at, member->count, false, depth);
        break;
    case GEN_SHAPE_PNEXT:
        if (in_chain)
            break; /* the chain goes on */
        /* fall through */
    default:
        check_pointed(members, member, owner, depth);
        break;
    }
}

/* What the registry says in words, and what is never handed on. */
static void check_words(uint32_t number, const void *data)
{
    const VkWriteDescriptorSet *write = data;
    const VkFramebufferCreateInfo *framebuffer = data;
    const VkPipelineCacheCreateInfo *cache = data;

    if (number == GEN_STRUCT_VkPipelineCacheCreateInfo && (cache->initialDataSize || cache->pInitialData))
        driver_problem("a cache begins with data");
    if (number == GEN_STRUCT_VkImportMemoryFdInfoKHR || number == GEN_STRUCT_VkImportMemoryHostPointerInfoEXT)
        driver_problem("%s imports memory", gen_struct_names[number]);
    if (number == GEN_STRUCT_VkFramebufferCreateInfo)
        for (uint32_t i = 0;
             !(framebuffer->flags & VK_FRAMEBUFFER_CREATE_IMAGELESS_BIT) && i < framebuffer->attachmentCount; i++)
            if (!framebuffer->pAttachments || !framebuffer->pAttachments[i])
                driver_problem("pAttachments has no image view");
    if (number != GEN_STRUCT_VkWriteDescriptorSet || write->descriptorCount == 0)
        return;
    switch (write->descriptorType) {
    case VK_DESCRIPTOR_TYPE_SAMPLER:
    case VK_DESCRIPTOR_TYPE_COMBINED_IMAGE_SAMPLER:
    case VK_DESCRIPTOR_TYPE_SAMPLED_IMAGE:
    case VK_DESCRIPTOR_TYPE_STORAGE_IMAGE:
    case VK_DESCRIPTOR_TYPE_INPUT_ATTACHMENT:
        if (!write->pImageInfo)
            driver_problem("pImageInfo is null");
        break;
    case VK_DESCRIPTOR_TYPE_UNIFORM_TEXEL_BUFFER:
    case VK_DESCRIPTOR_TYPE_STORAGE_TEXEL_BUFFER:
        if (!write->pTexelBufferView)
            driver_problem("pTexelBufferView is null");
        break;
    case VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER:
    case VK_DESCRIPTOR_TYPE_STORAGE_BUFFER:
    case VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER_DYNAMIC:
    case VK_DESCRIPTOR_TYPE_STORAGE_BUFFER_DYNAMIC:
        if (!write->pBufferInfo)
            driver_problem("pBufferInfo is null");
        break;
    default:
        break;
    }
}

static void check_struct(uint32_t number, const void *data, uint64_t selector, bool in_chain, int depth)
{
    const struct gen_struct_info *info = &gen_struct_infos[number];

    touch(data, info->bytes);
    if (info->bytes == 0 || info->raw)
        return;
    if (depth > MAX_DEPTH)
        driver_problem("structures are nested too deep");
    if (info->is_union) {
        for (uint32_t i = 0; i < info->selection_count; i++)
            if (info->selections[i].value == (int64_t)selector)
                check_member(info->members, &info->members[info->selections[i].member], data, false, depth + 1);
        return;
    }
    for (uint32_t i = 0; i < info->member_count; i++)
        check_member(info->members, &info->members[i], data, in_chain, depth + 1);
    check_words(number, data);
}

static void check_names(const char *const *names, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        for (uint32_t j = 0; j < GEN_EXTENSION_COUNT; j++)
            if (gen_extensions[j].hidden && strcmp(gen_extensions[j].name, names[i]) == 0)
                driver_problem("%s is switched on, which is hidden", names[i]);
}

/* But for one that a replay switches on for itself. */
static void check_features(const VkBaseInStructure *chain)
{
    for (; chain; chain = chain->pNext) {
        const struct gen_struct_info *info = &gen_struct_infos[gen_struct_of_type(chain->sType)];
        for (uint32_t i = 0; info->features && i < info->member_count; i++)
            if (info->members[i].flags & GEN_MEMBER_HIDDEN && load((const char *)chain + info->members[i].offset, 4) &&
                strcmp(gen_member_name(&info->members[i]), "bufferDeviceAddressCaptureReplay") != 0)
                driver_problem("%s is switched on, which is hidden", gen_member_name(&info->members[i]));
    }
}

static void check_shown(uint32_t command, const void *args)
{
    if (!is_shown_command(command))
        driver_problem("it is of %s, which is hidden", hidden_owner(command, false));
    if (command == GEN_vkCreateInstance) {
        const VkInstanceCreateInfo *info = ((const struct gen_args_vkCreateInstance *)args)->pCreateInfo;
        check_names(info->ppEnabledExtensionNames, info->enabledExtensionCount);
    } else if (command == GEN_vkCreateDevice) {
        const VkDeviceCreateInfo *info = ((const struct gen_args_vkCreateDevice *)args)->pCreateInfo;
        check_names(info->ppEnabledExtensionNames, info->enabledExtensionCount);
        check_features(info->pNext);
    }
}

/* The first parameter, if it is a handle; else 0. */
static uint64_t first_handle(const struct gen_command_info *info, const void *args)
{
    const struct gen_member *first = info->members;

    if (info->member_count == 0 || first->element != GEN_ELEMENT_HANDLE || first->shape != GEN_SHAPE_VALUE)
        return 0;
    return driver_load_handle(first, (const char *)args + first->offset);
}

uint64_t driver_owner(uint32_t command, const void *args)
{
    const struct gen_command_info *info = &gen_command_infos[command];
    uint64_t handle = first_handle(info, args);
    const struct driver_object *object = handle ? driver_object(info->members[0].type, handle) : NULL;

    if (!object)
        return 0;
    return info->members[0].type == GEN_HANDLE_VkDevice || info->members[0].type == GEN_HANDLE_VkInstance
               ? handle
               : object->device;
}

void driver_check(uint32_t command, const void *args)
{
    const struct gen_command_info *info = &gen_command_infos[command];

    call = gen_command_names[command];
    is_question = strncmp(call, "vkGet", 5) == 0 || strncmp(call, "vkEnumerate", 11) == 0 ||
                  strncmp(call, "vkMapMemory", 11) == 0;
    note(command);
    call_owner = 0;
    call_owner = driver_owner(command, args);
    recorded = strncmp(call, "vkCmd", 5) == 0 ? first_handle(info, args) : 0;
    for (uint32_t i = 0; i < info->member_count; i++)
        check_member(info->members, &info->members[i], args, false, 0);
    check_shown(command, args);
    if (command == GEN_vkUpdateDescriptorSets) {
        const struct gen_args_vkUpdateDescriptorSets *update = args;
        for (uint32_t i = 0; i < update->descriptorWriteCount; i++)
            if (!update->pDescriptorWrites[i].dstSet)
                driver_problem("dstSet is null");
    }
}
