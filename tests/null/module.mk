# SPDX-License-Identifier: MIT
# A driver that draws nothing and watches its caller (tests/null/null.h): $(NULL_DRIVER) and its manifest beside it.
NULL_FOLDER := $(BUILD)/tests/null
NULL_DRIVER := $(NULL_FOLDER)/libnull.so
NULL_MANIFEST := $(NULL_FOLDER)/null_icd.json
NULL_OBJECTS := $(call object,$(wildcard tests/null/*.c)) $(NULL_FOLDER)/gen/null_commands.o
NULL_FLAGS = $(ALL_CFLAGS) -I$(NULL_FOLDER)/gen $(CFLAGS)

.PHONY: null
null: $(NULL_DRIVER) $(NULL_MANIFEST) ## build a driver that does nothing, for tests

$(NULL_FOLDER)/gen/null_commands.c: tests/null/emit_null.py $(GEN_INPUTS)
	@mkdir -p $(@D)
	$(call say,GEN,$@)
	$(Q)$(PYTHON) tests/null/emit_null.py --registry $(REGISTRY) --overrides codegen/overrides.toml --out $(@D)
	@touch $@

$(call object,$(wildcard tests/null/*.c)): $(BUILD)/obj/%.o: %.c $(NULL_FOLDER)/gen/null_commands.c
	@mkdir -p $(@D)
	$(call say,CC,$<)
	$(Q)$(CC) $(NULL_FLAGS) -MMD -MP -c -o $@ $<

$(NULL_FOLDER)/gen/null_commands.o: $(NULL_FOLDER)/gen/null_commands.c
	$(call say,CC,$<)
	$(Q)$(CC) $(NULL_FLAGS) -MMD -MP -c -o $@ $<

$(NULL_DRIVER): $(NULL_OBJECTS)
	$(call say,LINK,$@)
	$(Q)$(CC) $(CFLAGS) -pthread $(SANITIZER) $(LDFLAGS) -shared $(if $(SANITIZE),,-Wl,-z,defs) -o $@ $^

$(NULL_MANIFEST): tests/null/null_icd.json
	@mkdir -p $(@D)
	$(call say,COPY,$@)
	$(Q)cp $< $@

-include $(NULL_OBJECTS:.o=.d)
