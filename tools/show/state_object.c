/* SPDX-License-Identifier: MIT */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "gen_ids.h"
#include "gen_reflect.h"
#include "inspector/position/packet.h"
#include "tools/common/progress.h"
#include "tools/show/moment.h"
#include "tools/show/print.h"
#include "tools/show/state_print.h"
#include "tools/show/text.h"

#define STEP_BYTES ((uint64_t)1 << 20) /* of packets, between looks at the progress */

const char *const lap_state_change_names[] = {[STATE_WRITTEN] = "written",
                                              [STATE_DESCRIBED] = "updated",
                                              [STATE_RECORDED] = "recorded",
                                              [STATE_CHANGED] = "changed"};

struct shown {
    const struct lap_state_view *view;
    const struct object_life *life;
    size_t number;
    const struct state_notes *notes; /* NULL: none */
    struct position_packet made;     /* what made it */
    char ended[LAP_TEXT_HANDLE_MAX]; /* the call that ends it */
    struct lap_state_set bound, children, users;
};

/* ---- what belongs to it ---- */

static void add(struct lap_state_set *set, size_t number)
{
    set->numbers[set->count++] = number;
}

static bool descends(const struct shown *shown, const struct object_life *life)
{
    while (life->parent != SIZE_MAX && life->parent != shown->number)
        life = lap_state_life(shown->view, life->parent);
    return life->parent == shown->number;
}

static bool is_bound(const struct shown *shown, size_t number)
{
    const struct state_notes *notes = state_objects_notes(shown->view->objects, number);

    for (const struct state_binding *b = notes ? notes->binding : NULL; b; b = b->before)
        if (b->memory == shown->life->index)
            return true;
    return false;
}

static enum lap_status gather(struct shown *shown)
{
    const struct lap_state_view *view = shown->view;
    bool is_memory = shown->life->type == GEN_HANDLE_VkDeviceMemory;
    struct lap_state_set living;
    size_t user_count;
    const size_t *users = state_objects_users(view->objects, &user_count);
    enum lap_status status = lap_state_choose(view, lap_state_lives_last, &living);

    if (status != LAP_OK)
        return status;
    shown->bound.numbers = calloc(living.count + 1, sizeof(size_t));
    shown->children.numbers = calloc(living.count + 1, sizeof(size_t));
    shown->users.numbers = calloc(user_count + 1, sizeof(size_t));
    if (!shown->bound.numbers || !shown->children.numbers || !shown->users.numbers)
        status = lap_fail(LAP_ERROR_MEMORY, "out of memory");
    for (size_t i = 0; i < living.count && status == LAP_OK; i++) {
        if (is_memory && is_bound(shown, living.numbers[i]))
            add(&shown->bound, living.numbers[i]);
        if (descends(shown, lap_state_life(view, living.numbers[i])))
            add(&shown->children, living.numbers[i]);
    }
    for (size_t i = 0; i < user_count && status == LAP_OK; i++)
        if (lap_state_lives_last(view, lap_state_life(view, users[i])) &&
            lap_state_life(view, users[i])->parent != shown->number)
            add(&shown->users, users[i]);
    free(living.numbers);
    return status;
}

/* Reads what ended it, and then what made it, which stays. */
static enum lap_status read_packets(struct shown *shown)
{
    enum lap_status status = position_packet_open(&shown->made, shown->view->trace);

    if (status == LAP_OK && shown->life->end)
        status = position_packet_read(&shown->made, shown->life->end);
    if (status == LAP_OK && shown->life->end)
        snprintf(shown->ended, sizeof shown->ended, "%s", shown->made.name);
    return status == LAP_OK ? position_packet_read(&shown->made, shown->life->begin) : status;
}

static const VkMemoryAllocateInfo *allocation(const struct shown *shown)
{
    if (shown->made.command != GEN_vkAllocateMemory)
        return NULL;
    return ((const struct gen_args_vkAllocateMemory *)(const void *)shown->made.args.bytes)->pAllocateInfo;
}

void lap_state_memory_flags(VkMemoryPropertyFlags flags, char *out)
{
    static const struct {
        VkMemoryPropertyFlags bit;
        const char *name;
    } names[] = {{VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT, "DEVICE_LOCAL"},
                 {VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT, "HOST_VISIBLE"},
                 {VK_MEMORY_PROPERTY_HOST_COHERENT_BIT, "HOST_COHERENT"},
                 {VK_MEMORY_PROPERTY_HOST_CACHED_BIT, "HOST_CACHED"},
                 {VK_MEMORY_PROPERTY_LAZILY_ALLOCATED_BIT, "LAZILY_ALLOCATED"},
                 {VK_MEMORY_PROPERTY_PROTECTED_BIT, "PROTECTED"}};
    size_t used = 0;

    out[0] = 0;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (flags & names[i].bit) {
            used += (size_t)snprintf(out + used, LAP_TEXT_FLAGS_MAX - used, "%s%s", used ? " " : "", names[i].name);
            flags &= ~names[i].bit;
        }
    if (flags || !used)
        snprintf(out + used, LAP_TEXT_FLAGS_MAX - used, "%s0x%" PRIx32, used ? " " : "", flags);
}

