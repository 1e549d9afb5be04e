/* SPDX-License-Identifier: MIT */
#include "inspector/state/dynamic_states.h"

#include <ctype.h>
#include <stddef.h>
#include <string.h>

#include "gen_reflect.h"
#include "vulkan/walk.h"

#define VALUE_PREFIX "VK_DYNAMIC_STATE_"
#define SET_PREFIX   "vkCmdSet"

static bool begins(const char *name, const char *with)
{
    return strncmp(name, with, strlen(with)) == 0;
}

/* "LINE_WIDTH" and "LineWidth" are the same. */
static bool is_same_name(const char *value, const char *command)
{
    for (;;) {
        while (*value == '_')
            value++;
        if (tolower((unsigned char)*value) != tolower((unsigned char)*command))
            return false;
        if (!*value)
            return true;
        value++;
        command++;
    }
}

static const struct gen_enum_info *dynamic_state_enum(void)
{
    for (uint32_t i = 0; i < GEN_ENUM_COUNT; i++)
        if (strcmp(gen_enums[i].name, "VkDynamicState") == 0)
            return &gen_enums[i];
    return NULL;
}

/* The names of some differ. */
static int32_t value_of(const struct gen_enum_info *values, const char *command)
{
    static const char *const others[][2] = {
        {"vkCmdSetCoarseSampleOrderNV", "VIEWPORT_COARSE_SAMPLE_ORDER_NV"},
        {"vkCmdSetDepthBias2EXT", "DEPTH_BIAS"},
        {"vkCmdSetFragmentShadingRateEnumNV", "FRAGMENT_SHADING_RATE_KHR"},
    };
    const char *other = NULL;

    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (strcmp(others[i][0], command) == 0)
            other = others[i][1];
    for (uint32_t i = 0; values && i < values->value_count; i++) {
        const char *name = gen_enum_value_name(&values->values[i]) + strlen(VALUE_PREFIX);
        if (other ? strcmp(name, other) == 0
                  : begins(command, SET_PREFIX) && is_same_name(name, command + strlen(SET_PREFIX)))
            return (int32_t)values->values[i].value;
    }
    return DYNAMIC_STATE_NONE;
}

static enum dynamic_binding binding_of(const char *command)
{
    static const struct {
        const char *begins;
        enum dynamic_binding binding;
    } table[] = {{"vkCmdBindVertexBuffers3", DYNAMIC_BINDS_VERTEX},
                 {"vkCmdBindIndexBuffer3", DYNAMIC_BINDS_INDEX},
                 {"vkCmdBindTransformFeedbackBuffers2", DYNAMIC_BINDS_FEEDBACK},
                 {"vkCmdBeginConditionalRendering2", DYNAMIC_BINDS_CONDITION}};

    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        if (begins(command, table[i].begins))
            return table[i].binding;
    return DYNAMIC_BINDS_NONE;
}

/* Whether the command replaces what it set before. */
static bool sets(const char *command)
{
    /* They change other objects, mark a place, or bind a part of what is bound. */
    static const char *const no_state[] = {"vkCmdSetEvent", "vkCmdSetCheckpoint", "vkCmdSetPerformanceMarker",
                                           "vkCmdSetPerformanceStreamMarker", "vkCmdSetDescriptorBufferOffsets"};
    static const char *const binds[] = {"vkCmdBindShadingRateImage",    "vkCmdBindInvocationMask",
                                        "vkCmdBindPipelineShaderGroup", "vkCmdBindDescriptorBuffersEXT",
                                        "vkCmdBindSamplerHeap",         "vkCmdBindResourceHeap",
                                        "vkCmdBindTileMemory"};

    for (size_t i = 0; i < sizeof no_state / sizeof *no_state; i++)
        if (begins(command, no_state[i]))
            return false;
    for (size_t i = 0; i < sizeof binds / sizeof *binds; i++)
        if (begins(command, binds[i]))
            return true;
    return begins(command, SET_PREFIX) || binding_of(command);
}

static bool is_faces(const struct gen_member *member)
{
    return strcmp(gen_member_name(member), "faceMask") == 0;
}

static bool is_number(const struct gen_member *member)
{
    return member->shape == GEN_SHAPE_VALUE && member->element_bytes == sizeof(uint32_t);
}

static uint8_t range_member_of(const struct gen_command_info *info)
{
    for (uint32_t i = 1; i < info->member_count && i < UINT8_MAX; i++) {
        const struct gen_member *member = &info->members[i];
        if (is_number(member) &&
            (is_faces(member) || (begins(gen_member_name(member), "first") && i + 1 < info->member_count &&
                                  strstr(gen_member_name(&member[1]), "Count") && is_number(&member[1]))))
            return (uint8_t)i;
    }
    return 0;
}

void dynamic_states_init(struct dynamic_states *states)
{
    const struct gen_enum_info *values = dynamic_state_enum();

    *states = (struct dynamic_states){.count = 0};
    for (uint32_t command = 1; command < GEN_COMMAND_COUNT; command++) {
        const char *name = gen_command_names[command];
        int32_t value;
        unsigned number = 0;
        if (!gen_command_infos[command].present || !sets(name))
            continue;
        value = value_of(values, name);
        if (value != DYNAMIC_STATE_NONE)
            number = dynamic_states_of(states, (VkDynamicState)value);
        if (!number && states->count < DYNAMIC_STATES_MOST) {
            number = ++states->count;
            states->values[number] = value;
        }
        states->numbers[command] = (uint8_t)number;
        states->replaces[command] = (uint8_t)binding_of(name);
        states->range_members[command] = range_member_of(&gen_command_infos[command]);
    }
}

unsigned dynamic_states_of(const struct dynamic_states *states, VkDynamicState value)
{
    for (unsigned i = 1; i <= states->count; i++)
        if (states->values[i] == (int32_t)value)
            return i;
    return 0;
}

static uint64_t number_at(const struct gen_member *member, const void *args)
{
    uint32_t value;

    memcpy(&value, (const char *)args + member->offset, sizeof value);
    return value;
}

void dynamic_states_range(const struct dynamic_states *states, uint32_t command, const void *args, uint64_t *out_first,
                          uint64_t *out_end)
{
    const struct gen_member *member = &gen_command_infos[command].members[states->range_members[command]];
    uint64_t first;

    *out_first = 0;
    *out_end = 1;
    if (!states->range_members[command])
        return;
    first = number_at(member, args);
    if (is_faces(member)) {
        *out_first = (first & VK_STENCIL_FACE_FRONT_AND_BACK) == VK_STENCIL_FACE_BACK_BIT;
        *out_end = first & VK_STENCIL_FACE_BACK_BIT ? 2 : 1;
    } else {
        *out_first = first;
        *out_end = first + number_at(member + 1, args);
    }
}
