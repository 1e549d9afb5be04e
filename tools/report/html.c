/* SPDX-License-Identifier: MIT */
/* One file that needs nothing else. Every text of the trace goes through put(). */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/utf8.h"
#include "gen_ids.h"
#include "tools/report/show.h"

#define WIDTH   900
#define HEIGHT  150
#define COLOURS 8u

static const char head[] =
    "<!DOCTYPE html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n"
    "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
    "<style>\n"
    ":root{color-scheme:light "
    "dark;--bg:#f6f7f9;--panel:#fff;--line:#dde1e7;--text:#1c2128;--dim:#5b6573;--accent:#0b5cb8;"
    "--bad:#b3261e;--warn:#964300;--c0:#0b5cb8;--c1:#2d8a58;--c2:#b8600b;--c3:#7a2f9c;--c4:#b3261e;--c5:#4c8f9c;"
    "--c6:#8a7a2d;--c7:#777}\n"
    "@media(prefers-color-scheme:dark){:root{--bg:#14161a;--panel:#1b1e24;--line:#2b3038;--text:#d9dee6;--dim:#97a1b1;"
    "--accent:#6cb3ff;--bad:#ff8a80;--warn:#ffb066;--c0:#6cb3ff;--c1:#86c99b;--c2:#ffb066;--c3:#d59bf0;--c4:#ff8a80;"
    "--c5:#8ad0dd;--c6:#d8c56a;--c7:#aaa}}\n"
    "*{box-sizing:border-box}body{margin:0 auto;max-width:1000px;padding:24px;background:var(--bg);color:var(--text);"
    "font:14px/1.5 system-ui,sans-serif}h1{font-size:20px;margin:0 0 4px}h2{font-size:15px;margin:28px 0 8px}"
    "a{color:var(--accent);text-decoration:none}a:hover{text-decoration:underline}.dim{color:var(--dim)}"
    "section,details,figure{background:var(--panel);border:1px solid var(--line);border-radius:6px;margin:0 0 8px}"
    "summary{padding:6px 12px;cursor:pointer}summary b{font-variant-numeric:tabular-nums}"
    "details>p{margin:0;padding:0 12px 8px}.wrong summary,.validation summary{color:var(--bad)}"
    "table{border-collapse:collapse;width:100%;font:12px/1.5 ui-monospace,monospace}"
    "td,th{padding:2px 12px;text-align:left;vertical-align:top;border-top:1px solid var(--line);overflow-wrap:anywhere}"
    "th{color:var(--dim);font-weight:400;cursor:pointer}.n{text-align:right;white-space:nowrap}td:first-child{white-"
    "space:nowrap}"
    "figure{padding:10px 12px}figcaption{margin-bottom:4px}svg{display:block;width:100%;height:auto;color:var(--dim);"
    "font:11px ui-monospace,monospace}svg text{fill:currentColor}.axis{stroke:var(--line)}"
    ".key{display:inline-block;width:10px;height:10px;border-radius:2px;margin:0 4px 0 12px}\n"
    "</style>\n";
/* Sorts a table by the column that is clicked. The page can be read without it. */
static const char script[] =
    "<script>\n"
    "document.addEventListener('click', function (e) {\n"
    "  var th = e.target.closest('th'); if (!th) return;\n"
    "  var rows = Array.from(th.closest('table').tBodies[0].rows), at = th.cellIndex, up = th.dataset.up = "
    "th.dataset.up "
    "=== '1' ? '0' : '1';\n"
    "  var key = function (r) { var t = r.cells[at]; return t.dataset.n !== undefined ? Number(t.dataset.n) : "
    "t.textContent; };\n"
    "  rows.sort(function (a, b) { var x = key(a), y = key(b); return (x < y ? -1 : x > y ? 1 : 0) * (up === '1' ? 1 : "
    "-1); });\n"
    "  rows.forEach(function (r) { r.parentNode.appendChild(r); });\n"
    "});\n"
    "</script>\n";

/* Escaped for contents and attributes. */
static void put(FILE *out, const char *text)
{
    size_t left = text ? strlen(text) : 0, bytes;
    bool shown;

    for (; left; text += bytes, left -= bytes) {
        bytes = lap_utf8_step(text, left, &shown);
        if (!shown)
            fputs("\xef\xbf\xbd", out);
        else if (*text == '<')
            fputs("&lt;", out);
        else if (*text == '>')
            fputs("&gt;", out);
        else if (*text == '&')
            fputs("&amp;", out);
        else if (*text == '"')
            fputs("&quot;", out);
        else if (*text == '\'')
            fputs("&#39;", out);
        else
            fwrite(text, 1, bytes, out);
    }
}

