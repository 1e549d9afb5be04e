/* SPDX-License-Identifier: MIT */
#include <inttypes.h>
#include <string.h>

#include "tools/profile/profile_print.h"
#include "tools/show/text.h"

/* With six digits, of which zeroes at the end are left out. */
static void put_number(FILE *out, double value)
{
    char text[400];
    size_t length = (size_t)snprintf(text, sizeof text, "%.6f", value);

    while (length && text[length - 1] == '0')
        length--;
    if (length && text[length - 1] == '.')
        length--;
    fwrite(text, 1, length, out);
}

static void put_text(FILE *out, const char *name, const char *text)
{
    fprintf(out, ", \"%s\": ", name);
    lap_text_put_json(out, text);
}

static void put_value(FILE *out, const char *name, double value)
{
    fprintf(out, ", \"%s\": ", name);
    put_number(out, value);
}

static void put_time(FILE *out, const char *name, const struct profile_time *time)
{
    fprintf(out, "\"%s\": {\"median\": ", name);
    put_number(out, time->median);
    put_value(out, "spread", time->spread);
    put_value(out, "p10", time->p10);
    put_value(out, "p90", time->p90);
    put_value(out, "min", time->least);
    put_value(out, "max", time->most);
    fprintf(out, ", \"loops\": {\"count\": %zu", time->loops);
    put_value(out, "fastest", time->fastest);
    put_value(out, "usual", time->typical);
    put_value(out, "slowest", time->slowest);
    fputs("}}", out);
}

static void put_targets(FILE *out, const struct profile_thing *thing)
{
    fputs(", \"targets\": [", out);
    for (size_t i = 0; i < thing->target_count; i++) {
        const struct profile_target *target = &thing->targets[i];
        fputs(i ? ", {\"name\": " : "{\"name\": ", out);
        lap_text_put_json(out, target->name);
        put_text(out, "image", target->image);
        put_text(out, "format", target->format);
        put_value(out, "width", target->width);
        put_value(out, "height", target->height);
        putc('}', out);
    }
    putc(']', out);
}

static void put_statistics(FILE *out, const struct profile_part *part)
{
    fputs(", \"statistics\": {", out);
    for (size_t i = 0; i < part->statistic_count; i++) {
        fputs(i ? ", " : "", out);
        lap_text_put_json(out, part->statistics[i].name);
        fputs(": ", out);
        put_number(out, part->statistics[i].value);
    }
    putc('}', out);
}

static void put_part(FILE *out, const struct profile_part *part)
{
    const struct profile_thing *thing = part->first;
    bool between = part->kind == PROFILE_BETWEEN;

    fputs("{\"key\": ", out);
    lap_text_put_json(out, part->key);
    fprintf(out, ", \"kind\": \"%s\"", profile_kind_name(part->kind));
    put_text(out, "name", between ? NULL : thing->name);
    fprintf(out, ", \"depth\": %" PRIu32 ", \"parent\": ", part->depth);
    if (part->parent == PROFILE_NONE)
        fputs("null", out);
    else
        fprintf(out, "%zu", part->parent);
    put_text(out, "position", thing->position);
    put_text(out, "end", between ? NULL : thing->end);
    put_text(out, "command", between ? NULL : thing->command);
    put_text(out, "queue", thing->queue);
    if (part->kind == PROFILE_PASS)
        put_targets(out, thing);
    put_text(out, "pipeline", between ? NULL : thing->pipeline);
    fprintf(out, ", \"frames\": %zu", part->frames);
    put_value(out, "draws", between ? 0 : thing->draws);
    put_value(out, "dispatches", between ? 0 : thing->dispatches);
    fputs(", ", out);
    put_time(out, "gpu_ms", &part->gpu);
    put_value(out, "share", part->share);
    if (part->statistic_count)
        put_statistics(out, part);
    putc('}', out);
}

static void put_frames(FILE *out, const struct profile *profile)
{
    const struct profile_raw *raw = &profile->raws[0];
    size_t thing = 0;

    for (size_t i = 0; i < raw->frame_count; i++) {
        const char *separator = "";
        fprintf(out, "%s\n  {\"frame\": %" PRIu64, i ? "," : "", raw->frames[i].number);
        put_value(out, "gpu_ms", profile_frame_ms(profile, i));
        put_value(out, "cpu_ms", profile_frame_cpu_ms(profile, i));
        fputs(", \"parts\": [", out);
        for (; thing < raw->thing_count && raw->things[thing].frame == raw->frames[i].number; thing++) {
            fprintf(out, "%s{\"part\": %zu", separator, profile->thing_parts[thing]);
            put_text(out, "position", raw->things[thing].position);
            put_text(out, "end", raw->things[thing].end);
            put_value(out, "begin_ms", profile_thing_begin_ms(profile, thing));
            put_value(out, "gpu_ms", profile_thing_ms(profile, thing));
            putc('}', out);
            separator = ", ";
        }
        fputs("]}", out);
    }
}

