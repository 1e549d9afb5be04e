/* SPDX-License-Identifier: MIT */
#include "replayer/verify/texel_history.h"

#include <cjson/cJSON.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"
#include "gen_ids.h"
#include "inspector/question/texel_history.h"
#include "replayer/format/format.h"
#include "replayer/verify/json_line.h"
#include "replayer/verify/read_buffer.h"
#include "replayer/verify/read_image.h"
#include "replayer/verify/texel_fragments.h"
#include "replayer/verify/texel_value.h"
#include "vulkan/texel/texel_values.h"

#define CELL_BYTES 600u

enum column { POSITION, COMMAND, VALUE, DEPTH, STENCIL, FROM, PIPELINE, LABEL, COLUMNS };

static const char *const kind_names[] = {
    [TEXEL_BEGIN] = "begin", [TEXEL_DRAW] = "draw",       [TEXEL_CLEAR] = "clear", [TEXEL_COPY] = "copy",
    [TEXEL_BLIT] = "blit",   [TEXEL_RESOLVE] = "resolve", [TEXEL_STORE] = "store"};

struct print {
    const struct texel_history *history;
    struct texel_results results;
    const struct gen_format *format;
};

/* ---- texels ---- */

static bool color_at(const struct print *p, uint64_t at, struct texel_value *out)
{
    return texel_value_at(&p->results, p->history->format, p->history->wish.aspect, at, out);
}

static bool is_changed(const struct print *p, const struct texel_row *row)
{
    struct texel_value before, after;

    return !color_at(p, row->value.before, &before) || !color_at(p, row->value.after, &after) ||
           memcmp(before.bytes, after.bytes, sizeof before.bytes) != 0;
}

/* Its fragments, or NULL: it has none, or they are not wanted. */
static const struct texel_fragments *fragments_of(const struct print *p, const struct texel_row *row,
                                                  struct texel_fragments *out)
{
    if (!row->draw)
        return NULL;
    texel_fragments_find(p->history, row, &p->results, out);
    return out;
}

/* Fragments that fail a test change nothing, and are what is looked for. */
static bool is_shown(const struct replay *r, const struct print *p, const struct texel_row *row)
{
    struct texel_fragments fragments;

    if (r->options.texel.all || is_changed(p, row))
        return true;
    return fragments_of(p, row, &fragments) && fragments.matched;
}

/* ---- text ---- */

static const char *load_text(VkAttachmentLoadOp load)
{
    return load == VK_ATTACHMENT_LOAD_OP_LOAD    ? "loaded "
           : load == VK_ATTACHMENT_LOAD_OP_CLEAR ? "cleared "
                                                 : "undefined ";
}

static void beside_text(const struct print *p, const struct texel_change *change, VkImageAspectFlags aspect, char *out)
{
    struct texel_value value;

    if (change->image && texel_value_at(&p->results, change->format, aspect, change->after, &value))
        texel_value_text(&value, out, CELL_BYTES);
}

static void fill_cells(const struct print *p, const struct texel_row *row, char cells[COLUMNS][CELL_BYTES])
{
    const char *load = row->kind == TEXEL_BEGIN ? load_text(row->load) : "";
    struct texel_value value;

    for (unsigned i = 0; i < COLUMNS; i++)
        cells[i][0] = 0;
    position_text(&row->position, cells[POSITION]);
    snprintf(cells[COMMAND], CELL_BYTES, "%s", gen_command_names[row->command]);
    snprintf(cells[VALUE], CELL_BYTES, "%s", load);
    if (color_at(p, row->value.after, &value))
        texel_value_text(&value, cells[VALUE] + strlen(load), CELL_BYTES - strlen(load));
    beside_text(p, &row->depth, VK_IMAGE_ASPECT_DEPTH_BIT, cells[DEPTH]);
    beside_text(p, &row->stencil, VK_IMAGE_ASPECT_STENCIL_BIT, cells[STENCIL]);
    if (row->from)
        snprintf(cells[FROM], CELL_BYTES, "from %s:%" PRIu64, gen_handle_names[row->from_type], row->from);
    if (row->pipeline)
        snprintf(cells[PIPELINE], CELL_BYTES, "VkPipeline:%" PRIu64, row->pipeline);
    if (row->label) {
        snprintf(cells[LABEL], CELL_BYTES, "%s", row->label);
        (void)lap_utf8_clean(cells[LABEL], '?');
    }
}

/* Empty cells at the end of the line are left out. */
static void print_cells(char cells[COLUMNS][CELL_BYTES], const size_t widths[COLUMNS])
{
    unsigned last = COLUMNS;

    while (last && !cells[last - 1][0])
        last--;
    for (unsigned i = 0; i < last; i++)
        if (widths[i])
            printf("%-*s%s", i + 1 < last ? (int)widths[i] : 0, cells[i], i + 1 < last ? "  " : "\n");
}

