/* SPDX-License-Identifier: MIT */
#include "replayer/core/report.h"

#include <cjson/cJSON.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "replayer/core/device.h"

static const char *const area_names[REPLAY_AREA_COUNT] = {
    [REPLAY_AREA_EXTENSION] = "extension", [REPLAY_AREA_FEATURE] = "feature",
    [REPLAY_AREA_QUEUES] = "queue family", [REPLAY_AREA_DEVICE] = "device",
    [REPLAY_AREA_COMMAND] = "command",     [REPLAY_AREA_STRUCTURE] = "structure",
    [REPLAY_AREA_FORMAT] = "format",       [REPLAY_AREA_LIMIT] = "limit",
    [REPLAY_AREA_SHADER] = "shader",       [REPLAY_AREA_PRESENTATION] = "presentation"};

static const char *const outcome_names[REPLAY_OUTCOME_COUNT] = {[REPLAY_MAPPED] = "mapped",
                                                                [REPLAY_DROPPED] = "dropped",
                                                                [REPLAY_IGNORED] = "ignored",
                                                                [REPLAY_MAY_FAIL] = "may fail",
                                                                [REPLAY_REFUSED] = "refused"};

bool replay_report_sandbox(const struct lap_sandbox *sandbox, cJSON *object)
{
    cJSON *described;

    if (!sandbox)
        return cJSON_AddNullToObject(object, "sandbox") != NULL;
    described = cJSON_AddObjectToObject(object, "sandbox");
    return described && cJSON_AddStringToObject(described, "state", lap_sandbox_state_name(sandbox->state)) &&
           (sandbox->lack[0] ? cJSON_AddStringToObject(described, "lack", sandbox->lack)
                             : cJSON_AddNullToObject(described, "lack"));
}

static struct replay_finding *find(struct replay_report *report, enum replay_area area, enum replay_outcome outcome,
                                   const char *name)
{
    for (size_t i = 0; i < report->count; i++)
        if (report->findings[i].area == area && report->findings[i].outcome == outcome &&
            strcmp(report->findings[i].name, name) == 0)
            return &report->findings[i];
    return NULL;
}

/* Replaces all bytes but printable ASCII: the trace may hold any, and the text goes to terminals and into JSON. */
static char *clean(const char *text)
{
    char *copy = strdup(text);

    for (char *p = copy; p && *p; p++)
        if ((unsigned char)*p < 0x20 || (unsigned char)*p > 0x7e)
            *p = '?';
    return copy;
}

void replay_report_add(struct replay_report *report, enum replay_area area, enum replay_outcome outcome,
                       const char *name, const char *format, ...)
{
    struct replay_finding finding = {.area = area, .outcome = outcome, .count = 1}, *known;
    char text[512];
    va_list arguments;

    if (!report || report->failed)
        return;
    finding.name = clean(name);
    known = finding.name ? find(report, area, outcome, finding.name) : NULL;
    if (known) {
        known->count++;
        free(finding.name);
        return;
    }
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    finding.text = clean(text);
    if (!finding.name || !finding.text ||
        !lap_array_grow(&report->findings, sizeof *report->findings, &report->capacity, report->count + 1)) {
        free(finding.name);
        free(finding.text);
        report->failed = true;
        return;
    }
    report->findings[report->count++] = finding;
}

enum lap_status replay_report_refusal(struct replay *r, enum lap_status status)
{
    if (r->report->refusal[0])
        return LAP_OK;
    (void)replay_place(r, status);
    snprintf(r->report->refusal, sizeof r->report->refusal, "%s", lap_error_message());
    r->report->refused_ticket = r->at.packet.ticket;
    return LAP_OK;
}

void replay_report_refusal_too(struct replay *r, enum lap_status status)
{
    size_t length = strlen(r->report->refusal);

    if (length && r->report->refused_ticket == r->at.packet.ticket)
        snprintf(r->report->refusal + length, sizeof r->report->refusal - length, "; %s", lap_error_message());
    else
        replay_report_refusal(r, status);
}

void replay_report_gpu(struct replay_report *report, const struct replay_instance *instance)
{
    snprintf(report->gpu, sizeof report->gpu, "%s", instance->properties.deviceName);
    report->api_version = instance->properties.apiVersion;
}

void replay_report_finish(struct replay_report *report)
{
    for (size_t i = 0; i < report->count; i++) {
        free(report->findings[i].name);
        free(report->findings[i].text);
    }
    free(report->findings);
    memset(report, 0, sizeof *report);
}

/* ---- writing ---- */

static uint64_t count_kinds(const struct replay_report *report, enum replay_outcome outcome)
{
    uint64_t count = 0;

    for (size_t i = 0; i < report->count; i++)
        count += report->findings[i].outcome == outcome;
    return count;
}

