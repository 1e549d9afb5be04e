# SPDX-License-Identifier: MIT
# Cases of a Khronos conformance binary that the user has: natively, recorded, replayed. CONFORMANCE has other arguments of
# tests/conformance/run.py.
CONFORMANCE ?=
.PHONY: conformance
conformance: all ## record and replay cases of a conformance binary: DEQP=/path/deqp-vk [CASES=FILE] [SAMPLE=N] [SEED=N] [OTHER_DRIVER=FOLDER]
	$(if $(DEQP),,$(error make conformance: DEQP names the binary (deqp-vk)))
	$(XVFB) $(PYTHON) tests/conformance/run.py --build $(BUILD) --deqp $(DEQP) $(if $(DRIVER_DIR),--driver $(DRIVER_DIR)) $(if $(CASES),--cases $(CASES)) \
		$(if $(SAMPLE),--sample $(SAMPLE)) $(if $(SEED),--seed $(SEED)) $(if $(OTHER_DRIVER),--other-driver $(OTHER_DRIVER)) \
		$(if $(OTHER_BUILD),--other-build $(OTHER_BUILD)) $(CONFORMANCE)
