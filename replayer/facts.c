/* SPDX-License-Identifier: MIT */
#include "replayer/facts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "codegen/support/block.h"
#include "codegen/support/dictionary.h"
#include "replayer/alias.h"
#include "replayer/lifetime.h"
#include "trace/lives.h"

#define MAX_INDEX (UINT64_MAX - 2) /* maps have no keys beyond */
/* How much is looked through, which takes about half a second: bytes of packets, and what each packet costs besides. */
#define MOST_BYTES   ((uint64_t)256 << 20)
#define PACKET_BYTES 64u
#define READER_BYTES ((uint64_t)64 << 20) /* that may be kept of the file */
#define MOST_AHEAD   (UINT64_MAX / 2)
#define STEPS        256u /* of that: how much more is looked at when the replay has come closer */
#define PLANS        8u   /* of that: how much has been looked at when more objects get their places */

struct object {
    struct replay_object_facts facts;
    bool used;       /* the host does something with it */
    uint8_t shared;  /* planes that are bound as members of groups: a bit for each */
    uint64_t bytes;  /* of the memory that it is bound to alone */
    uint64_t device; /* 0: the one of which that is not noted */
};

/* Objects that share memory. */
struct group {
    uint64_t alive;                       /* members that are bound */
    uint64_t bytes;                       /* of all of them together */
    struct replay_expected_life expected; /* end 0: nothing is said */
};

struct mark {
    uint64_t ticket, bytes; /* looked at up to there */
};

/* In order, from `first` on. */
struct marks {
    struct mark *at;
    size_t first, count, capacity;
    uint64_t last, passed; /* bytes of the last one, and of the last one that the replay has passed */
};

struct scan {
    struct lap_reader *reader; /* NULL: there is no more to look at */
    uint64_t last_frame;
    struct lap_dictionary dictionary;
    struct lap_arena arena;
    struct lap_dec_source source;
    struct replay_facts *facts;
    uint64_t device; /* of which it is not noted that an object is on it: the only one, as a rule; 0: the next one */
    uint64_t moment; /* submits so far + 1 */
    uint64_t *fresh; /* updated since the last submit: index * 2 + kind */
    size_t count, capacity;
    bool *destructions; /* [number of the command in the file] */
    uint64_t ticket;    /* of the last packet */
    uint64_t bytes;     /* looked at so far */
    uint64_t planned;   /* of these: up to there objects have their cells */
    uint64_t ahead;     /* how much is looked at beyond the replay */
    struct marks marks;
    uint64_t updates; /* still to come, as the layer has counted; UINT64_MAX: not known */
    bool all;         /* checks and ends of objects are wanted, too */
    bool keeps;
};

struct replay_facts {
    struct lap_map objects[2]; /* struct object: [0] buffers, [1] images */
    uint64_t bytes, peak_bytes;
    const struct replay_aliases *aliases;
    struct group *groups; /* [number] */
    uint64_t kept_memory; /* the next buffer that is bound there lies where it lay; 0: none */
    struct replay_lifetimes *lifetimes;
    struct scan scan;
    bool cut;         /* looking failed: there is more */
    char damage[256]; /* why nobody knows of long lives, where the trace has some; or "" */
};

static unsigned kind_of(enum gen_handle_type type)
{
    return type == GEN_HANDLE_VkImage;
}

static const enum gen_handle_type types[] = {GEN_HANDLE_VkBuffer, GEN_HANDLE_VkImage};
static const uint32_t planes[REPLAY_ALIAS_PLANES] = {0, VK_IMAGE_ASPECT_PLANE_1_BIT, VK_IMAGE_ASPECT_PLANE_2_BIT};

static enum lap_status no_memory(void)
{
    return lap_fail(LAP_ERROR_MEMORY, "out of memory");
}

/* ---- the pass ---- */

static enum lap_status need_object(struct replay_facts *facts, unsigned kind, uint64_t index, struct object **out)
{
    struct object *object = lap_map_get(&facts->objects[kind], index);

    *out = object;
    if (object || index > MAX_INDEX)
        return LAP_OK;
    object = calloc(1, sizeof *object);
    if (!object || lap_map_put(&facts->objects[kind], index, object, NULL) != LAP_OK) {
        free(object);
        return no_memory();
    }
    *out = object;
    return LAP_OK;
}

