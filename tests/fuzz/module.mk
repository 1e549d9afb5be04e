# SPDX-License-Identifier: MIT
# One libFuzzer target for each tests/fuzz/fuzz_*.c, built as the tests with sanitizers are.
FUZZ_SECONDS ?= 60
FUZZ_TARGET ?=
FUZZ_SEED ?=
FUZZ_ARGUMENTS ?=
FUZZ_NAMES := $(patsubst tests/fuzz/fuzz_%.c,%,$(wildcard tests/fuzz/fuzz_*.c))
FUZZ_PROGRAMS := $(FUZZ_NAMES:%=$(BUILD)/targets/%)
FUZZ_FORGE := $(call object,tests/fuzz/forge.c tests/fuzz/forge_mutate.c tests/fuzz/tail.c)
FUZZ_OBJECTS := $(FUZZ_NAMES:%=$(BUILD)/obj/tests/fuzz/fuzz_%.o) $(FUZZ_FORGE) $(BUILD)/obj/tests/fuzz/seeds.o $(BUILD)/obj/tests/fuzz/read_packets.o \
	$(call object,tests/fuzz/driver.c tests/fuzz/driver_check.c tests/fuzz/driver_video.c)

.PHONY: fuzz fuzz-built
fuzz: ## run each fuzz target FUZZ_SECONDS long (FUZZ_TARGET=NAME: one of them)
	scripts/install-deps.sh build fuzz
	+$(MAKE) $(INSTRUMENTED) fuzz-built

fuzz-built: $(if $(FUZZ_TARGET),$(BUILD)/targets/$(FUZZ_TARGET),$(FUZZ_PROGRAMS)) $(BUILD)/seeds/made
	$(PYTHON) tests/fuzz/run.py --build $(BUILD) --seconds $(FUZZ_SECONDS) $(if $(FUZZ_SEED),--seed $(FUZZ_SEED)) \
		$(FUZZ_ARGUMENTS) $(or $(FUZZ_TARGET),$(FUZZ_NAMES))

# What each is about; --gc-sections does not take away the counters of code that is not used.
$(addprefix $(BUILD)/targets/,compile decoder edit print program trim): $(TOOL_COMMON) $(INSPECTOR)
$(BUILD)/targets/trim: $(SLICE)
$(addprefix $(BUILD)/targets/,compile program): $(BUILD)/obj/tests/fuzz/read_packets.o
$(BUILD)/targets/gfxr: $(call object,tools/record/gfxr.c)
$(BUILD)/targets/route: $(call object,server/route.c server/routes.c)
$(addprefix $(BUILD)/targets/,settings): $(REPLAYER) $(call object,layer/core/options.c layer/core/android.c)
$(BUILD)/targets/print: $(call object,$(patsubst %,tests/fuzz/%_main.c,print info tree draws find shaders state memory uses report))
$(BUILD)/targets/%: $(BUILD)/obj/tests/fuzz/fuzz_%.o $(FUZZ_FORGE) $(COMMON)
	@mkdir -p $(@D)
	$(call say,LINK,$@)
	$(Q)$(CC) $(CFLAGS) $(ALL_LDFLAGS) $(LDFLAGS) -fsanitize=fuzzer -o $@ $(filter %.o,$^) $(REPLAY_LIBS)

# A whole replay has a driver of its own.
FUZZ_DRIVER := $(call object,tests/fuzz/driver.c tests/fuzz/driver_check.c tests/fuzz/driver_video.c) $(BUILD)/obj/gen/fuzz_driver.o
$(BUILD)/targets/replay: $(filter-out %/replayer/play/player.o,$(REPLAYER)) $(FUZZ_DRIVER) $(BUILD)/obj/tests/fuzz/player.o
$(BUILD)/obj/tests/fuzz/player.o: replayer/play/player.c | $(GEN_STAMP)
	@mkdir -p $(@D)
	$(call say,CC,$<)
	$(Q)$(CC) $(ALL_CFLAGS) -Ddlopen=driver_dlopen -Ddlsym=driver_dlsym $(CFLAGS) -MMD -MP -c -o $@ $<

# Every damage to a trace, which is replayed and given to the programs that read one (tests/torture.py).
DAMAGE := $(BUILD)/tests/fuzz/damage
DAMAGE_OBJECTS := $(patsubst %,$(BUILD)/obj/tests/fuzz/%.o,damage damage_change damage_program player info_main print_main tree_main draws_main find_main shaders_main state_main uses_main compress_main compile_main replay_main)
$(DAMAGE): $(DAMAGE_OBJECTS) $(call object,tests/fuzz/forge.c) $(filter-out %/replayer/play/player.o,$(REPLAYER)) $(TOOL_COMMON) $(FUZZ_DRIVER) \
		$(COMMON)
	@mkdir -p $(@D)
	$(call say,LINK,$@)
	$(Q)$(CC) $(CFLAGS) -pie $(ALL_LDFLAGS) $(LDFLAGS) -o $@ $(filter %.o,$^) $(REPLAY_LIBS)
test-programs: $(DAMAGE)

$(GEN)/fuzz_driver.c: tests/fuzz/emit_driver.py $(GEN_INPUTS)
	@mkdir -p $(@D)
	$(call say,GEN,$@)
	$(Q)$(PYTHON) $< --registry $(REGISTRY) --overrides codegen/overrides.toml --out $@

# The programs' main functions under other names.
$(BUILD)/obj/tests/fuzz/replay_main.o: replayer/main.c | $(GEN_STAMP)
	@mkdir -p $(@D)
	$(call say,CC,$<)
	$(Q)$(CC) $(ALL_CFLAGS) -Wno-missing-prototypes -Dmain=replay_main $(CFLAGS) -MMD -MP -c -o $@ $<

$(BUILD)/obj/tests/fuzz/%_main.o: tools/verb_%.c | $(GEN_STAMP)
	@mkdir -p $(@D)
	$(call say,CC,$<)
	$(Q)$(CC) $(ALL_CFLAGS) -Wno-missing-prototypes -Dmain=$*_main -Dlap_calls_enter_sandbox=stay_outside $(CFLAGS) -MMD -MP -c -o $@ $<

$(BUILD)/targets/seeds: $(BUILD)/obj/tests/fuzz/seeds.o $(BUILD)/obj/tests/fuzz/forge.o $(TOOL_COMMON) $(INSPECTOR) $(COMMON)
	@mkdir -p $(@D)
	$(call say,LINK,$@)
	$(Q)$(CC) $(CFLAGS) $(ALL_LDFLAGS) $(LDFLAGS) -o $@ $(filter %.o,$^) $(TRACE_LIBS)

FUZZ_TRACES := $(wildcard tests/fuzz/corpus/trace/*.lapilli)
$(BUILD)/seeds/made: $(BUILD)/targets/seeds $(FUZZ_TRACES)
	@rm -rf $(@D) && mkdir -p $(@D)
	$(call say,GEN,$(@D))
	$(Q)$< $(@D) $(FUZZ_TRACES)
	@touch $@

-include $(FUZZ_OBJECTS:.o=.d) $(FUZZ_DRIVER:.o=.d) $(DAMAGE_OBJECTS:.o=.d)

.SECONDARY: $(FUZZ_OBJECTS)
