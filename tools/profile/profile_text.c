/* SPDX-License-Identifier: MIT */
#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"
#include "tools/profile/profile_print.h"

#define NAME_BYTES    256u
#define MOST_WIDTH    44u
#define SMALL         0.005 /* share of the frame */
#define FEWEST_SMALL  4u    /* that become one line */
#define MOST_COMMANDS 4u    /* of the CPU's line */
#define LEAST_COMMAND 0.02  /* share of it */
#define MOST_NOTES    5u

struct text {
    const struct profile_printer *printer;
    FILE *out; /* NULL: only measure */
    size_t width;
    int digits;
    bool hides_commands;
};

static void put_clean(FILE *out, const char *text)
{
    lap_utf8_print(out, text, strlen(text), '?', "");
}

/* Characters, each of which is shown as one. */
static size_t width_of(const char *text)
{
    size_t width = 0, left = strlen(text), step;

    for (; left; left -= step, text += step, width++) {
        bool shown;
        step = lap_utf8_step(text, left, &shown);
    }
    return width;
}

/* ---- rows ---- */

static void put_name(struct text *text, unsigned indent, const char *name)
{
    size_t width = indent + width_of(name);

    if (!text->out) {
        text->width = width > text->width ? width : text->width;
        return;
    }
    fprintf(text->out, "%*s", (int)indent, "");
    put_clean(text->out, name);
    for (; width < text->width; width++)
        putc(' ', text->out);
}

/* ends: nothing is behind it. */
static void put_time(const struct text *text, const struct profile_time *time, bool ends)
{
    fprintf(text->out, "  %8.*f  ± %-*.*f", text->digits, time->median, ends ? 0 : 7, text->digits, time->spread);
}

static void put_share(const struct text *text, double share)
{
    fprintf(text->out, "  %3.0f %%", 100 * share);
}

static void put_count(FILE *out, double count, const char *one, const char *more)
{
    if (count > 0)
        fprintf(out, "  %.0f %s", count, count > 1 ? more : one);
}

static void put_targets(FILE *out, const struct profile_thing *thing)
{
    static const char prefix[] = "VK_FORMAT_";

    if (thing->target_count)
        fprintf(out, "  %.0f x %.0f", thing->targets[0].width, thing->targets[0].height);
    for (size_t i = 0; i < thing->target_count; i++) {
        const char *format = thing->targets[i].format;
        fputs(i ? ", " : " ", out);
        put_clean(out, strncmp(format, prefix, strlen(prefix)) == 0 ? format + strlen(prefix) : format);
    }
}

/* Where it is, and what. */
static void put_rest(const struct text *text, const struct profile_part *part)
{
    const struct profile_thing *thing = part->first;
    FILE *out = text->out;
    size_t frames = text->printer->profile->raws[0].frame_count;

    if (part->kind != PROFILE_BETWEEN) {
        fputs("  ", out);
        put_clean(out, thing->position);
        if (part->kind == PROFILE_PASS && thing->command) {
            putc(' ', out);
            put_clean(out, thing->command);
        }
        put_targets(out, thing);
        if (part->kind == PROFILE_COMMANDS && text->printer->profile->queue_count > 1) {
            fputs("  ", out);
            put_clean(out, thing->queue);
        }
        if (thing->pipeline) {
            fputs("  ", out);
            put_clean(out, thing->pipeline);
        }
        if (part->kind != PROFILE_WORK) {
            put_count(out, thing->draws, "draw", "draws");
            put_count(out, thing->dispatches, "dispatch", "dispatches");
        }
    }
    if (part->frames < frames)
        fprintf(out, "  in %zu of %zu frames", part->frames, frames);
}

static const char *name_of(const struct profile_part *part, char out[NAME_BYTES])
{
    const struct profile_thing *thing = part->first;

    if (part->kind == PROFILE_BETWEEN)
        return "between";
    if (part->kind == PROFILE_COMMANDS)
        return "command buffer";
    if (part->kind == PROFILE_WORK)
        return thing->command ? thing->command : "work";
    if (!thing->name)
        return profile_kind_name(part->kind);
    snprintf(out, NAME_BYTES, "\"%.*s\"", (int)MOST_WIDTH, thing->name);
    return out;
}

