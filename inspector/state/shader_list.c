/* SPDX-License-Identifier: MIT */
#include "inspector/state/shader_list.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/array.h"
#include "base/map.h"
#include "gen_decode.h"
#include "gen_renamed.h"
#include "inspector/analysis/object_lives.h"
#include "inspector/analysis/shader_places.h"
#include "inspector/analysis/trace_pass.h"
#include "trace/format/hash.h"

#define ARENA_BYTES ((size_t)1 << 30)
#define STEP_BYTES  ((uint64_t)1 << 20)

struct node { /* a use as it was seen */
    struct shader_use use;
    struct node *next;
};

struct found { /* a code */
    struct shader_code code;
    size_t number; /* in shader_list.codes; SIZE_MAX: it is not listed */
    struct node *first, **last;
};

struct link {
    struct pipeline *by;
    struct link *next;
};

struct pipeline {
    uint64_t index;
    struct link *linked_by, **last; /* the pipelines that have this one as a library */
    const struct found *seen;       /* of the last code that it was looked at for */
};

enum names { MODULES, PIPELINES, OBJECTS, TYPES };

struct shader_list {
    struct shader_wish wish;
    struct lap_arena arena;
    struct lap_map by_hash, by_module, pipelines, names[TYPES];
    struct found **found;
    size_t found_count, found_capacity;
    struct shader_code *codes;
    size_t code_count;
    struct shader_use *uses; /* room to gather them in */
    size_t use_count, use_capacity;
    void *lives;            /* of object_lives.h; NULL: all count */
    uint64_t reached;       /* the last packet that was seen */
    enum lap_status status; /* latched */
};

static void *alloc(struct shader_list *list, size_t count, size_t bytes)
{
    void *room = lap_arena_zalloc(&list->arena, count ? count : 1, bytes, 8);

    if (!room && list->status == LAP_OK)
        list->status = lap_no_memory("the shaders of the trace");
    return room;
}

static const char *copy(struct shader_list *list, const char *text)
{
    size_t bytes = text ? strlen(text) + 1 : 1;
    char *room = alloc(list, bytes, 1);

    return room && text ? memcpy(room, text, bytes) : room;
}

static void put(struct shader_list *list, struct lap_map *map, uint64_t key, void *value)
{
    if (list->status != LAP_OK || !value)
        return;
    if (key >= UINT64_MAX - 1) /* the map has no place for them */
        list->status = lap_fail(LAP_ERROR_FORMAT, "a shader has the number %" PRIu64, key);
    else if (lap_map_put(map, key, value, NULL) != LAP_OK)
        list->status = lap_no_memory("the shaders of the trace");
}

/* ---- what calls pass ---- */

static struct found *found_of(struct shader_list *list, const void *data, size_t bytes, bool is_binary)
{
    uint64_t hash = lap_hash64(data, bytes);
    struct found *found = lap_map_get(&list->by_hash, hash);

    if (found || !(found = alloc(list, 1, sizeof *found)))
        return found;
    found->code = (struct shader_code){.hash = hash, .bytes = bytes, .is_binary = is_binary};
    found->last = &found->first;
    if (!lap_array_grow(&list->found, sizeof *list->found, &list->found_capacity, list->found_count + 1)) {
        list->status = lap_no_memory("the shaders of the trace");
        return NULL;
    }
    list->found[list->found_count++] = found;
    put(list, &list->by_hash, hash, found);
    return found;
}

static void add_constants(struct shader_list *list, struct shader_use *use, const VkSpecializationInfo *info)
{
    struct shader_constant *constants =
        info && info->pMapEntries && info->pData ? alloc(list, info->mapEntryCount, sizeof *constants) : NULL;

    use->constants = constants;
    for (uint32_t i = 0; constants && i < info->mapEntryCount; i++) {
        const VkSpecializationMapEntry *entry = &info->pMapEntries[i];
        struct shader_constant *constant = &constants[use->constant_count];
        if (entry->size > sizeof constant->value || entry->offset > info->dataSize ||
            entry->size > info->dataSize - entry->offset)
            continue;
        constant->id = entry->constantID;
        constant->bytes = (uint32_t)entry->size;
        memcpy(&constant->value, (const char *)info->pData + entry->offset, entry->size);
        use->constant_count++;
    }
}

