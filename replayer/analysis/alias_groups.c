/* SPDX-License-Identifier: MIT */
#include "replayer/analysis/alias_groups.h"

#include <stdlib.h>
#include <string.h>
#include <vulkan/vulkan.h>
#include <xxhash.h>

#include "base/map.h"

#define MAX_PLANES REPLAY_ALIAS_PLANES
#define MAX_BYTES  ((uint64_t)1 << 62)
#define MAX_INDEX  (UINT64_MAX - 2)      /* lap_map accepts no larger keys */
#define MOST_BYTES ((uint64_t)512 << 20) /* bound on the memory of the analysis */

struct object {
    struct replay_creation *creation;
    bool opaque;
    struct replay_alias_member *members[MAX_PLANES];
};

/* The position in a space of a memory that shares bytes with others. */
struct shared {
    uint64_t space, offset;
};

/* One memory of the program, or one space, with the groups that are alive in it. A group has at least one member. */
struct replay_alias_space {
    struct lap_map *map;            /* the map in replay_aliases.spaces[] that holds this space */
    uint64_t number;                /* of a memory: its index in the trace */
    struct lap_tree_node *trees[2]; /* [opaque]: groups by range */
    uint64_t groups;
};

struct replay_aliases {
    struct lap_map objects[2]; /* struct object, by index: [0] buffers, [1] images; live objects only */
    struct lap_map spaces[2];  /* struct replay_alias_space: [0] memories, by index; [1] spaces, by number */
    struct lap_map shared;     /* struct shared, by index of the memory */
    struct lap_map creations;  /* struct replay_creation, by hash */
    struct replay_alias_group *groups;
    uint64_t next_order;
    uint64_t bytes;                      /* memory used by objects, members and creations */
    struct lap_map found[2][MAX_PLANES]; /* struct replay_alias_member, by index; filled when sealed */
};

static unsigned kind_of(enum gen_handle_type type)
{
    return type == GEN_HANDLE_VkImage;
}

unsigned replay_alias_plane(uint32_t plane)
{
    return plane == VK_IMAGE_ASPECT_PLANE_1_BIT ? 1 : plane == VK_IMAGE_ASPECT_PLANE_2_BIT ? 2 : 0;
}

enum lap_status replay_aliases_create(struct replay_aliases **out_aliases)
{
    struct replay_aliases *aliases = calloc(1, sizeof *aliases);

    *out_aliases = aliases;
    if (!aliases)
        return lap_fail(LAP_ERROR_MEMORY, "out of memory");
    for (unsigned kind = 0; kind < 2; kind++) {
        lap_map_init(&aliases->objects[kind]);
        for (unsigned plane = 0; plane < MAX_PLANES; plane++)
            lap_map_init(&aliases->found[kind][plane]);
    }
    lap_map_init(&aliases->spaces[0]);
    lap_map_init(&aliases->spaces[1]);
    lap_map_init(&aliases->shared);
    lap_map_init(&aliases->creations);
    return LAP_OK;
}

/* Checks the bound before an addition. */
static enum lap_status check_room(const struct replay_aliases *aliases, uint64_t bytes)
{
    if (aliases->bytes < MOST_BYTES && bytes < MOST_BYTES - aliases->bytes)
        return LAP_OK;
    return lap_fail(LAP_ERROR_LIMIT, "which objects share memory takes more than %u MiB", (unsigned)(MOST_BYTES >> 20));
}

/* ---- create infos ---- */

static struct replay_creation *take_creation(struct replay_aliases *aliases, const void *data, size_t bytes)
{
    uint64_t hash = XXH3_64bits(data, bytes);
    struct replay_creation *creation = lap_map_get(&aliases->creations, hash);
    bool same = creation && creation->bytes == bytes && memcmp(creation->data, data, bytes) == 0;
    bool named = !creation; /* of several with the same hash, a lookup finds only the first */

    if (same) {
        creation->users++;
        return creation;
    }
    creation = malloc(sizeof *creation + bytes);
    if (!creation)
        return NULL;
    aliases->bytes += sizeof *creation + bytes;
    *creation = (struct replay_creation){.hash = hash, .users = 1, .bytes = bytes};
    memcpy(creation->data, data, bytes);
    if (named && lap_map_put(&aliases->creations, hash, creation, NULL) == LAP_ERROR_MEMORY) {
        aliases->bytes -= sizeof *creation + bytes;
        free(creation);
        return NULL;
    }
    return creation;
}

static void drop_creation(struct replay_aliases *aliases, struct replay_creation *creation)
{
    if (--creation->users)
        return;
    aliases->bytes -= sizeof *creation + creation->bytes;
    if (lap_map_get(&aliases->creations, creation->hash) == creation)
        lap_map_remove(&aliases->creations, creation->hash);
    free(creation);
}