static void put_part(struct text *text, const struct profile_part *part)
{
    char name[NAME_BYTES];

    put_name(text, 2 * (part->depth + !text->hides_commands), name_of(part, name));
    if (!text->out)
        return;
    put_time(text, &part->gpu, false);
    put_share(text, part->share);
    put_rest(text, part);
    putc('\n', text->out);
}

/* ---- the tree ---- */

static bool is_in_pass(const struct profile *profile, const struct profile_part *part)
{
    while (part->parent != PROFILE_NONE) {
        part = &profile->parts[part->parent];
        if (part->kind == PROFILE_PASS)
            return true;
    }
    return false;
}

/* Draws of passes have a list of their own. */
static bool is_hidden(const struct text *text, const struct profile_part *part)
{
    return text->printer->draws && (part->kind == PROFILE_WORK || part->kind == PROFILE_BETWEEN) &&
           is_in_pass(text->printer->profile, part);
}

static bool is_small(const struct text *text, const struct profile_part *part)
{
    return part->kind == PROFILE_WORK && part->share < SMALL && !text->printer->all;
}

static int compare_parts(const void *a, const void *b)
{
    const struct profile_part *one = *(const struct profile_part *const *)a,
                              *other = *(const struct profile_part *const *)b;
    double x = one->gpu.median, y = other->gpu.median;

    return x != y ? (x < y) - (x > y) : strcmp(one->key, other->key);
}

/* The small ones of one parent, as one line. */
static void put_small(struct text *text, const struct profile_part *const *parts, size_t count, unsigned indent)
{
    struct profile_time all = {.median = 0};
    size_t small = 0;
    double share = 0;
    char name[40];

    for (size_t i = 0; i < count; i++)
        if (is_small(text, parts[i])) {
            small++;
            all.median += parts[i]->gpu.median;
            share += parts[i]->share;
        }
    snprintf(name, sizeof name, "%zu small ones", small);
    put_name(text, indent, name);
    if (!text->out)
        return;
    fprintf(text->out, "  %8.*f  %9s", text->digits, all.median, "");
    put_share(text, share);
    fputs("  each less than 0.5 %\n", text->out);
}

/* The parts from `first` on, and what is in them. False: out of memory. */
static bool put_siblings(struct text *text, size_t first, unsigned indent)
{
    const struct profile *profile = text->printer->profile;
    const struct profile_part **parts;
    size_t count = 0, small = 0;
    bool good = true, folds;

    for (size_t i = first; i != PROFILE_NONE; i = profile->parts[i].next)
        count++;
    parts = malloc((count + 1) * sizeof *parts);
    if (!parts)
        return false;
    count = 0;
    for (size_t i = first; i != PROFILE_NONE; i = profile->parts[i].next)
        if (!is_hidden(text, &profile->parts[i])) {
            parts[count++] = &profile->parts[i];
            small += is_small(text, &profile->parts[i]);
        }
    if (text->printer->by_time)
        qsort(parts, count, sizeof *parts, compare_parts);
    folds = small >= FEWEST_SMALL;
    for (size_t i = 0; good && i < count; i++) {
        bool hidden = text->hides_commands && parts[i]->kind == PROFILE_COMMANDS;
        if (folds && is_small(text, parts[i]))
            continue;
        if (!hidden)
            put_part(text, parts[i]);
        good = put_siblings(text, parts[i]->first_child, hidden ? indent : indent + 2);
    }
    if (folds)
        put_small(text, parts, count, indent);
    free(parts);
    return good;
}