static void see_place(void *user, struct shader_place *place)
{
    struct shader_list *list = user;
    const void *data = place->words ? (const void *)place->words : place->binary;
    struct found *found;
    struct node *node;

    if (!place->object || list->status != LAP_OK)
        return;
    found = data            ? found_of(list, data, place->bytes, place->binary)
            : place->module ? lap_map_get(&list->by_module, place->module)
                            : NULL;
    node = found ? alloc(list, 1, sizeof *node) : NULL;
    if (!node)
        return;
    node->use = (struct shader_use){.type = place->type, .object = place->object, .module = place->module};
    if (place->type == GEN_HANDLE_VkShaderModule) {
        put(list, &list->by_module, place->object, found);
    } else {
        node->use.stage = place->stage;
        node->use.entry = copy(list, place->entry);
        add_constants(list, &node->use, place->specialization);
    }
    *found->last = node;
    found->last = &node->next;
}

static struct pipeline *pipeline_of(struct shader_list *list, uint64_t index)
{
    struct pipeline *pipeline = lap_map_get(&list->pipelines, index);

    if (pipeline || !(pipeline = alloc(list, 1, sizeof *pipeline)))
        return pipeline;
    pipeline->index = index;
    pipeline->last = &pipeline->linked_by;
    put(list, &list->pipelines, index, pipeline);
    return pipeline;
}

static void see_pipeline(void *user, uint64_t index, const VkPipelineLibraryCreateInfoKHR *libraries)
{
    struct shader_list *list = user;
    struct pipeline *pipeline = index && list->status == LAP_OK ? pipeline_of(list, index) : NULL;

    for (uint32_t i = 0; pipeline && libraries && libraries->pLibraries && i < libraries->libraryCount; i++) {
        struct pipeline *library = lap_map_get(&list->pipelines, gen_u64_VkPipeline(libraries->pLibraries[i]));
        struct link *link = library ? alloc(list, 1, sizeof *link) : NULL;
        if (!link)
            continue;
        link->by = pipeline;
        *library->last = link;
        library->last = &link->next;
    }
}

static enum lap_status visit(void *state, const struct trace_call *call)
{
    struct shader_list *list = state;
    const struct shader_places_visitor visitor = {.pipeline = see_pipeline, .place = see_place, .user = list};

    shader_places_visit(call->command, call->args, &visitor);
    return list->status;
}

/* ---- names ---- */

static enum lap_status visit_name(void *state, const struct trace_call *call)
{
    struct shader_list *list = state;
    uint64_t object = 0;
    const char *name = NULL;
    enum names type = TYPES;

    if (call->command == GEN_vkSetDebugUtilsObjectNameEXT) {
        const struct gen_args_vkSetDebugUtilsObjectNameEXT *args = call->args;
        const VkDebugUtilsObjectNameInfoEXT *info = args->pNameInfo;
        VkObjectType of = info ? info->objectType : VK_OBJECT_TYPE_UNKNOWN;
        type = of == VK_OBJECT_TYPE_SHADER_MODULE ? MODULES : of == VK_OBJECT_TYPE_PIPELINE ? PIPELINES : TYPES;
#ifdef VK_EXT_shader_object
        if (of == VK_OBJECT_TYPE_SHADER_EXT)
            type = OBJECTS;
#endif
        object = info ? info->objectHandle : 0;
        name = info ? info->pObjectName : NULL;
    } else {
        const struct gen_args_vkDebugMarkerSetObjectNameEXT *args = call->args;
        const VkDebugMarkerObjectNameInfoEXT *info = args->pNameInfo;
        VkDebugReportObjectTypeEXT of = info ? info->objectType : VK_DEBUG_REPORT_OBJECT_TYPE_UNKNOWN_EXT;
        type = of == VK_DEBUG_REPORT_OBJECT_TYPE_SHADER_MODULE_EXT ? MODULES
               : of == VK_DEBUG_REPORT_OBJECT_TYPE_PIPELINE_EXT    ? PIPELINES
                                                                   : TYPES;
        object = info ? info->object : 0;
        name = info ? info->pObjectName : NULL;
    }
    if (type != TYPES && object)
        put(list, &list->names[type], object, (char *)(uintptr_t)copy(list, name));
    return list->status;
}

const char *shader_list_name(const struct shader_list *list, uint32_t type, uint64_t object)
{
    enum names of = type == GEN_HANDLE_VkShaderModule ? MODULES : type == GEN_HANDLE_VkPipeline ? PIPELINES : OBJECTS;
    const char *name = lap_map_get(&list->names[of], object);

    return name && *name ? name : NULL;
}

/* ---- the list ---- */

static bool is_wanted(const struct shader_list *list, const struct shader_use *use)
{
    const struct object_life *life = list->lives ? object_lives_of(list->lives, use->type, use->object) : NULL;
    return !list->lives || (life && object_lives_at(life, list->wish.last));
}

static void gather(struct shader_list *list, const struct shader_use *use)
{
    if (list->status != LAP_OK)
        return;
    if (lap_array_grow(&list->uses, sizeof *list->uses, &list->use_capacity, list->use_count + 1))
        list->uses[list->use_count++] = *use;
    else
        list->status = lap_no_memory("the shaders of the trace");
}

