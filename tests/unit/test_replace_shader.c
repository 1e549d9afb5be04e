/* SPDX-License-Identifier: MIT */
/* Shaders by the first digits of a hash that others have, too. */
#include "inspector/edit/replace_shader.h"
#include "inspector/state/shader_list.h"
#include "tests/unit/sample_trace.h"
#include "trace/format/hash.h"

#define CODES 400000u /* some 20 pairs of them share 32 bits */

/* A module with one capability, and a number where the compiler's is. */
static void make(uint32_t number, uint32_t code[7])
{
    const uint32_t words[] = {0x07230203, 0x00010000, number, 1, 0, 2u << 16 | 17, 1};
    memcpy(code, words, sizeof words);
}

static int by_hash(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}

/* Two codes whose hashes have the same first 8 digits. */
static void find(uint32_t one[7], uint32_t other[7])
{
    uint64_t *found = calloc(CODES, sizeof *found); /* half a hash, and the number */
    CHECK(found != NULL);
    for (uint32_t i = 0; found && i < CODES; i++) {
        make(i, one);
        found[i] = (lap_hash64(one, 28) & ~(uint64_t)UINT32_MAX) | i;
    }
    qsort(found, CODES, sizeof *found, by_hash);
    for (uint32_t i = 1; i < CODES; i++)
        if (found[i] >> 32 == found[i - 1] >> 32) {
            make((uint32_t)found[i], one);
            make((uint32_t)found[i - 1], other);
        }
    free(found);
    CHECK(lap_hash64(one, 28) >> 32 == lap_hash64(other, 28) >> 32);
}

static enum lap_status compare(void *user, const struct shader_code *code, const void *data)
{
    CHECK_EQ_U64(code->bytes, 28);
    CHECK(memcmp(data, user, 28) == 0);
    return LAP_OK;
}

/* The list takes fewer digits, and has the same answers. */
static void look_at_list(const struct lap_reader *trace, uint32_t codes[2][7])
{
    const struct shader_wish wish = {.last = 0};
    const struct shader_code *code;
    struct shader_list *list;
    char digits[17];

    CHECK_EQ_INT(shader_list_find(trace, &wish, &list), LAP_OK);
    snprintf(digits, sizeof digits, "%016llx", (unsigned long long)lap_hash64(codes[1], 28));
    CHECK_EQ_INT(shader_list_choose(list, digits, &code), LAP_OK);
    CHECK_EQ_U64(code->use_count, 1);
    CHECK_EQ_U64(code->uses[0].object, 2);
    CHECK_EQ_INT(shader_list_give(list, trace, code, compare, codes[1]), LAP_OK);
    for (digits[8] = 0; strlen(digits) >= 4; digits[strlen(digits) - 1] = 0) {
        CHECK_EQ_INT(shader_list_choose(list, digits, &code), LAP_ERROR_ARGUMENT);
        CHECK(strstr(lap_error_message(), "is ambiguous") != NULL);
    }
    shader_list_free(&list);
}

UNIT_TEST(a_hash_of_two_shaders_is_ambiguous)
{
    static const uint32_t better[7] = {0x07230203, 0x00010000, 7, 1, 0, 2u << 16 | 17, 0};
    struct replaced_shader shader = {.digits = 8, .name = "it", .words = better, .bytes = sizeof better};
    struct shader_code_result result;
    struct sample sample;
    struct lap_reader *trace;
    struct lap_edits *edits;
    uint32_t codes[2][7];

    find(codes[0], codes[1]);
    CHECK(sample_begin(&sample));
    VkDevice device = gen_VkDevice(sample_handle(&sample, GEN_HANDLE_VkDevice, 1));
    for (unsigned i = 0; i < 2; i++) {
        VkShaderModuleCreateInfo info = {
            .sType = VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO, .codeSize = 28, .pCode = codes[i]};
        VkShaderModule module = gen_VkShaderModule(sample_handle(&sample, GEN_HANDLE_VkShaderModule, i + 1));
        gen_encode_vkCreateShaderModule(sample_packet(&sample, GEN_vkCreateShaderModule, 0), device, &info, NULL,
                                        &module, VK_SUCCESS);
        lap_packet_end(sample.stream);
    }
    sample_end(&sample);
    CHECK_EQ_INT(lap_reader_open(sample.path, NULL, &trace), LAP_OK);
    CHECK_EQ_INT(lap_edits_create(trace, &edits), LAP_OK);
    shader.hash = lap_hash64(codes[0], 28) & ~(uint64_t)UINT32_MAX;
    CHECK_EQ_INT(edit_replace_shaders(trace, &shader, 1, edits, &result), LAP_ERROR_ARGUMENT);
    CHECK(strstr(lap_error_message(), "is ambiguous") != NULL);
    shader.hash = lap_hash64(codes[0], 28);
    shader.digits = 16;
    CHECK_EQ_INT(edit_replace_shaders(trace, &shader, 1, edits, &result), LAP_OK);
    CHECK_EQ_U64(result.modules, 1);
    shader.hash = 1;
    CHECK_EQ_INT(edit_replace_shaders(trace, &shader, 1, edits, &result), LAP_ERROR_ARGUMENT);
    look_at_list(trace, codes);
    lap_edits_destroy(&edits);
    lap_reader_close(&trace);
    sample_finish(&sample);
}

UNIT_MAIN();
