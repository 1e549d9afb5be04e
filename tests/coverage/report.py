# SPDX-License-Identifier: MIT
"""Prints the line coverage of what was run.

report.py --build DIR --least PERCENT

A line for each folder and, with gcovr's own report, for each line in DIR/report/index.html. The exit status is 1 when all folders together
are below PERCENT.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
FOLDERS = ("base", "trace", "memtrack", "layer", "inspector", "replayer")
JUDGED = ("trace", "memtrack", "layer", "inspector", "replayer")
WORST = 12


def main() -> int:
    parser = argparse.ArgumentParser(description="Prints the line coverage of what was run.")
    parser.add_argument("--build", required=True)
    parser.add_argument("--least", type=float, default=0.0, help="per cent that layer, memtrack, trace, inspector and replayer must have together")
    options = parser.parse_args()
    report = Path(options.build) / "report"
    report.mkdir(parents=True, exist_ok=True)
    subprocess.run(["gcovr", "--root", str(ROOT), *(f"--filter={folder}/" for folder in FOLDERS), "--gcov-ignore-parse-errors",
                    "--json-summary", str(report / "summary.json"), "--html-details", str(report / "index.html"),
                    str(Path(options.build) / "obj")], cwd=ROOT, check=True)
    files = json.loads((report / "summary.json").read_text())["files"]
    lines: dict[str, list[int]] = defaultdict(lambda: [0, 0])
    for file in files:
        folder = file["filename"].split("/")[0]
        lines[folder][0] += file["line_covered"]
        lines[folder][1] += file["line_total"]
    for folder in FOLDERS:
        covered, total = lines[folder]
        if not total:
            print(f"coverage: nothing was counted in {folder}/", file=sys.stderr)
            return 1
        print(f"coverage: {folder:9} {100 * covered / total:5.1f} % of {total} lines")
    worst = sorted(files, key=lambda f: f["line_covered"] - f["line_total"])[:WORST]
    print("coverage: most lines that no test runs: " + ", ".join(f"{f['filename']} {f['line_total'] - f['line_covered']}" for f in worst))
    covered, total = (sum(lines[folder][i] for folder in JUDGED) for i in (0, 1))
    share = 100 * covered / total
    print(f"coverage: {', '.join(JUDGED)} together {share:.1f} % of {total} lines ({options.least:g} % wanted); {report / 'index.html'}")
    return 0 if share >= options.least else 1


if __name__ == "__main__":
    sys.exit(main())
