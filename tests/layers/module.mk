# SPDX-License-Identifier: MIT
# Vulkan layers that only tests use, each beside its manifest in $(BUILD)/tests/layers: a file or a folder of its name, and
# what they share.
LAYER_NAMES := $(patsubst tests/layers/VkLayer_%.json,%,$(wildcard tests/layers/VkLayer_*.json))
# The layer of AHardwareBuffers is the library of them, too, which Android has.
TEST_LAYERS := $(LAYER_NAMES:%=$(BUILD)/tests/layers/libVkLayer_%.so) $(LAYER_NAMES:%=$(BUILD)/tests/layers/VkLayer_%.json) $(BUILD)/tests/layers/libnativewindow.so
LAYER_SHARED := $(BUILD)/obj/tests/layers/chain.o $(BUILD)/obj/gen/gen_dispatch.o $(BUILD)/obj/gen/gen_ids.o $(BUILD)/obj/gen/gen_reflect.o
layer_objects = $(call object,$(wildcard tests/layers/$(1).c tests/layers/$(1)/*.c))
LAYER_OBJECTS := $(foreach name,$(LAYER_NAMES),$(call layer_objects,$(name)))

$(foreach name,$(LAYER_NAMES),$(eval $(BUILD)/tests/layers/libVkLayer_$(name).so: $(call layer_objects,$(name))))
$(BUILD)/tests/layers/libVkLayer_%.so: $(LAYER_SHARED)
	@mkdir -p $(@D)
	$(call say,LINK,$@)
	$(Q)$(CC) $(CFLAGS) -pthread $(SANITIZER) -Wl,--gc-sections $(LDFLAGS) -shared $(if $(SANITIZE),,-Wl,-z,defs) -o $@ $^

$(BUILD)/tests/layers/%.json: tests/layers/%.json
	@mkdir -p $(@D)
	$(call say,COPY,$@)
	$(Q)cp $< $@

$(BUILD)/tests/layers/libnativewindow.so: $(BUILD)/tests/layers/libVkLayer_hardware.so
	$(Q)ln -sf $(notdir $<) $@

.PHONY: test-layers
test-layers: $(TEST_LAYERS)

# What it says to valgrind needs no more than a header, where that is.
$(BUILD)/obj/tests/layers/defined.o: $(wildcard /usr/include/valgrind/memcheck.h)

.SECONDARY: $(LAYER_SHARED)

-include $(LAYER_OBJECTS:.o=.d) $(BUILD)/obj/tests/layers/chain.d
