/* SPDX-License-Identifier: MIT */
#include <inttypes.h>
#include <string.h>

#include "base/utf8.h"
#include "gen_ids.h"
#include "tools/report/show.h"

#define KIND_WIDTH 12
#define FEW        3u  /* findings of a rule of waste */
#define SOME       10u /* of the others */

/* Control characters of a text of the trace become spaces. */
static void put(FILE *out, const char *text)
{
    lap_utf8_print(out, text, strlen(text), ' ', "");
}

static void put_finding(FILE *out, const struct report_finding *f)
{
    char position[POSITION_TEXT_BYTES] = "-", object[REPORT_OBJECT_BYTES], size[REPORT_SIZE_BYTES];

    if (f->position.count)
        position_text(&f->position, position);
    fprintf(out, "%*s  %-14s", KIND_WIDTH, "", position);
    if (f->command != GEN_COMMAND_NONE)
        fprintf(out, " %s", gen_command_names[f->command]);
    if (*report_object(f, object))
        fprintf(out, " %s", object);
    if (f->name) {
        fputs(" \"", out);
        put(out, f->name);
        fputc('"', out);
    }
    if (f->bytes)
        fprintf(out, ", %s", report_size(f->bytes, size));
    if (f->vuid) {
        fputc(' ', out);
        put(out, f->vuid);
    }
    if (f->text) {
        fputs(f->command != GEN_COMMAND_NONE || *object ? ": " : " ", out);
        put(out, f->text);
    }
    if (f->gpu_ms >= 0)
        fprintf(out, " (%.3f ms)", f->gpu_ms);
    fputc('\n', out);
}

static void put_rule(const struct report_view *view, FILE *out, unsigned number, const char *kind)
{
    const struct report_rule *rule = &view->report->rules[number];
    const struct report_words *words = &report_words[number];
    char sentence[REPORT_SENTENCE_BYTES];
    size_t most = view->all ? rule->kept : words->kind == REPORT_WASTE ? FEW : SOME;

    fprintf(out, "%-*s%s", KIND_WIDTH, kind, report_sentence(rule, words, sentence));
    if (number <= REPORT_CONSTANTS_PUSHED && rule->has_of && rule->of >= 1000)
        fprintf(out, " (%" PRIu64 " of 1,000)", rule->count * 1000 / rule->of);
    fputc('\n', out);
    for (size_t i = 0; i < rule->kept && i < most; i++)
        put_finding(out, &rule->findings[i]);
    if (rule->count > most || rule->count > rule->kept) {
        size_t shown = rule->kept < most ? rule->kept : most;
        char count[REPORT_COUNT_BYTES];
        fprintf(out, "%*s  and %s more\n", KIND_WIDTH, "", report_number(rule->count - shown, count));
    }
}

static void put_clean(const struct report *report, FILE *out)
{
    unsigned count = 0;

    for (unsigned i = 0; i < REPORT_RULES; i++)
        if (report->rules[i].ran && !report->rules[i].count)
            fprintf(out, "%s%s", count++ ? ", " : "nothing     ", report_words[i].name);
    if (count)
        fputc('\n', out);
    for (unsigned i = 0; i < REPORT_RULES; i++)
        if (!report->rules[i].ran && i != REPORT_MESSAGE)
            fprintf(out, "%-*s%s: %s\n", KIND_WIDTH, "not looked", report_words[i].name, report->rules[i].why);
}

static void put_peak(FILE *out, const struct report_type *type)
{
    char size[REPORT_SIZE_BYTES];

    fprintf(out, "%s in frame %" PRIu64 " (#%" PRIu64 ")", report_size(type->peak, size), type->peak_frame,
            type->peak_ticket - 1);
}

