/* SPDX-License-Identifier: MIT */
#include <inttypes.h>

#include "gen_ids.h"
#include "tools/report/show.h"
#include "tools/show/text.h"

static const char *begin(unsigned *count)
{
    return (*count)++ ? ", " : "";
}

static void put_text(FILE *out, const char *key, const char *text)
{
    fprintf(out, ", \"%s\": ", key);
    lap_text_put_json(out, text);
}

static void put_number(FILE *out, const char *key, uint64_t number, bool is_known)
{
    fprintf(out, is_known ? ", \"%s\": %" PRIu64 : ", \"%s\": null", key, number);
}

static void put_severity(FILE *out, const char *vuid, bool is_warning)
{
    put_text(out, "severity", !vuid ? NULL : is_warning ? "warning" : "error");
}

static void put_objects(FILE *out, const struct report_finding *f)
{
    unsigned count = 0;

    fputs(f->vuid ? ", \"objects\": [" : ", \"objects\": null", out);
    for (size_t i = 0; i < f->object_count; i++) {
        fprintf(out, "%s{\"object\": \"%s:%" PRIu64 "\"", begin(&count), gen_handle_names[f->objects[i].type],
                f->objects[i].index);
        put_text(out, "name", f->objects[i].name);
        fputc('}', out);
    }
    if (f->vuid)
        fputc(']', out);
}

static void put_finding(FILE *out, const struct report_finding *f)
{
    char position[POSITION_TEXT_BYTES], object[REPORT_OBJECT_BYTES];

    fputs("{\"position\": ", out);
    lap_text_put_json(out, f->position.count ? position_text(&f->position, position) : NULL);
    put_number(out, "frame", f->frame, f->frame != 0);
    put_text(out, "command", f->command != GEN_COMMAND_NONE ? gen_command_names[f->command] : NULL);
    put_text(out, "object", *report_object(f, object) ? object : NULL);
    put_text(out, "name", f->name);
    put_number(out, "bytes", f->bytes, f->bytes != 0);
    put_severity(out, f->vuid, f->is_warning);
    put_text(out, "vuid", f->vuid);
    put_text(out, "text", f->text);
    put_objects(out, f);
    if (f->gpu_ms >= 0)
        fprintf(out, ", \"gpu_ms\": %.6f}", f->gpu_ms);
    else
        fputs(", \"gpu_ms\": null}", out);
}

static void put_rule(FILE *out, const struct report_rule *rule, const struct report_words *words)
{
    unsigned count = 0;

    fputs("{\"rule\": ", out);
    lap_text_put_json(out, words->name);
    put_text(out, "kind", report_kind_names[words->kind]);
    fprintf(out, ", \"words\": \"%s %s\"", words->many, words->rest);
    put_text(out, "unknown", words->unknown);
    put_text(out, "not_looked", rule->ran ? NULL : rule->why);
    put_number(out, "count", rule->count, rule->ran);
    put_number(out, "of", rule->of, rule->ran && rule->has_of);
    put_number(out, "bytes", rule->bytes, rule->bytes != 0);
    fputs(", \"findings\": [", out);
    for (size_t i = 0; i < rule->kept; i++) {
        fputs(begin(&count), out);
        put_finding(out, &rule->findings[i]);
    }
    fputs("]}", out);
}

/* The VUIDs with the numbers of their messages; null: nobody looked for messages. */
static void put_vuids(FILE *out, const struct report *report)
{
    unsigned count = 0;

    if (!report->rules[REPORT_MESSAGE].ran) {
        fputs(", \"vuids\": null", out);
        return;
    }
    fputs(", \"vuids\": [", out);
    for (size_t i = 0; i < report->vuid_count; i++) {
        const struct report_vuid *one = &report->vuids[i];
        fputs(begin(&count), out);
        fputs("{\"vuid\": ", out);
        lap_text_put_json(out, one->vuid);
        put_severity(out, one->vuid, one->is_warning);
        put_number(out, "count", one->count, true);
        fputc('}', out);
    }
    fputc(']', out);
}

static void put_peak(FILE *out, const struct report_type *type)
{
    fputs(", \"peak\": ", out);
    if (type->peak)
        fprintf(out, "{\"bytes\": %" PRIu64 ", \"frame\": %" PRIu64 ", \"packet\": %" PRIu64 "}", type->peak,
                type->peak_frame, type->peak_ticket - 1);
    else
        fputs("null", out);
}