/* ---- positions ---- */

static void put_link(const struct report_view *view, FILE *out, const char *position)
{
    if (!view->server) {
        put(out, position);
        return;
    }
    fputs("<a href=\"", out);
    put(out, view->server);
    fputs("/commands/", out);
    put(out, position);
    fputs("\">", out);
    put(out, position);
    fputs("</a>", out);
}

static void put_position(const struct report_view *view, FILE *out, const struct report_finding *f)
{
    char text[POSITION_TEXT_BYTES] = "";

    if (f->position.count)
        position_text(&f->position, text);
    if (f->position.count && !f->position.of_packet) {
        put_link(view, out, text);
        return;
    }
    put(out, text);
    if (f->frame) {
        char frame[24];
        snprintf(frame, sizeof frame, "%" PRIu64, f->frame);
        fputs(", frame ", out);
        put_link(view, out, frame);
    }
}

/* ---- rules ---- */

static void put_finding(const struct report_view *view, FILE *out, const struct report_finding *f, bool has_bytes,
                        bool has_ms)
{
    char object[REPORT_OBJECT_BYTES], size[REPORT_SIZE_BYTES];

    fputs("<tr><td>", out);
    put_position(view, out, f);
    fputs("<td>", out);
    put(out, f->command != GEN_COMMAND_NONE ? gen_command_names[f->command] : "");
    fputs("<td>", out);
    put(out, report_object(f, object));
    if (f->name) {
        fputs(" <span class=dim>", out);
        put(out, f->name);
        fputs("</span>", out);
    }
    fputs("<td>", out);
    if (f->vuid) {
        fputs("<span class=dim>", out);
        put(out, f->vuid);
        fputs("</span> ", out);
    }
    put(out, f->text);
    if (has_bytes)
        fprintf(out, "<td class=n data-n=%" PRIu64 ">%s", f->bytes, f->bytes ? report_size(f->bytes, size) : "");
    if (has_ms && f->gpu_ms >= 0)
        fprintf(out, "<td class=n data-n=%.6f>%.3f", f->gpu_ms, f->gpu_ms);
    else if (has_ms)
        fputs("<td class=n data-n=-1>", out);
    fputs("</tr>\n", out);
}

static void put_rule(const struct report_view *view, FILE *out, unsigned number)
{
    const struct report_rule *rule = &view->report->rules[number];
    const struct report_words *words = &report_words[number];
    char sentence[REPORT_SENTENCE_BYTES], count[REPORT_COUNT_BYTES];
    bool has_ms = false;

    for (size_t i = 0; i < rule->kept; i++)
        has_ms |= rule->findings[i].gpu_ms >= 0;
    fprintf(out, "<details class=%s id=%s%s>\n<summary>", report_kind_names[words->kind], words->name,
            words->kind <= REPORT_VALIDATION ? " open" : "");
    put(out, report_sentence(rule, words, sentence));
    if (number <= REPORT_CONSTANTS_PUSHED && rule->has_of && rule->of >= 1000)
        fprintf(out, " <span class=dim>%" PRIu64 " of 1,000</span>", rule->count * 1000 / rule->of);
    fputs("</summary>\n<p class=dim>", out);
    put(out, words->unknown);
    if (rule->count > rule->kept)
        fprintf(out, " The first %zu of %s are listed.", rule->kept, report_number(rule->count, count));
    fprintf(out, "</p>\n<table><thead><tr><th>position<th>command<th>object<th>finding%s%s</tr></thead><tbody>\n",
            rule->bytes ? "<th class=n>bytes" : "", has_ms ? "<th class=n>GPU ms" : "");
    for (size_t i = 0; i < rule->kept; i++)
        put_finding(view, out, &rule->findings[i], rule->bytes != 0, has_ms);
    fputs("</tbody></table></details>\n", out);
}