static void gather_linked(struct shader_list *list, const struct found *found, const struct pipeline *library)
{
    for (const struct link *link = library->linked_by; link; link = link->next) {
        const struct shader_use use = {
            .type = GEN_HANDLE_VkPipeline, .object = link->by->index, .via = library->index, .entry = ""};
        if (link->by->seen != found)
            gather(list, &use);
        link->by->seen = found;
    }
}

/* All that use a code, those too that are not wanted. Libraries may have ended when what is linked from them lives. */
static void gather_uses(struct shader_list *list, struct found *found)
{
    list->use_count = 0;
    for (const struct node *node = found->first; node; node = node->next) {
        gather(list, &node->use);
        if (node->use.type == GEN_HANDLE_VkPipeline)
            ((struct pipeline *)lap_map_get(&list->pipelines, node->use.object))->seen = found;
    }
    for (size_t i = 0; i < list->use_count && list->status == LAP_OK; i++)
        if (list->uses[i].type == GEN_HANDLE_VkPipeline)
            gather_linked(list, found, lap_map_get(&list->pipelines, list->uses[i].object));
}

static void list_code(struct shader_list *list, struct found *found)
{
    bool is_chosen = !list->wish.pipeline;
    struct shader_use *uses;
    size_t count = 0;

    found->number = SIZE_MAX;
    gather_uses(list, found);
    for (size_t i = 0; i < list->use_count; i++) {
        const struct shader_use *use = &list->uses[i];
        if (!is_wanted(list, use))
            continue;
        is_chosen |= use->type == GEN_HANDLE_VkPipeline && use->object == list->wish.pipeline;
        list->uses[count++] = *use;
    }
    if (!count || !is_chosen || !(uses = alloc(list, count, sizeof *uses)))
        return;
    memcpy(uses, list->uses, count * sizeof *uses);
    found->code.uses = uses;
    found->code.use_count = count;
    found->number = list->code_count;
    list->codes[list->code_count++] = found->code;
}

static enum lap_status list_codes(struct shader_list *list)
{
    const struct shader_use pipeline = {.type = GEN_HANDLE_VkPipeline, .object = list->wish.pipeline};

    if (pipeline.object && !is_wanted(list, &pipeline))
        return lap_fail(LAP_ERROR_ARGUMENT, "VkPipeline:%" PRIu64 " does not live there", pipeline.object);
    if (pipeline.object && !lap_map_get(&list->pipelines, pipeline.object))
        return lap_fail(LAP_ERROR_ARGUMENT, "there is no VkPipeline:%" PRIu64 " among the %zu of the trace",
                        pipeline.object, lap_map_count(&list->pipelines));
    list->codes = calloc(list->found_count + 1, sizeof *list->codes);
    if (!list->codes)
        return lap_no_memory("the shaders of the trace");
    for (size_t i = 0; i < list->found_count && list->status == LAP_OK; i++)
        list_code(list, list->found[i]);
    return list->status;
}

static void see_packet(void *state, const struct lap_packet *packet)
{
    ((struct shader_list *)state)->reached = packet->ticket;
}

static enum lap_status read_all(struct shader_list *list, const struct lap_reader *trace)
{
    static const uint16_t names[] = {GEN_vkSetDebugUtilsObjectNameEXT, GEN_vkDebugMarkerSetObjectNameEXT, 0};
    struct trace_visitor visitors[] = {{.commands = shader_places_commands,
                                        .visit = visit,
                                        .see_packet = list->wish.last ? see_packet : NULL,
                                        .state = list},
                                       {.commands = names, .information = true, .visit = visit_name, .state = list},
                                       {.state = NULL}};
    uint64_t all = list->wish.last ? list->wish.last : lap_reader_summary(trace)->packets, bytes = 0;
    struct trace_pass *pass;
    enum lap_status status;

    if (list->lives)
        object_lives_visitor(list->lives, &visitors[2]);
    for (unsigned i = 0; i < sizeof visitors / sizeof *visitors; i++)
        visitors[i].last_ticket = list->wish.last;
    status = trace_pass_open(trace, 0, visitors, list->lives ? 3 : 2, &pass);
    while (status == LAP_OK && (status = trace_pass_advance(pass, bytes += STEP_BYTES)) == LAP_OK)
        if (list->wish.progress)
            list->wish.progress(list->wish.user, trace_pass_packet(pass)->ticket, all);
    /* Without a ticket: the reader failed, behind the packet that was seen last. */
    if (pass && list->wish.last && list->reached >= list->wish.last &&
        trace_pass_packet(pass)->ticket != list->wish.last)
        status = LAP_OK;
    trace_pass_close(&pass);
    return status == LAP_END ? LAP_OK : status;
}

