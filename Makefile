# SPDX-License-Identifier: MIT
# `make help` lists the targets. Everything that is built lies under $(BUILD).
.DEFAULT_GOAL := all
.DELETE_ON_ERROR:
.SUFFIXES:

BUILD ?= build
# Vulkan registry and headers: a folder with include/ and share/vulkan/registry/vk.xml. By default those of the source package
# (`make dist`), else the newest that Debian has, where `make deps` could fetch them, else the system's.
VULKAN_SDK ?=
PACKED := third_party/vulkan
NEWEST := build/vulkan
prefix ?= /usr/local
bindir ?= $(prefix)/bin
libdir ?= $(prefix)/lib
datadir ?= $(prefix)/share
includedir ?= $(prefix)/include
DESTDIR ?=
CC ?= cc
PYTHON ?= python3
CFLAGS ?= -O2 -g
LDFLAGS ?=
# WERROR=1: warnings are errors. SANITIZE=address,undefined or thread: an instrumented build (use a BUILD of its own).
WERROR ?=
SANITIZE ?=
# ASSERTS=1: invariants are checked (base/assert.h); for tests. Instrumented builds always check them.
ASSERTS ?= $(SANITIZE)

# What scripts/fetch-driver.sh made: programs are linked for the C library and the other libraries in there, and so run on the
# driver that it holds, and on older ones.
DRIVER_DIR ?=
# What scripts/fetch-foreign.sh made: everything is built for the architecture in there, with what is in there, and runs on the
# driver in there. On x86 numbers are then rounded as in 64 bits, which the x87 does not do.
FOREIGN_DIR ?=
ifneq ($(FOREIGN_DIR),)
FOREIGN := $(shell cat $(FOREIGN_DIR)/architecture)
CC_i386 := $(CC) -m32 -msse2 -mfpmath=sse -Wno-psabi
CC_arm64 := aarch64-linux-gnu-gcc
CC_armhf := arm-linux-gnueabihf-gcc -Wno-psabi
override CC := $(or $(CC_$(FOREIGN)),$(error $(FOREIGN_DIR) is not there: scripts/fetch-foreign.sh makes it)) --sysroot=$(abspath $(FOREIGN_DIR))/root -B$(abspath $(FOREIGN_DIR))/gcc/
override DRIVER_DIR := $(FOREIGN_DIR)
endif
ifneq ($(DRIVER_DIR),)
override LDFLAGS += -Wl,--dynamic-linker=$(abspath $(DRIVER_DIR))/ld.so -Wl,--disable-new-dtags -Wl,-rpath,$(abspath $(DRIVER_DIR))/lib \
                     -Wl,--allow-shlib-undefined # they need that C library
endif

# What scripts/fetch-android-libs.sh made: everything is built for Android 11 with the compiler and the libraries in there, and with
# those that every app has. 64-bit devices may have pages of 16 KiB. `make android` sets it.
ANDROID_DIR ?=
ifneq ($(ANDROID_DIR),)
override CC := $(abspath $(ANDROID_DIR))/cc -isystem $(abspath $(ANDROID_DIR))/include
override LDFLAGS += -L$(abspath $(ANDROID_DIR))/lib -Wl,-z,max-page-size=16384
endif

# V=1 prints whole commands.
V ?=
Q := $(if $(V),,@)
say = @$(if $(V),:,printf '  %-5s %s\n' '$(1)' '$(2)')

# As many jobs as there are processors, unless make was told otherwise.
ifeq ($(filter -j% --jobserver%,$(MAKEFLAGS)),)
MAKEFLAGS += -j$(shell nproc 2> /dev/null || echo 1)
endif

VULKAN_ROOT := $(or $(VULKAN_SDK),$(firstword $(foreach r,$(PACKED) $(NEWEST)/usr,$(if $(wildcard $(r)/share/vulkan/registry/vk.xml),$(r))) /usr))
REGISTRY := $(VULKAN_ROOT)/share/vulkan/registry/vk.xml
$(if $(ANDROID_DIR),$(if $(filter /usr,$(VULKAN_ROOT)),$(error builds for Android take no headers from /usr: make deps, or VULKAN_SDK=DIR)))
GEN := $(BUILD)/gen
# A trace is read on other systems than the one it was recorded on, so each build knows what Vulkan has of all of these. Android has no
# headers of X: vulkan/foreign has the types that Vulkan's headers want of it.
PLATFORMS := -DVK_USE_PLATFORM_ANDROID_KHR -DVK_USE_PLATFORM_XCB_KHR -DVK_USE_PLATFORM_XLIB_KHR -DVK_USE_PLATFORM_XLIB_XRANDR_EXT -DVK_USE_PLATFORM_WAYLAND_KHR
# The window systems of the machine that this is built for.
WINDOWS := $(if $(ANDROID_DIR),-isystem vulkan/foreign,-DLAP_HAS_X -DLAP_HAS_WAYLAND)
WARNINGS := -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wvla -Wno-unused-parameter $(if $(WERROR),-Werror)
SANITIZER := $(if $(SANITIZE),-fsanitize=$(SANITIZE) -fno-sanitize-recover=all -fno-omit-frame-pointer)
comma := ,
# Hardening, as far as the compiler has it; scripts/check-hardening.py looks at what comes out. Options come before CFLAGS,
# which can switch each of them off again.
compiles = $(shell $(CC) -Werror $(1) -x c -c -o /dev/null - < /dev/null 2> /dev/null && echo yes)
HARDENING := -fstack-protector-strong -fstack-clash-protection $(if $(filter x86_64 i%86,$(firstword $(subst -, ,$(shell $(CC) -dumpmachine)))),-fcf-protection)
HARDENING := $(if $(call compiles,$(HARDENING)),$(HARDENING),$(foreach f,$(HARDENING),$(if $(call compiles,$(f)),$(f))))
# The C library's checks of buffers want an optimizer, and sanitizers have their own. 3 checks sizes, too, that are known at
# run time only; compilers before gcc 12 have 2. For all of this together a recorded draw takes some 9 instructions of the
# layer more, so that no file is left out.
OPTIMIZES := $(filter-out -O0,$(lastword $(filter -O%,$(CFLAGS))))
FORTIFY := -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=$(or $(if $(call compiles,-O1 -D_FORTIFY_SOURCE=3 -include stdio.h),3),2)
FORTIFY := $(if $(OPTIMIZES),$(if $(SANITIZE),,$(FORTIFY)))
# Traces may be larger than 2 GiB where words are small, too.
LARGE_FILES := $(if $(shell printf '\043include <sys/types.h>\nchar is_large[sizeof(off_t) == 8 ? 1 : -1];' | $(CC) -x c -c -o /dev/null - 2> /dev/null && echo yes),,-D_FILE_OFFSET_BITS=64)
# base/bionic.h has what Android's C library lacks. Thread-local storage that is emulated would allocate, in signal handlers, too.
FOR_ANDROID := $(if $(ANDROID_DIR),-include base/bionic.h -fno-emulated-tls)
ALL_CFLAGS := -std=gnu11 -fPIC -fno-semantic-interposition -ffunction-sections -fdata-sections -pthread $(WARNINGS) $(SANITIZER) \
	-I. -I$(GEN) $(if $(filter-out /usr,$(VULKAN_ROOT)),-isystem $(VULKAN_ROOT)/include) $(PLATFORMS) $(WINDOWS) -D_GNU_SOURCE $(if $(ASSERTS),-DLAP_ASSERTS) $(LARGE_FILES) $(HARDENING) $(FORTIFY) $(FOR_ANDROID)