static void put_frame(struct text *text)
{
    const struct profile *profile = text->printer->profile;

    put_name(text, 0, "frame");
    if (text->out) {
        put_time(text, &profile->gpu, true);
        putc('\n', text->out);
    }
    for (size_t i = 0; profile->queue_count > 1 && i < profile->queue_count; i++) {
        put_name(text, 2, profile->queues[i].name);
        if (!text->out)
            continue;
        put_time(text, &profile->queues[i].gpu, false);
        put_share(text, profile->gpu.median > 0 ? profile->queues[i].gpu.median / profile->gpu.median : 0);
        putc('\n', text->out);
    }
}

static void put_cpu(struct text *text)
{
    const struct profile *profile = text->printer->profile;

    put_name(text, 0, "CPU of the replay");
    if (!text->out)
        return;
    put_time(text, &profile->cpu, false);
    fputs("       ", text->out);
    for (size_t i = 0; i < profile->command_count && i < MOST_COMMANDS; i++) {
        if (profile->commands[i].cpu.median < LEAST_COMMAND * profile->cpu.median)
            break;
        fputs(i ? ", " : "  ", text->out);
        put_clean(text->out, profile->commands[i].name);
        fprintf(text->out, " %.*f", text->digits, profile->commands[i].cpu.median);
    }
    putc('\n', text->out);
}

static bool put_tree(struct text *text)
{
    const struct profile *profile = text->printer->profile;

    put_frame(text);
    if (profile->part_count && !put_siblings(text, 0, 2))
        return false;
    put_cpu(text);
    return true;
}

/* ---- lists ---- */

/* The labels and passes around it, the outermost first. */
static void put_path(const struct text *text, const struct profile_part *part)
{
    const struct profile_part *around[PROFILE_MOST_DEPTH];
    size_t count = 0;

    while (part->parent != PROFILE_NONE && count < PROFILE_MOST_DEPTH) {
        part = &text->printer->profile->parts[part->parent];
        if (part->first->name && (part->kind == PROFILE_LABEL || part->kind == PROFILE_PASS))
            around[count++] = part;
    }
    fputs(count ? "  " : "", text->out);
    while (count--) {
        put_clean(text->out, around[count]->first->name);
        fputs(count ? "/" : "", text->out);
    }
}

static bool put_top(struct text *text)
{
    const struct profile_printer *printer = text->printer;
    const struct profile *profile = printer->profile;
    const struct profile_part **parts = malloc((profile->part_count + 1) * sizeof *parts);
    size_t count = 0;
    char name[NAME_BYTES];

    if (!parts)
        return false;
    for (size_t i = 0; i < profile->part_count; i++) {
        enum profile_kind kind = profile->parts[i].kind;
        if (kind == PROFILE_WORK || (!printer->draws && (kind == PROFILE_PASS || kind == PROFILE_LABEL)))
            parts[count++] = &profile->parts[i];
    }
    qsort(parts, count, sizeof *parts, compare_parts);
    fprintf(text->out, "\nthe most expensive %s\n", printer->draws ? "draws and other commands" : "ones");
    for (size_t i = 0; i < count && i < printer->top; i++) {
        put_time(text, &parts[i]->gpu, false);
        put_share(text, parts[i]->share);
        fputs("  ", text->out);
        put_clean(text->out, name_of(parts[i], name));
        put_rest(text, parts[i]);
        put_path(text, parts[i]);
        putc('\n', text->out);
    }
    free(parts);
    return true;
}

/* VERTEX_SHADER_INVOCATIONS as words. */
static void put_words(FILE *out, const char *name)
{
    for (; *name; name++)
        putc(*name == '_'                   ? ' '
             : *name >= 'A' && *name <= 'Z' ? *name - 'A' + 'a'
             : *name >= 'a' && *name <= 'z' ? *name
                                            : '?',
             out);
}

static bool has_counts(const struct profile_part *part)
{
    bool any = false;

    for (size_t i = 0; i < part->statistic_count; i++)
        any |= part->statistics[i].value > 0;
    return any;
}