/* What it holds, and the state that it is in, in both ways. */
static enum lap_status put_more(const struct lap_state_view *view, const struct object_life *life)
{
    enum lap_status status = lap_state_set_contents(view, life);

    if (status == LAP_OK)
        status = lap_state_layouts(view, life);
    return status == LAP_OK ? lap_state_sync(view, life) : status;
}

/* ---- text ---- */

void lap_state_put_title(const struct lap_state_view *view, const char *title)
{
    fprintf(view->out, "  %-10s", title);
}

static void put_binding(const struct shown *shown, const struct state_binding *binding)
{
    char flags[LAP_TEXT_FLAGS_MAX];
    FILE *out = shown->view->out;

    lap_state_put_title(shown->view, "memory");
    if (binding->swapchain && !binding->memory) {
        fprintf(out, "image %" PRIu32 " of VkSwapchainKHR:%" PRIu64 "\n", binding->swapchain_image, binding->swapchain);
        return;
    }
    lap_state_memory_flags(binding->properties, flags);
    fprintf(out, "VkDeviceMemory:%" PRIu64 ", %" PRIu64 " bytes from %" PRIu64 " on, %s\n", binding->memory,
            binding->size, binding->offset, flags);
}

static void put_life(const struct shown *shown)
{
    const struct lap_state_view *view = shown->view;
    const struct object_life *life = shown->life;
    const struct object_life *parent = life->parent == SIZE_MAX ? NULL : lap_state_life(view, life->parent);
    FILE *out = view->out;

    lap_state_put_title(view, "made");
    fprintf(out, "#%" PRIu64 ", frame %" PRIu64, life->begin - 1, lap_state_frame(view, life->begin));
    if (life->element)
        fprintf(out, ", number %" PRIu32 " of the objects that the call made, from 0", life->element);
    fputc('\n', out);
    lap_state_put_title(view, "ends");
    if (life->end)
        fprintf(out, "#%" PRIu64 ", frame %" PRIu64 ", %s\n", life->end - 1, lap_state_frame(view, life->end),
                shown->ended);
    else
        fputs(view->damaged ? "not in front of the damage\n" : "with the trace\n", out);
    if (!parent)
        return;
    lap_state_put_title(view, "of");
    fprintf(out, "%s:%" PRIu64 "\n", gen_handle_names[parent->type], parent->index);
}

static void put_allocation(const struct shown *shown)
{
    const VkMemoryAllocateInfo *info = allocation(shown);
    char flags[LAP_TEXT_FLAGS_MAX];
    FILE *out = shown->view->out;

    if (!info)
        return;
    lap_state_put_title(shown->view, "size");
    fprintf(out, "%" PRIu64 " bytes of memory type %" PRIu32, info->allocationSize, info->memoryTypeIndex);
    if (shown->notes && shown->notes->has_properties) {
        lap_state_memory_flags(shown->notes->properties, flags);
        fprintf(out, ", %s", flags);
    }
    fprintf(out, "%s\n", shown->notes && shown->notes->at[1].mapped ? ", mapped" : "");
}

static void put_changes(const struct shown *shown)
{
    FILE *out = shown->view->out;

    for (unsigned i = 0; i < STATE_CHANGES && shown->notes; i++) {
        uint64_t count = shown->notes->changes[i].count;
        if (!count)
            continue;
        lap_state_put_title(shown->view, lap_state_change_names[i]);
        fprintf(out, "%" PRIu64 " time%s", count, count == 1 ? "" : "s");
        if (i == STATE_WRITTEN)
            fprintf(out, " by the host, %" PRIu64 " bytes", shown->notes->written_bytes);
        fprintf(out, ", last #%" PRIu64, shown->notes->changes[i].last - 1);
        if (i == STATE_CHANGED)
            fprintf(out, ", %s", gen_command_names[shown->notes->changed_by]);
        fputc('\n', out);
    }
}

static void put_list(const struct shown *shown, const char *title, const struct lap_state_set *set)
{
    struct lap_state_items items;
    char text[16];

    if (!set->count)
        return;
    snprintf(text, sizeof text, "  %-9s", title);
    lap_state_items_begin(&items, shown->view, text);
    items.indent = 12;
    lap_state_items_put(&items, set, 0, set->count, NULL);
    lap_state_items_end(&items);
}

