/* SPDX-License-Identifier: MIT */
/* Numbers and names of a report, for people. */
#include <inttypes.h>
#include <string.h>

#include "gen_ids.h"
#include "tools/report/show.h"
#include "tools/show/text.h"

const char *report_size(uint64_t bytes, char out[REPORT_SIZE_BYTES])
{
    static const char *const units[] = {"bytes", "kB", "MB", "GB", "TB"};
    double value = (double)bytes;
    unsigned unit = 0;

    while (value >= 1000 && unit + 1 < sizeof units / sizeof *units) {
        value /= 1000;
        unit++;
    }
    snprintf(out, REPORT_SIZE_BYTES, unit && value < 100 ? "%.1f %s" : "%.0f %s", value, units[unit]);
    return out;
}

const char *report_number(uint64_t number, char out[REPORT_COUNT_BYTES])
{
    char digits[24];
    int length = snprintf(digits, sizeof digits, "%" PRIu64, number);
    size_t at = 0;

    for (int i = 0; i < length; i++) {
        if (i && (length - i) % 3 == 0)
            out[at++] = ',';
        out[at++] = digits[i];
    }
    out[at] = 0;
    return out;
}

const char *report_sentence(const struct report_rule *rule, const struct report_words *words,
                            char out[REPORT_SENTENCE_BYTES])
{
    char count[REPORT_COUNT_BYTES], of[REPORT_COUNT_BYTES], size[REPORT_SIZE_BYTES];
    bool has_of = rule->has_of && rule->of;
    uint64_t noun = has_of ? rule->of : rule->count;

    snprintf(out, REPORT_SENTENCE_BYTES, "%s%s%s %s %s%s%s", report_number(rule->count, count), has_of ? " of " : "",
             has_of ? report_number(rule->of, of) : "", noun == 1 ? words->one : words->many, words->rest,
             rule->bytes ? ", " : "", rule->bytes ? report_size(rule->bytes, size) : "");
    return out;
}

const char *report_object(const struct report_finding *finding, char out[REPORT_OBJECT_BYTES])
{
    out[0] = 0;
    if (finding->type != GEN_HANDLE_NONE && finding->index)
        lap_text_handle(finding->type, finding->index, out);
    return out;
}

const char *report_flags(VkMemoryPropertyFlags flags, char out[REPORT_FLAGS_BYTES])
{
    char text[LAP_TEXT_FLAGS_MAX];
    static const char *const left_out[] = {"VK_MEMORY_PROPERTY_", "_BIT"};

    lap_text_named_flags("VkMemoryPropertyFlagBits", flags, text);
    for (size_t i = 0; i < sizeof left_out / sizeof *left_out; i++)
        for (char *at; (at = strstr(text, left_out[i]));)
            memmove(at, at + strlen(left_out[i]), strlen(at + strlen(left_out[i])) + 1);
    snprintf(out, REPORT_FLAGS_BYTES, "%.*s", (int)REPORT_FLAGS_BYTES - 1, flags ? text : "no properties");
    return out;
}

uint64_t report_last_frame(const struct report *report)
{
    return report->frame_count ? report->frames[report->frame_count - 1].number : 0;
}

const struct report_frame *report_most(const struct report *report, uint64_t (*of)(const struct report_frame *frame))
{
    const struct report_frame *most = report->frame_count ? report->frames : NULL;

    for (size_t i = 1; i < report->frame_count; i++)
        if (of(&report->frames[i]) > of(most))
            most = &report->frames[i];
    return most;
}

uint64_t report_draws_of(const struct report_frame *frame)
{
    return frame->counts.draws;
}