/* ---- groups ---- */

static void link_group(struct replay_aliases *aliases, struct replay_alias_group *group)
{
    group->next = aliases->groups;
    if (group->next)
        group->next->previous = group;
    aliases->groups = group;
}

static void unlink_group(struct replay_aliases *aliases, struct replay_alias_group *group)
{
    if (group->next)
        group->next->previous = group->previous;
    if (group->previous)
        group->previous->next = group->next;
    else
        aliases->groups = group->next;
}

static void free_group(struct replay_aliases *aliases, struct replay_alias_group *group)
{
    struct replay_alias_member *member = group->first;

    unlink_group(aliases, group);
    aliases->bytes -= sizeof *group;
    while (member) {
        struct replay_alias_member *next = member->next;
        drop_creation(aliases, member->creation);
        aliases->bytes -= sizeof *member;
        free(member);
        member = next;
    }
    free(group);
}

static struct lap_tree_node **tree_of(struct replay_alias_space *space, bool opaque)
{
    return &space->trees[opaque];
}

static void enter_tree(struct replay_aliases *aliases, struct replay_alias_group *group)
{
    group->node.order = ++aliases->next_order;
    lap_tree_insert(tree_of(group->space, group->opaque), &group->node);
    group->space->groups++;
}

static void leave_tree(struct replay_alias_group *group)
{
    lap_tree_remove(tree_of(group->space, group->opaque), &group->node);
    group->space->groups--;
}

/* The bytes that a member shares. Two images of optimal tiling share contents only if they begin at the same offset. */
static void member_range(const struct replay_alias_member *member, bool opaque, uint64_t *out_begin, uint64_t *out_end)
{
    *out_begin = member->offset;
    *out_end = opaque ? member->offset + 1 : member->offset + member->bytes;
}

/* Merges two groups that are in no tree. The smaller group's members move, so each member moves O(log n) times; on a
 * tie the newer group's members move. */
static struct replay_alias_group *join(struct replay_aliases *aliases, struct replay_alias_group *newer,
                                       struct replay_alias_group *older)
{
    struct replay_alias_group *into = newer->count > older->count ? newer : older;
    struct replay_alias_group *from = into == newer ? older : newer;

    for (struct replay_alias_member *member = from->first; member; member = member->next)
        member->group = into;
    into->last->next = from->first;
    into->last = from->last;
    into->count += from->count;
    into->has_planes |= from->has_planes;
    into->alive += from->alive;
    into->alive_xor ^= from->alive_xor;
    if (from->node.begin < into->node.begin)
        into->node.begin = from->node.begin;
    if (from->node.end > into->node.end)
        into->node.end = from->node.end;
    from->first = NULL;
    free_group(aliases, from);
    return into;
}

static struct replay_alias_space *space_of(struct lap_map *map, uint64_t number)
{
    struct replay_alias_space *space = lap_map_get(map, number);

    if (space)
        return space;
    space = calloc(1, sizeof *space);
    if (!space || lap_map_put(map, number, space, NULL) != LAP_OK) {
        free(space);
        return NULL;
    }
    space->map = map;
    space->number = number;
    return space;
}

static void leave_space(struct replay_alias_space *space)
{
    if (space->groups)
        return;
    lap_map_remove(space->map, space->number);
    free(space);
}

enum lap_status replay_aliases_share(struct replay_aliases *aliases, uint64_t memory, uint64_t space, uint64_t offset)
{
    struct shared *shared;
    enum lap_status status;

    if (memory > MAX_INDEX || space > MAX_INDEX || offset > MAX_BYTES || lap_map_get(&aliases->shared, memory))
        return LAP_OK; /* an invalid trace: its objects share nothing */
    status = check_room(aliases, sizeof *shared);
    if (status != LAP_OK)
        return status;
    shared = malloc(sizeof *shared);
    if (!shared)
        return lap_fail(LAP_ERROR_MEMORY, "out of memory");
    *shared = (struct shared){space, offset};
    status = lap_map_put(&aliases->shared, memory, shared, NULL);
    if (status != LAP_OK)
        free(shared);
    else
        aliases->bytes += sizeof *shared;
    return status;
}

void replay_aliases_unshare(struct replay_aliases *aliases, uint64_t memory)
{
    struct shared *shared = memory <= MAX_INDEX ? lap_map_remove(&aliases->shared, memory) : NULL;

    aliases->bytes -= shared ? sizeof *shared : 0;
    free(shared);
}

/* ---- objects ---- */