enum lap_status shader_list_find(const struct lap_reader *trace, const struct shader_wish *wish,
                                 struct shader_list **out)
{
    struct shader_list *list = *out = calloc(1, sizeof *list);
    enum lap_status status, listed;

    if (!list)
        return lap_no_memory("the shaders of the trace");
    list->wish = *wish;
    lap_arena_init(&list->arena, ARENA_BYTES);
    lap_map_init(&list->by_hash);
    lap_map_init(&list->by_module);
    lap_map_init(&list->pipelines);
    for (unsigned i = 0; i < TYPES; i++)
        lap_map_init(&list->names[i]);
    if (wish->last && !(list->lives = object_lives_create())) {
        shader_list_free(out);
        return lap_no_memory("the shaders of the trace");
    }
    status = read_all(list, trace);
    if (status == LAP_ERROR_MEMORY || status == LAP_ERROR_IO) {
        shader_list_free(out);
        return status;
    }
    list->status = LAP_OK;
    listed = list_codes(list);
    if (listed != LAP_OK)
        shader_list_free(out);
    return listed == LAP_OK ? status : listed;
}

void shader_list_free(struct shader_list **list_at)
{
    struct shader_list *list = *list_at;

    if (!list)
        return;
    lap_map_finish(&list->by_hash);
    lap_map_finish(&list->by_module);
    lap_map_finish(&list->pipelines);
    for (unsigned i = 0; i < TYPES; i++)
        lap_map_finish(&list->names[i]);
    object_lives_destroy(list->lives);
    lap_arena_finish(&list->arena);
    free(list->found);
    free(list->codes);
    free(list->uses);
    free(list);
    *list_at = NULL;
}

const struct shader_code *shader_list_codes(const struct shader_list *list, size_t *out_count)
{
    *out_count = list->code_count;
    return list->codes;
}

enum lap_status shader_list_choose(const struct shader_list *list, const char *digits, const struct shader_code **out)
{
    unsigned shift = 4 * (SHADER_HASH_DIGITS - (unsigned)strlen(digits));
    uint64_t hash = strtoull(digits, NULL, 16);

    *out = NULL;
    for (size_t i = 0; i < list->code_count; i++) {
        const struct shader_code *code = &list->codes[i];
        if (code->hash >> shift != hash)
            continue;
        if (*out)
            return lap_fail(LAP_ERROR_ARGUMENT, "%s is ambiguous: there are %016" PRIx64 " and %016" PRIx64, digits,
                            (*out)->hash, code->hash);
        *out = code;
    }
    return *out ? LAP_OK
                : lap_fail(LAP_ERROR_ARGUMENT, "none of the %zu shaders has a hash that begins with %s",
                           list->code_count, digits);
}

/* ---- the code itself ---- */

struct giving {
    const struct shader_list *list;
    const struct shader_code *only;
    shader_give_fn give;
    void *user;
    bool *given; /* [code] */
    size_t left;
    enum lap_status status;
};

static void give_place(void *user, struct shader_place *place)
{
    struct giving *g = user;
    const void *data = place->words ? (const void *)place->words : place->binary;
    const struct found *found = data ? lap_map_get(&g->list->by_hash, lap_hash64(data, place->bytes)) : NULL;

    if (g->status != LAP_OK || !found || found->number == SIZE_MAX || g->given[found->number] ||
        found->code.bytes != place->bytes)
        return;
    g->given[found->number] = true;
    if (g->only && g->only != &g->list->codes[found->number])
        return;
    g->status = g->give(g->user, &g->list->codes[found->number], data);
    if (g->status == LAP_OK && --g->left == 0)
        g->status = LAP_END;
}

static enum lap_status visit_to_give(void *state, const struct trace_call *call)
{
    struct giving *g = state;
    const struct shader_places_visitor visitor = {.place = give_place, .user = g};

    shader_places_visit(call->command, call->args, &visitor);
    return g->status;
}

enum lap_status shader_list_give(const struct shader_list *list, const struct lap_reader *trace,
                                 const struct shader_code *only, shader_give_fn give, void *user)
{
    struct giving g = {.list = list, .only = only, .give = give, .user = user, .left = only ? 1 : list->code_count};
    const struct trace_visitor visitor = {
        .commands = shader_places_commands, .visit = visit_to_give, .state = &g, .last_ticket = list->wish.last};
    enum lap_status status;

    if (!g.left)
        return LAP_OK;
    g.given = calloc(list->code_count, sizeof *g.given);
    if (!g.given)
        return lap_no_memory("the shaders of the trace");
    status = trace_pass_run(trace, 0, &visitor, 1);
    free(g.given);
    return status;
}
