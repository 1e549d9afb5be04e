/* SPDX-License-Identifier: MIT */
#include "states.h"

#define HALF (APP_STATES_SIZE / 2)

/* ---- what there is ---- */

/* One of each kind: a program has one device. */
static struct {
    VkPhysicalDeviceFeatures2 core;
    VkPhysicalDeviceExtendedDynamicStateFeaturesEXT one;
    VkPhysicalDeviceExtendedDynamicState2FeaturesEXT two;
    VkPhysicalDeviceExtendedDynamicState3FeaturesEXT three;
    VkPhysicalDeviceVertexInputDynamicStateFeaturesEXT vertex_input;
    VkPhysicalDeviceColorWriteEnableFeaturesEXT color_write;
    VkPhysicalDeviceDepthClipEnableFeaturesEXT clip_enable;
    VkPhysicalDeviceDepthClipControlFeaturesEXT clip_control;
    VkPhysicalDeviceLineRasterizationFeaturesEXT lines;
    VkPhysicalDeviceProvokingVertexFeaturesEXT provoking;
    VkPhysicalDeviceTransformFeedbackFeaturesEXT streams;
    VkPhysicalDeviceFragmentShadingRateFeaturesKHR rate;
    VkPhysicalDeviceBlendOperationAdvancedFeaturesEXT advanced;
    VkPhysicalDeviceExclusiveScissorFeaturesNV exclusive;
    VkPhysicalDeviceShadingRateImageFeaturesNV palette;
    VkPhysicalDeviceRepresentativeFragmentTestFeaturesNV representative;
    VkPhysicalDeviceCoverageReductionModeFeaturesNV reduction;
#ifdef VK_EXT_attachment_feedback_loop_dynamic_state
    VkPhysicalDeviceAttachmentFeedbackLoopLayoutFeaturesEXT loop_layout;
    VkPhysicalDeviceAttachmentFeedbackLoopDynamicStateFeaturesEXT loop;
#endif
#ifdef VK_EXT_depth_clamp_control
    VkPhysicalDeviceDepthClampControlFeaturesEXT clamp_control;
#endif
    VkBaseOutStructure *last;
} have;

static bool ask(struct app_states *states, const char *extension, void *features, VkStructureType type)
{
    VkBaseOutStructure *head = features;
    if (!app_has_extension(states->app, extension))
        return false;
    for (uint32_t i = 0; i < states->extension_count; i++)
        CHECK(strcmp(states->extensions[i], extension) != 0);
    CHECK(states->extension_count < COUNT_OF(states->extensions));
    states->extensions[states->extension_count++] = extension;
    if (!features)
        return true;
    head->sType = type;
    have.last->pNext = head;
    have.last = head;
    return true;
}

static void add(struct app_states *states, bool condition, VkDynamicState state)
{
    CHECK(states->dynamic_count < COUNT_OF(states->dynamic));
    if (condition)
        states->dynamic[states->dynamic_count++] = state;
}

bool app_states_has(const struct app_states *states, VkDynamicState state)
{
    for (uint32_t i = 0; i < states->dynamic_count; i++)
        if (states->dynamic[i] == state)
            return true;
    return false;
}

static bool has(const struct app_states *states, const char *extension)
{
    for (uint32_t i = 0; i < states->extension_count; i++)
        if (strcmp(states->extensions[i], extension) == 0)
            return true;
    return false;
}

