# SPDX-License-Identifier: MIT
# One program for each tests/model/NAME_model.c, which includes real sources: compiled with the calls that -fsanitize=thread makes, and
# linked with model.c, which answers them. Those of gcc; clang makes others.
MODEL_NAMES := $(patsubst tests/model/%.c,%,$(wildcard tests/model/*_model.c))
MODELS := $(MODEL_NAMES:%=$(BUILD)/tests/model/%)
MODEL_OBJECTS := $(MODEL_NAMES:%=$(BUILD)/obj/tests/model/%.o)
# Operations are named by their addresses, so the program has a fixed place, and debug information.
$(MODEL_OBJECTS) $(BUILD)/obj/tests/model/model.o: private VISIBILITY := -gdwarf-4 -fno-pie
$(MODEL_OBJECTS): private VISIBILITY += -fsanitize=thread -Wno-tsan -U_FORTIFY_SOURCE -fno-builtin -include tests/model/rename.h

$(MODELS): $(BUILD)/tests/model/%: $(BUILD)/obj/tests/model/%.o $(call object,tests/model/model.c) $(SHARED_LIBRARY)
	@mkdir -p $(@D)
	$(call say,LINK,$@)
	$(Q)$(CC) -no-pie $(ALL_LDFLAGS) $(TEST_RUNPATH) $(LDFLAGS) -o $@ $(filter %.o,$^) $(filter %.so,$^) $(TRACE_LIBS)
$(BUILD)/tests/model/watch_model: $(call object,memtrack/watch_region.c memtrack/interval.c)

.PHONY: check-model
check-model: $(MODELS) ## real sources of what threads share without a lock, under the memory model of C11
	$(PYTHON) tests/model/run.py --build $(BUILD)

-include $(MODEL_OBJECTS:.o=.d) $(BUILD)/obj/tests/model/model.d
