/* SPDX-License-Identifier: MIT */
#include "inspector/question/place_range.h"

#include <inttypes.h>
#include <string.h>

#include "gen_ids.h"
#include "inspector/position/find.h"
#include "vulkan/pass.h"

static bool begins_label(uint32_t command)
{
    return command == GEN_vkCmdBeginDebugUtilsLabelEXT || command == GEN_vkCmdDebugMarkerBeginEXT;
}

static bool ends_label(uint32_t command)
{
    return command == GEN_vkCmdEndDebugUtilsLabelEXT || command == GEN_vkCmdDebugMarkerEndEXT;
}

static bool begins_pass(uint32_t command)
{
    return lap_pass_step_of(command) == LAP_PASS_BEGIN || lap_pass_step_of(command) == LAP_PASS_BEGIN_RENDERING;
}

static bool ends_pass(uint32_t command)
{
    return lap_pass_step_of(command) == LAP_PASS_END || lap_pass_step_of(command) == LAP_PASS_END_RENDERING;
}

enum lap_status place_range_begin(struct place_range *range, const struct lap_reader *trace,
                                  const struct position *position, struct bound_walk_options *walk)
{
    struct position_found found;
    enum lap_status status = position_find(trace, position, &found);
    uint32_t command = GEN_COMMAND_NONE;

    if (status == LAP_OK && !found.is_submit && position->of_packet)
        status = lap_fail(LAP_ERROR_ARGUMENT, "#%" PRIu64 " is no submit, and no command buffer that is submitted",
                          position->numbers[0]);
    if (status != LAP_OK)
        return status;
    *range = (struct place_range){.position = found.position, .at = found.position};
    if (position_is_command(&range->position) && found.place_count)
        command = found.places[found.place_count - 1].id;
    range->kind = begins_pass(command) ? PLACE_RANGE_PASS : begins_label(command) ? PLACE_RANGE_LABEL : PLACE_RANGE_ALL;
    if (range->kind != PLACE_RANGE_ALL)
        range->at = position_up_to(&range->position, range->position.count - 1);
    walk->at = &range->at;
    walk->work_only = range->kind == PLACE_RANGE_ALL;
    return LAP_OK;
}

static bool is_same(const struct position *a, const struct position *b)
{
    return a->count == b->count && memcmp(a->numbers, b->numbers, a->count * sizeof *a->numbers) == 0;
}

bool place_range_has(struct place_range *range, const struct bound_visit *visit)
{
    if (range->kind == PLACE_RANGE_ALL)
        return true;
    if (range->kind == PLACE_RANGE_IS_OVER)
        return false;
    if (is_same(&visit->position, &range->position))
        range->inside = true;
    else if (range->inside && range->kind == PLACE_RANGE_LABEL && begins_label(visit->command))
        range->depth++;
    else if (range->inside && ((range->kind == PLACE_RANGE_PASS && ends_pass(visit->command)) ||
                               (range->kind == PLACE_RANGE_LABEL && ends_label(visit->command) && !range->depth--)))
        range->kind = PLACE_RANGE_IS_OVER;
    return range->inside;
}

bool place_range_is_over(const struct place_range *range)
{
    return range->kind == PLACE_RANGE_IS_OVER;
}
