/* SPDX-License-Identifier: MIT */
/* Names and tags that a driver refuses end no replay. */
#include "gen_replay.h"
#include "replayer/core/device.h"
#include "tests/unit/unit.h"

static unsigned asked;

static VKAPI_ATTR VkResult VKAPI_CALL refuse_name(VkDevice device, const VkDebugUtilsObjectNameInfoEXT *info)
{
    asked++;
    return VK_ERROR_OUT_OF_HOST_MEMORY;
}

static VKAPI_ATTR VkResult VKAPI_CALL refuse_tag(VkDevice device, const VkDebugUtilsObjectTagInfoEXT *info)
{
    asked++;
    return VK_ERROR_OUT_OF_HOST_MEMORY;
}

UNIT_TEST(a_refused_name_or_tag_ends_no_replay)
{
    static const struct lap_log log = {.fd = -1};
    static struct replay r = {.log = &log};
    static struct replay_device dev;
    VkDebugUtilsObjectNameInfoEXT name = {.sType = VK_STRUCTURE_TYPE_DEBUG_UTILS_OBJECT_NAME_INFO_EXT,
                                          .objectType = VK_OBJECT_TYPE_BUFFER,
                                          .objectHandle = 1};
    VkDebugUtilsObjectTagInfoEXT tag = {.sType = VK_STRUCTURE_TYPE_DEBUG_UTILS_OBJECT_TAG_INFO_EXT,
                                        .objectType = VK_OBJECT_TYPE_BUFFER,
                                        .objectHandle = 1,
                                        .tagSize = 1,
                                        .pTag = "t"};
    struct gen_args_vkSetDebugUtilsObjectNameEXT of_name = {.pNameInfo = &name};
    struct gen_args_vkSetDebugUtilsObjectTagEXT of_tag = {.pTagInfo = &tag};

    dev.vk.SetDebugUtilsObjectNameEXT = refuse_name;
    dev.vk.SetDebugUtilsObjectTagEXT = refuse_tag;
    CHECK_EQ_INT(replay_SetDebugUtilsObjectNameEXT(&r, &dev, &of_name), LAP_OK);
    CHECK_EQ_INT(replay_SetDebugUtilsObjectTagEXT(&r, &dev, &of_tag), LAP_OK);
    CHECK_EQ_U64(asked, 2);
}

UNIT_MAIN();