static enum lap_status note_update(struct scan *scan, unsigned kind, uint64_t index)
{
    struct object *object;
    enum lap_status status = need_object(scan->facts, kind, index, &object);

    if (scan->updates && scan->updates != UINT64_MAX)
        scan->updates--;
    if (status != LAP_OK || !object)
        return status;
    object->used = true;
    if (object->facts.last == scan->moment)
        return LAP_OK;
    object->facts.last = scan->moment;
    object->facts.moments++;
    if (scan->count == scan->capacity) {
        size_t capacity = scan->capacity ? scan->capacity * 2 : 256;
        uint64_t *more = realloc(scan->fresh, capacity * sizeof *more);
        if (!more)
            return no_memory();
        scan->fresh = more;
        scan->capacity = capacity;
    }
    scan->fresh[scan->count++] = index << 1 | kind;
    return LAP_OK;
}

static enum lap_status note_check(struct scan *scan, unsigned kind, uint64_t index)
{
    struct object *object;
    enum lap_status status = need_object(scan->facts, kind, index, &object);

    if (status == LAP_OK && object)
        object->used = object->facts.checked = true;
    return status;
}

static bool add_bytes(struct replay_facts *facts, uint64_t bytes)
{
    if (bytes > UINT64_MAX / 4 - facts->bytes)
        return false;
    facts->bytes += bytes;
    if (facts->bytes > facts->peak_bytes)
        facts->peak_bytes = facts->bytes;
    return true;
}

/* A group has its memory from the first member to the last. */
static enum lap_status note_member(struct replay_facts *facts, uint64_t device, const struct replay_alias_group *shared,
                                   VkMemoryPropertyFlags property_flags, uint64_t ticket)
{
    struct group *group = &facts->groups[shared->number];

    if (group->alive++)
        return LAP_OK;
    group->bytes = replay_alias_group_bytes(shared);
    if (!add_bytes(facts, group->bytes))
        group->bytes = 0;
    return replay_lifetimes_bind(facts->lifetimes, device, REPLAY_LIFE_GROUP, shared->number, group->bytes,
                                 property_flags, ticket);
}

static enum lap_status note_members_end(struct replay_facts *facts, const struct object *object, unsigned kind,
                                        uint64_t index, uint64_t ticket)
{
    enum lap_status status = LAP_OK;

    for (unsigned plane = 0; plane < REPLAY_ALIAS_PLANES && status == LAP_OK; plane++) {
        const struct replay_alias_member *member;
        struct group *group;
        if (!(object->shared >> plane & 1))
            continue;
        member = replay_aliases_find(facts->aliases, types[kind], index, planes[plane]);
        group = &facts->groups[member->group->number];
        if (--group->alive)
            continue;
        facts->bytes -= group->bytes;
        status = replay_lifetimes_end(facts->lifetimes, REPLAY_LIFE_GROUP, member->group->number, ticket);
    }
    return status;
}

/* Which device an object is on only its creation tells. */
static enum lap_status note_create(struct scan *scan, unsigned kind, uint64_t index, uint64_t device)
{
    struct object *object;
    enum lap_status status = need_object(scan->facts, kind, index, &object);

    if (status == LAP_OK && object)
        object->device = device;
    return status;
}

static bool is_noted(struct scan *scan, uint64_t device)
{
    if (!scan->device)
        scan->device = device;
    return scan->device != device;
}

static enum lap_status note_bind(struct scan *scan, unsigned kind, uint64_t index, uint32_t plane, uint64_t bytes,
                                 VkMemoryPropertyFlags property_flags, uint64_t ticket)
{
    const struct replay_alias_member *member = replay_aliases_find(scan->facts->aliases, types[kind], index, plane);
    unsigned bit = 1u << replay_alias_plane(plane);
    struct replay_facts *facts = scan->facts;
    struct object *object;
    enum lap_status status = need_object(facts, kind, index, &object);
    uint64_t device;

    if (status != LAP_OK || !object)
        return status;
    device = object->device ? object->device : scan->device;
    if (member && object->shared & bit)
        return LAP_OK; /* a wrong trace */
    if (member) {
        object->shared |= bit;
        return note_member(facts, device, member->group, property_flags, ticket);
    }
    if (!add_bytes(facts, bytes))
        return LAP_OK;
    object->bytes += bytes;
    return replay_lifetimes_bind(facts->lifetimes, device, kind, index, bytes, property_flags, ticket);
}

