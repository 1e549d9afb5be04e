/* SPDX-License-Identifier: MIT */
#include "inspector/program/signature.h"

#include <string.h>

#include "gen_ids.h"
#include "gen_reflect.h"

const struct gen_member *program_parameter(uint32_t command, uint32_t *next)
{
    const struct gen_command_info *info = &gen_command_infos[command];
    uint32_t count = info->member_count + (uint32_t)info->has_result;

    while (*next < count) {
        const struct gen_member *member = &info->members[(*next)++];

        if (member->shape != GEN_SHAPE_SKIP)
            return member;
    }
    return NULL;
}

unsigned program_type_of(const struct gen_member *member)
{
    static const uint8_t unsigned_types[9] = {
        [1] = LAP_VM_UINT8, [2] = LAP_VM_UINT16, [4] = LAP_VM_UINT32, [8] = LAP_VM_UINT64};
    static const uint8_t signed_types[9] = {
        [1] = LAP_VM_INT8, [2] = LAP_VM_INT16, [4] = LAP_VM_INT32, [8] = LAP_VM_INT64};

    if (member->shape != GEN_SHAPE_VALUE || member->element == GEN_ELEMENT_STRUCT)
        return LAP_VM_POINTER;
    if (member->element_bytes > 8 || !unsigned_types[member->element_bytes])
        return LAP_VM_NOTHING;
    switch ((enum gen_element)member->element) {
    case GEN_ELEMENT_SIGNED:
    case GEN_ELEMENT_ENUM:
        return signed_types[member->element_bytes];
    case GEN_ELEMENT_FLOAT:
        return member->element_bytes == 4 ? LAP_VM_FLOAT : LAP_VM_DOUBLE;
    default:
        return unsigned_types[member->element_bytes];
    }
}

bool program_signature(uint32_t command, struct lap_vm_function *out)
{
    const struct gen_member *member;
    uint32_t next = 0;

    *out = (struct lap_vm_function){.name = gen_command_names[command], .result = LAP_VM_NOTHING};
    if (!gen_command_infos[command].present)
        return false;
    while ((member = program_parameter(command, &next)) != NULL) {
        unsigned type = program_type_of(member);

        if (out->argument_count == LAP_VM_ARGUMENTS || type == LAP_VM_NOTHING)
            return false;
        out->arguments[out->argument_count++] = (uint8_t)type;
    }
    return true;
}

struct lap_vm_function program_checks_function(void)
{
    return (struct lap_vm_function){
        .name = PROGRAM_CHECKS, .argument_count = 1, .result = LAP_VM_NOTHING, .arguments = {LAP_VM_POINTER}};
}

bool program_is_checks(unsigned api, const struct lap_vm_function *function)
{
    return api == PROGRAM_RUNTIME && strcmp(function->name, PROGRAM_CHECKS) == 0 && function->argument_count == 1 &&
           function->arguments[0] == LAP_VM_POINTER && function->result == LAP_VM_NOTHING;
}
