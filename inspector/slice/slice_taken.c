/* SPDX-License-Identifier: MIT */
/* Finds the contents that the part reads and a replay can give where the part begins: the work that made them then does
 * not stay. A tree of objects that share contents is taken as a whole, or stays as a whole. */
#include <stdlib.h>

#include "gen_effects.h"
#include "inspector/slice/slice_solve.h"
#include "vulkan/texel/texels.h"

#define SEVERAL      UINT32_MAX
#define MOST_QUERIES (1u << 16) /* of a pool */

enum judgement { UNSEEN, GOOD, BAD };

struct look {
    struct looked {
        bool written; /* of a root: by work before the part */
        bool crowded; /* of a root: an image lies over something else, both alive */
        bool touched; /* itself, by work or by the host */
        bool laid;    /* of a root: only its layout is wanted */
        uint8_t judgement;
        uint32_t queue; /* object: where it is written; SEVERAL */
    } * at;             /* [object] */
    bool everything;    /* any may be written */
};

struct slice_taking *slice_taking_create(const struct contents_file *file)
{
    struct slice_taking *taking = calloc(1, sizeof *taking);

    if (taking && (taking->layouts = image_layouts_create())) {
        taking->file = file;
        return taking;
    }
    free(taking);
    return NULL;
}

void slice_taking_destroy(struct slice_taking *taking)
{
    if (!taking)
        return;
    image_layouts_destroy(taking->layouts);
    contents_finish(&taking->list);
    contents_finish(&taking->laid);
    free(taking->is_taken);
    free(taking);
}

/* ---- writes before the part ---- */

static void note_written(const struct slice_facts *f, struct look *look, struct slice_run contents)
{
    for (uint32_t i = 0; i < contents.count; i++)
        look->at[slice_root(f, f->ids.at[contents.from + i])].written = look->at[f->ids.at[contents.from + i]].touched =
            true;
}

static void note_queue(struct look *look, uint32_t root, uint32_t queue)
{
    look->at[root].written = true;
    look->at[root].queue = !look->at[root].queue || look->at[root].queue == queue ? queue : SEVERAL;
}

static void note_steps(const struct slice_facts *f, struct look *look, const uint64_t *steps, size_t count,
                       uint32_t queue)
{
    for (size_t i = 0; i < count; i++) {
        const uint32_t number = (uint32_t)slice_step_number(steps[i]);
        const struct slice_set *set = NULL;
        switch (slice_step_kind(steps[i])) {
        case SLICE_CHANGE:
        case SLICE_REPLACE:
        case SLICE_CLEAR:
        case SLICE_LAYOUT:
            look->at[number].touched = true;
            note_queue(look, slice_root(f, number), queue);
            break;
        case SLICE_SET:
            set = slice_set_of(f, number);
            break;
        case SLICE_ADDRESSES:
            look->at[slice_root(f, 0)].written = true;
            break;
        case SLICE_EVERYTHING:
            look->everything = true;
            break;
        default:
            break;
        }
        for (size_t k = 0; set && set->changing && k < set->count; k++)
            if (set->slots[k].access == SLICE_CHANGE)
                note_written(f, look, f->objects[set->slots[k].object].contents);
    }
}

static uint32_t queue_of(const struct slice_facts *f, const struct slice_packet *p)
{
    for (uint32_t i = 0; i < p->names.count; i++)
        if (f->objects[f->ids.at[p->names.from + i]].type == GEN_HANDLE_VkQueue)
            return f->ids.at[p->names.from + i];
    return SEVERAL;
}

/* A copy from an image to another one, by the host. Data from host memory is in the trace. */
static bool is_copy(const struct slice_facts *f, const struct slice_packet *p)
{
    for (uint32_t k = 0; p->kind == SLICE_ACCESSES && k < p->steps.count; k++)
        if (slice_step_kind(f->steps.at[p->steps.from + k]) == SLICE_READ)
            return true;
    return false;
}

/* Their data is in the trace, so they need no replay. */
static void note_host_writes(const struct slice_facts *f, struct look *look, const struct slice_packet *p)
{
    const uint32_t count = p->kind == SLICE_ACCESSES ? p->steps.count : p->kind == SLICE_WRITES && p->steps.count;

    for (uint32_t k = 0; k < count; k++) {
        const uint64_t number = slice_step_number(f->steps.at[p->steps.from + k]);
        if (number < f->object_count)
            look->at[number].touched = true;
    }
}