static bool add_text(cJSON *object, const char *key, const char *text)
{
    char *copy = text && text[0] ? clean(text) : NULL;
    bool added = text && text[0] ? copy && cJSON_AddStringToObject(object, key, copy) != NULL
                                 : cJSON_AddNullToObject(object, key) != NULL;

    free(copy);
    return added;
}

static bool add_finding(cJSON *list, const struct replay_finding *finding)
{
    cJSON *object = cJSON_CreateObject();

    return cJSON_AddItemToArray(list, object) && add_text(object, "area", area_names[finding->area]) &&
           add_text(object, "outcome",
                    finding->outcome == REPLAY_MAY_FAIL ? "may_fail" : outcome_names[finding->outcome]) &&
           add_text(object, "name", finding->name) && add_text(object, "text", finding->text) &&
           cJSON_AddNumberToObject(object, "count", (double)finding->count);
}

static enum lap_status write_json(const struct replay_report *report, const struct replay *r, const char *version,
                                  FILE *out)
{
    cJSON *object = cJSON_CreateObject();
    const struct lap_reader_summary *summary = r->reader ? lap_reader_summary(r->reader) : NULL;
    bool complete = summary && summary->complete;
    bool added = add_text(object, "gpu", report->gpu) &&
                 add_text(object, "api_version", report->api_version ? version : NULL) &&
                 cJSON_AddBoolToObject(object, "complete", complete) &&
                 add_text(object, "stopped", summary && !complete ? summary->stopped : NULL) &&
                 add_text(object, "repaired", summary ? summary->repaired : NULL) &&
                 cJSON_AddBoolToObject(object, "can_replay", !report->refusal[0]) &&
                 cJSON_AddBoolToObject(object, "may_fail", count_kinds(report, REPLAY_MAY_FAIL) > 0) &&
                 add_text(object, "refusal", report->refusal) && replay_report_sandbox(r->options.sandboxed, object);
    cJSON *list = added ? cJSON_AddArrayToObject(object, "findings") : NULL;
    char *text;

    added = list != NULL;
    for (size_t i = 0; i < report->count && added; i++)
        added = add_finding(list, &report->findings[i]);
    text = added ? cJSON_Print(object) : NULL;
    if (text)
        fprintf(out, "%s\n", text);
    cJSON_free(text);
    cJSON_Delete(object);
    return text ? LAP_OK : lap_fail(LAP_ERROR_MEMORY, "out of memory for the report");
}

static void write_findings(const struct replay_report *report, enum replay_outcome outcome, FILE *out)
{
    for (size_t i = 0; i < report->count; i++) {
        const struct replay_finding *finding = &report->findings[i];
        if (finding->outcome != outcome)
            continue;
        fprintf(out, "%-9s%s %s: %s", outcome_names[outcome], area_names[finding->area], finding->name, finding->text);
        if (finding->count > 1)
            fprintf(out, " (%" PRIu64 " times)", finding->count);
        fputc('\n', out);
    }
}

static void write_trace(const struct lap_reader_summary *summary, FILE *out)
{
    if (!summary->complete)
        fprintf(out, "%-9sit is incomplete (%s); this covers its readable part\n", "trace",
                summary->stopped ? summary->stopped : "it was cut");
    if (summary->repaired)
        fprintf(out, "%-9s%s\n", "trace", summary->repaired);
}

enum lap_status replay_report_write(const struct replay_report *report, const struct replay *r, FILE *out)
{
    static const enum replay_outcome order[] = {REPLAY_REFUSED, REPLAY_MAY_FAIL, REPLAY_IGNORED, REPLAY_DROPPED,
                                                REPLAY_MAPPED};
    uint64_t doubtful = count_kinds(report, REPLAY_MAY_FAIL);
    char version[32];

    if (report->failed)
        return lap_fail(LAP_ERROR_MEMORY, "out of memory for the report");
    snprintf(version, sizeof version, "%u.%u.%u", VK_API_VERSION_MAJOR(report->api_version),
             VK_API_VERSION_MINOR(report->api_version), VK_API_VERSION_PATCH(report->api_version));
    if (r->options.json)
        return write_json(report, r, version, out);
    if (report->gpu[0])
        fprintf(out, "%-9s%s, Vulkan %s\n", "gpu", report->gpu, version);
    for (size_t i = 0; i < sizeof order / sizeof *order; i++)
        write_findings(report, order[i], out);
    if (r->reader)
        write_trace(lap_reader_summary(r->reader), out);
    if (r->options.sandboxed && r->options.sandboxed->lack[0])
        fprintf(out, "%-9s%s: %s\n", "sandbox", lap_sandbox_state_name(r->options.sandboxed->state),
                r->options.sandboxed->lack);
    if (report->refusal[0])
        fprintf(out, "%-9sno: %s\n", "replay", report->refusal);
    else if (doubtful)
        fprintf(out, "%-9syes, but it may fail: see the %" PRIu64 " above that say so\n", "replay", doubtful);
    else
        fprintf(out, "%-9syes\n", "replay");
    return LAP_OK;
}