enum lap_status replay_aliases_add(struct replay_aliases *aliases, enum gen_handle_type type, uint64_t index,
                                   bool opaque, const void *creation, size_t bytes)
{
    struct lap_map *objects = &aliases->objects[kind_of(type)];
    struct object *object;
    enum lap_status status;

    if (index > MAX_INDEX || lap_map_get(objects, index))
        return LAP_OK; /* an invalid trace: playback reports it */
    status = check_room(aliases, sizeof *object + bytes);
    if (status != LAP_OK)
        return status;
    object = calloc(1, sizeof *object);
    if (object) {
        object->opaque = opaque;
        object->creation = take_creation(aliases, creation, bytes);
    }
    if (!object || !object->creation || lap_map_put(objects, index, object, NULL) != LAP_OK) {
        if (object && object->creation)
            drop_creation(aliases, object->creation);
        free(object);
        return lap_fail(LAP_ERROR_MEMORY, "out of memory");
    }
    aliases->bytes += sizeof *object;
    return LAP_OK;
}

static struct replay_alias_member *create_member(struct replay_aliases *aliases, const struct replay_alias_bind *bind,
                                                 uint64_t offset, struct object *object,
                                                 struct replay_alias_space *space)
{
    struct replay_alias_member *member = calloc(1, sizeof *member);
    struct replay_alias_group *group = calloc(1, sizeof *group);

    if (!member || !group) {
        free(member);
        free(group);
        return NULL;
    }
    *member = (struct replay_alias_member){.type = bind->type,
                                           .index = bind->index,
                                           .plane = bind->plane,
                                           .offset = offset,
                                           .bytes = bind->bytes,
                                           .layout = bind->layout,
                                           .creation = object->creation,
                                           .group = group};
    object->creation->users++;
    aliases->bytes += sizeof *group + sizeof *member;
    *group = (struct replay_alias_group){.first = member,
                                         .last = member,
                                         .count = 1,
                                         .opaque = object->opaque,
                                         .has_planes = bind->plane != 0,
                                         .space = space,
                                         .alive = 1,
                                         .alive_xor = (uintptr_t)member};
    member_range(member, group->opaque, &group->node.begin, &group->node.end);
    link_group(aliases, group);
    return member;
}

enum lap_status replay_aliases_bind(struct replay_aliases *aliases, const struct replay_alias_bind *bind)
{
    struct object *object = lap_map_get(&aliases->objects[kind_of(bind->type)], bind->index);
    struct replay_alias_member **member;
    struct replay_alias_group *group;
    struct lap_tree_node *node;
    struct replay_alias_space *space;
    const struct shared *shared;
    enum lap_status status;

    if (!object || bind->memory > MAX_INDEX || bind->bytes == 0 || bind->bytes > MAX_BYTES || bind->offset > MAX_BYTES)
        return LAP_OK;
    member = &object->members[replay_alias_plane(bind->plane)];
    if (*member)
        return LAP_OK;
    status = check_room(aliases, sizeof **member + sizeof *group);
    if (status != LAP_OK)
        return status;
    shared = lap_map_get(&aliases->shared, bind->memory);
    space = space_of(&aliases->spaces[shared != NULL], shared ? shared->space : bind->memory);
    if (!space)
        return lap_fail(LAP_ERROR_MEMORY, "out of memory");
    *member = create_member(aliases, bind, bind->offset + (shared ? shared->offset : 0), object, space);
    if (!*member) {
        leave_space(space);
        return lap_fail(LAP_ERROR_MEMORY, "out of memory");
    }
    group = (*member)->group;
    while ((node = lap_tree_first(*tree_of(space, group->opaque), group->node.begin, group->node.end)) != NULL) {
        struct replay_alias_group *other =
            (struct replay_alias_group *)((char *)node - offsetof(struct replay_alias_group, node));
        leave_tree(other);
        group = join(aliases, group, other);
    }
    enter_tree(aliases, group);
    return LAP_OK;
}

/* With one live member left, the group's range shrinks to that member's. With several, it keeps the bytes of ended
 * members. */
static void member_ends(struct replay_aliases *aliases, struct replay_alias_member *member)
{
    struct replay_alias_group *group = member->group;
    struct replay_alias_space *space = group->space;

    leave_tree(group);
    group->alive--;
    group->alive_xor ^= (uintptr_t)member;
    if (group->alive == 1)
        member_range((const struct replay_alias_member *)group->alive_xor, group->opaque, &group->node.begin,
                     &group->node.end);
    if (group->alive)
        enter_tree(aliases, group);
    else if (group->count == 1)
        free_group(aliases, group);
    leave_space(space);
}

static void end_object(struct replay_aliases *aliases, struct object *object)
{
    for (unsigned i = 0; i < MAX_PLANES; i++)
        if (object->members[i])
            member_ends(aliases, object->members[i]);
    drop_creation(aliases, object->creation);
    aliases->bytes -= sizeof *object;
    free(object);
}

