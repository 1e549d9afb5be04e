/* SPDX-License-Identifier: MIT */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "tools/show/state_print.h"
#include "tools/show/text.h"

#define TYPE_COLOUR  "\033[1;36m"
#define NO_COLOUR    "\033[0m"
#define INDENT       4u
#define SHORTEST_RUN 4u /* shorter ones are listed */

/* ---- which ---- */

const struct object_life *lap_state_life(const struct lap_state_view *view, size_t number)
{
    return &state_objects_lives(view->objects)->lives[number];
}

const char *lap_state_name(const struct lap_state_view *view, size_t number, unsigned which)
{
    const struct state_notes *notes = state_objects_notes(view->objects, number);
    return notes ? notes->at[which].name : NULL;
}

uint64_t lap_state_bytes(const struct lap_state_view *view, size_t number)
{
    const struct state_notes *notes = state_objects_notes(view->objects, number);
    uint64_t bytes = 0;

    if (!notes || !notes->binding)
        return UINT64_MAX;
    for (const struct state_binding *b = notes->binding; b; b = b->before)
        bytes += b->plane || b == notes->binding ? b->size : 0;
    return bytes;
}

uint64_t lap_state_frame(const struct lap_state_view *view, uint64_t ticket)
{
    uint64_t first = 0, end = lap_reader_summary(view->trace)->frames;

    while (first < end) {
        uint64_t middle = first + (end - first) / 2;
        if (lap_reader_frame_end(view->trace, middle) < ticket)
            first = middle + 1;
        else
            end = middle;
    }
    return first + 1;
}

bool lap_state_lives_last(const struct lap_state_view *view, const struct object_life *life)
{
    return object_lives_at(life, view->last);
}

static int compare(const void *a, const void *b, void *user)
{
    const struct lap_state_view *view = user;
    const struct object_life *x = lap_state_life(view, *(const size_t *)a);
    const struct object_life *y = lap_state_life(view, *(const size_t *)b);

    if (x->type != y->type)
        return x->type < y->type ? -1 : 1;
    return x->index < y->index ? -1 : x->index > y->index;
}

enum lap_status lap_state_choose(const struct lap_state_view *view, lap_state_choose_fn choose,
                                 struct lap_state_set *out)
{
    const struct object_lives *lives = state_objects_lives(view->objects);

    *out = (struct lap_state_set){.numbers = malloc((lives->count + 1) * sizeof *out->numbers)};
    if (!out->numbers)
        return lap_fail(LAP_ERROR_MEMORY, "out of memory");
    for (size_t i = 0; i < lives->count; i++)
        if ((view->type == GEN_HANDLE_NONE || lives->lives[i].type == view->type) && choose(view, &lives->lives[i]))
            out->numbers[out->count++] = i;
    qsort_r(out->numbers, out->count, sizeof *out->numbers, compare, (void *)(uintptr_t)view);
    return LAP_OK;
}

enum lap_status lap_state_no_type(const struct lap_state_view *view, const char *name)
{
    const struct object_lives *lives = state_objects_lives(view->objects);
    bool has[GEN_HANDLE_COUNT] = {false};
    char text[400] = "";

    for (size_t i = 0; i < lives->count; i++)
        has[lives->lives[i].type] = true;
    for (unsigned i = 0; i < GEN_HANDLE_COUNT; i++) {
        size_t used = strlen(text);
        if (has[i])
            snprintf(text + used, sizeof text - used, "%s%s", used ? ", " : "", gen_handle_names[i]);
    }
    return lap_fail(LAP_ERROR_ARGUMENT, "there is no type %.80s: the trace has %s", name,
                    text[0] ? text : "no objects");
}

/* ---- text ---- */

void lap_state_items_begin(struct lap_state_items *items, const struct lap_state_view *view, const char *title)
{
    *items = (struct lap_state_items){.view = view, .column = (unsigned)strlen(title), .indent = INDENT};
    fprintf(view->out, "%s%s%s", view->colour ? TYPE_COLOUR : "", title, view->colour ? NO_COLOUR : "");
}

static unsigned quoted_bytes(const char *text)
{
    unsigned bytes = 2;

    for (; *text; text++)
        bytes += *text == '"' || *text == '\\'                                 ? 2
                 : (unsigned char)*text < 0x20 || (unsigned char)*text >= 0x7f ? 4
                                                                               : 1;
    return bytes;
}

/* "VkImage:1 "name"SUFFIX"; count: "VkImage:1 to 9SUFFIX" where it is not 1. */
static void add(struct lap_state_items *items, size_t number, uint64_t count, const char *suffix)
{
    const struct object_life *life = lap_state_life(items->view, number);
    const char *name = lap_state_name(items->view, number, 1);
    char handle[LAP_TEXT_HANDLE_MAX + 24];
    FILE *out = items->view->out;
    unsigned bytes;

    lap_text_handle(life->type, life->index, handle);
    if (count > 1)
        snprintf(handle + strlen(handle), 24, " to %" PRIu64, life->index + count - 1);
    bytes = (unsigned)(strlen(handle) + strlen(suffix)) + (name ? 1 + quoted_bytes(name) : 0);
    if (items->count++)
        fputc(',', out);
    if (items->count > 1 && items->column + bytes + 3 > items->view->width) {
        fprintf(out, "\n%*s", (int)items->indent, "");
        items->column = items->indent;
    } else {
        fputc(' ', out);
    }
    items->column += bytes + 2;
    fputs(handle, out);
    if (name) {
        fputc(' ', out);
        lap_text_quoted(out, name, strlen(name));
    }
    fputs(suffix, out);
}