static void put_counts(const struct text *text, const struct profile_part *part)
{
    char name[NAME_BYTES];
    unsigned count = 0;

    fputs("  ", text->out);
    put_clean(text->out, part->first->position);
    putc(' ', text->out);
    put_clean(text->out, name_of(part, name));
    for (size_t i = 0; i < part->statistic_count; i++) {
        if (!(part->statistics[i].value > 0))
            continue;
        fputs(count++ ? ", " : "  ", text->out);
        put_words(text->out, part->statistics[i].name);
        fprintf(text->out, " %.0f", part->statistics[i].value);
    }
    putc('\n', text->out);
}

static void put_statistics(const struct text *text)
{
    const struct profile *profile = text->printer->profile;
    bool any = false;

    for (size_t i = 0; i < profile->part_count; i++) {
        if (!has_counts(&profile->parts[i]))
            continue;
        fputs(any ? "" : "\nstatistics of a frame\n", text->out);
        any = true;
        put_counts(text, &profile->parts[i]);
    }
}

/* ---- comparison ---- */

static bool is_shown(const struct profile_change *change)
{
    return change->verdict == PROFILE_CHANGED || change->verdict == PROFILE_ONLY_A || change->verdict == PROFILE_ONLY_B;
}

static void put_change_name(struct text *text, const struct profile_change *change, bool is_part)
{
    const struct profile_item *one = change->a ? change->a : change->b;
    char name[NAME_BYTES];

    if (!is_part)
        snprintf(name, sizeof name, "frame");
    else if (one->kind == PROFILE_COMMANDS || one->kind == PROFILE_BETWEEN)
        snprintf(name, sizeof name, "%s", one->kind == PROFILE_COMMANDS ? "command buffer" : "between");
    else if (one->kind == PROFILE_LABEL)
        snprintf(name, sizeof name, "\"%.*s\"", (int)MOST_WIDTH, one->name ? one->name : "");
    else
        snprintf(name, sizeof name, "%.*s", (int)MOST_WIDTH, one->name ? one->name : profile_kind_name(one->kind));
    put_name(text, is_part ? 2 : 0, name);
}

static void put_change(struct text *text, const struct profile_change *change, bool is_part)
{
    const struct profile_item *sides[] = {change->a, change->b};

    put_change_name(text, change, is_part);
    if (!text->out)
        return;
    for (size_t i = 0; i < 2; i++)
        if (sides[i])
            put_time(text, &sides[i]->gpu, false);
        else
            fprintf(text->out, "  %8s  %9s", "-", "");
    if (change->a && change->b)
        fprintf(text->out, "  %+10.*f", text->digits, profile_difference(change));
    else
        fprintf(text->out, "  %10s", "");
    fprintf(text->out, "  %s", change->verdict == PROFILE_NOISY ? "noisy" : is_shown(change) ? "changed" : "same");
    if (is_part && change->a) {
        fputs("  ", text->out);
        put_clean(text->out, change->a->position);
    }
    if (is_part && change->b && (!change->a || strcmp(change->a->position, change->b->position) != 0)) {
        fputs(change->a ? ", there " : "  there ", text->out);
        put_clean(text->out, change->b->position);
    }
    putc('\n', text->out);
}

static void put_changes(struct text *text)
{
    const struct profile_comparison *comparison = text->printer->comparison;

    put_change(text, &comparison->frame, false);
    for (size_t i = 0; i < comparison->count; i++)
        if (is_shown(&comparison->changes[i]))
            put_change(text, &comparison->changes[i], true);
}

static void put_comparison(struct text *text)
{
    const struct profile_comparison *comparison = text->printer->comparison;
    FILE *out = text->out;
    size_t counts[PROFILE_ONLY_B + 1] = {0}, shown;

    for (size_t i = 0; i < comparison->count; i++)
        counts[comparison->changes[i].verdict]++;
    shown = counts[PROFILE_CHANGED] + counts[PROFILE_ONLY_A] + counts[PROFILE_ONLY_B];
    fputs("\ncompared with ", out);
    put_clean(out, comparison->other);
    putc('\n', out);
    text->out = NULL;
    text->width = 0;
    put_changes(text);
    text->out = out;
    fprintf(out, "%*s  %8s  %-9s  %8s  %-9s  %10s\n", (int)text->width, "", "this", "spread", "other", "spread",
            "difference");
    put_changes(text);
    fprintf(out, "%s: %zu changed, %zu the same, %zu too noisy to say", shown ? "parts" : "no part has changed", shown,
            counts[PROFILE_SAME], counts[PROFILE_NOISY]);
    fputs("\n", out);
}