# Linked into instrumented programs that load drivers.
SANITIZER_KEEP := $(if $(SANITIZE),$(BUILD)/obj/tests/sanitize/keep.o)
SANITIZER_KEEP_FLAGS := $(if $(SANITIZE),-Wl$(comma)--export-dynamic-symbol=dlclose)
HARDENING_LINK := -Wl,-z,relro -Wl,-z,now -Wl,-z,noexecstack
ALL_LDFLAGS := -pthread $(SANITIZER) -Wl,--gc-sections -Wl,--as-needed $(HARDENING_LINK)

object = $(patsubst %.c,$(BUILD)/obj/%.o,$(1))
# Of all objects but those that programs share in a library.
VISIBILITY := -fvisibility=hidden

# ---- generated sources
GEN_COMMON := gen_ids gen_dispatch gen_encode_structs gen_encode_commands gen_decode_structs gen_decode_commands gen_reflect gen_formats
GEN_SOURCES := $(patsubst %,$(GEN)/%.c,$(GEN_COMMON) gen_layer gen_layer_tables gen_in_flight gen_needs gen_effects gen_recode gen_replay)
GEN_STAMP := $(GEN)/stamp
# Changes when the headers are others than before: files of packages carry times of long ago.
SDK_STAMP := $(GEN)/sdk
# Changes with ASSERTS and VISIBILITY, so that no build has some objects with and some without.
ASSERTS_STAMP := $(BUILD)/asserts
GEN_INPUTS := $(wildcard codegen/*.py) codegen/overrides.toml codegen/needs.toml codegen/effects.toml $(SDK_STAMP)

# The protocol of Wayland windows, as C.
WAYLAND_PROTOCOLS ?= /usr/share/wayland-protocols
XDG_SHELL_XML := $(WAYLAND_PROTOCOLS)/stable/xdg-shell/xdg-shell.xml
XDG_SHELL := $(if $(findstring _WAYLAND,$(WINDOWS)),$(BUILD)/obj/gen/xdg_shell.o)
WAYLAND_LIBS := $(if $(XDG_SHELL),-lwayland-client)

# ---- objects
# The C sources of folders and of the rooms in them.
sources = $(wildcard $(1:%=%/*.c) $(1:%=%/*/*.c))
# What needs libraries that are not there: Android has no libseccomp.
ABSENT := $(if $(ANDROID_DIR),base/process/sandbox_calls.c) $(if $(findstring _X,$(WINDOWS)),,layer/part/key_x.c layer/part/x_server.c)
BASE := $(call object,$(filter-out $(ABSENT),$(call sources,base trace vulkan)))
MEMTRACK := $(call object,$(wildcard memtrack/*.c))
# What only reads traces, or writes them anew, is not for the layer; nor is what restricts a process.
READER := $(call object,$(wildcard base/slab.c base/file/output.c base/process/sandbox*.c trace/*.c trace/read/*.c trace/recover/*.c trace/receive/*.c) trace/format/zstd.c \
	vulkan/block.c vulkan/dictionary.c vulkan/pointers.c $(wildcard vulkan/texel/texel_*.c)) $(BUILD)/obj/gen/gen_formats.o
COMMON := $(BASE) $(GEN_COMMON:%=$(BUILD)/obj/gen/%.o)
LAYER := $(call object,$(filter-out $(ABSENT),$(wildcard layer/*/*.c))) $(patsubst %,$(BUILD)/obj/gen/%.o,gen_layer gen_layer_tables gen_in_flight)
# What a trace says as a whole: for all that reads traces.
INSPECTOR := $(call object,$(wildcard inspector/analysis/*.c inspector/edit/*.c inspector/fragments/*.c inspector/memory/*.c inspector/mesh/*.c inspector/position/*.c inspector/program/*.c inspector/question/*.c inspector/report/*.c inspector/spirv/*.c inspector/state/*.c inspector/twin/*.c vm/*.c)) $(patsubst %,$(BUILD)/obj/gen/%.o,gen_needs gen_effects gen_recode)
# For programs that answer questions about traces, by other programs.
SERVER := $(call object,$(wildcard server/*.c)) $(BUILD)/obj/gen/gen_page.o
# For what cuts them, and encodes anew what it cuts.
SLICE := $(call object,$(wildcard inspector/slice/*.c))
# What makes an activity of Android of the replayer.
APP_SOURCES := $(wildcard replayer/app/*.c)
REPLAYER := $(INSPECTOR) $(call object,$(filter-out replayer/main.c replayer/device/spirv_tools.c $(APP_SOURCES),$(wildcard replayer/*.c replayer/*/*.c))) $(BUILD)/obj/gen/gen_replay.o $(XDG_SHELL)
VERBS := $(patsubst tools/verb_%.c,%,$(wildcard tools/verb_*.c))
TOOL_NAMES := lapilli $(VERBS:%=lapilli-%)
TOOL_COMMON := $(call object,$(filter-out tools/verb_%.c tools/lapilli.c tools/show/shader_text.c tools/service.c tools/assistant.c,$(call sources,tools)))
# What programs share. None of it opens a driver or a loader.
SHARED := $(COMMON) $(INSPECTOR) $(TOOL_COMMON)
$(SHARED): private VISIBILITY :=
# For tokens of streamed traces; the build does without where it is not.
NETTLE := $(shell echo 'int main(void) { struct hmac_sha256_ctx c; hmac_sha256_set_key(&c, 0, 0); return 0; }' | \
	$(CC) $(filter-out --coverage,$(CFLAGS)) $(LDFLAGS) -include nettle/hmac.h -x c -o /dev/null - -lnettle 2> /dev/null && echo -lnettle)
$(BUILD)/obj/base/keyed_hash.o: ALL_CFLAGS += $(if $(NETTLE),-DLAP_NETTLE)
LAYER_LIBS := -llz4 -lxxhash -lcjson -lpng -lm $(NETTLE) $(if $(ANDROID_DIR),-lz -llog)
TRACE_LIBS := $(LAYER_LIBS) -lzstd $(if $(ANDROID_DIR),,-lseccomp)
# For lapilli serve; the build does without where it is not.
MICROHTTPD := $(shell echo 'int main(void) { return !MHD_get_version(); }' | \
	$(CC) $(filter-out --coverage,$(CFLAGS)) $(LDFLAGS) -include microhttpd.h -x c -o /dev/null - -lmicrohttpd 2> /dev/null && echo -lmicrohttpd)
$(BUILD)/obj/server/http.o: ALL_CFLAGS += $(if $(MICROHTTPD),-DLAP_MICROHTTPD)
# For lapilli-replay --validate-shaders, lapilli shaders and lapilli find; the build does without where they are not.
SPIRV_TOOLS := -Wl,-Bstatic -lSPIRV-Tools -lstdc++ -Wl,-Bdynamic -lm
SPIRV_TOOLS := $(shell echo 'int main(void) { return !spvContextCreate(SPV_ENV_VULKAN_1_0); }' | \
	$(CC) $(filter-out --coverage,$(CFLAGS)) $(LDFLAGS) -include spirv-tools/libspirv.h -x c -o /dev/null - $(SPIRV_TOOLS) 2> /dev/null && echo '$(SPIRV_TOOLS)')