/* What is known of an object that the host uses is kept: it is asked for in a later pass. */
static enum lap_status note_destroy(struct scan *scan, unsigned kind, uint64_t index, uint64_t ticket)
{
    struct object *object = index <= MAX_INDEX ? lap_map_get(&scan->facts->objects[kind], index) : NULL;

    enum lap_status status;

    if (!object)
        return LAP_OK;
    scan->facts->bytes -= object->bytes;
    object->bytes = 0;
    status = note_members_end(scan->facts, object, kind, index, ticket);
    object->shared = 0;
    if (!object->used)
        free(lap_map_remove(&scan->facts->objects[kind], index));
    return status == LAP_OK ? replay_lifetimes_end(scan->facts->lifetimes, kind, index, ticket) : status;
}

/* What was updated since the last submit may be for work that waits for the host already. */
static void note_signal(struct scan *scan)
{
    for (size_t i = 0; i < scan->count; i++) {
        struct object *object = lap_map_get(&scan->facts->objects[scan->fresh[i] & 1], scan->fresh[i] >> 1);
        if (object)
            object->facts.late = true;
    }
}

static enum lap_status scan_decoded(struct scan *scan, uint32_t command, const struct lap_packet *packet)
{
    struct lap_args args;
    struct lap_dec dec;

    lap_arena_reset(&scan->arena);
    lap_dec_init(&dec, packet->body, packet->bytes, &scan->arena, &scan->source);
    gen_decode_table[command](&dec, args.bytes);
    if (dec.status != LAP_OK)
        return LAP_OK; /* the replay itself will say it */
    switch (command) {
    case GEN_lapilliBindBuffer: {
        const struct gen_args_lapilliBindBuffer *bind = (void *)args.bytes;
        uint64_t kept = scan->facts->kept_memory;
        scan->facts->kept_memory = 0;
        if (kept && kept == gen_u64_VkDeviceMemory(bind->memory) &&
            !replay_aliases_find(scan->facts->aliases, GEN_HANDLE_VkBuffer, gen_u64_VkBuffer(bind->buffer), 0))
            return LAP_OK;
        return note_bind(scan, 0, gen_u64_VkBuffer(bind->buffer), 0, bind->size, bind->propertyFlags, packet->ticket);
    }
    case GEN_lapilliBindImage: {
        const struct gen_args_lapilliBindImage *bind = (void *)args.bytes;
        return note_bind(scan, 1, gen_u64_VkImage(bind->image), bind->planeAspect, bind->swapchain ? 0 : bind->size,
                         bind->propertyFlags, packet->ticket);
    }
    case GEN_lapilliCaptureMemory:
        scan->facts->kept_memory =
            scan->keeps ? gen_u64_VkDeviceMemory(((struct gen_args_lapilliCaptureMemory *)(void *)args.bytes)->memory)
                        : 0;
        return LAP_OK;
    case GEN_vkCreateBuffer: {
        const struct gen_args_vkCreateBuffer *create = (void *)args.bytes;
        return create->pBuffer
                   ? note_create(scan, 0, gen_u64_VkBuffer(*create->pBuffer), gen_u64_VkDevice(create->device))
                   : LAP_OK;
    }
    case GEN_vkCreateImage: {
        const struct gen_args_vkCreateImage *create = (void *)args.bytes;
        return create->pImage ? note_create(scan, 1, gen_u64_VkImage(*create->pImage), gen_u64_VkDevice(create->device))
                              : LAP_OK;
    }
    case GEN_vkDestroyBuffer:
        return note_destroy(scan, 0, gen_u64_VkBuffer(((struct gen_args_vkDestroyBuffer *)(void *)args.bytes)->buffer),
                            packet->ticket);
    default:
        return note_destroy(scan, 1, gen_u64_VkImage(((struct gen_args_vkDestroyImage *)(void *)args.bytes)->image),
                            packet->ticket);
    }
}

static enum lap_status scan_packet(struct scan *scan, const struct lap_packet *packet)
{
    uint32_t command = lap_dictionary_command(&scan->dictionary, packet->command);
    struct lap_dec dec;

