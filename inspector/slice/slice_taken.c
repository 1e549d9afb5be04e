/* SPDX-License-Identifier: MIT */
/* Finds the contents that the part reads and a replay can give where the part begins: the work that made them then does
 * not stay. A tree of objects that share contents is taken as a whole, or stays as a whole. */
#include <stdlib.h>

#include "inspector/slice/slice_internal.h"
#include "vulkan/texel/texels.h"

#define SEVERAL      UINT32_MAX
#define MOST_QUERIES (1u << 16) /* of a pool */

enum judgement { UNSEEN, GOOD, BAD };

struct look {      /* [root] */
    bool *written; /* by work before the part */
    uint8_t *judgement;
    bool *crowded;    /* an image lies over something else, both alive */
    uint32_t *queues; /* objects: where they are written; SEVERAL */
    bool *touched;    /* [object]: itself, by work or by the host */
    bool everything;  /* any may be written */
};

static void no_memory(struct slice *s)
{
    slice_fail(s, lap_fail(LAP_ERROR_MEMORY, "out of memory"));
}

enum lap_status slice_begin_taking(struct slice *s, const struct contents_file *file)
{
    s->taking = calloc(1, sizeof *s->taking);
    if (s->taking && (s->taking->layouts = image_layouts_create())) {
        s->taking->file = file;
        return LAP_OK;
    }
    return lap_fail(LAP_ERROR_MEMORY, "out of memory");
}

void slice_end_taking(struct slice *s)
{
    if (!s->taking)
        return;
    image_layouts_destroy(s->taking->layouts);
    contents_finish(&s->taking->list);
    free(s->taking->is_taken);
    free(s->taking);
    s->taking = NULL;
}

/* ---- writes before the part ---- */

static void note_written(struct slice *s, struct look *look, struct slice_run contents)
{
    for (uint32_t i = 0; i < contents.count; i++)
        look->written[slice_root(s, s->ids.at[contents.from + i])] = look->touched[s->ids.at[contents.from + i]] = true;
}

static void note_queue(struct look *look, uint32_t root, uint32_t queue)
{
    look->written[root] = true;
    look->queues[root] = !look->queues[root] || look->queues[root] == queue ? queue : SEVERAL;
}

static void note_steps(struct slice *s, struct look *look, const uint64_t *steps, size_t count, uint32_t queue)
{
    for (size_t i = 0; i < count; i++) {
        const uint32_t number = (uint32_t)slice_step_number(steps[i]);
        const struct slice_set *set = NULL;
        switch (slice_step_kind(steps[i])) {
        case SLICE_CHANGE:
        case SLICE_REPLACE:
        case SLICE_CLEAR:
        case SLICE_LAYOUT:
            look->touched[number] = true;
            note_queue(look, slice_root(s, number), queue);
            break;
        case SLICE_SET:
            set = slice_set_of(s, number);
            break;
        case SLICE_ADDRESSES:
            look->written[slice_root(s, 0)] = true;
            break;
        case SLICE_EVERYTHING:
            look->everything = true;
            break;
        default:
            break;
        }
        for (size_t k = 0; set && set->changing && k < set->count; k++)
            if (set->slots[k].access == SLICE_CHANGE)
                note_written(s, look, s->objects[set->slots[k].object].contents);
    }
}

static uint32_t queue_of(const struct slice *s, const struct slice_packet *p)
{
    for (uint32_t i = 0; i < p->names.count; i++)
        if (s->objects[s->ids.at[p->names.from + i]].type == GEN_HANDLE_VkQueue)
            return s->ids.at[p->names.from + i];
    return SEVERAL;
}

/* A copy from an image to another one, by the host. Data from host memory is in the trace. */
static bool is_copy(const struct slice *s, const struct slice_packet *p)
{
    for (uint32_t k = 0; p->kind == SLICE_ACCESSES && k < p->steps.count; k++)
        if (slice_step_kind(s->steps.at[p->steps.from + k]) == SLICE_READ)
            return true;
    return false;
}