$(BUILD)/obj/replayer/device/spirv_tools.o $(BUILD)/obj/tools/show/shader_text.o: ALL_CFLAGS += $(if $(SPIRV_TOOLS),-DLAP_SPIRV_TOOLS)
# For lapilli shaders --glsl, beside them. It is a shared library, which brings the shared library of C++.
SPIRV_CROSS := $(shell echo 'int main(void) { return spvc_context_create(0); }' | \
	$(CC) $(filter-out --coverage,$(CFLAGS)) $(LDFLAGS) -include spirv_cross/spirv_cross_c.h -x c -o /dev/null - -lspirv-cross-c-shared 2> /dev/null && \
	echo -lspirv-cross-c-shared)
$(BUILD)/obj/tools/show/shader_text.o: ALL_CFLAGS += $(if $(SPIRV_CROSS),-DLAP_SPIRV_CROSS)
# It says what is in this build.
$(BUILD)/obj/tools/lapilli.o: ALL_CFLAGS += $(foreach p,NETTLE MICROHTTPD SPIRV_TOOLS SPIRV_CROSS,$(if $($p),-DLAP_$p))
SHADER_LIBS := $(SPIRV_CROSS) $(if $(SPIRV_CROSS),$(subst -lstdc++ -Wl$(comma)-Bdynamic,-Wl$(comma)-Bdynamic -lstdc++,$(SPIRV_TOOLS)),$(SPIRV_TOOLS))
REPLAY_LIBS := $(TRACE_LIBS) $(if $(findstring _X,$(WINDOWS)),-lxcb) $(WAYLAND_LIBS) $(if $(ANDROID_DIR),-lnativewindow) -ldl
# The layer utilities (settings file; in the older library format tables, too) are C++ with a C face: linked into the layer, their
# symbols hidden. libVulkanLayerSettings, where there is one, else its predecessor; on Android neither.
UTILITY_LIBS := -Wl,-Bstatic -lVulkanLayerSettings -lstdc++ -Wl,-Bdynamic
LAYER_SETTINGS := $(shell echo 'int vkuCreateLayerSettingSet(); int main(void) { return vkuCreateLayerSettingSet(); }' | \
	$(CC) $(filter-out --coverage,$(CFLAGS)) $(LDFLAGS) -x c -o /dev/null - $(UTILITY_LIBS) 2> /dev/null && echo yes)
UTILITY_LIBS := $(if $(LAYER_SETTINGS),$(UTILITY_LIBS),-Wl$(comma)-Bstatic -lVkLayer_utils -lstdc++ -Wl$(comma)-Bdynamic)
UTILITY_LIBS := $(if $(ANDROID_DIR),,$(UTILITY_LIBS))
# What those headers define inline, the compiler may still call.
$(BUILD)/obj/layer/image/format_utils.o: ALL_CFLAGS += -fgnu89-inline
$(BUILD)/obj/layer/core/settings.o: ALL_CFLAGS += $(if $(LAYER_SETTINGS),-DLAP_LAYER_SETTINGS)

