# SPDX-License-Identifier: MIT
# How much of the hand-written code the tests run. Code that is generated is left out: its emitters are tested.
COVERAGE_LEAST ?= 85
# Without those that look at every file that is opened, or at every line on stderr: counts are written, too. Nor is exit() in a signal
# handler for a process that writes counts, under a lock, and programs that count are slower than any disk
# and do not end without memory.
COVERAGE_WITHOUT := contract/a-missing-file contract/a-file-that-is-no-trace loader/an-unarmed-layer-does-nothing \
	contract/output-that-can-not-be-written bench/ sandbox/a-compromised-compress process/exit-in-a-signal bounded/recording-memory torture/replay-memory torture/tool-memory
empty :=
COVERAGE_CASES := ^(?!$(subst $(empty) $(empty),|,$(strip $(COVERAGE_WITHOUT))))
COVERAGE := BUILD=$(BUILD)/coverage CFLAGS="--coverage -O0 -fprofile-update=atomic -DLAP_COVERAGE_FOLDER='\"$(CURDIR)/$(BUILD)/coverage/obj\"'" \
	COVERED=1

.PHONY: coverage
coverage: ## line coverage of layer, memtrack, trace, inspector and replayer by all tests (half an hour); fails below COVERAGE_LEAST per cent
	scripts/install-deps.sh build check drivers coverage
	+$(MAKE) $(COVERAGE) test-programs
	find $(BUILD)/coverage/obj -name '*.gcda' -delete
	MODEL_OPERATIONS=$${MODEL_OPERATIONS:-1000} $(XVFB) $(PYTHON) tests/run.py --build $(BUILD)/coverage --match '$(COVERAGE_CASES)' $(TEST_ARGUMENTS)
	$(PYTHON) tests/coverage/report.py --build $(BUILD)/coverage --least $(COVERAGE_LEAST)

# Replays end with _exit() where a driver is still at work; what was counted is written before.
ifdef COVERED
$(BUILD)/bin/lapilli-replay: LDFLAGS += -Wl,--wrap=_exit
$(BUILD)/bin/lapilli-replay: $(BUILD)/obj/tests/coverage/exit.o
endif