    if (!scan->destructions[packet->command]) {
        enum lap_status status = replay_lifetimes_use(scan->facts->lifetimes);
        if (status != LAP_OK)
            return status;
    }
    if (packet->flags & LAP_PACKET_FAILED)
        return LAP_OK;
    /* These packets begin with their object. */
    lap_dec_init(&dec, packet->body, packet->bytes, &scan->arena, &scan->source);
    switch (command) {
    case GEN_lapilliUpdateBuffer:
    case GEN_lapilliUpdateBufferSpans:
        return note_update(scan, 0, lap_get_handle(&dec, GEN_HANDLE_VkBuffer));
    case GEN_lapilliUpdateImage:
    case GEN_lapilliUpdateImageSpans:
        return note_update(scan, 1, lap_get_handle(&dec, GEN_HANDLE_VkImage));
    case GEN_lapilliCheckBuffer:
        return note_check(scan, 0, lap_get_handle(&dec, GEN_HANDLE_VkBuffer));
    case GEN_lapilliCheckImage:
    case GEN_lapilliCheckTexels:
        return note_check(scan, 1, lap_get_handle(&dec, GEN_HANDLE_VkImage));
    case GEN_vkQueueSubmit:
    case GEN_vkQueueSubmit2:
        scan->moment++;
        scan->count = 0;
        return LAP_OK;
    case GEN_vkSetEvent:
    case GEN_vkSignalSemaphore:
        note_signal(scan);
        return LAP_OK;
    case GEN_vkCreateBuffer:
    case GEN_vkCreateImage:
        return is_noted(scan, lap_get_handle(&dec, GEN_HANDLE_VkDevice)) ? scan_decoded(scan, command, packet) : LAP_OK;
    case GEN_vkDestroyDevice:
        if (lap_get_handle(&dec, GEN_HANDLE_VkDevice) == scan->device)
            scan->device = 0;
        return LAP_OK;
    case GEN_lapilliBindBuffer:
    case GEN_lapilliBindImage:
    case GEN_lapilliCaptureMemory:
    case GEN_vkDestroyBuffer:
    case GEN_vkDestroyImage:
        return scan_decoded(scan, command, packet);
    default:
        return LAP_OK;
    }
}

static void close_scan(struct scan *scan)
{
    if (!scan->reader)
        return;
    free(scan->fresh);
    free(scan->marks.at);
    scan->marks = (struct marks){0};
    free(scan->destructions);
    lap_dictionary_release(&scan->dictionary);
    lap_arena_finish(&scan->arena);
    lap_reader_close(&scan->reader);
}

/* A layer that has counted binds has counted updates; what ended early has more than its last frame counted. */
static uint64_t updates_of(const struct lap_reader_summary *summary)
{
    return summary->complete && summary->counters[LAP_COUNTER_BINDS] ? summary->counters[LAP_COUNTER_UPDATES]
                                                                     : UINT64_MAX;
}

/* What is still to come changes nothing of what is wanted: there are no more updates, and the submit behind the last
 * one has been seen. */
static bool is_settled(const struct scan *scan)
{
    return !scan->all && scan->updates == 0 && scan->count == 0;
}

static enum lap_status open_scan(struct scan *scan, const struct lap_reader *trace)
{
    const struct lap_reader_options options = {.memory_limit_bytes = READER_BYTES};
    enum lap_status status = lap_reader_open_again(trace, &options, &scan->reader);
    uint32_t commands;

    if (status != LAP_OK)
        return status;
    lap_arena_init(&scan->arena, (size_t)1 << 24);
    status = lap_dictionary_init(&scan->dictionary, scan->reader);
    if (status != LAP_OK)
        return status;
    scan->source = lap_dictionary_source(&scan->dictionary);
    scan->updates = updates_of(lap_reader_summary(scan->reader));
    commands = lap_reader_command_count(scan->reader);
    scan->destructions = calloc((size_t)commands + 1, sizeof *scan->destructions);
    if (!scan->destructions)
        return no_memory();
    for (uint32_t i = 0; i < commands; i++)
        scan->destructions[i] = replay_is_destruction(lap_reader_command_name(scan->reader, i));
    return LAP_OK;
}

