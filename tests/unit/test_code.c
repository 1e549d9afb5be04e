/* SPDX-License-Identifier: MIT */
/* The code that opaque bytes stand for, and stages that name such bytes instead of code. */
#include <stdlib.h>

#include "layer/shader/stages.h"
#include "tests/unit/unit.h"

struct layer_state layer = {.log = {.fd = -1}};
static struct layer_device device;

void layer_stop(const char *reason) {}

static const uint32_t words[6] = {1, 2, 3, 4, 5, 6};

static void begin(void)
{
    memset(&device, 0, sizeof device);
    for (uint32_t i = 0; i < GEN_HANDLE_COUNT; i++) {
        pthread_mutex_init(&layer.object_mutex[i], NULL);
        lap_map_init(&device.own_maps[i]);
        device.maps[i] = &device.own_maps[i];
    }
    device.tables.maps = device.maps;
    lap_map_init(&device.code.known);
    layer_code_keep(&device);
}

static void end(void)
{
    layer_code_finish(&device);
    for (uint32_t i = 0; i < GEN_HANDLE_COUNT; i++)
        lap_map_finish(&device.own_maps[i]);
}

static struct layer_origin *origin_of(size_t bytes)
{
    struct layer_code *code = layer_code_create(words, bytes);
    struct layer_origin *origin = layer_origin_of_code(code);
    layer_code_release(code);
    return origin;
}

UNIT_TEST(bytes_are_known_by_kind_size_and_contents)
{
    const uint8_t bytes[4] = {1, 2, 3, 4}, others[4] = {1, 2, 3, 5};
    struct layer_origin *first = origin_of(8), *second = origin_of(12);

    begin();
    layer_code_note(&device, LAYER_CODE_SHADER_BINARY, bytes, 4, first);
    layer_code_note(&device, LAYER_CODE_SHADER_BINARY, bytes, 4, second); /* it stays what it is */
    layer_code_note(&device, LAYER_CODE_PIPELINE_BINARY, bytes, 4, second);
    layer_code_note(&device, LAYER_CODE_SHADER_BINARY, others, 4, NULL);
    CHECK(layer_code_find(&device, LAYER_CODE_SHADER_BINARY, bytes, 4) == first);
    CHECK(layer_code_find(&device, LAYER_CODE_PIPELINE_BINARY, bytes, 4) == second);
    CHECK(!layer_code_find(&device, LAYER_CODE_MODULE_IDENTIFIER, bytes, 4));
    CHECK(!layer_code_find(&device, LAYER_CODE_SHADER_BINARY, bytes, 3));
    CHECK(!layer_code_find(&device, LAYER_CODE_SHADER_BINARY, others, 4));
    CHECK(!layer_code_find(&device, LAYER_CODE_SHADER_BINARY, NULL, 4));
    layer_origin_release(first);
    CHECK_EQ_U64(first->stages[0].code != NULL, 1); /* the device holds it, too */
    layer_origin_release(second);
    end();
}

UNIT_TEST(origins_have_copies)
{
    VkSpecializationMapEntry entry = {3, 0, 4};
    uint32_t value = 7;
    const VkSpecializationInfo info = {1, &entry, 4, &value};
    char name[] = "main";
    struct layer_origin *origin = layer_origin_create(2);
    size_t bytes;

    CHECK(layer_origin_set_name(&origin->stages[1], name));
    CHECK(layer_origin_set_name(&origin->stages[0], NULL));
    CHECK(layer_origin_set_specialization(&origin->stages[1], &info));
    CHECK(layer_origin_set_specialization(&origin->stages[0], NULL));
    name[0] = 'x';
    value = entry.constantID = 0;
    CHECK(strcmp(origin->stages[1].name, "main") == 0);
    CHECK_EQ_U64(origin->stages[1].specialization.pMapEntries[0].constantID, 3);
    CHECK_EQ_U64(*(const uint32_t *)origin->stages[1].specialization.pData, 7);
    CHECK(!layer_code_words(NULL, &bytes) && bytes == 0);
    CHECK(!layer_code_create(words, 0) && !layer_code_create(NULL, 4) && !layer_origin_of_code(NULL));
    layer_origin_release(layer_origin_share(origin));
    layer_origin_release(origin);
    layer_origin_release(NULL);
    layer_code_release(NULL);
}

static enum layer_stages find(const uint8_t *identifier, VkShaderModule module,
                              const VkPipelineShaderStageCreateInfo **out, struct lap_arena *arena)
{
    static VkPipelineShaderStageModuleIdentifierCreateInfoEXT named;
    static VkPipelineShaderStageCreateInfo stages[2];

    named = (VkPipelineShaderStageModuleIdentifierCreateInfoEXT){
        .sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_MODULE_IDENTIFIER_CREATE_INFO_EXT,
        .identifierSize = 4,
        .pIdentifier = identifier};
    stages[0] = (VkPipelineShaderStageCreateInfo){.stage = VK_SHADER_STAGE_VERTEX_BIT,
                                                  .module = (VkShaderModule)(uintptr_t)0x10};
    stages[1] = (VkPipelineShaderStageCreateInfo){
        .stage = VK_SHADER_STAGE_FRAGMENT_BIT, .module = module, .pNext = identifier ? &named : NULL};
    return layer_stages_find_code(&device, arena, NULL, 2, stages, out);
}

UNIT_TEST(a_stage_without_code_gets_what_its_identifier_stands_for)
{
    const uint8_t known[4] = {9, 9, 9, 9}, unknown[4] = {9, 9, 9, 8};
    const VkPipelineShaderStageCreateInfo *stages;
    const VkShaderModuleCreateInfo *code;
    struct layer_origin *origin = origin_of(24);
    struct lap_arena arena;

    begin();
    lap_arena_init(&arena, 0);
    layer_code_note(&device, LAYER_CODE_MODULE_IDENTIFIER, known, 4, origin);
    layer_origin_release(origin);
    CHECK_EQ_INT(find(known, VK_NULL_HANDLE, &stages, &arena), LAYER_STAGES_COPIED);
    code = stages[1].pNext;
    CHECK(code && code->sType == VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO && code->codeSize == 24);
    CHECK(code && memcmp(code->pCode, words, 24) == 0 && code->pNext);
    CHECK(stages[0].module && !stages[0].pNext);
    CHECK_EQ_INT(find(known, (VkShaderModule)(uintptr_t)0x20, &stages, &arena), LAYER_STAGES_AS_GIVEN);
    CHECK_EQ_INT(find(unknown, VK_NULL_HANDLE, &stages, &arena), LAYER_STAGES_UNKNOWN);
    CHECK_EQ_INT(find(NULL, VK_NULL_HANDLE, &stages, &arena), LAYER_STAGES_UNKNOWN);
    lap_arena_finish(&arena);
    end();
}

UNIT_MAIN();
