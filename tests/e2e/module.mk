# SPDX-License-Identifier: MIT
E2E_TOOLS := $(BUILD)/tests/bin/break-check $(BUILD)/tests/bin/old-kernel

$(BUILD)/tests/bin/break-check: $(BUILD)/obj/tests/e2e/break_check.o $(COMMON)
	@mkdir -p $(@D)
	$(call say,LINK,$@)
	$(Q)$(CC) $(CFLAGS) $(ALL_LDFLAGS) $(LDFLAGS) -o $@ $(filter %.o,$^) $(TRACE_LIBS)

$(BUILD)/tests/bin/old-kernel: $(BUILD)/obj/tests/e2e/old_kernel.o
	@mkdir -p $(@D)
	$(call say,LINK,$@)
	$(Q)$(CC) $(CFLAGS) $(ALL_LDFLAGS) $(LDFLAGS) -o $@ $^ -lseccomp

-include $(BUILD)/obj/tests/e2e/old_kernel.d $(BUILD)/obj/tests/e2e/break_check.d