/* A group is expected from its first member's beginning to its last one's end. False: it is no member. */
static bool expect_of_groups(struct replay_facts *facts, const struct replay_expected_life *life)
{
    bool any = false;

    for (unsigned plane = 0; plane < REPLAY_ALIAS_PLANES; plane++) {
        const struct replay_alias_member *member =
            replay_aliases_find(facts->aliases, types[life->kind], life->index, planes[plane]);
        struct replay_expected_life *expected = member ? &facts->groups[member->group->number].expected : NULL;
        if (!expected)
            continue;
        any = true;
        if (!expected->end) {
            *expected = *life;
            expected->kind = REPLAY_LIFE_GROUP;
            expected->index = member->group->number;
            expected->bytes = replay_alias_group_bytes(member->group);
        }
        expected->begin = life->begin < expected->begin ? life->begin : expected->begin;
        expected->end = life->end > expected->end ? life->end : expected->end;
    }
    return any;
}

static enum lap_status expect_life(struct scan *scan, const struct lap_long_life *life)
{
    uint32_t type = lap_dictionary_handle_type(&scan->dictionary, life->handle_type);
    const struct replay_expected_life expected = {.device = life->device ? life->device : 1,
                                                  .kind = type == GEN_HANDLE_VkImage,
                                                  .property_flags = life->memory_flags,
                                                  .index = life->index,
                                                  .bytes = life->bytes,
                                                  .begin = life->begin,
                                                  .end = life->end};

    if ((type != GEN_HANDLE_VkBuffer && type != GEN_HANDLE_VkImage) || expect_of_groups(scan->facts, &expected) ||
        (scan->keeps && life->memory_flags & LAP_LIFE_HAS_ADDRESS))
        return LAP_OK;
    return replay_lifetimes_expect(scan->facts->lifetimes, &expected);
}

/* What the trace says of objects that live for longer than is looked ahead, and begin in what is played. Without it, or
 * where it is damaged, nobody knows when these end. */
static enum lap_status expect_lives(struct scan *scan)
{
    uint64_t end = scan->last_frame ? lap_reader_frame_end(scan->reader, scan->last_frame - 1) : UINT64_MAX;
    struct lap_lives_reader lives;
    struct lap_long_life life;
    enum lap_status status = lap_reader_lives(scan->reader, &lives);

    while (status == LAP_OK && (status = lap_lives_next(&lives, &life)) == LAP_OK) {
        if (life.begin <= end)
            status = expect_life(scan, &life);
        if (status != LAP_OK)
            return status;
    }
    for (uint64_t i = 0; i < replay_aliases_group_count(scan->facts->aliases); i++)
        if (scan->facts->groups[i + 1].expected.end) {
            enum lap_status added =
                replay_lifetimes_expect(scan->facts->lifetimes, &scan->facts->groups[i + 1].expected);
            if (added != LAP_OK)
                return added;
        }
    if (status == LAP_ERROR_FORMAT)
        snprintf(scan->facts->damage, sizeof scan->facts->damage, "%s", lap_error_message());
    return status == LAP_END || status == LAP_ERROR_FORMAT ? LAP_OK : status;
}

/* What was looked at up to a ticket, or a step less. The replay does not go back. */
static uint64_t bytes_at(struct scan *scan, uint64_t ticket)
{
    struct marks *marks = &scan->marks;

    while (marks->first < marks->count && marks->at[marks->first].ticket <= ticket)
        marks->passed = marks->at[marks->first++].bytes;
    return marks->passed;
}

/* One for each step of what is looked at and the replay has not come to. */
static enum lap_status add_mark(struct scan *scan)
{
    struct marks *marks = &scan->marks;

    if (scan->bytes - marks->last < scan->ahead / STEPS)
        return LAP_OK;
    if (marks->first > marks->capacity / 2) {
        marks->count -= marks->first;
        memmove(marks->at, marks->at + marks->first, marks->count * sizeof *marks->at);
        marks->first = 0;
    }
    if (marks->count == marks->capacity) {
        size_t capacity = marks->capacity ? marks->capacity * 2 : 2 * STEPS;
        struct mark *more = realloc(marks->at, capacity * sizeof *more);
        if (!more)
            return no_memory();
        marks->at = more;
        marks->capacity = capacity;
    }
    marks->at[marks->count++] = (struct mark){scan->ticket, scan->bytes};
    marks->last = scan->bytes;
    return LAP_OK;
}

/* So many bytes of packets beyond the ticket at which the replay is. A damaged trace is known as far as it is played.
 */
