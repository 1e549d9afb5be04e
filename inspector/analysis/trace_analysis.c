/* SPDX-License-Identifier: MIT */
#include "inspector/analysis/trace_analysis.h"

#include <stdio.h>
#include <stdlib.h>

#define PARTS 6u

struct trace_analysis {
    const struct lap_reader *trace;
    uint64_t last_frame;
    void *parts[PARTS];              /* [bit number]; NULL: not requested */
    enum lap_status statuses[PARTS]; /* of the passes that filled them */
    char reasons[PARTS][256];
};

/* ---- the table of parts ---- */

static const struct {
    void *(*create)(void);
    void (*destroy)(void *part);
    void (*visitor)(void *part, struct trace_visitor *out);
} table[PARTS] = {
    {feature_use_create, feature_use_destroy, feature_use_visitor},
    {queue_use_create, queue_use_destroy, queue_use_visitor},
    {image_use_create, image_use_destroy, image_use_visitor},
    {trace_positions_create, trace_positions_destroy, trace_positions_visitor},
    {object_lives_create, object_lives_destroy, object_lives_visitor},
    {acceleration_use_create, acceleration_use_destroy, acceleration_use_visitor},
};

/* ---- access ---- */

enum lap_status trace_analysis_create(const struct lap_reader *trace, uint64_t last_frame, struct trace_analysis **out)
{
    struct trace_analysis *analysis = *out = calloc(1, sizeof *analysis);

    if (!analysis)
        return lap_fail(LAP_ERROR_MEMORY, "out of memory");
    analysis->trace = trace;
    analysis->last_frame = last_frame;
    return LAP_OK;
}

void trace_analysis_destroy(struct trace_analysis **analysis)
{
    for (unsigned i = 0; *analysis && i < PARTS; i++)
        if ((*analysis)->parts[i])
            table[i].destroy((*analysis)->parts[i]);
    free(*analysis);
    *analysis = NULL;
}

/* The status of the passes that filled these parts. */
static enum lap_status status_of(const struct trace_analysis *analysis, unsigned parts)
{
    for (unsigned i = 0; i < PARTS; i++)
        if (parts >> i & 1 && analysis->statuses[i] != LAP_OK)
            return lap_fail(analysis->statuses[i], "%s", analysis->reasons[i]);
    return LAP_OK;
}

/* Creates the parts that do not exist yet. *out_created is 0 on LAP_ERROR_MEMORY. */
static enum lap_status create_parts(struct trace_analysis *analysis, unsigned parts, unsigned *out_created)
{
    *out_created = 0;
    for (unsigned i = 0; i < PARTS; i++) {
        if (!(parts >> i & 1) || analysis->parts[i])
            continue;
        analysis->parts[i] = table[i].create();
        if (analysis->parts[i])
            *out_created |= 1u << i;
        else
            break;
        analysis->statuses[i] = LAP_OK;
    }
    for (unsigned i = 0; i < PARTS; i++)
        if (parts >> i & 1 && !analysis->parts[i]) {
            for (unsigned j = 0; j < PARTS; j++)
                if (*out_created >> j & 1) {
                    table[j].destroy(analysis->parts[j]);
                    analysis->parts[j] = NULL;
                }
            *out_created = 0;
            return lap_fail(LAP_ERROR_MEMORY, "out of memory for the uses of a trace");
        }
    return LAP_OK;
}

enum lap_status trace_analysis_get_with(struct trace_analysis *analysis, unsigned parts,
                                        const struct trace_visitor *visitors, unsigned count)
{
    struct trace_visitor all[TRACE_PASS_VISITORS];
    unsigned created;
    enum lap_status status;

    if (count > TRACE_PASS_VISITORS - PARTS)
        return lap_fail(LAP_ERROR_ARGUMENT, "%u visitors are too many", count);
    status = create_parts(analysis, parts, &created);
    if (status != LAP_OK)
        return status;
    for (unsigned i = 0; i < count; i++)
        all[i] = visitors[i];
    for (unsigned i = 0; i < PARTS; i++)
        if (created >> i & 1)
            table[i].visitor(analysis->parts[i], &all[count++]);
    status = count ? trace_pass_run(analysis->trace, analysis->last_frame, all, count) : LAP_OK;
    for (unsigned i = 0; status != LAP_OK && i < PARTS; i++)
        if (created >> i & 1) {
            analysis->statuses[i] = status;
            snprintf(analysis->reasons[i], sizeof analysis->reasons[i], "%s", lap_error_message());
        }
    return status == LAP_OK ? status_of(analysis, parts) : status;
}

enum lap_status trace_analysis_get(struct trace_analysis *analysis, unsigned parts)
{
    return trace_analysis_get_with(analysis, parts, NULL, 0);
}

bool trace_analysis_has(const struct trace_analysis *analysis, unsigned parts)
{
    for (unsigned i = 0; i < PARTS; i++)
        if (parts >> i & 1 && !analysis->parts[i])
            return false;
    return true;
}

const struct feature_use *trace_analysis_features(const struct trace_analysis *analysis)
{
    return analysis->parts[0] ? feature_use_found(analysis->parts[0]) : NULL;
}

const struct queue_use *trace_analysis_queues(const struct trace_analysis *analysis)
{
    return analysis->parts[1];
}

const struct image_uses *trace_analysis_images(const struct trace_analysis *analysis)
{
    return analysis->parts[2] ? image_use_found(analysis->parts[2]) : NULL;
}

const struct trace_positions *trace_analysis_positions(const struct trace_analysis *analysis)
{
    return analysis->parts[3] ? trace_positions_found(analysis->parts[3]) : NULL;
}

const struct object_lives *trace_analysis_lives(const struct trace_analysis *analysis)
{
    return analysis->parts[4] ? object_lives_found(analysis->parts[4]) : NULL;
}

struct acceleration_use *trace_analysis_acceleration(const struct trace_analysis *analysis, uint64_t index)
{
    return analysis->parts[5] ? acceleration_use_of(analysis->parts[5], index) : NULL;
}

struct acceleration_use *trace_analysis_micromap(const struct trace_analysis *analysis, uint64_t index)
{
    return analysis->parts[5] ? acceleration_use_of_micromap(analysis->parts[5], index) : NULL;
}