void replay_aliases_remove(struct replay_aliases *aliases, enum gen_handle_type type, uint64_t index)
{
    struct object *object = lap_map_remove(&aliases->objects[kind_of(type)], index);

    if (object)
        end_object(aliases, object);
}

/* ---- the end ---- */

static void visit_object(void *user, uint64_t key, void *value)
{
    end_object(user, value);
}

static void end_objects(struct replay_aliases *aliases)
{
    for (unsigned kind = 0; kind < 2; kind++) {
        lap_map_each(&aliases->objects[kind], visit_object, aliases);
        lap_map_finish(&aliases->objects[kind]);
        lap_map_init(&aliases->objects[kind]);
    }
}

enum lap_status replay_aliases_seal(struct replay_aliases *aliases)
{
    end_objects(aliases);
    for (struct replay_alias_group *group = aliases->groups; group; group = group->next)
        for (struct replay_alias_member *member = group->first; member; member = member->next)
            if (lap_map_put(&aliases->found[kind_of(member->type)][replay_alias_plane(member->plane)], member->index,
                            member, NULL) == LAP_ERROR_MEMORY)
                return LAP_ERROR_MEMORY;
    return LAP_OK;
}

static void free_shared(void *user, uint64_t key, void *value)
{
    free(value);
}

void replay_aliases_destroy(struct replay_aliases **aliases)
{
    if (!*aliases)
        return;
    end_objects(*aliases);
    while ((*aliases)->groups)
        free_group(*aliases, (*aliases)->groups);
    for (unsigned kind = 0; kind < 2; kind++) {
        lap_map_finish(&(*aliases)->objects[kind]);
        for (unsigned plane = 0; plane < MAX_PLANES; plane++)
            lap_map_finish(&(*aliases)->found[kind][plane]);
    }
    lap_map_finish(&(*aliases)->spaces[0]);
    lap_map_finish(&(*aliases)->spaces[1]);
    lap_map_each(&(*aliases)->shared, free_shared, NULL);
    lap_map_finish(&(*aliases)->shared);
    lap_map_finish(&(*aliases)->creations);
    free(*aliases);
    *aliases = NULL;
}

struct replay_alias_member *replay_aliases_find(const struct replay_aliases *aliases, enum gen_handle_type type,
                                                uint64_t index, uint32_t plane)
{
    return aliases ? lap_map_get(&aliases->found[kind_of(type)][replay_alias_plane(plane)], index) : NULL;
}

/* ---- the plan of one group ---- */

/* Excludes members that have no memory type in common with the others. */
static uint32_t common_types(struct replay_alias_need *needs, size_t count, uint32_t types)
{
    for (size_t i = 0; i < count; i++) {
        if (needs[i].apart != REPLAY_TOGETHER)
            continue;
        if (needs[i].type_bits & types)
            types &= needs[i].type_bits;
        else
            needs[i].apart = REPLAY_APART_TYPE;
    }
    return types;
}

/* The member with the largest alignment, which fixes the offsets of the others. NULL if all are excluded. */
static const struct replay_alias_need *most_aligned(const struct replay_alias_need *needs, size_t count)
{
    const struct replay_alias_need *most = NULL;

    for (size_t i = 0; i < count; i++)
        if (needs[i].apart == REPLAY_TOGETHER && (!most || needs[i].alignment > most->alignment))
            most = &needs[i];
    return most;
}

void replay_alias_plan(struct replay_alias_need *needs, size_t count, uint32_t types,
                       struct replay_alias_plan *out_plan)
{
    struct replay_alias_plan plan = {.type_bits = common_types(needs, count, types)};
    const struct replay_alias_need *most = most_aligned(needs, count);
    uint64_t begin = UINT64_MAX, lead;

    *out_plan = plan;
    if (!most)
        return;
    plan.alignment = most->alignment ? most->alignment : 1;
    for (size_t i = 0; i < count; i++) {
        if (needs[i].apart != REPLAY_TOGETHER)
            continue;
        /* Alignments are powers of two, so this one divides the largest. */
        if (needs[i].alignment && (needs[i].offset - most->offset) & (needs[i].alignment - 1))
            needs[i].apart = REPLAY_APART_ALIGNMENT;
        else if (needs[i].offset < begin)
            begin = needs[i].offset;
    }
    /* The allocation is aligned. It begins `lead` bytes before the first member, so that the most aligned member is
     * aligned too. */
    lead = (begin - most->offset) & (plan.alignment - 1);
    for (size_t i = 0; i < count; i++) {
        if (needs[i].apart != REPLAY_TOGETHER)
            continue;
        needs[i].place = lead + (needs[i].offset - begin);
        if (needs[i].place + needs[i].bytes > plan.bytes)
            plan.bytes = needs[i].place + needs[i].bytes;
        plan.together++;
    }
    *out_plan = plan;
}