static void put_rules(const struct report_view *view, FILE *out)
{
    static const char *const titles[REPORT_KINDS] = {"Wrong", "Validation", "Waste", "Left", "Hidden"};
    unsigned clean = 0;

    for (unsigned kind = 0; kind < REPORT_KINDS; kind++) {
        bool any = false;
        for (unsigned i = 0; i < REPORT_RULES; i++) {
            if (report_words[i].kind != kind || !view->report->rules[i].count)
                continue;
            if (!any)
                fprintf(out, "<h2>%s</h2>\n", titles[kind]);
            any = true;
            put_rule(view, out, i);
        }
    }
    fputs("<p class=dim>", out);
    for (unsigned i = 0; i < REPORT_RULES; i++)
        if (view->report->rules[i].ran && !view->report->rules[i].count)
            fprintf(out, "%s%s %s", clean++ ? "; no " : "No ", report_words[i].many, report_words[i].rest);
    fputs(clean ? ".</p>\n" : "</p>\n", out);
    for (unsigned i = 0; i < REPORT_RULES; i++)
        if (!view->report->rules[i].ran && i != REPORT_MESSAGE) {
            fprintf(out, "<p class=dim>Not looked for %s %s: ", report_words[i].many, report_words[i].rest);
            put(out, view->report->rules[i].why);
            fputs(".</p>\n", out);
        }
}

/* ---- charts ---- */

/* A column of the chart: the frames that share it show the highest one. */
static size_t columns_of(const struct report *report)
{
    return report->frame_count < WIDTH ? report->frame_count : WIDTH;
}

static void begin_chart(FILE *out, const char *title, const char *most)
{
    fprintf(out, "<figure><figcaption>%s <span class=dim>at most %s</span>", title, most);
}

static void begin_svg(const struct report *report, FILE *out)
{
    fprintf(out,
            "</figcaption>\n<svg viewBox=\"0 0 %d %d\" role=\"img\" preserveAspectRatio=\"none\">"
            "<line class=\"axis\" x1=\"0\" y1=\"%d\" x2=\"%d\" y2=\"%d\"/>\n",
            WIDTH, HEIGHT + 16, HEIGHT, WIDTH, HEIGHT);
    fprintf(out,
            "<text x=\"0\" y=\"%d\">frame %" PRIu64 "</text><text x=\"%d\" y=\"%d\" text-anchor=\"end\">%" PRIu64
            "</text>\n",
            HEIGHT + 13, report->frames[0].number, WIDTH, HEIGHT + 13, report_last_frame(report));
}

static void put_bar(FILE *out, size_t column, size_t columns, double from, double to, unsigned colour)
{
    double width = (double)WIDTH / (double)columns;

    fprintf(out, "<rect x=\"%.2f\" y=\"%.2f\" width=\"%.2f\" height=\"%.2f\" style=\"fill:var(--c%u)\"/>",
            (double)column * width, HEIGHT - to * HEIGHT, width > 3 ? width - 1 : width, (to - from) * HEIGHT,
            colour % COLOURS);
}

static void put_draws(const struct report_view *view, FILE *out)
{
    const struct report *report = view->report;
    const struct report_frame *most = report_most(report, report_draws_of);
    size_t columns = columns_of(report);
    char text[REPORT_COUNT_BYTES];

    if (!most || !most->counts.draws)
        return;
    begin_chart(out, "Draws of each frame", report_number(most->counts.draws, text));
    begin_svg(report, out);
    for (size_t i = 0; i < columns; i++) {
        size_t first = i * report->frame_count / columns, end = (i + 1) * report->frame_count / columns;
        const struct report_frame *f = &report->frames[first];
        for (size_t k = first + 1; k < end; k++)
            f = report->frames[k].counts.draws > f->counts.draws ? &report->frames[k] : f;
        if (view->server) {
            fputs("<a href=\"", out);
            put(out, view->server);
            fprintf(out, "/commands/%" PRIu64 "\">", f->number);
        }
        fprintf(out,
                "<g><title>frame %" PRIu64 ": %" PRIu64 " draws, %" PRIu64 " dispatches, %" PRIu64 " passes</title>",
                f->number, f->counts.draws, f->counts.dispatches, f->counts.passes);
        put_bar(out, i, columns, 0, (double)f->counts.draws / (double)most->counts.draws, 0);
        fputs(view->server ? "</g></a>\n" : "</g>\n", out);
    }
    fputs("</svg></figure>\n", out);
}

static uint64_t bytes_of(const struct report_frame *frame)
{
    uint64_t bytes = 0;

    for (unsigned i = 0; i < VK_MAX_MEMORY_TYPES; i++)
        bytes += frame->type_bytes[i];
    return bytes;
}

