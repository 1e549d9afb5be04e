/* SPDX-License-Identifier: MIT */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "gen_ids.h"
#include "tools/show/text.h"
#include "tools/show/tree.h"

#define NAME_COLOUR  "\033[1;36m"
#define LABEL_COLOUR "\033[1;33m"
#define DIM_COLOUR   "\033[2m"
#define NO_COLOUR    "\033[0m"

const char *lap_tree_kind(enum tree_kind kind)
{
    static const char *const kinds[] = {
        [TREE_FRAME] = "frame",      [TREE_SUBMIT] = "submit", [TREE_BUFFER] = "command buffer",
        [TREE_PASS] = "render pass", [TREE_LABEL] = "label",   [TREE_EXECUTION] = "execution",
        [TREE_COMMAND] = "command"};

    return kinds[kind];
}

uint32_t lap_tree_object_type(enum tree_kind kind)
{
    switch (kind) {
    case TREE_SUBMIT:
        return GEN_HANDLE_VkQueue;
    case TREE_BUFFER:
        return GEN_HANDLE_VkCommandBuffer;
    case TREE_PASS:
        return GEN_HANDLE_VkRenderPass;
    default:
        return GEN_HANDLE_NONE;
    }
}

static void sum(struct lap_tree_printer *printer, const struct tree_node *node)
{
    printer->nodes++;
    if (node->kind != TREE_FRAME)
        return;
    printer->submits += node->submits;
    printer->buffers += node->buffers;
    position_add(&printer->counts, &node->counts);
}

/* ---- text ---- */

static void print_count(FILE *out, const char **between, uint64_t count, const char *one, const char *many)
{
    if (!count)
        return;
    fprintf(out, "%s%" PRIu64 " %s", *between, count, count == 1 ? one : many);
    *between = ", ";
}

static void print_counts(FILE *out, const char *between, uint64_t submits, uint64_t buffers,
                         const struct position_counts *counts)
{
    print_count(out, &between, submits, "submit", "submits");
    print_count(out, &between, buffers, "command buffer", "command buffers");
    print_count(out, &between, counts->passes, "render pass", "render passes");
    print_count(out, &between, counts->draws, "draw", "draws");
    print_count(out, &between, counts->dispatches, "dispatch", "dispatches");
    print_count(out, &between, counts->traces, "ray trace", "ray traces");
    print_count(out, &between, counts->transfers, "transfer", "transfers");
    print_count(out, &between, counts->others, "other", "others");
    print_count(out, &between, counts->commands, "command", "commands");
}

static void print_name(const struct lap_tree_printer *printer, const struct tree_node *node)
{
    char handle[LAP_TEXT_HANDLE_MAX];
    FILE *out = printer->out;

    if (node->text && printer->colour)
        fputs(node->kind == TREE_LABEL ? LABEL_COLOUR : NAME_COLOUR, out);
    if (node->kind == TREE_LABEL)
        lap_text_quoted(out, node->text, strlen(node->text));
    else if (node->text)
        fputs(node->text, out);
    if (node->text && printer->colour)
        fputs(NO_COLOUR, out);
    if (node->kind == TREE_FRAME)
        fputs(node->position.numbers[0] <= printer->frames ? "frame"
              : printer->frames                            ? "behind the last frame"
                                                           : "no frame",
              out);
    if (!node->object)
        return;
    lap_text_handle(lap_tree_object_type(node->kind), node->object, handle);
    fprintf(out, "%s%s", node->text ? " " : "", handle);
}

/* Of the queue, or left open by earlier command buffers. */
static void print_labels(const struct lap_tree_printer *printer, const struct position_label_list *labels)
{
    for (size_t i = 0; labels && i < labels->count; i++) {
        fputs(printer->colour ? " in " LABEL_COLOUR : " in ", printer->out);
        lap_text_quoted(printer->out, labels->texts[i], strlen(labels->texts[i]));
        if (printer->colour)
            fputs(NO_COLOUR, printer->out);
    }
}

enum lap_status lap_tree_text(void *user, const struct tree_node *node)
{
    struct lap_tree_printer *printer = user;
    char position[POSITION_TEXT_BYTES];
    unsigned depth = node->depth - !printer->at;

    sum(printer, node);
    fprintf(printer->out, "%*s%s%s%s  ", (int)(depth < 100 ? depth : 100) * 2, "", printer->colour ? DIM_COLOUR : "",
            position_text(&node->position, position), printer->colour ? NO_COLOUR : "");
    print_name(printer, node);
    print_labels(printer, node->labels);
    if (node->kind != TREE_COMMAND)
        print_counts(printer->out, ": ", node->submits, node->buffers, &node->counts);
    fputc('\n', printer->out);
    return ferror(printer->out) ? lap_fail(LAP_ERROR_IO, "the output can't be written") : LAP_OK;
}