/* ---- all ---- */

/* Frames have the same one, and its level says nothing. */
static bool has_one_buffer(const struct profile *profile)
{
    size_t count = 0;

    for (size_t i = 0; i < profile->part_count; i++)
        count += profile->parts[i].kind == PROFILE_COMMANDS;
    return count == 1;
}

static void put_title(const struct profile_printer *printer)
{
    const struct profile *profile = printer->profile;
    const struct profile_raw *raw = &profile->raws[0];

    if (raw->first_frame == raw->last_frame)
        fprintf(printer->out, "frame %" PRIu64, raw->first_frame);
    else
        fprintf(printer->out, "frames %" PRIu64 " to %" PRIu64, raw->first_frame, raw->last_frame);
    fprintf(printer->out, ", %zu replay%s on ", profile->loops, profile->loops == 1 ? "" : "s");
    put_clean(printer->out, raw->gpu);
    fputs("; GPU ms a frame\n", printer->out);
}

enum lap_status profile_print_text(const struct profile_printer *printer)
{
    const struct profile_raw *raw = &printer->profile->raws[0];
    double ms = printer->profile->gpu.median;
    struct text text = {.printer = printer,
                        .digits = ms >= 100   ? 1
                                  : ms >= 1   ? 2
                                  : ms >= 0.1 ? 3
                                              : 4,
                        .hides_commands = has_one_buffer(printer->profile)};
    bool good = put_tree(&text);

    text.out = printer->out;
    put_title(printer);
    fprintf(printer->out, "%*s  %8s  %-9s  %5s  position in frame %" PRIu64 "\n", (int)text.width, "", "median",
            "spread", "share", raw->first_frame);
    good = good && put_tree(&text);
    if (printer->top)
        good = good && put_top(&text);
    put_statistics(&text);
    if (printer->comparison)
        put_comparison(&text);
    return good ? LAP_OK : lap_no_memory(NULL);
}

static void put_note(FILE *out, const char *program, const char *note)
{
    fprintf(out, "%s: %s\n", program, note);
}

void profile_print_notes(const struct profile_printer *printer, const char *program, FILE *out)
{
    const struct profile *profile = printer->profile;
    const struct profile_raw *raw = &profile->raws[0];
    bool is_cpu = profile_is_on_cpu(raw->device_type);

    if (is_cpu)
        put_note(
            out, program,
            "this driver computes on the CPU: the times are those of its threads, and other programs make them longer");
    if (printer->draws && (raw->tiler || is_cpu))
        put_note(out, program,
                 raw->tiler ? "this GPU draws by tiles: the time of a single draw says little, that of a pass more"
                            : "such a driver may put draws together: the time of a single one says little");
    if (raw->missing > 0)
        fprintf(out, "%s: %.0f things have no time, because the GPU did not come to them\n", program, raw->missing);
    if (profile->backwards > 0)
        fprintf(out, "%s: %.0f timestamp%s lay in front of the one before: the times of short work are not exact\n",
                program, profile->backwards, profile->backwards > 1 ? "s" : "");
    for (size_t i = 0; i < raw->left_out_count && i < MOST_NOTES; i++) {
        fprintf(out, "%s: ", program);
        put_clean(out, raw->left_out[i]);
        putc('\n', out);
    }
    if (raw->left_out_count > MOST_NOTES)
        fprintf(out, "%s: and %zu more that are left out\n", program, raw->left_out_count - MOST_NOTES);
}
