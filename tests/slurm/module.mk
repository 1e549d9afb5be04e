# SPDX-License-Identifier: MIT
FARM_APPS := compute depth descriptors formats headless multi
.PHONY: check-farm check-farm-built
check-farm: ## farms on a Slurm of real daemons that break (root only)
	scripts/install-deps.sh build check farm
	+$(MAKE) check-farm-built

check-farm-built: all $(FARM_APPS:%=$(BUILD)/tests/apps/%)
	$(PYTHON) tests/slurm/run.py --build $(BUILD) $(FARM_APPS)