/* Which of the children are shown. */
static void print_part(const struct lap_tree_printer *printer)
{
    uint64_t last = printer->last < printer->children ? printer->last : printer->children;

    if (printer->first > printer->children)
        fprintf(stderr, "none of %" PRIu64 " children\n", printer->children);
    else
        fprintf(stderr, "children %" PRIu64 "-%" PRIu64 " of %" PRIu64 "\n", printer->first, last, printer->children);
}

void lap_tree_text_end(struct lap_tree_printer *printer)
{
    bool is_part = printer->first > 1 || printer->last < printer->children;

    if (printer->at && !is_part)
        return;
    fflush(printer->out); /* it stands behind the frames on a terminal */
    if (is_part) {
        print_part(printer);
        return;
    }
    if (printer->frames)
        fprintf(stderr, "%" PRIu64 " frame%s", printer->frames, printer->frames == 1 ? "" : "s");
    else
        fputs("no frames", stderr);
    print_counts(stderr, ", ", printer->submits, printer->buffers, &printer->counts);
    fputc('\n', stderr);
}

/* ---- JSON ---- */

static void put_counts(FILE *out, const struct position_counts *counts)
{
    fprintf(out,
            "\"commands\": %" PRIu64 ", \"passes\": %" PRIu64 ", \"draws\": %" PRIu64 ", \"dispatches\": %" PRIu64
            ", \"traces\": %" PRIu64 ", \"transfers\": %" PRIu64 ", \"others\": %" PRIu64,
            counts->commands, counts->passes, counts->draws, counts->dispatches, counts->traces, counts->transfers,
            counts->others);
}

static void put_labels(FILE *out, const struct position_label_list *labels)
{
    for (size_t i = 0; labels && i < labels->count; i++) {
        fputs(i ? ", " : ", \"labels\": [", out);
        lap_text_put_json(out, labels->texts[i]);
    }
    if (labels)
        fputc(']', out);
}

void lap_tree_json_begin(struct lap_tree_printer *printer)
{
    char position[POSITION_TEXT_BYTES];

    if (printer->at)
        fprintf(printer->out, "{\"at\": \"%s\", \"nodes\": [", position_text(printer->at, position));
    else
        fputs("{\"at\": null, \"nodes\": [", printer->out);
}

/* Ends the nodes that this one is not in. */
static void close_to(struct lap_tree_printer *printer, unsigned depth)
{
    for (; printer->nodes && printer->depth + 1 > depth; printer->depth--) {
        fputs("]}", printer->out);
        if (printer->depth == 0)
            break;
    }
}

enum lap_status lap_tree_json(void *user, const struct tree_node *node)
{
    struct lap_tree_printer *printer = user;
    char text[POSITION_TEXT_BYTES + LAP_TEXT_HANDLE_MAX];
    unsigned depth = node->depth - !printer->at;
    bool first = !printer->nodes || depth > printer->depth;

    if (!first)
        close_to(printer, depth);
    fprintf(printer->out, "%s{\"position\": \"%s\", \"kind\": \"%s\", \"name\": ", first ? "" : ", ",
            position_text(&node->position, text), lap_tree_kind(node->kind));
    lap_text_put_json(printer->out, node->text);
    if (node->object)
        lap_text_handle(lap_tree_object_type(node->kind), node->object, text);
    fputs(", \"object\": ", printer->out);
    lap_text_put_json(printer->out, node->object ? text : NULL);
    if (node->end) {
        struct position end = node->position;
        end.numbers[end.count - 1] = node->end;
        fprintf(printer->out, ", \"end\": \"%s\"", position_text(&end, text));
    }
    put_labels(printer->out, node->labels);
    fprintf(printer->out, ", \"submits\": %" PRIu64 ", \"buffers\": %" PRIu64 ", ", node->submits, node->buffers);
    put_counts(printer->out, &node->counts);
    fputs(", \"children\": [", printer->out);
    sum(printer, node);
    printer->depth = depth;
    return ferror(printer->out) ? lap_fail(LAP_ERROR_IO, "the output can't be written") : LAP_OK;
}

void lap_tree_json_end(struct lap_tree_printer *printer)
{
    close_to(printer, 0);
    fprintf(printer->out, "], \"of\": %" PRIu64, printer->children);
    if (!printer->at)
        fprintf(printer->out, ", \"frames\": %" PRIu64, printer->frames);
    fputs("}\n", printer->out);
}