static void find_features(struct app_states *states)
{
    have.core.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2;
    have.last = (VkBaseOutStructure *)&have.core;
#define ASK(extension, member, type)                                                                                   \
    (void)ask(states, "VK_" extension, &have.member, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_##type)
    ASK("EXT_extended_dynamic_state", one, EXTENDED_DYNAMIC_STATE_FEATURES_EXT);
    ASK("EXT_extended_dynamic_state2", two, EXTENDED_DYNAMIC_STATE_2_FEATURES_EXT);
    ASK("EXT_extended_dynamic_state3", three, EXTENDED_DYNAMIC_STATE_3_FEATURES_EXT);
    ASK("EXT_vertex_input_dynamic_state", vertex_input, VERTEX_INPUT_DYNAMIC_STATE_FEATURES_EXT);
    ASK("EXT_color_write_enable", color_write, COLOR_WRITE_ENABLE_FEATURES_EXT);
    ASK("EXT_depth_clip_enable", clip_enable, DEPTH_CLIP_ENABLE_FEATURES_EXT);
    ASK("EXT_depth_clip_control", clip_control, DEPTH_CLIP_CONTROL_FEATURES_EXT);
    ASK("EXT_line_rasterization", lines, LINE_RASTERIZATION_FEATURES_EXT);
    ASK("EXT_provoking_vertex", provoking, PROVOKING_VERTEX_FEATURES_EXT);
    ASK("EXT_transform_feedback", streams, TRANSFORM_FEEDBACK_FEATURES_EXT);
    ASK("KHR_fragment_shading_rate", rate, FRAGMENT_SHADING_RATE_FEATURES_KHR);
    ASK("EXT_blend_operation_advanced", advanced, BLEND_OPERATION_ADVANCED_FEATURES_EXT);
    ASK("NV_scissor_exclusive", exclusive, EXCLUSIVE_SCISSOR_FEATURES_NV);
    if (!have.rate.sType) /* one of the two: VUID-VkDeviceCreateInfo-shadingRateImage-04478 */
        ASK("NV_shading_rate_image", palette, SHADING_RATE_IMAGE_FEATURES_NV);
    ASK("NV_representative_fragment_test", representative, REPRESENTATIVE_FRAGMENT_TEST_FEATURES_NV);
    ASK("NV_coverage_reduction_mode", reduction, COVERAGE_REDUCTION_MODE_FEATURES_NV);
#ifdef VK_EXT_attachment_feedback_loop_dynamic_state
    ASK("EXT_attachment_feedback_loop_layout", loop_layout, ATTACHMENT_FEEDBACK_LOOP_LAYOUT_FEATURES_EXT);
    ASK("EXT_attachment_feedback_loop_dynamic_state", loop, ATTACHMENT_FEEDBACK_LOOP_DYNAMIC_STATE_FEATURES_EXT);
#endif
#ifdef VK_EXT_depth_clamp_control
    ASK("EXT_depth_clamp_control", clamp_control, DEPTH_CLAMP_CONTROL_FEATURES_EXT);
#endif
#undef ASK
    (void)ask(states, "VK_EXT_sample_locations", NULL, 0);
    (void)ask(states, "VK_EXT_discard_rectangles", NULL, 0);
    (void)ask(states, "VK_EXT_conservative_rasterization", NULL, 0);
    (void)ask(states, "VK_NV_clip_space_w_scaling", NULL, 0);
    (void)ask(states, "VK_NV_viewport_swizzle", NULL, 0);
    vkGetPhysicalDeviceFeatures2(states->app->physical, &have.core);
    have.core.features.robustBufferAccess = VK_FALSE;
    have.one.extendedDynamicState |= states->app->api_version >= VK_API_VERSION_1_3;
}

void app_states_find(const struct app *app, struct app_states *states)
{
    const VkPhysicalDeviceExtendedDynamicState3FeaturesEXT *three = &have.three;
    const VkPhysicalDeviceFeatures *core = &have.core.features;

    *states = (struct app_states){.app = app};
    find_features(states);
    states->features = &have.core;
    states->blends_coherently = have.advanced.advancedBlendCoherentOperations;
    static const VkDynamicState always[] = {VK_DYNAMIC_STATE_VIEWPORT_WITH_COUNT,
                                            VK_DYNAMIC_STATE_SCISSOR_WITH_COUNT,
                                            VK_DYNAMIC_STATE_LINE_WIDTH,
                                            VK_DYNAMIC_STATE_DEPTH_BIAS,
                                            VK_DYNAMIC_STATE_BLEND_CONSTANTS,
                                            VK_DYNAMIC_STATE_STENCIL_COMPARE_MASK,
                                            VK_DYNAMIC_STATE_STENCIL_WRITE_MASK,
                                            VK_DYNAMIC_STATE_STENCIL_REFERENCE,
                                            VK_DYNAMIC_STATE_CULL_MODE,
                                            VK_DYNAMIC_STATE_FRONT_FACE,
                                            VK_DYNAMIC_STATE_PRIMITIVE_TOPOLOGY,
                                            VK_DYNAMIC_STATE_DEPTH_TEST_ENABLE,
                                            VK_DYNAMIC_STATE_DEPTH_WRITE_ENABLE,
                                            VK_DYNAMIC_STATE_DEPTH_COMPARE_OP,
                                            VK_DYNAMIC_STATE_STENCIL_TEST_ENABLE,
                                            VK_DYNAMIC_STATE_STENCIL_OP,
                                            VK_DYNAMIC_STATE_DEPTH_BIAS_ENABLE,
                                            VK_DYNAMIC_STATE_PRIMITIVE_RESTART_ENABLE,
                                            VK_DYNAMIC_STATE_RASTERIZER_DISCARD_ENABLE};
    for (uint32_t i = 0; i < COUNT_OF(always); i++)
        add(states, true, always[i]);
    add(states, core->depthBounds, VK_DYNAMIC_STATE_DEPTH_BOUNDS);
    add(states, core->depthBounds, VK_DYNAMIC_STATE_DEPTH_BOUNDS_TEST_ENABLE);
    add(states, have.two.extendedDynamicState2LogicOp && core->logicOp, VK_DYNAMIC_STATE_LOGIC_OP_EXT);
    add(states, have.vertex_input.vertexInputDynamicState, VK_DYNAMIC_STATE_VERTEX_INPUT_EXT);
    if (!have.vertex_input.vertexInputDynamicState)
        add(states, true, VK_DYNAMIC_STATE_VERTEX_INPUT_BINDING_STRIDE);
    add(states, have.color_write.colorWriteEnable, VK_DYNAMIC_STATE_COLOR_WRITE_ENABLE_EXT);
    add(states, have.rate.pipelineFragmentShadingRate, VK_DYNAMIC_STATE_FRAGMENT_SHADING_RATE_KHR);
    add(states, have.lines.rectangularLines || have.lines.stippledRectangularLines || have.lines.stippledBresenhamLines,
        VK_DYNAMIC_STATE_LINE_STIPPLE_EXT);
    add(states, has(states, "VK_EXT_sample_locations"), VK_DYNAMIC_STATE_SAMPLE_LOCATIONS_EXT);
    add(states, has(states, "VK_EXT_discard_rectangles"), VK_DYNAMIC_STATE_DISCARD_RECTANGLE_EXT);
    add(states, has(states, "VK_NV_clip_space_w_scaling"), VK_DYNAMIC_STATE_VIEWPORT_W_SCALING_NV);
    add(states, have.exclusive.exclusiveScissor, VK_DYNAMIC_STATE_EXCLUSIVE_SCISSOR_NV);
    add(states, have.palette.shadingRateImage, VK_DYNAMIC_STATE_VIEWPORT_SHADING_RATE_PALETTE_NV);
    add(states, have.palette.shadingRateImage, VK_DYNAMIC_STATE_VIEWPORT_COARSE_SAMPLE_ORDER_NV);
    /* VK_EXT_extended_dynamic_state3 */
    add(states, three->extendedDynamicState3DepthClampEnable && core->depthClamp,
        VK_DYNAMIC_STATE_DEPTH_CLAMP_ENABLE_EXT);
    add(states, three->extendedDynamicState3PolygonMode, VK_DYNAMIC_STATE_POLYGON_MODE_EXT);
    add(states, three->extendedDynamicState3RasterizationSamples, VK_DYNAMIC_STATE_RASTERIZATION_SAMPLES_EXT);
    add(states, three->extendedDynamicState3SampleMask, VK_DYNAMIC_STATE_SAMPLE_MASK_EXT);
    add(states, three->extendedDynamicState3AlphaToCoverageEnable, VK_DYNAMIC_STATE_ALPHA_TO_COVERAGE_ENABLE_EXT);
    add(states, three->extendedDynamicState3AlphaToOneEnable && core->alphaToOne,
        VK_DYNAMIC_STATE_ALPHA_TO_ONE_ENABLE_EXT);
    add(states, three->extendedDynamicState3LogicOpEnable && core->logicOp, VK_DYNAMIC_STATE_LOGIC_OP_ENABLE_EXT);
    add(states, three->extendedDynamicState3ColorBlendEnable, VK_DYNAMIC_STATE_COLOR_BLEND_ENABLE_EXT);
    add(states, three->extendedDynamicState3ColorBlendEquation, VK_DYNAMIC_STATE_COLOR_BLEND_EQUATION_EXT);
    add(states, three->extendedDynamicState3ColorWriteMask, VK_DYNAMIC_STATE_COLOR_WRITE_MASK_EXT);
    add(states, three->extendedDynamicState3RasterizationStream && have.streams.transformFeedback,
        VK_DYNAMIC_STATE_RASTERIZATION_STREAM_EXT);
    add(states,
        three->extendedDynamicState3ConservativeRasterizationMode && has(states, "VK_EXT_conservative_rasterization"),
        VK_DYNAMIC_STATE_CONSERVATIVE_RASTERIZATION_MODE_EXT);
    add(states,
        three->extendedDynamicState3ExtraPrimitiveOverestimationSize &&
            has(states, "VK_EXT_conservative_rasterization"),
        VK_DYNAMIC_STATE_EXTRA_PRIMITIVE_OVERESTIMATION_SIZE_EXT);
    add(states, three->extendedDynamicState3DepthClipEnable && have.clip_enable.depthClipEnable,
        VK_DYNAMIC_STATE_DEPTH_CLIP_ENABLE_EXT);
    add(states, three->extendedDynamicState3SampleLocationsEnable && has(states, "VK_EXT_sample_locations"),
        VK_DYNAMIC_STATE_SAMPLE_LOCATIONS_ENABLE_EXT);
    add(states, three->extendedDynamicState3ProvokingVertexMode && have.provoking.provokingVertexLast,
        VK_DYNAMIC_STATE_PROVOKING_VERTEX_MODE_EXT);
    add(states, three->extendedDynamicState3LineRasterizationMode && have.lines.sType,
        VK_DYNAMIC_STATE_LINE_RASTERIZATION_MODE_EXT);
    add(states, three->extendedDynamicState3LineStippleEnable && have.lines.sType,
        VK_DYNAMIC_STATE_LINE_STIPPLE_ENABLE_EXT);
    add(states, three->extendedDynamicState3DepthClipNegativeOneToOne && have.clip_control.depthClipControl,
        VK_DYNAMIC_STATE_DEPTH_CLIP_NEGATIVE_ONE_TO_ONE_EXT);
    add(states, three->extendedDynamicState3ViewportWScalingEnable && has(states, "VK_NV_clip_space_w_scaling"),
        VK_DYNAMIC_STATE_VIEWPORT_W_SCALING_ENABLE_NV);
    add(states, three->extendedDynamicState3ViewportSwizzle && has(states, "VK_NV_viewport_swizzle"),
        VK_DYNAMIC_STATE_VIEWPORT_SWIZZLE_NV);
    add(states,
        three->extendedDynamicState3RepresentativeFragmentTestEnable && have.representative.representativeFragmentTest,
        VK_DYNAMIC_STATE_REPRESENTATIVE_FRAGMENT_TEST_ENABLE_NV);
    add(states, three->extendedDynamicState3ShadingRateImageEnable && have.palette.shadingRateImage,
        VK_DYNAMIC_STATE_SHADING_RATE_IMAGE_ENABLE_NV);
    add(states, three->extendedDynamicState3CoverageReductionMode && have.reduction.coverageReductionMode,
        VK_DYNAMIC_STATE_COVERAGE_REDUCTION_MODE_NV);
#ifdef VK_EXT_attachment_feedback_loop_dynamic_state
    add(states, have.loop.attachmentFeedbackLoopDynamicState && have.loop_layout.attachmentFeedbackLoopLayout,
        VK_DYNAMIC_STATE_ATTACHMENT_FEEDBACK_LOOP_ENABLE_EXT);
#endif
#ifdef VK_EXT_depth_clamp_control
    add(states, have.clamp_control.depthClampControl, VK_DYNAMIC_STATE_DEPTH_CLAMP_RANGE_EXT);
#endif
}

/* ---- what is set ---- */

static const VkSampleLocationEXT middle = {0.5f, 0.5f};
static const VkSampleLocationsInfoEXT locations = {.sType = VK_STRUCTURE_TYPE_SAMPLE_LOCATIONS_INFO_EXT,
                                                   .sampleLocationsPerPixel = VK_SAMPLE_COUNT_1_BIT,
                                                   .sampleLocationGridSize = {1, 1},
                                                   .sampleLocationsCount = 1,
                                                   .pSampleLocations = &middle};

static VkViewport viewport(void)
{
    return (VkViewport){0, 0, (float)APP_STATES_SIZE, (float)APP_STATES_SIZE, 0, 1};
}

static VkRect2D scissor(enum app_quarter quarter)
{
    return (VkRect2D){{(int32_t)(quarter % 2 * HALF), (int32_t)(quarter / 2 * HALF)}, {HALF, HALF}};
}

static VkColorBlendEquationEXT equation(void)
{
    return (VkColorBlendEquationEXT){VK_BLEND_FACTOR_ONE, VK_BLEND_FACTOR_CONSTANT_COLOR, VK_BLEND_OP_ADD,
                                     VK_BLEND_FACTOR_ONE, VK_BLEND_FACTOR_ZERO,           VK_BLEND_OP_ADD};
}

#define CALL(name, ...) ((PFN_##name)app_device_function(states->app, #name))(commands, __VA_ARGS__)

static void set_first_ones(const struct app_states *states, VkCommandBuffer commands, enum app_quarter quarter)
{
    static const float constants[4] = {1 / 3.0f, 1 / 3.0f, 1 / 3.0f, 1}; /* nothing between two numbers of 8 bits */
    VkViewport whole = viewport();
    VkRect2D part = scissor(quarter);

    CALL(vkCmdSetViewportWithCount, 1, &whole);
    CALL(vkCmdSetScissorWithCount, 1, &part);
    vkCmdSetLineWidth(commands, 1);
    vkCmdSetDepthBias(commands, 0, 0, 0);
    vkCmdSetBlendConstants(commands, constants);
    vkCmdSetStencilCompareMask(commands, VK_STENCIL_FACE_FRONT_AND_BACK, 0xff);
    vkCmdSetStencilWriteMask(commands, VK_STENCIL_FACE_FRONT_AND_BACK, 0xff);
    vkCmdSetStencilReference(commands, VK_STENCIL_FACE_FRONT_AND_BACK, 1);
    CALL(vkCmdSetCullMode, quarter == APP_PLAIN ? VK_CULL_MODE_BACK_BIT : VK_CULL_MODE_NONE);
    CALL(vkCmdSetFrontFace, VK_FRONT_FACE_CLOCKWISE);
    CALL(vkCmdSetPrimitiveTopology, VK_PRIMITIVE_TOPOLOGY_TRIANGLE_LIST);
    CALL(vkCmdSetDepthTestEnable, VK_FALSE);
    CALL(vkCmdSetDepthWriteEnable, VK_FALSE);
    CALL(vkCmdSetDepthCompareOp, VK_COMPARE_OP_LESS);
    CALL(vkCmdSetStencilTestEnable, VK_FALSE);
    CALL(vkCmdSetStencilOp, VK_STENCIL_FACE_FRONT_AND_BACK, VK_STENCIL_OP_KEEP, VK_STENCIL_OP_KEEP, VK_STENCIL_OP_KEEP,
         VK_COMPARE_OP_ALWAYS);
    CALL(vkCmdSetDepthBiasEnable, VK_FALSE);
    CALL(vkCmdSetPrimitiveRestartEnable, VK_FALSE);
    CALL(vkCmdSetRasterizerDiscardEnable, quarter == APP_DISCARDED);
}

#define IF(state) if (app_states_has(states, VK_DYNAMIC_STATE_##state))

static void set_others(const struct app_states *states, VkCommandBuffer commands)
{
    const VkVertexInputBindingDescription2EXT binding = {
        .sType = VK_STRUCTURE_TYPE_VERTEX_INPUT_BINDING_DESCRIPTION_2_EXT, .stride = 8, .divisor = 1};
    const VkVertexInputAttributeDescription2EXT attribute = {
        .sType = VK_STRUCTURE_TYPE_VERTEX_INPUT_ATTRIBUTE_DESCRIPTION_2_EXT, .format = VK_FORMAT_R32G32_SFLOAT};
    const VkFragmentShadingRateCombinerOpKHR keep[2] = {VK_FRAGMENT_SHADING_RATE_COMBINER_OP_KEEP_KHR,
                                                        VK_FRAGMENT_SHADING_RATE_COMBINER_OP_KEEP_KHR};
    const VkBool32 on = VK_TRUE;
    VkRect2D everything = {{0, 0}, {APP_STATES_SIZE, APP_STATES_SIZE}}, nothing = {{0, 0}, {0, 0}};

    IF(DEPTH_BOUNDS) vkCmdSetDepthBounds(commands, 0, 1);
    IF(DEPTH_BOUNDS_TEST_ENABLE) CALL(vkCmdSetDepthBoundsTestEnable, VK_FALSE);
    IF(LOGIC_OP_EXT) CALL(vkCmdSetLogicOpEXT, VK_LOGIC_OP_COPY);
    IF(VERTEX_INPUT_EXT) CALL(vkCmdSetVertexInputEXT, 1, &binding, 1, &attribute);
    IF(COLOR_WRITE_ENABLE_EXT) CALL(vkCmdSetColorWriteEnableEXT, 1, &on);
    IF(FRAGMENT_SHADING_RATE_KHR) CALL(vkCmdSetFragmentShadingRateKHR, (&(VkExtent2D){1, 1}), keep);
    IF(LINE_STIPPLE_EXT) CALL(vkCmdSetLineStippleEXT, 1, 0xffff);
    IF(SAMPLE_LOCATIONS_EXT) CALL(vkCmdSetSampleLocationsEXT, &locations);
    IF(DISCARD_RECTANGLE_EXT) CALL(vkCmdSetDiscardRectangleEXT, 0, 1, &nothing);
    IF(VIEWPORT_W_SCALING_NV) CALL(vkCmdSetViewportWScalingNV, 0, 1, (&(VkViewportWScalingNV){0, 0}));
    IF(EXCLUSIVE_SCISSOR_NV) CALL(vkCmdSetExclusiveScissorNV, 0, 1, &everything);
    IF(VIEWPORT_SHADING_RATE_PALETTE_NV)
    {
        const VkShadingRatePaletteEntryNV entry = VK_SHADING_RATE_PALETTE_ENTRY_1_INVOCATION_PER_PIXEL_NV;
        const VkShadingRatePaletteNV palette = {1, &entry};
        CALL(vkCmdSetViewportShadingRatePaletteNV, 0, 1, &palette);
        CALL(vkCmdSetCoarseSampleOrderNV, VK_COARSE_SAMPLE_ORDER_TYPE_DEFAULT_NV, 0, NULL);
    }
}

static void set_third_ones(const struct app_states *states, VkCommandBuffer commands, enum app_quarter quarter)
{
    const VkSampleMask all = ~0u;
    const VkBool32 blends = quarter == APP_BLENDED;
    const VkColorComponentFlags mask = quarter == APP_MASKED ? VK_COLOR_COMPONENT_R_BIT : 0xf;
    const VkColorBlendEquationEXT sum = equation();
    const VkViewportSwizzleNV same = {
        VK_VIEWPORT_COORDINATE_SWIZZLE_POSITIVE_X_NV, VK_VIEWPORT_COORDINATE_SWIZZLE_POSITIVE_Y_NV,
        VK_VIEWPORT_COORDINATE_SWIZZLE_POSITIVE_Z_NV, VK_VIEWPORT_COORDINATE_SWIZZLE_POSITIVE_W_NV};

    IF(DEPTH_CLAMP_ENABLE_EXT) CALL(vkCmdSetDepthClampEnableEXT, VK_FALSE);
    IF(POLYGON_MODE_EXT) CALL(vkCmdSetPolygonModeEXT, VK_POLYGON_MODE_FILL);
    IF(RASTERIZATION_SAMPLES_EXT) CALL(vkCmdSetRasterizationSamplesEXT, VK_SAMPLE_COUNT_1_BIT);
    IF(SAMPLE_MASK_EXT) CALL(vkCmdSetSampleMaskEXT, VK_SAMPLE_COUNT_1_BIT, &all);
    IF(ALPHA_TO_COVERAGE_ENABLE_EXT) CALL(vkCmdSetAlphaToCoverageEnableEXT, VK_FALSE);
    IF(ALPHA_TO_ONE_ENABLE_EXT) CALL(vkCmdSetAlphaToOneEnableEXT, VK_FALSE);
    IF(LOGIC_OP_ENABLE_EXT) CALL(vkCmdSetLogicOpEnableEXT, VK_FALSE);
    IF(COLOR_BLEND_ENABLE_EXT) CALL(vkCmdSetColorBlendEnableEXT, 0, 1, &blends);
    IF(COLOR_BLEND_EQUATION_EXT) CALL(vkCmdSetColorBlendEquationEXT, 0, 1, &sum);
    IF(COLOR_WRITE_MASK_EXT) CALL(vkCmdSetColorWriteMaskEXT, 0, 1, &mask);
    IF(RASTERIZATION_STREAM_EXT) CALL(vkCmdSetRasterizationStreamEXT, 0);
    IF(CONSERVATIVE_RASTERIZATION_MODE_EXT)
    CALL(vkCmdSetConservativeRasterizationModeEXT, VK_CONSERVATIVE_RASTERIZATION_MODE_DISABLED_EXT);
    IF(EXTRA_PRIMITIVE_OVERESTIMATION_SIZE_EXT) CALL(vkCmdSetExtraPrimitiveOverestimationSizeEXT, 0);
    IF(DEPTH_CLIP_ENABLE_EXT) CALL(vkCmdSetDepthClipEnableEXT, VK_TRUE);
    IF(SAMPLE_LOCATIONS_ENABLE_EXT) CALL(vkCmdSetSampleLocationsEnableEXT, VK_FALSE);
    IF(PROVOKING_VERTEX_MODE_EXT) CALL(vkCmdSetProvokingVertexModeEXT, VK_PROVOKING_VERTEX_MODE_FIRST_VERTEX_EXT);
    IF(LINE_RASTERIZATION_MODE_EXT) CALL(vkCmdSetLineRasterizationModeEXT, VK_LINE_RASTERIZATION_MODE_DEFAULT_EXT);
    IF(LINE_STIPPLE_ENABLE_EXT) CALL(vkCmdSetLineStippleEnableEXT, VK_FALSE);
    IF(DEPTH_CLIP_NEGATIVE_ONE_TO_ONE_EXT) CALL(vkCmdSetDepthClipNegativeOneToOneEXT, VK_FALSE);
    IF(VIEWPORT_W_SCALING_ENABLE_NV) CALL(vkCmdSetViewportWScalingEnableNV, VK_FALSE);
    IF(VIEWPORT_SWIZZLE_NV) CALL(vkCmdSetViewportSwizzleNV, 0, 1, &same);
    IF(REPRESENTATIVE_FRAGMENT_TEST_ENABLE_NV) CALL(vkCmdSetRepresentativeFragmentTestEnableNV, VK_FALSE);
    IF(SHADING_RATE_IMAGE_ENABLE_NV) CALL(vkCmdSetShadingRateImageEnableNV, VK_FALSE);
    IF(COVERAGE_REDUCTION_MODE_NV) CALL(vkCmdSetCoverageReductionModeNV, VK_COVERAGE_REDUCTION_MODE_MERGE_NV);
#ifdef VK_EXT_attachment_feedback_loop_dynamic_state
    IF(ATTACHMENT_FEEDBACK_LOOP_ENABLE_EXT) CALL(vkCmdSetAttachmentFeedbackLoopEnableEXT, 0);
#endif
#ifdef VK_EXT_depth_clamp_control
    IF(DEPTH_CLAMP_RANGE_EXT) CALL(vkCmdSetDepthClampRangeEXT, VK_DEPTH_CLAMP_MODE_VIEWPORT_RANGE_EXT, NULL);
#endif
}

void app_states_set(const struct app_states *states, VkCommandBuffer commands, enum app_quarter quarter)
{
    set_first_ones(states, commands, quarter);
    set_others(states, commands);
    set_third_ones(states, commands, quarter);
}

/* ---- pipelines ---- */

static bool has_all(const struct app_states *states, uint32_t count, const VkDynamicState *wanted)
{
    for (uint32_t i = 0; i < count; i++)
        if (!app_states_has(states, wanted[i]))
            return false;
    return true;
}

#define HAS_ALL(...)                                                                                                   \
    has_all(states, COUNT_OF(((const VkDynamicState[]){__VA_ARGS__})), (const VkDynamicState[]){__VA_ARGS__})

/* VUID-VkGraphicsPipelineCreateInfo-pViewportState-09025 and those around it. */
static void leave_out(const struct app_states *states, VkGraphicsPipelineCreateInfo *info)
{
    const VkPhysicalDeviceFeatures *core = &have.core.features;
    VkPhysicalDeviceExtendedDynamicState3PropertiesEXT topology = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_EXTENDED_DYNAMIC_STATE_3_PROPERTIES_EXT};
    VkPhysicalDeviceProperties2 properties = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2,
                                              .pNext = &topology};

    IF(VERTEX_INPUT_EXT) info->pVertexInputState = NULL;
    if (!has(states, "VK_EXT_extended_dynamic_state3"))
        return;
    vkGetPhysicalDeviceProperties2(states->app->physical, &properties);
    info->pViewportState = NULL;
    if (topology.dynamicPrimitiveTopologyUnrestricted)
        info->pInputAssemblyState = NULL;
    if (HAS_ALL(VK_DYNAMIC_STATE_POLYGON_MODE_EXT, VK_DYNAMIC_STATE_DEPTH_CLAMP_ENABLE_EXT))
        info->pRasterizationState = NULL;
    if (HAS_ALL(VK_DYNAMIC_STATE_RASTERIZATION_SAMPLES_EXT, VK_DYNAMIC_STATE_SAMPLE_MASK_EXT,
                VK_DYNAMIC_STATE_ALPHA_TO_COVERAGE_ENABLE_EXT) &&
        (!core->alphaToOne || HAS_ALL(VK_DYNAMIC_STATE_ALPHA_TO_ONE_ENABLE_EXT)))
        info->pMultisampleState = NULL;
    if (HAS_ALL(VK_DYNAMIC_STATE_COLOR_BLEND_ENABLE_EXT, VK_DYNAMIC_STATE_COLOR_BLEND_EQUATION_EXT,
                VK_DYNAMIC_STATE_COLOR_WRITE_MASK_EXT) &&
        (!core->logicOp || HAS_ALL(VK_DYNAMIC_STATE_LOGIC_OP_ENABLE_EXT, VK_DYNAMIC_STATE_LOGIC_OP_EXT)))
        info->pColorBlendState = NULL;
}