/* Their data is in the trace, so they need no replay. */
static void note_host_writes(const struct slice *s, struct look *look, const struct slice_packet *p)
{
    const uint32_t count = p->kind == SLICE_ACCESSES ? p->steps.count : p->kind == SLICE_WRITES && p->steps.count;

    for (uint32_t k = 0; k < count; k++) {
        const uint64_t number = slice_step_number(s->steps.at[p->steps.from + k]);
        if (number < s->object_count)
            look->touched[number] = true;
    }
}

/* Sets have their state at each submit during the walk, and their earlier state after it. */
static void find_written(struct slice *s, struct look *look)
{
    for (uint64_t i = s->first; i-- > 1;) {
        const struct slice_packet *p = &s->packets[i];
        if (p->kind == SLICE_DESCRIBES)
            slice_unwrite(s, p->subjects);
        note_host_writes(s, look, p);
        if (is_copy(s, p))
            note_steps(s, look, s->steps.at + p->steps.from, p->steps.count, SEVERAL);
        for (uint32_t k = 0; p->kind == SLICE_SUBMIT && k < p->steps.count; k++) {
            size_t count;
            const uint64_t *steps =
                slice_expand(s, (uint32_t)slice_step_number(s->steps.at[p->steps.from + k]), &count);
            note_steps(s, look, steps, count, queue_of(s, p));
        }
    }
    for (uint64_t i = 1; i < s->first; i++)
        if (s->packets[i].kind == SLICE_DESCRIBES)
            slice_rewrite(s, s->packets[i].subjects);
}

/* ---- readable contents ---- */

static bool is_alive(const struct slice *s, const struct slice_object *o)
{
    return o->maker && o->maker < s->first && (!o->destroyer || o->destroyer >= s->first);
}

static bool is_defined(VkImageLayout layout)
{
    return layout != VK_IMAGE_LAYOUT_UNDEFINED && layout != VK_IMAGE_LAYOUT_PREINITIALIZED;
}

/* All aspects of each subresource have one layout and one owner, or the subresource has no contents. */
static bool can_read_subresources(const struct image_layout *image)
{
    bool any = false;

    for (uint32_t layer = 0; layer < image->info.arrayLayers; layer++)
        for (uint32_t level = 0; level < image->info.mipLevels; level++) {
            const VkImageLayout all = image_layout_of_all(image, level, layer);
            for (VkImageAspectFlags left = image->aspects; left; left &= left - 1) {
                struct image_subresource one = image_layout_of(image, left & -left, level, layer);
                if (one.between || one.layout == VK_IMAGE_LAYOUT_PREINITIALIZED ||
                    (is_defined(one.layout) && one.layout != all))
                    return false;
                any |= is_defined(one.layout);
            }
        }
    return any;
}

static bool can_read_image(const struct image_layouts *layouts, const struct image_layout *image)
{
    const VkImageCreateFlags never =
        VK_IMAGE_CREATE_SPARSE_BINDING_BIT | VK_IMAGE_CREATE_PROTECTED_BIT | VK_IMAGE_CREATE_DISJOINT_BIT;

    return image && image->info.samples == VK_SAMPLE_COUNT_1_BIT && !(image->info.flags & never) &&
           !(image->info.usage & VK_IMAGE_USAGE_TRANSIENT_ATTACHMENT_BIT) &&
           image->info.tiling != VK_IMAGE_TILING_DRM_FORMAT_MODIFIER_EXT && image_layouts_queue(layouts, image) &&
           can_read_subresources(image);
}

/* Queries can be made available again, with other results. Only the host may use the results. */
static bool can_make_available(const struct slice_object *o, uint32_t queue)
{
    if (o->opaque || !o->bytes || o->bytes > MOST_QUERIES || !queue || queue == SEVERAL)
        return false;
    switch ((int)o->queries) {
    case VK_QUERY_TYPE_OCCLUSION:
    case VK_QUERY_TYPE_PIPELINE_STATISTICS:
    case VK_QUERY_TYPE_TIMESTAMP:
        return true;
    default:
        return false;
    }
}

