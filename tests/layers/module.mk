# SPDX-License-Identifier: MIT
# Vulkan layers that only tests use, each beside its manifest in $(BUILD)/tests/layers.
LAYER_NAMES := $(patsubst tests/layers/%.c,%,$(wildcard tests/layers/*.c))
TEST_LAYERS := $(LAYER_NAMES:%=$(BUILD)/tests/layers/libVkLayer_%.so) $(LAYER_NAMES:%=$(BUILD)/tests/layers/VkLayer_%.json)
LAYER_OBJECTS := $(LAYER_NAMES:%=$(BUILD)/obj/tests/layers/%.o)

$(BUILD)/tests/layers/libVkLayer_%.so: $(BUILD)/obj/tests/layers/%.o
	@mkdir -p $(@D)
	$(call say,LINK,$@)
	$(Q)$(CC) $(CFLAGS) -pthread $(SANITIZER) $(LDFLAGS) -shared $(if $(SANITIZE),,-Wl,-z,defs) -o $@ $^

$(BUILD)/tests/layers/%.json: tests/layers/%.json
	@mkdir -p $(@D)
	$(call say,COPY,$@)
	$(Q)cp $< $@

.SECONDARY: $(LAYER_OBJECTS)

-include $(LAYER_OBJECTS:.o=.d)
