#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs an analyzer and says what it finds that its list of exceptions (scripts/cppcheck.txt, gcc.txt, tidy.txt) has no reason for, and which
exceptions it finds no more; the exit status is 1 then.

analyze.py cppcheck|gcc|clang-tidy FLAGS... -- FILE...
"""

from __future__ import annotations

import functools
import os
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Callable

ROOT = Path(__file__).resolve().parent.parent
# Of what gcc finds when it has read a file, "cc1" stands where the file should.
WARNING = re.compile(r"^(\S+?):(?:(\d+):\d+:)? (?:warning|error): .*\[(?:-W)?([\w.,-]+)\]$")
CHECKS = ("-*,clang-analyzer-*,bugprone-*,cert-*,concurrency-*,misc-redundant-expression,misc-misplaced-const,performance-*")


@dataclass(frozen=True)
class Analyzer:
    exceptions: Path
    together: bool  # it looks at all files at once
    command: Callable[[list[str], list[str], list[str]], list[str]]  # of checks that are off, flags and files


def clang_tidy(off: list[str], flags: list[str], files: list[str]) -> list[str]:
    checks = ",".join([CHECKS, *(f"-{check}" for check in off)])
    return ["clang-tidy", "--quiet", f"--checks={checks}", *files, "--", *flags]


@functools.cache
def at_same_addresses() -> list[str]:
    """gcc's analyzer gives up at another place each time its memory lies elsewhere, and finds less. Containers may refuse this."""
    command = ["setarch", "-R"]
    return command if subprocess.run([*command, "true"], capture_output=True, check=False).returncode == 0 else []


def gcc(off: list[str], flags: list[str], files: list[str]) -> list[str]:
    return [*at_same_addresses(), "gcc", "-O1", "-fanalyzer", *(f"-Wno-{check}" for check in off), *flags, "-c", "-o", os.devnull, *files]


def cppcheck(off: list[str], flags: list[str], files: list[str]) -> list[str]:
    return ["cppcheck", "--quiet", "--enable=warning,performance,portability", "--template={file}:{line}:{column}: warning: {message} [{id}]",
            *(f"--suppress={check}" for check in off), *flags, *files]


ANALYZERS = {"cppcheck": Analyzer(ROOT / "scripts/cppcheck.txt", True, cppcheck), "gcc": Analyzer(ROOT / "scripts/gcc.txt", False, gcc),
             "clang-tidy": Analyzer(ROOT / "scripts/tidy.txt", False, clang_tidy)}


def read_exceptions(path: Path) -> tuple[list[str], set[tuple[str, str]]]:
    """Checks that are off for all files, and (check, file) pairs."""
    off, pairs = [], set()
    for line in path.read_text().splitlines():
        if line and not line.startswith("#"):
            check, _, file = line.partition(":")
            if file:
                pairs.add((check, file))
            else:
                off.append(check)
    return off, pairs


def findings(output: str, files: list[str]) -> set[tuple[str, str]]:
    """(check, file) pairs of what an analyzer said of these files."""
    found = set()
    for match in filter(None, map(WARNING.match, output.splitlines())):
        name = os.path.relpath(ROOT / match.group(1), ROOT) if match.group(2) else files[0]
        found |= {(check, name) for check in match.group(3).split(",")}
    return found


def main() -> int:
    arguments = sys.argv[1:]
    if "--" not in arguments or arguments[-1] == "--" or arguments[0] not in ANALYZERS:
        print(__doc__.strip(), file=sys.stderr)
        return 2
    analyzer, split = ANALYZERS[arguments[0]], arguments.index("--")
    flags, files = arguments[1:split], arguments[split + 1:]
    off, pairs = read_exceptions(analyzer.exceptions)

    def run(some: list[str]) -> tuple[str, set[tuple[str, str]], bool]:
        done = subprocess.run(analyzer.command(off, flags, some), cwd=ROOT, capture_output=True, text=True, errors="replace", check=False)
        found = findings(done.stdout + done.stderr, some)
        return done.stdout + done.stderr, found, done.returncode != 0 and not found

    failed, used = False, set()
    with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        for text, found, broken in pool.map(run, [files] if analyzer.together else [[file] for file in files]):
            used |= found & pairs
            if broken or found - pairs:
                failed = True
                print(text, end="", flush=True)
    for check, file in sorted(pairs - used):
        if file in files or not (ROOT / file).exists():
            failed = True
            print(f"{analyzer.exceptions.name}: {check}:{file} is found no more: take the line out")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