void lap_state_items_end(struct lap_state_items *items)
{
    fputc('\n', items->view->out);
}

static size_t same_type(const struct lap_state_view *view, const struct lap_state_set *set, size_t from)
{
    size_t end = from;

    while (end < set->count &&
           lap_state_life(view, set->numbers[end])->type == lap_state_life(view, set->numbers[from])->type)
        end++;
    return end - from;
}

/* How many objects from `from` on have numbers one behind the other, no names and the same suffix. At least 1. */
static size_t run_of(const struct lap_state_view *view, const struct lap_state_set *set, size_t from, size_t end,
                     lap_state_suffix_fn suffix, const char *text)
{
    const struct object_life *first = lap_state_life(view, set->numbers[from]);
    size_t i = from;

    while (i < end && !lap_state_name(view, set->numbers[i], 1)) {
        const struct object_life *life = lap_state_life(view, set->numbers[i]);
        char other[80] = "";
        if (suffix)
            suffix(view, life, other);
        if (life->type != first->type || life->index != first->index + (i - from) || strcmp(other, text) != 0)
            break;
        i++;
    }
    return i > from ? i - from : 1;
}

void lap_state_items_put(struct lap_state_items *items, const struct lap_state_set *set, size_t from, size_t end,
                         lap_state_suffix_fn suffix)
{
    for (size_t i = from, run; i < end; i += run) {
        char text[80] = "";
        if (suffix)
            suffix(items->view, lap_state_life(items->view, set->numbers[i]), text);
        run = run_of(items->view, set, i, end, suffix, text);
        run = run < SHORTEST_RUN ? 1 : run;
        add(items, set->numbers[i], run, text);
    }
}

void lap_state_put_set(const struct lap_state_view *view, const struct lap_state_set *set, lap_state_suffix_fn suffix)
{
    for (size_t i = 0; i < set->count;) {
        size_t count = same_type(view, set, i);
        const char *type = gen_handle_names[lap_state_life(view, set->numbers[i])->type];
        struct lap_state_items items;
        char text[120];
        if (view->counts) {
            fprintf(view->out, "%s %zu\n", type, count);
            i += count;
            continue;
        }
        snprintf(text, sizeof text, "%s %zu:", type, count);
        lap_state_items_begin(&items, view, text);
        lap_state_items_put(&items, set, i, i + count, suffix);
        i += count;
        lap_state_items_end(&items);
    }
}

/* Images of swapchains are told from others. */
static void of_swapchain(const struct lap_state_view *view, const struct object_life *life, char out[80])
{
    const struct object_life *parent = life->parent == SIZE_MAX ? NULL : lap_state_life(view, life->parent);

    if (parent && life->type == GEN_HANDLE_VkImage && parent->type == GEN_HANDLE_VkSwapchainKHR)
        snprintf(out, 80, " of VkSwapchainKHR:%" PRIu64, parent->index);
}

/* ---- JSON ---- */

void lap_state_put_handle(FILE *out, uint32_t type, uint64_t index)
{
    char handle[LAP_TEXT_HANDLE_MAX];

    lap_text_handle(type, index, handle);
    fprintf(out, index ? "\"%s\"" : "null", handle);
}

static void put_json(const struct lap_state_view *view, const struct lap_state_set *set,
                     const struct lap_state_resources *resources)
{
    FILE *out = view->out;

    fprintf(out, "{\"at\": \"%s\", \"packet\": %" PRIu64 ", \"counts\": {", view->at[1], view->last - 1);
    for (size_t i = 0, count; i < set->count; i += count) {
        count = same_type(view, set, i);
        fprintf(out, "%s\"%s\": %zu", i ? ", " : "", gen_handle_names[lap_state_life(view, set->numbers[i])->type],
                count);
    }
    fputs(view->counts ? "}}\n" : "}, \"objects\": [", out);
    for (size_t i = 0; i < set->count && !view->counts; i++) {
        const struct object_life *life = lap_state_life(view, set->numbers[i]);
        const struct object_life *parent = life->parent == SIZE_MAX ? NULL : lap_state_life(view, life->parent);
        const uint64_t bytes = lap_state_bytes(view, set->numbers[i]);
        fputs(i ? ", {\"object\": " : "{\"object\": ", out);
        lap_state_put_handle(out, life->type, life->index);
        fprintf(out, ", \"made\": %" PRIu64 ", \"parent\": ", life->begin - 1);
        lap_state_put_handle(out, parent ? parent->type : GEN_HANDLE_NONE, parent ? parent->index : 0);
        fputs(", \"name\": ", out);
        lap_text_put_json(out, lap_state_name(view, set->numbers[i], 1));
        if (bytes != UINT64_MAX)
            fprintf(out, ", \"bytes\": %" PRIu64, bytes);
        else
            fputs(", \"bytes\": null", out);
        lap_state_put_resource(view, resources, set->numbers[i]);
        fputc('}', out);
    }
    if (!view->counts)
        fputs("]}\n", out);
}

enum lap_status lap_state_list(const struct lap_state_view *view)
{
    struct lap_state_resources *resources = NULL;
    struct lap_state_set set;
    enum lap_status status = lap_state_choose(view, lap_state_lives_last, &set);

    if (status == LAP_OK && view->json && !view->counts)
        status = lap_state_resources_find(view, &resources);
    if (status == LAP_OK && view->json)
        put_json(view, &set, resources);
    else if (status == LAP_OK)
        lap_state_put_set(view, &set, of_swapchain);
    lap_state_resources_free(&resources);
    free(set.numbers);
    return status;
}
