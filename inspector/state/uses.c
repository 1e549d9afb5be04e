/* SPDX-License-Identifier: MIT */
#include "inspector/state/uses.h"

#include <stdlib.h>

#include "base/map.h"
#include "gen_effects.h"

/* The wanted object, or one that is made of it. */
struct member {
    struct use_object object;
    const struct member *from; /* NULL: the wanted one */
    unsigned depth;
};

struct uses {
    struct member wanted;
    struct lap_map members[GEN_HANDLE_COUNT]; /* struct member, by index */
    struct lap_arena arena;
    uses_visit_fn visit;
    void (*progress)(void *user, const struct lap_packet *packet);
    void *user;
};

static const struct member *member_of(const struct uses *uses, struct use_object object)
{
    return lap_map_get(&uses->members[object.type], object.index);
}

static bool wants(void *user, struct use_object object)
{
    return member_of(user, object) != NULL;
}

static bool is_made_of(struct use_object made, struct use_object of)
{
    if (of.type == GEN_HANDLE_VkDeviceMemory)
        return made.type == GEN_HANDLE_VkBuffer || made.type == GEN_HANDLE_VkImage;
    return made.type != GEN_HANDLE_VkDeviceMemory && gen_handle_contents[made.type] == GEN_CONTENTS_LED_TO &&
           gen_handle_contents[of.type] != GEN_CONTENTS_NONE;
}

static enum lap_status see_made(void *user, struct use_object made, struct use_object of)
{
    struct uses *uses = user;
    const struct member *from = member_of(uses, of);
    struct member *member;

    if (!from || !is_made_of(made, of) || from->depth + 1 >= USES_MOST_THROUGH || member_of(uses, made))
        return LAP_OK;
    member = lap_arena_alloc(&uses->arena, sizeof *member, _Alignof(struct member));
    if (!member || lap_map_put(&uses->members[made.type], made.index, member, NULL) != LAP_OK)
        return lap_fail(LAP_ERROR_MEMORY, "out of memory for what is made of an object");
    *member = (struct member){.object = made, .from = from, .depth = from->depth + 1};
    return LAP_OK;
}

/* To name what is made of the object is no use of the object, unless it is in a barrier. */
static bool is_use(const struct member *member, const struct use *use)
{
    return !member->from || use->access != USE_NAMED || use->kind == USE_BARRIER;
}

static enum lap_status see_use(void *user, const struct use *use)
{
    struct uses *uses = user;
    const struct member *member = member_of(uses, use->object);
    struct use_object through[USES_MOST_THROUGH + 1];
    size_t count;

    if (!member || !is_use(member, use))
        return LAP_OK;
    count = member->depth;
    for (const struct member *m = member; m->from; m = m->from)
        through[m->depth - 1] = m->object;
    if (use->set)
        through[count++] = (struct use_object){GEN_HANDLE_VkDescriptorSet, use->set};
    return uses->visit(uses->user, use, through, count);
}

static void show_progress(void *user, const struct lap_packet *packet)
{
    const struct uses *uses = user;

    if (uses->progress)
        uses->progress(uses->user, packet);
}

enum lap_status uses_of(const struct lap_reader *trace, struct use_object object,
                        const struct use_walk_options *options, uses_visit_fn visit,
                        void (*progress)(void *user, const struct lap_packet *packet), void *user)
{
    struct uses *uses = calloc(1, sizeof *uses);
    const struct use_visitor visitor = {wants, see_use, see_made, show_progress, uses};
    enum lap_status status = LAP_ERROR_MEMORY;

    if (!uses)
        return lap_fail(LAP_ERROR_MEMORY, "out of memory");
    uses->wanted.object = object;
    uses->visit = visit;
    uses->progress = progress;
    uses->user = user;
    for (unsigned i = 0; i < GEN_HANDLE_COUNT; i++)
        lap_map_init(&uses->members[i]);
    lap_arena_init(&uses->arena, 0);
    status = lap_map_put(&uses->members[object.type], object.index, &uses->wanted, NULL);
    if (status == LAP_OK)
        status = use_walk(trace, options, &visitor);
    for (unsigned i = 0; i < GEN_HANDLE_COUNT; i++)
        lap_map_finish(&uses->members[i]);
    lap_arena_finish(&uses->arena);
    free(uses);
    return status;
}
