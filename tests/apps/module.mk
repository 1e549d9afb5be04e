# SPDX-License-Identifier: MIT
# Small Vulkan programs that check themselves. They use nothing of the rest of the project. `make apps` builds them.
APP_NAMES := $(patsubst tests/apps/%.c,%,$(wildcard tests/apps/*.c))
TEST_APPS := $(APP_NAMES:%=$(BUILD)/tests/apps/%)
APP_SHADER_SOURCES := $(wildcard tests/apps/shaders/*.*)
# triangle.vert becomes shaders/triangle_vert.h with the array triangle_vert.
APP_SHADERS := $(foreach s,$(notdir $(APP_SHADER_SOURCES)),$(GEN)/shaders/$(subst .,_,$(s)).h)
APP_COMMON := $(patsubst %.c,$(BUILD)/obj/%.o,$(wildcard tests/apps/common/*.c))
APP_OBJECTS := $(APP_NAMES:%=$(BUILD)/obj/tests/apps/%.o)
# Libraries that programs open while they run.
PLUGIN_NAMES := $(patsubst tests/apps/plugins/%.c,%,$(wildcard tests/apps/plugins/*.c))
APP_PLUGINS := $(PLUGIN_NAMES:%=$(BUILD)/tests/apps/plugins/%.so)
PLUGIN_OBJECTS := $(PLUGIN_NAMES:%=$(BUILD)/obj/tests/apps/plugins/%.o)
APP_LIBS := -Wl,--as-needed -lm -lvulkan -lxcb -lX11 -lwayland-client

.PHONY: apps
apps: $(TEST_APPS) $(APP_PLUGINS)

# Ray tracing and mesh shaders need SPIR-V 1.4.
app_shader_env = $(if $(filter ray_% mesh% %.rgen %.rmiss %.rchit %.rahit %.rint %.rcall,$(notdir $(1))),vulkan1.2,vulkan1.0)

define APP_SHADER_RULE
$(GEN)/shaders/$(subst .,_,$(notdir $(1))).h: $(1)
	@mkdir -p $$(@D)
	$$(call say,GLSL,$$<)
	$(Q)$$(GLSLANG) -V --quiet --target-env $(call app_shader_env,$(1)) --vn $(subst .,_,$(notdir $(1))) -o $$@ $$<
endef
$(foreach s,$(APP_SHADER_SOURCES),$(eval $(call APP_SHADER_RULE,$(s))))

$(APP_OBJECTS) $(PLUGIN_OBJECTS) $(APP_COMMON): $(BUILD)/obj/%.o: %.c $(SDK_STAMP) | $(APP_SHADERS) $(GEN)/xdg_shell.h
	@mkdir -p $(@D)
	$(call say,CC,$<)
	$(Q)$(CC) $(ALL_CFLAGS) $(CFLAGS) -MMD -MP -c -o $@ $<

APP_SHARED := $(APP_COMMON) $(BUILD)/obj/gen/xdg_shell.o

$(TEST_APPS): $(BUILD)/tests/apps/%: $(BUILD)/obj/tests/apps/%.o $(SANITIZER_KEEP)
	@mkdir -p $(@D)
	$(call say,LINK,$@)
	$(Q)$(CC) $(CFLAGS) -pthread $(SANITIZER) $(SANITIZER_KEEP_FLAGS) $(LDFLAGS) -o $@ $^ $(APP_LIBS)
# This one knows no Vulkan before it opens a library that does.
$(filter-out %/lives,$(TEST_APPS)) $(BUILD)/tests/apps/plugins/engine.so: $(APP_SHARED)

$(APP_PLUGINS): $(BUILD)/tests/apps/plugins/%.so: $(BUILD)/obj/tests/apps/plugins/%.o
	@mkdir -p $(@D)
	$(call say,LINK,$@)
	$(Q)$(CC) $(CFLAGS) -pthread $(SANITIZER) $(LDFLAGS) -shared -o $@ $^ $(APP_LIBS)

-include $(APP_OBJECTS:.o=.d) $(PLUGIN_OBJECTS:.o=.d) $(APP_COMMON:.o=.d)
