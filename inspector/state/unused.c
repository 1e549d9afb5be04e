/* SPDX-License-Identifier: MIT */
#include "inspector/state/unused.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "gen_effects.h"

struct edge {
    uint32_t made, of; /* numbers of lives */
};

struct search {
    const struct state_objects *objects;
    const struct object_lives *lives;
    uint8_t *used, *described; /* [number of a life] */
    struct edge *edges;        /* in the order of the calls */
    size_t edge_count, edge_capacity;
    void (*progress)(void *user, const struct lap_packet *packet);
    void *user;
};

/* SIZE_MAX: it has no life. */
static size_t number_of(const struct search *s, struct use_object object)
{
    const struct object_life *life = state_objects_get(s->objects, object.type, object.index);
    return life ? (size_t)(life - s->lives->lives) : SIZE_MAX;
}

static bool wants(void *user, struct use_object object)
{
    const struct search *s = user;
    size_t number = number_of(s, object);
    return number != SIZE_MAX && !s->used[number];
}

/* Whether a call leaves what it names as unused as before. */
static bool is_neutral(uint32_t command)
{
    switch (gen_effects[command].does) {
    case GEN_EFFECT_STATE:
        return strncmp(gen_command_names[command], "vkGet", 5) != 0; /* addresses may be used where nobody sees it */
    case GEN_EFFECT_UNKNOWN:                                         /* it only asks */
    case GEN_EFFECT_MAKES:
    case GEN_EFFECT_DESCRIBES:
    case GEN_EFFECT_RECORDS:
    case GEN_EFFECT_CHECKS:
        return true;
    default:
        return false;
    }
}

static enum lap_status see_use(void *user, const struct use *use)
{
    struct search *s = user;
    size_t number = number_of(s, use->object);

    if (use->position || use->access != USE_NAMED || !is_neutral(use->command))
        s->used[number] = 1;
    else if (use->object.type != GEN_HANDLE_VkDescriptorSet && gen_effects[use->command].does == GEN_EFFECT_DESCRIBES)
        s->described[number] = 1;
    return LAP_OK;
}

static enum lap_status see_made(void *user, struct use_object made, struct use_object of)
{
    struct search *s = user;
    size_t from = number_of(s, made), to = number_of(s, of);

    if (from == SIZE_MAX || to == SIZE_MAX || from == to)
        return LAP_OK;
    if (!lap_array_grow(&s->edges, sizeof *s->edges, &s->edge_capacity, s->edge_count + 1))
        return lap_fail(LAP_ERROR_MEMORY, "out of memory for what objects are made of");
    s->edges[s->edge_count++] = (struct edge){(uint32_t)from, (uint32_t)to};
    return LAP_OK;
}

static void show_progress(void *user, const struct lap_packet *packet)
{
    const struct search *s = user;

    if (s->progress)
        s->progress(s->user, packet);
}

/* What is made later is in later edges. */
static void spread(struct search *s)
{
    for (size_t i = s->edge_count; i-- > 0;)
        s->used[s->edges[i].of] |= s->used[s->edges[i].made];
}

static bool is_listed(const struct search *s, const struct object_life *life)
{
    /* Older registries lack some. */
    static const char *const left_out[] = {"VkInstance",
                                           "VkPhysicalDevice",
                                           "VkDevice",
                                           "VkQueue",
                                           "VkDisplayKHR",
                                           "VkDisplayModeKHR",
                                           "VkDebugUtilsMessengerEXT",
                                           "VkDebugReportCallbackEXT",
                                           "VkDescriptorUpdateTemplate",
                                           "VkPrivateDataSlot",
                                           "VkValidationCacheEXT",
                                           "VkDeferredOperationKHR"};

    for (size_t i = 0; i < sizeof left_out / sizeof *left_out; i++)
        if (strcmp(gen_handle_names[life->type], left_out[i]) == 0)
            return false;
    return life->type != GEN_HANDLE_VkImage || life->parent == SIZE_MAX ||
           s->lives->lives[life->parent].type != GEN_HANDLE_VkSwapchainKHR;
}

/* Also finds what is made of each. */
static enum lap_status list(const struct search *s, struct unused **out, size_t *out_count)
{
    uint32_t *places = calloc(s->lives->count + 1, sizeof *places); /* [number]: 1 + the place in the list */
    struct unused *items = calloc(s->lives->count + 1, sizeof *items);
    size_t count = 0;

    if (!places || !items) {
        free(places);
        free(items);
        return lap_fail(LAP_ERROR_MEMORY, "out of memory for unused objects");
    }
    for (size_t i = 0; i < s->lives->count; i++)
        if (!s->used[i] && is_listed(s, &s->lives->lives[i])) {
            items[count] = (struct unused){.number = i, .other = SIZE_MAX, .described = s->described[i]};
            places[i] = (uint32_t)++count;
        }
    for (size_t i = 0; i < s->edge_count; i++) {
        struct unused *of = places[s->edges[i].of] ? &items[places[s->edges[i].of] - 1] : NULL;
        if (of && of->other == SIZE_MAX)
            of->other = s->edges[i].made;
        else if (of)
            of->others++;
    }
    free(places);
    *out = items;
    *out_count = count;
    return LAP_OK;
}

enum lap_status unused_find(const struct lap_reader *trace, const struct state_objects *objects,
                            void (*progress)(void *user, const struct lap_packet *packet), void *user,
                            struct unused **out, size_t *out_count)
{
    const struct use_walk_options options = {.last_frame = UINT64_MAX, .once = true};
    struct search s = {.objects = objects, .lives = state_objects_lives(objects), .progress = progress, .user = user};
    const struct use_visitor visitor = {wants, see_use, see_made, show_progress, &s};
    enum lap_status status, listed;

    *out = NULL;
    *out_count = 0;
    s.used = calloc(s.lives->count + 1, 1);
    s.described = calloc(s.lives->count + 1, 1);
    status = s.used && s.described ? use_walk(trace, &options, &visitor)
                                   : lap_fail(LAP_ERROR_MEMORY, "out of memory for unused objects");
    if (s.used && s.described && status != LAP_ERROR_MEMORY) {
        spread(&s);
        listed = list(&s, out, out_count);
        status = listed == LAP_OK ? status : listed;
    }
    free(s.used);
    free(s.described);
    free(s.edges);
    return status;
}
