/* SPDX-License-Identifier: MIT */
/* renamed: commands that Vulkan 1.4 took over from extensions have lost their suffix in its registry. */
#ifndef LAP_REPLAYER_RENAMED_H
#define LAP_REPLAYER_RENAMED_H

#include <vulkan/vulkan.h>

#ifdef VK_VERSION_1_4
#define GEN_vkCmdPushDescriptorSetKHR                   GEN_vkCmdPushDescriptorSet
#define GEN_vkCmdPushDescriptorSetWithTemplateKHR       GEN_vkCmdPushDescriptorSetWithTemplate
#define GEN_vkCmdBindDescriptorSets2KHR                 GEN_vkCmdBindDescriptorSets2
#define GEN_vkCmdPushDescriptorSet2KHR                  GEN_vkCmdPushDescriptorSet2
#define GEN_vkCmdPushDescriptorSetWithTemplate2KHR      GEN_vkCmdPushDescriptorSetWithTemplate2
#define gen_args_vkCmdPushDescriptorSetKHR              gen_args_vkCmdPushDescriptorSet
#define gen_args_vkCmdPushDescriptorSetWithTemplateKHR  gen_args_vkCmdPushDescriptorSetWithTemplate
#define gen_args_vkCmdBindDescriptorSets2KHR            gen_args_vkCmdBindDescriptorSets2
#define gen_args_vkCmdPushDescriptorSet2KHR             gen_args_vkCmdPushDescriptorSet2
#define gen_args_vkCmdPushDescriptorSetWithTemplate2KHR gen_args_vkCmdPushDescriptorSetWithTemplate2
#endif

#endif