/* Of what holds all others only how many there are. */
static bool holds_all(uint32_t type)
{
    return type == GEN_HANDLE_VkInstance || type == GEN_HANDLE_VkPhysicalDevice || type == GEN_HANDLE_VkDevice;
}

static void put_counts(const struct shown *shown, const char *begin, const char *format)
{
    const struct lap_state_set *set = &shown->children;

    for (size_t i = 0, count = 0; i < set->count; i += count) {
        uint32_t type = lap_state_life(shown->view, set->numbers[i])->type;
        for (count = 0; i + count < set->count && lap_state_life(shown->view, set->numbers[i + count])->type == type;)
            count++;
        fputs(i ? ", " : begin, shown->view->out);
        fprintf(shown->view->out, format, gen_handle_names[type], count);
    }
}

static enum lap_status put_text(const struct shown *shown, const struct lap_line *line)
{
    const struct lap_state_view *view = shown->view;
    const char *name = lap_state_name(view, shown->number, 1);
    const struct lap_printer printer = {.out = view->out, .colour = view->colour};
    char handle[LAP_TEXT_HANDLE_MAX];
    enum lap_status status;

    lap_text_handle(shown->life->type, shown->life->index, handle);
    fputs(handle, view->out);
    if (name) {
        fputc(' ', view->out);
        lap_text_quoted(view->out, name, strlen(name));
    }
    fputc('\n', view->out);
    put_life(shown);
    for (const struct state_binding *b = shown->notes ? shown->notes->binding : NULL; b; b = b->before)
        put_binding(shown, b);
    put_allocation(shown);
    put_changes(shown);
    status = put_more(view, shown->life);
    if (status != LAP_OK)
        return status;
    put_list(shown, "bound", &shown->bound);
    if (holds_all(shown->life->type) && shown->children.count) {
        put_counts(shown, "  has       ", "%s %zu");
        fputc('\n', view->out);
    } else {
        put_list(shown, "has", &shown->children);
    }
    put_list(shown, "used by", &shown->users);
    lap_print_text(&printer, line);
    return LAP_OK;
}

/* ---- JSON ---- */

void lap_state_put_memory(const struct lap_state_view *view, const struct state_binding *binding)
{
    char flags[LAP_TEXT_FLAGS_MAX];
    FILE *out = view->out;

    fputc('[', out);
    for (const struct state_binding *b = binding; b; b = b->before) {
        fputs(b == binding ? "{\"memory\": " : ", {\"memory\": ", out);
        lap_state_put_handle(out, GEN_HANDLE_VkDeviceMemory, b->memory);
        fprintf(out,
                ", \"offset\": %" PRIu64 ", \"size\": %" PRIu64 ", \"plane\": %" PRIu32 ", \"swapchain\": ", b->offset,
                b->size, b->plane);
        lap_state_put_handle(out, GEN_HANDLE_VkSwapchainKHR, b->swapchain);
        lap_state_memory_flags(b->properties, flags);
        fprintf(out, ", \"properties\": \"%s\", \"packet\": %" PRIu64 "}", flags, b->ticket - 1);
    }
    fputc(']', out);
}

static void put_handles(const struct shown *shown, const char *key, const struct lap_state_set *set)
{
    FILE *out = shown->view->out;

    fprintf(out, ", \"%s\": [", key);
    for (size_t i = 0; i < set->count; i++) {
        const struct object_life *life = lap_state_life(shown->view, set->numbers[i]);
        fputs(i ? ", " : "", out);
        lap_state_put_handle(out, life->type, life->index);
    }
    fputc(']', out);
}

void lap_state_put_change(FILE *out, const struct state_notes *notes, enum state_change change)
{
    fprintf(out, "{\"count\": %" PRIu64 ", \"last\": %" PRIu64, notes->changes[change].count,
            notes->changes[change].last - 1);
    if (change == STATE_WRITTEN)
        fprintf(out, ", \"bytes\": %" PRIu64, notes->written_bytes);
    if (change == STATE_CHANGED)
        fprintf(out, ", \"by\": \"%s\"", gen_command_names[notes->changed_by]);
    fputc('}', out);
}

static enum lap_status put_json(const struct shown *shown, const struct lap_line *line)
{
    const struct lap_state_view *view = shown->view;
    const struct object_life *life = shown->life;
    const struct object_life *parent = life->parent == SIZE_MAX ? NULL : lap_state_life(view, life->parent);
    const VkMemoryAllocateInfo *info = allocation(shown);
    FILE *out = view->out;
    enum lap_status status;

