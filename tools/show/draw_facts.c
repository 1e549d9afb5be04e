/* SPDX-License-Identifier: MIT */
#include "tools/show/draw_facts.h"

#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"
#include "gen_decode.h"
#include "gen_reflect.h"
#include "inspector/state/reached.h"
#include "tools/show/print.h"
#include "tools/show/text.h"
#include "vulkan/walk.h"

#define TEXTURES 8 /* sets may have very many */

/* ---- names ---- */

const uint16_t lap_draw_names_calls[] = {GEN_vkSetDebugUtilsObjectNameEXT, GEN_vkDebugMarkerSetObjectNameEXT, 0};

static uint64_t key_of(uint32_t type, uint64_t index)
{
    return (uint64_t)type << 48 | index;
}

void lap_draw_names_init(struct lap_draw_names *names)
{
    lap_map_init(&names->texts);
}

static void drop(void *user, uint64_t key, void *value)
{
    free(value);
}

void lap_draw_names_finish(struct lap_draw_names *names)
{
    lap_map_each(&names->texts, drop, NULL);
    lap_map_finish(&names->texts);
}

static void take_object(void *user, const struct lap_place *place, const struct lap_value *value)
{
    uint64_t *key = user;

    if (value->kind == LAP_VALUE_HANDLE && value->u && value->type != GEN_HANDLE_VkDevice && !*key)
        *key = key_of(value->type, value->u);
}

enum lap_status lap_draw_names_see(struct lap_draw_names *names, const struct trace_call *call)
{
    uint64_t key = 0;
    const struct lap_visitor visitor = {.value = take_object, .user = &key};
    const char *text = NULL;
    char *copy;
    void *old = NULL;

    if (call->command == GEN_vkSetDebugUtilsObjectNameEXT) {
        const struct gen_args_vkSetDebugUtilsObjectNameEXT *args = call->args;
        text = args->pNameInfo ? args->pNameInfo->pObjectName : NULL;
    } else if (call->command == GEN_vkDebugMarkerSetObjectNameEXT) {
        const struct gen_args_vkDebugMarkerSetObjectNameEXT *args = call->args;
        text = args->pNameInfo ? args->pNameInfo->pObjectName : NULL;
    } else {
        return LAP_OK;
    }
    lap_walk_command(call->command, call->args, false, &visitor);
    if (!key)
        return LAP_OK;
    if (!text || !*text) {
        free(lap_map_remove(&names->texts, key));
        return LAP_OK;
    }
    copy = strdup(text);
    if (!copy || lap_map_put(&names->texts, key, copy, &old) != LAP_OK) {
        free(copy);
        return lap_fail(LAP_ERROR_MEMORY, "out of memory for names of objects");
    }
    free(old);
    return LAP_OK;
}

const char *lap_draw_names_find(void *user, uint32_t type, uint64_t index)
{
    const struct lap_draw_names *names = user;
    return lap_map_get(&names->texts, key_of(type, index));
}

/* ---- textures ---- */

struct textures {
    const struct bound_visit *visit;
    struct lap_draw_names *names;
    cJSON *list;
    int count;
    bool failed; /* no memory */
};

static bool add_texture(struct textures *t, const struct reached *reached, uint64_t image)
{
    const char *name = lap_draw_names_find(t->names, GEN_HANDLE_VkImage, image);
    char text[LAP_TEXT_HANDLE_MAX], *clean = name ? lap_utf8(name, strlen(name)) : NULL;
    cJSON *item = cJSON_CreateObject();
    bool added = item && cJSON_AddItemToArray(t->list, item) && (!name || clean) &&
                 cJSON_AddNumberToObject(item, "set", reached->set) &&
                 cJSON_AddNumberToObject(item, "binding", reached->binding) &&
                 cJSON_AddStringToObject(item, "image", lap_bound_handle(GEN_HANDLE_VkImage, image, text)) &&
                 (name ? cJSON_AddStringToObject(item, "name", clean) : cJSON_AddNullToObject(item, "name"));

    free(clean);
    return added;
}

static enum lap_status see_descriptor(void *user, const struct reached *reached)
{
    struct textures *t = user;
    const VkDescriptorType type = reached->descriptor.type;
    const struct fact_view *view;

    if ((type != VK_DESCRIPTOR_TYPE_COMBINED_IMAGE_SAMPLER && type != VK_DESCRIPTOR_TYPE_SAMPLED_IMAGE &&
         type != VK_DESCRIPTOR_TYPE_STORAGE_IMAGE && type != VK_DESCRIPTOR_TYPE_INPUT_ATTACHMENT) ||
        !reached->descriptor.object)
        return LAP_OK;
    view = fact_of_view(t->visit->bound->facts, reached->descriptor.object);
    if (!view || !view->image)
        return LAP_OK;
    t->failed = !add_texture(t, reached, view->image);
    return t->failed || ++t->count == TEXTURES ? LAP_END : LAP_OK;
}

enum lap_status lap_draw_facts_json(cJSON *object, const struct bound_visit *visit, enum bound_point point,
                                    struct lap_draw_names *names)
{
    const struct fact_pipeline *pipeline = fact_of_pipeline(visit->bound->facts, visit->bound->points[point].pipeline);
    const char *topology = point == BOUND_GRAPHICS && pipeline && pipeline->topology != VK_PRIMITIVE_TOPOLOGY_MAX_ENUM
                               ? lap_text_named("VkPrimitiveTopology", pipeline->topology)
                               : NULL;
    struct textures t = {.visit = visit, .names = names, .list = cJSON_AddArrayToObject(object, "textures")};
    struct lap_arena arena;
    enum lap_status status;

    if (!t.list)
        return lap_fail(LAP_ERROR_MEMORY, "out of memory for the textures of a draw");
    lap_arena_init(&arena, 0);
    status = reached_each(visit->bound, visit->descriptors, point, &arena, NULL, see_descriptor, &t);
    lap_arena_finish(&arena);
    if (status != LAP_OK)
        return status;
    t.failed |=
        topology ? !cJSON_AddStringToObject(object, "topology", topology) : !cJSON_AddNullToObject(object, "topology");
    return t.failed ? lap_fail(LAP_ERROR_MEMORY, "out of memory for the textures of a draw") : LAP_OK;
}