static void print_head(const struct print *p)
{
    const struct texel_history *h = p->history;
    const struct texel_wish *w = &h->wish;

    printf("frame %" PRIu64 ", VkImage:%" PRIu64 ", texel %u,%u of %u x %u, ", w->at.numbers[0], w->image, w->x, w->y,
           h->width, h->height);
    if (w->level || w->layer)
        printf("level %u, layer %u, ", w->level, w->layer);
    printf("%s", replay_format_name(h->format));
    for (size_t i = 0; i < h->row_count; i++)
        if (h->rows[i].depth.image) {
            printf(", depth VkImage:%" PRIu64 " %s", h->rows[i].depth.image,
                   replay_format_name(h->rows[i].depth.format));
            break;
        }
    putchar('\n');
}

static void print_end(const struct print *p, size_t first_width)
{
    const struct texel_history *h = p->history;
    bool is_whole = h->presented && h->wish.at.count == POSITION_FRAME;
    char text[CELL_BYTES] = "";
    struct texel_value value;

    if (h->row_count && color_at(p, h->rows[h->row_count - 1].value.after, &value))
        texel_value_text(&value, text, sizeof text);
    printf("%-*s  %s\n", (int)first_width, is_whole ? "presented" : "end", text);
}

static enum lap_status print_text(const struct replay *r, const struct print *p)
{
    static const char *const heads[COLUMNS] = {
        [POSITION] = "position", [COMMAND] = "command", [VALUE] = "value", [DEPTH] = "depth", [STENCIL] = "stencil"};
    const struct texel_history *h = p->history;
    size_t widths[COLUMNS] = {0};
    char(*cells)[CELL_BYTES] = malloc(COLUMNS * sizeof *cells);

    if (!cells)
        return lap_no_memory("the history of a texel");
    for (int prints = 0; prints < 2; prints++) {
        for (unsigned i = 0; i < COLUMNS; i++) {
            snprintf(cells[i], CELL_BYTES, "%s", heads[i] && (!prints || widths[i]) ? heads[i] : "");
            if (!prints && (i == POSITION || i == COMMAND || i == VALUE))
                widths[i] = strlen(cells[i]);
        }
        if (prints) {
            print_head(p);
            print_cells(cells, widths);
        }
        for (size_t k = 0; k < h->row_count; k++) {
            struct texel_fragments fragments;
            if (!is_shown(r, p, &h->rows[k]))
                continue;
            fill_cells(p, &h->rows[k], cells);
            for (unsigned i = 0; i < COLUMNS && !prints; i++) {
                size_t least = cells[i][0] && heads[i] ? strlen(heads[i]) : 0, length = strlen(cells[i]);
                length = length > least ? length : least;
                widths[i] = widths[i] > length ? widths[i] : length;
            }
            if (prints)
                print_cells(cells, widths);
            if (prints && fragments_of(p, &h->rows[k], &fragments))
                texel_fragments_text(&h->rows[k], &fragments);
        }
    }
    print_end(p, widths[POSITION]);
    free(cells);
    for (size_t i = 0; i < h->left_out_count; i++)
        lap_log(r->log, LAP_LOG_WARNING, "not all is in the history: %s", h->left_out[i]);
    return LAP_OK;
}

/* ---- JSON ---- */

/* Functions below return NULL or false without memory; cJSON takes NULL for an object. */
static cJSON *color_json(const struct print *p, uint64_t at)
{
    struct texel_value value;

    return color_at(p, at, &value) ? texel_value_json(&value) : cJSON_CreateNull();
}

static void add_beside(const struct print *p, cJSON *object, const char *name, const struct texel_change *change,
                       VkImageAspectFlags aspect)
{
    struct texel_value before, after;
    cJSON *beside;

    if (!change->image || !texel_value_at(&p->results, change->format, aspect, change->after, &after)) {
        (void)cJSON_AddNullToObject(object, name);
        return;
    }
    beside = cJSON_AddObjectToObject(object, name);
    replay_json_handle(beside, "image", GEN_HANDLE_VkImage, change->image);
    (void)(texel_value_at(&p->results, change->format, aspect, change->before, &before)
               ? cJSON_AddNumberToObject(beside, "before", before.values[0])
               : cJSON_AddNullToObject(beside, "before"));
    (void)cJSON_AddNumberToObject(beside, "after", after.values[0]);
}

static cJSON *head_json(const struct replay *r, const struct print *p)
{
    const struct texel_history *h = p->history;
    const struct texel_wish *w = &h->wish;
    cJSON *head = cJSON_CreateObject(), *object = cJSON_AddObjectToObject(head, "texel");
    char components[5] = "";

    for (unsigned i = 0; i < p->format->count && i < 4; i++)
        components[i] = p->format->components[texel_component_of(p->format, i)].channel;
    replay_json_handle(object, "image", GEN_HANDLE_VkImage, w->image);
    (void)cJSON_AddNumberToObject(object, "x", w->x);
    (void)cJSON_AddNumberToObject(object, "y", w->y);
    (void)cJSON_AddNumberToObject(object, "level", w->level);
    (void)cJSON_AddNumberToObject(object, "layer", w->layer);
    (void)cJSON_AddStringToObject(object, "aspect",
                                  w->aspect == VK_IMAGE_ASPECT_COLOR_BIT   ? "color"
                                  : w->aspect == VK_IMAGE_ASPECT_DEPTH_BIT ? "depth"
                                                                           : "stencil");
    (void)cJSON_AddNumberToObject(object, "width", h->width);
    (void)cJSON_AddNumberToObject(object, "height", h->height);
    (void)cJSON_AddStringToObject(object, "format", replay_format_name(h->format));
    (void)cJSON_AddStringToObject(object, "components", components);
    (void)cJSON_AddBoolToObject(object, "presented", h->presented);
    (void)cJSON_AddNumberToObject(object, "frame", (double)w->at.numbers[0]);
    replay_json_text(object, "gpu", r->summary.gpu);
    return head;
}