VkPipeline app_states_pipeline(const struct app_states *states, const VkPipelineShaderStageCreateInfo stages[2],
                               VkPipelineLayout layout, const void *next, bool absent)
{
    const VkVertexInputBindingDescription binding = {.stride = 8};
    const VkVertexInputAttributeDescription attribute = {.format = VK_FORMAT_R32G32_SFLOAT};
    VkPipelineVertexInputStateCreateInfo input = {.sType = VK_STRUCTURE_TYPE_PIPELINE_VERTEX_INPUT_STATE_CREATE_INFO};
    VkPipelineInputAssemblyStateCreateInfo assembly = {.sType =
                                                           VK_STRUCTURE_TYPE_PIPELINE_INPUT_ASSEMBLY_STATE_CREATE_INFO,
                                                       .topology = VK_PRIMITIVE_TOPOLOGY_TRIANGLE_LIST};
    VkPipelineViewportStateCreateInfo viewports = {.sType = VK_STRUCTURE_TYPE_PIPELINE_VIEWPORT_STATE_CREATE_INFO};
    VkPipelineRasterizationStateCreateInfo raster = {
        .sType = VK_STRUCTURE_TYPE_PIPELINE_RASTERIZATION_STATE_CREATE_INFO, .lineWidth = 1};
    VkPipelineMultisampleStateCreateInfo samples = {.sType = VK_STRUCTURE_TYPE_PIPELINE_MULTISAMPLE_STATE_CREATE_INFO,
                                                    .rasterizationSamples = VK_SAMPLE_COUNT_1_BIT};
    VkPipelineColorBlendAttachmentState attachment = {.colorWriteMask = 0xf};
    VkPipelineColorBlendStateCreateInfo blend = {.sType = VK_STRUCTURE_TYPE_PIPELINE_COLOR_BLEND_STATE_CREATE_INFO,
                                                 .attachmentCount = 1,
                                                 .pAttachments = &attachment};
    VkRect2D nothing = {{0, 0}, {0, 0}};
    const VkBool32 on = VK_TRUE;
    VkPipelineDiscardRectangleStateCreateInfoEXT rectangles = {
        .sType = VK_STRUCTURE_TYPE_PIPELINE_DISCARD_RECTANGLE_STATE_CREATE_INFO_EXT,
        .discardRectangleMode = VK_DISCARD_RECTANGLE_MODE_EXCLUSIVE_EXT, /* all is outside of nothing */
        .discardRectangleCount = 1,
        .pDiscardRectangles = &nothing};
    VkPipelineColorWriteCreateInfoEXT writes = {.sType = VK_STRUCTURE_TYPE_PIPELINE_COLOR_WRITE_CREATE_INFO_EXT,
                                                .attachmentCount = 1,
                                                .pColorWriteEnables = &on};
    VkPipelineDynamicStateCreateInfo dynamic = {.sType = VK_STRUCTURE_TYPE_PIPELINE_DYNAMIC_STATE_CREATE_INFO,
                                                .dynamicStateCount = states->dynamic_count,
                                                .pDynamicStates = states->dynamic};
    VkGraphicsPipelineCreateInfo info = {.sType = VK_STRUCTURE_TYPE_GRAPHICS_PIPELINE_CREATE_INFO,
                                         .pNext = next,
                                         .stageCount = 2,
                                         .pStages = stages,
                                         .pVertexInputState = &input,
                                         .pInputAssemblyState = &assembly,
                                         .pViewportState = &viewports,
                                         .pRasterizationState = &raster,
                                         .pMultisampleState = &samples,
                                         .pColorBlendState = &blend,
                                         .pDynamicState = &dynamic,
                                         .layout = layout};
    VkPipeline pipeline;

    input.vertexBindingDescriptionCount = input.vertexAttributeDescriptionCount = 1;
    input.pVertexBindingDescriptions = &binding;
    input.pVertexAttributeDescriptions = &attribute;
    if (absent)
        leave_out(states, &info);
    IF(DISCARD_RECTANGLE_EXT)
    {
        rectangles.pNext = info.pNext;
        info.pNext = &rectangles;
    }
    IF(COLOR_WRITE_ENABLE_EXT) blend.pNext = &writes;
    CHECK_VK(vkCreateGraphicsPipelines(states->app->device, VK_NULL_HANDLE, 1, &info, NULL, &pipeline));
    return pipeline;
}

