#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Notes which extensions a driver has, in tests/drivers.txt, from which docs/extensions.md says what is tested where.

driver-extensions.py --name "lavapipe 26" --program build/tests/apps/enables [--driver MANIFEST]: asks one driver, and
replaces its line. --program is tests/apps/enables, of a build whose programs run on that driver."""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from pathlib import Path

LIST = Path(__file__).resolve().parents[1] / "tests/drivers.txt"


def main() -> int:
    parser = argparse.ArgumentParser(description="Notes which extensions a driver has.")
    parser.add_argument("--name", required=True)
    parser.add_argument("--program", required=True)
    parser.add_argument("--driver", help="its manifest; otherwise the loader's first one")
    options = parser.parse_args()
    manifest = {"VK_DRIVER_FILES": options.driver, "VK_ICD_FILENAMES": options.driver} if options.driver else {}
    done = subprocess.run([options.program, "--list"], env=os.environ | manifest, capture_output=True, text=True, check=False)
    names = sorted(line for line in done.stdout.splitlines() if line.startswith("VK_"))
    if done.returncode != 0 or not names:
        print(f"{options.program} --list ends with {done.returncode}: {done.stdout[-200:]}{done.stderr[-200:]}", file=sys.stderr)
        return 1
    lines = LIST.read_text(encoding="utf-8").splitlines() if LIST.exists() else []
    kept = [line for line in lines if not line.startswith(f"{options.name}:")]
    head = [line for line in kept if line.startswith("#")] or ["# The extensions of the drivers that tests run on: scripts/driver-extensions.py"]
    rows = sorted([line for line in kept if not line.startswith("#")] + [f"{options.name}: {' '.join(names)}"])
    LIST.write_text("\n".join(head + rows) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
