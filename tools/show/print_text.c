/* SPDX-License-Identifier: MIT */
#include "tools/show/print.h"

#include <inttypes.h>
#include <string.h>
#include <xxhash.h>

#include "base/process/signal_name.h"
#include "gen_ids.h"
#include "gen_reflect.h"
#include "tools/show/text.h"
#include "vulkan/walk.h"

#define NAME_COLOUR "\033[1;36m"
#define DIM_COLOUR  "\033[2m"
#define BAD_COLOUR  "\033[1;31m"
#define NO_COLOUR   "\033[0m"

struct text {
    FILE *out;
    bool no_outputs;                   /* the call did not return */
    const struct gen_member *left_out; /* NULL: none */
    bool first;                        /* the next item is the first of its list */
};

static void print_number(FILE *out, const char *before, uint64_t value)
{
    char text[LAP_TEXT_NUMBER_MAX];

    fputs(before, out);
    lap_text_number(value, text);
    fputs(text, out);
}

static void item(struct text *text, const struct lap_place *place)
{
    if (!text->first)
        fputs(", ", text->out);
    text->first = false;
    if (!place->in_array && place->member) {
        fputs(gen_member_name(place->member), text->out);
        fputs(" = ", text->out);
    }
}

static bool begin_struct(void *user, const struct lap_place *place, uint32_t number)
{
    struct text *text = user;
    item(text, place);
    /* The type of a structure is ambiguous only in a chain. */
    if (place->in_array && place->member->shape == GEN_SHAPE_PNEXT)
        fputs(gen_struct_names[number], text->out);
    fputc('{', text->out);
    text->first = true;
    return true;
}

static void end_struct(void *user, const struct lap_place *place, uint32_t number)
{
    struct text *text = user;
    fputc('}', text->out);
    text->first = false;
}

static bool begin_array(void *user, const struct lap_place *place, uint64_t count)
{
    struct text *text = user;
    item(text, place);
    fputc('[', text->out);
    text->first = true;
    return true;
}

static void end_array(void *user, const struct lap_place *place)
{
    struct text *text = user;
    fputc(']', text->out);
    text->first = false;
}

static void null(void *user, const struct lap_place *place)
{
    struct text *text = user;
    if (place->member->shape == GEN_SHAPE_PNEXT || (text->no_outputs && place->member->flags & GEN_MEMBER_OUTPUT))
        return;
    item(text, place);
    fputs("NULL", text->out);
}

static void print_value(FILE *out, const struct lap_value *value)
{
    char buffer[LAP_TEXT_FLAGS_MAX];
    const char *name;

    switch (value->kind) {
    case LAP_VALUE_UNSIGNED:
        print_number(out, "", value->u);
        break;
    case LAP_VALUE_SIGNED:
        fprintf(out, "%" PRId64, value->i);
        break;
    case LAP_VALUE_FLOAT:
        lap_text_float(value->f, value->width, buffer);
        fputs(buffer, out);
        break;
    case LAP_VALUE_BOOL:
        if (value->u <= 1)
            fputs(value->u ? "VK_TRUE" : "VK_FALSE", out);
        else
            fprintf(out, "%" PRIu64, value->u);
        break;
    case LAP_VALUE_ENUM:
        name = lap_text_enum(value->type, value->i);
        if (name)
            fputs(name, out);
        else
            fprintf(out, "%" PRId64, value->i);
        break;
    case LAP_VALUE_FLAGS:
        lap_text_flags(value->type, value->u, buffer);
        fputs(buffer, out);
        break;
    case LAP_VALUE_HANDLE:
        lap_text_handle(value->type, value->u, buffer);
        fputs(value->u ? buffer : "VK_NULL_HANDLE", out);
        break;
    case LAP_VALUE_STRING:
        lap_text_quoted(out, value->data, value->bytes);
        break;
    case LAP_VALUE_BYTES:
        fprintf(out, "<%zu bytes, %016" PRIx64 ">", value->bytes, (uint64_t)XXH3_64bits(value->data, value->bytes));
        break;
    case LAP_VALUE_ADDRESS:
        if (value->u)
            fprintf(out, "0x%" PRIx64, value->u);
        else
            fputs("NULL", out);
        break;
    }
}

