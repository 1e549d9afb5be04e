# SPDX-License-Identifier: MIT
# One program for each tests/unit/test_*.c, linked with every module but the programs' main files and the layer's exports.
UNIT_NAMES := $(patsubst tests/unit/%.c,%,$(wildcard tests/unit/test_*.c))
UNIT_TESTS := $(UNIT_NAMES:%=$(BUILD)/tests/unit/%)
UNIT_OBJECTS := $(UNIT_NAMES:%=$(BUILD)/obj/tests/unit/%.o)

.PHONY: unit
unit: $(UNIT_TESTS)

$(UNIT_TESTS): $(BUILD)/tests/unit/%: $(BUILD)/obj/tests/unit/%.o $(COMMON) $(MEMTRACK) $(REPLAYER) $(TOOL_COMMON)
	@mkdir -p $(@D)
	$(call say,LINK,$@)
	$(Q)$(CC) $(CFLAGS) $(ALL_LDFLAGS) $(LDFLAGS) -o $@ $(filter %.o,$^) $(REPLAY_LIBS) -lvulkan

# What is tested of the layer is linked by name: all of it would bring its entry points and the loader's interface.
$(BUILD)/tests/unit/test_attachment: $(call object,layer/attachment.c layer/image_rows.c layer/image_state.c layer/region.c layer/render_pass.c \
	layer/parts.c layer/rows.c layer/tell.c layer/touched.c)
$(BUILD)/tests/unit/test_backing: $(call object,layer/backing.c layer/backing_object.c layer/backing_plan.c)
$(BUILD)/tests/unit/test_fork: $(call object,layer/fork.c)
$(BUILD)/tests/unit/test_import: $(call object,layer/import.c)
$(BUILD)/tests/unit/test_describe: $(call object,layer/describe.c)
$(BUILD)/tests/unit/test_payload: $(call object,layer/payload.c)
$(BUILD)/tests/unit/test_quick: $(call object,layer/image_state.c layer/touched.c layer/parts.c layer/tell.c layer/region.c layer/image_rows.c layer/rows.c)
$(BUILD)/tests/unit/test_rows: $(call object,layer/rows.c)
$(BUILD)/tests/unit/test_show: $(call object,layer/show.c)
$(BUILD)/tests/unit/test_spans: $(call object,layer/spans.c)
$(BUILD)/tests/unit/test_spirv: $(call object,layer/spirv.c)
$(BUILD)/tests/unit/test_touched: $(call object,layer/image_state.c layer/touched.c layer/descriptor.c layer/parts.c layer/pipeline.c layer/spirv.c layer/tell.c \
	layer/region.c layer/image_rows.c layer/rows.c)
$(addprefix $(BUILD)/tests/unit/,test_gate test_submission): $(call object,layer/check.c layer/gate.c layer/image_rows.c layer/image_state.c layer/kept.c layer/parts.c layer/region.c layer/rows.c layer/sparse.c \
	layer/submission.c layer/submit.c \
	layer/tell.c layer/touched.c)
$(addprefix $(BUILD)/tests/unit/,test_attachment test_gate test_quick test_rows test_submission test_touched): REPLAY_LIBS += $(UTILITY_LIBS)
$(addprefix $(BUILD)/tests/unit/,test_attachment test_gate test_quick test_rows test_submission test_touched): $(call object,layer/format_utils.c)
$(BUILD)/tests/unit/test_guard: $(call object,replayer/spirv_tools.c)
$(BUILD)/tests/unit/test_guard: REPLAY_LIBS := $(SPIRV_TOOLS) $(REPLAY_LIBS)

# The driver that takes everything stands for the loader, however it is opened.
$(BUILD)/tests/unit/test_forged: $(FUZZ_DRIVER) $(call object,tests/fuzz/forge.c)
$(BUILD)/tests/unit/test_forged: ALL_LDFLAGS += -Wl,--wrap=dlopen,--wrap=dlsym

-include $(UNIT_OBJECTS:.o=.d)
