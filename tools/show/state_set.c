/* SPDX-License-Identifier: MIT */
/* The descriptors of one set, as the calls up to a position leave them. */
#include <inttypes.h>

#include "gen_ids.h"
#include "inspector/analysis/trace_pass.h"
#include "tools/show/descriptor_print.h"
#include "tools/show/state_print.h"
#include "tools/show/text.h"

struct sets {
    struct creation_facts facts;
    struct descriptors descriptors;
};

static enum lap_status see(void *state, const struct trace_call *call)
{
    struct sets *sets = state;
    enum lap_status status = creation_facts_see(&sets->facts, call);

    return status == LAP_OK ? descriptors_see(&sets->descriptors, call) : status;
}

static enum lap_status put_json(const struct lap_state_view *view, const struct sets *sets,
                                const struct descriptor_set *set)
{
    cJSON *list = lap_descriptors_json(set, &sets->facts, UINT64_MAX);
    char *text = list ? cJSON_PrintUnformatted(list) : NULL;

    cJSON_Delete(list);
    if (!text)
        return lap_fail(LAP_ERROR_MEMORY, "out of memory for JSON");
    fprintf(view->out, ", \"bindings\": %s", text);
    cJSON_free(text);
    return LAP_OK;
}

enum lap_status lap_state_set_contents(const struct lap_state_view *view, const struct object_life *life)
{
    static const uint16_t commands[] = {CREATION_FACTS_COMMANDS, DESCRIPTORS_COMMANDS, GEN_COMMAND_NONE};
    struct sets sets;
    const struct trace_visitor visitor = {
        .commands = commands, .visit = see, .state = &sets, .last_ticket = view->last};
    const struct lap_bound_names names = {.find = lap_state_find_name, .user = (void *)(uintptr_t)view};
    const struct descriptor_set *set;
    char text[LAP_TEXT_HANDLE_MAX];
    enum lap_status status;

    if (life->type != GEN_HANDLE_VkDescriptorSet) {
        fputs(view->json ? ", \"bindings\": null" : "", view->out);
        return LAP_OK;
    }
    creation_facts_init(&sets.facts);
    descriptors_init(&sets.descriptors);
    status = lap_state_read(view, &visitor);
    set = status == LAP_OK ? descriptors_of(&sets.descriptors, life->index) : NULL;
    if (set && view->json) {
        status = put_json(view, &sets, set);
    } else if (set) {
        lap_text_handle(GEN_HANDLE_VkDescriptorSetLayout, descriptor_set_layout_index(set), text);
        fprintf(view->out, "  %-10s%s\n", "layout", text);
        lap_descriptors_text(view->out, set, &sets.facts, &names, UINT64_MAX);
    } else if (view->json && status == LAP_OK) {
        fputs(", \"bindings\": null", view->out);
    }
    descriptors_finish(&sets.descriptors);
    creation_facts_finish(&sets.facts);
    return status;
}
