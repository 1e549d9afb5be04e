/* SPDX-License-Identifier: MIT */
/*
 * alias: which objects of a trace share memory, found before the trace is played, and how those of one group can lie in
 * one allocation of this host. Makes no Vulkan calls (group.c does).
 *
 * A bind packet tells where in which memory of the program an object lies; memories that have bytes in common lie in
 * one space (lapilliSharedMemory). Objects that overlap while all of them are alive form a group; objects that follow
 * one another in the same bytes don't. Two kinds are kept apart, because contents never pass from one to the other
 * (Vulkan specification, "Memory Aliasing"):
 *   - bytes: buffers and linear images. What is written through one is read through the other, byte by byte, so their
 *     distances are kept.
 *   - opaque: images of optimal tiling that were made to alias (VK_IMAGE_CREATE_ALIAS_BIT), at the same offset.
 * Everything else (an optimal image and a buffer, say) only takes turns in the memory and gets memory of its own.
 *
 * Costs O(log n) a packet and memory for the objects that are alive; what is kept for longer is the members of groups,
 * and their create infos once for all objects that were created alike. One thread.
 */
#ifndef LAP_REPLAYER_ALIAS_H
#define LAP_REPLAYER_ALIAS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "base/tree.h"
#include "gen_ids.h"

#define REPLAY_ALIAS_PLANES 3

/* What an object needs on this host (group.c). */
struct replay_alias_answer {
    const void *device; /* NULL: not asked yet, or there is no such object */
    uint64_t bytes, alignment, layout;
    uint32_t type_bits;
    bool alone; /* it must have memory of its own */
};

/* A create info as it is encoded in the trace; objects that were created alike have the same one. */
struct replay_creation {
    uint64_t hash;
    uint64_t users;
    struct replay_alias_answer answers[REPLAY_ALIAS_PLANES]; /* [replay_alias_plane()] */
    size_t bytes;
    uint8_t data[];
};

/* Why a member can't lie with the others. */
enum replay_apart {
    REPLAY_TOGETHER,
    REPLAY_APART_DEDICATED, /* the driver wants it alone */
    REPLAY_APART_LAYOUT,    /* a linear image whose rows lie differently here */
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
struct replay_shared;

struct replay_alias_member {
    enum gen_handle_type type; /* VkBuffer or VkImage */
    uint64_t index;
    uint32_t plane;         /* VkImageAspectFlagBits of a disjoint image, or 0 */
    uint64_t offset, bytes; /* in the memory of the program, or in the space that it shares with others */
    uint64_t layout;        /* linear images: lap_layout_hash of the recorded machine */
    struct replay_creation *creation;
    struct replay_alias_group *group;
    struct replay_alias_member *next; /* in the group */
    /* group.c, from the group's plan: */
    uint64_t place; /* in the group's allocation */
    enum replay_apart apart;
};

struct replay_alias_group {
    uint64_t number; /* from 1; once the trace has been looked through */
    struct replay_alias_member *first, *last;
    uint64_t count; /* of members: two or more once the trace has been looked through */
    bool opaque;
    bool has_planes; /* planes of disjoint images are among them */
    /* While the trace is looked through: the bytes that are shared now. */
    struct lap_tree_node node;
    struct replay_alias_space *space;
    uint64_t alive;
    uintptr_t alive_xor; /* of the addresses of members that are alive: the last one's when only one is */
    struct replay_alias_group *next, *previous;
    /* group.c: */
    const void *device; /* that it was planned for; NULL: not yet */
    struct replay_alias_plan plan;
    struct replay_shared *shared; /* the allocation, while a member has its place there */
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

/* ---- looking through a trace, in ticket order. LAP_ERROR_MEMORY leaves what there is as it was. ---- */

/* An object of the bytes or of the opaque kind, and its encoded create info, which is copied. */
enum lap_status replay_aliases_add(struct replay_aliases *aliases, enum gen_handle_type type, uint64_t index,
                                   bool opaque, const void *creation, size_t bytes) LAP_MUST_CHECK;
/* Memories of one space are one: `memory` begins at `offset` of it. Before anything is bound there. */
enum lap_status replay_aliases_share(struct replay_aliases *aliases, uint64_t memory, uint64_t space,
                                     uint64_t offset) LAP_MUST_CHECK;
/* The memory was freed: its index does not come back. */
void replay_aliases_unshare(struct replay_aliases *aliases, uint64_t memory);
/* Objects that were not added, and ranges that are none, are passed over. */
enum lap_status replay_aliases_bind(struct replay_aliases *aliases,
                                    const struct replay_alias_bind *bind) LAP_MUST_CHECK;
void replay_aliases_remove(struct replay_aliases *aliases, enum gen_handle_type type, uint64_t index);
/* At the end: drops all that is in no group. */
enum lap_status replay_aliases_seal(struct replay_aliases *aliases) LAP_MUST_CHECK;

/* ---- afterwards ---- */

/* 0 for what is no plane of a disjoint image, and for its first one. */
unsigned replay_alias_plane(uint32_t plane);
/* NULL: the object shares nothing. */
struct replay_alias_member *replay_aliases_find(const struct replay_aliases *aliases, enum gen_handle_type type,
                                                uint64_t index, uint32_t plane);
/* What the group took when it was recorded, from its first byte to its last. */
uint64_t replay_alias_group_bytes(const struct replay_alias_group *group);
uint64_t replay_aliases_group_count(const struct replay_aliases *aliases);

/* ---- the plan of one group ---- */

/* What one member needs on this host. */
struct replay_alias_need {
    uint64_t offset; /* at capture */
    uint64_t bytes, alignment;
    uint32_t type_bits;
    enum replay_apart apart; /* in: REPLAY_TOGETHER, or a reason that the caller knows; out: the verdict */
    uint64_t place;          /* out, when together: where in the allocation */
};

/* Members keep their distances. Of two that exclude each other the one that is listed first stays, but for the one that
 * needs the largest alignment, by which all others are measured. types: the memory types that may be used at all. */
void replay_alias_plan(struct replay_alias_need *needs, size_t count, uint32_t types,
                       struct replay_alias_plan *out_plan);

#endif