/* Sets have their state at each submit during the walk, and their earlier state after it. */
static void find_written(struct slice_solution *s, struct look *look)
{
    const struct slice_facts *f = s->facts;

    for (uint64_t i = f->first; i-- > 1;) {
        const struct slice_packet *p = &f->packets[i];
        if (p->kind == SLICE_DESCRIBES)
            slice_unwrite(s->sets, p->subjects);
        note_host_writes(f, look, p);
        if (is_copy(f, p))
            note_steps(f, look, f->steps.at + p->steps.from, p->steps.count, SEVERAL);
        for (uint32_t k = 0; p->kind == SLICE_SUBMIT && k < p->steps.count; k++) {
            size_t count;
            const uint64_t *steps = slice_expand(f, s->expansion, slice_block_at(f, p->steps, k), &count);
            note_steps(f, look, steps, count, queue_of(f, p));
        }
    }
    for (uint64_t i = 1; i < f->first; i++)
        if (f->packets[i].kind == SLICE_DESCRIBES)
            slice_rewrite(s->sets, f->packets[i].subjects);
}

/* ---- readable contents ---- */

static bool is_defined(VkImageLayout layout)
{
    return layout != VK_IMAGE_LAYOUT_UNDEFINED && layout != VK_IMAGE_LAYOUT_PREINITIALIZED;
}

/* A replay reads all slices of a volume at once. Volumes have no depth or stencil aspects. */
static bool slices_are_same(const struct image_layout *image, uint32_t level)
{
    const VkImageAspectFlags aspect = image->aspects & -image->aspects;
    const struct image_subresource first = image_layout_of(image, aspect, level, 0);

    for (uint32_t slice = 1; image->layers > image->info.arrayLayers && slice < image->info.extent.depth >> level;
         slice++) {
        const struct image_subresource one = image_layout_of(image, aspect, level, slice);

        if (one.layout != first.layout || one.between != first.between)
            return false;
    }
    return true;
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
            if (!slices_are_same(image, level))
                return false;
        }
    return any;
}

static bool can_lay_image(const struct image_layouts *layouts, const struct image_layout *image)
{
    const VkImageCreateFlags never = VK_IMAGE_CREATE_SPARSE_BINDING_BIT | VK_IMAGE_CREATE_PROTECTED_BIT;

    return image && !(image->info.flags & never) && image->info.tiling != VK_IMAGE_TILING_DRM_FORMAT_MODIFIER_EXT &&
           image_layouts_queue(layouts, image) && can_read_subresources(image);
}

