/* SPDX-License-Identifier: MIT */
#include "layer/core/records.h"

#include "layer/command/attachment.h"

static const struct layer_record_type types[GEN_HANDLE_COUNT] = {
    [GEN_HANDLE_VkInstance] = {sizeof(struct layer_instance), NULL},
    [GEN_HANDLE_VkPhysicalDevice] = {sizeof(struct layer_physical_device), NULL},
    [GEN_HANDLE_VkDevice] = {sizeof(struct layer_device), NULL},
    [GEN_HANDLE_VkQueue] = {sizeof(struct layer_queue), NULL},
    [GEN_HANDLE_VkCommandBuffer] = {sizeof(struct layer_cmdbuf), layer_cmdbuf_finish},
    [GEN_HANDLE_VkCommandPool] = {sizeof(struct layer_command_pool), NULL},
    [GEN_HANDLE_VkDeviceMemory] = {sizeof(struct layer_memory), layer_memory_finish},
    [GEN_HANDLE_VkBuffer] = {sizeof(struct layer_buffer), layer_buffer_finish},
    [GEN_HANDLE_VkImage] = {sizeof(struct layer_image), layer_image_finish},
    [GEN_HANDLE_VkBufferView] = {sizeof(struct layer_buffer_view), NULL},
    [GEN_HANDLE_VkImageView] = {sizeof(struct layer_image_view), NULL},
    [GEN_HANDLE_VkDescriptorSetLayout] = {sizeof(struct layer_set_layout), layer_set_layout_finish},
    [GEN_HANDLE_VkDescriptorPool] = {sizeof(struct layer_descriptor_pool), layer_descriptor_pool_finish},
    [GEN_HANDLE_VkDescriptorSet] = {sizeof(struct layer_descriptor_set), layer_descriptor_set_finish},
    [GEN_HANDLE_VkDescriptorUpdateTemplate] = {sizeof(struct layer_template), layer_template_finish},
    [GEN_HANDLE_VkAccelerationStructureKHR] = {sizeof(struct layer_structure), layer_structure_finish},
    [GEN_HANDLE_VkQueryPool] = {sizeof(struct layer_query_pool), NULL},
    [GEN_HANDLE_VkShaderModule] = {sizeof(struct layer_shader_module), layer_shader_module_finish},
    [GEN_HANDLE_VkPipeline] = {sizeof(struct layer_pipeline), layer_pipeline_finish},
#ifdef VK_EXT_shader_object
    [GEN_HANDLE_VkShaderEXT] = {sizeof(struct layer_shader), layer_shader_finish},
#endif
#ifdef VK_KHR_pipeline_binary
    [GEN_HANDLE_VkPipelineBinaryKHR] = {sizeof(struct layer_pipeline_binary), layer_pipeline_binary_finish},
#endif
    [GEN_HANDLE_VkRenderPass] = {sizeof(struct layer_render_pass), layer_render_pass_finish},
    [GEN_HANDLE_VkFramebuffer] = {sizeof(struct layer_framebuffer), layer_framebuffer_finish},
    [GEN_HANDLE_VkFence] = {sizeof(struct layer_fence), NULL},
    [GEN_HANDLE_VkSemaphore] = {sizeof(struct layer_semaphore), NULL},
    [GEN_HANDLE_VkEvent] = {sizeof(struct layer_event), NULL},
    [GEN_HANDLE_VkVideoSessionParametersKHR] = {sizeof(struct layer_video_parameters), NULL},
    [GEN_HANDLE_VkSurfaceKHR] = {sizeof(struct layer_surface), layer_surface_finish},
    [GEN_HANDLE_VkSwapchainKHR] = {sizeof(struct layer_swapchain), layer_swapchain_finish},
};

__attribute__((constructor)) static void records_loaded(void)
{
    layer.record_types = types;
}