/* ---- the picture ---- */

void app_picture_create(const struct app *app, struct app_picture *picture)
{
    static const float corners[6] = {-1, -1, 3, -1, -1, 3}; /* clockwise as the picture is seen */
    const VkDescriptorSetLayoutBinding binding = {0, VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, 1, VK_SHADER_STAGE_FRAGMENT_BIT,
                                                  NULL};
    const VkDescriptorPoolSize size = {VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, 1};
    VkDescriptorPoolCreateInfo pool = {.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO};
    VkDescriptorSetAllocateInfo allocate = {.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO};
    VkDescriptorBufferInfo buffer = {.range = APP_MARKS * 4};
    VkWriteDescriptorSet write = {.sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET};

    *picture = (struct app_picture){.app = app};
    app_image_create_2d(app, &picture->image, VK_FORMAT_R8G8B8A8_UNORM, APP_STATES_SIZE, APP_STATES_SIZE,
                        VK_IMAGE_USAGE_COLOR_ATTACHMENT_BIT | VK_IMAGE_USAGE_TRANSFER_SRC_BIT);
    app_buffer_create(app, &picture->pixels, APP_STATES_SIZE * APP_STATES_SIZE * 4, VK_BUFFER_USAGE_TRANSFER_DST_BIT,
                      APP_READBACK);
    app_buffer_create(app, &picture->vertices, sizeof corners, VK_BUFFER_USAGE_VERTEX_BUFFER_BIT, APP_UPLOAD);
    app_buffer_create(app, &picture->marks, 2 * APP_MARKS * 4, VK_BUFFER_USAGE_STORAGE_BUFFER_BIT, APP_READBACK);
    memcpy(picture->vertices.mapped, corners, sizeof corners);
    app_buffer_flush(app, &picture->vertices, 0, sizeof corners);
    memset(picture->marks.mapped, 0, 2 * APP_MARKS * 4);
    app_buffer_flush(app, &picture->marks, 0, picture->marks.size);
    picture->set_layout = app_set_layout(app, 1, &binding);
    picture->layout = app_pipeline_layout(app, 1, &picture->set_layout, VK_SHADER_STAGE_FRAGMENT_BIT, APP_PUSH_BYTES);
    pool.maxSets = 1;
    pool.poolSizeCount = 1;
    pool.pPoolSizes = &size;
    CHECK_VK(vkCreateDescriptorPool(app->device, &pool, NULL, &picture->pool));
    allocate.descriptorPool = picture->pool;
    allocate.descriptorSetCount = 1;
    allocate.pSetLayouts = &picture->set_layout;
    CHECK_VK(vkAllocateDescriptorSets(app->device, &allocate, &picture->set));
    buffer.buffer = picture->marks.buffer;
    write.dstSet = picture->set;
    write.descriptorCount = 1;
    write.descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER;
    write.pBufferInfo = &buffer;
    vkUpdateDescriptorSets(app->device, 1, &write, 0, NULL);
}