/* Where only the layout is needed, it comes with the contents. */
static void want_laid(struct slice *s, const struct look *look)
{
    for (uint32_t id = 0; id < s->object_count; id++)
        if (s->objects[id].laid && (look->written[id] || look->everything))
            s->objects[id].wanted = true;
}

/* Buffers that overlap hold the same bytes, and can be written one after the other. Images can't. */
static void find_crowded(struct slice *s, struct look *look)
{
    const struct slice_place *far = NULL, *image = NULL; /* those that reach the farthest */

    for (size_t i = 0; i < s->place_count; i++) {
        const struct slice_place *at = &s->places[i];
        const bool is_image = s->objects[at->object].type == GEN_HANDLE_VkImage;
        if (!is_alive(s, &s->objects[at->object]))
            continue;
        if (far && far->memory != at->memory)
            far = image = NULL;
        if ((image && at->from < image->to) || (is_image && far && at->from < far->to))
            look->crowded[slice_root(s, at->object)] = true;
        if (!far || at->to > far->to)
            far = at;
        if (is_image && (!image || at->to > image->to))
            image = at;
    }
}

static void judge(struct slice *s, struct look *look)
{
    for (uint32_t id = 1; id < s->object_count; id++) {
        const struct slice_object *o = &s->objects[id];
        const uint32_t root = slice_root(s, id);
        bool good = o->placed;
        if (gen_handle_contents[o->type] != GEN_CONTENTS_HELD && o->type != GEN_HANDLE_VkDeviceMemory)
            continue;
        if (!s->objects[root].wanted || !is_alive(s, o))
            continue;
        switch (o->type) {
        case GEN_HANDLE_VkImage:
            good &= (!look->touched[id] && !look->everything) || /* it holds nothing yet */
                    can_read_image(s->taking->layouts, image_layouts_find(s->taking->layouts, o->index));
            good &= !o->presented || !s->objects[root].shared;
            break;
        case GEN_HANDLE_VkBuffer:
            good &= !o->opaque && o->bytes;
            break;
        case GEN_HANDLE_VkQueryPool:
            good = can_make_available(o, look->queues[root]);
            break;
        default:
            good = false;
            break;
        }
        if (look->judgement[root] != BAD)
            look->judgement[root] = good && !look->crowded[root] ? GOOD : BAD;
    }
    for (uint32_t id = 0; id < s->object_count; id++)
        if (slice_root(s, id) == id && s->objects[id].wanted && (look->written[id] || look->everything))
            s->taking->wanted += look->judgement[id] != UNSEEN;
}

/* ---- the list ---- */

static void add(struct slice *s, const struct content *content)
{
    if (contents_add(&s->taking->list, content) != LAP_OK)
        slice_fail(s, LAP_ERROR_MEMORY);
}

static void list_image(struct slice *s, const struct slice_object *o)
{
    const struct image_layout *image = image_layouts_find(s->taking->layouts, o->index);

    for (uint32_t layer = 0; image && layer < image->info.arrayLayers; layer++)
        for (uint32_t level = 0; level < image->info.mipLevels; level++) {
            const VkImageLayout layout = image_layout_of_all(image, level, layer);
            for (VkImageAspectFlags left = is_defined(layout) ? image->aspects : 0; left; left &= left - 1)
                add(s, &(struct content){.kind = CONTENT_IMAGE,
                                         .index = o->index,
                                         .aspect = left & -left,
                                         .level = level,
                                         .layer = layer,
                                         .layout = layout,
                                         .queue = image_layouts_queue(s->taking->layouts, image)});
        }
}

/* The bytes that the file must have for a line. */
static uint64_t bytes_of(const struct slice *s, const struct content *content)
{
    struct lap_texels texels;

    if (content->kind != CONTENT_IMAGE)
        return content->bytes;
    if (!lap_texels_describe(&image_layouts_find(s->taking->layouts, content->index)->info, content->aspect,
                             content->level, content->layer, &texels))
        return UINT64_MAX;
    return texels.rows * texels.row_bytes;
}