/* ---- comparison ---- */

static void put_item(FILE *out, const char *name, const struct profile_item *item)
{
    fputs(", ", out);
    if (item)
        put_time(out, name, &item->gpu);
    else
        fprintf(out, "\"%s\": null", name);
}

static void put_change(FILE *out, const struct profile_change *change, bool is_part)
{
    const struct profile_item *one = change->a ? change->a : change->b;

    putc('{', out);
    if (is_part) {
        fputs("\"key\": ", out);
        lap_text_put_json(out, one->key);
        fprintf(out, ", \"kind\": \"%s\"", profile_kind_name(one->kind));
        put_text(out, "name", one->name);
        put_text(out, "position", change->a ? change->a->position : NULL);
        put_text(out, "other_position", change->b ? change->b->position : NULL);
        fputs(", ", out);
    }
    fprintf(out, "\"verdict\": \"%s\"", profile_verdict_name(change->verdict));
    put_item(out, "a", change->a);
    put_item(out, "b", change->b);
    putc('}', out);
}

static void put_comparison(FILE *out, const struct profile_comparison *comparison)
{
    fputs("{\"other\": ", out);
    lap_text_put_json(out, comparison->other);
    fputs(", \"frame\": ", out);
    put_change(out, &comparison->frame, false);
    fputs(", \"parts\": [", out);
    for (size_t i = 0; i < comparison->count; i++) {
        fputs(i ? ",\n  " : "\n  ", out);
        put_change(out, &comparison->changes[i], true);
    }
    fputs("]}", out);
}

/* ---- all ---- */

static void put_cpu(FILE *out, const struct profile *profile)
{
    for (size_t i = 0; i < profile->command_count; i++) {
        fputs(i ? ",\n  {\"command\": " : "\n  {\"command\": ", out);
        lap_text_put_json(out, profile->commands[i].name);
        put_value(out, "calls", profile->commands[i].calls);
        fputs(", ", out);
        put_time(out, "ms", &profile->commands[i].cpu);
        putc('}', out);
    }
}

static void put_head(const struct profile_printer *printer)
{
    const struct profile *profile = printer->profile;
    const struct profile_raw *raw = &profile->raws[0];
    FILE *out = printer->out;

    fputs("{\"profile\": 1, \"trace\": ", out);
    lap_text_put_json(out, printer->trace);
    put_text(out, "gpu", raw->gpu);
    put_text(out, "driver", raw->driver);
    put_text(out, "device_type", raw->device_type);
    fprintf(out,
            ", \"tiler\": %s, \"first_frame\": %" PRIu64 ", \"last_frame\": %" PRIu64 ", \"loops\": %zu, \"draws\": %s",
            raw->tiler ? "true" : "false", raw->first_frame, raw->last_frame, profile->loops,
            printer->draws ? "true" : "false");
    fputs(",\n\"frame\": {", out);
    put_time(out, "gpu_ms", &profile->gpu);
    fputs(", ", out);
    put_time(out, "cpu_ms", &profile->cpu);
    fputs("},\n\"queues\": [", out);
    for (size_t i = 0; i < profile->queue_count; i++) {
        fputs(i ? ", {\"queue\": " : "{\"queue\": ", out);
        lap_text_put_json(out, profile->queues[i].name);
        fputs(", ", out);
        put_time(out, "gpu_ms", &profile->queues[i].gpu);
        putc('}', out);
    }
}

void profile_print_json(const struct profile_printer *printer)
{
    const struct profile *profile = printer->profile;
    const struct profile_raw *raw = &profile->raws[0];
    FILE *out = printer->out;

    put_head(printer);
    fputs("],\n\"parts\": [", out);
    for (size_t i = 0; i < profile->part_count; i++) {
        fputs(i ? ",\n  " : "\n  ", out);
        put_part(out, &profile->parts[i]);
    }
    fputs("],\n\"each_frame\": [", out);
    put_frames(out, profile);
    fputs("],\n\"cpu\": [", out);
    put_cpu(out, profile);
    fputs("],\n\"left_out\": [", out);
    for (size_t i = 0; i < raw->left_out_count; i++) {
        fputs(i ? ", " : "", out);
        lap_text_put_json(out, raw->left_out[i]);
    }
    putc(']', out);
    put_value(out, "backwards", profile->backwards);
    put_value(out, "missing", raw->missing);
    fputs(",\n\"compare\": ", out);
    if (printer->comparison)
        put_comparison(out, printer->comparison);
    else
        fputs("null", out);
    fputs("}\n", out);
}