void app_picture_destroy(struct app_picture *picture)
{
    const struct app *app = picture->app;
    vkDestroyDescriptorPool(app->device, picture->pool, NULL);
    vkDestroyPipelineLayout(app->device, picture->layout, NULL);
    vkDestroyDescriptorSetLayout(app->device, picture->set_layout, NULL);
    app_buffer_destroy(app, &picture->marks);
    app_buffer_destroy(app, &picture->vertices);
    app_buffer_destroy(app, &picture->pixels);
    app_image_destroy(app, &picture->image);
}

VkCommandBuffer app_picture_begin(struct app_picture *picture)
{
    VkCommandBuffer commands = app_begin(picture->app);
    VkRenderingAttachmentInfo color = {.sType = VK_STRUCTURE_TYPE_RENDERING_ATTACHMENT_INFO,
                                       .imageView = picture->image.view,
                                       .imageLayout = VK_IMAGE_LAYOUT_COLOR_ATTACHMENT_OPTIMAL,
                                       .loadOp = VK_ATTACHMENT_LOAD_OP_CLEAR,
                                       .storeOp = VK_ATTACHMENT_STORE_OP_STORE,
                                       .clearValue = {.color = {.float32 = {0.2f, 0.2f, 0.2f, 1}}}};
    VkRenderingInfo info = {.sType = VK_STRUCTURE_TYPE_RENDERING_INFO,
                            .renderArea = {{0, 0}, {APP_STATES_SIZE, APP_STATES_SIZE}},
                            .layerCount = 1,
                            .colorAttachmentCount = 1,
                            .pColorAttachments = &color};

    /* The host writes beside what shaders write. */
    picture->round++;
    for (uint32_t i = 0; i < APP_MARKS; i++)
        ((uint32_t *)picture->marks.mapped)[APP_MARKS + i] = picture->round * 100 + i;
    app_buffer_flush(picture->app, &picture->marks, 0, picture->marks.size);
    app_image_barrier(commands, &picture->image, VK_IMAGE_LAYOUT_UNDEFINED, VK_IMAGE_LAYOUT_COLOR_ATTACHMENT_OPTIMAL);
    ((PFN_vkCmdBeginRendering)app_device_function(picture->app, "vkCmdBeginRendering"))(commands, &info);
    vkCmdBindDescriptorSets(commands, VK_PIPELINE_BIND_POINT_GRAPHICS, picture->layout, 0, 1, &picture->set, 0, NULL);
    return commands;
}