/* Of an object in a root that is taken. lines: [object]: its first line, [object + 1]: the one behind its last. */
static bool was_read(const struct slice *s, uint32_t id, size_t from, size_t to)
{
    for (size_t line = from; line < to; line++)
        if (s->taking->file &&
            !contents_has(s->taking->file, line, s->objects[id].index, bytes_of(s, &s->taking->list.at[line])))
            return false;
    return true;
}

static bool is_listed(const struct slice *s, const struct look *look, uint32_t id, uint32_t root)
{
    const uint32_t type = s->objects[id].type;

    return (type == GEN_HANDLE_VkImage || type == GEN_HANDLE_VkBuffer || type == GEN_HANDLE_VkQueryPool) &&
           s->objects[root].wanted && look->judgement[root] != UNSEEN && (look->written[root] || look->everything) &&
           is_alive(s, &s->objects[id]);
}

/* Two rounds: a root with contents that were not fully read is not taken. */
static void list(struct slice *s, struct look *look)
{
    size_t *lines = calloc(s->object_count + 1, sizeof *lines);

    for (uint32_t id = 1; lines && id < s->object_count; id++) {
        const uint32_t root = slice_root(s, id);
        lines[id] = s->taking->list.count;
        if (!is_listed(s, look, id, root) || look->judgement[root] == BAD)
            continue;
        if (s->objects[id].type == GEN_HANDLE_VkImage)
            list_image(s, &s->objects[id]);
        else if (s->objects[id].type == GEN_HANDLE_VkQueryPool)
            add(s, &(struct content){.kind = CONTENT_QUERIES,
                                     .index = s->objects[id].index,
                                     .bytes = s->objects[id].bytes,
                                     .queue = s->objects[look->queues[root]].index,
                                     .queries = (VkQueryType)s->objects[id].queries});
        else
            add(s, &(struct content){.index = s->objects[id].index, .bytes = s->objects[id].bytes});
    }
    if (lines)
        lines[s->object_count] = s->taking->list.count;
    s->taking->is_taken = calloc(s->taking->list.count + 1, sizeof *s->taking->is_taken);
    if (!lines || !s->taking->is_taken || s->status != LAP_OK) {
        no_memory(s);
        free(lines);
        return;
    }
    for (uint32_t id = 1; id < s->object_count; id++)
        if (!was_read(s, id, lines[id], lines[id + 1]))
            look->judgement[slice_root(s, id)] = BAD;
    for (uint32_t id = 1; id < s->object_count; id++)
        for (size_t line = lines[id]; line < lines[id + 1]; line++)
            s->taking->is_taken[line] = look->judgement[slice_root(s, id)] == GOOD;
    free(lines);
}

/* Queues that are to give images their layouts, and queries their results. */
static void need_queues(struct slice *s)
{
    const uint32_t type = GEN_HANDLE_VkQueue;

    for (size_t line = 0; line < s->taking->list.count; line++) {
        const struct content *content = &s->taking->list.at[line];
        if (s->taking->is_taken[line] && content->queue < s->numbers[type].capacity)
            slice_need_object(s, s->numbers[type].at[content->queue]);
    }
}

static void take_roots(struct slice *s, const struct look *look)
{
    s->taking->taken = 0;
    for (uint32_t id = 0; id < s->object_count; id++) {
        if (slice_root(s, id) != id || !s->objects[id].wanted || look->judgement[id] != GOOD ||
            !(look->written[id] || look->everything))
            continue;
        s->objects[id].wanted = s->objects[id].laid = false;
        s->spans[id].count = 0;
        s->taking->taken++;
    }
}

void slice_take(struct slice *s)
{
    struct look look = {.written = calloc(s->object_count, sizeof *look.written),
                        .judgement = calloc(s->object_count, sizeof *look.judgement),
                        .crowded = calloc(s->object_count, sizeof *look.crowded),
                        .touched = calloc(s->object_count, sizeof *look.touched),
                        .queues = calloc(s->object_count, sizeof *look.queues)};

    contents_finish(&s->taking->list);
    free(s->taking->is_taken);
    s->taking->is_taken = NULL;
    s->taking->wanted = s->taking->taken = 0;
    if (!look.written || !look.judgement || !look.crowded || !look.touched || !look.queues) {
        no_memory(s);
    } else if (!s->everything) {
        find_written(s, &look);
        want_laid(s, &look);
        find_crowded(s, &look);
        judge(s, &look);
        list(s, &look);
    }
    if (s->status == LAP_OK && !s->everything) {
        take_roots(s, &look);
        need_queues(s);
    }
    free(look.written);
    free(look.judgement);
    free(look.crowded);
    free(look.touched);
    free(look.queues);
}