static void visit(void *user, const struct lap_place *place, const struct lap_value *value)
{
    struct text *text = user;
    if (place->member->shape == GEN_SHAPE_STYPE || place->member == text->left_out)
        return;
    item(text, place);
    print_value(text->out, value);
}

/* Prints only the result; the visit skips the parameters in front of it. */
static void print_result(const struct lap_printer *printer, const struct lap_line *line)
{
    const struct gen_member *member = lap_walk_result_member(line->command);
    struct lap_value value = {.kind = LAP_VALUE_UNSIGNED, .type = member->type, .width = member->element_bytes};
    const void *at = (const char *)line->args + member->offset;
    bool bad;

    memcpy(&value.u, at, member->element_bytes <= 8 ? member->element_bytes : 8);
    if (member->element == GEN_ELEMENT_ENUM) {
        value.kind = LAP_VALUE_ENUM;
        value.i = (int32_t)value.u;
    } else if (member->element == GEN_ELEMENT_BOOL) {
        value.kind = LAP_VALUE_BOOL;
    } else if (member->element == GEN_ELEMENT_OPAQUE) {
        value.kind = LAP_VALUE_ADDRESS;
    }
    bad = printer->colour && value.kind == LAP_VALUE_ENUM && value.i < 0;
    fprintf(printer->out, " = %s", bad ? BAD_COLOUR : "");
    print_value(printer->out, &value);
    if (bad)
        fputs(NO_COLOUR, printer->out);
}

/* Prints the end of a call that did not return. */
static void print_end(const struct lap_printer *printer, const struct lap_in_flight *call)
{
    char name[LAP_SIGNAL_NAME_MAX];

    fprintf(printer->out, " %sdid not return", printer->colour ? BAD_COLOUR : "");
    if (call->signal)
        fprintf(printer->out, call->flags & LAP_IN_FLIGHT_GUILTY ? ": %s" : ", another thread got %s",
                lap_signal_name(call->signal, name));
    fputs(printer->colour ? NO_COLOUR : "", printer->out);
}

static void print_head(const struct lap_printer *printer, const struct lap_line *line)
{
    FILE *out = printer->out;

    if (printer->colour)
        fputs(DIM_COLOUR, out);
    if (line->in_flight) {
        fprintf(out, "# %" PRIu64 " %" PRIu64 " -%s ", line->in_flight->thread_id, line->in_flight->ticket,
                printer->colour ? NO_COLOUR : "");
        return;
    }
    print_number(out, "#", line->index);
    if (line->in_block)
        print_number(out, ".", line->command_index);
    print_number(out, " ", line->packet->thread_id);
    print_number(out, " ", line->packet->ticket);
    print_number(out, " ", line->packet->frame + 1);
    fputs(printer->colour ? NO_COLOUR " " : " ", out);
    fputs(line->in_block ? "  " : "", out);
}

void lap_print_text_args(FILE *out, uint32_t command, const void *args)
{
    const struct gen_member *members = gen_command_infos[command].members;
    bool is_recorded = gen_command_dispatch[command] == GEN_HANDLE_VkCommandBuffer;
    struct text text = {.out = out, .left_out = is_recorded ? members : NULL, .first = true};
    struct lap_visitor visitor = {begin_struct, end_struct, begin_array, end_array, null, visit, &text};

    lap_walk_command(command, args, false, &visitor);
}

void lap_print_text(const struct lap_printer *printer, const struct lap_line *line)
{
    struct text text = {.out = printer->out, .no_outputs = line->in_flight != NULL, .first = true};
    struct lap_visitor visitor = {begin_struct, end_struct, begin_array, end_array, null, visit, &text};
    FILE *out = printer->out;

    print_head(printer, line);
    fputs(printer->colour ? NAME_COLOUR : "", out);
    fputs(line->name, out);
    fputs(printer->colour ? NO_COLOUR "(" : "(", out);
    if (line->bare) {
        fputs("<arguments that are not known>)", out);
    } else if (line->command == GEN_COMMAND_NONE) {
        fprintf(out, "<%zu bytes, unknown to this build>)", line->packet->bytes);
    } else {
        lap_walk_command(line->command, line->args, false, &visitor);
        fputc(')', out);
        if (line->has_result)
            print_result(printer, line);
    }
    if (line->in_flight)
        print_end(printer, line->in_flight);
    fputc('\n', out);
}