void app_picture_draw(const struct app_picture *picture, const struct app_states *states, VkCommandBuffer commands,
                      enum app_quarter quarter)
{
    const struct {
        float color[4];
        uint32_t mark;
    } push = {{0.8f, 0.4f, 0.6f, 1}, quarter + 1};
    const VkDeviceSize offset = 0, stride = 8;

    vkCmdPushConstants(commands, picture->layout, VK_SHADER_STAGE_FRAGMENT_BIT, 0, APP_PUSH_BYTES, &push);
    IF(VERTEX_INPUT_BINDING_STRIDE)
    CALL(vkCmdBindVertexBuffers2, 0, 1, &picture->vertices.buffer, &offset, NULL, &stride);
    else vkCmdBindVertexBuffers(commands, 0, 1, &picture->vertices.buffer, &offset);
    vkCmdDraw(commands, 3, 1, 0, 0);
}

static void expect_pixel(const struct app_picture *picture, uint32_t x, uint32_t y, const uint32_t wanted[4])
{
    const uint8_t *pixel = picture->pixels.mapped + (y * APP_STATES_SIZE + x) * 4;
    for (uint32_t i = 0; i < 4; i++) {
        uint32_t apart = pixel[i] > wanted[i] ? pixel[i] - wanted[i] : wanted[i] - pixel[i];
        EXPECT_EQ(picture->app, apart > 1 ? pixel[i] : wanted[i], wanted[i]);
    }
}

