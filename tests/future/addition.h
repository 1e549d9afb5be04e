/* SPDX-License-Identifier: MIT */
/* The declarations of addition.xml. tests/future/derive.py puts them behind those of vulkan_core.h, and the values of
 * enumerations into their enumerations. */
#define VK_API_VERSION_1_9            VK_MAKE_API_VERSION(0, 1, 9, 0)
#define VK_VERSION_1_9                1
#define VK_FUT_machine                1
#define VK_FUT_MACHINE_SPEC_VERSION   1
#define VK_FUT_MACHINE_EXTENSION_NAME "VK_FUT_machine"
#define VK_KHR_partial_fill           1

VK_DEFINE_NON_DISPATCHABLE_HANDLE(VkMachineFUT)

typedef enum VkMachineKindFUT {
    VK_MACHINE_KIND_SMALL_FUT = 0,
    VK_MACHINE_KIND_LARGE_FUT = 1,
    VK_MACHINE_KIND_MAX_ENUM_FUT = 0x7FFFFFFF
} VkMachineKindFUT;
typedef VkFlags64 VkMachineStageFlags2FUT;
typedef VkFlags64 VkMachineStageFlagBits2FUT;
static const VkMachineStageFlagBits2FUT VK_MACHINE_STAGE_2_FIRST_BIT_FUT = 1ULL;
static const VkMachineStageFlagBits2FUT VK_MACHINE_STAGE_2_LAST_BIT_FUT = 1ULL << 40;

typedef struct VkPhysicalDeviceMachineFeaturesFUT {
    VkStructureType sType;
    void *pNext;
    VkBool32 machine;
} VkPhysicalDeviceMachineFeaturesFUT;
typedef struct VkPhysicalDeviceVulkan19Features {
    VkStructureType sType;
    void *pNext;
    VkBool32 partialFill;
} VkPhysicalDeviceVulkan19Features;
typedef struct VkPhysicalDevicePartialFillFeatures {
    VkStructureType sType;
    void *pNext;
    VkBool32 partialFill;
} VkPhysicalDevicePartialFillFeatures;
typedef VkPhysicalDevicePartialFillFeatures VkPhysicalDevicePartialFillFeaturesKHR;
typedef struct VkMachineCreateInfoFUT {
    VkStructureType sType;
    const void *pNext;
    VkMachineStageFlags2FUT stages;
    VkMachineKindFUT kind;
    uint32_t wordCount;
    const uint32_t *pWords;
    const char *pName;
} VkMachineCreateInfoFUT;
typedef struct VkBufferMachineInfoFUT {
    VkStructureType sType;
    const void *pNext;
    VkMachineFUT machine;
} VkBufferMachineInfoFUT;
typedef struct VkMachineRangeFUT {
    VkBuffer buffer;
    VkDeviceSize offset;
    VkDeviceSize size;
} VkMachineRangeFUT;
typedef struct VkPartialFillInfo {
    VkStructureType sType;
    const void *pNext;
    VkBuffer dstBuffer;
    VkDeviceSize offset;
    VkDeviceSize size;
    uint32_t data;
} VkPartialFillInfo;
typedef VkPartialFillInfo VkPartialFillInfoKHR;

typedef VkResult(VKAPI_PTR *PFN_vkCreateMachineFUT)(VkDevice device, const VkMachineCreateInfoFUT *pCreateInfo,
                                                    const VkAllocationCallbacks *pAllocator, VkMachineFUT *pMachine);
typedef void(VKAPI_PTR *PFN_vkDestroyMachineFUT)(VkDevice device, VkMachineFUT machine,
                                                 const VkAllocationCallbacks *pAllocator);
typedef VkResult(VKAPI_PTR *PFN_vkGetMachineWordsFUT)(VkDevice device, VkMachineFUT machine, uint32_t *pWordCount,
                                                      uint32_t *pWords);
typedef void(VKAPI_PTR *PFN_vkCmdRunMachineFUT)(VkCommandBuffer commandBuffer, VkMachineFUT machine,
                                                uint32_t rangeCount, const VkMachineRangeFUT *pRanges);
typedef void(VKAPI_PTR *PFN_vkCmdPartialFill)(VkCommandBuffer commandBuffer, const VkPartialFillInfo *pInfo);
typedef void(VKAPI_PTR *PFN_vkCmdPartialFillKHR)(VkCommandBuffer commandBuffer, const VkPartialFillInfo *pInfo);
