# SPDX-License-Identifier: MIT
# What recording costs: programs that measure themselves, and a harness that runs them with and without a recorder. They
# share code with tests/apps and use nothing of the rest of the project.
BENCH_NAMES := $(patsubst tests/bench/%.c,%,$(wildcard tests/bench/*.c))
BENCH_PROGRAMS := $(BENCH_NAMES:%=$(BUILD)/tests/bench/%)
BENCH_SHADER_SOURCES := $(wildcard tests/bench/shaders/*.*)
BENCH_SHADERS := $(foreach s,$(notdir $(BENCH_SHADER_SOURCES)),$(GEN)/shaders/$(subst .,_,$(s)).h)
BENCH_COMMON := $(patsubst %.c,$(BUILD)/obj/%.o,$(wildcard tests/bench/common/*.c))
BENCH_APP_COMMON := $(patsubst %.c,$(BUILD)/obj/%.o,$(wildcard tests/apps/common/*.c))
BENCH_OBJECTS := $(BENCH_NAMES:%=$(BUILD)/obj/tests/bench/%.o)
# Arguments of tests/bench/run.py: make bench BENCH="--quick --workload map-random".
BENCH ?=

.PHONY: bench bench-large bench-programs
bench: all bench-programs ## what recording costs: without a layer, with this one, with gfxreconstruct (BENCH="--help")
	$(Q)$(PYTHON) tests/bench/run.py --build $(BUILD) $(BENCH)

bench-large: all bench-programs ## traces of 1 GiB: time to the first frame, and replay with little memory (BENCH="--help")
	$(Q)$(PYTHON) tests/bench/large.py --build $(BUILD) $(BENCH)

bench-programs: $(BENCH_PROGRAMS)
test-programs: bench-programs

define BENCH_SHADER_RULE
$(GEN)/shaders/$(subst .,_,$(notdir $(1))).h: $(1)
	@mkdir -p $$(@D)
	$$(call say,GLSL,$$<)
	$(Q)$$(GLSLANG) -V --quiet --target-env vulkan1.0 --vn $(subst .,_,$(notdir $(1))) -o $$@ $$<
endef
$(foreach s,$(BENCH_SHADER_SOURCES),$(eval $(call BENCH_SHADER_RULE,$(s))))

$(BENCH_OBJECTS) $(BENCH_COMMON): $(BUILD)/obj/%.o: %.c | $(BENCH_SHADERS) $(GEN)/xdg_shell.h
	@mkdir -p $(@D)
	$(call say,CC,$<)
	$(Q)$(CC) $(ALL_CFLAGS) $(CFLAGS) -MMD -MP -c -o $@ $<

$(BENCH_PROGRAMS): $(BUILD)/tests/bench/%: $(BUILD)/obj/tests/bench/%.o $(BENCH_COMMON) $(BENCH_APP_COMMON) $(BUILD)/obj/gen/xdg_shell.o
	@mkdir -p $(@D)
	$(call say,LINK,$@)
	$(Q)$(CC) $(CFLAGS) -pthread $(SANITIZER) $(LDFLAGS) -o $@ $^ -Wl,--as-needed -lm -lvulkan -lxcb -lX11 -lwayland-client -llz4

-include $(BENCH_OBJECTS:.o=.d) $(BENCH_COMMON:.o=.d)