static enum lap_status look(struct scan *scan, uint64_t now, uint64_t bytes)
{
    enum lap_status status = LAP_OK;
    struct lap_packet packet;

    while (status == LAP_OK && !is_settled(scan) && (scan->ticket < now || scan->bytes - bytes_at(scan, now) < bytes)) {
        status = lap_reader_next(scan->reader, &packet);
        if (status == LAP_OK && scan->last_frame && packet.frame >= scan->last_frame)
            status = LAP_END;
        if (status != LAP_OK)
            break;
        scan->ticket = packet.ticket;
        scan->bytes += packet.bytes + PACKET_BYTES;
        status = scan_packet(scan, &packet);
        if (status == LAP_OK)
            status = add_mark(scan);
    }
    if (status == LAP_END || status == LAP_ERROR_FORMAT) {
        close_scan(scan);
        status = LAP_OK;
    }
    if (status != LAP_OK || (scan->reader && (is_settled(scan) || scan->bytes - scan->planned < scan->ahead / PLANS)))
        return status;
    scan->planned = scan->bytes;
    return replay_lifetimes_seal(scan->facts->lifetimes, !scan->reader, now);
}

enum lap_status replay_facts_find(const struct lap_reader *trace, const struct replay_facts_options *options,
                                  struct replay_facts **out)
{
    struct replay_facts *facts = calloc(1, sizeof *facts);
    enum lap_status status;

    *out = facts;
    if (!facts)
        return no_memory();
    lap_map_init(&facts->objects[0]);
    lap_map_init(&facts->objects[1]);
    facts->scan = (struct scan){.facts = facts,
                                .last_frame = options->last_frame,
                                .device = 1,
                                .moment = 1,
                                .all = options->all,
                                .ahead = options->most_bytes < MOST_AHEAD ? options->most_bytes : MOST_AHEAD,
                                .keeps = options->keeps};
    facts->aliases = options->aliases;
    facts->groups = calloc(replay_aliases_group_count(options->aliases) + 1, sizeof *facts->groups);
    status = facts->groups ? replay_lifetimes_create(options->limit, &facts->lifetimes) : no_memory();
    if (status == LAP_OK)
        status = open_scan(&facts->scan, trace);
    if (status == LAP_OK)
        status = expect_lives(&facts->scan);
    if (status == LAP_OK)
        status = look(&facts->scan, options->now, facts->scan.ahead);
    if (status != LAP_OK)
        replay_facts_destroy(out);
    return status;
}

enum lap_status replay_facts_go_on(struct replay_facts *facts, uint64_t ticket)
{
    struct scan *scan = &facts->scan;
    enum lap_status status;

    if (!scan->reader || is_settled(scan) ||
        (ticket <= scan->ticket && scan->bytes - bytes_at(scan, ticket) >= scan->ahead))
        return LAP_OK;
    status = look(scan, ticket, scan->ahead + scan->ahead / STEPS);
    if (status != LAP_OK)
        facts->cut = true; /* what is known stays */
    if (facts->cut)
        close_scan(scan);
    return status;
}

enum lap_status replay_facts_want_all(struct replay_facts *facts, uint64_t now)
{
    struct scan *scan = &facts->scan;
    bool settled = scan->reader && is_settled(scan);
    enum lap_status status;

    scan->all = true;
    if (!settled)
        return LAP_OK;
    status = look(scan, now, scan->ahead);
    if (status != LAP_OK) {
        facts->cut = true;
        close_scan(scan);
    }
    return status;
}

static void free_object(void *user, uint64_t key, void *object)
{
    free(object);
}

void replay_facts_destroy(struct replay_facts **facts)
{
    for (unsigned kind = 0; *facts && kind < 2; kind++) {
        lap_map_each(&(*facts)->objects[kind], free_object, NULL);
        lap_map_finish(&(*facts)->objects[kind]);
    }
    if (*facts) {
        close_scan(&(*facts)->scan);
        replay_lifetimes_destroy(&(*facts)->lifetimes);
        free((*facts)->groups);
    }
    free(*facts);
    *facts = NULL;
}

/* ---- what follows from it ---- */

bool replay_facts_have(const struct replay_facts *facts, enum gen_handle_type type, uint64_t index)
{
    if (facts->scan.reader ? is_settled(&facts->scan) : !facts->cut)
        return true;
    return replay_lifetimes_has_ended(facts->lifetimes, kind_of(type), index);
}

