/* SPDX-License-Identifier: MIT */
/*
 * alias_groups: finds which objects of a trace share memory, before the trace is played, and plans how the objects of
 * one group lie in one allocation of the replay device. It makes no Vulkan calls (alias_placement.c does).
 *
 * A bind packet has the memory and the offset at which an object lies in the program; memories that have bytes in
 * common lie in one space (lapilliSharedMemory). Objects that overlap while all of them are alive form a group; objects
 * that use the same bytes one after another don't. A group has objects of one kind only, because contents never pass
 * from one to the other (Vulkan specification, "Memory Aliasing"):
 *   - bytes: buffers and linear images. A write through one is read through the other, byte by byte, so the group
 *     preserves their distances.
 *   - opaque: images of optimal tiling that were made to alias (VK_IMAGE_CREATE_ALIAS_BIT), at the same offset. All
 *     other objects (an optimal image and a buffer, for example) use the memory one after another. Each gets memory of
 *     its own.
 *
 * Costs O(log n) a packet, and memory for the objects that are alive. Members of groups stay, with one copy of each
 * create info. One thread.
 */
#ifndef LAP_REPLAYER_ANALYSIS_ALIAS_GROUPS_H
#define LAP_REPLAYER_ANALYSIS_ALIAS_GROUPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "base/tree.h"
#include "gen_ids.h"

#define REPLAY_ALIAS_PLANES 3

/* The requirements of an object on the replay device (alias_placement.c). */
struct replay_alias_requirements {
    const void *device; /* NULL: not asked yet, or there is no such object */
    uint64_t bytes, alignment, layout;
    uint32_t type_bits;
    bool alone; /* it must have memory of its own */
};

/* A create info as it is encoded in the trace; objects that were created alike have the same one. */
struct replay_creation {
    uint64_t hash;
    uint64_t users;
    struct replay_alias_requirements answers[REPLAY_ALIAS_PLANES]; /* [replay_alias_plane()] */
    size_t bytes;
    uint8_t data[];
};

/* Why a member can't lie with the others. */
enum replay_apart {
    REPLAY_TOGETHER,
    REPLAY_APART_DEDICATED, /* the driver requires a dedicated allocation */
    REPLAY_APART_LAYOUT,    /* a linear image with another row layout on the replay device */
    REPLAY_APART_TYPE,      /* no memory type in common */
    REPLAY_APART_ALIGNMENT, /* its distance from the others is no multiple of its alignment */
    REPLAY_APART_COUNT
};

struct replay_alias_plan {
    uint64_t bytes, alignment; /* of the allocation */
    uint32_t type_bits;
    uint64_t together; /* how many members; with fewer than two there is nothing to allocate */
};

struct replay_alias_group;
struct replay_alias_space;
struct replay_alias_memory;

struct replay_alias_member {
    enum gen_handle_type type; /* VkBuffer or VkImage */
    uint64_t index;
    uint32_t plane;         /* VkImageAspectFlagBits of a disjoint image, or 0 */
    uint64_t offset, bytes; /* in the memory of the program, or in the space that it shares with others */
    uint64_t layout;        /* linear images: lap_layout_hash of the recorded machine */
    struct replay_creation *creation;
    struct replay_alias_group *group;
    struct replay_alias_member *next; /* in the group */
    /* alias_placement.c, from the group's plan: */
    uint64_t place; /* in the group's allocation */
    enum replay_apart apart;
};

struct replay_alias_group {
    struct replay_alias_member *first, *last;
    uint64_t count; /* of members: two or more after the pass */
    bool opaque;
    bool has_planes; /* planes of disjoint images are among them */
    /* During the pass: the bytes that are shared now. */
    struct lap_tree_node node;
    struct replay_alias_space *space;
    uint64_t alive;
    uintptr_t alive_xor; /* of the addresses of members that are alive: the last one's when only one is */
    struct replay_alias_group *next, *previous;
    /* alias_placement.c: */
    const void *device; /* the device of the plan; NULL: not planned yet */
    struct replay_alias_plan plan;
    struct replay_alias_memory *shared; /* the allocation, while a member has its place there */
};

struct replay_alias_bind {
    enum gen_handle_type type;
    uint64_t index;
    uint32_t plane;
    uint64_t memory, offset, bytes; /* memory: an index in the trace */
    uint64_t layout;
};

struct replay_aliases;
enum lap_status replay_aliases_create(struct replay_aliases **out_aliases) LAP_MUST_CHECK;
void replay_aliases_destroy(struct replay_aliases **aliases);

/* ---- the pass over a trace, in ticket order. LAP_ERROR_MEMORY changes nothing. ---- */

/* An object of the bytes or of the opaque kind, and its encoded create info, which is copied. */
enum lap_status replay_aliases_add(struct replay_aliases *aliases, enum gen_handle_type type, uint64_t index,
                                   bool opaque, const void *creation, size_t bytes) LAP_MUST_CHECK;
/* Memories of one space share bytes: `memory` begins at `offset` of the space. Call it before a bind to the memory. */
enum lap_status replay_aliases_share(struct replay_aliases *aliases, uint64_t memory, uint64_t space,
                                     uint64_t offset) LAP_MUST_CHECK;
/* The memory was freed. A trace does not use its index again. */
void replay_aliases_unshare(struct replay_aliases *aliases, uint64_t memory);
/* Ignores objects that were not added, and invalid ranges. */
enum lap_status replay_aliases_bind(struct replay_aliases *aliases,
                                    const struct replay_alias_bind *bind) LAP_MUST_CHECK;
void replay_aliases_remove(struct replay_aliases *aliases, enum gen_handle_type type, uint64_t index);
/* At the end: drops the objects that are in no group. */
enum lap_status replay_aliases_seal(struct replay_aliases *aliases) LAP_MUST_CHECK;

/* ---- after the pass ---- */

/* The number of a plane aspect: 0 for the first plane, and for all else. */
unsigned replay_alias_plane(uint32_t plane);
/* NULL: the object shares nothing. */
struct replay_alias_member *replay_aliases_find(const struct replay_aliases *aliases, enum gen_handle_type type,
                                                uint64_t index, uint32_t plane);

/* ---- the plan of one group ---- */

/* The requirements of one member on the replay device. */
struct replay_alias_need {
    uint64_t offset; /* at capture */
    uint64_t bytes, alignment;
    uint32_t type_bits;
    enum replay_apart apart; /* in: REPLAY_TOGETHER, or the caller's reason; out: the decision */
    uint64_t place;          /* out, when together: the offset in the allocation */
};

/* The plan preserves the distances of members. Of two members that exclude each other the first in the list stays,
 * but the member with the largest alignment always stays. types: the allowed memory types. */
void replay_alias_plan(struct replay_alias_need *needs, size_t count, uint32_t types,
                       struct replay_alias_plan *out_plan);

#endif
