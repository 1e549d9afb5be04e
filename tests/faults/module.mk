# SPDX-License-Identifier: MIT
# What a recording and a replay go through when the machine fails them. `make torture` is the long way; tests/e2e takes samples.
FAULTS := $(BUILD)/tests/faults/libfaults.so
TORTURE ?=

$(FAULTS): tests/faults/faults.c
	@mkdir -p $(@D)
	$(call say,LINK,$@)
	$(Q)$(CC) -std=gnu11 -D_GNU_SOURCE -Wall -Wextra $(CFLAGS) $(if $(WERROR),-Werror) -O2 -fno-omit-frame-pointer -fPIC -fno-builtin -MMD -MP -shared -Wl,-z,defs -o $@ $<

# Programs of 32 bits have other names for what it stands in for; torture is for those of the machine.
test-programs: $(if $(FOREIGN_DIR),,$(FAULTS))

.PHONY: torture
torture: test-programs ## kill, starve and fail recordings and replays at a thousand points each (TORTURE="--help")
	$(XVFB) $(PYTHON) tests/torture.py --build $(BUILD) $(TORTURE)

-include $(FAULTS:.so=.d)
