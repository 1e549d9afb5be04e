# SPDX-License-Identifier: MIT
E2E_TOOLS := $(BUILD)/tests/bin/break-check $(BUILD)/tests/bin/recode-check $(BUILD)/tests/bin/memory-check $(BUILD)/tests/bin/instrument-check $(BUILD)/tests/bin/blocks-check $(BUILD)/tests/bin/vm-check $(BUILD)/tests/bin/old-kernel $(BUILD)/tests/bin/x-keys $(BUILD)/tests/bin/android-loader $(if $(XDG_SHELL),$(BUILD)/tests/bin/compositor)

# Those that read traces.
$(patsubst %,$(BUILD)/tests/bin/%-check,break recode memory blocks vm instrument): $(BUILD)/tests/bin/%-check: $(BUILD)/obj/tests/e2e/%_check.o $(SHARED_LIBRARY)
	@mkdir -p $(@D)
	$(call say,LINK,$@)
	$(Q)$(CC) $(CFLAGS) $(ALL_LDFLAGS) $(TEST_RUNPATH) $(LDFLAGS) -o $@ $(filter %.o,$^) $(filter %.so,$^) $(TRACE_LIBS) $(APP_LIBS)

$(BUILD)/tests/bin/blocks-check: $(APP_SHARED)
$(BUILD)/tests/bin/instrument-check: $(call object,replayer/device/spirv_tools.c)
$(BUILD)/tests/bin/instrument-check: APP_LIBS := $(SPIRV_TOOLS)

$(BUILD)/tests/bin/old-kernel: $(BUILD)/obj/tests/e2e/old_kernel.o
	@mkdir -p $(@D)
	$(call say,LINK,$@)
	$(Q)$(CC) $(CFLAGS) $(ALL_LDFLAGS) $(LDFLAGS) -o $@ $^ -lseccomp

$(BUILD)/tests/bin/x-keys: $(BUILD)/obj/tests/e2e/x_keys.o
	@mkdir -p $(@D)
	$(call say,LINK,$@)
	$(Q)$(CC) $(CFLAGS) $(ALL_LDFLAGS) $(LDFLAGS) -o $@ $^ -lxcb

# It opens the layer and a driver itself, without the desktop's loader.
$(BUILD)/tests/bin/android-loader: $(BUILD)/obj/tests/e2e/android_loader.o
	@mkdir -p $(@D)
	$(call say,LINK,$@)
	$(Q)$(CC) $(CFLAGS) $(ALL_LDFLAGS) $(LDFLAGS) -o $@ $^ -ldl

# The other end of the protocol of windows.
$(GEN)/xdg_shell_server.h: $(XDG_SHELL_XML)
	@mkdir -p $(@D)
	$(call say,GEN,$@)
	$(Q)wayland-scanner server-header $< $@

$(BUILD)/obj/tests/e2e/compositor.o: | $(GEN)/xdg_shell_server.h

$(BUILD)/tests/bin/compositor: $(BUILD)/obj/tests/e2e/compositor.o $(XDG_SHELL)
	@mkdir -p $(@D)
	$(call say,LINK,$@)
	$(Q)$(CC) $(CFLAGS) $(ALL_LDFLAGS) $(LDFLAGS) -o $@ $^ -lwayland-server

-include $(BUILD)/obj/tests/e2e/x_keys.d $(BUILD)/obj/tests/e2e/android_loader.d $(BUILD)/obj/tests/e2e/compositor.d $(BUILD)/obj/tests/e2e/old_kernel.d $(BUILD)/obj/tests/e2e/break_check.d $(BUILD)/obj/tests/e2e/recode_check.d $(BUILD)/obj/tests/e2e/memory_check.d $(BUILD)/obj/tests/e2e/blocks_check.d $(BUILD)/obj/tests/e2e/vm_check.d $(BUILD)/obj/tests/e2e/instrument_check.d