const struct replay_object_facts *replay_facts_of(const struct replay_facts *facts, enum gen_handle_type type,
                                                  uint64_t index)
{
    const struct object *object = index <= MAX_INDEX ? lap_map_get(&facts->objects[kind_of(type)], index) : NULL;
    return object && object->used ? &object->facts : NULL;
}

uint64_t replay_facts_peak_bytes(const struct replay_facts *facts)
{
    return facts->peak_bytes;
}

/* NULL where they can't be had: then every object lies as the program asked. all: more than what the host writes. */
static const struct replay_facts *need_facts(struct replay *r, bool all)
{
    struct replay_facts_options options = {
        .last_frame = r->options.last_frame,
        .most_bytes = MOST_BYTES,
        .now = r->packet.ticket,
        .limit = r->most_allocations ? r->most_allocations : REPLAY_MOST_ALLOCATIONS,
        .aliases = r->aliases,
    };
    enum lap_status status = LAP_OK;

    all = all || r->options.verify;
    if (r->facts)
        status = replay_facts_go_on(r->facts, r->packet.ticket);
    if (r->facts && all && status == LAP_OK)
        status = replay_facts_want_all(r->facts, r->packet.ticket);
    if (status != LAP_OK)
        lap_log(r->log, LAP_LOG_WARNING, "what becomes of later objects is not known: %s", lap_error_message());
    if (!r->asked_facts && r->reader && !r->report) {
        r->asked_facts = true;
        options.all = all;
        for (const struct replay_device *dev = r->devices; dev; dev = dev->next)
            options.keeps |= dev->kept.active;
        if (replay_facts_find(r->reader, &options, &r->facts) != LAP_OK)
            lap_log(r->log, LAP_LOG_WARNING, "what the host does with each object is not known: %s",
                    lap_error_message());
        else if (r->facts->damage[0])
            lap_log(r->log, LAP_LOG_WARNING, "when objects end that live for long is not known: %s", r->facts->damage);
    }
    if (r->facts && all)
        r->lifetimes = r->facts->lifetimes;
    return r->facts;
}

const struct replay_lifetimes *replay_lifetimes_find(struct replay *r)
{
    need_facts(r, true);
    return r->lifetimes;
}

uint64_t replay_peak_at_capture(struct replay *r)
{
    const struct replay_facts *facts = need_facts(r, true);
    return facts ? replay_facts_peak_bytes(facts) : 0;
}

/* Whether the device has memory of its own, which the host sees (`both`) or does not see. */
static bool has_type(const struct replay_device *dev, bool both)
{
    const VkMemoryPropertyFlags mask = VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT | VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT |
                                       VK_MEMORY_PROPERTY_PROTECTED_BIT | VK_MEMORY_PROPERTY_LAZILY_ALLOCATED_BIT;
    VkMemoryPropertyFlags flags =
        VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT | (both ? VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT : 0);

    for (uint32_t i = 0; i < dev->instance->memory.memoryTypeCount; i++)
        if ((dev->instance->memory.memoryTypes[i].propertyFlags & mask) == flags)
            return true;
    return false;
}

VkMemoryPropertyFlags replay_facts_wanted(struct replay *r, const struct replay_device *dev, enum gen_handle_type type,
                                          uint64_t index, VkMemoryPropertyFlags asked)
{
    const VkMemoryPropertyFlags of_host =
        VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT | VK_MEMORY_PROPERTY_HOST_CACHED_BIT;
    VkMemoryPropertyFlags hidden = (asked & ~of_host) | VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT;
    const struct replay_object_facts *host;
    const struct replay_facts *facts;

    /* Images that the host sees are linear ones: rare, and made for the host. */
    if (type != GEN_HANDLE_VkBuffer || !(asked & VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT) || !has_type(dev, false))
        return asked;
    facts = need_facts(r, false);
    if (!facts || !replay_facts_have(facts, type, index))
        return asked;
    host = replay_facts_of(facts, type, index);
    if (!host)
        return hidden;
    /* Written once, for the device, by a program whose device memory the host could see: through staging where this
     * device has no such memory. */
    if (!host->checked && !host->late && host->moments == 1 && asked & VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT &&
        !has_type(dev, true))
        return hidden;
    return asked;
}
