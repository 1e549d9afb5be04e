/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "gen_ids.h"
#include "tools/common/progress.h"
#include "tools/show/bound_print.h"
#include "tools/show/state_print.h"
#include "tools/show/text.h"

struct shown {
    const struct lap_state_view *view;
    struct lap_bound_names names;
    struct lap_progress progress;
    uint64_t packets;
};

const char *lap_state_find_name(void *user, uint32_t type, uint64_t index)
{
    const struct lap_state_view *view = user;
    const struct object_life *life = state_objects_get(view->objects, type, index);

    return life ? lap_state_name(view, (size_t)(life - state_objects_lives(view->objects)->lives), 1) : NULL;
}

static enum lap_status put_json(const struct shown *shown, const struct bound_visit *visit)
{
    cJSON *object = cJSON_CreateObject();
    enum lap_status status = lap_fail(LAP_ERROR_MEMORY, "out of memory for JSON");
    char text[LAP_TEXT_HANDLE_MAX], *json;

    lap_text_handle(GEN_HANDLE_VkCommandBuffer, visit->command_buffer, text);
    if (cJSON_AddStringToObject(object, "at", shown->view->at[1]) &&
        cJSON_AddStringToObject(object, "command", gen_command_names[visit->command]) &&
        cJSON_AddStringToObject(object, "commandBuffer", text))
        status = lap_bound_json(object, visit, &shown->names);
    json = status == LAP_OK ? cJSON_PrintUnformatted(object) : NULL;
    cJSON_Delete(object);
    if (!json)
        return status != LAP_OK ? status : lap_fail(LAP_ERROR_MEMORY, "out of memory for JSON");
    fprintf(shown->view->out, "%s\n", json);
    cJSON_free(json);
    return LAP_OK;
}

static enum lap_status visit_command(void *user, const struct bound_visit *visit)
{
    struct shown *shown = user;
    const struct position *at = &shown->view->found.position;

    /* Those that it executes come in front of it. */
    if (visit->position.count != at->count)
        return LAP_OK;
    lap_progress_clear(&shown->progress);
    return shown->view->json ? put_json(shown, visit)
                             : lap_bound_text(shown->view->out, shown->view->colour, visit, &shown->names);
}

static void show_progress(void *user, const struct lap_packet *packet)
{
    struct shown *shown = user;
    lap_progress_show(&shown->progress, packet->ticket, shown->view->last);
}

enum lap_status lap_state_bound(const struct lap_state_view *view)
{
    struct shown shown = {.view = view, .names = {.find = lap_state_find_name, .user = (void *)view}};
    const struct bound_walk_options options = {.at = &view->found.position,
                                               .first_frame = 1,
                                               .last_frame = UINT64_MAX,
                                               .descriptors = true,
                                               .labels = true,
                                               .progress = show_progress};
    enum lap_status status;

    lap_progress_begin(&shown.progress, "reading", false);
    status = bound_walk(view->trace, &options, visit_command, &shown);
    lap_progress_clear(&shown.progress);
    return status;
}