    fprintf(out, "{\"at\": \"%s\", \"packet\": %" PRIu64 ", \"object\": ", view->at[1], view->last - 1);
    lap_state_put_handle(out, life->type, life->index);
    fputs(", \"name\": ", out);
    lap_text_put_json(out, lap_state_name(view, shown->number, 1));
    fprintf(out, ", \"made\": {\"packet\": %" PRIu64 ", \"frame\": %" PRIu64 ", \"element\": %" PRIu32 "}, \"ends\": ",
            life->begin - 1, lap_state_frame(view, life->begin), life->element);
    if (life->end)
        fprintf(out, "{\"packet\": %" PRIu64 ", \"frame\": %" PRIu64 ", \"name\": \"%s\"}", life->end - 1,
                lap_state_frame(view, life->end), shown->ended);
    fputs(life->end ? ", \"parent\": " : "null, \"parent\": ", out);
    lap_state_put_handle(out, parent ? parent->type : GEN_HANDLE_NONE, parent ? parent->index : 0);
    fputs(", \"memory\": ", out);
    lap_state_put_memory(view, shown->notes ? shown->notes->binding : NULL);
    fputs(", \"allocation\": ", out);
    if (info)
        fprintf(out, "{\"size\": %" PRIu64 ", \"type\": %" PRIu32 ", \"mapped\": %s}", info->allocationSize,
                info->memoryTypeIndex, shown->notes && shown->notes->at[1].mapped ? "true" : "false");
    else
        fputs("null", out);
    for (unsigned i = 0; i < STATE_CHANGES; i++) {
        fprintf(out, ", \"%s\": ", lap_state_change_names[i]);
        if (shown->notes && shown->notes->changes[i].count)
            lap_state_put_change(out, shown->notes, (enum state_change)i);
        else
            fputs("null", out);
    }
    status = put_more(view, life);
    if (status != LAP_OK)
        return status;
    put_handles(shown, "bound", &shown->bound);
    fputs(", \"has\": {", out);
    put_counts(shown, "", "\"%s\": %zu");
    fputc('}', out);
    put_handles(shown, "used_by", &shown->users);
    fputs(", \"creation\": ", out);
    return lap_print_json(&(struct lap_printer){.out = out}, line);
}

enum lap_status lap_state_object(const struct lap_state_view *view, uint32_t type, uint64_t index)
{
    struct shown shown = {.view = view, .life = state_objects_get(view->objects, type, index)};
    enum lap_status status;

    if (!shown.life || !lap_state_lives_last(view, shown.life))
        return lap_object_lives_in(state_objects_lives(view->objects), view->last, view->at[1], type, index);
    shown.number = (size_t)(shown.life - state_objects_lives(view->objects)->lives);
    shown.notes = state_objects_notes(view->objects, shown.number);
    status = read_packets(&shown);
    if (status == LAP_OK)
        status = gather(&shown);
    if (status == LAP_OK) {
        const struct lap_line line = {.packet = &shown.made.packet,
                                      .index = shown.life->begin - 1,
                                      .name = shown.made.name,
                                      .command = shown.made.command,
                                      .args = shown.made.args.bytes,
                                      .has_result = shown.made.has_result};
        status = view->json ? put_json(&shown, &line) : put_text(&shown, &line);
        if (view->json && status == LAP_OK)
            fputs("}\n", view->out);
    }
    position_packet_close(&shown.made);
    free(shown.bound.numbers);
    free(shown.children.numbers);
    free(shown.users.numbers);
    return status;
}

static void note_ticket(void *state, const struct lap_packet *packet)
{
    *(uint64_t *)state = packet->ticket;
}

enum lap_status lap_state_read(const struct lap_state_view *view, const struct trace_visitor *visitor)
{
    struct lap_progress progress;
    struct trace_pass *pass;
    uint64_t reached = 0;
    const struct trace_visitor visitors[] = {*visitor,
                                             {.see_packet = note_ticket, .state = &reached, .last_ticket = view->last}};
    enum lap_status status = trace_pass_open(view->trace, 0, visitors, 2, &pass);

    lap_progress_begin(&progress, "reading", false);
    for (uint64_t bytes = STEP_BYTES; status == LAP_OK; bytes += STEP_BYTES) {
        status = trace_pass_advance(pass, bytes);
        lap_progress_show(&progress, trace_pass_packet(pass)->ticket, view->last);
    }
    lap_progress_clear(&progress);
    trace_pass_close(&pass);
    /* Damage behind the last ticket is not of interest; that in front of it was said before. */
    return status == LAP_END || ((reached >= view->last || view->damaged) && status != LAP_ERROR_MEMORY) ? LAP_OK
                                                                                                         : status;
}