static cJSON *row_json(const struct print *p, const struct texel_row *row)
{
    static const char *const loads[] = {"load", "clear", "undefined"};
    cJSON *object = cJSON_CreateObject();
    struct texel_fragments fragments;
    char text[POSITION_TEXT_BYTES];

    (void)cJSON_AddStringToObject(object, "position", position_text(&row->position, text));
    (void)cJSON_AddStringToObject(object, "command", gen_command_names[row->command]);
    (void)cJSON_AddStringToObject(object, "kind", kind_names[row->kind]);
    if (row->kind == TEXEL_BEGIN)
        (void)cJSON_AddStringToObject(object, "load", loads[row->load < 2 ? row->load : 2]);
    else
        (void)cJSON_AddNullToObject(object, "load");
    replay_json_handle(object, "pipeline", GEN_HANDLE_VkPipeline, row->pipeline);
    replay_json_text(object, "label", row->label);
    replay_json_handle(object, "from", row->from_type, row->from);
    (void)cJSON_AddBoolToObject(object, "changed", is_changed(p, row));
    (void)cJSON_AddItemToObject(object, "before", color_json(p, row->value.before));
    (void)cJSON_AddItemToObject(object, "after", color_json(p, row->value.after));
    add_beside(p, object, "depth", &row->depth, VK_IMAGE_ASPECT_DEPTH_BIT);
    add_beside(p, object, "stencil", &row->stencil, VK_IMAGE_ASPECT_STENCIL_BIT);
    (void)cJSON_AddItemToObject(object, "fragments",
                                fragments_of(p, row, &fragments) ? texel_fragments_json(row, &fragments)
                                                                 : cJSON_CreateNull());
    return object;
}

/* NULL: fragments are not wanted. */
static void add_shares(cJSON *object, const struct texel_shares *shares)
{
    cJSON *all;

    if (!shares) {
        (void)cJSON_AddNullToObject(object, "fragments");
        return;
    }
    all = cJSON_AddObjectToObject(object, "fragments");
    (void)cJSON_AddNumberToObject(all, "draws", (double)shares->draws);
    (void)cJSON_AddNumberToObject(all, "computed", (double)shares->computed);
    (void)cJSON_AddNumberToObject(all, "equal", (double)shares->equal);
}

static cJSON *end_json(const struct print *p)
{
    const struct texel_history *h = p->history;
    cJSON *line = cJSON_CreateObject(), *object = cJSON_AddObjectToObject(line, "end"), *left_out;
    struct texel_shares shares = {.draws = 0};
    struct texel_fragments fragments;
    size_t changed = 0;

    for (size_t i = 0; i < h->row_count; i++) {
        changed += is_changed(p, &h->rows[i]);
        if (fragments_of(p, &h->rows[i], &fragments))
            texel_fragments_count(&fragments, &shares);
    }
    (void)cJSON_AddItemToObject(object, "value",
                                color_json(p, h->row_count ? h->rows[h->row_count - 1].value.after : TEXEL_NOWHERE));
    (void)cJSON_AddNumberToObject(object, "rows", (double)h->row_count);
    (void)cJSON_AddNumberToObject(object, "changed", (double)changed);
    add_shares(object, h->wish.fragments ? &shares : NULL);
    left_out = cJSON_AddArrayToObject(object, "left_out");
    for (size_t i = 0; i < h->left_out_count; i++)
        (void)cJSON_AddItemToArray(left_out, cJSON_CreateString(h->left_out[i]));
    return line;
}

static enum lap_status print_json(const struct replay *r, const struct print *p)
{
    const struct texel_history *h = p->history;
    enum lap_status status = replay_json_line(head_json(r, p));

    for (size_t i = 0; i < h->row_count && status == LAP_OK; i++)
        if (is_shown(r, p, &h->rows[i]))
            status = replay_json_line(row_json(p, &h->rows[i]));
    return status == LAP_OK ? replay_json_line(end_json(p)) : status;
}

enum lap_status replay_print_texel_history(struct replay *r)
{
    const struct texel_history *h = r->options.texel.history;
    struct print p = {.history = h, .format = lap_texel_format(h->format, h->wish.aspect)};
    const void *data = NULL;
    enum lap_status status = replay_settle(r);

    if (status == LAP_OK)
        status = replay_read_buffer(r, h->buffer, 0, h->bytes, &data);
    if (status != LAP_OK)
        return status;
    p.results = (struct texel_results){data, h->bytes};
    return r->options.json ? print_json(r, &p) : print_text(r, &p);
}