VERSION := $(shell sed -n 's/^.define LAPILLI_VERSION *"\(.*\)"/\1/p' base/version.h)
SHARED_LIBRARY := $(BUILD)/lib/lapilli/liblapilli-$(VERSION).so
# From the programs to it: where both are installed, and in the build folder.
RUNPATH := $$ORIGIN/$(shell realpath -ms --relative-to='$(bindir)' '$(libdir)/lapilli')
RUNPATH := $(RUNPATH)$(if $(filter-out $$ORIGIN/../lib/lapilli,$(RUNPATH)),:$$ORIGIN/../lib/lapilli)
RUNPATH_STAMP := $(BUILD)/runpath
PROGRAMS := $(TOOL_NAMES:%=$(BUILD)/bin/%) $(BUILD)/bin/lapilli-replay
# Of Python: programs that find their package beside the folder that they lie in.
SCRIPTS := $(if $(ANDROID_DIR),,$(foreach p,farm android,$(BUILD)/bin/lapilli-$p $(patsubst %,$(BUILD)/share/lapilli/%,$(wildcard $p/*.py))))
modulesdir = $(dir $(bindir))share
LIBRARY := $(BUILD)/lib/libVkLayer_lapilli.so
# In folders that programs of 32 and of 64 bits share.
BITS := $(if $(filter 4,$(shell echo __SIZEOF_POINTER__ | $(CC) -E -P -x c -)),32,64)
# The replayer as what NativeActivity opens, for Android's APK.
APP_LIBRARY := $(BUILD)/lib/liblapilli_replay.so
MANIFEST := VkLayer_lapilli$(if $(filter 32,$(BITS)),_32).json
# Manual pages and completion: the programs print what is in them. Where they can't run, there are none.
PAGES := $(BUILD)/share/pages
PAGE_FOLDERS := man bash-completion zsh fish
# Where installed manifests say that the layer is. With a name alone, for packages, each loader finds the library of its own
# architecture, and one manifest is for all of them.
layer_path ?= $(libdir)/$(notdir $(LIBRARY))
INSTALLED_MANIFEST = $(if $(findstring /,$(layer_path)),$(MANIFEST),VkLayer_lapilli.json)
INSTALLED_BITS = $(if $(findstring /,$(layer_path)),$(BITS),any)
# What tells a desktop about traces: FILE:PLACE below datadir.
DESKTOP := manifests/lapilli.desktop:applications/lapilli.desktop manifests/lapilli-mime.xml:mime/packages/lapilli.xml \
	page/icon.svg:icons/hicolor/scalable/apps/lapilli.svg
MANIFEST_KINDS := explicit implicit
MANIFESTS := $(MANIFEST_KINDS:%=$(BUILD)/share/vulkan/%_layer.d/$(MANIFEST))
MAKE_MANIFEST = $(PYTHON) manifests/make_manifest.py --ids $(GEN)/gen_ids.h

.PHONY: all
all: $(PROGRAMS) $(LIBRARY) $(SCRIPTS) $(if $(ANDROID_DIR),$(APP_LIBRARY),$(MANIFESTS) $(PAGES)) ## build everything (default)

.PHONY: look
# Several makes may look at once (tests install side by side), so each writes a file of its own.
$(SDK_STAMP): look
	@mkdir -p $(@D)
	@new=$@.$$$$; { echo '$(abspath $(VULKAN_ROOT))'; cksum < $(REGISTRY); } > $$new; \
		if cmp -s $$new $@; then rm $$new; else mv $$new $@; $(if $(filter /usr,$(VULKAN_ROOT)), \
		$(if $(VULKAN_SDK),:,echo '  Vulkan headers and registry: those of the system; make deps fetches the newest'),:); fi

$(ASSERTS_STAMP): look
	@mkdir -p $(@D)
	@echo '$(if $(ASSERTS),1) $(VISIBILITY) $(PLATFORMS) $(WINDOWS)' | cmp -s - $@ || echo '$(if $(ASSERTS),1) $(VISIBILITY) $(PLATFORMS) $(WINDOWS)' > $@

$(RUNPATH_STAMP): look
	@mkdir -p $(@D)
	@echo '$(RUNPATH)' | cmp -s - $@ || echo '$(RUNPATH)' > $@

$(GEN_STAMP): $(GEN_INPUTS)
	@mkdir -p $(GEN)
	$(call say,GEN,$(GEN))
	$(Q)$(PYTHON) codegen/generate.py --registry $(REGISTRY) --overrides codegen/overrides.toml --out $(GEN)
	@touch $@

$(GEN_SOURCES): $(GEN_STAMP) ;
# What includes a generated header is older than it as soon as the generator has run.
$(GEN)/%.h: $(GEN_STAMP) ;

$(GEN)/xdg_shell.c: $(XDG_SHELL_XML)
	@mkdir -p $(@D)
	$(call say,GEN,$@)
	$(Q)wayland-scanner private-code $< $@

$(GEN)/xdg_shell.h: $(XDG_SHELL_XML)
	@mkdir -p $(@D)
	$(call say,GEN,$@)
	$(Q)wayland-scanner client-header $< $@

PAGE := $(wildcard page/*.html page/*.css page/*.js page/*.svg)
$(GEN)/gen_page.c: page/embed.py $(PAGE)
	@mkdir -p $(@D)
	$(call say,GEN,$@)
	$(Q)$(PYTHON) $< $@ $(PAGE)

$(BUILD)/obj/replayer/present/window_wayland.o: | $(if $(XDG_SHELL),$(GEN)/xdg_shell.h)

# replayer/format/shaders/convert.comp becomes convert_comp.h with the array convert_comp.
GLSLANG ?= glslangValidator
BLOCK_SHADERS := $(foreach s,bc bc6h etc astc,$(GEN)/decode_$(s)_comp.h)
REPLAYER_SHADERS := $(GEN)/convert_comp.h $(BLOCK_SHADERS) $(GEN)/heap_comp.h $(GEN)/translate_comp.h
$(GEN)/convert_comp.h: replayer/format/shaders/convert.comp
	@mkdir -p $(@D)
	$(call say,GLSL,$<)
	$(Q)$(GLSLANG) -V --quiet --target-env vulkan1.0 --vn convert_comp -o $@ $<
$(BLOCK_SHADERS): $(GEN)/%_comp.h: replayer/format/shaders/%.comp replayer/format/shaders/blocks.glsl replayer/format/shaders/bptc.glsl
	@mkdir -p $(@D)
	$(call say,GLSL,$<)
	$(Q)$(GLSLANG) -V --quiet --target-env vulkan1.0 --vn $*_comp -o $@ $<
$(GEN)/translate_comp.h: replayer/descriptor/shaders/translate.comp
	@mkdir -p $(@D)
	$(call say,GLSL,$<)
	$(Q)$(GLSLANG) -V --quiet --target-env vulkan1.1 --vn translate_comp -o $@ $<
$(GEN)/heap_comp.h: replayer/descriptor/shaders/heap.comp
	@mkdir -p $(@D)
	$(call say,GLSL,$<)
	$(Q)$(GLSLANG) -V --quiet --target-env vulkan1.1 --vn heap_comp -o $@ $<
$(BUILD)/obj/replayer/format/gpu_convert.o: $(GEN)/convert_comp.h $(BLOCK_SHADERS)
$(BUILD)/obj/replayer/descriptor/heap_translate.o: $(GEN)/heap_comp.h
$(BUILD)/obj/replayer/descriptor/translate.o: $(GEN)/translate_comp.h

$(GEN)/binding_table_comp.h: replayer/ray_tracing/shaders/binding_table.comp
	@mkdir -p $(@D)
	$(call say,GLSL,$<)
	$(Q)$(GLSLANG) -V --quiet --target-env vulkan1.1 --vn binding_table_comp -o $@ $<
$(BUILD)/obj/replayer/ray_tracing/binding_table.o: $(GEN)/binding_table_comp.h

# The hot path of a replay: trace/format/decode.h. Instrumented, it would take minutes to compile.
$(BUILD)/obj/gen/gen_decode_commands.o $(if $(SANITIZE),,$(BUILD)/obj/gen/gen_decode_structs.o): ALL_CFLAGS += -DLAP_WIRE_HOT
$(BUILD)/obj/gen/%.o: $(GEN)/%.c $(GEN_STAMP) $(ASSERTS_STAMP)
	@mkdir -p $(@D)
	$(call say,CC,$<)
	$(Q)$(CC) $(ALL_CFLAGS) $(VISIBILITY) $(CFLAGS) -MMD -MP -c -o $@ $<

$(BUILD)/obj/%.o: %.c $(SDK_STAMP) $(ASSERTS_STAMP) | $(GEN_STAMP)
	@mkdir -p $(@D)
	$(call say,CC,$<)
	$(Q)$(CC) $(ALL_CFLAGS) $(VISIBILITY) $(CFLAGS) -MMD -MP -c -o $@ $<

$(LIBRARY): $(filter-out $(READER),$(COMMON)) $(MEMTRACK) $(LAYER) layer/exports.map
	@mkdir -p $(@D)
	$(call say,LINK,$@)
	$(Q)$(CC) $(CFLAGS) $(ALL_LDFLAGS) $(LDFLAGS) -shared $(if $(SANITIZE),,-Wl,-z,defs) -Wl,-z,nodelete -Wl,--wrap=__cxa_atexit \
		-Wl,--version-script=layer/exports.map -Wl,-soname,$(@F) -o $@ $(filter %.o,$^) $(UTILITY_LIBS) $(LAYER_LIBS)

$(BUILD)/bin/lapilli-replay: $(call object,replayer/main.c replayer/device/spirv_tools.c) $(COMMON) $(REPLAYER) $(SANITIZER_KEEP)
	@mkdir -p $(@D)
	$(call say,LINK,$@)
	$(Q)$(CC) $(CFLAGS) -pie $(ALL_LDFLAGS) $(SANITIZER_KEEP_FLAGS) $(LDFLAGS) -o $@ $(filter %.o,$^) $(SPIRV_TOOLS) $(REPLAY_LIBS)

# A replay that calls _exit writes its status before (replayer/app/outcome.c).
APP_LINK := -shared -Wl,-z,defs -Wl,--wrap=_exit -Wl,--version-script=replayer/app/exports.map -Wl,-soname,$(notdir $(APP_LIBRARY))
$(APP_LIBRARY): $(call object,replayer/main.c replayer/device/spirv_tools.c $(APP_SOURCES)) $(COMMON) $(REPLAYER) replayer/app/exports.map
	@mkdir -p $(@D)
	$(call say,LINK,$@)
	$(Q)$(CC) $(CFLAGS) $(ALL_LDFLAGS) $(LDFLAGS) $(APP_LINK) -o $@ $(filter %.o,$^) $(SPIRV_TOOLS) $(REPLAY_LIBS) -landroid

$(BUILD)/bin/lapilli: $(call object,tools/lapilli.c)
$(foreach v,$(VERBS),$(eval $(BUILD)/bin/lapilli-$(v): $(call object,tools/verb_$(v).c)))
$(BUILD)/bin/lapilli-trim: $(SLICE)
$(BUILD)/bin/lapilli-serve $(BUILD)/bin/lapilli-mcp: $(call object,tools/service.c) $(SERVER)
$(BUILD)/bin/lapilli-mcp: $(call object,tools/assistant.c)
$(BUILD)/bin/lapilli-serve $(BUILD)/bin/lapilli-mcp: private TRACE_LIBS := $(MICROHTTPD) $(TRACE_LIBS)
$(BUILD)/bin/lapilli-shaders $(BUILD)/bin/lapilli-find: $(call object,tools/show/shader_text.c)
$(BUILD)/bin/lapilli-shaders $(BUILD)/bin/lapilli-find: private TRACE_LIBS := $(SHADER_LIBS) $(TRACE_LIBS)
$(TOOL_NAMES:%=$(BUILD)/bin/%): $(SHARED_LIBRARY) $(RUNPATH_STAMP)
	@mkdir -p $(@D)
	$(call say,LINK,$@)
	$(Q)$(CC) $(CFLAGS) -pie $(ALL_LDFLAGS) -Wl,--enable-new-dtags '-Wl,-rpath,$(RUNPATH)' $(LDFLAGS) -o $@ $(filter %.o,$^) $(filter %.so,$^) $(TRACE_LIBS)

$(SHARED_LIBRARY): $(SHARED)
	@mkdir -p $(@D)
	$(call say,LINK,$@)
	$(Q)$(CC) $(CFLAGS) $(ALL_LDFLAGS) $(LDFLAGS) -shared $(if $(SANITIZE),,-Wl,-z,defs) -Wl,-Bsymbolic -Wl,-soname,$(@F) -o $@ $^ $(TRACE_LIBS)

$(BUILD)/share/vulkan/%_layer.d/$(MANIFEST): manifests/make_manifest.py manifests/settings.json manifests/presets.json base/version.h $(GEN_STAMP)
	@mkdir -p $(@D)
	$(call say,GEN,$@)
	$(Q)$(MAKE_MANIFEST) --bits $(BITS) --kind $* --library-path ../../../lib/libVkLayer_lapilli.so --out $@

$(BUILD)/bin/lapilli-farm: farm/lapilli-farm
$(BUILD)/bin/lapilli-android: android/lapilli-android
$(BUILD)/bin/lapilli-farm $(BUILD)/bin/lapilli-android:
	$(Q)install -D -m 755 $< $@

$(BUILD)/share/lapilli/%.py: %.py
	$(Q)install -D -m 644 $< $@

$(PAGES): scripts/make-pages.py manifests/settings.json $(PROGRAMS) $(SCRIPTS)
	$(call say,GEN,$(@D))
	$(Q)$(PYTHON) $< $(BUILD)/bin $(@D)
	@touch $@

# ---- tests
include $(wildcard tests/*/module.mk)

# A display of its own, and nothing else of what make has inherited.
XVFB = $(PYTHON) tests/surroundings.py
TEST_ARGUMENTS ?=
# tests/tiers.py: gate, full or all.
TIER ?= gate

.PHONY: deps check check-all check-built check-hardening test-programs check-asan demo lint format docs install install-layer uninstall uninstall-layer
deps: ## install what is missing (Debian packages), fetch the newest Vulkan headers
	scripts/install-deps.sh build check
	@$(if $(wildcard $(PACKED)/share),echo 'make deps: the build takes the Vulkan headers of this source package', \
		scripts/fetch-headers.sh $(NEWEST) || echo 'make deps: the build takes the Vulkan headers that are there')

check: ## install what is missing, build, run the tests that every change needs
	scripts/install-deps.sh build check
	+$(MAKE) check-built

check-all: ## the same with every test that there is (an hour)
	scripts/install-deps.sh drivers
	+$(MAKE) TIER=all check

CHECK_FULL ?=
.PHONY: check-full
check-full: ## everything, part by part; goes on where it was interrupted (FROM=PART, CHECK_FULL="--help")
	$(PYTHON) tests/full.py $(if $(FROM),--from $(FROM)) $(CHECK_FULL)

# What programs are recorded and replayed with; unit tests and the rest of what tests run.
.PHONY: e2e-programs
e2e-programs: all apps $(E2E_TOOLS) $(TEST_LAYERS) null
test-programs: e2e-programs unit

check-hardening: all ## whether what was built has the protections that it was built with
	$(PYTHON) scripts/check-hardening.py $(foreach f,fortify canary clash cet,$(if $(has_$(f)),,--without $(f))) $(PROGRAMS) $(SHARED_LIBRARY) $(LIBRARY) $(if $(ANDROID_DIR),$(APP_LIBRARY))
# CFLAGS have the last word.
has_fortify = $(if $(filter -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=0,$(CFLAGS)),,$(FORTIFY))
has_canary = $(if $(filter -fno-stack-protector,$(CFLAGS)),,$(findstring -fstack-protector,$(HARDENING)))
has_clash = $(if $(filter -fno-stack-clash-protection,$(CFLAGS)),,$(findstring -fstack-clash,$(HARDENING)))
has_cet = $(if $(filter -fcf-protection=none,$(CFLAGS)),,$(findstring -fcf-protection,$(HARDENING)))

# CHECKED=e2e-programs, where TEST_ARGUMENTS ask for no others.
CHECKED ?= test-programs
check-built: $(CHECKED) check-hardening ## run the tests on what is installed already
	VULKAN_SDK=$(VULKAN_ROOT) $(XVFB) $(PYTHON) tests/run.py --build $(BUILD) --tier $(TIER) $(TEST_ARGUMENTS)

# Debian's packages of numpy and PIL are for Debian's Python.
MATRIX_PYTHON = $(firstword $(foreach p,$(PYTHON) /usr/bin/python3,$(shell $(p) -c 'import numpy, PIL' 2> /dev/null && echo $(p))) $(PYTHON))
MATRIX_ARGUMENTS ?=
.PHONY: matrix matrix-built
matrix: ## record every program on each driver, replay it on each other, and compare (BUILD/matrix.md)
	scripts/install-deps.sh build check
	scripts/fetch-backport-driver.sh $(BUILD)/backport
	+$(MAKE) matrix-built

matrix-built: test-programs ## the same on the drivers that are there
	$(MATRIX_PYTHON) tests/e2e/test_compare.py
	$(XVFB) $(MATRIX_PYTHON) tests/matrix.py --build $(BUILD) $(MATRIX_ARGUMENTS)

# Not of this build: the headers that Debian 12 has, and the software driver of a newer suite as far as that driver and its
# validation layer decide tests.
OLDEST = BUILD=$(BUILD)/oldest VULKAN_SDK=/usr WERROR=1 CFLAGS=-O0
OLDEST_CASES := ^(codegen|replay/(triangle-offscreen|compute|modern|descriptors|linear|formats))
NEWER = BUILD=$(BUILD)/newer DRIVER_DIR=$(BUILD)/driver WERROR=1 CFLAGS=-O1
NEWER_CASES := ^(codegen|replay|matrix/pushed|needs/(used|unseen)|validate|present|contract|loader|sandbox|rays|tables|descriptor-buffers|parts/(cut|kept|each)/(ray|sparse|descbuf)|backing/(replay|validate)/sparse|after|experiments|pictures|contents)
# The gate builds of the programs no more than those that run there: OLDEST_PROGRAMS=few-programs.
OLDEST_PROGRAMS ?= e2e-programs
.PHONY: check-oldest check-newer few-programs
few-programs: all $(addprefix $(BUILD)/tests/apps/,triangle compute modern descriptors linear formats)
check-oldest: ## build with the oldest headers, and run a few tests
	scripts/install-deps.sh build check
	+$(MAKE) $(OLDEST) CHECKED=$(OLDEST_PROGRAMS) TEST_ARGUMENTS="--suite codegen --suite e2e --match '$(OLDEST_CASES)'" check-built

check-newer: ## run tests on the software driver of a newer Debian suite
	scripts/install-deps.sh build check
	scripts/fetch-driver.sh $(BUILD)/driver
	+$(MAKE) $(NEWER) e2e-programs
	+$(MAKE) $(NEWER) PLATFORM_ARGUMENTS=--together check-platforms-compile
	+$(MAKE) $(NEWER) TIER=all CHECKED=e2e-programs \
		TEST_ARGUMENTS="--skips tests/skips.txt --driver-dir $(BUILD)/driver --suite codegen --suite e2e --match '$(NEWER_CASES)'" check-built

# By clang, so that fuzz targets are made of the same objects. Zero added to a null pointer is no finding; what is really out of bounds,
# AddressSanitizer sees. clang 14's search for leaks falls over the thread-local storage of drivers, as the C library of Debian 12 has
# it, where that is followed call by call.
CLANG ?= clang
INSTRUMENTED = BUILD=$(BUILD)/asan CC="$(CLANG)" SANITIZE=address,undefined,fuzzer-no-link \
	CFLAGS="-O1 -gline-tables-only -fno-sanitize=pointer-overflow"
# Programs are not linked with what they load, so the layer finds the sanitizers' runtime only in instrumented ones: those of
# tests/apps. Real programs (vkcube) are left out, and the cases that start others or count what a process has.
ASAN_CASES := ^(unit|golden|replay/(?!swiftshader|vkcube)|incoherent/replay/(incoherent|suballoc|stores)|contract/(a-mismatch|a-file-that-is-no-trace|a-screenshot-folder)|torture/damage|trim/(what|cut/(churn|compute|depth|descriptors|modern|multi|nested|queues))|draws/(what|a-|cut/(ends|modern))|(after|experiments)/(modern|triangle|a-|damage|everything|what|where|image|buffers)|pictures/(ranges|unread$$)|transforms/(shaders|triangle$$)|program/(forged|hostile|damage|the-machine|plays/(modern|multi|stencil))|shaders/(a-|glsl|what|modern$$|dynamic-libraries)|find/(a-|modern$$)|gfxr/(a-|what)|assert/(?!pictures-are-read-in)|profile/|outcomes/(each|hashes)|each/(a-place|thumbs|where)|stamps/(all|statistics|frames)|pixel/(painted|fragments|what)|debug/(loops|a-vertex|fragments)|instrument/|mesh/|hardware/|elsewhere/)
check-asan: ## unit tests and recorded and replayed programs with AddressSanitizer and UndefinedBehaviorSanitizer
	scripts/install-deps.sh build check fuzz
	+$(MAKE) $(INSTRUMENTED) test-programs
	LSAN_OPTIONS=suppressions=$(CURDIR)/tests/lsan.supp:print_suppressions=0 UBSAN_OPTIONS=print_stacktrace=1 \
		ASAN_OPTIONS=intercept_tls_get_addr=0 MODEL_OPERATIONS=$${MODEL_OPERATIONS:-1000} MODEL_RUNS=$${MODEL_RUNS:-25} TORTURE_POINTS=$${TORTURE_POINTS:-5000} \
		$(XVFB) $(PYTHON) tests/run.py --build $(BUILD)/asan --tier full --suite unit --suite e2e --match '$(ASAN_CASES)' $(TEST_ARGUMENTS)

# On a driver that is instrumented itself: a race in another one would be reported, and one behind it would not be seen.
TSAN := BUILD=$(BUILD)/tsan SANITIZE=thread CFLAGS="-O1 -g"
TSAN_UNIT := test_log test_map test_memtrack_threads test_status test_touched test_trace_queue test_trace_threads
.PHONY: check-tsan
check-tsan: ## programs that are recorded, and replayed, with ThreadSanitizer, on a driver that does nothing; unit tests with threads
	+$(MAKE) $(TSAN) null all apps $(TSAN_UNIT:%=$(BUILD)/tsan/tests/unit/%)
	$(PYTHON) tests/null/check.py --build $(BUILD)/tsan --unit $(TSAN_UNIT)

.PHONY: check-null
check-null: null all apps ## programs that are recorded, and replayed, on a driver that does nothing and has all extensions
	$(XVFB) $(PYTHON) tests/null/check.py --build $(BUILD)

PARTS_ARGUMENTS ?=
.PHONY: parts parts-built
parts: ## cut every program in every way on each driver, and compare what the parts show there and on the other drivers
	scripts/install-deps.sh build check
	scripts/fetch-backport-driver.sh $(BUILD)/backport
	+$(MAKE) parts-built

parts-built: test-programs ## the same on the drivers that are there
	$(XVFB) $(MATRIX_PYTHON) tests/parts.py --build $(BUILD) $(PARTS_ARGUMENTS)

VALGRIND_ARGUMENTS ?=
.PHONY: check-valgrind
check-valgrind: ## programs that are recorded under valgrind: nothing in a trace is memory that nobody wrote
	scripts/install-deps.sh build check valgrind
	+$(MAKE) all apps test-layers
	$(PYTHON) tests/valgrind.py --build $(BUILD) $(VALGRIND_ARGUMENTS)

# All platforms at once are linked too: a command that is to be written by hand for one of them must be there.
PLATFORM_CHECK = $(PYTHON) tests/platform/check.py --gen $(GEN)
PLATFORM_ARGUMENTS ?=
.PHONY: check-platforms check-platforms-compile
check-platforms-compile: $(GEN_STAMP)
	$(Q)$(PLATFORM_CHECK) $(PLATFORM_ARGUMENTS) $(CC) $(filter-out $(PLATFORMS) $(FORTIFY),$(ALL_CFLAGS)) -Werror

check-platforms: check-platforms-compile ## compile and link what is generated for every platform, with stand-ins for their headers
	+$(Q)$(MAKE) BUILD=$(BUILD)/platforms WERROR=1 CFLAGS=-O0 \
		PLATFORMS="$$($(PLATFORM_CHECK) --list)" all

# Builds for other machines beside this one: all play each other's traces. Where their packages can't be had, a sentence says so.
FOREIGN_TESTS = MODEL_OPERATIONS=$${MODEL_OPERATIONS:-1000} $(XVFB)
M32_ARGUMENTS ?= --suite unit --suite e2e --match '^(unit|words|torture/damage|validate/(triangle-offscreen|compute|descriptors|memory|suballoc)$$)'
.PHONY: check-m32 check-m32-built
check-m32: ## record and replay with 32-bit programs, and across: 32-bit traces in 64 bits and the reverse
	scripts/install-deps.sh build check
	@if scripts/fetch-foreign.sh $(BUILD)/i386-root i386; then $(MAKE) check-m32-built; else echo 'check-m32: skipped'; fi

FOREIGN_BUILD = $(MAKE) BUILD=$(BUILD)/$(1) FOREIGN_DIR=$(BUILD)/$(1)-root test-programs
FOREIGN_RUN = $(PYTHON) tests/run.py --build $(BUILD)/$(1) --driver-dir $(BUILD)/$(1)-root
check-m32-built: e2e-programs
	+$(call FOREIGN_BUILD,i386)
	$(FOREIGN_TESTS) $(call FOREIGN_RUN,i386) --other $(BUILD) $(M32_ARGUMENTS)

# Under qemu-user. Its machine orders memory accesses as this one does: tests/model is for those of ARM. The unit tests run with pages of
# 16 KiB, too, as Android 15 and some ARM machines have them.
ARM_ARGUMENTS ?= --suite e2e --match '^words'
ARM_UNIT ?= .
.PHONY: check-arm check-arm-built
check-arm: ## record and replay with programs for ARM, and across: traces of x86-64, i386, arm64 and armhf on each of them
	scripts/install-deps.sh build check arm
	@if scripts/with-foreign.sh true && scripts/fetch-foreign.sh $(BUILD)/i386-root i386 && scripts/fetch-foreign.sh $(BUILD)/arm64-root arm64 && \
		scripts/fetch-foreign.sh $(BUILD)/armhf-root armhf; then $(MAKE) check-arm-built; else echo 'check-arm: skipped'; fi

# Folders that a 32-bit Vulkan loader reads lie in memory.
MANIFEST_FOLDERS = $(foreach f,$(BUILD)/armhf/share/vulkan/explicit_layer.d $(BUILD)/armhf-root/layers,--in-memory $(f))
check-arm-built: e2e-programs
	+$(call FOREIGN_BUILD,i386)
	+$(call FOREIGN_BUILD,arm64)
	+$(call FOREIGN_BUILD,armhf)
	QEMU_PAGESIZE=16384 $(FOREIGN_TESTS) scripts/with-foreign.sh $(call FOREIGN_RUN,arm64) --patience 5 --suite unit --match '$(ARM_UNIT)'
	$(FOREIGN_TESTS) scripts/with-foreign.sh $(MANIFEST_FOLDERS) $(call FOREIGN_RUN,armhf) --patience 5 --suite unit --match '$(ARM_UNIT)'
	TMPDIR=/dev/shm $(FOREIGN_TESTS) scripts/with-foreign.sh $(MANIFEST_FOLDERS) $(call FOREIGN_RUN,arm64) --patience 5 --suite unit \
		--other $(BUILD) --other $(BUILD)/i386 --other $(BUILD)/armhf $(ARM_ARGUMENTS)

# A build against a registry with things to come (tests/future), on a driver that offers them, beside this one.
FUTURE := $(BUILD)/future
.PHONY: check-future
check-future: all $(BUILD)/tests/bin/recode-check ## what is done with extensions, commands and structures that this build does not know
	$(PYTHON) tests/future/derive.py --registry $(REGISTRY) --include $(VULKAN_ROOT)/include --out $(FUTURE)/sdk
	+$(MAKE) BUILD=$(FUTURE)/build VULKAN_SDK=$(FUTURE)/sdk CFLAGS=-O0 all null
	$(CC) -std=gnu11 -Wall -Wextra $(if $(WERROR),-Werror) -isystem $(FUTURE)/sdk/include $(LDFLAGS) -o $(FUTURE)/program tests/future/program.c -lvulkan
	$(PYTHON) tests/future/check.py --build $(BUILD) --future $(FUTURE)/build --program $(FUTURE)/program

# Layer, replayer and verbs for a device. What is linked is checked; nothing of it runs here.
NDK ?=
ABI ?= arm64-v8a
ANDROID_BUILD := $(BUILD)/android/$(ABI)
.PHONY: android
android: ## build for Android 11 with the compiler of an NDK (NDK=DIR ABI=arm64-v8a|armeabi-v7a|x86_64)
	$(if $(NDK),,$(error make android wants NDK=DIR: the folder of an Android NDK))
	scripts/fetch-android-libs.sh '$(ANDROID_BUILD)/libraries' '$(NDK)' '$(ABI)'
	+$(MAKE) BUILD=$(ANDROID_BUILD) ANDROID_DIR=$(ANDROID_BUILD)/libraries check-hardening

# The app that has the layer and a replay with a window. KEYSTORE, KEY_ALIAS, KEY_PASS: the key to sign it with.
APK := $(BUILD)/android/lapilli.apk
ANDROID_PART = $(MAKE) BUILD=$(BUILD)/android/$(1) ANDROID_DIR=$(BUILD)/android/$(1)/libraries
.PHONY: apk check-app
apk: ## build the app for Android 11 (NDK=DIR, ABI="arm64-v8a armeabi-v7a x86_64" or some of them; BUILD/android/lapilli.apk)
	$(if $(NDK),,$(error make apk wants NDK=DIR: the folder of an Android NDK))
	$(foreach a,$(ABI),scripts/fetch-android-libs.sh '$(BUILD)/android/$a/libraries' '$(NDK)' '$a' && ) :
	+$(foreach a,$(ABI),$(call ANDROID_PART,$a) check-app && ) :
	$(PYTHON) scripts/make-apk.py --out $(APK) --strip "$$(echo '$(NDK)'/toolchains/llvm/prebuilt/*/bin/llvm-strip)" $(foreach a,$(ABI),'$a=$(BUILD)/android/$a')

check-app: $(LIBRARY) $(APP_LIBRARY)
	$(PYTHON) scripts/check-hardening.py $(foreach f,fortify canary clash cet,$(if $(has_$(f)),,--without $(f))) $^

# Debian's releases after the one that this is built on; each from `make deps` to `make demo`.
SUITES := trixie sid
.PHONY: check-suites
check-suites: ## build, and run the demo, on a bare Debian of each newer suite (needs root)
	scripts/install-deps.sh suites
	$(foreach s,$(SUITES),scripts/check-suite.sh $(s) build/suite/$(s) && ):

demo: ## record vkcube, replay it, compare every image
	scripts/install-deps.sh build demo
	+$(MAKE) all
	BUILD=$(BUILD) scripts/demo.sh

docs: $(GEN_STAMP) ## write docs/extensions.md anew
	$(PYTHON) codegen/emit_docs.py --registry $(REGISTRY) --overrides codegen/overrides.toml --out docs/extensions.md

C_SOURCES := $(wildcard base/*.[ch] base/*/*.[ch] trace/*.[ch] trace/*/*.[ch] memtrack/*.[ch] layer/*/*.[ch] inspector/*/*.[ch] replayer/*.[ch] replayer/*/*.[ch] tools/*.[ch] tools/*/*.[ch] vulkan/*.[ch] vulkan/*/*.[ch] \
	vm/*.[ch] tests/unit/*.[ch] tests/apps/*.[ch] tests/apps/common/*.[ch] tests/apps/plugins/*.[ch] tests/e2e/*.[ch] tests/layers/*.[ch] tests/layers/*/*.[ch] tests/null/*.[ch] \
	tests/fuzz/*.[ch] tests/bench/*.[ch] tests/bench/common/*.[ch] tests/future/*.c tests/platform/include/*.h tests/platform/include/*/*.h tests/platform/android/*/*.h tests/sanitize/*.[ch] tests/coverage/*.[ch])

lint: $(GEN_STAMP) ## formatting, includes between folders, file sizes, licence lines, generated documents
	@scripts/lint.sh $(C_SOURCES)
	$(PYTHON) codegen/emit_docs.py --registry $(REGISTRY) --overrides codegen/overrides.toml --check docs/extensions.md
	$(PYTHON) scripts/check-docs.py
	@$(PYTHON) scripts/make-pages.py --lint $(wildcard tools/*.c replayer/*.c)

# Too slow for make lint, and what they report is not always right: scripts/cppcheck.txt, gcc.txt and tidy.txt have the exceptions, with reasons.
ANALYZED ?= base trace vm memtrack layer inspector tools replayer vulkan
ANALYZED_SOURCES = $(wildcard $(ANALYZED:%=%/*.c) $(ANALYZED:%=%/*/*.c))
ANALYZE = $(Q)$(PYTHON) scripts/analyze.py
.PHONY: analyze
analyze: $(GEN_STAMP) $(REPLAYER_SHADERS) $(GEN)/xdg_shell.h ## static analysis: cppcheck, clang-tidy, gcc's analyzer (many minutes)
	scripts/install-deps.sh analyze
	$(ANALYZE) cppcheck --suppress=missingIncludeSystem --std=c11 --max-configs=1 -I. -I$(GEN) -D_GNU_SOURCE -D__x86_64__ -D__GNUC__=12 \
		$(PLATFORMS) $(WINDOWS) -- $(ANALYZED_SOURCES)
	$(ANALYZE) gcc -std=gnu11 -D_GNU_SOURCE -I. -I$(GEN) $(PLATFORMS) $(WINDOWS) -pthread -include scripts/analyze.h -- $(ANALYZED_SOURCES)
	$(ANALYZE) clang-tidy -std=gnu11 -D_GNU_SOURCE -I. -I$(GEN) $(PLATFORMS) $(WINDOWS) -pthread -include scripts/analyze.h -- $(ANALYZED_SOURCES)

format: ## format all C sources
	$(Q)clang-format -i $(C_SOURCES)

.PHONY: deb
deb: ## build Debian packages, of the commit or of this source package (BUILD/deb)
	scripts/install-deps.sh build deb
	$(if $(wildcard .git),+$(Q)$(MAKE) dist)
	scripts/make-deb.sh $(BUILD)/deb $(if $(wildcard .git),$(BUILD)/lapilli-$(VERSION).tar.xz)

# Debian's releases that packages are for.
DEB_SUITES := bookworm trixie
.PHONY: check-deb
check-deb: ## build and try Debian packages in bare suites, twice in one, and compare (needs root)
	scripts/install-deps.sh build suites
	+$(Q)$(MAKE) dist
	scripts/check-deb.sh $(BUILD)/lapilli-$(VERSION).tar.xz $(DEB_SUITES)

# The layer alone: of 32 bits beside that of 64, with a libdir of its own.
# The others install what is there, without a look whether it is up to date.
.PHONY: install-layer-built install-built
install-layer: all ## install the layer without the programs
	+$(Q)$(MAKE) install-layer-built

install-layer-built:
	install -d $(DESTDIR)$(libdir)
	install -m 644 $(LIBRARY) $(DESTDIR)$(libdir)
	for kind in $(MANIFEST_KINDS); do \
		install -d $(DESTDIR)$(datadir)/vulkan/$${kind}_layer.d && \
		$(MAKE_MANIFEST) --bits $(INSTALLED_BITS) --kind $$kind --library-path $(layer_path) \
			--out $(DESTDIR)$(datadir)/vulkan/$${kind}_layer.d/$(INSTALLED_MANIFEST) || exit 1; done

install: all ## install into $(DESTDIR)$(prefix)
	+$(Q)$(MAKE) install-built

install-built: install-layer-built
	install -d $(DESTDIR)$(includedir)
	install -m 644 include/lapilli.h $(DESTDIR)$(includedir)
	install -d $(DESTDIR)$(bindir)
	install $(PROGRAMS) $(filter-out %.py,$(SCRIPTS)) $(DESTDIR)$(bindir)
	for file in $(patsubst $(BUILD)/share/%,%,$(filter %.py,$(SCRIPTS))); do \
		install -D -m 644 $(BUILD)/share/$$file $(DESTDIR)$(modulesdir)/$$file || exit 1; done
	install -d $(DESTDIR)$(libdir)/lapilli
	install -m 644 $(SHARED_LIBRARY) $(DESTDIR)$(libdir)/lapilli
	for file in $(DESKTOP); do install -D -m 644 $${file%%:*} $(DESTDIR)$(datadir)/$${file#*:} || exit 1; done
	for page in $(PAGE_FILES); do install -D -m 644 $(BUILD)/share/$$page $(DESTDIR)$(datadir)/$$page || exit 1; done

PAGE_FILES = $(sort $(shell cd $(BUILD)/share 2> /dev/null && find $(PAGE_FOLDERS) -type f 2> /dev/null))
uninstall-layer: ## remove what install-layer put there
	rm -f $(DESTDIR)$(libdir)/$(notdir $(LIBRARY)) $(MANIFEST_KINDS:%=$(DESTDIR)$(datadir)/vulkan/%_layer.d/$(INSTALLED_MANIFEST))

uninstall: uninstall-layer ## remove what install put there
	rm -f $(addprefix $(DESTDIR)$(datadir)/,$(PAGE_FILES) $(foreach f,$(DESKTOP),$(lastword $(subst :, ,$(f)))))
	rm -f $(DESTDIR)$(includedir)/lapilli.h $(patsubst $(BUILD)/bin/%,$(DESTDIR)$(bindir)/%,$(PROGRAMS) $(filter-out %.py,$(SCRIPTS))) $(DESTDIR)$(libdir)/lapilli/$(notdir $(SHARED_LIBRARY))
	rm -f $(patsubst $(BUILD)/share/%,$(DESTDIR)$(modulesdir)/%,$(filter %.py,$(SCRIPTS)))
	for folder in lapilli/farm lapilli/android lapilli; do [ ! -d $(DESTDIR)$(modulesdir)/$$folder ] || \
		rmdir --ignore-fail-on-non-empty $(DESTDIR)$(modulesdir)/$$folder || exit 1; done
	[ ! -d $(DESTDIR)$(libdir)/lapilli ] || rmdir --ignore-fail-on-non-empty $(DESTDIR)$(libdir)/lapilli

DIST ?= HEAD
.PHONY: dist
dist: ## write the source package of a commit, with Vulkan headers in it (DIST=TAG; BUILD/lapilli-VERSION.tar.xz)
	$(Q)$(PYTHON) scripts/dist.py --headers $(or $(VULKAN_SDK),$(NEWEST)/usr) --out $(BUILD) '$(DIST)'

.PHONY: help
help: ## this list
	@sed -n 's/^\([a-z0-9-]*\):[^#]*## \(.*\)/  make \1\t\2/p' $(MAKEFILE_LIST) | expand -t 24

.PHONY: clean
clean: ## remove what was built
	rm -rf $(BUILD)

-include $(patsubst %.o,%.d,$(COMMON) $(INSPECTOR) $(SERVER) $(MEMTRACK) $(LAYER) $(REPLAYER) $(SLICE) $(TOOL_COMMON) $(call object,$(wildcard tools/*.c tools/*/*.c replayer/main.c replayer/device/spirv_tools.c replayer/app/*.c)))