static void put_memory(const struct report_view *view, FILE *out)
{
    const struct report *report = view->report;
    const struct report_frame *most = report_most(report, bytes_of);
    size_t columns = columns_of(report);
    char size[REPORT_SIZE_BYTES], flags[REPORT_FLAGS_BYTES];

    if (!most || !bytes_of(most))
        return;
    begin_chart(out, "Memory at the end of each frame, by type,", report_size(bytes_of(most), size));
    for (unsigned t = 0; t < report->memory.type_count; t++)
        if (report->memory.types[t].peak)
            fprintf(out, "<span class=key style=\"background:var(--c%u)\"></span>type %u <span class=dim>%s</span>",
                    t % COLOURS, t, report_flags(report->memory.types[t].properties, flags));
    begin_svg(report, out);
    for (size_t i = 0; i < columns; i++) {
        size_t first = i * report->frame_count / columns, end = (i + 1) * report->frame_count / columns;
        const struct report_frame *f = &report->frames[first];
        double from = 0;
        for (size_t k = first + 1; k < end; k++)
            f = bytes_of(&report->frames[k]) > bytes_of(f) ? &report->frames[k] : f;
        fprintf(out, "<g><title>frame %" PRIu64 ": %s</title>", f->number, report_size(bytes_of(f), size));
        for (unsigned t = 0; t < report->memory.type_count; t++) {
            double to = from + (double)f->type_bytes[t] / (double)bytes_of(most);
            if (f->type_bytes[t])
                put_bar(out, i, columns, from, to, t);
            from = to;
        }
        fputs("</g>\n", out);
    }
    fputs("</svg></figure>\n", out);
}

static void put_peaks(const struct report_memory *m, FILE *out)
{
    char size[REPORT_SIZE_BYTES], flags[REPORT_FLAGS_BYTES];

    if (!m->all.peak)
        return;
    fputs("<h2>Memory</h2><section><table><thead><tr><th>type<th>properties<th class=n>at most<th class=n>in "
          "frame</tr></thead><tbody>\n",
          out);
    for (unsigned i = 0; i < m->type_count; i++)
        if (m->types[i].peak)
            fprintf(
                out,
                "<tr><td>%u<td>%s<td class=n data-n=%" PRIu64 ">%s<td class=n data-n=%" PRIu64 ">%" PRIu64 "</tr>\n", i,
                m->types[i].is_known ? report_flags(m->types[i].properties, flags) : "not known", m->types[i].peak,
                report_size(m->types[i].peak, size), m->types[i].peak_frame, m->types[i].peak_frame);
    fputs("</tbody></table></section>\n", out);
}

static void put_times(const struct report_view *view, FILE *out)
{
    const struct report_times *times = view->times;

    fputs("<h2>Most expensive passes</h2><p class=dim>", out);
    put(out, times->gpu);
    fprintf(out,
            ", %.3f ms a frame</p><section><table><thead><tr><th>position<th>kind<th>name<th class=n>ms<th "
            "class=n>share</tr></thead><tbody>\n",
            times->frame_ms);
    for (size_t i = 0; i < times->count; i++) {
        const struct report_timed *t = &times->passes[i];
        fputs("<tr><td>", out);
        if (t->position)
            put_link(view, out, t->position);
        fputs("<td>", out);
        put(out, t->kind);
        fputs("<td>", out);
        put(out, t->name);
        fprintf(out, "<td class=n data-n=%.6f>%.3f<td class=n data-n=%.6f>%.1f&nbsp;%%</tr>\n", t->gpu_ms, t->gpu_ms,
                t->share, t->share * 100);
    }
    fputs("</tbody></table></section>\n", out);
}

void report_put_html(const struct report_view *view, FILE *out)
{
    const char *name = strrchr(view->path, '/') ? strrchr(view->path, '/') + 1 : view->path;
    const struct lap_reader_summary *summary = lap_reader_summary(view->trace);
    char count[REPORT_COUNT_BYTES];

    fputs(head, out);
    fputs("<title>Report: ", out);
    put(out, name);
    fputs("</title>\n<h1>", out);
    put(out, name);
    fprintf(out, "</h1>\n<p class=dim>%s frames", report_number(summary->frames, count));
    if (!view->report->whole)
        fprintf(out, ", of which %" PRIu64 " to %" PRIu64 " were looked at", view->report->first_frame,
                report_last_frame(view->report));
    if (!summary->complete) {
        fputs("; the trace is incomplete: ", out);
        put(out, summary->stopped);
    }
    fputs("</p>\n", out);
    put_draws(view, out);
    put_memory(view, out);
    put_rules(view, out);
    if (view->times)
        put_times(view, out);
    put_peaks(&view->report->memory, out);
    fputs(script, out);
    fputs("</html>\n", out);
}