static void put_memory(FILE *out, const struct report_memory *m)
{
    char flags[REPORT_FLAGS_BYTES];
    unsigned count = 0;

    fputs(", \"memory\": {\"types\": [", out);
    for (uint32_t i = 0; i < m->type_count; i++) {
        fprintf(out, "%s{\"type\": %" PRIu32, begin(&count), i);
        put_number(out, "heap", m->types[i].heap, m->types[i].is_known);
        put_text(out, "properties", m->types[i].is_known ? report_flags(m->types[i].properties, flags) : NULL);
        put_peak(out, &m->types[i]);
        fputc('}', out);
    }
    fputs("], \"heaps\": [", out);
    count = 0;
    for (uint32_t i = 0; i < m->heap_count; i++) {
        fprintf(out, "%s{\"heap\": %" PRIu32 ", \"bytes\": %" PRIu64, begin(&count), i, m->heap_bytes[i]);
        put_peak(out, &m->heaps[i]);
        fputc('}', out);
    }
    fputc(']', out);
    put_peak(out, &m->all);
    fputc('}', out);
}

static void put_frame(FILE *out, const struct report_frame *f, uint32_t types)
{
    unsigned count = 0;

    fprintf(out, "{\"frame\": %" PRIu64, f->number);
    put_number(out, "submits", f->submits, true);
    put_number(out, "commands", f->counts.commands, true);
    put_number(out, "draws", f->counts.draws, true);
    put_number(out, "dispatches", f->counts.dispatches, true);
    put_number(out, "traces", f->counts.traces, true);
    put_number(out, "transfers", f->counts.transfers, true);
    put_number(out, "passes", f->counts.passes, true);
    put_number(out, "barriers", f->barriers, true);
    put_number(out, "pipelines", f->pipelines, true);
    put_number(out, "updates", f->updates, true);
    put_number(out, "updated_bytes", f->updated_bytes, true);
    put_number(out, "buffer_bytes", f->buffer_bytes, true);
    put_number(out, "image_bytes", f->image_bytes, true);
    fputs(", \"type_bytes\": [", out);
    for (uint32_t i = 0; i < types; i++)
        fprintf(out, "%s%" PRIu64, begin(&count), f->type_bytes[i]);
    fputs("]}", out);
}

static void put_times(FILE *out, const struct report_times *times)
{
    unsigned count = 0;

    if (!times) {
        fputs(", \"profile\": null", out);
        return;
    }
    fputs(", \"profile\": {\"gpu\": ", out);
    lap_text_put_json(out, times->gpu);
    fprintf(out, ", \"frame_ms\": %.6f, \"parts\": [", times->frame_ms);
    for (size_t i = 0; i < times->count; i++) {
        const struct report_timed *t = &times->passes[i];
        fprintf(out, "%s{\"kind\": ", begin(&count));
        lap_text_put_json(out, t->kind);
        put_text(out, "name", t->name);
        put_text(out, "position", t->position);
        fprintf(out, ", \"gpu_ms\": %.6f, \"share\": %.6f}", t->gpu_ms, t->share);
    }
    fputs("]}", out);
}

void report_put_json(const struct report_view *view, FILE *out)
{
    const struct report *report = view->report;
    const struct lap_reader_summary *summary = lap_reader_summary(view->trace);
    unsigned count = 0;

    fprintf(out, "{\"complete\": %s, \"frames\": %" PRIu64 ", \"first_frame\": %" PRIu64 ", \"last_frame\": %" PRIu64,
            summary->complete ? "true" : "false", summary->frames, report->first_frame, report_last_frame(report));
    put_vuids(out, report);
    fputs(", \"rules\": [", out);
    for (unsigned i = 0; i < REPORT_RULES; i++) {
        fputs(begin(&count), out);
        put_rule(out, &report->rules[i], &report_words[i]);
    }
    fputc(']', out);
    put_memory(out, &report->memory);
    put_times(out, view->times);
    fputs(", \"each_frame\": [", out);
    count = 0;
    for (size_t i = 0; i < report->frame_count; i++) {
        fputs(begin(&count), out);
        put_frame(out, &report->frames[i], report->memory.type_count);
    }
    fputs("]}\n", out);
}