/* ---- blocks recorded before the part, and submitted before it and in it ---- */

bool slice_splits(const struct slice *s)
{
    return s->taking && s->taking->taken;
}

/* Only where it makes a difference: where some of these blocks would be played before the part. */
void slice_find_again(struct slice *s)
{
    for (uint64_t i = 1; slice_splits(s) && i < s->packet_count && i < s->first; i++) {
        const struct slice_packet *p = &s->packets[i];
        for (uint32_t k = 0; p->kind == SLICE_SUBMIT && p->kept && k < p->steps.count; k++) {
            const struct slice_packet *block = &s->packets[slice_step_number(s->steps.at[p->steps.from + k])];
            s->taking->records_again |= block->late && !block->early;
        }
    }
}

/* ---- queries ---- */

const struct contents *slice_contents(const struct slice *s)
{
    static const struct contents none;
    return s->taking ? &s->taking->list : &none;
}

/* Some objects may not stay that only share contents with those that the part needs. */
bool slice_takes_content(const struct slice *s, size_t line)
{
    static const uint16_t types[] = {[CONTENT_BUFFER] = GEN_HANDLE_VkBuffer,
                                     [CONTENT_IMAGE] = GEN_HANDLE_VkImage,
                                     [CONTENT_QUERIES] = GEN_HANDLE_VkQueryPool};
    const struct content *content;

    if (!s->taking || !s->taking->is_taken || line >= s->taking->list.count || !s->taking->is_taken[line])
        return false;
    content = &s->taking->list.at[line];
    return s->packets[s->objects[s->numbers[types[content->kind]].at[content->index]].maker].kept;
}

void slice_count_contents(const struct slice *s, uint64_t *out_wanted, uint64_t *out_taken)
{
    *out_wanted = s->taking ? s->taking->wanted : 0;
    *out_taken = s->taking ? s->taking->taken : 0;
}

uint32_t slice_queue_family(const struct slice *s, uint64_t queue)
{
    return s->taking ? image_layouts_family(s->taking->layouts, queue) : UINT32_MAX;
}

const VkImageCreateInfo *slice_image_info(const struct slice *s, uint64_t image)
{
    return &image_layouts_find(s->taking->layouts, image)->info;
}

uint64_t slice_parent_of(const struct slice *s, uint32_t type, uint64_t index, uint32_t parent_type)
{
    const uint32_t object = index < s->numbers[type].capacity ? s->numbers[type].at[index] : 0;
    const struct slice_run names = s->packets[s->objects[object].maker].names;

    for (uint32_t i = 0; i < names.count; i++)
        if (s->objects[s->ids.at[names.from + i]].type == parent_type)
            return s->objects[s->ids.at[names.from + i]].index;
    return 0;
}

bool slice_records_again(const struct slice *s, uint64_t ticket)
{
    return s->taking && s->taking->records_again && ticket < s->first && ticket < s->packet_count &&
           s->packets[ticket].kind == SLICE_BLOCK && s->packets[ticket].late;
}

uint64_t slice_next_alive(const struct slice *s, uint32_t type, uint64_t behind)
{
    for (uint64_t index = behind + 1; index < s->numbers[type].capacity; index++) {
        const struct slice_object *o = &s->objects[s->numbers[type].at[index]];
        if (s->numbers[type].at[index] && is_alive(s, o) && s->packets[o->maker].kept)
            return index;
    }
    return 0;
}

uint64_t slice_unused_number(const struct slice *s, uint32_t type)
{
    uint64_t index = s->numbers[type].capacity;

    while (index > 1 && !s->numbers[type].at[index - 1])
        index--;
    return index ? index : 1;
}