static void put_memory(const struct report *report, FILE *out)
{
    const struct report_memory *m = &report->memory;
    char flags[REPORT_FLAGS_BYTES], size[REPORT_SIZE_BYTES];

    if (!m->all.peak)
        return;
    fprintf(out, "%-*sat most ", KIND_WIDTH, "memory");
    put_peak(out, &m->all);
    fputc('\n', out);
    for (uint32_t i = 0; i < m->type_count; i++) {
        if (!m->types[i].peak)
            continue;
        fprintf(out, "%*s  type %" PRIu32 ": ", KIND_WIDTH, "", i);
        put_peak(out, &m->types[i]);
        if (m->types[i].is_known)
            fprintf(out, ", %s, of heap %" PRIu32, report_flags(m->types[i].properties, flags), m->types[i].heap);
        fputc('\n', out);
    }
    for (uint32_t i = 0; i < m->heap_count; i++) {
        if (!m->heaps[i].peak)
            continue;
        fprintf(out, "%*s  heap %" PRIu32 ": ", KIND_WIDTH, "", i);
        put_peak(out, &m->heaps[i]);
        fprintf(out, " of %s\n", report_size(m->heap_bytes[i], size));
    }
}

static uint64_t bytes_of(const struct report_frame *frame)
{
    return frame->updated_bytes;
}

static void put_frames(const struct report *report, FILE *out)
{
    const struct report_frame *draws = report_most(report, report_draws_of), *bytes = report_most(report, bytes_of);
    struct report_frame all = {0};
    char text[REPORT_COUNT_BYTES], size[REPORT_SIZE_BYTES];

    if (!draws)
        return;
    for (size_t i = 0; i < report->frame_count; i++) {
        const struct report_frame *f = &report->frames[i];
        position_add(&all.counts, &f->counts);
        all.submits += f->submits;
        all.barriers += f->barriers;
        all.updated_bytes += f->updated_bytes;
    }
    fprintf(out, "%-*s%zu: ", KIND_WIDTH, "frames", report->frame_count);
    fprintf(out, "%s draws, ", report_number(all.counts.draws, text));
    fprintf(out, "%s dispatches, ", report_number(all.counts.dispatches, text));
    fprintf(out, "%s passes, ", report_number(all.counts.passes, text));
    fprintf(out, "%s barriers, ", report_number(all.barriers, text));
    fprintf(out, "%s submits, ", report_number(all.submits, text));
    fprintf(out, "%s of host updates\n", report_size(all.updated_bytes, size));
    fprintf(out, "%*s  most draws in frame %" PRIu64 ": %" PRIu64 "; most host updates in frame %" PRIu64 ": %s\n",
            KIND_WIDTH, "", draws->number, draws->counts.draws, bytes->number, report_size(bytes->updated_bytes, size));
}

static void put_times(const struct report_times *times, FILE *out)
{
    fprintf(out, "%-*s%.3f ms of a frame", KIND_WIDTH, "gpu", times->frame_ms);
    if (times->gpu) {
        fputs(" on ", out);
        put(out, times->gpu);
    }
    fputc('\n', out);
    for (size_t i = 0; i < times->count; i++) {
        const struct report_timed *t = &times->passes[i];
        fprintf(out, "%*s  %-14s %8.3f ms %5.1f %% %s ", KIND_WIDTH, "", t->position ? t->position : "-", t->gpu_ms,
                t->share * 100, t->kind);
        put(out, t->name ? t->name : "");
        fputc('\n', out);
    }
}

void report_put_text(const struct report_view *view, FILE *out)
{
    const struct report *report = view->report;

    for (unsigned kind = 0; kind < REPORT_KINDS; kind++) {
        const char *name = report_kind_names[kind];
        for (unsigned i = 0; i < REPORT_RULES; i++)
            if (report_words[i].kind == kind && report->rules[i].ran && report->rules[i].count) {
                put_rule(view, out, i, name);
                name = "";
            }
    }
    put_clean(report, out);
    put_memory(report, out);
    put_frames(report, out);
    if (view->times)
        put_times(view->times, out);
}
