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

# The app's library on this machine, and what plays the part of Android for it.
ACTIVITY := $(BUILD)/tests/bin/activity $(BUILD)/tests/lib/liblapilli_replay.so
E2E_TOOLS += $(if $(ANDROID_DIR),,$(ACTIVITY))
STAND_INS := -isystem tests/platform/android
$(call object,tests/e2e/activity.c $(if $(ANDROID_DIR),,$(APP_SOURCES))): ALL_CFLAGS += $(STAND_INS)

$(BUILD)/tests/bin/activity: $(BUILD)/obj/tests/e2e/activity.o
	@mkdir -p $(@D)
	$(call say,LINK,$@)
	$(Q)$(CC) $(CFLAGS) $(ALL_LDFLAGS) -rdynamic $(LDFLAGS) -o $@ $^ -lxcb -ldl
$(BUILD)/obj/tests/e2e/activity.o: private VISIBILITY :=

$(BUILD)/obj/tests/e2e/window_android.o: replayer/present/window_android.c $(GEN_STAMP)
	@mkdir -p $(@D)
	$(call say,CC,$<)
	$(Q)$(CC) $(ALL_CFLAGS) $(STAND_INS) -DLAP_ACTIVITY_OF_A_TEST $(VISIBILITY) $(CFLAGS) -MMD -MP -c -o $@ $<

$(BUILD)/tests/lib/liblapilli_replay.so: $(call object,replayer/main.c replayer/device/spirv_tools.c $(APP_SOURCES) tests/e2e/window_android.c) $(COMMON) \
		$(filter-out $(call object,replayer/present/window_android.c),$(REPLAYER)) replayer/app/exports.map
	@mkdir -p $(@D)
	$(call say,LINK,$@)
	$(Q)$(CC) $(CFLAGS) $(ALL_LDFLAGS) $(LDFLAGS) $(filter-out -Wl$(comma)-z$(comma)defs,$(APP_LINK)) -Wl,--wrap=dlsym -o $@ $(filter %.o,$^) $(SPIRV_TOOLS) $(REPLAY_LIBS)

-include $(BUILD)/obj/tests/e2e/activity.d $(BUILD)/obj/tests/e2e/window_android.d
