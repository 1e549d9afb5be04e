/* SPDX-License-Identifier: MIT */
/* renamed: commands that Vulkan 1.4 took over from extensions have lost their suffix in its registry. */
#ifndef LAP_REPLAYER_RENAMED_H
#define LAP_REPLAYER_RENAMED_H

#include <vulkan/vulkan.h>

#ifdef VK_VERSION_1_4
#define PUSH_DESCRIPTOR_SET                             CmdPushDescriptorSet
#define PUSH_DESCRIPTOR_SET_2                           CmdPushDescriptorSet2
#define replay_CmdPushDescriptorSetKHR                  replay_CmdPushDescriptorSet
#define replay_CmdPushDescriptorSet2KHR                 replay_CmdPushDescriptorSet2
#define GEN_vkCmdPushDescriptorSetKHR                   GEN_vkCmdPushDescriptorSet
#define GEN_vkCmdPushDescriptorSetWithTemplateKHR       GEN_vkCmdPushDescriptorSetWithTemplate
#define GEN_vkCmdBindDescriptorSets2KHR                 GEN_vkCmdBindDescriptorSets2
#define GEN_vkCmdPushDescriptorSet2KHR                  GEN_vkCmdPushDescriptorSet2
#define GEN_vkCmdPushDescriptorSetWithTemplate2KHR      GEN_vkCmdPushDescriptorSetWithTemplate2
#define GEN_vkCmdPushConstants2KHR                      GEN_vkCmdPushConstants2
#define gen_args_vkCmdPushConstants2KHR                 gen_args_vkCmdPushConstants2
#define gen_args_vkCmdPushDescriptorSetKHR              gen_args_vkCmdPushDescriptorSet
#define gen_args_vkCmdPushDescriptorSetWithTemplateKHR  gen_args_vkCmdPushDescriptorSetWithTemplate
#define gen_args_vkCmdBindDescriptorSets2KHR            gen_args_vkCmdBindDescriptorSets2
#define gen_args_vkCmdPushDescriptorSet2KHR             gen_args_vkCmdPushDescriptorSet2
#define gen_args_vkCmdPushDescriptorSetWithTemplate2KHR gen_args_vkCmdPushDescriptorSetWithTemplate2
#else
#define PUSH_DESCRIPTOR_SET   CmdPushDescriptorSetKHR
#define PUSH_DESCRIPTOR_SET_2 CmdPushDescriptorSet2KHR
#endif

#endif
