/* SPDX-License-Identifier: MIT */
/*
 * trace_analysis: results of a pass over a whole trace. The first request of a part computes it; one pass computes all
 * parts of a request (trace_pass.h). A computed part does not change. It depends on no device. One thread computes; any
 * thread may read the results.
 */
#ifndef LAP_INSPECTOR_ANALYSIS_TRACE_ANALYSIS_H
#define LAP_INSPECTOR_ANALYSIS_TRACE_ANALYSIS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"
#include "inspector/analysis/acceleration_use.h"
#include "inspector/analysis/feature_use.h"
#include "inspector/analysis/image_use.h"
#include "inspector/analysis/object_lives.h"
#include "inspector/analysis/queue_use.h"
#include "inspector/analysis/trace_pass.h"
#include "inspector/analysis/trace_positions.h"
#include "trace/read/reader.h"

enum trace_analysis_part {
    TRACE_ANALYSIS_FEATURES = 1,
    TRACE_ANALYSIS_QUEUES = 2,
    TRACE_ANALYSIS_IMAGES = 4,
    TRACE_ANALYSIS_POSITIONS = 8,
    TRACE_ANALYSIS_LIVES = 16,
    TRACE_ANALYSIS_ACCELERATION = 32,
    TRACE_ANALYSIS_ALL = 63
};

struct trace_analysis;

/* Reads nothing. The reader outlives the analysis and is not moved. last_frame: 0: all, or the number of frames to
 * read. LAP_ERROR_MEMORY leaves *out NULL. */
enum lap_status trace_analysis_create(const struct lap_reader *trace, uint64_t last_frame,
                                      struct trace_analysis **out) LAP_MUST_CHECK;
void trace_analysis_destroy(struct trace_analysis **analysis); /* also for NULL */

/* Computes the parts that are not computed yet. An error has the reason why the trace could not be read to its end;
 * the same request returns it again. The parts then cover the trace up to that position; LAP_ERROR_MEMORY may leave
 * them NULL. */
enum lap_status trace_analysis_get(struct trace_analysis *analysis, unsigned parts) LAP_MUST_CHECK;
/* The same, with visitors of the caller's own in the pass; `parts` may be 0. */
enum lap_status trace_analysis_get_with(struct trace_analysis *analysis, unsigned parts,
                                        const struct trace_visitor *visitors, unsigned count) LAP_MUST_CHECK;

/* Whether all of these parts are computed, so that a request takes no pass. */
bool trace_analysis_has(const struct trace_analysis *analysis, unsigned parts);

/* NULL: not requested. The results live as long as the analysis. */
const struct feature_use *trace_analysis_features(const struct trace_analysis *analysis);
const struct queue_use *trace_analysis_queues(const struct trace_analysis *analysis);
const struct image_uses *trace_analysis_images(const struct trace_analysis *analysis);
const struct trace_positions *trace_analysis_positions(const struct trace_analysis *analysis);
const struct object_lives *trace_analysis_lives(const struct trace_analysis *analysis);
/* NULL: nothing fills that acceleration structure, or this part was not requested. */
struct acceleration_use *trace_analysis_acceleration(const struct trace_analysis *analysis, uint64_t index);
struct acceleration_use *trace_analysis_micromap(const struct trace_analysis *analysis, uint64_t index);

#endif
