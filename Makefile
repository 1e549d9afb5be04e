# SPDX-License-Identifier: MIT
# See `make help`.
BUILD ?= build
VULKAN_SDK ?=
prefix ?= /usr/local
CC ?= cc
PYTHON ?= python3
CFLAGS ?= -O2 -g
LDFLAGS ?=
WERROR ?=

ifeq ($(VULKAN_SDK),)
VULKAN_INCLUDE := /usr/include
REGISTRY := /usr/share/vulkan/registry/vk.xml
else
VULKAN_INCLUDE := $(VULKAN_SDK)/include
REGISTRY := $(firstword $(wildcard $(VULKAN_SDK)/share/vulkan/registry/vk.xml $(VULKAN_SDK)/registry/vk.xml) $(VULKAN_SDK)/share/vulkan/registry/vk.xml)
endif

PLATFORMS := -DVK_USE_PLATFORM_XCB_KHR -DVK_USE_PLATFORM_XLIB_KHR -DVK_USE_PLATFORM_XLIB_XRANDR_EXT -DVK_USE_PLATFORM_WAYLAND_KHR
GEN := $(BUILD)/gen
WARNINGS := -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wvla -Wno-unused-parameter $(if $(WERROR),-Werror)
ALL_CFLAGS := -std=gnu11 -fPIC -fvisibility=hidden -ffunction-sections -fdata-sections -pthread $(WARNINGS) \
	-I. -I$(GEN) -isystem $(VULKAN_INCLUDE) $(PLATFORMS) -D_GNU_SOURCE

include $(wildcard */module.mk)
