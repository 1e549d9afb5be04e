#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs clang-tidy and says what it finds that scripts/tidy.txt has no reason for; the exit status is 1 then.

tidy.py [--jobs N] FLAGS... -- FILE...
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
EXCEPTIONS = ROOT / "scripts/tidy.txt"
WARNING = re.compile(r"^(\S+?):(\d+):\d+: (?:warning|error): .*\[([\w.,-]+)\]$")
CHECKS = ("-*,clang-analyzer-*,bugprone-*,cert-*,concurrency-*,misc-redundant-expression,misc-misplaced-const,performance-*")


def exceptions() -> tuple[list[str], set[tuple[str, str]]]:
    """Checks that are off for all files, and (check, file) pairs."""
    off, pairs = [], set()
    for line in EXCEPTIONS.read_text().splitlines():
        if line and not line.startswith("#"):
            check, _, file = line.partition(":")
            if file:
                pairs.add((check, file))
            else:
                off.append(check)
    return off, pairs


def main() -> int:
    arguments = sys.argv[1:]
    if "--" not in arguments or arguments[-1] == "--":
        print(__doc__.strip(), file=sys.stderr)
        return 2
    split = arguments.index("--")
    flags, files = arguments[:split], arguments[split + 1:]
    off, pairs = exceptions()
    checks = ",".join([CHECKS, *(f"-{check}" for check in off)])

    def run(file: str) -> tuple[str, list[tuple[str, str]], str]:
        done = subprocess.run(["clang-tidy", "--quiet", f"--checks={checks}", file, "--", *flags], cwd=ROOT, capture_output=True, text=True,
                              errors="replace", check=False)
        found = []
        for line in done.stdout.splitlines():
            match = WARNING.match(line)
            if match:
                name = os.path.relpath(match.group(1), ROOT)
                found += [(check, f"{name}:{match.group(2)}") for check in match.group(3).split(",")]
        return done.stdout, found, done.stderr if done.returncode and not found else ""

    failed, used = False, set()
    with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        for text, found, error in pool.map(run, files):
            known = {(check, place.rpartition(":")[0]) for check, place in found}
            used |= known & pairs
            if error or known - pairs:
                failed = True
                print(error or text, end="", flush=True)
    looked_at = set(files)
    for check, file in sorted(pairs - used):
        if file in looked_at:
            failed = True
            print(f"{EXCEPTIONS.name}: {check}:{file} is found no more: take the line out")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
