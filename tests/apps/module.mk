# SPDX-License-Identifier: MIT
# Small Vulkan programs that check themselves. They use nothing of the rest of the project. `make apps` builds them.
APP_NAMES := $(patsubst tests/apps/%.c,%,$(wildcard tests/apps/*.c))
TEST_APPS := $(APP_NAMES:%=$(BUILD)/tests/apps/%)
APP_SHADER_SOURCES := $(wildcard tests/apps/shaders/*.*)
# triangle.vert becomes shaders/triangle_vert.h with the array triangle_vert.
APP_SHADERS := $(foreach s,$(notdir $(APP_SHADER_SOURCES)),$(GEN)/shaders/$(subst .,_,$(s)).h)
APP_COMMON := $(patsubst %.c,$(BUILD)/obj/%.o,$(wildcard tests/apps/common/*.c))
APP_OBJECTS := $(APP_NAMES:%=$(BUILD)/obj/tests/apps/%.o)

.PHONY: apps
apps: $(TEST_APPS)

define APP_SHADER_RULE
$(GEN)/shaders/$(subst .,_,$(notdir $(1))).h: $(1)
	@mkdir -p $$(@D)
	$$(call say,GLSL,$$<)
	$(Q)$$(GLSLANG) -V --quiet --target-env vulkan1.0 --vn $(subst .,_,$(notdir $(1))) -o $$@ $$<
endef
$(foreach s,$(APP_SHADER_SOURCES),$(eval $(call APP_SHADER_RULE,$(s))))

$(APP_OBJECTS) $(APP_COMMON): $(BUILD)/obj/%.o: %.c | $(APP_SHADERS) $(GEN)/xdg_shell.h
	@mkdir -p $(@D)
	$(call say,CC,$<)
	$(Q)$(CC) $(ALL_CFLAGS) $(CFLAGS) -MMD -MP -c -o $@ $<

$(TEST_APPS): $(BUILD)/tests/apps/%: $(BUILD)/obj/tests/apps/%.o $(APP_COMMON) $(BUILD)/obj/gen/xdg_shell.o $(SANITIZER_KEEP)
	@mkdir -p $(@D)
	$(call say,LINK,$@)
	$(Q)$(CC) $(CFLAGS) -pthread $(SANITIZER) $(SANITIZER_KEEP_FLAGS) $(LDFLAGS) -o $@ $^ -Wl,--as-needed -lm -lvulkan -lxcb -lX11 -lwayland-client

-include $(APP_OBJECTS:.o=.d) $(APP_COMMON:.o=.d)
