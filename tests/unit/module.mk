# SPDX-License-Identifier: MIT
# One program for each tests/unit/test_*.c, linked with every module but the programs' main files and the layer's exports: as they are, with
# the library that has what programs share.
TEST_RUNPATH := '-Wl,-rpath,$(abspath $(dir $(SHARED_LIBRARY)))'
UNIT_NAMES := $(patsubst tests/unit/%.c,%,$(wildcard tests/unit/test_*.c))
UNIT_TESTS := $(UNIT_NAMES:%=$(BUILD)/tests/unit/%)
UNIT_OBJECTS := $(UNIT_NAMES:%=$(BUILD)/obj/tests/unit/%.o)
# Functions of the C library that a test defines are those of the library, too.
$(UNIT_OBJECTS): private VISIBILITY :=

# Each program has the replayer, and with all debug information it would be mostly written by the linker for nobody: they are linked
# without. UNIT_DEBUG=1 links it in, for a debugger; sanitizers name lines by it.
UNIT_DEBUG ?= $(SANITIZE)
UNIT_LDFLAGS := $(if $(UNIT_DEBUG),,-Wl$(comma)--strip-debug)

.PHONY: unit
unit: $(UNIT_TESTS)

$(UNIT_TESTS): $(BUILD)/tests/unit/%: $(BUILD)/obj/tests/unit/%.o $(MEMTRACK) $(filter-out $(SHARED),$(REPLAYER)) $(SHARED_LIBRARY)
	@mkdir -p $(@D)
	$(call say,LINK,$@)
	$(Q)$(CC) $(CFLAGS) $(ALL_LDFLAGS) $(UNIT_LDFLAGS) $(TEST_RUNPATH) $(LDFLAGS) -o $@ $(filter %.o,$^) $(filter %.so,$^) $(REPLAY_LIBS) -lvulkan

# What is tested of the layer is linked by name: all of it would bring its entry points and the loader's interface.
$(BUILD)/tests/unit/test_android: $(call object,layer/core/android.c layer/core/android_system.c layer/core/options.c)
$(BUILD)/tests/unit/test_android: ALL_LDFLAGS += -Wl,--wrap=getauxval
$(BUILD)/tests/unit/test_attachment: $(call object,layer/command/attachment.c layer/image/image_rows.c layer/command/image_state.c layer/command/image_region.c layer/command/render_pass.c \
	layer/command/cmdbuf_parts.c layer/image/row_layout.c layer/command/progress_query.c layer/command/touched.c)
$(BUILD)/tests/unit/test_backing: $(call object,layer/memory/backing.c layer/memory/backing_object.c layer/memory/backing_plan.c)
$(BUILD)/tests/unit/test_fork: $(call object,layer/core/fork.c layer/core/thread.c)
$(addprefix $(BUILD)/tests/unit/,test_slice test_slice_images test_scopes): $(SLICE)
$(BUILD)/tests/unit/test_host_import: $(call object,layer/memory/host_import.c)
$(BUILD)/tests/unit/test_code: $(call object,layer/shader/code.c layer/shader/stages.c)
$(BUILD)/tests/unit/test_describe: $(call object,layer/core/description.c)
$(BUILD)/tests/unit/test_keeper: $(call object,layer/core/keeper.c layer/core/thread.c)
$(BUILD)/tests/unit/test_notes: $(call object,layer/core/notes.c layer/core/thread.c)
$(BUILD)/tests/unit/test_payload: $(call object,layer/memory/payload.c layer/image/hardware_buffer.c layer/core/hardware_functions.c layer/core/descriptor.c layer/core/unseen.c)
$(BUILD)/tests/unit/test_fast_path: $(call object,layer/command/image_state.c layer/command/touched.c layer/command/cmdbuf_parts.c layer/command/progress_query.c layer/command/image_region.c layer/image/image_rows.c layer/image/row_layout.c)
$(BUILD)/tests/unit/test_turns: $(call object,layer/part/turns.c)
$(BUILD)/tests/unit/test_x_server: $(call object,layer/part/x_server.c)
$(BUILD)/tests/unit/test_row_layout: $(call object,layer/image/row_layout.c)
$(BUILD)/tests/unit/test_unmapped_read: $(call object,layer/memory/unmapped_read.c)
$(BUILD)/tests/unit/test_span_batch: $(call object,layer/image/span_batch.c)
$(BUILD)/tests/unit/test_touched: $(call object,layer/command/image_state.c layer/command/touched.c layer/entry/descriptor_set.c layer/command/cmdbuf_parts.c layer/command/pipeline.c layer/command/shader_object.c layer/command/progress_query.c \
	layer/shader/code.c layer/command/image_region.c layer/image/image_rows.c layer/image/row_layout.c)
$(addprefix $(BUILD)/tests/unit/,test_host_gate test_submission): $(call object,layer/submit/memory_checks.c layer/submit/host_gate.c layer/image/image_rows.c layer/command/image_state.c layer/submit/sparse_snapshot.c layer/command/cmdbuf_parts.c layer/command/image_region.c layer/image/row_layout.c layer/submit/sparse.c \
	layer/submit/submission.c layer/submit/submit.c layer/memory/payload.c layer/image/hardware_buffer.c layer/core/hardware_functions.c layer/core/descriptor.c \
	layer/command/progress_query.c layer/command/touched.c)
# What commands leave for checks and for parts of the run.
$(addprefix $(BUILD)/tests/unit/,test_attachment test_host_gate test_fast_path test_submission test_touched): $(call object,layer/command/build_inputs.c layer/command/overwritten.c layer/memory/copies.c layer/memory/address_range.c layer/memory/sparse_places.c tests/unit/layer_mutex.c)
$(BUILD)/tests/unit/test_sparse_places: $(call object,layer/memory/sparse_places.c)
$(BUILD)/tests/unit/test_copies: $(call object,layer/memory/copies.c tests/unit/layer_mutex.c)
$(addprefix $(BUILD)/tests/unit/,test_attachment test_host_gate test_fast_path test_payload test_row_layout test_submission test_touched): REPLAY_LIBS += $(UTILITY_LIBS)
$(addprefix $(BUILD)/tests/unit/,test_attachment test_host_gate test_fast_path test_payload test_row_layout test_submission test_touched): $(call object,layer/image/format_utils.c)
$(BUILD)/tests/unit/test_guard: $(call object,replayer/device/spirv_tools.c)
$(BUILD)/tests/unit/test_guard: REPLAY_LIBS := $(SPIRV_TOOLS) $(REPLAY_LIBS)

# The driver that takes everything stands for the loader, however it is opened.
$(BUILD)/tests/unit/test_forged: $(FUZZ_DRIVER) $(call object,tests/fuzz/forge.c)
$(BUILD)/tests/unit/test_forged: ALL_LDFLAGS += -Wl,--wrap=dlopen,--wrap=dlsym

-include $(UNIT_OBJECTS:.o=.d)