void app_picture_end(struct app_picture *picture, const struct app_states *states, VkCommandBuffer commands,
                     uint32_t scale)
{
    static const uint32_t plain[4] = {204, 102, 153, 255}, blended[4] = {221, 119, 170, 255},
                          masked[4] = {204, 51, 51, 255}, cleared[4] = {51, 51, 51, 255};
    const uint32_t *wanted[4] = {plain, blended, masked, cleared};
    const VkBufferImageCopy region = {.imageSubresource = {VK_IMAGE_ASPECT_COLOR_BIT, 0, 0, 1},
                                      .imageExtent = {APP_STATES_SIZE, APP_STATES_SIZE, 1}};

    IF(COLOR_BLEND_ENABLE_EXT) wanted[APP_BLENDED] = blended;
    else wanted[APP_BLENDED] = plain;
    IF(COLOR_WRITE_MASK_EXT) wanted[APP_MASKED] = masked;
    else wanted[APP_MASKED] = plain;
    ((PFN_vkCmdEndRendering)app_device_function(picture->app, "vkCmdEndRendering"))(commands);
    app_image_barrier(commands, &picture->image, VK_IMAGE_LAYOUT_COLOR_ATTACHMENT_OPTIMAL,
                      VK_IMAGE_LAYOUT_TRANSFER_SRC_OPTIMAL);
    vkCmdCopyImageToBuffer(commands, picture->image.image, VK_IMAGE_LAYOUT_TRANSFER_SRC_OPTIMAL, picture->pixels.buffer,
                           1, &region);
    app_memory_barrier(commands, VK_PIPELINE_STAGE_ALL_COMMANDS_BIT, VK_ACCESS_MEMORY_WRITE_BIT,
                       VK_PIPELINE_STAGE_HOST_BIT, VK_ACCESS_HOST_READ_BIT);
    app_run(picture->app, commands);
    app_buffer_invalidate(picture->app, &picture->pixels, 0, picture->pixels.size);
    app_buffer_invalidate(picture->app, &picture->marks, 0, picture->marks.size);
    for (uint32_t quarter = 0; quarter < 4; quarter++)
        for (uint32_t i = 0; i < 4; i++)
            expect_pixel(picture, quarter % 2 * HALF + i % 2 * (HALF - 1), quarter / 2 * HALF + i / 2 * (HALF - 1),
                         wanted[quarter]);
    for (uint32_t i = 0; i < APP_MARKS; i++) {
        uint32_t quarter = i / 8 * 2 + i % 4 / 2;
        picture->expected[i] += quarter == APP_DISCARDED ? 0 : (quarter + 1) * scale;
        EXPECT_EQ(picture->app, ((uint32_t *)picture->marks.mapped)[i], picture->expected[i]);
        CHECK(((uint32_t *)picture->marks.mapped)[APP_MARKS + i] == picture->round * 100 + i);
    }
}