static bool can_read_image(const struct image_layouts *layouts, const struct image_layout *image)
{
    return can_lay_image(layouts, image) && image->info.samples == VK_SAMPLE_COUNT_1_BIT &&
           !(image->info.usage & VK_IMAGE_USAGE_TRANSIENT_ATTACHMENT_BIT);
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

/* Where only the layout is needed, it comes without the contents; but with them for images that share memory. */
static void want_laid(struct slice_solution *s, const struct look *look)
{
    for (uint32_t id = 0; id < s->facts->object_count; id++) {
        if (!s->objects[id].laid || !(look->at[id].written || look->everything))
            continue;
        look->at[id].laid =
            !s->objects[id].wanted && !s->facts->objects[id].shared && s->facts->objects[id].type == GEN_HANDLE_VkImage;
        s->objects[id].wanted = true;
    }
}

/* Buffers that overlap hold the same bytes, and can be written one after the other. Images can't. */
static void find_crowded(const struct slice_facts *f, struct look *look)
{
    const struct slice_place *far = NULL, *image = NULL; /* those that reach the farthest */

    for (size_t i = 0; i < f->place_count; i++) {
        const struct slice_place *at = &f->places[i];
        const bool is_image = f->objects[at->object].type == GEN_HANDLE_VkImage;
        if (!slice_is_alive(f, &f->objects[at->object]))
            continue;
        if (far && far->memory != at->memory)
            far = image = NULL;
        if ((image && at->from < image->to) || (is_image && far && at->from < far->to))
            look->at[slice_root(f, at->object)].crowded = true;
        if (!far || at->to > far->to)
            far = at;
        if (is_image && (!image || at->to > image->to))
            image = at;
    }
}

static void judge(struct slice_solution *s, struct look *look)
{
    const struct slice_facts *f = s->facts;

    for (uint32_t id = 1; id < f->object_count; id++) {
        const struct slice_object *o = &f->objects[id];
        const uint32_t root = slice_root(f, id);
        bool good = o->placed;
        if (gen_handle_contents[o->type] != GEN_CONTENTS_HELD && o->type != GEN_HANDLE_VkDeviceMemory)
            continue;
        if (!s->objects[root].wanted || !slice_is_alive(f, o))
            continue;
        switch (o->type) {
        case GEN_HANDLE_VkImage:
            good &= (!look->at[id].touched && !look->everything) || /* it holds nothing yet */
                    (look->at[root].laid ? can_lay_image : can_read_image)(
                        s->taking->layouts, image_layouts_find(s->taking->layouts, o->index));
            good &= !o->presented || !f->objects[root].shared;
            break;
        case GEN_HANDLE_VkBuffer:
            good &= !o->opaque && o->bytes;
            break;
        case GEN_HANDLE_VkQueryPool:
            good = can_make_available(o, look->at[root].queue);
            break;
        default:
            good = false;
            break;
        }
        if (look->at[root].judgement != BAD)
            look->at[root].judgement = good && !look->at[root].crowded ? GOOD : BAD;
    }
    for (uint32_t id = 0; id < f->object_count; id++)
        if (slice_root(f, id) == id && s->objects[id].wanted && (look->at[id].written || look->everything))
            s->taking->wanted += look->at[id].judgement != UNSEEN;
}

/* ---- the list ---- */

static void add_to(struct slice_solution *s, struct contents *list, const struct content *content)
{
    if (contents_add(list, content) != LAP_OK)
        slice_fail(s->facts, LAP_ERROR_MEMORY);
}

static void add(struct slice_solution *s, const struct content *content)
{
    add_to(s, &s->taking->list, content);
}

static void list_image(struct slice_solution *s, const struct slice_object *o, struct contents *list)
{
    const struct image_layout *image = image_layouts_find(s->taking->layouts, o->index);

    for (uint32_t layer = 0; image && layer < image->info.arrayLayers; layer++)
        for (uint32_t level = 0; level < image->info.mipLevels; level++) {
            const VkImageLayout layout = image_layout_of_all(image, level, layer);
            for (VkImageAspectFlags left = is_defined(layout) ? image->aspects : 0; left; left &= left - 1)
                add_to(s, list,
                       &(struct content){.kind = CONTENT_IMAGE,
                                         .index = o->index,
                                         .aspect = left & -left,
                                         .level = level,
                                         .layer = layer,
                                         .layout = layout,
                                         .queue = image_layouts_queue(s->taking->layouts, image)});
        }
}

/* The bytes that the file must have for a line. */
static uint64_t bytes_of(const struct slice_solution *s, const struct content *content)
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
static bool was_read(const struct slice_solution *s, uint32_t id, size_t from, size_t to)
{
    for (size_t line = from; line < to; line++)
        if (s->taking->file &&
            !contents_has(s->taking->file, line, s->facts->objects[id].index, bytes_of(s, &s->taking->list.at[line])))
            return false;
    return true;
}

static bool is_listed(const struct slice_solution *s, const struct look *look, uint32_t id, uint32_t root)
{
    const struct slice_facts *f = s->facts;
    const uint32_t type = f->objects[id].type;

    return (type == GEN_HANDLE_VkImage || type == GEN_HANDLE_VkBuffer || type == GEN_HANDLE_VkQueryPool) &&
           s->objects[root].wanted && look->at[root].judgement != UNSEEN &&
           (look->at[root].written || look->everything) && slice_is_alive(f, &f->objects[id]);
}

/* Two rounds: a root with contents that were not fully read is not taken. */
static void list(struct slice_solution *s, struct look *look)
{
    const struct slice_facts *f = s->facts;
    size_t *lines = calloc(f->object_count + 1, sizeof *lines);

    for (uint32_t id = 1; lines && id < f->object_count; id++) {
        const uint32_t root = slice_root(f, id);
        lines[id] = s->taking->list.count;
        if (!is_listed(s, look, id, root) || look->at[root].judgement == BAD)
            continue;
        if (f->objects[id].type == GEN_HANDLE_VkImage)
            list_image(s, &f->objects[id], look->at[root].laid ? &s->taking->laid : &s->taking->list);
        else if (f->objects[id].type == GEN_HANDLE_VkQueryPool)
            add(s, &(struct content){.kind = CONTENT_QUERIES,
                                     .index = f->objects[id].index,
                                     .bytes = f->objects[id].bytes,
                                     .queue = f->objects[look->at[root].queue].index,
                                     .queries = (VkQueryType)f->objects[id].queries});
        else
            add(s, &(struct content){.index = f->objects[id].index, .bytes = f->objects[id].bytes});
    }
    if (lines)
        lines[f->object_count] = s->taking->list.count;
    s->taking->is_taken = calloc(s->taking->list.count + 1, sizeof *s->taking->is_taken);
    if (!lines || !s->taking->is_taken || *f->status != LAP_OK) {
        slice_no_memory(f);
        free(lines);
        return;
    }
    for (uint32_t id = 1; id < f->object_count; id++)
        if (!was_read(s, id, lines[id], lines[id + 1]))
            look->at[slice_root(f, id)].judgement = BAD;
    for (uint32_t id = 1; id < f->object_count; id++)
        for (size_t line = lines[id]; line < lines[id + 1]; line++)
            s->taking->is_taken[line] = look->at[slice_root(f, id)].judgement == GOOD;
    free(lines);
}

/* Queues that are to give images their layouts, and queries their results. */
static void need_queues(struct slice_solution *s)
{
    const struct slice_facts *f = s->facts;
    const uint32_t type = GEN_HANDLE_VkQueue;

    for (size_t line = 0; line < s->taking->list.count; line++) {
        const struct content *content = &s->taking->list.at[line];
        if (s->taking->is_taken[line] && content->queue < f->numbers[type].capacity)
            slice_need_object(s, f->numbers[type].at[content->queue]);
    }
    for (size_t line = 0; line < s->taking->laid.count; line++)
        if (s->taking->laid.at[line].queue < f->numbers[type].capacity)
            slice_need_object(s, f->numbers[type].at[s->taking->laid.at[line].queue]);
}

static void take_roots(struct slice_solution *s, const struct look *look)
{
    const struct slice_facts *f = s->facts;

    s->taking->taken = 0;
    for (uint32_t id = 0; id < f->object_count; id++) {
        if (slice_root(f, id) != id || !s->objects[id].wanted || look->at[id].judgement != GOOD ||
            !(look->at[id].written || look->everything))
            continue;
        s->objects[id].wanted = s->objects[id].laid = false;
        s->objects[id].spans.count = 0;
        s->taking->taken++;
    }
}

void slice_take(struct slice_solution *s)
{
    const struct slice_facts *f = s->facts;
    struct look look = {.at = calloc(f->object_count, sizeof *look.at)};

    contents_finish(&s->taking->list);
    contents_finish(&s->taking->laid);
    free(s->taking->is_taken);
    s->taking->is_taken = NULL;
    s->taking->wanted = s->taking->taken = 0;
    if (!look.at) {
        slice_no_memory(f);
    } else if (!s->everything) {
        find_written(s, &look);
        want_laid(s, &look);
        find_crowded(f, &look);
        judge(s, &look);
        list(s, &look);
        if (*f->status == LAP_OK) {
            take_roots(s, &look);
            need_queues(s);
        }
    }
    free(look.at);
}

/* ---- blocks recorded before the part, and submitted before it and in it ---- */

/* Only where it makes a difference: where some of these blocks would be played before the part. */
void slice_find_again(struct slice_solution *s)
{
    const struct slice_facts *f = s->facts;

    for (uint64_t i = 1; slice_splits(s) && i < f->packet_count && i < f->first; i++) {
        const struct slice_packet *p = &f->packets[i];
        for (uint32_t k = 0; p->kind == SLICE_SUBMIT && s->packets[i].kept && k < p->steps.count; k++) {
            const struct slice_stay *block = &s->packets[slice_block_at(f, p->steps, k)];
            s->taking->records_again |= block->late && !block->early;
        }
    }
}
